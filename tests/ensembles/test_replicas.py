"""Means over replicas and differences of systems, beside SciPy's."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.made_ensembles import made_replicas
from helpers.made_reports import report, worker
from helpers.made_results import atom_values, dihedrals, ensemble_of, radial, table
from helpers.messages import raises
from scipy import stats
from trajet.messages import Code
from trajet.result.axes import named
from trajet.result.group_mean import GroupMean
from trajet.result.member_outcome import MemberOutcome
from trajet.result.profiles import profile_of
from trajet.result.replica_differences import difference_of
from trajet.result.rows import QUANTITY, Rows
from trajet.uncertainty.statistics import statistics

RESIDUES = 30


def fluctuations(
    values: np.ndarray, *, first: int = 1, names: str = "ALA", n_frames: int = 100
) -> tj.Table:
    """Return an RMSF of the C-alpha atoms of residues from `first` on."""
    n = len(values)
    return atom_values(
        np.asarray(values, np.float64),
        report([worker(0, frames=n_frames)], analysis="rmsf"),
        atom=np.arange(n) * 10,
        chain=np.full(n, "A"),
        resname=np.full(n, names),
        resid=np.arange(first, first + n),
        name=np.full(n, "CA"),
    )


def normal(n_replicas: int, seed: int, n: int = RESIDUES) -> np.ndarray:
    """Return numbers of replicas, `(n_replicas, n)`."""
    return np.random.default_rng(seed).normal(2.0, 0.5, (n_replicas, n))


def test_means_and_intervals_equal_those_of_scipy() -> None:
    """Student's t of the means of replicas."""
    values = normal(4, 1)
    mean = ensemble_of({"wt": [fluctuations(row) for row in values]}).mean()["wt"]
    assert mean.n_replicas == 4
    low, high = stats.t.interval(0.95, 3, values.mean(axis=0), stats.sem(values, axis=0))
    np.testing.assert_allclose(mean.mean, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(mean.interval, (low, high), rtol=1e-9)


def test_error_within_replicas_and_its_ratio() -> None:
    """The errors of the runs add up as independent ones; the ratio is beside them."""
    rng = np.random.default_rng(3)
    runs = rng.normal(0, 1, (5, 2000)) + rng.normal(0, 0.3, (5, 1))
    series = [table(run, np.arange(2000), []) for run in runs]
    result = ensemble_of({"wt": series}, name="rmsd")
    mean = result.mean()["wt"]
    errors = [statistics(run).standard_error for run in runs]
    np.testing.assert_allclose(mean.within, [np.sqrt(np.sum(np.square(errors))) / 5], rtol=1e-12)
    np.testing.assert_allclose(mean.ratio, mean.standard_error / mean.within, rtol=1e-12)
    assert mean.ratio[0] > 2
    (message,) = result.mean().messages
    assert "times as much as their own fluctuations explain" in message


def test_differences_equal_those_of_scipy() -> None:
    """Of groups of equal sizes; probabilities are corrected by Benjamini and Hochberg."""
    a, b = normal(5, 5), normal(5, 6) + np.linspace(0, 4, RESIDUES)
    result = ensemble_of({"wt": list(map(fluctuations, a)), "mut": list(map(fluctuations, b))})
    found = result.difference("wt", "mut")
    twin = stats.ttest_ind(b, a, equal_var=False)
    np.testing.assert_allclose(found.difference, b.mean(axis=0) - a.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.p, twin.pvalue, rtol=1e-9)
    np.testing.assert_allclose(
        found.interval, tuple(twin.confidence_interval()), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        found.p_adjusted, stats.false_discovery_control(twin.pvalue), rtol=1e-9
    )
    assert found.is_significant[-1]
    assert not found.is_significant[0]


def test_equal_systems_differ_in_few_splits() -> None:
    """Of replicas of one system, a residue differs in at most 5 % of 200 splits."""
    rng = np.random.default_rng(8)
    uncorrected = corrected = 0
    for _ in range(200):
        values = rng.gamma(4.0, 0.5, (10, 60))
        one, other = (
            GroupMean(
                {"system": name},
                Rows({QUANTITY: np.arange(60).astype(str)}, keys=np.arange(60)),
                own,
                np.zeros(60),
                lengths=(100,) * 5,
                labels=tuple(f"{name}{k}" for k in range(5)),
            )
            for name, own in (("a", values[:5]), ("b", values[5:]))
        )
        found = difference_of("rmsf", one, other)
        uncorrected += bool((found.p < 0.05).any())
        corrected += bool(found.is_significant.any())
    assert corrected <= 10
    assert uncorrected > 100


def test_means_over_rows_have_the_error_between_replicas() -> None:
    """Twin: the mean of the rows of each replica, then SciPy's interval over replicas."""
    values = normal(5, 3) + np.random.default_rng(9).normal(0, 1, (5, 1))
    result = ensemble_of({"wt": [fluctuations(row) for row in values]})
    for chosen, rows in (
        ({}, slice(None)),
        ({"resid": (5, 12)}, slice(4, 12)),
        ({"resid": range(5, 13), "chain": "A"}, slice(4, 12)),
        ({"resid": [5, 30]}, [4, 29]),
        ({"resid": 5}, [4]),
    ):
        (found,) = result.mean("system").over(**chosen)
        means = values[:, rows].mean(axis=1)
        low, high = stats.t.interval(0.95, 4, means.mean(), stats.sem(means))
        np.testing.assert_allclose(found.mean, [means.mean()], rtol=1e-12)
        np.testing.assert_allclose(np.ravel(found.interval), [low, high], rtol=1e-9)
        assert np.isnan(found.within).all()
    named = result.mean("system").over(resid=(5, 12)).to_dataframe()
    assert named["quantity"].tolist() == ["rmsf_A:8_rows,_resid_5_to_12"]
    for chosen in ({"resid": (50, 60)}, {"residue": 5}, {"resid": "5"}, {"resid": (1, 2, 3)}):
        with raises(ValueError):
            result.mean("system").over(**chosen)


def test_means_over_rows_compare_the_same_rows() -> None:
    """Rows that one group lacks are left out of both."""
    a, b = normal(3, 1), normal(3, 2)
    result = ensemble_of(
        {
            "wt": [fluctuations(row) for row in a],
            "mut": [fluctuations(row[4:], first=5, names="GLY") for row in b],
        }
    )
    over = result.mean("system").over(resid=(1, 10))
    change = over.difference("wt", "mut")
    twin = stats.ttest_ind(b[:, 4:10].mean(axis=1), a[:, 4:10].mean(axis=1), equal_var=False)
    np.testing.assert_allclose(change.p, [twin.pvalue], rtol=1e-9)
    assert change.axes[QUANTITY].tolist() == ["rmsf_A:6_rows,_resid_1_to_10"]
    assert any("4 of 30 rows are left out" in message for message in change.messages)


def test_sentences_have_numbers_and_methods() -> None:
    """Of means, and of differences of one row and of many."""
    values = np.array([[1.0, *[5.0] * 4], [1.2, *[5.0] * 4], [1.4, *[5.3] * 4]])
    other = values + np.eye(1, 5)
    result = ensemble_of(
        {"wt": list(map(fluctuations, values)), "mut": list(map(fluctuations, other))}
    )
    means = result.mean("system")
    assert means.over(resid=1).sentences() == [
        "rmsf (1 row, resid 1) of system=wt: 1.20 ± 0.50 Å (mean of 3 replicas with its 95 %"
        " interval by Student's t)",
        "rmsf (1 row, resid 1) of system=mut: 2.20 ± 0.50 Å (mean of 3 replicas with its 95 %"
        " interval by Student's t)",
    ]
    assert means.sentences()[0].startswith("rmsf (A ALA 1 CA) of system=wt: 1.20 ± 0.50 Å (mean")
    assert means.over(resid=1).difference("wt", "mut").sentences() == [
        "rmsf (1 row, resid 1) of system=mut minus that of system=wt: +1.00 ± 0.45 Å (95 %"
        " interval; Welch's t, 3 and 3 replicas; p = 0.0036)"
    ]
    assert result.difference("wt", "mut").sentences() == [
        "rmsf of system=mut minus that of system=wt: 1 of 5 rows differ (corrected p < 0.05;"
        " Welch's t, 3 and 3 replicas; correction by Benjamini and Hochberg for 5 tests), the"
        " largest is rmsf (A ALA 1 CA): +1.00 ± 0.45 Å"
    ]
    few = ensemble_of(
        {
            system: [fluctuations(row) for row in own[:, [0, 4]] + np.eye(1, 3).T / 10]
            for system, own in (("wt", values), ("mut", other))
        }
    ).difference("wt", "mut")
    assert few.p[1] == few.p_adjusted[1] != few.p[0] != few.p_adjusted[0]
    assert few.sentences()[0].endswith(
        f"; corrected p = {2 * few.p[0]:.2g}; correction by Benjamini and Hochberg for 2 tests)"
    )
    alone = ensemble_of({"wt": [fluctuations(values[0])]}).mean("system").sentences()
    assert alone[0] == "rmsf (A ALA 1 CA) of system=wt: 1 Å (one replica, without an error)"


def test_unresolved_members_are_a_message() -> None:
    """A drift within a run; constants are none."""
    values = np.stack([np.arange(100.0), np.ones(100)], axis=1)
    drift = table(values, np.arange(100), ["name CA", "name CB"])
    noise = np.random.default_rng(1).normal(0, 1, 100)
    steady = replace(drift, values=np.stack([noise, np.ones(100)], axis=1))
    messages = ensemble_of({"wt": [steady, drift]}, name="rmsd").mean().messages
    assert any(
        "not resolved in 1 of 2 members, the first is system=wt, replica=2: 1 of 2 quantities, the"
        " first rmsd_A:" in one
        for one in messages
    )
    assert not any("resolved" in one for one in ensemble_of({"wt": [steady] * 2}).mean().messages)


@pytest.mark.parametrize("kind", ["violin", "overlay"])
def test_figures_of_runs_show_a_series_that_all_members_have(kind: str) -> None:
    """Its values and mean; not the first column of each member."""

    def of_residues(*residues: str) -> tj.Table:
        levels = {"GLY2": 0.0, "ALA2": 1.0, "ALA3": 100.0}
        values = np.stack([np.linspace(-1, 1, 50) + levels[one] for one in residues], axis=1)
        return table(values, np.arange(50), list(residues), name="sasa", units="A2")

    results = {
        "wt": [of_residues("ALA2", "ALA3"), of_residues("GLY2", "ALA3")],
        "mut": [of_residues("ALA3"), of_residues("ALA3", "GLY2")],
    }
    (axes,) = ensemble_of(results, name="sasa").plot(kind=kind).axes
    low, high = axes.get_ylim()
    assert 90 < low < high < 110
    apart = {"wt": [of_residues("ALA2")], "mut": [of_residues("GLY2")]}
    with raises(ValueError):
        ensemble_of(apart, name="sasa").plot(kind=kind)


def test_violins_of_sines_and_cosines_are_not_angles() -> None:
    """Values and means are the same quantity."""
    results = [dihedrals(np.tile([0.5, 0.8], (6, 1)), ["A phi"] * 2, ["cos", "sin"])] * 2
    drawn = ensemble_of({"wt": results}, name="dihedrals").plot(kind="violin").axes
    for axes, level in zip(drawn, (0.5, 0.8), strict=True):
        assert np.ptp(axes.get_ylim()) < 2
        assert np.allclose([line.get_ydata()[0] for line in axes.lines], level)
        assert "degrees" not in axes.get_ylabel()


def test_groups_have_the_same_colour_in_any_order() -> None:
    """That of their place among the sorted names."""
    values = normal(4, 1)
    results = {
        "wt": list(map(fluctuations, values[:2])),
        "mut": list(map(fluctuations, values[2:])),
    }
    colours = []
    for order in (("wt", "mut"), ("mut", "wt")):
        figure = ensemble_of({name: results[name] for name in order}).mean("system").plot()
        lines = figure.axes[0].get_legend_handles_labels()
        colours.append({text: line.get_color() for line, text in zip(*lines, strict=True)})
    assert colours[0] == colours[1]
    (axes,) = ensemble_of(results).difference("wt", "mut").plot().axes
    assert axes.get_ylabel().replace("\N{NO-BREAK SPACE}", " ") == "RMSF (Å), mut − wt"


def test_violins_of_angles_are_around_their_mean() -> None:
    """Runs at 170, -170 and 180 degrees stand side by side; a run of a constant is a point."""
    figure = ensemble_of({"wt": angles(170, -170, 180)}, name="dihedrals").plot(kind="violin")
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    assert high - low < 90
    flat = replace(angles(0)[0], values=np.full((6, 1), 3.0))
    (axes,) = ensemble_of({"wt": [flat, flat]}, name="dihedrals").plot(kind="violin").axes
    assert not axes.collections or len(axes.collections) == 1
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2"]


def test_atoms_are_matched_by_residue_and_never_by_row() -> None:
    """Systems whose first residues differ are compared residue by residue; others are left out."""
    a, b = normal(2, 1), normal(2, 2)
    result = ensemble_of(
        {
            "wt": [fluctuations(row) for row in a],
            "mut": [fluctuations(row[4:], first=5, names="GLY") for row in b],
        }
    )
    found = result.difference("wt", "mut")
    assert found.axes["resid"].tolist() == list(range(5, RESIDUES + 1))
    np.testing.assert_allclose(found.difference, (b - a).mean(axis=0)[4:], atol=1e-12)
    assert found.messages == ("4 of 30 rows are left out, as some members do not have them",)


def test_rows_that_cannot_be_matched_are_errors() -> None:
    """Equal keys in unequal orders, and no common row."""
    one, other = fluctuations(normal(1, 1)[0]), fluctuations(normal(1, 2)[0], first=100)
    with raises(tj.AnalysisError):
        ensemble_of({"wt": [one, other]}).mean()
    twice = fluctuations(normal(1, 3)[0])
    twice.axes[0]["resid"][:] = 1
    with raises(tj.AnalysisError):
        ensemble_of({"wt": [one, twice]}).mean()
    # In the same order they are matched.
    assert ensemble_of({"wt": [twice, twice]}).mean()["wt"].n_replicas == 2


def test_distances_of_other_bins_are_errors() -> None:
    """Bins of unequal widths do not match; a shorter range does."""
    fine, coarse = np.arange(21) * 0.1, np.arange(11) * 0.2
    one, other, shorter = (
        radial(edges, np.ones(len(edges) - 1)) for edges in (fine, coarse, fine[:13])
    )
    with raises(tj.AnalysisError):
        ensemble_of({"wt": [one, other]}, name="rdf").mean()
    means = ensemble_of({"wt": [one, shorter]}, name="rdf").mean()
    assert len(means["wt"].mean) == 12


def angles(*means: float) -> list[tj.Dihedrals]:
    """Return an angle of several replicas with these means."""
    spread = np.array([[1.0], [-1.0]] * 3)
    return [dihedrals(mean + spread, ["MET1 phi"]) for mean in means]


def test_angles_have_circular_means() -> None:
    """The mean of 170, -170 and 180 degrees is 180 degrees, not 60."""
    mean = ensemble_of({"wt": angles(170, -170, 180)}, name="dihedrals").mean()["wt"]
    assert abs(abs(mean.mean[0]) - 180) < 1e-9
    np.testing.assert_allclose(mean.standard_error, [10 / np.sqrt(3)], rtol=1e-6)


@pytest.mark.parametrize("means", [(0, 170, 175, -170), (-60, -60, 180, 60), (10, 20, 40)])
def test_means_of_angles_do_not_depend_on_the_order_of_replicas(means: tuple[float, ...]) -> None:
    """Angles of opposite directions have a message."""
    towards = np.exp(1j * np.radians(means)).mean()
    for order in permutations(means):
        found = ensemble_of({"wt": angles(*order)}, name="dihedrals").mean()
        # The linear mean around the circular one is that of the same numbers in any order.
        centre = np.degrees(np.angle(towards))
        around = centre + (np.array(means) - centre + 180) % 360 - 180
        apart = (found["wt"].mean[0] - around.mean() + 180) % 360 - 180
        assert abs(apart) < 1e-6
        has_message = any("opposite directions" in one for one in found.messages)
        assert has_message == (abs(towards) < 0.5)


def test_messages_of_members_are_messages_on_their_mean() -> None:
    """Messages of one code are one, with the number of members that have it."""

    def with_message(values: np.ndarray, **texts: str) -> tj.Table:
        messages = [tj.Message(Code[name], text) for name, text in texts.items()]
        made = report([worker(0, frames=100)], analysis="rmsf", messages=messages)
        return replace(fluctuations(values), report=made)

    values = normal(3, 8)
    wt = [
        with_message(values[0], BROKEN_MOLECULES="3 of 60 frames: molecules are broken"),
        with_message(values[1], BROKEN_MOLECULES="5 of 60 frames: …", NOT_RESOLVED="another"),
        with_message(values[2]),
    ]
    found = ensemble_of({"wt": wt, "mut": [fluctuations(row) for row in normal(2, 9)]})
    broken = "in 2 of 3 members, the first is system=wt, replica=1: 3 of 60 frames: molecules are"
    assert any(broken in one for one in found.mean().messages)
    assert any("in 1 of 3 members" in one and "another" in one for one in found.mean().messages)
    assert any(broken in one for one in found.difference("wt", "mut").messages)


def test_copies_mixed_keys_and_unequal_runs_are_messages() -> None:
    """Two members with the same numbers, other keys within a group, and shorter runs."""
    values = normal(4, 4)
    twice = ensemble_of({"wt": [fluctuations(values[k]) for k in (0, 1, 0)]})
    copies = "system=wt, replica=1 and system=wt, replica=3 have the same numbers"
    assert any(copies in one for one in twice.mean().messages)
    own, other = list(map(fluctuations, values[:2])), list(map(fluctuations, values[2:]))
    across = ensemble_of({"wt": own, "mut": [own[0], other[0]]}).difference("wt", "mut")
    assert any(
        "system=wt, replica=1 and system=mut, replica=1 have the same" in one
        for one in across.messages
    )
    short = [fluctuations(row, n_frames=50) for row in values[2:]]
    unequal = ensemble_of({"wt": own, "mut": short}).difference("wt", "mut")
    assert any(
        "runs of system=wt have 100 frames and those of system=mut 50" in one
        for one in unequal.messages
    )
    equal = ensemble_of({"wt": own, "mut": other}).difference("wt", "mut")
    assert not any("frames" in one or "same numbers" in one for one in equal.messages)
    mixed = tj.EnsembleResult(
        "rmsf",
        [
            MemberOutcome({"system": "wt", "temperature": t, "replica": k}, one)
            for k, (t, one) in enumerate(zip((300, 310), own, strict=True))
        ],
    )
    assert any(
        "members with different temperature (300, 310) count as replicas" in one
        for one in mixed.mean("system").messages
    )
    assert not any("count as replicas" in one for one in mixed.mean().messages)


def test_messages_say_what_makes_numbers_doubtful() -> None:
    """One replica, unequal lengths, copies of one file, and one start."""
    values = normal(3, 4)

    def messages(results: list[Any], starts: Any = None) -> str:
        return " ".join(ensemble_of({"wt": results}, starts=starts).mean().messages)

    assert "one replica" in messages([fluctuations(values[0])])
    mean = ensemble_of({"wt": [fluctuations(values[0])]}).mean()["wt"]
    assert np.isnan(mean.half_width).all()
    short = [fluctuations(values[0], n_frames=50), fluctuations(values[1])]
    assert "50 to 100 frames: fluctuations of shorter runs come out smaller" in messages(short)
    assert "copies of one file" in messages([fluctuations(values[0])] * 2)
    several = [fluctuations(row) for row in values]
    assert messages(several) == ""
    assert "started from one place" in messages(several, np.zeros((5, 3), np.float32))


def test_a_difference_needs_replicas_and_known_groups() -> None:
    """One replica, an unknown group and an unknown key are errors."""
    values = normal(2, 1)
    result = ensemble_of({"wt": [fluctuations(values[0])], "mut": list(map(fluctuations, values))})
    with raises(tj.AnalysisError):
        result.difference("wt", "mut")
    with raises(ValueError):
        result.difference("wt", "none")
    with raises(ValueError):
        result.mean("force")
    flat = values.copy()
    flat[:, 0] = 1
    both = ensemble_of({"a": list(map(fluctuations, flat)), "b": list(map(fluctuations, flat + 1))})
    found = both.difference("a", "b")
    assert np.isnan(found.p[0])
    assert not found.is_significant[0]
    assert "1 of 30 rows have the same number in all replicas" in found.messages[-1]
    # Equal replicas do not make a mean certain.
    mean = both.mean()["a"]
    assert mean.mean[0] == 1
    assert np.isnan(
        [mean.standard_error[0], mean.half_width[0], *np.transpose(mean.interval)[0]]
    ).all()
    assert np.isfinite(mean.half_width[1:]).all()


def test_results_without_common_rows_have_no_mean(adk: Adk) -> None:
    """Clusters are those of the frames of one run."""
    result = tj.cluster_rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), cutoff=2, frames=range(4))
    with raises(tj.AnalysisError):
        profile_of(result)


def test_tables_and_figures(adk: Adk, tmp_path: Path) -> None:
    """CSV files have the columns of the DataFrames; every kind of figure can be drawn."""
    ensemble = made_replicas(adk, tmp_path, {"wt": 3, "mut": 2})
    calpha = ensemble.select("name CA")
    rmsf, rmsd, msd = tj.run(
        [
            tj.rmsf.job(calpha, align="same"),
            tj.rmsd.job(calpha, groups=["resid 1:50"]),
            tj.msd.job(calpha, unwrapped=True),
        ]
    )
    means = rmsf.mean("system")
    means.save(tmp_path / "mean.csv")
    read = pd.read_csv(tmp_path / "mean.csv", keep_default_na=True)
    pd.testing.assert_frame_equal(read, means.to_dataframe(), check_dtype=False)
    assert read.columns.tolist() == [
        *("system", QUANTITY, "atom", "chain", "resname", "resid", "name", "replicas", "mean"),
        *("low", "high", "standard_error", "within", "ratio"),
    ]
    difference = rmsf.difference("wt", "mut")
    difference.save(tmp_path / "difference.csv")
    read = pd.read_csv(tmp_path / "difference.csv")
    pd.testing.assert_frame_equal(read, difference.to_dataframe(), check_dtype=False)
    for kind in ("overlay", "violin"):
        drawn = rmsd.plot(kind=kind).axes
        assert [axes.get_title(loc="left") for axes in drawn] == ["name CA", "resid 1:50"]
        names = drawn[0].get_legend_handles_labels()[1]
        assert any(name.startswith("wt") for name in names)
        with raises(ValueError):
            rmsf.plot(kind=kind)
    with raises(ValueError):
        rmsd.plot(kind="histogram")
    for one in (means, difference, rmsd, rmsd.difference("wt", "mut"), msd):
        (axes,) = one.plot().axes
        assert axes.get_legend_handles_labels()[1]


def contacts(fractions: np.ndarray, order: list[int], n_frames: int = 100) -> tj.ContactMap:
    """Return the contact map of residues 1, 2, …, which stand in some order; neighbours are out."""
    shown = fractions[np.ix_(order, order)]
    residues = np.array(order) + 1
    left_out = np.abs(residues[:, np.newaxis] - residues) <= 1
    axis = named(
        "residues",
        [f"ALA{k}" for k in residues.tolist()],
        residue=np.arange(len(order)),
        resname=np.full(len(order), "ALA"),
        resid=residues,
    )
    return tj.ContactMap(
        values=np.where(left_out, np.nan, shown),
        axes=(axis, axis),
        name="fraction",
        units="",
        selections=("protein",),
        report=report([worker(0, frames=n_frames)], analysis="contact_map"),
        also={"frames": np.where(left_out, 0, n_frames * shown).astype(np.int64)},
        cutoff=5.0,
        within=True,
    )


def test_contacts_that_a_member_never_forms_count_as_zero() -> None:
    """In means and differences; pairs without contact in any member have no row."""
    rng = np.random.default_rng(3)
    n = 7
    maps = {}
    for system, most in (("wt", 0.3), ("mut", 0.9)):
        upper = np.triu(rng.random((3, n, n)) * (rng.random((3, n, n)) < most), 2)
        maps[system] = np.round(upper + upper.transpose(0, 2, 1), 2)
    # A contact of one system alone, and a pair that no member has.
    for system, fraction in (("wt", 0.0), ("mut", 1.0)):
        maps[system][:, [0, n - 1], [n - 1, 0]] = fraction
        maps[system][:, [0, n - 2], [n - 2, 0]] = 0.0
    orders = iter(list(permutations(range(n)))[:: 5040 // 6])
    ensemble = ensemble_of(
        {name: [contacts(one, list(next(orders))) for one in own] for name, own in maps.items()}
    )
    means = ensemble.mean()
    for name, own in maps.items():
        mean = means[name]
        rows = list(zip(mean.axes["row"].tolist(), mean.axes["column"].tolist(), strict=True))
        for (one, other), value in zip(rows, mean.mean.tolist(), strict=True):
            i, j = int(one[3:]) - 1, int(other[3:]) - 1
            assert value == pytest.approx(own[:, i, j].mean(), abs=1e-12)
        ever = np.triu(sum(each.any(axis=0) for each in maps.values()), 2)
        assert len(rows) == len({frozenset(row) for row in rows}) == np.count_nonzero(ever)
        assert not any("left out" in message for message in mean.messages)
    difference = means.difference("wt", "mut")
    found = {
        frozenset(pair): value
        for *pair, value in zip(
            difference.axes["row"].tolist(),
            difference.axes["column"].tolist(),
            difference.difference.tolist(),
            strict=True,
        )
    }
    assert found[frozenset(("ALA1", f"ALA{n}"))] == pytest.approx(1.0)
    assert frozenset(("ALA1", f"ALA{n - 1}")) not in found
