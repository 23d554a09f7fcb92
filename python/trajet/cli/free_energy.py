"""The command `trajet free-energy`, over results that other commands saved."""

from pathlib import Path
from typing import Literal, TypeAlias, get_args

import click
import numpy as np

import trajet
from trajet import output as outputs
from trajet.cli import figures, options
from trajet.cli.command import command
from trajet.cli.figures import FigureOptions
from trajet.cli.options import path_to
from trajet.cli.results import check_json, echo_json, json_option
from trajet.cli.tables import wrapped
from trajet.cli.translation import line_of
from trajet.kinetics.bins import Region
from trajet.kinetics.weighted_frames import Units
from trajet.messages import as_entries
from trajet.result import Table, entries_of
from trajet.result.as_json import document
from trajet.result.columns import SUFFIXES, write_csv
from trajet.result.summary import MAX_ROWS, Column, Summary, with_half_widths

_Part: TypeAlias = float | tuple[float, float]
_Series: TypeAlias = Table | tuple[Table, str | int]


def _series(_: click.Context, param: click.Parameter, value: str | None) -> _Series | None:
    """Return a saved result, or one of its series, of FILE[:SERIES]."""
    if value is None:
        return None
    parts = value.split(":")
    # Names of files and labels may have colons: "rmsd.npz:resid 2:8".
    ends = [k for k in range(len(parts), 0, -1) if Path(":".join(parts[:k])).is_file()]
    end = ends[0] if ends else max(1, len(parts) - 1)
    table, series = trajet.load(":".join(parts[:end])), ":".join(parts[end:])
    if end == len(parts):
        if table.has_frames and len(table.columns) > 1:
            shown = ", ".join(map(repr, table.columns[:3]))
            raise click.BadParameter(
                f"{value} has {len(table.columns)} series ({shown}, …): choose one, as in"
                f' "{value}:{table.columns[0]}"',
                param=param,
            )
        return table
    return table, int(series) if series.isdecimal() else series


def _column(context: click.Context, param: click.Parameter, value: str | None) -> Table | None:
    """Return a saved result of one series, or the chosen series of one, of FILE[:SERIES]."""
    given = _series(context, param, value)
    if not isinstance(given, tuple):
        return given
    table, chosen = given
    try:
        return table[table.columns[chosen] if isinstance(chosen, int) else chosen]
    except (IndexError, KeyError):
        shown = ", ".join(map(repr, table.columns[:3]))
        raise click.BadParameter(f"{value!r} has no series {chosen!r}: there are {shown}") from None


def _region(_: click.Context, param: click.Parameter, value: str | None) -> Region | None:
    """Return a place or a range along each coordinate, of X,Y or X0:X1,Y0:Y1."""
    if value is None:
        return None
    parts: list[_Part] = []
    for text in value.split(","):
        try:
            ends = [float(end) for end in text.split(":")]
        except ValueError:
            ends = []
        if len(ends) not in (1, 2):
            raise click.BadParameter(
                f"{text!r} is neither a number nor a range such as -80:0", param=param
            )
        parts.append(ends[0] if len(ends) == 1 else (ends[0], ends[1]))
    return parts[0] if len(parts) == 1 else tuple(parts)


@command("free-energy")
@click.argument("x", metavar="X.npz[:SERIES]", callback=_series)
@click.argument("y", metavar="[Y.npz[:SERIES]]", required=False, callback=_series)
@click.option("--temperature", type=float, required=True, metavar="K", help="Temperature, K.")
@click.option(
    "--bins", type=click.IntRange(1), default=50, show_default=True, help="Bins of each axis."
)
@click.option(
    "--reference",
    callback=_region,
    metavar="X[,Y]",
    help="Where F is 0: a place, or ranges, as in -100:-30,-80:0. Default: the lowest bin.",
)
@click.option(
    "--jacobian",
    type=click.Choice(["kept", "removed"]),
    default="kept",
    show_default=True,
    help="Whether to divide distances by the volumes of shells, and angles by their sine.",
)
@click.option(
    "--units",
    type=click.Choice(get_args(Units)),
    default="kJ/mol",
    show_default=True,
    help="Units of energy.",
)
@click.option("--weights", metavar="FILE[:SERIES]", callback=_column, help="A result with weights.")
@click.option(
    "--bias",
    metavar="FILE[:SERIES]",
    callback=_column,
    help="A result with the bias of each frame, in its unit: weights are exp(bias / kT).",
)
@click.option(
    "--basin", type=click.IntRange(0), metavar="N", help="The basin whose frames are written."
)
@click.option(
    "--frames-file",
    callback=path_to((".csv",)),
    metavar="FILE",
    help="A table of the frames in the --basin, which trajet convert takes.",
)
@click.option(
    "-o",
    "--output",
    callback=path_to(SUFFIXES),
    metavar="FILE",
    help="The free energy: .csv, .json or .npz.",
)
@click.option(
    "--plot",
    callback=path_to((".png", ".pdf", ".svg")),
    metavar="FILE",
    help="A figure: .png, .pdf or .svg",
)
@figures.OPTIONS[0]
@figures.OPTIONS[1]
@figures.OPTIONS[2]
@json_option
@options.quiet
def free_energy(
    x: _Series,
    y: _Series | None,
    temperature: float,
    bins: int,
    reference: Region | None,
    jacobian: Literal["kept", "removed"],
    units: Units,
    weights: Table | None,
    bias: Table | None,
    basin: int | None,
    frames_file: Path | None,
    output: Path | None,
    plot: Path | None,
    title: str | None,
    size: tuple[float, float] | None,
    dpi: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compute free energies along one coordinate or two.

    X and Y are results with a number of each frame, which other commands saved as .npz or .json: of
    one run with the same frames. SERIES is the label or the number of one of several.

    \b
    Examples:
      trajet free-energy rmsd.npz --temperature 300 --plot profile.png
      trajet free-energy "angles.npz:phi ALA3" "angles.npz:psi ALA3" --temperature 300 --basin 0 \\
          --frames-file lowest.csv --plot map.png
      trajet convert run.xtc lowest.xtc --frames-file lowest.csv
    """
    check_json(as_json=as_json, quiet=quiet)
    figure = FigureOptions(title, size, dpi)
    figure.check(plot)
    if (basin is None) != (frames_file is None):
        raise click.UsageError("--basin and --frames-file belong together: give both")
    found = trajet.free_energy(
        x,
        y,
        temperature=temperature,
        bins=bins,
        reference=reference,
        jacobian=jacobian,
        units=units,
        weights=weights,
        bias=bias,
    )
    written = [path for path in (frames_file, plot, output) if path is not None]
    if frames_file is not None:
        frames = trajet.frames_in(found, x, y, basin=basin)
        rows = ([number] for number in frames.tolist())
        outputs.write(frames_file, lambda file: write_csv(file, [["frame"]], rows))
    if output is not None:
        found.save(output)
    if plot is not None:
        figure.save(found, plot)
    if as_json:
        echo_json({**document(found, outputs=written), **as_entries(found.messages)})
    elif not quiet:
        n_frames = entries_of(found.report)["parameters"]["n_frames"]
        click.echo(f"{found.quantity} of {n_frames} frames at {temperature:g} K")
        notes = (line for one in found.messages for line in wrapped(line_of(one)))
        for line in (*_basins(found).table_lines(), *notes, *written):
            click.echo(line)


def _basins(found: Table) -> Summary:
    """Return a table of the deepest basins, with their lowest bins, free energies and shares."""
    basins = found.parts["basins"][:MAX_ROWS]
    (axis,) = basins.axes
    assert basins.half_widths is not None and basins.resolved is not None
    half_widths = np.where(basins.resolved, basins.half_widths, np.nan)
    places = zip("xy", found.axes, strict=False)
    columns = (
        Column("basin", [str(number) for number in axis["number"].tolist()]),
        *(Column(f"at {of.label}", axis[name], ".4g") for name, of in places),
        *with_half_widths(Column(f"F ({found.units})", basins.values, ".2f"), half_widths),
        Column("share (%)", 100 * basins.also["share"].astype(np.float64), ".2f"),
        Column("frames", basins.also["count"]),
    )
    return Summary("", columns, len(found.parts["basins"]))


COMMANDS = (free_energy,)
