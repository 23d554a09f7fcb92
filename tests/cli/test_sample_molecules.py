"""Molecules of the samples exist: L-amino acids, trans peptide bonds, rotamers, lengths of bonds.

Every frame is looked at, with vectors between nearest images.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import trajet as tj
from numpy.typing import NDArray
from trajet.topology import Topology

PEPTIDE, BILAYER = tj.samples.peptide_in_water(), tj.samples.bilayer()
PEPTIDES = {
    "peptide_in_water": (PEPTIDE.topology, PEPTIDE.trajectory),
    **{
        f"{row['system']} {row['replica']}": (row["topology"], row["trajectory"])
        for row in tj.samples.peptide_variants().rows
    },
}
N_RESIDUES = {"peptide_in_water": 10, "mutant": 5, "wild_type": 5}
GAMMA = {"ASP": "CG", "GLU": "CG", "THR": "OG1", "TRP": "CG", "TYR": "CG"}
# Å; the force fields constrain bonds of hydrogen.
LENGTHS = {
    "CC": (1.25, 1.70), "CH": (1.05, 1.13), "CN": (1.20, 1.62), "CO": (1.10, 1.55),
    "HN": (0.98, 1.04), "HO": (0.93, 0.99),
}  # fmt: skip


@dataclass
class Frames:
    """All frames of a trajectory: positions (n_frames, n_atoms, 3) and lengths of the box."""

    topology: Topology
    positions: NDArray[np.float64]
    box: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Find the atoms and residues of the peptide."""
        # Atoms of solvent and ions are not of the peptide, whose residues have other numbers.
        table = self.topology
        keys = zip(table.segids, table.resids, table.names, strict=True)
        self.index = {key: k for k, key in enumerate(keys) if key[0] == "A"}
        self.residues = {
            resid: name
            for segid, resid, name in zip(table.segids, table.resids, table.resnames, strict=True)
            if segid == "A"
        }

    def vectors(self, start: object, end: object) -> NDArray[np.float64]:
        """Return the vectors from atoms to others, between nearest images."""
        between = self.positions[:, end] - self.positions[:, start]
        box = self.box.reshape(len(between), *[1] * (between.ndim - 2), 3)
        return between - np.where(box > 0, box * np.round(between / np.maximum(box, 1e-9)), 0)

    def volumes(self, resid: int, outer: str, centre: str) -> NDArray[np.float64]:
        """Return the signed volume of three atoms around a fourth in each frame, Å³."""
        at = self.index["A", resid, centre]
        a, b, c = (self.vectors(at, self.index["A", resid, name]) for name in outer.split())
        return np.einsum("ij,ij->i", np.cross(a, b), c)

    def dihedrals(self, *atoms: tuple[int, str]) -> NDArray[np.float64]:
        """Return the dihedral of four atoms in each frame, degrees."""
        places = [self.index["A", resid, name] for resid, name in atoms]
        a, b, c = (self.vectors(start, end) for start, end in pairwise(places))
        left, right = np.cross(a, b), np.cross(b, c)
        sine = np.linalg.norm(b, axis=1) * np.einsum("ij,ij->i", a, right)
        return np.degrees(np.arctan2(sine, np.einsum("ij,ij->i", left, right)))


def frames_of(topology: object, trajectory: object) -> Frames:
    """Read all frames as they are in the file."""
    traj = tj.open(topology, trajectory, sidecar=False)
    block = traj.read()
    assert len(block.positions) == 100
    assert np.isnan(block.cells).all() or (block.cells[:, 3:] == 90).all()
    box = np.nan_to_num(block.cells[:, :3].astype(float))
    return Frames(traj.topology, block.positions.astype(float), box)


@pytest.fixture(scope="module", params=PEPTIDES)
def peptide(request: pytest.FixtureRequest) -> Frames:
    """Return the frames of a trajectory; its number of residues is that of its sequence."""
    frames = frames_of(*PEPTIDES[request.param])
    amino_acids = set(frames.residues.values()) - {"ACE", "NME"}
    n_residues = sum(name in amino_acids for name in frames.residues.values())
    assert n_residues == N_RESIDUES[request.param.split()[0]]
    return frames


def test_amino_acids_are_l(peptide: Frames) -> None:
    """Cβ, and Hα on the other side; the mirror images have the other hand."""
    n_centres = 0
    for resid, name in peptide.residues.items():
        if name in ("ACE", "GLY", "NME"):
            continue
        beta, alpha = (peptide.volumes(resid, f"N C {last}", "CA") for last in ("CB", "HA"))
        assert beta.min() > 1, (resid, name)
        assert alpha.max() < -0.5, (resid, name)
        n_centres += 1
    assert n_centres == (9 if len(peptide.residues) == 10 else 5)
    mirrored = Frames(peptide.topology, peptide.positions * [-1, 1, 1], peptide.box)
    assert mirrored.volumes(3, "N C CB", "CA").max() < -1


def test_threonines_are_not_allo() -> None:
    """The second centre of threonine is R."""
    frames = frames_of(*PEPTIDES["peptide_in_water"])
    threonines = [resid for resid, name in frames.residues.items() if name == "THR"]
    assert threonines == [6, 8]
    for resid in threonines:
        assert frames.volumes(resid, "CA OG1 CG2", "CB").min() > 1


def test_peptide_bonds_are_trans(peptide: Frames) -> None:
    """Also those of the caps, and the one before proline."""
    resids = sorted(peptide.residues)
    for left, right in pairwise(resids):
        first = "CH3" if peptide.residues[left] == "ACE" else "CA"
        last = "C" if peptide.residues[right] == "NME" else "CA"
        omega = peptide.dihedrals((left, first), (left, "C"), (right, "N"), (right, last))
        assert np.abs(omega).min() > 130, (left, right)


def test_side_chains_are_rotamers(peptide: Frames) -> None:
    """χ1 is staggered, but during a transition; the ring of proline lets φ and χ1 vary little."""
    for resid, name in peptide.residues.items():
        if name == "PRO":
            phi = peptide.dihedrals((resid - 1, "C"), *((resid, a) for a in ("N", "CA", "C")))
            assert -120 < phi.min() < phi.max() < -30
            chi = peptide.dihedrals(*((resid, atom) for atom in ("N", "CA", "CB", "CG")))
            assert np.abs(chi).max() < 55
        elif name in GAMMA:
            chi = peptide.dihedrals(*((resid, atom) for atom in ("N", "CA", "CB", GAMMA[name])))
            from_rotamer = np.abs(chi % 120 - 60)
            assert from_rotamer[0] < 40
            assert (from_rotamer < 40).mean() > 0.95, (resid, name)


def test_lengths_of_bonds_are_possible(peptide: Frames) -> None:
    """Of peptide, phenol and water, each by its elements."""
    table = peptide.topology
    bonds = np.array(table.bonds)
    lengths = np.linalg.norm(peptide.vectors(bonds[:, 0], bonds[:, 1]), axis=2)
    elements = np.array([name[0] for name in table.names])
    kinds = np.array(["".join(sorted(pair)) for pair in elements[bonds]])
    assert set(kinds) <= set(LENGTHS)
    for kind, (low, high) in LENGTHS.items():
        chosen = lengths[:, kinds == kind]
        if chosen.size:
            assert low < chosen.min() < chosen.max() < high, kind


def test_lengths_of_lipids_are_those_of_the_model() -> None:
    """Bonds of beads are shorter than 1.5 σ, 12 Å; beads of a model have no hand."""
    frames = frames_of(BILAYER.topology, BILAYER.trajectory)
    bonds = np.array(frames.topology.bonds)
    lengths = np.linalg.norm(frames.vectors(bonds[:, 0], bonds[:, 1]), axis=2)
    assert len(bonds) == 400
    assert 5 < lengths.min() < lengths.max() < 12
