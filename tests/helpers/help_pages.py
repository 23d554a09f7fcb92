"""Help texts of commands: in tests, `python -m helpers.help_pages > cli/help.txt` renews them."""

from collections.abc import Collection, Iterator
from pathlib import Path

import click
from trajet.cli.bench import storage
from trajet.cli.command import HELP_ALL, LeveledCommand
from trajet.cli.group import commands

SNAPSHOT = Path(__file__).parents[1] / "cli" / "help.txt"


def every_command(
    group: click.Group = commands, names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command that is not a group, with its names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command, (*names, name))
        else:
            yield (*names, name), command
    if group is commands:
        # The command `bench` hands over to it.
        yield ("bench", "storage"), storage


def help_of(name: str, command: click.Command, *, is_all: bool = False) -> str:
    """Return what `--help` or `--help-all` prints on a terminal of 100 columns."""
    trajet = click.Context(commands, info_name="trajet", **commands.context_settings)
    context = click.Context(command, trajet, info_name=name, terminal_width=100)
    context.meta[HELP_ALL] = is_all
    return command.get_help(context)


def more_of(name: str, command: click.Command) -> str:
    """Return the lines that only `--help-all` prints."""
    known = help_of(name, command).splitlines()
    return _without(help_of(name, command, is_all=True), known)


def snapshot() -> str:
    """Return the help texts of all commands; what analyses share is in that of `rmsd` alone."""
    pages = {" ".join(names): command for names, command in every_command()}
    analyses = [name for name, page in pages.items() if isinstance(page, LeveledCommand)]
    texts = {name: help_of(name, page) for name, page in pages.items()}
    shared = set.intersection(*(set(texts[name].splitlines()) for name in analyses)) - {
        "",
        "Options:",
    }
    for name in set(analyses) - {"rmsd"}:
        texts[name] = _without(texts[name], shared)
    texts["rmsd"] += f"\n\n$ trajet rmsd --help-all\n{more_of('rmsd', pages['rmsd'])}"
    return "\n\n".join(f"$ trajet {name} --help\n{text}" for name, text in texts.items()) + "\n"


def _without(text: str, lines: Collection[str]) -> str:
    """Return a text without some lines."""
    return "\n".join(line for line in text.splitlines() if line not in lines).rstrip()


if __name__ == "__main__":
    print(snapshot(), end="")
