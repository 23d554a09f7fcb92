"""Time trajet beside MDAnalysis, mdtraj, molly, gmx and cpptraj: same files, same run, in turns.

Run `trajectories.py` first. Every case is verified (all tools read the positions that MDAnalysis
reads, or compute its values) before anything is timed; then the tools take turns, A B C A B C ...,
and the best and the median of each are kept. The clock runs around the loop over the frames, or the
call of the analysis, only. What is compared, and how to read the CSV that this appends to, is in
README.md.
"""

from __future__ import annotations

import argparse
from functools import partial

from cases import Case, Truth, all_cases
from page import digits
from peers import TOOLS
from peers.mdanalysis import find_truth
from rounds import (
    HERE,
    Timing,
    Verdict,
    as_row,
    as_table,
    begin,
    end,
    find,
    judge,
    options,
    parsed,
    ratio,
    take_rounds,
    timed,
    verified,
)

HEAD = ("case", *TOOLS, "MDAnalysis / trajet", "target")


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


def parse() -> argparse.Namespace:
    """Read the command line."""
    names = [case.name for case in all_cases(HERE, "", quick=False)]
    parser = options(__doc__, names)
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS), default=list(TOOLS))
    arguments = parsed(parser)
    arguments.whole = (arguments.cases, arguments.tools) == (names, list(TOOLS))
    return arguments


def take(
    arguments: argparse.Namespace, case: Case, missing: set[str]
) -> tuple[Truth, list[Timing]]:
    """Verify and time one case."""
    rounds = min(arguments.rounds, case.longest_rounds or arguments.rounds)
    truth = find_truth(case)
    tools = [partial(TOOLS[tool], case, truth) for tool in arguments.tools]
    return truth, take_rounds(verified(tools, missing), rounds)


def main() -> None:
    """Run the cases."""
    arguments = parse()
    source = begin()
    rows: list[tuple[str, ...]] = []
    verdicts: list[Verdict] = []
    lines: list[str] = []
    cases = all_cases(arguments.data, source.isa, quick=arguments.quick)
    done = timed("compare", cases, arguments.cases, partial(take, arguments))
    for case, truth, timings in done:
        rows += [as_row(case, truth, timing, source) for timing in timings]
        verdicts += judge(case, timings)
        lines += as_lines(case, truth, timings)
    print("\nAll targets, one thread unless stated otherwise:")
    for verdict in verdicts:
        print(f"  {verdict.case.name:<18}{verdict}")
    table = as_table(HEAD, lines, source, f"best of {arguments.rounds} rounds")
    end(arguments, source, rows, "peers", table)


if __name__ == "__main__":
    main()
