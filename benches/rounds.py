"""Tools that take turns at one case: their times are shown, recorded and written to a page."""

from __future__ import annotations

import argparse
import csv
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from cases import Case, MismatchError, MissingError, Truth
from host import Machine, describe_load, this_commit, this_machine
from page import PAGE, write_section
from peers import Contestant
from peers.trajet import instruction_set

HERE = Path(__file__).resolve().parent
COLUMNS = (
    *("date", "commit", "cpu", "isa", "case", "tool", "version", "threads"),
    *("frames", "atoms", "best_s", "median_s", "us_per_frame"),
)


@dataclass(frozen=True)
class Timing:
    """The times of one tool in all rounds, s."""

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
    """The time, the machine and the version of the source of one run."""

    stamp: str
    commit: str
    machine: Machine
    isa: str


@dataclass(frozen=True)
class Verdict:
    """A target, and the ratio that was reached: median of the rounds' ratios, and of the bests."""

    case: Case
    tool: str
    target: float
    reached: float | None
    best: float | None

    def __str__(self) -> str:
        """Return the verdict in words."""
        wanted = f"target: {self.target:g} times {self.tool}"
        if self.case.target_threads > 1:
            wanted += f" with {self.case.target_threads} threads"
        if self.reached is None:
            return f"{wanted}; not measured"
        word = "reached" if self.reached >= self.target else "NOT REACHED"
        return f"{wanted}; {self.reached:.1f} ({self.best:.1f} by the bests), {word}"


def warm(path: Path) -> None:
    """Read a file into the page cache in sequential order, and drop pages that were there before.

    The speed of reading depends on how its pages came there: from single pages, as a program leaves
    them that writes in small pieces, it takes twice as long as from large ones.
    """
    with path.open("rb") as stream:
        if hasattr(os, "posix_fadvise"):
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while stream.read(1 << 20):
            pass


def verified(
    tools: Iterable[Callable[[], list[Contestant]]], missing: set[str]
) -> list[Contestant]:
    """Open a case with every available tool and verify each; print missing tools once."""
    contestants = []
    for tool in tools:
        try:
            ready = tool()
            for contestant in ready:
                contestant.verify()
            contestants += ready
        except MissingError as error:
            if str(error) not in missing:
                print(f"skipped: {error}")
            missing.add(str(error))
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
    """Return the timing of `tool` with `threads`, if it took part."""
    for timing in timings:
        if (timing.contestant.tool, timing.contestant.threads) == (tool, threads):
            return timing
    return None


def ratio(theirs: Timing, ours: Timing) -> float:
    """Return the median of the rounds' ratios of `theirs` to `ours`.

    The two times of one round were taken within seconds of each other; the best of each may lie
    minutes apart, and the clock of a shared machine drifts by more than the differences that matter
    here.
    """
    return median(a / b for a, b in zip(theirs.seconds, ours.seconds, strict=True))


def judge(case: Case, timings: list[Timing]) -> list[Verdict]:
    """Compare trajet with each tool that a target names."""
    verdicts = []
    ours = find(timings, "trajet", case.target_threads)
    for tool, target in case.targets.items():
        theirs = find(timings, tool, 1)
        if ours is None or theirs is None:
            verdicts.append(Verdict(case, tool, target, None, None))
        else:
            best = theirs.best / ours.best
            verdicts.append(Verdict(case, tool, target, ratio(theirs, ours), best))
    return verdicts


def show(case: Case, truth: Truth, timings: list[Timing]) -> None:
    """Print the table of one case."""
    atoms = f"{len(truth.indices):,} of {truth.n_atoms:,} atoms"
    frames = f"{truth.n_frames:,} frames of {case.trajectory.name}"
    print(f"\n{case.name}: {case.task} {atoms}, {frames}")
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
    for verdict in judge(case, timings):
        print(f"  {verdict}")


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


def as_table(
    head: Sequence[str], lines: list[str], source: Source, circumstances: str
) -> list[str]:
    """Return the table of a whole run for docs/performance.md."""
    machine = source.machine
    return [
        f"{machine.cpu}, {machine.cores} cores, {source.stamp[:10]}, {source.commit}; trajet with"
        f" {source.isa}; {circumstances}.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *lines,
    ]


def options(about: str | None, names: list[str]) -> argparse.ArgumentParser:
    """Return the options that all benches have."""
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the files")
    parser.add_argument("--record", type=Path, default=HERE / "record", help="folder of the CSVs")
    parser.add_argument("--no-record", action="store_true", help="append and write nothing")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case (default 5)")
    parser.add_argument("--quick", action="store_true", help="short files, nothing is recorded")
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the command line."""
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def begin() -> Source:
    """Print the time and the machine of this run."""
    machine = this_machine()
    try:
        isa = instruction_set()
    except MissingError:
        isa = machine.isa
    source = Source(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", this_commit(), machine, isa)
    print(f"{machine.cpu}, {machine.cores} cores, {machine.isa}; commit {source.commit}")
    print(f"trajet uses {isa}; {describe_load()}")
    return source


def timed(
    program: str,
    cases: Iterable[Case],
    names: Sequence[str],
    take: Callable[[Case, set[str]], tuple[Truth, list[Timing]]],
) -> Iterator[tuple[Case, Truth, list[Timing]]]:
    """Take and show the cases with these names, one after the other.

    Ends the program with 1 if a file is missing, or a tool reads or writes other values.
    """
    missing: set[str] = set()
    for case in cases:
        if case.name not in names:
            continue
        for path in (case.topology, case.trajectory):
            if not path.exists():
                sys.exit(f"{program}: {path} is missing; trajectories.py makes it")
        warm(case.trajectory)
        try:
            truth, timings = take(case, missing)
        except MismatchError as error:
            sys.exit(f"{program}: {case.name}: {error}")
        show(case, truth, timings)
        yield case, truth, timings


def end(
    arguments: argparse.Namespace,
    source: Source,
    rows: list[tuple[str, ...]],
    section: str,
    table: list[str],
) -> None:
    """Record the rows, and write the table of a whole run to docs/performance.md."""
    print(f"at the end: {describe_load()}")
    if not rows or arguments.quick or arguments.no_record:
        return
    folder = arguments.record / source.machine.slug
    append(folder / f"{source.stamp[:10]}.csv", rows)
    (folder / "machine.txt").write_text(source.machine.describe())
    print(f"recorded in {folder}")
    if arguments.whole:
        write_section(PAGE, section, table)
        print(f"written to {PAGE}")
