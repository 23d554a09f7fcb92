"""The examples in docstrings run beside ADK, alone and in water, and print what they show."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
import trajet as tj
from helpers.golden_files import Adk
from MDAnalysisTests import datafiles

ROOT = Path(__file__).parents[2]
# `trajet.torch` has no examples, as the gate has no PyTorch.
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(tj.__path__, "trajet.")
    if not name.endswith(("__main__", "_trajet", ".torch"))
]


def test_examples_print_what_they_show(own_adk: Adk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`traj` and `result` are an open trajectory and the RMSD of its C-alpha atoms."""
    folder = Path(own_adk.xtc).parent
    for ending, source in (("tpr", datafiles.TPR), ("xtc", datafiles.XTC)):
        (folder / f"solvated.{ending}").symlink_to(source)
    monkeypatch.chdir(folder)
    traj = tj.open("adk.psf", "adk.xtc")
    names = {"traj": traj, "result": tj.rmsd(traj.select("name CA"))}
    tried = 0
    for name in MODULES:
        outcome = doctest.testmod(importlib.import_module(name), extraglobs=dict(names))
        assert outcome.failed == 0, name
        tried += outcome.attempted
    assert tried >= 10


def test_documentation_of_crates_has_no_examples_that_nothing_runs() -> None:
    """The gate runs no documentation tests: blocks of code need a language that is not Rust."""
    opening = re.compile(
        r"^\s*//[/!] ```(\w*)[^\n]*\n(?:\s*//[/!][^\n]*\n)*?\s*//[/!] ```$", re.MULTILINE
    )
    languages = {
        language
        for path in ROOT.glob("crates/**/*.rs")
        for language in opening.findall(path.read_text(encoding="utf-8"))
    }
    assert languages == {"text"}
