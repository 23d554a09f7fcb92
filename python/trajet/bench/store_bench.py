"""Benchmark of loading the protein of a membrane system, after Deng et al. 2021 (ADA).

ADA: doi:10.1145/3472456.3473509, figures 7a to 7c, and the number of frames that fit into memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trajet import conversion, trajectory
from trajet.bench import store_system
from trajet.bench.child_process import Row
from trajet.bench.store_cases import Case, CaseRun, cases
from trajet.bench.store_files import Stored, stored
from trajet.bench.store_memory_limit import frames_reached
from trajet.bench.store_run import measured
from trajet.pools.shared import folder_in

# Seconds added to ten times the usual time of a run before it is killed.
_PATIENCE = 30


@dataclass(frozen=True)
class Bench:
    """Parameters that all cases of one size share.

    Attributes
    ----------
    data
        The folder that keeps the system.
    frames
        Number of frames.
    repeats
        Number of runs that count, after a first run of a single frame.
    cold
        Whether files are dropped from the page cache before each run.
    drawn
        Number of frames to draw.
    limit
        Bytes of memory for which to find the number of frames that fit; None to skip that.
    """

    data: Path
    frames: int
    repeats: int
    cold: bool
    drawn: int
    limit: int | None

    def rows(self, storages: Sequence[str], tools: Sequence[str]) -> Iterator[list[Row]]:
        """Yield the rows of each case; files of a storage are removed after its last case."""
        topology = store_system.topology_in(self.data)
        plain = store_system.trajectory_in(self.data, self.frames)
        for storage in storages:
            chosen = list(cases([storage], tools))
            if not chosen:
                continue
            with folder_in(self.data) as place:
                made = stored(storage, topology, plain, place)
                for case in chosen:
                    yield self._repeats(case, made, topology, plain, place)

    def _repeats(
        self, case: Case, made: Stored, topology: Path, plain: Path, place: Path
    ) -> list[Row]:
        job = CaseRun(
            case=case,
            topology=str(topology),
            source=str(made.source),
            files=[str(path) for path in made.files[case.atoms]],
            frames=self.frames,
            cold=self.cold,
            drawn=self.drawn,
        )
        # This run builds indexes and offsets, and reads the files into the page cache.
        measured(replace(job, frames=1, drawn=0))
        about = {"source": plain.stat().st_size, "stored": made.size, "t_store": made.seconds}
        rows = [
            {**measured(job), **about, "repeat": repeat, "frames_reached": None}
            for repeat in range(self.repeats)
        ]
        if self.limit is not None:
            patient = replace(job, patience=_PATIENCE + int(10 * rows[0]["t_turnaround"]))
            reached = frames_reached(
                lambda n: self._limited(patient, n, place), rows[0], self.limit
            )
            rows = [{**row, "frames_reached": reached} for row in rows]
        return rows

    def _limited(self, job: CaseRun, frames: int, place: Path) -> CaseRun:
        """Return the job for a number of frames, with the limit."""
        job = replace(job, frames=frames, drawn=0, files=(), cold=False, limit=self.limit)
        if job.case.tool != "mdtraj":
            return job
        # mdtraj loads whole files.
        cut = place / "cut.xtc"
        whole = trajectory.open(None, job.source)
        conversion.convert(whole, cut, frames=slice(0, frames), force=True)
        return replace(job, source=str(cut))
