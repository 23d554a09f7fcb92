"""ARCHITECTURE.md lists the files that an analysis goes through."""

import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import trajet as tj
from helpers.golden_files import Adk

ROOT = Path(__file__).parents[2]
PACKAGE = Path(tj.__file__).parent
# A reader who follows one analysis should not have to open more.
MOST_FILES = 40


def files_called(work: Callable[[], object]) -> set[str]:
    """Return the files of the package, some function of which `work` calls."""
    names = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            names.add(frame.f_code.co_filename)

    # Objects that earlier tests have left end in functions of trajet as well.
    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    paths = [Path(name) for name in names]
    return {str(path.relative_to(PACKAGE)) for path in paths if path.is_relative_to(PACKAGE)}


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
        called = files_called(lambda traj=traj: tj.rmsd(traj.select("name CA")))
    assert called == {name for name in listed if name.endswith(".py")}
    crates = [name.partition("/") for name in listed if name.endswith(".rs")]
    missing = [
        "/".join((crate, file))
        for crate, _, file in crates
        if not (ROOT / f"crates/trajet-{crate}/src/{file}").is_file()
    ]
    assert missing == []
