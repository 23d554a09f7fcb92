"""Features of frames: blocks have the numbers of whole runs, and no pair crosses a border."""

import re
import shutil
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.opened_files import watch_opens
from hypothesis import given
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from trajet.kinetics import columns, streams
from trajet.kinetics.features import Features, OpenItems, pairs_of
from trajet.kinetics.matching import columns_of

LAG = 10


class Member:
    """A trajectory that is open while its items are used."""

    def __init__(self, label: str, items: Sequence[Any], frames: Any = None) -> None:
        self.label, self.items, self.frames, self.is_open = label, items, frames, False
        self.topology_key = label

    @contextmanager
    def open_items(self) -> Iterator[OpenItems]:
        """Yield the items."""
        self.is_open = True
        try:
            yield OpenItems(self.items, self.frames)
        finally:
            self.is_open = False


def backbone(trajectory: Any) -> Any:
    """Return the job of sines and cosines of φ and ψ, of a trajectory or an ensemble."""
    return tj.dihedrals.job(trajectory.select("protein and resid 1:30"), sin_cos=True)


def of_files(adk: Adk, frames: Sequence[slice], folder: Path) -> Features:
    """Return the features of an ensemble, whose members have some frames of ADK each."""
    for k, some in enumerate(frames):
        tj.convert(tj.open(adk.psf, adk.xtc), folder / f"{k}.xtc", frames=some)
    ensemble = tj.ensemble(str(folder / "{replica}.xtc"), topology=adk.psf)
    return tj.features(backbone(ensemble))


@pytest.fixture(scope="module")
def traj(adk: Adk) -> tj.Trajectory:
    """Return ADK."""
    return tj.open(adk.psf, adk.xtc)


def jobs_of(traj: tj.Trajectory) -> list[Any]:
    """Return features of each kind, with one column or many, and a reference."""
    calpha = traj.select("name CA")
    return [
        backbone(traj),
        tj.distances.job(traj.select("name CA and resid 1:8")),
        tj.contacts.job(traj.select("resid 30:59"), "resid 122:159"),
        tj.rmsd.job(calpha, reference=3),
        tj.rmsd.job(calpha, reference=90),
        traj.fit("name CA").select("name CA and resid 5:9"),
    ]


@pytest.mark.parametrize("size", [1, 7, 1000, None])
def test_blocks_have_the_bits_of_separate_runs(
    traj: tj.Trajectory, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the size of blocks, and of the runs that compute them."""
    jobs = jobs_of(traj)
    parts = [np.asarray(result).reshape(98, -1) for result in tj.run(jobs[:-1])]
    fitted = jobs[-1].read().positions.reshape(98, -1).astype(np.float64)
    expected = np.concatenate([*parts, fitted], axis=1)
    found = tj.features(jobs)
    for bytes_at_once in (2**25, 10 * 8 * found.n_features):
        monkeypatch.setattr(streams, "RUN_BYTES", bytes_at_once)
        blocks = list(found.blocks(size))
        assert np.array_equal(np.concatenate([block.values for block in blocks]), expected)
        assert np.concatenate([block.frames for block in blocks]).tolist() == list(range(98))
        assert np.array_equal(np.concatenate([block.times for block in blocks]), traj.times)
        if size is not None:
            assert {len(block.values) for block in blocks[:-1]} <= {size}
    (whole,) = found.collect()
    assert np.array_equal(whole, expected)


def test_labels_name_each_column_once(traj: tj.Trajectory) -> None:
    """Also two RMSDs of the same atoms; those of dihedrals are the names of CSV columns."""
    found = tj.features(jobs_of(traj))
    assert len(set(found.labels)) == found.n_features
    result = tj.dihedrals(traj.select("protein and resid 1:30"), sin_cos=True)
    angles = [name for name, _ in result._table()][2:]
    assert list(found.labels[: len(angles)]) == angles
    assert found.labels[len(angles)] == "distance_A:MET1:CA_-_ARG2:CA"
    assert {"rmsd_A:name_CA", "rmsd_A:name_CA#2"} < set(found.labels)
    assert found.labels[-1] == "position_A:z_PRO9:CA"


def test_blocks_of_unwrapped_positions_count_jumps_from_the_first_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block in the middle has the positions of the whole trajectory without jumps."""
    rng = np.random.default_rng(5)
    walk = 1.0 + np.cumsum(rng.normal(0, 0.2, (60, 4, 3)), axis=0)
    xtc_bytes.write_xtc(tmp_path / "walk.xtc", walk % 2.0, box=2.0 * np.eye(3))
    selection = tj.open(None, tmp_path / "walk.xtc").all_atoms().nojump()
    expected = selection.read().positions.reshape(60, 12)
    assert np.abs(expected / 10 - walk.reshape(60, 12) + (walk[0] // 2 * 2).ravel()).max() < 0.01
    monkeypatch.setattr(streams, "RUN_BYTES", 8 * 12 * 7)
    values = np.concatenate([block.values for block in tj.features(selection).blocks(7)])
    assert np.array_equal(values, expected)
    with raises(ValueError):
        list(tj.features(selection, frames=[5, 3]).blocks())


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    lag=st.integers(1, 15),
    size=st.one_of(st.none(), st.integers(1, 9)),
)
def test_pairs_are_all_pairs_at_the_lag(lengths: list[int], lag: int, size: int | None) -> None:
    """Once each, in order, whatever the blocks that rows come in."""
    rows = np.arange(3.0 * sum(lengths)).reshape(-1, 3)
    blocks = np.split(rows, np.cumsum(lengths)[:-1])
    pairs = list(pairs_of(iter(blocks), lag, size))
    assert all(len(x) == len(y) > 0 for x, y in pairs)
    if size is not None:
        assert all(len(x) == size for x, _ in pairs[:-1])
    for k, expected in enumerate((rows[:-lag], rows[lag:])):
        got = np.concatenate([pair[k] for pair in pairs] or [np.empty((0, 3))])
        assert np.array_equal(got, expected[: max(0, len(rows) - lag)])


def test_pairs_never_cross_members(adk: Adk, tmp_path: Path) -> None:
    """Each of n frames has n - lag pairs; those not longer than the lag have none."""
    cuts = [slice(0, 40), slice(40, 40 + LAG), slice(50, 51 + LAG), slice(70, 98)]
    found = of_files(adk, cuts, tmp_path)
    whole = found.collect()
    assert [len(values) for values in whole] == [40, LAG, LAG + 1, 28]
    for block in (1, 7, 1000, None):
        pairs = list(found.pairs(LAG, block))
        x, y = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
        assert len(x) == 30 + 0 + 1 + 18
        assert np.array_equal(x, np.concatenate([values[:-LAG] for values in whole]))
        assert np.array_equal(y, np.concatenate([values[LAG:] for values in whole]))
    assert [block.member for block in found.blocks(20)] == [0, 0, 1, 2, 3, 3]
    with raises(ValueError):
        list(found.pairs(40))


def test_streamed_covariances_of_tica_are_those_of_whole_lists(adk: Adk, tmp_path: Path) -> None:
    """Means and covariances at lag 0 and at the lag, summed block by block."""
    found = of_files(adk, [slice(0, 37), slice(37, 98)], tmp_path)
    whole = found.collect()
    x = np.concatenate([values[:-LAG] for values in whole])
    y = np.concatenate([values[LAG:] for values in whole])
    n, of_x, of_y, xx, xy = 0, 0.0, 0.0, 0.0, 0.0
    for a, b in found.pairs(LAG, block=9):
        n += len(a)
        of_x, of_y = of_x + a.sum(axis=0), of_y + b.sum(axis=0)
        xx, xy = xx + a.T @ a + b.T @ b, xy + a.T @ b + b.T @ a
    mean = (of_x + of_y) / (2 * n)
    expected = (x.mean(axis=0) + y.mean(axis=0)) / 2
    assert np.abs(mean - expected).max() < 1e-12
    for got, one, other in ((xx, x, x), (xy, x, y)):
        a, b = one - expected, other - expected
        both = (
            a.T @ b + b.T @ a if one is not other else a.T @ a + (y - expected).T @ (y - expected)
        )
        assert np.abs(got / (2 * n) - np.outer(mean, mean) - both / (2 * n)).max() < 1e-12


def test_columns_do_not_depend_on_frame_0(adk: Adk, tmp_path: Path) -> None:
    """`dihedrals` leaves out residues torn in frame 0 if there are no bonds; features have them."""
    protein = tj.open(adk.psf, adk.xtc).select("protein and resid 1:30")
    positions = protein.read(frames=slice(0, 3)).positions
    names = protein.topology_atoms
    positions[0, names.residues >= 15] += 30
    structures = {}
    protein[1].save(tmp_path / "bonds.pdb")
    protein[1].save(tmp_path / "plain.gro")
    xtc_bytes.write_xtc(tmp_path / "torn.xtc", positions / 10)
    for topology in ("bonds.pdb", "plain.gro"):
        traj = tj.open(tmp_path / topology, tmp_path / "torn.xtc")
        job = tj.dihedrals.job(traj.all_atoms())
        found = tj.features(job)
        assert found.n_features == 2 * 28
        has_bonds = traj.topology.bonds is not None
        assert (tj.run([job])[0].values.shape[1] == 2 * 28) == has_bonds
        structures[topology] = next(found.blocks()).values
    # The topology alone decides, so that the angle at the torn bond is an angle as well.
    assert np.array_equal(structures["bonds.pdb"][1:], structures["plain.gro"][1:])


def test_bonds_of_the_topology_decide_over_distances(adk: Adk) -> None:
    """Bonds within a residue show that the topology lists bonds; otherwise positions decide."""
    topology = tj.open(adk.psf, adk.xtc).topology
    names = topology.column("names")
    assert names is not None
    n, alpha, c = (np.flatnonzero(names == name) for name in ("N", "CA", "C"))
    here = np.arange(1, 213)
    phi = np.stack([c[here - 1], n[here], alpha[here], c[here]], axis=1)
    psi = np.stack([n[here], alpha[here], c[here], n[here + 1]], axis=1)
    fours = np.stack([phi, psi], axis=1).reshape(-1, 4)
    assert columns.bonded_residues(topology, fours).all()
    # A residue that is no neighbour is not bonded.
    fours[1, 3] = n[40]
    assert np.flatnonzero(~columns.bonded_residues(topology, fours)).tolist() == [0]


def mutated(adk: Adk, folder: Path) -> list[dict[str, Any]]:
    """Write ADK as a PDB file, and with alanine for serine 30; return the members of both.

    The mutant lacks OG and HG1, so that atoms after them have other indices.
    """
    whole = tj.open(adk.psf, adk.xtc)
    whole[0].save(folder / "wt.pdb")
    kept = whole.select("not (resid 30 and name OG HG1)")
    kept[0].save(folder / "mut.pdb")
    text = (folder / "mut.pdb").read_text()
    (folder / "mut.pdb").write_text(re.sub(r"SER (.) +30 ", r"ALA \1  30 ", text))
    tj.convert(kept, folder / "mut.xtc")
    return [
        {"system": "wt", "topology": folder / "wt.pdb", "trajectory": adk.xtc},
        {"system": "mut", "topology": folder / "mut.pdb", "trajectory": folder / "mut.xtc"},
    ]


def of_mutant(atoms: Any) -> list[Any]:
    """Return features of the atoms beside a mutation, of a trajectory or an ensemble."""
    return [
        tj.dihedrals.job(atoms.select("resid 27:33"), sin_cos=True),
        tj.distances.job(atoms.select("name CA CB and resid 30 50"), "resid 55"),
        tj.sasa.job(atoms.select("resid 29:31"), by="residue"),
        tj.gyration.job(atoms.select("name CA")),
        atoms.select("resid 30 31"),
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_wild_type_and_mutant_have_the_features_of_common_atoms(
    adk: Adk, tmp_path: Path, order: int
) -> None:
    """Their columns are those of separate runs, without the atoms that one of both lacks."""
    members = mutated(adk, tmp_path)[::order]
    frames = [0, 50, 97]
    found = tj.features(of_mutant(tj.ensemble(members)), frames=frames)
    lost = {
        "SER30": {f"position_A:{axis}_SER30:{name}" for axis in "xyz" for name in ("OG", "HG1")},
        "ALA30": set(),
    }
    for values, member in zip(found.collect(), members, strict=True):
        traj = tj.open(member["topology"], member["trajectory"])
        alone = tj.features(of_mutant(traj), frames=frames)
        own = "SER30" if member["system"] == "wt" else "ALA30"
        kept = [k for k, name in enumerate(alone.labels) if name not in lost[own]]
        assert np.array_equal(values, alone.collect()[0][:, kept])
        assert len(kept) == alone.n_features - len(lost[own])
        if member is members[0]:
            assert found.labels == tuple(alone.labels[k] for k in kept)
    # Both trajectories have the same positions, so that columns of different atoms would differ.
    one, other = found.collect()
    differ = np.flatnonzero((one != other).any(axis=0)).tolist()
    own = "SER30" if order == 1 else "ALA30"
    assert [found.labels[k] for k in differ] == [f"sasa_A2:{own}", "sasa_A2:THR31"]


def test_messages_say_what_a_mutant_lacks(adk: Adk, tmp_path: Path) -> None:
    """Before anything is read; `repr` counts them."""
    members = mutated(adk, tmp_path)
    found = tj.features(of_mutant(tj.ensemble(members)))
    assert found.messages == (
        "system=wt: features left out, as other trajectories do not have them: 6 of 147, the first"
        " is 'position_A:x_SER30:OG'",
        "system=mut: features with the names that they have in system=wt: 52, the first is"
        " 'cos:phi_SER30' for 'cos:phi_ALA30'",
    )
    assert repr(found).endswith("of 2 trajectories, 6 left out>")


def test_one_trajectory_of_each_topology_is_opened_for_the_columns(
    adk: Adk, tmp_path: Path
) -> None:
    """Copies of a topology file count as one."""
    members = mutated(adk, tmp_path)
    rows = []
    for k in range(3):
        topology, trajectory = tmp_path / f"copy{k}.pdb", tmp_path / f"copy{k}.xtc"
        shutil.copy(members[0]["topology"], topology)
        tj.convert(tj.open(None, adk.xtc), trajectory, frames=slice(0, 2))
        rows.append({"system": "wt", "topology": topology, "trajectory": trajectory})
    paths = [row["trajectory"] for row in rows]
    with watch_opens(*paths) as opened:
        tj.features(of_mutant(tj.ensemble([*rows, members[1]])))
    assert set(opened) == {paths[0]}


def test_indices_of_a_mutant_are_other_atoms(adk: Adk, tmp_path: Path) -> None:
    """Dihedrals of given indices have the same labels in both, and different atoms."""
    ensemble = tj.ensemble(mutated(adk, tmp_path))
    first, after = (
        tj.open(adk.psf, adk.xtc).select(f"resid {residue} and name N CA C O").indices.tolist()
        for residue in (29, 60)
    )
    found = tj.features(tj.dihedrals.job(ensemble, [first, after]))
    assert found.labels == ("angle_degrees:" + "-".join(map(str, first)),)
    with raises(ValueError):
        tj.features(tj.dihedrals.job(ensemble, [after]))


def test_atoms_without_numbers_of_their_own_keep_their_labels(tmp_path: Path) -> None:
    """Waters that share chain, number and name are never matched by their order."""
    lines = "".join(
        f"ATOM  {k + 1:5}  OW  SOL A{number:4}    {3.0 * k:8.3f}{0:8.3f}{0:8.3f}  1.00  0.00\n"
        for k, number in enumerate((7, 8, 7, 9))
    )
    path = tmp_path / "x.pdb"
    path.write_text(lines + "END\n")
    traj = tj.open(path)
    found = columns_of([tj.distances(traj.select([1]), traj.select([0, 2, 3]))])
    names = [f"distance_A:SOL8:OW_-_{other}:OW" for other in ("SOL7@0", "SOL7@2", "SOL9")]
    assert found.labels == tuple(names)
    assert found.keys[:2] == ((0, names[0], 1), (0, names[1], 1))
    assert set(found.keys[2][1:]) == {"", "A", 8, 9, "OW"}
    (alone,) = columns_of([tj.distances(traj.select([1]), traj.select([2]))]).keys
    assert set(alone[1:]) == {"", "A", 7, 8, "OW"}


def test_features_of_equal_names_all_count(adk: Adk) -> None:
    """Distances of centres of selections by index, which are all called "24 atoms"."""
    traj = tj.open(adk.psf, adk.xtc)
    groups = [traj.select(list(range(k, k + 24))) for k in (0, 100, 200)]
    found = tj.features(tj.center_distances.job(groups), frames=[0, 5])
    expected = tj.center_distances(groups, frames=[0, 5]).values
    assert expected.shape == (2, 3)
    assert np.array_equal(found.collect()[0], expected)
    assert "left out" not in repr(found)
    atoms = traj.select([5, 5, 7])
    assert tj.features(atoms, frames=[0]).n_features == 9


@pytest.mark.parametrize("chains", ["AB", "BA", "BC", "CD", "ZZ"])
def test_equal_chains_are_matched_by_name_in_any_order(tmp_path: Path, chains: str) -> None:
    """Those of a homodimer; in their order where all have other names."""
    members = []
    for name in ("YY" if chains == "ZZ" else "AB", chains):
        length = 6 // len(set(name))
        lines = [
            f"ATOM  {k + 1:5}  CA  ALA {chain}{1 + k % length:4}    {3 * k + ord(chain):8.3f}"
            f"{k * k:8.3f}{0:8.3f}  1.00  0.00"
            for k, chain in enumerate(name[0] * 3 + name[1] * 3)
        ]
        path = tmp_path / f"{len(members)}.pdb"
        path.write_text("\n".join([*lines, "END"]) + "\n")
        members.append(Member(name, [tj.open(path, path).select("name CA")]))
    found = Features(members, None)
    first, other = found.collect()
    places = {"AB": [0, 1], "BA": [1, 0], "BC": [0], "CD": [0, 1], "ZZ": [0, 1]}[chains]
    own = members[1].items[0].read().positions.reshape(2, 3 * 3)[places].ravel()
    assert np.array_equal(other[0], own)
    assert len(first[0]) == len(own)
    other_names = f"{chains}: no chain has the name that it has in {members[0].label}: features are"
    is_renamed = chains in ("CD", "ZZ")
    assert (found.messages == (f"{other_names} matched in their order",)) == is_renamed
    assert bool(found.messages) == (is_renamed or chains == "BC")


def test_other_features_of_a_member_are_left_out_or_an_error(traj: tj.Trajectory) -> None:
    """Distances of atoms that all have are kept."""
    few = [
        Member(f"run{k}", [tj.distances.job(traj.select(atoms))])
        for k, atoms in enumerate(
            ("name CA and resid 1:4", "name CA and resid 1:3 5", "name CA and resid 7:9")
        )
    ]
    found = Features(few[:2], None)
    assert found.labels == tuple(
        f"distance_A:{pair}"
        for pair in ("MET1:CA_-_ARG2:CA", "MET1:CA_-_ILE3:CA", "ARG2:CA_-_ILE3:CA")
    )
    whole = tj.distances(traj.select("name CA and resid 1:3")).values
    assert all(np.array_equal(values, whole) for values in found.collect())
    with raises(ValueError):
        Features(few, None)
    assert not any(member.is_open for member in few)


def test_lags_need_equal_times(adk: Adk, tmp_path: Path) -> None:
    """Within a trajectory, and over all of them."""
    members = []
    for step in (1.0, 2.0):
        path = xtc_bytes.write_xtc(
            tmp_path / f"{step}.xtc",
            tj.open(None, adk.xtc).read(frames=slice(0, 6)).positions / 10,
            times=(step * np.arange(6)).tolist(),
        )
        members.append(Member(path.name, [tj.open(adk.psf, path).select("name CA")]))
    with raises(tj.AnalysisError):
        list(Features(members, None).pairs(1))
    for member in members:
        member.frames = [0, 1, 3]
    with raises(tj.AnalysisError):
        list(Features(members[:1], None).pairs(1))
    assert len(list(Features(members, None).blocks())) == 2


def test_features_of_an_ensemble_are_those_of_its_members(adk: Adk, tmp_path: Path) -> None:
    """With transforms, frames by a function, and members that are open while they are read."""
    for k, some in enumerate((slice(0, 40), slice(40, 98))):
        tj.convert(tj.open(adk.psf, adk.xtc), tmp_path / f"{k}.xtc", frames=some)
    ensemble = tj.ensemble(str(tmp_path / "{replica}.xtc"), topology=adk.psf)
    atoms = "name CA and resid 1:5"
    found = tj.features(
        [backbone(ensemble), ensemble.fit("name CA").select(atoms)],
        frames=lambda traj: np.arange(3, traj.n_frames),
    )
    assert found.members == ("replica=0", "replica=1")
    assert repr(found) == f"<Features: {4 * 29 + 15} of 2 trajectories>"
    for k, values in enumerate(found.collect()):
        traj = tj.open(adk.psf, tmp_path / f"{k}.xtc")
        angles = tj.run([backbone(traj)], frames=slice(3, None))[0].values
        positions = traj.fit("name CA").select(atoms).read(frames=slice(3, None)).positions
        assert np.array_equal(values[:, :-15], angles)
        assert np.array_equal(values[:, -15:], positions.reshape(-1, 15))
    torn = tj.ensemble(
        [{"trajectory": tmp_path / f"{k}.xtc", "replica": k} for k in (0, 7)], topology=adk.psf
    )
    with pytest.raises(FileNotFoundError) as caught:
        list(tj.features(backbone(torn)).blocks())
    assert caught.value.__notes__ == ["in member replica=7"]
    for job in (
        tj.rmsd.job(ensemble.select(atoms)),
        tj.native_contacts.job(ensemble.select(atoms)),
        tj.distances.job(ensemble.select(atoms), reference=0),
    ):
        with raises(ValueError):
            tj.features(job)
    with raises(ValueError):
        tj.features([backbone(ensemble), backbone(traj)])


def test_features_that_are_no_numbers_of_single_frames_are_refused(traj: tj.Trajectory) -> None:
    """They would be others for each size of block."""
    calpha = traj.select("name CA")
    for job in (tj.rmsf.job(calpha), tj.rmsd.job(calpha, reference="average"), tj.pca.job(calpha)):
        with raises(ValueError):
            tj.features(job)
    with raises(TypeError):
        tj.features([tj.rmsd(calpha)])  # type: ignore[list-item]
    with raises(ValueError):
        tj.features([])


def test_a_feature_that_is_not_finite_is_an_error(traj: tj.Trajectory, tmp_path: Path) -> None:
    """It would make every number of a model one that is none."""
    positions = traj.read([0]).positions[:, :12]
    positions[:, 10] = positions[:, 4]
    tj.write(tmp_path / "one_place.trr", positions)
    atoms = tj.open(None, tmp_path / "one_place.trr")
    found = tj.features(tj.dihedrals.job(atoms, [[0, 4, 6, 8], [0, 4, 10, 8]]))
    with raises(tj.AnalysisError):
        list(found.blocks())


def test_memory_does_not_grow_with_frames(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peak of NumPy's arrays is that of two runs, for 98 frames and for ten times as many."""
    monkeypatch.setattr(streams, "RUN_BYTES", 2**17)
    data, peaks = adk.xtc.read_bytes(), []
    for times in (1, 10):
        path = tmp_path / f"{times}.xtc"
        path.write_bytes(data * times)
        found = tj.features(tj.open(adk.psf, path).select("name CA"))
        list(found.blocks())
        tracemalloc.start()
        assert sum(len(block.values) for block in found.blocks()) == 98 * times
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.long
def test_deeptime_gets_the_same_model_from_pairs_as_from_lists(adk: Adk, tmp_path: Path) -> None:
    """TICA of pairs, block by block, and of whole trajectories."""
    from deeptime.covariance import Covariance

    found = of_files(adk, [slice(0, 37), slice(37, 98)], tmp_path)
    streamed, whole = (Covariance(LAG, compute_c0t=True, reversible=True) for _ in range(2))
    for pair in found.pairs(LAG, block=9):
        streamed.partial_fit(pair)
    lists = found.collect()
    whole.fit(lists)
    for name in ("mean_0", "cov_00", "cov_0t"):
        one, other = (getattr(each.fetch_model(), name) for each in (streamed, whole))
        assert np.abs(one - other).max() < 1e-12, name


def test_structure_files_without_bonds_and_positions_are_refused(tmp_path: Path) -> None:
    """A Universe without bonds, made in memory."""
    traj = tj.open(datafiles.GRO, datafiles.XTC)
    topology = traj.topology
    topology.path = None
    with raises(tj.SelectionError):
        tj.features(tj.dihedrals.job(traj.select("protein")))
