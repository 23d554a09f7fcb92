"""Laws of all figures: no text is cut off, and axes show the values."""

from collections.abc import Callable
from typing import Any, Literal

import matplotlib.style
import numpy as np
import pytest
import trajet as tj
from helpers.made_reports import report, worker
from helpers.made_results import atom_values, radial, series_of
from helpers.systems import Systems
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from trajet import plots
from trajet.plots.residues import draw_chains, places_of_residues
from trajet.result.axes import Axis

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
    figure = plots.series(given, frames * 1.0, frames, labels=("x",), quantity="x (Å)", title="x")
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
    figure = plots.series(given, frames * 1.0, frames, labels=("Q",), quantity="Q", title="Q")
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
    """Counts of atoms, and their distribution: each number has a bin."""
    traj = systems["solvated.xtc"].trajectory
    near = traj.select("name OW and around 3 resid 100", updating=True)
    counted = tj.count(near, frames=slice(0, 5))
    figure = counted.plot()
    left, right = figure.axes
    figure.canvas.draw()
    assert all(float(tick).is_integer() for tick in left.get_yticks())
    n = int(np.ptp(counted.values)) + 1
    corners = {y for patch in right.patches for _, y in patch.get_xy()}
    assert {y % 1 for y in corners} == {0.5} and len(corners) == n + 1


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
    frames = np.arange(5)
    figure = plots.series(
        frames * 1.0, frames * 1.0, frames, labels=("x",), quantity="q", title=f"RMSD of {LONG}"
    )
    assert figure.axes[0].get_title(loc="left").replace("\n", " ") == f"RMSD of {LONG}"
    figure = plots.series(
        frames * 1.0, frames * 1.0, frames, labels=("x",), quantity="q", title=f"a$b {LONG}" * 4
    )
    title = figure.axes[0].get_title(loc="left")
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
    for name in ("groups", "msd", "pca", "sasa", "hbonds", "angles"):
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
    assert "mean of 7 neighbouring frames" in axes.get_xlabel()
    assert axes.get_title(loc="left") == ""
    plain = result.plot(smooth=False).axes[0]
    assert [len(line.get_ydata()) for line in plain.lines[:2]] == [300, 300]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"label": "wild"}, "1 label for 2 series: give a list of 2"),
        ({"color": ["k", "r", "g"]}, "3 colors for 2 series"),
        ({"color": ["k", "nocolour"]}, "knows no such colour"),
        ({"smooth": 0}, "smooth is a number of frames"),
    ]
    for options, message in wrong:
        with pytest.raises(ValueError, match=message):
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
    assert "mean of 4 neighbouring frames" in axes.get_xlabel()
    for wrong in (2.5, "7"):
        with pytest.raises(TypeError, match="smooth is a number of frames"):
            result.plot(smooth=wrong)
    with pytest.raises(ValueError, match="leave it out with kind="):
        result.plot(kind="histogram", smooth=5)


def drifting(seed: int) -> tj.Table:
    """Return a walk, whose mean is not resolved."""
    return series_of({"walk": np.random.default_rng(seed).normal(0, 1, 100).cumsum()})


@pytest.mark.parametrize("kind", [None, "histogram"])
def test_a_label_keeps_the_band_of_a_mean(kind: Literal["histogram"] | None) -> None:
    """It is left out where several results are in the same axes, with labels or without."""
    named = drifting(1).plot(kind=kind, label="mine").axes[0]
    assert "hatched: not resolved" in named.get_xlabel()
    assert [patch.get_hatch() for patch in named.patches if patch.get_hatch()] == ["//"]
    axes = Figure().subplots()
    for seed in (1, 2):
        drifting(seed).plot(axes, kind=kind)
    series_of({"flat": np.random.default_rng(3).normal(0, 1, 400)}).plot(axes, kind=kind)
    assert "no band: not resolved" in axes.get_xlabel()
    assert not [patch for patch in axes.patches if patch.get_hatch()]


@pytest.mark.parametrize("size", [(3.4, 3.4), (6.4, 4.8)])
@pytest.mark.parametrize("kind", [None, "convergence", "histogram"])
def test_figures_of_a_size_say_what_bands_are(
    size: tuple[float, float], kind: Literal["convergence", "histogram"] | None
) -> None:
    """They have that size, also if it is the usual one of matplotlib, and whole words on bands."""
    figure = plots.of_size(lambda: drifting(1).plot(kind=kind), *size)
    assert tuple(figure.get_size_inches()) == size
    words = " ".join(figure.axes[0].get_xlabel().split())
    assert words.endswith("band: 95 % interval of the mean; hatched: not resolved")
    assert_inside(figure)


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


def test_labels_of_images_are_titles(systems: Systems) -> None:
    """Colours are maps of colours, and running averages are errors."""
    result = tj.pairwise_rmsd(systems["adk.xtc"].trajectory.select("name CA"), frames=slice(9))
    axes = result.plot(label="mine", color="magma").axes[0]
    assert axes.get_title(loc="left") == "mine"
    assert axes.images[0].get_cmap().name == "magma"
    with pytest.raises(ValueError, match="the name of a map of colours"):
        result.plot(color="k")
    with pytest.raises(ValueError, match="smooth is of values against time"):
        result.plot(smooth=3)


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.integers(2, 300), min_size=1, max_size=6),
    first=st.integers(-5, 400),
)
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
    axes = Figure().subplots()
    axes.plot(places.x, places.x)
    draw_chains(axes, places)
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
    frames = np.arange(5000)
    figure = plots.components(
        points, frames * 1.0, frames, variances=np.array([2.0, 1.0]), title="t"
    )
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
    edges = [np.arange(n + 1.0) for n in counts.shape]
    figure = plots.projections(counts, edges, quantity="density", unit="1/Å³", title="water")
    panels, bar = figure.axes[:3], figure.axes[3]
    assert f"(bulk: {bulk:.3g} 1/Å³)" in bar.get_ylabel()
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
    edges = [np.arange(31.0)] * 3
    figure = plots.projections(ball, edges, quantity="density", unit="1/Å³", title="ball")
    mean = figure.axes[0].collections[0].get_array()
    assert np.allclose(np.ma.filled(mean, 0).reshape(30, 30), ball.mean(axis=2).T)
    assert figure.axes[3].get_ylabel() == "mean density (1/Å³)"


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
        figure = plots.mean_profile(
            np.stack([flat, flat + 20]),
            labels=("a", "b", "c", "d"),
            chains=None,
            along="residue",
            quantity="q",
            title="t",
        )
        assert figure.axes[0].get_ylim()[0] == 0


@pytest.mark.parametrize("name", ["journal", "talk"])
def test_style_sheets_set_size_text_lines_and_colours(name: str) -> None:
    """Panels side by side have twice the width of one; no text is cut off."""
    with matplotlib.style.context(f"trajet.styles.{name}"):
        width, _ = matplotlib.rcParams["figure.figsize"]
        rng = np.random.default_rng(1)
        result = of_groups(rng.normal(5, 1, (300, 2)))
        figure = result.plot(label=["wild type", "mutant"])
        wide = result.plot(kind="convergence")
        assert [figure.get_figwidth(), wide.get_figwidth()] == [width, 2 * width]
        assert_inside(figure)
        assert_inside(wide)
        lines = figure.axes[0].lines
        assert lines[0].get_color() == "#0072B2"
        assert np.isclose(lines[1].get_linewidth(), 1.2 * matplotlib.rcParams["lines.linewidth"])
    with matplotlib.rc_context({"axes.prop_cycle": matplotlib.cycler(color=["r", "b"])}):
        drawn = result.plot().axes[0].lines
        assert [line.get_color() for line in (drawn[0], drawn[2])] == ["r", "b"]
    assert result.plot().get_figwidth() == 8
