"""Entry point of the command line: runs a command, prints errors, sets the exit code."""

import contextlib
import os
import sys
from typing import NoReturn

import click

from trajet import signals
from trajet.cli.group import Interrupted, commands
from trajet.cli.tables import EXPECTED, one_line

FAILED = 1
# Seconds within which an interrupted process must end.
_END = 1.0


def main() -> NoReturn:
    """Run the command line and exit with its exit code."""
    _open_standard_error()
    try:
        signals.interrupt()
        code = _run()
        signals.finish()
        if code and signals.received() is not None:
            # Libraries turn a KeyboardInterrupt into errors of their own.
            _end_interrupted()
        # Of a command that was done when a signal came.
        if (output := sys.modules.get("trajet.output")) is not None:
            output.remove_unfinished()
    except (KeyboardInterrupt, Interrupted, click.Abort):
        _end_interrupted()
    sys.exit(code)


def _open_standard_error() -> None:
    """Discard what is written to standard error if it is closed.

    Otherwise messages would go to standard output, and those of C libraries to the first file that
    is opened, which would get the descriptor.
    """
    if sys.stderr is None:
        null = os.open(os.devnull, os.O_WRONLY)
        if null != 2:
            os.dup2(null, 2)
            os.close(null)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _run() -> int:
    """Run a command, print its error on one line, and return the exit code."""
    try:
        # The exit code that the command set, or None.
        code: int = commands.main(prog_name="trajet", standalone_mode=False) or 0
        # sys.stdout is None if standard output is closed, which `print` accepts.
        print(end="", flush=True)
        return code
    except click.ClickException as error:
        if signals.received() is None:
            error.show()
        return error.exit_code
    except (KeyboardInterrupt, Interrupted, click.Abort):
        raise
    except BrokenPipeError:
        # The reader of the output has closed the pipe: discard the buffered rest.
        _give_up_output()
    except EXPECTED as error:
        where = "standard output: " if _output_lost(error) else ""
        _say(f"{where}{one_line(error)}")
    except SystemExit:
        # Only click exits so, after the reader of the output has closed the pipe.
        _give_up_output()
    except MemoryError as error:
        _say(f"not enough memory ({one_line(error)}): choose fewer atoms or frames")
    except BaseException as error:
        # Defects of any kind.
        if os.environ.get("TRAJET_DEBUG"):
            raise
        _say(
            f"internal error, please report it ({type(error).__name__}: {one_line(error)});"
            " TRAJET_DEBUG=1 shows where"
        )
    return FAILED


def _say(line: str) -> None:
    """Print why a command failed, unless a signal is the reason."""
    if signals.received() is None:
        print(f"trajet: {line}", file=sys.stderr)


def _end_interrupted() -> NoReturn:
    """Print what was printed before the signal and one line, and end an interrupted command."""
    signals.finish()
    if signals.abort_ranks is not None:
        signals.abort_ranks()
    signals.end_within(_END)
    with contextlib.suppress(OSError, ValueError):
        print(end="", flush=True)
    signals.write_message()
    signals.end()


def _output_lost(error: Exception) -> bool:
    """Return whether an error is one of standard output, such as a full disk."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    try:
        print(end="", flush=True)
    except OSError:
        _give_up_output()
        return True
    return False


def _give_up_output() -> None:
    """Discard the buffered rest of standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
