"""An analysis goes through few files and calls."""

import gc
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import trajet as tj
from helpers.golden_files import Adk

PACKAGE = Path(tj.__file__).parent
# Most files and calls in Python of one RMSD from opening on, and calls of a mean over replicas.
MAX_PYTHON_FILES, MAX_CALLS, MAX_CALLS_OF_A_MEAN = 31, 330, 500


def calls_by_file(work: Callable[[], object]) -> Counter[str]:
    """Return how often `work` calls functions of each file of the package, or resumes them."""
    names = Counter[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            names[frame.f_code.co_filename] += 1

    # Objects that earlier tests have left end in functions of trajet as well.
    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    paths = {Path(name): n for name, n in names.items()}
    return Counter(
        {
            str(path.relative_to(PACKAGE)): n
            for path, n in paths.items()
            if path.is_relative_to(PACKAGE)
        }
    )


def test_calls_of_a_run_and_of_a_mean_are_bounded(adk: Adk) -> None:
    """In a second run, as the first imports modules."""

    def run() -> object:
        return tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))

    rows = [
        {"system": system, "replica": k, "topology": adk.psf, "trajectory": adk.xtc}
        for system in ("wt", "mut")
        for k in (1, 2)
    ]
    result = tj.rmsf(tj.ensemble(rows).select("name CA"), align="same")
    run(), result.mean("system")
    called = calls_by_file(run)
    assert len(called) <= MAX_PYTHON_FILES
    assert called.total() <= MAX_CALLS
    assert calls_by_file(lambda: result.mean("system")).total() <= MAX_CALLS_OF_A_MEAN
