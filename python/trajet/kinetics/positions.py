"""Positions of atoms as features."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan
from trajet.analysis.job import Job, Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.labels import atom_labels
from trajet.result import GroupSeries, Series
from trajet.trajectory import Selection


@dataclass(frozen=True, repr=False)
class Positions(GroupSeries, is_base=True):
    """Positions of atoms in each frame: x, y and z of one after the other.

    Attributes
    ----------
    atoms
        `(n_atoms,)`, int64, indices in the topology.
    """

    atoms: NDArray[np.int64]

    def feature_atoms(self) -> NDArray[np.int64]:
        """Return the atom of each coordinate; see `Series.feature_atoms`."""
        return np.repeat(self.atoms, 3)[:, None]


def positions_job(selection: Selection) -> Job[Series]:
    """Return the job whose values are the positions of atoms, x, y and z of one after the other."""
    return positions.job(selection)


@analysis(counts_repeats=False)
def positions(selection: Selection, **run: Unpack[RunOptions]) -> Steps[Series]:
    """Collect positions of atoms; a frame in which an atom has no position is an error."""
    main = main_selection(selection)
    plan = Plan(
        "positions",
        atoms=main.columns,
        align=None,
        average=False,
        finite=True,
        quantity="positions",
    )
    outcome = yield RunRequest(plan, [main])
    topology = main.trajectory.topology if main.trajectory.has_topology else None
    labels = atom_labels(topology, main.indices).tolist()
    values = outcome.floats("positions")
    return Positions(
        values=np.reshape(values, (len(outcome.frames), 3 * main.n_atoms)),
        times=outcome.times,
        frames=outcome.frames,
        units="Å",
        columns=tuple(f"{axis} {label}" for label in labels for axis in "xyz"),
        name="position",
        report=outcome.report(),
        atoms=main.indices,
    )
