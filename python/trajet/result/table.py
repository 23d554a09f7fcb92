"""`Table`: values with an `Axis` for each dimension, which tells its places apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice, product
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeGuard,
    TypeVar,
    cast,
)

import numpy as np
from numpy.typing import NDArray

from trajet.quoting import quoted
from trajet.result.per_frame import PerFrame
from trajet.result.report import Report, analysis_of
from trajet.result.result import Columns, column_name, count_of_frames, names_column
from trajet.result.summary import Column, Summary
from trajet.result.times import ROUNDING, decimals_within, shortest_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look
    from trajet.uncertainty.estimates import Discard
    from trajet.uncertainty.statistics import Statistics


_T = TypeVar("_T", bound=np.generic)


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
# All kinds by name.
KINDS: Mapping[str, Kind] = {
    "frames": Kind("frame", {"frame": "frame", "time": "time_ps"}, required=("frame", "time")),
    # The main selection of an analysis, and further ones.
    "series": Kind(
        "selection", is_named=True, has_first_label=False, identity=_LABEL, required=_LABEL
    ),
    # Quantities, or groups of atoms, of which none is the main one.
    "groups": Kind("selection", is_named=True, identity=_LABEL, required=_LABEL),
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
    "atoms": Kind(
        "atom",
        {name: name for name in ("atom", "chain", "resname", "resid", "icode", "name")},
        # An ion is no mutation of an atom. Names of residues tell apart what shares all else.
        identity=("chain", "resid", "icode", "name", "ion", "resname"),
        needs=("resid", "name"),
        required=("atom",),
    ),
    "residues": Kind(
        "residue",
        {name: name for name in ("residue", "chain", "resname", "resid", "icode")},
        # An ion is no mutation of another ion: its first atom has another name.
        identity=("chain", "resid", "icode", "first", "resname"),
        needs=("resid",),
        required=("residue", "label"),
    ),
    "pairs": Kind("pair", {"atom": "atom", "partner": "partner"}),
    "hydrogen bonds": Kind("pair", has_members=True),
    # Each bond of each frame.
    "bonds": Kind("bond", {"frame": "frame"}, required=("frame",), has_members=True),
    "components": Kind("component", is_named=True, identity=_LABEL, required=_LABEL),
    "clusters": Kind("cluster", {"number": "cluster"}, required=("number",)),
    # Those of the columns of a matrix.
    "other frames": Kind("frame", is_named=True, required=("frame", "time", "label")),
    # Places of arrays that a user's function returned.
    "index": Kind("index", {"index": "index"}, required=("index", "label"), joint="_"),
    # Groups of particles, and blocks of time origins.
    "parts": Kind("part", is_named=True, identity=_LABEL, required=_LABEL),
    "lag": Kind("lag (ps)", {"time": "lag_ps"}, required=("time",)),
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
    """

    kind: str
    columns: Mapping[str, NDArray[np.generic]]
    edges: NDArray[np.float64] | None = None
    of: "Axis | None" = None
    members: NDArray[np.int64] | None = None
    is_reference: bool = False

    def __len__(self) -> int:
        """Return the number of places."""
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

        Atoms and residues are told apart by chain, number, insertion code and name, or by their
        index where a topology does not have these; bins by their order. The column "resname" only
        tells apart what has all other columns in common.
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


@dataclass(frozen=True, repr=False)
class Table(PerFrame):
    """Values with an axis for each dimension: frames, series, atoms, residues, pairs.

    CSV files have a row for each place of the first axis, with its columns, such as frame and
    time_ps, and a column for each place of the named axes, such as `rmsd_A:name_CA`.

    Attributes
    ----------
    values
        As many dimensions as axes; `units`. Other types than float64 where a subclass says so.
    axes
        What the places along each dimension are; see `Axis`.
    name, units
        Name of the computed quantity, and its unit.
    selections
        The selections that the values are of, as text.
    report
        Timings and counters of the run.
    label
        Name of the only series in the headers of files; empty if it is the selection.
    standard_errors, half_widths
        In the shape of the values, `units`: standard errors, and longer sides of 95 % intervals;
        None if they were not asked for.
    resolved
        In the shape of the values, bool: whether the run is long enough to trust the interval; None
        without errors.
    also
        Further arrays in the shape of the values, such as counts, by name.
    parts
        Further tables with axes of their own, by name.

    Subclasses may have further fields: numbers, texts, or tuples of texts, with a default. Fields
    whose metadata have `is_saved=False` are not in files.
    """

    values: NDArray[np.float64]
    axes: tuple[Axis, ...]
    name: str
    units: str
    selections: tuple[str, ...]
    report: Report
    label: str = ""
    standard_errors: NDArray[np.float64] | None = None
    half_widths: NDArray[np.float64] | None = None
    resolved: NDArray[np.bool_] | None = None
    also: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    parts: "Mapping[str, Table]" = field(default_factory=dict)

    _ROWS: ClassVar[tuple[str, ...]] = ("values",)
    # Whether values per frame are numbers with a mean over time and over replicas: not numbers of
    # classes and clusters, and projections on components of one run.
    HAS_SERIES: ClassVar[bool] = True
    # Whether files have only some places as rows, such as pairs that are ever in contact, and the
    # values of others are 0. Such a class has `in_contact` and `table_of`.
    IS_PARTIAL: ClassVar[bool] = False
    # Kinds of the types of the values: numbers or texts.
    VALUES: ClassVar[str] = "iuf"
    # Kinds of the axes, further arrays and parts that files of a subclass must have; any if empty.
    AXES: ClassVar[tuple[tuple[str, ...], ...]] = ()
    ALSO: ClassVar[tuple[str, ...]] = ()
    TABLES: ClassVar[tuple[str, ...]] = ()
    # Classes of parts that are more than tables.
    CLASSES: "ClassVar[Mapping[str, type[Table]]]" = MappingProxyType({})
    # Names of the arrays that each file has.
    REQUIRED: ClassVar[tuple[str, ...]] = ("values", "name", "units", "selections", "label")

    def __post_init__(self) -> None:
        """Check that all arrays have the shape of the axes.

        Raises
        ------
        ValueError
            If they have not.
        """
        shape = tuple(map(len, self.axes))
        for name, array in {"values": self.values, **self._errors(), **self.also}.items():
            if np.shape(array) != shape:
                raise ValueError(f"{name} have the shape {np.shape(array)}, and the axes {shape}")

    def _errors(self) -> dict[str, NDArray[np.generic]]:
        """Return errors and whether they are resolved, as far as they are known, by field."""
        fields = {
            "standard_errors": self.standard_errors,
            "half_widths": self.half_widths,
            "resolved": self.resolved,
        }
        return {name: array for name, array in fields.items() if array is not None}

    def axis(self, kind: str) -> Axis:
        """Return the axis of a kind, such as "frames" or "atoms".

        Raises
        ------
        KeyError
            If there is none.
        """
        for one in self.axes:
            if one.kind == kind:
                return one
        raise KeyError(f"no axis {kind!r}: there are {', '.join(one.kind for one in self.axes)}")

    def _column(self, kind: str, name: str) -> NDArray[np.generic]:
        """Return a column of an axis, for a property.

        Raises
        ------
        AttributeError
            If there is no such axis.
        """
        try:
            return self.axis(kind)[name]
        except KeyError as error:
            raise AttributeError(f"{self.name}: {error.args[0]}") from None

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the frames, `(n_frames,)`, float64, ps."""
        return self._column("frames", "time").astype(np.float64, copy=False)

    @property
    def frames(self) -> NDArray[np.int64]:
        """Numbers of the frames, `(n_frames,)`, int64."""
        return self._column("frames", "frame").astype(np.int64, copy=False)

    @property
    def atoms(self) -> NDArray[np.int64]:
        """Indices of the atoms in the topology, `(n_atoms,)`, int64."""
        return self._column("atoms", "atom").astype(np.int64, copy=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The selection or the name of each series."""
        return tuple(self._labels_of_columns())

    def _labels_of_columns(
        self, count: int | None = None, *, in_headers: bool = False
    ) -> list[str]:
        """Return the labels of the first columns of files, or of all; those of axes are joined."""
        first, *others = self.named_axes() or (None,)
        if first is None:
            return [self.label if in_headers else self.label or " and ".join(self.selections)]
        if not others:
            return first.labels_in_headers()[:count] if in_headers else first.labels(count)
        joints = [one.of_kind.joint for one in others]
        labels = product(first.labels(count), *(one.labels() for one in others))
        return [
            "".join([label, *(part for pair in zip(joints, then, strict=True) for part in pair)])
            for label, *then in islice(labels, count)
        ]

    def n_columns(self) -> int:
        """Return the number of columns of the values in files."""
        return int(np.prod([len(one) for one in self.named_axes()]))

    def with_labels(self, labels: Sequence[str]) -> Self:
        """Return the table with other names of its series."""
        (named,) = self.named_axes()
        other = named.with_column("label", np.array(labels, np.str_))
        return replace(self, axes=tuple(other if one is named else one for one in self.axes))

    @property
    def quantity(self) -> str:
        """Name and unit, as on the axis of a figure."""
        return f"{self.name} ({self.units})" if self.units else self.name

    def feature_names(self) -> list[str]:
        """Return the name of each value of a frame, as in CSV files, but with all selections."""
        return [column_name(self.name, self.units, label) for label in self.columns]

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean and extremes, of each series if there are frames; see `Result.summary`."""
        if not is_of_frames(self):
            return self._extremes()
        named = self.named_axes()
        heading = named[0].of_kind.heading if named else "selection"
        return self._summed_up(
            self.values.reshape(len(self.frames), self.n_columns()),
            names_column(heading, self._labels_of_columns(limit)),
            form=".3f",
            title=self.quantity,
            count=self.n_columns(),
            unit=self.units,
        )

    def _extremes(self) -> Summary:
        """Return mean, extremes, and the place of the largest of values without frames."""
        if not self.values.size:
            return Summary(self.quantity)
        at = np.unravel_index(int(np.argmax(self.values)), self.values.shape)
        where = []
        for axis, k in zip(self.axes, at, strict=True):
            # The first column tells the places apart.
            text = str(next(iter(axis.columns.values()))[k]) if axis.columns else axis.labels()[k]
            residues = axis.get("resid")
            where.append(text if residues is None else f"{text} (residue {residues[k]})")
        kinds = [one.kind.removesuffix("s") for one in self.axes]
        columns = (
            names_column("selection", [" and ".join(self.selections)]),
            *(Column(one.kind, [len(one)]) for one in self.axes),
            *(Column(k, [float(getattr(self.values, k)())], ".3f") for k in ("mean", "min", "max")),
            Column(f"{', '.join(kinds)} of max", [", ".join(where)]),
        )
        return Summary(self.quantity, columns, 1)

    @property
    def period(self) -> float | None:
        """Period of the values, if they are on a circle, such as 360 of angles."""
        return None

    @property
    def is_symmetric(self) -> bool:
        """Whether the places have two members without an order, such as the atoms of pairs."""
        return [one.kind for one in self.named_axes()] == ["pairs"]

    def in_contact(self) -> tuple[NDArray[np.int64], ...]:
        """Return the places along each axis of the rows of files, if these are only some."""
        raise NotImplementedError

    def table_of(self, *places: NDArray[np.int64]) -> Columns:
        """Return the columns of files at some places, given along each axis."""
        raise NotImplementedError

    def averaged(self) -> "Table | None":
        """Return the table whose rows have means over replicas.

        None if rows of several runs are not the same, such as those of clusters.
        """
        return self if self.HAS_SERIES or not self.has_frames else None

    def named_axes(self) -> tuple[Axis, ...]:
        """Return the axes whose places are columns of files."""
        if self.has_frames:
            return self.axes[1:]
        return tuple(one for one in self.axes if one.of_kind.is_named)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw each series against time, or the values of atoms; see `Result.plot`."""
        from trajet import plots

        if not self.has_frames:
            return plots.profile(
                self.values,
                self.axes[0].columns,
                quantity=self.quantity,
                title=f"{self.name} of {self.columns[0]}",
                half_widths=self.half_widths,
                ax=ax,
                look=look,
            )
        names = self.columns
        return plots.series(
            self.values,
            self.times,
            self.frames,
            labels=names,
            quantity=self.quantity,
            title=f"{self.name} of {names[0]}" if len(names) == 1 else self.name,
            means=self._means(),
            ax=ax,
            look=look,
        )

    def _quantity(self) -> str:
        return self.quantity

    def _labels(self) -> list[str]:
        return list(self.columns)

    def _sample_names(self) -> list[str]:
        return self.names()

    def names(self, quantity: str | None = None, units: str | None = None) -> list[str]:
        """Return the name of each series in the header of a CSV file.

        `quantity` and `units` are those of the values if they are None.
        """
        labels = self._labels_of_columns(in_headers=True)
        quantity = self.name if quantity is None else quantity
        units = self.units if units is None else units
        return [column_name(quantity, units, label) for label in labels]

    def _about(self) -> str:
        selections = " and ".join(map(quoted, self.selections))
        of = count_of_frames(self.frames) if self.has_frames else selections
        return f"{self.name} of {of}, values {self.values.shape} {self.units}".rstrip()

    def mean_errors(self) -> tuple[Column, ...]:
        """Return the mean of each series with its error; none without frames."""
        return super().mean_errors() if is_of_frames(self) else ()

    def statistics(self, *, discard: "Discard" = None) -> "Statistics":
        """Return the mean of each series with its error; see `PerFrame.statistics`.

        Raises
        ------
        ValueError
            If there are no numbers per frame that have a mean.
        """
        if not is_of_frames(self):
            raise ValueError(f"{self.name} has no values per frame with a mean, and no error of it")
        return super().statistics(discard=discard)

    def _look(
        self,
        label: str | Sequence[str] | None,
        color: str | Sequence[str] | None,
        smooth: bool | int | None,
    ) -> "Look":
        if smooth is not None and not self.has_frames:
            raise ValueError(
                f"smooth is of values against time, which {self.name} does not draw: leave it out"
            )
        return super()._look(label, color, smooth)

    def _draw_means(
        self, kind: Literal["convergence", "histogram"], ax: "Axes | None", look: "Look"
    ) -> "Figure":
        if not is_of_frames(self):
            raise ValueError(
                f"kind={kind!r} draws values per frame, which {self.name} does not have: leave it"
                " out"
            )
        return super()._draw_means(kind, ax, look)

    @property
    def has_frames(self) -> bool:
        """Whether the rows are frames."""
        return bool(self.axes) and self.axes[0].kind == "frames"

    def _row_axes(self) -> tuple[Axis, ...]:
        """Return the axes whose places are rows of files: frames alone, or all without names."""
        if self.has_frames:
            return self.axes[:1]
        return tuple(one for one in self.axes if not one.of_kind.is_named)

    def _table(self) -> Columns:
        rows, names = self._row_axes(), self.names()
        # Views, which take no memory on a grid.
        places = np.meshgrid(*(np.arange(len(one)) for one in rows), indexing="ij", copy=False)
        columns: Columns = [
            (in_files, axis[name][at].ravel())
            for axis, at in zip(rows, places, strict=True)
            for name, in_files in axis.of_kind.files.items()
            if name in axis.columns
        ]
        if self.has_frames:
            # The shortest decimals that give the stored times back.
            inputs = analysis_of(self.report).get("inputs", ())
            columns[1] = ("time_ps", shortest_times(self.times, inputs))
        elif rows and (times := rows[0].get("time")) is not None:
            lags = times.astype(np.float64, copy=False)
            rounded = decimals_within(lags, ROUNDING * np.abs(lags))
            columns[0] = (columns[0][0], rounded[places[0]].ravel())
        quantities: list[tuple[list[str], NDArray[np.generic] | None]] = [
            (names, self.values),
            *((self.names(name, ""), array) for name, array in self.also.items()),
            (self.names("standard error"), self.standard_errors),
            (self.names("half width 95"), self.half_widths),
        ]
        for headers, array in quantities:
            if array is not None:
                # Counts are integers.
                by_column = self._by_column(cast("NDArray[np.float64]", array))
                columns += zip(headers, by_column, strict=True)
        return columns

    def _by_column(self, array: NDArray[_T]) -> NDArray[_T]:
        """Return an array in the shape of the values, column of files by column."""
        rows = self._row_axes()
        # Axes of rows first, wherever they are.
        order = sorted(range(len(self.axes)), key=lambda k: self.axes[k] not in rows)
        n_rows = int(np.prod([len(one) for one in rows]))
        return array.transpose(order).reshape(n_rows, self.n_columns()).T

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> Self:
        """Return a table of the chosen rows, with the report of the whole.

        Parts that have the same rows are those of the chosen ones.
        """

        def some(array: NDArray[_T] | None) -> NDArray[_T] | None:
            return None if array is None else array[chosen]

        return replace(
            self,
            values=self.values[chosen],
            axes=(self.axes[0].some(chosen), *self.axes[1:]),
            standard_errors=some(self.standard_errors),
            half_widths=some(self.half_widths),
            resolved=some(self.resolved),
            also={name: array[chosen] for name, array in self.also.items()},
            parts={
                name: part._of_rows(chosen) if part.axes[0].kind == self.axes[0].kind else part
                for name, part in self.parts.items()
            },
        )

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return values, axes, and further arrays and tables, for NPZ files."""
        arrays: dict[str, NDArray[np.generic]] = {
            "values": self.values,
            "name": np.array(self.name),
            "units": np.array(self.units),
            "selections": np.array(self.selections, np.str_),
            "label": np.array(self.label),
            **self._errors(),
            **{
                name: np.array(getattr(self, name), np.str_ if default == () else None)
                for name, default in self.own_fields().items()
            },
        }
        for k, axis in enumerate(self.axes):
            arrays.update(axis.arrays(f"axis{k}"))
        arrays.update({f"also.{name}": array for name, array in self.also.items()})
        for name, part in self.parts.items():
            of_part = part._arrays().items()
            arrays.update({f"part.{name}.{key}": array for key, array in of_part})
        return arrays

    @classmethod
    def own_fields(cls) -> dict[str, object]:
        """Return the default of each field that a subclass adds, and files have."""
        own = fields(cls)[len(fields(Table)) :]
        return {one.name: one.default for one in own if one.metadata.get("is_saved", True)}


def is_of_frames(result: object) -> TypeGuard[Table]:
    """Return whether a result has numbers per frame, with means over time and replicas."""
    return isinstance(result, Table) and result.has_frames and result.HAS_SERIES
