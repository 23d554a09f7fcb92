"""How files are written, also by workers of a pool that were told where their frames are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md
from trajet._trajet import OutputError
from trajet.pools.jobs import ShowFrames
from trajet.pools.pool import Frames, Progress
from trajet.trajectory import frame_numbers

HDF5 = (".h5md", ".h5")


class Outcome(NamedTuple):
    """Remarks on an output, the engine's report (of HDF5 none), bytes, and losses by kind.

    The remarks say what the output lost. Losses of stretches are merged when these are joined.
    """

    remarks: list[str]
    run: dict[str, Any] | None
    n_bytes: int
    losses: Sequence["_trajet.Loss"] = ()


@dataclass(frozen=True)
class How:
    """How outputs are written; see `convert`. It can be sent."""

    precision: float | None = None
    double: bool | None = None
    velocities: bool = True
    forces: bool = True
    compression: int | None = None
    allow_loss: bool = False
    # Remarks on the source that the outputs keep.
    remarks: tuple[str, ...] = ()
    # H5MD: frames and atoms of a chunk, and whether all frames must have what is written.
    chunk: tuple[int, int] | None = None
    complete: bool = False
    # Copies of H5MD: what else they hold, and whether their vectors are compressed.
    rest: h5md.Rest | None = None
    is_deflated: bool | None = None
    is_single: bool = False


@dataclass(frozen=True)
class Whole:
    """The output of which workers write stretches, without its head; it can be sent.

    Attributes
    ----------
    head
        The number of its first frame: heads of files describe all frames by it.
    times, steps
        Of all its frames.
    """

    head: int
    times: NDArray[np.float64]
    steps: NDArray[np.int64]


@dataclass(frozen=True)
class Within:
    """Where a stretch is in its whole: behind so many frames of it."""

    begin: int
    head: int
    times: NDArray[np.float64]
    steps: NDArray[np.int64]


def write_files(
    reader: _trajet.Reader,
    parts: list[tuple[Path, Frames]],
    indices: NDArray[np.int64] | None,
    how: How,
    *,
    force: bool,
    threads: int,
    progress: Progress | None,
    within: Within | None = None,
) -> list[Outcome]:
    """Write files of any format but H5MD; or the stretch of one that is `within` it."""
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
    return [Outcome(remarks, run, n_bytes, losses) for n_bytes, remarks, losses, run in copied]


def hdf5_content(
    reader: _trajet.Reader, indices: NDArray[np.int64] | None, how: How
) -> h5md.Content:
    """Return what H5MD files hold, where it is known which vectors there are."""
    if how.rest is not None:
        return h5md.NativeContent(
            reader,
            indices,
            compression=how.compression,
            chunk=how.chunk,
            rest=how.rest,
            is_deflated=how.is_deflated,
            is_single=how.is_single,
            # Only parts of a file must be complete.
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
        kept_remarks=how.remarks,
    )


def for_workers(how: How, content: h5md.Content) -> How:
    """Return how workers write what H5MD files hold."""
    how = replace(how, velocities=content.velocities, forces=content.forces)
    if isinstance(content, h5md.NativeContent):
        own = {name: getattr(content, name) for name in ("rest", "is_deflated", "is_single")}
        how = replace(how, **own)
    return how


@dataclass(frozen=True)
class CopyJob:
    """A file that a worker writes.

    Attributes
    ----------
    own
        Where it writes it.
    path
        What becomes of that.
    frames
        What it holds.
    slice
        Where these frames are, and the first one of the whole.
    begin
        Of a stretch: how many frames of the whole come before it.
    """

    own: Path
    path: Path
    frames: Frames
    slice: bytes
    begin: int = 0


@dataclass(frozen=True)
class CopyBrief:
    """What workers are told once of the files that they write, or of their whole."""

    outline: bytes
    places: NDArray[np.int64] | None
    how: How
    whole: Whole | None = None

    def begin(self) -> "Copier":
        """Return who writes them."""
        return Copier(self)


class Copier:
    """Writes files in a worker of a pool, which looks for no index and knows no topology."""

    def __init__(self, brief: CopyBrief) -> None:
        self._brief = brief
        self._trajectory = _trajet.Elsewhere(brief.outline)

    def do(self, what: CopyJob, threads: int, show: ShowFrames) -> Outcome:
        """Write a file."""
        reader, opening = self._trajectory.reader(what.slice)
        try:
            outcome = self._write(reader, what, threads, show)
        except OutputError as error:
            # Nobody knows the other name.
            raise OutputError(str(error).replace(str(what.own), str(what.path))) from None
        if outcome.run is not None:
            for name, n in opening.items():
                outcome.run["workers"][0][name] += n
        return outcome

    def _write(
        self, reader: _trajet.Reader, what: CopyJob, threads: int, show: ShowFrames
    ) -> Outcome:
        places, how, whole = self._brief.places, self._brief.how, self._brief.whole
        if what.own.suffix.lower() not in HDF5:
            (outcome,) = write_files(
                reader,
                [(what.own, what.frames)],
                places,
                how,
                # It may have been written before, by a worker that was taken for lost.
                force=True,
                threads=threads,
                progress=lambda done, _: show(done),
                within=None if whole is None else Within(what.begin, **vars(whole)),
            )
            return outcome
        content = hdf5_content(reader, places, how)
        done = 0

        def add(more: int) -> None:
            nonlocal done
            done += more
            show(done)

        h5md.write_checked(what.own, frame_numbers(what.frames), content, threads, add)
        return Outcome(content.remarks, None, what.own.stat().st_size)
