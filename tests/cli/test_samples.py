"""The trajectories that come with trajet: `tj.samples` and `trajet sample`."""

import hashlib
import shlex
import shutil
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, misuse, succeed

FOLDER = Path(tj.samples.__file__).parent
FILES = sorted(path for made in tj.samples.ALL for path in made().files)


def test_files_have_the_recorded_digests() -> None:
    """All of them, and there are no other files but indexes; in all they take at most 2 MB."""
    lines = (FOLDER / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    recorded = {FOLDER / name: digest for digest, name in (line.split("  ") for line in lines)}
    assert recorded == {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in FILES}
    data = {path for path in FOLDER.glob("**/*") if path.is_file() and path.name[0] != "."}
    data -= {*FOLDER.glob("__pycache__/*")}
    assert data == {*FILES, *(FOLDER / name for name in ("__init__.py", "README.md", "SHA256SUMS"))}
    assert sum(path.stat().st_size for path in FILES) <= 2_000_000


def test_each_sample_is_named_as_its_function() -> None:
    """The name that `trajet sample` takes."""
    for function in tj.samples.ALL:
        assert function().name == function.__name__
        assert getattr(tj.samples, function.__name__) is function


@pytest.mark.parametrize("topology", [path for path in FILES if path.suffix == ".psf"])
def test_mdanalysis_reads_the_same(topology: Path, tmp_path: Path) -> None:
    """The PSF files are written by a script of ours, the XTC files by OpenMM."""
    # MDAnalysis writes offsets beside the file.
    trajectory = Path(shutil.copy(min(topology.parent.glob("*.xtc")), tmp_path))
    universe = MDAnalysis.Universe(topology, trajectory)
    positions = [ts.positions.copy() for ts in universe.trajectory[:3]]
    traj = tj.open(topology, trajectory, sidecar=False)
    assert np.array_equal(traj.read(frames=slice(3)).positions, positions)
    for name in ("names", "resnames", "resids", "segids", "masses"):
        assert list(getattr(traj.topology, name)) == list(getattr(universe.atoms, name))
    # MDAnalysis rounds charges to float32.
    assert np.array_equal(traj.topology.charges.astype(np.float32), universe.atoms.charges)
    assert {tuple(bond) for bond in traj.topology.bonds} == {
        tuple(bond.indices) for bond in universe.bonds
    }


def test_lipids_form_two_leaflets() -> None:
    """Heads are outside; few lipids have changed sides, and the area fluctuates."""
    block = tj.samples.bilayer().open().read()
    heads, tails = block.positions[:, ::3, 2], block.positions[:, 2::3, 2]
    is_upper = heads > tails
    assert is_upper[:, :100].mean() > 0.9
    assert is_upper[:, 100:].mean() < 0.1
    thickness = heads[is_upper].mean() - heads[~is_upper].mean()
    assert 30 < thickness < 50
    assert block.cells[:, 0].std() > 0.3
    assert (block.cells[:, 2] == block.cells[0, 2]).all()


def test_proline_keeps_its_neighbour_from_the_helix() -> None:
    """The residue before proline has ψ > 0 in all frames; that of the wild type has both signs."""
    ensemble = tj.samples.peptide_variants().open()
    assert [tuple(member.keys.values()) for member in ensemble] == [
        (system, replica) for system in ("mutant", "wild_type") for replica in (1, 2, 3, 4)
    ]
    for member in ensemble:
        psi = tj.dihedrals(member.open().select("resid 2 or resid 3")).values[:, 1]
        in_helix = (psi < 0).mean()
        assert in_helix == 0 if member.keys["system"] == "mutant" else 0.2 < in_helix < 0.95


def test_command_lists_samples() -> None:
    """One line for each."""
    lines = succeed("sample")
    assert [line.split()[0] for line in lines] == [made.__name__ for made in tj.samples.ALL]


def test_command_copies_a_sample(tmp_path: Path) -> None:
    """It prints the paths, in the folders of an ensemble; files that exist are kept."""
    made = tj.samples.peptide_variants()
    lines = succeed("sample", made.name, tmp_path / "new")
    assert [Path(line).relative_to(tmp_path / "new") for line in lines] == [
        path.relative_to(made.folder) for path in made.files
    ]
    assert [Path(line).read_bytes() for line in lines] == [path.read_bytes() for path in made.files]
    Path(lines[0]).write_text("mine")
    fail("sample", made.name, tmp_path / "new")
    assert Path(lines[0]).read_text() == "mine"
    succeed("sample", made.name, tmp_path / "new", "--force")
    assert Path(lines[0]).read_bytes() == made.files[0].read_bytes()
    succeed("sample", made.name, tmp_path / "new")


def test_files_that_links_name_are_kept(tmp_path: Path) -> None:
    """A link is replaced, not what it leads to; the demo replaces nothing of the user."""
    mine = tmp_path / "mine.psf"
    mine.write_text("precious")
    (tmp_path / "peptide_in_water.psf").symlink_to(mine)
    fail("demo", tmp_path)
    succeed("sample", "peptide_in_water", tmp_path, "--force")
    assert mine.read_text() == "precious"
    assert not (tmp_path / "peptide_in_water.psf").is_symlink()


def test_unknown_sample_names_the_known_ones() -> None:
    """It is an error of the command line."""
    misuse("sample", "water")


def test_demo_writes_what_it_prints(tmp_path: Path) -> None:
    """The command that it prints can be run again."""
    lines = succeed("demo", "here", cwd=tmp_path)
    again = succeed(*shlex.split(lines[0])[1:], cwd=tmp_path)
    names = ["rmsd.png", "report.json", "rmsd.csv"]
    assert lines[-3:] == again[-3:] == [f"here/{name}" for name in names]
    rows = np.loadtxt(tmp_path / "here" / "rmsd.csv", delimiter=",", skiprows=1)
    assert rows.shape == (100, 4)
    assert rows[0, -2:] == pytest.approx(0, abs=1e-4)
    assert 0.1 < rows[1:, 2].min() < rows[:, 2].max() < 5
    assert set(names) < {path.name for path in tmp_path.joinpath("here").iterdir()}
