"""The cost of stragglers: ranks and workers that read through an artificially slowed store.

    .venv/bin/python benches/stragglers.py            # about five minutes on two cores

Needs `trajectories.py`, the slow store (`cargo build --release --manifest-path
benches/slow-store/Cargo.toml`), /dev/fuse, and `pip install 'trajet[mpi,dask]' mpich`. In each case
one component is 20 times slower than the others; every strategy computes the same RMSD of C-alpha,
whose bits are compared with those of one thread. Waiting needs no processor, so that two cores can
be eight clients. Slow gathering is simulated: each put of a rank, or each answer of a Dask worker
to a request for rows, sleeps first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import trajet as tj
from host import DATA, RECORD, as_lines, describe_load, record, stamp, write_section
from slow_store import mounted
from trajet.pools.dask import dask_client
from trajet.pools.mpi.section_transport import OneSidedSection, SharedSection

WORKERS, FACTOR = 8, 20
A_FRAME = 1  # bytes: no request reads on into the next frame
FRAME_WISE, STATIC, DEFAULT, DASK = "static, a request a frame", "static", "default", "Dask"


@dataclass(frozen=True)
class Case:
    """The slow component: `stage` of the workers `slow`, or the part `region` of the file."""

    name: str
    stage: str = "reading"
    slow: tuple[int, ...] = ()
    region: tuple[float, float] | None = None

    def rules(self, processes: list[int], delay: float) -> str:
        """Return the store's rules; opening waits as long as twenty requests."""
        lines = [f"delay_ms {delay}", f"open_ms {20 * delay if self.stage == 'opening' else 0}"]
        lines.append(f"factor {FACTOR}")
        words = {"reading": "slow_process", "opening": "slow_opening"}
        if self.stage in words:
            lines += [f"{words[self.stage]} {processes[k]}" for k in self.slow]
        if self.region is not None:
            lines.append("slow_region {} {}".format(*self.region))
        return "\n".join([*lines, ""])


CASES = (
    Case("nothing"),
    Case("one rank reads", slow=(3,)),
    # An eighth: the block of one rank.
    Case("one region of the file", region=(0.5, 0.625)),
    Case("6 of 8 ranks read", slow=(0, 2, 3, 5, 6, 7)),
    Case("one rank opens", stage="opening", slow=(3,)),
    Case("one rank sends its rows", stage="gathering", slow=(3,)),
)


@dataclass(frozen=True)
class Row:
    """A run: clock around the call, t_total of the report, the named stragglers and stages."""

    case: str
    strategy: str
    round: int
    wall: float
    t_total: float
    requests: int
    named: str
    repeated: int
    same_bits: bool


def names(report: tj.Report, order: Sequence[str]) -> str:
    """Return the stragglers of the report with their stages; Dask workers by order of address."""
    numbers = {
        worker["worker"]: order.index(worker["address"]) if order else worker["worker"]
        for worker in report["workers"]
    }
    found = []
    for entry in report["stragglers"]:
        who = entry.get("rank", numbers[entry["worker"]])
        what = f" (task {entry['task']})" if "task" in entry else ""
        found.append(f"{who}{what} {entry['stage']}")
    return "; ".join(found)


def timed(
    case: Case, strategy: str, number: int, atoms: Any, pool: Any, truth: Path, order: Any = ()
) -> Row | None:
    """Run once; only the rank with the result has a row."""
    begin = time.perf_counter()
    result = tj.rmsd(atoms, pool=pool)
    wall = time.perf_counter() - begin
    if not result:
        return None
    report, is_same = result.report, bool(np.array_equal(result.values, np.load(truth)))
    how = wall, report["stages"]["t_total"], report["requests"], names(report, order)
    return Row(case.name, strategy, number, *how, len(report["repeated"]), is_same)


@contextmanager
def slow_puts(slow: bool, seconds: float) -> Iterator[None]:
    """Delay the rows of this rank."""

    def late(put: Any) -> Any:
        def wait_and_put(*arguments: Any) -> None:
            time.sleep(seconds)
            put(*arguments)

        return wait_and_put

    with ExitStack() as stack:
        for kind in (OneSidedSection, SharedSection) if slow else ():
            stack.enter_context(patch.object(kind, "put", late(kind.put)))
        yield


def as_ranks(folder: Path, cases: list[Case], rounds: int, delay: float) -> None:
    """Run as one of the ranks; rank 0 writes the rows."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    rows: list[Row] = []
    for case in cases:
        processes = world.gather(os.getpid())
        if processes is not None:
            (folder / "rules").write_text(case.rules(processes, delay))
        world.Barrier()
        runs = [(FRAME_WISE, 0)] if case.stage == "reading" else []
        runs += [(name, number) for number in range(rounds) for name in (STATIC, DEFAULT)]
        for strategy, number in runs:
            pool = tj.MpiPool(scheduling="dynamic" if strategy == DEFAULT else "static")
            request_size = A_FRAME if strategy == FRAME_WISE else 2**18
            traj = tj.open(
                folder / "adk.psf", folder / "mnt" / "adk.xtc", request_size=request_size, pool=pool
            )
            atoms = traj.select("name CA")
            late = case.stage == "gathering" and world.rank in case.slow
            world.Barrier()
            # Either schedule makes a rank's part as slow: static puts once, dynamic up to 16 times.
            puts = 1 if strategy != DEFAULT else 16
            with slow_puts(late, 0.4 * delay / puts):
                row = timed(case, strategy, number, atoms, pool, folder / "truth.npy")
            if row is not None:
                rows.append(row)
                print(row, flush=True)
    if not world.rank:
        (folder / "rows.json").write_text(json.dumps([asdict(row) for row in rows]))


@contextmanager
def slow_answers(client: Any, workers: list[str], seconds: float) -> Iterator[None]:
    """Delay the answers of Dask workers to requests for rows."""

    def hold(dask_worker: Any) -> None:
        import asyncio

        plain = dask_worker.plain_get_data = dask_worker.handlers["get_data"]

        async def get_data(comm: Any, **options: Any) -> Any:
            await asyncio.sleep(seconds)
            return await plain(comm, **options)

        dask_worker.handlers["get_data"] = get_data

    def release(dask_worker: Any) -> None:
        dask_worker.handlers["get_data"] = dask_worker.plain_get_data

    if not workers:
        yield
        return
    client.run(hold, workers=workers)
    try:
        yield
    finally:
        client.run(release, workers=workers)


def with_dask(folder: Path, cases: list[Case], rounds: int, delay: float) -> list[Row]:
    """Run the cases on a Dask cluster of this machine."""
    rows = []
    with dask_client(workers=WORKERS) as client:
        pool = tj.DaskPool(client)
        traj = tj.open(folder / "adk.psf", folder / "mnt" / "adk.xtc")
        atoms = traj.select("name CA")
        (folder / "rules").write_text(Case("nothing").rules([], delay))
        # The first worker is worker 0 of the report; imports are outside the clock.
        tj.rmsd(atoms, pool=pool)
        for case in cases:
            for number in range(rounds):
                processes = client.run(os.getpid)
                order = list(processes)
                (folder / "rules").write_text(case.rules(list(processes.values()), delay))
                late = [order[k] for k in case.slow] if case.stage == "gathering" else []
                with slow_answers(client, late, 0.4 * delay):
                    row = timed(case, DASK, number, atoms, pool, folder / "truth.npy", order)
                assert row is not None
                rows.append(row)
                print(row, flush=True)
    return rows


def in_short(named: str) -> str:
    """Return the named ranks, and the number of tasks done by others."""
    entries = named.split("; ") if named else []
    words = sorted(entry for entry in entries if "task" not in entry)
    n_tasks = len(entries) - len(words)
    if n_tasks:
        words.append("1 task" if n_tasks == 1 else f"{n_tasks} tasks")
    return ", ".join(words) or "nobody"


def as_table(rows: list[Row]) -> list[str]:
    """Return the lines of the page: medians over the rounds."""
    columns = (FRAME_WISE, STATIC, DEFAULT, DASK)
    lines = []
    for name in dict.fromkeys(row.case for row in rows):
        runs = {
            of: [row for row in rows if (row.case, row.strategy) == (name, of)] for of in columns
        }
        times = {of: median(row.t_total for row in some) for of, some in runs.items() if some}
        cells = [f"{times[of]:.2f}" if of in times else "" for of in columns]
        named = [in_short(runs[of][0].named) if runs[of] else "" for of in (DEFAULT, DASK)]
        lines.append([name, *cells, f"{times[DEFAULT] / times[STATIC]:.2f}", *named])
    head = [f"{FACTOR} times slower", *columns, "default / static"]
    return as_lines([*head, "named by default", "named by Dask"], lines)


def entries_of(row: Row, n_frames: int) -> dict[str, Any]:
    """Return a run as a row of the record."""
    entries = asdict(row)
    seconds = entries.pop("t_total")
    columns = {"case": entries.pop("case"), "tool": entries.pop("strategy"), "threads": WORKERS}
    return {**columns, "frames": n_frames, "best_s": seconds, "median_s": seconds, **entries}


def main() -> int:
    """Run all cases and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names_of_cases = [case.name for case in CASES]
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the files")
    parser.add_argument("--record", type=Path, default=RECORD, help="the table of all runs")
    parser.add_argument("--no-record", action="store_true", help="append and write nothing")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each case (default 3)")
    parser.add_argument("--copies", type=int, default=50, help="of 98 frames (default 50)")
    parser.add_argument("--delay", type=float, default=5.0, help="ms of a request (default 5)")
    parser.add_argument("--cases", nargs="+", choices=names_of_cases, default=names_of_cases)
    parser.add_argument("--without-dask", action="store_true")
    parser.add_argument("--as-rank", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases = [case for case in CASES if case.name in options.cases]
    if options.as_rank is not None:
        as_ranks(options.as_rank, cases, options.rounds, options.delay)
        return 0
    before = describe_load()
    print(before)
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "src").mkdir()
        (folder / "adk.psf").symlink_to((options.data / "adk.psf").resolve())
        source = folder / "src" / "adk.xtc"
        source.write_bytes((options.data / "adk.xtc").read_bytes() * options.copies)
        # Keeps the index beside the file, which the store shows.
        atoms = tj.open(folder / "adk.psf", source).select("name CA")
        np.save(folder / "truth.npy", tj.rmsd(atoms, pool=tj.LocalPool(threads=1)).values)
        (folder / "rules").write_text("")
        with mounted(folder / "src", folder / "mnt", folder / "rules"):
            mpiexec = Path(sys.executable).with_name("mpiexec")
            again = [__file__, *sys.argv[1:], "--as-rank", folder]
            subprocess.run([mpiexec, "-n", str(WORKERS), sys.executable, *again], check=True)
            rows = [Row(**row) for row in json.loads((folder / "rows.json").read_text())]
            if not options.without_dask:
                rows += with_dask(folder, cases, options.rounds, options.delay)
    lines = as_table(rows)
    print("\n".join(lines))
    wrong = [row for row in rows if not row.same_bits]
    for row in wrong:
        print(f"other bits than one thread: {row}")
    if not (options.no_record or wrong):
        n_frames = 98 * options.copies
        record("stragglers", [entries_of(row, n_frames) for row in rows], options.record)
        size = f"{n_frames:,} frames, {options.delay:g} ms a request, seconds (t_total)"
        rounds = f"median of {options.rounds} rounds; a request a frame: one round"
        head = f"{stamp()}; {before}. {size}, {rounds}."
        write_section("scaling.md", "stragglers", [head, "", *lines])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
