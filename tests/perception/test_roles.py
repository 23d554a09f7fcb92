"""Roles of atoms: those of ProLIF, which `make test-peers` compares live, and where they differ."""

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import role_cases, water_models
from helpers.role_cases import BITS, LIGANDS, STRUCTURES, Roles
from MDAnalysisTests import datafiles
from rdkit import Chem

GOLDEN = {
    name: Roles.unpacked(text)
    for name, text in json.loads(Path(__file__).with_name("prolif_roles.json").read_text()).items()
}
_IMIDAZOLIUM = {
    "cation in an aromatic ring": 1,
    "resonance of cations": 1,
    "pairs: resonance of cations": 3,
}
# Ligands whose roles differ, with the number of atoms and pairs.
DIFFERENT = {
    "benzamidinium": {"resonance of cations": 1, "pairs: resonance of cations": 3},
    "metformin": {"resonance of cations": 2, "pairs: resonance of cations": 6},
    "methylguanidinium": {"resonance of cations": 2, "pairs: resonance of cations": 6},
    "pyridinium": {"donor in an aromatic ring": 1, "pairs: donor in an aromatic ring": 1},
    "histaminium": _IMIDAZOLIUM,
    "dimethylimidazolium": _IMIDAZOLIUM,
}
# Atoms, and reasons of differences.
REASONS_OF_RESIDUES = (
    2836,
    {
        "acceptor of a cut amide": 113,
        "metal-ligand of a cut amide": 141,
        "resonance of cations": 7,
        "pairs: resonance of cations": 21,
        "cation in an aromatic ring": 1,
    },
)
_ADK = {
    "metal-ligand of a cut amide": 213,
    "acceptor of a cut amide": 20,
    "resonance of cations": 26,
    "pairs: resonance of cations": 78,
}
REASONS_OF_STRUCTURES = {
    "adk CHARMM": _ADK,
    "adk OPLS": _ADK,
    "AChE Amber": {
        "metal-ligand of a cut amide": 13,
        "acceptor of a cut amide": 1,
        "resonance of cations": 2,
        "pairs: resonance of cations": 6,
    },
    "RNA CHARMM": {},
}


def test_ligands_have_the_roles_of_prolif(tmp_path: Path) -> None:
    """Seventy-two ligands, each role in at least five of them."""
    different, n_roles = {}, Counter[str]()
    for name, smiles in LIGANDS.items():
        molecule = role_cases.ligand(smiles)
        template = smiles if molecule.GetNumAtoms() > 1 else None
        found = role_cases.of_molecule(molecule, tmp_path, template=template)
        n_roles.update({role for role, bit in BITS.items() if (found.roles & bit).any()})
        if reasons := role_cases.differences(found, GOLDEN[name]):
            different[name] = dict(reasons)
    assert different == DIFFERENT
    assert len(LIGANDS) - len(DIFFERENT) >= 48
    assert n_roles.keys() == BITS.keys()
    assert min(n_roles.values()) >= 5


def test_residues_have_the_roles_of_prolif(tmp_path: Path) -> None:
    """Twenty amino acids in three places, other states, ends of chains, RNA and DNA."""
    reasons, n_atoms = Counter[str](), 0
    for name, molecule in (*role_cases.peptides(), *role_cases.nucleic_acids()):
        found = role_cases.of_molecule(molecule, tmp_path)
        reasons.update(role_cases.differences(found, GOLDEN[name]))
        n_atoms += len(found)
        assert int(found.formal_charges.sum()) == Chem.GetFormalCharge(molecule)
    assert n_atoms == REASONS_OF_RESIDUES[0]
    assert dict(reasons) == REASONS_OF_RESIDUES[1]


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_have_the_roles_of_prolif(tmp_path: Path, name: str) -> None:
    """CHARMM, OPLS and Amber, each with its names."""
    found = role_cases.of_structure(name, tmp_path)
    assert dict(role_cases.differences(found, GOLDEN[name])) == REASONS_OF_STRUCTURES[name]


def test_without_bonds_residues_have_the_same_roles(tmp_path: Path) -> None:
    """GRO and PDB files have no bonds: names and distances tell them; TIP3 has one too many."""
    rna = tmp_path / "rna.pdb"
    rna.write_bytes(gzip.decompress(Path(datafiles.RNA_PDB).read_bytes()))
    for with_bonds, without, frames in (
        (datafiles.TPR, datafiles.GRO, datafiles.GRO),
        (datafiles.RNA_PSF, rna, rna),
    ):
        with (
            tj.open(with_bonds, frames, sidecar=False) as one,
            tj.open(without, frames, sidecar=False) as other,
        ):
            assert other.topology.bonds is None
            known, found = (tj.chemistry(each.all_atoms()) for each in (one, other))
        assert role_cases.roles_of(found) == role_cases.roles_of(known)
        assert np.array_equal(found.formal_charges, known.formal_charges)


def test_sites_have_no_role(tmp_path: Path) -> None:
    """TIP4P: the site has no radius, and is no atom of the oxygen."""
    topology = water_models.write_prmtop(
        tmp_path / "water.prmtop", water_models.water("EPW", "EP", 0.0, 0)
    )
    tj.write(tmp_path / "water.xtc", water_models.POSITIONS[None])
    with tj.open(topology, tmp_path / "water.xtc", sidecar=False) as traj:
        found = tj.chemistry(traj.all_atoms())
    assert found.roles[[3, 7]].tolist() == [0, 0]
    assert np.flatnonzero(np.isnan(found.radii)).tolist() == [3, 7]
    assert found.hydrogens.tolist() == [[0, 1], [0, 2], [4, 5], [4, 6]]


def test_roles_are_those_of_the_whole_molecule(tmp_path: Path) -> None:
    """A selection that cuts a disulfide or a chain changes no role."""
    molecules = dict(role_cases.peptides())
    topology, frames = role_cases.write(molecules["CGGC disulfide"], tmp_path)
    with tj.open(topology, frames, sidecar=False) as traj:
        whole = tj.chemistry(traj.all_atoms())
        for number in range(1, 5):
            found = tj.chemistry(traj.select(f"resid {number}"))
            assert np.array_equal(found.roles, whole.roles[found.atoms])
            assert np.array_equal(found.formal_charges, whole.formal_charges[found.atoms])
            assert not found.messages
    assert [*whole.states.values()] == ["CYX", "CYX"]
    sulphur = np.array(whole.names) == "SG"
    assert (whole.roles[sulphur] & (BITS["hydrophobic"] | BITS["anion"])).tolist() == [1, 1]


def test_both_atoms_of_a_sulfoxide_are_halogen_bond_acceptors(tmp_path: Path) -> None:
    """Whatever their order, in which ProLIF keeps one direction."""
    for smiles in ("CS(=O)C", "O=S(C)C"):
        found = role_cases.of_molecule(role_cases.ligand(smiles), tmp_path, template=smiles)
        oxygen, sulphur = ([name[0] for name in found.names].index(one) for one in "OS")
        pairs = {*map(tuple, found.neighbours.tolist())}
        assert {(oxygen, sulphur), (sulphur, oxygen)} <= pairs


def test_bonds_of_metals_do_not_count(tmp_path: Path) -> None:
    """A thiolate that a topology bonds to zinc is an anion and its ligand, and no thioether."""
    peptide = Chem.RWMol(dict(role_cases.peptides())["GCG SG-"])
    zinc = Chem.Atom("Zn")
    zinc.SetMonomerInfo(Chem.AtomPDBResidueInfo("ZN", residueName="ZN", residueNumber=9))
    (sulphur,) = (one.GetIdx() for one in peptide.GetAtoms() if one.GetSymbol() == "S")
    peptide.AddBond(sulphur, peptide.AddAtom(zinc), Chem.BondType.SINGLE)
    found = role_cases.of_molecule(peptide, tmp_path)
    assert found.roles[sulphur] & BITS["anion"]
    assert found.roles[sulphur] & BITS["metal-ligand"]
    assert not found.roles[sulphur] & BITS["hydrophobic"]
    assert found.roles[-1] == BITS["metal"] | BITS["cation"]
    assert found.formal_charges[[sulphur, -1]].tolist() == [-1, 2]


def test_amides_at_gaps_of_a_chain_are_assumed(tmp_path: Path) -> None:
    """Atoms beside a gap have the roles of a whole chain, and a note names the residues."""
    whole = dict(role_cases.peptides())["GAG"]
    kept = [one.GetPDBResidueInfo().GetResidueNumber() == 2 for one in whole.GetAtoms()]
    cut = Chem.RWMol(whole)
    for index in [k for k, is_kept in enumerate(kept) if not is_kept][::-1]:
        cut.RemoveAtom(index)
    known = role_cases.of_molecule(whole, tmp_path)
    found = role_cases.of_molecule(cut, tmp_path)
    assert found.roles.tolist() == known.roles[kept].tolist()
    assert [one.code.text for one in found.notes] == ["chain-breaks"]
    assert not found.warnings


@pytest.mark.parametrize(
    ("first", "second"), [("O", "OXT"), ("OT1", "OT2"), ("O1", "O2"), ("OC1", "OC2")]
)
def test_ends_of_chains_have_the_names_of_each_program(
    tmp_path: Path, first: str, second: str
) -> None:
    """An end is an anion, or with a hydrogen at either oxygen an acid."""
    names = {"O": first, "OXT": second}
    for state, n_anions in (("GAG", 2), ("GAG neutral", 0)):
        molecule = dict(role_cases.peptides())[state]
        for atom in molecule.GetAtoms():
            info = atom.GetPDBResidueInfo()
            if info.GetResidueNumber() == 3:
                info.SetName(names.get(info.GetName().strip(), info.GetName()))
        found = role_cases.of_molecule(molecule, tmp_path)
        assert ((found.roles & BITS["anion"]) != 0).sum() == n_anions
