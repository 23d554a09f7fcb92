"""`convert` and `split`: copies of trajectories in other formats, with fewer atoms or frames."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md, output
from trajet._trajet import OutputError
from trajet.analysis.runner import main_selection
from trajet.box import Box
from trajet.conversion.atom_columns import lammps_columns, xyz_columns
from trajet.conversion.contents import (
    content_left_out,
    converted_content,
    frames_left_out,
    left_out_if_rotated,
    lost_by_tags,
    native_content,
)
from trajet.conversion.files import (
    CopyJob,
    CopySpec,
    OutputOptions,
    WriteOutcome,
    for_workers,
    write_files,
)
from trajet.conversion.output_pieces import write_pieces
from trajet.formats import WRITTEN_SUFFIXES, suffixes_of_copies, written_as
from trajet.messages import OF_OPENING, Code, Message, Messages, as_entries, by_code, emit, left_out
from trajet.pools.jobs import Job, JobPool, JobResult
from trajet.pools.pool import Frames, Pool, Progress, facts_of, n_frames_of
from trajet.pools.rank_placeholder import root_only
from trajet.report_entries import (
    AnalysisEntries,
    Counts,
    Parameters,
    RetriedEntry,
    TaskEntry,
    WorkerEntry,
)
from trajet.result import Report, counting_of, make_report
from trajet.structure_output import check_writable, write_structure
from trajet.trajectory import (
    Block,
    FrameChoice,
    Selection,
    Trajectory,
    frame_numbers,
    resolve_frames,
)

if TYPE_CHECKING:
    from trajet.universes import AtomGroup

# Frames that are read in turn to find one with a cell.
_FRAMES_AT_ONCE = 256


@dataclass(frozen=True)
class Conversion(Messages):
    """An output file of `convert` or `split`.

    Attributes
    ----------
    path
        Path of the output.
    n_frames, n_atoms
        Number of frames, and of atoms per frame.
    size
        Size in bytes.
    messages
        Fields that were left out, and the messages on the source. DCD, NetCDF and H5MD store the
        messages on the source, and every report on the copy repeats them; XTC and TRR cannot.
    report
        Timings and counters; encoding counts as `t_comp`, writing as `t_merge`. None for H5MD.
    """

    path: Path
    n_frames: int
    n_atoms: int
    size: int
    messages: tuple[Message, ...]
    report: Report | None = field(repr=False)


@root_only("conversion")
def convert(
    source: "Trajectory | Selection | AtomGroup",
    path: str | os.PathLike[str],
    *,
    frames: FrameChoice = None,
    precision: float | None = None,
    double: bool | None = None,
    velocities: bool = True,
    forces: bool = True,
    compression: int | None = None,
    without_time: bool = False,
    allow_loss: bool = False,
    force: bool = False,
    topology: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    pool: Pool | None = None,
) -> Conversion:
    """Write a trajectory, or some of its atoms and frames, to a file of any format.

    Frames are decoded and encoded on all threads and written in order. The output gets its name
    when it is complete. A copy in the same format loses nothing: XTC keeps the stored integers; TRR
    keeps the precision and all fields of a frame; H5MD keeps units, precision, observables,
    connectivity and all other content of the file, with elements cut to the frames and atoms;
    NetCDF keeps all dimensions, variables and attributes, as a replica-exchange run needs, with
    variables cut to the atoms. If NetCDF files of one trajectory differ in them, the output has
    those of the first file, and `messages` say what that changes.

    Parameters
    ----------
    source
        A Trajectory, a Selection, or an MDAnalysis AtomGroup of a file's coordinates.
    path
        Path of the output; its ending selects the format: .xtc, .trr, .dcd, .nc (Amber NetCDF),
        .h5md, .lammpstrj (dump of LAMMPS in units of `real`), .xyz (extended XYZ).
    frames
        A slice, frame numbers, or a mask; None for all.
    precision
        XTC: positions are rounded to multiples of 1/precision nm; None for the source's precision,
        or 1000 if it has none. XTC stores up to nine atoms as plain floats, without a precision.
    double
        TRR: whether to write double precision; None for the source's precision.
    velocities, forces
        Whether to write the velocities and forces of the source.
    compression
        H5MD: 1 to 9 for gzip, None for none.
    without_time
        LAMMPS: leave out the items UNITS and TIME, which some programs refuse (MDAnalysis 2.11).
    allow_loss
        Leave out fields that the format cannot hold, instead of raising an error; `messages` say
        which, of how many frames, and the first such frame. NetCDF has velocities and forces of all
        frames or of none, as in the first frame.
    force
        Replace an existing output.
    topology
        Path of a structure file (.pdb, .gro; others by MDAnalysis) to write, with the atoms at the
        positions of the first frame. A rotated box, which these formats cannot hold, is an error;
        with `allow_loss` it is left out.
    threads
        Number of threads; None for all cores. A `pool` has its own.
    progress
        Called with frames done and in total.
    pool
        A `DaskPool` or `MpiPool`: workers or ranks write pieces of the output on shared storage,
        which this process joins. The file is the same, byte for byte, as from one process. An H5MD
        file has the same values, attributes and chunks as from one process, and all frames must
        have the velocities and forces that are written.

    Returns
    -------
    Conversion
        Path and size of the output, messages, and the report of the run.

    Raises
    ------
    OutputError
        If the output exists, cannot be written, or cannot hold a field of the source.
    ValueError
        If the ending is not that of a format, or an option does not apply to the format.
    FrameError, FormatError
        If a frame is out of range, or corrupt.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.convert(traj.select("name CA"), "calpha.xtc", frames=slice(0, 50)).n_frames
    50
    """
    _check_source("convert", "path", source, path)
    path = Path(path)
    selection = main_selection(source)
    trajectory = selection.trajectory
    kept = _messages_for_copy(trajectory, path.suffix)
    how = OutputOptions(
        precision, double, velocities, forces, compression, allow_loss, kept, without_time
    )
    asked = _CopyOptions(how, force, threads, progress, pool)
    _check_pool(pool)
    asked.check(trajectory, [path])
    if topology is not None:
        _check_topology(Path(topology), selection, force=force)
    numbers = resolve_frames(frames, trajectory)
    first: Block | None = None
    if topology is not None and len(chosen := frame_numbers(numbers)):
        first = selection.read_uncounted(int(chosen[0]), chosen)
        if (held := Box.of(first).reason_not_held) is not None and not allow_loss:
            raise OutputError(
                f"{topology}: frame {chosen[0]}: a structure cannot hold {held}; without it,"
                " nearest images of its atoms would be wrong: write no structure, or drop"
                " the box with allow_loss=True"
            )
    write = _Copies.write if pool is None else _Copies.write_pieces
    (done,) = _copy(selection, [(path, numbers)], asked, write)
    if topology is not None and first is not None:
        box = Box.of(first)
        with output.replacing_file(Path(topology)) as own:
            write_structure(
                own, selection.topology_atoms, first.positions[0], box, lambda: trajectory.universe
            )
        if (held := box.reason_not_held) is not None:
            left = f"{topology}: left out, as a structure cannot hold it: {held}"
            done = replace(done, messages=(*done.messages, left_out(left)))
    emit(done.messages, leave_out=OF_OPENING)
    return done


def _check_source(function: str, target: str, source: object, path: object) -> None:
    """Raise a TypeError for a path in the place of a trajectory, or the other way round."""
    if isinstance(source, (str, os.PathLike)):
        advice = f"open it first: tj.{function}(tj.open(None, {os.fspath(source)!r}), …)"
        if not isinstance(path, (str, os.PathLike)):
            advice = f"give the trajectory first, then the {target}"
        raise TypeError(
            f"{function}(source, {target}): the first argument is a path,"
            f" {os.fspath(source)!r}: {advice}"
        )


@dataclass(frozen=True)
class _CopyOptions:
    """Options of outputs besides frames and atoms; see `convert`."""

    how: OutputOptions
    force: bool
    threads: int | None
    progress: Progress | None
    pool: Pool | None

    def check(self, trajectory: Trajectory, paths: Sequence[Path]) -> None:
        """Raise an error if outputs in one folder and format cannot be written."""
        output.check(paths[0], WRITTEN_SUFFIXES)
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, not {self.threads}")
        if self.threads is not None and self.pool is not None:
            raise ValueError("the pool sets the number of threads: leave threads out")
        self.how.check_for(paths[0])
        sources = {own.resolve() for own in trajectory.paths}
        for path in paths:
            if path.resolve() in sources:
                raise OutputError(f"{path}: is the file to be read: give another name")
            if not self.force:
                output.check_new(path)


@dataclass(frozen=True)
class _Copies:
    """Checked outputs with their frames, atoms and options.

    Attributes
    ----------
    reader
        Reader of the frames of all outputs.
    parts
        Path and frames of each output.
    columns
        Indices of the atoms in a frame; None for all.
    content
        Content of H5MD outputs; None for other formats.
    """

    trajectory: Trajectory
    reader: _trajet.Reader
    parts: list[tuple[Path, Frames]]
    columns: NDArray[np.int64] | None
    content: h5md.Content | None
    asked: _CopyOptions

    @property
    def numbered(self) -> list[tuple[Path, NDArray[np.int64]]]:
        """Path and frame numbers of each output."""
        return [(path, frame_numbers(frames)) for path, frames in self.parts]

    def write(self) -> list[WriteOutcome]:
        """Write the outputs in this process."""
        asked = self.asked
        if self.content is not None:
            places = [output.destination(path) for path, _ in self.parts]
            h5md.write_all(
                self.numbered,
                self.content,
                force=asked.force,
                threads=asked.threads,
                progress=asked.progress,
            )
            content = self.content
            return [
                WriteOutcome(
                    content.messages, None, place.stat().st_size, warnings=content.warnings
                )
                for place in places
            ]
        return write_files(
            self.reader,
            self.parts,
            self.columns,
            asked.how,
            force=asked.force,
            threads=asked.threads or _trajet.available_threads(),
            progress=asked.progress,
        )

    def write_pieces(self) -> list[WriteOutcome]:
        """Write one file in pieces with the workers of a pool."""
        asked = self.asked
        assert isinstance(asked.pool, JobPool)
        (part,) = self.parts
        reader = self.reader
        spec = CopySpec(reader.worker_input(self.columns), self.columns, asked.how)
        done = write_pieces(
            reader,
            part,
            spec,
            self.content,
            asked.pool,
            force=asked.force,
            progress=asked.progress,
        )
        return [done]

    def write_with_pool(self) -> list[WriteOutcome]:
        """Write whole files with the workers of a pool; rename all of them at the end."""
        pool, content, asked = self.asked.pool, self.content, self.asked
        assert isinstance(pool, JobPool)
        reader, how = self.reader, asked.how
        if content is not None:
            h5md.check(self.numbered, content, None)
            how = for_workers(how, content)
        spec = CopySpec(reader.worker_input(self.columns), self.columns, how)
        places = [output.destination(path) for path, _ in self.parts]
        with contextlib.ExitStack() as kept:
            # Links may lead to different folders.
            folders = {
                folder: kept.enter_context(output.folder_within(folder))
                for folder in {place.parent for place in places}
            }
            names = [
                (folders[place.parent] / path.name, path)
                for place, (path, _) in zip(places, self.parts, strict=True)
            ]
            jobs = [
                Job(n_frames_of(frames), CopyJob(own, path, frames, reader.slice(frames)))
                for (own, path), (_, frames) in zip(names, self.parts, strict=True)
            ]
            answers = pool.do_jobs(spec, jobs, asked.progress)
            for own, path in names:
                # Out of the folder, which is removed: a file that gets no name is kept.
                beside = output.name_beside(path)
                try:
                    own.rename(beside)
                except OSError as error:
                    raise output.refused(path, error) from error
                try:
                    output.give_name(beside, path, force=asked.force)
                finally:
                    # If it was interrupted before: `give_name` keeps files whose name is refused.
                    output.remove(beside)
        return [_outcome(pool.kind, number, done) for number, done in enumerate(answers)]


def _check_pool(pool: Pool | None) -> None:
    """Raise an error if a pool cannot write files."""
    # Threads of this process write as fast as other processes of this machine.
    if pool is not None and (facts_of(pool).is_local or not isinstance(pool, JobPool)):
        raise ValueError(
            "files are written by a DaskPool or an MpiPool, or by threads of this process: give"
            " threads instead of this pool"
        )


def _messages_for_copy(trajectory: Trajectory, suffix: str) -> tuple[Message, ...]:
    """Return the messages on a source that copies with this file name ending store."""
    info = written_as(suffix)
    # Unknown endings raise an error later.
    return () if info is None else tuple(trajectory.source.reader.messages_for_copy(info.name))


def _completed(
    how: OutputOptions, selection: Selection, path: Path, frames: NDArray[np.int64]
) -> OutputOptions:
    """Return the options of an output with what its format needs of the source."""
    written = written_as(path.suffix)
    needs = frozenset[str]() if written is None else written.write_options
    if "without_cells" in needs:
        return replace(how, without_cells=not _have_cells(selection.trajectory, frames))
    trajectory = selection.trajectory
    if "without_time" in needs and trajectory.source.reader.unstated_times:
        how = replace(how, without_time=True)
    codes = {message.code for message in trajectory.messages}
    names_atoms = bool(needs & {"types", "species"})
    if names_atoms and Code.REDUCED_UNITS in codes:
        raise OutputError(
            f"{path}: is written in Å and ps, and the units of {trajectory.label} are reduced ones"
            " (lj): write another format"
        )
    if names_atoms and trajectory.has_topology:
        columns = lammps_columns if "types" in needs else xyz_columns
        return replace(how, atoms=columns(selection.topology_atoms))
    return how


def _outcome(kind: str, number: int, done: JobResult[WriteOutcome]) -> WriteOutcome:
    """Return the outcome of an output that a worker of a pool wrote."""
    outcome = done.result
    if (run := outcome.run) is not None:
        run["workers"] = [
            cast(WorkerEntry, {**worker, **done.where, "thread": worker["worker"]})
            for worker in run["workers"]
        ]
        run["tasks"] = [
            cast(TaskEntry, {**task, **done.where, "thread": task["worker"]})
            for task in run["tasks"]
        ]
        retried: list[RetriedEntry] = [
            {"pass": 0, "task": number, "error": error} for error in done.retried
        ]
        run |= {"pool": kind, "retried": retried}
    return outcome


def _copy(
    selection: Selection,
    parts: list[tuple[Path, Frames]],
    asked: _CopyOptions,
    write: Callable[[_Copies], list[WriteOutcome]],
) -> list[Conversion]:
    """Write atoms of a trajectory to checked outputs, all or none."""
    trajectory = selection.trajectory
    frames = [frame_numbers(numbers) for _, numbers in parts]
    if min(map(len, frames)) == 0:
        raise ValueError(f"{parts[0][0]}: there is no frame to write: choose some")
    every = np.arange(trajectory.n_atoms)
    columns = None if np.array_equal(selection.columns, every) else selection.columns
    content: h5md.Content | None = None
    lost = [*lost_by_tags(trajectory, columns), *left_out_if_rotated(trajectory, parts[0][0])]
    in_hdf5 = parts[0][0].suffix.lower() in h5md.HDF5.suffixes
    of_pool = None if asked.pool is None else facts_of(asked.pool).n_threads
    n_threads = of_pool or asked.threads or _trajet.available_threads()
    # Threads that write one file hand over to one another.
    hand_over = len(parts) == 1 and asked.pool is None and not in_hdf5
    reader = trajectory.source.reader_for(
        np.concatenate(frames),
        columns,
        threads=n_threads if hand_over else 1,
        workers=1 if hand_over else n_threads,
    )
    left: list[list[Message]] = [[] for _ in parts]
    joined = asked.pool is not None and write is not _Copies.write_with_pool
    if in_hdf5:
        content = native_content(
            trajectory, parts[0][0], columns, asked.how, asked.pool, joined=joined
        )
    if content is None:
        lost += content_left_out(trajectory, parts[0][0])
    if content is None and in_hdf5:
        numbered = [(path, numbers) for (path, _), numbers in zip(parts, frames, strict=True)]
        left = [frames_left_out(trajectory, *part, columns, asked.how) for part in numbered]
        content = converted_content(trajectory, reader, np.concatenate(frames), columns, asked.how)
        if trajectory.source.reader.format == h5md.HDF5.name:
            # A tag is lossy, fields are left out, or files differ in units or precision.
            lost.append(
                left_out("written in Å and single precision, not as the original stores it")
            )
    asked = replace(
        asked, how=_completed(asked.how, selection, parts[0][0], np.concatenate(frames))
    )
    copies = _Copies(trajectory, reader, parts, columns, content, asked)
    with trajectory.source.files.stale_index_removed():
        outcomes = write(copies)
    inputs = trajectory.source.describe_inputs()
    done, workers = [], list[Counts | WorkerEntry]()
    # Reads before all outputs are counted in the report of the first.
    counting = counting_of([reader])
    for (path, _), numbers, outcome, own in zip(parts, frames, outcomes, left, strict=True):
        report = None
        counted = outcome.warnings if outcome.run is None else outcome.run["workers"]
        on_transforms = trajectory.source.transform_messages(counted)
        messages = tuple(
            dict.fromkeys((*on_transforms, *lost, *own, *outcome.messages, *trajectory.messages))
        )
        if (run := outcome.run) is not None:
            parameters: Parameters = {
                "n_frames": len(numbers),
                "n_atoms": [selection.n_atoms],
                **trajectory.source.describe_transforms(columns),
            }
            what: AnalysisEntries = {
                "analysis": "convert",
                "parameters": parameters,
                "inputs": inputs,
                **as_entries(messages),
                "result_bytes": 0,
                **trajectory.source.seconds_outside(selection.t_select, run["t_total"]),
            }
            if "counting" in counting:
                run["counting"] = counting.pop("counting")
                workers.append(run["counting"])
            report = make_report(
                trajectory.source.reader, run, what, trajectory.tiers, trajectory.tags
            )
            workers += run["workers"]
        done.append(
            Conversion(path, len(numbers), selection.n_atoms, outcome.n_bytes, messages, report)
        )
    trajectory.source.files.record_analysis("convert", columns, workers)
    return done


def _have_cells(trajectory: Trajectory, frames: NDArray[np.int64]) -> bool:
    """Return whether one of some frames has a cell; frames after the first such one are not read.

    The header of a NetCDF file, which is written first, says whether its frames have cells.
    """
    one = np.zeros(1, np.int64)
    begin, n = 0, 1
    while begin < len(frames):
        cells = trajectory.source.read(frames[begin : begin + n], one, None, counted=False).cells
        # Angles of cells that were never written are zeros.
        if not np.isnan(cells).all():
            return True
        begin, n = begin + n, _FRAMES_AT_ONCE
    return False


def _check_topology(path: Path, selection: Selection, *, force: bool) -> None:
    """Raise an error if a structure cannot be written, before any work."""
    _ = selection.trajectory.topology
    output.check(path, (path.suffix.lower(),))
    if not force:
        output.check_new(path)
    check_writable(path)


@root_only("conversion")
def split(
    source: "Trajectory | Selection | AtomGroup",
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
    """Split a trajectory into several files, so that many processes can read it.

    Several files are written at a time. They get their names when all of them are complete, so that
    no part of the trajectory can be taken for all of it. Whole frames of XTC and TRR are copied
    byte for byte.

    Parameters
    ----------
    source
        A Trajectory, a Selection, or an MDAnalysis AtomGroup of a file's coordinates.
    folder
        Folder of the files; it is created if it does not exist. The files are named after the first
        file of the trajectory and numbered: `run-000.xtc`, ….
    segments
        Number of files; their numbers of frames differ by at most one.
    frames_per_segment
        Instead of `segments`: number of frames of each file but the last.
    format
        Ending of the files, as for `convert`: "xtc", "trr", "dcd", "nc", "h5md", "lammpstrj" or
        "xyz"; None for the format of the first file that is read.
    compression, allow_loss
        As for `convert`.
    force
        Replace existing files.
    threads
        Number of threads; None for all cores. A `pool` has its own.
    progress
        Called with frames done and in total.
    pool
        A `DaskPool` or `MpiPool`: each worker or rank writes some of the files on shared storage.
        They are the same, byte for byte, as from one process.

    Returns
    -------
    list of Conversion
        One per file, in the order of the frames.

    Raises
    ------
    OutputError
        If a file exists, cannot be written, or cannot hold a field of the source; or if the folder
        has other files that look like parts of this trajectory.
    ValueError
        If there are fewer frames than segments, or an option does not apply.

    Examples
    --------
    >>> import trajet as tj
    >>> [part.n_frames for part in tj.split(traj, "parts", segments=4)]
    [25, 25, 24, 24]
    """
    _check_source("split", "folder", source, folder)
    selection = main_selection(source)
    trajectory = selection.trajectory
    borders = _borders(trajectory.n_frames, segments, frames_per_segment)
    suffix = _suffix(trajectory) if format is None else f".{format.lower().removeprefix('.')}"
    if suffix not in WRITTEN_SUFFIXES:
        known = ", ".join(ending[1:] for ending in WRITTEN_SUFFIXES)
        raise ValueError(f"unknown format {format!r}: choose from {known}")
    folder = Path(folder)
    digits = max(3, len(str(len(borders) - 2)))
    stem = trajectory.source.files.stem
    paths = [folder / f"{stem}-{k:0{digits}d}{suffix}" for k in range(len(borders) - 1)]
    _check_pool(pool)
    kept = _messages_for_copy(trajectory, suffix)
    how = OutputOptions(compression=compression, allow_loss=allow_loss, of_source=kept)
    asked = _CopyOptions(how, force, threads, progress, pool)
    frames = [(begin, 1, end - begin) for begin, end in pairwise(borders)]
    with _folder(folder):
        asked.check(trajectory, paths)
        _check_alone(paths, stem)
        write = _Copies.write if pool is None else _Copies.write_with_pool
        done = _copy(selection, list(zip(paths, frames, strict=True)), asked, write)
    files = [(one.path.name, one.messages) for one in done]
    emit(by_code(files, "files"), leave_out=OF_OPENING)
    return done


@contextlib.contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """Create a folder if it does not exist; after an error, remove it again if it is empty."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file: give a folder, which is created if needed")
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}") from error
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            if made:
                folder.rmdir()
        raise


def _check_alone(paths: list[Path], stem: str) -> None:
    """Raise an error if a pattern for these files would match other files in the folder."""
    alike = re.compile(re.escape(stem) + r"-\d+" + re.escape(paths[0].suffix))
    names = {path.name for path in paths}
    there = sorted(path.name for path in paths[0].parent.iterdir() if alike.fullmatch(path.name))
    if further := [name for name in there if name not in names]:
        more = f" and {len(further) - 1} more" if further[1:] else ""
        raise OutputError(
            f"{paths[0].with_name(further[0])}: is of another split, and would look like a part of"
            f" this one: remove it{more}, or choose another folder"
        )


def _borders(n: int, segments: int | None, frames_per_segment: int | None) -> list[int]:
    """Return the first frame of each segment of `n` frames, and `n`."""
    if (segments is None) == (frames_per_segment is None):
        raise ValueError("give segments or frames_per_segment")
    if segments is not None:
        if not 1 <= segments <= n:
            raise ValueError(f"{n} frames can be split into 1 to {n} segments, not {segments}")
        return [n // segments * k + min(k, n % segments) for k in range(segments + 1)]
    assert frames_per_segment is not None
    if frames_per_segment < 1:
        raise ValueError("a segment has at least one frame")
    return [*range(0, n, frames_per_segment), n]


def _suffix(trajectory: Trajectory) -> str:
    """Return a file name ending of the trajectory's format, if possible that of its first file."""
    endings = suffixes_of_copies(trajectory.source.reader.segments()[0]["format"])
    own = trajectory.path.suffix.lower()
    return own if own in endings else endings[0]
