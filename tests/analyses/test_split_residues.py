"""Structures whose residues a file splits have the results of the structure written plainly."""

import re
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import numbers_of_analyses, peptides
from trajet.result import Table

_LABELS = ("columns", "labels")
LOCATED = "not altloc B"
# Format, kind of structure, and the selection of the plain one.
CASES = [
    *(("pdb", name, LOCATED) for name in peptides.OF_LOCATIONS),
    *(("cif", name, LOCATED) for name in peptides.OF_LOCATIONS),
    ("gro", "another residue in turn", "not resname THR"),
    ("psf", "another residue in turn", "not resname THR"),
    *(("pdb", name, "all") for name in (*peptides.OF_SEGMENTS, *peptides.OF_CHAINS)),
    *(("psf", name, "all") for name in peptides.OF_SEGMENTS),
]


def opened(folder: Path, suffix: str, rows: list[peptides.Row]) -> tj.Trajectory:
    """Write rows as a topology with frames, and open both."""
    folder.mkdir()
    topology = peptides.WRITERS[suffix](folder / f"t.{suffix}", rows)
    return tj.open(topology, peptides.write_frames(folder / "x.trr", rows, peptides.system()))


def assert_equal(one: Table, other: Table, name: str) -> None:
    """Assert that two results have the same numbers and names of rows."""
    arrays = list(numbers_of_analyses.arrays(one))
    assert arrays
    for (field, mine), (_, theirs) in zip(arrays, numbers_of_analyses.arrays(other), strict=True):
        assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"), (name, field)
    assert names(one) == names(other), name


def names(result: object) -> list[str]:
    """Return the names of rows, without indices of atoms."""
    found = [getattr(result, field, None) for field in _LABELS]
    axes = result.axes if isinstance(result, tj.Table) else ()
    found += [tuple(one.labels()) for one in axes if one.elements.get("label") is not None]
    texts = [str(text) for value in found if isinstance(value, tuple) for text in value]
    # Members of an updating selection have its text as their label.
    texts = [text for text in texts if text not in getattr(result, "selections", ())]
    return [re.sub(r"@\d+", "@", text) for text in texts]


@pytest.mark.parametrize(("suffix", "kind", "text"), CASES)
def test_results_are_those_of_the_plain_structure(
    tmp_path: Path, suffix: str, kind: str, text: str
) -> None:
    """All analyses: exclusive locations, parts in turn and far apart, and lacking segments."""
    split = peptides.OF_LOCATIONS | peptides.OF_SEGMENTS | peptides.OF_CHAINS
    plain = opened(tmp_path / "plain", suffix, peptides.system())
    other = opened(tmp_path / "split", suffix, split[kind](peptides.system()))
    theirs = dict(peptides.results(other, text))
    ours = dict(peptides.results(plain, "all"))
    missing = {name.split()[0] for name in ours} ^ {*tj.ANALYSES, "features"}
    assert not missing
    for name, result in ours.items():
        if name in ("hbonds", "interactions") and suffix == "gro":
            # GRO files have no locations, so that bonds are guessed between both residues.
            continue
        if name == "count":
            # Its column is the text of its selection.
            assert np.array_equal(result.values, theirs[name].values)
        elif name == "features":
            assert names(result) == names(theirs[name])
        else:
            assert_equal(result, theirs[name], name)
    # A helix goes through the split residue.
    assert ours["dssp"].values.shape[1] == 23
    assert (ours["dssp"].values[:, 5:8] == "H").any()


def test_places_of_the_plain_structure_are_its_residues(tmp_path: Path) -> None:
    """An ion with the number of a residue is a place of its own, and so is each water."""
    for suffix in peptides.WRITERS:
        topology = opened(tmp_path / suffix, suffix, peptides.system()).topology
        assert topology.n_places == topology.n_residues == 14 + 9 + 1 + 1 + 6
        assert np.array_equal(topology.places, topology.atoms_residues)


def test_selection_language_has_the_residues_of_mdanalysis(tmp_path: Path) -> None:
    """`byres` and `resindex` mean parts; results and `topology.residues` do not."""
    rows = peptides.OF_LOCATIONS["another residue in turn"](peptides.system())
    traj = opened(tmp_path / "split", "pdb", rows)
    universe = traj.universe
    for text in ("byres index 36", "resindex 7", "same residue as index 37"):
        assert np.array_equal(traj.select(text).indices, universe.select_atoms(text).indices)
    residues = traj.topology.residues
    assert traj.topology.n_residues == len(residues.resids) == 32
    assert traj.topology.n_places == 31
    assert (residues.resids == peptides.SPLIT).sum() == 4
    assert len(traj.select("resid 7 and chainID A and not name ZN").split("residue")) == 1
