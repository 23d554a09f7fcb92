"""Whether tests run in the gate or in `make test-long`, for numbers of cases within a test."""

import os

# Set by `make test-long`, for tests that are in the gate as well.
IS_LONG = bool(os.environ.get("TRAJET_TEST_LONG"))


def examples(gate: int) -> int:
    """Return the number of examples of Hypothesis: `gate`, and 20 times as many in long tests."""
    return 20 * gate if IS_LONG else gate
