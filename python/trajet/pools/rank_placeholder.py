"""Placeholder returned on ranks other than 0."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import NoReturn, ParamSpec, Protocol, TypeVar, cast, runtime_checkable

from trajet.hints import add_hint

_P = ParamSpec("_P")
_R = TypeVar("_R")


class RankPlaceholder:
    """Placeholder for a trajectory, a selection or a result, which rank 0 alone has.

    It is false, so that `if result:` holds on rank 0 alone. Access to its values raises
    AttributeError: it has no numbers that could be mistaken for those of a result.
    """

    _what = "thing"

    def __init__(self, what: str) -> None:
        self._what = what

    def __repr__(self) -> str:
        return f"<{self._what} on rank 0>"

    def __bool__(self) -> bool:
        return False

    def select(self, selection: object, *, updating: bool = False) -> "RankPlaceholder":
        """Return the placeholder of a selection; rank 0 evaluates it."""
        if self._what != "trajectory":
            self._missing()
        return RankPlaceholder("selection")

    def __enter__(self) -> "RankPlaceholder":
        if self._what != "trajectory":
            self._missing()
        return self

    def __exit__(self, *_: object) -> None: ...

    def _transformed(self, *_: object, **__: object) -> "RankPlaceholder":
        """Return the placeholder of the transformed object; rank 0 transforms it."""
        if self._what not in ("trajectory", "selection"):
            self._missing()
        return RankPlaceholder(self._what)

    # The methods of `trajet.trajectory.transforms.Transformable`.
    whole = nojump = cluster = center = wrap = fit = translate = repair = _transformed

    # Scripts use results; mypy must not take what follows for unreachable.
    def __getattr__(self, name: str) -> object:
        self._missing()

    def _missing(self, *_: object, **__: object) -> NoReturn:
        raise AttributeError(
            f"this {self._what} is on rank 0: use it where `if {self._what}:` holds"
        )

    __array__ = __getitem__ = __iter__ = __len__ = __call__ = _missing


@runtime_checkable
class RootPool(Protocol):
    """A pool whose processes all run the same script, and whose rank 0 is the root."""

    def lead(self, what: str, work: Callable[[], _R]) -> _R | RankPlaceholder:
        """Do `work` on rank 0; on other ranks take part in it and return a placeholder."""
        ...

    def keeping_failures(self) -> AbstractContextManager[None]:
        """Keep the errors of runs on rank 0, within `lead`; the others wait for its next run."""
        ...


def root_only(what: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorate a function that takes a `pool`: ranks other than 0 ignore its arguments.

    Errors on arguments that the function does not have end with hints.
    """

    def make(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            pool = kwargs.get("pool")
            if not isinstance(pool, RootPool):
                try:
                    return function(*args, **kwargs)
                except TypeError as error:
                    add_hint(error, function, args, kwargs)
                    raise
            # Callers check for the placeholder, which the type does not show.
            return cast(_R, pool.lead(what, lambda: function(*args, **kwargs)))

        return call

    return make
