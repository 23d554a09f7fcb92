"""Chemistry as arrays, files and a command, and what topologies lack."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import commands, named_atoms, role_cases
from helpers.messages import raises
from helpers.role_cases import BITS, LIGANDS
from MDAnalysisTests import datafiles
from rdkit import Chem
from trajet.messages import Code

ARRAYS = (
    "atoms",
    "roles",
    "formal_charges",
    "radii",
    "residues",
    "hydrogens",
    "neighbours",
    "ring_starts",
    "ring_atoms",
)


@pytest.fixture(scope="module")
def adk() -> tj.Trajectory:
    """Return a protein of CHARMM."""
    return tj.open(datafiles.PSF, datafiles.DCD, sidecar=False)


@pytest.fixture
def aspirin(tmp_path: Path) -> tj.Chemistry:
    """Return the chemistry of a ligand."""
    smiles = LIGANDS["aspirin"]
    return role_cases.of_molecule(role_cases.ligand(smiles), tmp_path, template=smiles)


def test_arrays_have_their_types_and_states_are_shown(adk: tj.Trajectory) -> None:
    """One element for each selected atom, in ascending order."""
    found = tj.chemistry(adk.select("resid 1-30"))
    n = adk.select("resid 1-30").n_atoms
    types = ["i8", "u2", "i1", "f4", "u4", "u4", "u4", "u4", "u4"]
    assert [getattr(found, name).dtype.str[1:] for name in ARRAYS] == types
    assert [len(getattr(found, name)) for name in ARRAYS[:5]] == [n] * 5
    assert found.radii[:3].tolist() == np.array([1.55, 1.1, 1.1], np.float32).tolist()
    assert found.donors.tolist() == found.atoms[np.unique(found.hydrogens[:, 0])].tolist()
    assert not found.messages
    whole = tj.chemistry(adk.all_atoms())
    assert repr(whole).splitlines()[0] == (
        "<Chemistry: 3341 atoms of 214 residues, charge -4, 15 aromatic rings>"
    )
    assert "HSD126: HSD" in repr(whole)
    assert whole.states["ASP33"] == "ASP-"
    assert sorted(ring.min() for ring in whole.rings) == [ring.min() for ring in whole.rings]
    assert [len(ring) for ring in whole.rings[:4]] == [6, 6, 6, 6]


def test_order_of_a_selection_does_not_matter(adk: tj.Trajectory) -> None:
    """Nor do repeated atoms."""
    one = tj.chemistry(adk.select(np.arange(100)))
    other = tj.chemistry(adk.select([*range(99, -1, -1), 5, 5]))
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def test_files_restore_all(tmp_path: Path, aspirin: tj.Chemistry) -> None:
    """JSON has arrays, names, states, SMILES and messages; unknown radii are null."""
    message = tj.Message(Code.CHAIN_BREAKS, "words", "fix")
    radii = aspirin.radii.copy()
    radii[3] = np.nan
    known = replace(aspirin, radii=radii, messages=(message,), states={"HIS1": "HSP"})
    known.save(tmp_path / "chem.json")
    found = tj.Chemistry.load(tmp_path / "chem.json")
    for name in ARRAYS:
        one, other = getattr(known, name), getattr(found, name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    for name in ("names", "labels", "states", "smiles", "messages"):
        assert getattr(found, name) == getattr(known, name)
    known.save(tmp_path / "chem.csv")
    rows = (tmp_path / "chem.csv").read_text().splitlines()
    assert rows[0] == "atom,residue,name,charge,radius_A,roles"
    assert rows[1] == "0,LIG1,C1,0,1.7,"
    assert rows[13].startswith("12,LIG1,O13,-1,1.52,acceptor anion metal-ligand")


@pytest.mark.parametrize(
    "change",
    [
        {"version": 9},
        {"roles": [1]},
        {"roles": [70000] * 21},
        {"hydrogens": [[0, 99]]},
        {"hydrogens": [0]},
        {"ring_starts": [0, 4]},
        {"ring_starts": []},
        {"atoms": "x"},
        {"labels": 5},
        {"names": []},
    ],
)
def test_damaged_files_are_errors(
    tmp_path: Path, aspirin: tj.Chemistry, change: dict[str, object]
) -> None:
    """Each names the file, on one line."""
    aspirin.save(tmp_path / "chem.json")
    entries = json.loads((tmp_path / "chem.json").read_text())
    (tmp_path / "chem.json").write_text(json.dumps({**entries, **change}))
    with pytest.raises(tj.FormatError):
        tj.Chemistry.load(tmp_path / "chem.json")
    text = json.dumps(entries)
    (tmp_path / "chem.json").write_text(text[: len(text) // 2])
    with raises(tj.FormatError):
        tj.Chemistry.load(tmp_path / "chem.json")


def test_partners_that_are_not_selected_give_a_warning(adk: tj.Trajectory) -> None:
    """Donors without their hydrogens are none, and cut rings are left out."""
    with pytest.warns(tj.TrajetWarning):
        found = tj.chemistry(adk.select("not name H*"))
    assert not (found.roles & BITS["donor"]).any()
    assert not len(found.hydrogens)
    assert [one.code.text for one in found.warnings] == ["hydrogens-left-out"]
    with pytest.warns(tj.TrajetWarning):
        found = tj.chemistry(adk.select("resname PHE and not name CZ"))
    assert found.rings == []


def test_missing_hydrogens_are_an_error(tmp_path: Path) -> None:
    """A heavy-atom structure, and one atom without a hydrogen; water without hydrogens."""
    molecule = dict(role_cases.peptides())["GAG"]
    without = Chem.RWMol(molecule)
    (alpha,) = (k for k, a in enumerate(molecule.GetAtoms()) if role_cases.name_of(a) == "CB")
    without.RemoveAtom(
        next(
            a.GetIdx()
            for a in molecule.GetAtomWithIdx(alpha).GetNeighbors()
            if a.GetSymbol() == "H"
        )
    )
    with raises(tj.SelectionError):
        role_cases.of_molecule(without, tmp_path)
    with pytest.raises(tj.SelectionError):
        role_cases.of_molecule(Chem.RemoveAllHs(molecule, sanitize=False), tmp_path)
    water = named_atoms.write_pdb(
        tmp_path / "water.pdb", [[named_atoms.Atom("O", "HOH", 1, "A", 1, 0.0)]]
    )
    with named_atoms.opened(water, water) as traj, pytest.raises(tj.SelectionError):
        tj.chemistry(traj.all_atoms())


def test_ligands_need_bonds_which_may_be_guessed(tmp_path: Path) -> None:
    """From distances of the structure file; the note says so."""
    from rdkit.Chem import AllChem

    molecule = role_cases.ligand("CC(=O)[O-]")
    AllChem.EmbedMolecule(molecule, randomSeed=1)
    path = tmp_path / "acetate.pdb"
    lines = Chem.MolToPDBBlock(molecule).splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("CONECT")))
    known = role_cases.of_molecule(molecule, tmp_path, template="CC(=O)[O-]")
    with tj.open(path, path, sidecar=False) as traj:
        assert traj.topology.bonds is None
        with raises(tj.SelectionError):
            tj.chemistry(traj.all_atoms(), template="CC(=O)[O-]")
        with raises(tj.SelectionError):
            tj.interactions(traj.all_atoms(), template="CC(=O)[O-]")
        words = "by trajet chemistry with --guess-bonds, and give its result as --chemistry"
        assert words in commands.fail(
            "interactions", path, path, "--select", "all", "--template", "CC(=O)[O-]"
        )
        found = tj.chemistry(traj.all_atoms(), template="CC(=O)[O-]", guess_bonds=True)
    assert role_cases.roles_of(found) == role_cases.roles_of(known)
    assert [one.code.text for one in found.messages] == ["guessed-bonds"]


def test_alternate_locations_are_an_error(tmp_path: Path) -> None:
    """Two atoms of one name in a residue."""
    atoms = [
        named_atoms.Atom(name, "GLY", 1, "A", k, k / 10) for k, name in enumerate(("N", "CA", "CA"))
    ]
    path = named_atoms.write_pdb(tmp_path / "two.pdb", [atoms])
    with named_atoms.opened(path, path) as traj, pytest.raises(tj.SelectionError):
        tj.chemistry(traj.all_atoms())


def test_updating_selections_are_refused(adk: tj.Trajectory) -> None:
    """Roles are those of fixed atoms."""
    with pytest.raises(TypeError):
        tj.chemistry(adk.select("around 5 resid 1", updating=True))


def test_command_writes_what_python_finds(tmp_path: Path) -> None:
    """Text, JSON and files; a template by name and without."""
    files = [*map(str, role_cases.write(role_cases.ligand("CC=O"), tmp_path))]
    out = str(tmp_path / "chem.json")
    for template in ("CC=O", "LIG=CC=O", "C(=O)C"):
        lines = commands.succeed("chemistry", *files, "--template", template, "-o", out)
        assert lines == ["7 atoms of 1 residue, charge +0, 0 aromatic rings", "LIG: CC=O", out]
    lines = commands.succeed("chemistry", *files, "--template", "CC=O", "--json")
    found = json.loads("\n".join(lines))
    assert (found["atoms"], found["smiles"], found["charge"]) == (7, {"LIG": "CC=O"}, 0)
    loaded = tj.Chemistry.load(out)
    assert len(loaded) == 7
    with raises(tj.FormatError):
        tj.load(out)
    with raises(tj.FormatError):
        tj.Chemistry.load(files[0])
    commands.fail("chemistry", *files)
