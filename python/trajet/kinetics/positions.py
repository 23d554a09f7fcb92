"""Positions of atoms as features."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan
from trajet.analysis.job import Job, Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.labels import atom_labels
from trajet.result.table import Table, named
from trajet.trajectory import Selection


@dataclass(frozen=True, repr=False)
class Positions(Table, is_base=True):
    """Positions of atoms in each frame: x, y and z of one after the other."""

    def feature_atoms(self) -> NDArray[np.int64]:
        """Return the atom of each coordinate; see `Table.feature_atoms`."""
        return self.axes[1]["atom"].astype(np.int64)[:, None]


def positions_job(selection: Selection) -> Job[Table]:
    """Return the job whose values are the positions of atoms, x, y and z of one after the other."""
    return positions.job(selection)


@analysis(counts_repeats=False)
def positions(selection: Selection, **run: Unpack[RunOptions]) -> Steps[Table]:
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
        axes=(
            outcome.frames_axis,
            named(
                "groups",
                [f"{axis} {label}" for label in labels for axis in "xyz"],
                atom=np.repeat(main.indices, 3),
            ),
        ),
        name="position",
        units="Å",
        selections=(main.label,),
        report=outcome.report(),
    )
