"""Measure this machine: `.venv/bin/python benches/machine scaling | load | scheduler | store`."""

import sys
from pathlib import Path


def main() -> None:
    """Run a command, and print an expected error on one line."""
    # The folder that is run is a package of the folder above.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from trajet.cli.tables import EXPECTED, one_line

    from machine import commands, store_command

    commands.bench.add_command(store_command.store)
    try:
        commands.bench(prog_name="benches/machine")
    except EXPECTED as error:
        sys.exit(f"trajet: {one_line(error)}")


if __name__ == "__main__":
    main()
