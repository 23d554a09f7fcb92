"""Results with one value per atom."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.quoting import quoted
from trajet.result.report import Report
from trajet.result.result import Columns, Result, column_name, names_column
from trajet.result.summary import Column, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class AtomValues(Result):
    """One value per atom.

    CSV files have the columns atom, those of chain, resname, resid and name that the topology has,
    icode if a residue has an insertion code, and the values; with errors also standard_error and
    half_width_95.

    Attributes
    ----------
    values
        `(n_atoms,)`, float64, `units`.
    atoms
        `(n_atoms,)`, int64, indices in the topology.
    residues
        `(n_atoms,)`, int64, residue numbers; None if the topology has none.
    units
        Unit of the values.
    label
        The selection, as text.
    name
        Name of the computed quantity.
    report
        Timings and counters of the run.
    chains, residue_names, atom_names
        `(n_atoms,)`, str; None if the topology has none.
    labels
        `(n_atoms,)`, str, such as "MET1:CA", or "A:MET1:CA" if chains share residue numbers; None
        without a topology.
    standard_errors, half_widths
        `(n_atoms,)`, float64, `units`: standard errors of the values, and longer sides of their 95
        % intervals; None if they were not asked for.
    resolved
        bool, in their shape: whether the run is long enough to trust the interval; None without
        errors.
    insertion_codes
        `(n_atoms,)`, str; None if no residue of these atoms has one.
    """

    values: NDArray[np.float64]
    atoms: NDArray[np.int64]
    residues: NDArray[np.int64] | None
    units: str
    label: str
    name: str
    report: Report
    chains: NDArray[np.str_] | None = None
    residue_names: NDArray[np.str_] | None = None
    atom_names: NDArray[np.str_] | None = None
    labels: NDArray[np.str_] | None = None
    standard_errors: NDArray[np.float64] | None = None
    half_widths: NDArray[np.float64] | None = None
    resolved: NDArray[np.bool_] | None = None
    insertion_codes: NDArray[np.str_] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = (
        *("values", "atoms", "residues", "chains", "residue_names", "atom_names", "labels"),
        *("standard_errors", "half_widths", "resolved", "insertion_codes"),
    )

    @property
    def quantity(self) -> str:
        """Name and unit, as on the axis of a figure."""
        return f"{self.name} ({self.units})" if self.units else self.name

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the values against residue numbers, or against atoms if these do not increase.

        See `Result.plot`.
        """
        from trajet import plots

        return plots.profile(
            self.values,
            self.atoms,
            self.residues,
            labels=None if self.labels is None else self.labels.tolist(),
            chains=None if self.chains is None else self.chains.tolist(),
            quantity=self.quantity,
            title=f"{self.name} of {self.label}",
            half_widths=self.half_widths,
            ax=ax,
            look=look,
        )

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean and extremes of the values; see `Result.summary`."""
        values, most = self.values, int(np.argmax(self.values))
        where = str(self.atoms[most])
        if self.residues is not None:
            where += f" (residue {self.residues[most]})"
        columns = (
            names_column("selection", [self.label]),
            Column("atoms", [len(values)]),
            *(Column(k, [float(getattr(values, k)())], ".3f") for k in ("mean", "min", "max")),
            Column("atom of max", [where]),
        )
        return Summary(self.quantity, columns, 1)

    def _about(self) -> str:
        return (
            f"{self.name} of {quoted(self.label)}, values {self.values.shape} {self.units}".rstrip()
        )

    def _table(self) -> Columns:
        columns = {
            "atom": self.atoms,
            "chain": self.chains,
            "resname": self.residue_names,
            "resid": self.residues,
            "icode": self.insertion_codes,
            "name": self.atom_names,
            column_name(self.name, self.units): self.values,
            column_name("standard_error", self.units): self.standard_errors,
            column_name("half_width_95", self.units): self.half_widths,
        }
        return [(name, column) for name, column in columns.items() if column is not None]
