"""Chignolin CLN025 and a phenol in water with ions, at constant pressure.

Amber ff14SB (Maier et al. 2015, doi:10.1021/acs.jctc.5b00255), TIP3P (Jorgensen et al. 1983,
doi:10.1063/1.445869) and the ions of Joung & Cheatham (2008), doi:10.1021/jp8001614. The hairpin
starts from the dihedrals of its crystal structure (Honda et al. 2008, doi:10.1021/ja8030533; PDB
5AWL), without restraints. Phenol has the atom types and charges of tyrosine. Hydrogens have masses
of 4 u for steps of 4 fs.
"""

import io
import random
from pathlib import Path

import chains
import files
import numpy as np
import openmm as mm
from numpy.typing import NDArray
from openmm import Vec3, app, unit

# Dihedrals of the crystal structure 5AWL, to a degree; peptide bonds are trans.
HAIRPIN = [
    chains.Residue("TYR", -120, 150, (-46, 96)),
    chains.Residue("TYR", -93, 138, (-67, 100)),
    chains.Residue("ASP", -76, 134, (-175, -77)),
    chains.Residue("PRO", -72, -21, (26, -36)),
    chains.Residue("GLU", -92, -41, (-78, -67, 151)),
    chains.Residue("THR", -106, -17, (63,)),
    chains.Residue("GLY", 70, 17),
    chains.Residue("THR", -104, 153, (56,)),
    chains.Residue("TRP", -81, 133, (-175, -98)),
    chains.Residue("TYR", -137, 170, (69, 95)),
]
BOX = 2.684  # nm; 488 waters fit into it
STEP, INTERVAL = 0.004, 2.0  # ps
N_EQUILIBRATION, N_FRAMES = 10_000, 100
# Side chain of tyrosine, with a hydrogen in place of its Cβ.
PHENOL_ATOMS = {
    "C1": ("C", 0.3226), "O1": ("OH", -0.5579), "HO1": ("HO", 0.3992), "C2": ("CA", -0.2341),
    "H2": ("HA", 0.1656), "C3": ("CA", -0.1906), "H3": ("HA", 0.1699), "C4": ("CA", -0.1554),
    "H4": ("HA", 0.1699), "C5": ("CA", -0.1906), "H5": ("HA", 0.1699), "C6": ("CA", -0.2341),
    "H6": ("HA", 0.1656),
}  # fmt: skip
PHENOL_BONDS = (
    *("C1 O1", "O1 HO1", "C1 C2", "C2 C3", "C3 C4", "C4 C5", "C5 C6", "C6 C1"),
    *("C2 H2", "C3 H3", "C4 H4", "C5 H5", "C6 H6"),
)


def phenol_parameters() -> str:
    """Return the residue of phenol for OpenMM, with types of ff14SB."""
    atoms = "".join(
        f'<Atom name="{name}" type="protein-{kind}" charge="{charge}"/>'
        for name, (kind, charge) in PHENOL_ATOMS.items()
    )
    bonds = "".join(
        '<Bond atomName1="{}" atomName2="{}"/>'.format(*bond.split()) for bond in PHENOL_BONDS
    )
    residue = f'<Residue name="IPH">{atoms}{bonds}</Residue>'
    return f"<ForceField><Residues>{residue}</Residues></ForceField>"


def phenol() -> tuple[app.Topology, NDArray[np.float64]]:
    """Return a flat phenol around the origin, positions in nm."""
    topology = app.Topology()
    residue = topology.addResidue("IPH", topology.addChain("B"), "1")
    atoms, positions = {}, []
    for number in range(1, 7):
        angle = np.radians(60 * number - 60)
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        outer = ("O1", 0.139 + 0.136) if number == 1 else (f"H{number}", 0.139 + 0.108)
        for name, distance in ((f"C{number}", 0.139), outer):
            atoms[name] = topology.addAtom(name, app.Element.getBySymbol(name[0]), residue)
            positions.append(distance * out)
        if number == 1:
            at = [p * 10 for p in (np.array([0.07, 0.12, 0.0]), *positions[-2:])]
            atoms["HO1"] = topology.addAtom("HO1", app.element.hydrogen, residue)
            positions.append(chains.place(*at, 0.96, 109.0, 0.0) / 10)
    for bond in PHENOL_BONDS:
        topology.addBond(*(atoms[name] for name in bond.split()))
    return topology, np.array(positions)


def solvated(field: app.ForceField) -> app.Modeller:
    """Return hairpin, phenol, water and ions, in a cube."""
    model = chains.peptide(HAIRPIN, field)
    at = np.array(model.positions.value_in_unit(unit.nanometer))
    index = {(int(a.residue.id), a.name): a.index for a in model.topology.atoms()}
    # Beside the ring of Trp9, parallel to it and on the outer side.
    ring = at[[index[9, name] for name in ("CG", "CD2", "CE2", "CZ2", "CH2", "CZ3", "CE3")]]
    axes = np.linalg.svd(ring - ring.mean(axis=0))[2]
    normal = axes[2] * np.sign(axes[2] @ (ring.mean(axis=0) - at.mean(axis=0)))
    topology, ligand = phenol()
    ligand = ligand @ axes + ring.mean(axis=0)
    distance = 0.36
    while np.min(np.linalg.norm((ligand + distance * normal)[:, None] - at, axis=2)) < 0.28:
        distance += 0.02
    everything = np.concatenate([at, ligand + distance * normal])
    middle = np.full(3, BOX / 2) - everything.mean(axis=0)
    made = app.Modeller(model.topology, (at + middle) * unit.nanometer)
    made.add(topology, (ligand + distance * normal + middle) * unit.nanometer)
    size = Vec3(BOX, BOX, BOX)
    made.topology.setUnitCellDimensions(size * unit.nanometer)
    # Ions replace waters that are drawn.
    random.seed(1)
    made.addSolvent(field, model="tip3p", neutralize=True, ionicStrength=0.2 * unit.molar)
    return made


def make(folder: Path) -> None:
    """Simulate the system; write its files into `folder`."""
    field = app.ForceField("amber14/protein.ff14SB.xml", "amber14/tip3p.xml")
    field.loadFile(io.StringIO(phenol_parameters()))
    model = solvated(field)
    forces = field.createSystem(
        model.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9, constraints=app.HBonds,
        hydrogenMass=4 * unit.dalton,
    )  # fmt: skip
    barostat = mm.MonteCarloBarostat(1, 300, 25)
    barostat.setRandomNumberSeed(23)
    forces.addForce(barostat)
    integrator = mm.LangevinMiddleIntegrator(300, 1, STEP)
    integrator.setRandomNumberSeed(21)
    context = mm.Context(forces, integrator, mm.Platform.getPlatformByName("CPU"), {"Threads": "1"})
    context.setPositions(model.positions)
    mm.LocalEnergyMinimizer.minimize(context, maxIterations=300)
    context.setVelocitiesToTemperature(300, 22)
    integrator.step(N_EQUILIBRATION)
    chains.check(model.topology, context.getState(positions=True).getPositions())
    files.write_topology(
        folder / "peptide_in_water.psf", "CLN025, phenol, water, ions", model.topology, forces
    )
    frames = files.frames_of(context, N_FRAMES, round(INTERVAL / STEP))
    files.write_xtc(folder / "peptide_in_water.xtc", model.topology, frames, INTERVAL)
