"""Time copies of a trajectory: `trajet.convert` beside MDAnalysis, mdtraj and `gmx trjconv`.

Run `trajectories.py` first. Every case is verified (what each tool has written is read back by
others, every frame) before anything is timed; then the tools take turns, as in `compare.py`. Files
are open and indexes built before the clock starts; it stops when the output is there. Commands are
timed whole. trajet brings its output to the disk before it gives it its name, the others do not.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cases import Case, MismatchError, Truth, all_copies
from machine import describe_load
from page import digits
from peers.copies import COMMAND, LIMIT, TOOLS
from peers.mdanalysis import find_truth
from rounds import (
    HERE,
    Timing,
    as_row,
    as_table,
    begin,
    end,
    find,
    is_there,
    options,
    parsed,
    show,
    take_rounds,
    verified,
    warm,
)

PEERS = ("MDAnalysis", "mdtraj", "gmx")
HEAD = (
    *("case", *PEERS, "trajet, 1 thread", "2 threads"),
    *("command", LIMIT, "fastest peer", "target"),
)


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


def parse() -> argparse.Namespace:
    """Read the command line."""
    names = [case.name for case in all_copies(HERE, quick=False)]
    parser = options(__doc__, names)
    parser.add_argument(
        "--output", type=Path, help="folder that is written to (default: that of the files)"
    )
    arguments = parsed(parser)
    arguments.whole = arguments.cases == names
    return arguments


def main() -> int:
    """Run the cases; 0 whatever the ratios, 1 where a file is missing or a tool wrote otherwise."""
    arguments = parse()
    source = begin()
    rows: list[tuple[str, ...]] = []
    lines: list[str] = []
    missing: set[str] = set()
    for case in all_copies(arguments.data, quick=arguments.quick):
        if case.name not in arguments.cases:
            continue
        if not is_there(case, "copies"):
            return 1
        warm(case.trajectory)
        truth = find_truth(case)
        with TemporaryDirectory(dir=arguments.output or arguments.data) as folder:
            tools = [partial(tool, case, truth, Path(folder)) for tool in TOOLS.values()]
            try:
                contestants = verified(tools, missing)
            except MismatchError as error:
                print(f"copies: {case.name}: {error}", file=sys.stderr)
                return 1
            timings = take_rounds(contestants, arguments.rounds)
        show(case, truth, timings)
        rows += [as_row(case, truth, timing, source) for timing in timings]
        lines.append(as_line(case, truth, timings))
    circumstances = f"best of {arguments.rounds} rounds; {describe_load()}"
    end(arguments, source, rows, "copies", as_table(HEAD, lines, source, circumstances))
    return 0


if __name__ == "__main__":
    sys.exit(main())
