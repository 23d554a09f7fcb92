"""An open trajectory: its frames, its atoms in the topology, and reading."""

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, mdanalysis
from trajet._trajet import FormatError, Reader, SelectionError, StaleIndexError, StoreError
from trajet.dataset import Dataset, Place, Uses
from trajet.pools.pool import n_frames_of
from trajet.trajectory.block import Block
from trajet.trajectory.choice import (
    AtomChoice,
    FrameChoice,
    frame_numbers,
    resolve_frames,
    resolve_indices,
)
from trajet.trajectory.selection import Selection

DEFAULT_REQUEST_SIZE = 256 * 1024

# Bytes of a block's positions where no size is given: with a request they stay in the processor's
# cache, and so many are reached in few blocks that what each costs beside its frames is little.
BLOCK_BYTES = 512 * 1024
# More positions than these are read by all cores.
MUCH_BYTES = 16 * 1024 * 1024
# Most frames of such a block: the first one of few atoms should not take long.
BLOCK_FRAMES = 256

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Trajectory:
    """An open trajectory, readable at any frame. Made by `trajet.open`.

    Attributes
    ----------
    paths
        Its files, in the order of their frames.
    topology
        The topology; None where there is none.
    dataset
        The data set of a store that it is; None where it is none.
    """

    def __init__(
        self,
        topology: Path | None,
        reader: Reader,
        *,
        dataset: Dataset | None = None,
    ) -> None:
        self.paths: tuple[Path, ...] = tuple(segment["path"] for segment in reader.segments())
        self.topology = topology
        self.dataset = dataset
        # The topology is read later, perhaps after a change of folder.
        self._topology_at = None if topology is None else topology.absolute()
        self._reader = reader
        self._universe: Any = None
        # Whether the universe has the positions of frame 0, and the box of that frame.
        self._placed = False
        self._box = mdanalysis.Box()
        self._uses: Uses | None = None
        if dataset is not None:
            self._uses = Uses(dataset)
            finalize(self, self._uses.close)

    @classmethod
    def of_dataset(cls, place: Place, *, request_size: int = DEFAULT_REQUEST_SIZE) -> "Trajectory":
        """Open a data set of a store."""
        dataset, reader = place.open(request_size=request_size)
        return cls(dataset.topology, reader, dataset=dataset)

    def __repr__(self) -> str:
        """Return path and size."""
        return f"<Trajectory {self.label}: {self.n_frames} frames of {self.n_atoms} atoms>"

    @property
    def path(self) -> Path:
        """The file; the first one where there are several."""
        return self.paths[0]

    @property
    def label(self) -> str:
        """What messages call it: the data set, or the file and how many there are."""
        if self.dataset is not None:
            return self.dataset.place.label
        if len(self.paths) == 1:
            return str(self.path)
        return f"{self.path} … ({len(self.paths)} files)"

    @property
    def stem(self) -> str:
        """What files that are made of it are named after."""
        return self.path.stem if self.dataset is None else self.dataset.place.name

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers of the store of a data set, in the order in which their bytes are counted."""
        return () if self.dataset is None else self.dataset.tiers

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of a data set that are open, in the order in which their bytes are counted."""
        return () if self.dataset is None else tuple(self.dataset.tags_of(None))

    @property
    def reader(self) -> Reader:
        """The native reader."""
        return self._reader

    @property
    def format(self) -> str:
        """The file's format: "XTC", "NCDF", "H5MD", …; of several files all: "XTC, TRR"."""
        return self._reader.format

    @property
    def n_frames(self) -> int:
        """Frames in the trajectory."""
        return self._reader.n_frames

    @property
    def n_atoms(self) -> int:
        """Atoms of every frame."""
        return self._reader.n_atoms

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of all frames, `(n_frames,)`, ps. They come from the index: nothing is decoded."""
        return self._reader.times()

    @property
    def steps(self) -> NDArray[np.int64]:
        """Integration steps of all frames, `(n_frames,)`."""
        return self._reader.steps()

    @property
    def index_state(self) -> str:
        """How the index came to be: "built", "loaded", "extended" or, by arithmetic, "computed".

        Of several files that of the one that took most work.
        """
        return self._reader.index_state

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one should know of the files: headers that disagree with what they hold, ….

        Also what became of frames at the seams of several files.
        """
        return tuple(self._reader.remarks)

    @property
    def index_path(self) -> Path | None:
        """The file that keeps the index; None where it lives in memory only.

        Where there are several files, that of the first.
        """
        path: Path | None = self._reader.segments()[0]["index_path"]
        return path

    @property
    def universe(self) -> Any:
        """The topology as an MDAnalysis Universe, at the positions of frame 0.

        Of tags of a data set it has all atoms of the original; those without a tag that was opened
        have no position (not a number).

        Raises
        ------
        SelectionError
            If there is no topology, or its number of atoms is not the trajectory's.
        """
        universe = self.named.universe
        if not self._placed:
            first = self.read_places([0], None, None, counted=False)
            positions = first.positions[0]
            if (origin := self._origin) is not None:
                positions = np.full((len(universe.atoms), 3), np.nan, np.float32)
                positions[origin] = first.positions[0]
            mdanalysis.place(universe, positions, first.cells[0])
            self._placed, self._box = True, mdanalysis.Box.of(first)
        return universe

    @property
    def named(self) -> Any:
        """The trajectory's atoms in MDAnalysis; where they are in space is not known yet.

        Raises
        ------
        SelectionError
            As `universe`.
        """
        origin = self._origin
        if self._universe is None:
            if self.topology is None:
                raise SelectionError(
                    f"{self.label} was opened without a topology: give one to open(), or select"
                    " atoms by their indices"
                )
            if self.dataset is not None and not self.topology.exists():
                raise StoreError(
                    f"{self.topology}: is not there: {self.label} was removed since it was opened"
                )
            universe = mdanalysis.load(self._topology_at or self.topology)
            if len(universe.atoms) != self.n_named:
                raise SelectionError(
                    f"{self.topology} has {len(universe.atoms)} atoms, but {self.path} has"
                    f" {self.n_named} (frame 0 at byte 0): give the topology of what was written"
                )
            mdanalysis.displace(universe)
            self._universe = universe
        return self._universe.atoms if origin is None else self._universe.atoms[origin]

    def adopt(self, universe: Any, box: mdanalysis.Box) -> None:
        """Take a Universe that stands at a frame of this trajectory, of that box, as topology."""
        self._universe, self._placed, self._box = universe, True, box

    @property
    def _origin(self) -> NDArray[np.int64] | None:
        """The number of each atom in the topology; None where it has no others."""
        return None if self.dataset is None else self.dataset.origin

    @property
    def has_topology(self) -> bool:
        """Whether names and masses of atoms are to be had."""
        return self.topology is not None or self._universe is not None

    def frame_numbers(self, frames: FrameChoice) -> NDArray[np.int64]:
        """Return the numbers of frames, chosen as for `read`."""
        return frame_numbers(resolve_frames(frames, self.n_frames, str(self.path)))

    def select(self, selection: AtomChoice) -> Selection:
        """Select atoms.

        Parameters
        ----------
        selection
            In MDAnalysis' language, evaluated once, on frame 0; or atom indices in any order: those
            of the topology, also where only some tags of a data set are open.

        Returns
        -------
        Selection
            The atoms, for analyses and for reading.

        Raises
        ------
        SelectionError
            If it matches no atom, is no selection, or an index is out of range.

        Examples
        --------
        >>> traj.select("name CA")
        <Selection 'name CA': 214 of 3341 atoms>
        """
        if isinstance(selection, str):
            where = self.label if self._origin is not None else str(self.topology or self.label)
            atoms = self.select_named(selection, where)
            places, _ = self.places_of(np.asarray(atoms.indices, dtype=np.int64))
            return Selection(self, places, selection)
        return Selection(self, self.places(selection), None)

    def select_named(self, text: str, where: str, *, empty: bool = False) -> Any:
        """Return the atoms of `named` that a selection names, at the positions of frame 0.

        Raises
        ------
        SelectionError
            As `mdanalysis.select`.
        """
        if not mdanalysis.looks_at_places(text):
            return mdanalysis.select(self.named, text, where, empty=empty)
        with mdanalysis.placed_for(text, self.universe, self._box):
            return mdanalysis.select(self.named, text, where, empty=empty)

    def places_of(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return where atoms of the topology are in a frame, and which of them are there at all."""
        origin = self._origin
        if origin is None:
            return indices, np.ones(indices.shape, np.bool_)
        places = np.searchsorted(origin, indices)
        return places, origin[np.minimum(places, len(origin) - 1)] == indices

    def indices_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which atoms of the topology those are that have these places in a frame."""
        return places if self._origin is None else self._origin[places]

    @property
    def n_named(self) -> int:
        """Atoms of the topology: more than `n_atoms` where not all tags of a data set are open."""
        return self.n_atoms if self.dataset is None else int(self.dataset.manifest["n_atoms"])

    def places(self, atoms: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
        """Return where atoms are in a frame that are chosen by indices, or by a mask.

        A mask is one of the atoms of a frame, or of those of the topology.

        Raises
        ------
        SelectionError
            If there is none, one is out of range, or in a tag that is not open.
        """
        chosen = np.asarray(atoms)
        if chosen.dtype == np.bool_ and chosen.shape == (self.n_atoms,):
            chosen = self.indices_of(np.flatnonzero(chosen))
        elif chosen.dtype == np.bool_ and chosen.shape == (self.n_named,):
            chosen = np.flatnonzero(chosen)
        indices = resolve_indices(chosen, self.n_named)
        places, there = self.places_of(indices)
        if not there.all():
            raise SelectionError(
                f"{self.label}: atom {indices[~there][0]} is in a tag that is not open: indices are"
                " those of the original, whatever tags are open: leave it out, or open its tag too"
            )
        return places

    def read(
        self,
        frames: FrameChoice = None,
        atoms: Sequence[int] | NDArray[Any] | None = None,
        out: NDArray[np.float32] | None = None,
        *,
        velocities: bool = False,
        forces: bool = False,
        threads: int | None = None,
    ) -> Block:
        """Read positions, and velocities and forces where asked for.

        Parameters
        ----------
        frames
            A slice, or frame numbers in any order (negative ones count from the end), or a mask;
            None for all.
        atoms
            Atom indices in any order, as for `select`; None for all.
        out
            An array `(n_frames, n_atoms, 3)`, float32, C order, to write positions to instead of a
            new one.
        velocities, forces
            Whether to read these too. TRR, NCDF and H5MD can hold them. Frames without are NaN, as
            are the positions of TRR frames that have none.
        threads
            Of how many threads each reads and decodes some of the frames; None for one where there
            is little to read, and all cores where it is more than 16 MiB.

        Returns
        -------
        Block
            `positions` `(n_frames, n_atoms, 3)`, float32, Å, with times, steps and cells; where
            asked for `velocities` in Å/ps and `forces` in kJ/(mol Å), of the same shape.

        Raises
        ------
        FrameError, SelectionError
            If a frame or an atom is out of range.
        FormatError
            If a frame is corrupt, or none of the frames has the velocities or forces asked for.
        ValueError
            If `out` does not fit, or `threads` is below 1.

        Examples
        --------
        >>> traj.read(frames=slice(0, 10), atoms=[0, 7]).positions.shape
        (10, 2, 3)
        """
        places = None if atoms is None else self.places(atoms)
        return self.read_places(
            frames, places, out, velocities=velocities, forces=forces, threads=threads
        )

    def blocks(
        self,
        size: int | None = None,
        frames: FrameChoice = None,
        atoms: Sequence[int] | NDArray[Any] | None = None,
    ) -> Iterator[Block]:
        """Read positions block by block; each block's `positions` uses the memory of the last one.

        Parameters
        ----------
        size
            Frames of a block; the last one may be smaller. None for as many as are read fastest:
            512 KiB of positions, at least one frame and at most 256.
        frames, atoms
            As for `read`, whose errors these are, too.

        Yields
        ------
        Block
            As `read` returns, of neighbouring ones of the frames. Copy what is to be kept.

        Examples
        --------
        >>> sum(len(block.frames) for block in traj.blocks())
        98
        """
        places = None if atoms is None else self.places(atoms)
        return self.blocks_of_places(size, frames, places)

    def read_places(
        self,
        frames: FrameChoice,
        places: NDArray[np.int64] | None,
        out: NDArray[np.float32] | None,
        *,
        velocities: bool = False,
        forces: bool = False,
        threads: int | None = None,
        counted: bool = True,
    ) -> Block:
        """Read the atoms at checked `places` of the frames; see `read`.

        What is not `counted` is no use of a data set, but part of one.
        """
        numbers = resolve_frames(frames, self.n_frames, self.label)
        n_atoms = self.n_atoms if places is None else len(places)
        shape = (n_frames_of(numbers), n_atoms, 3)
        positions = np.empty(shape, np.float32) if out is None else _fitting(out, shape)
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        if threads is None:
            threads = _trajet.available_threads() if positions.nbytes > MUCH_BYTES else 1
        read = partial(self._reader.read, threads=threads)
        got = self.fresh(read, numbers, places, positions, "positions")
        if self._uses is not None and counted:
            self._uses.read(places, got["counts"])

        def further(field: str) -> NDArray[np.float32]:
            values = np.empty(shape, np.float32)
            counts = self.fresh(read, numbers, places, values, field)["counts"]
            if self._uses is not None and counted:
                # The frames have been counted.
                self._uses.read(places, {**counts, "frames": 0})
            if counts["empty_frames"] == counts["frames"] > 0:
                raise FormatError(
                    f"{self.label}: none of the {shape[0]} frames has {field}: read positions only"
                )
            return values

        vectors = got["vectors"]
        return Block(
            positions,
            got["times"],
            got["steps"],
            frame_numbers(numbers),
            got["cells"],
            further("velocities") if velocities else None,
            further("forces") if forces else None,
            None if vectors is None else vectors.reshape(-1, 3, 3),
        )

    def blocks_of_places(
        self, size: int | None, frames: FrameChoice, places: NDArray[np.int64] | None
    ) -> Iterator[Block]:
        """Go over the atoms at checked `places` of the frames; see `blocks`."""
        if size is not None and size < 1:
            raise ValueError(f"a block has at least 1 frame, not {size}")
        numbers = resolve_frames(frames, self.n_frames, self.label)
        n_frames = n_frames_of(numbers)
        n_atoms = self.n_atoms if places is None else len(places)
        if size is None:
            size = max(1, min(BLOCK_FRAMES, BLOCK_BYTES // (12 * n_atoms)))
        parts = self._reader.parts(numbers, places)
        buffer = np.empty((min(size, n_frames), n_atoms, 3), np.float32)

        def go(size: int) -> Iterator[Block]:
            for begin in range(0, n_frames, size):
                positions = buffer[: n_frames - begin]
                times, steps, here, cells = self.fresh(parts.read, begin, positions)
                yield Block(positions, times, steps, here, cells)

        return go(size) if self._uses is None else self._used_by(go(size), places, parts)

    def _used_by(
        self, blocks: Iterator[Block], places: NDArray[np.int64] | None, parts: _trajet.Parts
    ) -> Iterator[Block]:
        """Go over blocks, and remember how far that went."""
        assert self._uses is not None
        try:
            yield from blocks
        finally:
            self._uses.read(places, parts.counts())

    def used(
        self, what: str, places: NDArray[np.int64] | None, counts: Sequence[Mapping[str, Any]]
    ) -> None:
        """Have the store remember that atoms were analysed, where this is a data set of one."""
        if self._uses is not None:
            self._uses.analysed(what, places, counts)

    def fresh(self, attempt: Callable[_P, _T], *args: _P.args, **named: _P.kwargs) -> _T:
        """Call `attempt`; where it finds that a kept index is stale, that is thrown away.

        The error goes on: numbers of frames that were taken from that index may have been used
        already, and half of a result must not come from another file than the other half.
        """
        try:
            return attempt(*args, **named)
        except StaleIndexError as error:
            for segment in self._reader.segments():
                if segment["path"] == error.path and segment["index_path"] is not None:
                    with contextlib.suppress(OSError):
                        segment["index_path"].unlink()
            raise

    def describe_inputs(self) -> list[dict[str, Any]]:
        """Return what a report says of the files."""
        inputs: list[dict[str, Any]] = []
        for segment in self._reader.segments():
            del segment["index_path"]
            inputs.append({**segment, "path": str(segment["path"])})
        if self._topology_at is not None and self._topology_at.is_file():
            inputs.append({**describe_file(self._topology_at), "path": str(self.topology)})
        return inputs


def describe_file(path: Path) -> dict[str, Any]:
    """Return what a report says of a structure file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": str(path), "size": path.stat().st_size, "digest": f"sha256:{digest}"}


def _fitting(out: NDArray[np.float32], shape: tuple[int, int, int]) -> NDArray[np.float32]:
    """Return `out` if it can be written to.

    Raises
    ------
    ValueError
        If it cannot.
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
