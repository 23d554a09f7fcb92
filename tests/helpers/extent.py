"""Whether tests run in the gate or in `make test-long`, for numbers of cases within a test."""

import itertools
import os
from collections.abc import Sequence

import pytest

# Set by `make test-long`, for tests that are in the gate as well.
IS_LONG = bool(os.environ.get("TRAJET_TEST_LONG"))


def examples(gate: int) -> int:
    """Return the number of examples of Hypothesis: `gate`, and 20 times as many in long tests."""
    return 20 * gate if IS_LONG else gate


def pairs_first(*options: Sequence[object]) -> list[object]:
    """Return parameters for all combinations of options; those that add no pair are `long`.

    Every two values of different options are together in some test of the gate.
    """
    cases = [*itertools.product(*(range(len(values)) for values in options))]
    pairs_of = {case: {*itertools.combinations(enumerate(case), 2)} for case in cases}
    missing = set().union(*pairs_of.values())
    gate = set()
    while missing:
        most = max(cases, key=lambda case: len(pairs_of[case] & missing))
        missing -= pairs_of[most]
        gate.add(most)
    return [
        pytest.param(
            *(values[k] for values, k in zip(options, case, strict=True)),
            marks=() if case in gate else pytest.mark.long,
        )
        for case in cases
    ]
