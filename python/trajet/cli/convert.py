"""Commands that write trajectories: `trajet convert | split`."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import click
import numpy as np
from numpy.typing import NDArray

import trajet
from trajet import advise, startup
from trajet.cli import options, pools, transforms
from trajet.cli.command import ARGUMENTS, command
from trajet.cli.open_options import REMOTE, open_files, opening
from trajet.cli.options import choose_frames, in_order
from trajet.cli.results import check_json, echo_json, json_option
from trajet.cli.terminal import progress
from trajet.cli.transforms import TransformOptions
from trajet.cli.translation import line_of
from trajet.conversion import Conversion
from trajet.dataset import find_dataset
from trajet.digits import in_digits
from trajet.formats import WRITTEN_SUFFIXES
from trajet.messages import Code, Message, as_entries
from trajet.pools.pool import Pool
from trajet.remote import is_published
from trajet.result import entries_of, plain
from trajet.trajectory import OpenOptions, Trajectory

# Topologies that hold no frames.
_TOPOLOGY_SUFFIXES = (".psf", ".prmtop", ".parm7", ".tpr", ".data")

_compression = click.option(
    "--compression",
    type=click.IntRange(1, 9),
    metavar="1-9",
    help="H5MD: compress with gzip. Default: not compressed.",
)


@command()
@click.argument("files", nargs=-1, required=True, metavar="IN... OUT")
@click.option("--topology", metavar="FILE", help="Topology, for --select and transforms.")
@click.option("--select", metavar="SELECTION", help="The atoms to write. Default: all.")
@options.frames
@options.frames_file
@opening("continuous")
@click.option(
    "--precision",
    type=float,
    metavar="N",
    help="XTC: round positions to 1/N nm. Default: the input's precision, or 1000.",
)
@click.option("--double/--single", default=None, help="TRR: precision. Default: the input's.")
@click.option("--no-velocities", is_flag=True, help="Leave velocities out.")
@click.option("--no-forces", is_flag=True, help="Leave forces out.")
@_compression
@click.option(
    "--without-time", is_flag=True, help="LAMMPS: leave out UNITS and TIME, for older programs."
)
@options.allow_loss
@options.topology_out
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@pools.choice("local", "dask", "mpi")
@opening("allow_truncated_tail", "format_options", "time_step", "atoms", *REMOTE)
@transforms.options
@json_option
@options.quiet
def convert(
    files: tuple[str, ...],
    topology: str | None,
    select: str | None,
    start: int | None,
    stop: int | None,
    step: int | None,
    begin: float | None,
    end: float | None,
    frames_file: NDArray[np.int64] | None,
    precision: float | None,
    double: bool | None,
    no_velocities: bool,
    no_forces: bool,
    compression: int | None,
    without_time: bool,
    allow_loss: bool,
    topology_out: str | None,
    force: bool,
    pool: str,
    workers: int | None,
    scheduler: str | None,
    threads: int | None,
    how: OpenOptions,
    transforms: TransformOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a trajectory, or a part of it, to a new file.

    IN are one or more consecutive trajectories, OUT is the file to write: its ending (.xtc, .trr,
    .dcd, .nc, .h5md, .lammpstrj, .xyz) selects the format. From XTC to XTC the stored integers are
    kept, so that no precision is lost. OUT appears when it is complete.

    \b
    Examples:
      trajet convert run.trr run.xtc --no-velocities
      trajet convert part*.xtc all.xtc --continuous
      trajet convert run.xtc ca.xtc --topology top.gro --select "name CA" --topology-out ca.pdb
      trajet convert run.xtc every10.dcd --step 10
      trajet convert run.xtc whole.xtc --topology run.tpr --repair protein
      mpiexec -n 4 trajet convert run.xtc run.h5md --pool mpi
    """
    check_json(as_json=as_json, quiet=quiet)
    *sources, target = files
    if not sources:
        raise click.UsageError("give the trajectory to read and, last, the file to write")
    if (
        select is not None
        and topology is None
        and (find_dataset(sources[0]) is None and not is_published(sources[0]))
    ):
        raise click.UsageError("--select needs a topology: give --topology")
    _check_are_trajectories(sources, with_topology=topology is None)
    if Path(target).suffix.lower() not in WRITTEN_SUFFIXES:
        raise click.UsageError(
            f"{target}: the file to write comes last and ends in {', '.join(WRITTEN_SUFFIXES)}"
        )
    if frames_file is not None and any(one is not None for one in (start, stop, step, begin, end)):
        raise click.UsageError("--frames-file has the frames: leave other options of frames out")
    where = pools.made(pool, pools.PoolOptions(workers, threads, scheduler))
    transforms.check_use_of_bonds()
    # Times that choose frames are read from the files now, not from a kept index.
    how = replace(how, threads=threads, rebuild_index=begin is not None or end is not None)
    opened = open_files(topology, in_order(sources), how, quiet=quiet)
    options.read_topology(opened, quiet=quiet)
    opened = transforms.applied_to(opened)
    source = opened if select is None else options.select(opened, select, quiet=quiet)
    frames = (
        choose_frames(opened, start, stop, step, begin, end) if frames_file is None else frames_file
    )
    with where as at, progress("convert", " frames", quiet=quiet) as show:
        done = trajet.convert(
            source,
            target,
            frames=frames,
            precision=precision,
            double=double,
            velocities=not no_velocities,
            forces=not no_forces,
            compression=compression,
            without_time=without_time,
            allow_loss=allow_loss,
            force=force,
            topology=topology_out,
            progress=show,
            **_threads_or_pool(pool, at, threads),
        )
    if as_json:
        echo_json(_document(opened, [done], topology_out))
    elif not quiet:
        for line in options.notes(opened, ()):
            click.echo(line)
        say(done)
        if topology_out is not None:
            click.echo(topology_out)


class _Workers(TypedDict, total=False):
    """Threads of this process, or a pool."""

    threads: int | None
    pool: Pool


def _check_are_trajectories(sources: Sequence[str], *, with_topology: bool) -> None:
    """Raise an error for a topology among the files to read; it has the whole command to write.

    `with_topology` says whether the command takes a topology as an option, which was not given.
    """
    for name in sources:
        if Path(name).suffix.lower() not in _TOPOLOGY_SUFFIXES:
            continue
        context = click.get_current_context()
        words = list(context.meta[ARGUMENTS])
        at = next(
            k for k, word in enumerate(words) if word == name and words[k - 1] != "--topology"
        )
        words[at : at + 1] = [] if len(sources) > 1 else ["TRAJECTORY"]
        words += ["--topology", name] * with_topology
        raise click.UsageError(
            f"{name}: this is a topology, and IN are trajectories: write"
            f" {context.command_path} {shlex.join(words)}"
        )


def _threads_or_pool(name: str, pool: Pool, threads: int | None) -> _Workers:
    """Return the arguments for threads of this process, or for a pool."""
    return {"threads": threads} if name == "local" else {"pool": pool}


@command()
@click.argument("files", nargs=-1, required=True, metavar="IN...")
@click.option("--segments", type=click.IntRange(1), metavar="N", help="Number of files to write.")
@click.option(
    "--frames-per-segment", type=click.IntRange(1), metavar="N", help="Frames of each file."
)
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Folder for the files.")
@click.option(
    "--format",
    "ending",
    type=click.Choice([suffix[1:] for suffix in WRITTEN_SUFFIXES]),
    help="Format of the files. Default: the format of IN.",
)
@_compression
@options.allow_loss
@opening("continuous")
@click.option("--force", is_flag=True, help="Replace existing files.")
@pools.choice("local", "dask", "mpi")
@opening("allow_truncated_tail", "format_options", "time_step", *REMOTE)
@json_option
@options.quiet
def split(
    files: tuple[str, ...],
    segments: int | None,
    frames_per_segment: int | None,
    output: str,
    ending: str | None,
    compression: int | None,
    allow_loss: bool,
    force: bool,
    pool: str,
    workers: int | None,
    scheduler: str | None,
    threads: int | None,
    how: OpenOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    """Split a trajectory into files for many processes.

    The files are named after the first IN and numbered: FOLDER/run-000.xtc, …. Read together, they
    are the same trajectory: trajet rmsd top.gro 'FOLDER/run-*.xtc' … They appear when all of them
    are complete.

    \b
    Examples:
      trajet split run.xtc --segments 8 -o parts
      trajet split run.trr --frames-per-segment 1000 -o parts
      trajet split run.xtc --segments 8 -o parts --format h5md --compression 1
      mpiexec -n 8 trajet split run.xtc --segments 8 -o parts --pool mpi
    """
    check_json(as_json=as_json, quiet=quiet)
    if (segments is None) == (frames_per_segment is None):
        raise click.UsageError("choose --segments or --frames-per-segment")
    _check_are_trajectories(files, with_topology=False)
    where = pools.made(pool, pools.PoolOptions(workers, threads, scheduler))
    opened = open_files(None, in_order(files), replace(how, threads=threads), quiet=quiet)
    with where as at, progress("split", " frames", quiet=quiet) as show:
        parts = trajet.split(
            opened,
            output,
            segments=segments,
            frames_per_segment=frames_per_segment,
            format=ending,
            compression=compression,
            allow_loss=allow_loss,
            force=force,
            progress=show,
            **_threads_or_pool(pool, at, threads),
        )
    if as_json:
        echo_json(_document(opened, parts))
    elif not quiet:
        for line in options.notes(opened, ()):
            click.echo(line)
        # Most messages are the same for all files.
        for message in dict.fromkeys(message for part in parts for message in part.messages):
            click.echo(line_of(message))
        frames = sum(part.n_frames for part in parts)
        click.echo(f"{frames} frames in {len(parts)} files: {parts[0].path} to {parts[-1].path}")


@command()
@click.argument("topology", metavar="TOPOLOGY|STORE/NAME")
@click.argument(
    "trajectories", nargs=-1, metavar="[TRAJECTORY...]", callback=options.in_files_order
)
@click.option(
    "--frame",
    "number",
    type=int,
    default=0,
    show_default=True,
    metavar="FRAME",
    help="The frame; negative from the end.",
)
@click.option("--select", metavar="SELECTION", help="The atoms to write. Default: all.")
@click.option("-o", "--output", required=True, metavar="FILE", help="A structure file: .pdb, .gro.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@opening("continuous", "allow_truncated_tail", "format_options", "time_step", "atoms", *REMOTE)
@transforms.options
@json_option
@options.quiet
def frame(
    topology: str,
    trajectories: list[str],
    number: int,
    select: str | None,
    output: str,
    force: bool,
    how: OpenOptions,
    transforms: TransformOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write one frame to a structure file.

    \b
    Examples:
      trajet frame adk.psf adk.xtc --frame 10 -o frame10.pdb
      trajet frame run.tpr run.xtc --frame -1 --repair protein --select protein -o last.pdb
    """
    check_json(as_json=as_json, quiet=quiet)
    transforms.check_use_of_bonds()
    opened = open_files(topology, trajectories, how, quiet=quiet)
    options.read_topology(opened, quiet=quiet)
    opened = transforms.applied_to(opened)
    chosen = opened.all_atoms() if select is None else options.select(opened, select, quiet=quiet)
    one = chosen[number]
    path = one.save(output, force=force)
    messages = list(one.messages)
    if one.is_rotated:
        messages.append(
            Message(
                Code.LEFT_OUT_OF_COPY,
                "cell and velocities are left out: structure files hold no rotated ones",
            )
        )
    elif path.suffix.lower() != ".gro" and one.read_velocities() is not None:
        messages.append(
            Message(
                Code.LEFT_OUT_OF_COPY,
                "velocities are left out: of structure files, only .gro holds them",
            )
        )
    if as_json:
        echo_json(
            {
                "frame": one.frame,
                "time_ps": plain(float(one.time)),
                "atoms": chosen.n_atoms,
                **as_entries([*options.notes_of_opening(opened), *messages]),
                "outputs": [str(path)],
            }
        )
    elif not quiet:
        for line in options.notes(opened, messages):
            click.echo(line)
        click.echo(f"{path}: frame {one.frame} at {in_digits(one.time)} ps, {chosen.n_atoms} atoms")


def _document(
    opened: Trajectory, parts: Sequence[Conversion], structure: str | None = None
) -> dict[str, object]:
    """Return the facts on outputs as values that JSON has."""
    messages = dict.fromkeys(message for part in parts for message in part.messages)
    written = [os.fspath(part.path) for part in parts]
    return {
        "frames": sum(part.n_frames for part in parts),
        "atoms": parts[0].n_atoms,
        "size": sum(part.size for part in parts),
        **as_entries([*options.notes_of_opening(opened), *messages]),
        "inputs": plain(opened.source.describe_inputs()),
        "outputs": written + ([structure] if structure is not None else []),
    }


def say(done: Conversion) -> None:
    """Print the messages and the size of an output."""
    for message in done.messages:
        click.echo(line_of(message))
    seconds = ""
    if done.report is not None:
        wait = advise.words_of_wait(entries_of(done.report), startup.process_seconds())
        seconds = f" in {wait}"
    click.echo(
        f"{os.fspath(done.path)}: {done.n_frames} frames of {done.n_atoms} atoms,"
        f" {done.size} bytes{seconds}"
    )


COMMANDS = (convert, split, frame)
