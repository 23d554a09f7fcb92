"""`trajet store mount`: mounts a store on a folder."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

import click

from trajet.cli import options
from trajet.cli.command import command
from trajet.quoting import escaped
from trajet.store.catalog import Store


@command()
@click.argument("paths", metavar="[STORE] FOLDER", nargs=-1)
@click.option("--store", "folder", metavar="STORE", help="Instead of the first argument.")
@options.quiet
def mount(paths: tuple[str, ...], folder: str | None, quiet: bool) -> None:
    """Mount a store on a folder that every program can read.

    FOLDER must exist and be empty. While the command runs, FOLDER shows for each data set NAME the
    whole trajectory (NAME.xtc, or with the ending of the original's format), each tag
    (NAME@TAG.xtc), both decoded (NAME.dcd, NAME@TAG.dcd) and the topologies. The files are
    read-only and take no space: they are generated while they are read.

    Ctrl-C, `kill` or `umount FOLDER` ends the command; programs that still read get I/O errors. A
    file that cannot be read, because a tier is missing, gives an I/O error, too, and a line here
    names the reason.

    The command needs FUSE: Linux, /dev/fuse, and, unless you are root, the package fuse3.

    \b
    Examples:
      mkdir shown
      trajet store mount md shown
      gmx check -f shown/run.xtc
      vmd shown/run@protein.gro shown/run@protein.dcd
    """
    if len(paths) != (2 if folder is None else 1):
        raise click.UsageError("give the store and the folder to mount it on: STORE FOLDER")
    *given, target = paths
    folder = given[0] if folder is None else folder

    def ready() -> None:
        if not quiet:
            click.echo(f"{target}: shows {folder}; Ctrl-C ends it")

    def say(message: str) -> None:
        click.echo(f"trajet: {escaped(' '.join(message.split()))}", err=True)

    # Ctrl-C is the normal end of the command.
    with _ended_by_signals(), contextlib.suppress(KeyboardInterrupt):
        Store(folder).mount(target, ready=ready, say=say)
    if not quiet:
        click.echo(f"{target}: unmounted")


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make signals end a mount in order, a second signal too: a killed process leaves it broken."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # nohup makes a process ignore SIGHUP.
    heeded = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
