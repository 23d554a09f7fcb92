"""Simulates the frames of a sample and writes its files: a PSF topology and an XTC trajectory."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import openmm as mm
from numpy.typing import NDArray
from openmm import Vec3, app, unit


class Atom(NamedTuple):
    """An atom of a PSF file: charge in e, mass in u."""

    segment: str
    resid: int
    resname: str
    name: str
    type: str
    charge: float
    mass: float


def write_psf(
    path: Path, title: str, atoms: Sequence[Atom], bonds: Sequence[tuple[int, int]]
) -> None:
    """Write a PSF file in the columns of X-PLOR; bonds are pairs of indices from 0."""
    lines = ["PSF", "", f"{1:8d} !NTITLE", f" REMARKS {title}", "", f"{len(atoms):8d} !NATOM"]
    lines += [
        f"{serial:8d} {atom.segment:<4s} {atom.resid:<4d} {atom.resname:<4s} {atom.name:<4s} "
        f"{atom.type:<4s} {atom.charge:10.6f}    {atom.mass:10.4f}{0:12d}"
        for serial, atom in enumerate(atoms, 1)
    ]
    lines += ["", f"{len(bonds):8d} !NBOND: bonds"]
    numbers = [index + 1 for bond in bonds for index in sorted(bond)]
    lines += [
        "".join(f"{number:8d}" for number in numbers[i : i + 8]) for i in range(0, len(numbers), 8)
    ]
    path.write_text("\n".join([*lines, ""]))


def write_topology(path: Path, title: str, topology: app.Topology, system: mm.System) -> None:
    """Write atoms, bonds and charges of a system of atoms; a chain of `topology` is a segment."""
    charges = next(force for force in system.getForces() if isinstance(force, mm.NonbondedForce))
    atoms = []
    for atom in topology.atoms():
        charge = charges.getParticleParameters(atom.index)[0].value_in_unit(unit.elementary_charge)
        residue, element = atom.residue, atom.element
        atoms.append(
            Atom(
                residue.chain.id, int(residue.id), residue.name, atom.name, element.symbol.upper(),
                charge, element.mass.value_in_unit(unit.dalton),
            )
        )  # fmt: skip
    write_psf(path, title, atoms, [(bond[0].index, bond[1].index) for bond in topology.bonds()])


def frames_of(
    context: mm.Context, n_frames: int, steps: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Simulate, and yield a frame after every `steps` steps: positions and box vectors, nm.

    Each atom is put into the box, as GROMACS does. Systems without a box are centred, and their
    vectors are 0.
    """
    is_periodic = context.getSystem().usesPeriodicBoundaryConditions()
    for _ in range(n_frames):
        context.getIntegrator().step(steps)
        state = context.getState(positions=True)
        at = state.getPositions(asNumpy=True).value_in_unit(unit.nanometer)
        if not is_periodic:
            yield at - at.mean(axis=0), np.zeros((3, 3))
            continue
        vectors = state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(unit.nanometer)
        yield at - np.floor(at / np.diag(vectors)) * np.diag(vectors), vectors


def write_xtc(
    path: Path,
    topology: app.Topology,
    frames: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]],
    interval: float,
) -> None:
    """Write frames every `interval` ps from 0.

    Each has positions, shape (n_atoms, 3), and box vectors, shape (3, 3), in nm; without a box the
    vectors are 0.
    """
    path.unlink(missing_ok=True)
    file = app.XTCFile(str(path), topology, interval * unit.picosecond, 0, 1)
    for positions, vectors in frames:
        box = [Vec3(*vector) for vector in vectors] if vectors.any() else None
        file.writeModel(positions * unit.nanometer, periodicBoxVectors=box and box * unit.nanometer)
