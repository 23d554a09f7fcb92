"""`BondSearch`: the donors and acceptors among which hydrogen bonds are searched."""

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, SelectionError
from trajet.alternate_locations import locations_of
from trajet.analysis.hydrogen_sites import HydrogenSites
from trajet.analysis.runner import AnalysisOutcome
from trajet.quoting import quoted
from trajet.trajectory import Selection


class BondSearch:
    """A search for hydrogen bonds: its donors and acceptors, and the labels of their groups.

    Parameters
    ----------
    main
        The main selection.
    sites
        Donors with their hydrogens, and acceptors.
    groups
        Two groups, for bonds between them; None for bonds of all.
    by
        Kind of pairs, as for `hbonds`.
    """

    def __init__(
        self,
        main: Selection,
        sites: HydrogenSites,
        groups: tuple[Selection, Selection] | None,
        by: str,
    ) -> None:
        topology = main.trajectory.topology
        pairs, acceptors = sites.pairs, sites.acceptors
        # The groups that have labels, and the label of each pair and acceptor.
        if by == "residue":
            of_donors = topology.atoms_residues[pairs[:, :1]]
            of_acceptors = topology.atoms_residues[acceptors]
        else:
            of_donors, of_acceptors = pairs if by == "bond" else pairs[:, :1], acceptors
        self._donors, labels = np.unique(of_donors, axis=0, return_inverse=True)
        self._acceptors, acceptor_labels = np.unique(of_acceptors, return_inverse=True)
        columns = [_columns(main, atoms) for atoms in (pairs[:, 0], pairs[:, 1], acceptors)]
        every = np.concatenate([pairs[:, 0], pairs[:, 1], acceptors])
        self._locations = locations_of(topology, every, np.concatenate(columns))
        self._searches: list[dict[str, NDArray[np.int64]]] = []
        for donor_group, acceptor_group in _directions(groups):
            kept = _among(pairs[:, 0], donor_group)
            taken = _among(acceptors, acceptor_group)
            self._searches.append(
                {
                    "donors": columns[0][kept],
                    "hydrogens": columns[1][kept],
                    "donor_labels": labels.reshape(-1)[kept],
                    "acceptors": columns[2][taken],
                    "acceptor_labels": acceptor_labels[taken],
                }
            )
        if groups is not None and not any(
            len(search["donors"]) and len(search["acceptors"]) for search in self._searches
        ):
            raise SelectionError(
                f"between {quoted(groups[0].label)} and {quoted(groups[1].label)}: neither group"
                " has a donor with hydrogens where the other has an acceptor"
            )

    def plan(
        self, fold: str, labels: tuple[int, int] | None, *, most: int, **criterion: object
    ) -> Plan:
        """Return the plan of a run that collects `fold`, with at most `most` entries.

        Only the donors with a label in the range `labels` are searched; None for all.
        """
        searches = self._searches
        if labels is not None:
            searches = [_with_labels(search, *labels) for search in searches]
        return Plan(
            "hydrogen_bonds",
            searches=searches,
            fold=fold,
            most=most,
            n_acceptor_labels=len(self._acceptors),
            locations=self._locations,
            **criterion,
        )

    def bonds_of_donors(self, outcome: AnalysisOutcome) -> NDArray[np.int64]:
        """Return the number of bonds of each label of donors, from a run for occupancies."""
        labels = outcome.integers("keys") // len(self._acceptors)
        counts = outcome.integers("counts")
        return np.bincount(labels, counts, len(self._donors)).astype(np.int64)

    def table(
        self, outcome: AnalysisOutcome
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return members and count of each pair, the most frequent first, and its place by key."""
        keys, counts = outcome.integers("keys"), outcome.integers("counts")
        donors, acceptors = np.divmod(keys, len(self._acceptors))
        order = np.argsort(-counts, kind="stable")
        members = np.column_stack([self._donors[donors], self._acceptors[acceptors]])
        return members[order], counts[order], order


def _with_labels(
    search: dict[str, NDArray[np.int64]], first: int, last: int
) -> dict[str, NDArray[np.int64]]:
    """Return a search of the donors with a label from `first` on, before `last`."""
    kept = (search["donor_labels"] >= first) & (search["donor_labels"] < last)
    return {
        name: values[kept] if name in ("donors", "hydrogens", "donor_labels") else values
        for name, values in search.items()
    }


def _directions(
    groups: tuple[Selection, Selection] | None,
) -> list[tuple[Selection | None, Selection | None]]:
    """Return the group of the donors and that of the acceptors of each search; None for all."""
    return [(None, None)] if groups is None else [groups, groups[::-1]]


def _among(atoms: NDArray[np.int64], group: Selection | None) -> NDArray[np.bool_]:
    """Return which atoms belong to a group."""
    return np.isin(atoms, group.indices) if group is not None else np.ones(len(atoms), np.bool_)


def _columns(main: Selection, atoms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the columns of atoms in a frame.

    Raises
    ------
    SelectionError
        If an atom is in a tag of a data set that is not open.
    """
    columns, there = main.trajectory.source.index.columns_of(atoms)
    if not there.all():
        raise SelectionError(
            f"{main.trajectory.label}: hydrogens of {int((~there).sum())} donors are in tags that"
            " are not open: open the whole data set"
        )
    return columns
