"""One output by a pool: workers write stretches of its frames, which are put together here."""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from trajet import _trajet, h5md, output
from trajet.conversion.files import CopyBrief, CopyJob, How, Outcome, Whole, for_workers
from trajet.pools.jobs import Job, JobPool, JobResult
from trajet.pools.pool import Frames, Progress
from trajet.pools.tasks import Task, TaskOutcome
from trajet.pools.timing import RunTiming
from trajet.trajectory import frame_numbers

# Stretches for each thread of a pool, so that none waits long for the last one.
_PER_THREAD = 4
# Bytes of positions of a stretch, at most: what is lost with a worker, and what stands twice on the
# disk while it is put in its place.
_MOST_BYTES = 2**30


def write_pieces(
    reader: _trajet.Reader,
    part: tuple[Path, Frames],
    brief: CopyBrief,
    content: h5md.Content | None,
    pool: JobPool,
    *,
    force: bool,
    progress: Progress | None,
) -> Outcome:
    """Write an output with the workers of a pool: that of one process, byte for byte.

    H5MD is so value for value, of vectors that all frames have.

    Parameters
    ----------
    reader
        The trajectory.
    part
        The output, and its frames.
    brief
        What workers are told of it.
    content
        What H5MD holds; None for other formats.
    pool
        Who writes.
    force
        Whether to replace what stands there.
    progress
        Called with frames done and in total: written, then put together, each counts half.
    """
    timing, (path, frames) = RunTiming(), part
    numbers = frame_numbers(frames)
    unit = 1
    if content is not None:
        h5md.check([(path, numbers)], content, None)
        packing = content.packing(len(numbers), 1)
        # Chunks are put together as they are packed.
        unit = packing.frames
        brief = replace(brief, how=_for_hdf5(brief.how, content, packing.chunk))
    else:
        when = (reader.times()[numbers], reader.steps()[numbers])
        brief = replace(brief, whole=Whole(int(numbers[0]), *when))
    n_atoms = reader.n_atoms if brief.places is None else len(brief.places)
    borders = _borders(len(numbers), unit, n_atoms, pool.n_threads)

    def show(done: int, total: int) -> None:
        if progress is not None:
            progress(len(numbers) * done // (2 * total), len(numbers))

    with output.folder_within(path.parent) as folder:
        owns = [folder.absolute() / f"{k}{path.suffix}" for k in range(len(borders) - 1)]
        jobs = []
        for own, (begin, end) in zip(owns, pairwise(borders), strict=True):
            here = numbers[begin:end]
            slice_ = reader.slice(np.concatenate((numbers[:1], here)))
            jobs.append(Job(end - begin, CopyJob(own, path, here, slice_, begin)))
        answers = pool.do_jobs(brief, jobs, show)
        joining = time.perf_counter()

        def show_joined(done: int, total: int) -> None:
            show(total + done, total)

        remarks: list[str] = []
        if content is not None:
            files = [
                (own, end - begin)
                for own, (begin, end) in zip(owns, pairwise(borders), strict=True)
            ]
            h5md.join(path, files, numbers, content, force=force, progress=show_joined)
            remarks = content.remarks
        else:
            stretches = [(own, one.result.n_bytes) for own, one in zip(owns, answers, strict=True)]
            losses = [loss for one in answers for loss in one.result.losses]
            _, remarks = _trajet.join_stretches(
                reader,
                part,
                brief.places,
                brief.how,
                stretches,
                losses,
                force=force,
                progress=show_joined,
            )
            # Workers find differences of files that this process has not read.
            found = {remark for answer in answers for remark in answer.result.remarks}
            remarks += sorted(found.difference(remarks))
        joined = time.perf_counter() - joining
    run = None
    if content is None:
        _write_down(timing, answers, borders)
        run = timing.report(pool=pool.kind, t_joining=joined)
    return Outcome(remarks, run, path.stat().st_size)


def _for_hdf5(how: How, content: h5md.Content, chunk: tuple[int, int]) -> How:
    """Return how workers write what H5MD holds."""
    return replace(for_workers(how, content), chunk=chunk, complete=True)


def _borders(n_frames: int, unit: int, n_atoms: int, n_threads: int) -> list[int]:
    """Return where stretches of whole units begin, and where the last one ends."""
    units = -(-n_frames // unit)
    most = max(1, _MOST_BYTES // (12 * n_atoms * unit))
    n = min(units, max(_PER_THREAD * n_threads, -(-units // most)))
    return [min(n_frames, unit * (units * k // n)) for k in range(n + 1)]


def _write_down(timing: RunTiming, answers: Sequence[JobResult], borders: Sequence[int]) -> None:
    """Write down what workers did of the stretches, each a task."""
    for number, (answer, frames) in enumerate(zip(answers, pairwise(borders), strict=True)):
        where = dict(answer.where)
        worker, host, process = (where.pop(name) for name in ("worker", "host", "process"))
        task = Task(number, (number, number + 1), frames)
        run, span = answer.result.run, (answer.begin, answer.end)
        timing.add(worker, task, TaskOutcome(np.empty(0), run, *span, host, process), where=where)
        for error in answer.retried:
            timing.retry(task, error)
    timing.passes += 1
