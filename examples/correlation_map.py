"""Maps which residues move together, and says whether there are enough frames."""

import trajet as tj

traj = tj.samples.peptide_in_water().open().whole()
result = tj.correlation_map(traj.select("protein and not name H*"), by="residue", method="lmi")
result.plot().savefig("correlations.png")
print(result.summary())
print(f"{result.report['parameters']['n_effective']:.1f} effective frames")
tj.pca(traj.select("name CA")).porcupine().savefig("porcupine.png")
