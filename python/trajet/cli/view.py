"""`trajet view`: shows a trajectory in the browser."""

import contextlib

import click
import numpy as np
from numpy.typing import NDArray

from trajet import signals, viewer
from trajet.cli import options, view_member, view_outputs
from trajet.cli.command import command
from trajet.cli.open_options import REMOTE, open_files, opening
from trajet.cli.view_serving import print_notes, serve
from trajet.dataset import find_dataset
from trajet.quoting import escaped
from trajet.trajectory import OpenOptions, Trajectory, frame_numbers, is_structure, resolve_frames
from trajet.viewer.layers import make_layer

# Seconds after the end within which a thread that reads or analyses is left behind.
_END = 1.0


@command()
@click.argument("files", nargs=-1, metavar="[FILE...]", callback=options.in_files_order)
@view_member.options
@click.option(
    "--select",
    metavar="SELECTION",
    help="Atoms of the first layer. Default: protein and nucleic acids, and in a second layer"
    " ligands, lipids and the like; or else all.",
)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    metavar="SELECTION[:STYLE[:COLOUR]]",
    help="A layer. STYLE: cartoon, ball, spheres, lines, surface or points; COLOUR: chain, residue,"
    " name, element, secondary, sequence or values (of --series). May be repeated.",
)
@click.option(
    "--series",
    multiple=True,
    metavar="FILE|ANALYSIS,…",
    help="A result that -o wrote (.npz, .json), or an analysis of the first layer, such as rmsd,"
    " rmsf, hbonds or contact-map: drawn beside the picture. May be repeated.",
)
@click.option(
    "--as-stored",
    is_flag=True,
    help="Show positions as they are stored at first, neither whole nor superposed.",
)
@click.option(
    "--quantise",
    is_flag=True,
    help="Send positions in steps of 0.01 Å, in half of the bytes; for slow connections.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Default: a free one."
)
@click.option(
    "--no-browser",
    is_flag=True,
    help="Print the address, and how to reach it from another machine, instead of opening it.",
)
@click.option(
    "--frame",
    type=int,
    metavar="NUMBER",
    help="The frame of --png, and the first that the page shows; from 0, or from the end if"
    " negative. Default: the first of the chosen frames.",
)
@view_outputs.options
@options.frames
@opening("continuous", "allow_truncated_tail", "format_options", "time_step", *REMOTE)
@options.quiet
def view(
    files: list[str],
    members: str | None,
    keys: tuple[str, ...],
    select: str | None,
    layers: tuple[str, ...],
    series: tuple[str, ...],
    as_stored: bool,
    quantise: bool,
    port: int,
    no_browser: bool,
    frame: int | None,
    outputs: view_outputs.Outputs,
    start: int | None,
    stop: int | None,
    step: int | None,
    begin: float | None,
    end: float | None,
    how: OpenOptions,
    quiet: bool,
) -> None:
    """Show a trajectory in the browser, frame by frame.

    FILE... is a topology and trajectories, or a data set of a store (STORE/NAME, STORE/NAME@TAG).
    Only frames that are shown are read, and of these only the atoms of the layers. Where there are
    a cell and bonds, molecules are made whole, and frames are superposed on frame 0 by the protein
    or the nucleic acid of the first layer; a switch on the page shows positions as stored.

    Lines of --series have a cursor at the frame, and a click on them shows a frame; a click on
    values of residues, or on a contact map, shows these residues. Hydrogen bonds are dashes.

    The page is on 127.0.0.1, and its address has a token. From another machine, take --no-browser
    and forward the port as the command says. Other users of this machine cannot reach the page
    without the token. Ctrl-C ends the command. It needs pip install 'trajet[view]'.

    \b
    Examples:
      trajet view top.tpr run.xtc --select protein
      trajet view top.tpr run.xtc --layer protein --layer "resname LIG:ball"
      trajet view top.tpr run.xtc --series rmsd,end-to-end --no-browser
      trajet view md/run@protein --series rmsd.npz
      trajet view --members table.csv --member system=wt --member replica=2
      trajet view top.tpr run.xtc --select protein --step 10 --save movie.html
      trajet view top.tpr run.xtc --step 10 --movie movie.mp4
      trajet view top.tpr run.xtc --frame 500 --png frame500.png --size 1600 1200
    """
    chosen = (start, stop, step, begin, end)
    outputs.check(chooses_frames=any(each is not None for each in chosen))
    linked = [each for text in series for each in viewer.parse_series(text)]
    member = view_member.chosen_member(members, keys, files, how)
    topology, trajectories = (None, []) if member is not None else _divided(files)
    with contextlib.ExitStack() as kept:

        def load() -> tuple[Trajectory, viewer.Scene]:
            opened = (
                member.open_files()
                if member is not None
                else open_files(topology, trajectories, how, quiet=quiet)
            )
            kept.callback(opened.close)
            options.read_topology(opened, quiet=quiet)
            return opened, viewer.Scene(
                opened,
                _layers(opened, select, layers, is_saved=outputs.save is not None),
                as_stored=as_stored,
                quantise=quantise or outputs.save is not None,
                series=linked,
                first=0 if frame is None else _numbers(opened, [frame], "--frame")[0],
            )

        if not outputs.paths:
            serve(lambda: load()[1], files, port, no_browser=no_browser, quiet=quiet)
            signals.end_within(_END)
            return
        opened, scene = load()
        with contextlib.closing(scene):
            print_notes(scene)
            numbers = _numbers(opened, options.choose_frames(opened, *chosen), "frames")
            outputs.write(scene, numbers, picture_first=frame is None, quiet=quiet)


def _numbers(
    opened: Trajectory, chosen: list[int] | slice | NDArray[np.int64], name: str
) -> list[int]:
    """Return the numbers of chosen frames."""
    numbers: list[int] = frame_numbers(resolve_frames(chosen, opened)).tolist()
    return numbers


def _divided(files: list[str]) -> tuple[str | None, list[str]]:
    """Return the topology and the trajectories; a structure file is both of them.

    Raises
    ------
    UsageError
        If the only file has no topology.
    """
    if len(files) > 1 or is_structure(files[0]):
        return files[0], files[1:]
    if find_dataset(files[0]) is None:
        raise click.UsageError(
            f"{files[0]}: give the topology first, then the trajectory: names of atoms are needed"
        )
    return None, files


def _layers(
    opened: Trajectory, select: str | None, layers: tuple[str, ...], *, is_saved: bool
) -> list[viewer.Layer]:
    """Return the layers of the options, or the usual ones.

    A page that is saved has no lipids and the like if they are more atoms than all else: each of
    its frames has its positions in the file.
    """
    first = [] if select is None else [make_layer(opened.select(select))]
    found = [*first, *(viewer.parse_layer(opened, text) for text in layers)]
    if found:
        return found
    usual, *others = viewer.default_layers(opened)
    if is_saved and any(layer.selection.n_atoms > usual.selection.n_atoms for layer in others):
        (layer,) = others
        click.echo(
            f"note: {layer.selection.n_atoms} atoms of {escaped(layer.label)} are left out of the"
            " page that is saved: name them with --layer",
            err=True,
        )
        return [usual]
    return [usual, *others]


COMMANDS = (view,)
