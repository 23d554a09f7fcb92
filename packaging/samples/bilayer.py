"""A bilayer of the three-bead lipids of Cooke & Deserno (2005), doi:10.1063/1.2135785.

The model has no solvent: tail beads attract each other over a wide range. Here σ = 0.8 nm,
ε = kT / 1.02 at 300 K and w = 1.6 σ, where the bilayer is fluid, at zero tension. Times are those
of the model.
"""

from pathlib import Path

import files
import numpy as np
import openmm as mm
from numpy.typing import NDArray
from openmm import app

SIGMA, KT = 0.8, 2.494339
EPSILON = KT / 1.02
MASS = 100.0
PER_SIDE = 10  # lipids along x and y in each leaflet
HEIGHT = 16 * SIGMA
STEP = 0.05  # ps
INTERVAL = 50.0  # ps
N_EQUILIBRATION, N_FRAMES = 40_000, 100
BEADS = ("H", "T1", "T2")


def system(n_lipids: int, side: float) -> mm.System:
    """Return beads and forces in a box of `side` nm along x and y."""
    made = mm.System()
    made.setDefaultPeriodicBoxVectors(
        mm.Vec3(side, 0, 0), mm.Vec3(0, side, 0), mm.Vec3(0, 0, HEIGHT)
    )
    pairs = mm.CustomNonbondedForce(
        "repulsion - tails*attraction;"
        "repulsion = step(range-r)*4*epsilon*((b/r)^12 - (b/r)^6 + 0.25);"
        "attraction = epsilon*select(step(r-range), wide*cos(0.5*pi*(r-range)/width)^2, 1);"
        "wide = step(range+width-r); range = b*2^(1/6);"
        "b = sigma*select(tails, 1, 0.95); tails = tail1*tail2"
    )
    for name, value in (
        ("sigma", SIGMA),
        ("epsilon", EPSILON),
        ("width", 1.6 * SIGMA),
        ("pi", np.pi),
    ):
        pairs.addGlobalParameter(name, value)
    pairs.addPerParticleParameter("tail")
    pairs.setNonbondedMethod(mm.CustomNonbondedForce.CutoffPeriodic)
    pairs.setCutoffDistance((2 ** (1 / 6) + 1.6) * SIGMA)
    bonds = mm.CustomBondForce("-0.5*k*longest^2*log(1-(r/longest)^2)")
    bonds.addGlobalParameter("k", 30 * EPSILON / SIGMA**2)
    bonds.addGlobalParameter("longest", 1.5 * SIGMA)
    straight = mm.HarmonicBondForce()
    for lipid in range(n_lipids):
        for bead in range(3):
            made.addParticle(MASS)
            pairs.addParticle([float(bead > 0)])
        first = 3 * lipid
        bonds.addBond(first, first + 1, [])
        bonds.addBond(first + 1, first + 2, [])
        straight.addBond(first, first + 2, 4 * SIGMA, 10 * EPSILON / SIGMA**2)
    for force in (bonds, straight):
        force.setUsesPeriodicBoundaryConditions(True)
    # The bilayer stays in the middle of the box.
    for force in (pairs, bonds, straight, mm.CMMotionRemover(1)):
        made.addForce(force)
    barostat = mm.MonteCarloMembraneBarostat(
        0,
        0,
        300,
        mm.MonteCarloMembraneBarostat.XYIsotropic,
        mm.MonteCarloMembraneBarostat.ZFixed,
        20,
    )
    barostat.setRandomNumberSeed(3)
    made.addForce(barostat)
    return made


def lipids(side: float) -> tuple[app.Topology, list[files.Atom], NDArray[np.float64]]:
    """Return the lipids of two flat leaflets, whose heads look outwards."""
    topology, atoms, positions = app.Topology(), [], []
    topology.setUnitCellDimensions(mm.Vec3(side, side, HEIGHT))
    for segment, sign in (("UP", 1), ("LOW", -1)):
        chain = topology.addChain(segment)
        for place in np.ndindex(PER_SIDE, PER_SIDE):
            residue = topology.addResidue("LIP", chain)
            x, y = (np.array(place) + 0.5) * side / PER_SIDE
            made = []
            for bead, (name, height) in enumerate(zip(BEADS, (2.6, 1.6, 0.6), strict=True)):
                made.append(topology.addAtom(name, None, residue))
                resid = residue.index + 1
                atoms.append(files.Atom(segment, resid, "LIP", name, name[0], 0.0, MASS))
                positions.append([x, y, HEIGHT / 2 + sign * height * SIGMA])
                if bead:
                    topology.addBond(made[-2], made[-1])
    return topology, atoms, np.array(positions)


def make(folder: Path) -> None:
    """Simulate the bilayer; write its files into `folder`."""
    side = PER_SIDE * SIGMA * np.sqrt(1.2)
    topology, atoms, positions = lipids(side)
    n_lipids = len(atoms) // 3
    integrator = mm.LangevinMiddleIntegrator(300, 0.15, STEP)
    integrator.setRandomNumberSeed(1)
    platform = mm.Platform.getPlatformByName("CPU")
    context = mm.Context(system(n_lipids, side), integrator, platform, {"Threads": "1"})
    context.setPositions(positions)
    mm.LocalEnergyMinimizer.minimize(context)
    context.setVelocitiesToTemperature(300, 2)
    integrator.step(N_EQUILIBRATION)
    bonds = [(bond[0].index, bond[1].index) for bond in topology.bonds()]
    files.write_psf(folder / "bilayer.psf", "200 lipids of Cooke and Deserno", atoms, bonds)
    frames = files.frames_of(context, N_FRAMES, round(INTERVAL / STEP))
    files.write_xtc(folder / "bilayer.xtc", topology, frames, INTERVAL)
