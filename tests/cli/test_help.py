"""Help texts name options that the command line has, and nothing of Python."""

import re
import sys
from pathlib import Path

import click
import pytest
from helpers.commands import execute, succeed
from helpers.help_pages import SNAPSHOT, every_command, help_of, more_of
from trajet.cli.command import LeveledCommand

TESTS = Path(__file__).parents[1]

# Options of other commands that a help text explains.
OF_OTHERS = {
    "advise": {"--report"},
    "store profile": {"--topology", "--trajectory", "--profile"},
    "store publish": {"--select"},
    "bench": {"--oversubscribe"},
    "bench storage": {"--ranks", "--storage"},
}
PYTHON = re.compile(
    r"\b\w+=(?:True|False|None)\b|\b(?:traj|tj|np|selection|result|trajectory)\.\w+\(|\b\w+\(\)"
)
PAGES = {" ".join(names): command for names, command in every_command()}
LEVELED = {name: page for name, page in PAGES.items() if isinstance(page, LeveledCommand)}


@pytest.mark.parametrize("name", PAGES)
def test_help_names_options_of_its_command(name: str) -> None:
    """Not names of Python's parameters, nor options that there are not."""
    command = PAGES[name]
    text = " ".join(help_of(name, command, is_all=True).split())
    options = [param for param in command.params if isinstance(param, click.Option)]
    own = {spelling for param in options for spelling in (*param.opts, *param.secondary_opts)}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
    assert named <= own | OF_OTHERS.get(name, set()) | {"--help"}
    assert not PYTHON.findall(text)
    # Parameters of functions are written with underscores, options with hyphens.
    parameters = {param.name for param in options if param.name and "_" in param.name}
    assert not {word for word in parameters if re.search(rf"(?<![\w-]){word}\b", text)}


@pytest.mark.parametrize("name", PAGES)
def test_help_shows_an_example(name: str) -> None:
    """It can be copied; the first line is that of the usage."""
    _, _, text = help_of(name, PAGES[name]).partition("\n")
    assert re.search(rf"\btrajet {name}\b", text)


@pytest.mark.parametrize("group", ["", "store "])
def test_groups_list_their_commands(group: str) -> None:
    """All of them, and the whole program with an example."""
    text = "\n".join(succeed(*group.split(), "--help"))
    names = {name.removeprefix(group).split()[0] for name in PAGES if name.startswith(group)}
    assert names <= set(re.findall(r"^  ([a-z][a-z-]+)\b", text, re.MULTILINE))
    assert group or "example" in text.lower()


def test_help_texts_are_those_of_the_snapshot() -> None:
    """On both levels, in a new process: click keeps the help option of the first call."""
    script = [sys.executable, "-m", "helpers.help_pages"]
    printed = execute(*script, cwd=TESTS).stdout
    assert printed == SNAPSHOT.read_text(encoding="utf-8")
    more = {more_of(name, page) for name, page in LEVELED.items()}
    assert len(more) == 1


def test_help_of_an_analysis_fits_on_a_screen() -> None:
    """Help has at most 50 lines, with examples, and says where the other options are."""
    lines = help_of("rmsd", LEVELED["rmsd"]).splitlines()
    assert len(lines) <= 50
    assert any("trajet rmsd --help-all" in line for line in lines)
