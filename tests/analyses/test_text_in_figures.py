"""Laws of the text in figures: names have room, legends and warnings cover no data."""

from itertools import pairwise
from typing import Any

import matplotlib.style
import numpy as np
import pytest
from helpers.made_reports import report, worker
from helpers.made_results import atom_values, drawable, ensemble_of, series_of
from matplotlib.axes import Axes
from matplotlib.axis import Axis as FigureAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from trajet import plots
from trajet.plots.drawing import wrapped
from trajet.plots.room import covers_data
from trajet.result.axes import Axis, bins, named

WARNING = "warning: elements are guessed from names"


def axes_of_size(width: float, height: float, layout: Any = None) -> Axes:
    """Return axes of a user, with or without a layout engine."""
    return Figure(figsize=(width, height), layout=layout).subplots()


def draw(figure: Figure) -> Any:
    """Draw a figure as `savefig` does, whose layout then follows its ticks; return the renderer."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    canvas.draw()
    return canvas.get_renderer()


def shown(axis: FigureAxis) -> list[str]:
    """Return the texts beside an axis."""
    return [text.get_text() for text in axis.get_ticklabels()]


def atoms(n_residues: int, names: str = "N CA C O") -> Axis:
    """Return the atoms of residues, all with these names."""
    residues = np.repeat(np.arange(1, n_residues + 1), len(names.split()))
    of_atoms = names.split() * n_residues
    labels = [f"ALA{number}:{name}" for number, name in zip(residues, of_atoms, strict=True)]
    return named("atoms", labels, atom=np.arange(len(labels)), resid=residues)


def along(elements: Axis, ax: Axes | None = None, look: plots.Look = plots.PLAIN) -> Axes:
    """Draw a curve over atoms."""
    values = np.arange(1.0, len(elements) + 1)
    gaps = np.full(len(values), np.nan)
    figure = plots.along(elements, values, gaps, quantity="q", is_bars=False, ax=ax, look=look)
    return figure.axes[0]


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_atoms_of_many_residues_have_their_numbers(layout: Any) -> None:
    """At the first atom of each residue, also in narrow axes, whose label says so."""
    axes = along(atoms(25), axes_of_size(3.35, 2.5, layout))
    assert axes.get_xlabel() == "atoms of residue"
    assert shown(axes.xaxis) == ["5", "10", "15", "20", "25"]
    assert axes.get_xticks().tolist() == [16, 36, 56, 76, 96]


def test_atoms_of_few_residues_have_names() -> None:
    """Turned, if only few would fit; those of one residue have no name of it."""
    axes = along(atoms(3, "N CA C O CB CG CD1 CD2"), axes_of_size(3.35, 2.5, "constrained"))
    assert axes.get_xlabel() == "atom"
    assert len(shown(axes.xaxis)) > 5 and shown(axes.xaxis)[0] == "ALA1:N"
    assert {text.get_rotation() for text in axes.get_xticklabels()} == {45.0}
    axes = along(atoms(1))
    assert axes.get_xlabel() == "atom of ALA1"
    assert shown(axes.xaxis) == ["N", "CA", "C", "O"]


def test_parts_that_all_names_share_are_left_out() -> None:
    """In a matrix of distances of Cα from the atoms of a ligand."""
    sides = atoms(8, "CA"), atoms(1, "C1 C2 C3 O1")
    (axes, _) = plots.matrix(np.ones((8, 4)), sides, ("atom (CA)", "atom (X)"), quantity="d").axes
    assert shown(axes.yaxis) == [f"ALA{k}" for k in range(1, 9)]
    assert shown(axes.xaxis) == ["C1", "C2", "C3", "O1"]
    sides = atoms(8, "N CA C O CB CG CD OE"), atoms(8, "N CA C O CB CG CD OE")
    axes = plots.matrix(np.ones((64, 64)), sides, ("atom (A)", "atom (B)"), quantity="d").axes[0]
    assert [axes.get_ylabel(), axes.get_xlabel()] == [f"atoms of residue ({k})" for k in "AB"]
    assert shown(axes.xaxis) == shown(axes.yaxis) == [str(k) for k in range(1, 9)]


@pytest.mark.parametrize("size", [(3.35, 2.5), (6.7, 4.0), (6.4, 4.8)])
def test_names_fit_beside_axes_without_a_layout_engine(size: tuple[float, float]) -> None:
    """Names that would be cut off below or on the left are fewer, or numbers."""
    numbers = np.arange(1, 13)
    residues = named("residues", [f"ALA{k}" for k in numbers], residue=np.arange(12), resid=numbers)
    values = np.where(numbers % 4 == 0, 0.5, 0.0)
    bars, image = axes_of_size(*size), axes_of_size(*size)
    plots.contact_map(drawable(values[None], named("residues", ["LIG1"]), residues), ("", ""), bars)
    sides = atoms(12), atoms(12)
    plots.matrix(np.ones((48, 48)), sides, ("atom", "atom"), quantity="d", ax=image)
    for axes in (bars, image):
        figure = axes.figure
        draw(figure)
        texts = [*axes.get_xticklabels(), *axes.get_yticklabels()]
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        assert len(boxes) > 5
        for box in boxes:
            assert box.x0 >= -1 and box.y0 >= -1, (size, box)
    # Each residue in contact has its name.
    assert {"ALA4", "ALA8", "ALA12"} <= {*shown(bars.xaxis)}


def test_names_of_replicas_do_not_overlap() -> None:
    """In narrow axes only some have names."""
    sites = {f"ALA{k}": np.arange(9.0) + k for k in range(9)}
    runs = [series_of(sites), series_of({k: v + 0.1 for k, v in sites.items()})]
    axes = axes_of_size(3.35, 2.5)
    ensemble_of({"wt": runs}, name="sasa").mean("system").plot(axes)
    draw(axes.figure)
    boxes = [text.get_window_extent() for text in axes.get_xticklabels()]
    assert 1 < len(boxes) < 9
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


@pytest.mark.parametrize("width", [2.0, 3.35, 6.7])
def test_angles_of_a_ramachandran_plot_do_not_overlap(width: float) -> None:
    """In narrow axes they have larger steps; counts are whole numbers."""
    axes, rng = axes_of_size(width, width), np.random.default_rng(1)
    plots.ramachandran(*rng.normal(0, 40, (2, 300, 3)), axes)
    draw(axes.figure)
    boxes = [text.get_window_extent() for text in axes.get_xticklabels()]
    assert len(boxes) >= 3 and all(one.x1 < other.x0 for one, other in pairwise(boxes))
    assert all(text.isdigit() for text in shown(axes.figure.axes[1].yaxis))


def test_legends_have_few_rows() -> None:
    """Names stand side by side if they fit, with columns of their own widths."""
    result = series_of({name: np.arange(9.0) + k for k, name in enumerate("abcd")})
    (legend,) = result.plot(size=(3.35, 2.5)).legends
    rows = {round(text.get_window_extent().y0) for text in legend.get_texts()}
    assert len(rows) == 1
    pair = series_of({"backbone": np.arange(9.0), "resname IPH and not name H*": np.ones(9)})
    figure = pair.plot(size="5x2.5in")
    draw(figure)
    one, other = (text.get_window_extent() for text in figure.legends[0].get_texts())
    assert one.x1 < other.x0


def test_an_overlay_of_more_runs_than_colours_names_the_groups() -> None:
    """In the colours of all of their runs."""
    runs = [series_of({"a": np.arange(9.0) + k}) for k in range(4)]
    axes = ensemble_of({"wt": runs, "mut": runs}, name="sasa").plot(kind="overlay").axes[0]
    handles, names = axes.get_legend_handles_labels()
    assert names == ["wt", "mut"]
    assert len({line.get_color() for line in axes.lines}) == len({*names}) == len(handles)


def test_numbers_with_errors_are_broken_at_spaces() -> None:
    """Only if they do not fit into a line."""
    text = f"fit, {plots.unbroken('D = (3.62 ± 0.17) × 10⁻⁵ cm²/s')}"
    assert wrapped(text, 2.7) == "fit,\nD = (3.62 ± 0.17) × 10⁻⁵ cm²/s"
    lines = wrapped(text, 2.2).split("\n")
    assert " ".join(lines) == "fit, D = (3.62 ± 0.17) × 10⁻⁵ cm²/s" and len(lines) == 2


@pytest.mark.parametrize("kind", ["bars", "curve", "full", "legend"])
def test_warnings_cover_no_data(kind: str) -> None:
    """They stand in a free corner, or the y axis grows; two results write them once."""
    axes, look = axes_of_size(3.35, 2.5), plots.Look(warning=WARNING)
    x = np.arange(60.0)
    if kind == "bars":
        elements, values = atoms(9, "CA"), np.full(9, 5.0)
        for _ in range(2):
            plots.along(
                *(elements, values, np.full(9, np.nan)),
                quantity="q",
                is_bars=True,
                ax=axes,
                look=look,
            )
        assert axes.get_ylim()[0] == 0
    elif kind == "curve":
        plots.series(drawable(x), None, axes, look)
    else:
        columns = {name: (-1) ** x * (k + 1) for k, name in enumerate("ab")}
        result = series_of(columns if kind == "legend" else {"a": columns["a"]})
        for _ in range(2):
            plots.series(result, None, axes, look)
    draw(axes.figure)
    (text,) = axes.texts
    box = text.get_window_extent()
    assert not covers_data(axes, box)
    assert axes.bbox.padded(1).contains(*box.min) and axes.bbox.padded(1).contains(*box.max)
    legend = axes.get_legend()
    assert (legend is not None) == (kind not in ("bars", "curve"))
    assert legend is None or not Bbox.overlaps(legend.get_window_extent(), box)


def test_a_contact_map_keeps_the_labels_of_neighbouring_axes() -> None:
    """Those of its own axes are there wherever these stand."""
    left, right = Figure().subplots(1, 2)
    residues = named("residues", ["ALA1", "ALA2"], residue=np.arange(2), resid=np.arange(1, 3))
    plots.contact_map(drawable(np.ones((2, 2)), residues, residues), ("rows", "columns"), right)
    assert right.get_ylabel() == "rows" and right.get_xlabel() == "columns"
    assert all(text.get_visible() for text in right.get_yticklabels())
    assert not left.get_ylabel()


@pytest.mark.parametrize("name", ["journal", "talk"])
def test_style_sheets_set_sizes_of_marks(name: str) -> None:
    """Marks of significance are as large as the points that they cover."""
    sites = {f"ALA{k}": np.arange(9.0) for k in range(3)}
    runs = [
        [series_of({k: v + 9 * s + r for k, v in sites.items()}) for r in range(3)] for s in (0, 1)
    ]
    with matplotlib.style.context(f"trajet.styles.{name}"):
        ensemble = ensemble_of({"wt": runs[0], "mut": runs[1]}, name="sasa")
        axes = ensemble.difference("wt", "mut").plot().axes[0]
        usual = matplotlib.rcParams["lines.markersize"]
    sizes = {line.get_markersize() for line in axes.lines if line.get_marker() == "o"}
    assert sizes == {usual}


@pytest.mark.parametrize("name", ["journal", "talk"])
def test_projections_of_a_density_fill_the_figure(name: str) -> None:
    """They have most of its width, and all text is within it."""
    axes = [bins(side, np.arange(13.0)) for side in "xyz"]
    with matplotlib.style.context(f"trajet.styles.{name}"):
        figure = plots.projections(drawable(np.ones((12, 12, 12)), *axes), "density", "1/Å³")
        renderer = draw(figure)
        widths = [panel.get_window_extent().width for panel in figure.axes[:3]]
        assert sum(widths) > 0.7 * figure.bbox.width
        for panel in figure.axes:
            box = panel.get_tightbbox(renderer)
            assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1
            assert box.y0 >= -1 and box.y1 <= figure.bbox.y1 + 1


def test_parts_of_figures_are_drawn_into() -> None:
    """Axes of a part of a figure have the room of that part."""
    whole = Figure(figsize=(6.7, 2.5), layout="constrained")
    axes = along(atoms(25), whole.subfigures(1, 2)[1].subplots())
    alone = along(atoms(25), axes_of_size(3.35, 2.5, "constrained"))
    assert shown(axes.xaxis) == shown(alone.xaxis)


def test_residues_in_narrow_axes_keep_round_numbers() -> None:
    """As do those of several chains."""
    numbers = np.tile(np.arange(1, 61), 2)
    chains = np.repeat(["A", "B"], 60)
    axes = axes_of_size(3.35, 2.5)
    atom_values(np.arange(120.0), report([worker(0)]), resid=numbers, chain=chains).plot(axes)
    assert {int(text) % 10 for text in shown(axes.xaxis)} == {0}
    assert axes.get_xlabel() == "residue"
