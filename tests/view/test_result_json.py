"""What the page draws of results: profiles, matrices, hydrogen bonds, and colours by values."""

import base64
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from hypothesis import given
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from trajet import viewer
from trajet.result import Table
from trajet.viewer.layers import make_layer
from trajet.viewer.result_json import ShownAtoms, document

Value = dict[str, list[object]]


@pytest.fixture
def trajectory(adk: Adk) -> tj.Trajectory:
    """Return the trajectory."""
    return tj.open(adk.psf, adk.xtc)


def drawn(result: Table, shown: tj.Selection) -> Value:
    """Return the document of a result, as the page gets it."""
    atoms = ShownAtoms(shown.trajectory, np.unique(shown.indices))
    return json.loads(json.dumps(document(result, "title", atoms), allow_nan=False))


@given(residues=st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_ranges_hold_the_atoms_of_one_residue(residues: list[int]) -> None:
    """All of them and no others; a residue in several pieces has no range."""
    shown = ShownAtoms(
        SimpleNamespace(topology=SimpleNamespace(atoms_residues=np.array(residues))),  # type: ignore[arg-type]
        np.arange(len(residues)),
    )
    for residue, span in enumerate(shown.spans(np.arange(7))):
        atoms = [k for k, one in enumerate(residues) if one == residue]
        is_whole = bool(atoms) and atoms == list(range(atoms[0], atoms[-1] + 1))
        assert span == ([atoms[0], atoms[-1] + 1] if is_whole else None)


def test_atoms_without_values_have_those_of_their_residue(trajectory: tj.Trajectory) -> None:
    """Each atom its own, others the mean of their residue; atoms of other residues none."""
    shown = trajectory.select("resid 10:12")
    some = trajectory.select("resid 11:13 and name N CA C")
    result = tj.rmsf(some)
    found = drawn(result, shown)
    value = dict(zip(result.atoms.tolist(), result.values.tolist(), strict=True))
    residues = trajectory.topology.atoms_residues
    for atom, colour in zip(shown.indices.tolist(), found["colours"], strict=True):
        same = [value[other] for other in value if residues[other] == residues[atom]]
        expected = value.get(atom, np.mean(same) if same else None)
        assert colour == (None if expected is None else pytest.approx(expected, rel=1e-5))
    assert found["values"] == pytest.approx(result.values.tolist(), rel=1e-5)
    # Residue 13 is not shown; the spans are positions among the shown atoms.
    of_residue = [np.flatnonzero(residues[shown.indices] == k) for k in (10, 11, 12)]
    spans = [[int(at[0]), int(at[-1]) + 1] if len(at) else None for at in of_residue]
    assert found["spans"] == [span for span in spans for _ in range(3)] and spans[2] is None


def test_one_value_a_residue_is_against_residue_numbers(trajectory: tj.Trajectory) -> None:
    """Values of CA against residue numbers, others against atoms."""
    found = drawn(tj.rmsf(trajectory.select("name CA")), trajectory.select("protein"))
    assert (found["axis"], found["x"]) == ("residue", list(range(1, 215)))
    found = drawn(tj.rmsf(trajectory.select("backbone")), trajectory.select("protein"))
    assert found["axis"] == "atom, from 0" and found["x"][:3] == [0, 1, 2]


def test_areas_are_means_of_residues(trajectory: tj.Trajectory) -> None:
    """Each atom has the mean area of its residue; a total is a line."""
    shown = trajectory.select("resid 1:20")
    result = tj.sasa(shown, by="residue", frames=[0, 50])
    found = drawn(result, shown)
    means = result.values.mean(axis=0)
    residues = trajectory.topology.atoms_residues[shown.indices]
    assert found["colours"] == pytest.approx(means[residues].tolist(), rel=1e-5)
    assert drawn(tj.sasa(shown, frames=[0]), shown)["kind"] == "lines"


def test_contact_map_is_a_matrix_of_residues(trajectory: tj.Trajectory) -> None:
    """Its fractions, the atoms of both residues, and the mean number of contacts as colours."""
    shown = trajectory.select("resid 1:30")
    result = tj.contact_map(shown, frames=[0, 1])
    found = drawn(result, shown)
    values = np.frombuffer(base64.b64decode(found["values"]), "<f4").reshape(found["shape"])
    assert np.array_equal(values, result.values.astype(np.float32), equal_nan=True)
    residues = trajectory.topology.atoms_residues[shown.indices]
    for k, (first, end) in enumerate(found["row_spans"]):
        assert (residues[first:end] == k).all() and (residues == k).sum() == end - first
    number = np.nansum(result.values, axis=1)[residues]
    assert found["colours"] == pytest.approx(number.tolist(), rel=1e-5)


def test_large_matrices_are_thinned(
    trajectory: tj.Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every n-th row and column, and the document says so."""
    monkeypatch.setattr("trajet.viewer.result_json._MAX_ROWS", 40)
    ca = trajectory.select("name CA")
    result = tj.pairwise_rmsd(ca)
    found = drawn(result, ca)
    values = np.frombuffer(base64.b64decode(found["values"]), "<f4").reshape(found["shape"])
    assert found["steps"] == [3, 3] and np.array_equal(values, result.values[::3, ::3])
    assert found["rows"] == list(range(98)) and found["chosen"] == "column"


def test_hydrogen_bonds_are_those_of_each_frame() -> None:
    """Positions of hydrogen and acceptor among the shown atoms; none to others."""
    wet = tj.open(datafiles.TPR, datafiles.XTC)
    protein = wet.select("protein")
    result = tj.hbonds(protein, list_bonds=True, frames=[5, 2])
    shown = wet.select("resid 1:80 and protein")
    bonds = drawn(result, shown)["bonds"]
    place = {atom: k for k, atom in enumerate(shown.indices.tolist())}
    assert result.bonds is not None
    for k, number in enumerate((2, 5)):
        here = result.bonds.frames == number
        pairs = zip(result.bonds.hydrogens[here], result.bonds.acceptors[here], strict=True)
        expected = [[place[a], place[b]] for a, b in pairs if a in place and b in place]
        first = bonds["offsets"][k]
        found = bonds["ends"][first : first + bonds["counts"][k]]
        assert found == expected and 0 < len(expected) < here.sum()


def test_lines_ascend(trajectory: tj.Trajectory) -> None:
    """Values of frames that were read in another order are drawn, and chosen, by their frames."""
    ca = trajectory.select("name CA")
    result = tj.rmsd(ca, frames=[7, 2, 5])
    found = drawn(result, ca)
    assert found["frames"] == [2, 5, 7]
    assert found["values"] == [pytest.approx(result.values[[1, 2, 0]].tolist(), rel=1e-5)]


def test_results_of_other_atoms_are_refused(trajectory: tj.Trajectory, tmp_path: Path) -> None:
    """By their labels, their numbers, or their frames; kinds that are not drawn, too."""
    wet = tj.open(datafiles.TPR, datafiles.XTC)
    shown = wet.select("protein")
    with raises(ValueError):
        drawn(tj.rmsf(trajectory.select("name CB")), shown)
    small = tj.rmsf(wet.select("resname SOL and resid 11000:11010"))
    with raises(ValueError):
        drawn(small, trajectory.select("protein"))
    with raises(ValueError):
        drawn(tj.pairwise_rmsd(trajectory.select("name CA")), shown)
    ca = trajectory.select("name CA")
    with raises(ValueError):
        drawn(tj.pca(ca), ca)
    tj.pca(ca).save(tmp_path / "pca.npz")
    with raises(ValueError):
        viewer.parse_series(str(tmp_path / "pca.npz"))


def test_colour_values_needs_a_result_that_has_them(trajectory: tj.Trajectory) -> None:
    """The first such result colours the layer."""
    layers = [make_layer(trajectory.select("name CA"), colour="values")]
    with raises(ValueError):
        viewer.Scene(trajectory, layers, series=viewer.parse_series("rmsd"))
    scene = viewer.Scene(trajectory, layers, series=viewer.parse_series("rmsd,rmsf,contact-map"))
    assert scene.describe()["values"] == 1


def test_bins_of_free_energies_have_their_most_central_frames() -> None:
    """A profile and a map; frames of other trajectories, and those of several runs, are refused."""
    traj = tj.samples.peptide_in_water().open()
    angles = tj.dihedrals(traj.select("protein"))
    phi, psi = (angles, "phi ASP3"), (angles, "psi ASP3")
    shown = traj.select("protein")
    edges = np.linspace(-180, 180, 13)
    values = [angles["phi ASP3"].values, angles["psi ASP3"].values]
    for energy, n_axes in (
        (tj.free_energy(phi, temperature=300, bins=12), 1),
        (tj.free_energy(phi, psi, temperature=300, bins=12), 2),
    ):
        found = drawn(energy, shown)
        frames = np.array(found["frames"])
        if n_axes == 2:
            frames = frames[::-1].T
            assert found["row_names"] == found["column_names"][::-1]
            stored = np.frombuffer(base64.b64decode(str(found["values"])), "<f4").reshape(12, 12)
            np.testing.assert_array_equal(stored[::-1].T, energy.values.astype("<f4"))
        bins = np.stack([np.digitize(one, edges) - 1 for one in values[:n_axes]], axis=1)
        centres = (edges[:-1] + edges[1:]) / 2
        away = np.square(np.stack(values[:n_axes], axis=1) - centres[bins]).sum(axis=1)
        for place in np.ndindex(frames.shape):
            within = np.flatnonzero((bins == place).all(axis=1))
            nearest = within[away[within].argmin()] if within.size else -1
            assert frames[place] == nearest
    members = tj.dihedrals(
        tj.samples.peptide_variants().open().where(system="mutant").select("all")
    )
    several = tj.free_energy((members, "psi ALA4"), temperature=300)
    other = tj.samples.molten_salt().open().all_atoms()
    for result, atoms in ((several, shown), (energy, other)):
        with raises(ValueError):
            drawn(result, atoms)
