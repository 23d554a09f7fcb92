"""Replicas of two peptides in implicit solvent: five alanines, and a mutant with proline.

Amber ff14SB (Maier et al. 2015, doi:10.1021/acs.jctc.5b00255) and the generalised Born model of
Onufriev, Bashford & Case (2004), doi:10.1002/prot.20033. Hydrogens have masses of 4 u, which allows
steps of 4 fs.
"""

from pathlib import Path

import files
import openmm as mm
from chains import Residue, peptide
from openmm import app, unit

# All residues start in polyproline II, which both peptides can be in.
PHI, PSI = -75.0, 145.0
RESIDUES = {
    "A": Residue("ALA", PHI, PSI),
    "P": Residue("PRO", PHI, PSI, (26.0, -36.0)),
}
CAPS = Residue("ACE", PHI, PSI), Residue("NME", PHI, PSI)
SEQUENCES = {"wild_type": "AAAAA", "mutant": "AAPAA"}
N_REPLICAS = 4
INTERVAL = 32.0  # ps
N_EQUILIBRATION, N_FRAMES = 25_000, 100
STEP = 0.004  # ps
# Radius in nm and scale of each element.
BORN = {"H": (0.12, 0.85), "C": (0.17, 0.72), "N": (0.155, 0.79), "O": (0.15, 0.85)}


def system(topology: app.Topology, field: app.ForceField) -> mm.System:
    """Return the atoms and forces of a peptide in implicit solvent."""
    made = field.createSystem(
        topology, nonbondedMethod=app.NoCutoff, constraints=app.HBonds, hydrogenMass=4 * unit.dalton
    )
    charges = next(force for force in made.getForces() if isinstance(force, mm.NonbondedForce))
    solvent = mm.GBSAOBCForce()
    for atom in topology.atoms():
        charge = charges.getParticleParameters(atom.index)[0]
        solvent.addParticle(charge, *BORN[atom.element.symbol])
    solvent.setNonbondedMethod(mm.GBSAOBCForce.NoCutoff)
    made.addForce(solvent)
    return made


def make(folder: Path) -> None:
    """Simulate all replicas; write their files into `folder`."""
    field = app.ForceField("amber14/protein.ff14SB.xml")
    for seed, (variant, sequence) in enumerate(SEQUENCES.items(), 1):
        model = peptide([CAPS[0], *(RESIDUES[letter] for letter in sequence), CAPS[1]], field)
        forces = system(model.topology, field)
        system_folder = folder / variant
        system_folder.mkdir(exist_ok=True)
        files.write_topology(
            system_folder / "topology.psf", f"Ac-{sequence}-NHMe", model.topology, forces
        )
        for replica in range(1, N_REPLICAS + 1):
            integrator = mm.LangevinMiddleIntegrator(300, 1, STEP)
            integrator.setRandomNumberSeed(100 * seed + replica)
            platform = mm.Platform.getPlatformByName("CPU")
            context = mm.Context(forces, integrator, platform, {"Threads": "1"})
            context.setPositions(model.positions)
            mm.LocalEnergyMinimizer.minimize(context)
            context.setVelocitiesToTemperature(300, 100 * seed + replica)
            integrator.step(N_EQUILIBRATION)
            frames = files.frames_of(context, N_FRAMES, round(INTERVAL / STEP))
            files.write_xtc(system_folder / f"rep{replica}.xtc", model.topology, frames, INTERVAL)
