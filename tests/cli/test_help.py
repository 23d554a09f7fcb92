"""Help texts name options that the command line has, and nothing of Python."""

import re
from collections.abc import Iterator

import click
import pytest
from trajet.cli.group import commands

# Options of other commands that a help text explains.
OF_OTHERS = {
    "advise": {"--report"},
    "store profile": {"--topology", "--trajectory", "--profile"},
    "bench load": {"--oversubscribe"},
    "bench scaling": {"--oversubscribe"},
    "bench scheduler": {"--oversubscribe"},
}
PYTHON = re.compile(
    r"\b\w+=(?:True|False|None)\b|\b(?:traj|tj|np|selection|result|trajectory)\.\w+\(|\b\w+\(\)"
)


def _pages(
    group: click.Group = commands, names: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is not a group, with its name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _pages(command, (*names, name))
        elif command is not None:
            yield " ".join((*names, name)), command


PAGES = dict(_pages())


@pytest.mark.parametrize("name", PAGES)
def test_help_names_options_of_its_command(name: str) -> None:
    """Not names of Python's parameters, nor options that there are not."""
    command = PAGES[name]
    text = " ".join(command.get_help(click.Context(command, info_name=name)).split())
    options = [param for param in command.params if isinstance(param, click.Option)]
    own = {spelling for param in options for spelling in (*param.opts, *param.secondary_opts)}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
    assert named <= own | OF_OTHERS.get(name, set()) | {"--help"}
    assert not PYTHON.findall(text)
    # Parameters of functions are written with underscores, options with hyphens.
    parameters = {param.name for param in options if param.name and "_" in param.name}
    assert not {word for word in parameters if re.search(rf"(?<![\w-]){word}\b", text)}
