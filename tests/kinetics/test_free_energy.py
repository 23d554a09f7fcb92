"""Free energies: numbers of NumPy, naive twins, circles, weights, basins and their frames."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import commands, made_results
from helpers.messages import raises
from helpers.result_laws import assert_result_laws
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from trajet.kinetics.basins import basins_of
from trajet.uncertainty.log_ratios import log_ratios

# kJ/mol at 300 K.
KT = 8.31446261815324e-3 * 300
RNG = np.random.default_rng(5)


def series(values: NDArray[np.float64], name: str = "RMSD", units: str = "Å") -> tj.Table:
    """Return one number per frame."""
    return made_results.table(values, np.arange(len(values)), [], name=name, units=units)


def walk(n: int = 4000, seed: int = 1) -> NDArray[np.float64]:
    """Return two angles that go around the circle, `(n, 2)`, degrees."""
    steps = np.random.default_rng(seed).normal(0, 12, (n, 2))
    angles: NDArray[np.float64] = (np.cumsum(steps, axis=0) + 180) % 360 - 180
    return angles


def angles(values: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return two angles as coordinates."""
    table = made_results.dihedrals(values, ["phi ALA3", "psi ALA3"])
    return (table, "phi ALA3"), (table, 1)


def energy_of(density: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the free energy of densities, kJ/mol, with the minimum 0."""
    with np.errstate(divide="ignore"):
        energy: NDArray[np.float64] = -KT * np.log(density / density.max())
    return np.where(density > 0, energy, np.nan)


@pytest.mark.parametrize("bins", [7, 50, (30, 12), (np.linspace(-150, 150, 11), 36)])
def test_map_is_that_of_numpy(bins: Any) -> None:
    """Counts and F are those of histogram2d, on circles and between given edges, also at edges."""
    values = np.round(walk(), 1)
    of_axes = bins if isinstance(bins, tuple) else (bins, bins)
    edges = [np.linspace(-180, 180, b + 1) if isinstance(b, int) else b for b in of_axes]
    counts = np.histogram2d(*values.T, bins=edges)[0]
    found = tj.free_energy(*angles(values), temperature=300, bins=bins)
    np.testing.assert_array_equal(found.also["count"], counts)
    np.testing.assert_allclose(found.values, energy_of(counts), atol=1e-12)
    for axis, edge in zip(found.axes, edges, strict=True):
        np.testing.assert_array_equal(axis.edges, edge)


def test_an_angle_alone_stays_on_its_circle(tmp_path: Path) -> None:
    """Its column, a file of it and its rows at frames have the profile and the mean of angles."""
    traj = tj.samples.peptide_in_water().open()
    table = tj.dihedrals(traj.select("protein"))
    column = table["psi GLY7"]
    column.save(tmp_path / "psi.npz")
    expected = tj.free_energy((table, "psi GLY7"), temperature=300, bins=9)
    mean = table.statistics().mean[table.columns.index("psi GLY7")]
    for one in (
        column,
        tj.load(tmp_path / "psi.npz"),
        column.at(traj),
        table.at(traj)["psi GLY7"],
        column[:],
    ):
        found = tj.free_energy(one, temperature=300, bins=9)
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.axes[0].is_closed and found.axes[0].label == expected.axes[0].label
        np.testing.assert_allclose(one.statistics().mean, mean)
        assert "mean" not in repr(one)
        assert one.plot().axes[0].get_ylim() == (-180, 180)


def test_profile_of_uneven_bins_is_that_of_densities() -> None:
    """F is of a density, so that wide bins are not deeper."""
    values, edges = RNG.normal(size=3000), np.array([-2.0, -1, -0.5, 0, 0.1, 0.2, 3])
    density = np.histogram(values, edges, density=True)[0]
    found = tj.free_energy(series(values), temperature=300, bins=edges)
    np.testing.assert_allclose(found.values, energy_of(density), atol=1e-12)
    inside = np.count_nonzero((values >= -2) & (values <= 3))
    assert found.report["parameters"]["n_frames_outside"] == len(values) - inside  # type: ignore[index]


@pytest.mark.parametrize(("units", "per"), [("kcal/mol", 4.184), ("kT", KT), ("kJ/mol", 1.0)])
def test_units_are_parts_of_kilojoules(units: Any, per: float) -> None:
    """All energies are in the units."""
    one = series(RNG.normal(size=500))
    usual, other = (
        tj.free_energy(one, temperature=300, bins=9, units=u) for u in ("kJ/mol", units)
    )
    for name in ("values", "standard_errors", "half_widths"):
        np.testing.assert_allclose(getattr(usual, name), per * getattr(other, name), rtol=1e-12)
    assert other.units == other.parts["basins"].units == units


def test_distances_in_empty_space_have_no_free_energy_without_their_jacobian() -> None:
    """Uniform points have F = 0 in exact shells, and over angles."""
    points = RNG.uniform(-10, 10, (400_000, 3))
    r = np.linalg.norm(points, axis=1)
    edges = np.arange(2, 9.5, 0.5)
    found = tj.free_energy(
        series(r, "distance"), temperature=300, bins=edges, jacobian="removed", reference=(7, 9)
    )
    # About 3000 frames in the smallest shell.
    np.testing.assert_allclose(found.values, 0, atol=0.15)
    counts = np.histogram(r, edges)[0]
    volumes = np.array([(b**3 - a**3) / 3 for a, b in pairwise(edges)])
    by_hand = -KT * np.log(counts / volumes)
    zero = -KT * np.log(counts[10:].sum() / volumes[10:].sum())
    np.testing.assert_allclose(found.values, by_hand - zero, atol=1e-12)
    # Angles of three points.
    theta = np.degrees(np.arccos(points[:, 2] / r))[r < 10]
    flat = tj.free_energy(
        series(theta, "angle", "degrees"), temperature=300, bins=12, jacobian="removed"
    )
    np.testing.assert_allclose(flat.values - flat.values.mean(), 0, atol=0.15)
    assert "without Jacobian" in flat.name


def test_weights_count_frames_several_times() -> None:
    """Whole weights are repeated frames, and a bias is its exponential, whatever its offset."""
    values, counts = walk(600), RNG.integers(0, 5, 600)
    repeated = tj.free_energy(*angles(np.repeat(values, counts, axis=0)), temperature=300, bins=9)
    weighted = tj.free_energy(*angles(values), temperature=300, bins=9, weights=counts)
    np.testing.assert_allclose(weighted.values, repeated.values, atol=1e-12)
    with np.errstate(divide="ignore"):
        bias = KT * np.log(counts) + 1e5
    seen = counts > 0
    biased = tj.free_energy(
        *angles(values[seen]), temperature=300, bins=9, bias=series(bias[seen], "bias", "kJ/mol")
    )
    np.testing.assert_allclose(biased.values, repeated.values, atol=1e-8)
    kish = counts.sum() ** 2 / (counts**2).sum()
    ratio = [
        one.report["parameters"]["n_effective"]  # type: ignore[index]
        for one in (weighted, tj.free_energy(*angles(values), temperature=300))
    ]
    assert ratio[0] / ratio[1] == pytest.approx(kish / 600)


def test_bias_in_units_of_a_result() -> None:
    """The unit of a result is that of its bias."""
    one, bias = series(RNG.normal(size=300)), RNG.normal(size=300)
    found = [
        tj.free_energy(one, temperature=300, bins=9, bias=series(bias / per, "bias", units)).values
        for units, per in (("kJ/mol", 1), ("kcal/mol", 4.184), ("kT", KT))
    ]
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-12)
    # Each run has its own.
    runs = made_results.ensemble_of({"wt": [one, one]})
    mixed = [bias[:], series(bias / 4.184, "bias", "kcal/mol")]
    joint = tj.free_energy(runs, temperature=300, bins=9, bias=mixed)
    np.testing.assert_allclose(joint.values, found[0], atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 11), st.integers(0, 11))
def test_turned_circles_have_turned_maps(one: int, two: int) -> None:
    """Where a circle is cut changes nothing."""
    values = walk(1500)
    # Not at the edges of bins, where rounding decides.
    turned = (values + np.array([one, two]) * 30 + 180) % 360 - 180
    first = tj.free_energy(*angles(values), temperature=300, bins=12)
    other = tj.free_energy(*angles(turned), temperature=300, bins=12)
    for name in ("values", "half_widths", "resolved"):
        expected = np.roll(getattr(first, name), (one, two), axis=(0, 1))
        np.testing.assert_allclose(getattr(other, name), expected, atol=1e-9, err_msg=name)
    of_first = np.roll(first.also["basin"], (one, two), axis=(0, 1))
    np.testing.assert_array_equal(other.also["basin"], of_first)


@settings(deadline=None)
@given(st.integers(1, 7), st.integers(1, 9), st.booleans(), st.booleans(), st.integers(0, 99))
def test_basins_without_depth_are_those_of_steepest_descent(
    n: int, m: int, first: bool, second: bool, seed: int
) -> None:
    """The watershed has the basins of a naive walk downhill."""
    rng = np.random.default_rng(seed)
    values = rng.permutation(n * m).reshape(n, m).astype(float)
    values[rng.random((n, m)) < 0.2] = np.nan
    found = basins_of(values, (first, second), 0.0)

    def lowest(at: tuple[int, int]) -> tuple[int, int]:
        near = [(at[0] + i, at[1] + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        near = [(i % n, j % m) for i, j in near if (first or 0 <= i < n) and (second or 0 <= j < m)]
        least = min((one for one in near if np.isfinite(values[one])), key=lambda one: values[one])
        return at if least == at else lowest(least)

    for at in np.ndindex(n, m):
        if np.isnan(values[at]):
            assert found[at] == -1
        else:
            assert found[at] == found[lowest(at)]
    minima = {lowest(at) for at in np.ndindex(n, m) if np.isfinite(values[at])}
    by_depth = sorted(minima, key=lambda at: values[at])
    assert [found[at] for at in by_depth] == list(range(len(by_depth)))


@pytest.mark.parametrize(
    ("depth", "is_closed", "expected"),
    [
        (0, False, [1, 0, 0, 0, 0, 2, 2, -1, 3]),
        (1.5, False, [0, 0, 0, 0, 0, 1, 1, -1, 2]),
        (9, False, [0, 0, 0, 0, 0, 0, 0, -1, 1]),
        (0, True, [1, 0, 0, 0, 0, 2, 2, -1, 1]),
    ],
)
def test_shallow_basins_are_parts_of_their_neighbours(
    depth: float, is_closed: bool, expected: list[int]
) -> None:
    """Basins less deep than the depth are joined over the lowest pass."""
    values = np.array([1, 2, 0, 3, 6, 4, 5, np.nan, 8.0])
    if is_closed:
        values[-1] = 1.5
    assert basins_of(values, [is_closed], depth).tolist() == expected


def test_frames_of_basins_and_regions(tmp_path: Path) -> None:
    """Frames are those that a naive comparison finds, also for a file."""
    values = walk()
    x, y = angles(values)
    found = tj.free_energy(x, y, temperature=300, bins=18)
    found.save(tmp_path / "map.npz")
    again = tj.load(tmp_path / "map.npz")
    basins = again.also["basin"]
    bins = np.floor((values + 180) / 20).astype(int)
    for basin in range(int(basins.max()) + 1):
        own = np.flatnonzero(basins[tuple(bins.T)] == basin)
        np.testing.assert_array_equal(tj.frames_in(again, x, y, basin=basin), own)
    part = again.parts["basins"]
    np.testing.assert_allclose(part.also["share"], part.also["count"] / len(values))
    np.testing.assert_allclose(
        part.values, -KT * np.log(part.also["share"] / part.also["share"][0]), atol=1e-12
    )
    phi, psi = values.T
    expected = {
        (-60, (-80.0, 3.0)): (bins[:, 0] == 6) & (psi >= -80) & (psi <= 3),
        ((150, -150), (0, 90)): (np.abs(phi) >= 150) & (psi >= 0) & (psi <= 90),
        (175, -175): (bins[:, 0] == 17) & (bins[:, 1] == 0),
        ((-180, 180), (0, 90)): (psi >= 0) & (psi <= 90),
        ((0, 90), (0, 360)): (phi >= 0) & (phi <= 90),
    }
    for region, own in expected.items():
        chosen = tj.frames_in(again, x, y, region=region)
        np.testing.assert_array_equal(chosen, np.flatnonzero(own), err_msg=str(region))
    for region in (((0, 400), 0), ((-60, -60), 0)):
        with raises(ValueError):
            tj.frames_in(again, x, y, region=region)


def test_basins_are_relative_to_that_of_the_reference() -> None:
    """Also where bins of the reference are empty, or the reference has the shallower basin."""
    values = np.concatenate([RNG.normal(-2, 0.3, 3000), RNG.normal(2, 0.3, 1000)])
    edges = np.linspace(-6, 6, 49)
    for region, deeper in (((-6.0, 0.0), True), ((0.0, 6.0), False)):
        found = tj.free_energy(series(values), temperature=300, bins=edges, reference=region)
        basins = found.parts["basins"]
        both = basins.also["share"] > 0.1
        expected = [0.0, KT * np.log(3)] if deeper else [-KT * np.log(3), 0.0]
        np.testing.assert_allclose(basins.values[both], expected, atol=1e-2)
    assert np.isnan(found.values[0])


def test_frames_are_those_of_the_trajectory(tmp_path: Path) -> None:
    """Numbers of frames are those of the file, which can be written."""
    traj = tj.samples.peptide_in_water().open()
    length = tj.end_to_end(traj.select("protein").whole(), frames=slice(10, 90, 2))
    found = tj.free_energy(length, temperature=300, bins=5)
    frames = tj.frames_in(found, length, basin=0)
    assert set(frames) <= set(range(10, 90, 2))
    done = tj.convert(traj, tmp_path / "low.xtc", frames=frames)
    assert done.n_frames == len(frames) == found.parts["basins"].also["count"][0]


def test_errors_of_independent_frames_are_those_of_counts() -> None:
    """The error of a ratio of counts is that of Poisson."""
    values = RNG.uniform(size=50_000)
    found = tj.free_energy(series(values), temperature=300, bins=np.linspace(0, 1, 41), reference=0)
    counts = found.also["count"]
    expected = KT * np.sqrt(1 / counts[1:] + 1 / counts[0])
    ratios = found.standard_errors[1:] / expected  # type: ignore[index]
    assert 0.9 < ratios.mean() < 1.2 and ratios.max() < 2
    assert found.resolved is not None and found.resolved.tolist() == [False] + [True] * 39
    assert np.isnan(found.half_widths[0])  # type: ignore[index]


def test_errors_of_replicas_are_those_between_them() -> None:
    """Frames of replicas count together, with the error between them."""
    rng, shares = np.random.default_rng(2), (0.25, 0.3, 0.35)
    runs = [series((rng.random(1000) < share).astype(float)) for share in shares]
    ensemble = made_results.ensemble_of({"wt": runs}, name="rmsd")
    found = tj.free_energy(ensemble, temperature=300, bins=[-0.5, 0.5, 1.5], units="kT")
    whole = np.concatenate([one.values for one in runs])
    p = np.array([one.values.mean() for one in runs])
    q = whole.mean()
    assert found.values.tolist() == pytest.approx([0, -np.log(q / (1 - q))])
    states = whole.reshape(60, 50).mean(axis=1)
    by_hand = log_ratios(states[:, None], 1 - states, (p[:, None], 1 - p))
    # Student's t of two degrees of freedom.
    low, high = (q + sign * 4.302652730 * p.std(ddof=1) / np.sqrt(3) for sign in (-1, 1))
    ends = np.log([q / (1 - q), low / (1 - low), high / (1 - high)])
    assert by_hand.half_width[0] >= ends[0] - ends[1]
    steady = np.full(60, q) + 1e-9 * rng.normal(size=60)
    by_hand = log_ratios(steady[:, None], 1 - steady, (p[:, None], 1 - p))
    assert by_hand.half_width[0] == pytest.approx(max(ends[0] - ends[1], ends[2] - ends[0]))
    assert found.half_widths[1] >= by_hand.half_width[0]  # type: ignore[index]
    frames = tj.frames_in(found, ensemble, region=1.0)
    assert [len(one) for one in frames] == [int(one.values.sum()) for one in runs]
    weights = [np.full(1000, k + 1.0) for k in range(3)]
    weighted = tj.free_energy(
        ensemble, temperature=300, bins=[-0.5, 0.5, 1.5], units="kT", weights=weights
    )
    q = p @ [1, 2, 3] / 6
    assert weighted.values[1] == pytest.approx(-np.log(q / (1 - q)))


def test_rare_bins_and_short_runs_are_not_resolved() -> None:
    """One visit, or a few frames with all weight, resolve nothing."""
    values = np.zeros(5000)
    values[1000:1010] = 1
    rare = tj.free_energy(series(values + RNG.normal(0, 0.1, 5000)), temperature=300, bins=3)
    assert not rare.resolved[2]  # type: ignore[index]
    assert not rare.parts["basins"].resolved.any()  # type: ignore[union-attr]
    assert [one.code.text for one in rare.messages] == ["not-resolved"]
    # Ten effective frames, whatever the bins look like.
    weights = np.exp(-np.arange(5000) / 5)
    few = tj.free_energy(series(RNG.normal(size=5000)), temperature=300, bins=3, weights=weights)
    assert not few.resolved.any()  # type: ignore[union-attr]


def test_results_are_restored_sliced_and_drawn(tmp_path: Path) -> None:
    """Laws of results hold for maps and profiles."""
    assert_result_laws(tj.free_energy(*angles(walk()), temperature=300, bins=12), tmp_path)
    profile = tj.free_energy(series(RNG.normal(size=900)), temperature=300, bins=9)
    assert_result_laws(profile, tmp_path)
    assert profile.csv_header()[0] == "rmsd_A"


def test_drawn_circles_go_from_end_to_end() -> None:
    """Axes of angles end at 180 degrees, and contours reach them."""
    found = tj.free_energy(*angles(walk()), temperature=300, bins=12)
    (axes, *_) = found.plot().axes
    assert axes.get_xlim() == axes.get_ylim() == (-180, 180)
    lines = np.concatenate([path.vertices for path in axes.collections[1].get_paths()])
    assert lines.min() <= -180 and lines.max() >= 180
    (axes,) = tj.free_energy(angles(walk())[0], temperature=300, bins=12).plot().axes
    assert axes.get_xlim() == (-180, 180)


@pytest.mark.parametrize(
    ("x", "options"),
    [
        (angles(walk(50))[0][0], {}),
        ((angles(walk(50))[0][0], "chi ALA3"), {}),
        (series(np.array([1.0, np.nan, 2])), {}),
        (series(np.ones(9)), {}),
        (made_results.series_of({"a": np.arange(9.0)}), {"y": series(np.arange(8.0))}),
        (series(np.arange(9.0)), {"temperature": -1}),
        (series(np.arange(9.0)), {"units": "eV"}),
        (series(np.arange(9.0)), {"bins": [1, 1]}),
        (series(np.arange(9.0)), {"bins": [10, 11]}),
        (series(np.arange(9.0)), {"jacobian": "removed"}),
        (series(np.arange(9.0) - 1, "distance"), {"jacobian": "removed"}),
        (series(np.arange(9.0)), {"weights": np.ones(8)}),
        (series(np.arange(9.0)), {"weights": -np.ones(9)}),
        (series(np.arange(9.0)), {"bias": np.ones(9), "weights": np.ones(9)}),
        (series(np.arange(9.0)), {"bias": series(np.ones(9), "bias", "eV")}),
        (series(np.arange(9.0)), {"bias": series(np.ones(9), "bias", "")}),
        (series(np.arange(9.0)), {"reference": 20}),
        (series(np.arange(9.0)), {"reference": (3, 2)}),
        (series(np.arange(9.0)), {"reference": (1, 2, 3)}),
        (series(np.arange(9.0)), {"reference": (3.2, 3.3), "bins": 50}),
        ("rmsd.npz", {}),
        (series(np.arange(0.0)), {"bins": 3}),
        (series(np.arange(0.0)), {"bins": [1, 2]}),
        (series(30 + np.arange(9) % 2 * 4e-15), {"bins": 4}),
        (series(np.arange(9.0)), {"basin_depth": np.nan}),
        (series(np.arange(9.0)), {"basin_depth": -1}),
        (series(np.arange(9.0)), {"y": series(np.arange(9.0)), "bins": (1, 2, 3)}),
    ],
)
def test_wrong_arguments_are_errors(x: Any, options: dict[str, Any]) -> None:
    """Arguments that make no sense are refused."""
    with raises((ValueError, TypeError, tj.AnalysisError)):
        tj.free_energy(x, **{"temperature": 300, **options})


def test_coordinates_of_other_frames_or_systems_are_errors() -> None:
    """Rows of other frames, times or systems are not joined."""
    one, other = series(np.arange(9.0)), series(np.arange(9.0), "distance")
    late = made_results.table(
        np.arange(9.0), np.arange(9), [], name="distance", times=np.arange(9) + 5.0
    )
    with raises(ValueError):
        tj.free_energy(one, late, temperature=300)
    systems = made_results.ensemble_of({"wt": [one], "mut": [one]})
    with raises(ValueError):
        tj.free_energy(systems, temperature=300)
    columns = [made_results.series_of({a: np.arange(9.0) for a in names}) for names in ("ab", "bc")]
    replicas = made_results.ensemble_of({"wt": columns})
    assert tj.free_energy((replicas, "b"), temperature=300).also["count"].sum() == 18
    with raises(ValueError):
        tj.free_energy((replicas, 1), temperature=300)
    found = tj.free_energy(columns[0]["a"], temperature=300)
    assert len(tj.frames_in(found, (columns[0], "a"), basin=0))
    with raises(ValueError):
        tj.frames_in(found, columns[0]["b"], basin=0)
    found = tj.free_energy(one, temperature=300)
    for coordinate, options in ((other, {"basin": 0}), (one, {}), (one, {"basin": 9})):
        with raises(ValueError):
            tj.frames_in(found, coordinate, **options)


def test_series_of_other_programs_count_by_time(tmp_path: Path) -> None:
    """A joined series is a coordinate, a bias or weights; a series of other times is none."""
    traj = tj.samples.peptide_in_water().open()
    rmsd = tj.rmsd(traj.select("backbone"))
    for name, shift in (("colvar.csv", 0.0), ("late.csv", 0.5)):
        rows = np.column_stack([rmsd.times + shift, RNG.uniform(1, 2, len(rmsd))])
        np.savetxt(tmp_path / name, rows, "%.17g", ",", header="time (ps),bias", comments="")
    joined = tj.read_series(tmp_path / "colvar.csv")["bias"].at(traj)
    given = tj.free_energy(rmsd, temperature=300, bins=5, weights=joined.values).values
    found = tj.free_energy(rmsd, temperature=300, bins=5, weights=joined)
    np.testing.assert_array_equal(found.values, given)
    assert tj.free_energy(rmsd, joined, temperature=300, bins=5).values.shape == (5, 5)
    late = tj.read_series(tmp_path / "late.csv")["bias"]
    # Rows of a file are no frames, which a viewer could show.
    assert "frame" not in tj.free_energy(late, temperature=300, bins=5).also
    assert "frame" in tj.free_energy(joined, temperature=300, bins=5).also
    found = tj.free_energy(late, temperature=300, bins=5)
    assert len(tj.frames_in(found, joined, basin=0))
    # Rows of a file are no frames.
    with raises(tj.FrameError):
        tj.frames_in(found, late, basin=0)
    for options in ({"weights": late}, {"bias": late}, {"y": late}):
        with raises(ValueError):
            tj.free_energy(rmsd, temperature=300, **options)


def test_command_has_the_numbers_of_the_function(tmp_path: Path) -> None:
    """The command writes the same numbers, and frames that convert reads."""
    traj = tj.samples.peptide_in_water().open()
    table = tj.dihedrals(traj.select("protein"))
    table.save(tmp_path / "angles.npz")
    (tmp_path / "run.xtc").symlink_to(traj.label)
    radii = tj.gyration(traj.select("protein"), per_axis=True)
    radii.save(tmp_path / "radii.npz")
    arguments = ["angles.npz:phi ASP3", "angles.npz:3", "--temperature", "300"]
    arguments += ["--weights", "radii.npz:about y"]
    commands.succeed(
        *("free-energy", *arguments, "--bins", "12", "--reference=-120:-60,100:180"),
        *("--basin", "0", "--frames-file", "low.csv", "-o", "map.npz", "--plot", "map.png"),
        cwd=tmp_path,
    )
    x, y = (table, "phi ASP3"), (table, "psi ASP3")
    found = tj.free_energy(
        x,
        y,
        temperature=300,
        bins=12,
        reference=((-120, -60), (100, 180)),
        weights=radii["about y"],
    )
    np.testing.assert_array_equal(tj.load(tmp_path / "map.npz").values, found.values)
    frames = tj.frames_in(found, x, y, basin=0)
    assert (tmp_path / "low.csv").read_text().split() == ["frame", *map(str, frames)]
    commands.succeed("convert", "run.xtc", "low.xtc", "--frames-file", "low.csv", cwd=tmp_path)
    np.testing.assert_array_equal(
        tj.open(None, tmp_path / "low.xtc").read().positions, traj.read(frames).positions
    )
    # A selection may have a colon.
    rmsd = tj.rmsd(traj.select("resid 2:8"))
    rmsd.save(tmp_path / "rmsd.npz")
    commands.succeed(
        *("free-energy", "rmsd.npz:resid 2:8", "--temperature", "300", "-o", "f.npz"), cwd=tmp_path
    )
    np.testing.assert_array_equal(
        tj.load(tmp_path / "f.npz").values, tj.free_energy(rmsd, temperature=300).values
    )
    for wrong in ("radii.npz:about w", "radii.npz:7", "radii.npz"):
        done = commands.run("free-energy", *arguments[:-1], wrong, cwd=tmp_path)
        assert done.returncode == 2
        assert wrong in done.stderr


def test_tables_of_frames_have_numbers_from_0_on(tmp_path: Path) -> None:
    """Bins without a frame, which have -1 in the file of a free energy, are not the last frame."""
    traj = tj.samples.peptide_in_water().open()
    (tmp_path / "run.xtc").symlink_to(traj.label)
    rmsd = tj.rmsd(traj.select("backbone"))
    tj.free_energy(rmsd, temperature=300, bins=[0, 1, 8, 9]).save(tmp_path / "profile.csv")
    convert = ("convert", "run.xtc", "out.xtc", "--frames-file")
    for text in (
        None,
        "frame\n1\n-1\n",
        f"frame\n{2**70}\n",
        "frame\n1.5\n",
        "row\n1\n",
        "frame\n",
    ):
        if text is not None:
            (tmp_path / "profile.csv").write_text(text)
        done = commands.run(*convert, "profile.csv", cwd=tmp_path)
        assert done.returncode == 2
        assert "profile.csv" in done.stderr
    # Excel begins its files with a mark of their encoding.
    (tmp_path / "excel.csv").write_text("frame\n3\n1\n1\n", encoding="utf-8-sig")
    commands.succeed(*convert, "excel.csv", cwd=tmp_path)
    np.testing.assert_array_equal(
        tj.open(None, tmp_path / "out.xtc").read().positions, traj.read([3, 1, 1]).positions
    )
