"""`interaction_network`: a ligand as RDKit depicts it, with the residues that it interacts with."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import plots
from trajet._trajet import MissingPackageError
from trajet.labels import residue_labels
from trajet.perception.graph import HYDROGENS
from trajet.result import Interactions
from trajet.topology import Topology
from trajet.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Kinds in which the first group has the ring.
_OF_RINGS = ("pi-face", "pi-edge", "pi-cation")
# Length of bonds in depictions of RDKit.
_BOND = 1.5


def interaction_network(
    result: Interactions,
    trajectory: Trajectory,
    *,
    min_occupancy: float = 0.3,
    ax: "Axes | None" = None,
) -> "Figure | Axes":
    """Draw the ligand in two dimensions, and lines to the residues that it interacts with.

    Lines begin at the atom, or ring, that has an interaction in most frames; their widths, and the
    numbers beside them, are occupancies: the fraction of frames in which any atoms of ligand and
    residue have an interaction of the kind.

    Parameters
    ----------
    result
        The interactions of a ligand, computed with `list_all=True`.
    trajectory
        Their trajectory, whose topology has the bonds of the ligand.
    min_occupancy
        The least occupancy that is drawn. At most 24 are.
    ax
        Axes of matplotlib to draw into. None for a new figure.

    Returns
    -------
    Figure or Axes
        The given axes, or a figure of matplotlib.

    Raises
    ------
    ValueError
        If the result has no list of interactions, or the first group is not one residue.
    MissingPackageError
        If RDKit is not installed.
    SelectionError
        If the topology has no bonds, and they cannot be guessed.

    Examples
    --------
    >>> import trajet as tj
    >>> found = tj.interactions(traj.select("resid 33"), "resid 1:31", list_all=True, pbc=False)
    >>> figure = tj.interaction_network(found, traj)
    >>> figure.savefig("network.png")
    """
    if result.list is None:
        raise ValueError("this result has no list of interactions: compute it with list_all=True")
    topology = trajectory.topology
    first, _, second = result.list.atoms.T
    ligands = np.unique(topology.atoms_residues[first])
    if len(ligands) != 1:
        raise ValueError(
            f"a network is of one ligand, and {len(ligands)} residues of the first group interact:"
            " give one of them as the first group of interactions"
        )
    is_atom = ~topology.sites & ~topology.named_sites
    atoms = np.flatnonzero((topology.atoms_residues == ligands[0]) & is_atom)
    ligand = _Depicted.of(topology, atoms)
    kinds, residues = np.array(result.list.kinds), topology.atoms_residues[second]
    links, labels = [], residue_labels(topology)
    for residue, kind in sorted({*zip(residues.tolist(), kinds.tolist(), strict=True)}):
        own = (residues == residue) & (kinds == kind)
        occupancy = len(np.unique(result.list.frames[own])) / len(result)
        found, counts = np.unique(first[own], return_counts=True)
        at = ligand.place_of(int(found[counts.argmax()]), is_ring=kind in _OF_RINGS)
        links.append(plots.Link(str(labels[residue]), kind, occupancy, at))
    links = [one for one in links if one.occupancy >= min_occupancy]
    links = sorted(links, key=lambda one: -one.occupancy)[: plots.MAX_ROWS]
    return plots.for_user(
        lambda: plots.network(ligand.positions, ligand.symbols, ligand.bonds, links, ax), ax, None
    )


class _Depicted:
    """The heavy atoms of a ligand in two dimensions.

    Attributes
    ----------
    positions
        `(n, 2)`, in lengths of bonds.
    symbols
        Their elements.
    bonds
        `(m, 2)`, pairs of these atoms.
    """

    def __init__(
        self,
        positions: NDArray[np.float64],
        symbols: list[str],
        bonds: NDArray[np.int64],
        rings: list[tuple[int, ...]],
        rows: dict[int, int],
    ) -> None:
        self.positions, self.symbols, self.bonds = positions, symbols, bonds
        self._rings, self._rows = rings, rows

    @classmethod
    def of(cls, topology: Topology, atoms: NDArray[np.int64]) -> "_Depicted":
        """Return the depiction of the atoms of a residue.

        Raises
        ------
        MissingPackageError
            If RDKit is not installed.
        SelectionError
            If there are no bonds.
        """
        try:
            from rdkit import Chem
            from rdkit.Chem import rdDepictor
        except ImportError as error:
            raise MissingPackageError(
                "a network needs RDKit: pip install 'trajet[chemistry]'"
            ) from error
        has_bonds = topology.bonds is not None and topology.has_all_bonds
        pairs = topology.bonds if has_bonds else topology.guessed_bonds
        assert pairs is not None
        pairs = pairs[np.isin(pairs, atoms).all(axis=1)]
        codes, names = topology.native.known_elements()
        symbols = {atom: names[codes[atom]] or "*" for atom in atoms.tolist()}
        rows = {atom: k for k, atom in enumerate(a for a in symbols if symbols[a] not in HYDROGENS)}
        made = Chem.RWMol()
        for atom in rows:
            made.AddAtom(Chem.Atom(symbols[atom]))
        for one, other in pairs.tolist():
            if one in rows and other in rows:
                made.AddBond(rows[one], rows[other], Chem.BondType.SINGLE)
        # Hydrogens are where their atom is.
        hydrogens = {
            a: rows[b] for pair in pairs.tolist() for a, b in (pair, pair[::-1]) if b in rows
        }
        Chem.FastFindRings(made)
        rdDepictor.Compute2DCoords(made)
        positions = made.GetConformer().GetPositions()[:, :2] / _BOND
        bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in made.GetBonds()]
        rings = sorted(made.GetRingInfo().AtomRings(), key=len)
        found = np.array(bonds, np.int64).reshape(-1, 2)
        return cls(positions, [symbols[a] for a in rows], found, rings, {**hydrogens, **rows})

    def place_of(self, atom: int, *, is_ring: bool) -> NDArray[np.float64]:
        """Return the place of an atom, or of the centre of its smallest ring."""
        row = self._rows[atom]
        ring = next((one for one in self._rings if row in one), None) if is_ring else None
        found: NDArray[np.float64] = self.positions[[row] if ring is None else [*ring]].mean(axis=0)
        return found
