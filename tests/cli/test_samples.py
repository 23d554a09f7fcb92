"""The trajectories that come with trajet: `tj.samples` and `trajet sample`."""

import hashlib
from pathlib import Path

import trajet as tj
from helpers.commands import fail, misuse, succeed

FOLDER = Path(tj.samples.__file__).parent
FILES = {path for made in tj.samples.ALL for path in made().files}


def test_files_have_the_recorded_digests() -> None:
    """All of them, and there are no other files of data; in all they take at most 2 MB."""
    lines = (FOLDER / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    recorded = {FOLDER / name: digest for digest, name in (line.split("  ") for line in lines)}
    assert recorded == {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in FILES}
    assert {path for path in FOLDER.glob("*/**/*") if path.suffix in (".psf", ".xtc")} == FILES
    assert sum(path.stat().st_size for path in FILES) <= 2_000_000


def test_each_sample_is_named_as_its_function() -> None:
    """The name that `trajet sample` takes."""
    for function in tj.samples.ALL:
        assert function().name == function.__name__
        assert getattr(tj.samples, function.__name__) is function


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
    assert "exists: --force replaces it" in fail("sample", made.name, tmp_path / "new")
    assert Path(lines[0]).read_text() == "mine"
    succeed("sample", made.name, tmp_path / "new", "--force")
    assert Path(lines[0]).read_bytes() == made.files[0].read_bytes()


def test_unknown_sample_names_the_known_ones() -> None:
    """It is an error of the command line."""
    assert "no sample 'water': choose peptide_variants" in misuse("sample", "water")
