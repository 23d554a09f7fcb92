"""Results with hydrogen bonds: their number, their occupancies, and a list of all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from trajet.labels import atom_names, residue_labels, residues_of
from trajet.result.report import Report
from trajet.result.result import (
    Columns,
    Part,
    Result,
    column_name,
    count_of_frames,
    names_column,
    residue_columns,
)
from trajet.result.series import Series
from trajet.result.summary import Column, Summary, mean_and_spread
from trajet.result.times import ROUNDING, decimals_within
from trajet.topology import Topology

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


@dataclass(frozen=True, repr=False)
class HydrogenBondPairs(Result):
    """The pairs that form hydrogen bonds, and how often they do.

    CSV files have one row per pair: its members, name and number of the residues of donor and
    acceptor, count, occupancy and label.

    Attributes
    ----------
    by
        Kind of the pairs: "bond" (donor, hydrogen, acceptor), "pair" (donor, acceptor) or "residue"
        (residues of donor and acceptor).
    members
        `(n_pairs, 3)` or `(n_pairs, 2)`, int64: indices in the topology of the atoms, or of the
        residues. The most frequent pair is the first.
    counts
        `(n_pairs,)`, int64: number of frames in which the pair has a hydrogen bond.
    n_frames
        Number of frames.
    topology
        The topology of the atoms; None if the result was loaded.
    stored_labels
        The labels of all pairs, if the result was loaded.
    report
        Timings and counters of the run.
    stored_residue_names, stored_residues
        `(n_pairs, 2)`, str and int64, the residues of donor and acceptor, if the result was loaded.
    standard_errors, half_widths
        `(n_pairs,)`, float64: standard errors of the occupancies, and longer sides of their 95 %
        intervals; None if they were not asked for, and in a slice of some frames.
    resolved
        bool, in their shape: whether the run is long enough to trust the interval; None without
        errors.
    """

    by: Literal["bond", "pair", "residue"]
    members: NDArray[np.int64]
    counts: NDArray[np.int64]
    n_frames: int
    topology: Topology | None
    stored_labels: tuple[str, ...] | None
    report: Report
    stored_residue_names: NDArray[np.str_] | None = None
    stored_residues: NDArray[np.int64] | None = None
    standard_errors: NDArray[np.float64] | None = None
    half_widths: NDArray[np.float64] | None = None
    resolved: NDArray[np.bool_] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = (
        *("counts", "members", "stored_labels", "stored_residue_names", "stored_residues"),
        *("standard_errors", "half_widths", "resolved"),
    )

    @property
    def occupancies(self) -> NDArray[np.float64]:
        """Fraction of the frames in which each pair has a hydrogen bond, `(n_pairs,)`, float64."""
        return self.counts / max(1, self.n_frames)

    def labels(self, count: int | None = None) -> list[str]:
        """Return labels such as "ARG36:NH1-HH11 -- ASP33:OD2" of the first pairs, or all."""
        if self.topology is None:
            return list((self.stored_labels or ())[:count])
        residues = residue_labels(self.topology)
        members = self.members[:count]
        if self.by == "residue":
            return [" -- ".join(row) for row in residues[members].tolist()]
        names = atom_names(self.topology, members.reshape(-1)).reshape(members.shape)
        donors = map("-".join, names[:, :-1].tolist())
        first, last = residues[self.topology.atoms_residues[members[:, [0, -1]]]].T.tolist()
        return [
            f"{one}:{donor} -- {other}:{acceptor}"
            for one, donor, other, acceptor in zip(
                first, donors, last, names[:, -1].tolist(), strict=True
            )
        ]

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the occupancies of the most frequent pairs."""
        from trajet import plots

        return plots.occupancies(
            self.occupancies,
            self.labels(plots.MOST_BARS),
            title=self._about(),
            half_widths=self.half_widths,
            ax=ax,
            look=look,
        )

    def of_bonds(
        self, bonds: "HydrogenBondList", rows: NDArray[np.int64], n_frames: int
    ) -> "HydrogenBondPairs | None":
        """Return the pairs that some of the bonds form, with their occupancies.

        Parameters
        ----------
        bonds
            Bonds of these pairs.
        rows
            `(n_bonds,)`, the frame of each bond: equal for bonds of the same frame.
        n_frames
            Number of frames.

        Returns
        -------
        HydrogenBondPairs or None
            None if the residues of the atoms are not known, as the result was loaded.
        """
        members = np.column_stack([bonds.donors, bonds.hydrogens, bonds.acceptors])
        if self.by != "bond":
            members = members[:, [0, 2]]
        if self.by == "residue":
            if self.topology is None:
                return None
            members = self.topology.atoms_residues[members]
        order = np.lexsort((rows, *members.T[::-1]))
        members, rows = members[order], rows[order]
        is_new = np.ones(len(rows), np.bool_)
        is_new[1:] = (members[1:] != members[:-1]).any(axis=1)
        # A pair counts once in a frame.
        counted = is_new.copy()
        counted[1:] |= rows[1:] != rows[:-1]
        counts = np.bincount((np.cumsum(is_new) - 1)[counted]).astype(np.int64)
        members = members[is_new]
        # As in a run over these frames: the most frequent first, then by their members.
        order = np.argsort(-counts, kind="stable")
        members = members[order]
        labels, names = self.stored_labels, self.stored_residue_names
        residues = self.stored_residues
        if labels is not None:
            row_of = {tuple(row): k for k, row in enumerate(self.members.tolist())}
            chosen = [row_of[row] for row in map(tuple, members.tolist())]
            labels = tuple(labels[k] for k in chosen)
            names = None if names is None else names[chosen]
            residues = None if residues is None else residues[chosen]
        return replace(
            self,
            members=members,
            counts=counts[order],
            n_frames=n_frames,
            stored_labels=labels,
            stored_residue_names=names,
            stored_residues=residues,
            standard_errors=None,
            half_widths=None,
            resolved=None,
        )

    def _about(self) -> str:
        return f"{len(self)} hydrogen-bonded pairs in {self.n_frames} frames"

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        # Labels are made from the topology, which is not saved.
        names, numbers = self._residues()
        saved = replace(
            self,
            topology=None,
            stored_labels=tuple(self.labels()),
            stored_residue_names=names,
            stored_residues=numbers,
        )
        return super(HydrogenBondPairs, saved)._arrays()

    def _residues(self) -> tuple[NDArray[np.str_] | None, NDArray[np.int64] | None]:
        """Return names and numbers of the residues of donor and acceptor, `(n_pairs, 2)`."""
        if self.topology is None:
            return self.stored_residue_names, self.stored_residues
        ends = self.members[:, [0, -1]]
        if self.by != "residue":
            return residues_of(self.topology, ends)
        names, numbers = self.topology.column("resnames"), self.topology.column("resids")
        return None if names is None else names[ends], None if numbers is None else numbers[ends]

    def _table(self) -> Columns:
        names, numbers = self._residues()
        return [
            *zip(MEMBERS[self.by], self.members.T, strict=True),
            *residue_columns("donor", names, numbers, np.s_[:, 0]),
            *residue_columns("acceptor", names, numbers, np.s_[:, 1]),
            ("frames", self.counts),
            ("occupancy", self.occupancies),
            *(
                (name, errors)
                for name, errors in (
                    ("standard_error", self.standard_errors),
                    ("half_width_95", self.half_widths),
                )
                if errors is not None
            ),
            ("label", np.array(self.labels(), np.str_)),
        ]


@dataclass(frozen=True, repr=False)
class HydrogenBondList(Result):
    """Every hydrogen bond of every frame, in the order of frames, donors, hydrogens and acceptors.

    CSV files have one row per bond, with name and number of the residues of donor and acceptor.

    Attributes
    ----------
    frames
        `(n_bonds,)`, int64, frame numbers.
    donors, hydrogens, acceptors
        `(n_bonds,)`, int64, indices in the topology.
    distances
        `(n_bonds,)`, float64, Å: of donor and acceptor, or of hydrogen and acceptor.
    angles
        `(n_bonds,)`, float64, degrees: donor, hydrogen, acceptor.
    report
        Timings and counters of the run.
    topology
        The topology of the atoms; None if the result was loaded.
    stored_atoms, stored_residue_names, stored_residues
        `(n,)`, the atoms that are a donor or acceptor, ascending, with name and number of their
        residues, if the result was loaded.
    """

    frames: NDArray[np.int64]
    donors: NDArray[np.int64]
    hydrogens: NDArray[np.int64]
    acceptors: NDArray[np.int64]
    distances: NDArray[np.float64]
    angles: NDArray[np.float64]
    report: Report
    topology: Topology | None = None
    stored_atoms: NDArray[np.int64] | None = None
    stored_residue_names: NDArray[np.str_] | None = None
    stored_residues: NDArray[np.int64] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = (
        *("distances", "angles", "frames", "donors", "hydrogens", "acceptors"),
    )

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw how often distances and angles occur together."""
        from trajet import plots

        return plots.hydrogen_bond_geometry(
            self.distances, self.angles, title=self._about(), ax=ax, look=look
        )

    def _about(self) -> str:
        return f"{len(self)} hydrogen bonds"

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        saved = self
        if self.topology is not None:
            atoms = np.unique(np.concatenate([self.donors, self.acceptors]))
            names, numbers = residues_of(self.topology, atoms)
            saved = replace(
                self,
                topology=None,
                stored_atoms=atoms,
                stored_residue_names=names,
                stored_residues=numbers,
            )
        return super(HydrogenBondList, saved)._arrays()

    def _residues(self) -> tuple[NDArray[np.str_] | None, NDArray[np.int64] | None]:
        """Return names and numbers of the residues of donor and acceptor, `(n_bonds, 2)`."""
        ends = np.stack([self.donors, self.acceptors], axis=1)
        if self.topology is not None or self.stored_atoms is None:
            return residues_of(self.topology, ends)
        names, numbers, rows = (
            *(self.stored_residue_names, self.stored_residues),
            np.searchsorted(self.stored_atoms, ends),
        )
        return None if names is None else names[rows], None if numbers is None else numbers[rows]

    def _table(self) -> Columns:
        names, numbers = self._residues()
        return [
            ("frame", self.frames),
            ("donor", self.donors),
            ("hydrogen", self.hydrogens),
            ("acceptor", self.acceptors),
            *residue_columns("donor", names, numbers, np.s_[:, 0]),
            *residue_columns("acceptor", names, numbers, np.s_[:, 1]),
            ("distance_A", self.distances),
            ("angle_degrees", self.angles),
        ]


@dataclass(frozen=True, repr=False)
class HydrogenBondLifetimes(Result):
    """Correlation functions of pairs that form hydrogen bonds, and lifetimes from them.

    CSV files have one row per lag. Lifetimes are NaN in a slice whose lags do not begin at 0 and
    ascend.

    Attributes
    ----------
    times
        `(n_lags,)`, float64, ps: the lags, from 0 on.
    intermittent
        `(n_lags,)`, float64: fraction of the pairs bonded in a frame that are bonded after the lag,
        whatever happens between. NaN without any bond.
    continuous
        `(n_lags,)`, float64: fraction of these pairs that are bonded throughout the lag.
    intermittency
        Longest gap, in frames, that does not end a bond in `continuous`.
    report
        Timings and counters of the run.
    """

    times: NDArray[np.float64]
    intermittent: NDArray[np.float64]
    continuous: NDArray[np.float64]
    intermittency: int
    report: Report

    _ROWS: ClassVar[tuple[str, ...]] = ("continuous", "intermittent", "times")

    @property
    def intermittent_lifetime(self) -> float:
        """Integral of the intermittent correlation up to the largest lag, ps, by trapezoids."""
        return self._integral(self.intermittent)

    @property
    def continuous_lifetime(self) -> float:
        """Integral of the continuous correlation up to the largest lag, ps, by trapezoids."""
        return self._integral(self.continuous)

    def scalars(self) -> dict[str, object]:
        """Return both lifetimes and the longest lag; see `Result.scalars`."""
        return {
            "intermittent_lifetime_ps": self.intermittent_lifetime,
            "continuous_lifetime_ps": self.continuous_lifetime,
            "longest_lag_ps": float(self.times[-1]) if len(self.times) else float("nan"),
        }

    def _integral(self, values: NDArray[np.float64]) -> float:
        # Without the first lags, or in another order, it is not the integral from 0.
        if not len(self) or self.times[0] != 0 or (np.diff(self.times) <= 0).any():
            return float("nan")
        return float(((values[1:] + values[:-1]) / 2 * np.diff(self.times)).sum())

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw both correlation functions against the lag."""
        from trajet import plots

        return plots.correlations(
            self.times, self.curves, title="lifetimes of hydrogen bonds", ax=ax, look=look
        )

    @property
    def curves(self) -> dict[str, NDArray[np.float64]]:
        """The correlation functions, by names with their lifetimes."""
        return {
            f"intermittent, {self.intermittent_lifetime:.3g} ps": self.intermittent,
            f"continuous, {self.continuous_lifetime:.3g} ps": self.continuous,
        }

    def _about(self) -> str:
        return (
            f"lifetimes of hydrogen bonds, {self.intermittent_lifetime:.3g} ps (intermittent) and"
            f" {self.continuous_lifetime:.3g} ps (continuous), {len(self.times)} lags"
        )

    def _table(self) -> Columns:
        return [
            ("time_ps", decimals_within(self.times, ROUNDING * np.abs(self.times))),
            ("intermittent", self.intermittent),
            ("continuous", self.continuous),
        ]


@dataclass(frozen=True, repr=False)
class HydrogenBonds(Series):
    """The number of hydrogen bonds in each frame, with pairs and, on request, bonds and lifetimes.

    `values` are `(n_frames,)`, float64 holding integers; files are those of `Series`, and
    NPZ files hold the rest, too.

    A slice has the bonds of its own frames, and pairs that are counted from them: those of a run
    over these frames. Without a list of bonds it has no pairs, and never lifetimes.

    Attributes
    ----------
    pairs
        The pairs that form hydrogen bonds, with their occupancies; None in a slice of some frames
        whose bonds are not listed, or, by residue, of a result that was loaded.
    bonds
        Every hydrogen bond of every frame; None unless it was asked for.
    lifetimes
        Correlation functions and lifetimes of the pairs; None unless they were asked for, and in a
        slice of some frames.
    """

    pairs: HydrogenBondPairs | None
    bonds: HydrogenBondList | None
    lifetimes: HydrogenBondLifetimes | None

    PARTS: ClassVar[Mapping[str, Part]] = {
        "pairs": Part("the pairs with their occupancies"),
        "bonds": Part("every bond of every frame, with distance and angle", needs="list_bonds"),
        "lifetimes": Part("the correlation functions of the pairs", needs="lifetimes"),
    }
    TABLE_PART = "pairs"

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the number of hydrogen bonds against time, and the most frequent pairs.

        With `ax` only the number of hydrogen bonds is drawn; see `Result.plot`.
        """
        from trajet import plots

        if ax is not None or self.pairs is None:
            return super()._draw(ax, look)
        return plots.hydrogen_bonds(
            self.values,
            self.times,
            self.frames,
            self.pairs.occupancies,
            self.pairs.labels(plots.MOST_BARS),
            None if (found := self.lifetimes) is None else (found.times, found.curves),
            title=f"hydrogen bonds of {self.columns[0]}",
            look=look,
        )

    def _about(self) -> str:
        mean = f", {self.values.mean():.1f} a frame" if len(self.values) else ""
        pairs = "" if self.pairs is None else f", {len(self.pairs)} pairs"
        return f"hydrogen bonds of {count_of_frames(self.frames)}{mean}{pairs}"

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> "HydrogenBonds":
        some = super()._of_rows(chosen)
        every = np.arange(len(self))
        rows = every[chosen]
        if np.array_equal(rows, every):
            return some
        counts = self.values.astype(np.int64)
        if self.bonds is None or not np.array_equal(
            np.repeat(self.frames, counts), self.bonds.frames
        ):
            # There is no list, or it is of other frames: slices once kept the bonds of all.
            return replace(some, pairs=None, bonds=None, lifetimes=None)
        before, lengths = np.cumsum(counts) - counts, counts[rows]
        of_row = np.repeat(np.arange(len(rows)), lengths)
        within = np.arange(len(of_row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        bonds = self.bonds[before[rows][of_row] + within]
        pairs = None if self.pairs is None else self.pairs.of_bonds(bonds, of_row, len(rows))
        return replace(some, pairs=pairs, bonds=bonds, lifetimes=None)

    def scalars(self) -> dict[str, object]:
        """Return mean number, number of pairs, and lifetimes; see `Result.scalars`."""
        mean, std = mean_and_spread(self.values)
        numbers: dict[str, object] = {"mean_bonds": mean, "std_bonds": std}
        if self.pairs is not None:
            numbers["n_pairs"] = len(self.pairs)
        return numbers if self.lifetimes is None else numbers | self.lifetimes.scalars()

    def summary(self, limit: int | None = None) -> Summary:
        """Return numbers of bonds, lifetimes and the most frequent pairs; see `Result.summary`."""
        values, pairs = self.values, self.pairs
        if not len(values):
            return Summary("hydrogen bonds")
        mean, std = mean_and_spread(values)
        line = f"{mean:.1f} a frame (std {std:.1f}, {values.min():.1f} to {values.max():.1f})"
        from trajet.result.mean_errors import lines_of_errors

        errors = lines_of_errors(self.statistics(), ("",), "a frame")
        if pairs is None:
            return Summary("hydrogen bonds", (), 0, (line, *errors))
        lines = [f"{line}, {len(pairs)} different pairs", *errors]
        if (found := self.lifetimes) is not None:
            lines.append(
                f"lifetimes: {found.intermittent_lifetime:.3g} ps (intermittent),"
                f" {found.continuous_lifetime:.3g} ps (continuous), of lags up to"
                f" {found.times[-1]:.4g} ps"
            )
        columns = (
            names_column("pair", pairs.labels(limit)),
            Column("frames", pairs.counts[:limit]),
            Column("occupancy", pairs.occupancies[:limit], ".3f"),
        )
        return Summary("hydrogen bonds", columns, len(pairs), tuple(lines))

    def _names(self) -> list[str]:
        return [column_name(self.name)]
