"""Kinds of command-line options, which the annotations of parameters decide."""

import collections.abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Literal, TypeVar, Union, get_args, get_origin

import click

from trajet.analysis.arguments import (
    ANGSTROM,
    BYTES,
    PS,
    Above,
    AsOption,
    AtomsOption,
    Between,
    FileOption,
    FolderOption,
    Metavar,
    ParsedOption,
    StructureOption,
    Unit,
)
from trajet.cli.analysis_options import AnalysisOptions
from trajet.cli.options import folder_for_outputs, memory_size, path_to, reference_of
from trajet.cli.param_type import ParamType
from trajet.cli.quantities import Distance, Time, same_units
from trajet.cli.translation import as_options

_T = TypeVar("_T")


def _as_given(_: AnalysisOptions, value: object) -> object:
    return value


@dataclass(frozen=True)
class OptionKind:
    """Type, number and conversion of the values of an option.

    Attributes
    ----------
    type
        Type of a value; None for a switch.
    metavar
        How help texts show the values; None for click's way.
    nargs
        Number of values.
    multiple
        Whether the option may be repeated.
    callback
        click's callback, or None.
    evaluate
        Converts click's value to the argument of the function, once the files are open.
    updating
        Whether selections are evaluated in each frame, as `AtomsOption` has it; None if the option
        takes none.
    is_optional
        Whether the option may be left out although the parameter has no default.
    takes_none
        Whether the parameter may be None.
    """

    type: ParamType[object] | None = None
    metavar: str | None = None
    nargs: int = 1
    multiple: bool = False
    callback: Callable[..., object] | None = None
    evaluate: Callable[[AnalysisOptions, object], object] = _as_given
    updating: str | None = None
    is_optional: bool = False
    takes_none: bool = False


class OrNone(ParamType[object]):
    """A value of another type, or the word none, which stands for None."""

    def __init__(self, of: ParamType[object]) -> None:
        self._of, self.name = of, of.name

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return the value, or None."""
        return None if value == "none" else self._of.convert(value, param, ctx)


class _Parsed(ParamType[object]):
    """A text that a function parses."""

    name = "text"

    def __init__(self, parse: Callable[[str], object]) -> None:
        self._parse = parse

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return what the function makes of a text."""
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(as_options(str(error)), param, ctx)


def kind_of(annotation: object) -> OptionKind | None:
    """Return what the option of a parameter takes; None if it has no option.

    Raises
    ------
    TypeError
        If the annotation does not say it.
    """
    inner, marks, takes_none = _unwrapped(annotation)
    if (as_option := _mark(marks, AsOption)) is not None:
        if as_option.annotation is None:
            return None
        kind = kind_of(as_option.annotation)
    else:
        kind = _marked(marks) or _plain(inner, marks)
    if kind is None:
        raise TypeError(f"{annotation} does not say what an option takes: see AsOption")
    metavar = _mark(marks, Metavar)
    return replace(
        kind,
        metavar=kind.metavar if metavar is None else metavar.text,
        takes_none=kind.takes_none or takes_none,
    )


def _unwrapped(annotation: object) -> tuple[object, list[object], bool]:
    """Return the type in an annotation, its metadata, and whether it may be None."""
    marks: list[object] = []
    takes_none = False
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            marks += metadata
            continue
        if get_origin(annotation) not in (Union, UnionType):
            return annotation, marks, takes_none
        members = [member for member in get_args(annotation) if member is not NoneType]
        takes_none = takes_none or len(members) < len(get_args(annotation))
        if len(members) > 1:
            return annotation, marks, takes_none
        (annotation,) = members


def _mark(marks: Sequence[object], of_type: type[_T]) -> _T | None:
    """Return the metadata of a type, or None."""
    return next((mark for mark in marks if isinstance(mark, of_type)), None)


def _marked(marks: Sequence[object]) -> OptionKind | None:
    """Return what an option takes if its metadata alone says it."""
    if (atoms := _mark(marks, AtomsOption)) is not None:
        return _selections(atoms)
    if (structure := _mark(marks, StructureOption)) is not None:
        return _structure(structure.words)
    if (file := _mark(marks, FileOption)) is not None:
        return OptionKind(click.STRING, "FILE", callback=path_to(file.suffixes))
    if _mark(marks, FolderOption) is not None:
        return OptionKind(click.STRING, "FOLDER", callback=folder_for_outputs)
    if (parsed := _mark(marks, ParsedOption)) is not None:
        return OptionKind(_Parsed(parsed.parse), parsed.metavar, multiple=parsed.is_repeated)
    return None


def _plain(inner: object, marks: Sequence[object]) -> OptionKind | None:
    """Return what an option takes by the type of its parameter."""
    origin, args = get_origin(inner), get_args(inner)
    kind = None
    if origin is Literal:
        kind = OptionKind(click.Choice(args))
    elif origin is tuple:
        # A unit and a range hold for each of the values.
        kinds = [_number(each, marks) if each in (int, float) else kind_of(each) for each in args]
        kind = _several(kinds, marks)
    elif origin is collections.abc.Sequence:
        element = kind_of(args[0])
        kind = None if element is None else replace(element, multiple=True, evaluate=_each(element))
    elif inner is bool:
        kind = OptionKind()
    elif inner is str:
        kind = OptionKind(click.STRING)
    elif inner in (int, float):
        kind = _number(inner, marks)
    return kind


def _number(of_type: object, marks: Sequence[object]) -> OptionKind:
    """Return what an option for a number takes."""
    unit, above, between = _mark(marks, Unit), _mark(marks, Above), _mark(marks, Between)
    least = None if between is None else between.least
    most = None if between is None else between.most
    number: ParamType[object]
    if unit == BYTES:
        number = memory_size
    elif unit in (ANGSTROM, PS):
        quantity = Distance if unit == ANGSTROM else Time
        number = quantity(least, positive=above is not None)
    elif of_type is int:
        number = click.IntRange(
            None if least is None else int(least), None if most is None else int(most)
        )
    elif above is not None:
        number = click.FloatRange(above.least, min_open=True)
    else:
        number = click.FloatRange(least, most)
    metavar = "N" if of_type is int else "X"
    return OptionKind(number, metavar if unit is None else unit.name.upper())


def _several(kinds: Sequence[OptionKind | None], marks: Sequence[object]) -> OptionKind | None:
    """Return what an option takes that has as many values as there are kinds."""
    known = [kind for kind in kinds if kind is not None]

    def evaluate(job: AnalysisOptions, values: object) -> object:
        if not isinstance(values, tuple):
            return None
        return tuple(kind.evaluate(job, value) for kind, value in zip(known, values, strict=True))

    return replace(
        known[0],
        nargs=len(known),
        metavar=" ".join(kind.metavar or "VALUE" for kind in known),
        callback=same_units if _mark(marks, Unit) in (ANGSTROM, PS) else None,
        evaluate=evaluate,
    )


def _each(kind: OptionKind) -> Callable[[AnalysisOptions, object], object]:
    """Return a function that makes a list of the values of an option that may be repeated."""

    def evaluate(job: AnalysisOptions, values: object) -> object:
        assert isinstance(values, tuple)
        return [kind.evaluate(job, value) for value in values]

    return evaluate


def _selections(atoms: AtomsOption) -> OptionKind:
    """Return what an option for selections takes."""

    def evaluate(job: AnalysisOptions, text: object) -> object:
        if not isinstance(text, str):
            return job.trajectory if atoms.or_all else None
        return text if text in atoms.words else job.select(text)

    return OptionKind(
        click.STRING,
        "|".join(("SELECTION", *atoms.words)),
        evaluate=evaluate,
        updating=atoms.updating,
        is_optional=atoms.or_all,
    )


def _structure(words: Sequence[str]) -> OptionKind:
    """Return what an option for a reference structure takes."""

    def parse(_: click.Context, __: click.Parameter, text: str | None) -> int | str | None:
        return None if text is None else reference_of(text, *words)

    return OptionKind(click.STRING, "|".join(("FRAME", "FILE", *words)), callback=parse)
