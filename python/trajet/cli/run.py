"""`trajet run`: several analyses in one pass, as a plan file describes them."""

import contextlib
import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType

import click

import trajet
from trajet import remote
from trajet.cli.analysis_options import OPTIONS_OF_RUN, JointRun
from trajet.cli.command import command
from trajet.cli.ensemble_output import MembersChoice
from trajet.cli.results import json_option
from trajet.cli.tables import EXPECTED
from trajet.cli.translation import error_line
from trajet.members.rows import Key
from trajet.parsing import ParseError, parsed
from trajet.quoting import quoted

# Keys of a plan beside the options that its analyses share.
_FILES = ("topology", "trajectory")
_ANALYSES = "analysis"
_MEMBERS = "members"


@command()
@click.argument("plan", metavar="PLAN.toml", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--members",
    metavar="TABLE.csv",
    help="The members, instead of those of the plan: columns topology, trajectory and keys.",
)
@click.option("--topology", metavar="FILE", help="The topology, instead of that of the plan.")
@click.option(
    "--trajectory",
    multiple=True,
    metavar="FILE",
    help="The trajectory, instead of that of the plan. May be repeated.",
)
@click.option(
    "--resume",
    metavar="FOLDER",
    help="Keep the result of each member in FOLDER, and use those of earlier runs again.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="With --resume: compare all bytes of trajectories, not size, time and both ends.",
)
@click.option("--keep-going", is_flag=True, help="Leave out members that fail.")
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    plan: str,
    members: str | None,
    topology: str | None,
    trajectory: tuple[str, ...],
    resume: str | None,
    verify: bool,
    keep_going: bool,
    as_json: bool,
) -> None:
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

    Instead of a trajectory a plan may have members: replicas of one or several systems, below
    [[members]] or in a table. Paths may have placeholders, whose values are keys. Each analysis
    then writes one table with the keys of the members, and NAME.summary.csv with the means over
    replicas and their 95 % intervals. If a member fails, the exit code is 1. difference =
    ["wt", "mut"] above [[members]] adds the second minus the first, with its probability, as
    NAME.difference.csv and a figure.

    Several files that look like replicas, as their times overlap, are an error; chain = true in the
    plan reads them as one trajectory.

    \b
    Example of members:
      difference = ["wt", "mut"]
      [[members]]
      system = "wt"
      topology = "wt/top.psf"
      trajectory = "wt/rep{replica}/traj.xtc"

    \b
    Examples:
      trajet run plan.toml
      trajet run plan.toml --members table.csv --resume kept --keep-going
    """
    given = _Given(
        members=None if members is None else str(Path(members).absolute()),
        topology=None if topology is None else str(remote.absolute(topology)),
        trajectories=[str(remote.absolute(path)) for path in trajectory],
    )
    if verify and resume is None:
        raise click.UsageError("--verify compares with results of earlier runs: add --resume")
    kept_in = None if resume is None else Path(resume).absolute()
    content, analyses = _read_plan(plan)
    files, named = _inputs(content, given, plan)
    if misplaced := content.keys() & {"output", "plot", "report"}:
        raise click.UsageError(
            f"{plan}: {min(misplaced)} is of one analysis: write it below [[analysis]]"
        )
    is_chained = content.pop("chain", False)
    if not isinstance(is_chained, bool):
        raise click.UsageError(f"{plan}: chain is true or false, not {quoted(is_chained)}")
    compared = _compared(content.pop("difference", None), plan)
    of_members = None
    if named is not None:
        of_members = replace(
            named, keep_going=keep_going, resume=kept_in, verify=verify, difference=compared
        )
    elif compared is not None:
        raise click.UsageError(f"{plan}: difference is of members: see [[members]]")
    elif keep_going or kept_in is not None:
        raise click.UsageError("--resume and --keep-going are for members: see [[members]]")
    with contextlib.ExitStack() as kept:
        ctx.obj = joint = JointRun(kept, as_json, members=of_members, is_chained=is_chained)
        kept.enter_context(contextlib.chdir(Path(plan).resolve().parent))
        _prepare(ctx, analyses, content, files, plan)
        if of_members is None:
            joint.run()
        else:
            joint.run_members()


def _toml(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _read_plan(plan: str) -> tuple[dict[str, object], list[Mapping[str, object]]]:
    """Return what a plan has above its analyses, and the analyses.

    Raises
    ------
    UsageError
        If it is no plan, or has no analysis.
    """
    try:
        content = parsed(_toml, Path(plan))
    except ParseError as error:
        raise click.UsageError(f"{plan}: not a TOML file: {error}") from error
    content = _with_hyphens(content, plan)
    analyses = content.pop(_ANALYSES, [])
    if not isinstance(analyses, list) or not analyses or not all(map(_is_table, analyses)):
        raise click.UsageError(
            f"{plan}: there is no analysis: write one below [[analysis]]"
            + _instead_of(_ANALYSES, content)
        )
    return content, analyses


def _prepare(
    ctx: click.Context,
    analyses: Sequence[Mapping[str, object]],
    content: Mapping[str, object],
    files: Sequence[str],
    plan: str,
) -> None:
    """Check all analyses of a plan, and add them to the run.

    Raises
    ------
    UsageError
        If one is not known, an option is wrong, or two write the same file.
    """
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    written: dict[Path, str] = {}
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


@dataclass(frozen=True)
class _Given:
    """Files of the command line, which replace those of a plan.

    Attributes
    ----------
    members
        Path of a table, or None.
    topology
        Path of the topology, or None.
    trajectories
        Paths of the trajectory's files.
    """

    members: str | None
    topology: str | None
    trajectories: list[str]


def _inputs(
    content: dict[str, object], given: _Given, plan: str
) -> tuple[list[str], MembersChoice | None]:
    """Return topology and trajectory of a plan, or its members; they are removed from it.

    Raises
    ------
    UsageError
        If the plan names neither.
    """
    topology, named, members = (content.pop(key, None) for key in (*_FILES, _MEMBERS))
    topology = given.topology or topology
    if given.trajectories:
        named, members = given.trajectories, None
    members = given.members or members
    listed = named if isinstance(named, list) else [] if named is None else [named]
    trajectories = [path for path in listed if isinstance(path, str)]
    if len(trajectories) < len(listed):
        raise click.UsageError(f'{plan}: a trajectory is a path: trajectory = ["adk.xtc"]')
    if not isinstance(topology, (str, NoneType)):
        raise click.UsageError(f'{plan}: the topology is a path: topology = "adk.psf"')
    has_placeholders = any("{" in path for path in trajectories)
    if members is None and not has_placeholders:
        if topology is None:
            raise click.UsageError(
                f'{plan}: name the topology or the data set: topology = "adk.psf"'
                + _instead_of(_FILES[0], content)
            )
        return [topology, *trajectories], None
    if members is None:
        members = [{"trajectory": list(trajectories)}]
    elif trajectories:
        raise click.UsageError(
            f"{plan}: its members name their trajectories: leave the other trajectory out"
        )
    if not isinstance(members, str) and not (
        isinstance(members, list) and members and all(map(_is_table, members))
    ):
        raise click.UsageError(
            f"{plan}: members are the path of a table, or tables below [[members]]"
        )
    # Commands take a topology, which is not read.
    return ["members"], MembersChoice(members, topology)


def _compared(value: object, plan: str) -> tuple[Key, Key] | None:
    """Return the groups that a plan compares, or None.

    Raises
    ------
    UsageError
        If they are not two different values.
    """
    if value is None:
        return None
    if (
        not isinstance(value, list)
        or len(value) != 2
        or str(value[0]) == str(value[1])
        or not all(isinstance(one, (str, int, float)) for one in value)
    ):
        raise click.UsageError(
            f'{plan}: difference has two values of a key, such as difference = ["wt", "mut"]'
        )
    first, second = value
    return first, second


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
        click.echo(f"trajet: {where}: {error_line(error)}", err=True)
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
        if isinstance(value, bool) and isinstance(option.flag_value, str):
            # As the option without its value, which is optional.
            yield from [f"{text}={option.flag_value}"] if value else []
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
