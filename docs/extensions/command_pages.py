"""Sphinx extension: a page for each command of `trajet`, made of the commands themselves."""

import inspect
import re
from collections.abc import Iterator

import click
import generated_pages
from helpers.help_pages import every_command
from sphinx.application import Sphinx
from trajet.cli.command import LeveledCommand, Rows
from trajet.cli.group import commands

# Pages that help texts name.
_PAGE_NAME = re.compile(r"docs/([a-z-]+\.md)")
# Options that texts name, such as --whole.
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
# Before lines that click does not wrap.
_VERBATIM = "\b\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(_: Sphinx) -> None:
    """Write the pages of all commands, and the list of them."""
    pages = {names: command for names, command in every_command()}
    files = {names: f"commands/{'-'.join(names)}.md" for names in pages}
    for names, command in pages.items():
        generated_pages.write(files[names], "\n".join(_page(" ".join(names), command)) + "\n")
    generated_pages.write("commands.md", "\n".join(_list(pages)) + "\n")
    generated_pages.remove_others("commands/*.md", set(files.values()))


def _list(pages: dict[tuple[str, ...], click.Command]) -> Iterator[str]:
    """Yield the lines of the list of commands."""
    yield "# Command line\n"
    yield from _described(commands.help or "")
    yield "\n| command | what it does |\n|---|---|"
    for names, command in sorted(pages.items()):
        summary = _escaped(command.get_short_help_str(200)).replace("|", r"\|")
        yield f"| [`trajet {' '.join(names)}`](commands/{'-'.join(names)}.md) | {summary} |"
    yield "\n```{toctree}\n:hidden:\n"
    for names in sorted(pages):
        yield f"trajet {' '.join(names)} <commands/{'-'.join(names)}>"
    yield "```"


def _page(name: str, command: click.Command) -> Iterator[str]:
    """Yield the lines of the page of a command."""
    context = click.Context(command, info_name=f"trajet {name}", terminal_width=100)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"# trajet {name}\n"
    yield f"```text\ntrajet {name} {usage}\n```\n"
    yield from _described(command.help or "")
    for title, rows in _options(command, context).items():
        yield f"\n## {title}\n"
        for option, text in rows:
            yield f"`{option}`\n: {_escaped(text)}\n"
    if isinstance(command, LeveledCommand):
        yield "\n## Arguments and units\n"
        yield f"{_escaped(command.more_epilog)}\n"
    if command.epilog:
        yield _escaped(command.epilog)


def _options(command: click.Command, context: click.Context) -> Rows:
    """Return the options of a command with their texts, by sections."""
    if isinstance(command, LeveledCommand):
        rows = command.rows(context)
    else:
        options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
        records = [option.get_help_record(context) for option in options]
        rows = {"Options": [record for record in records if record is not None]}
    return {title: options for title, options in rows.items() if options}


def _described(text: str) -> Iterator[str]:
    """Yield a help text as Markdown: paragraphs, and verbatim lines as code."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not paragraph.startswith(_VERBATIM):
            yield _escaped(" ".join(paragraph.split())) + "\n"
            continue
        title, _, lines = paragraph.removeprefix(_VERBATIM).partition("\n")
        if title.endswith(":"):
            yield f"{title}\n\n```sh\n{inspect.cleandoc(lines)}\n```\n"
        else:
            yield f"```text\n{inspect.cleandoc(paragraph.removeprefix(_VERBATIM))}\n```\n"


def _escaped(text: str) -> str:
    """Return a text with the signs of Markdown escaped but in code, and links to pages."""
    parts = re.split(r"(`[^`]*`)", _OPTION.sub(r"`\1`", text) if "`" not in text else text)
    escaped = "".join(
        part if part.startswith("`") else re.sub(r"([\\*_<>\[\]{}#$~])", r"\\\1", part)
        for part in parts
    )
    return _PAGE_NAME.sub(r"[\1](/docs/\1)", escaped)
