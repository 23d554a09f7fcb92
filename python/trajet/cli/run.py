"""`trajet run`: several analyses in one pass, as a plan file describes them."""

import contextlib
import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

import trajet
from trajet.cli.analysis_options import OPTIONS_OF_RUN, JointRun
from trajet.cli.command import command
from trajet.cli.results import json_option
from trajet.cli.tables import EXPECTED, one_line
from trajet.quoting import quoted

# Keys of a plan beside the options that its analyses share.
_FILES = ("topology", "trajectory")
_ANALYSES = "analysis"


@command()
@click.argument("plan", metavar="PLAN.toml", type=click.Path(exists=True, dir_okay=False))
@json_option
@click.pass_context
def run(ctx: click.Context, plan: str, as_json: bool) -> None:
    """Run several analyses, and read every frame once.

    A plan is a TOML file. It names the files and the options that all analyses share, such as
    begin, pool or quiet, then each analysis by its command and options, without the dashes. Paths
    are relative to the folder of the plan. Selections and options of all are checked first. If an
    analysis then fails, the others have their results, and the exit code is 1.

    \b
    Example of a plan:
      topology = "adk.psf"
      trajectory = ["adk.xtc"]
      step = 2
    \b
      [[analysis]]
      command = "rmsd"
      select = "name CA"
      output = "rmsd.csv"
      plot = "rmsd.png"
    \b
      [[analysis]]
      command = "end-to-end"
      select = "protein"
      whole = true
      output = "length.csv"

    \b
    Examples:
      trajet run plan.toml
    """
    try:
        content = tomllib.loads(Path(plan).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{plan}: not a TOML file: {error}") from error
    except RecursionError:
        raise click.UsageError(f"{plan}: not a plan: its values are nested too deeply") from None
    content = _with_hyphens(content, plan)
    analyses = content.pop(_ANALYSES, [])
    if not isinstance(analyses, list) or not analyses or not all(map(_is_table, analyses)):
        raise click.UsageError(
            f"{plan}: there is no analysis: write one below [[analysis]]"
            + _instead_of(_ANALYSES, content)
        )
    topology, trajectories = (content.pop(key, None) for key in _FILES)
    if not isinstance(topology, str):
        raise click.UsageError(
            f'{plan}: name the topology or the data set: topology = "adk.psf"'
            + _instead_of(_FILES[0], content)
        )
    if misplaced := content.keys() & {"output", "plot", "report"}:
        raise click.UsageError(
            f"{plan}: {min(misplaced)} is of one analysis: write it below [[analysis]]"
        )
    if not isinstance(trajectories, list):
        trajectories = [] if trajectories is None else [trajectories]
    if not all(isinstance(path, str) for path in trajectories):
        raise click.UsageError(f'{plan}: a trajectory is a path: trajectory = ["adk.xtc"]')
    files = [topology, *trajectories]
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    with contextlib.ExitStack() as kept:
        ctx.obj = joint = JointRun(kept, as_json)
        written: dict[Path, str] = {}
        kept.enter_context(contextlib.chdir(Path(plan).resolve().parent))
        for number, given in enumerate(analyses, 1):
            where = f"{plan}: analysis {number}"
            entry = _with_hyphens(given, where)
            name = entry.pop("command", None)
            known = [name.replace("_", "-") for name in trajet.ANALYSES if name != "apply"]
            if not isinstance(name, str) or name.replace("_", "-") not in known:
                raise click.UsageError(f"{where}: {_wrong_command(name, known, entry)}")
            command = group.get_command(ctx, name)
            assert command is not None
            if of_run := OPTIONS_OF_RUN.intersection(entry):
                raise click.UsageError(
                    f"{where}: {min(of_run)} is the same for all analyses: write it above the first"
                    " [[analysis]]"
                )
            shared = {key: value for key, value in content.items() if key not in entry}
            above = f"{plan}: above the first [[analysis]]"
            arguments = [*_arguments(command, shared, above), *_arguments(command, entry, where)]
            with (
                _naming(f"{where} ({name})"),
                command.make_context(name, [*arguments, "--", *files], parent=ctx) as of_one,
            ):
                for path in _outputs_of(of_one):
                    other = written.setdefault(path.resolve(), where)
                    if other != where:
                        raise click.UsageError(f"{path} is written by {other}, too")
                command.invoke(of_one)
        joint.run()


def _outputs_of(ctx: click.Context) -> Iterator[Path]:
    """Yield the paths that the options of an analysis name for its outputs."""
    for option, value in ctx.params.items():
        paths = value.values() if isinstance(value, dict) else [value]
        yield from (path for path in paths if isinstance(path, Path) and option != "rows_in")


@contextlib.contextmanager
def _naming(where: str) -> Iterator[None]:
    """Name an analysis of the plan in the errors of its command."""
    try:
        yield
    except click.UsageError as error:
        raise click.UsageError(f"{where}: {error.format_message()}") from error
    except BrokenPipeError:
        raise
    except EXPECTED as error:
        click.echo(f"trajet: {where}: {one_line(error)}", err=True)
        raise click.exceptions.Exit(1) from error


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _with_hyphens(options: Mapping[str, object], where: str) -> dict[str, object]:
    """Return options by names with hyphens, as commands have them.

    Raises
    ------
    UsageError
        If an option is given in both spellings.
    """
    found: dict[str, object] = {}
    for key, value in options.items():
        if (name := key.replace("_", "-")) in found:
            raise click.UsageError(f"{where}: {name} is given twice")
        found[name] = value
    return found


def _arguments(command: click.Command, options: Mapping[str, object], where: str) -> Iterator[str]:
    """Yield the command-line arguments of the options in a plan.

    Raises
    ------
    UsageError
        If the command has no such option, or the value is a table.
    """
    known = {
        text.lstrip("-"): option
        for option in command.params
        if isinstance(option, click.Option)
        for text in (*option.opts, *option.secondary_opts)
    }
    for key, value in options.items():
        option = known.get(key)
        if option is None:
            raise click.UsageError(
                f"{where}: {command.name} has no option {quoted(key)}{_did_you_mean(key, known)}"
            )
        if isinstance(value, dict):
            raise click.UsageError(f"{where}: {key} is a value or a list, not a table")
        text = next(opt for opt in option.opts if opt.startswith("--"))
        if option.is_flag:
            yield from _switch(option, key, value, where)
            continue
        values = value if isinstance(value, list) else [value]
        if option.multiple:
            # If the option has several values, a list is one use of it; a list of lists is several.
            is_one_use = option.nargs > 1 and not any(isinstance(one, list) for one in values)
            for one in [values] if is_one_use else values:
                yield from (text, *map(str, one if isinstance(one, list) else [one]))
        elif option.nargs > 1:
            yield from (text, *map(str, values))
        else:
            may_be_list = "," in (option.metavar or "")
            if (len(values) != 1 and not may_be_list) or any(isinstance(v, list) for v in values):
                raise click.UsageError(f"{where}: {key} takes one value, not a list")
            yield f"{text}={','.join(map(str, values))}"


def _switch(option: click.Option, key: str, value: object, where: str) -> Iterator[str]:
    """Yield the argument of an option that is true or false in a plan.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if not isinstance(value, bool):
        raise click.UsageError(f"{where}: {key} is true or false, not {quoted(value)}")
    if option.secondary_opts:
        is_on = value == (f"--{key}" in option.opts)
        yield option.opts[0] if is_on else option.secondary_opts[0]
    elif value:
        yield f"--{key}"


def _wrong_command(name: object, known: Sequence[str], entry: Iterable[str]) -> str:
    """Return the message on a command that is missing or unknown."""
    words = ", ".join(known)
    if name is None:
        return f"name the command: command = one of {words}{_instead_of('command', entry)}"
    near = _did_you_mean(str(name).replace("_", "-"), known)
    return f"command is one of {words}, not {quoted(name)}{near}"


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the known words that are like a word, to end a message with."""
    near = difflib.get_close_matches(word, list(known), 2)
    return f": did you mean {' or '.join(near)}?" if near else ""


def _instead_of(word: str, given: Iterable[str]) -> str:
    """Return a note on a given word that is like a word that is missing."""
    near = difflib.get_close_matches(word, list(given), 1)
    return f" (not {near[0]!r})" if near else ""


COMMANDS = (run,)
