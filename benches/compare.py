"""Time trajet beside MDAnalysis, mdtraj, molly, gmx and cpptraj: same files, same run, in turns.

Run `trajectories.py` first. Every case is verified (all tools read the positions that MDAnalysis
reads, or compute its values) before anything is timed; then the tools take turns, A B C A B C ...,
and the best and the median of each are kept. The clock runs around the loop over the frames, or the
call of the analysis, only. What is compared, and how to read the CSV that this appends to, is in
README.md.
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from cases import Case, MismatchError, MissingError, Truth, all_cases
from machine import Machine, describe_load, this_commit, this_machine
from page import PAGE, digits, write_section
from peers import TOOLS, Contestant
from peers.mdanalysis import find_truth
from peers.trajet import instruction_set

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
    """Put a file into the page cache, in the order of its bytes, whatever lay there before.

    How long reading takes depends on how its pages came there: copied out of single ones, as a
    program leaves them that writes little by little, it takes twice as long as out of large ones.
    """
    with path.open("rb") as stream:
        if hasattr(os, "posix_fadvise"):
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while stream.read(1 << 20):
            pass


def prepare(case: Case, truth: Truth, tools: list[str], missing: set[str]) -> list[Contestant]:
    """Open the case with every tool that is there and verify each; say once what is missing."""
    contestants = []
    for tool in tools:
        try:
            ready = TOOLS[tool](case, truth)
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


def judge(case: Case, timings: list[Timing]) -> list[Verdict]:
    """Say how trajet compares with each tool that a target names."""
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


def as_lines(case: Case, truth: Truth, timings: list[Timing]) -> list[str]:
    """Return the lines of one case in docs/performance.md, one for each number of threads."""
    lines = []
    peers = [find(timings, tool, 1) for tool in TOOLS if tool != "trajet"]
    for ours in (timing for timing in timings if timing.contestant.tool == "trajet"):
        threads = ours.contestant.threads
        cells = ["" if t is None else digits(t.best / truth.n_frames * 1e6) for t in (*peers, ours)]
        theirs = find(timings, "MDAnalysis", 1)
        cells.append("" if theirs is None else f"{ratio(theirs, ours):.1f}")
        target = case.targets.get("MDAnalysis") if threads == case.target_threads else None
        cells.append("" if target is None else f"{target:g}")
        name = f"{case.name}, {threads} threads" if threads > 1 else case.name
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines


def as_table(lines: list[str], source: Source, isa: str, rounds: int) -> list[str]:
    """Return what docs/performance.md says of a whole run."""
    machine = source.machine
    head = ("case", *TOOLS, "MDAnalysis / trajet", "target")
    return [
        f"{machine.cpu}, {machine.cores} cores, {source.stamp[:10]}, {source.commit}; trajet with"
        f" {isa}; best of {rounds} rounds.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *lines,
    ]


def parse() -> argparse.Namespace:
    """Read the command line."""
    names = [case.name for case in all_cases(HERE, "", quick=False)]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the files")
    parser.add_argument("--record", type=Path, default=HERE / "record", help="folder of the CSVs")
    parser.add_argument("--no-record", action="store_true", help="append and write nothing")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case (default 5)")
    parser.add_argument("--quick", action="store_true", help="short files, nothing is recorded")
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS), default=list(TOOLS))
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()
    arguments.whole = (arguments.cases, arguments.tools) == (names, list(TOOLS))
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def take(
    case: Case, arguments: argparse.Namespace, missing: set[str]
) -> tuple[Truth, list[Timing]]:
    """Verify and time one case."""
    rounds = min(arguments.rounds, case.longest_rounds or arguments.rounds)
    warm(case.trajectory)
    truth = find_truth(case)
    return truth, take_rounds(prepare(case, truth, arguments.tools, missing), rounds)


def main() -> int:
    """Run the cases; 0 whatever the ratios, 1 where a file is missing or a tool reads otherwise."""
    arguments = parse()
    machine = this_machine()
    now = datetime.now(UTC)
    source = Source(f"{now:%Y-%m-%dT%H:%M:%SZ}", this_commit(), machine)
    isa = chosen_instruction_set(machine)
    print(f"{machine.cpu}, {machine.cores} cores, {machine.isa}; commit {source.commit}")
    print(f"trajet uses {isa}; {describe_load()}")
    rows: list[tuple[str, ...]] = []
    verdicts: list[Verdict] = []
    lines: list[str] = []
    missing: set[str] = set()
    for case in all_cases(arguments.data, isa, quick=arguments.quick):
        if case.name not in arguments.cases:
            continue
        for path in (case.topology, case.trajectory):
            if not path.exists():
                print(f"compare: {path} is missing; trajectories.py makes it", file=sys.stderr)
                return 1
        try:
            truth, timings = take(case, arguments, missing)
        except MismatchError as error:
            print(f"compare: {case.name}: {error}", file=sys.stderr)
            return 1
        show(case, truth, timings)
        rows += [as_row(case, truth, timing, source) for timing in timings]
        verdicts += judge(case, timings)
        lines += as_lines(case, truth, timings)
    print("\nAll targets, one thread unless said otherwise:")
    for verdict in verdicts:
        print(f"  {verdict.case.name:<18}{verdict}")
    print(f"at the end: {describe_load()}")
    if rows and not (arguments.quick or arguments.no_record):
        folder = arguments.record / machine.slug
        append(folder / f"{now:%Y-%m-%d}.csv", rows)
        (folder / "machine.txt").write_text(machine.describe())
        print(f"recorded in {folder}")
        if arguments.whole:
            write_section(PAGE, "peers", as_table(lines, source, isa, arguments.rounds))
            print(f"written to {PAGE}")
    return 0


def chosen_instruction_set(machine: Machine) -> str:
    """Return the instruction set that trajet uses; the machine's where there is no trajet."""
    try:
        return instruction_set()
    except MissingError:
        return machine.isa


if __name__ == "__main__":
    sys.exit(main())
