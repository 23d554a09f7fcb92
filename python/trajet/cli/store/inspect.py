"""Commands that describe data sets: `trajet store list | show | verify | stats | profile`."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import TypeVar

import click

from trajet import h5md
from trajet._trajet import StoreError
from trajet.advise import in_bytes
from trajet.cli import options
from trajet.cli.command import command
from trajet.cli.results import check_json, echo_json, json_option
from trajet.cli.store import arguments
from trajet.cli.terminal import progress
from trajet.cli.translation import as_options
from trajet.quoting import escaped, lines_of
from trajet.result import json_object
from trajet.store.access_log import Statistics
from trajet.store.catalog import Store
from trajet.store.entry import Entry
from trajet.store.profile import default_text

# Longer selections are cut.
_SELECT = 90
_Answer = TypeVar("_Answer")


@command("list")
@arguments.folder
@json_option
@options.quiet
def list_(folder: str, as_json: bool, quiet: bool) -> None:
    """List the data sets of a store.

    \b
    Example:
      trajet store list --store md
    """
    check_json(as_json=as_json, quiet=quiet)
    at = Store(folder)
    rows: list[tuple[str, ...]] = [("name", "frames", "atoms", "tags", "size", "original")]
    entries, damaged = at.show_all()
    for entry in entries:
        numbers = (entry.n_frames, entry.n_atoms, len(entry.tags))
        sizes = (in_bytes(entry.size), in_bytes(entry.source_size))
        rows.append((entry.name, *map(str, numbers), *sizes))
    if as_json:
        echo_json([_document(entry) for entry in entries])
    elif not quiet and (entries or not damaged):
        echo(lines_of(rows) if entries else ["no data sets"])
    exit_with_problems([*map(str, damaged.values())])


def _for_each(
    function: Callable[[str], _Answer], names: Iterable[str]
) -> tuple[list[_Answer], list[str]]:
    """Call a function for each data set; return the results, and the messages of errors."""
    answers, wrong = [], []
    for name in names:
        try:
            answers.append(function(name))
        except (StoreError, OSError) as error:
            wrong.append(str(error))
    return answers, wrong


def exit_with_problems(problems: Sequence[str]) -> None:
    """Print problems on standard error; if there are any, exit with code 1."""
    for problem in problems:
        click.echo(f"trajet: {as_options(escaped(' '.join(problem.split())))}", err=True)
    if problems:
        raise click.exceptions.Exit(1)


@command()
@arguments.dataset()
@json_option
@options.quiet
def show(name: str, folder: str, as_json: bool, quiet: bool) -> None:
    """Describe a data set: its original, its tags and their files.

    \b
    Example:
      trajet store show md/run
    """
    check_json(as_json=as_json, quiet=quiet)
    at = Store(folder)
    entry = at.show(name)
    if as_json:
        echo_json(_document(entry))
    if quiet or as_json:
        return
    for path, size in entry.source_sizes:
        echo([f"divided    {path} ({in_bytes(size)}, {entry.format})"])
    click.echo(f"frames     {entry.n_frames}")
    say_entry(at, name)
    if entry.format == h5md.HDF5.name:
        get = f"trajet store get {shlex.quote(str(at.folder / name))} -o {name}.h5md"
        click.echo(f"{name}: a mount shows no whole H5MD: {get}")
    for kept in entry.tags:
        select = kept.tag.select
        echo([f"{kept.tag.name}: {select if len(select) <= _SELECT else select[:_SELECT] + '…'}"])
        echo([f"  {path}" for path in kept.paths])


def _document(entry: Entry) -> dict[str, object]:
    """Return the facts on a data set as values that JSON has."""
    return {
        "name": entry.name,
        "format": entry.format,
        "frames": entry.n_frames,
        "atoms": entry.n_atoms,
        "size": entry.size,
        "source_size": entry.source_size,
        "sources": [str(path) for path, _ in entry.source_sizes],
        "tags": [
            {
                "name": kept.tag.name,
                "short": kept.tag.short,
                "select": kept.tag.select,
                "atoms": kept.n_atoms,
                "tier": kept.tag.tier,
                "format": kept.tag.format,
                "lossy": kept.tag.lossy,
                "size": kept.size,
                "paths": [str(path) for path in kept.paths],
            }
            for kept in entry.tags
        ],
    }


def say_entry(at: Store, name: str) -> None:
    """Print the tags of a data set, and its size compared with the original."""
    entry = at.show(name)
    rows: list[tuple[str, ...]] = [("tag", "short", "atoms", "tier", "format", "size")]
    for kept in entry.tags:
        tag = kept.tag
        lossy = ", ".join(["lossy", *(f"without {what}" for what in kept.omitted_fields)])
        form = tag.format + (f" ({lossy})" if tag.lossy else "")
        rows.append((tag.name, tag.short, str(kept.n_atoms), tag.tier, form, in_bytes(kept.size)))
    echo(lines_of(rows))
    part = f", {entry.size / entry.source_size:.3f} of the original" if entry.source_size else ""
    click.echo(
        f"{name}: {entry.n_frames} frames of {entry.n_atoms} atoms, {in_bytes(entry.size)}{part},"
        f" divided in {entry.seconds:.3g} s"
    )


@command()
@arguments.dataset(required=False)
@options.threads
@options.quiet
def verify(name: str | None, folder: str, threads: int | None, quiet: bool) -> None:
    """Compare every byte of a data set, or of all, with its checksum.

    Problems are printed on standard error, and the exit code is 1 then.

    \b
    Examples:
      trajet store verify --store md
      trajet store verify md/run
    """
    at = Store(folder)
    names = at.list() if name is None else (name,)
    problems: list[str] = []
    for each in names:
        with progress(f"verify {each}", "B", quiet=quiet) as show:
            problems += at.verify(each, threads=threads, progress=show)
    exit_with_problems(problems)
    if not quiet:
        click.echo(f"{', '.join(names) or 'no data sets'}: every byte is as it was written")


@command()
@arguments.dataset(required=False)
@json_option
@options.quiet
def stats(name: str | None, folder: str, as_json: bool, quiet: bool) -> None:
    """Show uses of data sets, the bytes saved, and advice on tiers.

    Each analysis and each read of a data set adds a line to the access log,
    FOLDER/NAME/access.jsonl.

    \b
    Examples:
      trajet store stats --store md
      trajet store stats md/run
    """
    check_json(as_json=as_json, quiet=quiet)
    at = Store(folder)
    found, damaged = _for_each(at.stats, at.list() if name is None else (name,))
    blocks = ["\n".join(_stats_lines(each)) for each in found]
    if as_json:
        echo_json([json_object(asdict(each)) for each in found])
    elif not quiet and (blocks or not damaged):
        click.echo("\n\n".join(blocks) or "no data sets")
    exit_with_problems(damaged)


def _stats_lines(found: Statistics) -> list[str]:
    rows: list[tuple[str, ...]] = [("tag", "tier", "size", "uses", "read", "last used")]
    for tag in found.tags:
        last = "never" if tag.last is None else tag.last
        read = in_bytes(tag.read)
        rows.append((tag.name, tag.tier, in_bytes(tag.size), str(tag.uses), read, last))
    uses = f"{found.uses} use{'' if found.uses == 1 else 's'}"
    lines = [f"{found.name}: {uses}, {in_bytes(found.read)} read", *lines_of(rows)]
    lines.append(f"never read thanks to the division: {in_bytes(found.saved)}")
    cost = f"dividing, which read and wrote {in_bytes(found.cost)},"
    if found.paid is not None:
        lines.append(f"{cost} had paid for itself on {found.paid}")
    elif found.uses_to_pay is not None:
        lines.append(f"{cost} will have paid for itself after {found.uses_to_pay} more such uses")
    else:
        lines.append(f"{cost} has not paid for itself yet")
    return [*lines, *found.advice]


@command()
def profile() -> None:
    """Print the built-in profile, as a template for your own.

    Tiers are folders, relative to the folder of the profile; the fastest comes first. Tags are
    groups of atoms. `select` is a selection in MDAnalysis' language, or "rest"; every atom must be
    in exactly one tag. `format` is "exact" (the format of the original, which loses nothing),
    "xtc", "dcd", "ncdf" or "h5md". With `lossy = true`, fields that the format cannot hold are left
    out, and `precision = 100` keeps fewer digits. A tag with `optional = true` is left out if it
    selects no atom, which is an error otherwise. The printed profile works unchanged.

    \b
    Examples:
      trajet store profile
      trajet store profile > my.toml
      trajet store add md/run --topology top.gro --trajectory run.xtc --profile my.toml
    """
    click.echo(default_text(), nl=False)


def echo(lines: list[str]) -> None:
    """Print lines, with control characters escaped."""
    for line in lines:
        click.echo(escaped(line))


COMMANDS = (list_, show, verify, stats, profile)
