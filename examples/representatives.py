"""Populations of the conformations of a peptide, and a structure of each with its water."""

import trajet as tj

traj = tj.samples.peptide_in_water().open().repair("protein")
clusters = tj.cluster_rmsd(
    traj.select("backbone"), method="kcenters", n_clusters=4, medoids="representatives"
)
print(clusters.summary())
clusters.plot().savefig("representatives.png")
