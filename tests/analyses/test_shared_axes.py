"""Laws of axes that several results share: numbers stand at their places, and none are cut off."""

from typing import Any

import numpy as np
import trajet as tj
from helpers.made_reports import report, worker
from helpers.made_results import atom_values, drawable, ensemble_of, radial
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from trajet import plots
from trajet.result.axes import Axis, bins, named

UNITS = {"time (ps)": 1.0, "time (ns)": 1000.0}


def made(
    times: Any, values: Any = None, frames: Any = None, unit: str = "Å", name: str = "rmsd"
) -> tj.Table:
    """Return a result with one series at these times (ps)."""
    times = np.asarray(times, np.float64)
    values = np.arange(len(times)) if values is None else values
    frames = np.arange(len(times)) if frames is None else np.asarray(frames)
    columns = np.asarray(values, np.float64)[:, np.newaxis]
    axes = (Axis("frames", {"frame": frames, "time": times}), named("groups", ["a"]))
    return tj.Table(columns, axes, name, unit, ("all",), report([worker(0)]))


def empty_axes() -> Axes:
    """Return axes of a user."""
    return Figure(figsize=(4, 3)).subplots()


def label_of(axes: Axes) -> str:
    """Return what the x axis shows."""
    return axes.get_xlabel()


def data_of(axes: Axes) -> list[NDArray[np.float64]]:
    """Return the x values of all curves but lines of means."""
    return [
        np.asarray(line.get_xdata(), np.float64)
        for line in axes.lines
        if line.get_transform() == axes.transData
    ]


def density(values: NDArray[np.float64], ax: Axes, direction: str = "z", **errors: Any) -> None:
    """Draw a density in slices."""
    result = drawable(values, bins("position", np.arange(len(values) + 1.0)), **errors)
    plots.over_bins(result, f"{direction} (Å)", "q", ax=ax)


TIMES = st.builds(
    lambda step, n, order: (step * (np.arange(n) + 1.0))[:: -1 if order else 1],
    st.sampled_from([0.5, 10.0, 900.0, 3000.0]),
    st.integers(1, 30),
    st.sampled_from([False, False, False, True]),
)


@settings(max_examples=10, deadline=None)
@given(st.lists(TIMES, min_size=1, max_size=4), st.booleans())
def test_every_frame_stands_at_its_time_or_number(several: list[Any], beside: bool) -> None:
    """In the unit of the label, also in axes one below the other; else it is an error."""
    panels = Figure().subplots(2, 1, sharex=True)
    drawn: list[tuple[Axes, tj.Table]] = []
    for k, times in enumerate(several):
        axes, result = panels[k % 2 if beside else 0], made(times, frames=7 * np.arange(len(times)))
        try:
            result.plot(axes, label=f"{k}")
        except ValueError:
            assert label_of(panels[0]) in UNITS and times[0] > times[-1]
        else:
            drawn.append((axes, result))
    assert len({label_of(axes) for axes, _ in drawn}) == 1
    for axes in panels:
        results = [result for one, result in drawn if one is axes]
        for x, result in zip(data_of(axes), results, strict=True):
            unit = UNITS.get(label_of(axes))
            there = result.frames if unit is None else result.times / unit
            np.testing.assert_allclose(x, there)
            low, high = axes.get_xlim()
            assert low <= x.min() and x.max() <= high


def test_the_first_result_chooses_the_unit() -> None:
    """Cleared axes are new, and a single frame stands at its time."""
    axes = empty_axes()
    short, long = made(50.0 * np.arange(20)), made(5000.0 * np.arange(20))
    short.plot(axes, label="short")
    long.plot(axes, label="long")
    made([700.0]).plot(axes, label="one")
    assert label_of(axes) == "time (ps)"
    assert [x[-1] for x in data_of(axes)] == [950.0, 95_000.0, 700.0]
    axes.clear()
    long.plot(axes, label="long")
    assert label_of(axes) == "time (ns)"


def test_lags_have_the_unit_of_the_first() -> None:
    """Curve and line of the fit."""
    axes = empty_axes()
    for step in (10.0, 900.0):
        lags = step * np.arange(30.0)
        plots.displacement(
            drawable(lags + 1), lags, fit=(lags[3], lags[9]), line=(1.0, 1.0), legend="fit", ax=axes
        )
    assert axes.get_xlabel() == "lag (ps)"
    assert [x[-1] for x in data_of(axes)] == [290.0, 90.0, 26_100.0, 8100.0]
    assert [x[0] for x in data_of(axes)[1::2]] == [30.0, 2700.0]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["series", "line", "profile", "density", "convergence"]),
            st.sampled_from([-50.0, -1.0, 0.0, 3.0, 1e4]),
            st.sampled_from([0.5, 20.0]),
        ),
        min_size=2,
        max_size=4,
    )
)
def test_no_value_is_cut_off(drawn: list[tuple[str, float, float]]) -> None:
    """By a later result with other values, in any order, and with a line of the user."""
    # One kind of abscissa: lines of a user, which come first, go with all.
    kind = next((kind for kind, _, _ in drawn if kind != "line"), "series")
    axes, lowest, highest = empty_axes(), np.inf, -np.inf
    for given_kind, low, span in sorted(drawn, key=lambda one: one[0] != "line"):
        values = low + span * np.linspace(0, 1, 12)
        if given_kind == "line":
            axes.plot(np.arange(12), values)
        elif kind == "profile":
            atom_values(values, report([worker(0)]), resid=np.arange(12)).plot(axes)
        elif kind == "density":
            density(values, axes)
        else:
            chosen: Any = given_kind if given_kind == "convergence" else None
            made(np.arange(12), values).plot(axes, kind=chosen)
            if chosen:
                means = [values[:n].mean() for n in range(4, 13)]
                values = np.array(means)
        lowest, highest = min(lowest, values.min()), max(highest, values.max())
    bottom, top = axes.get_ylim()
    assert bottom <= lowest and highest <= top


def test_bands_below_zero_are_cut_as_before() -> None:
    """They go below what values can be."""
    axes = empty_axes()
    for _ in range(2):
        density(np.array([0.0, 1.0, 2.0, 0.0]), axes, half_widths=np.full(4, 5.0))
        assert axes.get_ylim()[0] == 0.0


def test_shorter_ranges_cut_nothing() -> None:
    """Of radial distributions, of angles beside larger numbers, and of clusters."""
    axes = empty_axes()
    for longest in (20.0, 5.0):
        radial(np.linspace(0, longest, 11), np.ones(10)).plot(axes)
    assert axes.get_xlim() == (0.0, 20.0)
    axes, angles = empty_axes(), np.zeros((4, 1))
    made(np.arange(4), [0.0, 1.0, 2.0, 900.0]).plot(axes)
    plots.angles(drawable(angles), angles, ["a"], axes)
    assert axes.get_ylim()[1] >= 900
    axes = empty_axes()
    for of in ([0, 1, 2, 3], [0, 0, 0, 0]):
        labels = np.array(of)
        populations = drawable(np.bincount(labels) / len(labels))
        plots.clusters(drawable(labels), labels, populations, axes)
    assert axes.get_ylim() == (3.5, -0.5)


def test_panels_with_one_y_axis_cut_nothing() -> None:
    """Nor does a later one beside them."""
    left, right = Figure().subplots(1, 2, sharey=True)
    made(np.arange(5), np.linspace(-9, 1, 5)).plot(left)
    made(np.arange(5), np.linspace(0, 3, 5)).plot(right)
    assert left.get_ylim() == right.get_ylim() and left.get_ylim()[0] <= -9


def test_axes_name_all_that_they_show() -> None:
    """Quantities and directions."""
    axes, x = empty_axes(), np.arange(300.0)
    made(x, np.sin(x)).plot(axes, label="a", smooth=7)
    made(x, np.cos(x), unit="Å", name="gyration").plot(axes, label="b", smooth=False)
    assert len(axes.get_ylabel().replace("\n", " ").split(", ")) == 2
    axes = empty_axes()
    for direction in "xyx":
        density(np.ones(2), axes, direction)
    assert axes.get_xlabel() == "x (Å), y (Å)"


def bars(labels: tuple[str, ...], ax: Axes) -> None:
    """Draw a value for each residue."""
    plots.along(
        named("residues", labels),
        *(np.ones(len(labels)), np.full(len(labels), np.nan)),
        quantity="q",
        is_bars=True,
        ax=ax,
        look=plots.PLAIN,
    )


def residues(numbers: list[int], ax: Axes) -> None:
    """Draw a value for each of some residue numbers, or for atoms if these do not increase."""
    labels = np.array([f"ALA{k}:CA" for k in numbers])
    of = report([worker(0)])
    atom_values(np.ones(len(numbers)), of, resid=np.array(numbers), label=labels).plot(ax)


def test_other_abscissas_are_an_error() -> None:
    """It says what is there and what the result has; mutants and other numbers are drawn."""
    axes = empty_axes()
    residues([3, 4, 9], axes)
    residues([1, 2], axes)
    with raises(ValueError):
        residues([1, 1, 2], axes)
    with raises(ValueError):
        made([1.0, 2.0]).plot(axes)
    assert axes.get_xlabel() == "residue" and len(axes.lines) == 2
    axes = empty_axes()
    bars(("ALA1", "GLY2"), axes)
    bars(("SER1", "GLY2"), axes)
    with raises(ValueError):
        bars(("ALA1", "GLY3"), axes)
    axes = empty_axes()
    plots.occupancies(drawable(np.ones(2)), ["a", "b"], axes)
    with raises(ValueError):
        plots.occupancies(drawable(np.ones(2)), ["a", "c"], axes)


def test_ensembles_take_the_unit_of_the_axes() -> None:
    """An overlay beside a single result."""
    axes = empty_axes()
    made(50.0 * np.arange(20)).plot(axes, label="one")
    ensemble = ensemble_of({"wt": [made(900.0 * np.arange(20)) for _ in range(2)]})
    ensemble.plot(axes, kind="overlay")
    assert label_of(axes) == "time (ps)"
    assert [x[-1] for x in data_of(axes)] == [950.0, 17_100.0, 17_100.0]


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from([1.0, 1.0001, 2.0, 87.0]), min_size=1, max_size=8),
    st.sampled_from([1.0, 50_000.0]),
)
def test_cells_of_images_are_at_their_times(steps: list[float], scale: float) -> None:
    """Each frame of secondary structure is a cell around its time, or one of the choice."""
    times = scale * np.cumsum([1.0, *steps])
    codes = np.arange(len(times), dtype=np.uint8)[:, np.newaxis] % 2
    of_frames = Axis("frames", {"frame": np.arange(len(times)), "time": times})
    result = drawable(codes, of_frames, named("residues", ["ALA1"]))
    figure = plots.secondary_structure(result, codes, {"H": "helix", "E": "strand"})
    axes = figure.axes[0]
    left, right, _, _ = axes.images[0].get_extent()
    edges = np.linspace(left, right, len(times) + 1)
    unit = UNITS.get(axes.get_xlabel())
    x = np.arange(len(times)) if unit is None else times / unit
    slack = 1e-3 * (right - left)
    assert (edges[:-1] - slack <= x).all() and (x <= edges[1:] + slack).all()
    assert unit or axes.get_xlabel() == "frame of the choice"
    assert (unit is None) <= (len(set(steps)) > 1)
