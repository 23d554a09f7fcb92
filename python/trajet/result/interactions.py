"""Results with interactions: their numbers, the pairs that form them, and a list of all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import Axis
from trajet.result.columns import Columns, Part, count_of_frames, names_column, residue_columns
from trajet.result.lifetimes import WithLifetimes
from trajet.result.lifetimes_by_kind import LASTING, InteractionDwellTimes, InteractionLifetimes
from trajet.result.report import analysis_of
from trajet.result.summary import Column, Summary, with_half_widths
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from trajet.plots import Look

BRIDGE = "water-bridge"
# Kinds in the order of their numbers, with their names in ProLIF.
PROLIF_NAMES = {
    "hydrophobic": "Hydrophobic",
    "hbond-donor": "HBDonor",
    "hbond-acceptor": "HBAcceptor",
    "pi-face": "FaceToFace",
    "pi-edge": "EdgeToFace",
    "anionic": "Anionic",
    "cationic": "Cationic",
    "cation-pi": "CationPi",
    "pi-cation": "PiCation",
    "halogen-acceptor": "XBAcceptor",
    "halogen-donor": "XBDonor",
    "metal-donor": "MetalDonor",
    "metal-acceptor": "MetalAcceptor",
    "vdw": "VdWContact",
    BRIDGE: "WaterBridge",
}
KINDS = tuple(PROLIF_NAMES)


def _members(axis: Axis) -> NDArray[np.int64]:
    """Return the atoms or residues of each pair, by their indices in the topology."""
    assert axis.members is not None
    return axis.elements[axis.elements.kind.removesuffix("s")].astype(np.int64)[axis.members]


def _columns_of_ends(axis: Axis, names: tuple[str, ...]) -> Columns:
    """Return indices, and names and numbers of the residues of both ends, and the kind."""
    assert axis.members is not None
    resnames, resids = axis.elements.get("resname"), axis.elements.get("resid")
    return [
        *zip(names, _members(axis).T, strict=True),
        *residue_columns("first", resnames, resids, axis.members[:, 0]),
        *residue_columns("second", resnames, resids, axis.members[:, -1]),
        ("kind", axis["interaction"]),
    ]


def labels_of_pairs(axis: Axis, rows: "NDArray[np.int64] | slice") -> list[str]:
    """Return labels such as "LIG1 -- ASP129 cationic" of some pairs."""
    assert axis.members is not None
    texts, kinds = axis.elements["label"][axis.members[rows]], axis["interaction"][rows]
    return [
        f"{one} -- {other} {kind}"
        for (one, other), kind in zip(texts.tolist(), kinds.tolist(), strict=True)
    ]


@dataclass(frozen=True, repr=False)
class InteractionPairs(Table):
    """The pairs of residues or atoms that interact, by kind, and how often they do.

    `values` are `(n_pairs,)`, float64, the occupancies: the fraction of the frames in which each
    pair has an interaction of its kind. The most frequent is the first. CSV files have one row per
    pair and kind: both ends, name and number of their residues, kind, count, occupancy and label.

    Attributes
    ----------
    n_frames
        Number of frames.
    """

    n_frames: int = 0

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("interactions",),)
    ALSO: ClassVar[tuple[str, ...]] = ("frames",)

    @property
    def by(self) -> Literal["residue", "atom"]:
        """Whether ends are residues, or atoms and rings."""
        return "residue" if self.axes[0].elements.kind == "residues" else "atom"

    @property
    def members(self) -> NDArray[np.int64]:
        """Residues or atoms of each pair, `(n_pairs, 2)`; the first atoms of rings."""
        return _members(self.axes[0])

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each pair."""
        return tuple(self.axes[0]["interaction"].tolist())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of frames in which each pair interacts, `(n_pairs,)`, int64."""
        return self.also["frames"].astype(np.int64, copy=False)

    @property
    def occupancies(self) -> NDArray[np.float64]:
        """Fraction of the frames in which each pair interacts, `(n_pairs,)`, float64."""
        return self.values

    @property
    def waters(self) -> NDArray[np.float64]:
        """Mean number of waters of each bridge, `(n_pairs,)`, float64; NaN of other kinds."""
        found = self.also.get("waters", np.full(len(self), np.nan))
        return found.astype(np.float64, copy=False)

    def labels(self, count: int | None = None) -> list[str]:
        """Return labels such as "LIG1 -- ASP129 cationic" of the first pairs, or all."""
        return labels_of_pairs(self.axes[0], slice(count))

    def of_rows(self, pairs: NDArray[np.int64], n_frames: int) -> "tuple[InteractionPairs, Places]":
        """Return the pairs of some frames, and the new place of each.

        Parameters
        ----------
        pairs
            The pair of each interaction of these frames.
        n_frames
            Number of frames.
        """
        counts = np.bincount(pairs, minlength=len(self))
        order = np.argsort(-counts, kind="stable")
        order = order[: np.count_nonzero(counts)]
        places = np.full(len(self), -1)
        places[order] = np.arange(len(order))
        some = replace(
            self,
            values=counts[order] / max(1, n_frames),
            axes=(self.axes[0].some(order),),
            also={"frames": counts[order]},
            n_frames=n_frames,
            standard_errors=None,
            half_widths=None,
            resolved=None,
        )
        return some, places

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the occupancies of the most frequent pairs, by kind, in the order of residues."""
        return self.drawn(None, ax, look)

    def drawn(self, of: "Interactions | None", ax: "Axes | None", look: "Look") -> "Figure":
        """Draw occupancies, and if the result of these pairs has bits, when they interact."""
        from trajet import plots

        axis = self.axes[0]
        assert axis.members is not None
        rows = np.flatnonzero(self.values >= plots.MIN_OCCUPANCY)[: plots.MAX_ROWS]
        ranks = np.array([KINDS.index(kind) for kind in self.kinds], np.int64)
        rows = rows[np.lexsort((ranks[rows], *axis.members[rows].T[::-1]))]
        texts = axis.elements["label"][axis.members[rows]].tolist()
        return plots.interactions(
            self,
            [f"{one} -- {other}" for one, other in texts],
            [self.kinds[row] for row in rows.tolist()],
            rows,
            None if of is None or of.bits is None else of.bitvectors()[:, rows],
            None if of is None else (of.times, of.frames),
            ax,
            look,
        )

    def _about(self) -> str:
        return f"{len(self)} interacting pairs in {self.n_frames} frames"

    def _table(self) -> Columns:
        errors = {"standard_error": self.standard_errors, "half_width_95": self.half_widths}
        waters = self.also.get("waters")
        return [
            *_columns_of_ends(self.axes[0], (f"first_{self.by}", f"second_{self.by}")),
            ("frames", self.counts),
            ("occupancy", self.values),
            *([] if waters is None else [("waters", waters)]),
            *((name, array) for name, array in errors.items() if array is not None),
            ("label", np.array(self.labels(), np.str_)),
        ]


# The place of each pair among others, -1 for none.
Places = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class InteractionBits(Table):
    """The pairs that interact in each frame.

    `values` are `(n_bits,)`, uint32, places in `pairs`. CSV files have one row per bit.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("bits",),)
    VALUES: ClassVar[str] = "u"
    _HAS_MEAN: ClassVar[bool] = False

    @property
    def frames(self) -> NDArray[np.int64]:
        """Number of the frame of each bit, `(n_bits,)`, int64."""
        return self._column("bits", "frame").astype(np.int64, copy=False)

    @property
    def pairs(self) -> NDArray[np.uint32]:
        """Place of the pair of each bit, `(n_bits,)`, uint32."""
        return np.asarray(self.values, np.uint32)

    def _about(self) -> str:
        return f"{len(self)} interactions of pairs, by frame"

    def _table(self) -> Columns:
        return [("frame", self.axes[0]["frame"]), ("pair", self.values)]


@dataclass(frozen=True, repr=False)
class InteractionList(Table):
    """Every interaction of atoms and rings of every frame.

    `values` are `(n,)`, float64, Å: the distances that have limits, of centres for rings; NaN of
    bridges. CSV files have one row per interaction: atoms, residues, kind, distance and angles.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("interaction list",),)
    ALSO: ClassVar[tuple[str, ...]] = ("angle", "second angle")

    @property
    def frames(self) -> NDArray[np.int64]:
        """Number of the frame of each interaction, `(n,)`, int64."""
        return self._column("interaction list", "frame").astype(np.int64, copy=False)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each interaction."""
        return tuple(self.axes[0]["interaction"].tolist())

    @property
    def atoms(self) -> NDArray[np.int64]:
        """Atoms of each interaction, `(n, 3)`, indices in the topology.

        The first, the hydrogen or the neighbour of a halogen's acceptor, which is the first again
        for kinds without, and the second; of rings their first atoms.
        """
        return _members(self.axes[0])

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distances, `(n,)`, float64, Å."""
        return self.values

    @property
    def angles(self) -> NDArray[np.float64]:
        """Angles, `(n, 2)`, float64, degrees, in the order of `criteria`; NaN for none."""
        columns = [self.also[name] for name in self.ALSO]
        return np.stack(columns, axis=1).astype(np.float64, copy=False)

    def _about(self) -> str:
        return f"{len(self)} interactions of atoms"

    def _table(self) -> Columns:
        return [
            ("frame", self.axes[0]["frame"]),
            *_columns_of_ends(self.axes[0], ("first_atom", "middle_atom", "second_atom")),
            ("distance_A", self.values),
            ("angle_degrees", self.also["angle"]),
            ("second_angle_degrees", self.also["second angle"]),
        ]


@dataclass(frozen=True, repr=False)
class Interactions(Table):
    """The number of interacting pairs of each kind in each frame, with these pairs.

    `values` are `(n_frames, n_kinds)`, float64 holding integers; CSV files are those of `Table`,
    and NPZ files hold the parts, too.

    A slice has pairs that are counted from the bits of its own frames, and without bits none.
    `statistics()` is on these numbers; means over replicas are those of occupancies of pairs.
    """

    IS_SPARSE: ClassVar[bool] = True
    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames", "kinds"),)
    CLASSES: ClassVar[Mapping[str, type[Table]]] = {
        "pairs": InteractionPairs,
        "bits": InteractionBits,
        "list": InteractionList,
        **LASTING,
    }
    PARTS: ClassVar[Mapping[str, Part]] = {
        "pairs": Part("the pairs with their occupancies"),
        "bits": Part("the pairs that interact in each frame", needs="bits"),
        "list": Part("every interaction of atoms, with distance and angles", needs="list_all"),
        **WithLifetimes.PARTS,
    }
    TABLE_PART = "pairs"

    @property
    def pairs(self) -> InteractionPairs | None:
        """The pairs that interact, with their occupancies; None in a slice without bits."""
        return cast(InteractionPairs | None, self.parts.get("pairs"))

    @property
    def bits(self) -> InteractionBits | None:
        """The pairs that interact in each frame; None unless they were asked for."""
        return cast(InteractionBits | None, self.parts.get("bits"))

    @property
    def list(self) -> InteractionList | None:
        """Every interaction of atoms and rings; None unless it was asked for."""
        return cast(InteractionList | None, self.parts.get("list"))

    @property
    def lifetimes(self) -> InteractionLifetimes | None:
        """Correlation functions by kind; None unless asked for, and in a slice of some rows."""
        return cast(InteractionLifetimes | None, self.parts.get("lifetimes"))

    @property
    def dwell_times(self) -> InteractionDwellTimes | None:
        """Dwell times by kind; None where `lifetimes` is."""
        return cast(InteractionDwellTimes | None, self.parts.get("dwell_times"))

    def _lasting(self) -> tuple[InteractionLifetimes | InteractionDwellTimes, ...]:
        """Return both parts, or none."""
        return tuple([one for one in (self.lifetimes, self.dwell_times) if one is not None])

    def averaged(self) -> Table:
        """Return the pairs, whose occupancies have means over replicas."""
        if self.pairs is None:
            return self
        return replace(self.pairs, also={"frames": self.pairs.counts})

    def bitvectors(self) -> NDArray[np.bool_]:
        """Return which pairs interact in each frame, `(n_frames, n_pairs)`, bool.

        Raises
        ------
        ValueError
            If there are no bits.
        """
        pairs, bits = self._with_bits()
        found = np.zeros((len(self), len(pairs)), np.bool_)
        found[self._rows_of_bits(), bits.pairs] = True
        return found

    def to_prolif(self, *, count: bool = False) -> "DataFrame":
        """Return the table of a ProLIF fingerprint: frames by ligand, protein and interaction.

        Parameters
        ----------
        count
            Whether it has numbers of interactions of atoms, which needs `list_all=True`, instead of
            True and False, which need `bits=True`.

        Raises
        ------
        ValueError
            If there are no bits, or for numbers, no list of interactions of residues.
        """
        import pandas as pd

        values = self._numbers_of_matches() if count else self.bitvectors()
        pairs = self.parts["pairs"]
        assert isinstance(pairs, InteractionPairs)
        members, labels = pairs.axes[0].members, pairs.axes[0].elements["label"]
        assert members is not None
        names = [PROLIF_NAMES[kind] for kind in pairs.kinds]
        columns = [
            (one, other, name)
            for (one, other), name in zip(labels[members].tolist(), names, strict=True)
        ]
        levels = ["ligand", "protein", "interaction"]
        return pd.DataFrame(
            values,
            index=pd.Index(self.frames, name="Frame"),
            columns=pd.MultiIndex.from_tuples(columns, names=levels),
        )

    def _numbers_of_matches(self) -> NDArray[np.int64]:
        """Return how many interactions of atoms each pair of residues has, `(n_frames, n_pairs)`.

        Raises
        ------
        ValueError
            If the result has no list of them, or pairs are those of atoms.
        """
        if self.pairs is None or self.list is None or self.pairs.by != "residue":
            raise ValueError("numbers of interactions need list_all=True and by='residue'")
        axis = self.list.axes[0]
        assert axis.members is not None
        ends = axis.elements["residue"].astype(np.int64)[axis.members][:, [0, -1]]
        known = zip(*self.pairs.members.T.tolist(), self.pairs.kinds, strict=True)
        pairs = {key: k for k, key in enumerate(known)}
        rows = {frame: row for row, frame in enumerate(self.frames.tolist())}
        found = np.zeros((len(self), len(pairs)), np.int64)
        for key in zip(self.list.frames.tolist(), *ends.T.tolist(), self.list.kinds, strict=True):
            found[rows[key[0]], pairs[key[1:]]] += 1
        return found

    def _with_bits(self) -> tuple[InteractionPairs, InteractionBits]:
        """Return pairs and bits.

        Raises
        ------
        ValueError
            If there are none.
        """
        if self.pairs is None or self.bits is None:
            raise ValueError("this result has no bits: compute it with bits=True")
        return self.pairs, self.bits

    def _rows_of_bits(self) -> NDArray[np.int64]:
        """Return the row of each bit."""
        return np.repeat(np.arange(len(self)), self.values.sum(axis=1).astype(np.int64))

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw occupancies and a timeline; the numbers against time where there are no pairs."""
        if self.pairs is None:
            return super()._draw(ax, look)
        has_errors = self.pairs.half_widths is not None and look.band is not False
        return self.pairs.drawn(self, ax, replace(look, must_have_intervals=has_errors))

    def _about(self) -> str:
        mean = f", {self.values.sum(axis=1).mean():.1f} a frame" if len(self.values) else ""
        pairs = "" if self.pairs is None else f", {len(self.pairs)} pairs"
        return f"interactions of {count_of_frames(self.frames)}{mean}{pairs}"

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> "Interactions":
        every = np.arange(len(self))
        rows = every[chosen]
        if np.array_equal(rows, every):
            return super()._of_rows(chosen)
        some = super(Interactions, replace(self, parts={}))._of_rows(chosen)
        if self.pairs is None or self.bits is None:
            return some
        counts = self.values.sum(axis=1).astype(np.int64)
        before, lengths = np.cumsum(counts) - counts, counts[rows]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        bits = self.bits[np.repeat(before[rows], lengths) + within]
        pairs, places = self.pairs.of_rows(bits.pairs.astype(np.int64), len(rows))
        bits = replace(bits, values=places[bits.pairs].astype(np.uint32))
        return replace(some, parts={"pairs": pairs, "bits": bits})

    def scalars(self) -> dict[str, object]:
        """Return the number of pairs; see `Table.scalars`."""
        numbers = {} if self.pairs is None else {"n_pairs": len(self.pairs)}
        return numbers | {k: n for one in self._lasting() for k, n in one.scalars().items()}

    def _summary(self, limit: int | None = None) -> Summary:
        """Return mean numbers by kind, and the most frequent pairs; see `Table.summary`."""
        if not len(self.values):
            return Summary("interactions")
        means = self.values.mean(axis=0).tolist()
        found = zip(self.columns, means, strict=True)
        texts = [f"{kind} {mean:.2f}" for kind, mean in found if mean] or ["none"]
        lines = [f"a frame: {', '.join(texts)}", *self._criteria()]
        lines += [line for one in self._lasting() for line in one.lines()]
        if (pairs := self.pairs) is None:
            return Summary("interactions", (), 0, tuple(lines))
        columns = (
            names_column("pair", pairs.labels(limit)),
            Column("frames", pairs.counts[:limit]),
            *with_half_widths(
                Column("occupancy", pairs.occupancies[:limit], ".3f"), pairs.half_widths
            ),
        )
        return Summary("interactions", columns, len(pairs), tuple(lines))

    def _criteria(self) -> tuple[str, ...]:
        """Return the limits of kinds as a line, if known."""
        used = analysis_of(self.report).get("parameters", {}).get("criteria")
        return (f"criteria: {used}",) if isinstance(used, str) else ()
