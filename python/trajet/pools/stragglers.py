"""Which tasks take unusually long while a run is going on, by the rules of `trajet.advise`."""

from collections.abc import Sequence

from trajet import advise

MEDIAN_RULE = "1.5 times the median"
FASTEST_RULE = "twice the fastest"


def limits(seconds: Sequence[float]) -> dict[str, float]:
    """Return from when on a task counts as a straggler, by each rule, beside what others took."""
    verdict = advise.Verdict(seconds)
    return {
        MEDIAN_RULE: advise.OVER_MEDIAN * verdict.median,
        FASTEST_RULE: advise.OVER_FASTEST * verdict.fastest,
    }
