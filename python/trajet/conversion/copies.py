"""Copies of trajectories: other formats, fewer atoms, fewer frames."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, mdanalysis, output
from trajet._trajet import OutputError
from trajet.analysis.runner import main_selection
from trajet.conversion.files import (
    HDF5,
    CopyBrief,
    CopyJob,
    How,
    Outcome,
    for_workers,
    hdf5_content,
    write_files,
)
from trajet.conversion.output_pieces import write_pieces
from trajet.pools.jobs import Job, JobPool, JobResult
from trajet.pools.mpi import MpiPool
from trajet.pools.mpi.communicator import Communicator
from trajet.pools.pool import Frames, Pool, Progress, n_frames_of
from trajet.pools.rank_placeholder import root_only
from trajet.result import Report, make_report
from trajet.trajectory import (
    Block,
    FrameChoice,
    Selection,
    Trajectory,
    frame_numbers,
    resolve_frames,
)

SUFFIXES = (".xtc", ".trr", ".dcd", ".nc", ".ncdf", *HDF5)
# The endings of files of each format that is read; as mdtraj's HDF5 nothing is written.
ENDINGS = {
    "XTC": (".xtc",),
    "TRR": (".trr",),
    "DCD": (".dcd",),
    "NCDF": (".nc", ".ncdf"),
    "H5MD": (".h5md", ".h5"),
    "MDTRAJ": (".h5md",),
}
_TURNED = (
    "a box that is turned: its first vector is not along x, or its second not in the plane of x"
    " and y"
)
# Frames that are looked at together for velocities.
_FRAMES_LOOKED_AT = 1000


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
        What one should know: what was left out because that was allowed, or always is, and the
        remarks on the source. DCD, NetCDF and H5MD keep the latter, and every report on the copy
        repeats them; XTC and TRR have no room for them.
    report
        Where the time went; encoding counts as `t_comp`, writing as `t_merge`. None for HDF5.
    """

    path: Path
    n_frames: int
    n_atoms: int
    size: int
    remarks: tuple[str, ...]
    report: Report | None = field(repr=False)


@root_only("conversion")
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
    pool: Pool | None = None,
) -> Conversion:
    """Write a trajectory, or some of its atoms and frames, to a file of any format.

    Frames are decoded and encoded on all threads and written in order. The output has its name only
    when it is whole. From a format to itself nothing is lost: XTC keeps its integers, TRR its own
    precision, and what else a frame holds; H5MD its units and precision, observables, connectivity
    and all other content of the file. Rows of H5MD elements are cut to the frames and atoms.
    NetCDF keeps all dimensions, variables and attributes, as a replica-exchange run needs them;
    variables of atoms are cut to the atoms that are written. Where files of one trajectory differ
    in them, the output has those of the first file, and `remarks` say what that changes.

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
        left out, of how many frames, and which is the first of them. NetCDF has velocities and
        forces of all frames or of none, as its first frame has them.
    force
        Replace an output that is there.
    topology
        Where to write the atoms themselves, as MDAnalysis does for this ending (.pdb, .gro, …), at
        the positions of the first frame. A box that is turned, which these formats have no place
        for, is refused; with `allow_loss` it is left out.
    threads
        None for all cores; those of a `pool` are its own.
    progress
        Called with frames done and in total.
    pool
        A `DaskPool` or `MpiPool`: each worker or rank writes stretches of the frames, on storage
        that all of them see, and this process puts them one behind the other. The file is that of
        one process, byte for byte. Ranks of MPI write H5MD into its one file together. H5MD has the
        values of one process, and all frames must have the velocities and forces that are written.

    Returns
    -------
    Conversion
        What was written, what one should know, and where the time went.

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
    selection = main_selection(source)
    trajectory = selection.trajectory
    kept = _doubts(trajectory, path.suffix)
    how = How(precision, double, velocities, forces, compression, allow_loss, kept)
    asked = _Asked(how, force, threads, progress, pool)
    _check_pool(pool)
    asked.check(trajectory, [path])
    if topology is not None:
        _check_topology(Path(topology), selection, force=force)
    numbers = resolve_frames(frames, trajectory.n_frames, trajectory.label)
    first: Block | None = None
    if topology is not None and len(chosen := frame_numbers(numbers)):
        first = selection.look(int(chosen[0]))
        if mdanalysis.Box.of(first).is_turned and not allow_loss:
            raise OutputError(
                f"{topology}: frame {chosen[0]}: a structure cannot hold {_TURNED}; without it,"
                " nearest images of its atoms would be wrong: leave topology out (--topology-out),"
                " or let the box go with allow_loss=True (--allow-loss)"
            )
    if pool is None:
        write = _Copies.write
    elif isinstance(pool, MpiPool) and path.suffix.lower() in HDF5:
        write = _Copies.write_together
    else:
        write = _Copies.write_pieces
    (done,) = _copy(selection, [(path, numbers)], asked, write)
    if topology is not None and first is not None:
        box = mdanalysis.Box.of(first)
        with output.beside(Path(topology)) as own:
            mdanalysis.write_structure(own, selection.named, first.positions[0], box)
        if box.is_turned:
            left = f"{topology}: left out, as a structure cannot hold it: {_TURNED}"
            done = replace(done, remarks=(*done.remarks, left))
    return done


@dataclass(frozen=True)
class _Asked:
    """What is asked of outputs, beside their frames and atoms; see `convert`."""

    how: How
    force: bool
    threads: int | None
    progress: Progress | None
    pool: Pool | None

    def check(self, trajectory: Trajectory, paths: Sequence[Path]) -> None:
        """Make sure that all outputs of one folder and ending may be written."""
        output.check(paths[0], SUFFIXES)
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, not {self.threads}")
        if self.threads is not None and self.pool is not None:
            raise ValueError("the pool says how many threads there are: leave threads out")
        hdf5, how = paths[0].suffix.lower() in HDF5, self.how
        if hdf5 and (how.precision is not None or how.double is not None):
            raise ValueError(f"{paths[0]}: precision and double are of other formats")
        if not hdf5 and how.compression is not None:
            raise ValueError(f"{paths[0]}: compression is for H5MD")
        sources = {own.resolve() for own in trajectory.paths}
        for path in paths:
            if path.resolve() in sources:
                raise OutputError(f"{path}: is what would be read: give another name")
            if not self.force:
                output.check_new(path)


@dataclass(frozen=True)
class _Copies:
    """Files that were checked, and what goes into them.

    Attributes
    ----------
    parts
        Their paths and frames.
    places
        Atoms; None for all.
    content
        What H5MD files hold; None for other formats.
    """

    trajectory: Trajectory
    parts: list[tuple[Path, Frames]]
    places: NDArray[np.int64] | None
    content: h5md.Content | None
    asked: _Asked

    @property
    def numbered(self) -> list[tuple[Path, NDArray[np.int64]]]:
        """Paths and numbers of frames."""
        return [(path, frame_numbers(frames)) for path, frames in self.parts]

    def write(self) -> list[Outcome]:
        """Write them in this process."""
        asked = self.asked
        if self.content is not None:
            h5md.write_all(
                self.numbered,
                self.content,
                force=asked.force,
                threads=asked.threads,
                progress=asked.progress,
            )
            return [self._hdf5(path) for path, _ in self.parts]
        return write_files(
            self.trajectory.reader,
            self.parts,
            self.places,
            asked.how,
            force=asked.force,
            threads=asked.threads or _trajet.available_threads(),
            progress=asked.progress,
        )

    def write_together(self) -> list[Outcome]:
        """Write one H5MD file with the ranks of MPI."""
        pool, content, asked = self.asked.pool, self.content, self.asked
        assert isinstance(pool, MpiPool)
        assert content is not None
        if isinstance(content, h5md.NativeContent):
            return self.write_pieces()
        ((path, numbers),) = self.numbered

        def lead(link: Communicator) -> None:
            h5md.write_together(
                path,
                numbers,
                content,
                link.comm,
                force=asked.force,
                threads=pool.threads,
                progress=asked.progress,
            )

        pool.run_on_all(lead, _join_writing)
        return [self._hdf5(path)]

    def write_pieces(self) -> list[Outcome]:
        """Have workers of a pool write stretches of one file."""
        asked = self.asked
        assert isinstance(asked.pool, JobPool)
        (part,) = self.parts
        reader = self.trajectory.reader
        brief = CopyBrief(reader.outline(self.places), self.places, asked.how)
        done = write_pieces(
            reader,
            part,
            brief,
            self.content,
            asked.pool,
            force=asked.force,
            progress=asked.progress,
        )
        return [done]

    def _hdf5(self, path: Path) -> Outcome:
        assert self.content is not None
        return Outcome(self.content.remarks, None, path.stat().st_size)

    def write_elsewhere(self) -> list[Outcome]:
        """Have workers of a pool write them, each some; they get their names here, at the end."""
        pool, content, asked = self.asked.pool, self.content, self.asked
        assert isinstance(pool, JobPool)
        reader, how = self.trajectory.reader, asked.how
        if content is not None:
            h5md.check(self.numbered, content, None)
            how = for_workers(how, content)
        brief = CopyBrief(reader.outline(self.places), self.places, how)
        with output.folder_within(self.parts[0][0].parent) as folder:
            names = [(folder.absolute() / path.name, path) for path, _ in self.parts]
            jobs = [
                Job(n_frames_of(frames), CopyJob(own, path, frames, reader.slice(frames)))
                for (own, path), (_, frames) in zip(names, self.parts, strict=True)
            ]
            answers = pool.do_jobs(brief, jobs, asked.progress)
            for own, path in names:
                output.give_name(own, path, force=asked.force)
        return [_outcome(pool.kind, number, done) for number, done in enumerate(answers)]


def _check_pool(pool: Pool | None) -> None:
    """Make sure that a pool writes files."""
    if pool is not None and not isinstance(pool, JobPool):
        raise ValueError(
            "files are written by a DaskPool or an MpiPool, or by threads of this process: give"
            " threads instead of this pool"
        )


def _doubts(trajectory: Trajectory, suffix: str) -> tuple[str, ...]:
    """Return the remarks on a source that copies with this file name ending keep."""
    formats = [name for name, endings in ENDINGS.items() if suffix.lower() in endings]
    # Another ending is an error, which is raised later.
    return tuple(trajectory.reader.doubts(formats[0])) if formats else ()


def _join_writing(link: Communicator) -> None:
    """Write H5MD with rank 0, which raises what goes wrong."""
    with contextlib.suppress(Exception):
        h5md.join_writing(link.comm)


def _outcome(kind: str, number: int, done: JobResult) -> Outcome:
    """Return what became of an output that a worker of a pool wrote."""
    outcome: Outcome = done.result
    if (run := outcome.run) is not None:
        for name in ("workers", "tasks"):
            run[name] = [{**one, **done.where, "thread": one["worker"]} for one in run[name]]
        retried = [{"pass": 0, "task": number, "error": error} for error in done.retried]
        run |= {"pool": kind, "retried": retried}
    return outcome


def _copy(
    selection: Selection,
    parts: list[tuple[Path, Frames]],
    asked: _Asked,
    write: Callable[[_Copies], list[Outcome]],
) -> list[Conversion]:
    """Write atoms of a trajectory to files that were checked, all or none."""
    trajectory = selection.trajectory
    frames = [frame_numbers(numbers) for _, numbers in parts]
    if min(map(len, frames)) == 0:
        raise ValueError(f"{parts[0][0]}: there is no frame to write: choose some")
    every = np.arange(trajectory.n_atoms)
    places = None if np.array_equal(selection.places, every) else selection.places
    content: h5md.Content | None = None
    lost = _lost(trajectory, places)
    left: list[list[str]] = [[] for _ in parts]
    in_hdf5 = parts[0][0].suffix.lower() in HDF5
    joined = asked.pool is not None and write is not _Copies.write_elsewhere
    if in_hdf5:
        content = _own_content(trajectory, parts[0][0], places, asked, joined=joined)
    if content is None:
        lost += _content_left_out(trajectory, parts[0][0])
    if content is None and in_hdf5:
        numbered = [(path, numbers) for (path, _), numbers in zip(parts, frames, strict=True)]
        left = [_frames_left_out(trajectory, *part, places, asked.how) for part in numbered]
        content = _content(trajectory, np.concatenate(frames), places, asked.how)
        if trajectory.reader.format == "H5MD":
            # Some of what is there is lossy, or is to be left out, or files differ.
            lost = [*lost, "written in Å and single precision, not as the original stores it"]
    copies = _Copies(trajectory, parts, places, content, asked)
    outcomes = trajectory.fresh(write, copies)
    inputs = trajectory.describe_inputs()
    done, workers = [], list[dict[str, Any]]()
    for (path, _), numbers, outcome, own in zip(parts, frames, outcomes, left, strict=True):
        report = None
        said = tuple(dict.fromkeys((*lost, *own, *outcome.remarks, *trajectory.remarks)))
        if (run := outcome.run) is not None:
            parameters = {"n_frames": len(numbers), "n_atoms": [selection.n_atoms]}
            what = {
                "analysis": "convert",
                "parameters": parameters,
                "inputs": inputs,
                "remarks": list(said),
                **trajectory.before_run(selection.t_select, run["t_total"]),
            }
            report = make_report(trajectory.reader, run, what, trajectory.tiers, trajectory.tags)
            workers += run["workers"]
        done.append(
            Conversion(path, len(numbers), selection.n_atoms, outcome.n_bytes, said, report)
        )
    trajectory.used("convert", places, workers)
    return done


def _own_content(
    trajectory: Trajectory,
    path: Path,
    places: NDArray[np.int64] | None,
    asked: _Asked,
    *,
    joined: bool,
) -> h5md.NativeContent | None:
    """Return what a copy of H5MD holds: everything; None where one file cannot hold it."""
    reader, dataset, how = trajectory.reader, trajectory.dataset, asked.how

    def frames_alone() -> h5md.NativeContent:
        remarks = _content_left_out(trajectory, path)
        return h5md.NativeContent(
            reader,
            places,
            compression=how.compression,
            remarks=remarks,
            kept_remarks=how.remarks,
        )

    if reader.format != "H5MD":
        return None
    atoms = places
    if dataset is None:
        sources = [
            h5md.Source(segment["path"], segment["n_frames"] - segment["dropped_frames"])
            for segment in reader.segments()
        ]
    else:
        if not _gives_own(trajectory, how):
            return None
        if asked.pool is not None:
            raise ValueError(
                f"{path}: a data set that was H5MD is written as it was by threads of this"
                " process: leave the pool out"
            )
        if dataset.origin is not None:
            atoms = dataset.origin if places is None else dataset.origin[places]
        kept = dataset.rest
        if kept is None:
            return frames_alone()
        sources = [h5md.Source(*one) for one in kept]
    content = h5md.native_content(
        reader,
        places,
        sources,
        atoms=atoms,
        particles=trajectory.particles,
        omitted=[
            *["velocity"] * (not how.velocities),
            *["force"] * (not how.forces),
        ],
        compression=how.compression,
        joined=joined,
        is_file=dataset is None,
    )
    if content is None:
        return frames_alone() if dataset is not None else None
    return replace(content, kept_remarks=how.remarks)


def _content_left_out(trajectory: Trajectory, path: Path) -> list[str]:
    """Say what HDF5 files hold beside their frames, which this output has no place for."""
    if trajectory.dataset is not None:
        kept = trajectory.dataset.rest or []
        sources = [source for source, _ in kept]
    else:
        segments = trajectory.reader.segments()
        sources = [one["path"] for one in segments if one["format"] in ("H5MD", "MDTRAJ")]
    found = [h5md.left_out(source, trajectory.particles) for source in sources]
    names = sorted({name for one in found for name in one})
    what = "H5MD" if path.suffix.lower() in HDF5 else path.suffix[1:].upper()
    return [f"left out, as {what} has no place for it: {', '.join(names)}"] if names else []


def _gives_own(trajectory: Trajectory, how: How) -> bool:
    """Tell whether a data set of H5MD is to be had as it was: nothing of it is lost or left out."""
    assert trajectory.dataset is not None
    tags = trajectory.dataset.manifest["tags"]
    return how.velocities and how.forces and not any(tag["lossy"] for tag in tags)


def _lost(trajectory: Trajectory, places: NDArray[np.int64] | None) -> list[str]:
    """Say what is not written of any atom, since lossy tags of a data set lack it."""
    tags: dict[str, list[str]] = {}
    for what, tag in trajectory.reader.lost(places):
        tags.setdefault(what, []).append(tag)
    return [
        f"left out: {what}, which lossy tags have let go of: {', '.join(lossy)}"
        for what, lossy in tags.items()
    ]


def _frames_left_out(
    trajectory: Trajectory,
    path: Path,
    numbers: NDArray[np.int64],
    places: NDArray[np.int64] | None,
    how: How,
) -> list[str]:
    """Return the remark on what frames hold that H5MD cannot, unless that is refused.

    Raises
    ------
    OutputError
        If a frame holds such, and loss is not allowed.
    """
    remarks = []
    if names := trajectory.reader.further_names(int(numbers[0])):
        remarks.append(f"left out, as H5MD cannot hold it: {'; '.join(names)}")
    losses, remark = trajectory.reader.left_out(numbers, places)
    if remark is None:
        return remarks
    if not how.allow_loss:
        first = min(position for *_, position in losses)
        lost = ", ".join(what or kind for kind, what, _, position in losses if position == first)
        raise OutputError(
            f"{path}: frame {numbers[first]}: H5MD cannot hold {lost}: choose a format that can, or"
            " let it go with --allow-loss (allow_loss=True)"
        )
    return [remark, *remarks]


def _content(
    trajectory: Trajectory, every: NDArray[np.int64], places: NDArray[np.int64] | None, how: How
) -> h5md.Content:
    """Return what H5MD files hold of frames."""
    gone = {what for what, _ in trajectory.reader.lost(places)}
    how = replace(
        how,
        velocities=how.velocities
        and "velocities" not in gone
        and _holds(trajectory, every, "velocities"),
        forces=how.forces and "forces" not in gone and _holds(trajectory, every, "forces"),
    )
    return hdf5_content(trajectory.reader, places, how)


def _check_topology(path: Path, selection: Selection, *, force: bool) -> None:
    """Make sure that a structure can be written, before any work."""
    _ = selection.named
    output.check(path, (path.suffix.lower(),))
    if not force:
        output.check_new(path)
    mdanalysis.check_structure(path)


def _holds(trajectory: Trajectory, frames: NDArray[np.int64], kind: str) -> bool:
    """Tell whether any of the frames has velocities or forces."""
    # Files of a chain may differ, and refuse what their format has no place for.
    mixed = len({segment["format"] for segment in trajectory.reader.segments()}) > 1
    size = 1 if mixed else _FRAMES_LOOKED_AT
    for begin in range(0, len(frames), size):
        try:
            trajectory.read_places(
                frames[begin : begin + size],
                np.zeros(1, np.int64),
                None,
                velocities=kind == "velocities",
                forces=kind == "forces",
                counted=False,
            )
        except _trajet.FormatError:
            continue
        return True
    return False


@root_only("conversion")
def split(
    source: Trajectory | Selection | Any,
    folder: str | os.PathLike[str],
    *,
    segments: int | None = None,
    frames_per_segment: int | None = None,
    format: str | None = None,
    compression: int | None = None,
    allow_loss: bool = False,
    force: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    pool: Pool | None = None,
) -> list[Conversion]:
    """Divide a trajectory into files, for many processes to read.

    Files are made several at a time. They have their names only when all of them are whole, so that
    there is never a part of a trajectory that looks like all of it. Whole frames of XTC and TRR are
    copied byte for byte.

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
    format
        The ending of the files, as for `convert`: "xtc", "trr", "dcd", "nc" or "h5md"; None for the
        format of the (first) file that is read.
    compression, allow_loss
        As for `convert`.
    force
        Replace files that are there.
    threads
        None for all cores; those of a `pool` are its own.
    progress
        Called with frames done and in total.
    pool
        A `DaskPool` or `MpiPool`: each worker or rank writes some of the files, on storage that all
        of them see. They are those of one process, byte for byte.

    Returns
    -------
    list of Conversion
        One a file, in their order.

    Raises
    ------
    OutputError
        If a file is there already, cannot be written, or cannot hold what it should; or if the
        folder has further files that would look like parts of this trajectory.
    ValueError
        If there are fewer frames than segments, or an option means nothing.

    Examples
    --------
    >>> import trajet as tj
    >>> [part.n_frames for part in tj.split(traj, "parts", segments=4)]
    [25, 25, 24, 24]
    """
    selection = main_selection(source)
    trajectory = selection.trajectory
    borders = _borders(trajectory.n_frames, segments, frames_per_segment)
    suffix = _suffix(trajectory) if format is None else f".{format.lower().removeprefix('.')}"
    if suffix not in SUFFIXES:
        known = ", ".join(ending[1:] for ending in SUFFIXES)
        raise ValueError(f"{format!r} is no format: choose from {known}")
    folder = Path(folder)
    digits = max(3, len(str(len(borders) - 2)))
    stem = trajectory.stem
    paths = [folder / f"{stem}-{k:0{digits}d}{suffix}" for k in range(len(borders) - 1)]
    _check_pool(pool)
    kept = _doubts(trajectory, suffix)
    how = How(compression=compression, allow_loss=allow_loss, remarks=kept)
    asked = _Asked(how, force, threads, progress, pool)
    frames = [(begin, 1, end - begin) for begin, end in pairwise(borders)]
    with _folder(folder):
        asked.check(trajectory, paths)
        _check_alone(paths, stem)
        write = _Copies.write if pool is None else _Copies.write_elsewhere
        return _copy(selection, list(zip(paths, frames, strict=True)), asked, write)


@contextlib.contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """Make a folder where there is none, and take it away again where nothing comes into it."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file: name a folder, which is made if it is not there")
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror}") from error
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            if made:
                folder.rmdir()
        raise


def _check_alone(paths: list[Path], stem: str) -> None:
    """Make sure that a pattern for these files finds no others beside them."""
    alike = re.compile(re.escape(stem) + r"-\d+" + re.escape(paths[0].suffix))
    names = {path.name for path in paths}
    there = sorted(path.name for path in paths[0].parent.iterdir() if alike.fullmatch(path.name))
    if further := [name for name in there if name not in names]:
        more = f" and {len(further) - 1} more" if further[1:] else ""
        raise OutputError(
            f"{paths[0].with_name(further[0])}: is of another division, and would look like a part"
            f" of this one: remove it{more}, or choose another folder"
        )


def _borders(n: int, segments: int | None, frames_per_segment: int | None) -> list[int]:
    """Return where segments of `n` frames begin, and where the last one ends."""
    if (segments is None) == (frames_per_segment is None):
        raise ValueError("give segments or frames_per_segment")
    if segments is not None:
        if not 1 <= segments <= n:
            raise ValueError(f"{n} frames make 1 to {n} segments, not {segments}")
        return [n // segments * k + min(k, n % segments) for k in range(segments + 1)]
    assert frames_per_segment is not None
    if frames_per_segment < 1:
        raise ValueError("a segment has at least one frame")
    return [*range(0, n, frames_per_segment), n]


def _suffix(trajectory: Trajectory) -> str:
    """Return the ending of files of the trajectory's own format: its own where that is right."""
    endings = ENDINGS[trajectory.reader.segments()[0]["format"]]
    own = trajectory.path.suffix.lower()
    return own if own in endings else endings[0]
