"""φ and ψ of the residues of a protein, by the names of atoms and the order of residues."""

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.labels import residue_labels, residue_names
from trajet.quoting import quoted
from trajet.topology import Atoms, Topology, listed

# Stand for an atom that a residue lacks, or has several of.
_NONE, _SEVERAL = -1, -2


def backbone_dihedrals(
    atoms: Atoms, label: str, remarks: list[str]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return names and atoms of φ and ψ of each residue of `atoms` that has both.

    Residues are neighbours if they follow one another in a segment of the topology, or if it lists
    a bond between C of one and N of the other, as that which closes a cyclic peptide. Whether they
    are bonded is not checked, and residue numbers are not used: 52A and 53 follow 52, and chains in
    one segment may share numbers. If a residue has several N, CA or C (alternate locations), the
    one in `atoms` is used. Residues with none or several in `atoms` are left out, with a remark.

    Returns
    -------
    names : tuple of str
        Names of the angles, φ and ψ of one residue after the other.
    fours
        `(n, 4)`, int64, atom indices of each angle.

    Raises
    ------
    SelectionError
        If no residue has both angles.
    """
    topology = atoms.topology
    names_of_atoms = topology.column("names")
    if names_of_atoms is None:
        raise SelectionError(f"φ and ψ need names of atoms, which {topology} lacks")
    n, alpha, c = (_one_of_each(atoms, names_of_atoms, name) for name in ("N", "CA", "C"))
    selected = np.unique(atoms.residues)
    before, after = _neighbours(topology, n, c)
    here = selected[(before[selected] != _NONE) & (after[selected] != _NONE)]
    before, after = before[here], after[here]
    fours = np.stack(
        [
            *(c[before], n[here], alpha[here], c[here]),
            *(n[here], alpha[here], c[here], n[after]),
        ],
        axis=1,
    )
    both = (fours >= 0).all(axis=1)
    torn, protein = _torn(topology), (np.stack([n, alpha, c]) != _NONE).any(axis=0)
    near = (torn[before] | torn[here] | torn[after]) & protein[here]
    both &= ~near
    # Only the first part of a residue is counted.
    if parts := residue_names(topology, here[near & ~(torn[before] & torn[here])]):
        remarks.append(
            "residues left out, since they or their neighbours have several names (alternate"
            f" locations?): {listed(parts)}; give a topology with one of the names"
        )
    if doubtful := residue_names(topology, here[~both & ~near & (fours != _NONE).all(axis=1)]):
        remarks.append(
            "residues left out, since they or their neighbours have several N, CA or C (alternate"
            f" locations?): {listed(doubtful)}; use a selection that has one of them ('… and not"
            " altloc B')"
        )
    if not both.any():
        raise SelectionError(
            f"selection {quoted(label)}: none of its {len(selected)} residues has both φ and ψ:"
            " they need the atoms N, CA and C, and neighbours in the sequence; give other angles as"
            " quadruples" + "".join(f"; {remark}" for remark in remarks)
        )
    names = residue_labels(topology)[here[both]].tolist()
    angles = tuple(f"{angle} {name}" for name in names for angle in ("phi", "psi"))
    return angles, fours[both].reshape(-1, 4).astype(np.int64)


def _neighbours(
    topology: Topology, n: NDArray[np.int64], c: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the residue before and the one after each, `_NONE` without; see `backbone_dihedrals`.

    Parameters
    ----------
    n, c
        The atoms N and C of each residue.
    """
    n_residues = topology.n_residues
    before, after = np.full((2, n_residues), _NONE, np.int64)
    segments = topology.residue_segments
    along = np.flatnonzero(segments[1:] == segments[:-1])
    before[along + 1], after[along] = along, along + 1
    pairs = topology.connections
    if pairs is None or not len(pairs):
        return before, after
    # Each atom that is C or N of a residue has the number of that residue.
    of_c, of_n = np.full((2, topology.n_atoms), _NONE, np.int64)
    for of_atoms, atoms in ((of_c, c), (of_n, n)):
        there = np.flatnonzero(atoms >= 0)
        of_atoms[atoms[there]] = there
    both = np.concatenate([pairs, pairs[:, ::-1]])
    first, second = of_c[both[:, 0]], of_n[both[:, 1]]
    linked = (first != _NONE) & (second != _NONE) & (first != second)
    first, second = first[linked], second[linked]
    closing = second != first + 1
    # A residue that is bonded to the next one stays before it.
    in_line = np.zeros(n_residues, np.bool_)
    in_line[first[~closing]] = True
    first, second = first[closing], second[closing]
    # The last residue, which is index -1, is followed by none.
    kept = ~in_line[first] & ~in_line[second - 1]
    after[first[kept]], before[second[kept]] = second[kept], first[kept]
    return before, after


def _one_of_each(atoms: Atoms, names: NDArray[np.str_], name: str) -> NDArray[np.int64]:
    """Return the atom of this name in each residue; of several, the one in `atoms`.

    Elements are `_NONE` or `_SEVERAL` for residues without such an atom or with several.
    """
    found = np.flatnonzero(names == name)
    owners = atoms.topology.atoms.residues[found]
    one = np.full(atoms.topology.n_residues, _NONE, np.int64)
    several = np.bincount(owners, minlength=len(one)) > 1
    one[owners] = found
    one[several] = _SEVERAL
    chosen = several[owners] & np.isin(found, atoms.indices)
    found, owners = found[chosen], owners[chosen]
    alone = np.bincount(owners, minlength=len(one))[owners] == 1
    one[owners[alone]] = found[alone]
    return one


def _torn(topology: Topology) -> NDArray[np.bool_]:
    """Return which residues are parts of one residue that has several names.

    These are three or more consecutive residues with the same number, or two if some of their atoms
    have alternate locations: two chains in a segment may end and begin with the same number.
    """
    n_residues = topology.n_residues
    same = np.ones(max(0, n_residues - 1), np.bool_)
    for values in (
        topology.column("resids"),
        topology.column("icodes"),
        topology.residue_segments,
    ):
        if values is not None:
            same &= values[1:] == values[:-1]
    three = np.concatenate([[False, False], same[1:] & same[:-1], [False, False]])
    torn = three[:-2] | three[1:-1] | three[2:]
    if (locations := topology.column("altLocs")) is not None:
        located = np.zeros(n_residues, np.bool_)
        located[topology.atoms.residues[np.char.strip(locations) != ""]] = True
        two = np.concatenate([[False], same & (located[1:] | located[:-1]), [False]])
        torn |= two[1:] | two[:-1]
    return np.asarray(torn)
