"""Laws of all figures: no text is cut off, and axes show the values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.systems import Systems
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from trajet import plots

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
