"""Options of `open` are those of commands; options of one value are refused twice."""

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import get_type_hints

import click
import pytest
import trajet as tj
from helpers.commands import run
from helpers.golden_files import Adk
from helpers.help_pages import every_command
from helpers.messages import raises
from trajet.cli.analysis_options import OPTIONS_OF_RUN
from trajet.cli.command import may_be_repeated
from trajet.cli.from_signature import command_of
from trajet.cli.group import commands
from trajet.cli.open_options import OPTIONS, REMOTE, opening
from trajet.members import MemberOptions
from trajet.trajectory import OpenOptions

# Parameters of `open` that are no options of opening, and options that no command has.
OTHERS = {"topology", "trajectories", "progress", "pool"}
WITHOUT_OPTION = {"sidecar", "rebuild_index", "merge_gap"}
SIGNATURE = inspect.signature(tj.open).parameters
FIELDS = {field.name: field.default for field in fields(OpenOptions)}


def chosen(*arguments: str) -> OpenOptions:
    """Return what a command gets for arguments, whose options two decorators add."""
    seen: list[OpenOptions] = []
    first, *others = OPTIONS

    @click.command()
    @opening(first)
    @opening(*others)
    def command(how: OpenOptions) -> None:
        seen.append(how)

    command.main(list(arguments), standalone_mode=False)
    return seen[0]


def without(names: Iterable[str], others: set[str]) -> list[str]:
    """Return names that are not among others, in order."""
    return [name for name in names if name not in others]


def test_fields_are_parameters_of_open_with_their_defaults_and_types() -> None:
    """In the order of the signature."""
    assert without(SIGNATURE, OTHERS) == list(FIELDS)
    assert {name: SIGNATURE[name].default for name in FIELDS} == FIELDS
    types, of_fields = get_type_hints(tj.open), get_type_hints(OpenOptions)
    assert {name: types[name] for name in FIELDS} == of_fields


def test_docstring_of_open_has_the_parameters() -> None:
    """In the order of the signature."""
    entries = (tj.open.__doc__ or "").partition("Parameters\n")[2].partition("Returns\n")[0]
    documented = re.findall(r"^    \*?(\w+)$", entries, re.MULTILINE)
    assert documented == list(SIGNATURE)


def test_ensembles_take_the_options_of_open() -> None:
    """Atoms of an ensemble are those of a text."""
    types = get_type_hints(MemberOptions)
    assert list(types) == list(FIELDS)
    assert types == {**get_type_hints(OpenOptions), "atoms": str | None}
    assert MemberOptions.__total__ is False


def test_options_of_commands_are_fields() -> None:
    """Each field has an option, but for those that commands set by themselves."""
    assert set(OPTIONS) == FIELDS.keys() - WITHOUT_OPTION
    assert set(REMOTE) < set(OPTIONS)


def test_options_that_are_not_given_are_those_of_open() -> None:
    """Defaults of commands are those of the fields."""
    assert chosen() == OpenOptions()


def test_options_of_opening_are_the_same_for_all_analyses_of_a_plan() -> None:
    """A plan has them above its analyses."""
    options = [param for param in command_of("rmsd").params if param.name in OPTIONS]
    assert {param.name for param in options} == set(OPTIONS)
    assert {max(param.opts, key=len).lstrip("-") for param in options} <= OPTIONS_OF_RUN


@pytest.mark.parametrize(
    ("argument", "name", "value"),
    [
        ("--continuous", "continuous", True),
        ("--allow-truncated-tail", "allow_truncated_tail", True),
        ("--request-size=1MiB", "request_size", 2**20),
        ("--threads=3", "threads", 3),
        ("--format-option=dcd.cell=matrix", "format_options", {"dcd": {"cell": "matrix"}}),
        ("--atoms=protein", "atoms", "protein"),
        ("--time-step=2ns", "time_step", 2000.0),
        ("--connections=5", "connections", 5),
        ("--allow-http", "allow_http", True),
        ("--storage-option=region=eu", "storage_options", {"region": "eu"}),
    ],
)
def test_an_option_sets_its_field(argument: str, name: str, value: object) -> None:
    """And no other one."""
    assert chosen(argument) == OpenOptions(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"request_size": 0},
        {"threads": 0},
        {"time_step": -1},
        {"connections": 0},
        {"merge_gap": -1},
        {"format_options": {"dcd": {"cel": "matrix"}}},
    ],
)
def test_invalid_options_are_refused(options: dict[str, object]) -> None:
    """By an ensemble as well, before a member is opened."""
    with raises(ValueError):
        OpenOptions(**options)  # type: ignore[arg-type]
    with raises(ValueError):
        tj.ensemble([{"trajectory": "missing.xtc"}], **options)  # type: ignore[arg-type]


def test_options_to_open_again_have_no_secrets() -> None:
    """Nor do texts show any storage option."""
    how = OpenOptions(
        rebuild_index=True,
        threads=2,
        time_step=3,
        storage_options={"region": "eu", "secret_access_key": "hunter2"},
    )
    assert how.to_open_again() == OpenOptions(time_step=3, storage_options={"region": "eu"})
    assert "hunter2" not in repr(how)


@pytest.mark.parametrize("command", ["rmsd --select all", "frame -o x.pdb", "chemistry"])
def test_a_topology_without_a_trajectory_is_a_usage_error(adk: Adk, command: str) -> None:
    """It has exit code 2, and no frame."""
    name, *options = command.split()
    assert run(name, adk.psf, *options).returncode == 2


COMMANDS = dict(every_command())


def _value_of(option: click.Option) -> str:
    """Return some value that the type of an option takes, or at least is a text."""
    return option.type.choices[0] if isinstance(option.type, click.Choice) else "1"


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_options_that_take_one_value_are_refused_twice(names: tuple[str, ...]) -> None:
    """With exit code 2 and a message that names the option, before anything else is checked."""
    command = COMMANDS[names]
    options = [param for param in command.params if isinstance(param, click.Option)]
    refused = [option for option in options if not may_be_repeated(option)]
    for option in refused:
        assert not option.multiple
        for spelling in option.opts:
            once = [spelling, *[_value_of(option)] * (0 if option.is_flag else option.nargs)]
            with pytest.raises(click.UsageError) as error:
                command.make_context(names[-1], [*once, *once])
            assert error.value.exit_code == 2
            assert max(option.opts, key=len) in error.value.message
    for option in options:
        # Those that may be repeated get all values, as a tuple, or are switches.
        assert option in refused or option.multiple or option.count or option.is_flag


@pytest.mark.parametrize(
    ("command", "option"), [("gyration", "--select"), ("contacts", "--other"), ("sasa", "--select")]
)
def test_the_message_says_how_selections_are_joined(adk: Adk, command: str, option: str) -> None:
    """The last selection alone is never taken, also where spellings differ."""
    given = ["--select", "name CA", option, "resid 1", f"{option}=resid 2"]
    arguments = [command, str(adk.psf), str(adk.xtc), *given]
    with raises(click.UsageError):
        commands.main(arguments, standalone_mode=False)


def test_opposite_switches_exclude_each_other() -> None:
    """`--double --single` is no `--single`."""
    with raises(click.UsageError):
        COMMANDS[("convert",)].make_context("convert", ["a", "b.trr", "--double", "--single"])


def test_help_is_shown_whatever_else_is_given() -> None:
    """Also beside an option that is given twice."""
    with pytest.raises(click.exceptions.Exit):
        COMMANDS[("gyration",)].make_context(
            "gyration", ["--select", "a", "--select", "b", "--help"]
        )
