"""Former names of parameters: an error on one of them names the present one."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

# New names of former keywords; of several, the one that the called function has.
RENAMED = {
    "a": ("selection",),
    "axes": ("per_axis",),
    "b": ("other",),
    "between": ("other",),
    "bonds": ("guess_bonds=True",),
    "by": ("per", "vector"),
    "center": ('motion="translation"', "grid_center"),
    "exclusion_block": ("exclude",),
    "features": ("sin_cos",),
    "heavy": ("heavy_only",),
    "path": ("matrix_path",),
    "sample": ("time_sample",),
    "size": ("grid_size",),
    "superposition": ('motion="none"',),
    "threads_safe": ("thread_safe",),
    "together": ("around",),
}


def advice_on(given: Iterable[str], known: Collection[str]) -> str:
    """Return what to write instead of former keywords, as the end of a message, or nothing."""
    return "".join(
        f"; {old} is now {new}"
        for old in given
        if old not in known
        for new in RENAMED.get(old, ())
        if new.partition("=")[0] in known
    )


def names_renamed(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function whose error on a former keyword names the present one."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if advice := advice_on(kwargs, inspect.signature(function).parameters):
                raise TypeError(f"{error}{advice}") from None
            raise

    return call
