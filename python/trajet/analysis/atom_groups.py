"""Groups of atoms: the residues, molecules or chains of selections."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.arguments import AsOption, OtherAtoms
from trajet.analysis.reference import Weights, weights_of
from trajet.analysis.runner import further_selection, main_selection
from trajet.labels import atom_labels, chains_of, first_atoms, residue_labels
from trajet.messages import Message
from trajet.particles import masses_as_weights
from trajet.result.axes import Axis, named
from trajet.topology import Atoms, Topology
from trajet.trajectory import Selection, Trajectory

if TYPE_CHECKING:
    from trajet.universes import AtomGroup

GroupBy: TypeAlias = Literal["residue", "molecule", "chain", "selection"]

# One selection, or a list of several.
Selections: TypeAlias = Annotated[
    "str | Selection | AtomGroup | Sequence[str | Selection | AtomGroup]",
    AsOption(Sequence[OtherAtoms]),
]


@dataclass(frozen=True)
class AtomGroups:
    """Groups of atoms of one or several selections, one after the other.

    Attributes
    ----------
    selections
        The selections.
    columns
        `(n_atoms,)`, int64: columns in a frame of the atoms of the first group, then of the next.
    per_selection
        Number of groups of each selection.
    sizes
        Number of atoms of each group.
    axis
        The axis of the groups, with labels and numbers of atoms ("size"); the labels of those of
        one selection are different.
    weights
        `(n_atoms,)`, float64; None for equal weights.
    """

    selections: list[Selection]
    columns: NDArray[np.int64]
    per_selection: list[int]
    sizes: list[int]
    axis: Axis
    weights: NDArray[np.float64] | None

    @property
    def labels(self) -> tuple[str, ...]:
        """Name of each group."""
        return tuple(self.axis.labels())

    def n_groups_of(self, n: int) -> int:
        """Return the number of groups of the first `n` selections."""
        return sum(self.per_selection[:n])

    @classmethod
    def of(
        cls, selections: list[Selection], by: GroupBy, weights: Weights, messages: list[Message]
    ) -> "AtomGroups":
        """Divide selections into groups; append messages on guessed masses.

        Raises
        ------
        ValueError
            If `by` is not known, or weights as numbers are given for several selections.
        SelectionError
            If masses are requested and missing, or molecules and the topology has no bonds.
        """
        if by not in ("residue", "molecule", "chain", "selection"):
            raise ValueError(
                f"by must be 'residue', 'molecule', 'chain' or 'selection', not {by!r}"
            )
        if len(selections) > 1 and not isinstance(weights, str):
            raise ValueError(
                "weights of several selections are 'mass' or 'equal': give numbers for one"
                " selection"
            )
        columns, numbers, first, last = [], [], [], []
        per_selection, sizes, labels = list[int](), list[int](), list[str]()
        for selection in selections:
            order, counts, names = _divided(selection, by)
            columns.append(selection.columns[order])
            if isinstance(weights, str) and weights == "mass":
                atoms = selection.topology_atoms[order]
                numbers.append(masses_as_weights(atoms, messages, counts, tuple(names)))
            elif (found := weights_of(weights, selection, messages)) is not None:
                numbers.append(found[order])
            per_selection.append(len(counts))
            sizes.extend(counts)
            ends = np.cumsum(counts)
            labels.extend(_distinct(names, selection.indices[order[ends - counts]]))
            first.append(selection.indices[order[ends - counts]])
            last.append(selection.indices[order[ends - 1]])
        ends_of_groups = np.stack([np.concatenate(first), np.concatenate(last)])
        return cls(
            selections,
            np.concatenate(columns),
            per_selection,
            sizes,
            _groups_axis(selections[0].trajectory, by, labels, ends_of_groups).with_column(
                "size", np.array(sizes, np.int64)
            ),
            np.concatenate(numbers) if numbers else None,
        )


def main_selections(thing: Selections) -> list[Selection]:
    """Return the selections that are the first argument of an analysis: one or several.

    Raises
    ------
    TypeError
        If the first is no selection, or there is none.
    """
    if not isinstance(thing, (list, tuple)):
        return [main_selection(cast("Selection", thing))]
    if not thing:
        raise TypeError("the list of selections is empty: give at least one selection")
    first = main_selection(thing[0])
    return [first, *(further_selection(one, first.trajectory) for one in thing[1:])]


def further_selections(thing: Selections, trajectory: Trajectory) -> list[Selection]:
    """Return further selections of the same system: one or several."""
    if isinstance(thing, (list, tuple)):
        return [further_selection(one, trajectory) for one in thing]
    return [further_selection(cast("Selection", thing), trajectory)]


def atoms_axis(selection: Selection) -> Axis:
    """Return the axis of the atoms of a selection, with the columns that the topology has."""
    if not selection.trajectory.has_topology:
        return Axis("atoms", {"atom": selection.indices})
    return axis_of_atoms(selection.topology_atoms)


def axis_of_atoms(atoms: Atoms) -> Axis:
    """Return the axis of atoms, with the columns that their topology has."""
    names, resnames = atoms.column("names"), atoms.column("resnames")
    of_atoms = {} if names is None else {"name": names}
    if names is not None and resnames is not None:
        # The atom CA of a residue is no calcium ion of its number, which is CA or CA2.
        is_ion = np.bincount(atoms.topology.atoms_residues)[atoms.residues] == 1
        is_ion &= np.char.startswith(resnames, names)
        if is_ion.any():
            of_atoms["ion"] = np.where(is_ion, names, "")
    labels = atom_labels(atoms.topology, atoms.indices)
    return Axis(
        "atoms", {"atom": atoms.indices, **_residues_of(atoms), **of_atoms, "label": labels}
    )


def labelled_atoms(selection: Selection) -> Axis:
    """Return `atoms_axis` with labels also where there is no topology: "atom17"."""
    axis = atoms_axis(selection)
    if "label" in axis.columns:
        return axis
    return axis.with_column("label", atom_labels(None, selection.indices))


def residues_axis(topology: Topology, residues: NDArray[np.int64]) -> Axis:
    """Return the axis of residues, given by their numbers, with the columns that there are."""
    first = Atoms(topology, first_atoms(topology)[residues])
    names, labels = first.column("names"), residue_labels(topology)[residues]
    of_first = {} if names is None else {"first": names}
    columns = {"residue": residues, **_residues_of(first), **of_first, "label": labels}
    return Axis("residues", columns)


def _residues_of(atoms: Atoms) -> dict[str, NDArray[np.generic]]:
    """Return chain, name, number and insertion code of the residue of each atom, as far as known.

    Codes are there if one of the residues has one.
    """
    codes = atoms.column("icodes")
    codes = None if codes is None else np.char.strip(codes)
    columns: dict[str, NDArray[np.generic] | None] = {
        "chain": chains_of(atoms),
        "resname": atoms.column("resnames"),
        "resid": atoms.column("resids"),
        "icode": codes if codes is not None and (codes != "").any() else None,
    }
    return {name: column for name, column in columns.items() if column is not None}


def _groups_axis(
    trajectory: Trajectory, by: GroupBy, labels: Sequence[str], ends: NDArray[np.int64]
) -> Axis:
    """Return the axis of groups, given their labels and first and last atoms, `(2, n)`."""
    if by == "selection":
        return named("groups", labels)
    topology = trajectory.topology
    if by == "chain":
        chains = chains_of(topology.atoms[ends[0]])
        return named("chains", labels, **({} if chains is None else {"chain": chains}))
    residues = topology.atoms_residues[ends]
    if by == "residue":
        return residues_axis(topology, residues[0]).with_column("label", np.array(labels, np.str_))
    found, members = np.unique(residues, return_inverse=True)
    of = residues_axis(topology, found)
    return replace(named("molecules", labels), of=of, members=members.reshape(2, -1).T)


def _divided(selection: Selection, by: GroupBy) -> tuple[NDArray[np.int64], list[int], list[str]]:
    """Return the atoms of a selection in the order of its groups, and sizes and names of these.

    Groups are in the order of their first atoms.
    """
    if by == "selection":
        return np.arange(selection.n_atoms), [selection.n_atoms], [selection.label]
    numbers = selection.group_numbers(by)
    _, first, which, counts = np.unique(
        numbers, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(first), np.int64)
    kinds = np.argsort(first)
    rank[kinds] = np.arange(len(first))
    order = np.argsort(rank[which], kind="stable")
    sizes = counts[kinds]
    ends = np.cumsum(sizes)
    atoms = selection.topology_atoms[order]
    if by == "chain":
        names = _chains(selection, first[kinds])
    else:
        labels = residue_labels(selection.trajectory.topology)
        names = labels[atoms.residues[ends - sizes]].tolist()
        if by == "molecule":
            last = labels[atoms.residues[ends - 1]].tolist()
            names = [
                name if name == other else f"{name}-{other}"
                for name, other in zip(names, last, strict=True)
            ]
    return order, sizes.tolist(), names


def _chains(selection: Selection, first: NDArray[np.int64]) -> list[str]:
    """Return the identifier of the chain of each of these atoms of a selection."""
    found = chains_of(selection.topology_atoms[first])
    named = range(1, len(first) + 1) if found is None else found.tolist()
    return [f"chain {one}" for one in named]


def _distinct(labels: list[str], first: NDArray[np.int64]) -> list[str]:
    """Return labels; to those that occur several times the index of the first atom is added."""
    names, counts = np.unique(labels, return_counts=True)
    repeated = set(names[counts > 1].tolist())
    return [
        f"{label}@{atom}" if label in repeated else label
        for label, atom in zip(labels, first.tolist(), strict=True)
    ]
