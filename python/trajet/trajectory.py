"""Trajectories, selections of their atoms, and blocks of positions."""

import builtins
import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, mdanalysis
from trajet._trajet import (
    FormatError,
    FrameError,
    Reader,
    SelectionError,
    StaleIndexError,
    StoreError,
)
from trajet.dataset import Dataset, Place, Uses, find_dataset
from trajet.pools.elsewhere import led
from trajet.pools.pool import Frames, Pool

DEFAULT_REQUEST_SIZE = 256 * 1024

# Bytes of a block's positions where no size is given: with a request they stay in the processor's
# cache, and so many are reached in few blocks that what each costs beside its frames is little.
BLOCK_BYTES = 512 * 1024
# More positions than these are read by all cores.
MUCH_BYTES = 16 * 1024 * 1024
# Most frames of such a block: the first one of few atoms should not take long.
BLOCK_FRAMES = 256

FrameChoice: TypeAlias = slice | Sequence[int] | NDArray[Any] | None
AtomChoice: TypeAlias = str | Sequence[int] | NDArray[Any]
_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Block:
    """Positions of the same atoms in several frames.

    Attributes
    ----------
    positions
        `(n_frames, n_atoms, 3)`, float32, Å.
    times
        `(n_frames,)`, float64, ps.
    steps
        `(n_frames,)`, int64, integration steps.
    frames
        `(n_frames,)`, int64, frame numbers.
    cells
        `(n_frames, 6)`, float64: a, b, c (Å), α, β, γ (degrees); NaN where a frame has no cell.
    velocities
        As `positions`, Å/ps; None unless asked for; NaN in frames that have none.
    forces
        As `positions`, kJ/(mol Å); None unless asked for; NaN in frames that have none.
    """

    positions: NDArray[np.float32]
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    frames: NDArray[np.int64]
    cells: NDArray[np.float64]
    velocities: NDArray[np.float32] | None = None
    forces: NDArray[np.float32] | None = None


@led("trajectory")
def open(
    topology: str | os.PathLike[str] | None,
    *trajectories: str | os.PathLike[str],
    continuous: bool = False,
    allow_truncated_tail: bool = False,
    request_size: int = DEFAULT_REQUEST_SIZE,
    sidecar: bool = True,
    rebuild_index: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    particles: str | None = None,
    units: Mapping[str, str] | None = None,
    pool: Pool | None = None,
) -> "Trajectory":
    """Open a trajectory.

    Parameters
    ----------
    topology
        A file that MDAnalysis reads (PSF, PDB, GRO, TPR, PRMTOP, …), or None for plain coordinates.
        It is read when atoms are first selected. Or, without trajectories, a data set of a store,
        "STORE/name", or some of its tags, "STORE/name@protein,lipid": then the trajectory has the
        atoms of these tags alone, in their original order, and selections look only at them.
        Indices of atoms are those of the original.
    *trajectories
        The trajectory: an XTC, TRR, DCD, Amber NetCDF, H5MD or mdtraj HDF5 file; or several files
        of the same atoms, of any of these formats. Several files are one trajectory: frames are
        numbered through, in the order in which the files are given; times and steps are those of
        the files.
    continuous
        Whether frames that several files hold are read once, where a simulation was continued
        (`gmx mdrun -noappend`) or restarted. Files are put in the order of their first times; of
        frames from the first time of a later file on, those of the later file are kept. `remarks`
        say how many frames were dropped. Otherwise all frames are kept, and `remarks` say where
        times overlap.
    allow_truncated_tail
        Read the whole frames of files that end inside a frame (a simulation that still runs). The
        report of every analysis records it.
    request_size
        Bytes of a read request. Larger ones (8 MiB) suit parallel and network file systems.
    sidecar
        Whether to keep the index of frames in a hidden file beside the trajectory (or in the cache
        folder) and to use the one that is there.
    rebuild_index
        Build the index although there is one that fits.
    threads
        Threads that build an index of a large file; None for all cores.
    progress
        Called with bytes done and in total while an index is built.
    particles
        Which group of particles of H5MD files, where there are several.
    units
        Units of H5MD files that do not name them: {"position": "nm", "time": "ps"}, and
        "velocity" and "force".
    pool
        A pool whose processes all run this script (`MpiPool`): rank 0 opens the trajectory, and
        what the others get stands for it where `select` and analyses take it.

    Returns
    -------
    Trajectory

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As the operating system says.
    TruncatedError
        If the file ends inside a frame.
    FormatError
        If a file is empty, of another format or corrupt, or the number of atoms changes, in a file
        or from one to the next.
    StoreError
        If the store has no such data set, or that no such tag.
    MissingPackageError
        If it is an HDF5 file and h5py is not installed.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> traj
    <Trajectory adk.xtc: 98 frames of 3341 atoms>
    """
    if request_size < 1:
        raise ValueError(f"request_size must be at least 1 byte, not {request_size}")
    if not trajectories:
        found = None if topology is None else find_dataset(topology)
        if found is None:
            raise TypeError(
                "give the topology first, then the trajectory: open('top.psf', 'traj.xtc');"
                " None stands for no topology, and a data set of a store has one with it"
            )
        if continuous or allow_truncated_tail or particles is not None or units is not None:
            raise ValueError(
                f"{found.label}: a data set was put in order when it was added: leave continuous=,"
                " allow_truncated_tail=, particles= and units= out"
            )
        return Trajectory.of_dataset(found, request_size=request_size)
    for path in trajectories:
        if find_dataset(path) is not None:
            raise ValueError(
                f"{path}: is a data set of a store, which has its topology with it:"
                f" open({os.fspath(path)!r})"
            )
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    paths = [Path(trajectory) for trajectory in trajectories]
    hdf5 = [path for path in paths if h5md.is_hdf5(path)]
    if not hdf5 and (particles is not None or units is not None):
        raise ValueError(f"{paths[0]}: is no HDF5 file: particles= and units= are for those")
    reader = Reader(
        paths,
        continuous=continuous,
        allow_truncated_tail=allow_truncated_tail,
        request_size=request_size,
        sidecar=sidecar,
        rebuild_index=rebuild_index,
        cache=_cache_folder(),
        threads=threads or _trajet.available_threads(),
        progress=progress,
        described={
            path: h5md.describe(
                path, particles=particles, units=units, allow_truncated_tail=allow_truncated_tail
            )
            for path in hdf5
        },
    )
    return Trajectory(None if topology is None else Path(topology), reader)


def _cache_folder() -> Path | None:
    """Return the folder for indexes of trajectories whose own folder cannot be written."""
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "trajet"
    try:
        return Path.home() / ".cache" / "trajet"
    except RuntimeError:
        return None


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
        # Whether the universe has the positions of frame 0.
        self._placed = False
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
            self._placed = True
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

    def select(self, selection: AtomChoice) -> "Selection":
        """Select atoms.

        Parameters
        ----------
        selection
            In MDAnalysis' language, evaluated once, on frame 0; or atom indices in any order: those
            of the topology, also where only some tags of a data set are open.

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
            if mdanalysis.looks_at_places(selection):
                _ = self.universe
            where = self.label if self._origin is not None else str(self.topology or self.label)
            atoms = mdanalysis.select(self.named, selection, where)
            places, _ = self.places_of(np.asarray(atoms.indices, dtype=np.int64))
            return Selection(self, places, selection)
        return Selection(self, self.places(selection), None)

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
        indices = _indices(chosen, self.n_named)
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
            As for `read`.

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
        shape = (_count(numbers), n_atoms, 3)
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

        return Block(
            positions,
            got["times"],
            got["steps"],
            frame_numbers(numbers),
            got["cells"],
            further("velocities") if velocities else None,
            further("forces") if forces else None,
        )

    def blocks_of_places(
        self, size: int | None, frames: FrameChoice, places: NDArray[np.int64] | None
    ) -> Iterator[Block]:
        """Go over the atoms at checked `places` of the frames; see `blocks`."""
        if size is not None and size < 1:
            raise ValueError(f"a block has at least 1 frame, not {size}")
        numbers = resolve_frames(frames, self.n_frames, self.label)
        n_frames = _count(numbers)
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


class Selection:
    """Some atoms of a trajectory. Made by `Trajectory.select`.

    Attributes
    ----------
    trajectory
        The trajectory.
    indices
        `(n_atoms,)`, int64: which atoms of the topology, in the order in which positions are read.
    places
        `(n_atoms,)`, int64: where they are in a frame. Other numbers than `indices` where only some
        tags of a data set are open, whose frames have no other atoms.
    text
        The selection in MDAnalysis' language; None where indices were given.
    """

    def __init__(self, trajectory: Trajectory, places: NDArray[np.int64], text: str | None) -> None:
        self.trajectory = trajectory
        self.places = places.copy()
        self.indices = trajectory.indices_of(self.places)
        for numbers in (self.places, self.indices):
            numbers.setflags(write=False)
        self.text = text

    def __repr__(self) -> str:
        """Return the selection and its size."""
        what = "of indices" if self.text is None else repr(self.text)
        return f"<Selection {what}: {self.n_atoms} of {self.trajectory.n_atoms} atoms>"

    @property
    def n_atoms(self) -> int:
        """Atoms in the selection."""
        return len(self.places)

    @property
    def label(self) -> str:
        """What figures and reports call it."""
        return self.text if self.text is not None else f"{self.n_atoms} atoms"

    @property
    def atoms(self) -> Any:
        """The atoms as an MDAnalysis AtomGroup, at the positions of frame 0."""
        _ = self.trajectory.universe
        return self.named

    @property
    def named(self) -> Any:
        """The atoms as an MDAnalysis AtomGroup; where they are in space is not known yet."""
        return self.trajectory.named[self.places]

    def read(
        self,
        frames: FrameChoice = None,
        out: NDArray[np.float32] | None = None,
        *,
        velocities: bool = False,
        forces: bool = False,
        threads: int | None = None,
    ) -> Block:
        """Read the positions of these atoms; only they are decoded. See `Trajectory.read`.

        Examples
        --------
        >>> traj.select("name CA").read(frames=slice(0, 100)).positions.shape
        (98, 214, 3)
        """
        return self.trajectory.read_places(
            frames, self.places, out, velocities=velocities, forces=forces, threads=threads
        )

    def look(self, frame: int) -> Block:
        """Read a frame in preparation of something: of a data set, this is no use of its own."""
        return self.trajectory.read_places([frame], self.places, None, counted=False)

    def blocks(self, size: int | None = None, frames: FrameChoice = None) -> Iterator[Block]:
        """Read block by block, into the same memory. See `Trajectory.blocks`."""
        return self.trajectory.blocks_of_places(size, frames, self.places)


def describe_file(path: Path) -> dict[str, Any]:
    """Return what a report says of a structure file."""
    with builtins.open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": str(path), "size": path.stat().st_size, "digest": f"sha256:{digest}"}


def from_atomgroup(atoms: Any) -> Selection:
    """Return the selection that an AtomGroup stands for, on its own Universe's file."""
    said = mdanalysis.from_atomgroup(atoms)
    opened = open(said.topology, *said.paths)
    same_size = (opened.n_atoms, opened.n_frames) == (said.n_atoms, said.n_frames)
    if same_size:
        now = opened.read_places([said.frame], said.indices, None)
        same_size = bool(now.times[0] == said.time) and np.array_equal(
            now.positions[0], said.positions, equal_nan=True
        )
    if not same_size:
        where = str(said.paths[0].absolute())
        if len(said.paths) > 1:
            where += f" … ({len(said.paths)} files)"
        raise SelectionError(
            f"this AtomGroup cannot serve as a selection: {where} holds other"
            " coordinates or times than its Universe (were positions or units changed, a time"
            " offset given, or did the file or the working folder change since it was loaded?)"
        )
    # The Universe that made the group selects further groups, on its own topology.
    opened._universe, opened._placed = said.universe, True
    return Selection(opened, said.indices, None)


def resolve_frames(frames: FrameChoice, n_frames: int, label: str) -> Frames:
    """Return frame numbers as the native module takes them.

    Raises
    ------
    FrameError
        If one is out of range.
    """
    if frames is None:
        frames = slice(None)
    if isinstance(frames, slice):
        chosen = range(*frames.indices(n_frames))
        return (chosen.start, chosen.step, len(chosen)) if chosen else (0, 1, 0)
    numbers = np.atleast_1d(np.asarray(frames))
    if numbers.dtype == np.bool_:
        if numbers.shape != (n_frames,):
            raise FrameError(f"{label}: a mask of {numbers.shape} does not fit {n_frames} frames")
        return np.flatnonzero(numbers).astype(np.int64)
    if numbers.ndim != 1 or not (np.issubdtype(numbers.dtype, np.integer) or numbers.size == 0):
        raise TypeError("frames must be a slice, whole numbers in a row, a mask, or None")
    wrong = numbers[(numbers < -n_frames) | (numbers >= n_frames)]
    if wrong.size:
        raise FrameError(
            f"{label}: frame {wrong[0]} is out of range: the trajectory has {n_frames} frames,"
            f" 0 to {n_frames - 1}"
        )
    return np.where(numbers < 0, numbers + n_frames, numbers).astype(np.int64)


def frame_numbers(frames: Frames) -> NDArray[np.int64]:
    """Return frame numbers as an array."""
    if isinstance(frames, tuple):
        first, step, count = frames
        return first + step * np.arange(count, dtype=np.int64)
    return frames


def _count(frames: Frames) -> int:
    return frames[2] if isinstance(frames, tuple) else len(frames)


def _indices(indices: NDArray[Any], n_atoms: int) -> NDArray[np.int64]:
    """Return atom indices of a topology, or of a trajectory without one.

    Raises
    ------
    SelectionError
        If there is none or one is out of range.
    """
    if indices.size == 0:
        raise SelectionError("selection of indices: it is empty")
    if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer):
        raise TypeError("atoms must be a selection string, whole numbers in a row, or a mask")
    wrong = indices[(indices < 0) | (indices >= n_atoms)]
    if wrong.size:
        raise SelectionError(
            f"atom {wrong[0]} is out of range: the trajectory has {n_atoms} atoms,"
            f" 0 to {n_atoms - 1}"
        )
    return np.ascontiguousarray(indices, dtype=np.int64)


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
