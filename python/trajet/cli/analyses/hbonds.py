"""`trajet hbonds`."""

from pathlib import Path
from typing import Any

import click

import trajet
from trajet.analysis.hbonds import DEFAULT_MEMORY
from trajet.cli.analyses.shared import no_pbc_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.options import memory_size, path_to
from trajet.cli.quantities import Distance, Time
from trajet.result import HydrogenBonds

_TABLE = (".csv", ".npz")


def _check(
    *, lifetimes_out: Path | None, max_lag: float | None, intermittency: int, **_: object
) -> None:
    """Raise an error for options of lifetimes without these."""
    if lifetimes_out is None and (max_lag is not None or intermittency):
        raise click.UsageError("--max-lag and --intermittency need --lifetimes")


@analysis(
    click.option(
        "--select",
        default="all",
        show_default=True,
        metavar="SELECTION",
        help="Atoms among which donors and acceptors are.",
    ),
    click.option(
        "--between",
        nargs=2,
        metavar="SELECTION SELECTION",
        help="Only bonds between two groups, in both directions.",
    ),
    click.option("--donors", metavar="SELECTION", help="Donors. Default: N and O with hydrogens."),
    click.option(
        "--hydrogens", metavar="SELECTION", help="Hydrogens. Default: all that donors have."
    ),
    click.option("--acceptors", metavar="SELECTION", help="Acceptors. Default: all N and O."),
    click.option(
        "--elements",
        default="N,O",
        show_default=True,
        metavar="A,B,…",
        help="Elements of donors and acceptors.",
    ),
    click.option(
        "--guess-bonds",
        is_flag=True,
        help="Guess the donor of each hydrogen from distances in the structure file.",
    ),
    click.option(
        "--distance",
        type=click.Choice(["donor-acceptor", "hydrogen-acceptor"]),
        default="donor-acceptor",
        show_default=True,
        help="The distance that --cutoff limits.",
    ),
    click.option(
        "--cutoff",
        type=Distance(positive=True),
        metavar="Å",
        help="Largest distance. Default: 3.0 of donor and acceptor, 2.5 of hydrogen and acceptor.",
    ),
    click.option(
        "--angle",
        type=click.FloatRange(0, 180),
        default=150.0,
        show_default=True,
        metavar="DEGREES",
        help="Least angle donor - hydrogen - acceptor.",
    ),
    click.option(
        "--donor-angle",
        type=click.FloatRange(0, 180),
        metavar="DEGREES",
        help="Largest angle hydrogen - donor - acceptor, instead of --angle. gmx hbond:"
        " --cutoff 3.5 --donor-angle 30.",
    ),
    click.option(
        "--by",
        type=click.Choice(["bond", "pair", "residue"]),
        default="bond",
        show_default=True,
        help="Occupancies of each hydrogen with an acceptor, donor with acceptor, or residues.",
    ),
    click.option(
        "--pairs",
        callback=path_to(_TABLE),
        metavar="FILE",
        help="Write the pairs with their occupancies: .csv or .npz",
    ),
    click.option(
        "--bonds-out",
        callback=path_to(_TABLE),
        metavar="FILE",
        help="Write every bond of every frame, with distance and angle: .csv or .npz",
    ),
    click.option(
        "--lifetimes",
        "lifetimes_out",
        callback=path_to(_TABLE),
        metavar="FILE",
        help="Compute lifetimes, and write the correlation functions that give them: .csv or .npz",
    ),
    click.option(
        "--max-lag",
        type=Time(0),
        metavar="PS",
        help="Largest lag of the correlation functions. Default: half of the time.",
    ),
    click.option(
        "--intermittency",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        metavar="FRAMES",
        help="Longest gap, in frames, that the continuous correlation ignores.",
    ),
    click.option(
        "--max-memory",
        type=memory_size,
        default=DEFAULT_MEMORY,
        metavar="BYTES",
        help="Memory for pairs, for the list of bonds, and for lifetimes. Default: 1GiB.",
    ),
    no_pbc_option,
    check=_check,
)
def hbonds(
    job: AnalysisOptions,
    *,
    select: str,
    between: tuple[str, str] | None,
    elements: str,
    guess_bonds: bool,
    no_pbc: bool,
    pairs: Path | None,
    bonds_out: Path | None,
    lifetimes_out: Path | None,
    **options: Any,
) -> None:
    """Hydrogen bonds: numbers, occupancies, lifetimes.

    A hydrogen that is bonded to a donor forms a hydrogen bond with an acceptor, if distance and
    angle are within the limits. The topology needs bonds, or --guess-bonds. Distances are those of
    nearest images: positions need no repair.

    \b
    Examples:
      trajet hbonds top.tpr run.xtc --select protein -o number.csv --pairs pairs.csv
      trajet hbonds top.tpr run.xtc --between protein "resname SOL" --by residue --plot bonds.png
      trajet hbonds top.tpr run.xtc --select "resname SOL" --distance hydrogen-acceptor --angle 120
      trajet hbonds top.tpr run.xtc --select protein --lifetimes lifetimes.csv --max-lag 100
    """
    selection, other = job.select(select if between is None else between[0]), None
    if between is not None:
        other = job.select(between[1])
        if select != "all":
            selection, other = (one & job.select(select) for one in (selection, other))

    def write(result: HydrogenBonds) -> list[Path]:
        """Write the tables beside the numbers of bonds, and return their paths."""
        written = []
        for table, path in (
            (result.pairs, pairs),
            (result.bonds, bonds_out),
            (result.lifetimes, lifetimes_out),
        ):
            if path is not None and table is not None:
                table.save(path)
                written.append(path)
        return written

    job.run(
        trajet.hbonds.job(
            selection,
            other,
            elements=[symbol.strip() for symbol in elements.split(",")],
            guess_bonds=guess_bonds,
            pbc=not no_pbc,
            list_bonds=bonds_out is not None,
            lifetimes=lifetimes_out is not None,
            **options,
        ),
        write=write,
        all_rows="--pairs FILE",
    )


COMMANDS = (hbonds,)
