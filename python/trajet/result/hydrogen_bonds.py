"""Results with hydrogen bonds: their number, their occupancies, and a list of all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import Axis
from trajet.result.columns import Columns, Part, count_of_frames, names_column, residue_columns
from trajet.result.lifetimes import WithLifetimes
from trajet.result.mean_errors import lines_of_errors
from trajet.result.report import analysis_of
from trajet.result.summary import Column, Summary, mean_and_spread, with_half_widths
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look

# Columns of the members of a pair.
MEMBERS: dict[str, tuple[str, ...]] = {
    "bond": ("donor", "hydrogen", "acceptor"),
    "pair": ("donor", "acceptor"),
    "residue": ("donor_residue", "acceptor_residue"),
}


def _members(axis: Axis) -> NDArray[np.int64]:
    """Return the atoms or residues of each pair or bond, by their indices in the topology."""
    assert axis.members is not None
    return axis.elements[axis.elements.kind.removesuffix("s")].astype(np.int64)[axis.members]


def _columns_of_members(axis: Axis, names: tuple[str, ...]) -> Columns:
    """Return indices, and names and numbers of the residues of donor and acceptor."""
    assert axis.members is not None
    resnames, resids = axis.elements.get("resname"), axis.elements.get("resid")
    return [
        *zip(names, _members(axis).T, strict=True),
        *residue_columns("donor", resnames, resids, axis.members[:, 0]),
        *residue_columns("acceptor", resnames, resids, axis.members[:, -1]),
    ]


@dataclass(frozen=True, repr=False)
class HydrogenBondPairs(Table):
    """The pairs that form hydrogen bonds, and how often they do.

    `values` are `(n_pairs,)`, float64, the occupancies: the fraction of the frames in which each
    pair has a hydrogen bond. The most frequent pair is the first. CSV files have one row per pair:
    its members, name and number of the residues of donor and acceptor, count, occupancy and label.

    Attributes
    ----------
    n_frames
        Number of frames.
    """

    n_frames: int = 0

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("hydrogen bonds",),)
    ALSO: ClassVar[tuple[str, ...]] = ("frames",)

    def __post_init__(self) -> None:
        super().__post_init__()
        of = self.axes[0].elements
        if (np.diff(of[of.kind.removesuffix("s")].astype(np.int64)) <= 0).any():
            raise ValueError(f"indices of {of.kind} do not ascend")

    @property
    def by(self) -> Literal["bond", "pair", "residue"]:
        """Kind of the pairs.

        "bond" for donor, hydrogen and acceptor, "pair" for donor and acceptor, "residue" for
        residues of donor and acceptor.
        """
        if self.axes[0].elements.kind == "residues":
            return "residue"
        return "bond" if self.members.shape[1] > 2 else "pair"

    @property
    def members(self) -> NDArray[np.int64]:
        """Atoms or residues of each pair, `(n_pairs, 3)` or `(n_pairs, 2)`; see `by`."""
        return _members(self.axes[0])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of frames in which each pair has a hydrogen bond, `(n_pairs,)`, int64."""
        return self.also["frames"].astype(np.int64, copy=False)

    @property
    def occupancies(self) -> NDArray[np.float64]:
        """Fraction of the frames in which each pair has a hydrogen bond, `(n_pairs,)`, float64."""
        return self.values

    def labels(self, count: int | None = None) -> list[str]:
        """Return labels such as "ARG36:NH1-HH11 -- ASP33:OD2" of the first pairs, or all."""
        of, members = self.axes[0].elements, self.axes[0].members
        assert members is not None
        members = members[:count]
        parts = [of["label"][members[:, 0]].tolist(), of["label"][members[:, -1]].tolist()]
        if self.by == "bond":
            hydrogens = of["own_label"][members[:, 1]].tolist()
            parts[0] = [f"{donor}-{one}" for donor, one in zip(parts[0], hydrogens, strict=True)]
        return [f"{donor} -- {acceptor}" for donor, acceptor in zip(*parts, strict=True)]

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the occupancies of the most frequent pairs."""
        from trajet import plots

        return plots.occupancies(self, self.labels(plots.MAX_BARS), ax, look)

    def of_bonds(
        self, bonds: "HydrogenBondList", rows: NDArray[np.int64], n_frames: int
    ) -> "HydrogenBondPairs":
        """Return the pairs that some of the bonds form, with their occupancies.

        Parameters
        ----------
        bonds
            Bonds of these pairs.
        rows
            `(n_bonds,)`, the frame of each bond: equal for bonds of the same frame.
        n_frames
            Number of frames.
        """
        axis, of_bonds = self.axes[0], bonds.axes[0]
        assert axis.of is not None
        assert of_bonds.members is not None
        # Indices of the members, which ascend in the axis of all pairs.
        column = axis.of.kind.removesuffix("s")
        indices = of_bonds.elements[column][of_bonds.members]
        if self.by != "bond":
            indices = indices[:, [0, 2]]
        known = axis.of[column]
        members = np.minimum(np.searchsorted(known, indices), max(0, len(known) - 1))
        if members.size and (known[members] != indices).any():
            raise ValueError("the list has bonds of other pairs")
        order = np.lexsort((rows, *members.T[::-1]))
        members, rows = members[order], rows[order]
        is_new = np.ones(len(rows), np.bool_)
        is_new[1:] = (members[1:] != members[:-1]).any(axis=1)
        # A pair counts once in a frame.
        counted = is_new.copy()
        counted[1:] |= rows[1:] != rows[:-1]
        counts = np.bincount((np.cumsum(is_new) - 1)[counted]).astype(np.int64)
        # As in a run over these frames: the most frequent first, then by their members.
        order = np.argsort(-counts, kind="stable")
        return replace(
            self,
            values=counts[order] / max(1, n_frames),
            axes=(replace(axis, members=members[is_new][order]),),
            also={"frames": counts[order]},
            n_frames=n_frames,
            standard_errors=None,
            half_widths=None,
            resolved=None,
        )

    def _about(self) -> str:
        return f"{len(self)} hydrogen-bonded pairs in {self.n_frames} frames"

    def _table(self) -> Columns:
        errors = {"standard_error": self.standard_errors, "half_width_95": self.half_widths}
        return [
            *_columns_of_members(self.axes[0], MEMBERS[self.by]),
            ("frames", self.counts),
            ("occupancy", self.values),
            *((name, array) for name, array in errors.items() if array is not None),
            ("label", np.array(self.labels(), np.str_)),
        ]


@dataclass(frozen=True, repr=False)
class HydrogenBondList(Table):
    """Every hydrogen bond of every frame, in the order of frames, donors, hydrogens and acceptors.

    `values` are `(n_bonds,)`, float64, Å: the distances of donor and acceptor, or of hydrogen and
    acceptor. CSV files have one row per bond, with name and number of the residues of donor and
    acceptor.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("bonds",),)
    ALSO: ClassVar[tuple[str, ...]] = ("angle",)

    @property
    def frames(self) -> NDArray[np.int64]:
        """Number of the frame of each bond, `(n_bonds,)`, int64."""
        return self._column("bonds", "frame").astype(np.int64, copy=False)

    @property
    def donors(self) -> NDArray[np.int64]:
        """Index of the donor of each bond in the topology, `(n_bonds,)`, int64."""
        return _members(self.axes[0])[:, 0]

    @property
    def hydrogens(self) -> NDArray[np.int64]:
        """Index of the hydrogen of each bond in the topology, `(n_bonds,)`, int64."""
        return _members(self.axes[0])[:, 1]

    @property
    def acceptors(self) -> NDArray[np.int64]:
        """Index of the acceptor of each bond in the topology, `(n_bonds,)`, int64."""
        return _members(self.axes[0])[:, 2]

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distances, `(n_bonds,)`, float64, Å."""
        return self.values

    @property
    def angles(self) -> NDArray[np.float64]:
        """Angles of donor, hydrogen and acceptor, `(n_bonds,)`, float64, degrees."""
        return self.also["angle"].astype(np.float64, copy=False)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw how often distances and angles occur together."""
        from trajet import plots

        return plots.hydrogen_bond_geometry(self.values, self.angles, ax, look)

    def _about(self) -> str:
        return f"{len(self)} hydrogen bonds"

    def _table(self) -> Columns:
        return [
            ("frame", self.frames),
            *_columns_of_members(self.axes[0], MEMBERS["bond"]),
            ("distance_A", self.values),
            ("angle_degrees", self.angles),
        ]


@dataclass(frozen=True, repr=False)
class HydrogenBonds(WithLifetimes):
    """The number of hydrogen bonds in each frame, with pairs and, on request, bonds and lifetimes.

    `values` are `(n_frames,)`, float64 holding integers; CSV files are those of `Table`, and NPZ
    files hold the parts, too.

    A slice has the bonds of its own frames, and pairs that are counted from them: those of a run
    over these frames. Without a list of bonds it has no pairs, and never lifetimes.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames",),)
    CLASSES: ClassVar[Mapping[str, type[Table]]] = {
        "pairs": HydrogenBondPairs,
        "bonds": HydrogenBondList,
        **WithLifetimes.LASTING,
    }

    PARTS: ClassVar[Mapping[str, Part]] = {
        "pairs": Part("the pairs with their occupancies"),
        "bonds": Part("every bond of every frame, with distance and angle", needs="list_bonds"),
        **WithLifetimes.PARTS,
    }
    TABLE_PART = "pairs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pairs is not None and self.pairs.n_frames != len(self.values):
            raise ValueError(
                f"pairs are those of {self.pairs.n_frames} frames, and values of {len(self.values)}"
            )

    @property
    def pairs(self) -> HydrogenBondPairs | None:
        """The pairs that form hydrogen bonds, with their occupancies.

        None in a slice of some frames whose bonds are not listed.
        """
        return cast(HydrogenBondPairs | None, self.parts.get("pairs"))

    @property
    def bonds(self) -> HydrogenBondList | None:
        """Every hydrogen bond of every frame; None unless it was asked for."""
        return cast(HydrogenBondList | None, self.parts.get("bonds"))

    def _about(self) -> str:
        mean = f", {self.values.mean():.1f} a frame" if len(self.values) else ""
        pairs = "" if self.pairs is None else f", {len(self.pairs)} pairs"
        return f"hydrogen bonds of {count_of_frames(self.frames)}{mean}{pairs}"

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> "HydrogenBonds":
        every = np.arange(len(self))
        rows = every[chosen]
        if np.array_equal(rows, every):
            return super()._of_rows(chosen)
        some = super(HydrogenBonds, replace(self, parts={}))._of_rows(chosen)
        counts = self.values.astype(np.int64)
        if self.bonds is None or not np.array_equal(
            np.repeat(self.frames, counts), self.bonds.frames
        ):
            # There is no list, or it is of other frames: slices once kept the bonds of all.
            return some
        before, lengths = np.cumsum(counts) - counts, counts[rows]
        of_row = np.repeat(np.arange(len(rows)), lengths)
        within = np.arange(len(of_row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        bonds = self.bonds[before[rows][of_row] + within]
        parts: dict[str, Table] = {"bonds": bonds}
        if self.pairs is not None:
            parts["pairs"] = self.pairs.of_bonds(bonds, of_row, len(rows))
        return replace(some, parts=parts)

    def scalars(self) -> dict[str, object]:
        """Return mean number, number of pairs, and lifetimes; see `Table.scalars`."""
        mean, std = mean_and_spread(self.values)
        numbers: dict[str, object] = {"mean_bonds": mean, "std_bonds": std}
        if self.pairs is not None:
            numbers["n_pairs"] = len(self.pairs)
        return numbers | super().scalars()

    def _summary(self, limit: int | None = None) -> Summary:
        """Return numbers of bonds, lifetimes and the most frequent pairs; see `Table.summary`."""
        values, pairs = self.values, self.pairs
        if not len(values):
            return Summary("hydrogen bonds")
        mean, std = mean_and_spread(values)
        from trajet.uncertainty.statistics import with_error

        stats = self.statistics()
        half = float(stats.estimates.half_width[0])
        text = f"{mean:.1f} a frame"
        if np.isfinite(half):
            text = f"{with_error(mean, half)} a frame (95 %)"
        line = f"{text}, std {std:.1f}, from {values.min():.0f} to {values.max():.0f}"
        errors = lines_of_errors(stats, ("",), "a frame")
        if pairs is not None:
            line += f", {len(pairs)} different pairs"
        lines = [line, *self._criterion(), *errors.always]
        if pairs is None:
            return Summary("hydrogen bonds", (), 0, tuple(lines), errors.verbose)
        lines += [part.line() for part in self._lasting()]
        columns = (
            names_column("pair", pairs.labels(limit)),
            Column("frames", pairs.counts[:limit]),
            *with_half_widths(
                Column("occupancy", pairs.occupancies[:limit], ".3f"), pairs.half_widths
            ),
        )
        return Summary("hydrogen bonds", columns, len(pairs), tuple(lines), errors.verbose)

    def _criterion(self) -> list[str]:
        """Return the largest distance and the least angle of a bond as a line, if known."""
        used = analysis_of(self.report).get("parameters", {})
        distance = str(used.get("distance", "")).replace("_", "-")
        limits = {
            f"{distance} ≤ {{:g}} Å": used.get("cutoff"),
            "angle ≥ {:g}°": used.get("angle"),
            "angle at the donor ≤ {:g}°": used.get("donor_angle"),
        }
        texts = [text.format(limit) for text, limit in limits.items() if limit]
        return [f"criterion: {', '.join(texts)}"] if texts else []
