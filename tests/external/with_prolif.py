"""Roles of atoms are those of ProLIF: `make test-peers`; pytest does not collect this file itself.

`python tests/external/with_prolif.py` writes the golden roles of the gate.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import prolif
import pytest
import trajet as tj
from helpers import role_cases
from helpers.role_cases import BITS, Roles
from prolif.interactions import interactions
from rdkit import Chem

GOLDEN = Path(__file__).parent.parent / "perception" / "prolif_roles.json"
SAMPLES = {
    "TOP": (prolif.datafiles.TOP, prolif.datafiles.TRAJ),
    "WATER_TOP": (prolif.datafiles.WATER_TOP, prolif.datafiles.WATER_TRAJ),
}


def _patterns() -> dict[str, str]:
    """Return ProLIF's SMARTS by roles."""
    classes = {
        "hydrophobic": (interactions.Hydrophobic, "lig_pattern"),
        "acceptor": (interactions.HBAcceptor, "lig_pattern"),
        "donor": (interactions.HBAcceptor, "prot_pattern"),
        "cation": (interactions.Cationic, "lig_pattern"),
        "anion": (interactions.Cationic, "prot_pattern"),
        "metal": (interactions.MetalDonor, "lig_pattern"),
        "metal-ligand": (interactions.MetalDonor, "prot_pattern"),
        "halogen-acceptor": (interactions.XBAcceptor, "lig_pattern"),
        "halogen-donor": (interactions.XBAcceptor, "prot_pattern"),
    }
    return {name: getattr(kind(), pattern) for name, (kind, pattern) in classes.items()}


def roles_by_prolif(molecule: prolif.Molecule) -> Roles:
    """Return the roles of a molecule, whose atoms have their numbers as a property."""
    bits = np.zeros(molecule.GetNumAtoms(), np.int64)
    hydrogens, neighbours, rings = set(), set(), set()
    for residue in molecule:
        own = [atom.GetUnsignedProp("mapindex") for atom in residue.GetAtoms()]
        for name, pattern in _patterns().items():
            # ProLIF keeps one of two matches of the same atoms.
            uniquify = "halogen" not in name
            for match in residue.GetSubstructMatches(pattern, uniquify=uniquify, maxMatches=10**6):
                atoms = tuple(own[k] for k in match)
                atoms = atoms[::-1] if name == "halogen-donor" else atoms
                bits[atoms[0]] |= BITS[name]
                if name == "donor":
                    hydrogens.add(atoms)
                elif "halogen" in name:
                    neighbours.add(atoms)
        for pattern in interactions.CationPi().pi_ring:
            for match in residue.GetSubstructMatches(pattern):
                rings.add(tuple(sorted(own[k] for k in match)))
    return Roles(bits.tolist(), sorted(hydrogens), sorted(neighbours), sorted(rings))


def of_rdkit(molecule: Chem.Mol) -> Roles:
    """Return ProLIF's roles of a molecule of RDKit."""
    for atom in molecule.GetAtoms():
        atom.SetUnsignedProp("mapindex", atom.GetIdx())
    return roles_by_prolif(prolif.Molecule.from_rdkit(molecule))


def of_universe(universe: mda.Universe, selection: str) -> Roles:
    """Return ProLIF's roles of atoms of a Universe."""
    universe.guess_TopologyAttrs(to_guess=["elements"])
    return roles_by_prolif(prolif.Molecule.from_mda(universe.select_atoms(selection)))


def golden() -> Iterator[tuple[str, Roles]]:
    """Yield the name and the roles of each case of the gate."""
    for name, smiles in role_cases.LIGANDS.items():
        yield name, of_rdkit(role_cases.ligand(smiles))
    for name, molecule in (*role_cases.peptides(), *role_cases.nucleic_acids()):
        yield name, of_rdkit(molecule)
    for name, (topology, selection) in role_cases.STRUCTURES.items():
        universe = mda.Universe(topology)
        n = universe.atoms.n_atoms
        universe.load_new(np.random.default_rng(1).random((1, n, 3)).astype(np.float32) * 100)
        yield name, of_universe(universe, selection)


def test_golden_roles_are_those_of_prolif() -> None:
    """The gate compares with what this version of ProLIF finds."""
    stored = json.loads(GOLDEN.read_text())
    assert {name: roles.packed() for name, roles in golden()} == stored


@pytest.mark.parametrize("name", SAMPLES)
def test_roles_of_samples_differ_for_known_reasons_only(name: str) -> None:
    """Each difference has a reason."""
    topology, trajectory = SAMPLES[name]
    theirs = of_universe(mda.Universe(topology, trajectory), "protein")
    with tj.open(topology, trajectory, sidecar=False) as opened:
        found = role_cases.differences(tj.chemistry(opened.select("protein")), theirs)
    expected = {
        "TOP": {
            "metal-ligand of a cut amide": 300,
            "acceptor of a cut amide": 10,
            "resonance of cations": 28,
            "pairs: resonance of cations": 84,
        },
        "WATER_TOP": {
            "metal-ligand of a cut amide": 294,
            "acceptor of a cut amide": 12,
            "resonance of cations": 17,
            "pairs: resonance of cations": 51,
            "cation in an aromatic ring": 1,
        },
    }
    assert found == expected[name]


def test_structures_without_bonds_are_typed_by_names() -> None:
    """By distances, a carbon of this file has five bonds, which is an error of ProLIF."""
    path = Path(prolif.datafiles.TOP).parent / "implicitHbond" / "receptor_ph7_amber.pdb"
    with tj.open(path, path, sidecar=False) as opened:
        found = tj.chemistry(opened.all_atoms())
    assert (len(found), int(found.formal_charges.sum(dtype=int))) == (5152, -13)
    assert [one.code.text for one in found.messages] == ["chain-breaks"]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: roles.packed() for name, roles in golden()}, indent=0))
