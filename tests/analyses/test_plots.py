"""Laws of all figures: no text is cut off, and axes show the values."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import matplotlib.style
import numpy as np
import pytest
import trajet as tj
from helpers.made_reports import report, worker
from helpers.made_results import atom_values, drawable, radial, series_of, table
from helpers.messages import raises
from helpers.systems import Systems
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from trajet import plots
from trajet.messages import Code, Message
from trajet.plots.residues import places_of_residues
from trajet.result.axes import Axis, bins, named

# Selections as users write them.
LONG = "protein and name CA and (resid 1:29 or resid 60:121 or resid 160:214) and not resname GLY"
OTHER = (
    "protein and name CB and (resid 122:159 or resid 30:59) and not (resname ALA or resname SER)"
)

Made = Callable[[tj.Trajectory], Any]
MADE: dict[str, Made] = {
    "rmsd": lambda traj: tj.rmsd(traj.select(LONG)),
    "groups": lambda traj: tj.rmsd(traj.select(LONG), groups=[OTHER, LONG]),
    "rmsf": lambda traj: tj.rmsf(traj.select(LONG)),
    "atoms": lambda traj: tj.rmsf(traj.select("resid 1:3"), frames=[0, 9]),
    "gyration": lambda traj: tj.gyration(traj.select(LONG), per_axis=True),
    "distances": lambda traj: tj.distances(traj.select(LONG), OTHER),
    "few distances": lambda traj: tj.distances(traj.select([0, 9]), "index 30 or index 3000"),
    "minimum": lambda traj: tj.min_distance(traj.select(LONG), OTHER),
    "contacts": lambda traj: tj.contacts(traj.select(LONG), OTHER),
    "contact map": lambda traj: tj.contact_map(traj.select(LONG), OTHER),
    "native": lambda traj: tj.native_contacts(traj.select(LONG)),
    "centers": lambda traj: tj.centers(traj.select(LONG), by="selection"),
    "center distances": lambda traj: tj.center_distances(traj.select(LONG), OTHER),
    "many centers": lambda traj: tj.center_distances(
        [traj.select(LONG), OTHER, "resid 1:30 and name CA", "resid 60:99 and name CA"]
    ),
    "hbonds": lambda traj: tj.hbonds(traj.select("protein"), frames=slice(9), lifetimes=True),
    "pairs": lambda traj: tj.hbonds(traj.select("protein"), frames=slice(9)).pairs,
    "dssp": lambda traj: tj.dssp(traj.select(f"protein and not ({LONG} and resid 1)")),
    "dihedrals": lambda traj: tj.dihedrals(traj.select(f"backbone or ({LONG})")),
    "angles": lambda traj: tj.dihedrals(traj, [[0, 4, 6, 8], [3000, 3001, 3002, 3003]]),
    "sasa": lambda traj: tj.sasa(traj.select("protein"), by="residue", frames=[0, 50]),
    "msd": lambda traj: tj.msd(traj.select(LONG)),
    "pca": lambda traj: tj.pca(traj.select(LONG)),
    "pairwise": lambda traj: tj.pairwise_rmsd(traj.select(LONG)),
    "clusters": lambda traj: tj.cluster_rmsd(traj.select(LONG), cutoff=1.5),
    "count": lambda traj: tj.count(traj.select(f"around 5 ({LONG})", updating=True)),
}
# Analyses that need a cell.
IN_CELLS: dict[str, Made] = {
    "rdf": lambda traj: tj.rdf(traj.select(LONG), OTHER, range=(0, 20)),
    "rdf pairs": lambda traj: tj.rdf_pairs(
        [(traj.select("name OW and resid 300:900"), LONG), (traj.select(LONG), OTHER)],
        weights="equal",
    ),
    "density": lambda traj: tj.density(traj.select(LONG), spacing=4),
    "linear density": lambda traj: tj.linear_density(
        [traj.select(LONG), OTHER, "resname SOL"], quantity="number"
    ),
}


def assert_inside(figure: Figure) -> None:
    """Assert that all texts of a figure lie within it."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    for part in (*figure.axes, *figure.legends, *figure.texts):
        box = part.get_tightbbox(canvas.get_renderer())
        assert box is not None
        where = (part, box.extents, figure.bbox.extents)
        assert box.x0 >= -1 and box.y0 >= -1, where
        assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, where


@pytest.mark.parametrize("name", MADE)
def test_no_text_is_cut_off(systems: Systems, name: str) -> None:
    """Titles, names of axes and legends of long selections are in the figure."""
    assert_inside(MADE[name](systems["adk.xtc"].trajectory).plot())


@pytest.mark.parametrize("name", IN_CELLS)
def test_no_text_is_cut_off_in_cells(systems: Systems, name: str) -> None:
    """The same for analyses that need a cell."""
    assert_inside(IN_CELLS[name](systems["solvated.xtc"].trajectory).plot())


@pytest.mark.parametrize(
    ("values", "from_zero"),
    [
        ([16.4, 16.5, 16.9, 16.6], False),
        ([0.0, 1.5, 3.0, 7.0], True),
        ([2.0, 3.0, 9.0, 4.0], True),
        ([-3.0, -2.9, -2.8, -3.1], False),
        ([-1.0, 2.0, 5.0, 0.0], False),
        ([np.nan, 5.0, 5.1, 5.2], False),
        ([5.0, 5.0, 5.0, 5.0], False),
        ([0.0, 0.0, 0.0, 0.0], False),
    ],
)
def test_axes_show_the_curve(values: list[float], from_zero: bool) -> None:
    """They begin at 0 only where the curve then takes at least half of the height."""
    given = np.array(values)
    frames = np.arange(len(values))
    figure = table(given, frames, []).plot()
    axes = figure.axes[0]
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    low, high = axes.get_ylim()
    assert (low == 0.0) == from_zero
    span = np.nanmax(given) - np.nanmin(given)
    assert low <= np.nanmin(given) <= np.nanmax(given) <= high
    assert not span or span >= 0.45 * (high - low)


def test_rounding_is_not_magnified() -> None:
    """A curve that is constant within rounding looks constant, and ticks are whole numbers."""
    frames = np.arange(4)
    given = 1 - 1e-8 * np.array([1.0, 3.0, 2.0, 5.0])
    figure = table(given, frames, []).plot()
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    low, high = figure.axes[0].get_ylim()
    assert max(low - 0.9996, 1.0004 - high) < 0
    assert figure.axes[0].yaxis.get_major_formatter().get_offset() == ""


def test_secondary_structure_begins_at_its_first_time(systems: Systems) -> None:
    """Also with long steps, of which half a block would be before it."""
    result = tj.dssp(systems["adk.xtc"].trajectory.select("protein"), frames=slice(None, None, 20))
    assert result.plot().axes[0].get_xlim() == (result.times[0], result.times[-1])


def test_clusters_have_whole_numbers(systems: Systems) -> None:
    """Also if there is only one."""
    result = tj.cluster_rmsd(systems["adk.xtc"].trajectory.select("name CA"), cutoff=20)
    figure = result.plot()
    FigureCanvasAgg(figure).draw()
    axis = figure.axes[0].yaxis
    low, high = sorted(axis.get_view_interval())
    assert [tick for tick in axis.get_ticklocs() if low <= tick <= high] == [0]


def test_counts_have_whole_ticks(systems: Systems) -> None:
    """Counts of atoms."""
    traj = systems["solvated.xtc"].trajectory
    near = traj.select("name OW and around 3 resid 100", updating=True)
    counted = tj.count(near, frames=slice(0, 5))
    figure = counted.plot()
    (axes,) = figure.axes
    figure.canvas.draw()
    assert all(float(tick).is_integer() for tick in axes.get_yticks())


def test_axes_of_a_user_show_all_that_is_drawn_into_them(systems: Systems) -> None:
    """Also where the second curve goes beyond the first."""
    traj = systems["adk.xtc"].trajectory
    low, high = tj.rmsd(traj.select("name CA and resid 1:29")), tj.gyration(traj.select("name CA"))
    axes = Figure().subplots()
    for result in (low, high):
        result.plot(ax=axes)
    bottom, top = axes.get_ylim()
    assert bottom == 0.0
    assert top >= high.values.max()


def test_long_texts_are_wrapped_not_lost() -> None:
    """The end of what does not fit in two lines is an ellipsis; dollar signs stay."""
    result = table(np.arange(5.0), np.arange(5), [])
    figure = result.plot(title=f"RMSD of {LONG}")
    assert figure.axes[0].get_title().replace("\n", " ") == f"RMSD of {LONG}"
    title = result.plot(title=f"a$b {LONG}" * 4).axes[0].get_title()
    assert title.startswith(r"a\$b")
    assert title.count("\n") == 1
    assert title.endswith("…")


def test_legends_cover_no_data_in_axes_of_a_user() -> None:
    """The y axis grows, and shows a further curve that is higher."""
    figure = Figure(figsize=(3.4, 2.6), layout="constrained")
    axes = figure.subplots()
    # In every corner there are data.
    for top in (1.0, 30.0):
        values = top * np.sin(np.arange(400.0))[:, None] * [1.0, 0.5]
        assert of_groups(values).plot(axes, label=["a" * 20, "b" * 20]) is axes
        FigureCanvasAgg(figure).draw()
        box = axes.get_legend().get_window_extent()
        points = np.vstack([axes.transData.transform(line.get_xydata()) for line in axes.lines])
        assert box.width > 100 and not box.count_contains(points)
        assert axes.get_ylim()[1] > top


def test_legends_of_figures_are_beside_all_axes(systems: Systems) -> None:
    """None is within axes."""
    traj = systems["adk.xtc"].trajectory
    for name in ("groups", "msd", "angles"):
        figure = MADE[name](traj).plot()
        FigureCanvasAgg(figure).draw()
        assert not any(axes.get_legend() for axes in figure.axes)
        for legend in figure.legends:
            assert not any(legend.get_window_extent().overlaps(axes.bbox) for axes in figure.axes)


def of_groups(values: np.ndarray) -> tj.Table:
    """Return a result with a series for each column."""
    return series_of({f"g{k}": column for k, column in enumerate(values.T)})


def test_labels_colours_and_running_averages_are_those_of_the_user() -> None:
    """One for each series; others are errors that say how many there are."""
    rng = np.random.default_rng(1)
    result = of_groups(rng.normal(5, 1, (300, 2)))
    axes = result.plot(label=["wild", "mutant"], color=["k", "#ff0000"], smooth=7).axes[0]
    handles, names = axes.get_legend_handles_labels()
    assert names == ["wild", "mutant"]
    assert [line.get_color() for line in handles] == ["#000000ff", "#ff0000ff"]
    for line, values in zip(handles, result.values.T, strict=True):
        twin = [values[k : k + 7].mean() for k in range(294)]
        assert np.allclose(line.get_ydata(), twin)
        assert np.array_equal(line.get_xdata(), result.times[3:297])
    assert axes.get_xlabel() == "time (ps)" and titles_of(axes) == []
    plain = result.plot(smooth=False, mean=False).axes[0]
    assert [len(line.get_ydata()) for line in plain.lines[:2]] == [300, 300]
    wrong: list[dict[str, Any]] = [
        {"label": "wild"},
        {"color": ["k", "r", "g"]},
        {"color": ["k", "nocolour"]},
        {"smooth": 0},
    ]
    for options in wrong:
        with raises(ValueError):
            result.plot(**options)


def test_running_averages_have_gaps_and_stand_in_the_middle() -> None:
    """Averages that are asked for stay where values are missing; an even window has a middle."""
    values = np.random.default_rng(1).normal(5, 1, 40)
    values[20] = np.nan
    result = series_of({"g": values})
    axes = result.plot(smooth=np.int64(4)).axes[0]
    smooth = axes.lines[1]
    twin = [values[k : k + 4].mean() for k in range(37)]
    np.testing.assert_allclose(smooth.get_ydata(), twin)
    middles = [result.times[k : k + 4].mean() for k in range(37)]
    np.testing.assert_allclose(smooth.get_xdata(), middles)
    for wrong in (2.5, "7"):
        with raises(TypeError):
            result.plot(smooth=wrong)
    with raises(ValueError):
        result.plot(kind="histogram", smooth=5)


def titles_of(axes: Axes) -> list[str]:
    """Return the titles of axes."""
    places: tuple[Literal["left", "center", "right"], ...] = ("left", "center", "right")
    return [title for title in map(axes.get_title, places) if title]


def drifting(seed: int) -> tj.Table:
    """Return a walk, whose mean is not resolved."""
    return series_of({"walk": np.random.default_rng(seed).normal(0, 1, 100).cumsum()})


def settled(n_series: int = 1) -> tj.Table:
    """Return noise, whose means are resolved."""
    values = np.random.default_rng(3).normal(0, 1, (400, n_series))
    return series_of({f"flat{k}": column for k, column in enumerate(values.T)})


def bands_of(axes: Axes) -> int:
    """Return the number of bands, of means and of curves."""
    return len(axes.collections) + sum(
        not patch.get_transform().contains_branch_seperately(axes.transData)[0]
        or not patch.get_transform().contains_branch_seperately(axes.transData)[1]
        for patch in axes.patches
    )


@pytest.mark.parametrize("kind", [None, "histogram"])
def test_means_are_drawn_where_they_are_resolved(kind: Literal["histogram"] | None) -> None:
    """In every figure; a user can ask for others, or for none."""

    def drawn(result: tj.Table, **options: Any) -> tuple[int, int]:
        axes = result.plot(kind=kind, **options).axes[0]
        return sum(one.get_linestyle() == "--" for one in axes.lines), bands_of(axes)

    assert drawn(settled()) == drawn(settled(), mean=True) == (1, 1)
    assert drawn(settled(), mean=False) == (0, 0)
    assert drawn(settled(), band=False) == (1, 0)
    assert drawn(settled(), mean=False, band=True) == (0, 1)
    assert drawn(drifting(1)) == (0, 0)
    assert drawn(drifting(1), mean=True) == (1, 0)
    assert drawn(drifting(1), mean=True, band=True) == (1, 1)
    assert drawn(settled(3)) == (3, 3)


def test_an_rmsd_has_no_mean_unless_it_is_asked_for() -> None:
    """Its mean over time is that of distances from one frame."""
    result = table(np.random.default_rng(3).normal(5, 1, 400), np.arange(400), [])
    assert result.statistics().resolved
    for kind in (None, "histogram"):
        assert bands_of(result.plot(kind=kind).axes[0]) == 0
        assert bands_of(result.plot(kind=kind, mean=True).axes[0]) == 1


def test_options_that_a_figure_does_not_have_are_errors() -> None:
    """Means of what is no series, bands without intervals, labels of images."""
    of_atoms = atom_values(np.arange(5.0), report([worker(0)]), resid=np.arange(5))
    with raises(ValueError):
        of_atoms.plot(mean=True)
    with raises(ValueError):
        of_atoms.plot(band=True)
    with raises(ValueError):
        settled().plot(kind="convergence", mean=True)


@pytest.mark.parametrize(
    ("resolved", "n_bands", "n_with_all"),
    [([True] * 6, 1, 1), ([False] * 6, 0, 1), ([True, True, False, True, True, False], 1, 1)],
)
def test_curves_have_the_bands_that_are_resolved(
    resolved: list[bool], n_bands: int, n_with_all: int
) -> None:
    """Points that are not resolved are gaps; most of them, and there is no band."""
    values, of = np.arange(1.0, 7.0), report([worker(0)])
    errors = {"half_widths": np.full(6, 0.5), "resolved": np.array(resolved)}
    rmsf = replace(atom_values(values, of, resid=np.arange(6)), **errors)
    rdf = replace(radial(np.arange(7.0), values), **errors)
    for result in (rmsf, rdf):
        (axes,) = result.plot().axes
        assert (len(axes.collections), len(axes.texts)) == (n_bands, n_bands == 0)
        assert len(result.plot(band=True).axes[0].collections) == n_with_all
        (axes_without,) = result.plot(band=False).axes
        assert not axes_without.collections and not axes_without.texts
        for band in axes.collections:
            inside = [
                any(path.contains_point((x, y)) for path in band.get_paths())
                for x, y in zip(axes.lines[-1].get_xdata(), values + 0.2, strict=True)
            ]
            assert inside[1:5] == resolved[1:5]
    few = replace(rmsf, resolved=np.array([True, False, False, False, False, False]))
    assert not few.plot().axes[0].collections


def test_a_figure_says_that_no_interval_is_resolved() -> None:
    """Within its axes, after a warning; also if a user asks for all and none is known."""
    residues = named("residues", [f"ALA{k}" for k in range(6)], resid=np.arange(6))
    known = report([worker(0)], messages=[Message(Code.BROKEN_MOLECULES, "broken")])
    rmsf = atom_values(np.arange(6.0), report([worker(0)]), resid=np.arange(6))
    rmsf = replace(rmsf, half_widths=np.full(6, np.nan))
    (note,) = rmsf.plot(band=True).axes[0].texts
    assert note.get_text().replace("\n", " ").startswith("note: 95 % intervals are not resolved")
    (both,) = replace(rmsf, report=known).plot().axes[0].texts
    assert [part in both.get_text() for part in ("warning: molecules", "95 % intervals")] == [1, 1]
    assert both.get_color() != note.get_color()
    wrong = {"half_widths": np.full((2, 6), 0.1), "resolved": np.zeros((2, 6), bool)}
    look = plots.Look(must_have_intervals=True)
    for values in (np.full((2, 6), 0.5), np.full((1, 6), 0.5)):
        errors = {name: array[: len(values)] for name, array in wrong.items()}
        result = drawable(values, residues.some(np.arange(6) < len(values)), residues, **errors)
        assert len(plots.contact_map(result, ("", ""), look=look).axes[0].texts) == 1
    pairs = drawable(
        np.full(6, 0.5), residues, half_widths=np.full(6, 0.1), resolved=np.zeros(6, bool)
    )
    assert len(plots.occupancies(pairs, list("abcdef"), look=look).axes[0].texts) == 1


def made_figures(systems: Systems) -> dict[str, tj.Table]:
    """Return results of every kind that can be drawn into axes."""
    traj = systems["adk.xtc"].trajectory
    solvated = systems["solvated.xtc"].trajectory
    chosen = {name: make(traj) for name, make in MADE.items() if name not in ("centers",)}
    return chosen | {name: make(solvated) for name, make in IN_CELLS.items()}


def assert_plain(figure: Figure, n_panels: int) -> None:
    """Assert that a figure has so many panels, no hatches, and no title."""
    bars = {id(image.colorbar.ax) for image in _images(figure) if image.colorbar}
    panels = [axes for axes in figure.axes if id(axes) not in bars]
    assert len(panels) == n_panels
    drawn = [part for axes in figure.axes for part in (*axes.patches, *axes.collections)]
    assert not any(part.get_hatch() for part in drawn)
    assert not any(titles_of(axes) for axes in panels) and not figure.get_suptitle()
    assert not figure.texts


def _images(figure: Figure) -> list[Any]:
    return [one for axes in figure.axes for one in (*axes.images, *axes.collections)]


def test_figures_have_one_panel_without_title_or_hatches(systems: Systems) -> None:
    """A legend names lines if there are several; images have a scale of their colours."""
    results = made_figures(systems)
    for name, result in results.items():
        figure = result.plot()
        assert_plain(figure, {"density": 3, "clusters": 2}.get(name, 1))
        (axes, *_) = figure.axes
        lines = axes.get_legend_handles_labels()[1]
        is_image = any(one.get_array() is not None for one in _images(figure))
        assert is_image == any(one.colorbar for one in _images(figure)), name
        assert bool(figure.legends) == (not is_image and len(lines) > 1), name


@pytest.mark.parametrize("inches", [(3.35, 2.5), (6.4, 4.8)])
def test_nothing_is_outside_of_axes_of_a_user(
    systems: Systems, inches: tuple[float, float]
) -> None:
    """But ticks and their labels; there is one title, that of the user."""
    for name, result in made_figures(systems).items():
        figure = Figure(figsize=inches, layout="constrained")
        axes = figure.subplots()
        place = axes.get_subplotspec()
        assert result.plot(axes) is axes
        assert_plain(figure, 1)
        assert titles_of(axes) == [] and not figure.legends, name
        axes.set_title("mine")
        assert titles_of(axes) == ["mine"]
        FigureCanvasAgg(figure).draw()
        texts = [*axes.texts, *(axes.get_legend().get_texts() if axes.get_legend() else ())]
        for text in texts:
            box = text.get_window_extent()
            assert axes.bbox.padded(1).contains(*box.min), (name, text)
            assert axes.bbox.padded(1).contains(*box.max), (name, text)
        assert axes.get_subplotspec() is place


def test_a_figure_of_a_short_run_fits_into_axes_of_a_user() -> None:
    """Without a layout engine all labels are within the figure."""
    figure = Figure()
    axes = figure.subplots()
    drifting(1)[:10].plot(axes)
    FigureCanvasAgg(figure).draw()
    labels = [axes.xaxis.label, axes.yaxis.label]
    for text in [one for one in labels if isinstance(one, Text)]:
        box = text.get_window_extent()
        assert box.y0 >= 0 and box.x0 >= 0


def test_titles_are_those_of_the_user(systems: Systems) -> None:
    """One, also of several results, of panels and of images; a later title replaces it."""
    axes = Figure().subplots()
    for title in ("first", "second"):
        drifting(1).plot(axes, title=title)
        assert titles_of(axes) == [title]
    axes.set_title("mine")
    assert titles_of(axes) == ["mine"]
    traj = systems["adk.xtc"].trajectory
    assert titles_of(MADE["contact map"](traj).plot(title="map").axes[0]) == ["map"]
    assert MADE["centers"](traj).plot(title="centres").get_suptitle() == "centres"


def test_several_results_in_axes_have_colours_of_their_own() -> None:
    """The next ones of the palette, unless a user gives them; cleared axes are new."""
    axes = Figure().subplots()

    def draw(n_series: int, **options: Any) -> list[str]:
        before = len(axes.lines)
        of_groups(np.ones((5, n_series)).cumsum(axis=0)).plot(axes, mean=False, **options)
        return [one.get_color() for one in axes.lines[before:]]

    assert draw(2) + draw(1) == [*plots.COLOURS[:3]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["g0", "g1", "g0"]
    assert draw(1, color="k") == ["#000000ff"]
    assert draw(1) == [plots.COLOURS[4]]
    axes.clear()
    assert draw(1) == [plots.COLOURS[0]]


def test_a_contact_map_of_one_row_is_a_bar_chart() -> None:
    """With the intervals that are resolved, whichever side has one element."""
    ligand = named("residues", ["IPH1"], residue=np.arange(1), resid=np.arange(1, 2))
    residues = named(
        "residues", [f"ALA{k}" for k in (3, 4, 5)], residue=np.arange(3), resid=np.arange(3, 6)
    )
    values, halves = np.array([[0.0, 0.5, 0.75]]), np.array([[np.nan, 0.1, 0.2]])
    resolved = np.array([[False, True, True]])
    for turned in (False, True):
        sides = (residues, ligand) if turned else (ligand, residues)
        arrays = [array.T if turned else array for array in (values, halves, resolved)]
        result = drawable(arrays[0], *sides, half_widths=arrays[1], resolved=arrays[2])
        (axes,) = plots.contact_map(result, ("", ""), None, plots.PLAIN).axes
        assert [patch.get_height() for patch in axes.patches] == [0.0, 0.5, 0.75]
        ends = axes.containers[1].lines[2][0].get_segments()
        np.testing.assert_allclose([np.ptp(end[:, 1]) for end in ends], [0, 0.2, 0.4])
        assert axes.get_ylabel().endswith("IPH1")
        assert [text.get_text() for text in axes.get_xticklabels()] == ["ALA3", "ALA4", "ALA5"]


def test_bars_of_a_large_protein_are_those_of_its_contacts() -> None:
    """Residues that are never in contact are left out where there is no room for all names."""
    ligand, numbers = named("residues", ["IPH1"], residue=np.arange(1)), np.arange(300)
    residues = named("residues", [f"ALA{k}" for k in numbers], residue=numbers, resid=numbers)
    fractions = np.where(numbers % 37 == 5, 0.5, 0.0)
    result = drawable(fractions[None], ligand, residues)
    (axes,) = plots.contact_map(result, ("", "")).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        f"ALA{k}" for k in numbers[fractions > 0]
    ]
    assert {patch.get_height() for patch in axes.patches} == {0.5}


def test_intervals_of_a_contact_map_are_an_image_beside_it() -> None:
    """Those that are resolved; with axes of a user, and without intervals, there is one image."""
    residues = named("residues", ["ALA1", "ALA2"], residue=np.arange(2), resid=np.arange(1, 3))
    values, halves = np.full((2, 2), 0.5), np.array([[0.1, 0.2], [0.3, np.nan]])
    resolved = np.array([[True, False], [True, False]])
    result = drawable(values, residues, residues, half_widths=halves, resolved=resolved)
    labels = ("", "")
    figure = plots.contact_map(result, labels)
    shown = figure.axes[1].images[0].get_array()
    assert np.array_equal(np.ma.getmaskarray(shown), ~resolved)
    assert np.array_equal(shown.compressed(), halves[resolved])
    assert all(axes.images[0].colorbar for axes in figure.axes[:2])
    every = plots.contact_map(result, labels, look=plots.Look(band=True)).axes[1].images[0]
    assert np.array_equal(np.ma.getmaskarray(every.get_array()), np.isnan(halves))
    for look, axes in ((plots.Look(band=False), None), (plots.PLAIN, Figure().subplots())):
        drawn = plots.contact_map(result, labels, axes, look).axes
        assert sum(len(axes.images) for axes in drawn) == 1


@settings(max_examples=20, deadline=None)
@given(n=st.integers(2, 400), first=st.integers(-5, 900), width=st.sampled_from([3.35, 6.7, 10.0]))
def test_ticks_of_residues_are_whole_and_evenly_spaced(n: int, first: int, width: float) -> None:
    """Along curves, bars and images; names do not overlap."""
    numbers = first + np.arange(n)
    residues = named("residues", [f"ALA{k}" for k in numbers], residue=np.arange(n), resid=numbers)
    values = np.linspace(0.1, 0.9, n)
    for figure in (
        atom_values_of(values, numbers).plot(size=(width, 3.0)),
        plots.for_user(
            lambda: plots.contact_map(
                drawable(values[None], named("residues", ["LIG1"]), residues),
                *(("", ""), None, plots.PLAIN),
            ),
            *(None, (width, 3.0)),
        ),
        plots.for_user(
            lambda: plots.matrix(
                np.outer(values, values), (residues, residues), ("", ""), quantity="q"
            ),
            *(None, (width, 3.0)),
        ),
    ):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        axes = figure.axes[0]
        low, high = sorted(axes.get_xlim())
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
        assert all(float(tick).is_integer() for tick in ticks)
        assert len({*np.diff(ticks).round(9).tolist()}) <= 1
        shown = [
            label.get_window_extent(canvas.get_renderer())
            for label, tick in zip(axes.get_xticklabels(), axes.get_xticks(), strict=True)
            if low <= tick <= high
        ]
        is_turned = any(label.get_rotation() for label in axes.get_xticklabels())
        assert is_turned or all(one.x1 <= other.x0 for one, other in pairwise(shown))


def atom_values_of(values: np.ndarray, numbers: np.ndarray) -> tj.Table:
    """Return a value for each residue number."""
    return atom_values(values, report([worker(0)]), resid=numbers)


@pytest.mark.parametrize("size", [(3.4, 3.4), (6.4, 4.8)])
@pytest.mark.parametrize("kind", [None, "convergence", "histogram"])
def test_figures_have_the_size_that_is_asked_for(
    size: tuple[float, float], kind: Literal["convergence", "histogram"] | None
) -> None:
    """Also if it is the usual one of matplotlib; axes have a size already."""
    figure = drifting(1).plot(kind=kind, size=size)
    assert tuple(figure.get_size_inches()) == size
    assert_inside(figure)
    figure = drifting(1).plot(kind=kind, size=f"{25.4 * size[0]:.2f} x {25.4 * size[1]:.2f} mm")
    assert figure.get_size_inches() == pytest.approx(size)
    wrong: list[Any] = [(Figure().subplots(), size), (None, "8x6"), (None, (0.1, 3))]
    for ax, other in wrong:
        with raises(ValueError):
            drifting(1).plot(ax, kind=kind, size=other)


@pytest.mark.parametrize("inches", [(6.4, 4.0), (6.4, 4.8), (5.0, 3.0)])
def test_a_size_that_users_set_is_taken(inches: tuple[float, float]) -> None:
    """Also if it is the default of matplotlib; a reset to the defaults sets none."""
    result = drifting(1)
    with matplotlib.rc_context({"figure.figsize": inches}):
        assert tuple(result.plot().get_size_inches()) == inches
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        assert tuple(result.plot().get_size_inches()) == (8, 4)
    assert tuple(result.plot().get_size_inches()) == (8, 4)


def test_images_have_maps_of_colours_and_no_labels(systems: Systems) -> None:
    """Labels and running averages are errors."""
    result = tj.pairwise_rmsd(systems["adk.xtc"].trajectory.select("name CA"), frames=slice(9))
    axes = result.plot(title="mine", color="magma").axes[0]
    assert titles_of(axes) == ["mine"]
    assert axes.images[0].get_cmap().name == "magma"
    with raises(ValueError):
        result.plot(color="k")
    with raises(ValueError):
        result.plot(label="mine")
    with raises(ValueError):
        result.plot(smooth=3)


@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.integers(2, 300), min_size=1, max_size=6), first=st.integers(-5, 400))
def test_residues_of_chains_are_apart_and_in_order(lengths: list[int], first: int) -> None:
    """Within a chain a residue is one step long; ticks stand at the residues that they name."""
    chains = [name for name, n in zip("ABCDEF", lengths, strict=False) for _ in range(n)]
    residues = np.concatenate([first + np.arange(n) for n in lengths])
    places = places_of_residues(residues, chains)
    assert places is not None
    assert (np.diff(places.x) >= 1).all()
    for part, n in zip(places.parts, lengths, strict=True):
        assert np.array_equal(np.diff(places.x[part]), np.ones(n - 1))
    if len(lengths) == 1:
        assert np.array_equal(places.x, residues)
        return
    assert len(np.flatnonzero(np.diff(places.x) > 1)) == len(lengths) - 1
    (axes,) = (
        atom_values(places.x, report([worker(0)]), resid=residues, chain=np.array(chains))
        .plot()
        .axes
    )
    numbers = dict(zip(places.x.tolist(), residues.tolist(), strict=True))
    for tick, text in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        assert numbers[tick] == int(text.get_text())


def test_values_of_chains_are_lines_of_their_own() -> None:
    """No line joins two chains; many residues are no bars."""
    n, chains = 90, np.repeat(["A", "B"], 45)
    numbers = np.tile(np.arange(45), 2)
    figure = atom_values(
        np.arange(n) + 1.0, report([worker(0)]), resid=numbers, chain=chains
    ).plot()
    lines = [line.get_ydata() for line in figure.axes[0].lines if len(line.get_ydata()) > 2]
    assert [line.tolist() for line in lines] == [[*range(1, 46)], [*range(46, 91)]]
    assert {text.get_text() for text in figure.axes[0].texts} == {"A", "B"}
    values = np.arange(2.0 * n).reshape(2, n)
    names = [f"{chain}:ALA{k}" for k, chain in enumerate(chains)]
    residues = {"residue": np.arange(n), "chain": chains, "label": np.array(names)}
    of_frames = {"frame": np.arange(2), "time": np.arange(2.0)}
    both = (Axis("frames", of_frames), Axis("residues", residues))
    areas = tj.SurfaceAreas(values, both, "SASA", "Å²", ("protein",), report([worker(0)])).plot()
    axes = areas.axes[0]
    assert not axes.patches
    drawn = [line.get_ydata() for line in axes.lines if len(line.get_ydata()) > 2]
    assert np.array_equal(np.concatenate(drawn), values.mean(axis=0)) and len(drawn) == 2
    assert axes.get_xticklabels()[0].get_text() == "ALA0"


def test_projections_of_many_frames_are_counted() -> None:
    """All frames are in the squares of the figure."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(5000, 2))
    figure = plots.components(drawable(points), np.array([2.0, 1.0]))
    (mesh,) = figure.axes[0].collections
    counts = np.ma.filled(mesh.get_array(), 0)
    assert counts.sum() == 5000
    edges = mesh.get_coordinates()
    twin, _, _ = np.histogram2d(*points.T, bins=(edges[0, :, 0], edges[:, 0, 1]))
    assert np.array_equal(counts.reshape(twin.T.shape), twin.T)


def solvent(shape: tuple[int, int, int], shear: float, density: float, seed: int) -> np.ndarray:
    """Return counts of particles in a sheared cell, and nothing beside it."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(density, shape).astype(np.float64)
    x, _, z = np.indices(shape)
    wide = shape[0] - shear * shape[2]
    return np.where((x >= shear * z) & (x < shear * z + wide), counts, 0.0)


@pytest.mark.parametrize("shear", [0.0, 0.5])
@pytest.mark.parametrize("density", [1.5, 40.0])
def test_solvents_are_drawn_relative_to_their_bulk(shear: float, density: float) -> None:
    """Also around a solute and in triclinic cells, of which corners of the grid are no part."""
    counts = solvent((36, 27, 30), shear, density, 3)
    counts[14:22, 9:18, 9:20] = 0.0
    bulk = plots.bulk_density(counts)
    assert bulk is not None and abs(bulk / density - 1) < 0.05
    axes = [bins(side, np.arange(n + 1.0)) for side, n in zip("xyz", counts.shape, strict=True)]
    figure = plots.projections(drawable(counts, *axes), "density", "1/Å³")
    panels, bar = figure.axes[:3], figure.axes[3]
    assert f"(bulk: {bulk:.3g} 1/Å³)" in bar.get_xlabel()
    side = panels[1].collections[0].get_array().reshape(30, 36)
    assert np.array_equal(np.ma.getmaskarray(side), (counts.sum(axis=1) == 0).T)
    assert abs(float(np.ma.median(side)) - 1) < 0.1
    FigureCanvasAgg(figure).draw()
    heights = [axes.get_window_extent().height for axes in panels]
    assert max(heights) - min(heights) < 2


def test_solutes_are_drawn_as_densities() -> None:
    """They fill a part of their grid."""
    x = np.stack(np.indices((30, 30, 30))) - 14.5
    ball = np.where((x**2).sum(axis=0) < 14.5**2, 5.0, 0.0)
    assert plots.bulk_density(ball) is None
    assert plots.bulk_density(np.zeros((9, 9, 9))) is None
    assert plots.bulk_density(-ball) is None
    axes = [bins(side, np.arange(31.0)) for side in "xyz"]
    figure = plots.projections(drawable(ball, *axes), "density", "1/Å³")
    mean = figure.axes[0].collections[0].get_array()
    assert np.allclose(np.ma.filled(mean, 0).reshape(30, 30), ball.mean(axis=2).T)
    assert figure.axes[3].get_xlabel() == "mean density (1/Å³)"


@pytest.mark.parametrize("draw", ["series", "radial", "bars"])
def test_axes_begin_at_zero_by_one_rule(draw: str) -> None:
    """Lines that take less than half of the axis do not; bars and areas do."""
    flat = np.array([10.0, 10.5, 10.2, 10.4])
    if draw == "series":
        figure = of_groups(np.stack([flat, flat], axis=1)).plot()
        assert figure.axes[0].get_ylim()[0] > 9
    elif draw == "radial":
        figure = radial(np.arange(5.0), flat).plot()
        assert figure.axes[0].get_ylim()[0] == 0
    else:
        figure = plots.along(
            named("residues", ["a", "b", "c", "d"]),
            *(flat, np.full(4, np.nan)),
            quantity="q",
            is_bars=True,
            ax=None,
            look=plots.PLAIN,
        )
        assert figure.axes[0].get_ylim()[0] == 0


@pytest.mark.parametrize("name", ["journal", "talk"])
def test_style_sheets_set_size_text_lines_and_colours(name: str) -> None:
    """Panels side by side have twice the width of a column, and that of a slide."""
    with matplotlib.style.context(f"trajet.styles.{name}"):
        width, _ = matplotlib.rcParams["figure.figsize"]
        rng = np.random.default_rng(1)
        result = of_groups(rng.normal(5, 1, (300, 2)))
        figure = result.plot(label=["wild type", "mutant"])
        wide = result.plot(kind="convergence")
        columns = 2 if name == "journal" else 1
        assert [figure.get_figwidth(), wide.get_figwidth()] == [width, columns * width]
        assert_inside(figure)
        assert_inside(wide)
        lines = figure.axes[0].lines
        assert lines[0].get_color() == "#0072B2"
        assert np.isclose(lines[1].get_linewidth(), 1.2 * matplotlib.rcParams["lines.linewidth"])
    with matplotlib.rc_context({"axes.prop_cycle": matplotlib.cycler(color=["r", "b"])}):
        drawn = result.plot().axes[0].lines
        assert [line.get_color() for line in (drawn[0], drawn[2])] == ["r", "b"]
    assert result.plot().get_figwidth() == 8
