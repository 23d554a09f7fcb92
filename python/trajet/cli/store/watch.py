"""`trajet store watch`: trajectories that are divided as they arrive."""

import time
from pathlib import Path

import click

from trajet.cli import options
from trajet.cli.options import progress
from trajet.cli.store import arguments
from trajet.cli.tables import escaped, one_line
from trajet.store.catalog import Store
from trajet.store.profile import Profile
from trajet.store.watch import Watch


@click.command()
@click.argument("watched", metavar="FOLDER")
@click.option("--store", "folder", required=True, metavar="STORE", help="Made where there is none.")
@arguments.profile
@options.amount(
    "--settle", 60.0, "How long a file must not have changed.", least=0, metavar="SECONDS"
)
@options.amount("--interval", 10.0, "From one look to the next.", least=0.01, metavar="SECONDS")
@click.option("--once", is_flag=True, help="Look twice, --settle apart, and end.")
@options.truncated
@options.threads
@options.quiet
def watch(
    watched: str,
    folder: str,
    profile: str | None,
    settle: float,
    interval: float,
    once: bool,
    allow_truncated_tail: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Divide trajectories as they arrive in FOLDER.

    A trajectory (.xtc, .trr, .dcd, .nc, .h5md) that has not changed for a while becomes the data
    set of its name, run.xtc the data set run. Its topology is the file of the same name (run.tpr,
    .psf, .prmtop, .parm7, .gro, .pdb), or else the only one in FOLDER. A file that has grown after
    that is appended. Any other file is left alone, and so are folders in FOLDER. What fails is said
    once, and tried again when the file or its topology has changed: so is a file that ends inside a
    frame, unless --allow-truncated-tail takes its whole frames. Ctrl-C ends it.

    \b
    Examples:
      trajet store watch /scratch/md --store md
      trajet store watch /scratch/md --store md --profile my.toml --settle 600
      trajet store watch /scratch/md --store md --once --settle 0
    """
    chosen = None if profile is None else Profile.load(profile)
    if not Path(watched).is_dir():
        raise NotADirectoryError(f"{watched}: there is no such folder to watch")
    store_at = Store(folder, create=True)
    at = Watch(store_at, Path(watched), settle, chosen, threads, allow_truncated_tail)
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
    """Look once and say what came; return whether something failed."""
    failed = False
    with progress("divide", " frames", quiet=quiet) as show:
        for arrival in at.look(show):
            if arrival.error is not None:
                failed = True
                click.echo(f"trajet: {one_line(arrival.error)}", err=True)
            elif not quiet:
                said = f"{arrival.path}: {arrival.frames} frames added to {arrival.name}"
                click.echo(escaped(said))
    return failed
