"""Commands for analyses: `trajet rmsd | rmsf | dihedrals | distances | rdf`, and declared ones."""

import importlib
import os
import re
from collections.abc import Callable

import click
import numpy as np

import trajet
from trajet import advise
from trajet.analysis.command import Choice, Command
from trajet.cli.options import AnalysisOptions, analysis
from trajet.cli.pools import Decorated
from trajet.cli.tables import lines_of
from trajet.result import Dihedrals, Distances, Report, Series, entries_of

# Tables cut longer labels, and leave out further lines.
_LABEL = 40
_LINES = 12

_select = click.option(
    "--select", required=True, metavar="SELECTION", help="Atoms, in MDAnalysis' language."
)
_no_pbc = click.option(
    "--no-pbc", is_flag=True, help="Use positions as stored instead of nearest images."
)


def _check_rmsd(*, no_superposition: bool, center: bool, **_: object) -> None:
    """Raise an error for --center with a superposition, which centres anyway."""
    if center and not no_superposition:
        raise click.UsageError("--center needs --no-superposition: a superposition centres too")


def _reference(text: str, *words: str) -> int | str:
    """Return the reference that an option gives: a frame number, a file, or one of the words.

    Raises
    ------
    FileNotFoundError
        If it is none of these.
    """
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text not in words and not os.path.lexists(text):
        also = "".join(f", nor {word}" for word in words)
        raise FileNotFoundError(f"{text}: not a frame number{also}, and there is no such file")
    return text


@analysis(
    click.option(
        "--select", required=True, metavar="SELECTION", help="Atoms to superpose and to compare."
    ),
    click.option(
        "--reference",
        default="0",
        show_default=True,
        metavar="FRAME|FILE|average",
        help="A frame of the trajectory, a structure file, or the average structure.",
    ),
    click.option(
        "--group",
        "groups",
        multiple=True,
        metavar="SELECTION",
        help="Further atoms: their RMSD after the superposition of --select. May be repeated.",
    ),
    click.option(
        "--weights", type=click.Choice(["mass"]), help="Weights of --select. Default: equal."
    ),
    click.option(
        "--group-weights",
        type=click.Choice(["mass"]),
        help="Weights of the groups. Default: equal, even with --weights mass.",
    ),
    click.option("--no-superposition", is_flag=True, help="Compare positions as stored."),
    click.option("--center", is_flag=True, help="With --no-superposition: superpose the centres."),
    check=_check_rmsd,
)
def rmsd(
    job: AnalysisOptions,
    *,
    select: str,
    reference: str,
    groups: tuple[str, ...],
    weights: str | None,
    group_weights: str | None,
    no_superposition: bool,
    center: bool,
) -> None:
    """RMSD of a selection against time, after optimal superposition.

    TOPOLOGY is a PSF, PDB, GRO, TPR, PRMTOP or mmCIF file, or another that MDAnalysis reads.
    TRAJECTORY is an XTC, TRR, DCD, Amber NetCDF, H5MD, PDB or GRO file; PDB and GRO files need no
    other topology. Several files are read as one trajectory; files that match a pattern are in
    natural order, part2 before part10.
    Positions are used as stored: if molecules are broken over the box, make them whole with
    --make-whole. Selections are evaluated once, on frame 0.

    \b
    Examples:
      trajet rmsd adk.psf adk.xtc --select "name CA"
      trajet rmsd adk.psf adk.xtc --select "name CA" -o rmsd.csv --plot rmsd.png
      trajet rmsd top.gro run.xtc --select "backbone and resid 1:29" --group "resname LIG" \\
          --weights mass --reference crystal.pdb -o rmsd.npz --report report.json
      trajet rmsd top.gro run.xtc --select "name CA" --begin 1000 --end 5000 --step 10
      trajet rmsd top.gro run.part*.xtc --continuous --select "name CA" -o rmsd.csv
    """
    selection, further = job.select(select), [job.select(group) for group in groups]
    with job.progress("rmsd") as show:
        result = trajet.rmsd(
            selection,
            reference=_reference(reference, "average"),
            groups=further,
            weights=weights,
            group_weights=group_weights,
            superposition=not no_superposition,
            center=center or None,
            frames=job.frames,
            pool=job.pool,
            progress=show,
            sample=job.sample,
        )
    job.finish(result, lambda: _series_table(result))


def _check_rmsf(
    *, align: str | None, reference: str | None, weights: str | None, **_: object
) -> None:
    """Raise an error for options of a superposition without one."""
    if align is None and (reference is not None or weights is not None):
        raise click.UsageError("--reference and --weights need --align")


@analysis(
    click.option(
        "--select", required=True, metavar="SELECTION", help="Atoms whose fluctuation to compute."
    ),
    click.option(
        "--align",
        metavar="SELECTION",
        help="Atoms by which to superpose each frame first. Default: positions as stored.",
    ),
    click.option(
        "--reference",
        metavar="FRAME|FILE|average",
        help="Reference for --align: a frame (default: 0), a structure file, or the average"
        " structure.",
    ),
    click.option(
        "--weights", type=click.Choice(["mass"]), help="Weights of --align. Default: equal."
    ),
    check=_check_rmsf,
)
def rmsf(
    job: AnalysisOptions,
    *,
    select: str,
    align: str | None,
    reference: str | None,
    weights: str | None,
) -> None:
    """RMSF of each atom about its mean position.

    Without --align, positions are used as stored: rotation of the whole molecule counts as
    fluctuation unless the file is aligned already.

    \b
    Examples:
      trajet rmsf adk.psf adk.xtc --select "name CA" --align "name CA" --reference average
      trajet rmsf top.gro run.xtc --select "name CA" --align backbone -o rmsf.csv --plot rmsf.png
    """
    selection, onto = job.select(select), None if align is None else job.select(align)
    with job.progress("rmsf") as show:
        result = trajet.rmsf(
            selection,
            align=onto,
            reference=_reference(reference or "0", "average"),
            weights=weights,
            frames=job.frames,
            pool=job.pool,
            progress=show,
            sample=job.sample,
        )

    def table() -> str:
        rows: list[tuple[str, ...]] = [("selection", "atoms", "mean", "min", "max", "atom of max")]
        values, most = result.values, int(np.argmax(result.values))
        numbers = (f"{number:.3f}" for number in (values.mean(), values.min(), values.max()))
        where = str(result.atoms[most])
        if result.residues is not None:
            where += f" (residue {result.residues[most]})"
        rows.append((_cut(result.label), str(len(values)), *numbers, where))
        return "\n".join([_head("RMSF (Å)", result.report), *lines_of(rows)])

    job.finish(result, table)


def _quadruples(
    _: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> list[list[int]] | None:
    """Parse four atom indices from each value."""
    fours = []
    for value in values:
        four = value.replace(",", " ").split()
        if len(four) != 4 or not all(atom.isdecimal() for atom in four):
            raise click.BadParameter(f"{value!r}: write four atom indices: 4,6,8,14", param=param)
        fours.append([int(atom) for atom in four])
    return fours or None


def _check_dihedrals(*, select: str | None, atoms: list[list[int]] | None, **_: object) -> None:
    """Raise an error unless one of the two is given."""
    if (select is None) == (atoms is None):
        raise click.UsageError("choose residues (--select) or atoms (--atoms)")


@analysis(
    click.option("--select", metavar="SELECTION", help="Atoms of the residues for φ and ψ."),
    click.option(
        "--atoms",
        multiple=True,
        callback=_quadruples,
        metavar="I,J,K,L",
        help="Four atoms by index (from 0) instead. May be repeated.",
    ),
    click.option(
        "--features", is_flag=True, help="Cosine and sine of each angle instead of degrees."
    ),
    _no_pbc,
    check=_check_dihedrals,
)
def dihedrals(
    job: AnalysisOptions,
    *,
    select: str | None,
    atoms: list[list[int]] | None,
    features: bool,
    no_pbc: bool,
) -> None:
    """Dihedral angles against time: φ and ψ, or of any four atoms.

    \b
    Examples:
      trajet dihedrals adk.psf adk.xtc --select protein --plot ramachandran.png
      trajet dihedrals adk.psf adk.xtc --select "resid 10:20" -o angles.csv
      trajet dihedrals adk.psf adk.xtc --atoms 4,6,8,14 --atoms 6,8,14,16 -o angles.npz
      trajet dihedrals adk.psf adk.xtc --select protein --features -o features.npz
    """
    subject = job.trajectory if select is None else job.select(select)
    with job.progress("dihedrals") as show:
        result = trajet.dihedrals(
            subject,
            atoms,
            features=features,
            pbc=not no_pbc,
            frames=job.frames,
            pool=job.pool,
            progress=show,
            sample=job.sample,
        )
    job.finish(result, lambda: _dihedral_table(result))


@analysis(
    _select,
    click.option(
        "--to",
        metavar="SELECTION",
        help="The second group. Default: pairs within --select.",
    ),
    click.option(
        "--reference",
        metavar="FRAME|FILE",
        help="Instead of --to: the atoms of --select in a frame or a structure file.",
    ),
    _no_pbc,
    check=lambda *, to, reference, **_: _one_of_two(to, reference),
)
def distances(
    job: AnalysisOptions, *, select: str, to: str | None, reference: str | None, no_pbc: bool
) -> None:
    """Distances of all pairs of atoms against time.

    \b
    Examples:
      trajet distances adk.psf adk.xtc --select "resid 55 and name CA" --to "resid 169 and name CA"
      trajet distances adk.psf adk.xtc --select "name CA" -o pairs.npz --plot matrix.png
      trajet distances adk.psf adk.xtc --select "name CA" --reference 0 -o moved.npz
    """
    selection, other = job.select(select), None if to is None else job.select(to)
    with job.progress("distances") as show:
        result = trajet.distances(
            selection,
            other,
            reference=None if reference is None else _reference(reference),
            pbc=not no_pbc,
            frames=job.frames,
            pool=job.pool,
            progress=show,
            sample=job.sample,
        )
    job.finish(result, lambda: _distance_table(result))


def _check_rdf(*, value_range: tuple[float, float], **_: object) -> None:
    """Raise an error for an empty range."""
    if not 0 <= value_range[0] < value_range[1]:
        raise click.UsageError("--range must go from 0 or more up to a larger distance")


@analysis(
    _select,
    click.option(
        "--to", metavar="SELECTION", help="The second group. Default: the atoms of --select."
    ),
    click.option(
        "--bins", type=click.IntRange(1, 10**6), default=75, show_default=True, metavar="N"
    ),
    click.option(
        "--range",
        "value_range",
        type=float,
        nargs=2,
        default=(0.0, 15.0),
        show_default=True,
        metavar="FROM TO",
        help="Distances, Å.",
    ),
    click.option(
        "--exclusion-block",
        type=click.IntRange(1),
        nargs=2,
        metavar="N M",
        help="Exclude pairs of the first N atoms of --select and the first M of --to, and so on:"
        " pairs within molecules. Pairs of an atom with itself are always excluded.",
    ),
    check=_check_rdf,
)
def rdf(
    job: AnalysisOptions,
    *,
    select: str,
    to: str | None,
    bins: int,
    value_range: tuple[float, float],
    exclusion_block: tuple[int, int] | None,
) -> None:
    """Radial distribution function of one or two groups of atoms.

    Every frame needs a unit cell of any shape. Distances are those of nearest images. Pairs of an
    atom with itself are not counted, and g is normalised by the number of pairs of different atoms.

    \b
    Examples:
      trajet rdf water.gro water.xtc --select "name OW" --plot rdf.png
      trajet rdf top.gro run.xtc --select "resname NA" --to "name OW" --range 0 10 -o rdf.csv
    """
    selection, other = job.select(select), None if to is None else job.select(to)
    with job.progress("rdf") as show:
        result = trajet.rdf(
            selection,
            other,
            bins=bins,
            range=value_range,
            exclusion_block=exclusion_block,
            frames=job.frames,
            pool=job.pool,
            progress=show,
            sample=job.sample,
        )

    def table() -> str:
        rows: list[tuple[str, ...]] = [("groups", "pairs counted", "highest g", "at r (Å)")]
        most = int(np.argmax(result.g))
        groups = " - ".join(map(_cut, dict.fromkeys(result.labels)))
        pairs = str(int(result.counts.sum()))
        rows.append((groups, pairs, f"{result.g[most]:.3f}", f"{result.r[most]:.3f}"))
        return "\n".join([_head("RDF", result.report), *lines_of(rows)])

    job.finish(result, table)


def _one_of_two(to: str | None, reference: str | None) -> None:
    """Raise an error if both are given."""
    if to is not None and reference is not None:
        raise click.UsageError("choose other atoms (--to) or a reference (--reference), not both")


def declared(name: str) -> click.Command:
    """Return the command that the module of an analysis declares as `COMMAND`."""
    command: Command = importlib.import_module(f"trajet.analysis.{name}").COMMAND

    def function(job: AnalysisOptions, *, select: str, **words: str) -> None:
        values = {option.parameter: option.values[words[option.parameter]] for option in options}
        selection = job.select(select)
        with job.progress(command.name) as show:
            result = command.function(
                selection,
                **values,
                frames=job.frames,
                pool=job.pool,
                progress=show,
                sample=job.sample,
            )
        job.finish(result, lambda: _series_table(result))

    options = command.options
    function.__name__, function.__doc__ = command.name, command.help
    return analysis(_select, *map(_choice, options))(function)


def _choice(choice: Choice) -> Callable[[Decorated], Decorated]:
    """Return the option of a declared choice; the first word is the default."""
    words = list(choice.values)
    return click.option(
        "--" + choice.parameter.replace("_", "-"),
        type=click.Choice(words),
        default=words[0],
        show_default=True,
        help=choice.help,
    )


COMMANDS = (rmsd, rmsf, dihedrals, distances, rdf)


def _series_table(result: Series) -> str:
    """Return a table with mean, spread and extremes of each series."""
    rows: list[tuple[str, ...]] = [("selection", "mean", "std", "min", "max", "last")]
    values = result.values.reshape(len(result.frames), -1)
    for label, column in zip(result.columns, values.T, strict=True):
        numbers = (column.mean(), column.std(), column.min(), column.max(), column[-1])
        rows.append((_cut(label), *(f"{number:.3f}" for number in numbers)))
    return "\n".join([_head(f"{result.name} ({result.units})", result.report), *lines_of(rows)])


def _dihedral_table(result: Dihedrals) -> str:
    """Return a table with circular mean and standard deviation of each angle."""
    names = result.columns[::2] if result.features else result.columns
    rows: list[tuple[str, ...]] = [("angle", "mean", "std", "last")]
    for name, column in zip(names[:_LINES], result.angles.T, strict=False):
        centre = np.exp(1j * np.radians(column)).mean()
        length = min(1.0, float(np.abs(centre)))
        spread = np.degrees(np.sqrt(-2 * np.log(length))) if length > 0 else np.inf
        numbers = (np.degrees(np.angle(centre)), spread, column[-1])
        rows.append((name.removeprefix("cos "), *(f"{number:.1f}" for number in numbers)))
    head = _head(f"{len(names)} dihedral angles (degrees, on the circle)", result.report)
    return "\n".join([head, *lines_of(rows), *_left_out(len(names))])


def _distance_table(result: Distances) -> str:
    """Return a table with mean, spread and extremes of each distance."""
    pairs = result.values.reshape(len(result.frames), -1)
    rows: list[tuple[str, ...]] = [("pair of atoms", "mean", "std", "min", "max", "last")]
    for name, column in zip(result.pair_names(_LINES), pairs.T, strict=False):
        numbers = (column.mean(), column.std(), column.min(), column.max(), column[-1])
        rows.append((name, *(f"{number:.3f}" for number in numbers)))
    head = _head(f"{pairs.shape[1]} distances (Å)", result.report)
    return "\n".join([head, *lines_of(rows), *_left_out(pairs.shape[1])])


def _left_out(count: int) -> list[str]:
    """Return a line with the number of rows that a table leaves out, if any."""
    return [] if count <= _LINES else [f"… and {count - _LINES} more (-o FILE writes all)"]


def _cut(label: str) -> str:
    return label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"


def _head(what: str, report: Report) -> str:
    """Return the first line of a table: its quantity, and the time of the run."""
    n_frames = report["parameters"]["n_frames"]
    head = f"{what} of {n_frames} frame{'' if n_frames == 1 else 's'}"
    seconds, threads = report["stages"]["t_total"], report["threads"]
    if seconds > 0:
        head += f" in {seconds:.3g} s on {threads} thread{'s' if threads > 1 else ''}"
    before = advise.before_run(entries_of(report))
    return f"{head}; {before}" if before else head
