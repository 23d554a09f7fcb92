"""Results with one value per atom."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, ascii_units

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class AtomValues(Result):
    """One value per atom.

    NPZ files hold `values`, `atoms` and `units`. CSV files have the columns atom, resid (if the
    topology numbers its residues) and the values.

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
    """

    values: NDArray[np.float64]
    atoms: NDArray[np.int64]
    residues: NDArray[np.int64] | None
    units: str
    label: str
    name: str
    report: Report

    def plot(self) -> "Figure":
        """Draw the values against residue numbers, or against atom indices if there are none."""
        from trajet import plots

        return plots.profile(
            self.values,
            self.atoms,
            self.residues,
            quantity=f"{self.name} ({self.units})",
            title=f"{self.name} of {self.label}",
        )

    def _about(self) -> str:
        return f"{self.name} of {self.label!r}, values {self.values.shape} {self.units}"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {"values": self.values, "atoms": self.atoms, "units": np.array(self.units)}

    def _header(self) -> list[str]:
        resid = [] if self.residues is None else ["resid"]
        return ["atom", *resid, f"{self.name.lower()}_{ascii_units(self.units)}"]

    def _rows(self) -> Iterable[Iterable[object]]:
        columns = [self.atoms, self.values]
        if self.residues is not None:
            columns.insert(1, self.residues)
        return zip(*(column.tolist() for column in columns), strict=True)
