"""Builds peptides of L-amino acids from backbone dihedrals and rotamers, and checks their geometry.

Bond lengths and angles are those of Engh & Huber (1991), doi:10.1107/S0108767391001071.
"""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from openmm import app, unit

# Lengths in Å and angles in degrees.
N_CA, CA_C, C_N, C_O = 1.458, 1.525, 1.329, 1.231
N_CA_C, CA_C_N, C_N_CA, CA_C_O = 111.0, 116.6, 121.7, 120.4


class Residue(NamedTuple):
    """A residue, or a cap (`ACE`, `NME`): its dihedrals φ, ψ, χ1, χ2, … in degrees."""

    name: str
    phi: float
    psi: float
    chi: tuple[float, ...] = ()


class Placed(NamedTuple):
    """An atom of a side chain: its length to the last of three atoms before it, and its angle.

    `dihedral` is added to χ of the number `chi`, if there is one.
    """

    name: str
    before: str
    length: float
    angle: float
    dihedral: float = 0.0
    chi: int | None = None


# The dihedral of Cβ is the one of L-amino acids.
CB = Placed("CB", "C N CA", 1.530, 110.5, -122.5)
CARBOXYLATE = {"length": 1.249, "angle": 118.4}
SIDE_CHAINS = {
    "ALA": (CB,),
    "ASP": (
        CB, Placed("CG", "N CA CB", 1.516, 112.6, chi=1),
        Placed("OD1", "CA CB CG", **CARBOXYLATE, chi=2),
        Placed("OD2", "CA CB CG", **CARBOXYLATE, dihedral=180, chi=2),
    ),
    "GLU": (
        CB, Placed("CG", "N CA CB", 1.520, 114.1, chi=1),
        Placed("CD", "CA CB CG", 1.516, 112.6, chi=2),
        Placed("OE1", "CB CG CD", **CARBOXYLATE, chi=3),
        Placed("OE2", "CB CG CD", **CARBOXYLATE, dihedral=180, chi=3),
    ),
    "PRO": (
        CB._replace(angle=103.0), Placed("CG", "N CA CB", 1.492, 104.5, chi=1),
        Placed("CD", "CA CB CG", 1.503, 106.1, chi=2),
    ),
    # (2S,3R), not allo-threonine.
    "THR": (
        CB, Placed("OG1", "N CA CB", 1.433, 109.6, chi=1),
        Placed("CG2", "N CA CB", 1.521, 110.5, dihedral=-120, chi=1),
    ),
    "TRP": (
        CB, Placed("CG", "N CA CB", 1.498, 113.6, chi=1),
        Placed("CD1", "CA CB CG", 1.365, 126.9, chi=2),
        Placed("NE1", "CB CG CD1", 1.374, 110.2, 180), Placed("CE2", "CG CD1 NE1", 1.370, 108.9),
        Placed("CZ2", "CD1 NE1 CE2", 1.394, 130.1, 180),
        Placed("CH2", "NE1 CE2 CZ2", 1.368, 117.5, 180), Placed("CZ3", "CE2 CZ2 CH2", 1.400, 121.5),
        Placed("CE3", "CZ2 CH2 CZ3", 1.382, 121.1), Placed("CD2", "CH2 CZ3 CE3", 1.398, 118.6),
    ),
    "TYR": (
        CB, Placed("CG", "N CA CB", 1.512, 113.8, chi=1),
        Placed("CD1", "CA CB CG", 1.389, 120.8, chi=2),
        Placed("CE1", "CB CG CD1", 1.382, 121.2, 180), Placed("CZ", "CG CD1 CE1", 1.378, 119.6),
        Placed("OH", "CD1 CE1 CZ", 1.376, 119.9, 180), Placed("CE2", "CD1 CE1 CZ", 1.378, 120.3),
        Placed("CD2", "CE1 CZ CE2", 1.382, 119.6),
    ),
}  # fmt: skip


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


def backbone(residues: Sequence[Residue]) -> NDArray[np.float64]:
    """Return N, CA, C and O of residues with trans peptide bonds, shape (n_residues, 4, 3), Å."""
    n = np.zeros(3)
    ca = np.array([N_CA, 0.0, 0.0])
    angle = np.radians(180 - N_CA_C)
    c = ca + CA_C * np.array([np.cos(angle), np.sin(angle), 0.0])
    atoms = []
    for index, residue in enumerate(residues):
        o = place(n, ca, c, C_O, CA_C_O, residue.psi + 180)
        atoms.append([n, ca, c, o])
        if index + 1 < len(residues):
            following = place(n, ca, c, C_N, CA_C_N, residue.psi)
            next_ca = place(ca, c, following, N_CA, C_N_CA, 180)
            next_c = place(c, following, next_ca, CA_C, N_CA_C, residues[index + 1].phi)
            n, ca, c = following, next_ca, next_c
    return np.array(atoms)


def heavy_atoms(
    residue: Residue, coordinates: NDArray[np.float64], *, is_last: bool
) -> dict[str, NDArray[np.float64]]:
    """Return the heavy atoms of a residue by name, Å, from N, CA, C and O."""
    n, ca, c, o = coordinates
    if residue.name == "ACE":
        return {"CH3": ca, "C": c, "O": o}
    if residue.name == "NME":
        return {"N": n, "C": ca}
    atoms = {"N": n, "CA": ca, "C": c, "O": o}
    for atom in SIDE_CHAINS.get(residue.name, ()):
        chi = residue.chi[atom.chi - 1] if atom.chi else 0.0
        before = (atoms[name] for name in atom.before.split())
        atoms[atom.name] = place(*before, atom.length, atom.angle, atom.dihedral + chi)
    if is_last:
        atoms["OXT"] = place(n, ca, c, C_O, CA_C_O, residue.psi)
    return atoms


def peptide(residues: Sequence[Residue], field: app.ForceField) -> app.Modeller:
    """Return all atoms of a peptide, at pH 7; hydrogens take the places that `field` prefers."""
    topology, positions = app.Topology(), []
    chain = topology.addChain("A")
    built = zip(residues, backbone(residues), strict=True)
    for number, (residue, coordinates) in enumerate(built, residues[0].name != "ACE"):
        made = topology.addResidue(residue.name, chain, str(number))
        atoms = heavy_atoms(residue, coordinates, is_last=residue is residues[-1])
        for name, at in atoms.items():
            topology.addAtom(name, app.Element.getBySymbol(name[0]), made)
            positions.append(at / 10)
    topology.createStandardBonds()
    model = app.Modeller(topology, np.array(positions) * unit.nanometer)
    # Hydrogens are put at random places, and moved to their own.
    random.seed(1)
    model.addHydrogens(field, pH=7.0)
    check(model.topology, model.positions)
    return model


def dihedral(*atoms: NDArray[np.float64]) -> float:
    """Return the dihedral of four atoms in degrees."""
    first, middle, last = np.diff(np.array(atoms), axis=0)
    left, right = np.cross(first, middle), np.cross(middle, last)
    sine = np.linalg.norm(middle) * (first @ right)
    return float(np.degrees(np.arctan2(sine, left @ right)))


def check(topology: app.Topology, positions: unit.Quantity) -> None:
    """Raise ValueError unless residues are L, threonine is not allo, and peptide bonds are trans.

    Of side chains, χ1 is within 40° of a staggered rotamer.
    """
    in_angstrom = positions.value_in_unit(unit.angstrom)
    residues = [
        {atom.name: np.array(in_angstrom[atom.index]) for atom in residue.atoms()}
        for residue in topology.residues()
    ]
    for residue, at in zip(topology.residues(), residues, strict=True):
        centres = [("N", "C", "CB", "CA")] if "CB" in at else []
        centres += [("CA", "OG1", "CG2", "CB")] if residue.name == "THR" else []
        for *outer, centre in centres:
            a, b, c = (at[name] - at[centre] for name in outer)
            if np.cross(a, b) @ c < 1:
                raise ValueError(f"{residue.name} {residue.id}: {centre} has the wrong hand")
        gamma = next((at[name] for name in ("CG", "OG1") if name in at), None)
        if gamma is not None and residue.name != "PRO":
            chi = dihedral(at["N"], at["CA"], at["CB"], gamma)
            if abs((chi % 120) - 60) > 40:
                raise ValueError(f"{residue.name} {residue.id}: χ1 of {chi:.0f}° is no rotamer")
    for left, right in pairwise(residues):
        if "C" in left and "N" in right:
            ends = left.get("CA", left.get("CH3")), right.get("CA", right["C"])
            omega = dihedral(ends[0], left["C"], right["N"], ends[1])
            if abs(omega) < 150:
                raise ValueError(f"a peptide bond has ω = {omega:.0f}°")
