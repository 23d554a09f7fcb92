"""The command `trajet chemistry`."""

from pathlib import Path

import click

from trajet.cli import options
from trajet.cli.command import command
from trajet.cli.open_options import REMOTE, open_files, opening
from trajet.cli.results import check_json, echo_json, json_option
from trajet.messages import as_entries
from trajet.perception.chemistry import perceived
from trajet.trajectory import OpenOptions


@command()
@click.argument("topology", metavar="TOPOLOGY|STORE/NAME")
@click.argument(
    "trajectories", nargs=-1, metavar="[TRAJECTORY...]", callback=options.in_files_order
)
@click.option("--select", metavar="SELECTION", help="The atoms. Default: all.")
@click.option(
    "--template",
    "template",
    multiple=True,
    metavar="[NAME=]FILE|SMILES",
    help="Structure of the residue NAME, or of the only one that no table has: SDF, MOL2, CIF or"
    " SMILES. May be repeated.",
)
@click.option(
    "--guess-bonds", is_flag=True, help="Guess bonds within residues of no table from distances."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file: .json, for analyses, or a table, .csv.",
)
@opening("format_options", "atoms", *REMOTE)
@json_option
@options.quiet
def chemistry(
    topology: str,
    trajectories: list[str],
    select: str | None,
    template: tuple[str, ...],
    guess_bonds: bool,
    output: Path | None,
    how: OpenOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find charges, donors, acceptors and rings of atoms.

    Amino acids, nucleotides, ions and water are known by name, and hydrogens decide protonation
    states; other residues need a template, or partial charges, and pip install 'trajet[chemistry]'.

    \b
    Examples:
      trajet chemistry top.tpr run.xtc --select protein
      trajet chemistry top.tpr run.xtc --template LIG=lig.sdf -o chem.json
    """
    check_json(as_json=as_json, quiet=quiet)
    opened = open_files(topology, trajectories, how, quiet=quiet)
    options.read_topology(opened, quiet=quiet)
    chosen = opened.all_atoms() if select is None else options.select(opened, select, quiet=quiet)
    found = perceived(chosen, template=template, guess_bonds=guess_bonds)
    if output is not None:
        found.save(output)
    if as_json:
        echo_json(
            {
                "atoms": len(found),
                "residues": len(found.labels),
                "charge": int(found.formal_charges.sum(dtype=int)),
                "rings": len(found.rings),
                "states": dict(found.states),
                "smiles": dict(found.smiles),
                **as_entries([*options.notes_of_opening(opened), *found.messages]),
                "outputs": [] if output is None else [str(output)],
            }
        )
    elif not quiet:
        for line in [*options.notes(opened, found.messages), *found.lines()]:
            click.echo(line)
        if output is not None:
            click.echo(output)


COMMANDS = (chemistry,)
