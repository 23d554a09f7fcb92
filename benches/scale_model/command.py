"""The command line of the validation."""

from __future__ import annotations

import argparse

from scale_model import own, papers


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(prog="benches/scale_model", description=__doc__)
    parser.add_argument(
        "what",
        choices=("papers", "own"),
        help="papers: beside published tables; own: beside runs on this machine (five minutes)",
    )
    parser.add_argument("--delay", type=float, default=20.0, help="ms of a request (default 20)")
    parser.add_argument("--rounds", type=int, default=3, help="the best counts (default 3)")
    parser.add_argument("--copies", type=int, default=50, help="of 98 frames (default 50)")
    options = parser.parse_args()
    if options.what == "papers":
        print("\n".join(papers.report()))
        return
    lines = []
    for line in own.report(options.delay, options.rounds, options.copies):
        print(line, flush=True)
        lines.append(line)
    print(own.within(lines))
