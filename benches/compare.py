"""Time trajet beside other programs on the same files: the tables of docs/performance.md.

    .venv/bin/python benches/compare.py                     # reading and analyses
    .venv/bin/python benches/compare.py --copies            # writing
    .venv/bin/python benches/compare.py --differences       # times nothing: the largest differences

Run `trajectories.py` first. All programs must have the expected values before anything is timed.
Then they take turns, A B C A B C ..., and the best and the median of each count; a ratio is the
median of the ratios within a round. The clock runs around the loop over the frames, the call of the
analysis or of the copy, or a whole command. README.md describes the cases and programs.
"""

from __future__ import annotations

import argparse
import gc
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from cases import ANALYSES, N_ON_PAGE, Case, MismatchError, Truth, all_cases, all_copies
from host import (
    DATA,
    RECORD,
    MissingError,
    as_lines,
    describe_load,
    digits,
    load,
    machine,
    record,
    stamp,
    warm,
    write_section,
)
from peers import TOOLS, Contestant, find_truth, prepare, reference

PAGE = "performance.md"
# Programs of the tables on the page.
PEERS = ("MDAnalysis", "mdtraj", "molly", "gmx", "cpptraj")
WRITERS = ("MDAnalysis", "mdtraj", "gmx")
# A program with the number of its values and their largest difference.
Checked = tuple[Contestant, tuple[int, float]]


@dataclass(frozen=True)
class Timing:
    """The seconds of a program in all rounds."""

    contestant: Contestant
    seconds: list[float]

    @property
    def best(self) -> float:
        """The shortest round, s."""
        return min(self.seconds)

    def over(self, other: Timing) -> float:
        """Return the median over the rounds of the ratio of the seconds to those of another.

        The times of a round were taken within seconds of each other; the best may lie minutes
        apart, in which the speed of a shared machine drifts.
        """
        return median(a / b for a, b in zip(self.seconds, other.seconds, strict=True))


def contestants(
    case: Case, truth: Truth, folder: Path, tools: list[str], missing: set[str]
) -> list[Checked]:
    """Return the available programs for a case, verified; print those that are missing once."""
    ready: list[Checked] = []
    for tool in tools:
        try:
            ready += [(of, of.verify()) for of in prepare(tool, case, truth, folder)]
        except MissingError as error:
            if str(error) not in missing:
                print(f"skipped: {error}")
            missing.add(str(error))
    return ready


def take_rounds(ready: list[Contestant], rounds: int) -> list[Timing]:
    """Let the programs take turns, in the same order in each round, without garbage collection."""
    timings = [Timing(contestant, []) for contestant in ready]
    for _ in range(rounds):
        for timing in timings:
            gc.collect()
            gc.disable()
            try:
                timing.seconds.append(timing.contestant.run())
            finally:
                gc.enable()
    return timings


def find(timings: list[Timing], tool: str, threads: int = 1) -> Timing | None:
    """Return the timing of a program."""
    for timing in timings:
        if (timing.contestant.tool, timing.contestant.threads) == (tool, threads):
            return timing
    return None


def show(case: Case, truth: Truth, timings: list[Timing]) -> None:
    """Print the table of a case, and its targets with what was reached."""
    atoms = f"{len(truth.indices):,} of {truth.n_atoms:,} atoms"
    print(f"\n{case.name}: {case.task}, {atoms}, {truth.n_frames:,} frames", end=" ")
    print(f"of {case.trajectory.name}")
    head = ("program", "threads", "best us/frame", "median us/frame", "x trajet")
    print("  {:<34}{:>8}{:>15}{:>17}{:>10}".format(*head))
    ours = find(timings, "trajet", case.target_threads)
    for timing in timings:
        of = timing.contestant
        best, middle = (
            f"{seconds / truth.n_frames * 1e6:.2f}"
            for seconds in (timing.best, median(timing.seconds))
        )
        times = f"{timing.over(ours):.2f}" if ours else "-"
        print(f"  {of.tool + ' ' + of.version:<34}{of.threads:>8}{best:>15}{middle:>17}{times:>10}")
    for timing in timings:
        if timing.contestant.note:
            print(f"  {timing.contestant.note}")
    for tool, target in case.targets.items():
        theirs = find(timings, tool)
        words = f"target: {target:g} times {tool} with {case.target_threads} threads"
        if ours is None or theirs is None:
            print(f"  {words}; not measured")
        else:
            reached, best_ratio = theirs.over(ours), theirs.best / ours.best
            word = "reached" if reached >= target else "NOT REACHED"
            print(f"  {words}; {reached:.1f} ({best_ratio:.1f} by the bests), {word}")


def cells(case: Case, truth: Truth, timings: list[Timing]) -> list[list[str]]:
    """Return the lines of a case on the page: µs per frame."""

    def us(timing: Timing | None) -> str:
        return "" if timing is None else digits(timing.best / truth.n_frames * 1e6)

    if case.task == "copy":
        peers = [find(timings, tool) for tool in WRITERS]
        two = find(timings, "trajet", 2)
        ours = [find(timings, "trajet"), two, find(timings, "trajet convert", 2)]
        bests = [peer.best for peer in peers if peer]
        ratio = f"{min(bests) / two.best:.1f}" if two and bests else ""
        times = [us(timing) for timing in (*peers, *ours, find(timings, "limit"))]
        return [[f"`{case.name}`", *times, ratio, f"{case.targets['MDAnalysis']:g}"]]
    lines = []
    theirs = find(timings, "MDAnalysis")
    for timing in timings:
        threads = timing.contestant.threads
        if timing.contestant.tool != "trajet":
            continue
        name = f"{case.name}, {threads} threads" if threads > 1 else case.name
        times = [us(find(timings, tool)) for tool in PEERS]
        target = case.targets.get("MDAnalysis") if threads == case.target_threads else None
        ratio = f"{theirs.over(timing):.1f}" if theirs else ""
        aim = "" if target is None else f"{target:g}"
        lines.append([f"`{name}`", *times, us(timing), ratio, aim])
    return lines


def rows_of(case: Case, truth: Truth, timings: list[Timing]) -> list[dict[str, object]]:
    """Return the rows of a case in the record."""
    rows = []
    for timing in timings:
        of = timing.contestant
        row: dict[str, object] = {"case": case.name, "tool": of.tool, "version": of.version}
        row |= {"threads": of.threads, "frames": truth.n_frames, "atoms": truth.n_atoms}
        row |= {"best_s": f"{timing.best:.6f}", "median_s": f"{median(timing.seconds):.6f}"}
        rows.append(row | ({"isa": of.isa} if of.isa else {}))
    return rows


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--copies", action="store_true", help="time copies")
    parser.add_argument("--differences", action="store_true", help="print differences of values")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the files")
    parser.add_argument("--record", type=Path, default=RECORD, help="the table of all runs")
    parser.add_argument("--no-record", action="store_true", help="write nothing")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case (default 5)")
    parser.add_argument("--quick", action="store_true", help="short files, nothing is recorded")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="only these")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    known = [case.name for case in cases_of(arguments, "")]
    if unknown := set(arguments.cases or ()) - set(known):
        parser.error(f"no case {', '.join(unknown)}: choose among {', '.join(known)}")
    return arguments


def cases_of(arguments: argparse.Namespace, isa: str) -> list[Case]:
    """Return the cases from which the command line chooses."""
    if arguments.copies:
        return all_copies(arguments.data, quick=arguments.quick)
    return all_cases(arguments.data, isa, quick=arguments.quick)


def main() -> None:
    """Run the cases."""
    arguments = parse()
    isa = machine()["isa"]
    try:
        isa = load()._trajet.INSTRUCTION_SET
    except MissingError as error:
        print(f"skipped: {error}")
    head, before = stamp(), describe_load()
    print(f"{head}; trajet with {isa}; {before}")
    chosen = cases_of(arguments, isa)
    whole = arguments.cases is None and arguments.tools == list(TOOLS)
    on_page = [case.name for case in (chosen if arguments.copies else chosen[:N_ON_PAGE])]
    rows, lines, missing = [], [], set[str]()
    for case in chosen:
        if arguments.cases and case.name not in arguments.cases:
            continue
        for path in (case.topology, case.trajectory):
            if not path.exists():
                sys.exit(f"compare: {path} is missing; trajectories.py makes it")
        warm(case.trajectory)
        try:
            with TemporaryDirectory(dir=arguments.data) as folder:
                truth = find_truth(case)
                checks = contestants(case, truth, Path(folder), arguments.tools, missing)
                if arguments.differences:
                    print_differences(case, checks)
                    continue
                ready = [contestant for contestant, _ in checks]
                timings = take_rounds(ready, min(arguments.rounds, case.max_rounds))
        except MissingError as error:
            print(f"skipped: {case.name}: {error}")
            continue
        except MismatchError as error:
            sys.exit(f"compare: {case.name}: {error}")
        show(case, truth, timings)
        rows += rows_of(case, truth, timings)
        if case.name in on_page:
            lines += cells(case, truth, timings)
    after = describe_load()
    print(f"at the end: {after}")
    if not rows or arguments.quick or arguments.no_record:
        return
    record("copies" if arguments.copies else "peers", rows, arguments.record)
    if whole:
        circumstances = f"best of {arguments.rounds} rounds; {before} at the start, {after} at the"
        titles = ["case", *PEERS, "trajet", "MDAnalysis / trajet", "target"]
        if arguments.copies:
            titles = ["case", *WRITERS, "trajet, 1 thread", "2 threads", "command", "limit"]
            titles += ["fastest peer", "target"]
        table = [f"{head}; trajet with {isa}; {circumstances} end.", "", *as_lines(titles, lines)]
        write_section(PAGE, "copies" if arguments.copies else "peers", table)


def print_differences(case: Case, checks: list[Checked]) -> None:
    """Print how far the values of each program are from the expected ones."""
    analysis = ANALYSES.get(case.task)
    what, unit = (analysis.quantity, analysis.unit) if analysis else (case.task, "Å")
    for contestant, (count, apart) in checks:
        if contestant.tool == reference(case.task):
            continue
        who = f"{contestant.tool}, {contestant.threads} threads"
        print(f"| `{case.name}` | {what} | {who} | {count:,} | {apart:.2g} {unit} |", flush=True)


if __name__ == "__main__":
    main()
