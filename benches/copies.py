"""Time copies of a trajectory: `trajet.convert` beside MDAnalysis, mdtraj and `gmx trjconv`.

Run `trajectories.py` first. Every case is verified (what each tool has written is read back by
others, every frame) before anything is timed; then the tools take turns, as in `compare.py`. Files
are open and indexes built before the clock starts; it stops when the output is there. Commands are
timed whole. trajet brings its output to the disk before it gives it its name, the others do not.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cases import Case, Truth, all_copies
from host import describe_load
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
    options,
    parsed,
    take_rounds,
    timed,
    verified,
)

PEERS = ("MDAnalysis", "mdtraj", "gmx")
HEAD = (
    *("case", *PEERS, "trajet, 1 thread", "2 threads"),
    *("command", LIMIT, "fastest peer", "target"),
)


def as_line(case: Case, truth: Truth, timings: list[Timing]) -> str:
    """Return the line of a case in docs/performance.md: µs per frame."""
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


def take(
    arguments: argparse.Namespace, case: Case, missing: set[str]
) -> tuple[Truth, list[Timing]]:
    """Verify and time one case."""
    truth = find_truth(case)
    with TemporaryDirectory(dir=arguments.output or arguments.data) as folder:
        tools = [partial(tool, case, truth, Path(folder)) for tool in TOOLS.values()]
        return truth, take_rounds(verified(tools, missing), arguments.rounds)


def main() -> None:
    """Run the cases."""
    arguments = parse()
    source = begin()
    rows: list[tuple[str, ...]] = []
    lines: list[str] = []
    cases = all_copies(arguments.data, quick=arguments.quick)
    done = timed("copies", cases, arguments.cases, partial(take, arguments))
    for case, truth, timings in done:
        rows += [as_row(case, truth, timing, source) for timing in timings]
        lines.append(as_line(case, truth, timings))
    circumstances = f"best of {arguments.rounds} rounds; {describe_load()}"
    end(arguments, source, rows, "copies", as_table(HEAD, lines, source, circumstances))


if __name__ == "__main__":
    main()
