"""Dielectric constant of water, with the value of the frames up to each time."""

import trajet as tj

water = tj.samples.peptide_in_water().open().whole().select("resname HOH")
epsilon = tj.dielectric_constant(water, temperature=300)
print(epsilon.summary())
epsilon.plot(title="TIP3P").savefig("dielectric.png")
