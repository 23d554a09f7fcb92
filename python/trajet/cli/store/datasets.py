"""Commands that change or copy data sets: `trajet store add | append | get | move | …`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from trajet.advise import in_bytes
from trajet.cli import options
from trajet.cli.command import Group
from trajet.cli.convert import say
from trajet.cli.open_options import REMOTE, open_files, opening
from trajet.cli.options import in_order
from trajet.cli.store import arguments, inspect
from trajet.cli.store.inspect import echo, exit_with_problems, say_entry
from trajet.cli.store.mount import mount
from trajet.cli.store.watch import watch
from trajet.cli.terminal import progress
from trajet.cli.translation import line_of
from trajet.conversion import convert
from trajet.dataset import split_path
from trajet.pools import shared
from trajet.remote import is_url, name_of
from trajet.store.catalog import Store
from trajet.store.entry import Divided
from trajet.store.profile import Profile
from trajet.trajectory import OpenOptions


@click.group(cls=Group)
def store() -> None:
    """Keep trajectories divided by tags, on several tiers.

    A store is a folder. The protein, lipids, water and so on of each trajectory are stored in files
    of their own, on the tiers that a profile names: often used atoms on fast storage, the others on
    cheap storage. All tags together give the original, in every bit that its format stores. Every
    analysis accepts STORE/NAME instead of a topology and a trajectory, and reads only the tags that
    it needs.

    Commands on a data set take STORE/NAME, or NAME with --store STORE.

    \b
    Examples:
      trajet store add md/run --topology top.gro --trajectory run.xtc
      trajet rmsd md/run --select "name CA"
      trajet store stats md/run
    """


@store.command(cls=arguments.Several)
@arguments.dataset()
@click.option(
    "--topology",
    required=True,
    metavar="FILE",
    help="A PSF, PDB, GRO, TPR, PRMTOP or mmCIF file, …",
)
@arguments.trajectories
@arguments.profile
@opening("continuous", "allow_truncated_tail", "format_options", "time_step", "atoms", "threads")
@options.quiet
def add(
    name: str,
    folder: str,
    topology: str,
    trajectories: tuple[str, ...],
    profile: str | None,
    how: OpenOptions,
    quiet: bool,
) -> None:
    """Divide a trajectory by tags and add it as the data set NAME.

    The store is created if needed. Every atom must be in exactly one tag of the profile. This, and
    whether the formats of the tags can hold all fields, is checked before anything is written. FILE
    is not changed. If the command fails or is interrupted, NAME is not added.

    \b
    Examples:
      trajet store add md/run --topology top.gro --trajectory run.xtc
      trajet store add md/run --topology top.gro --trajectory run.part*.xtc --continuous
      trajet store profile > my.toml
      trajet store add md/run --topology top.gro --trajectory run.xtc --profile my.toml
      trajet store add run --store md --topology top.gro --trajectory run.xtc
    """
    chosen = None if profile is None else Profile.load(profile)
    opened = open_files(topology, in_order(trajectories), how, quiet=quiet)
    options.read_topology(opened, quiet=quiet)
    at = Store(folder, create=True)
    with progress("divide", " frames", quiet=quiet) as show:
        done = at.add(name, opened, profile=chosen, threads=how.threads, progress=show)
    if not quiet:
        echo(options.notes(opened, ()))
        _say_messages(done)
        say_entry(at, name)


@store.command(cls=arguments.Several)
@arguments.dataset()
@arguments.trajectories
@opening("allow_truncated_tail", "format_options", "time_step", "threads")
@options.quiet
def append(
    name: str,
    folder: str,
    trajectories: tuple[str, ...],
    how: OpenOptions,
    quiet: bool,
) -> None:
    """Append new frames to every tag of a data set.

    FILE is the original file, which has grown: its new frames are appended. Or FILE continues the
    original: all of its frames are appended.

    \b
    Examples:
      trajet store append md/run --trajectory run.xtc
      trajet store append md/run --trajectory run.part2.xtc
    """
    at = Store(folder)
    opened = open_files(None, in_order(trajectories), how, quiet=quiet)
    with progress("append", " frames", quiet=quiet) as show:
        done = at.append(name, opened, threads=how.threads, progress=show)
    if not quiet:
        _say_messages(done)
        click.echo(f"{name}: {done.n_frames} frames added, {at.show(name).n_frames} in all")


def _say_messages(done: Divided) -> None:
    echo([line_of(one) for one in done.messages])


@store.command()
@arguments.dataset(tags=True)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be repeated. Default: all.")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE|STORE/NAME",
    help="The ending of FILE selects the format. Without an ending: a data set.",
)
@options.allow_loss
@options.topology_out
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@options.threads
@opening(*REMOTE)
@options.quiet
def get(
    name: str,
    folder: str,
    tags_of_path: tuple[str, ...] | None,
    tags: tuple[str, ...],
    output: str,
    allow_loss: bool,
    topology_out: str | None,
    force: bool,
    threads: int | None,
    how: OpenOptions,
    quiet: bool,
) -> None:
    """Write a data set to a file, or copy a published one to a store.

    All tags, written in the format of the original, give the original: every integer, cell, time,
    step and field. With some tags, FILE has their atoms in the original order. A published data set
    is named by its URL; only the tags are read.

    Of a published data set, STORE/NAME is a copy with all its tags, every byte of which is compared
    with its checksum. If the command is interrupted, NAME is not added, and the same command goes
    on where it stopped; trajet store repair removes what was copied.

    \b
    Examples:
      trajet store get md/run -o run.xtc
      trajet store get md/run@protein,lipid -o part.xtc --topology-out part.gro
      trajet store get md/run --tag protein --tag lipid -o part.xtc
      trajet store get s3://bucket/md/run@protein -o protein.xtc
      trajet store get s3://bucket/md/run -o md/run
    """
    if is_url(output):
        raise click.UsageError(
            f"{name_of(output)}: is a URL, and the output is on this machine: for object storage,"
            " copy to STORE/NAME, and publish that (trajet store publish STORE/NAME URL)"
        )
    if is_url(folder) and not Path(output).suffix:
        if tags_of_path or tags or topology_out is not None or allow_loss or force:
            raise click.UsageError(
                f"{output}: has no ending, and is a data set, which is copied with all its tags:"
                " leave out tags, --topology-out, --allow-loss and --force, or give a file"
            )
        _download(f"{folder}/{name}", output, threads, how, quiet=quiet)
        return
    chosen = arguments.chosen_tags(tags_of_path, tags)
    if is_url(folder):
        wanted = "" if chosen is None else f"@{','.join(chosen)}"
        opened = open_files(f"{folder}/{name}{wanted}", [], how, quiet=quiet)
    else:
        opened = Store(folder).open(name, tags=chosen)
    with progress("get", " frames", quiet=quiet) as show:
        done = convert(
            opened,
            output,
            allow_loss=allow_loss,
            force=force,
            topology=topology_out,
            threads=threads,
            progress=show,
        )
    if not quiet:
        say(done)
        if topology_out is not None:
            click.echo(topology_out)


def _download(url: str, to: str, threads: int | None, how: OpenOptions, *, quiet: bool) -> None:
    """Copy a published data set to STORE/NAME."""
    folder, name, tags = split_path(to)
    if not folder or tags is not None:
        raise click.UsageError(f"{to}: name the copy as STORE/NAME, or give a file with an ending")
    at = Store(folder, create=True)
    with progress("get", "B", quiet=quiet) as show:
        at.download(
            url,
            name,
            storage_options=how.storage_options,
            allow_http=how.allow_http,
            connections=how.connections,
            threads=threads,
            progress=show,
        )
    if not quiet:
        say_entry(at, name)


@store.command()
@arguments.dataset()
@click.argument("url", metavar="URL")
@opening(*REMOTE)
@options.quiet
def publish(name: str, folder: str, url: str, how: OpenOptions, quiet: bool) -> None:
    """Copy a data set to object storage, for reading by URL.

    URL is that of the published data set: s3://bucket/md/run, gs:// or az://. Checksums are
    compared first. The files of tags are copied, and the manifest last: readers of URL have the old
    data set or the new one, also if the command is interrupted. Analyses accept URL and URL@TAG
    instead of a topology and a trajectory, and read only the tags that they need.

    \b
    Examples:
      trajet store publish md/run s3://bucket/md/run
      trajet rmsd s3://bucket/md/run@protein --select "name CA"
    """
    at = Store(folder)
    with progress("publish", "B", quiet=quiet) as show:
        done = at.publish(
            name,
            url,
            storage_options=how.storage_options,
            allow_http=how.allow_http,
            progress=show,
        )
    if not quiet:
        click.echo(f"{name}: {done.n_files} files ({in_bytes(done.size)}) in {done.url}")


@store.command()
@arguments.dataset(tags=True)
@click.option("--tag", metavar="TAG", help="The tag to move, instead of STORE/NAME@TAG.")
@click.option("--tier", required=True, metavar="TIER", help="The tier to move it to.")
@options.quiet
def move(
    name: str,
    folder: str,
    tags_of_path: tuple[str, ...] | None,
    tag: str | None,
    tier: str,
    quiet: bool,
) -> None:
    """Move a tag to another tier, without disturbing readers.

    The old files are replaced by links to the new ones, so that old paths remain valid.

    \b
    Examples:
      trajet store move md/run@lipid --tier slow
      trajet store move md/run --tag lipid --tier slow
    """
    chosen = arguments.chosen_tags(tags_of_path, () if tag is None else (tag,))
    if chosen is None or len(chosen) != 1:
        raise click.UsageError("name the tag to move: STORE/NAME@TAG or --tag TAG, one at a time")
    (tag,) = chosen
    at = Store(folder)
    with progress("move", "B", quiet=quiet) as show:
        at.move(name, tag, tier, progress=show)
    if not quiet:
        (kept,) = (kept for kept in at.show(name).tags if tag in (kept.tag.name, kept.tag.short))
        click.echo(f"{name}: {kept.tag.name} ({in_bytes(kept.size)}) is on {tier}")


@store.command()
@arguments.dataset()
@click.option("--yes", "-y", is_flag=True, help="Remove without a question.")
@options.quiet
def remove(name: str, folder: str, yes: bool, quiet: bool) -> None:
    """Remove a data set with all its files. The original is not changed.

    The command first prints the files to be removed, and whether the original files still exist and
    are unchanged (by size, head and tail). Then it asks; without a terminal it needs --yes.

    \b
    Examples:
      trajet store remove md/run
      trajet store remove md/run --yes
    """
    at = Store(folder)
    lines = list(_to_be_removed(at, name))
    if not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            raise click.UsageError(
                "\n".join([*lines, "nothing was removed: give --yes to remove it"])
            )
        for line in lines:
            click.echo(line, err=True)
        if not click.confirm(f"Remove {name}?", default=False, err=True):
            exit_with_problems([f"{name}: nothing was removed"])
        lines = []
    at.remove(name)
    if not quiet:
        echo([*lines, f"{name}: removed"])


def _to_be_removed(at: Store, name: str) -> Iterator[str]:
    """Yield lines on the files that `remove` deletes, and on the state of the original."""
    entry = at.show(name)
    size = in_bytes(entry.size)
    yield f"{name}: {entry.n_frames} frames of {entry.n_atoms} atoms, {size} in {at.folder}"
    for kept in entry.tags:
        files = f"{len(kept.paths)} file{'' if len(kept.paths) == 1 else 's'}"
        size = in_bytes(kept.size)
        yield f"  tag {kept.tag.name}: {kept.n_atoms} atoms, {size}, {files} on {kept.tag.tier}"
    originals = at.originals(name)
    for original in originals:
        yield f"  original {original.path} ({in_bytes(original.size)}): {original.state}"
    if any(original.state != "unchanged" for original in originals):
        yield "  this data set may be the only copy of these frames"


@store.command()
@arguments.dataset()
@click.option("--profile", required=True, metavar="FILE.toml", help="The new tiers and tags.")
@options.threads
@options.quiet
def retag(name: str, folder: str, profile: str, threads: int | None, quiet: bool) -> None:
    """Divide a data set again by another profile.

    The data are read from the store, not from the original. If the command fails or is interrupted,
    NAME is unchanged.

    \b
    Example:
      trajet store retag md/run --profile my.toml
    """
    at = Store(folder)
    with progress("retag", " frames", quiet=quiet) as show:
        done = at.retag(name, Profile.load(profile), threads=threads, progress=show)
    if not quiet:
        _say_messages(done)
        say_entry(at, name)


@store.command()
@arguments.folder
@options.quiet
def repair(folder: str, quiet: bool) -> None:
    """Find moved tiers, and remove files that killed runs left.

    Such files belong to no data set and only take space. Files of running processes are kept. Tiers
    inside of the store's folder are found after the store was moved.

    \b
    Example:
      trajet store repair --store md
    """
    shared.remove_leftovers()
    cleared = Store(folder).repair()
    if not quiet:
        echo([*cleared] or ["nothing was left behind"])


@store.command()
@click.argument("target", metavar="FOLDER")
@click.option("--store", "folder", required=True, metavar="STORE", help="The store.")
@options.quiet
def link(target: str, folder: str, quiet: bool) -> None:
    """Create or update a folder of links to the files of all tags.

    The links are for programs that know no stores. NAME@TAG.xtc is the trajectory of a tag,
    NAME@TAG.gro its structure, and NAME@TAG.ndx the numbers of its atoms in the original. After
    frames were appended there are several files, NAME@TAG-000.xtc and so on. NAME.SHORT.tjt is for
    VMD's plug-in of trajet. Run the command again after a change of the store.

    \b
    Examples:
      trajet store link links --store md
      vmd links/run@protein.gro links/run@protein.xtc
    """
    damaged: list[str] = []
    made = Store(folder).link(target, say=damaged.append)
    if not quiet and (made or not damaged):
        echo([*map(str, made)] or ["no data sets"])
    exit_with_problems(damaged)


for _command in (*inspect.COMMANDS, watch, mount):
    store.add_command(_command)

COMMANDS = (store,)
