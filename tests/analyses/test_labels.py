"""Labels of residues and atoms: one rule for all results, tables and figures."""

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.systems import Systems
from trajet.labels import atom_labels, residue_labels

# Chain, residue name, number and insertion code, atoms.
Residue = tuple[str, str, int, str, tuple[str, ...]]
BACKBONE = ("N", "H", "CA", "C", "O")


def _pdb(path: Path, residues: list[Residue]) -> Path:
    """Write residues side by side, each with a hydrogen bond of its own N-H and O."""
    lines, serial = [], 0
    for k, (chain, name, number, code, atoms) in enumerate(residues):
        for j, atom in enumerate(atoms):
            serial += 1
            x, y = 2.9 * k, {"N": 0.0, "H": 1.0, "O": 2.9}.get(atom, 6.0 + j)
            lines.append(
                f"ATOM  {serial:5}  {atom:<3} {name:>3} {chain or ' '}{number:4}{code or ' '}   "
                f"{x:8.3f}{y:8.3f}{0:8.3f}  1.00  0.00           {atom[0]}\n"
            )
    path.write_text("".join([*lines, "END\n"]))
    return path


def _labels(path: Path) -> list[str]:
    return residue_labels(tj.open(path).topology).tolist()


def test_chains_are_shown_where_they_share_residues(tmp_path: Path) -> None:
    """In all residues of these chains, and in no others; without chains, by the first atom."""
    atoms = ("CA", "CB")
    monomer = [
        ("A", "ARG", 10, "", atoms),
        ("A", "ALA", 11, "", atoms),
        ("A", "ALA", 11, "B", atoms),
    ]
    dimer = [*monomer, ("B", "ARG", 10, "", atoms), ("B", "GLY", 12, "", atoms)]
    ligand = ("C", "LIG", 1, "", atoms)
    water = [("W", "HOH", 5, "", ("O",)), ("W", "HOH", 6, "", ("O",)), ("W", "HOH", 5, "", ("O",))]
    path = tmp_path / "x.pdb"
    assert _labels(_pdb(path, [*monomer, ligand])) == ["ARG10", "ALA11", "ALA11B", "LIG1"]
    assert _labels(_pdb(path, [*dimer, ligand])) == [
        *("A:ARG10", "A:ALA11", "A:ALA11B", "B:ARG10", "B:GLY12", "LIG1")
    ]
    # Waters are alike within one chain.
    assert _labels(_pdb(path, [*monomer, *water])) == [
        *("ARG10", "ALA11", "ALA11B", "HOH5@6", "HOH6", "HOH5@8")
    ]
    unnamed = [("", *residue[1:]) for residue in dimer]
    assert _labels(_pdb(path, unnamed)) == ["ARG10@0", "ALA11", "ALA11B", "ARG10@6", "GLY12"]


def test_segments_stand_for_chains(tmp_path: Path) -> None:
    """Also where the column of chains has the same letter everywhere."""
    lines = [
        f"ATOM  {k + 1:5}  CA  ALA {chain}{7:4}    {3.0 * k:8.3f}{0:8.3f}{0:8.3f}  1.00  0.00"
        f"      {segment:<4} C\n"
        for k, (chain, segment) in enumerate(product(" X", ("PROA", "PROB")))
    ]
    path = tmp_path / "x.pdb"
    for some in (lines[:2], lines[2:]):
        path.write_text("".join([*some, "END\n"]))
        assert _labels(path) == ["PROA:ALA7", "PROB:ALA7"]


def test_atoms_of_the_same_name_in_a_residue_have_their_index(tmp_path: Path) -> None:
    """The others have the name alone, whichever atoms are asked for."""
    path = _pdb(
        tmp_path / "x.pdb", [("A", "LIG", 1, "", ("C", "C", "O")), ("A", "ALA", 2, "", ("C",))]
    )
    topology = tj.open(path).topology
    found = ["LIG1:C@0", "LIG1:C@1", "LIG1:O", "ALA2:C"]
    assert atom_labels(topology, np.arange(4)).tolist() == found
    assert atom_labels(topology, np.array([3, 1, 1])).tolist() == [found[k] for k in (3, 1, 1)]
    assert atom_labels(topology, np.array([], np.int64)).tolist() == []
    assert atom_labels(None, np.array([17])).tolist() == ["atom17"]


@pytest.mark.parametrize("name", ["adk.xtc", "solvated.xtc", "skewed.dcd", "cobrotoxin.trr"])
def test_labels_are_unique_and_those_of_a_twin(systems: Systems, name: str) -> None:
    """The twin goes through residues one by one."""
    topology = systems[name].trajectory.topology
    labels = residue_labels(topology).tolist()
    assert len(set(labels)) == len(labels) == topology.n_residues
    residues = topology.residues
    names = [f"{one}{two}" for one, two in zip(residues.resnames, residues.resids, strict=True)]
    chains = residues.segids.tolist()
    members: dict[str, set[str]] = {}
    for one, chain in zip(names, chains, strict=True):
        members.setdefault(one, set()).add(chain)
    alike = {chain for one, of in members.items() for chain in of if len(of) > 1 and chain}
    for label, one, chain in zip(labels, names, chains, strict=True):
        stem = f"{chain}:{one}" if chain in alike else one
        assert label == stem or label.startswith(f"{stem}@")
    atoms = np.arange(topology.n_atoms)
    assert len(set(atom_labels(topology, atoms).tolist())) == len(atoms)


def test_all_results_label_a_dimer_alike(tmp_path: Path) -> None:
    """In values, CSV files and figures."""
    residues = [(chain, "ALA", k, "", BACKBONE) for chain in "AB" for k in (10, 11)]
    dimer = tj.open(_pdb(tmp_path / "dimer.pdb", residues))
    names = ("A:ALA10", "A:ALA11", "B:ALA10", "B:ALA11")
    alpha, whole = dimer.select("name CA"), dimer.select("all")
    contacts = tj.contact_map(whole)
    assert [one.labels() for one in contacts.axes] == [[*names]] * 2
    atoms = tj.contact_map(alpha, by="atom").axes[0]
    assert atoms.labels() == [f"{name}:CA" for name in names]
    assert tj.centers(whole).axes[1].labels() == [*names]
    assert tj.centers(dimer.select("chainID B")).axes[1].labels() == [*names[2:]]
    assert tj.dssp(whole).columns == names
    assert tj.sasa(whole, by="residue").columns == names
    assert tj.sasa(alpha, by="atom").columns == tuple(f"{name}:CA" for name in names)
    flexible = tj.rmsf(alpha)
    assert flexible.axes[0].labels() == [f"{name}:CA" for name in names]
    axes = flexible.plot().axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["10", "11", "10", "11"]
    assert [text.get_text() for text in axes.texts] == ["A", "B"]
    lines = [line.get_xydata().tolist() for line in contacts.plot().axes[0].lines]
    assert sorted(lines) == [[[0, 1.5], [1, 1.5]], [[1.5, 0], [1.5, 1]]]
    assert not tj.contact_map(alpha, by="atom").plot().axes[0].lines
    assert [line.get_ydata() for line in tj.dssp(whole).plot().axes[0].lines] == [[1.5, 1.5]]
    pairs = tj.distances(alpha)
    assert pairs.columns[1] == "A:ALA10:CA - B:ALA10:CA"
    pairs.save(tmp_path / "pairs.csv")
    with (tmp_path / "pairs.csv").open() as file:
        assert next(csv.reader(file))[3] == "distance_A:A:ALA10:CA_-_B:ALA10:CA"
    bonds = tj.hbonds(whole, guess_bonds=True, cutoff=4.2)
    assert bonds.pairs.labels() == [f"{name}:N-H -- {name}:O" for name in names]
    assert bonds.pairs.labels(2) == bonds.pairs.labels()[:2]
    by_residue = tj.hbonds(whole, guess_bonds=True, cutoff=4.2, by="residue")
    assert by_residue.pairs.labels() == [f"{name} -- {name}" for name in names]


def test_labels_do_not_depend_on_the_selection(adk: Adk) -> None:
    """A part of the atoms has the labels that it has in the whole."""
    traj = tj.open(adk.psf, adk.xtc)
    whole = tj.rmsf(traj.select("protein"), frames=[0]).axes[0]["label"]
    some = traj.select("resid 30:40")
    assert whole is not None
    part = tj.rmsf(some, frames=[0]).axes[0]["label"]
    assert part is not None
    assert part.tolist() == whole[some.indices].tolist()
