"""The command line of the validation."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from scale_model import advice, figure, own, papers


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(prog="benches/scale_model", description=__doc__)
    parser.add_argument(
        "what",
        choices=("papers", "own", "advice", "figure"),
        help="papers: beside published tables; own: beside runs on this machine (five minutes);"
        " advice: five cases in which the advice is followed (two minutes); figure: curves and a"
        " petabyte, for docs/scaling.md",
    )
    parser.add_argument("--delay", type=float, default=20.0, help="ms of a request (default 20)")
    parser.add_argument("--rounds", type=int, default=3, help="the best counts (default 3)")
    parser.add_argument("--copies", type=int, default=50, help="of 98 frames (default 50)")
    options = parser.parse_args()
    if options.what == "papers":
        print("\n".join(papers.report()))
        return
    if options.what == "figure":
        print(figure.draw())
        _print_all(figure.petabyte())
        return
    if options.what == "advice":
        _print_all(advice.report(options.rounds, options.copies))
        return
    print(own.within(_print_all(own.report(options.delay, options.rounds, options.copies))))


def _print_all(lines: Iterator[str]) -> list[str]:
    """Print lines as they come, and return them."""
    printed = []
    for line in lines:
        print(line, flush=True)
        printed.append(line)
    return printed
