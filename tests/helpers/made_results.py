"""Results with given numbers, also of ensembles."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import trajet as tj
from numpy.typing import NDArray
from trajet.result.member_outcome import MemberOutcome
from trajet.result.series import GroupSeries

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


def series_of(values: Mapping[str, NDArray[np.float64]]) -> GroupSeries:
    """Return a result with a series for each name, `(n_frames,)` each."""
    columns = np.stack(list(values.values()), axis=1)
    frames = np.arange(len(columns))
    times = frames.astype(np.float64)
    return GroupSeries(columns, times, frames, "Å²", tuple(values), "sasa", report([worker(0)]))
