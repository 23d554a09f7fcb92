"""Parsers of libraries, whose errors on damaged data become one kind of error."""

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")


class ParseError(ValueError):
    """Data that a parser cannot read."""


def parsed(parse: Callable[[_T], _R], data: _T) -> _R:
    """Return what a parser makes of data from a file or a server.

    Parsers raise more than their documentation names: RecursionError for nested values, SyntaxError
    or TokenError for headers of NumPy, MemoryError for lengths in them, errors of compression.

    Raises
    ------
    ParseError
        If the parser fails for any reason but a file that cannot be read.
    """
    try:
        return parse(data)
    except OSError:
        raise
    except RecursionError:
        raise ParseError("its values are nested too deeply") from None
    except Exception as error:
        known = isinstance(error, ValueError) and str(error)
        raise ParseError(str(error) if known else f"{type(error).__name__}: {error}") from error
