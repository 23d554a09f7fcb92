"""Positions of atoms as features."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from trajet._trajet import Plan
from trajet.analysis.atom_groups import labelled_atoms
from trajet.analysis.job import Job, Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.result.axes import named
from trajet.result.table import Table
from trajet.trajectory import Selection


@dataclass(frozen=True, repr=False)
class Positions(Table, is_base=True):
    """Positions of atoms in each frame: x, y and z of one after the other."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of each coordinate: "x ALA1:CA"."""
        return tuple(f"{axis} {label}" for label in self.axes[1].labels() for axis in "xyz")


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
    values = outcome.floats("positions")
    return Positions(
        values=np.reshape(values, (len(outcome.frames), main.n_atoms, 3)),
        axes=(outcome.frames_axis, labelled_atoms(main), named("coordinates", tuple("xyz"))),
        name="position",
        units="Å",
        selections=(main.label,),
        report=outcome.report(),
    )
