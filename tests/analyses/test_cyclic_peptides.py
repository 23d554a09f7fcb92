"""φ and ψ across the bond that closes a cyclic peptide."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain


def ring(path: Path, n: int, first: int, *, closed: bool) -> tj.Trajectory:
    """Return a ring of residues between two that are apart, with bonds as CONECT records."""
    names = ["N", "CA", "C"]
    turn = np.linspace(0, 2 * np.pi, 3 * n, endpoint=False)
    radius = 1.4 / (2 * np.sin(np.pi / (3 * n)))
    rng = np.random.default_rng(n)
    x = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros(3 * n)], axis=1)
    x += rng.normal(0, 0.05, x.shape)
    far = np.array([[50.0, 0, 0], [51.4, 0, 0], [52.0, 1.3, 0]])
    x = np.concatenate([far - 90, x, far])
    lines = []
    for i, place in enumerate(x):
        lines.append(
            f"ATOM  {i + 1:5d}  {names[i % 3]:<3s} GLY A{first + i // 3:4d}    "
            + "".join(f"{value:8.3f}" for value in place)
            + f"  1.00  0.00           {names[i % 3][0]}"
        )
    bonds = [(i, i + 1) for i in range(4, 3 * n + 3)]
    bonds += [(3 * n + 3, 4)] if closed else []
    lines += [f"CONECT{a:5d}{b:5d}" for a, b in bonds]
    path.write_text("\n".join([*lines, "END", ""]))
    return tj.open(path, path, sidecar=False)


@pytest.mark.parametrize("n", [3, 4, 7])
def test_a_bond_that_closes_a_ring_joins_neighbours(tmp_path: Path, n: int) -> None:
    """Every residue of the ring has both angles, those of a plain twin; without the bond n - 2."""
    traj = ring(tmp_path / "closed.pdb", n, 5, closed=True)
    result = tj.dihedrals(traj.select("all"))
    assert result.columns == tuple(
        f"{angle} GLY{6 + k}" for k in range(n) for angle in ("phi", "psi")
    )
    at = np.arange(3 * n).reshape(n, 3) + 3
    before, after = np.roll(at, 1, axis=0), np.roll(at, -1, axis=0)
    phi = np.stack([before[:, 2], at[:, 0], at[:, 1], at[:, 2]], axis=1)
    psi = np.stack([at[:, 0], at[:, 1], at[:, 2], after[:, 0]], axis=1)
    assert np.array_equal(result.atoms, np.stack([phi, psi], axis=1).reshape(-1, 4))
    again = tj.dihedrals(traj, result.atoms).values
    assert plain.apart(result.values, again).max() < 1e-9
    open_ring = tj.dihedrals(ring(tmp_path / "open.pdb", n, 5, closed=False).select("all"))
    assert len(open_ring.columns) == 2 * (n - 2)
