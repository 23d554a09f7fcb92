"""Dihedral angles are those of bonded residues: neighbours, chains and alternate locations."""

import csv
import warnings
from pathlib import Path

import MDAnalysis as mda
import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers import trr_bytes
from helpers.commands import invoke, unwrapped
from helpers.messages import raises
from MDAnalysisTests import datafiles


@pytest.fixture(scope="module")
def porin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one frame of a porin: residues 163 to 163J, and 26 bonded to 32; PDB beside XTC."""
    path = tmp_path_factory.mktemp("porin") / "porin.pdb"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        protein = mda.Universe(datafiles.PDB_icodes).select_atoms("protein")
        protein.write(path)
        protein.write(path.with_suffix(".xtc"))
    return path


def test_neighbours_do_not_follow_from_numbering(porin: Path) -> None:
    """Angles equal mdtraj's; MDAnalysis takes C of 162 and N of 164 for all of 163 to 163J."""
    result = tj.dihedrals(tj.open(porin, porin.with_suffix(".xtc")).select("protein"))
    loaded = mdtraj.load(str(porin))
    phi, psi = (
        compute(loaded, periodic=False) for compute in (mdtraj.compute_phi, mdtraj.compute_psi)
    )
    # The first residue has no φ, the last one no ψ.
    for kind, atoms, angles in ((0, phi[0][:-1], phi[1][0, :-1]), (1, psi[0][1:], psi[1][0, 1:])):
        assert np.array_equal(result.atoms[kind::2], atoms)
        # The PDB has thousandths of an Å, the XTC hundredths.
        assert plain.apart(result.values[0, kind::2], np.degrees(angles)).max() < 1
    assert len(result.columns) == 2 * (loaded.n_residues - 2)
    assert {"phi SER163", "psi VAL163A", "phi GLY163J"} < set(result.columns)


@pytest.mark.parametrize("first", [1, 5, 31])
def test_no_angle_joins_two_chains_of_one_segment(porin: Path, first: int, tmp_path: Path) -> None:
    """The GRO file has two chains of 30 residues."""
    chain = mda.Universe(porin).residues[40:70].atoms
    both = mda.Merge(chain, chain)
    both.residues.resids = [*range(1, 31), *range(first, first + 30)]
    both.atoms[len(chain) :].translate([40, 0, 0])
    gro, xtc = tmp_path / "two.gro", tmp_path / "two.xtc"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both.atoms.write(gro)
        both.atoms.write(xtc)
    result = tj.dihedrals(tj.open(gro, xtc).select("protein"))
    first_atoms = np.array([atom.residue.atoms[0].index for atom in both.atoms])
    within = result.atoms // len(chain)
    assert (within == within[:, :1]).all()
    assert np.bincount(within[:, 0]).tolist() == [56, 56]
    assert np.ptp(result.values[0].reshape(2, -1), axis=0).max() < 1
    # Each column has a name of its own: where numbers repeat, by the index of its first atom.
    features = tj.dihedrals(tj.open(gro, xtc).select("protein"), sin_cos=True)
    features.save(tmp_path / "two.csv")
    with (tmp_path / "two.csv").open() as file:
        row = next(csv.DictReader(file))
    assert len(set(features.columns)) == len(row) - 2 == features.values.shape[1]
    for k, name in enumerate(features.columns):
        assert float(row[name.replace(" ", ":", 1).replace(" ", "_")]) == features.values[0, k]
        alpha = result.atoms[k // 2, 2 - k // 2 % 2]
        assert first != 1 or name.endswith(f"@{first_atoms[alpha]}")
        assert first != 31 or "@" not in name
    (message,) = result.messages
    assert message.endswith("in frame 0 (C and N within 2.0 Å): 2")
    done = invoke("dihedrals", gro, xtc, "--select", "protein")
    assert f"note: {message}" in unwrapped(done.output)


def with_locations(
    porin: Path, path: Path, other: str | None = None, *, blocks: bool = False
) -> Path:
    """Write residues 40 to 52 of the porin, with atoms of VAL45 at A, and at B as `other`.

    The atoms at B follow each atom at A, or form a block behind those at A.

    One after the other, or those at B in a block behind those at A.
    """
    lines = porin.read_text().splitlines()
    lines = [line for line in lines if line.startswith("ATOM") and 40 <= int(line[22:26]) <= 52]
    with path.open("w") as file:
        behind: list[str] = []
        for line in lines:
            if int(line[22:26]) != 45:
                print(*behind, line, sep="\n", file=file)
                behind = []
                continue
            print(f"{line[:16]}A{line[17:]}", file=file)
            # Atoms at B are 0.1 Å away.
            x = float(line[30:38]) + 0.1
            at_b = f"{line[:16]}B{other or line[17:20]}{line[20:30]}{x:8.3f}{line[38:]}"
            if blocks:
                behind.append(at_b)
            else:
                print(at_b, file=file)
        print("END", file=file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mda.Universe(path).atoms.write(path.with_suffix(".xtc"))
    return path


def test_residues_with_alternate_locations_are_left_out_by_name(
    porin: Path, tmp_path: Path
) -> None:
    """They have several N, CA or C; selecting one location includes them."""
    path = with_locations(porin, tmp_path / "two.pdb")
    traj = tj.open(path, path.with_suffix(".xtc"))
    result = tj.dihedrals(traj.select("protein"))
    assert not {"phi GLY44", "phi VAL45", "phi LYS46"} & set(result.columns)
    (message,) = result.messages
    assert "alternate locations?): 3 (GLY44, VAL45, LYS46): " in message
    arguments = ["dihedrals", str(path), str(path.with_suffix(".xtc")), "--select", "protein"]
    assert f"note: {message}" in unwrapped(invoke(*arguments).output)
    with raises(tj.SelectionError):
        tj.dihedrals(traj.select("resid 44-46"))
    for left_out, kept in (("B", "A"), ("A", "B")):
        chosen = tj.dihedrals(traj.select(f"protein and not altloc {left_out}"))
        assert chosen.messages == []
        assert len(chosen.columns) == 2 * 11
        there = chosen.atoms[chosen.columns.index("phi VAL45")]
        assert traj.topology.column("altLocs")[there[1:]].tolist() == [kept] * 3
        # C of 44 alone has no other location.
        assert traj.topology.column("names")[there].tolist() == ["C", "N", "CA", "C"]


def test_alternate_locations_of_published_files_are_counted(tmp_path: Path) -> None:
    """Two chains have seven such residues, both ILE84; angles equal those of mdtraj, at A."""
    universe = mda.Universe(datafiles.PDB_full)
    path = trr_bytes.write_trr(tmp_path / "x.trr", universe.atoms.positions[None] / 10)
    traj = tj.open(datafiles.PDB_full, path)
    result = tj.dihedrals(traj.select("protein"))
    (message,) = result.messages
    assert "alternate locations?): 7 (GLU34, MET46, ILE50, ILE64, ILE84, …): " in message
    chosen = tj.dihedrals(traj.select("protein and not altloc B"))
    assert len(chosen.columns) == len(result.columns) + 2 * 7
    loaded = mdtraj.load(datafiles.PDB_full)
    phi, angles = mdtraj.compute_phi(loaded, periodic=False)
    theirs = {
        f"phi {'ABCD'[residue.chain.index]}:{residue.name}{residue.resSeq}": angle
        for residue, angle in zip(
            (loaded.topology.atom(alpha).residue for alpha in phi[:, 2]),
            np.degrees(angles[0]),
            strict=True,
        )
    }
    common = [name for name in chosen.columns if name in theirs]
    assert len(common) >= 190
    ours = chosen.values[0, [chosen.columns.index(name) for name in common]]
    assert plain.apart(ours, np.array([theirs[name] for name in common])).max() < 0.01


@pytest.mark.parametrize("blocks", [False, True])
def test_two_residues_of_one_number_are_one_place(
    porin: Path, tmp_path: Path, blocks: bool
) -> None:
    """A residue is VAL at A and ILE at B, and MDAnalysis splits it."""
    path = with_locations(porin, tmp_path / "two.pdb", "ILE", blocks=blocks)
    traj = tj.open(path, path.with_suffix(".xtc"))
    both = tj.dihedrals(traj.select("protein"))
    called = [f"{angle} {name}" for name in ("GLY44", "VAL45", "LYS46") for angle in ("phi", "psi")]
    assert not {*called, "phi ILE45"} & set(both.columns)
    (message,) = (text for text in both.messages if "several N" in text)
    assert "3 (GLY44, VAL45, LYS46): use a selection that has one of them" in message
    for location, name in (("A", "ILE45"), ("B", "VAL45")):
        result = tj.dihedrals(traj.select(f"protein and not altloc {location}"))
        names = [text.replace("VAL45", name) for text in called]
        at = result.columns.index(names[0])
        assert result.columns[at : at + 6] == tuple(names)
        assert not result.messages


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
