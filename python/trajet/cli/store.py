"""Commands on stores: `trajet store add | list | show | get | …`."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

import trajet
from trajet._trajet import StoreError
from trajet.cli import options
from trajet.cli.copies import say
from trajet.cli.options import in_order, progress
from trajet.cli.store_mount import mount
from trajet.cli.tables import human, lines_of, one_line
from trajet.store.catalog import Store
from trajet.store.entry import Divided
from trajet.store.profile import Profile, default_text
from trajet.store.uses import Statistics
from trajet.store.watch import Watch

# Longer selections are cut.
_SELECT = 90
_Said = TypeVar("_Said")

_store = click.option("--store", "folder", required=True, metavar="FOLDER", help="The store.")
_name = click.argument("name", metavar="NAME")
_some_name = click.argument("name", metavar="[NAME]", required=False)
_profile = click.option(
    "--profile",
    metavar="FILE.toml",
    help="Tiers and tags. Default: the built-in one, which trajet store profile prints.",
)
_topology = click.option(
    "--topology", required=True, metavar="FILE", help="A file that MDAnalysis reads."
)


class _Several(click.Command):
    """A command whose option --trajectory takes all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each further word."""
        words: list[str] = []
        inside = False
        for arg in args:
            if arg.startswith("-"):
                inside = arg == "--trajectory"
            elif inside and words[-1] != "--trajectory":
                words.append("--trajectory")
            words.append(arg)
        return super().parse_args(ctx, words)


def _trajectories(required: bool) -> Callable[[Any], Any]:
    return click.option(
        "--trajectory",
        "trajectories",
        multiple=True,
        required=required,
        metavar="FILE...",
        help="One or more files that follow each other: XTC, TRR, DCD or Amber NetCDF.",
    )


@click.group()
def store() -> None:
    """Keep trajectories divided by tags, each group of atoms on its own storage tier.

    A store is a folder. Of each trajectory that is added, protein, lipid, water and so on become
    files of their own, on the tier that a profile names: what is looked at on fast storage, the
    rest elsewhere. All tags together are the original, in every bit that its format stores. Any
    analysis takes FOLDER/NAME for a topology and a trajectory, and reads what it needs alone.

    \b
    Examples:
      trajet store add run --store md --topology top.gro --trajectory run.xtc
      trajet rmsd md/run --select "name CA"
      trajet store stats run --store md
    """


@store.command(cls=_Several)
@_name
@_store
@_topology
@_trajectories(required=True)
@_profile
@options.continuous
@options.truncated
@options.threads
@options.quiet
def add(
    name: str,
    folder: str,
    topology: str,
    trajectories: tuple[str, ...],
    profile: str | None,
    continuous: bool,
    allow_truncated_tail: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Divide a trajectory by tags, as the data set NAME.

    The store is made where there is none. Every atom must be in exactly one tag of the profile;
    that, and that no tag's format would lose anything, is looked at before anything is written.
    FILE stays as it is. If this is cut short there is no NAME.

    \b
    Examples:
      trajet store add run --store md --topology top.gro --trajectory run.xtc
      trajet store add run --store md --topology top.gro --trajectory run.part*.xtc --continuous
      trajet store profile > my.toml
      trajet store add run --store md --topology top.gro --trajectory run.xtc --profile my.toml
    """
    chosen = None if profile is None else Profile.load(profile)
    opened = _opened(
        topology,
        trajectories,
        quiet=quiet,
        continuous=continuous,
        allow_truncated_tail=allow_truncated_tail,
        threads=threads,
    )
    at = Store(folder, create=True)
    with progress("divide", " frames", quiet=quiet) as show:
        done = at.add(name, opened, profile=chosen, threads=threads, progress=show)
    if not quiet:
        _echo(options.notes(opened))
        _say_remarks(done)
        _say_entry(at, name)


def _opened(
    topology: str | None, trajectories: tuple[str, ...], *, quiet: bool, **how: Any
) -> trajet.Trajectory:
    with progress("indexing", "B", quiet=quiet) as show:
        return trajet.open(topology, *in_order(trajectories), progress=show, **how)


@store.command(cls=_Several)
@_name
@_store
@_trajectories(required=True)
@options.truncated
@options.threads
@options.quiet
def append(
    name: str,
    folder: str,
    trajectories: tuple[str, ...],
    allow_truncated_tail: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Add new frames to every tag of a data set.

    FILE is what was divided, which has grown since: its further frames are added. Or it is another
    file, which goes on where that one ends: all of its frames are added.

    \b
    Examples:
      trajet store append run --store md --trajectory run.xtc
      trajet store append run --store md --trajectory run.part2.xtc
    """
    at = Store(folder)
    opened = _opened(
        None,
        trajectories,
        quiet=quiet,
        allow_truncated_tail=allow_truncated_tail,
        threads=threads,
    )
    with progress("append", " frames", quiet=quiet) as show:
        done = at.append(name, opened, threads=threads, progress=show)
    if not quiet:
        _say_remarks(done)
        click.echo(f"{name}: {done.n_frames} frames added, {at.show(name).n_frames} in all")


@store.command("list")
@_store
@options.quiet
def list_(folder: str, quiet: bool) -> None:
    """List the data sets of a store.

    \b
    Example:
      trajet store list --store md
    """
    at = Store(folder)
    rows: list[tuple[str, ...]] = [("name", "frames", "atoms", "tags", "size", "original")]
    entries, damaged = at.show_all()
    for entry in entries:
        numbers = (entry.n_frames, entry.n_atoms, len(entry.tags))
        sizes = (human(entry.size), human(entry.source_size))
        rows.append((entry.name, *map(str, numbers), *sizes))
    if not quiet and (entries or not damaged):
        _echo(lines_of(rows) if entries else ["no data sets"])
    _complain([one_line(error) for error in damaged.values()])


def _of_each(asked: Callable[[str], _Said], names: Iterable[str]) -> tuple[list[_Said], list[str]]:
    """Ask for each data set; return the answers, and what is wrong with those that give none."""
    answers, wrong = [], []
    for name in names:
        try:
            answers.append(asked(name))
        except (StoreError, OSError) as error:
            wrong.append(" ".join(str(error).split()))
    return answers, wrong


def _complain(problems: Sequence[str]) -> None:
    """Say what is wrong, if anything is, and end with 1 then."""
    for problem in problems:
        click.echo(f"trajet: {problem}", err=True)
    if problems:
        raise click.exceptions.Exit(1)


@store.command()
@_name
@_store
@options.quiet
def show(name: str, folder: str, quiet: bool) -> None:
    """Say what a data set is made of, and where its files are.

    \b
    Example:
      trajet store show run --store md
    """
    at = Store(folder)
    entry = at.show(name)
    if quiet:
        return
    for path, size in entry.source_sizes:
        click.echo(f"divided    {path} ({human(size)}, {entry.format})")
    click.echo(f"frames     {entry.n_frames}")
    _say_entry(at, name)
    for kept in entry.tags:
        select = kept.tag.select
        click.echo(
            f"{kept.tag.name}: {select if len(select) <= _SELECT else select[:_SELECT] + '…'}"
        )
        for path in kept.paths:
            click.echo(f"  {path}")


def _say_remarks(done: Divided) -> None:
    _echo([f"note: {remark}" for remark in done.remarks])


def _say_entry(at: Store, name: str) -> None:
    """Print the tags of a data set, and how large it is beside its original."""
    entry = at.show(name)
    rows: list[tuple[str, ...]] = [("tag", "short", "atoms", "tier", "format", "size")]
    for kept in entry.tags:
        tag = kept.tag
        form = tag.format + (" (lossy)" if tag.lossy else "")
        rows.append((tag.name, tag.short, str(kept.n_atoms), tag.tier, form, human(kept.size)))
    _echo(lines_of(rows))
    part = f", {entry.size / entry.source_size:.3f} of the original" if entry.source_size else ""
    click.echo(
        f"{name}: {entry.n_frames} frames of {entry.n_atoms} atoms, {human(entry.size)}{part},"
        f" divided in {entry.seconds:.3g} s"
    )


@store.command()
@_name
@_store
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be repeated. Default: all.")
@click.option("-o", "--output", required=True, metavar="FILE", help="Its ending is its format.")
@click.option(
    "--allow-loss",
    is_flag=True,
    help="Leave out what the format cannot hold, instead of refusing it.",
)
@click.option("--topology-out", metavar="FILE", help="Write the atoms themselves: .pdb, .gro, ….")
@click.option("--force", is_flag=True, help="Replace outputs that are there.")
@options.threads
@options.quiet
def get(
    name: str,
    folder: str,
    tags: tuple[str, ...],
    output: str,
    allow_loss: bool,
    topology_out: str | None,
    force: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Write a data set, or some of its tags, to a file.

    All tags together, in the format of the original, are the original: every integer, cell, time,
    step and field. Of some tags FILE has the atoms in their original order.

    \b
    Examples:
      trajet store get run --store md -o run.xtc
      trajet store get run --store md --tag protein --tag lipid -o part.xtc --topology-out part.gro
    """
    at = Store(folder)
    with progress("get", " frames", quiet=quiet) as show:
        done = at.get(
            name,
            output,
            tags=tags or None,
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


@store.command()
@_name
@_store
@click.option("--tag", required=True, metavar="TAG", help="What to move.")
@click.option("--tier", required=True, metavar="TIER", help="Where to: a name of the store's.")
@options.quiet
def move(name: str, folder: str, tag: str, tier: str, quiet: bool) -> None:
    """Bring a tag to another tier, while readers go on.

    What is at the old place becomes a link to the new one, so that whoever has the old path can go
    on with it.

    \b
    Example:
      trajet store move run --store md --tag lipid --tier slow
    """
    at = Store(folder)
    with progress("move", "B", quiet=quiet) as show:
        at.move(name, tag, tier, progress=show)
    if not quiet:
        (kept,) = (kept for kept in at.show(name).tags if tag in (kept.tag.name, kept.tag.short))
        click.echo(f"{name}: {kept.tag.name} ({human(kept.size)}) is on {tier}")


@store.command()
@_some_name
@_store
@options.threads
@options.quiet
def verify(name: str | None, folder: str, threads: int | None, quiet: bool) -> None:
    """Compare every byte of a data set, or of all, with its checksum.

    What is wrong is said on standard error, and the exit code is 1.

    \b
    Examples:
      trajet store verify --store md
      trajet store verify run --store md
    """
    at = Store(folder)
    names = at.list() if name is None else (name,)
    problems: list[str] = []
    for each in names:
        with progress(f"verify {each}", "B", quiet=quiet) as show:
            problems += at.verify(each, threads=threads, progress=show)
    _complain(problems)
    if not quiet:
        click.echo(f"{', '.join(names) or 'no data sets'}: every byte is as it was written")


@store.command()
@_some_name
@_store
@options.quiet
def stats(name: str | None, folder: str, quiet: bool) -> None:
    """Say what was used of a data set, or of all, what dividing it saved, and what to move where.

    Whoever analyses or reads a data set leaves a line in FOLDER/NAME/uses.jsonl.

    \b
    Examples:
      trajet store stats --store md
      trajet store stats run --store md
    """
    at = Store(folder)
    told, damaged = _of_each(at.stats, at.list() if name is None else (name,))
    said = ["\n".join(_stats_lines(each)) for each in told]
    if not quiet and (said or not damaged):
        click.echo("\n\n".join(said) or "no data sets")
    _complain(damaged)


def _stats_lines(told: Statistics) -> list[str]:
    rows: list[tuple[str, ...]] = [("tag", "tier", "size", "uses", "read", "last used")]
    for tag in told.tags:
        last = "never" if tag.last is None else tag.last
        read = human(tag.read)
        rows.append((tag.name, tag.tier, human(tag.size), str(tag.uses), read, last))
    uses = f"{told.uses} use{'' if told.uses == 1 else 's'}"
    lines = [f"{told.name}: {uses}, {human(told.read)} read", *lines_of(rows)]
    lines.append(f"never read thanks to the division: {human(told.saved)}")
    cost = f"dividing, which read and wrote {human(told.cost)},"
    if told.paid is not None:
        lines.append(f"{cost} had paid for itself on {told.paid}")
    elif told.uses_to_pay is not None:
        lines.append(f"{cost} will have paid for itself after {told.uses_to_pay} more such uses")
    else:
        lines.append(f"{cost} has not paid for itself yet")
    return [*lines, *told.advice]


@store.command()
@_name
@_store
@options.quiet
def remove(name: str, folder: str, quiet: bool) -> None:
    """Remove a data set with all files of its tags. The original is not touched.

    \b
    Example:
      trajet store remove run --store md
    """
    Store(folder).remove(name)
    if not quiet:
        click.echo(f"{name}: removed")


@store.command()
@_name
@_store
@click.option("--profile", required=True, metavar="FILE.toml", help="The new tiers and tags.")
@options.threads
@options.quiet
def retag(name: str, folder: str, profile: str, threads: int | None, quiet: bool) -> None:
    """Divide a data set anew by another profile, from what the store holds.

    NAME is divided as it was, or as the new profile says, and nothing between.

    \b
    Example:
      trajet store retag run --store md --profile my.toml
    """
    at = Store(folder)
    with progress("retag", " frames", quiet=quiet) as show:
        done = at.retag(name, Profile.load(profile), threads=threads, progress=show)
    if not quiet:
        _say_remarks(done)
        _say_entry(at, name)


@store.command()
@_store
@options.quiet
def repair(folder: str, quiet: bool) -> None:
    """Find tiers that were moved with the store, and remove what killed runs have left behind.

    Such files are no damage, and no data set has them: they only take room. What still runs is left
    alone. Tiers in the store's own folder are found where that is now.

    \b
    Example:
      trajet store repair --store md
    """
    cleared = Store(folder).repair()
    if not quiet:
        _echo([*cleared] or ["nothing was left behind"])


@store.command()
@click.argument("watched", metavar="FOLDER")
@click.option("--store", "folder", required=True, metavar="STORE", help="Made where there is none.")
@_profile
@click.option(
    "--settle",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a file must not have changed.",
)
@click.option(
    "--interval",
    type=click.FloatRange(0.01),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="From one look to the next.",
)
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

    A trajectory (.xtc, .trr, .dcd, .nc) that has not changed for a while becomes the data set of
    its name, run.xtc the data set run. Its topology is the file of the same name (run.tpr, .psf,
    .prmtop, .parm7, .gro, .pdb), or else the only one in FOLDER. A file that has grown after that
    is appended. Any other file is left alone, and so are folders in FOLDER. What fails is said
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
                click.echo(f"{arrival.path}: {arrival.frames} frames added to {arrival.name}")
    return failed


@store.command()
@click.argument("target", metavar="FOLDER")
@click.option("--store", "folder", required=True, metavar="STORE", help="The store.")
@options.quiet
def link(target: str, folder: str, quiet: bool) -> None:
    """Make a folder of links to the files of all tags, for programs that know nothing of stores.

    NAME@TAG.xtc is a tag's trajectory, NAME@TAG.gro its structure, NAME@TAG.ndx its atoms' numbers
    in the original. Where frames were appended there are several files, NAME@TAG-000.xtc and so on.
    NAME.SHORT.tjt is for VMD's plug-in of trajet. Call it again after a change.

    \b
    Examples:
      trajet store link links --store md
      vmd links/run@protein.gro links/run@protein.xtc
    """
    damaged: list[str] = []
    made = Store(folder).link(target, say=damaged.append)
    if not quiet and (made or not damaged):
        _echo([*map(str, made)] or ["no data sets"])
    _complain([" ".join(problem.split()) for problem in damaged])


@store.command()
def profile() -> None:
    """Print the built-in profile: a start for one of your own.

    Tiers are folders, relative to the profile's own; the fastest comes first. Tags are groups of
    atoms. `select` is MDAnalysis' language, or "rest"; every atom must be in exactly one tag.
    `format` is "exact" (the original's, which loses nothing), "xtc", "dcd", "ncdf" or "h5md".
    `lossy = true` lets a tag lose what its format cannot hold, and `precision = 100` keeps fewer
    digits.

    \b
    Examples:
      trajet store profile
      trajet store profile > my.toml
    """
    click.echo(default_text(), nl=False)


def _echo(lines: list[str]) -> None:
    for line in lines:
        click.echo(line)


store.add_command(mount)
COMMANDS = (store,)
