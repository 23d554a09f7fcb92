"""Which tasks take unusually long while a run is going on, by the rules of `trajet.advise`."""

from collections.abc import Sequence

from trajet import advise


def limits(seconds: Sequence[float]) -> dict[str, float]:
    """Return from when on a task counts as a straggler, by each rule, beside what others took."""
    verdict = advise.Verdict(seconds)
    return {
        "median": advise.OVER_MEDIAN * verdict.median,
        "fastest": advise.OVER_FASTEST * verdict.fastest,
    }
