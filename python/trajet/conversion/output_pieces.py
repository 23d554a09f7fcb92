"""One output file by a pool: workers write pieces of it, which the calling process joins."""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from trajet import _trajet, h5md, output
from trajet.conversion.files import (
    CopyJob,
    CopySpec,
    OutputOptions,
    WholeOutput,
    WriteOutcome,
    for_workers,
)
from trajet.messages import Message
from trajet.pools.jobs import Job, JobPool, JobResult
from trajet.pools.pool import Frames, Progress
from trajet.pools.tasks import NO_STATES, Task, TaskOutcome
from trajet.pools.timing import RunTiming
from trajet.trajectory import frame_numbers

# Pieces per thread of a pool: with several, no thread waits long for the last piece.
_PER_THREAD = 4
# Most bytes of positions of a piece: a worker that dies loses a piece, and a piece is on the disk
# twice while it is joined.
_MAX_BYTES = 2**30


def write_pieces(
    reader: _trajet.Reader,
    part: tuple[Path, Frames],
    spec: CopySpec,
    content: h5md.Content | None,
    pool: JobPool,
    *,
    force: bool,
    progress: Progress | None,
) -> WriteOutcome:
    """Write an output in pieces with the workers of a pool, and join the pieces.

    The output is the same as from one process: byte for byte, H5MD value for value. For H5MD, all
    frames must have all fields that are written.

    Parameters
    ----------
    reader
        The trajectory.
    part
        Path and frames of the output.
    spec
        The setup of the workers that write it.
    content
        Content of an H5MD output; None for other formats.
    pool
        The pool that writes the pieces.
    force
        Whether to replace an existing file.
    progress
        Called with frames done and in total; writing and joining count half each.
    """
    timing, (path, frames) = RunTiming(), part
    numbers = frame_numbers(frames)
    unit = 1
    if content is not None:
        h5md.check([(path, numbers)], content, None)
        packing = content.packing(len(numbers), 1)
        # Packed chunks are copied as they are, so that a piece consists of whole chunks.
        unit = packing.frames
        spec = replace(spec, how=_for_hdf5(spec.how, content, packing.chunk))
    else:
        when = (reader.times()[numbers], reader.steps()[numbers])
        spec = replace(spec, whole=WholeOutput(int(numbers[0]), *when))
    n_atoms = reader.n_atoms if spec.columns is None else len(spec.columns)
    borders = _borders(len(numbers), unit, n_atoms, pool.n_threads)

    def show(done: int, total: int) -> None:
        if progress is not None:
            progress(len(numbers) * done // (2 * total), len(numbers))

    # The folder of the process may be another when the pieces are joined.
    place = output.destination(path)
    with output.folder_within(place.parent) as folder:
        owns = [folder / f"{k}{path.suffix}" for k in range(len(borders) - 1)]
        jobs = []
        for own, (begin, end) in zip(owns, pairwise(borders), strict=True):
            here = numbers[begin:end]
            slice_ = reader.slice(np.concatenate((numbers[:1], here)))
            jobs.append(Job(end - begin, CopyJob(own, path, here, slice_, begin)))
        answers = pool.do_jobs(spec, jobs, show)
        joining = time.perf_counter()

        def show_joined(done: int, total: int) -> None:
            show(total + done, total)

        messages: list[Message] = []
        if content is not None:
            files = [
                (own, end - begin)
                for own, (begin, end) in zip(owns, pairwise(borders), strict=True)
            ]
            h5md.join(place, files, numbers, content, force=force, progress=show_joined)
            messages = content.messages
        else:
            pieces = [(own, one.result.n_bytes) for own, one in zip(owns, answers, strict=True)]
            losses = [loss for one in answers for loss in one.result.losses]
            _, messages = _trajet.join_pieces(
                reader,
                (place, frames),
                spec.columns,
                spec.how,
                pieces,
                losses,
                force=force,
                progress=show_joined,
            )
            # Workers find differences between files that this process does not read.
            found = {message for answer in answers for message in answer.result.messages}
            messages += sorted(found.difference(messages))
        joined = time.perf_counter() - joining
    run = None
    if content is None:
        _record(timing, answers, borders)
        run = timing.report(pool=pool.kind, t_joining=joined)
    warnings = [counts for answer in answers for counts in answer.result.warnings]
    return WriteOutcome(messages, run, place.stat().st_size, warnings=warnings)


def _for_hdf5(how: OutputOptions, content: h5md.Content, chunk: tuple[int, int]) -> OutputOptions:
    """Return the options by which workers write pieces of H5MD."""
    return replace(for_workers(how, content), chunk=chunk, complete=True)


def _borders(n_frames: int, unit: int, n_atoms: int, n_threads: int) -> list[int]:
    """Return the first frame of each piece, and `n_frames`; pieces consist of whole units."""
    units = -(-n_frames // unit)
    most = max(1, _MAX_BYTES // (12 * n_atoms * unit))
    n = min(units, max(_PER_THREAD * n_threads, -(-units // most)))
    return [min(n_frames, unit * (units * k // n)) for k in range(n + 1)]


def _record(
    timing: RunTiming, answers: Sequence[JobResult[WriteOutcome]], borders: Sequence[int]
) -> None:
    """Record the pieces that workers wrote as tasks."""
    for number, (answer, frames) in enumerate(zip(answers, pairwise(borders), strict=True)):
        where, run = answer.where, answer.result.run
        assert run is not None
        task = Task(number, (number, number + 1), frames)
        outcome = TaskOutcome(
            NO_STATES, run, answer.begin, answer.end, where["host"], where["process"]
        )
        timing.add(where["worker"], task, outcome, where=where)
        for error in answer.retried:
            timing.retry(task, error)
    timing.passes += 1
