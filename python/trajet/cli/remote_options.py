"""Options of commands that read objects in remote storage."""

import functools
from collections.abc import Callable, Iterator
from typing import cast

import click

from trajet._trajet import DEFAULT_CONNECTIONS
from trajet.cli.options import RemoteOptions
from trajet.cli.pools import Decorated
from trajet.remote import StorageOptions, is_secret

# The parameters of the options.
NAMES = ("connections", "allow_http", "storage_options")
_CLIENT = "client_options"


def _storage_options(
    _: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> StorageOptions | None:
    """Return options of the form KEY=VALUE by key; those of `client_options` below that key.

    Raises
    ------
    BadParameter
        If one is of another form, is given twice or is a secret, which other users of the machine
        could read. The message does not quote the value.
    """
    found: dict[str, object] = {}
    client: dict[str, object] = {}
    for one in given:
        key, equals, value = one.partition("=")
        section, dot, name = key.partition(".")
        is_client = dot and section == _CLIENT and name
        if not equals or not key or (dot and not is_client) or key == _CLIENT:
            raise click.BadParameter(
                f"{key!r}: write KEY=VALUE, such as region=eu-west-1, or {_CLIENT}.timeout=30s",
                param=param,
            )
        if is_secret(key, value):
            raise click.BadParameter(
                f"{key} is a secret, or may hold one, and other users of this machine can read"
                " command lines: set the variable of the environment instead, such as"
                " AWS_SECRET_ACCESS_KEY",
                param=param,
            )
        entries, name = (client, name) if is_client else (found, key)
        if name in entries:
            raise click.BadParameter(f"{key} is given twice", param=param)
        entries[name] = value
    if client:
        found[_CLIENT] = client
    return found or None


_OPTIONS = (
    click.option(
        "--connections",
        type=click.IntRange(1, 1024),
        default=DEFAULT_CONNECTIONS,
        show_default=True,
        metavar="N",
        help="Requests to remote storage that wait at the same time.",
    ),
    click.option("--allow-http", is_flag=True, help="Read http:// URLs, which are not encrypted."),
    click.option(
        "--storage-option",
        "storage_options",
        multiple=True,
        callback=_storage_options,
        metavar="KEY=VALUE",
        help="An option of the remote storage, such as region=eu-west-1, endpoint=URL,"
        " skip_signature=true (public buckets) or client_options.timeout=30s. May be repeated."
        " Credentials are taken from the environment.",
    ),
)


def options(command: Decorated) -> Decorated:
    """Add the options to a command, which gets their values as `remote`."""

    @functools.wraps(command)
    def with_remote(**values: object) -> object:
        own = cast(RemoteOptions, {name: values.pop(name) for name in NAMES})
        return command(**values, remote=own)

    made: Callable[..., object] = with_remote
    for option in reversed(_OPTIONS):
        made = option(made)
    return cast(Decorated, made)


def arguments_of(how: RemoteOptions) -> Iterator[str]:
    """Yield the arguments of a command line that has these values of the options."""
    yield f"--connections={how['connections']}"
    if how["allow_http"]:
        yield "--allow-http"
    for key, value in (how["storage_options"] or {}).items():
        entries = value.items() if isinstance(value, dict) else [("", value)]
        for name, text in entries:
            yield f"--storage-option={key}{'.' if name else ''}{name}={text}"
