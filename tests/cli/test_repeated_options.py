"""Options that are given twice: all values count, or the command line is refused."""

import click
import pytest
from helpers.golden_files import Adk
from helpers.help_pages import every_command
from helpers.messages import raises
from trajet.cli.command import may_be_repeated
from trajet.cli.group import commands

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
