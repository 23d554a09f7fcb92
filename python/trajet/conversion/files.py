"""Writing of output files, in this process or in workers of a pool."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md
from trajet._trajet import OutputError
from trajet.conversion.atom_columns import AtomColumns
from trajet.formats import written_as
from trajet.messages import Message
from trajet.pools.jobs import ShowFrames
from trajet.pools.pool import Frames, Progress
from trajet.report_entries import RunReport, TransformWarnings
from trajet.result import COUNTS
from trajet.trajectory import frame_numbers


class WriteOutcome(NamedTuple):
    """Outcome of writing a file: messages, report of the engine, size, lost fields, and warnings.

    The report is None for H5MD, for which `warnings` counts unreliable transformed positions, as
    the reports of other formats do. The messages include those on lost fields. Losses of pieces are
    merged when the pieces are joined.
    """

    messages: list[Message]
    run: RunReport | None
    n_bytes: int
    losses: Sequence["_trajet.Loss"] = ()
    warnings: Sequence[TransformWarnings] = ()


@dataclass(frozen=True)
class OutputOptions:
    """Options of outputs; see `convert`. Can be pickled."""

    precision: float | None = None
    double: bool | None = None
    velocities: bool = True
    forces: bool = True
    compression: int | None = None
    allow_loss: bool = False
    # Messages on the source that the outputs store.
    of_source: tuple[Message, ...] = ()
    # LAMMPS: whether to leave out the items UNITS and TIME.
    without_time: bool = False
    # LAMMPS and XYZ: names and types of the atoms.
    atoms: AtomColumns | None = None
    # NetCDF: whether no frame has a cell.
    without_cells: bool = False
    # H5MD: frames and atoms of a chunk, and whether all frames must have all fields.
    chunk: tuple[int, int] | None = None
    complete: bool = False
    # Copies of H5MD: other contents, and whether vectors are compressed.
    other_contents: h5md.OtherContents | None = None
    is_deflated: bool | None = None
    is_single: bool = False

    def check_for(self, path: Path) -> None:
        """Raise a ValueError for options that the format of a path does not have."""
        is_hdf5 = path.suffix.lower() in h5md.HDF5.suffixes
        if is_hdf5 and (self.precision is not None or self.double is not None):
            raise ValueError(f"{path}: precision is for XTC and double for TRR: leave them out")
        if not is_hdf5 and self.compression is not None:
            raise ValueError(f"{path}: compression is for H5MD: leave it out")
        written = written_as(path.suffix)
        if self.without_time and written and "without_time" not in written.write_options:
            raise ValueError(f"{path}: without_time is for dumps of LAMMPS: leave it out")


@dataclass(frozen=True)
class WholeOutput:
    """The output that workers write in pieces. Can be pickled.

    Attributes
    ----------
    head
        Number of the first frame, from which the header of the file is made.
    times, steps
        Times and steps of all frames of the output.
    """

    head: int
    times: NDArray[np.float64]
    steps: NDArray[np.int64]


@dataclass(frozen=True)
class PieceOfOutput:
    """A piece of an output, which begins after `begin` frames; see `WholeOutput`."""

    begin: int
    head: int
    times: NDArray[np.float64]
    steps: NDArray[np.int64]


def write_files(
    reader: _trajet.Reader,
    parts: list[tuple[Path, Frames]],
    indices: NDArray[np.int64] | None,
    how: OutputOptions,
    *,
    force: bool,
    threads: int,
    progress: Progress | None,
    within: PieceOfOutput | None = None,
) -> list[WriteOutcome]:
    """Write files of any format but H5MD, or the piece `within` of one file."""
    copied = _trajet.convert(
        reader,
        parts,
        indices,
        how,
        force=force,
        threads=threads,
        progress=progress,
        within=within,
    )
    return [
        WriteOutcome(messages, run, n_bytes, losses) for n_bytes, messages, losses, run in copied
    ]


def hdf5_content(
    reader: _trajet.Reader, indices: NDArray[np.int64] | None, how: OutputOptions
) -> h5md.Content:
    """Return the content of H5MD files, given options that say which vectors to write."""
    if how.other_contents is not None:
        return h5md.NativeContent(
            reader,
            indices,
            compression=how.compression,
            chunk=how.chunk,
            other_contents=how.other_contents,
            is_deflated=how.is_deflated,
            is_single=how.is_single,
            # `complete` is set for pieces only.
            is_part=how.complete,
        )
    return h5md.Content(
        reader,
        indices,
        velocities=how.velocities,
        forces=how.forces,
        compression=how.compression,
        chunk=how.chunk,
        complete=how.complete,
        of_source=how.of_source,
    )


def for_workers(how: OutputOptions, content: h5md.Content) -> OutputOptions:
    """Return the options by which workers write the content of H5MD files."""
    how = replace(how, velocities=content.velocities, forces=content.forces)
    if isinstance(content, h5md.NativeContent):
        own = {
            name: getattr(content, name) for name in ("other_contents", "is_deflated", "is_single")
        }
        how = replace(how, **own)
    return how


@dataclass(frozen=True)
class CopyJob:
    """A file that a worker writes.

    Attributes
    ----------
    own
        Temporary path that the worker writes to.
    path
        Path of the output, for messages.
    frames
        Frames of the file.
    slice
        Index of these frames and of the first frame of the output.
    begin
        Number of frames of the output before this piece.
    """

    own: Path
    path: Path
    frames: Frames
    slice: bytes
    begin: int = 0


@dataclass(frozen=True)
class CopySpec:
    """Setup of a worker that writes files: trajectory, atoms, options and whole output."""

    worker_input: bytes
    columns: NDArray[np.int64] | None
    how: OutputOptions
    whole: WholeOutput | None = None

    def begin(self) -> "Copier":
        """Open the trajectory in a worker and return the writer of its files."""
        return Copier(self)


class Copier:
    """Writes files in a worker of a pool, without topology and index files."""

    def __init__(self, spec: CopySpec) -> None:
        self._spec = spec
        self._trajectory = _trajet.WorkerTrajectory(spec.worker_input)

    def do(self, job: CopyJob, threads: int, show: ShowFrames) -> WriteOutcome:
        """Write a file; `show` is called with the number of frames done."""
        reader, opening = self._trajectory.reader(job.slice)
        try:
            outcome = self._write(reader, job, threads, show)
        except OutputError as error:
            # Messages name the output, not the temporary file.
            raise OutputError(str(error).replace(str(job.own), str(job.path))) from None
        if outcome.run is not None:
            worker = outcome.run["workers"][0]
            for name in COUNTS:
                worker[name] += opening[name]
        return outcome

    def _write(
        self, reader: _trajet.Reader, job: CopyJob, threads: int, show: ShowFrames
    ) -> WriteOutcome:
        columns, how, whole = self._spec.columns, self._spec.how, self._spec.whole
        if job.own.suffix.lower() not in h5md.HDF5.suffixes:
            (outcome,) = write_files(
                reader,
                [(job.own, job.frames)],
                columns,
                how,
                # A worker that was taken for lost may have written the file already.
                force=True,
                threads=threads,
                progress=lambda done, _: show(done),
                within=None if whole is None else PieceOfOutput(job.begin, **vars(whole)),
            )
            return outcome
        content = hdf5_content(reader, columns, how)
        done = 0

        def add(more: int) -> None:
            nonlocal done
            done += more
            show(done)

        h5md.write_checked(job.own, frame_numbers(job.frames), content, threads, add)
        n_bytes = job.own.stat().st_size
        return WriteOutcome(content.messages, None, n_bytes, warnings=content.warnings)
