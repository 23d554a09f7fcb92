"""Analyses as generators, which yield the runs that they need."""

import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, cast, get_args

from trajet.analysis.runner import AnalysisOutcome, RunRequest, run
from trajet.checked_numbers import word_of_weights
from trajet.pools.rank_placeholder import root_only
from trajet.renamed import advice_on
from trajet.result import with_scalars

_P = ParamSpec("_P")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)

# Generator that the function of an analysis returns: it yields requests, gets their outcomes, and
# returns the result.
Steps: TypeAlias = Generator[RunRequest, AnalysisOutcome, _R]

# The parameters of a run, which all jobs of a run share.
_OF_RUN = ("frames", "pool", "progress")


@dataclass(frozen=True)
class Job(Generic[_R_co]):
    """An analysis with its arguments, to be run together with others by `tj.run`.

    Attributes
    ----------
    name
        Name of the analysis.
    """

    name: str
    _function: Callable[..., Steps[_R_co]] = field(repr=False)
    _args: tuple[object, ...] = field(repr=False)
    _kwargs: dict[str, object] = field(repr=False)

    def start(self, **of_run: object) -> Steps[_R_co]:
        """Return the steps of the analysis, given those parameters of the run that it takes."""
        known = inspect.signature(self._function).parameters
        given = {name: value for name, value in of_run.items() if name in known}
        return self._function(*self._args, **self._kwargs, **given)


class AnalysisFunction(Protocol[_P, _R_co]):
    """A function that runs an analysis; its `job` describes the analysis without running it."""

    __name__: str

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co:
        """Run the analysis."""
        ...

    def job(self, *args: _P.args, **kwargs: _P.kwargs) -> Job[_R_co]:
        """Return the analysis with these arguments, for `tj.run`.

        Raises
        ------
        TypeError
            If the arguments do not fit the analysis, or one of them belongs to `tj.run`: frames,
            pool, progress.
        """
        ...


def analysis(function: Callable[_P, Steps[_R]]) -> AnalysisFunction[_P, _R]:
    """Return the function that runs an analysis, which is written as a generator.

    The generator yields each `RunRequest` that it needs, and gets its `AnalysisOutcome`. Ranks of
    MPI other than 0 ignore the arguments and take part in the run.
    """
    signature = inspect.signature(function)

    def check(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Raise an error if the arguments do not fit, with advice on those that do."""
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            kinds = {name: one.kind for name, one in signature.parameters.items()}
            first = [name for name, kind in kinds.items() if kind != inspect.Parameter.KEYWORD_ONLY]
            rest = [name for name in kinds if name not in first]
            raise TypeError(
                f"{function.__name__}(): {error}{advice_on(kwargs, kinds)}; its arguments are"
                f" {', '.join(first)}, and by name {', '.join(rest)}; selections are made by"
                " traj.select('name CA')"
            ) from None
        for name in {"weights", "group_weights"} & given.keys():
            word_of_weights(given[name])

    @root_only("result")
    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        check(args, kwargs)
        steps = function(*args, **kwargs)
        try:
            request = next(steps)
            while True:
                request = steps.send(run(request))
        except StopIteration as end:
            return with_scalars(cast(_R, end.value))

    def job(*args: _P.args, **kwargs: _P.kwargs) -> Job[_R]:
        for name in _OF_RUN:
            if name in kwargs:
                raise TypeError(
                    f"{function.__name__}.job() got {name!r}: all jobs of a run share it, so give"
                    " it to tj.run"
                )
        check(args, kwargs)
        return Job(function.__name__, function, args, dict(kwargs))

    # Users see a function that returns its result.
    result = get_args(signature.return_annotation)[2]
    named = cast(Any, call)
    named.__annotations__ = {**function.__annotations__, "return": result}
    named.__signature__ = signature.replace(return_annotation=result)
    named.job = job
    return cast("AnalysisFunction[_P, _R]", call)
