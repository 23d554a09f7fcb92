"""Imports: of names when they are first used, and the time that this process spent on them.

The package imports this module first and calls `package_imported` last. In a process of the command
line, signals are handled from here on.
"""

import importlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from trajet import signals

if signals.is_command():
    signals.end_at_once_during_imports()

# A line of a stub: the module that defines a name. A long name is in parentheses, on its own line.
_IMPORT = re.compile(r"^from (\S+) import (?:\(\n    )?(\w+) as \2(?:,\n\))?$", re.MULTILINE)

_BEGIN = time.perf_counter()


def process_seconds() -> float:
    """Return the seconds since this process was started: what its user has waited for it."""
    since_import = time.perf_counter() - _BEGIN
    try:
        with open("/proc/self/stat", "rb") as file:
            # The name of the program, which comes before, may contain anything.
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        started = ticks / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, ValueError, IndexError, AttributeError):
        return since_import


# Seconds of imports; the start of Python is one for users of the command line.
_seconds = process_seconds() if signals.is_command() else 0.0
# Whether a block that imports something is being timed, so that one within it is not counted twice.
_is_timed = False


def package_imported() -> None:
    """Count the time since this module was imported as import time."""
    global _seconds  # noqa: PLW0603
    _seconds += time.perf_counter() - _BEGIN


@contextmanager
def importing(name: str) -> Iterator[None]:
    """Count the time of a block that imports module `name`, if it was not imported before."""
    global _seconds, _is_timed  # noqa: PLW0603
    if _is_timed or name in sys.modules:
        yield
        return
    _is_timed, begin = True, time.perf_counter()
    try:
        yield
    finally:
        _is_timed = False
        _seconds += time.perf_counter() - begin


def modules_of_names(init: str) -> dict[str, str]:
    """Return the module that defines each public name of a package, by the package's stub.

    Parameters
    ----------
    init
        The path of the package's `__init__.py`. Its stub, `__init__.pyi`, has a line such as
        `from trajet.analysis.rmsd import rmsd as rmsd` for each name, and such as
        `from trajet import samples as samples` for each module.
    """
    with open(init + "i", encoding="utf-8") as file:
        return {name: module for module, name in _IMPORT.findall(file.read())}


def lazy_names(package: str, module_of: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for a package that imports the module of a name when it is first used.

    Parameters
    ----------
    package
        The name of the package.
    module_of
        The module that defines each name; the package itself for names of its modules.
    """

    def load(name: str) -> object:
        if name not in module_of:
            # Programs without mistakes do not wait for it.
            from trajet.hints import hint_on_attribute

            hint = hint_on_attribute([package], name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        with importing(module_of[name]):
            if module_of[name] == package:
                return importlib.import_module(f"{package}.{name}")
            value = getattr(importlib.import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def import_seconds() -> float:
    """Return the seconds that imports have taken so far."""
    return _seconds


class _Measured(threading.local):
    """Seconds that the stopwatches of a thread have measured."""

    seconds = 0.0


_measured = _Measured()


class Stopwatch:
    """Measures the time since it was made, without imports and other stopwatches meanwhile.

    The thread that made it asks it.
    """

    def __init__(self) -> None:
        self._begin = time.perf_counter() - _seconds - _measured.seconds

    def seconds(self) -> float:
        """Return the seconds since the stopwatch was made or asked."""
        # Imports of other threads count for all.
        seconds = max(0.0, time.perf_counter() - _seconds - _measured.seconds - self._begin)
        _measured.seconds += seconds
        return seconds
