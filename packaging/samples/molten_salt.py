"""Molten sodium chloride at 1150 K, by the rigid ions of Fumi & Tosi.

Repulsion and dispersion are those of Fumi & Tosi (1964), doi:10.1016/0022-3697(64)90159-3; the
density is that of the melt, 1.456 g/cm³. The dump and the data file are as LAMMPS writes them, in
units of `metal`.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openmm as mm
from numpy.typing import NDArray
from openmm import unit

N_PAIRS = 108
EDGE = 19.31  # Å
TEMPERATURE = 1150.0
STEP = 0.002  # ps
STEPS_OF_FRAME, N_FRAMES, N_EQUILIBRATION = 500, 85, 10_000
TYPES = {"Na": (22.98976928, 1.0), "Cl": (35.453, -1.0)}
RHO = 0.317  # Å
# Of each pair of types: A (eV), sigma (Å), C (eV Å^6), D (eV Å^8).
PAIRS = {
    (0, 0): (0.2637, 2.340, 1.048553, 0.499365),
    (0, 1): (0.2110, 2.755, 6.990613, 8.675852),
    (1, 1): (0.1582, 3.170, 72.402237, 145.428468),
}
KJ_PER_EV = 96.48533212
CUTOFF = 9.0  # Å


def system() -> mm.System:
    """Return ions and forces in a cube."""
    made = mm.System()
    edge = EDGE / 10
    made.setDefaultPeriodicBoxVectors(mm.Vec3(edge, 0, 0), mm.Vec3(0, edge, 0), mm.Vec3(0, 0, edge))
    charges = mm.NonbondedForce()
    charges.setNonbondedMethod(mm.NonbondedForce.PME)
    charges.setCutoffDistance(CUTOFF / 10)
    pairs = mm.CustomNonbondedForce(
        "A(a,b)*exp((S(a,b)-10*r)/rho) - C(a,b)/(10*r)^6 - D(a,b)/(10*r)^8; a=kind1; b=kind2"
    )
    pairs.addGlobalParameter("rho", RHO)
    pairs.addPerParticleParameter("kind")
    pairs.setNonbondedMethod(mm.CustomNonbondedForce.CutoffPeriodic)
    pairs.setCutoffDistance(CUTOFF / 10)
    for k, name in enumerate("ASCD"):
        factor = 1.0 if name == "S" else KJ_PER_EV
        table = [factor * PAIRS[min(a, b), max(a, b)][k] for b in range(2) for a in range(2)]
        pairs.addTabulatedFunction(name, mm.Discrete2DFunction(2, 2, table))
    for kind, (mass, charge) in enumerate(TYPES.values()):
        for _ in range(N_PAIRS):
            made.addParticle(mass)
            charges.addParticle(charge, 1.0, 0.0)
            pairs.addParticle([kind])
    for force in (charges, pairs, mm.CMMotionRemover(100)):
        made.addForce(force)
    return made


def rock_salt() -> NDArray[np.float64]:
    """Return positions, Å, of Na and then Cl at places of a simple cubic lattice that alternate."""
    places = np.array(list(np.ndindex(6, 6, 6)))
    is_even = places.sum(axis=1) % 2 == 0
    return np.concatenate([places[is_even], places[~is_even]]) * EDGE / 6


def frames() -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Simulate; yield step and positions (Å) of each frame, as they are without a box."""
    integrator = mm.LangevinMiddleIntegrator(TEMPERATURE, 0.5, STEP)
    integrator.setRandomNumberSeed(1)
    platform = mm.Platform.getPlatformByName("CPU")
    context = mm.Context(system(), integrator, platform, {"Threads": "1"})
    context.setPositions(rock_salt() / 10)
    context.setVelocitiesToTemperature(2 * TEMPERATURE, 2)
    integrator.step(N_EQUILIBRATION)
    for frame in range(N_FRAMES):
        at = context.getState(positions=True).getPositions(asNumpy=True)
        yield frame * STEPS_OF_FRAME, at.value_in_unit(unit.angstrom)
        integrator.step(STEPS_OF_FRAME)


def write_data(path: Path, positions: NDArray[np.float64]) -> None:
    """Write the data file, in the atom style `charge`."""
    lines = ["LAMMPS data file of molten NaCl, units = metal", "", f"{2 * N_PAIRS} atoms"]
    lines += ["2 atom types", "", *(f"0 {EDGE} {x}lo {x}hi" for x in "xyz"), "", "Masses", ""]
    lines += [f"{k} {mass}  # {name}" for k, (name, (mass, _)) in enumerate(TYPES.items(), 1)]
    lines += ["", "Atoms # charge", ""]
    for atom, (x, y, z) in enumerate(positions % EDGE):
        kind = atom // N_PAIRS
        charge = [*TYPES.values()][kind][1]
        lines.append(f"{atom + 1} {kind + 1} {charge:g} {x:.6g} {y:.6g} {z:.6g}")
    path.write_text("\n".join([*lines, ""]))


def make(folder: Path) -> None:
    """Simulate the melt; write its files into `folder`."""
    elements = [name for name in TYPES for _ in range(N_PAIRS)]
    with (folder / "molten_salt.lammpstrj").open("w") as dump:
        for k, (step, positions) in enumerate(frames()):
            if k == 0:
                write_data(folder / "molten_salt.data", positions)
                dump.write("ITEM: UNITS\nmetal\n")
            dump.write(f"ITEM: TIME\n{step * STEP:g}\nITEM: TIMESTEP\n{step}\n")
            dump.write(f"ITEM: NUMBER OF ATOMS\n{2 * N_PAIRS}\nITEM: BOX BOUNDS pp pp pp\n")
            dump.write(f"0 {EDGE}\n" * 3 + "ITEM: ATOMS id type element x y z\n")
            for atom, (x, y, z) in enumerate(positions % EDGE):
                kind = atom // N_PAIRS + 1
                dump.write(f"{atom + 1} {kind} {elements[atom]} {x:.6g} {y:.6g} {z:.6g}\n")
