"""`trajet view` of one member of an ensemble, without a browser."""

from pathlib import Path

import click
import pytest
import trajet as tj
from helpers import commands
from helpers.messages import raises
from trajet import viewer
from trajet.cli.view_member import chosen_member
from trajet.trajectory import OpenOptions


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Return the path of a table of two systems with two replicas each."""
    rows = ["topology,trajectory,system,replica"]
    rows += [f"{s}.psf,{s}{k}.xtc,{s},{k}" for s in ("wt", "mut") for k in (1, 2)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def test_member_is_chosen_by_its_keys(table: str) -> None:
    """As texts, whatever their types are; paths are relative to the table."""
    for replica in ("2", "2.0"):
        member = chosen_member(table, ["system=mut", f"replica={replica}"], [], OpenOptions())
        assert member is not None
        assert [path.name for path in member.trajectories] == ["mut2.xtc"]
    assert chosen_member(None, [], ["a.psf", "a.xtc"], OpenOptions()) is None


@pytest.mark.parametrize(
    "keys", [["system=wt"], ["system=none"], [], ["chain=1"], ["wt"], ["replica=two"]]
)
def test_other_numbers_of_members_are_refused(table: str, keys: list[str]) -> None:
    """With the members that there are."""
    with raises(click.UsageError):
        chosen_member(table, keys, [], OpenOptions())


def test_files_or_members_are_needed(table: str) -> None:
    """One of them, not both."""
    for files, of, keys in (([], None, []), (["a.psf"], table, []), (["a.psf"], None, ["k=1"])):
        with raises(click.UsageError):
            chosen_member(of, keys, files, OpenOptions())


@pytest.mark.skipif(bool(viewer.missing_files()), reason="the viewer is missing: make viewer")
def test_saved_page_of_a_member(tmp_path: Path) -> None:
    """It has the frames and the atoms of the member's own files."""
    rows = tj.samples.peptide_variants().rows
    names = list(rows[0])
    lines = [",".join(str(row[name]) for name in names) for row in rows]
    (tmp_path / "table.csv").write_text("\n".join([",".join(names), *lines]), encoding="utf-8")
    keys = [f"{name}={rows[-1][name]}" for name in names if name not in ("topology", "trajectory")]
    chosen = [part for key in keys for part in ("--member", key)]
    page = tmp_path / "page.html"
    (line,) = commands.succeed(
        "view", "--members", tmp_path / "table.csv", *chosen, "--stop", 1, "--save", page
    )
    with tj.open(rows[-1]["topology"], rows[-1]["trajectory"]) as opened:
        n_atoms = sum(layer.selection.n_atoms for layer in viewer.default_layers(opened))
    assert f"1 frame of {n_atoms} atoms" in line
