"""Results with hydrogen bonds: their number, their occupancies, and a list of all."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, count_of_frames
from trajet.result.series import Series
from trajet.topology import Topology

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Columns of the members of a pair.
MEMBERS: dict[str, tuple[str, ...]] = {
    "bond": ("donor", "hydrogen", "acceptor"),
    "pair": ("donor", "acceptor"),
    "residue": ("donor_residue", "acceptor_residue"),
}


@dataclass(frozen=True, repr=False)
class HydrogenBondPairs(Result):
    """The pairs that form hydrogen bonds, and how often they do.

    NPZ files hold `members`, `counts`, `occupancies` and `labels`. CSV files have one row per pair:
    its members, count, occupancy and label.

    Attributes
    ----------
    by
        What a pair is: "bond" (donor, hydrogen, acceptor), "pair" (donor, acceptor) or "residue"
        (residues of donor and acceptor).
    members
        `(n_pairs, 3)` or `(n_pairs, 2)`, int64: indices in the topology of the atoms, or of the
        residues. The most frequent pair is the first.
    counts
        `(n_pairs,)`, int64: number of frames in which the pair has a hydrogen bond.
    n_frames
        Number of frames.
    topology
        The topology of the atoms.
    report
        Timings and counters of the run.
    """

    by: Literal["bond", "pair", "residue"]
    members: NDArray[np.int64]
    counts: NDArray[np.int64]
    n_frames: int
    topology: Topology
    report: Report

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.counts)

    @property
    def occupancies(self) -> NDArray[np.float64]:
        """Fraction of the frames in which each pair has a hydrogen bond, `(n_pairs,)`, float64."""
        return self.counts / max(1, self.n_frames)

    def labels(self, count: int | None = None) -> list[str]:
        """Return labels such as "ARG36:NH1-HH11 -- ASP33:OD2" of the first pairs, or all."""
        names = self.topology.column("names")
        resnames, resids = (self.topology.column(name) for name in ("resnames", "resids"))
        residues = self.topology.atoms_residues

        def residue(number: int) -> str:
            parts = [column[number] for column in (resnames, resids) if column is not None]
            return "".join(map(str, parts)) or f"residue {number}"

        def atom(index: int) -> str:
            return f"atom {index}" if names is None else str(names[index])

        made = []
        for row in self.members[:count].tolist():
            if self.by == "residue":
                made.append(f"{residue(row[0])} -- {residue(row[1])}")
                continue
            donor = "-".join(map(atom, row[:-1]))
            first, last = residue(residues[row[0]]), residue(residues[row[-1]])
            made.append(f"{first}:{donor} -- {last}:{atom(row[-1])}")
        return made

    def plot(self) -> "Figure":
        """Draw the occupancies of the most frequent pairs."""
        from trajet import plots

        return plots.occupancies(
            self.occupancies, self.labels(plots.MOST_BARS), title=self._about()
        )

    def _about(self) -> str:
        return f"{len(self)} hydrogen-bonded pairs in {self.n_frames} frames"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "members": self.members,
            "counts": self.counts,
            "occupancies": self.occupancies,
            "labels": np.array(self.labels(), np.str_),
        }

    def _header(self) -> list[str]:
        return [*MEMBERS[self.by], "frames", "occupancy", "label"]

    def _rows(self) -> Iterable[Iterable[object]]:
        columns = (self.counts.tolist(), self.occupancies.tolist(), self.labels())
        for members, count, part, label in zip(self.members.tolist(), *columns, strict=True):
            yield [*members, count, part, _Text(label)]


class _Text(str):
    """A text whose `repr` is a field of a CSV file."""

    def __repr__(self) -> str:
        return '"' + self.replace('"', '""') + '"'


@dataclass(frozen=True, repr=False)
class HydrogenBondList(Result):
    """Every hydrogen bond of every frame, in the order of frames, donors, hydrogens and acceptors.

    NPZ files hold the arrays below. CSV files have one row per bond.

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
    """

    frames: NDArray[np.int64]
    donors: NDArray[np.int64]
    hydrogens: NDArray[np.int64]
    acceptors: NDArray[np.int64]
    distances: NDArray[np.float64]
    angles: NDArray[np.float64]
    report: Report

    def __len__(self) -> int:
        """Return the number of bonds."""
        return len(self.frames)

    def plot(self) -> "Figure":
        """Draw how often distances and angles occur together."""
        from trajet import plots

        return plots.hydrogen_bond_geometry(self.distances, self.angles, title=self._about())

    def _about(self) -> str:
        return f"{len(self)} hydrogen bonds"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "frames": self.frames,
            "donors": self.donors,
            "hydrogens": self.hydrogens,
            "acceptors": self.acceptors,
            "distances": self.distances,
            "angles": self.angles,
        }

    def _header(self) -> list[str]:
        return ["frame", "donor", "hydrogen", "acceptor", "distance_A", "angle_degrees"]

    def _rows(self) -> Iterable[Iterable[object]]:
        return zip(*(column.tolist() for column in self._arrays().values()), strict=True)


@dataclass(frozen=True, repr=False)
class HydrogenBondLifetimes(Result):
    """Correlation functions of pairs that form hydrogen bonds, and lifetimes from them.

    NPZ files hold `times`, `intermittent` and `continuous`. CSV files have one row per lag.

    Attributes
    ----------
    times
        `(n_lags,)`, float64, ps: the lags, from 0 on.
    intermittent
        `(n_lags,)`, float64: how many of the pairs that are bonded at a time are bonded again after
        the lag. NaN without any bond.
    continuous
        `(n_lags,)`, float64: how many of them are bonded throughout.
    intermittency
        Number of frames in which a pair need not be bonded to be bonded throughout.
    report
        Timings and counters of the run.
    """

    times: NDArray[np.float64]
    intermittent: NDArray[np.float64]
    continuous: NDArray[np.float64]
    intermittency: int
    report: Report

    @property
    def intermittent_lifetime(self) -> float:
        """Integral of the intermittent correlation up to the largest lag, ps, by trapezoids."""
        return self._integral(self.intermittent)

    @property
    def continuous_lifetime(self) -> float:
        """Integral of the continuous correlation up to the largest lag, ps, by trapezoids."""
        return self._integral(self.continuous)

    def _integral(self, values: NDArray[np.float64]) -> float:
        return float(((values[1:] + values[:-1]) / 2 * np.diff(self.times)).sum())

    def plot(self) -> "Figure":
        """Draw both correlation functions against the lag."""
        from trajet import plots

        return plots.correlations(self.times, self.curves, title="lifetimes of hydrogen bonds")

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

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "times": self.times,
            "intermittent": self.intermittent,
            "continuous": self.continuous,
        }

    def _header(self) -> list[str]:
        return ["time_ps", "intermittent", "continuous"]

    def _rows(self) -> Iterable[Iterable[object]]:
        return zip(*(column.tolist() for column in self._arrays().values()), strict=True)


@dataclass(frozen=True, repr=False)
class HydrogenBonds(Series):
    """The number of hydrogen bonds in each frame, and what was asked for beside it.

    `values` are `(n_frames,)`, float64 holding integers; files are those of `Series`, NPZ files
    also hold `members`, `counts` and `occupancies` of `pairs`.

    Attributes
    ----------
    pairs
        The pairs that form hydrogen bonds, with their occupancies.
    bonds
        Every hydrogen bond of every frame; None unless it was asked for.
    lifetimes
        Correlation functions and lifetimes of the pairs; None unless they were asked for.
    """

    pairs: HydrogenBondPairs
    bonds: HydrogenBondList | None
    lifetimes: HydrogenBondLifetimes | None

    def plot(self) -> "Figure":
        """Draw the number of hydrogen bonds against time, and the most frequent pairs."""
        from trajet import plots

        return plots.hydrogen_bonds(
            self.values,
            self.times,
            self.frames,
            self.pairs.occupancies,
            self.pairs.labels(plots.MOST_BARS),
            None if (found := self.lifetimes) is None else (found.times, found.curves),
            title=f"hydrogen bonds of {self.columns[0]}",
        )

    def _about(self) -> str:
        mean = f", {self.values.mean():.1f} a frame" if len(self.values) else ""
        return f"hydrogen bonds of {count_of_frames(self.frames)}{mean}, {len(self.pairs)} pairs"

    def _arrays(self) -> dict[str, np.ndarray]:
        pairs = self.pairs
        of_pairs = {
            "members": pairs.members,
            "counts": pairs.counts,
            "occupancies": pairs.occupancies,
        }
        return {**super()._arrays(), **of_pairs}

    def _names(self) -> list[str]:
        return ["hydrogen_bonds"]
