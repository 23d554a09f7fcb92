"""Writes the frames of the lowest basin of a map of two angles, and the map."""

import trajet as tj

traj = tj.samples.peptide_variants().open().where(system="wild_type", replica=1)[0].open()
angles = tj.dihedrals(traj.select("protein"))
phi, psi = (angles, "phi ALA5"), (angles, "psi ALA5")
energy = tj.free_energy(phi, psi, temperature=300, bins=18)
frames = tj.frames_in(energy, phi, psi, basin=0)
tj.convert(traj.select("protein"), "minimum.xtc", frames=frames, topology="minimum.pdb")
energy.plot().savefig("map.png")
print(f"{len(frames)} of {len(traj)} frames are in the lowest basin")
