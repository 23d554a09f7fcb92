"""Benchmark of loading the protein of a membrane system, after Deng et al. 2021 (ADA).

ADA: doi:10.1145/3472456.3473509, figures 7a to 7c, and the number of frames that fit into memory:
in ADA, those before the system kills the viewer. A run is limited to a number of bytes besides
those that Python and its modules hold before it starts (`RLIMIT_DATA`: private memory, not mapped
files), and is repeated with more frames.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trajet import conversion, trajectory
from trajet._trajet import WorkerError
from trajet.output import folder_in
from trajet.store import Store

from machine import store_system
from machine.child_process import Row
from machine.store_cases import (
    ALL,
    HDF5,
    PLAIN,
    PROTEIN,
    STORE,
    UNCOMPRESSED,
    Case,
    CaseRun,
    cases,
)
from machine.store_loaders import NAME
from machine.store_run import measured

# Seconds added to ten times the usual time of a run before it is killed.
_PATIENCE = 30
# Relative precision of the number of frames that fit into memory.
_CLOSE = 0.03
# Tiers of a store: the protein, and the atoms that a viewer does not need.
_ACTIVE, _IDLE = "active", "idle"
_TAGS = (
    (PROTEIN, "p", PROTEIN, _ACTIVE),
    ("lipid", "l", "resname POPC", _IDLE),
    ("water", "w", "rest", _IDLE),
)
_FORMATS = {
    **{"store-exact": "exact", "store-dcd": "dcd"},
    **{"store-nc": "ncdf", HDF5: "h5md"},
}


@dataclass(frozen=True)
class Stored:
    """A storage of the trajectory.

    Attributes
    ----------
    source
        The trajectory or the folder of the store.
    files
        The files that hold the protein, and those that hold all atoms, with structure files.
    size
        Bytes of all files.
    seconds
        Time in which it was made from the compressed file.
    """

    source: Path
    files: dict[str, list[Path]]
    size: int
    seconds: float


def stored(storage: str, topology: Path, plain: Path, folder: Path) -> Stored:
    """Return a storage; all but the compressed file are created in `folder`."""
    begin = time.perf_counter()
    if storage in PLAIN:
        source = plain
    elif storage in UNCOMPRESSED:
        source = folder / f"whole.{storage}"
        # The format may lack times, steps or the precision.
        conversion.convert(trajectory.open(None, plain), source, allow_loss=True)
    else:
        source = folder / "store"
        profile = folder / "profile.toml"
        profile.write_text(_profile(_FORMATS[storage]))
        opened = trajectory.open(topology, plain)
        Store(source, create=True).add(NAME, opened, profile=profile)
    seconds = time.perf_counter() - begin
    if storage not in STORE:
        files = [topology, source]
        return Stored(source, {PROTEIN: files, ALL: files}, source.stat().st_size, seconds)
    active, idle = _below(folder / _ACTIVE), _below(folder / _IDLE)
    size = sum(path.stat().st_size for path in [*active, *idle, *_below(source)])
    return Stored(source, {PROTEIN: active, ALL: active + idle}, size, seconds)


def _profile(form: str) -> str:
    lines = ["[tiers]", *(f'{tier} = "{tier}"' for tier in (_ACTIVE, _IDLE))]
    for name, short, select, tier in _TAGS:
        lines += [
            "[[tags]]",
            *(f'name = "{name}"', f'short = "{short}"', f'select = "{select}"'),
            *(f'tier = "{tier}"', f'format = "{form}"'),
        ]
        if form != "exact":
            lines.append("lossy = true")
    return "\n".join(lines) + "\n"


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


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


def frames_reached(job_of: Callable[[int], CaseRun], row: Row, limit: int) -> int:
    """Return the largest number of frames that a case can load, at most those of the trajectory.

    Parameters
    ----------
    job_of
        Returns the job that loads a number of first frames under the limit.
    row
        Measurement of loading all frames, without a limit.
    limit
        Limit, bytes.
    """
    a_frame = max(1.0, (row["peak_memory"] - row["idle_memory"]) / row["frames"])
    return most(lambda count: fits(job_of(count)), row["frames"], int(limit / a_frame))


def most(within: Callable[[int], bool], top: int, guess: int) -> int:
    """Return the largest number up to `top` that fits, with a relative precision of 3 %.

    A run may take minutes: the search starts at `guess`, and its steps grow until they bracket the
    result.
    """
    low, high = 0, top + 1
    probe, stride = min(max(guess, 1), top), _CLOSE
    while high - low > max(1, _CLOSE * low):
        if within(probe):
            low = probe
        else:
            high = probe
        if low > 0 and high <= top:
            probe = (low + high) // 2
        else:
            step = max(1, int(stride * probe))
            probe = min(probe + step, top) if low else max(probe - step, 1)
            stride *= 4
    return low


def fits(job: CaseRun) -> bool:
    """Return whether a job with a limit succeeds."""
    try:
        measured(job)
    except WorkerError:
        # The job succeeds without the limit, so that it fails for lack of memory.
        return False
    return True
