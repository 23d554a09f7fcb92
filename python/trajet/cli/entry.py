"""What runs a command: exit codes and the one line that goes with them."""

import os
import sys
from typing import NoReturn

import click

from trajet.cli import analyses, bench, bench_store, copies, files, reports, store, viewers
from trajet.cli.group import commands
from trajet.cli.tables import EXPECTED, one_line

bench.bench.add_command(bench_store.store)
for _room in (files, analyses, copies, store, reports, viewers, bench):
    for _command in _room.COMMANDS:
        commands.add_command(_command)

# Shown by a shell for a process that Ctrl-C ended.
INTERRUPTED = 130
FAILED = 1


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        # What a command asked to leave with, or nothing.
        code = commands.main(prog_name="trajet", standalone_mode=False) or 0
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("trajet: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has left; what Python still holds of it has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except EXPECTED as error:
        print(f"trajet: {one_line(error)}", file=sys.stderr)
        code = FAILED
    except SystemExit:
        # Only the command line's own library leaves so: whoever read the output has left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except MemoryError as error:
        print(
            f"trajet: not enough memory ({one_line(error)}): choose fewer atoms or frames",
            file=sys.stderr,
        )
        code = FAILED
    except BaseException as error:
        # A panic of the native module is no Exception.
        if os.environ.get("TRAJET_DEBUG"):
            raise
        print(
            f"trajet: internal error, please report it ({type(error).__name__}:"
            f" {one_line(error)}); TRAJET_DEBUG=1 shows where",
            file=sys.stderr,
        )
        code = FAILED
    sys.exit(code)
