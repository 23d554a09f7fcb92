"""Validate the model of scaling: `.venv/bin/python benches/scale_model papers`."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path


def main() -> None:
    """Print the tables that are asked for."""
    # The folder that is run is a package of the folder above.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from scale_model import advice, figure, own, papers

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
    given = parser.parse_args()
    if given.what == "papers":
        print("\n".join(papers.report()))
    elif given.what == "figure":
        print(figure.draw())
        print_all(figure.petabyte())
    elif given.what == "advice":
        print_all(advice.report(given.rounds, given.copies))
    else:
        print(own.within(print_all(own.report(given.delay, given.rounds, given.copies))))


def print_all(lines: Iterator[str]) -> list[str]:
    """Print lines as they come, and return them."""
    printed = []
    for line in lines:
        print(line, flush=True)
        printed.append(line)
    return printed


if __name__ == "__main__":
    main()
