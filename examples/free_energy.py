"""Writes the frames of the lowest basin of a map of two angles, and the map."""

import trajet as tj

traj = tj.samples.peptide_in_water().open().repair("protein")
angles = tj.dihedrals(traj.select("protein"))
phi, psi = (angles, "phi THR8"), (angles, "psi THR8")
energy = tj.free_energy(phi, psi, temperature=300, bins=36)
frames = tj.frames_in(energy, phi, psi, basin=0)
tj.convert(traj.select("protein"), "minimum.xtc", frames=frames, topology="minimum.pdb")
energy.plot().savefig("map.png")
print(f"{len(frames)} of {len(traj)} frames are in the lowest basin")
