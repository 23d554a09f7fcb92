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
        # Where standard output is closed, there is none.
        print(end="", flush=True)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("trajet: interrupted", file=sys.stderr)
        # Where Ctrl-C came inside of such a text, as imports run them, CPython would end this
        # process by the signal, whatever its exit code; the next one has it forget that.
        exec("")
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has left; what Python still holds of it has nowhere to go.
        _give_up_output()
        code = FAILED
    except EXPECTED as error:
        where = "standard output: " if _output_lost(error) else ""
        print(f"trajet: {where}{one_line(error)}", file=sys.stderr)
        code = FAILED
    except SystemExit:
        # Only the command line's own library leaves so: whoever read the output has left.
        _give_up_output()
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


def _output_lost(error: Exception) -> bool:
    """Tell whether an error is that of what was printed, such as a full disk behind a `>`."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    try:
        print(end="", flush=True)
    except OSError:
        _give_up_output()
        return True
    return False


def _give_up_output() -> None:
    """Send what Python still holds of the output nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
