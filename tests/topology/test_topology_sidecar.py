"""Topologies that only MDAnalysis reads are kept in a sidecar, which never gives other atoms."""

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.commands import names_in
from helpers.golden_files import DATA, Adk
from trajet import cache, topology, universes
from trajet.topology import COLUMNS, SidecarUse, Structure

# Files of formats that only MDAnalysis reads.
RARE = (
    *("adk_open.crd", "adk_open.pqr", "pdbqt_inputpdbqt.pdbqt", "mol2/Molecule.mol2"),
    *("173D.mmtf", "adk_closed.dms", "windows/WIN_test.arc", "fhiaims.in"),
    *("gms/symopt.gms", "cobrotoxin.tpr", "C12x64.xml.bz2"),
)


def sidecar_of(path: Path) -> Path:
    """Return the path of the sidecar beside a topology."""
    return path.with_name(f".{path.name}.trajet-topology")


def content(structure: Structure) -> dict[str, object]:
    """Return everything that a structure holds, to compare it bit by bit."""
    native = structure.topology.native
    found: dict[str, object] = {"guessed": native.guessed, "box": repr(structure.box)}
    for name in COLUMNS:
        values = structure.topology.column(name)
        found[name] = None if values is None else (values.dtype.str, values.tobytes())
    for name, numbers in (("bonds", native.bonds), ("positions", structure.positions)):
        found[name] = None if numbers is None else (numbers.shape, numbers.tobytes())
    return found


@pytest.fixture
def crd(tmp_path: Path) -> Path:
    """Return a topology in a folder of its own."""
    folder = tmp_path / "crd"
    folder.mkdir()
    return Path(shutil.copy(DATA / "adk_open.crd", folder / "a.crd"))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the list of the files that MDAnalysis parses from here on."""
    files: list[Path] = []
    read = universes.read_structure

    def counted(path: Path, reason: str) -> object:
        files.append(path)
        return read(path, reason)

    monkeypatch.setattr(universes, "read_structure", counted)
    return files


@pytest.mark.parametrize("name", RARE)
def test_sidecar_has_the_topology_bit_by_bit(name: str, tmp_path: Path, parsed: list[Path]) -> None:
    """Columns, bonds, positions, box and what is guessed; MDAnalysis parses the file once."""
    path = Path(shutil.copy(DATA / name, tmp_path))
    first = topology.load(path)
    assert first.topology.n_atoms > 0
    assert sidecar_of(path).is_file()
    assert content(topology.load(path)) == content(first)
    assert parsed == [path]


@pytest.mark.parametrize("name", RARE)
def test_columns_are_those_of_mdanalysis(name: str, tmp_path: Path) -> None:
    """Values of the file are not changed; nothing but types and masses is guessed."""
    path = Path(shutil.copy(DATA / name, tmp_path))
    ours = topology.load(path)
    theirs = mda.Universe(str(path), to_guess=())
    assert ours.topology.n_atoms == len(theirs.atoms)
    compared = 0
    for column in COLUMNS:
        values = ours.topology.atoms.column(column)
        expected = getattr(theirs.atoms, column, None)
        if column in ours.topology.native.guessed and expected is None:
            assert column in ("types", "masses")
            continue
        if expected is None:
            assert values is None or column in ("segids", "resids"), column
            continue
        assert values is not None, column
        if values.dtype.kind == "U":
            expected = np.array([str(one) for one in expected])
        assert np.array_equal(values, expected), column
        compared += 1
    assert compared >= 3


def test_file_that_changed_in_the_middle_is_parsed_again(crd: Path, parsed: list[Path]) -> None:
    """Size, ends and modification time are the same."""
    times = crd.stat()
    assert topology.load(crd).select("name CA", "").size == 214
    text = crd.read_text()
    middle = text.index("CA  ", len(text) // 2)
    crd.write_text(text[:middle] + "XA  " + text[middle + 4 :])
    os.utime(crd, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert crd.stat().st_size == times.st_size
    assert topology.load(crd).select("name CA", "").size == 213
    assert topology.load(crd).select("name XA", "").size == 1
    assert len(parsed) == 2


@pytest.mark.parametrize("number", range(24))
def test_damaged_sidecar_is_rebuilt_silently(crd: Path, parsed: list[Path], number: int) -> None:
    """Cut, altered, extended, empty, or made for another file."""
    expected = content(topology.load(crd))
    sidecar = sidecar_of(crd)
    good = sidecar.read_bytes()
    random = np.random.default_rng(number)
    at = int(random.integers(len(good)))
    altered = bytearray(good)
    altered[at] ^= int(random.integers(1, 256))
    other = crd.with_name("other.crd")
    other.write_bytes(crd.read_bytes().replace(b"CA  ", b"XA  "))
    topology.load(other)
    bad = (good[:at], bytes(altered), good + b"\0", b"", b"rubbish", sidecar_of(other).read_bytes())
    damaged = bad[number % len(bad)]
    assert damaged != good
    sidecar.write_bytes(damaged)
    del parsed[:]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert content(topology.load(crd)) == expected
    assert parsed == [crd]
    assert sidecar.read_bytes() == good


def test_sidecar_can_be_disabled_and_rebuilt(crd: Path, adk: Adk, parsed: list[Path]) -> None:
    """The options of `open` hold for the topology as for the index of frames."""
    crd.write_bytes((DATA / "adk_open.crd").read_bytes())
    tj.open(crd, adk.xtc, sidecar=False).select("name CA")
    assert names_in(crd.parent) == {crd.name}
    tj.open(crd, adk.xtc).select("name CA")
    good = sidecar_of(crd).read_bytes()
    sidecar_of(crd).write_bytes(b"rubbish")
    tj.open(crd, adk.xtc, sidecar=False).select("name CA")
    assert sidecar_of(crd).read_bytes() == b"rubbish"
    tj.open(crd, adk.xtc, rebuild_index=True).select("name CA")
    assert sidecar_of(crd).read_bytes() == good
    assert len(parsed) == 4
    tj.open(crd, adk.xtc, rebuild_index=True).select("name CA")
    assert len(parsed) == 5
    tj.open(crd, adk.xtc).select("name CA")
    assert len(parsed) == 5


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/nowhere")])
def test_sidecar_that_is_no_regular_file_is_ignored(
    crd: Path, parsed: list[Path], make: Callable[[Path], None]
) -> None:
    """The cache folder is used instead; nothing hangs, and what was there stays."""
    make(sidecar_of(crd))
    before = sidecar_of(crd).lstat()
    for _ in range(2):
        assert topology.load(crd).topology.n_atoms == 3341
    assert parsed == [crd]
    assert sidecar_of(crd).lstat().st_mode == before.st_mode
    folder = cache.folder()
    assert folder is not None
    kept = [
        each for each in names_in(folder / "topology") if each.endswith("a.crd.trajet-topology")
    ]
    assert len(kept) >= 1
    assert names_in(crd.parent) == {crd.name, sidecar_of(crd).name}


def test_other_version_of_mdanalysis_parses_again(
    crd: Path, parsed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parser may have been corrected."""
    topology.load(crd)
    monkeypatch.setattr(mda, "__version__", "99.0.0")
    assert universes.program() == "MDAnalysis 99.0.0"
    topology.load(crd)
    topology.load(crd)
    assert parsed == [crd, crd]


def test_version_of_mdanalysis_is_known_without_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read from the package."""
    expected = f"MDAnalysis {mda.__version__}"
    monkeypatch.delitem(universes.sys.modules, "MDAnalysis")
    assert universes.program() == expected


def test_files_that_include_others_are_not_kept(tmp_path: Path, parsed: list[Path]) -> None:
    """The included file may change."""
    path = Path(shutil.copy(DATA / "spce.itp", tmp_path))
    for _ in range(2):
        assert topology.load(path).topology.n_atoms == 3
    assert names_in(tmp_path) == {path.name}
    assert parsed == [path, path]


def test_folder_of_a_data_set_gets_no_sidecar(
    crd: Path, adk: Adk, tmp_path: Path, parsed: list[Path]
) -> None:
    """A store has no files but its own; the topology is kept in the cache folder."""
    store = tj.Store(tmp_path / "md", create=True)
    store.add("adk", tj.open(crd, adk.xtc))
    before = {path for path in (tmp_path / "md").rglob("*") if "trajet-topology" in path.name}
    assert before == set()
    for _ in range(2):
        assert tj.open(tmp_path / "md" / "adk").select("name CA").n_atoms == 214
    after = {path for path in (tmp_path / "md").rglob("*") if "trajet-topology" in path.name}
    assert after == set()
    assert len(parsed) == 2


def test_use_can_leave_out_the_folder_of_the_file(crd: Path) -> None:
    """The sidecar is in the cache folder only."""
    topology.load(crd, SidecarUse(beside=False))
    assert names_in(crd.parent) == {crd.name}
