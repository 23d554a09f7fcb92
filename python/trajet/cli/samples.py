"""The command for the data that come with trajet: `trajet sample`."""

import errno
import os
import shutil
from pathlib import Path

import click

from trajet import samples
from trajet.cli.command import command


@command()
@click.argument("name", required=False)
@click.argument("folder", required=False, type=click.Path(path_type=Path), default=".")
@click.option("--force", is_flag=True, help="Replace existing files.")
def sample(name: str | None, folder: Path, force: bool) -> None:
    """Copy a small trajectory that comes with trajet, or list all of them.

    Without NAME, prints the name and the subject of each. With it, copies the files into FOLDER, by
    default the current folder, and prints the paths of the copies.

    \b
    Examples:
      trajet sample
      trajet sample peptide_in_water
      trajet sample peptide_variants replicas
    """
    known = {made.name: made for made in (function() for function in samples.ALL)}
    if name is None:
        width = max(map(len, known))
        for one in known.values():
            click.echo(f"{one.name:<{width}}  {one.summary}")
        return
    if name not in known:
        raise click.UsageError(f"no sample {name!r}: choose {', '.join(known)}")
    targets = {path: folder / path.relative_to(known[name].folder) for path in known[name].files}
    if not force and (there := [path for path in targets.values() if os.path.lexists(path)]):
        raise FileExistsError(errno.EEXIST, "exists: --force replaces it", str(there[0]))
    for path, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        click.echo(target)


COMMANDS = (sample,)
