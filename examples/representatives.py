"""Populations of the conformations of a peptide, and a structure of each with its water."""

import trajet as tj

traj = tj.samples.peptide_in_water().open().repair("protein")
clusters = tj.cluster_rmsd(
    traj.select("backbone"), method="kcenters", n_clusters=4, medoids="representatives"
)
for number, share in enumerate(clusters.populations):
    half = clusters.clusters.half_widths[number]
    print(f"cluster{number}.pdb: {100 * share:.0f} ± {100 * half:.0f} % of the frames")
clusters.plot().savefig("representatives.png")
