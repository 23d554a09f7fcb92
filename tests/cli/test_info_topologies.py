"""`trajet info` on topologies: what is in them, and what selections can use."""

import json
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.commands import invoke
from helpers.golden_files import Adk
from MDAnalysisTests import datafiles


def run(*arguments: object) -> str:
    """Run `info` in this process and return its output."""
    done = invoke("info", *arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


TOPOLOGIES = {
    "psf": datafiles.PSF,
    "tpr": datafiles.TPR2024,
    "prmtop": datafiles.PRM,
    "gro": datafiles.GRO_velocity,
    "pdb": datafiles.PDB_small,
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_counts_are_those_of_mdanalysis(name: str) -> None:
    """Counts of atoms, residues and their names, and of the atoms that selections select."""
    path = TOPOLOGIES[name]
    found = json.loads(run(path, "--json", "--residues"))["topology"]
    theirs = mda.Universe(path)
    assert found["atoms"] == len(theirs.atoms)
    assert found["residues"] == len(theirs.residues) == len(found["residue_list"])
    names, counts = np.unique(theirs.residues.resnames, return_counts=True)
    assert found["residue_names"] == dict(zip(names.tolist(), counts.tolist(), strict=True))
    names, counts = np.unique(theirs.atoms.names, return_counts=True)
    assert found["atom_names"] == dict(zip(names.tolist(), counts.tolist(), strict=True))
    for word in ("protein", "backbone", "nucleic"):
        assert found["selections"][word] == len(theirs.select_atoms(word))
    assert [row["resname"] for row in found["residue_list"]] == theirs.residues.resnames.tolist()
    assert [row["atoms"] for row in found["residue_list"]] == [
        len(residue.atoms) for residue in theirs.residues
    ]
    assert (found["bonds"] is None) == ("bonds" in found["missing"])
    # Every word that is named selects something.
    topology = tj.topology.load(Path(path)).topology
    for word in found["keywords"]:
        columns = {"resid": "resids", "chainID": "chainIDs", "altLoc": "altLocs"}
        column = topology.column(columns.get(word, f"{word}s"))
        assert column is not None
        value = next(value for value in column.tolist() if value != "")
        assert len(topology.select(f"{word} {value}", "here"))


def test_lines_name_what_is_missing(adk: Adk, tmp_path: Path) -> None:
    """A GRO file has neither masses nor bonds nor elements; it has frames, too."""
    text = run(adk.psf)
    assert "residues      214: GLY 20, ALA 19, VAL 19, GLU 18, " in text
    assert "molecules     1" in text
    assert "bonds         3365" in text
    assert "(guessed from names)" in text
    assert all(len(line) <= 100 for line in text.splitlines()[1:])
    made = tmp_path / "a.gro"
    made.write_text(
        "two\n 2\n    1ALA     CA    1   0.100   0.100   0.100\n"
        "    2SOL     OW    2   0.300   0.300   0.300\n   2.0   2.0   2.0\n"
    )
    text = run(made)
    assert "frames        1" in text
    assert "residues      2: ALA 1, SOL 1" in text
    for line in ("charges       none", "bonds         none: ", "chains        not named"):
        assert line in text
    assert "molecules     unknown: there are neither molecules nor bonds" in text
    rows = run(made, "--residues").splitlines()[-2:]
    assert [row.split() for row in rows] == [
        ["0", "ALA", "1", "1", "0"],
        ["1", "SOL", "2", "1", "1"],
    ]


def test_trajectories_and_topologies_are_described_together(adk: Adk) -> None:
    """Each by its own; the list has all of them."""
    topology, trajectory = json.loads(run(adk.psf, adk.xtc, "--json"))
    assert topology["topology"]["atoms"] == trajectory["atoms"] == 3341
    assert (trajectory["frames"], trajectory["format"]) == (98, "XTC")
    assert trajectory["time_step_ps"] == pytest.approx(1.0)
    assert "topology" not in trajectory
    together = json.loads(run(adk.xtc, adk.psf, adk.xtc, "--json"))[-1]
    assert (together["together"], together["frames"]) == (2, 196)
