"""Every plot of results; the documentation site shows each with the lines that made it.

The script runs in a folder with the files of `examples/adk.py` and two files of MDAnalysisTests:
adenylate kinase in water as solvated.tpr and solvated.xtc, ten frames.
"""

# %% Files
# All figures are of two trajectories of adenylate kinase: alone, while it closes, and in water.
import matplotlib.pyplot as plt
import numpy as np
import trajet as tj

traj = tj.open("adk.psf", "adk.xtc")
calpha = traj.select("name CA")
solvated = tj.open("solvated.tpr", "solvated.xtc")

# %% RMSD
# `Series` against time, with the distribution of its values and the mean with its 95 % interval.
# The RMSD is of one domain, and of the two that move after superposition on it.
core = traj.select("(resid 1:29 or resid 60:121 or resid 160:214) and name CA")
groups = ["resid 122:159 and name CA", "resid 30:59 and name CA"]
rmsd = tj.rmsd(core, groups=groups)
figure = rmsd.plot()

# %% Labels and colours of your own
figure = rmsd.plot(label=["CORE", "LID", "NMP"], color=["black", "#D55E00", "#0072B2"])

# %% Several results in one figure
# `plot(axes)` draws into axes of matplotlib, and the legend has the labels.
figure = plt.figure(layout="constrained")
axes = figure.subplots()
tj.gyration(traj.select("resid 1:121")).plot(axes, label="first half")
tj.gyration(traj.select("resid 122:214")).plot(axes, label="second half", color="#D55E00")

# %% A style for journals
# One column of 85 mm, with text of 8 points; `trajet.styles.talk` is for slides. See
# [Figures](../figures.md).
with plt.style.context("trajet.styles.journal"):
    figure = rmsd.plot(label=["CORE", "LID", "NMP"])

# %% Convergence of a mean
# The mean, its interval and its correlation time against the length of the trajectory.
figure = rmsd.plot(kind="convergence")

# %% Histogram
figure = rmsd.plot(kind="histogram")

# %% RMSF
# `AtomValues` against the residue, with standard errors.
figure = tj.rmsf(calpha, align="same", reference="average", errors=True).plot()

# %% RMSDs of all pairs of frames
figure = tj.pairwise_rmsd(calpha).plot()

# %% Clusters of frames
figure = tj.cluster_rmsd(calpha, cutoff=1.5).plot()

# %% Principal components
figure = tj.pca(calpha).plot()

# %% Radius of gyration
figure = tj.gyration(traj.select("protein"), per_axis=True).plot()

# %% Moments of gyration
# The three principal moments of the gyration tensor: `GyrationMoments`.
figure = tj.gyration_moments(traj.select("protein")).plot()

# %% Distance from end to end
figure = tj.end_to_end(calpha).plot()

# %% Surface of residues
figure = tj.sasa(traj.select("protein"), by="residue", frames=slice(None, None, 20)).plot()

# %% Backbone dihedrals
# `Dihedrals`, as a Ramachandran plot.
figure = tj.dihedrals(traj.select("protein")).plot()

# %% Secondary structure
figure = tj.dssp(traj.select("protein")).plot()

# %% Hydrogen bonds
# The number of bonds in each frame, and the occupancies of the most frequent ones.
hbonds = tj.hbonds(traj.select("protein"), list_bonds=True, lifetimes=True)
figure = hbonds.plot()

# %% Hydrogen bonds of residues
figure = tj.hbonds(traj.select("protein"), by="residue").pairs.plot()

# %% Lifetimes of hydrogen bonds
figure = hbonds.lifetimes.plot()

# %% Distances
figure = tj.distances(traj.select("resid 55 and name CA"), "resid 169 and name CA").plot()

# %% Distances between centres
figure = tj.center_distances([traj.select(f"resid {n}:{n + 29}") for n in (1, 30, 122)]).plot()

# %% Smallest distance
figure = tj.min_distance(traj.select("resid 122:159"), "resid 30:59").plot()

# %% Contacts
figure = tj.contacts(traj.select("resid 122:159"), "resid 30:59").plot()

# %% Contact map
figure = tj.contact_map(traj.select("protein"), heavy_only=True).plot()

# %% Native contacts
figure = tj.native_contacts(calpha, cutoff=8).plot()

# %% Radial distribution
oxygen = solvated.select("name OW")
figure = tj.rdf(oxygen, errors=True).plot()

# %% Radial distributions of several pairs
pairs = [(oxygen, oxygen), (oxygen, "name HW1 HW2")]
figure = tj.rdf_pairs(pairs, exclude="molecule", range=(0, 8)).plot()

# %% Density on a grid
figure = tj.density(oxygen, spacing=2).plot()

# %% Density along an axis
figure = tj.linear_density(solvated.all_atoms(), bins=40).plot()

# %% Mean squared displacement
figure = tj.msd(solvated.nojump().select("name NA")).plot()

# %% Centres
figure = tj.centers(traj.select("protein"), by="chain").plot()


# %% A function of your own
def height(positions: np.ndarray) -> float:
    """Return the extent along z, Å."""
    return float(np.ptp(positions[:, 2]))


figure = tj.apply(calpha, height).plot()

# %% Ensembles
# Results of all members, here six stretches of one trajectory in place of replicas.
members = []
for k in range(6):
    tj.convert(traj, f"part{k}.xtc", frames=slice(16 * k, 16 * k + 16), force=True)
    system = "open" if k < 3 else "closed"
    members.append({"system": system, "topology": "adk.psf", "trajectory": f"part{k}.xtc"})
ensemble = tj.ensemble(members)
figure = tj.gyration(ensemble.select("protein")).plot()

# %% Runs of an ensemble
# Each series of the results has a panel; `series=` chooses one.
rmsds = tj.rmsd(ensemble.select("name CA"), groups=groups)
figure = rmsds.plot(kind="overlay")

# %% Distributions of runs
figure = rmsds.plot(kind="violin", series=groups)

# %% Means over replicas
rmsf = tj.rmsf(ensemble.select("name CA"), align="same")
figure = rmsf.mean().plot()

# %% Difference of two systems
figure = rmsf.difference("open", "closed").plot()
