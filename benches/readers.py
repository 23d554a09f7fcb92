"""Time trajet beside MDAnalysis, mdtraj and molly: same files, same run, interleaved rounds.

Run `trajectories.py` first. Every case is verified (all tools read the positions that MDAnalysis
reads) before anything is timed; then the tools take turns, A B C A B C ..., and the best and the
median of each are kept. The clock runs around the loop over the frames only. What is compared,
and how to read the CSV that this appends to, is in README.md.
"""

from __future__ import annotations

import argparse
import csv
import gc
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from cases import Case, MismatchError, MissingError, Truth, all_cases, find_truth
from machine import Machine, this_commit, this_machine
from peers import TOOLS, Contestant

HERE = Path(__file__).resolve().parent
COLUMNS = (
    *("date", "commit", "cpu", "isa", "case", "tool", "version", "threads"),
    *("frames", "atoms", "best_s", "median_s", "us_per_frame"),
)


@dataclass(frozen=True)
class Timing:
    """What the rounds gave for one tool, s."""

    contestant: Contestant
    seconds: list[float]

    @property
    def best(self) -> float:
        """The shortest of the rounds, s."""
        return min(self.seconds)

    @property
    def middle(self) -> float:
        """The median of the rounds, s."""
        return median(self.seconds)


@dataclass(frozen=True)
class Source:
    """Where and when the figures of one run were taken, and of what."""

    stamp: str
    commit: str
    machine: Machine


def warm(path: Path) -> None:
    """Read a file once, so that it lies in the page cache."""
    with path.open("rb") as stream:
        while stream.read(1 << 20):
            pass


def prepare(case: Case, truth: Truth, tools: list[str], missing: set[str]) -> list[Contestant]:
    """Open the case with every tool that is there and verify each; say once what is missing."""
    contestants = []
    for tool in tools:
        try:
            contestants += TOOLS[tool](case, truth)
        except MissingError as error:
            if tool not in missing:
                print(f"skipped: {error}")
            missing.add(tool)
    for contestant in contestants:
        contestant.verify()
    return contestants


def take_rounds(contestants: list[Contestant], rounds: int) -> list[Timing]:
    """Let the tools take turns, in the same order in each round, without the garbage collector."""
    timings = [Timing(contestant, []) for contestant in contestants]
    for _ in range(rounds):
        for timing in timings:
            gc.collect()
            gc.disable()
            try:
                timing.seconds.append(timing.contestant.once())
            finally:
                gc.enable()
    return timings


def find(timings: list[Timing], tool: str, threads: int) -> Timing | None:
    """Return the timing of `tool` with `threads`, where it took part."""
    for timing in timings:
        if (timing.contestant.tool, timing.contestant.threads) == (tool, threads):
            return timing
    return None


def ratio(theirs: Timing, ours: Timing) -> float:
    """Return how many times as long as `ours` `theirs` took: the median of the rounds' ratios.

    The two of one round ran within seconds of each other; the best of each may lie minutes apart,
    and the clock of a shared machine drifts by more than the differences that matter here.
    """
    return median(a / b for a, b in zip(theirs.seconds, ours.seconds, strict=True))


def verdict(case: Case, timings: list[Timing]) -> str:
    """Say how trajet compares with MDAnalysis, beside the target."""
    wanted = f"target: {case.target:g} times MDAnalysis"
    if case.target_threads > 1:
        wanted += f" with {case.target_threads} threads"
    ours = find(timings, "trajet", case.target_threads)
    theirs = find(timings, "MDAnalysis", 1)
    if ours is None or theirs is None:
        return f"{wanted}; not measured"
    reached = ratio(theirs, ours)
    return f"{wanted}; {reached:.1f}, {'reached' if reached >= case.target else 'NOT REACHED'}"


def show(case: Case, truth: Truth, timings: list[Timing]) -> None:
    """Print the table of one case."""
    what = "RMSD of" if case.rmsd else "read"
    atoms = f"{len(truth.indices):,} of {truth.n_atoms:,} atoms"
    print(f"\n{case.name}: {what} {atoms}, {truth.n_frames:,} frames of {case.trajectory.name}")
    head = ("tool", "threads", "best us/frame", "median us/frame", "best ns/atom", "x trajet")
    print("  {:<20}{:>8}{:>15}{:>17}{:>14}{:>10}".format(*head))
    ours = find(timings, "trajet", case.target_threads)
    for timing in timings:
        name = f"{timing.contestant.tool} {timing.contestant.version}"
        us = timing.best / truth.n_frames * 1e6
        middle = timing.middle / truth.n_frames * 1e6
        times = f"{ratio(timing, ours):.2f}" if ours else "-"
        print(
            f"  {name:<20}{timing.contestant.threads:>8}{us:>15.2f}{middle:>17.2f}"
            f"{us * 1e3 / truth.n_atoms:>14.2f}{times:>10}"
        )
    for timing in timings:
        if timing.contestant.note:
            print(f"  {timing.contestant.note}")
    print(f"  {verdict(case, timings)}")


def append(path: Path, rows: list[tuple[str, ...]]) -> None:
    """Append rows to the CSV at `path`, which gets its header line when it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        writer.writerows(rows)


def as_row(case: Case, truth: Truth, timing: Timing, source: Source) -> tuple[str, ...]:
    """Return one line of the record, in the order of `COLUMNS`."""
    contestant = timing.contestant
    return (
        source.stamp,
        source.commit,
        source.machine.cpu,
        contestant.isa or source.machine.isa,
        case.name,
        contestant.tool,
        contestant.version,
        str(contestant.threads),
        str(truth.n_frames),
        str(truth.n_atoms),
        f"{timing.best:.6f}",
        f"{timing.middle:.6f}",
        f"{timing.best / truth.n_frames * 1e6:.3f}",
    )


def parse() -> argparse.Namespace:
    """Read the command line."""
    names = [case.name for case in all_cases(HERE, quick=False)]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the files")
    parser.add_argument("--record", type=Path, default=HERE / "record", help="folder of the CSVs")
    parser.add_argument("--no-record", action="store_true", help="append nothing")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case (default 5)")
    parser.add_argument("--quick", action="store_true", help="short files, nothing is recorded")
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS), default=list(TOOLS))
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def main() -> int:
    """Run the cases; 0 whatever the ratios, 1 where a file is missing or a tool reads otherwise."""
    arguments = parse()
    machine = this_machine()
    now = datetime.now(UTC)
    source = Source(f"{now:%Y-%m-%dT%H:%M:%SZ}", this_commit(), machine)
    print(f"{machine.cpu}, {machine.cores} cores, {machine.isa}; commit {source.commit}")
    rows: list[tuple[str, ...]] = []
    missing: set[str] = set()
    for case in all_cases(arguments.data, quick=arguments.quick):
        if case.name not in arguments.cases:
            continue
        for path in (case.topology, case.trajectory):
            if not path.exists():
                print(f"readers: {path} is missing; trajectories.py makes it", file=sys.stderr)
                return 1
        warm(case.trajectory)
        try:
            truth = find_truth(case)
            timings = take_rounds(prepare(case, truth, arguments.tools, missing), arguments.rounds)
        except MismatchError as error:
            print(f"readers: {case.name}: {error}", file=sys.stderr)
            return 1
        show(case, truth, timings)
        rows += [as_row(case, truth, timing, source) for timing in timings]
    if rows and not (arguments.quick or arguments.no_record):
        record = arguments.record / machine.slug / f"{now:%Y-%m-%d}.csv"
        append(record, rows)
        print(f"\nrecorded in {record}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
