"""Atoms at alternate locations count once each, with a message whose selection takes one."""

import re
from pathlib import Path

import numpy as np
import pytest
import trajet as tj

# Residues: chain, number, insertion code, name, and names of atoms with their locations.
Residue = tuple[str, int, str, str, dict[str, str]]
SYSTEMS: dict[str, tuple[list[Residue], str]] = {
    "one residue": (
        [("A", 1, " ", "SER", {"N": " ", "CA": " ", "CB": "AB", "OG": "AB"})],
        "not altloc B",
    ),
    "three locations": (
        [("A", 1, " ", "SER", {"CA": "ABC", "CB": "AC"}), ("A", 2, " ", "GLY", {"CA": " "})],
        "not altloc B C",
    ),
    "other letters": (
        [
            ("A", 1, " ", "SER", {"CA": "AB"}),
            ("A", 2, " ", "SER", {"CA": "BC"}),
            ("B", 2, " ", "SER", {"CA": "AB"}),
        ],
        "(not altloc B C or (altloc B and chainID A and resid 2))",
    ),
    "a letter alone": (
        [("A", 1, " ", "SER", {"CA": "AB"}), ("A", 7, "C", "SER", {"CA": "B", "CB": "B"})],
        "(not altloc B or (altloc B and chainID A and resid 7C))",
    ),
    "letters of other atoms": (
        [("A", 1, " ", "SER", {"CA": " ", "CB": "A", "OG": "BC"})],
        "not altloc B C",
    ),
    "blank and letter": (
        [("A", 1, " ", "SER", {"CA": " B", "CB": " "})],
        "not altloc B",
    ),
    "two names of a residue": (
        [("A", 1, " ", "SER", {"CA": "A", "OG": "A"}), ("A", 1, " ", "THR", {"CA": "B"})],
        "not altloc B",
    ),
}


def opened(folder: Path, residues: list[Residue]) -> tj.Trajectory:
    """Return one frame of the residues, with random positions."""
    rng = np.random.default_rng(0)
    lines = []
    for chain, number, code, residue, atoms in residues:
        for name, locations in atoms.items():
            for location in locations:
                x = "".join(f"{value:8.3f}" for value in rng.uniform(0, 20, 3))
                lines.append(
                    f"ATOM  {len(lines) + 1:5d}  {name:<3s}{location}{residue} {chain}{number:4d}"
                    f"{code}   {x}  0.50  0.00           {name[0]}"
                )
    path = folder / "x.pdb"
    path.write_text("\n".join([*lines, "END", ""]))
    return tj.open(path, path, sidecar=False)


def advice(report: tj.Report) -> list[str]:
    """Return the selections of the messages on alternate locations."""
    found = [re.search(r"'… and (.*)'", one) for one in report.messages if "alternate" in one]
    return [one[1] if one else "" for one in found]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_advised_selection_has_each_atom_once(name: str, tmp_path: Path) -> None:
    """Whichever locations the residues have; then nothing is reported."""
    residues, expected = SYSTEMS[name]
    traj = opened(tmp_path, residues)
    (text,) = advice(tj.gyration(traj.select("all"), weights="equal").report)
    assert text == expected
    one = traj.select(f"all and {text}")
    atoms = one.topology_atoms
    keys = {
        (str(a), int(b), str(c))
        for a, b, c in zip(
            atoms.column("chainIDs"),  # type: ignore[arg-type]
            atoms.column("resids"),  # type: ignore[arg-type]
            atoms.column("names"),  # type: ignore[arg-type]
            strict=True,
        )
    }
    assert len(keys) == one.n_atoms
    assert {key[:2] for key in keys} == {(chain, number) for chain, number, *_ in residues}
    assert advice(tj.gyration(one, weights="equal").report) == []


def test_every_analysis_that_counts_them_warns(tmp_path: Path) -> None:
    """Analyses of one selection, of two, and in several runs; not with one location selected."""
    traj = opened(tmp_path, SYSTEMS["one residue"][0])
    every, one = traj.select("all"), traj.select("not altloc B")
    jobs = [
        tj.sasa,
        tj.gyration,
        tj.centers,
        lambda a: tj.rmsd(a, motion="none"),
        tj.rmsf,
        tj.contacts,
        lambda a: tj.contact_map(a, by="atom"),
        lambda a: tj.density(a, spacing=5.0),
        lambda a: tj.apply(a, len),
        lambda a: tj.run([tj.gyration.job(a), tj.centers.job(a)])[1],
        lambda a: tj.distances(traj.select("name N"), a),
    ]
    for k, job in enumerate(jobs):
        assert advice(job(every).report) == ["not altloc B"], k  # type: ignore[no-untyped-call]
        assert advice(job(one).report) == [], k  # type: ignore[no-untyped-call]
    # No atom is counted twice that is not read.
    assert advice(tj.gyration(traj.select("name N CA")).report) == []
