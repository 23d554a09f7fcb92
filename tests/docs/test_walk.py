"""ARCHITECTURE.md lists the files that an analysis goes through."""

import gc
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import trajet as tj
from helpers.golden_files import Adk

ROOT = Path(__file__).parents[2]
PACKAGE = Path(tj.__file__).parent
# A reader who follows one analysis should not have to open more.
MOST_FILES = 40
# Most files and calls in Python of one RMSD from opening on, and calls of a mean over replicas.
MOST_PYTHON_FILES, MOST_CALLS, MOST_CALLS_OF_A_MEAN = 31, 330, 500


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


def test_architecture_lists_the_files_of_a_run(adk: Adk) -> None:
    """All Python files that a profiler finds, and no others; the Rust files exist."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition("## A walk through")[2].partition("\n## ")[0]
    table = section.partition("\n|")[2]
    listed = re.findall(r"`([a-z_/]+\.(?:py|rs))`", table)
    assert len(listed) == len(set(listed)) <= MOST_FILES
    # The first run imports modules.
    for _ in range(2):
        traj = tj.open(adk.psf, adk.xtc)
        called = calls_by_file(lambda traj=traj: tj.rmsd(traj.select("name CA")))
    assert set(called) == {name for name in listed if name.endswith(".py")}
    crates = [name.partition("/") for name in listed if name.endswith(".rs")]
    missing = [
        "/".join((crate, file))
        for crate, _, file in crates
        if not (ROOT / f"crates/trajet-{crate}/src/{file}").is_file()
    ]
    assert missing == []


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
    assert len(called) <= MOST_PYTHON_FILES
    assert called.total() <= MOST_CALLS
    assert calls_by_file(lambda: result.mean("system")).total() <= MOST_CALLS_OF_A_MEAN
