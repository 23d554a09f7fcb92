"""Residues with insertion codes are residues of their own in tables, means and differences."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import trajet as tj
from helpers.made_reports import report, worker
from helpers.made_results import atom_values, ensemble_of

ATOM = "ATOM  {0:>5}  CA  ALA H{1:>5}   {2:8.3f}{3:8.3f}   0.000\n"
# Values of residues, which are the same in every system.
VALUES = {"51": 1.0, "52": 2.0, "52A": 3.0, "52B": 4.0, "53": 5.0}


def fluctuations(residues: list[str], shift: float = 0.0) -> tj.Table:
    """Return values of residues, which are named by numbers and codes."""
    n = len(residues)
    codes = np.array([residue[2:] for residue in residues])
    return atom_values(
        np.array([VALUES[residue] for residue in residues]) + shift,
        report([worker(0)], analysis="rmsf"),
        chain=np.full(n, "H"),
        resname=np.full(n, "ALA"),
        resid=np.array([int(residue[:2]) for residue in residues]),
        **({"icode": codes} if (codes != "").any() else {}),
        name=np.full(n, "CA"),
    )


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        (["51", "52", "52A", "52B", "53"], ["51", "52A", "52B", "52", "53"], list(VALUES)),
        (["51", "52", "52A", "52B", "53"], ["51", "52", "52A", "52B"], ["51", "52", "52A", "52B"]),
        (["51", "52A", "53"], ["51", "52", "53"], ["51", "53"]),
        (["51", "52", "53"], ["53", "52A", "52"], ["52", "53"]),
        (["51", "52", "53"], ["51", "52", "53"], ["51", "52", "53"]),
    ],
)
def test_residues_are_matched_by_number_and_code(
    first: list[str], second: list[str], common: list[str]
) -> None:
    """In any order, and where one system has no codes."""
    results = {
        "wt": [fluctuations(first, shift) for shift in (0.0, 0.1)],
        "mut": [fluctuations(second, shift) for shift in (1.0, 1.2)],
    }
    found = ensemble_of(results).mean("system").difference("wt", "mut")
    assert np.allclose(found.difference, 1.05)
    codes = found.axes.get("icode", np.full(len(common), ""))
    names = [f"{n}{code}" for n, code in zip(found.axes["resid"], codes, strict=True)]
    assert sorted(names) == sorted(common)
    assert any("left out" in text for text in found.messages) == (
        len(common) < len(set(first + second))
    )
    if len(common) > 2:
        assert f"{common[1][:2]}{common[1][2:]} CA" in " ".join(found.sentences())


def test_tables_of_atoms_have_insertion_codes(tmp_path: Path) -> None:
    """Only where a selected residue has one; saved results keep them."""
    models = "".join(
        "MODEL\n"
        + "".join(
            ATOM.format(k, residue if len(residue) > 2 else residue + " ", 4 * k, k % 2 * frame)
            for k, residue in enumerate(VALUES)
        )
        + "ENDMDL\n"
        for frame in (1, 2, 4)
    )
    path = tmp_path / "antibody.pdb"
    path.write_text(models + "END\n")
    traj = tj.open(path, sidecar=False)
    result = tj.rmsf(traj.select("name CA"))
    result.save(tmp_path / "all.csv")
    table = pd.read_csv(tmp_path / "all.csv", keep_default_na=False)
    assert list(table["resid"].astype(str) + table["icode"]) == list(VALUES)
    assert "icode" not in tj.rmsf(traj.select("resid 51 53")).to_dataframe()
    result.save(tmp_path / "all.npz")
    loaded = tj.load(tmp_path / "all.npz")
    assert isinstance(loaded, tj.Table)
    assert loaded.axis("atoms")["icode"].tolist() == ["", "", "A", "B", ""]
