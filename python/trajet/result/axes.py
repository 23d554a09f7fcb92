"""`Axis`: what the places along a dimension of a table are, and the kinds of axes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Kind:
    """What all axes of one kind have in common.

    Attributes
    ----------
    heading
        Heading of the names of its places in tables of a terminal.
    files
        Names in files of the columns that files have, in their order.
    is_named
        Whether each place is a column of a file, with its label in the header; else it is a row.
    has_first_label
        Whether the header of the first place has its label: not where that is the selection of the
        command.
    identity
        Columns that tell places apart in any system, also after a mutation; where there are none,
        labels or the order of the places do.
    needs
        Those of `identity` without which the first column of `files` tells places apart.
    required
        Columns that an axis of this kind has in any file.
    has_members
        Whether places consist of places of another axis.
    joint
        What stands between a label of the axis before and one of this axis.
    """

    heading: str
    files: Mapping[str, str] = field(default_factory=dict)
    is_named: bool = False
    has_first_label: bool = True
    identity: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    has_members: bool = False
    joint: str = " - "


class IdentityKey(NamedTuple):
    """Which column of identity an array is.

    Attributes
    ----------
    column
        Its name.
    members
        Where places consist of others: which of these, such as 1 for the second atom of a pair; and
        so on where these consist of others, too.
    axis
        Number of the axis of a table.
    """

    column: str
    members: tuple[int, ...] = ()
    axis: int = 0


_LABEL = ("label",)
_ATOMS = Kind(
    "atom",
    {name: name for name in ("atom", "chain", "resname", "resid", "icode", "name")},
    # An ion is no mutation of an atom. Names of residues tell apart what shares all else.
    identity=("chain", "resid", "icode", "name", "ion", "resname"),
    needs=("resid", "name"),
    required=("atom",),
)
_RESIDUES = Kind(
    "residue",
    {name: name for name in ("residue", "chain", "resname", "resid", "icode")},
    # An ion is no mutation of another ion: its first atom has another name.
    identity=("chain", "resid", "icode", "first", "resname"),
    needs=("resid",),
    required=("residue", "label"),
)
# All kinds by name.
KINDS: Mapping[str, Kind] = {
    "frames": Kind("frame", {"frame": "frame", "time": "time_ps"}, required=("frame", "time")),
    # The main selection of an analysis, and further ones.
    "series": Kind(
        "selection", is_named=True, has_first_label=False, identity=_LABEL, required=_LABEL
    ),
    # Quantities, or groups of atoms, of which none is the main one.
    "groups": Kind("selection", is_named=True, identity=_LABEL, required=_LABEL),
    # Columns of files of other programs, with units of their own.
    "quantities": Kind("quantity", is_named=True, identity=_LABEL, required=_LABEL),
    "classes": Kind("class", is_named=True, identity=("letter",), required=("label", "letter")),
    "coordinates": Kind("coordinate", is_named=True, identity=_LABEL, required=_LABEL, joint=" "),
    "chains": Kind("chain", is_named=True, identity=("chain",), required=_LABEL),
    # By their first and last residues.
    "molecules": Kind("molecule", is_named=True, required=_LABEL, has_members=True),
    # Dihedral angles of four atoms, or the cosine or sine of each.
    "angles": Kind(
        "angle", is_named=True, identity=("function",), required=_LABEL, has_members=True
    ),
    "distance": Kind("r (Å)", {"centre": "r_A"}),
    "position": Kind("position (Å)", {"centre": "position_A"}),
    "x": Kind("x (Å)", {"centre": "x_A"}),
    "y": Kind("y (Å)", {"centre": "y_A"}),
    "z": Kind("z (Å)", {"centre": "z_A"}),
    # Bins of any quantity, which the axis names, such as an angle; and basins of two of them.
    "bins": Kind("value", {"centre": "value"}, required=("centre",)),
    "basins": Kind("basin", {"number": "basin", "x": "x", "y": "y"}, required=("number", "x")),
    "atoms": _ATOMS,
    "residues": _RESIDUES,
    # Those of the columns of a matrix.
    "other atoms": replace(_ATOMS, files={name: f"other_{name}" for name in _ATOMS.files}),
    "other residues": replace(_RESIDUES, files={name: f"other_{name}" for name in _RESIDUES.files}),
    "pairs": Kind("pair", {"atom": "atom", "partner": "partner"}),
    "hydrogen bonds": Kind("pair", has_members=True),
    # Each bond of each frame.
    "bonds": Kind("bond", {"frame": "frame"}, required=("frame",), has_members=True),
    # Kinds of interactions; pairs by kind; the pairs of each frame; and all of each frame.
    "kinds": Kind("interaction", is_named=True, identity=_LABEL, required=_LABEL),
    "interactions": Kind(
        "pair",
        {"interaction": "kind", "label": "label"},
        identity=("interaction",),
        required=("interaction",),
        has_members=True,
    ),
    "bits": Kind("bit", {"frame": "frame"}, required=("frame",)),
    "interaction list": Kind(
        "interaction", {"frame": "frame"}, required=("frame", "interaction"), has_members=True
    ),
    # Neighbours of centres: by distance, by their number, and centres by the place of the nearest.
    "shells": Kind("shell", is_named=True, identity=_LABEL, required=_LABEL),
    "numbers": Kind("neighbours", {"label": "neighbours"}, identity=_LABEL, required=_LABEL),
    "species": Kind("species", is_named=True, identity=_LABEL, required=_LABEL),
    "components": Kind("component", is_named=True, identity=_LABEL, required=_LABEL),
    "clusters": Kind("cluster", {"number": "cluster"}, required=("number",)),
    "other frames": Kind("frame", is_named=True, required=("frame", "time", "label")),
    # Places of arrays that a user's function returned.
    "index": Kind("index", {"index": "index"}, required=("index", "label"), joint="_"),
    # Groups of particles, and blocks of time origins.
    "parts": Kind("part", is_named=True, identity=_LABEL, required=_LABEL),
    "lag": Kind("lag (ps)", {"time": "lag_ps"}, required=("time",)),
    # Numbers that describe a whole result, each with its unit.
    "scalars": Kind(
        "quantity",
        {"label": "quantity", "unit": "unit"},
        identity=_LABEL,
        required=("label", "unit"),
    ),
    "wavenumber": Kind(
        "wavenumber (1/cm)", {"wavenumber": "wavenumber_per_cm"}, required=("wavenumber",)
    ),
    # Lags of correlation functions.
    "time": Kind("time (ps)", {"time": "time_ps"}, required=("time",)),
}


@dataclass(frozen=True, eq=False)
class Axis:
    """The places along one dimension of a table.

    Attributes
    ----------
    kind
        One of `KINDS`.
    columns
        What tells the places apart, one element for each place: numbers, names, times. "label" is
        for people only.
    edges
        `(n + 1,)`, the edges of bins, of which "centre" is a column; None if the places are none.
    of, members
        The axis of what the places consist of, and `(n, k)`, its places: the two atoms of each
        pair, the four of each angle. None if the places do not consist of others.
    is_reference
        Whether the places are those of a reference structure, which labels say.
    quantity, units
        Name and unit of what bins divide; empty where the kind says it.
    period
        Period of that quantity on a circle, such as 360 of angles, or of the values of frames; None
        of others.
    """

    kind: str
    columns: Mapping[str, NDArray[np.generic]]
    edges: NDArray[np.float64] | None = None
    of: "Axis | None" = None
    members: NDArray[np.int64] | None = None
    is_reference: bool = False
    quantity: str = ""
    units: str = ""
    period: float | None = None

    def __len__(self) -> int:
        if self.members is not None:
            return len(self.members)
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        """Return a column.

        Raises
        ------
        KeyError
            If there is no such column.
        """
        return self.columns[name]

    @property
    def bin_edges(self) -> NDArray[np.float64]:
        """The edges of bins, `(n + 1,)`; ValueError if the places are none."""
        if self.edges is None:
            raise ValueError(f"an axis of the kind {self.kind!r} without edges of bins")
        return self.edges

    @property
    def label(self) -> str:
        """What the bins divide, with its unit, as on the axis of a figure."""
        return f"{self.quantity} ({self.units})" if self.units else self.quantity

    @property
    def is_closed(self) -> bool:
        """Whether the last bin borders on the first one: they divide a whole circle."""
        if self.period is None or self.edges is None:
            return False
        return bool(np.isclose(self.edges[-1] - self.edges[0], self.period))

    @cached_property
    def of_kind(self) -> Kind:
        """What all axes of this kind have in common."""
        return KINDS.get(self.kind, Kind(self.kind))

    def with_column(self, name: str, column: NDArray[np.generic]) -> Self:
        """Return the axis with a further column, or another one of this name."""
        return replace(self, columns={**self.columns, name: column})

    def get(self, name: str) -> NDArray[np.generic] | None:
        """Return a column, or None if there is no such column."""
        return self.columns.get(name)

    def some(self, chosen: "slice | NDArray[np.generic]") -> Self:
        """Return the axis of some of the places.

        Raises
        ------
        ValueError
            If they are bins that do not follow one another.
        """
        return replace(
            self,
            columns={name: column[chosen] for name, column in self.columns.items()},
            edges=None if self.edges is None else edges_of_rows(self.edges, chosen),
            members=None if self.members is None else self.members[chosen],
        )

    def labels(self, count: int | None = None) -> list[str]:
        """Return the labels of the first places, or of all."""
        if self.of is not None and self.members is not None and "label" not in self.columns:
            known = self.of.labels()
            return [" - ".join(known[k] for k in one) for one in self.members[:count].tolist()]
        labels: list[str] = self.columns["label"][:count].astype(np.str_).tolist()
        return [f"reference {label}" for label in labels] if self.is_reference else labels

    @property
    def elements(self) -> "Axis":
        """The axis of what the places consist of: the axis itself if they do not."""
        return self if self.of is None else self.of

    def atoms(self) -> NDArray[np.int64] | None:
        """Return the atoms of each place, `(n, k)`, int64; None if places are no atoms."""
        atoms = self.elements.get("atom") if self.elements.kind == "atoms" else None
        if atoms is None:
            return None
        members = np.arange(len(atoms))[:, None] if self.members is None else self.members
        found: NDArray[np.int64] = atoms.astype(np.int64, copy=False)[members]
        return found

    def identity(self) -> dict[IdentityKey, NDArray[np.generic]]:
        """Return the columns that tell the places apart in any system, also after a mutation.

        Atoms are the same in two systems if chain, residue number, insertion code and name are
        equal; residues if chain, number, code and the name of their first atom are. Topologies
        without these have the index instead. Bins are the same if their numbers are. The column
        "resname" counts only between places that have all other columns in common.
        """
        kind = self.of_kind
        names = [name for name in kind.identity if name in self.columns]
        if any(name not in self.columns for name in kind.needs):
            names = [*kind.files][:1]
        found = {IdentityKey(name): self._column_of_identity(name) for name in names}
        if self.of is not None and self.members is not None:
            for key, column in self.of.identity().items():
                for k, places in enumerate(self.members.T):
                    found[key._replace(members=(k, *key.members))] = column[places]
        if not found:
            name = "label" if "label" in self.columns else "order"
            found[IdentityKey(name)] = self._column_of_identity(name)
        return found

    def _column_of_identity(self, name: str) -> NDArray[np.generic]:
        """Return a column; labels as in the headers of files."""
        if name == "label":
            return np.array(self.labels_in_headers(), np.str_)
        return np.arange(len(self)) if name == "order" else self.columns[name]

    def without_chains(self) -> tuple[list[str] | None, list[str]]:
        """Return chains and labels without them; None and the labels if these have no chains."""
        labels, chains = self.labels(), self.columns.get("chain")
        begins = [] if chains is None else [f"{chain}:" for chain in chains.tolist()]
        if not begins or not all(map(str.startswith, labels, begins)):
            return None, labels
        return [begin[:-1] for begin in begins], list(map(str.removeprefix, labels, begins))

    def labels_in_headers(self) -> list[str]:
        """Return the label of each place in the header of a file, empty where it has none."""
        labels = self.labels()
        return labels if self.of_kind.has_first_label else ["", *labels[1:]]

    def arrays(self, prefix: str) -> Iterator[tuple[str, NDArray[np.generic]]]:
        """Yield the arrays of a file, whose names begin with `prefix`."""
        yield f"{prefix}.kind", np.array(self.kind)
        for name, column in self.columns.items():
            yield f"{prefix}.{name}", column
        if self.edges is not None:
            yield f"{prefix}.edges", self.edges
        if self.is_reference:
            yield f"{prefix}.is_reference", np.array(True)
        if self.quantity:
            yield f"{prefix}.quantity", np.array(self.quantity)
            yield f"{prefix}.units", np.array(self.units)
        if self.period is not None:
            yield f"{prefix}.period", np.array(self.period)
        if self.of is not None and self.members is not None:
            yield f"{prefix}.members", self.members
            yield from self.of.arrays(f"{prefix}.of")


def bins(kind: str, edges: NDArray[np.float64]) -> Axis:
    """Return the axis of bins between edges, `(n + 1,)`."""
    return Axis(kind, {"centre": (edges[:-1] + edges[1:]) / 2}, edges)


def edges_of_rows(
    edges: NDArray[np.float64], chosen: "slice | NDArray[np.generic]"
) -> NDArray[np.float64]:
    """Return the edges (`(n + 1,)`) of the chosen bins out of `n`.

    Raises
    ------
    ValueError
        If the bins do not follow one another.
    """
    chosen_bins = np.arange(len(edges) - 1)[chosen]
    if not len(chosen_bins) or (np.diff(chosen_bins) != 1).any():
        raise ValueError("the bins must follow one another: take a slice of some")
    return edges[chosen_bins[0] : chosen_bins[-1] + 2]


def named(kind: str, labels: Sequence[str], **columns: NDArray[np.generic]) -> Axis:
    """Return an axis whose places have labels."""
    return Axis(kind, {"label": np.array(labels, np.str_), **columns})


def pairs_within(axis: Axis) -> Axis:
    """Return the axis of all pairs of places of an axis: 0-1, 0-2, …, 1-2 and so on."""
    return Axis("pairs", {}, of=axis, members=np.stack(np.triu_indices(len(axis), 1), axis=1))


def series(labels: Sequence[str], kind: str = "series") -> tuple[Axis, ...]:
    """Return the axis of several series; none of a single one, whose values need no dimension."""
    return (named(kind, labels),) if len(labels) > 1 else ()
