"""Builds peptides from their sequence: a backbone of ideal geometry, side chains and hydrogens.

Bond lengths and angles of the backbone are those of Engh & Huber (1991),
doi:10.1107/S0108767391001071.
"""

import io
import random

import numpy as np
from numpy.typing import NDArray
from openmm import app
from pdbfixer import PDBFixer

ONE_LETTER = {
    "A": "ALA", "D": "ASP", "E": "GLU", "G": "GLY", "K": "LYS", "L": "LEU", "P": "PRO", "Q": "GLN",
    "T": "THR", "W": "TRP", "Y": "TYR",
}  # fmt: skip
# Lengths in Å and angles in degrees.
N_CA, CA_C, C_N, C_O = 1.458, 1.525, 1.329, 1.231
N_CA_C, CA_C_N, C_N_CA, CA_C_O = 111.0, 116.6, 121.7, 120.4


def place(
    a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64],
    length: float, angle: float, dihedral: float,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the atom at `length` Å of `c`, with an angle to `b` and a dihedral to `a`, degrees."""
    theta, phi = np.radians(angle), np.radians(dihedral)
    along = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, along)
    normal /= np.linalg.norm(normal)
    local = [-np.cos(theta), np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi)]
    return c + length * (np.stack([along, np.cross(normal, along), normal], axis=1) @ local)


def backbone(dihedrals: list[tuple[float, float]]) -> NDArray[np.float64]:
    """Return N, CA, C and O of each residue with the given φ and ψ, shape (n_residues, 4, 3), Å."""
    n = np.zeros(3)
    ca = np.array([N_CA, 0.0, 0.0])
    angle = np.radians(180 - N_CA_C)
    c = ca + CA_C * np.array([np.cos(angle), np.sin(angle), 0.0])
    atoms = []
    for index, (_, psi) in enumerate(dihedrals):
        o = place(n, ca, c, C_O, CA_C_O, psi + 180)
        atoms.append([n, ca, c, o])
        if index + 1 < len(dihedrals):
            following = place(n, ca, c, C_N, CA_C_N, psi)
            next_ca = place(ca, c, following, N_CA, C_N_CA, 180)
            n, ca, c = (
                following,
                next_ca,
                place(c, following, next_ca, CA_C, N_CA_C, dihedrals[index + 1][0]),
            )
    return np.array(atoms)


def peptide(sequence: str, dihedrals: list[tuple[float, float]], *, capped: bool) -> app.Modeller:
    """Return all atoms of a peptide, at pH 7; `capped`: with acetyl and N-methyl amide at its ends.

    A cap takes its atoms from a residue of its own, so that `dihedrals` has two more pairs than
    `sequence` has letters.
    """
    names = [ONE_LETTER[letter] for letter in sequence]
    kept = [("N", "CA", "C", "O")] * len(names)
    if capped:
        names = ["ACE", *names, "NME"]
        kept = [("", "CH3", "C", "O"), *kept, ("N", "C", "", "")]
    lines, serial = [], 1
    for number, (name, atoms, coordinates) in enumerate(
        zip(names, kept, backbone(dihedrals), strict=True)
    ):
        for atom, (x, y, z) in zip(atoms, coordinates, strict=True):
            if atom:
                lines.append(
                    f"ATOM  {serial:5d}  {atom:<3s} {name} A{number + (not capped):4d}    "
                    f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           {atom[0]}"
                )
                serial += 1
    fixer = PDBFixer(pdbfile=io.StringIO("\n".join([*lines, "TER", "END", ""])))
    fixer.missingResidues = {}
    fixer.findMissingAtoms()
    fixer.addMissingAtoms(seed=1)
    # Hydrogens are put at random places, and moved to their own.
    random.seed(1)
    fixer.addMissingHydrogens(7.0)
    return app.Modeller(fixer.topology, fixer.positions)
