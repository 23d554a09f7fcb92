"""Options of commands that open trajectories, by the fields of `OpenOptions`, and the opening."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast

import click

from trajet._trajet import DEFAULT_CONNECTIONS, DEFAULT_REQUEST_SIZE, check_format_options
from trajet.cli.options import Size, threads
from trajet.cli.quantities import Time
from trajet.cli.terminal import progress
from trajet.cli.translation import as_options
from trajet.dataset import datasets_in, find_dataset
from trajet.formats import FormatOptions
from trajet.remote import StorageOptions, is_published, is_secret, name_of
from trajet.trajectory import OpenOptions, Trajectory, may_have_topology, opened

# Fields of the options for objects in remote storage.
REMOTE = ("connections", "allow_http", "storage_options")
_CLIENT = "client_options"
# Options by format and name; names may have several parts.
_Nested: TypeAlias = "dict[str, str | _Nested]"


def _format_options(
    _: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> FormatOptions | None:
    """Return options of the form FORMAT.OPTION=VALUE by format and option."""
    found: _Nested = {}
    for one in value:
        path, equals, given = one.partition("=")
        *above, last = path.split(".")
        if not equals or not above:
            raise click.BadParameter(f"{one!r} is not of the form dcd.cell=matrix", param=param)
        entries = found
        for name in above:
            below = entries.setdefault(name, {})
            if isinstance(below, str):
                raise click.BadParameter(f"{one!r}: {name} has a value itself", param=param)
            entries = below
        entries[last] = given
    try:
        check_format_options(json.dumps(found))
    except ValueError as error:
        raise click.BadParameter(as_options(str(error)), param=param) from error
    return cast(FormatOptions, found) if found else None


def _storage_options(
    _: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> StorageOptions | None:
    """Return options of the form KEY=VALUE by key; those of `client_options` below that key.

    Raises
    ------
    BadParameter
        If one is of another form, is given twice or is a secret, which other users of the machine
        could read. The message does not quote the value.
    """
    found: dict[str, object] = {}
    client: dict[str, object] = {}
    for one in given:
        key, equals, value = one.partition("=")
        section, dot, name = key.partition(".")
        is_client = dot and section == _CLIENT and name
        if not equals or not key or (dot and not is_client) or key == _CLIENT:
            raise click.BadParameter(
                f"{key!r}: write KEY=VALUE, such as region=eu-west-1, or {_CLIENT}.timeout=30s",
                param=param,
            )
        if is_secret(key, value):
            raise click.BadParameter(
                f"{key} is a secret, or may hold one, and other users of this machine can read"
                " command lines: set the variable of the environment instead, such as"
                " AWS_SECRET_ACCESS_KEY",
                param=param,
            )
        entries, name = (client, name) if is_client else (found, key)
        if name in entries:
            raise click.BadParameter(f"{key} is given twice", param=param)
        entries[name] = value
    if client:
        found[_CLIENT] = client
    return found or None


# Options of commands by the fields that they set. The other fields have no option.
OPTIONS: Mapping[str, Callable[[Callable[..., None]], Callable[..., None]]] = {
    "continuous": click.option(
        "--continuous",
        is_flag=True,
        help="Drop overlapping frames: sort the files by their first times, and keep the frames of"
        " the later file from its first time on.",
    ),
    "allow_truncated_tail": click.option(
        "--allow-truncated-tail",
        is_flag=True,
        help="Read a file that ends inside a frame (of a running simulation) without that frame.",
    ),
    "request_size": click.option(
        "--request-size",
        type=Size(),
        default=DEFAULT_REQUEST_SIZE,
        metavar="BYTES",
        help="Bytes of a read request: 256KiB (default) for local disks, 8MiB for network ones.",
    ),
    "threads": threads,
    "format_options": click.option(
        "--format-option",
        "format_options",
        multiple=True,
        callback=_format_options,
        metavar="FORMAT.OPTION=VALUE",
        help="dcd.cell=matrix or angles: layout of the cells of DCD files that contradict"
        " themselves. h5md.particles=NAME: group of particles of an H5MD file that has several."
        " h5md.units.position=nm (time=, velocity=, force=): units that an H5MD file does not"
        " name. lammps.units=real: units of a LAMMPS dump that does not name them;"
        " lammps.md_step=0.5: time of a step in these units, for a dump without times;"
        " lammps.positions=unwrapped or wrapped: those to read of several kinds;"
        " lammps.atom_style=full: columns of a data file; lammps.types.1=Li: element of a type."
        " xyz.units.time=fs (velocity=, force=): units that an XYZ file does not name;"
        " xyz.types.1=Li: element of a species.",
    ),
    "atoms": click.option(
        "--atoms",
        metavar="SELECTION",
        help="The atoms of the topology that the trajectory has, if it has only some of them.",
    ),
    "time_step": click.option(
        "--time-step",
        type=Time(positive=True),
        metavar="PS",
        help="Time between neighbouring frames, in place of the times in the files, for files that"
        " have none or wrong ones.",
    ),
    "connections": click.option(
        "--connections",
        type=click.IntRange(1, 1024),
        default=DEFAULT_CONNECTIONS,
        show_default=True,
        metavar="N",
        help="Requests to remote storage that wait at the same time.",
    ),
    "allow_http": click.option(
        "--allow-http", is_flag=True, help="Read http:// URLs, which are not encrypted."
    ),
    "storage_options": click.option(
        "--storage-option",
        "storage_options",
        multiple=True,
        callback=_storage_options,
        metavar="KEY=VALUE",
        help="An option of the remote storage, such as region=eu-west-1, endpoint=URL,"
        " skip_signature=true (public buckets) or client_options.timeout=30s. May be repeated."
        " Credentials are taken from the environment.",
    ),
}


def opening(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options to a command, which gets their values as `how`.

    It may be applied several times, where help lists the options apart.
    """

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_how(*, how: OpenOptions | None = None, **values: object) -> None:
            given = {name: values.pop(name) for name in names}
            changed = cast(Callable[..., OpenOptions], replace)(how or OpenOptions(), **given)
            command(**values, how=changed)

        made: Callable[..., None] = with_how
        for name in reversed(names):
            made = OPTIONS[name](made)
        return made

    return add


def check_trajectories(topology: str | None, files: list[str]) -> None:
    """Check that there is a trajectory, or a file or data set that has one and a topology.

    Raises
    ------
    UsageError
        If not; it names what is a whole simulation, or the data sets of a store.
    """
    if topology is None or files or find_dataset(topology) is not None or is_published(topology):
        return
    if (names := datasets_in(topology)) is not None:
        known = ", ".join(str(Path(topology) / name) for name in names) or "none yet"
        raise click.UsageError(f"{topology} is a store: name a data set of it: {known}")
    if not may_have_topology(topology):
        raise click.UsageError(
            f"give a trajectory after the topology {name_of(topology)}, or only a PDB or GRO file,"
            " an H5MD file of GROMACS from 2026 on, or a data set of a store: STORE/NAME"
        )


def open_files(
    topology: str | None, files: list[str], how: OpenOptions, *, quiet: bool = False
) -> Trajectory:
    """Open trajectories, or a single data set with its own topology; show the progress."""
    check_trajectories(topology, files)
    is_alone = topology is None and len(files) == 1
    if is_alone and (find_dataset(files[0]) is not None or is_published(files[0])):
        topology, files = files[0], []
    return open_with_progress(topology, files, how, quiet=quiet)


def open_with_progress(
    topology: str | None, files: list[str], how: OpenOptions, *, quiet: bool
) -> Trajectory:
    """Open trajectories, and show the progress of indexing."""
    with progress("indexing", "B", quiet=quiet) as show:
        return opened(topology, files, how, show)


def remote_arguments(how: OpenOptions) -> Iterator[str]:
    """Yield the arguments of a command line that has these options of remote storage."""
    yield f"--connections={how.connections}"
    if how.allow_http:
        yield "--allow-http"
    for key, value in (how.storage_options or {}).items():
        entries = value.items() if isinstance(value, dict) else [("", value)]
        for name, text in entries:
            yield f"--storage-option={key}{'.' if name else ''}{name}={text}"
