"""Commands for the data that come with trajet: `trajet sample` and `trajet demo`."""

import errno
import filecmp
import os
import shlex
import shutil
from pathlib import Path

import click

from trajet import output, samples
from trajet.cli.command import command
from trajet.cli.from_signature import command_of


@command()
@click.argument("name", required=False)
@click.argument("folder", required=False, type=click.Path(path_type=Path), default=".")
@click.option("--force", is_flag=True, help="Replace other files of these names.")
def sample(name: str | None, folder: Path, force: bool) -> None:
    """Copy or list small trajectories that come with trajet.

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
    for path in _copied(known[name], folder, force=force):
        click.echo(path)


@command()
@click.argument("folder", required=False, type=click.Path(path_type=Path), default="trajet-demo")
def demo(folder: Path) -> None:
    """Run an analysis of a simulation that comes with trajet.

    Copies a peptide in water into FOLDER, prints a command and runs it: the RMSD of the backbone,
    and of a phenol beside it. FOLDER has a plot, a table and a report then; the command can be run
    again and changed.

    \b
    Examples:
      trajet demo
      trajet demo FOLDER
    """
    topology, trajectory = _copied(samples.peptide_in_water(), folder)
    words = [
        str(topology),
        str(trajectory),
        "--repair",
        "protein",
        "--select",
        "backbone",
        "--groups",
        "resname IPH and not name H*",
        "--plot",
        str(folder / "rmsd.png"),
        "-o",
        str(folder / "rmsd.csv"),
        "--report",
        str(folder / "report.json"),
    ]
    click.echo(f"trajet rmsd {shlex.join(words)}")
    command_of("rmsd").main(words, prog_name="trajet rmsd", standalone_mode=False)


def _copied(
    chosen: samples.Sample | samples.SampleEnsemble,
    folder: Path,
    *,
    force: bool = False,
) -> tuple[Path, ...]:
    """Copy the files of a sample into a folder, unless they are there; return their paths there.

    Raises
    ------
    FileExistsError
        If another file has the name of one of them, without `force`.
    """
    targets = tuple(folder / path.relative_to(chosen.folder) for path in chosen.files)
    missing: list[tuple[Path, Path]] = []
    for path, target in zip(chosen.files, targets, strict=True):
        if target.is_file() and filecmp.cmp(path, target, shallow=False):
            continue
        if not force and os.path.lexists(target):
            advice = "exists and is not of the sample: remove it, or choose another folder"
            raise FileExistsError(errno.EEXIST, advice, str(target))
        missing.append((path, target))
    for path, target in missing:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Not written through: a link may lead to a file that is no sample.
        if target.is_symlink():
            target.unlink()
        with output.replacing_file(target) as own:
            shutil.copyfile(path, own)
    return targets


COMMANDS = (sample, demo)
