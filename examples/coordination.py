"""Counts the chloride ions around each sodium ion of molten salt, and says how well."""

import trajet as tj

sodium = tj.samples.molten_salt().open().select("element Na")
g = tj.rdf(sodium, "element Cl", range=(0, 8), bins=80, errors=True)
print(f"first minimum {g.first_minimum:.2f} Å, n = {g.coordination_number:.2f}")
g.coordination.plot().savefig("n_of_r.png")
shell = tj.coordination(sodium, "element Cl", cutoff=g.first_minimum, errors=True)
print(shell.statistics())
shell.parts["distribution"].plot().savefig("distribution.png")
