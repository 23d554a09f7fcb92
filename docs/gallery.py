"""Every plot of results; the documentation site shows each with the lines that made it.

All figures are of simulations that come with trajet.
"""

# %% Files
# All figures are of simulations that come with trajet: a small protein in water with a phenol and
# ions, a bilayer, and replicas of two peptides.
import matplotlib.pyplot as plt
import numpy as np
import trajet as tj

raw = tj.samples.peptide_in_water().open()
traj = raw.repair("protein")
calpha = traj.select("name CA")
bilayer = tj.samples.bilayer().open()
sodium = tj.samples.molten_salt().open().select("element Na")

# %% RMSD
# A `Table` of frames against time.
# The RMSD is of the backbone, and of the phenol after superposition on it.
rmsd = tj.rmsd(traj.select("backbone"), groups=["resname IPH and not name H*"])
figure = rmsd.plot()

# %% Labels and colours of your own
figure = rmsd.plot(label=["CLN025", "phenol"], color=["black", "#D55E00"])

# %% Several results in one figure
# `plot(axes)` draws into axes of matplotlib, and the legend has the labels.
figure = plt.figure(layout="constrained")
axes = figure.subplots()
tj.gyration(traj.select("protein and resid 1:5")).plot(axes, label="first half")
second = tj.gyration(traj.select("protein and resid 6:10"))
second.plot(axes, label="second half")

# %% A style for journals
# One column of 85 mm, with text of 8 points; `trajet.styles.talk` is for slides. See
# [Figures](../figures.md).
with plt.style.context("trajet.styles.journal"):
    figure = rmsd.plot(label=["CLN025", "phenol"])

# %% Convergence of a mean
# The mean, its interval and its correlation time against the length of the trajectory.
figure = rmsd.plot(kind="convergence")

# %% Histogram
figure = rmsd.plot(kind="histogram")

# %% RMSF
# A `Table` of atoms against the residue.
figure = tj.rmsf(calpha, align="same", reference="average", errors=True).plot()

# %% RMSDs of all pairs of frames
figure = tj.pairwise_rmsd(traj.select("protein and not name H*")).plot()

# %% Clusters of frames
figure = tj.cluster_rmsd(traj.select("protein and not name H*"), cutoff=0.8).plot()

# %% Principal components
figure = tj.pca(traj.select("backbone")).plot()

# %% A component as arrows
# Of two standard deviations, on the C-alpha trace; `save_modes` writes an NMD file for VMD.
figure = tj.pca(calpha).porcupine()

# %% Correlated motion
figure = tj.correlation_map(traj.select("protein and not name H*")).plot()

# %% Radius of gyration
figure = tj.gyration(traj.select("protein"), per_axis=True).plot()

# %% Moments of gyration
# The three principal moments of the gyration tensor: `GyrationMoments`.
figure = tj.gyration_moments(traj.select("protein")).plot()

# %% Distance from end to end
figure = tj.end_to_end(calpha).plot()

# %% Surface of residues
figure = tj.sasa(traj.select("protein"), by="residue", frames=slice(None, None, 5)).plot()

# %% Backbone dihedrals
# `Dihedrals`, as a Ramachandran plot.
figure = tj.dihedrals(traj.select("protein")).plot()

# %% Free energies
# A map of two results with its basins, by their numbers.
angles = tj.dihedrals(traj.select("protein"))
x, y = (angles, "phi THR8"), (angles, "psi THR8")
figure = tj.free_energy(x, y, temperature=300, bins=36).plot()

# %% Secondary structure
figure = tj.dssp(traj.select("protein")).plot()

# %% Hydrogen bonds
# The number of bonds in each frame, and its mean with the 95 % interval.
hbonds = tj.hbonds(traj.select("protein"), "resname HOH", list_bonds=True, lifetimes=True)
figure = hbonds.plot()

# %% Hydrogen bonds of residues
figure = tj.hbonds(traj.select("protein"), by="residue").pairs.plot()

# %% Lifetimes of hydrogen bonds
figure = hbonds.lifetimes.plot()

# %% Dwell times of water
# The fraction of the visits of a shell that last longer, beside the rate at which waters leave it.
shell = traj.select("resname HOH and around 3.5 protein", updating=True)
figure = tj.survival(shell, by="residue").dwell_times.plot()

# %% Distances
figure = tj.distances(traj.select("resid 1 and name CA"), "resid 10 and name CA").plot()

# %% Distances between centres
figure = tj.center_distances(
    [traj.select(text) for text in ("resid 1:3", "resid 8:10", "resname IPH")]
).plot()

# %% Smallest distance
figure = tj.min_distance(traj.select("protein"), "resname IPH").plot()

# %% Contacts
figure = tj.contacts(traj.select("protein"), "resname IPH").plot()

# %% Contact map
figure = tj.contact_map(traj.select("protein"), heavy_only=True).plot()

# %% Contacts of a ligand
# A contact map of one residue is a bar chart.
figure = tj.contact_map(traj.select("protein"), "resname IPH", heavy_only=True).plot(title="phenol")

# %% Native contacts
figure = tj.native_contacts(traj.select("protein and not name H*"), exclude_neighbors=3).plot()

# %% Radial distribution
oxygen = traj.select("resname HOH and name O")
figure = tj.rdf(oxygen, range=(0, 12), errors=True).plot()

# %% Radial distributions of several pairs
pairs = [(oxygen, oxygen), (oxygen, "resname HOH and name H1 H2")]
figure = tj.rdf_pairs(pairs, exclude="molecule", range=(0, 8)).plot()

# %% Running coordination numbers
figure = tj.rdf(sodium, "element Cl", range=(0, 9), bins=90, errors=True).coordination.plot()

# %% Numbers of neighbours
figure = tj.coordination(sodium, "element Cl", cutoff=4.2, errors=True).parts["distribution"].plot()

# %% Density on a grid
# Of water around the peptide, on which the frames are superposed.
water = traj.fit("backbone").select("resname HOH and name O")
figure = tj.density(water, grid_center=(13, 13, 13), grid_size=24, spacing=1).plot()

# %% Density along an axis
figure = tj.linear_density(bilayer.select("name H"), bins=60).plot()

# %% Mean squared displacement
figure = tj.msd(raw.nojump().select("resname HOH and name O")).plot()

# %% Conductivity of a molten salt
# Displacements of all charges together, and of ions on their own.
salt = tj.samples.molten_salt().open().nojump()
figure = tj.conductivity(salt.all_atoms(), temperature=1150, max_lag=8, fit_range=(1, 8)).plot()

# %% Dielectric constant
# Of the frames up to each time, of water: 200 ps are too few.
figure = tj.dielectric_constant(traj.select("resname HOH"), temperature=300).plot()

# %% Centres
figure = tj.centers(traj.select("protein"), by="chain").plot()


# %% Interactions by chemistry
# Occupancies of pairs, and with `bits=True` when they interact.
phenol = traj.select("resname IPH")
options = {"template": "Oc1ccccc1", "bits": True, "list_all": True}
interactions = tj.interactions(phenol, "protein", **options)
figure = interactions.plot()

# %% The network of a ligand
# Lines begin at the atom or ring that interacts in most frames.
figure = tj.interaction_network(interactions, traj, min_occupancy=0.1)


# %% A function of your own
def height(positions: np.ndarray) -> float:
    """Return the extent along z, Å."""
    return float(np.ptp(positions[:, 2]))


figure = tj.apply(calpha, height).plot()

# %% Ensembles
# Results of all members: four replicas of two peptides.
ensemble = tj.samples.peptide_variants().open()
figure = tj.gyration(ensemble.select("all")).plot()

# %% Runs of an ensemble
# Each series of the results has a panel; `series=` chooses one.
groups = ["resname ACE and not name H*", "resname NME and not name H*"]
rmsds = tj.rmsd(ensemble.select("name CA"), groups=groups)
figure = rmsds.plot(kind="overlay")

# %% Distributions of runs
figure = rmsds.plot(kind="violin", series=groups)

# %% Means over replicas
rmsf = tj.rmsf(ensemble.select("name CA"), align="same")
figure = rmsf.mean().plot()

# %% Difference of two systems
surface = tj.sasa(ensemble.select("all"), by="residue")
figure = surface.difference("wild_type", "mutant").plot()
