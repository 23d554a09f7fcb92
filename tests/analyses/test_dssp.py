"""Secondary structure: mdtraj's eight classes, MDAnalysis' three, and laws of all analyses.

The kernel's property tests compare with a naive twin, in drawn backbones with breaks and gaps.
"""

import gzip
from pathlib import Path

import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import commands, xtc_bytes
from helpers.golden_files import DATA, Adk
from helpers.messages import raises
from helpers.systems import Systems
from MDAnalysis.analysis.dssp import DSSP

# Structures of one and several chains, with ligands, caps and unknown residues.
STRUCTURES = (
    *("adk_open.pdb", "1hvr.pdb", "4E43.pdb", "5a7u.pdb", "1grm_single.pdb", "A6PA6_alpha.pdb"),
    *("19hc.pdb.gz", "1a28.pdb.gz"),
)


def mdtraj_of(selection: tj.Selection) -> mdtraj.Trajectory:
    """Return all frames of the backbone of a selection as mdtraj's trajectory of one chain."""
    topology = mdtraj.Topology()
    chain = topology.add_chain()
    atoms = selection.topology_atoms
    names, kinds = atoms.column("names"), atoms.column("resnames")
    assert names is not None
    assert kinds is not None
    renamed = {"OT1": "O", "O1": "O", "OC1": "O"}
    names = np.array([renamed.get(name, name) for name in names.tolist()])
    backbone = np.flatnonzero(np.isin(names, ["N", "CA", "C", "O"]))
    made: dict[int, object] = {}
    for k in backbone.tolist():
        residue = int(atoms.residues[k])
        if residue not in made:
            made[residue] = topology.add_residue(str(kinds[k]), chain)
        element = mdtraj.element.get_by_symbol(names[k][0])
        topology.add_atom(str(names[k]), element, made[residue])
    positions = selection.read().positions[:, backbone]
    return mdtraj.Trajectory(positions / np.float32(10), topology)


def classes_of(twin: mdtraj.Trajectory, *, simplified: bool = False) -> np.ndarray:
    """Return mdtraj's classes of the residues that have some, with trajet's letter of loops."""
    found = mdtraj.compute_dssp(twin, simplified=simplified)
    found = found[:, found[0] != "NA"]
    return np.where((found == " ") | (found == "C"), "-", found)


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "cobrotoxin.trr"])
def test_classes_are_those_of_mdtraj(systems: Systems, name: str) -> None:
    """Every residue has the class in every frame, with eight classes and with three."""
    selection = systems[name].trajectory.select("protein")
    twin = mdtraj_of(selection)
    result = tj.dssp(selection)
    assert result.values.shape == result.codes.shape
    assert np.array_equal(result.values, classes_of(twin))
    simplified = classes_of(twin, simplified=True)
    assert np.array_equal(result.simplified().values, simplified)
    assert np.array_equal(tj.dssp(selection, simplified=True).values, simplified)
    assert len(np.unique(result.values)) >= 4


@pytest.mark.parametrize("name", STRUCTURES)
def test_classes_of_structures_are_those_of_mdtraj(name: str, tmp_path: Path) -> None:
    """With several chains, ligands, and residues that lack atoms."""
    path = tmp_path / name.removesuffix(".gz")
    source = (DATA / name).read_bytes()
    path.write_bytes(gzip.decompress(source) if name.endswith(".gz") else source)
    result = tj.dssp(tj.open(path, path).all_atoms())
    expected = classes_of(mdtraj.load(path))
    assert result.values.shape == expected.shape
    assert np.array_equal(result.values, expected)


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc"])
def test_three_classes_are_near_those_of_mdanalysis(systems: Systems, name: str) -> None:
    """All but 5 % of them, which CORRECTNESS.md explains: MDAnalysis follows PyDSSP, not DSSP."""
    system = systems[name]
    twin = DSSP(system.universe.select_atoms("protein")).run(stop=10).results.dssp
    result = tj.dssp(system.trajectory.select("protein"), simplified=True, frames=slice(0, 10))
    assert result.values.shape[1:] == twin.shape[1:]
    assert (result.values != twin).mean() < 0.05
    helix, strand = (twin == letter for letter in "HE")
    # Helices and strands are never taken for each other.
    assert not (result.values[helix] == "E").any()
    assert not (result.values[strand] == "H").any()


def test_residues_that_are_not_selected_keep_their_places(adk: Adk) -> None:
    """A helix goes on beside a residue that the selection leaves out, and a message names it."""
    traj = tj.open(adk.psf, adk.xtc)
    parts = [traj.select("resid 13:18"), traj.select("resid 20:30")]
    gap = tj.dssp(parts[0] | parts[1], frames=[0])
    assert gap.values.shape == (1, 17)
    (message,) = (text for text in gap.messages if text.startswith("chains go on"))
    assert message.endswith("3 (GLY12, PHE19, THR31)")
    # All of resid 13 to 24 is one helix.
    whole = tj.dssp(traj.select("resid 13:30"), frames=[0]).values[0]
    assert (whole[:11] == "H").sum() > 8
    assert (gap.values[0, :6] == whole[:6]).all()


def test_torn_chains_and_incomplete_residues_are_named(adk: Adk, tmp_path: Path) -> None:
    """Residues without O keep their place; N far from C begins a chain."""
    traj = tj.open(adk.psf, adk.xtc)
    protein = traj.select("protein and not (resid 16 and name O)")
    protein[0].save(tmp_path / "lacking.pdb")
    lacking = tj.open(tmp_path / "lacking.pdb", tmp_path / "lacking.pdb").all_atoms()
    result = tj.dssp(lacking)
    assert len(result.columns) == 213
    assert any("without a class" in r and "16" in r for r in result.messages)
    twin = mdtraj_of(lacking)
    assert np.array_equal(result.values, classes_of(twin))
    # Residues 100 to 129 are missing.
    far = traj.select("protein and resid 1:99 130:214")
    far[0].save(tmp_path / "torn.pdb")
    torn = tj.dssp(tj.open(tmp_path / "torn.pdb", tmp_path / "torn.pdb").all_atoms())
    (message,) = [r for r in torn.messages if r.startswith("breaks of the chain")]
    assert "130" in message
    assert torn.values.shape == (1, 184)
    assert np.array_equal(torn.values[0], tj.dssp(far, frames=[0]).values[0])


def test_bad_input_is_an_error_that_says_what_to_do(adk: Adk, tmp_path: Path) -> None:
    """No names, no backbone, no positions."""
    with raises(tj.SelectionError):
        tj.dssp(tj.open(None, adk.xtc).select([0, 1]))
    traj = tj.open(adk.psf, adk.xtc)
    traj.select("resid 7")[0].save(tmp_path / "one.pdb")
    one = tj.open(tmp_path / "one.pdb", tmp_path / "one.pdb")
    assert tj.dssp(one.all_atoms()).values.tolist() == [["-"]]
    traj.select("resid 5 and name N CB CG")[0].save(tmp_path / "few.pdb")
    few = tj.open(tmp_path / "few.pdb", tmp_path / "few.pdb")
    with raises(tj.SelectionError):
        tj.dssp(few.all_atoms())
    x = np.random.default_rng(5).uniform(0, 3, (3, 7, 3))
    x[1, 0, 1] = np.nan
    path = xtc_bytes.write_xtc(tmp_path / "nan.xtc", x)
    with raises(tj.AnalysisError):
        tj.dssp(tj.open(tmp_path / "one.pdb", path).all_atoms())


def test_files_content_and_pictures(adk: Adk, tmp_path: Path) -> None:
    """CSV and NPZ have the letters of each residue, content has shares, the legend names."""
    result = tj.dssp(tj.open(adk.psf, adk.xtc).select("protein"), frames=slice(0, 5))
    result.save(tmp_path / "a.csv")
    head, *rows = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert head.split(",")[:4] == ["frame", "time_ps", "class:MET1", "class:ARG2"]
    letters = [row.split(",")[2:] for row in rows]
    assert np.array_equal(letters, result.values)
    result.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as saved:
        assert np.array_equal(saved["values"], result.values)
    assert np.array_equal(np.array(result.classes)[result.codes], result.values)
    assert result.codes.dtype == np.uint8
    content = result.content()
    assert np.allclose(content.values.sum(axis=1), 1)
    assert content.values[2, 0] == (result.values[2] == "H").mean()
    content.save(tmp_path / "content.csv")
    head = (tmp_path / "content.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head.split(",")[2:4] == ["content:H", "content:G"]
    figure = result.plot()
    axes, bar = figure.axes
    assert axes.get_ylabel() == "residue"
    names = [text.get_text() for text in bar.get_yticklabels()]
    assert len(names) == len(np.unique(result.values)) and "α-helix" in names
    # Colours are those of the names beside them.
    (image,) = axes.images
    drawn = np.array(names)[image.get_array().astype(int)]
    assert np.array_equal(drawn == "α-helix", (result.values == "H").T)


def test_command_takes_the_protein_by_default(adk: Adk, tmp_path: Path) -> None:
    """The table has the shares of the classes."""
    files = [str(adk.psf), str(adk.xtc)]
    lines = commands.succeed("dssp", *files, "--stop", "2", "-o", tmp_path / "a.npz")
    result = tj.dssp(tj.open(*files).select("protein"), frames=slice(0, 2))
    assert np.array_equal(tj.load(tmp_path / "a.npz").values, result.values)
    (row,) = [line for line in lines if line.startswith("H ")]
    assert f"{100 * result.content().values[:, 0].mean():.1f}" in row
