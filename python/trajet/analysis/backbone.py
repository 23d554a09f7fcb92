"""Backbones of proteins: the atoms of each residue and its neighbours in the chain.

Residues are places in chains (`Topology.places`). Which of them are bonded does not depend on what
is selected, nor on segments and numbers: bonds that the topology lists decide, or else distances.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.box import Box
from trajet.labels import chain_numbers, residue_labels, residue_names
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.topology import Atoms, Topology, listed
from trajet.trajectory import Trajectory

# Stand for an atom that a residue lacks, or has several of.
_NONE, _SEVERAL = -1, -2
# Longest peptide bond, Å: bonds have 1.33 Å, atoms that are not bonded are 3 Å apart.
PEPTIDE_BOND = 2.0
# Largest distance of the backbones of residues of which one lacks C or N, Å: neighbouring CA are
# 3.8 Å apart.
_NEAR = 5.0
# Residues of calcium, whose atom is called CA.
CALCIUM = ("CA", "CA2", "CA2+", "CAL")


@dataclass(frozen=True)
class BackboneAngles:
    """φ and ψ of residues.

    Attributes
    ----------
    names
        Names of the angles, φ and ψ of one residue after the other.
    fours
        `(2 n, 4)`, int64, atom indices of each angle.
    within_chains
        `(n,)`, bool, whether both neighbours of a residue are in its chain and segment.
    """

    names: tuple[str, ...]
    fours: NDArray[np.int64]
    within_chains: NDArray[np.bool_]


def backbone_dihedrals(atoms: Atoms, label: str, messages: list[Message]) -> BackboneAngles:
    """Return φ and ψ of each residue of `atoms` that has both.

    Residues are neighbours if they follow one another in the topology, or if it lists a bond
    between C of one and N of the other, as that which closes a cyclic peptide. Whether they are
    bonded is not checked. If a residue has several N, CA or C (alternate locations), the one in
    `atoms` is used. Residues with none or several in `atoms` are left out, with a message.

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
    selected = np.unique(atoms.places)
    rows = residues_of_places(atoms)
    before, after = _neighbours(topology, n, c)
    here = selected[(before[selected] != _NONE) & (after[selected] != _NONE)]
    before, after = before[here], after[here]
    fours = np.stack(
        [
            c[before],
            n[here],
            alpha[here],
            c[here],
            n[here],
            alpha[here],
            c[here],
            n[after],
        ],
        axis=1,
    )
    both = (fours >= 0).all(axis=1)
    if doubtful := residue_names(topology, rows[here[~both & (fours != _NONE).all(axis=1)]]):
        messages.append(
            Message(
                Code.RESIDUES_LEFT_OUT,
                "residues left out, since they or their neighbours have several N, CA or C"
                f" (alternate locations?): {listed(doubtful)}",
                f"use a selection that has one of them ({_choice(topology)})",
            )
        )
    chains = chains_of_places(topology)
    within_chains = (chains[before] == chains[here]) & (chains[here] == chains[after])
    has_alpha = has_backbone(topology, np.stack([n, alpha, c], axis=1), rows) & (alpha != _NONE)
    lacking = has_alpha[before] & has_alpha[here] & has_alpha[after] & within_chains
    lacking &= (fours == _NONE).any(axis=1)
    if lacking.any():
        called = residue_labels(topology)[rows[here[lacking]]].tolist()
        messages.append(
            Message(
                Code.RESIDUES_LEFT_OUT,
                "residues left out, since they or their neighbours lack N, CA or C:"
                f" {listed(called)}",
            )
        )
    if not both.any():
        raise SelectionError(
            f"selection {quoted(label)}: none of its {len(selected)} residues has both φ and ψ:"
            " they need the atoms N, CA and C, and neighbours in the sequence; give four atoms of"
            " each angle (quadruples=)" + "".join(f"; {message}" for message in messages)
        )
    names = residue_labels(topology)[rows[here[both]]].tolist()
    return BackboneAngles(
        tuple(f"{angle} {name}" for name in names for angle in ("phi", "psi")),
        fours[both].reshape(-1, 4).astype(np.int64),
        within_chains[both],
    )


def residues_of_places(atoms: Atoms) -> NDArray[np.int64]:
    """Return the residue that stands for each place, `(n_places,)`.

    It is that of the first atom in `atoms`, or of the first of the topology.
    """
    topology = atoms.topology
    residues = np.empty(topology.n_places, np.int64)
    residues[topology.places[::-1]] = topology.atoms_residues[::-1]
    residues[atoms.places[::-1]] = atoms.residues[::-1]
    return residues


def chains_of_places(topology: Topology) -> NDArray[np.int64]:
    """Return a number for chain and segment of each place, `(n_places,)`."""
    _, first = np.unique(topology.places, return_index=True)
    segments = topology.residue_segments[topology.atoms_residues[first]]
    return chain_numbers(Atoms(topology, first)) * max(1, topology.n_segments) + segments


def has_backbone(
    topology: Topology, backbone: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which places have a part of a backbone: two atoms of it, or CA alone.

    Parameters
    ----------
    backbone
        `(n_places, n)`, atoms N, CA and others of each place, negative for none.
    rows
        `(n_places,)`, a residue of each place.
    """
    there = backbone != _NONE
    names = topology.column("resnames")
    calcium = np.zeros(len(rows), np.bool_) if names is None else np.isin(names[rows], CALCIUM)
    return np.asarray((there.sum(axis=1) >= 2) | (there[:, 1] & ~calcium))


def are_bonded(
    trajectory: Trajectory, backbone: NDArray[np.int64], pairs: NDArray[np.int64], longest: float
) -> NDArray[np.bool_]:
    """Return which pairs of places are bonded, from C of the first to N of the second, `(n,)`.

    Bonds of the topology decide where it lists those of CA to C and N; or else distances in frame
    0: of C and N, or of any atoms of the backbones if one lacks them.

    Parameters
    ----------
    trajectory
        The trajectory, whose topology has the places.
    backbone
        `(n_places, 3)` or more, atoms N, CA, C and others of each place, negative for none.
    pairs
        `(n, 2)`, places.
    longest
        The largest distance of C and N, Å.
    """
    bonded, known = _listed_bonds(trajectory.topology, pairs)
    unknown = np.flatnonzero(~known)
    if not len(unknown):
        return bonded
    atoms = backbone[pairs[unknown]]
    columns, there = trajectory.source.index.columns_of(np.maximum(atoms, 0))
    there &= atoms >= 0
    wanted = np.unique(columns[there])
    if not len(wanted):
        return bonded
    frame = trajectory.source.read([0], wanted, None, counted=False)
    positions = np.full((*atoms.shape, 3), np.nan, np.float32)
    positions[there] = frame.positions[0][np.searchsorted(wanted, columns[there])]
    box = Box.of(frame)
    # Distances are NaN without one of both atoms.
    near = box.distances(positions[:, 0, 2], positions[:, 1, 0]) <= longest
    lacking = ~(there[:, 0, 2] & there[:, 1, 0])
    if lacking.any():
        n = atoms.shape[2]
        one, other = positions[lacking, 0].repeat(n, axis=1), np.tile(positions[lacking, 1], (n, 1))
        apart = box.distances(one.reshape(-1, 3), other.reshape(-1, 3)).reshape(-1, n * n)
        near[lacking] = (apart <= _NEAR).any(axis=1)
    bonded[unknown] = near
    return bonded


def _listed_bonds(
    topology: Topology, pairs: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which pairs of places have a listed bond from C to N, and which are known to."""
    bonds, names = topology.connections, topology.column("names")
    if bonds is None or names is None or not len(bonds):
        return np.zeros(len(pairs), np.bool_), np.zeros(len(pairs), np.bool_)
    both = np.concatenate([bonds, bonds[:, ::-1]])
    first, second = names[both].T
    places, n_places = topology.places[both], topology.n_places
    peptide = places[(first == "C") & (second == "N")] @ np.array([n_places, 1])
    bonded = np.isin(pairs @ np.array([n_places, 1]), peptide)
    is_within = places[:, 0] == places[:, 1]
    has_c, has_n = np.zeros((2, n_places), np.bool_)
    has_c[places[is_within & (first == "CA") & (second == "C"), 0]] = True
    has_n[places[is_within & (first == "CA") & (second == "N"), 0]] = True
    return bonded, bonded | (has_c[pairs[:, 0]] & has_n[pairs[:, 1]])


def listed_bonds(
    topology: Topology, fours: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which residues have listed bonds to both neighbours, and of which that is known.

    It is known if the topology lists the bonds within the residue (N-CA and CA-C): PDB files list a
    few of all bonds.

    Parameters
    ----------
    fours
        `(2 n, 4)`, atoms of φ and ψ of one residue after the other.
    """
    phi, psi = fours[::2], fours[1::2]
    connections = topology.connections
    found = np.zeros((0, 2), np.int64) if connections is None else connections
    keys = _keys(found, topology.n_atoms)
    bonded, known = (
        np.all([np.isin(_keys(pairs, topology.n_atoms), keys) for pairs in group], axis=0)
        for group in ((phi[:, :2], psi[:, 2:]), (phi[:, 1:3], phi[:, 2:]))
    )
    return bonded, known


def _keys(pairs: NDArray[np.int64], n_atoms: int) -> NDArray[np.int64]:
    """Return a number for each pair of atoms, whatever their order."""
    return np.asarray(pairs.min(axis=1) * n_atoms + pairs.max(axis=1))


def _choice(topology: Topology) -> str:
    """Return an example of a selection of one of several atoms of a name."""
    locations = topology.native.column("altLocs")
    if isinstance(locations, tuple) and any(text.strip() for text in locations[1]):
        return "'… and not altloc B'"
    return "such as '… and not (resid 7 and resname THR)'"


def _neighbours(
    topology: Topology, n: NDArray[np.int64], c: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the place before and the one after each, `_NONE` without; see `backbone_dihedrals`.

    Parameters
    ----------
    n, c
        The atoms N and C of each place.
    """
    n_places = topology.n_places
    before, after = np.full((2, n_places), _NONE, np.int64)
    before[1:], after[:-1] = np.arange(n_places - 1), np.arange(1, n_places)
    pairs = topology.connections
    if pairs is None or not len(pairs):
        return before, after
    # Each atom that is C or N of a place has the number of that place.
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
    in_line = np.zeros(n_places, np.bool_)
    in_line[first[~closing]] = True
    first, second = first[closing], second[closing]
    # The last place, which is index -1, is followed by none.
    kept = ~in_line[first] & ~in_line[second - 1]
    after[first[kept]], before[second[kept]] = second[kept], first[kept]
    return before, after


def _one_of_each(atoms: Atoms, names: NDArray[np.str_], name: str) -> NDArray[np.int64]:
    """Return the atom of this name at each place; of several, the one in `atoms`.

    Elements are `_NONE` or `_SEVERAL` for places without such an atom or with several.
    """
    found = np.flatnonzero(names == name)
    owners = atoms.topology.places[found]
    one = np.full(atoms.topology.n_places, _NONE, np.int64)
    several = np.bincount(owners, minlength=len(one)) > 1
    one[owners] = found
    one[several] = _SEVERAL
    chosen = several[owners] & np.isin(found, atoms.indices)
    found, owners = found[chosen], owners[chosen]
    alone = np.bincount(owners, minlength=len(one))[owners] == 1
    one[owners[alone]] = found[alone]
    return one


def atoms_of_places(topology: Topology, names: tuple[str, ...]) -> NDArray[np.int64] | None:
    """Return the first atom of each name at each place, -1 for none; None without names.

    Returns
    -------
    numpy.ndarray
        `(n_places, n_names)`, int64.
    """
    if topology.native.column("names") is None:
        return None
    atoms = np.full((topology.n_places, len(names)), _NONE, np.int64)
    for k, name in enumerate(names):
        # If several values are assigned to one element, the last one stays.
        found = topology.atoms.named(name)[::-1]
        atoms[topology.places[found], k] = found
    return atoms


def first_of_each(atoms: Atoms, names: NDArray[np.str_], name: str) -> NDArray[np.int64]:
    """Return the first atom of this name at each place, -1 for none; those in `atoms` precede."""
    found = np.flatnonzero(names == name)
    owners = atoms.topology.places[found]
    first = np.full(atoms.topology.n_places, _NONE, np.int64)
    # If several values are assigned to one element, the last one stays.
    first[owners[::-1]] = found[::-1]
    own = np.isin(found, atoms.indices)
    first[owners[own][::-1]] = found[own][::-1]
    return first
