"""`write`: positions of the user to trajectory files."""

import copy
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, output, universes
from trajet.box import box_vectors
from trajet.conversion.contents import WITHOUT_ORIGIN
from trajet.conversion.copies import Conversion
from trajet.conversion.files import OutputOptions
from trajet.formats import WRITTEN_SUFFIXES, written_as
from trajet.messages import Code, Message, emit, left_out
from trajet.trajectory import Block, Frame, Selection, Trajectory, UpdatingSelection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup, Universe

# Positions of frames: an array, blocks of frames, or the frames of a Universe.
Positions: TypeAlias = (
    "NDArray[np.floating] | Iterable[NDArray[np.floating] | Block | Frame] | Universe | AtomGroup"
)

# Frames of an array that are converted and encoded at a time.
_AT_ONCE = 64


def write(
    path: str | os.PathLike[str],
    positions: Positions,
    *,
    times: "NDArray[np.floating] | Iterable[float] | None" = None,
    steps: "NDArray[np.integer] | Iterable[int] | None" = None,
    cells: "NDArray[np.floating] | Iterable[float] | None" = None,
    precision: float | None = None,
    double: bool | None = None,
    compression: int | None = None,
    allow_loss: bool = False,
    force: bool = False,
    threads: int | None = None,
) -> Conversion:
    """Write positions that a script made to a trajectory file of any format.

    Frames are encoded block by block on all threads. The file gets its name when it is complete: if
    the script fails or is killed, there is none. Trajectories and selections, also transformed
    ones, are written by `convert`.

    Parameters
    ----------
    path
        Path of the output; its ending selects the format: .xtc, .trr, .dcd, .nc (Amber NetCDF),
        .h5md, .lammpstrj, .xyz. In the last two all atoms have the type 1 and the species X.
    positions
        An array `(n_frames, n_atoms, 3)`, Å; or an iterable, such as a generator, of such arrays
        (blocks), of `Block` or of `Frame`, of which one at a time is in memory; or a Universe or
        AtomGroup of MDAnalysis, whose frames are written with its transformations. Numbers are
        rounded to float32.
    times
        `(n_frames,)`, ps; None for those of blocks, frames and Universes, and for 0, 1, 2, … of
        arrays.
    steps
        `(n_frames,)`, integration steps; None as for `times`.
    cells
        `(6,)` or `(n_frames, 6)`: a, b, c (Å), α, β, γ (degrees), six times NaN or three lengths of
        0 for no cell; None for those of blocks, frames and Universes, and for no cell of arrays.
    precision
        XTC: positions are rounded to multiples of 1/precision nm; None for 1000.
    double
        TRR: whether to write double precision; None for single.
    compression
        H5MD: 1 to 9 for gzip, None for none.
    allow_loss
        Leave out what the format cannot hold, instead of raising an error; `messages` say what.
    force
        Replace an existing output.
    threads
        Number of threads that encode; None for all cores.

    Returns
    -------
    Conversion
        Path and size of the output, and messages; its report is None.

    Raises
    ------
    OutputError
        If the output exists, cannot be written, or cannot hold a frame: its positions, cell, time,
        velocities or forces.
    ValueError
        If there is no frame, if shapes or numbers of frames do not fit each other, if numbers of a
        frame are no cell, its time is not finite or its step not a whole number, or if the ending
        is not that of a format.
    TypeError
        If the positions are of another type, such as a trajectory.

    Examples
    --------
    >>> import trajet as tj
    >>> x = tj.open("adk.psf", "adk.xtc").select("name CA").read().positions
    >>> tj.write("centred.xtc", x - x.mean(axis=1, keepdims=True), cells=[90] * 6).n_frames
    98

    Block by block, with the times and cells of the blocks:

    >>> from dataclasses import replace
    >>> blocks = tj.open("adk.psf", "adk.xtc").blocks()
    >>> shifted = (replace(block, positions=block.positions + 1) for block in blocks)
    >>> tj.write("shifted.dcd", shifted).n_atoms
    3341
    """
    if isinstance(positions, (str, os.PathLike)):
        raise TypeError(
            f"write(path, positions): the second argument is a path, {os.fspath(positions)!r}: give"
            " the path first, then the positions"
        )
    path = Path(path)
    output.check(path, WRITTEN_SUFFIXES)
    # Blocks may come from a function that changes the folder of the process.
    place = output.destination(path)
    in_hdf5 = path.suffix.lower() in h5md.HDF5.suffixes
    OutputOptions(precision=precision, double=double, compression=compression).check_for(path)
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    if not force:
        output.check_new(path)
    threads = threads or _trajet.available_threads()
    counted = _CheckedBlocks(positions, _FrameInputs.of(path, times, steps, cells))
    if in_hdf5:
        h5md.write_blocks(place, counted, compression=compression, threads=threads, force=force)
        messages = [left_out(WITHOUT_ORIGIN)] if counted.has_origins else []
    else:
        how = OutputOptions(precision, double, allow_loss=allow_loss)
        messages = _write(place, counted, how, force=force, threads=threads)
    size = place.stat().st_size
    messages += counted.messages
    emit(messages)
    return Conversion(path, counted.n_frames, counted.n_atoms, size, tuple(messages), None)


def _write(
    path: Path, blocks: "_CheckedBlocks", how: OutputOptions, *, force: bool, threads: int
) -> list[Message]:
    """Write blocks to a file that is not HDF5, and return messages on it."""
    times, steps = blocks.expected
    coming = iter(blocks)
    first: list[Block] = []
    # The header of a DCD file states the time between frames, which is known from the second on.
    info = written_as(path.suffix)
    is_even = info is not None and info.times == "even"
    while is_even and len(times) < 2 and (block := next(coming, None)) is not None:
        # A script may fill the same array with its next frame.
        first.append(block if len(block.times) > 1 else copy.deepcopy(block))
        times = np.concatenate([block.times for block in first])
        steps = np.concatenate([block.steps for block in first])
    writer = _trajet.TrajectoryWriter(path, how, times, steps, force=force)
    try:
        for block in chain(first, coming):
            writer.append(block, threads=threads)
        _, messages = writer.finish()
    finally:
        # After an error, or Ctrl-C.
        writer.discard()
    return messages


@dataclass(frozen=True)
class _FrameInputs:
    """Values that a user gave for all frames; None for those of the blocks. See `write`."""

    path: Path
    times: NDArray[np.float64] | None
    steps: NDArray[np.int64] | None
    cells: NDArray[np.float64] | None

    @classmethod
    def of(cls, path: Path, times: object, steps: object, cells: object) -> "_FrameInputs":
        """Return checked arrays.

        Raises
        ------
        ValueError
            If one has another shape, or numbers that cannot be times, steps or cells.
        """
        for name, given in (("times", times), ("steps", steps)):
            shape = (0,) if given is None else np.shape(np.asarray(given))
            if len(shape) != 1:
                raise ValueError(f"{path}: {name} have the shape (n_frames,), not {shape}")
        boxes = None if cells is None else np.asarray(cells, np.float64)
        if boxes is not None:
            if boxes.shape[-1:] != (6,) or boxes.ndim > 2:
                raise ValueError(
                    f"{path}: cells have the shape (6,) or (n_frames, 6): lengths in Å and angles"
                    f" in degrees, not {boxes.shape}"
                )
            boxes = _checked_cells(path, boxes.reshape(-1, 6), 0).reshape(boxes.shape)
        return cls(
            path,
            None if times is None else _checked_times(path, times, 0),
            None if steps is None else _checked_steps(path, steps, 0),
            boxes,
        )

    def instead(self, block: Block, begin: int) -> Block:
        """Return a block, whose first frame is frame `begin`, with the given values.

        Raises
        ------
        ValueError
            If there are fewer values than frames.
        """
        n = len(block.positions)
        here = slice(begin, begin + n)
        for name, n_given in self._counts().items():
            if n_given < here.stop:
                raise ValueError(f"{self.path}: there are {n_given} {name} for more frames")
        if self.times is not None:
            block = replace(block, times=self.times[here])
        if self.steps is not None:
            block = replace(block, steps=self.steps[here])
        if self.cells is not None:
            own = np.tile(self.cells, (n, 1)) if self.cells.ndim == 1 else self.cells[here]
            block = replace(block, cells=own, vectors=None, periodic=None, origins=None)
        return block

    def check(self, n_frames: int) -> None:
        """Raise an error if there are more values than frames, or no frame.

        Raises
        ------
        ValueError
            If there are.
        """
        if not n_frames:
            raise ValueError(f"{self.path}: there is no frame to write")
        for name, n_given in self._counts().items():
            if n_given != n_frames:
                raise ValueError(f"{self.path}: there are {n_given} {name} for {n_frames} frames")

    def _counts(self) -> dict[str, int]:
        arrays = {"times": self.times, "steps": self.steps}
        counts = {name: len(array) for name, array in arrays.items() if array is not None}
        if self.cells is not None and self.cells.ndim == 2:
            counts["cells"] = len(self.cells)
        return counts


class _CheckedBlocks:
    """Checked blocks of what a user gave; frames and atoms are counted on the way."""

    def __init__(self, positions: Positions, given: _FrameInputs) -> None:
        self._positions = positions
        self._given = given
        self.n_frames = 0
        self.n_atoms = 0
        # Whether cells begin elsewhere than at 0.
        self.has_origins = False
        self._last_time = -np.inf
        # Frames whose time is not after that of the frame before: their number, and the first.
        self._n_back = 0
        self._first_back = ""

    @property
    def messages(self) -> list[Message]:
        """Messages on the blocks so far."""
        if not self._n_back:
            return []
        more = "" if self._n_back == 1 else f" ({self._n_back} such frames in all)"
        return [Message(Code.TIMES_STEP_BACK, f"times do not increase: {self._first_back}{more}")]

    @property
    def expected(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Times and steps of all frames as far as they are known; DCD files begin with them."""
        positions, given = self._positions, self._given
        times, steps = given.times, given.steps
        if isinstance(positions, Block):
            path = given.path
            times = _checked_times(path, positions.times, 0) if times is None else times
            steps = _checked_steps(path, positions.steps, 0) if steps is None else steps
        elif isinstance(positions, np.ndarray) and times is None:
            times = np.arange(len(positions), dtype=np.float64)
        if times is None:
            return np.empty(0), np.empty(0, np.int64)
        return times, np.arange(len(times)) if steps is None else steps

    def __iter__(self) -> Iterator[Block]:
        given = self._given
        for part in _parts(given.path, self._positions):
            block = given.instead(_block(given.path, part, self.n_frames), self.n_frames)
            block = _checked(given.path, block, self.n_frames)
            n_frames, n_atoms, _ = block.positions.shape
            if self.n_frames and n_atoms != self.n_atoms:
                raise ValueError(
                    f"{given.path}: frame {self.n_frames} has {n_atoms} atoms, and the frames"
                    f" before it have {self.n_atoms}: give the same atoms in every frame"
                )
            self._compare(block.times)
            self.n_frames += n_frames
            self.n_atoms = n_atoms
            self.has_origins |= block.origins is not None and bool(np.any(block.origins))
            yield block
        given.check(self.n_frames)

    def _compare(self, times: NDArray[np.float64]) -> None:
        """Compare the times of the next frames with those before them."""
        times = np.append(self._last_time, times)
        back = np.flatnonzero(np.diff(times) <= 0)
        if back.size and not self._n_back:
            k = int(back[0])
            frame = self.n_frames + k
            self._first_back = (
                f"frame {frame} is at {times[k + 1]:.12g} ps, and frame {frame - 1}"
                f" at {times[k]:.12g} ps"
            )
        self._n_back += len(back)
        self._last_time = times[-1]


def _checked(path: Path, block: Block, begin: int) -> Block:
    """Return a block, whose first frame is frame `begin`, with checked times, steps and cells.

    Raises
    ------
    ValueError
        If their shapes do not fit the positions, or they are not times, steps or cells.
    """
    n = len(block.positions)
    for name, shape in (("times", (n,)), ("steps", (n,)), ("cells", (n, 6))):
        if np.shape(getattr(block, name)) != shape:
            raise ValueError(
                f"{path}: frame {begin}: {name} of its block have the shape"
                f" {np.shape(getattr(block, name))}, not {shape} as its positions"
            )
    periodic = block.periodic
    if periodic is not None and np.shape(periodic) != (n, 3):
        raise ValueError(
            f"{path}: frame {begin}: periodic of its block has the shape {np.shape(periodic)}, not"
            f" {(n, 3)}: give whether each cell is periodic along a, b and c"
        )
    if (origins := block.origins) is not None:
        origins = np.asarray(origins, np.float64)
        if origins.shape != (n, 3) or not np.isfinite(origins).all():
            raise ValueError(
                f"{path}: frame {begin}: origins of its block are {(n, 3)} finite numbers, Å: the"
                " corner at which each cell begins"
            )
    return replace(
        block,
        times=_checked_times(path, block.times, begin),
        steps=_checked_steps(path, block.steps, begin),
        cells=_checked_cells(path, block.cells, begin, periodic),
        periodic=None if periodic is None else np.asarray(periodic, np.bool_),
        origins=origins,
    )


def _checked_times(path: Path, times: object, begin: int) -> NDArray[np.float64]:
    """Return times of frames from `begin`.

    Raises
    ------
    ValueError
        If one is not finite.
    """
    array = np.asarray(times, np.float64)
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        k = int(wrong[0])
        raise ValueError(
            f"{path}: frame {begin + k}: its time is {array[k]}, not a finite number: give times"
            " in ps with times=..."
        )
    return array


def _checked_steps(path: Path, steps: object, begin: int) -> NDArray[np.int64]:
    """Return integration steps of frames from `begin`.

    Raises
    ------
    ValueError
        If one is not a whole number of 64 bits.
    """
    array = np.asarray(steps)
    if array.dtype == np.int64:
        return array
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{path}: steps are whole numbers, not {array.dtype}")
    with np.errstate(invalid="ignore"):
        is_whole = (array == np.rint(array)) & (array >= -(2.0**63)) & (array < 2.0**63)
    if not is_whole.all():
        k = int(np.flatnonzero(~is_whole)[0])
        raise ValueError(
            f"{path}: frame {begin + k}: its step is {array[k]}, not a whole number of 64 bits:"
            " give whole numbers with steps=..."
        )
    return array.astype(np.int64)


def _checked_cells(
    path: Path, cells: NDArray[np.float64], begin: int, periodic: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return cells of frames from `begin`, NaN where all lengths are zero.

    Along directions that are not `periodic`, a length may be zero.

    Raises
    ------
    ValueError
        If one has some numbers that are not finite, a length or an angle that is not positive,
        angles that must be radians, or no volume.
    """
    array = np.asarray(cells, np.float64)
    lengths, angles = array[:, :3], array[:, 3:]
    is_none = np.isnan(array).all(axis=1)
    is_finite = np.isfinite(array).all(axis=1)
    is_zero = is_finite & (lengths == 0).all(axis=1)
    is_length = lengths > 0
    if periodic is not None:
        is_length |= (lengths == 0) & ~np.asarray(periodic, np.bool_)
    has_signs = is_length.all(axis=1) & ((angles > 0) & (angles < 180)).all(axis=1)
    has_signs &= (angles > 2 * np.pi).any(axis=1)
    maybe = np.flatnonzero(is_finite & has_signs)
    # No box has angles that would put the third vector into the plane of the others.
    sizes = np.where(array[maybe] == 0, 1.0, array[maybe])
    cells_there = maybe[box_vectors(sizes, None)[:, 2, 2] > 0]
    wrong = np.setdiff1d(np.flatnonzero(~(is_none | is_zero)), cells_there)
    if wrong.size:
        k = int(wrong[0])
        numbers = ", ".join(f"{number:g}" for number in array[k])
        raise ValueError(
            f"{path}: frame {begin + k}: no cell has the lengths and angles {numbers}: give"
            " positive lengths in Å and angles in degrees with cells=..., or six times NaN for no"
            " cell"
        )
    return np.where(is_zero[:, np.newaxis], np.nan, array) if is_zero.any() else array


def _parts(path: Path, positions: Positions) -> "Iterator[NDArray[np.floating] | Block | Frame]":
    """Iterate over arrays, blocks and frames.

    Raises
    ------
    TypeError
        If the positions are of another type.
    """
    if isinstance(positions, (Trajectory, Selection, UpdatingSelection)):
        raise TypeError(
            f"{path}: write(...) takes positions, blocks or frames, and {positions!r} is none of"
            " these: copy it with convert(source, path)"
        )
    if universes.is_universe(positions) or universes.is_atomgroup(positions):
        for frame in universes.frames_of(cast("Universe | AtomGroup", positions)):
            yield Block(
                frame.positions[np.newaxis],
                np.array([frame.time]),
                np.array([frame.step], np.int64),
                np.array([frame.step], np.int64),
                frame.cell[np.newaxis],
                None if frame.velocities is None else frame.velocities[np.newaxis],
                None if frame.forces is None else frame.forces[np.newaxis],
            )
    elif isinstance(positions, np.ndarray):
        # Conversions to float32 need memory for a part only.
        for begin in range(0, len(positions) if positions.ndim == 3 else 1, _AT_ONCE):
            yield positions[begin : begin + _AT_ONCE]
    elif isinstance(positions, (Block, Frame)):
        yield positions
    elif isinstance(positions, Iterable) and not isinstance(positions, (str, bytes)):
        yield from positions
    else:
        raise TypeError(
            f"{path}: positions are an array (n_frames, n_atoms, 3), an iterable of such arrays,"
            f" of blocks or of frames, or a Universe, not {type(positions).__name__}"
        )


def _block(path: Path, part: "NDArray[np.floating] | Block | Frame", begin: int) -> Block:
    """Return frames as a block; those of arrays are numbered from `begin`, 1 ps apart.

    Raises
    ------
    ValueError
        If positions have another shape or no atoms, or one is infinite.
    """
    if isinstance(part, Frame):
        cells, vectors = part.cell[np.newaxis], part.box.vectors[np.newaxis]
        stored = vectors if part.box.is_turned else None
        times, steps = np.array([part.time]), np.array([part.step])
        block = Block(
            part.positions[np.newaxis],
            times,
            steps,
            steps,
            cells,
            vectors=stored,
            periodic=part.box.periodic[np.newaxis],
            origins=part.box.origin[np.newaxis],
        )
    elif isinstance(part, Block):
        block = part
    else:
        array = np.asarray(part)
        numbers = np.arange(begin, begin + len(array) if array.ndim else begin, dtype=np.int64)
        cells = np.full((len(numbers), 6), np.nan)
        block = Block(array, numbers.astype(np.float64), numbers, numbers, cells)
    if block.positions.ndim != 3 or block.positions.shape[2] != 3:
        raise ValueError(
            f"{path}: positions have the shape (n_frames, n_atoms, 3), not"
            f" {block.positions.shape}: one frame is positions[np.newaxis]"
        )
    if not block.positions.shape[1]:
        raise ValueError(f"{path}: there are no atoms to write: give the positions of at least one")
    if block.positions.dtype.kind not in "fiu":
        raise ValueError(f"{path}: positions are numbers, not {block.positions.dtype}")
    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(block.positions, np.float32)
    if (infinite := np.isinf(rounded)).any():
        frame, atom, axis = np.unravel_index(int(infinite.argmax()), infinite.shape)
        raise ValueError(
            f"{path}: frame {begin + frame}: atom {atom} is at {'xyz'[axis]} ="
            f" {block.positions[frame, atom, axis]} Å: no position is infinite, in single precision"
            " either; NaN stands for an atom without one"
        )
    return replace(block, positions=rounded)
