"""Hydrogen bonds are those of MDAnalysis, of mdtraj, and of a triple loop."""

import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers.golden_files import Adk
from helpers.messages import raises
from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis
from MDAnalysis.lib.correlations import autocorrelation, correct_intermittency
from MDAnalysisTests import datafiles
from trajet.analysis import hbonds, runner

# MDAnalysis computes distances from coordinates that it rounds to float32.
ROUNDING = 2e-5
ANGLE_ROUNDING = 2e-3
# The protein, and water on one side of it.
WET = "protein or (resname SOL and resid 300:1500)"

Found = dict[tuple[int, ...], tuple[float, float]]


@pytest.fixture(scope="module")
def solvated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Copy a solvated protein: a TPR with elements and bonds, 10 frames in a dodecahedron."""
    folder = tmp_path_factory.mktemp("solvated")
    tpr, xtc = (Path(shutil.copy(path, folder)) for path in (datafiles.TPR, datafiles.XTC))
    return tpr, xtc


def found_here(result: tj.HydrogenBonds) -> Found:
    """Return distance and angle of each bond by frame, donor, hydrogen and acceptor."""
    bonds = result.bonds
    assert bonds is not None
    keys = np.stack([bonds.frames, bonds.donors, bonds.hydrogens, bonds.acceptors], axis=1)
    numbers = zip(bonds.distances.tolist(), bonds.angles.tolist(), strict=True)
    return dict(zip(map(tuple, keys.tolist()), numbers, strict=True))


def found_by_mdanalysis(universe: mda.Universe, among: str, step: int, **options: object) -> Found:
    """Return the bonds that MDAnalysis finds between N and O of a selection."""
    elements = "type N* O*" if not hasattr(universe.atoms, "elements") else "element N O"
    hydrogens = elements.replace("N", "H").replace("O", "H")
    analysis = HydrogenBondAnalysis(
        universe,
        donors_sel=None,
        hydrogens_sel=f"({hydrogens}) and bonded ({elements}) and ({among})",
        acceptors_sel=f"({elements}) and ({among})",
        **options,
    )
    rows = analysis.run(step=step).results.hbonds
    return {tuple(map(int, row[:4])): (row[4], row[5]) for row in rows.tolist()}


def assert_same(here: Found, there: Found, cutoff: float, angle: float) -> int:
    """Assert that two sets of bonds are equal but for those at a limit; return their number."""
    for key in here.keys() ^ there.keys():
        distance, degrees = (here | there)[key]
        at_limit = abs(distance - cutoff) < ROUNDING or abs(degrees - angle) < ANGLE_ROUNDING
        assert at_limit, (key, distance, degrees)
    both = here.keys() & there.keys()
    numbers = np.array([(*here[key], *there[key]) for key in both])
    assert np.abs(numbers[:, 0] - numbers[:, 2]).max() < ROUNDING
    assert np.abs(numbers[:, 1] - numbers[:, 3]).max() < ANGLE_ROUNDING
    return len(here.keys() ^ there.keys())


def test_solvated_protein_equals_mdanalysis(solvated: tuple[Path, Path]) -> None:
    """Each bond of each frame has the distance and the angle that MDAnalysis finds."""
    traj = tj.open(*solvated)
    every, wide = slice(None, None, 5), {"cutoff": 3.5, "angle": 130.0}
    universe = mda.Universe(*map(str, solvated))
    truth = found_by_mdanalysis(
        universe, WET, 5, d_a_cutoff=3.5, d_h_a_angle_cutoff=130.0, update_selections=False
    )
    assert len(truth) > 900
    result = tj.hbonds(traj.select(WET), list_bonds=True, frames=every, **wide)
    assert assert_same(found_here(result), truth, 3.5, 130.0) == 0
    frames = [key[0] for key in found_here(result)]
    assert result.values.tolist() == [frames.count(0), frames.count(5)]
    # The limits by default.
    few = {key: found for key, found in truth.items() if found[0] <= 3.0 and found[1] >= 150.0}
    result = tj.hbonds(traj.select(WET), list_bonds=True, frames=every)
    assert assert_same(found_here(result), few, 3.0, 150.0) == 0


def test_bonds_between_two_groups_equal_mdanalysis(solvated: tuple[Path, Path]) -> None:
    """Both directions between protein and water are found, and no bond within either."""
    traj = tj.open(*solvated)
    wet = traj.select(WET)
    groups = [traj.select(text) & wet for text in ("protein", "resname SOL")]
    result = tj.hbonds(*groups, list_bonds=True, frames=[0, 5])
    universe = mda.Universe(*map(str, solvated))
    texts = ["protein", "resname SOL"]
    truth = found_by_mdanalysis(universe, WET, 5, between=texts, update_selections=False)
    assert len(truth) > 50
    assert assert_same(found_here(result), truth, 3.0, 150.0) == 0
    of_all = found_here(tj.hbonds(wet, list_bonds=True, frames=[0, 5]))
    protein = set(traj.select("protein").indices.tolist())
    crossing = {key for key in of_all if (key[1] in protein) != (key[3] in protein)}
    assert found_here(result).keys() == crossing
    swapped = tj.hbonds(*groups[::-1], list_bonds=True, frames=[0, 5])
    assert found_here(swapped) == found_here(result)
    # A bond of two groups that overlap is found once.
    same = tj.hbonds(wet, WET, list_bonds=True, frames=[0, 5])
    assert found_here(same) == of_all
    assert len(of_all) == len(same.bonds)


def test_water_without_elements_equals_mdanalysis(tmp_path: Path) -> None:
    """Elements are known by masses, and each frame has the bonds that MDAnalysis finds."""
    psf, dcd = (shutil.copy(path, tmp_path) for path in (datafiles.waterPSF, datafiles.waterDCD))
    result = tj.hbonds(tj.open(psf, dcd), list_bonds=True)
    universe = mda.Universe(psf, dcd)
    analysis = HydrogenBondAnalysis(
        universe, hydrogens_sel="name H1 H2", acceptors_sel="name OH2"
    ).run()
    truth = {tuple(map(int, row[:4])): (row[4], row[5]) for row in analysis.results.hbonds.tolist()}
    assert assert_same(found_here(result), truth, 3.0, 150.0) == 0
    assert result.values.tolist() == analysis.count_by_time().tolist()
    # Donor, hydrogen, acceptor and count, the most frequent first.
    theirs = {tuple(row[:3]): row[3] for row in analysis.count_by_ids().tolist()}
    members = map(tuple, result.pairs.members.tolist())
    assert dict(zip(members, result.pairs.counts.tolist(), strict=True)) == theirs
    assert result.pairs.counts.tolist() == sorted(theirs.values(), reverse=True)


def triple_loop(traj: tj.Trajectory, frame: int, cutoff: float, angle: float) -> Found:
    """Return the bonds of hydrogen and acceptor of a frame by all triples, without a cell."""
    block = traj.read(frames=[frame])
    positions = block.positions[0].astype(np.float64)
    elements = traj.topology.names.astype("<U1")
    acceptors = np.flatnonzero(np.isin(elements, ["N", "O"]))
    found = {}
    for one, other in np.concatenate([traj.topology.bonds, traj.topology.bonds[:, ::-1]]).tolist():
        if elements[one] not in "NO" or elements[other] != "H":
            continue
        on, back = positions[acceptors] - positions[other], positions[one] - positions[other]
        distances = np.linalg.norm(on, axis=1)
        with np.errstate(invalid="ignore"):
            angles = np.degrees(np.arccos(on @ back / distances / np.linalg.norm(back)))
        near = (distances <= cutoff) & (angles >= angle) & (acceptors != one)
        for k in np.flatnonzero(near).tolist():
            found[frame, one, other, int(acceptors[k])] = (distances[k], angles[k])
    return found


def test_hydrogen_acceptor_distances_equal_a_triple_loop(adk: Adk) -> None:
    """The criterion of Baker and Hubbard, of a protein without a cell."""
    traj = tj.open(adk.psf, adk.xtc)
    result = tj.hbonds(
        traj, distance="hydrogen-acceptor", angle=120.0, list_bonds=True, frames=[0, 50]
    )
    truth = triple_loop(traj, 0, 2.5, 120.0) | triple_loop(traj, 50, 2.5, 120.0)
    here = found_here(result)
    assert here.keys() == truth.keys()
    assert len(here) > 300
    numbers = np.array([(*here[key], *truth[key]) for key in here])
    assert np.abs(numbers[:, :2] - numbers[:, 2:]).max() < 1e-9


@pytest.mark.parametrize("largest", [20.0, 30.0])
def test_angles_at_the_donor_equal_a_triple_loop(adk: Adk, largest: float) -> None:
    """The criterion of gmx hbond: 3.5 Å and an angle H-D-A of at most 30 degrees."""
    traj = tj.open(adk.psf, adk.xtc)
    positions = traj.read([0]).positions[0].astype(np.float64)
    found = tj.hbonds(traj, cutoff=3.5, angle=0.0, list_bonds=True, frames=[0])
    bonds = found_here(found)

    def angle_at_donor(donor: int, hydrogen: int, acceptor: int) -> float:
        u, v = positions[[hydrogen, acceptor]] - positions[donor]
        return float(np.degrees(np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))))

    expected = {key for key in bonds if angle_at_donor(*key[1:]) <= largest}
    result = tj.hbonds(traj, cutoff=3.5, donor_angle=largest, list_bonds=True, frames=[0])
    assert found_here(result) == {key: bonds[key] for key in expected}
    assert 100 < len(expected) < len(bonds)
    parameters = result.report["parameters"]
    assert (parameters["angle"], parameters["donor_angle"]) == (None, largest)


def test_criterion_of_baker_and_hubbard_equals_mdtraj(
    solvated: tuple[Path, Path], tmp_path: Path
) -> None:
    """The bonds of a protein that more than a tenth of the frames have."""
    protein = tj.open(*solvated).select("protein")
    tj.convert(protein, tmp_path / "p.xtc", topology=tmp_path / "p.pdb")
    loaded = mdtraj.load(str(tmp_path / "p.xtc"), top=str(tmp_path / "p.pdb"))
    theirs = mdtraj.baker_hubbard(loaded, freq=0.1)
    assert len(theirs) > 250
    pairs = tj.hbonds(protein, distance="hydrogen-acceptor", angle=120.0).pairs
    often = pairs.members[pairs.occupancies > 0.1]
    assert set(map(tuple, often.tolist())) == set(map(tuple, theirs.tolist()))


def test_occupancies_are_those_of_the_list(adk: Adk) -> None:
    """A pair counts once in a frame: by bond, by donor and acceptor, and by residue."""
    traj = tj.open(adk.psf, adk.xtc)
    chosen = slice(10, 60, 7)
    residue = traj.topology.atoms_residues
    for by in ("bond", "pair", "residue"):
        result = tj.hbonds(traj, by=by, list_bonds=True, frames=chosen, cutoff=3.5, angle=120.0)
        counts: dict[tuple[int, ...], set[int]] = {}
        for frame, donor, hydrogen, acceptor in found_here(result):
            atoms = (donor, hydrogen, acceptor) if by == "bond" else (donor, acceptor)
            key = tuple(int(residue[i]) for i in atoms) if by == "residue" else atoms
            counts.setdefault(key, set()).add(frame)
        pairs = result.pairs
        members = list(map(tuple, pairs.members.tolist()))
        assert dict(zip(members, pairs.counts.tolist(), strict=True)) == {
            key: len(frames) for key, frames in counts.items()
        }
        order = sorted(counts, key=lambda key: (-len(counts[key]), key))
        assert members == order
        assert pairs.occupancies.tolist() == [len(counts[key]) / 8 for key in order]
    assert pairs.labels(1) == [
        f"{traj.topology.residues.resnames[members[0][0]]}"
        f"{traj.topology.residues.resids[members[0][0]]} -- "
        f"{traj.topology.residues.resnames[members[0][1]]}"
        f"{traj.topology.residues.resids[members[0][1]]}"
    ]


@pytest.mark.parametrize("gap", [0, 2])
def test_lifetimes_equal_their_definition_and_mdanalysis(adk: Adk, gap: int) -> None:
    """Both correlations are ratios of sums over all bonds; MDAnalysis averages single ratios."""
    traj = tj.open(adk.psf, adk.xtc)
    result = tj.hbonds(
        traj.select("protein"), lifetimes=True, max_lag=12.0, intermittency=gap, list_bonds=True
    )
    bonded: list[set[tuple[int, ...]]] = [set() for _ in range(98)]
    for frame, *atoms in found_here(result):
        bonded[frame].add(tuple(atoms))
    bridged = correct_intermittency(bonded, gap)

    def ratio(sets: list[set[tuple[int, ...]]], lag: int, step: int) -> float:
        both = [set.intersection(*sets[t : t + lag + 1 : step]) for t in range(98 - lag)]
        return sum(map(len, both)) / sum(map(len, sets[: 98 - lag]))

    found = result.lifetimes
    assert found is not None
    assert np.allclose(found.times, np.arange(13.0), atol=1e-5)
    assert found.intermittent.tolist() == [ratio(bonded, lag, max(1, lag)) for lag in range(13)]
    assert found.continuous.tolist() == [ratio(bridged, lag, 1) for lag in range(13)]
    _, theirs, _ = autocorrelation(bridged, 12)
    assert np.abs(found.continuous - theirs).max() < 1e-3
    # The integral by trapezoids, of lags that are 1 ps apart.
    area = found.continuous.sum() - (found.continuous[0] + found.continuous[-1]) / 2
    assert np.isclose(found.continuous_lifetime, area, rtol=1e-5)
    assert "is still" in " ".join(result.messages)


def test_lifetimes_have_the_same_bits_in_parts(adk: Adk) -> None:
    """Little memory only divides the donors: frames are read again for each part."""
    traj = tj.open(adk.psf, adk.xtc)
    options: dict[str, Any] = {"lifetimes": True, "frames": slice(0, 80), "by": "pair"}
    whole = tj.hbonds(traj, **options).lifetimes
    reads: list[tuple[int, int]] = []
    n_pairs = len(tj.hbonds(traj, frames=slice(0, 80), by="pair").pairs)
    result = tj.hbonds(
        traj,
        max_memory=64 * n_pairs,
        pool=tj.LocalPool(threads=2, task_frames=3),
        progress=lambda done, total: reads.append((done, total)),
        **options,
    )
    parts = result.lifetimes
    assert whole is not None
    assert parts is not None
    # One run for occupancies, and one for each part.
    n_runs = reads.count((80, 80))
    assert n_runs > 5
    assert 48 * result.values.sum() / (64 * n_pairs) <= n_runs - 1
    assert parts.intermittent.tobytes() == whole.intermittent.tobytes()
    assert parts.continuous.tobytes() == whole.continuous.tobytes()


def test_guessed_bonds_find_the_same_hydrogen_bonds(solvated: tuple[Path, Path]) -> None:
    """Elements by names and bonds by distances give what the topology states."""
    tpr, xtc = solvated
    gro = Path(shutil.copy(datafiles.GRO, tpr.parent))
    stated = tj.hbonds(tj.open(tpr, xtc).select(WET), list_bonds=True, frames=[3])
    guessed = tj.hbonds(
        tj.open(gro, xtc).select(WET), guess_bonds=True, list_bonds=True, frames=[3]
    )
    assert found_here(guessed) == found_here(stated)
    messages = " ".join(guessed.messages)
    assert "elements that are guessed from the names of atoms, as" in messages
    assert "bonds that are guessed from distances" in messages


def test_given_atoms_replace_those_of_elements(adk: Adk) -> None:
    """Donors, hydrogens and acceptors are those given; sulphur is one of the elements if named."""
    traj = tj.open(adk.psf, adk.xtc)
    every = found_here(tj.hbonds(traj, list_bonds=True, frames=[40]))
    names = traj.topology.names
    given = {"donors": "name N", "hydrogens": "name HN", "acceptors": "name O"}
    backbone = found_here(tj.hbonds(traj, list_bonds=True, frames=[40], **given))
    expected = {
        key: found
        for key, found in every.items()
        if [names[k] for k in key[1:]] == ["N", "HN", "O"]
    }
    assert backbone == expected
    assert 20 < len(backbone) < len(every)
    wide: dict[str, Any] = {"cutoff": 4.0, "list_bonds": True, "frames": [40]}
    oxygens = found_here(tj.hbonds(traj, **wide))
    sulphur = found_here(tj.hbonds(traj, elements=["N", "O", "S"], **wide))
    more = sulphur.keys() - oxygens.keys()
    assert more == {key for key in sulphur if "S" in {names[key[1]][0], names[key[3]][0]}}
    assert len(more) > 0


def test_bad_input_says_what_to_do(adk: Adk, solvated: tuple[Path, Path]) -> None:
    """Missing bonds, hydrogens, donors and acceptors, and impossible limits."""
    traj = tj.open(adk.psf, adk.xtc)
    gro = Path(shutil.copy(datafiles.GRO, solvated[0].parent))
    with raises(tj.SelectionError):
        tj.hbonds(tj.open(gro, solvated[1]))
    with raises(tj.SelectionError):
        tj.hbonds(traj.select("name CA"))
    heavy = mda.Universe(adk.psf, adk.xtc).select_atoms("not name H*")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        heavy.write(solvated[0].parent / "heavy.pdb")
    with raises(tj.SelectionError):
        tj.hbonds(tj.open(solvated[0].parent / "heavy.pdb"), guess_bonds=True)
    with raises(tj.SelectionError):
        tj.hbonds(traj.select("name O HN"))
    with raises(tj.SelectionError):
        tj.hbonds(traj.select("name N"), acceptors="name O")
    with raises(tj.SelectionError):
        tj.hbonds(traj.select("name N"), "name C")
    with raises(tj.SelectionError):
        tj.hbonds(tj.open(None, adk.xtc))
    for wrong in (
        {"cutoff": 0.0},
        {"cutoff": float("nan")},
        {"angle": 181.0},
        {"by": "atom"},
        {"distance": "donor"},
        {"lifetimes": True, "max_lag": 98.0},
        {"lifetimes": True, "max_lag": -1.0},
        {"lifetimes": True, "intermittency": -1},
        {"max_lag": 5.0},
    ):
        with raises(ValueError):
            tj.hbonds(traj, **wrong)


def test_cutoff_beyond_half_of_the_cell_is_reported(solvated: tuple[Path, Path]) -> None:
    """The cell of the dodecahedron is 80 Å wide."""
    few = tj.open(*solvated).select("resid 1:3 and protein")
    for cutoff, pbc, expected in ((39.0, True, False), (41.0, True, True), (41.0, False, False)):
        messages = tj.hbonds(few, cutoff=cutoff, pbc=pbc, frames=[0]).messages
        assert (
            any("half of the distance between an atom" in message for message in messages)
            == expected
        )


def test_lifetimes_need_evenly_spaced_frames(adk: Adk) -> None:
    """Frames out of order, of changing steps, and a single one have no time axis."""
    traj = tj.open(adk.psf, adk.xtc)
    for frames in ([0, 1, 2, 4], [3, 2, 1], [5]):
        with raises(tj.AnalysisError):
            tj.hbonds(traj, lifetimes=True, frames=frames)
    # No bonds at all: nothing to correlate.
    none = tj.hbonds(traj, lifetimes=True, cutoff=0.5, frames=slice(0, 5))
    assert none.values.tolist() == [0.0] * 5
    assert none.lifetimes is not None
    assert np.isnan(none.lifetimes.intermittent).all()
    assert len(none.pairs) == 0
    none.plot()


def test_results_larger_than_the_memory_are_refused(adk: Adk) -> None:
    """The limit is exact for pairs and lists, on any pool."""
    traj = tj.open(adk.psf, adk.xtc)
    frames = slice(0, 30)
    result = tj.hbonds(traj, list_bonds=True, frames=frames)
    n_pairs, n_bonds = len(result.pairs), len(result.bonds)
    for pool in (tj.LocalPool(threads=1), tj.LocalPool(threads=3, task_frames=4)):
        options: dict[str, Any] = {"frames": frames, "pool": pool}
        assert len(tj.hbonds(traj, max_memory=64 * n_pairs, **options).pairs) == n_pairs
        with raises(MemoryError):
            tj.hbonds(traj, max_memory=64 * n_pairs - 1, **options)
        # With their errors, tables of up to 128 blocks count.
        least = (64 + 24 * 128) * n_pairs
        assert len(tj.hbonds(traj, max_memory=least, errors=True, **options).pairs) == n_pairs
        with raises(MemoryError):
            tj.hbonds(traj, max_memory=least - 1, errors=True, **options)
        options["list_bonds"] = True
        assert len(tj.hbonds(traj, max_memory=160 * n_bonds, **options).bonds) == n_bonds
        with raises(MemoryError):
            tj.hbonds(traj, max_memory=160 * n_bonds - 1, **options)


def test_incomplete_second_runs_are_errors(adk: Adk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bonds that do not fit, or are not as many as the frames have, are never correlated."""
    traj = tj.open(adk.psf, adk.xtc)
    options: dict[str, Any] = {"frames": slice(0, 20), "by": "pair"}
    n_pairs = len(tj.hbonds(traj, **options).pairs)
    with monkeypatch.context() as patch:
        # All donors at once, whose bonds take more than the memory that is allowed.
        patch.setattr(hbonds, "within_memory", lambda counts, *_: [(0, len(counts))])
        with raises(MemoryError):
            tj.hbonds(traj, lifetimes=True, max_memory=64 * n_pairs, **options)
    for option, name in (("lifetimes", "keys"), ("list_bonds", "distances")):
        steps = tj.hbonds.job(traj, by="pair", **{option: True}).start(frames=slice(0, 20))
        outcome = runner.run(next(steps))
        outcome = runner.run(steps.send(outcome))
        with raises(tj.AnalysisError):
            steps.send(replace(outcome, arrays={**outcome.arrays, name: outcome.arrays[name][1:]}))


def test_lifetimes_of_other_lags_are_nan(adk: Adk) -> None:
    """The integral begins at lag 0, and lags ascend."""
    found = tj.hbonds(tj.open(adk.psf, adk.xtc), lifetimes=True, frames=slice(0, 20)).lifetimes
    assert found is not None
    for chosen in (slice(1, None), slice(None, None, -1), [0, 2, 1], [0, 0, 1], slice(0, 0)):
        some = found[chosen]
        assert np.isnan([some.continuous_lifetime, some.intermittent_lifetime]).all()
        repr(some)
    every = found[::2]
    area = np.trapezoid(every.intermittent, every.times)
    assert np.isclose(every.intermittent_lifetime, area, rtol=1e-12)
    assert found[:1].continuous_lifetime == 0
    found[1:].plot()


def _kept(pairs: tj.HydrogenBondPairs | None) -> list[Any]:
    assert pairs is not None
    return [pairs.members.tolist(), pairs.counts.tolist(), pairs.n_frames, pairs.labels()]


@pytest.mark.parametrize("by", ["bond", "pair", "residue"])
def test_slices_have_the_bonds_of_their_frames(by: str, adk: Adk, tmp_path: Path) -> None:
    """With a list of bonds, rows of a result are a run over these frames, also after loading."""
    traj = tj.open(adk.psf, adk.xtc)
    options: dict[str, Any] = {"by": by, "list_bonds": True, "cutoff": 3.5, "angle": 130.0}
    whole = tj.hbonds(traj, frames=range(40), lifetimes=True, **options)
    loaded = tj.load(_saved(whole, tmp_path / "all.npz"))
    mask = np.arange(40) % 7 == 3
    for chosen in (slice(7, 29, 3), slice(30, 3, -4), [4, 4, 30], mask, [], slice(5, 6)):
        expected = tj.hbonds(traj, frames=np.arange(40)[chosen], **options)
        some = whole[chosen]
        assert some.values.tolist() == expected.values.tolist()
        assert _kept(some.pairs) == _kept(expected.pairs)
        for name, there in dict(expected.bonds._table()).items():
            here = dict(some.bonds._table())[name]
            assert (here.dtype, here.tobytes()) == (there.dtype, there.tobytes())
        assert some.lifetimes is None
        of_file = loaded[chosen]
        assert of_file.bonds.distances.tobytes() == some.bonds.distances.tobytes()
        assert _kept(of_file.pairs) == _kept(expected.pairs)
    again = whole[7:][3:9]
    assert _kept(again.pairs) == _kept(whole[10:16].pairs)
    assert f"hydrogen bonds of 6 frames, {again.values.mean():.1f} a frame, " in repr(again)
    assert f", {len(again.pairs)} pairs, mean" in repr(again)


def test_slices_without_a_list_have_no_pairs(adk: Adk) -> None:
    """Occupancies of all frames are not those of some; all rows in order keep everything."""
    whole = tj.hbonds(tj.open(adk.psf, adk.xtc), frames=slice(0, 12), lifetimes=True)
    assert f", {len(whole.pairs)} pairs, " in repr(whole)
    some = whole[2:5]
    assert some.pairs is None
    assert some.lifetimes is None
    some.plot()
    assert repr(some).startswith("<HydrogenBonds: hydrogen bonds of 3 frames, ")
    assert "pairs" not in repr(some)
    for every in (whole[:], whole[np.ones(12, np.bool_)]):
        assert every.pairs is whole.pairs
        assert every.lifetimes is whole.lifetimes
    for not_every in (whole[::-1], whole[[*range(12), 0]]):
        assert not_every.pairs is None


def test_slices_never_have_bonds_of_other_frames(adk: Adk) -> None:
    """Slices have no list if the list of the result is that of other frames."""
    whole = tj.hbonds(tj.open(adk.psf, adk.xtc), frames=slice(0, 8), list_bonds=True)
    axes = (whole.axes[0].some(slice(5, None)),)
    others = {"values": whole.values[5:], "axes": axes}
    with raises(ValueError):
        replace(whole, **others)
    some = replace(whole, **others, parts={"bonds": whole.parts["bonds"]})[1:]
    assert (some.pairs, some.bonds) == (None, None)
    assert some.values.tolist() == whole.values[6:].tolist()


def test_command_gives_the_numbers_of_the_function(adk: Adk, tmp_path: Path) -> None:
    """Files hold all digits; a table shows the most frequent pairs."""
    traj = tj.open(adk.psf, adk.xtc)
    result = tj.hbonds(
        traj.select("protein"),
        list_bonds=True,
        lifetimes=True,
        max_lag=7.0,
        intermittency=1,
        frames=slice(0, 20),
    )
    paths = {name: tmp_path / f"{name}.csv" for name in ("number", "pairs", "bonds", "lifetimes")}
    shown = commands.succeed(
        *("hbonds", adk.psf, adk.xtc, "--select", "protein", "--stop", "20"),
        *("-o", paths["number"], "--max-lag", "7", "--intermittency", "1"),
        *(word for part in list(paths)[1:] for word in ("--save", f"{part}={paths[part]}")),
    )
    number, pairs, bonds, lifetimes = (path.read_text().splitlines() for path in paths.values())
    assert number[0] == "frame,time_ps,hydrogen_bonds"
    assert [float(line.split(",")[2]) for line in number[1:]] == result.values.tolist()
    residues = "donor_resname,donor_resid,acceptor_resname,acceptor_resid"
    assert pairs[0] == f"donor,hydrogen,acceptor,{residues},frames,occupancy,label"
    assert len(pairs) == len(result.pairs) + 1
    label = result.pairs.labels(1)[0]
    members = ",".join(map(str, result.pairs.members[0].tolist()))
    ends = result.pairs.members[0, [0, -1]]
    topology = traj.topology
    of_ends = ",".join(f"{topology.resnames[k]},{topology.resids[k]}" for k in ends)
    assert pairs[1] == f"{members},{of_ends},20,1.0,{label}"
    assert label in "\n".join(shown)
    assert bonds[0] == f"frame,donor,hydrogen,acceptor,{residues},distance_A,angle_degrees"
    last = [result.bonds.frames, result.bonds.donors, result.bonds.distances, result.bonds.angles]
    fields = bonds[-1].split(",")
    assert [float(fields[k]) for k in (0, 1, 8, 9)] == [column[-1] for column in last]
    functions = ["intermittent", "continuous", "continuous_mean_of_ratios"]
    names = ["time_ps", *functions, *(f"n_starts:{name}" for name in functions)]
    assert lifetimes[0].split(",") == names
    assert len(lifetimes) == 9
    time, *numbers = map(float, lifetimes[-1].split(","))
    assert numbers == [*result.lifetimes.values[-1], *result.lifetimes.n_starts[-1]]
    assert time == 7.0 == pytest.approx(result.lifetimes.times[-1], rel=1e-6)
    assert f"{result.lifetimes.continuous_lifetime:.3g} ps (continuous)" in "\n".join(shown)


def _saved(result: tj.HydrogenBonds, path: Path) -> Path:
    result.save(path)
    return path
