"""Lifetimes and dwell times of members of any kind; `tests/laws` holds the laws of every analysis.

Rust's property test compares all counts with their definition (`lifetimes.rs`).
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.made_stores import make_store
from helpers.messages import raises
from helpers.plain_geometry import between
from MDAnalysis.lib.correlations import autocorrelation, correct_intermittency
from trajet import _trajet
from trajet.analysis.lifetimes import add_members, exit_shares

Members = list[set[tuple[int, ...]]]


def summed(members: Members, gap: int, lags: int) -> np.ndarray:
    """Return the three correlation functions by their definitions, `(lags + 1, 3)`."""
    n = len(members)
    bridged = correct_intermittency(members, gap)

    def ratio(sets: Members, lag: int, step: int) -> float:
        both = [set.intersection(*sets[t : t + lag + 1 : step]) for t in range(n - lag)]
        return sum(map(len, both)) / sum(map(len, sets[: n - lag]))

    _, means, _ = autocorrelation(bridged, lags)
    sums = [(ratio(members, lag, max(1, lag)), ratio(bridged, lag, 1)) for lag in range(lags + 1)]
    return np.column_stack([np.array(sums), means])


@pytest.mark.parametrize("gap", [0, 2])
@pytest.mark.parametrize("by", ["atom", "residue"])
def test_survival_equals_the_correlations_of_mdanalysis(by: str, gap: int) -> None:
    """Of atoms and of residues: the mean of ratios is that of `SurvivalProbability`."""
    traj = tj.samples.peptide_in_water().open()
    near = traj.select("resname HOH and around 3.5 resid 9", updating=True)
    result = tj.survival(near, by=by, max_lag=40.0, intermittency=gap)
    of_atom = traj.topology.atoms_residues if by == "residue" else np.arange(traj.n_atoms)
    members = [{(int(k),) for k in of_atom[frame.indices]} for frame in near.read()]
    assert result.values.tolist() == list(map(len, members))
    found = result.lifetimes
    assert found is not None
    expected = summed(members, gap, 20)
    assert found.values[:, :2].tolist() == expected[:, :2].tolist()
    assert np.abs(found.values[:, 2] - expected[:, 2]).max() < 1e-14
    bridged = correct_intermittency(members, gap)
    starts = [[len(sets[t]) for t in range(100)] for sets in (members, bridged)]
    starts.append([n > 0 for n in starts[1]])
    assert found.n_starts.T.tolist() == [
        [sum(numbers[: 100 - lag]) for lag in range(21)] for numbers in starts
    ]


def test_dwell_times_of_known_runs(tmp_path: Path) -> None:
    """An atom is above the plane in frames 0-2, 5-7 and 9, another one in frames 4-9, of ten."""
    inside = np.zeros((10, 3), bool)
    inside[[0, 1, 2, 5, 6, 7, 9], 0] = True
    inside[4:, 1] = True
    lines = []
    for t, row in enumerate(inside):
        z = np.where(row, 5.0, -5.0)
        lines += [f"frame t= {t}.0", "3"]
        lines += [
            f"{k + 1:5d}{'A':<5}{'CA':>5}{k + 1:5d}{k:8.3f}{0:8.3f}{z[k] / 10:8.3f}"
            for k in range(3)
        ]
        lines.append("   0.0   0.0   0.0")
    path = tmp_path / "known.gro"
    path.write_text("\n".join([*lines, ""]))
    above = tj.open(path, path).select("prop z > 0", updating=True)
    result = tj.survival(above, max_lag=9.0)
    found = result.dwell_times
    assert found is not None
    assert result.values.tolist() == inside.sum(axis=1).tolist()
    # The run 5-7 is whole; 0-2 is cut at the begin, 9 and 4-9 at the end.
    runs = (found.n_inside, found.n_cut_at_begin, found.n_cut_at_end, found.n_cut_at_both)
    assert runs == (1, 1, 2, 0)
    # The last frame is followed by none.
    assert (found.n_exits, found.n_at_risk) == (2, 3 + 3 + 0 + 5)
    assert np.isclose(found.rate, -np.log(1 - 2 / 11), rtol=1e-15)
    assert np.isclose(found.mean, 1 / found.rate, rtol=1e-15)
    assert found.interval[0] < found.mean < found.interval[1]
    assert found.at_risk.tolist() == [3, 2, 2, 2, 1, 1, 0, 0, 0, 0]
    assert found.exits.tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert found.values[:6].tolist() == [1, 1, 1, 0.5, 0.5, 0.5]
    assert np.isnan(found.values[6:]).all()
    assert found.median == 3.0
    # A gap of one frame joins 5-7 and 9, and nothing that begins in the first two frames or would
    # end in the last two is known in whole.
    joined = tj.survival(above, max_lag=9.0, intermittency=1).dwell_times
    assert joined is not None
    assert (joined.n_inside, joined.n_cut_at_begin, joined.n_cut_at_end) == (0, 1, 2)
    assert (joined.n_exits, joined.n_at_risk) == (1, 3 + 3 + 4)
    never = tj.survival(above.trajectory.select("prop z > 7", updating=True)).dwell_times
    assert never is not None
    assert np.isnan(never.rate)
    assert (never.rate_low, never.rate_high, never.n_runs) == (0, np.inf, 0)
    never.plot()


def two_states(rng: np.random.Generator, n_frames: int, p: float) -> np.ndarray:
    """Return the frames with a member that leaves and comes back with probability p a frame."""
    present = (rng.integers(2) + np.cumsum(rng.random(n_frames) < p)) % 2 == 1
    return np.flatnonzero(present).astype(np.uint32)


def rates(members: list[np.ndarray], n_frames: int) -> tuple[float, float, float]:
    """Return the rate of some members and the ends of its interval, as of `tj.survival`."""
    correlation = _trajet.Correlation(n_frames, n_frames // 2, 0)
    keys = np.repeat(np.arange(len(members)), [len(one) for one in members])
    add_members(correlation, keys, np.concatenate(members))
    share, low, high, _ = exit_shares(correlation.dwells())
    return share, low, high


@pytest.mark.parametrize(("n_members", "n_copies"), [(1, 1), (20, 1), (5, 10)])
def test_intervals_of_rates_hold_the_truth(n_members: int, n_copies: int) -> None:
    """With a mean dwell time of a third of the frames; also of members that leave together."""
    rng = np.random.default_rng(20261130)
    holds = []
    while len(holds) < 400:
        members = [two_states(rng, 60, 1 / 20) for _ in range(n_members)] * n_copies
        share, low, high = rates(members, 60)
        if np.isfinite(share):
            holds.append(low <= 1 / 20 <= high)
    assert np.mean(holds) >= 0.93


@pytest.mark.parametrize("gap", [0, 1])
def test_lifetimes_of_contacts_are_those_of_their_pairs(adk: Adk, gap: int) -> None:
    """Of atoms within and between groups, and of residues without those in sequence."""
    traj = tj.open(adk.psf, adk.xtc)
    some, other = (
        traj.select("resid 1:12 and not name H*"),
        traj.select("resid 100:115 and name C*"),
    )
    frames = traj.all_atoms().read(slice(40)).positions
    options: dict[str, Any] = {
        "lifetimes": True,
        "max_lag": 12.0,
        "intermittency": gap,
        "frames": slice(40),
    }

    def near(a: np.ndarray, b: np.ndarray, cutoff: float) -> Members:
        pairs = [np.argwhere(between(x[a], x[b]) <= cutoff) for x in frames]
        return [set(map(tuple, of_frame.tolist())) for of_frame in pairs]

    two = near(some.indices, other.indices, 9.0)
    one = [{(i, j) for i, j in pairs if i < j} for pairs in near(some.indices, some.indices, 6.0)]
    residue = traj.topology.atoms_residues[some.indices]
    by_residue = [
        {(residue[i], residue[j]) for i, j in pairs if residue[j] - residue[i] > 2} for pairs in one
    ]
    assert min(len(set.union(*sets)) for sets in (two, by_residue)) > 3
    for result, members in (
        (tj.contacts(some, other, cutoff=9.0, **options), two),
        (tj.contacts(some, cutoff=6.0, **options), one),
        (tj.contact_map(some, other, cutoff=9.0, by="atom", **options), two),
        (tj.contact_map(some, cutoff=6.0, exclude_neighbors=2, **options), by_residue),
        (tj.contact_map(some, cutoff=6.0, by="atom", **options), one),
    ):
        found = result.lifetimes
        assert found is not None
        expected = summed(members, gap, 12)
        assert found.values[:, :2].tolist() == expected[:, :2].tolist()
        assert np.abs(found.values[:, 2] - expected[:, 2]).max() < 1e-14
        counts = np.array(list(map(len, members)))
        assert found.n_starts[0, 0] == counts.sum()
        if isinstance(result, tj.Contacts):
            assert result.values.tolist() == counts.tolist()


def test_lifetimes_of_updating_contacts_follow_atoms() -> None:
    """Contacts within 3.5 Å are those of atoms within 4 Å: the same pairs by other numbers."""
    traj = tj.samples.peptide_in_water().open()
    near = traj.select("water and around 4 protein", updating=True)
    fixed = tj.contacts(traj.select("water"), "protein", cutoff=3.5, lifetimes=True)
    found = tj.contacts(near, "protein", cutoff=3.5, lifetimes=True)
    assert fixed.lifetimes is not None
    assert found.lifetimes is not None
    assert fixed.dwell_times is not None
    assert found.values.tolist() == fixed.values.tolist()
    assert found.lifetimes.values.tobytes() == fixed.lifetimes.values.tobytes()
    assert found.dwell_times is not None
    assert found.dwell_times.scalars() == fixed.dwell_times.scalars()


def test_lifetimes_in_parts_have_the_same_bits(adk: Adk) -> None:
    """Also where memory has room for the contacts of a few rows at a time."""
    some = tj.open(adk.psf, adk.xtc).select("resid 1:60 and name CA")
    options: dict[str, Any] = {"cutoff": 8.0, "lifetimes": True}
    whole = tj.contact_map(some, **options)
    reads: list[int] = []
    parts = tj.contact_map(
        some,
        max_memory=48 * 98 * 20,
        progress=lambda done, total: reads.append(done == total),
        **options,
    )
    assert sum(reads) > 4
    for name in ("lifetimes", "dwell_times"):
        one, other = (result.parts[name]._arrays() for result in (whole, parts))
        assert [array.tobytes() for array in one.values()] == [
            array.tobytes() for array in other.values()
        ]


def test_tags_of_a_store_give_the_same_members(tmp_path: Path) -> None:
    """Residues are those of the topology, whichever tags are open."""
    wet = make_store(tmp_path)
    text = "resname SOL and around 4 resname NA+"
    plain = tj.open(wet.gro, wet.xtc).select(text, updating=True)
    near = wet.store.open("wet", tags=["ion", "water"]).select(text, updating=True)
    for by in ("atom", "residue"):
        expected, found = tj.survival(plain, by=by), tj.survival(near, by=by)
        assert found.values.tolist() == expected.values.tolist()
        for name in ("lifetimes", "dwell_times"):
            values = found.parts[name].values
            assert values.tobytes() == expected.parts[name].values.tobytes()


def test_figures_have_correlations_and_the_rate_with_its_interval() -> None:
    """The distribution is a step function beside the exponential one of the rate."""
    traj = tj.samples.peptide_in_water().open()
    result = tj.survival(traj.select("water and around 3 protein", updating=True))
    lifetimes, dwell_times = result.lifetimes, result.dwell_times
    assert lifetimes is not None
    assert dwell_times is not None
    drawn = [line.get_ydata() for line in result.plot().axes[0].lines]
    assert np.array_equal(drawn, lifetimes.values.T[:2])
    axes = dwell_times.plot().axes[0]
    steps, curve = (np.asarray(line.get_ydata()) for line in axes.lines)
    assert np.array_equal(steps, dwell_times.values, equal_nan=True)
    assert np.allclose(curve, np.exp(-dwell_times.rate * dwell_times.times))
    band = axes.collections[0].get_paths()[0].vertices
    ends = [
        np.exp(-k * dwell_times.times[-1]) for k in (dwell_times.rate_low, dwell_times.rate_high)
    ]
    assert np.isin(np.round(ends, 12), np.round(band[:, 1], 12)).all()
    assert not dwell_times.plot(band=False).axes[0].collections


def test_slices_have_no_lifetimes(adk: Adk) -> None:
    """They are those of all frames, or of all pairs of a map."""
    traj = tj.open(adk.psf, adk.xtc)
    near = traj.select("name CA and around 8 resid 100", updating=True)
    some = traj.select("resid 1:9")
    for result in (
        tj.survival(near),
        tj.contacts(some, lifetimes=True),
        tj.contact_map(some, lifetimes=True),
    ):
        assert result.lifetimes is not None
        assert result[:].lifetimes is result.lifetimes
        part = result[1:4]
        assert part.lifetimes is None
        assert part.dwell_times is None
        assert "mean_dwell_time_ps" in result.scalars()
        assert "mean_dwell_time_ps" not in part.scalars()
        part.plot()


def test_impossible_lifetimes_are_refused(adk: Adk) -> None:
    """Errors name what to change, in one line."""
    traj = tj.open(adk.psf, adk.xtc)
    near = traj.select("name CA and around 8 resid 100", updating=True)
    some = traj.select("resid 1:9")
    with pytest.raises(tj.SelectionError):
        tj.survival(some)
    with pytest.raises(tj.AnalysisError):
        tj.survival(near, frames=[5])
    for analysis, atoms in ((tj.survival, near), (tj.contacts, some), (tj.contact_map, some)):
        asked = {} if analysis is tj.survival else {"lifetimes": True}
        for wrong in ({"max_lag": 98.0}, {"max_lag": -1.0}, {"intermittency": -1}):
            with pytest.raises(ValueError):
                analysis(atoms, **wrong, **asked)
        with raises(MemoryError):
            analysis(atoms, max_memory=1000, **asked)
        if asked:
            with pytest.raises(ValueError):
                analysis(atoms, max_lag=5.0)
    with pytest.raises(ValueError):
        tj.survival(near, by="molecule")
