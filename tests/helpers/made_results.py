"""Results with given numbers, also of ensembles."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import trajet as tj
from numpy.typing import NDArray
from trajet.result.axes import Axis, bins, named
from trajet.result.member_outcome import MemberOutcome

from helpers.made_reports import report, worker


def ensemble_of(
    results: dict[str, list[Any]], *, name: str = "rmsf", starts: Any = None
) -> tj.EnsembleResult[Any]:
    """Return the results of replicas of several systems."""
    return tj.EnsembleResult(
        name,
        [
            MemberOutcome({"system": system, "replica": k}, one, start=starts)
            for system, own in results.items()
            for k, one in enumerate(own, 1)
        ],
    )


def series_of(values: Mapping[str, NDArray[np.float64]]) -> tj.Table:
    """Return a result with a series for each name, `(n_frames,)` each."""
    columns = np.stack(list(values.values()), axis=1)
    frames = np.arange(len(columns))
    return table(columns, frames, list(values), name="sasa", units="Å²")


def table(
    values: NDArray[np.float64],
    frames: NDArray[np.int64],
    labels: list[str],
    *,
    name: str = "RMSD",
    units: str = "Å",
    times: NDArray[np.float64] | None = None,
) -> tj.Table:
    """Return a table of frames at times in ps, or their numbers; labels of series or none."""
    axes = [_frames_axis(frames, times)]
    if labels:
        axes.append(named("groups", labels))
    return tj.Table(values, tuple(axes), name, units, ("all",), report([worker(0)]))


def _frames_axis(frames: NDArray[np.int64], times: NDArray[np.float64] | None = None) -> Axis:
    return Axis("frames", {"frame": frames, "time": frames * 1.0 if times is None else times})


def dihedrals(
    values: NDArray[np.float64], labels: list[str], functions: list[str] | None = None
) -> tj.Dihedrals:
    """Return angles of frames, `(n_frames, n)`, or their cosines and sines, of the same atoms."""
    columns = {"label": np.array(labels)}
    if functions is not None:
        columns["function"] = np.array(functions)
    members = np.tile(np.arange(4), (len(labels), 1))
    atoms = Axis("atoms", {"atom": np.arange(4)})
    return tj.Dihedrals(
        values=values,
        axes=(
            _frames_axis(np.arange(len(values))),
            Axis("angles", columns, of=atoms, members=members),
        ),
        name="angle",
        units="degrees" if functions is None else "",
        selections=("all",),
        report=report([worker(0)]),
    )


def atom_values(
    values: NDArray[np.float64], of: tj.Report, **columns: NDArray[np.generic]
) -> tj.Table:
    """Return an RMSF of atoms with these columns, such as resid and chain."""
    atoms = {"atom": np.arange(len(values)), **columns}
    return tj.Table(np.asarray(values), (Axis("atoms", atoms),), "RMSF", "Å", ("name CA",), of)


def drawable(
    values: NDArray[np.generic], *axes: Axis, quantity: str = "q", **others: Any
) -> SimpleNamespace:
    """Return what figures take of a result: its axes, and of frames their numbers and times."""
    named_axes = [axis for axis in axes if "label" in axis.columns]
    columns = tuple(named_axes[0].labels()) if named_axes else ("all",)
    known = {"half_widths": None, "resolved": None, "columns": columns, **others}
    if not axes:
        axes = (_frames_axis(np.arange(len(values))),)
    if axes[0].kind == "frames":
        known |= {"frames": axes[0]["frame"], "times": axes[0]["time"]}
    return SimpleNamespace(values=values, axes=axes, quantity=quantity, **known)


def radial(edges: NDArray[np.float64], g: NDArray[np.float64]) -> tj.RadialDistribution:
    """Return a radial distribution function of two groups."""
    return tj.RadialDistribution(
        values=g,
        axes=(bins("distance", edges),),
        name="g",
        units="",
        selections=("name OW", "name HW1"),
        report=report([worker(0)]),
        also={"count": np.arange(len(g)) ** 2},
        number_density=0.03,
    )
