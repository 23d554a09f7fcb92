"""Time copies of a trajectory: `trajet.convert` beside MDAnalysis, mdtraj and `gmx trjconv`.

Run `trajectories.py` first. Every case is verified (what each tool has written is read back by
others, every frame) before anything is timed; then the tools take turns, as in `compare.py`. Files
are open and indexes built before the clock starts; it stops when the output is there. Commands are
timed whole. trajet brings its output to the disk before it gives it its name, the others do not.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from cases import Case, MismatchError, MissingError, Truth, all_copies
from compare import (
    HERE,
    Source,
    Timing,
    append,
    as_row,
    chosen_instruction_set,
    find,
    show,
    take_rounds,
    warm,
)
from machine import describe_load, this_commit, this_machine
from page import PAGE, digits, write_section
from peers.contestant import Contestant
from peers.copies import COMMAND, LIMIT, TOOLS
from peers.mdanalysis import find_truth

PEERS = ("MDAnalysis", "mdtraj", "gmx")


def prepare(case: Case, truth: Truth, folder: Path, missing: set[str]) -> list[Contestant]:
    """Make every tool that is there ready and verify what it writes; say once what is missing."""
    contestants = []
    for tool in TOOLS.values():
        try:
            ready = tool(case, truth, folder)
            for contestant in ready:
                contestant.verify()
            contestants += ready
        except MissingError as error:
            if str(error) not in missing:
                print(f"skipped: {error}")
            missing.add(str(error))
    return contestants


def as_line(case: Case, truth: Truth, timings: list[Timing]) -> str:
    """Return the line of a case in docs/performance.md: µs a frame."""
    columns = [(tool, 1) for tool in PEERS]
    columns += [("trajet", 1), ("trajet", 2), (COMMAND, 2), (LIMIT, 1)]
    found = [find(timings, *column) for column in columns]
    cells = ["" if t is None else digits(t.best / truth.n_frames * 1e6) for t in found]
    ours, peers = found[len(PEERS) + 1], [t.best for t in found[: len(PEERS)] if t is not None]
    cells.append(f"{min(peers) / ours.best:.1f}" if ours is not None and peers else "")
    cells.append(f"{case.targets['MDAnalysis']:g}")
    return f"| `{case.name}` | {' | '.join(cells)} |"


def as_table(lines: list[str], source: Source, isa: str, rounds: int) -> list[str]:
    """Return what docs/performance.md says of a whole run."""
    machine = source.machine
    head = (
        "case",
        *PEERS,
        "trajet, 1 thread",
        "2 threads",
        "command",
        LIMIT,
        "fastest peer",
        "target",
    )
    return [
        f"{machine.cpu}, {machine.cores} cores, {source.stamp[:10]}, {source.commit}; trajet with"
        f" {isa}; best of {rounds} rounds; {describe_load()}.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *lines,
    ]


def parse() -> argparse.Namespace:
    """Read the command line."""
    names = [case.name for case in all_copies(HERE, quick=False)]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the files")
    parser.add_argument("--record", type=Path, default=HERE / "record", help="folder of the CSVs")
    parser.add_argument("--no-record", action="store_true", help="append and write nothing")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case (default 5)")
    parser.add_argument("--quick", action="store_true", help="a short file, nothing is recorded")
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    parser.add_argument(
        "--output", type=Path, help="folder that is written to (default: that of the files)"
    )
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    arguments.whole = arguments.cases == names
    return arguments


def main() -> int:
    """Run the cases; 0 whatever the ratios, 1 where a file is missing or a tool wrote otherwise."""
    arguments = parse()
    machine, now = this_machine(), datetime.now(UTC)
    source = Source(f"{now:%Y-%m-%dT%H:%M:%SZ}", this_commit(), machine)
    isa = chosen_instruction_set(machine)
    print(f"{machine.cpu}, {machine.cores} cores, {machine.isa}; commit {source.commit}")
    print(f"trajet uses {isa}; {describe_load()}")
    rows: list[tuple[str, ...]] = []
    lines: list[str] = []
    missing: set[str] = set()
    for case in all_copies(arguments.data, quick=arguments.quick):
        if case.name not in arguments.cases:
            continue
        for path in (case.topology, case.trajectory):
            if not path.exists():
                print(f"copies: {path} is missing; trajectories.py makes it", file=sys.stderr)
                return 1
        warm(case.trajectory)
        truth = find_truth(case)
        with TemporaryDirectory(dir=arguments.output or arguments.data) as folder:
            try:
                contestants = prepare(case, truth, Path(folder), missing)
            except MismatchError as error:
                print(f"copies: {case.name}: {error}", file=sys.stderr)
                return 1
            timings = take_rounds(contestants, arguments.rounds)
        show(case, truth, timings)
        rows += [as_row(case, truth, timing, source) for timing in timings]
        lines.append(as_line(case, truth, timings))
    print(f"at the end: {describe_load()}")
    if rows and not (arguments.quick or arguments.no_record):
        folder = arguments.record / machine.slug
        append(folder / f"{now:%Y-%m-%d}.csv", rows)
        (folder / "machine.txt").write_text(machine.describe())
        print(f"recorded in {folder}")
        if arguments.whole:
            write_section(PAGE, "copies", as_table(lines, source, isa, arguments.rounds))
            print(f"written to {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
