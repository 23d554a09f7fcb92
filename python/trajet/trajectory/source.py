"""`FrameSource`: files, topology and transforms, from which frames are read."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, universes
from trajet._trajet import FormatError, Reader, SelectionError
from trajet.block import Block
from trajet.box import Box
from trajet.memory import check_memory
from trajet.messages import Code, Message, emit
from trajet.pools.pool import Frames, n_frames_of
from trajet.report_entries import InputEntry, SecondsOutside, TransformWarnings
from trajet.result import FrameTimes, transform_warnings
from trajet.selection_text import needs_positions
from trajet.startup import Stopwatch, import_seconds
from trajet.topology import of_universe
from trajet.trajectory.array_pool import ArrayPool
from trajet.trajectory.atom_index import AtomIndex, FrameChoice, frame_numbers, resolve_frames
from trajet.trajectory.clock import rounding_of_times
from trajet.trajectory.files import ClosedReader, OpenFiles
from trajet.trajectory.options import DatasetCall, OpenCall
from trajet.trajectory.structure import LazyTopology

if TYPE_CHECKING:
    from trajet._trajet import ReadFrames
    from trajet.h5md import Numbers
    from trajet.universes import Universe

# Default bytes of a block's positions: with a request they fit into the processor's cache, and
# blocks are large enough that the cost of each is small.
BLOCK_BYTES = 512 * 1024
# Most bytes of positions that are read ahead of remote storage, unless a block is larger.
AHEAD_BYTES = 16 * 1024 * 1024
# Reads of more bytes of positions use all cores.
MUCH_BYTES = 16 * 1024 * 1024
# Most frames of a default block: with few atoms, the first block should not take long.
BLOCK_FRAMES = 256


@dataclass(frozen=True)
class Step:
    """A transform, as the native module takes it.

    Attributes
    ----------
    name
        Name of the native step.
    arguments
        Its parameters.
    words
        Its description in reports: a name, and the arguments that the user gave.
    messages
        Messages on it that results repeat.
    unknown
        Columns of atoms whose molecules it needs and that are unknown: they cannot be read.
    """

    name: str
    arguments: dict[str, object]
    words: Mapping[str, object]
    messages: tuple[Message, ...] = ()
    unknown: NDArray[np.int64] | None = None


class FrameSource:
    """Files, topology and transforms, from which the frames of a trajectory are read.

    Atoms are given by their columns in a frame, which `index` finds. Nothing changes but caches,
    until it is closed.

    Attributes
    ----------
    files
        The files, which all transformed trajectories share: the same files are the same trajectory.
    structure
        The topology, which they share, too.
    index
        The atoms of a frame.
    transforms
        The transforms of the frames, in order.
    call
        How it is opened again, in another process; None with the topology of a Universe.
    reader
        The native reader, with the transforms.
    """

    def __init__(
        self,
        files: OpenFiles,
        structure: LazyTopology,
        call: OpenCall | DatasetCall | None,
        transforms: Sequence[Step] = (),
    ) -> None:
        self.files, self.structure, self.call = files, structure, call
        self.index: AtomIndex = structure.index
        self.transforms = tuple(transforms)
        self.reader: Reader = files.reader
        if transforms:
            self.reader = files.reader.transformed(native(self.transforms, self.index.n_atoms))

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, _: object) -> Self:
        return copy(self)

    def close(self) -> None:
        """Close the files; see `Trajectory.close`."""
        self.files = self.files.closed()
        self.reader = self.files.reader

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return isinstance(self.reader, ClosedReader)

    @property
    def label(self) -> str:
        """Name in messages; see `Trajectory.label`."""
        return self.index.label

    @property
    def n_atoms(self) -> int:
        """Number of atoms of every frame."""
        return self.reader.n_atoms

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return self.reader.n_frames

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of all frames, ps; see `Trajectory.times`."""
        with self.files.stale_index_removed():
            self.reader.check_times(_trajet.available_threads())
        return self.reader.times()

    def frame_times(self) -> FrameTimes:
        """Return the times of all frames with their rounding, to which series are joined."""
        times, unstated = self.times, self.files.time_messages
        rounding = rounding_of_times(self.reader, times)
        return FrameTimes(self.label, times, rounding, "; ".join(unstated))

    @property
    def rotates(self) -> bool:
        """Whether frames are rotated after decoding."""
        return any(
            step.words.get("motion", "translation") != "translation" for step in self.transforms
        )

    @property
    def untransformed(self) -> "FrameSource":
        """The source without transforms."""
        return FrameSource(self.files, self.structure, self.call) if self.transforms else self

    def transformed(self, steps: Sequence[Step]) -> "FrameSource":
        """Return the source with further transforms, which were made for it.

        Selections see the positions after them.
        """
        # An error if it is closed.
        _ = self.reader.n_atoms
        return FrameSource(self.files, self.structure, self.call, (*self.transforms, *steps))

    def of_universe(self, universe: "Universe", box: Box) -> "FrameSource":
        """Return the source with a Universe as topology, at its current frame, which has this box.

        It cannot be opened again in another process.
        """
        found = of_universe(universe)
        assert found.positions is not None
        made = FrameSource(self.files, self.structure.of(found.topology), None, self.transforms)
        made.universe, made.first = universe, (found.positions, box)
        return made

    def messages(self) -> tuple[Message, ...]:
        """Return messages on files, order of atoms and topology; see `Trajectory.messages`."""
        files = self.files
        of_files = files.messages()
        paths = (*files.absolute_paths, *files.paths)
        of_topology = self.structure.messages(of_files, paths)
        return (*of_files, *files.order_messages, *of_topology)

    def numbers(self, frames: FrameChoice) -> NDArray[np.int64]:
        """Return frame numbers, `(n_frames,)`, int64, of a choice as for `Trajectory.read`."""
        return frame_numbers(resolve_frames(frames, self))

    def describe_transforms(self, columns: NDArray[np.int64] | None) -> dict[str, object]:
        """Return the report's parameters on the transforms, and on the atoms that they need."""
        if not self.transforms:
            return {}
        return {
            "transforms": [step.words for step in self.transforms],
            "n_atoms_decoded": self.reader.n_decoded(columns),
        }

    def transform_messages(self, workers: Sequence[TransformWarnings]) -> list[Message]:
        """Return messages on the transforms, given what the workers of a run have counted."""
        if not self.transforms:
            return []
        messages = [message for step in self.transforms for message in step.messages]
        # A run of several analyses counts those of all their transforms.
        counts = transform_warnings(workers)
        if counts.get("infinite_molecules", 0):
            messages.append(
                Message(
                    Code.INFINITE_MOLECULES,
                    "molecules that are bonded to their own periodic image were not made whole;"
                    ' their centres, which wrapping and nojump with view="toroidal" use, are'
                    " arbitrary",
                )
            )
        first = counts.get("first_large_step") if self.reader.has_no_jump else None
        if first is not None:
            frame, column = first
            atom = f"atom {self.index.indices_of(np.array([column]))[0]}"
            text = (
                "jumps may be removed wrongly: steps of more than 0.4 cells have an uncertain"
                f" direction, the first of them leads to frame {frame} ({atom})"
            )
            fix = (
                "take all frames between (nojump(every_frame=True)), if the run skips some;"
                " else they were written too rarely to tell"
            )
            if any(step.words.get("every_frame") for step in self.transforms):
                text, fix = f"{text}: the frames were written too rarely to tell", ""
            messages.append(Message(Code.UNCERTAIN_JUMPS, text, fix))
        return messages

    def check_known(self, steps: Sequence[Step], columns: NDArray[np.int64] | None) -> None:
        """Raise an error if atoms are read whose molecules a transform needs and does not know.

        Raises
        ------
        SelectionError
            If there are such atoms.
        """
        for step in steps:
            if step.unknown is None:
                continue
            unknown = step.unknown if columns is None else columns[np.isin(columns, step.unknown)]
            if len(unknown):
                atom = self.structure.topology.atoms.describe(
                    int(self.index.indices_of(unknown[:1])[0])
                )
                raise SelectionError(
                    f"{self.label}: bonds of {len(unknown)} atoms are not guessed from distances,"
                    " as no radius is known for them, so that their molecules are not repaired"
                    f" ({step.words['transform']}); the first is {atom}: choose other atoms, or use"
                    " a topology with bonds, such as a TPR, PSF or PRMTOP"
                )

    def reader_for(
        self,
        frames: Frames,
        columns: NDArray[np.int64] | None,
        *,
        compared: Frames | None = None,
        threads: int = 1,
        workers: int = 1,
        call_frames: int | None = None,
        checked: bool = True,
    ) -> Reader:
        """Return the reader of these frames and atoms.

        Jumps are counted from the first of the frames: while frames are read, or by several threads
        before any frame is read.

        Parameters
        ----------
        frames
            The frames that are read, in this order.
        columns
            The atoms; None for all.
        compared
            Frames that are compared with these: jumps are counted from the first of all.
        threads
            Threads of one reader, which hand over to one another.
        workers
            Readers that begin at any of the frames.
        call_frames
            The number of frames that one call reads, in which a long way to a frame could not be
            interrupted; None for calls that can be.
        checked
            Whether it is an error if molecules of these atoms cannot be repaired; see `Step`.

        Raises
        ------
        SelectionError
            If they cannot.
        """
        if checked:
            self.check_known(self.transforms, columns)
        for_run = partial(
            self.reader.for_run,
            compared=compared,
            threads=threads,
            workers=workers,
            call_frames=call_frames,
        )
        with self.files.stale_index_removed():
            return for_run(frames, columns)

    def run_before(self, number: int) -> NDArray[np.int64] | None:
        """Return the frames through which jumps are counted up to a frame: all from frame 0.

        None if jumps are not removed.
        """
        if not self.reader.has_no_jump:
            return None
        last = number + self.n_frames if number < 0 else number
        return np.arange(last + 1)

    def seconds_outside(self, t_select: float, t_total: float) -> SecondsOutside:
        """Return the report's entries on the time outside of a run of `t_total` seconds."""
        t_import, t_topology = import_seconds(), self.structure.seconds
        return {
            "t_import": t_import,
            "t_topology": t_topology,
            "t_select": t_select,
            "t_command": t_import + t_topology + t_select + t_total,
        }

    def describe_inputs(self) -> list[InputEntry]:
        """Return the report's entries on the trajectory's files and topology."""
        return [*self.files.describe(), *self.structure.describe()]

    def read(
        self,
        frames: FrameChoice,
        columns: NDArray[np.int64] | None,
        out: NDArray[np.float32] | None,
        *,
        velocities: bool = False,
        forces: bool = False,
        required: bool = True,
        threads: int | None = None,
        counted: bool = True,
        run: NDArray[np.int64] | None = None,
    ) -> Block:
        """Read atoms by their checked indices in a frame; see `Trajectory.read`.

        Velocities and forces that no frame has are an error if they are `required`, else None.

        With `counted=False` the read does not enter the access log of a data set. `run` are the
        frames of a run to which these frames are compared: jumps are counted from the first of
        all.
        """
        numbers = resolve_frames(frames, self)
        n_atoms = self.n_atoms if columns is None else len(columns)
        shape = (n_frames_of(numbers), n_atoms, 3)
        size = 12 * shape[0] * shape[1]
        parts = [("positions", 0 if out is not None else size)]
        parts += [("velocities", size)] * velocities + [("forces", size)] * forces
        check_memory(parts, None, "choose fewer frames or atoms, or read block by block (blocks())")
        positions = np.empty(shape, np.float32) if out is None else _fitting(out, shape)
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        if threads is None:
            threads = _trajet.available_threads() if positions.nbytes > MUCH_BYTES else 1
            # Threads that wait for remote storage take no core.
            threads = max(threads, self.reader.connections or 1)
        if run is not None and shape[0]:
            # Frames of the run after these change nothing.
            run = run[run <= frame_numbers(numbers).max()]
        # Threads that read further fields do not hand over to one another.
        hand_over = not (velocities or forces)
        reader = self.reader_for(
            numbers,
            columns,
            compared=run,
            threads=threads if hand_over else 1,
            workers=1 if hand_over else threads,
            call_frames=shape[0],
            checked=counted,
        )
        further: dict[str, NDArray[np.float32]] = {}
        if velocities:
            further["velocities"] = np.empty(shape, np.float32)
        if forces:
            further["forces"] = np.empty(shape, np.float32)
        got: ReadFrames
        if further:
            arrays = {"positions": positions, **further}
            with self.files.stale_index_removed():
                got = of_all = reader.read_fields(numbers, columns, arrays, threads=threads)
            for name in list(further):
                if not shape[0] or of_all["n_with"][name] > 0:
                    continue
                if required:
                    raise FormatError(
                        f"{self.label}: none of the {shape[0]} frames has {name}: read positions"
                        " only"
                    )
                del further[name]
        else:
            with self.files.stale_index_removed():
                got = reader.read(numbers, columns, positions, "positions", threads=threads)
        if counted:
            self.files.count_read(columns, got["counts"])
            if self.reader.has_no_jump and (counting := reader.counting())["frames"]:
                self.files.count_read(columns, counting)

        vectors = got["vectors"]
        return Block(
            positions,
            got["times"],
            got["steps"],
            frame_numbers(numbers),
            got["cells"],
            further.get("velocities"),
            further.get("forces"),
            None if vectors is None else vectors.reshape(-1, 3, 3),
            tuple(self.transform_messages([got["counts"]])),
            got["periodic"],
            got["origins"],
        )

    def blocks(
        self, size: int | None, frames: FrameChoice, columns: NDArray[np.int64] | None
    ) -> Iterator[Block]:
        """Iterate over blocks of atoms by their checked indices in a frame.

        See `Trajectory.blocks`.
        """
        if size is not None and size < 1:
            raise ValueError(f"a block has at least 1 frame, not {size}")
        numbers = resolve_frames(frames, self)
        n_frames = n_frames_of(numbers)
        n_atoms = self.n_atoms if columns is None else len(columns)
        if size is None:
            size = max(1, min(BLOCK_FRAMES, BLOCK_BYTES // (12 * n_atoms)))
        parts = self.reader_for(numbers, columns).parts(numbers, columns)
        # Of remote storage, frames of several blocks are asked for at the same time.
        at_once = min(parts.frames_at_once, AHEAD_BYTES // (12 * max(n_atoms, 1)))
        most = size * max(1, -(-at_once // size))
        pool = ArrayPool((min(most, n_frames), n_atoms, 3))

        def go(size: int) -> Iterator[Block]:
            begin, count = 0, size
            emitted: set[Message] = set()
            messages: tuple[Message, ...] = ()
            while begin < n_frames:
                several = pool.array()[: min(count, n_frames - begin)]
                got = parts.read(begin, several)
                times, steps, here, cells, boxes, periodic, origins = got
                vectors = None if boxes is None else boxes.reshape(-1, 3, 3)
                if self.transforms:
                    messages = tuple(self.transform_messages([parts.counts()]))
                    emit([one for one in messages if one not in emitted])
                    emitted.update(messages)
                for first in range(0, len(several), size):
                    of = slice(first, first + size)
                    yield Block(
                        several[of],
                        times[of],
                        steps[of],
                        here[of],
                        cells[of],
                        vectors=None if vectors is None else vectors[of],
                        messages=messages,
                        periodic=periodic[of],
                        origins=None if origins is None else origins[of],
                    )
                begin, count = begin + len(several), min(2 * count, most)
                # Otherwise the pool would not give this array again.
                del several

        return self.files.guard_blocks(go(size), columns, parts)

    def observables(self, frame: int) -> "Numbers":
        """Return numbers of a frame beside its atoms; see `Trajectory.observables`."""
        (number,) = self.numbers([frame]).tolist()
        return self.files.observables(number)

    @cached_property
    def universe(self) -> "Universe":
        """The topology as an MDAnalysis Universe; see `Trajectory.universe`."""
        file = self.structure.checked_file()
        watch = Stopwatch()
        universe = universes.load(file.at, f"{file.path}: making a Universe or AtomGroup of it")
        if len(universe.atoms) != self.index.n_topology_atoms:
            raise SelectionError(
                f"{file.path} has {len(universe.atoms)} atoms in MDAnalysis, and"
                f" {self.index.n_topology_atoms} here"
            )
        self.structure.seconds += watch.seconds()
        positions, box = self.first
        # A Universe cannot hold a rotated box.
        cell = np.full(6, np.nan) if self.rotates else box.cell
        universes.place(universe, positions, cell)
        return universe

    @cached_property
    def first(self) -> tuple[NDArray[np.float32], Box]:
        """The positions of all atoms of the topology in frame 0, and its box.

        Atoms that frames lack are NaN.
        """
        block = self.read([0], None, None, counted=False)
        positions = block.positions[0]
        if (origin := self.index.origin) is not None:
            positions = np.full((self.index.n_topology_atoms, 3), np.nan, np.float32)
            positions[origin] = block.positions[0]
        return positions, Box.of(block)

    def select_indices(self, text: str, where: str, *, empty: bool = False) -> NDArray[np.int64]:
        """Return the topology indices of the open atoms that a selection text matches in frame 0.

        Raises
        ------
        SelectionError
            As `Topology.select`, or if it depends on positions of atoms that frames lack.
        """
        self.structure.check_text(text)
        positions, box = self.first if needs_positions(text) else (None, None)
        among = self.index.origin
        return self.structure.topology.select(
            text, where, among=among, positions=positions, box=box, empty=empty
        )

    def columns_of_text(self, text: str) -> NDArray[np.int64]:
        """Return the indices in a frame of the atoms that a selection text matches in frame 0.

        Raises
        ------
        SelectionError
            As `Topology.select`.
        """
        return self.index.columns_of(self.select_indices(text, self.structure.where))[0]


def native(steps: Sequence[Step], n_atoms: int) -> _trajet.Transforms:
    """Return steps as the native module takes them."""
    return _trajet.Transforms([(step.name, step.arguments) for step in steps], n_atoms)


def _fitting(out: NDArray[np.float32], shape: tuple[int, int, int]) -> NDArray[np.float32]:
    """Return `out` if positions of this shape can be written to it.

    Raises
    ------
    ValueError
        If they cannot.
    """
    fits = (
        isinstance(out, np.ndarray)
        and out.dtype == np.float32
        and out.shape == shape
        and out.flags.c_contiguous
        and out.flags.writeable
    )
    if not fits:
        raise ValueError(f"out must be a writeable float32 array of shape {shape} in C order")
    return out
