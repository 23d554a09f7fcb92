"""The work of a run, taken from its report: what each frame and each file cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trajet import _trajet
from trajet.report_entries import Entries, seconds_in

# Bytes of a number for each frame, if the report does not state the size of the result.
_NUMBER_BYTES = 8


@dataclass(frozen=True)
class Workload:
    """The work of an analysis.

    Attributes
    ----------
    n_frames
        Number of frames, over all passes.
    decoding, computing
        Seconds of a core for each frame. Merging and overhead count as computing.
    reading
        Seconds for each frame inside read requests, as measured.
    frame_bytes
        Bytes read for each frame.
    request_bytes
        Bytes of a read request, on average.
    n_files
        Files of the trajectory.
    opening
        Seconds for opening one file, as measured.
    opening_before
        Seconds in which the caller opened the files.
    importing
        Seconds before the run that every rank of MPI spends as well: imports.
    preparing
        Seconds of one process before its workers begin, without opening: index, topology,
        selections, and `planning`.
    planning
        Seconds for the reference and the plan, which reports count as a part of the analysis.
    result_bytes
        Bytes of the result.
    atoms
        Number of atoms of the analysis.
    part
        Part of the trajectory's atoms that the analysis needs; None if that is not known, or if a
        store already holds them by themselves.
    spread
        Seconds per frame of the tasks of the run, divided by their mean.
    workers, cores
        Workers of the run, and cores of its machine.
    """

    n_frames: int
    decoding: float
    computing: float
    reading: float
    frame_bytes: float
    request_bytes: float
    n_files: int = 1
    opening: float = 0.0
    opening_before: float = 0.0
    importing: float = 0.0
    preparing: float = 0.0
    planning: float = 0.0
    result_bytes: float = 0.0
    atoms: int = 1
    part: float | None = None
    spread: Sequence[float] = (1.0,)
    workers: int = 1
    cores: int = 1

    @classmethod
    def of(cls, report: Entries) -> "Workload":
        """Return the work of the run of a report.

        Raises
        ------
        ValueError
            If the run read no frame, or was a conversion, whose output limits it too.
        """
        n_frames = report["frames"]
        if not n_frames or report["analysis"] == "convert":
            why = "wrote files" if n_frames else "read no frame"
            raise ValueError(
                f"the run of this report {why}: give the report of an analysis of some frames"
            )
        workers, opening = report["workers"], report["opening"]
        rest = sum(seconds_in(worker, ("t_comp", "t_merge", "t_overhead")) for worker in workers)
        # The seconds of threads that outnumber the cores contain those in which others ran.
        hosts = max(1, len(report["ranks_per_node"]))
        share = min(1.0, hosts * max(1, report["cores"]) / max(1, len(workers)))
        files = [entry for entry in report["inputs"] if "format" in entry]
        n_atoms = files[0].get("n_atoms") if files else None
        atoms = max(1, round(report["atoms_decoded"] / n_frames))
        is_store = bool(report.get("tags"))
        tasks = report["tasks"]
        requests = max(1, report["requests"] - len(tasks))
        opens = max(1, opening["opens"])
        return cls(
            n_frames=n_frames,
            decoding=share * sum(worker["t_decode"] for worker in workers) / n_frames,
            computing=share * rest / n_frames,
            reading=sum(worker["t_read"] for worker in workers) / n_frames,
            frame_bytes=report["bytes_read"] / n_frames,
            request_bytes=report["bytes_read"] / requests,
            n_files=max(1, len(files)),
            opening=max(opening["t_open"] / opens, _opening_of_workers(report)),
            opening_before=opening["t_open"],
            importing=report.get("t_import", 0.0),
            preparing=_seconds_before(report),
            planning=report.get("t_preparing", 0.0),
            result_bytes=report.get("result_bytes", _NUMBER_BYTES * n_frames),
            atoms=atoms,
            part=None if is_store or not n_atoms else min(1.0, atoms / n_atoms),
            spread=_spread(report),
            workers=len(workers),
            cores=max(1, report["cores"]),
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves: no run has more tasks."""
        return math.ceil(self.n_frames / self.leaf_frames)

    @property
    def leaf_frames(self) -> int:
        """Frames of a leaf."""
        return _trajet.leaf_frames(self.n_frames, self.atoms)

    def n_tasks(self, workers: int, task_frames: int | None = None) -> int:
        """Return the number of tasks for so many workers, of `task_frames` frames if given."""
        return _trajet.n_tasks(self.n_frames, self.atoms, workers, task_frames)


def _seconds_before(report: Entries) -> float:
    """Return the seconds before workers begin, without imports and opening."""
    # The time of the topology includes that of opening.
    topology = max(0.0, report.get("t_topology", 0.0) - report["opening"]["t_open"])
    return topology + report.get("t_select", 0.0) + report.get("t_preparing", 0.0)


def _opening_of_workers(report: Entries) -> float:
    """Return the mean seconds in which a worker opened one file."""
    opened = [worker for worker in report["workers"] if worker.get("opens", 0) > 0]
    seconds = sum(seconds_in(worker, ("t_open", "t_index")) for worker in opened)
    return seconds / max(1, sum(worker.get("opens", 0) for worker in opened))


def _spread(report: Entries) -> tuple[float, ...]:
    """Return the seconds per frame of the tasks, divided by their mean; (1,) if there are none."""
    rates = [
        (task["t_end"] - task["t_begin"]) / task["frames"]
        for task in report["tasks"]
        if task["frames"] > 0 and task["t_end"] > task["t_begin"]
    ]
    if not rates:
        return (1.0,)
    mean = sum(rates) / len(rates)
    return tuple(sorted(rate / mean for rate in rates))
