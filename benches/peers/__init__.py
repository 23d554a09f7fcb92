"""The tools that are compared: how each does a case, and the check that all do the same.

In the module of each tool, `prepare` makes it ready for one case, with files open and indexes
built, and returns its `Contestant`s. The values of an analysis, float64, are

- rmsd `(n_frames,)`, Å; rmsf `(n_atoms,)`, Å;
- dihedrals `(n_frames, 4 * n_residues)`: cosine and sine of φ, then of ψ, of each residue;
- distances `(n_frames, n_pairs)`, Å, the pairs 0-1, 0-2, ..., 1-2, ...;
- rdf `(n_bins,)`, pairs counted over all frames, each from both of its ends.
"""

from peers import commands, mdanalysis, mdtraj, molly, trajet
from peers.contestant import Contestant

TOOLS = {
    "MDAnalysis": mdanalysis.prepare,
    "mdtraj": mdtraj.prepare,
    "molly": molly.prepare,
    "gmx": commands.prepare_gmx,
    "cpptraj": commands.prepare_cpptraj,
    "trajet": trajet.prepare,
}

__all__ = ["TOOLS", "Contestant"]
