"""Copies of trajectories: other formats, fewer atoms, fewer frames."""

import os
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, mdanalysis, output
from trajet._trajet import OutputError
from trajet.analysis.subject import main_selection
from trajet.pools.pool import Progress
from trajet.result import Report, make_report
from trajet.trajectory import FrameChoice, Selection, Trajectory, resolve_frames

HDF5 = (".h5md", ".h5")
SUFFIXES = (".xtc", ".trr", ".dcd", ".nc", ".ncdf", *HDF5)


@dataclass(frozen=True)
class Conversion:
    """What was written.

    Attributes
    ----------
    path
        The output.
    n_frames, n_atoms
        Frames in it, and atoms of each.
    size
        Bytes.
    remarks
        What one should know: what was left out because that was allowed, or always is.
    report
        Where the time went; encoding counts as `t_comp`, writing as `t_merge`. None for HDF5.
    """

    path: Path
    n_frames: int
    n_atoms: int
    size: int
    remarks: tuple[str, ...]
    report: Report | None = field(repr=False)


def convert(
    source: Trajectory | Selection | Any,
    path: str | os.PathLike[str],
    *,
    frames: FrameChoice = None,
    precision: float | None = None,
    double: bool | None = None,
    velocities: bool = True,
    forces: bool = True,
    compression: int | None = None,
    allow_loss: bool = False,
    force: bool = False,
    topology: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    comm: h5md.Communicator | None = None,
) -> Conversion:
    """Write a trajectory, or some of its atoms and frames, to a file of any format.

    Frames are decoded and encoded on all threads and written in order. The output has its name only
    when it is whole. From a format to itself nothing is lost: XTC keeps its integers, TRR its own
    precision, and what else a frame holds.

    Parameters
    ----------
    source
        A Trajectory, a Selection, or an MDAnalysis AtomGroup of a file's coordinates.
    path
        The output; its ending is its format: .xtc, .trr, .dcd, .nc (Amber NetCDF), .h5md.
    frames
        A slice, frame numbers, or a mask; None for all.
    precision
        XTC: steps per nm; None for the source's, or 1000 where it has none. XTC stores up to nine
        atoms as plain floats, without a precision.
    double
        TRR: whether to write double precision; None as the source.
    velocities, forces
        Whether to write those that the source has.
    compression
        H5MD: 1 to 9 for gzip, None for none.
    allow_loss
        Write what the format can hold, instead of refusing what it cannot; `remarks` say what is
        left out.
    force
        Replace an output that is there.
    topology
        Where to write the atoms themselves, as MDAnalysis does for this ending (.pdb, .gro, …), at
        the positions of the first frame.
    threads
        None for all cores; of each rank of `comm`, for 1.
    progress
        Called with frames done and in total.
    comm
        H5MD: a communicator of mpi4py, whose ranks call this with the same arguments and write the
        file together; an error of one is raised on all. All frames must have the velocities and
        forces that are written; `progress` is called on rank 0.

    Raises
    ------
    OutputError
        If the output is there already, cannot be written, or cannot hold what it should.
    ValueError
        If the ending is of no format, or an option means nothing for it.
    FrameError, FormatError
        If a frame is out of range, or corrupt.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.convert(traj.select("name CA"), "calpha.xtc", frames=slice(0, 50)).n_frames
    50
    """
    path = Path(path)
    if comm is not None:
        with h5md.together(comm):
            if path.suffix.lower() not in HDF5 or (precision, double, topology) != (None,) * 3:
                raise ValueError(
                    f"{path}: ranks of MPI write H5MD, without precision, double or topology: end"
                    " the name in .h5md, or leave comm= (--pool mpi) out"
                )
            selection, chosen, indices = _choose(source, path, frames, threads)
            _check_absent(path, force=force)
            first_frame = int(chosen[0])
            velocities = velocities and _holds(selection.trajectory, first_frame, "velocities")
            forces = forces and _holds(selection.trajectory, first_frame, "forces")
        h5md.write_together(
            path,
            selection.trajectory,
            comm,
            frames=chosen,
            atoms=indices,
            velocities=velocities,
            forces=forces,
            compression=compression,
            threads=threads,
            progress=progress,
        )
        # Other machines may not see the file yet.
        size = comm.bcast(path.stat().st_size if comm.rank == 0 else 0)
        return Conversion(path, len(chosen), selection.n_atoms, size, (), None)
    selection, chosen, indices = _choose(source, path, frames, threads)
    trajectory = selection.trajectory
    if topology is not None:
        _check_topology(Path(topology), selection, force=force)
    numbers = resolve_frames(frames, trajectory.n_frames, trajectory.label)
    report = None
    if path.suffix.lower() in HDF5:
        if precision is not None or double is not None:
            raise ValueError(f"{path}: precision and double are of other formats")
        _check_absent(path, force=force)
        first_frame = int(chosen[0])
        h5md.write(
            path,
            trajectory,
            frames=chosen,
            atoms=indices,
            velocities=velocities and _holds(trajectory, first_frame, "velocities"),
            forces=forces and _holds(trajectory, first_frame, "forces"),
            compression=compression,
            threads=threads,
            progress=progress,
        )
        remarks: tuple[str, ...] = ()
    else:
        if compression is not None:
            raise ValueError(f"{path}: compression is for H5MD")
        _, said, run = trajectory.fresh(
            lambda reader: _trajet.convert(
                reader,
                numbers,
                indices,
                path,
                precision=precision,
                double=double,
                velocities=velocities,
                forces=forces,
                allow_loss=allow_loss,
                force=force,
                threads=threads or _trajet.available_threads(),
                progress=progress,
            )
        )
        remarks = tuple(said)
        asked = {
            "analysis": "convert",
            "parameters": {"n_frames": len(chosen), "n_atoms": [selection.n_atoms]},
            "inputs": trajectory.describe_inputs(),
        }
        report = make_report(trajectory.reader, run, asked)
    if topology is not None:
        first = selection.read(frames=[int(chosen[0])])
        atoms = selection.atoms
        with output.beside(Path(topology)) as own:
            mdanalysis.write_structure(own, atoms, first.positions[0], first.cells[0])
    size = path.stat().st_size
    return Conversion(path, len(chosen), selection.n_atoms, size, remarks, report)


def _choose(
    source: Trajectory | Selection | Any, path: Path, frames: FrameChoice, threads: int | None
) -> tuple[Selection, NDArray[np.int64], NDArray[np.int64] | None]:
    """Return what is to be written: the selection, frame numbers, and indices of some atoms."""
    selection = main_selection(source)
    trajectory = selection.trajectory
    output.check(path, SUFFIXES)
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    if path.resolve() in [own.resolve() for own in trajectory.paths]:
        raise OutputError(f"{path}: is what would be read: give another name")
    chosen = trajectory.frame_numbers(frames)
    if len(chosen) == 0:
        raise ValueError(f"{path}: there is no frame to write: choose some")
    every = np.arange(trajectory.n_atoms)
    return (
        selection,
        chosen,
        None if np.array_equal(selection.indices, every) else selection.indices,
    )


def _check_absent(path: Path, *, force: bool) -> None:
    """Refuse to replace what is there, unless that is asked for."""
    if path.exists() and not force:
        raise OutputError(f"{path}: is there already: give another name, or force=True (--force)")


def _check_topology(path: Path, selection: Selection, *, force: bool) -> None:
    """Make sure that a structure can be written, before any work."""
    _ = selection.atoms
    output.check(path, (path.suffix.lower(),))
    _check_absent(path, force=force)
    mdanalysis.check_structure(path)


def _holds(trajectory: Trajectory, frame: int, kind: str) -> bool:
    """Tell whether a frame has velocities or forces."""
    try:
        trajectory.read(
            frames=[frame],
            atoms=[0],
            velocities=kind == "velocities",
            forces=kind == "forces",
        )
    except _trajet.FormatError:
        return False
    return True


def split(
    source: Trajectory | Selection | Any,
    folder: str | os.PathLike[str],
    *,
    segments: int | None = None,
    frames_per_segment: int | None = None,
    force: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Conversion]:
    """Divide a trajectory into files of its own format, for many processes to read.

    Parameters
    ----------
    source
        A Trajectory, a Selection, or an MDAnalysis AtomGroup of a file's coordinates.
    folder
        Where the files go; made if it is not there. They are named after the first file of the
        trajectory and numbered: `run-000.xtc`, ….
    segments
        How many files, of as equal numbers of frames as can be.
    frames_per_segment
        Instead of that: frames of each but the last.
    force
        Replace files that are there.
    threads
        None for all cores.
    progress
        Called with frames done and in total.

    Returns
    -------
    list of Conversion
        One a file, in their order.

    Raises
    ------
    OutputError
        If a file is there already or cannot be written.
    ValueError
        If there are fewer frames than segments, or the format is not written.

    Examples
    --------
    >>> import trajet as tj
    >>> [part.n_frames for part in tj.split(traj, "parts", segments=4)]
    [25, 25, 24, 24]
    """
    trajectory = main_selection(source).trajectory
    if (segments is None) == (frames_per_segment is None):
        raise ValueError("give segments or frames_per_segment")
    n = trajectory.n_frames
    if segments is not None:
        if not 1 <= segments <= n:
            raise ValueError(f"{n} frames make 1 to {n} segments, not {segments}")
        borders = [n // segments * k + min(k, n % segments) for k in range(segments + 1)]
    else:
        assert frames_per_segment is not None
        if frames_per_segment < 1:
            raise ValueError("a segment has at least one frame")
        borders = [*range(0, n, frames_per_segment), n]
    suffix = trajectory.path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{trajectory.path}: files of this ending are not written: convert it first"
        )
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror}") from error
    digits = max(3, len(str(len(borders) - 2)))
    stem = trajectory.path.stem
    parts = []
    for k, (begin, end) in enumerate(pairwise(borders)):

        def show(done: int, _: int, begin: int = begin) -> None:
            if progress is not None:
                progress(begin + done, n)

        path = folder / f"{stem}-{k:0{digits}d}{suffix}"
        parts.append(
            convert(
                source,
                path,
                frames=slice(begin, end),
                force=force,
                threads=threads,
                progress=show,
            )
        )
    return parts
