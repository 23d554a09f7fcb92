"""`trajet store mount`: a store as a folder."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

import click

from trajet.cli import options
from trajet.cli.tables import escaped
from trajet.store.catalog import Store


@click.command()
@click.argument("places", metavar="[STORE] FOLDER", nargs=-1)
@click.option("--store", "folder", metavar="STORE", help="Instead of the first argument.")
@options.quiet
def mount(places: tuple[str, ...], folder: str | None, quiet: bool) -> None:
    """Show a store as a folder that every program can read.

    FOLDER must be there and empty. While this runs, it has for each data set NAME the whole
    trajectory as if it had never been divided (NAME.xtc, or as the original's format is called),
    each tag (NAME@TAG.xtc), both decoded (NAME.dcd, NAME@TAG.dcd) and the topologies. The files
    are for reading only, and are not there: what is read of them is put together on the way.

    It ends by Ctrl-C, `kill`, or `umount FOLDER`. Whoever still reads then gets I/O errors. A file
    that cannot be read, because a tier is gone, is an I/O error too, and a line here says why.

    It needs FUSE: Linux, /dev/fuse, and, unless you are root, the package fuse3.

    \b
    Examples:
      mkdir shown
      trajet store mount md shown
      gmx check -f shown/run.xtc
      vmd shown/run@protein.gro shown/run@protein.dcd
    """
    if len(places) != (2 if folder is None else 1):
        raise click.UsageError("give the store and the folder that is to show it: STORE FOLDER")
    *given, target = places
    folder = given[0] if folder is None else folder

    def ready() -> None:
        if not quiet:
            click.echo(f"{target}: shows {folder}; Ctrl-C ends it")

    def say(message: str) -> None:
        click.echo(f"trajet: {escaped(' '.join(message.split()))}", err=True)

    # Ctrl-C is the way in which it is meant to end.
    with _ended_by_signals(), contextlib.suppress(KeyboardInterrupt):
        Store(folder).mount(target, ready=ready, say=say)
    if not quiet:
        click.echo(f"{target}: unmounted")


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Have signals end a mount, the second one too: a process that ends at once leaves it dead."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # nohup lets a process go on without its terminal.
    heeded = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
