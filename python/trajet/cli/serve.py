"""`trajet serve`: serves files and stores over HTTP."""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from trajet import signals
from trajet._trajet import FORMATS, MissingPackageError
from trajet.cli import options
from trajet.cli.command import command
from trajet.cli.translation import error_line
from trajet.formats import STRUCTURE_SUFFIXES
from trajet.quoting import escaped
from trajet.remote import is_url, name_of

if TYPE_CHECKING:
    from trajet import server

# The variable that holds a token of the user's own.
TOKEN = "TRAJET_TOKEN"
# Lines of what is served that are printed.
_SHOWN = 8
# Endings of files of frames without a topology.
_TRAJECTORIES = {
    suffix for info in FORMATS.values() if not info.has_topology for suffix in info.suffixes
}
# Seconds after the end within which a thread that waits for storage is left behind.
_END = 5.0


@command()
@click.argument("paths", metavar="STORE|FILES...", nargs=-1, required=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Port. Default: a free one.",
)
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    metavar="IP",
    help="Address to listen on; 0.0.0.0 for all of this machine.",
)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    help="A further name by which requests call this server. May be repeated.",
)
@options.quiet
def serve(
    paths: tuple[str, ...], port: int, address: str, host_names: tuple[str, ...], quiet: bool
) -> None:
    """Serve trajectories over HTTP, read-only.

    Another trajet opens the files by their URLs and fetches only the bytes that an analysis needs.
    Viewers that speak the protocol of MDsrv (NGL, 3Dmol) fetch single frames of chosen atoms, in
    any format that trajet reads. A store shows its data sets (NAME), its tags (NAME@TAG) and their
    files.

    Only programs of this machine reach the server, and only with its token, which is printed once
    and changes with each start. Set the environment variable TRAJET_TOKEN (at least 16 letters,
    digits, - or _) to choose it; it is not printed then. From another machine, forward the port:
    ssh -L PORT:127.0.0.1:PORT THIS_MACHINE. With --address, others reach the server directly:
    token and data then travel unencrypted.

    Other files, and paths of this machine, are in no answer. Ctrl-C ends the command. It needs
    pip install 'trajet[serve]'.

    \b
    Examples:
      trajet serve top.gro run.xtc
      trajet serve md --port 8765
      trajet serve run.xtc --address 0.0.0.0 --host-name md.example.org
    """
    try:
        from trajet import server
    except ImportError as error:
        raise MissingPackageError(
            f"trajet serve: {error.name} is not installed: pip install 'trajet[serve]'"
        ) from error
    for path in paths:
        if is_url(path):
            raise click.UsageError(
                f"{name_of(path)}: is in remote storage, and trajet serves files of this machine:"
                " programs can open it there"
            )
    table = server.ServedNames([Path(path) for path in paths])
    token = os.environ.get(TOKEN)
    if token is not None:
        server.check_token(token, TOKEN)
    elif quiet:
        raise click.UsageError(f"--quiet prints no token: set {TOKEN} to one of your own")
    try:
        at = server.Address(address, port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(f"cannot listen on {address} port {port}: {reason}") from error
    access = server.Access(
        token or server.new_token(),
        {*at.names(), *(name.lower() for name in host_names)},
        any_address=at.is_any,
    )

    def started() -> None:
        if not quiet:
            _introduce(table, at, access.token if token is None else None)
        if not at.is_loopback:
            click.echo(
                f"trajet: note: {at.host} can be reached from other machines: token and data are"
                " not encrypted, so that others can read them on the network; use --address"
                " 127.0.0.1 with ssh -L, or with a proxy that has TLS",
                err=True,
            )

    def failed(error: Exception) -> None:
        click.echo(f"trajet: {error_line(error)}", err=True)

    app = server.App(table, failed)
    done = server.serve(
        app, access, at, headers=server.FILE_HEADERS, failed=failed, started=started
    )
    if not quiet:
        click.echo(
            f"ended; requests: {done.n_requests}, refused: {done.n_refused}, sent:"
            f" {done.n_bytes / 1e6:.1f} MB"
        )
    signals.end_within(_END)


def _introduce(table: "server.ServedNames", at: "server.Address", token: str | None) -> None:
    """Print what is served, and its addresses; a token of None is the user's own."""
    secret = f"${TOKEN}" if token is None else token
    files = table.sizes()
    base = f"http://trajet:{secret}@{at.host}:{at.port}/file"
    size = sum(files.values())
    host = f"{at.host}:{at.port}"
    click.echo(f"serving {len(files)} files of {size / 1e6:.1f} MB, read-only; Ctrl-C ends it")
    lines = [f"  {base}/{quote(name)}" for name in files]
    lines += [f"  for viewers: {name}" for name in table.datasets()]
    for line in lines[:_SHOWN]:
        click.echo(escaped(line))
    if len(lines) > _SHOWN:
        click.echo(f"  … and {len(lines) - _SHOWN} more, listed by http://{host}/{secret}/dir/")
    if opened := _opened_together(list(files)):
        # Lines to be pasted: nothing stands before them.
        click.echo("open it in a shell, or in Python:")
        for line in _commands(base, opened):
            click.echo(line)
    click.echo(f"base address for NGL (MdsrvDatasource) and 3Dmol: http://{host}/{secret}/")
    if at.is_loopback:
        name = socket.gethostname()
        click.echo(f"from another machine: ssh -L {at.port}:{at.host}:{at.port} {name}")


def _opened_together(names: list[str]) -> list[str]:
    """Return the names of the topology, if one is found, and of the first trajectory.

    The topology is the file of the same name, or the only other file. Without trajectories, return
    the first structure, if there is one.
    """
    suffixes = {name: Path(name).suffix.lower() for name in names}
    trajectory = next((name for name in names if suffixes[name] in _TRAJECTORIES), None)
    if trajectory is None:
        return [name for name in names if suffixes[name] in STRUCTURE_SUFFIXES][:1]
    others = [name for name in names if suffixes[name] not in {*_TRAJECTORIES, ".ndx"}]
    stem = os.path.splitext(trajectory)[0]
    same = [name for name in others if os.path.splitext(name)[0] == stem]
    topologies = same or (others if len(others) == 1 else [])
    return [*topologies[:1], trajectory]


def _commands(base: str, names: list[str]) -> list[str]:
    """Return a line of a shell and one of Python that open files below a URL.

    A token of the user's own is taken from the environment, by either.
    """
    quoted = [quote(name) for name in names]
    urls = " ".join(f'"{base}/{name}"' for name in quoted)
    url, imports = f'"{base}"', "import trajet as tj"
    if f"${TOKEN}" in base:
        url = 'f"' + base.replace(f"${TOKEN}", f"{{os.environ['{TOKEN}']}}") + '"'
        imports = "import os, trajet as tj"
    is_alone = len(names) == 1 and Path(names[0]).suffix.lower() in _TRAJECTORIES
    opened = ", ".join(
        [*(["None"] if is_alone else []), *(f'f"{{url}}/{name}"' for name in quoted)]
    )
    return [
        f"trajet info --allow-http {urls}",
        f"{imports}; url = {url}; traj = tj.open({opened}, allow_http=True)",
    ]


COMMANDS = (serve,)
