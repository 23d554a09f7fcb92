"""`trajet store watch`: adds trajectories as they arrive in a folder."""

import time
from pathlib import Path

import click

from trajet.cli import options
from trajet.cli.command import command
from trajet.cli.open_options import opening
from trajet.cli.store import arguments
from trajet.cli.terminal import progress
from trajet.cli.translation import error_line
from trajet.quoting import escaped
from trajet.store.catalog import Store
from trajet.store.profile import Profile
from trajet.store.watch import Watch
from trajet.trajectory import OpenOptions


@command()
@click.argument("watched", metavar="FOLDER")
@click.option("--store", "folder", required=True, metavar="STORE", help="Created if needed.")
@arguments.profile
@options.amount(
    "--settle", 60.0, "Time for which a file must not have changed.", least=0, metavar="SECONDS"
)
@options.amount("--interval", 10.0, "Time between two looks.", least=0.01, metavar="SECONDS")
@click.option("--once", is_flag=True, help="Look twice, --settle apart, and exit.")
@opening("allow_truncated_tail", "threads")
@options.quiet
def watch(
    watched: str,
    folder: str,
    profile: str | None,
    settle: float,
    interval: float,
    once: bool,
    how: OpenOptions,
    quiet: bool,
) -> None:
    """Add trajectories to a store as they arrive in FOLDER.

    A trajectory (.xtc, .trr, .dcd, .nc, .h5md) that has not changed for a while is added: run.xtc
    becomes the data set run. Its topology is the file of the same name (run.tpr, .psf, .prmtop,
    .parm7, .gro, .pdb), or else the only topology in FOLDER. New frames of a file that has grown
    are appended. Other files and subfolders are ignored. An error is printed once, and the file is
    tried again when it or its topology has changed. A file that ends inside a frame is an error,
    unless --allow-truncated-tail is given. Ctrl-C ends the command.

    \b
    Examples:
      trajet store watch /scratch/md --store md
      trajet store watch /scratch/md --store md --profile my.toml --settle 600
      trajet store watch /scratch/md --store md --once --settle 0
    """
    chosen = None if profile is None else Profile.load(profile)
    if not Path(watched).is_dir():
        raise NotADirectoryError(f"{watched}: no such folder")
    store_at = Store(folder, create=True)
    at = Watch(store_at, Path(watched), settle, chosen, how.threads, how.allow_truncated_tail)
    failed = _look(at, quiet=quiet)
    if once:
        if settle:
            time.sleep(settle)
            failed |= _look(at, quiet=quiet)
        if failed:
            raise click.exceptions.Exit(1)
        return
    while True:
        time.sleep(min(interval, settle) or interval)
        _look(at, quiet=quiet)


def _look(at: Watch, *, quiet: bool) -> bool:
    """Look once and print the outcomes; return whether something failed."""
    failed = False
    with progress("divide", " frames", quiet=quiet) as show:
        for arrival in at.look(show):
            if arrival.error is not None:
                failed = True
                click.echo(f"trajet: {error_line(arrival.error)}", err=True)
            elif not quiet:
                line = f"{arrival.path}: {arrival.frames} frames added to {arrival.name}"
                click.echo(escaped(line))
    return failed
