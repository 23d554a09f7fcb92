"""The command line of the validation."""

from __future__ import annotations

import argparse

from scale_model import papers


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(prog="benches/scale_model", description=__doc__)
    parser.add_argument("what", choices=("papers",), help="papers: beside published tables")
    parser.parse_args()
    print("\n".join(papers.report()))
