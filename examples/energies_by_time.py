"""Radius of gyration where the potential energy is low: `topol.tpr run.xtc ener.edr`."""

import sys

import numpy as np
import trajet as tj

topology, trajectory, energies = sys.argv[1:]
traj = tj.open(topology, trajectory)
potential = tj.read_series(energies).at(traj)["Potential"]
low = potential < float(np.nanmedian(potential.values))
for frames in (low, ~low):
    print(frames, tj.gyration(traj.select("protein").whole(), frames=frames).values.mean())
