"""Interactions of 12,000 random poses are those of ProLIF: `make test-peers`.

pytest does not collect this file itself; `python tests/external/with_prolif_poses.py` prints the
numbers of bits by kind.

A pose has two of the ligands of `helpers.role_cases`, turned at random, with noise of 0.1 Å, whose
nearest atoms are 1 to 3 Å apart. With the roles of ProLIF, all bits and numbers of matches are
equal; with own roles, bits differ only where a role does for a known reason.
"""

import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import prolif
import pytest
import trajet as tj
from helpers import role_cases
from helpers.interaction_bits import bits_of
from helpers.role_cases import BITS, LIGANDS
from rdkit import Chem, rdBase
from rdkit.Chem import AllChem
from trajet.analysis import interaction_search
from trajet.result.interactions import BRIDGE
from trajet.result.interactions import KINDS as ALL_KINDS
from with_prolif_bits import KINDS, WORDS, chemistry_by_prolif

N_PAIRS, N_POSES = 600, 20
KINDS_OF_POSES = [kind for kind in ALL_KINDS if kind != BRIDGE]
NOISE, NEAREST = 0.1, (1.0, 3.0)
# Roles that kinds need and that differ for some ligands.
ROLES_OF = {
    "hbond-donor": "donor",
    "hbond-acceptor": "donor",
    "anionic": "cation",
    "cationic": "cation",
    "cation-pi": "cation",
    "pi-cation": "cation",
    "halogen-acceptor": "halogen-acceptor",
    "halogen-donor": "halogen-acceptor",
}
# Ligands whose donors or cations differ, and, for any ligand, ProLIF keeps one of two pairs of the
# same atoms of halogens' acceptors: tests/external/with_prolif.py compares the others.
KNOWN = {"donor": {"pyridinium"}, "cation": {"histaminium", "dimethylimidazolium"}}


@dataclass
class Counts:
    """Numbers of bits by kind.

    Attributes
    ----------
    bits
        Those of ProLIF.
    geometry, matches
        Those that differ with the roles of ProLIF, and whose numbers of matches do.
    roles, unexplained
        Those that differ with own roles, where a role differs, and others.
    n_matches, n_poses
        Numbers of all matches of ProLIF, and of poses.
    """

    bits: Counter[str] = field(default_factory=Counter)
    geometry: Counter[str] = field(default_factory=Counter)
    matches: Counter[str] = field(default_factory=Counter)
    roles: Counter[str] = field(default_factory=Counter)
    unexplained: Counter[str] = field(default_factory=Counter)
    n_matches: int = 0
    n_poses: int = 0


@cache
def embedded(name: str) -> Chem.Mol:
    """Return a ligand with positions."""
    molecule = role_cases.ligand(LIGANDS[name])
    found = AllChem.EmbedMolecule(molecule, randomSeed=7, useRandomCoords=True)
    assert found == 0, name
    return molecule


def named(name: str, number: int) -> Chem.Mol:
    """Return a ligand as a residue of a topology."""
    molecule = Chem.Mol(embedded(name))
    symbol = molecule.GetAtomWithIdx(0).GetSymbol().upper()
    residue = symbol if molecule.GetNumAtoms() == 1 else f"LG{'AB'[number - 1]}"
    for k, atom in enumerate(molecule.GetAtoms(), 1):
        info = Chem.AtomPDBResidueInfo(
            f"{atom.GetSymbol()}{k}", residueName=residue, residueNumber=number, chainId="A"
        )
        atom.SetMonomerInfo(info)
    return molecule


def turned(rng: np.random.Generator, molecule: Chem.Mol) -> np.ndarray:
    """Return positions about their centre, turned at random, with noise."""
    x = molecule.GetConformer().GetPositions()
    rotation, triangle = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation *= np.sign(np.diag(triangle))
    rotation[:, 0] *= np.linalg.det(rotation)
    return (x - x.mean(axis=0)) @ rotation.T + rng.normal(0, NOISE, x.shape)


def posed(rng: np.random.Generator, pair: list[Chem.Mol]) -> np.ndarray:
    """Return positions of two ligands that touch, `(n, 3)`."""
    one, other = (turned(rng, molecule) for molecule in pair)
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    nearest = rng.uniform(*NEAREST)
    # The farthest place at which two atoms have this distance.
    apart = other[np.newaxis] - one[:, np.newaxis]
    along = apart @ direction
    roots = along**2 - (apart**2).sum(axis=2) + nearest**2
    shift = (np.sqrt(np.maximum(roots, 0)) - along)[roots >= 0].max(initial=0)
    return np.concatenate([one, other + shift * direction])


def has_radii(pair: list[Chem.Mol]) -> bool:
    """Return whether ProLIF has all van der Waals radii, without which it raises an error."""
    known = prolif.interactions.constants.VDWRADII
    return all(atom.GetSymbol() in known for molecule in pair for atom in molecule.GetAtoms())


def bits_by_prolif(pair: list[Chem.Mol], poses: np.ndarray) -> Counter[tuple[int, int]]:
    """Return the number of matches of each pose and kind."""
    fingerprint = prolif.Fingerprint(KINDS if has_radii(pair) else KINDS[:-1], count=True)
    begin, found = pair[0].GetNumAtoms(), Counter[tuple[int, int]]()
    for row, x in enumerate(poses.astype(np.float64)):
        pair[0].GetConformer().SetPositions(x[:begin])
        pair[1].GetConformer().SetPositions(x[begin:])
        both = [prolif.Molecule.from_rdkit(molecule) for molecule in pair]
        for kinds in fingerprint.generate(*both, residues="all", metadata=True).values():
            for name, matches in kinds.items():
                found[row, KINDS.index(name)] += len(matches)
    return found


def with_roles_of_prolif(own: tj.Chemistry, pair: list[Chem.Mol]) -> tj.Chemistry:
    """Return chemistry with ProLIF's roles, pairs and rings."""
    found = chemistry_by_prolif(map(prolif.Molecule.from_rdkit, pair))
    types = {name: getattr(own, name).dtype for name in found}
    return replace(own, **{name: each.astype(types[name]) for name, each in found.items()})


def differing_roles(own: tj.Chemistry, theirs: tj.Chemistry) -> list[set[str]]:
    """Return the roles that differ, of both ligands."""
    found: list[set[str]] = []
    for residue in range(2):
        atoms = np.flatnonzero(own.residues == residue)
        bits = np.bitwise_or.reduce((own.roles ^ theirs.roles)[atoms], initial=0)
        roles = {role for role, bit in BITS.items() if bits & bit}
        for role, name in (("donor", "hydrogens"), ("halogen-acceptor", "neighbours")):
            one, other = (
                {tuple(p) for p in getattr(each, name).tolist() if p[0] in atoms}
                for each in (own, theirs)
            )
            roles |= {role} if one != other else set()
        found.append(roles)
    return found


def with_rings_of_prolif(own: tj.Chemistry, theirs: tj.Chemistry) -> tj.Chemistry:
    """Return chemistry with rings in the order of ProLIF, which are the same."""
    sets = [sorted(sorted(ring.tolist()) for ring in each.rings) for each in (own, theirs)]
    assert sets[0] == sets[1]
    return replace(own, ring_starts=theirs.ring_starts, ring_atoms=theirs.ring_atoms)


def interactions(
    traj: tj.Trajectory, chemistry: tj.Chemistry, words: tuple[str, ...], **options: object
) -> tuple[set[tuple[int, int]], tj.Interactions]:
    """Return the pose and kind of each bit, by ProLIF's rules for rings, and the result."""
    found = tj.interactions(
        traj.select("resid 1"),
        "resid 2",
        kinds=words,
        bits=True,
        pbc=False,
        chemistry=chemistry,
        **options,
    )
    return {(row, kind) for row, kind, _, _ in bits_of(found).tolist()}, found


def matches_of(found: tj.Interactions) -> Counter[tuple[int, int]]:
    """Return the number of interactions of atoms of each pose and kind."""
    assert found.list is not None
    rows = np.searchsorted(found.frames, found.list.frames).tolist()
    names = [ALL_KINDS.index(kind) for kind in found.list.kinds]
    return Counter(zip(rows, names, strict=True))


def add(counts: Counts, rng: np.random.Generator, names: list[str], folder: Path) -> None:
    """Add the poses of two ligands."""
    pair = [named(name, k + 1) for k, name in enumerate(names)]
    poses = np.array([posed(rng, pair) for _ in range(N_POSES)], np.float32)
    expected = bits_by_prolif(pair, poses)
    topology, _ = role_cases.write(Chem.CombineMols(*pair), folder)
    tj.write(folder / "poses.dcd", poses, force=True)
    templates = {
        f"LG{letter}": LIGANDS[name]
        for letter, name, molecule in zip("AB", names, pair, strict=True)
        if molecule.GetNumAtoms() > 1
    }
    words = WORDS if has_radii(pair) else WORDS[:-1]
    with tj.open(topology, folder / "poses.dcd", sidecar=False) as traj:
        own = tj.chemistry(traj.all_atoms(), template=templates)
        theirs = with_roles_of_prolif(own, pair)
        same, listed = interactions(traj, theirs, words, list_all=True)
        bits, _ = interactions(traj, with_rings_of_prolif(own, theirs), words)
    counts.n_poses += len(poses)
    counts.n_matches += expected.total()
    matches = matches_of(listed)
    counts.bits.update(ALL_KINDS[kind] for _, kind in expected)
    counts.geometry.update(ALL_KINDS[kind] for _, kind in same ^ expected.keys())
    counts.matches.update(
        ALL_KINDS[key[1]] for key in matches | expected if matches[key] != expected[key]
    )
    roles = differing_roles(own, theirs)
    for role, known in KNOWN.items():
        for name, one in zip(names, roles, strict=True):
            assert role not in one or name in known, (role, name)
    for _, kind in bits ^ expected.keys():
        name = ALL_KINDS[kind]
        is_known = ROLES_OF.get(name) in roles[0] | roles[1]
        (counts.roles if is_known else counts.unexplained)[name] += 1


def counted() -> Counts:
    """Return the numbers of all poses."""
    rng = np.random.default_rng(12_000)
    counts, names = Counts(), list(LIGANDS)
    with rdBase.BlockLogs(), tempfile.TemporaryDirectory() as folder:
        for _ in range(N_PAIRS):
            add(counts, rng, rng.choice(names, 2).tolist(), Path(folder))
    return counts


def test_all_bits_of_random_poses_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all kinds, apart from roles that differ for known reasons."""
    monkeypatch.setattr(interaction_search, "PEER_RINGS", True)
    counts = counted()
    assert counts.n_poses == 12_000
    assert counts.bits.keys() == {*KINDS_OF_POSES}
    assert min(counts.bits.values()) >= 30
    assert not counts.geometry
    assert not counts.matches
    assert not counts.unexplained
    # Half a per cent of all, and none of the kinds whose roles are the same.
    assert counts.roles.total() <= 0.005 * counts.bits.total()
    assert counts.roles.keys() <= ROLES_OF.keys()


def main() -> None:
    """Print the numbers."""
    interaction_search.PEER_RINGS = True
    counts = counted()
    print(f"{counts.n_poses} poses, {counts.n_matches} matches; numbers of bits:")
    print("kind, ProLIF, differing with its roles, with own roles")
    for kind in KINDS_OF_POSES:
        print(f"{kind}, {counts.bits[kind]}, {counts.geometry[kind]}, {counts.roles[kind]}")
    print(f"unexplained: {counts.unexplained.total()}; matches: {counts.matches.total()} differ")


if __name__ == "__main__":
    main()
