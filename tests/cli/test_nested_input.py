"""Inputs that are nested thousands deep, and texts that fill the screen, are one short line."""

from pathlib import Path

import pytest
import trajet as tj
from helpers.commands import run
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet.quoting import quoted
from trajet.store.profile import Profile

DEEP = 3000


@pytest.mark.parametrize("depth", [50, 300, DEEP, 50_000])
@pytest.mark.parametrize("opening", ["[", "{a=", "[{a=["])
def test_nested_plan_is_one_line(tmp_path: Path, depth: int, opening: str) -> None:
    """Whether or not TOML can be read."""
    closing = opening[::-1].translate(str.maketrans("[{", "]}", "a="))
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'topology = "a"\ntrajectory = ["b"]\n[[analysis]]\ncommand = "rmsd"\n'
        f"select = {opening * depth}1{closing * depth}\n"
    )
    done = run("run", plan)
    assert done.returncode in (1, 2)
    assert "internal error" not in done.stderr
    assert len(done.stderr.splitlines()[-1]) < 500


def test_nested_report_and_profile_are_one_line() -> None:
    """JSON and TOML that the package reads elsewhere."""
    nested = "[" * 100_000 + "]" * 100_000
    with raises(tj.FormatError):
        tj.Report.from_json('{"schema":' + nested + "}", "report.json")
    with raises(tj.StoreError):
        Profile.parse(f"tiers = {nested}", "profile.toml", Path())


SELECTIONS = {
    "parentheses": "(" * DEEP + "name CA" + ")" * DEEP,
    "not": "not " * DEEP + "name CA",
    "byres": "byres " * DEEP + "name CA",
    "long name": "name " + "X" * 9000,
    "long list": "resname " + " ".join(["ZZZ"] * 3000),
    "nothing": " or ".join(["name QQ"] * 3000),
    "wrong end": " or ".join(["name CA"] * 3000) + ") and",
}


@pytest.mark.parametrize("selection", SELECTIONS)
def test_error_quotes_some_of_a_selection(adk: Adk, selection: str) -> None:
    """200 characters at most."""
    traj = tj.open(adk.psf, adk.xtc)
    with pytest.raises(tj.SelectionError) as caught:
        traj.select(SELECTIONS[selection])
    assert len(str(caught.value)) < 600
    text = "name CA and not (" + " or ".join(f"resid {n}" for n in range(1, 400)) + ")"
    with pytest.raises(tj.SelectionError) as caught:
        traj.select(f"({text}) and resid 3")
    assert len(str(caught.value)) < 600


def test_quoted_text_is_cut() -> None:
    """Short texts are as `repr` has them."""
    assert quoted("name 'CA'") == repr("name 'CA'")
    assert quoted("x" * 500) == "'" + "x" * 199 + "…'"
    assert quoted(["x"] * 500) == repr(["x"] * 500)[:200] + "…"
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert quoted(nested) == "lists within lists"
