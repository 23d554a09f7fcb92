"""Analyses as generators, which yield the runs that they need."""

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Generic,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    Unpack,
    cast,
    get_args,
    overload,
)

import numpy as np
from numpy.typing import NDArray

from trajet import universes
from trajet.analysis.progress_bar import shown_progress
from trajet.analysis.runner import AnalysisCall, AnalysisOutcome, RunOptions, RunRequest, run
from trajet.analysis.signatures import (
    OF_RUN,
    recorded_parameters,
    shown,
    unit_of,
    with_run_options,
    with_shared_texts,
)
from trajet.checked_numbers import word_of_weights
from trajet.hints import hint_on_keywords
from trajet.members import Ensemble, EnsembleSelection, OpenMember
from trajet.messages import OF_OPENING, Code, Message, emit
from trajet.pools.pool import Pool, Progress
from trajet.pools.rank_placeholder import root_only
from trajet.quantities import UNITS, number_of
from trajet.result import Part, Table, with_scalars
from trajet.result.report import analysis_of
from trajet.startup import Stopwatch
from trajet.trajectory import FrameChoice, Selection, UpdatingSelection

if TYPE_CHECKING:
    from trajet.result import EnsembleResult

_P = ParamSpec("_P")
_R = TypeVar("_R", bound=Table)
_R_co = TypeVar("_R_co", bound=Table, covariant=True)

# Arguments whose atoms count once, and a structure with the atoms of the selection.
_COUNTED_ONCE = ("context", "reference")
# Arguments of analyses in place of a selection of one trajectory.
OfEnsemble: TypeAlias = Ensemble | EnsembleSelection

# Generator that the function of an analysis returns: it yields requests, gets their outcomes, and
# returns the result.
Steps: TypeAlias = Generator[RunRequest, AnalysisOutcome, _R]


@dataclass(frozen=True)
class CommandDetails:
    """Details of the command of an analysis that its signature and docstring do not state.

    Attributes
    ----------
    examples
        Command lines for `--help`.
    notes
        Paragraphs for `--help`, after those of the docstring.
    axes
        Kinds of the axes of the table that the analysis returns, such as "frames", if the viewer
        draws it.
    stored
        Whether positions are taken as stored, which docstring and `--help` say.
    select
        Default of `--select`; None if it must be given.
    is_bounded
        Whether `max_memory` bounds the memory of the rows, so that a large result needs no
        `--force`. Such an analysis reads frames on its own, and is in no plan.
    check
        Raises an error for arguments that contradict each other.
    parts
        Parts of a result without a class of its own that `--save` writes; see `Table.PARTS`.
    """

    examples: str = ""
    notes: str = ""
    axes: tuple[str, ...] = ()
    stored: bool = False
    select: str | None = None
    is_bounded: bool = False
    check: Callable[..., None] | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)

    def check_arguments(self, arguments: Mapping[str, object]) -> None:
        """Call `check` with those arguments that it has as parameters."""
        if self.check is not None:
            names = inspect.signature(self.check).parameters
            self.check(**{name: arguments[name] for name in names if name in arguments})


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

    def start(self, **of_run: Unpack[RunOptions]) -> Steps[_R_co]:
        """Return the steps of the analysis, given the parameters of the run."""
        return self._function(*self._args, **self._kwargs, **of_run)

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments of the analysis by name, with defaults."""
        return _by_name(self._function, self._args, self._kwargs)


@dataclass(frozen=True)
class EnsembleJob(Generic[_R_co]):
    """An analysis of an ensemble with its arguments, to be run together with others by `tj.run`.

    Attributes
    ----------
    name
        Name of the analysis.
    ensemble
        The ensemble.
    args, kwargs
        The arguments of the analysis; those of the ensemble are replaced for each member.
    """

    name: str
    ensemble: Ensemble = field(repr=False)
    args: tuple[object, ...] = field(repr=False)
    kwargs: dict[str, object] = field(repr=False)
    _function: Callable[..., Steps[_R_co]] = field(repr=False)

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments of the analysis by name, with defaults."""
        return _by_name(self._function, self.args, self.kwargs)

    def of(self, opened: OpenMember) -> Job[_R_co]:
        """Return the analysis of an open member."""
        args = tuple(_of_member(value, opened) for value in self.args)
        kwargs = {name: _of_member(value, opened) for name, value in self.kwargs.items()}
        return Job(self.name, self._function, args, kwargs)


def _by_name(
    function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Mapping[str, object]:
    """Return the arguments of a function by the names of its parameters, with defaults."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


class AnalysisFunction(Protocol[_P, _R_co]):
    """A function that runs an analysis; its `job` describes the analysis without running it.

    Of an ensemble, both do so for each of its members. `job` raises TypeError if the arguments do
    not fit the analysis, or one of them belongs to `tj.run`: frames, pool, progress.
    """

    __name__: str
    command: CommandDetails

    @overload
    def __call__(
        self, selection: OfEnsemble, /, *args: object, **kwargs: object
    ) -> "EnsembleResult[_R_co]": ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

    @overload
    def job(
        self, selection: OfEnsemble, /, *args: object, **kwargs: object
    ) -> EnsembleJob[_R_co]: ...
    @overload
    def job(self, *args: _P.args, **kwargs: _P.kwargs) -> Job[_R_co]: ...


def analysis(
    *,
    check: Callable[..., None] | None = None,
    examples: str = "",
    notes: str = "",
    axes: tuple[str, ...] = (),
    stored: bool = False,
    select: str | None = None,
    is_bounded: bool = False,
    counts_repeats: bool = True,
    parts: Mapping[str, Part] = MappingProxyType({}),
) -> Callable[[Callable[_P, Steps[_R]]], AnalysisFunction[_P, _R]]:
    """Return a decorator that makes the function of an analysis of a generator.

    The generator yields each `RunRequest` that it needs, and gets its `AnalysisOutcome`. Requests
    without frames, pool or progress have those of the analysis, reports have its arguments, and its
    docstring gets the texts that all analyses share. Ranks of MPI other than 0 ignore the arguments
    and take part in the run.

    Parameters
    ----------
    check
        Called before anything else with those arguments of the analysis that it has as parameters;
        the command calls it before a file is opened, with selections as text. Raises ValueError or
        TypeError if they contradict each other; the command writes `parameter=value` as an option.
    examples, notes, axes, stored, select, is_bounded, parts
        See `CommandDetails`.
    counts_repeats
        Whether an atom that is selected several times counts several times, which a message says;
        false where it only has several columns.
    """
    details = CommandDetails(examples, notes, axes, stored, select, is_bounded, check, parts)
    return lambda function: _analysis(function, details, counts_repeats)


def _analysis(
    function: Callable[_P, Steps[_R]], details: CommandDetails, counts_repeats: bool
) -> AnalysisFunction[_P, _R]:
    signature = with_run_options(inspect.signature(function))
    recorded = recorded_parameters(signature)
    units = {
        name: unit
        for name, one in signature.parameters.items()
        if (unit := unit_of(one.annotation)) is not None and unit in UNITS
    }

    def bind(args: tuple[object, ...], kwargs: dict[str, object]) -> Mapping[str, object]:
        """Return all arguments by name; an error has advice on those that fit."""
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise _argument_error(function.__name__, signature, kwargs, error) from None
        _check_values(bound.arguments, units)
        bound.apply_defaults()
        return bound.arguments

    @wraps(function)
    def steps(*args: _P.args, **kwargs: _P.kwargs) -> Steps[_R]:
        arguments = bind(args, kwargs)
        details.check_arguments(arguments)
        options = cast(RunOptions, {name: arguments[name] for name in OF_RUN})
        watch, running = Stopwatch(), function(*args, **kwargs)
        done = advanced(running, None)
        asked = AnalysisCall(
            function.__name__,
            {name: arguments[name] for name in recorded},
            watch.seconds() + _seconds_of_selections(arguments.values()),
        )
        after = 0.0
        while not isinstance(done, Finished):
            # No outcome is held while the next is computed: each may take all memory of a run.
            outcomes = [replace((yield done.with_options(options)), asked=asked)]
            after += outcomes[0].run["t_total"]
            watch = Stopwatch()
            done = advanced(running, outcomes.pop())
            after += watch.seconds()
        report = done.result.report
        # Runs that the report does not describe were for the result, too.
        report.record_seconds("t_result", after - report.seconds_of_run)
        if counts_repeats and (repeated := _repeat_messages(arguments)):
            report.record_messages(repeated)
        return done.result

    @root_only("result")
    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        progress = cast("Progress | bool | None", kwargs.get("progress"))
        if ensemble_of([args, kwargs]) is not None:
            bind(args, kwargs)
            return cast(_R, _call_members(function.__name__, steps, args, dict(kwargs)))
        if progress is None:
            result = _completed(steps(*args, **kwargs))
        else:
            with shown_progress(progress, function.__name__, " frames") as show:
                kwargs["progress"] = show
                result = _completed(steps(*args, **kwargs))
        if analysis_of(result.report)["warnings"]:
            emit(result.messages, leave_out=OF_OPENING)
        return result

    def job(*args: _P.args, **kwargs: _P.kwargs) -> Job[_R] | EnsembleJob[_R]:
        for name in (name for name in OF_RUN if name in kwargs):
            raise TypeError(
                f"{function.__name__}.job() got {name!r}: all jobs of a run share it, so give it to"
                " tj.run"
            )
        bind(args, kwargs)
        if (ensemble := ensemble_of([args, kwargs])) is not None:
            return EnsembleJob(function.__name__, ensemble, args, dict(kwargs), steps)
        return Job(function.__name__, steps, args, dict(kwargs))

    # Users see a function that returns its result.
    result = get_args(signature.return_annotation)[2]
    call.__annotations__ = {
        **{name: each.annotation for name, each in signature.parameters.items()},
        "return": result,
    }
    call.__doc__ = with_shared_texts(function.__doc__ or "", signature, stored=details.stored)
    seen = shown(signature).replace(return_annotation=result)
    vars(call).update(__signature__=seen, job=job, command=details)
    return cast("AnalysisFunction[_P, _R]", call)


def _check_values(arguments: Mapping[str, object], units: Mapping[str, str]) -> None:
    """Raise an error for words that are no weights, and for texts in place of numbers."""
    for name in {"weights", "group_weights"} & arguments.keys():
        word_of_weights(arguments[name])
    for name, unit in units.items():
        if isinstance(value := arguments.get(name), (str, list, tuple)):
            _check_quantity(name, unit, value)


def _check_quantity(name: str, unit: str, value: str | Sequence[object]) -> None:
    """Raise a TypeError for a text, or several, in place of numbers; it has the numbers to give."""
    texts = [value] if isinstance(value, str) else value
    if not any(isinstance(one, str) for one in texts):
        return
    numbers = [number_of(str(one), unit) for one in texts]
    hint = ""
    if None not in numbers:
        text = ", ".join(f"{number:.12g}" for number in numbers)
        hint = f": give {name}={text if isinstance(value, str) else f'({text})'}"
    raise TypeError(f"{name}={value!r}: numbers are in {unit}, without a unit{hint}")


def _argument_error(
    name: str, signature: inspect.Signature, kwargs: Mapping[str, object], error: TypeError
) -> TypeError:
    """Return the error on arguments that do not fit, with those that do."""
    kinds = {name: one.kind for name, one in signature.parameters.items()}
    first = [name for name, kind in kinds.items() if kind != inspect.Parameter.KEYWORD_ONLY]
    rest = [name for name in kinds if name not in first]
    return TypeError(
        f"{name}(): {error}{hint_on_keywords(kwargs, kinds)}; its arguments are"
        f" {', '.join(first)}, and by name {', '.join(rest)}; selections are made by"
        " traj.select('name CA')"
    )


def _completed(running: Steps[_R]) -> _R:
    """Run an analysis on its own, and return its result."""
    # No outcome is held while the next is computed: each may take all memory that a run may have.
    outcomes: list[AnalysisOutcome | None] = [None]
    while not isinstance(done := advanced(running, outcomes.pop()), Finished):
        outcomes.append(run(done))
    return with_scalars(done.result)


@dataclass(frozen=True)
class Finished(Generic[_R_co]):
    """The end of an analysis.

    Attributes
    ----------
    result
        Its result.
    """

    result: _R_co


def advanced(running: Steps[_R], outcome: AnalysisOutcome | None) -> RunRequest | Finished[_R]:
    """Give an analysis the outcome of its last run, None at first; return what it needs next.

    A StopIteration of a function of the user is raised by a run, outside of this function, or as
    RuntimeError by the generator: it is never taken for the end.
    """
    try:
        return next(running) if outcome is None else running.send(outcome)
    except StopIteration as end:
        return Finished(cast(_R, end.value))


def _call_members(
    name: str,
    steps: Callable[..., Steps[_R]],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> "EnsembleResult[Table]":
    """Run an analysis for each member of the ensemble that its arguments name."""
    # Imported late, so that runs of one trajectory start fast.
    from trajet.analysis.ensemble_runs import run_members

    of_run = {key: kwargs.pop(key) for key in OF_RUN if key in kwargs}
    ensemble = ensemble_of([args, kwargs])
    assert ensemble is not None
    job = EnsembleJob(name, ensemble, args, kwargs, steps)

    def compute(
        opened: OpenMember, frames: FrameChoice, pool: Pool | None, _: Sequence[int]
    ) -> Sequence[Table]:
        return [_completed(job.of(opened).start(frames=frames, pool=pool))]

    frames = cast(FrameChoice, of_run.get("frames"))
    progress = cast("Progress | bool | None", of_run.get("progress"))
    pool = cast("Pool | None", of_run.get("pool"))
    with shown_progress(progress, name, " members") as show:
        found = run_members([job], compute, frames=frames, pool=pool, progress=show)[0]
    emit(found.messages)
    return found


def ensemble_of(value: object) -> Ensemble | None:
    """Return the ensemble of which an argument of an analysis is, or None.

    Lists, tuples and dictionaries are searched, but not lists of numbers, which may be long.

    Raises
    ------
    ValueError
        If an argument is of several ensembles.
    """
    found = list(_ensembles(value))
    if not found:
        return None
    if any(one.members != found[0].members for one in found[1:]):
        raise ValueError("the selections are of different ensembles: make them from one ensemble")
    return found[0]


def _ensembles(value: object) -> Iterator[Ensemble]:
    if isinstance(value, Ensemble):
        yield value
    elif isinstance(value, EnsembleSelection):
        yield value.ensemble
    elif isinstance(value, (list, tuple)):
        for one in [] if _has_numbers(value) else value:
            yield from _ensembles(one)
    elif isinstance(value, dict):
        yield from _ensembles(list(value.values()))


def _has_numbers(value: object) -> bool:
    """Return whether a list begins with a number, or with a list that does: weights, atoms."""
    while isinstance(value, (list, tuple)) and len(value):
        value = value[0]
    return isinstance(value, (int, float, np.number))


def _of_member(value: object, opened: OpenMember) -> object:
    """Return an argument of an analysis for one member of the ensemble, which is open."""
    if _has_numbers(value):
        return value
    if isinstance(value, (Ensemble, EnsembleSelection)):
        return value.of(opened)
    if isinstance(value, list):
        return [_of_member(one, opened) for one in value]
    if isinstance(value, tuple):
        return tuple(_of_member(one, opened) for one in value)
    if isinstance(value, dict):
        return {name: _of_member(one, opened) for name, one in value.items()}
    return value


def _repeat_messages(arguments: Mapping[str, object]) -> list[Message]:
    """Return a message for each argument of an analysis in which atoms are listed several times.

    Lists of atom numbers may repeat atoms, for example those of two selections that overlap. Texts
    and masks select each atom once.
    """
    messages: list[Message] = []
    for name, value in arguments.items():
        for indices in [] if value is None or name in _COUNTED_ONCE else _selected(value):
            if n_repeated := _count_repeated(indices):
                messages.append(
                    Message(
                        Code.REPEATED_ATOMS,
                        f"{n_repeated} atoms are listed more than once in {name}= and count each"
                        " time",
                        "select(numpy.unique(indices)) selects each atom once",
                    )
                )
    return list(dict.fromkeys(messages))


def _selected(value: object) -> Iterator[NDArray[np.int64]]:
    """Yield the atoms of the selections in an argument."""
    if isinstance(value, Selection):
        yield value.indices
    elif isinstance(value, (list, tuple)):
        # Lists of numbers may be long.
        for one in [] if value and isinstance(value[0], (int, float, np.number)) else value:
            yield from _selected(one)
    elif type(value).__module__ != "builtins" and universes.is_atomgroup(value):
        yield value.ix  # type: ignore[attr-defined]


def _seconds_of_selections(arguments: Iterable[object]) -> float:
    """Return the seconds that evaluating the selections in arguments took."""
    seconds = 0.0
    for value in arguments:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, (Selection, UpdatingSelection)):
                seconds += one.t_select
            elif isinstance(one, (list, tuple)) and not _has_numbers(one):
                seconds += _seconds_of_selections(one)
    return seconds


def _count_repeated(indices: NDArray[np.int64]) -> int:
    """Return the number of atoms that occur several times."""
    if (np.diff(indices) > 0).all():
        return 0
    ordered = np.sort(indices)
    again = ordered[1:][np.diff(ordered) == 0]
    return len(again) and int(1 + np.count_nonzero(np.diff(again)))
