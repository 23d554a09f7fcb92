"""Benchmark of loading the proteins of a large system, after Deng et al. 2021 (ADA).

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
from machine.store_run import (
    ALL,
    HDF5,
    NAME,
    PLAIN,
    PROTEIN,
    STORE,
    UNCOMPRESSED,
    Case,
    CaseRun,
    cases,
    measured,
)

# Seconds added to ten times the usual time of a run before it is killed.
_PATIENCE = 30
# Relative precision of the number of frames that fit into memory.
_CLOSE = 0.03
# Tiers of a store: the protein, and the atoms that a viewer does not need.
_ACTIVE, _IDLE = "active", "idle"
_TAGS = ((PROTEIN, PROTEIN, _ACTIVE), ("water", "rest", _IDLE))
_FORMATS = {"store-exact": "exact", "store-dcd": "dcd", "store-nc": "ncdf", HDF5: "h5md"}


@dataclass(frozen=True)
class Stored:
    """A storage: the files that hold the protein and all atoms, with structures; bytes; seconds."""

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
    tail = f'format = "{form}"\n' + ("" if form == "exact" else "lossy = true\n")
    lines = [f'[tiers]\n{_ACTIVE} = "{_ACTIVE}"\n{_IDLE} = "{_IDLE}"\n']
    for name, select, tier in _TAGS:
        head = f'[[tags]]\nname = "{name}"\nshort = "{name[0]}"\n'
        lines.append(f'{head}select = "{select}"\ntier = "{tier}"\n{tail}')
    return "".join(lines)


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@dataclass(frozen=True)
class Bench:
    """Parameters that all cases of one size share.

    `data` keeps the system, `drawn` frames are drawn; `limit` are the bytes of memory for which to
    find the number of frames that fit, or None.
    """

    data: Path
    frames: int
    repeats: int
    cold: bool
    drawn: int
    limit: int | None

    def rows(self, storages: Sequence[str], tools: Sequence[str]) -> Iterator[list[Row]]:
        """Yield the rows of each case; files of a storage are removed after its last case."""
        topology, plain = store_system.make(self.data, self.frames)
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
        paths = {"topology": str(topology), "source": str(made.source)}
        files = [str(path) for path in made.files[case.atoms]]
        how = {"frames": self.frames, "cold": self.cold, "drawn": self.drawn}
        job = CaseRun(case=case, **paths, files=files, **how)  # type: ignore[arg-type]
        # This run builds indexes and offsets, and reads the files into the page cache.
        measured(replace(job, frames=1, drawn=0))
        about = {"source": plain.stat().st_size, "stored": made.size, "t_store": made.seconds}
        rows = [
            {**measured(job), **about, "repeat": repeat, "frames_reached": None}
            for repeat in range(self.repeats)
        ]
        if self.limit is not None:
            first = rows[0]
            patient = replace(job, patience=_PATIENCE + int(10 * first["t_turnaround"]))
            a_frame = max(1.0, (first["peak_memory"] - first["idle_memory"]) / first["frames"])
            within = lambda n: fits(self._limited(patient, n, place))  # noqa: E731
            reached = most(within, first["frames"], int(self.limit / a_frame))
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
