"""Reading of frames: `ReadingByColumns`, the basis of `Trajectory`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, universes
from trajet._trajet import FormatError, SelectionError
from trajet.block import Block
from trajet.box import Box
from trajet.memory import check_memory
from trajet.pools.pool import n_frames_of
from trajet.selection_text import needs_positions
from trajet.startup import Stopwatch
from trajet.topology import of_universe
from trajet.trajectory.choice import FrameChoice, frame_numbers, resolve_frames
from trajet.trajectory.with_topology import FilesWithTopology

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


class ReadingByColumns(FilesWithTopology):
    """Open files whose frames are read, with atoms given by their checked columns in a frame."""

    def frame_numbers(self, frames: FrameChoice) -> NDArray[np.int64]:
        """Return frame numbers, `(n_frames,)`, int64, of a choice as for `read`."""
        return frame_numbers(resolve_frames(frames, self.n_frames, str(self.path)))

    def read(
        self,
        frames: FrameChoice = None,
        atoms: Sequence[int] | NDArray[np.integer | np.bool_] | None = None,
        out: NDArray[np.float32] | None = None,
        *,
        velocities: bool = False,
        forces: bool = False,
        threads: int | None = None,
    ) -> Block:
        """Read positions of frames, and velocities and forces if requested.

        Parameters
        ----------
        frames
            A slice, frame numbers in any order (negative numbers count from the end), or a mask;
            None for all.
        atoms
            Atom indices in any order, as for `select`; None for all.
        out
            An array `(n_frames, n_atoms, 3)`, float32, C order, that receives the positions.
        velocities, forces
            Whether to read these too. TRR, NCDF and H5MD can hold them. They are NaN in frames that
            lack them, as are the positions of TRR frames without positions.
        threads
            Threads that read and decode; None for one thread up to 16 MiB of positions, and all
            cores above.

        Returns
        -------
        Block
            `positions` `(n_frames, n_atoms, 3)`, float32, Å, with times, steps and cells; if
            requested, `velocities` in Å/ps and `forces` in kJ/(mol Å) of the same shape.

        Raises
        ------
        FrameError, SelectionError
            If a frame or an atom is out of range.
        FormatError
            If a frame is corrupt, or none of the frames has the requested velocities or forces.
        ValueError
            If `out` does not fit, or `threads` is below 1.

        Examples
        --------
        >>> traj.read(frames=slice(0, 10), atoms=[0, 7]).positions.shape
        (10, 2, 3)
        """
        columns = None if atoms is None else self.columns(atoms)
        return self.read_columns(
            frames, columns, out, velocities=velocities, forces=forces, threads=threads
        )

    def blocks(
        self,
        size: int | None = None,
        frames: FrameChoice = None,
        atoms: Sequence[int] | NDArray[np.integer | np.bool_] | None = None,
    ) -> Iterator[Block]:
        """Iterate over blocks of frames; each block overwrites the `positions` of the last one.

        Parameters
        ----------
        size
            Frames per block; the last block may be smaller. None for 512 KiB of positions, at least
            one frame and at most 256, which is fastest.
        frames, atoms
            As for `read`, with the same errors.

        Yields
        ------
        Block
            The next frames, as `read` returns them. Copy the positions to keep them.

        Examples
        --------
        >>> sum(len(block.frames) for block in traj.blocks())
        98
        """
        columns = None if atoms is None else self.columns(atoms)
        return self.blocks_of_columns(size, frames, columns)

    def read_columns(
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
        """Read atoms by their checked indices in a frame; see `read`.

        Velocities and forces that no frame has are an error if they are `required`, else None.

        With `counted=False` the read does not enter the access log of a data set. `run` are the
        frames of a run to which these frames are compared: jumps are counted from the first of
        all.
        """
        numbers = resolve_frames(frames, self.n_frames, self.label)
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
            threads = max(threads, self._reader.connections or 1)
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
            with self.stale_index_removed():
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
            with self.stale_index_removed():
                got = reader.read(numbers, columns, positions, "positions", threads=threads)
        if counted:
            self.count_read(columns, got["counts"])
            if self._reader.has_no_jump and (counting := reader.counting())["frames"]:
                self.count_read(columns, counting)

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
            tuple(self.transform_remarks([got["counts"]])),
        )

    def blocks_of_columns(
        self, size: int | None, frames: FrameChoice, columns: NDArray[np.int64] | None
    ) -> Iterator[Block]:
        """Iterate over blocks of atoms given by their checked indices in a frame; see `blocks`."""
        if size is not None and size < 1:
            raise ValueError(f"a block has at least 1 frame, not {size}")
        numbers = resolve_frames(frames, self.n_frames, self.label)
        n_frames = n_frames_of(numbers)
        n_atoms = self.n_atoms if columns is None else len(columns)
        if size is None:
            size = max(1, min(BLOCK_FRAMES, BLOCK_BYTES // (12 * n_atoms)))
        parts = self.reader_for(numbers, columns).parts(numbers, columns)
        # Of remote storage, frames of several blocks are asked for at the same time.
        at_once = min(parts.frames_at_once, AHEAD_BYTES // (12 * max(n_atoms, 1)))
        most = size * max(1, -(-at_once // size))
        buffer = np.empty((min(most, n_frames), n_atoms, 3), np.float32)

        def go(size: int) -> Iterator[Block]:
            begin, count = 0, size
            while begin < n_frames:
                several = buffer[: min(count, n_frames - begin)]
                with self.stale_index_removed():
                    times, steps, here, cells, boxes = parts.read(begin, several)
                vectors = None if boxes is None else boxes.reshape(-1, 3, 3)
                remarks = tuple(self.transform_remarks([parts.counts()] if self.transforms else []))
                for first in range(0, len(several), size):
                    of = slice(first, first + size)
                    yield Block(
                        several[of],
                        times[of],
                        steps[of],
                        here[of],
                        cells[of],
                        vectors=None if vectors is None else vectors[of],
                        remarks=remarks,
                    )
                begin, count = begin + len(several), min(2 * count, most)

        return go(size) if self._access_log is None else self._used_by(go(size), columns, parts)

    def _used_by(
        self, blocks: Iterator[Block], columns: NDArray[np.int64] | None, parts: _trajet.Parts
    ) -> Iterator[Block]:
        """Iterate over blocks, then record in the access log what was read."""
        assert self._access_log is not None
        try:
            yield from blocks
        finally:
            self._access_log.read(columns, parts.counts())

    @property
    def universe(self) -> "Universe":
        """The topology as an MDAnalysis Universe, at the positions of frame 0.

        For some tags of a data set, and files with some atoms of the topology, it has all atoms;
        those that frames lack have NaN as positions.

        Raises
        ------
        SelectionError
            If there is no topology, or its number of atoms is not the trajectory's.
        MissingPackageError
            If MDAnalysis is not installed.
        """
        if self._universe is None:
            path = self._checked_topology_path()
            watch = Stopwatch()
            universe = universes.load(
                self.topology_at or path, f"{path}: making a Universe or AtomGroup of it"
            )
            if len(universe.atoms) != self.n_topology_atoms:
                raise SelectionError(
                    f"{path} has {len(universe.atoms)} atoms in MDAnalysis, and"
                    f" {self.n_topology_atoms} here"
                )
            self.t_topology += watch.seconds()
            positions, box = self._first_frame()
            # A Universe cannot hold a rotated box.
            cell = np.full(6, np.nan) if self.rotates else box.cell
            universes.place(universe, positions, cell)
            self._universe = universe
        return self._universe

    def _first_frame(self) -> tuple[NDArray[np.float32], Box]:
        """Return the positions of all atoms of the topology in frame 0, and its box.

        Atoms that frames lack are NaN.
        """
        if self._first is None:
            block = self.read_columns([0], None, None, counted=False)
            positions = block.positions[0]
            if (origin := self._origin) is not None:
                positions = np.full((self.n_topology_atoms, 3), np.nan, np.float32)
                positions[origin] = block.positions[0]
            self._first = positions, Box.of(block)
        return self._first

    def use_universe(self, universe: "Universe", box: Box) -> None:
        """Use a Universe as topology, at its current frame, which has this box."""
        structure = of_universe(universe)
        assert structure.positions is not None
        self._universe, self._first, self.call = universe, (structure.positions, box), None
        self._topology = structure.topology

    def select_indices(self, text: str, where: str, *, empty: bool = False) -> NDArray[np.int64]:
        """Return the topology indices of the open atoms that a selection text matches in frame 0.

        Raises
        ------
        SelectionError
            As `Topology.select`, or if it depends on positions of atoms that frames lack.
        """
        self._remark_on_residue_numbers(text)
        self._check_positions(text)
        positions, box = self._first_frame() if needs_positions(text) else (None, None)
        return self.topology.select(
            text, where, among=self._origin, positions=positions, box=box, empty=empty
        )

    def columns_of_text(self, text: str) -> NDArray[np.int64]:
        """Return the indices in a frame of the atoms that a selection text matches in frame 0.

        Raises
        ------
        SelectionError
            As `Topology.select`.
        """
        where = self.label if self._origin is not None else str(self.topology)
        return self.columns_of(self.select_indices(text, where))[0]

    def observables(self, frame: int) -> "Numbers":
        """Return numbers of a frame beside its atoms: λ of TRR, observables of H5MD.

        Parameters
        ----------
        frame
            The frame; negative numbers count from the end.

        Returns
        -------
        dict
            Numbers or arrays by name: "lambda" for TRR; for H5MD the paths below "observables",
            such as "protein/energy", in the units of the file. Empty for other formats.

        Raises
        ------
        FrameError
            If there is no such frame.
        MissingPackageError
            If the file is H5MD and h5py is not installed.
        FormatError
            If an H5MD file has changed since it was opened.

        Notes
        -----
        Rows of H5MD series are found by their steps. A series has no number for a frame whose step
        it lacks. Series whose steps repeat or go back are left out, unless they are the steps of
        the frames.

        Examples
        --------
        >>> traj.observables(0)
        {}
        """
        (number,) = self.frame_numbers([frame]).tolist()
        found: Numbers = {}
        with self.stale_index_removed():
            of_frame = self._reader.observables(number)
        for name, value in of_frame.items():
            found[name] = np.float64(value)
        if self.dataset is not None:
            return found
        if h5md.HDF5.name in self.format:
            file, within, step = self._reader.place(number)
            if file not in self._observables:
                self._observables[file] = self._open_observables(file)
            if (series := self._observables[file]) is not None:
                found |= series.at(within, step)
        return found

    def _open_observables(self, file: int) -> "h5md.Observables | None":
        """Return the observables of a file; None if it is not H5MD.

        Raises
        ------
        FormatError
            If another file is found under its name.
        """
        segment = self._reader.segments()[file]
        if segment["format"] != h5md.HDF5.name:
            return None
        path = self.hdf5_at(self._absolute_paths[file])
        # The ETag tells whether an object has changed.
        if isinstance(path, Path) and _trajet.file_digest(path) != segment["digest"]:
            raise FormatError(f"{path}: it has changed since it was opened: open it again")
        return h5md.Observables(path, self.particles, segment["n_frames"])


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
