"""Arguments of the commands on stores: the store, a data set, a profile, trajectories."""

import functools
from collections.abc import Callable, Sequence

import click

from trajet.cli.command import Command
from trajet.dataset import is_store, split_path
from trajet.remote import is_url, name_of, split_tags
from trajet.store.division import NO_OBJECTS

folder = click.option("--store", "folder", required=True, metavar="FOLDER", help="The store.")


def dataset(
    *, required: bool = True, tags: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the arguments that name a data set.

    A data set is named as STORE/NAME, or as NAME with --store STORE. The command gets `folder` and
    `name`.

    Parameters
    ----------
    required
        Whether the name is required; otherwise `name` is None if only a store is given.
    tags
        Whether STORE/NAME@TAG,TAG is accepted, too. The command then gets `tags_of_path`, which is
        None if the path names no tag.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_dataset(*, path: str | None, folder: str | None, **others: object) -> None:
            where, name, wanted = _split(path, folder, required=required)
            if tags:
                others["tags_of_path"] = wanted
            elif wanted is not None:
                raise click.UsageError(
                    f"{path}: this command takes whole data sets: leave @{','.join(wanted)} out"
                )
            command(folder=where, name=name, **others)

        metavar = "STORE/NAME" + ("[@TAG,...]" if tags else "")
        argument = click.argument(
            "path", metavar=metavar if required else f"[{metavar}]", required=required
        )
        store = click.option(
            "--store", "folder", metavar="STORE", help="The store, if only NAME is given."
        )
        return argument(store(with_dataset))

    return decorate


def chosen_tags(path: Sequence[str] | None, options: Sequence[str]) -> Sequence[str] | None:
    """Return the tags of the path or of --tag, or None if neither names one."""
    if path is not None and options:
        raise click.UsageError("name the tags as STORE/NAME@TAG,TAG or by --tag, not both")
    return path or options or None


def _split(
    path: str | None, folder: str | None, *, required: bool
) -> tuple[str, str | None, tuple[str, ...] | None]:
    """Return the store, the data set and the tags that the arguments name."""
    if path is None:
        if folder is None:
            raise click.UsageError("give a data set, STORE/NAME, or a store, --store STORE")
        return folder, None, None
    if folder is None and not required and is_store(path):
        return path, None, None
    if is_url(path):
        # Slashes of a URL separate no folders.
        where, _, last = path.rpartition("/")
        name, tags = split_tags(last)
    else:
        where, name, tags = split_path(path)
    if folder is not None:
        if where:
            raise click.UsageError(
                f"{path}: names a store: give STORE/NAME, or --store STORE and NAME, not both"
            )
        return folder, name, tags
    if not where and "/" not in path and not is_store("."):
        raise click.UsageError(f"{path}: in which store? Give STORE/{path}, or --store STORE")
    return where or ".", name, tags


profile = click.option(
    "--profile",
    metavar="FILE.toml",
    help="Tiers and tags. Default: the built-in one, which trajet store profile prints.",
)


def _of_files(_: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of files; raise an error for an object, before it is indexed."""
    for name in names:
        if is_url(name):
            raise click.BadParameter(f"{name_of(name)}: {NO_OBJECTS}", param=param)
    return names


trajectories = click.option(
    "--trajectory",
    "trajectories",
    multiple=True,
    required=True,
    callback=_of_files,
    metavar="FILE...",
    help="One or more consecutive files: XTC, TRR, DCD, Amber NetCDF or H5MD.",
)


class Several(Command):
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
