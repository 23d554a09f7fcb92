"""Axes of tables: what tells the places along a dimension of a result apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

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
    """

    heading: str
    files: Mapping[str, str] = field(default_factory=dict)
    is_named: bool = False
    has_first_label: bool = True


# All kinds by name.
KINDS: Mapping[str, Kind] = {
    "frames": Kind("frame", {"frame": "frame", "time": "time_ps"}),
    # The main selection of an analysis, and further ones.
    "series": Kind("selection", is_named=True, has_first_label=False),
    # Quantities, or groups of atoms, of which none is the main one.
    "groups": Kind("selection", is_named=True),
    "distance": Kind("r (Å)", {"centre": "r_A"}),
    "position": Kind("position (Å)", {"centre": "position_A"}),
    "x": Kind("x (Å)", {"centre": "x_A"}),
    "y": Kind("y (Å)", {"centre": "y_A"}),
    "z": Kind("z (Å)", {"centre": "z_A"}),
    "atoms": Kind(
        "atom",
        {
            **{"atom": "atom", "chain": "chain", "resname": "resname", "resid": "resid"},
            **{"icode": "icode", "name": "name"},
        },
    ),
    "residues": Kind(
        "residue",
        {
            **{"residue": "residue", "chain": "chain", "resname": "resname", "resid": "resid"},
            "icode": "icode",
        },
    ),
    "pairs": Kind("pair of atoms", {"atom": "atom", "partner": "partner"}),
}


# Kinds of numbers of columns in files; of others any.
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("frame", "atom", "partner", "residue", "resid", "number"), "iu"),
    **dict.fromkeys(("time", "centre", "density"), "fiu"),
    **dict.fromkeys(("label", "chain", "resname", "icode", "name", "first", "second"), "U"),
}
# Columns that axes of these kinds have.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "frames": ("frame", "time"),
    "atoms": ("atom",),
    "residues": ("residue", "label"),
    "series": ("label",),
    "groups": ("label",),
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
    """

    kind: str
    columns: Mapping[str, NDArray[np.generic]]
    edges: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        """Return the number of places."""
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
    def of_kind(self) -> Kind:
        """What all axes of this kind have in common."""
        return KINDS.get(self.kind, Kind(self.kind))

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
        columns = {name: column[chosen] for name, column in self.columns.items()}
        edges = None if self.edges is None else edges_of_rows(self.edges, chosen)
        return type(self)(self.kind, columns, edges)

    def labels(self, count: int | None = None) -> list[str]:
        """Return the labels of the first places, or of all."""
        return [str(label) for label in islice(self.columns["label"].tolist(), count)]

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

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        """Return the axis of the arrays of a file, whose names have no prefix.

        Raises
        ------
        ValueError, TypeError
            If columns have different lengths or more than one dimension, are missing, or of another
            type.
        """
        columns = dict(arrays)
        kind, edges = text_of(columns.pop("kind")), columns.pop("edges", None)
        if {column.ndim for column in columns.values()} != {1}:
            raise ValueError("an axis has columns of one dimension")
        for name, column in columns.items():
            if column.dtype.kind not in _TYPES.get(name, "biufU"):
                raise TypeError(f"{name} is of the type {column.dtype.name}")
        if missing := {*_NEEDED.get(kind, ())} - {*columns}:
            raise ValueError(f"an axis of {kind} has no {', '.join(sorted(missing))}")
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError("columns of an axis have different lengths")
        made = cls(kind, columns, None if edges is None else edges.astype(np.float64))
        if made.edges is not None and made.edges.shape != (len(made) + 1,):
            raise ValueError(f"{len(made)} bins have edges of the shape {made.edges.shape}")
        return made


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


def series(labels: Sequence[str], kind: str = "series") -> tuple[Axis, ...]:
    """Return the axis of several series; none of a single one, whose values need no dimension."""
    return (named(kind, labels),) if len(labels) > 1 else ()


def text_of(array: NDArray[np.generic]) -> str:
    """Return the text of an array without a dimension.

    Raises
    ------
    TypeError
        If it is none.
    """
    value = array.item()
    if not isinstance(value, str):
        raise TypeError(f"a name is no text but of the type {array.dtype.name}")
    return value
