"""Options of `trajet view` for one member of an ensemble."""

from collections.abc import Sequence

import click

from trajet.cli.pools import Decorated
from trajet.members import Member
from trajet.members.ensemble import ensemble_of
from trajet.members.rows import Key
from trajet.trajectory import OpenOptions

# Members that an error names.
_SHOWN = 8
_OPTIONS = (
    click.option(
        "--members",
        metavar="TABLE",
        help="Instead of FILE...: a table of members, or a pattern of their paths, as"
        " trajet.ensemble takes them.",
    ),
    click.option(
        "--member",
        "keys",
        multiple=True,
        metavar="KEY=VALUE",
        help="The member of --members that is shown, such as replica=2. May be repeated.",
    ),
)


def options(command: Decorated) -> Decorated:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen_member(
    table: str | None, keys: Sequence[str], files: Sequence[str], how: OpenOptions
) -> Member | None:
    """Return the only member that has some keys; None if there are files instead of a table.

    Parameters
    ----------
    table
        Path of a table, or a pattern.
    keys
        Texts KEY=VALUE.
    files
        The files of the command.
    how
        Options of `trajet.open`.

    Raises
    ------
    UsageError
        If no member, or several, have these keys; or if there are files and a table, or neither.
    """
    if table is None:
        if keys or not files:
            raise click.UsageError("give FILE..., or --members with a table of members")
        return None
    if files:
        raise click.UsageError("--members names the files: leave FILE... out")
    members = ensemble_of(table, None, how)
    wanted = dict(_parsed(key, members.keys) for key in keys)
    found = [
        member
        for member in members
        if all(_is_value(member.keys[name], value) for name, value in wanted.items())
    ]
    if len(found) == 1:
        return found[0]
    some = "; ".join(member.label for member in (found or members.members)[:_SHOWN])
    raise click.UsageError(
        f"--member: {len(found) or 'none'} of the {len(members)} members"
        f" {'has' if len(found) < 2 else 'have'} these keys, and one is shown: choose from {some}"
        + ("; …" if len(found or members.members) > _SHOWN else "")
    )


def _parsed(text: str, known: Sequence[str]) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or name not in known:
        raise click.UsageError(
            f"--member {text}: write KEY=VALUE, with one of the keys {', '.join(known)}"
        )
    return name, value


def _is_value(key: Key, text: str) -> bool:
    """Return whether a text is the value of a key: "300.50" is that of the number 300.5."""
    if isinstance(key, str):
        return key == text
    try:
        return float(text) == key
    except ValueError:
        return False
