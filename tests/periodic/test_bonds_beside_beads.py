"""Bonds are guessed for atoms beside coarse-grained beads, whose radii are unknown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers.messages import raises

# A chain of carbon atoms across the box of 40 Å, and beads of lipids.
CHAIN = np.array([[38.0 + 1.4 * k, 5.0, 5.0] for k in range(5)])
BEADS = np.array([[20.0, 20.0, 3.0 + 4 * k] for k in range(8)])
LIPIDS = {
    "known beads": ["NC3", "PO4", "GL1", "C1A"],
    # No element begins with these letters.
    "unknown beads": ["QX", "QY", "QZ", "QQ"],
}


def opened(folder: Path, beads: list[str]) -> tj.Trajectory:
    """Return one frame, in which the chain is broken."""
    x = np.concatenate([CHAIN % 40, BEADS])
    names = [(1, "LIG", f"C{k + 1}") for k in range(len(CHAIN))]
    names += [(2 + k // 4, "POPC", beads[k % 4]) for k in range(len(BEADS))]
    lines = ["a chain and lipids", f"{len(x)}"]
    for i, ((number, residue, name), place) in enumerate(zip(names, x, strict=True)):
        row = "".join(f"{value / 10:8.3f}" for value in place)
        lines.append(f"{number:5d}{residue:5s}{name:>5s}{i + 1:5d}{row}")
    path = folder / "x.gro"
    path.write_text("\n".join([*lines, "   4.00000   4.00000   4.00000", ""]))
    return tj.open(path, path, sidecar=False)


@pytest.mark.parametrize("name", LIPIDS)
def test_atoms_are_repaired_and_beads_are_refused(name: str, tmp_path: Path) -> None:
    """Whatever reads the beads; selections by distance from them are those of stored positions."""
    traj = opened(tmp_path, LIPIDS[name])
    whole = traj.whole(guess_bonds=True)
    chain = whole.select("resname LIG")
    assert np.abs(chain.read().positions[0] - CHAIN).max() < 1e-4
    assert tj.gyration(chain, weights="equal").messages != []
    assert whole.select("resname LIG and around 30 resname POPC").n_atoms == len(CHAIN)
    beads = whole.select(f"name {LIPIDS[name][1]}")
    refused: list[Callable[[], Any]] = [
        whole.read,
        beads.read,
        lambda: next(whole.blocks()),
        lambda: beads.cursor().read(0),
        lambda: tj.gyration(beads, weights="equal"),
        lambda: tj.convert(whole, tmp_path / "copy.xtc"),
        lambda: whole.center(f"name {LIPIDS[name][1]}"),
        lambda: traj.repair("resname POPC", guess_bonds=True),
        lambda: whole.nojump().read(),
        lambda: whole.wrap().read(),
    ]
    for act in refused:
        with raises(tj.SelectionError):
            act()
    assert not (tmp_path / "copy.xtc").exists()
    tj.convert(chain, tmp_path / "some.xtc")


def test_models_without_atoms_are_refused(tmp_path: Path) -> None:
    """No bond can be guessed at all."""
    lines = (opened(tmp_path, LIPIDS["known beads"]), (tmp_path / "x.gro").read_text())[1]
    rows = lines.splitlines()
    rows = [rows[0], "8", *rows[7:]]
    (tmp_path / "x.gro").write_text("\n".join([*rows, ""]))
    traj = tj.open(tmp_path / "x.gro", tmp_path / "x.gro", sidecar=False)
    with raises(tj.SelectionError):
        traj.whole(guess_bonds=True)


def test_command_repairs_the_atoms_that_it_reads(tmp_path: Path) -> None:
    """The error of the beads names what to choose."""
    opened(tmp_path, LIPIDS["known beads"])
    path = str(tmp_path / "x.gro")
    command = ["gyration", path, path, "--weights", "equal", "--whole", "--guess-bonds"]
    commands.succeed(*command, "--select", "resname LIG")
    commands.fail(*command, "--select", "resname POPC")
