"""What stands on other ranks for what rank 0 has."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar, cast, runtime_checkable

_P = ParamSpec("_P")
_R = TypeVar("_R")


class RankPlaceholder:
    """Stands for a trajectory, a selection or a result that rank 0 has, on the ranks that follow.

    It is false, so that `if result:` sets apart what rank 0 alone does. What would need the thing
    itself is an error: there are no numbers here that could be taken for the result's.
    """

    _what = "thing"

    def __init__(self, what: str) -> None:
        self._what = what

    def __repr__(self) -> str:
        """Say where the thing is."""
        return f"<{self._what} on rank 0>"

    def __bool__(self) -> bool:
        """Tell that nothing is here."""
        return False

    def select(self, selection: Any) -> "RankPlaceholder":
        """Return what stands for a selection; it is looked at on rank 0."""
        if self._what != "trajectory":
            self._missing()
        return RankPlaceholder("selection")

    def __getattr__(self, name: str) -> Any:
        """Refuse to tell anything."""
        self._missing()

    def _missing(self, *_: Any, **__: Any) -> NoReturn:
        raise AttributeError(
            f"this {self._what} is on rank 0: use it where `if {self._what}:` holds"
        )

    __array__ = __getitem__ = __iter__ = __len__ = __call__ = _missing


@runtime_checkable
class RootPool(Protocol):
    """A pool whose processes run the same script, of which one leads."""

    def lead(self, what: str, work: Callable[[], _R]) -> _R | RankPlaceholder:
        """Do `work` where the leader is; take part in it elsewhere, and stand for its result."""
        ...


def root_only(what: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Have a function that takes a `pool` look at its arguments only where that pool is led."""

    def make(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            pool = kwargs.get("pool")
            if not isinstance(pool, RootPool):
                return function(*args, **kwargs)
            # Who has no result knows so, whatever the types say.
            return cast(_R, pool.lead(what, lambda: function(*args, **kwargs)))

        return call

    return make
