"""Interactions are those of ProLIF: `make test-peers`; pytest does not collect this file itself.

`python tests/external/with_prolif_bits.py` writes the golden bits of the gate: of some frames, with
the residues that are near the ligand.
"""

import warnings
from collections.abc import Iterable

import numpy as np
import prolif
import pytest
import trajet as tj
from helpers.interaction_bits import GOLDEN, bits_of
from MDAnalysis import AtomGroup, Universe
from prolif.interactions import interactions
from trajet.result.interactions import PROLIF_NAMES

WORDS = ("hydrophobic", "hbond", "pi", "ionic", "cation-pi", "halogen", "metal", "vdw")
KINDS = [name for kind, name in PROLIF_NAMES.items() if kind != "water-bridge"]
# Topology, trajectory, ligand, protein, the ligand's SMILES, and frames of the golden bits.
SAMPLES = {
    "top": (
        *(prolif.datafiles.TOP, prolif.datafiles.TRAJ, "resname LIG", "protein"),
        "C[N@@H+]1C[C@H](C(=O)N[C@]2(C)O[C@@]3(O)[C@@H]4CCCN4C(=O)[C@H](Cc4ccccc4)N3C2=O)C=C2"
        "c3cccc4[nH]cc(c34)C[C@H]21",
        slice(None, None, 10),
    ),
    "water": (
        *(prolif.datafiles.WATER_TOP, prolif.datafiles.WATER_TRAJ, "resname QNB"),
        "protein and not resname QNB",
        "OC(C(=O)O[C@H]1C[NH+]2CCC1CC2)(c1ccccc1)c1ccccc1",
        slice(None),
    ),
}
# A residue with an atom this near (Å) to the ligand in one of the frames can interact with it.
NEAR = 5.0
ROLES = (
    *(
        (interactions.Hydrophobic, "lig_pattern", 0, 1),
        (interactions.HBAcceptor, "lig_pattern", 0, 2),
    ),
    *(
        (interactions.HBAcceptor, "prot_pattern", 0, 4),
        (interactions.Cationic, "lig_pattern", 0, 8),
    ),
    *(
        (interactions.Cationic, "prot_pattern", 0, 16),
        (interactions.MetalDonor, "lig_pattern", 0, 32),
    ),
    (interactions.MetalDonor, "prot_pattern", 0, 64),
    (interactions.XBAcceptor, "prot_pattern", 1, 128),
    (interactions.XBAcceptor, "lig_pattern", 0, 256),
)


def chemistry_by_prolif(molecules: Iterable[prolif.Molecule]) -> dict[str, np.ndarray]:
    """Return roles, pairs and rings of the atoms of molecules, one after the other."""
    roles, hydrogens, neighbours, rings = np.zeros(0, np.int64), [], [], []
    for molecule in molecules:
        own, begin = np.zeros(molecule.GetNumAtoms(), np.int64), len(roles)
        for residue in molecule:
            places = [atom.GetUnsignedProp("mapindex") for atom in residue.GetAtoms()]
            for kind, pattern, at, bit in ROLES:
                for match in residue.GetSubstructMatches(getattr(kind(), pattern)):
                    atoms = [places[k] for k in match]
                    own[atoms[at]] |= bit
                    pair = [begin + atoms[at], begin + atoms[1 - at]] if len(atoms) > 1 else []
                    hydrogens += [pair] * (bit == 4)
                    neighbours += [pair] * (bit >= 128)
            for pattern in interactions.CationPi().pi_ring:
                for match in residue.GetSubstructMatches(pattern):
                    rings.append([begin + places[k] for k in match])
        roles = np.concatenate([roles, own])
    return {
        "roles": roles,
        "hydrogens": np.array(hydrogens, np.int64).reshape(-1, 2),
        "neighbours": np.array(neighbours, np.int64).reshape(-1, 2),
        "ring_starts": np.cumsum([0, *map(len, rings)]),
        "ring_atoms": np.concatenate([np.zeros(0, np.int64), *rings]).astype(np.int64),
    }


def matches_by_prolif(universe: Universe, groups: list[AtomGroup], frames: slice) -> np.ndarray:
    """Return the row of the frame, kind and both residues of each match, `(n, 4)`."""
    fingerprint = prolif.Fingerprint(KINDS, count=True)
    fingerprint.run(universe.trajectory[frames], *groups, n_jobs=1, progress=False)
    rows = []
    for row, bits in enumerate(fingerprint.ifp.values()):
        for kinds in bits.values():
            for name, matches in kinds.items():
                for match in matches:
                    atoms = [match["parent_indices"][one][0] for one in ("ligand", "protein")]
                    ends = [group.resindices[k] for group, k in zip(groups, atoms, strict=True)]
                    rows.append([row, KINDS.index(name), *ends])
    return np.array(rows)


def opened(name: str) -> tuple[Universe, list[AtomGroup]]:
    """Return the universe of a sample, with ligand and protein."""
    topology, trajectory, *texts = SAMPLES[name][:4]
    universe = Universe(topology, trajectory)
    return universe, [universe.select_atoms(text) for text in texts]


@pytest.mark.parametrize("name", SAMPLES)
def test_all_bits_of_the_samples_are_equal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With own roles, the rules of ProLIF for rings, and no images."""
    universe, groups = opened(name)
    topology, trajectory, ligand, protein, template, _ = SAMPLES[name]
    matches = matches_by_prolif(universe, groups, slice(None))
    monkeypatch.setattr("trajet.analysis.interaction_search.PEER_RINGS", True)
    traj = tj.open(str(topology), str(trajectory))
    options = {"bits": True, "list_all": True, "pbc": False, "template": template}
    found = tj.interactions(traj.select(ligand), protein, kinds=WORDS, **options)
    np.testing.assert_array_equal(bits_of(found), np.unique(matches, axis=0))
    assert found.to_prolif(count=True).to_numpy().sum() == len(matches)


def golden(name: str) -> dict[str, np.ndarray]:
    """Return chemistry, positions and bits of the residues near the ligand in some frames."""
    universe, groups = opened(name)
    frames = SAMPLES[name][-1]
    atoms = groups[0] + groups[1]
    n_first = len(groups[0])
    hundredths = []
    is_near = np.zeros(len(universe.residues), np.bool_)
    is_near[groups[0].resindices] = True
    for _ in universe.trajectory[frames]:
        first, second = groups[0].positions, groups[1].positions
        apart = np.array([np.linalg.norm(first - one, axis=1).min() for one in second])
        is_near[groups[1].resindices[apart < NEAR]] = True
        hundredths.append(np.rint(atoms.positions.astype(np.float64) * 100))
    kept = np.flatnonzero(is_near[atoms.resindices])
    place = np.full(len(atoms), -1)
    place[kept] = np.arange(len(kept))
    # In the order of their atoms.
    found_at = np.unique(atoms.resindices[kept], return_index=True)[1]
    number = {one: k for k, one in enumerate(atoms.resindices[kept][np.sort(found_at)].tolist())}
    numbers = np.vectorize(number.__getitem__)
    found = chemistry_by_prolif(map(prolif.Molecule.from_mda, groups))
    rings = np.split(place[found["ring_atoms"]], found["ring_starts"][1:-1])
    rings = [ring for ring in rings if (ring >= 0).all()]
    pairs = {name: place[found[name]] for name in ("hydrogens", "neighbours")}
    matches = matches_by_prolif(universe, groups, frames)
    matches[:, 2:] = numbers(matches[:, 2:])
    steps = np.array(hundredths, np.int64)[:, kept]
    steps[:, 1:] -= steps[:, :-1].copy()
    table = prolif.interactions.constants.VDWRADII
    return {
        "roles": found["roles"][kept],
        "residues": numbers(atoms.resindices[kept]),
        "radii": np.array([100 * table[one.capitalize()] for one in atoms.elements[kept]]).round(),
        "n_first": np.array(np.count_nonzero(kept < n_first)),
        **{name: each[(each >= 0).all(axis=1)] for name, each in pairs.items()},
        "ring_starts": np.cumsum([0, *map(len, rings)]),
        "ring_atoms": np.concatenate(rings),
        "steps": steps,
        "bits": np.unique(matches, axis=0),
        "n_matches": np.bincount(matches[:, 1], minlength=len(KINDS)),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    arrays = {f"{name}.{key}": each for name in SAMPLES for key, each in golden(name).items()}
    np.savez_compressed(GOLDEN, **{key: each.astype(np.int16) for key, each in arrays.items()})
