"""Positions of atoms as features."""

from typing import Unpack

import numpy as np

from trajet._trajet import Plan
from trajet.analysis.job import Job, Steps
from trajet.analysis.runner import RunOptions, RunRequest, main_selection, selection_seconds
from trajet.labels import atom_labels
from trajet.result import Series
from trajet.trajectory import Selection


def positions_job(selection: Selection) -> Job[Series]:
    """Return the job whose values are the positions of atoms, x, y and z of one after the other."""
    return Job("positions", _positions, (selection,), {})


def _positions(selection: Selection, **run: Unpack[RunOptions]) -> Steps[Series]:
    """Return the steps of the job; a frame in which an atom has no position is an error."""
    main = main_selection(selection)
    outcome = yield RunRequest(
        main.trajectory,
        lambda _: Plan(
            "positions",
            atoms=main.columns,
            align=None,
            average=False,
            finite=True,
            quantity="positions",
        ),
        t_select=selection_seconds(main),
        **run,
    )
    topology = main.trajectory.topology if main.trajectory.has_topology else None
    labels = atom_labels(topology, main.indices).tolist()
    values = outcome.floats("positions")
    return Series(
        values=np.reshape(values, (len(outcome.frames), 3 * main.n_atoms)),
        times=outcome.times,
        frames=outcome.frames,
        units="Å",
        columns=tuple(f"{axis} {label}" for label in labels for axis in "xyz"),
        name="position",
        report=outcome.report("positions", {"selections": [main.label]}),
    )
