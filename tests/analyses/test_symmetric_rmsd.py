"""RMSD of groups, the least over the symmetries of a molecule.

`spyrmsd.json` has 20 ligands without hydrogens, whose frames are noisy and in another order, with
the RMSD by spyrmsd 0.9.0: `symmrmsd(reference, frame, numbers, numbers, adjacency, adjacency,
center=False, minimize=False)`.
"""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet.analysis import symmetries

LIGANDS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("spyrmsd.json").read_text(encoding="utf-8")
)


def write_pdb(path: Path, ligands: list[dict[str, Any]]) -> Path:
    """Write a residue for each ligand, its frames after the reference, with their bonds."""
    lines = []
    frames = [[one["reference"] for one in ligands]]
    frames += [[one["frames"][k] for one in ligands] for k in range(len(ligands[0]["frames"]))]
    for k, of_ligands in enumerate(frames):
        lines.append(f"MODEL     {k + 1:4d}")
        serial = 0
        for number, (ligand, positions) in enumerate(zip(ligands, of_ligands, strict=True), 1):
            for symbol, (x, y, z) in zip(ligand["elements"], positions, strict=True):
                serial += 1
                lines.append(
                    f"HETATM{serial:5d}  {symbol:<3} LIG A{number:4d}    {x:8.3f}{y:8.3f}{z:8.3f}"
                    f"  1.00  0.00          {symbol:>2}"
                )
        lines.append("ENDMDL")
    begin = 1
    for ligand in ligands:
        lines += [f"CONECT{begin + i:5d}{begin + j:5d}" for i, j in ligand["bonds"]]
        begin += len(ligand["elements"])
    path.write_text("\n".join([*lines, "END", ""]))
    return path


def test_rmsd_equals_spyrmsd(tmp_path: Path) -> None:
    """Of 20 ligands with up to 144 symmetries, in pools, and with atoms in another order."""
    assert len(LIGANDS) == 20
    path = write_pdb(tmp_path / "ligands.pdb", LIGANDS)
    traj = tj.open(path, path)
    groups: list[str | tj.Selection] = [f"resid {k}" for k in range(1, 21)]
    expected = np.array([one["rmsd"] for one in LIGANDS]).T
    pools = [None, tj.LocalPool(threads=2, task_frames=1), tj.ProcessPool(workers=2, task_frames=1)]
    for pool in pools:
        found = tj.rmsd(
            traj.all_atoms(), groups=groups, symmetric=True, motion="none", frames=[1, 2], pool=pool
        )
        assert np.abs(found.values[:, 1:] - expected).max() < 1e-6
    plain = tj.rmsd(traj.all_atoms(), groups=groups, motion="none", frames=[1, 2])
    assert np.array_equal(plain.values[:, 0], found.values[:, 0])
    assert (plain.values[:, 1:] - found.values[:, 1:] > 0.1).sum() > 15
    shuffled = traj.select(np.random.default_rng(0).permutation(traj.select("resid 9").indices))
    again = tj.rmsd(
        traj.all_atoms(), groups=[shuffled], symmetric=True, motion="none", frames=[1, 2]
    )
    assert np.abs(again.values[:, 1] - expected[:, 8]).max() < 1e-6


def naive(elements: list[str], bonds: set[frozenset[int]]) -> set[tuple[int, ...]]:
    """Return all permutations that keep elements and bonds."""
    n = len(elements)
    return {
        order
        for order in permutations(range(n))
        if all(elements[order[k]] == elements[k] for k in range(n))
        and {frozenset(order[k] for k in bond) for bond in bonds} == bonds
    }


def test_symmetries_are_all_permutations_that_keep_elements_and_bonds(tmp_path: Path) -> None:
    """Of random connected graphs of seven atoms; the identity is the first."""
    rng = np.random.default_rng(7)
    graphs = []
    for _ in range(40):
        # A tree, and up to four bonds more.
        bonds = {frozenset((k, int(rng.integers(k)))) for k in range(1, 7)}
        bonds |= {
            frozenset(rng.choice(7, 2, replace=False).tolist()) for _ in range(rng.integers(5))
        }
        elements = rng.choice(["C", "N"], 7, p=[0.8, 0.2]).tolist()
        at = rng.normal(0, 2, (7, 3)).round(3).tolist()
        ordered = [sorted(bond) for bond in bonds]
        graphs.append({"elements": elements, "bonds": ordered, "reference": at, "frames": []})
    path = write_pdb(tmp_path / "graphs.pdb", graphs)
    traj = tj.open(path, path)
    sizes = set()
    for k, graph in enumerate(graphs):
        found = symmetries.symmetries(traj.select(f"resid {k + 1}"), [])
        orders = [tuple(order) for order in found.tolist()]
        assert orders[0] == tuple(range(7))
        assert len(set(orders)) == len(orders)
        assert set(orders) == naive(graph["elements"], set(map(frozenset, graph["bonds"])))
        sizes.add(len(orders))
    assert len(sizes) >= 4


def test_part_of_a_molecule_keeps_its_bonds_to_the_rest(adk: Adk) -> None:
    """The ring of phenylalanine alone has 12 symmetries, at its place 2."""
    traj = tj.open(adk.psf, adk.xtc)
    ring = traj.select("resname PHE and name CG CD1 CD2 CE1 CE2 CZ")
    first = traj.select(ring.indices[:6])
    assert len(symmetries.symmetries(first, [])) == 2
    result = tj.rmsd(traj.select("name CA"), groups=[first], symmetric=True, frames=slice(20))
    plain = tj.rmsd(traj.select("name CA"), groups=[first], frames=slice(20))
    assert (result.values[:, 1] <= plain.values[:, 1]).all()
    # The same orders of the positions that the average structure has.
    options: dict[str, Any] = {"groups": [first], "reference": "average", "frames": slice(20)}
    average = tj.rmsd(traj.select("name CA"), symmetric=True, **options)
    assert (average.values[:, 1] <= tj.rmsd(traj.select("name CA"), **options).values[:, 1]).all()


def test_orders_beyond_the_most_are_reported(adk: Adk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The RMSD is then the least over those that were found."""
    traj = tj.open(adk.psf, adk.xtc)
    monkeypatch.setattr(symmetries, "_MAX_ORDERS", 5)
    messages: list[Any] = []
    found = symmetries.symmetries(traj.select("resid 1:20 and not name H*"), messages)
    assert len(found) == 5
    assert [one.code.text for one in messages] == ["symmetries"]
    assert len(symmetries.symmetries(traj.select("resid 7 and not name H*"), messages)) <= 5


def test_what_is_no_molecule_of_heavy_atoms_is_refused(adk: Adk, tmp_path: Path) -> None:
    """One line each."""
    traj = tj.open(adk.psf, adk.xtc)
    heavy = "not name H*"
    wrong: list[str | tj.Selection] = [
        "resid 3",
        f"resid 3 5 and {heavy}",
        traj.select(np.repeat(traj.select(f"resid 3 and {heavy}").indices, 2)),
    ]
    for group in wrong:
        with raises(tj.SelectionError):
            tj.rmsd(traj.select("name CA"), groups=[group], symmetric=True)
    with pytest.raises(ValueError):
        tj.rmsd(traj.select("name CA"), symmetric=True)
    path = write_pdb(tmp_path / "unbonded.pdb", [{**LIGANDS[0], "bonds": []}])
    without = tj.open(path, path)
    with pytest.raises(tj.SelectionError):
        tj.rmsd(without.all_atoms(), groups=["resid 1"], symmetric=True)
