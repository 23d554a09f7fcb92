"""Commands of analyses, made of the signatures and docstrings of their functions.

Annotations decide what options take (see `trajet.analysis.arguments`), docstrings what help says.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import indent

import click

from trajet.analysis.job import AnalysisFunction, CommandDetails
from trajet.analysis.signatures import OF_RUN
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.help_texts import (
    doc_of,
    entries_of,
    help_of,
    paragraphs_of,
    with_options,
)
from trajet.cli.option_kinds import OptionKind, OrNone, kind_of
from trajet.cli.options import memory_size, path_to, text_of_size
from trajet.cli.translation import as_options
from trajet.result import Part, Table

_Decorator = Callable[[Callable[..., None]], object]

_NO_FILES: Mapping[str, Path] = {}
_STORED = (
    "Positions are used as stored: if molecules are broken over the box, make them whole with"
    " --whole."
)
_MAIN_HELP = "Atoms, in MDAnalysis' language."
_updating = click.option(
    "--updating", is_flag=True, help="Evaluate selections in each frame, not only on frame 0."
)


def command_of(name: str) -> click.Command:
    """Return the command of the analysis `name`."""
    module = importlib.import_module(f"trajet.analysis.{name}")
    function: AnalysisFunction[..., Table] = getattr(module, name)
    arguments = _arguments_of(function)
    options = {argument.name: argument.option for argument in arguments}
    parts: Mapping[str, Part] = function.command.parts or function.__annotations__["return"].PARTS
    updating = {argument.kind.updating for argument in arguments} - {None}

    def check(*, save: Mapping[str, Path] = _NO_FILES, **values: object) -> None:
        """Raise a UsageError for arguments that contradict each other."""
        given = {each.name: each.given(values[each.name]) for each in arguments}
        try:
            function.command.check_arguments(given | _requested(parts, save))
        except (ValueError, TypeError) as error:
            raise click.UsageError(as_options(str(error))) from error

    def run(
        job: AnalysisOptions, *, save: Mapping[str, Path] = _NO_FILES, **values: object
    ) -> None:
        job = replace(job, updating=bool(values.get("updating", updating == {"always"})))
        given = {each.name: each.evaluated(job, values[each.name]) for each in arguments}
        prepared = function.job(**given | _requested(parts, save))
        job.run(prepared, parts=save, is_bounded=function.command.is_bounded)

    run.__name__, run.__doc__ = name, _help_of_command(function, options)
    # Transforms have the option that guesses bonds too: it is theirs.
    decorators = [each.decorator() for each in arguments if each.name != "guess_bonds"]
    if "on request" in updating:
        decorators.insert(1, _updating)
    if parts:
        decorators.append(_save_option(parts))
    return analysis(*decorators, check=check, guesses_bonds="guess_bonds" in options)(run)


@dataclass(frozen=True)
class _Argument:
    """A parameter of an analysis, and its option.

    Attributes
    ----------
    name
        Name of the parameter.
    default
        Its default; `inspect.Parameter.empty` if it has none.
    kind
        The type of the values of the option.
    option
        The option, with its dashes.
    help
        The text of `--help` on it.
    """

    name: str
    default: object
    kind: OptionKind
    option: str
    help: str

    def decorator(self) -> _Decorator:
        """Return the decorator that adds the option to a command."""
        kind, default = self.kind, self.default
        if kind.type is None:
            both = f"{self.option}/--no-{self.option[2:]}"
            return click.option(both, self.name, default=default, show_default=True, help=self.help)
        is_required = default is inspect.Parameter.empty
        has_default = not is_required and default is not None and default != ()
        if isinstance(default, tuple) and kind.nargs == 1:
            default = ",".join(default)
        elif kind.type is memory_size and isinstance(default, int):
            default = text_of_size(default)
        option = partial(
            click.option,
            self.option,
            self.name,
            type=OrNone(kind.type) if kind.takes_none and has_default else kind.type,
            required=is_required,
            metavar=kind.metavar,
            nargs=kind.nargs,
            multiple=kind.multiple,
            callback=kind.callback,
            help=f"{self.help} May be repeated." if kind.multiple else self.help,
        )
        # click takes a default of None as a value that is given.
        return option(default=default, show_default=True) if has_default else option()

    def given(self, value: object) -> object:
        """Return what click returns, or the default of an option that may be repeated."""
        return self.default if self.kind.multiple and not value else value

    def evaluated(self, job: AnalysisOptions, value: object) -> object:
        """Return the argument of the function for what click returns, once the files are open."""
        is_absent = self.kind.multiple and not value
        return self.default if is_absent else self.kind.evaluate(job, value)


def _arguments_of(function: AnalysisFunction[..., Table]) -> list[_Argument]:
    """Return the parameters of an analysis that have an option; the first is the selection."""
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in OF_RUN
    }
    known = {name: kind_of(function.__annotations__[name]) for name in parameters}
    kinds = {name: kind for name, kind in known.items() if kind is not None}
    options = {name: "--" + name.replace("_", "-") for name in kinds}
    main = next(iter(kinds))
    if kinds[main].nargs == 1:
        options[main] = "--select"
    entries = entries_of(doc_of(function))
    arguments = []
    for name, kind in kinds.items():
        default = parameters[name].default
        if name == main:
            default = None if kind.is_optional else (function.command.select or default)
        text = help_of(entries.get(name, ""), options, default)
        # The type of a selection says nothing on the command line.
        text = _MAIN_HELP if text.startswith("A Selection") else text
        arguments.append(_Argument(name, default, kind, options[name], text))
    return arguments


def _requested(parts: Mapping[str, Part], save: Mapping[str, Path]) -> dict[str, object]:
    """Return the arguments without which a result does not have the parts that are to be saved."""
    needed = (parts[name].needs for name in save)
    return {parameter: True for parameter in needed if parameter is not None}


def _save_option(parts: Mapping[str, Part]) -> _Decorator:
    """Return the option that writes parts of a result to files of their own."""
    known = " or ".join(f"{name}={part.metavar}" for name, part in parts.items())

    def parse(
        ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
    ) -> dict[str, Path]:
        paths: dict[str, Path] = {}
        for value in values:
            name, _, path = value.partition("=")
            if name not in parts or not path:
                raise click.BadParameter(f"{value!r}: write {known}", param=param)
            if name in paths:
                raise click.BadParameter(f"{name} is given twice", param=param)
            paths[name] = _checked(parts[name], path, ctx, param)
        return paths

    contents = "; ".join(
        f"{name}={part.metavar}, {part.help}{_endings(part)}" for name, part in parts.items()
    )
    return click.option(
        "--save",
        multiple=True,
        callback=parse,
        metavar="PART=FILE",
        help=f"Write a part of the result: {contents}. May be repeated.",
    )


def _endings(part: Part) -> str:
    """Return the endings of the file of a part, in brackets."""
    return f" ({' or '.join(part.suffixes)})" if part.suffixes else ""


def _checked(part: Part, path: str, ctx: click.Context, param: click.Parameter) -> Path:
    """Return the path of a part that can be written, before any work."""
    if not part.suffixes:
        return click.Path(file_okay=False, path_type=Path).convert(path, param, ctx)
    checked = path_to(part.suffixes)(ctx, param, path)
    assert checked is not None
    return checked


def _help_of_command(function: AnalysisFunction[..., Table], options: Mapping[str, str]) -> str:
    """Return the text of `--help` above the options."""
    details: CommandDetails = function.command
    paragraphs = [with_options(text, options) for text in paragraphs_of(doc_of(function))]
    notes = [_STORED if details.stored else "", details.notes]
    paragraphs += [text for text in " ".join(filter(None, notes)).split("\n\n") if text]
    # Lists are no paragraphs: their lines are left as they are.
    paragraphs = [f"\b\n{text}" if text.startswith("- ") else text for text in paragraphs]
    examples = indent(inspect.cleandoc(details.examples), "  ")
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{examples}"])
