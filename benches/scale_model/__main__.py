"""Validate the model of scaling: `.venv/bin/python benches/scale_model papers`."""

import sys
from pathlib import Path


def main() -> None:
    """Print the tables that are asked for."""
    # The folder that is run is a package of the folder above.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from scale_model import command

    command.main()


if __name__ == "__main__":
    main()
