"""Errors of the readers for MDAnalysis."""

from trajet import FormatError, StaleIndexError, TrajetError


class UnreadableError(FormatError, OSError):
    """A file cannot be read; an `OSError` too, as scripts of MDAnalysis expect one."""


class ChangedFileError(StaleIndexError, OSError):
    """A copy of a reader finds another file than the original had."""


class ReadError(TrajetError):
    """The system fails to read a frame. It is no `OSError`, which MDAnalysis takes for the end.

    Attributes
    ----------
    errno
        The number of the error, or None.
    """

    errno: int | None = None


def read_error(filename: object, frame: int, error: OSError) -> ReadError:
    """Return the error of a frame that the system fails to read."""
    why = error.strerror or str(error) or type(error).__name__
    named = why if str(filename) in why else f"{filename}: {why}"
    failed = ReadError(f"{named} (frame {frame})")
    failed.errno = error.errno
    return failed
