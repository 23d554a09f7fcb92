"""Compressed topologies are read as the files in them are; those that are cut are reported."""

import bz2
import gzip
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import MDAnalysisTests
import numpy as np
import pytest
import trajet as tj
from helpers.commands import invoke, run
from helpers.messages import raises
from MDAnalysisTests import datafiles
from trajet import memory, structure_files
from trajet.topology import Topology, load

PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress}
FILES = (datafiles.PSF, datafiles.PDB_small, datafiles.GRO_velocity)
# Water numbered beyond 9999, and an ion in a chain of its own.
WRAPPED = [
    f"ATOM  {k + 1:>5}  {name:<3} {residue:<4}{chain}{number:>4}    {k:8.3f}{0:8.3f}{0:8.3f}"
    f"  1.00  0.00"
    for k, (name, residue, chain, number) in enumerate(
        [("OH2", "TIP3", "W", number) for number in (9998, 9999, 0, 1, 2)] + [("NA", "NA", "I", 7)]
    )
]


KILLED = """
import os, signal, sys
from trajet import _trajet, structure_files

def killed(path, **kwargs):
    # Compressed files are left to structure_files.
    return "compressed" if path.suffix == ".gz" else os.kill(os.getpid(), signal.SIGKILL)


_trajet.read_structure = killed
structure_files.read_structure(sys.argv[1])
"""


def same_columns(one: Topology, other: Topology) -> bool:
    """Return whether all columns of two topologies are equal."""
    return all(
        np.array_equal(one.column(name), other.column(name))  # type: ignore[arg-type]
        for name in ("names", "resnames", "resids", "segids", "chainIDs", "elements", "masses")
    )


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("file", FILES, ids=lambda file: Path(file).name)
def test_the_content_decides(tmp_path: Path, file: str, ending: str) -> None:
    """Names, numbers, chains, masses and bonds are those of the file inside."""
    path = tmp_path / f"{Path(file).name}{ending}"
    path.write_bytes(PACK[ending](Path(file).read_bytes()))
    packed, plain = load(path).topology, load(Path(file)).topology
    assert same_columns(packed, plain)
    assert np.array_equal(packed.bonds, plain.bonds)  # type: ignore[arg-type]
    assert packed.messages == plain.messages


def test_residue_numbers_go_on_beyond_9999(tmp_path: Path) -> None:
    """In one chain alone."""
    path = tmp_path / "wrapped.pdb.gz"
    path.write_bytes(gzip.compress("\n".join([*WRAPPED, "END", ""]).encode()))
    assert load(path).topology.resids.tolist() == [9998, 9999, 10000, 10001, 10002, 7]


def test_bad_files_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged, a malformed and a very large one, by the name of the compressed file."""
    content = "\n".join([*WRAPPED, "END", ""])
    for ending, pack in PACK.items():
        path = tmp_path / f"x.pdb{ending}"
        path.write_bytes(pack(content.encode())[:-20])
        with raises(tj.FormatError):
            load(path)
        path.write_bytes(pack(content.replace("   0.000", "   0.x00").encode()))
        with raises(tj.FormatError):
            load(path)
        path.write_bytes(pack(content.encode()))
        with monkeypatch.context() as limited:
            limited.setattr(structure_files, "_MAX_SMALL", 100)
            limited.setattr(structure_files, "_MAX_RATIO", 1)
            with raises(tj.FormatError):
                load(path)
            # A file may always become as many times larger as this.
            limited.setattr(structure_files, "_MAX_RATIO", 100)
            assert len(load(path).topology.names) == 6
            limited.setattr(memory, "available", lambda: 200)
            with raises(MemoryError):
                load(path)


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize(
    "name", ["a.psf", "a.cif", "a.prmtop", "a.gro", "a.pdb", "a.tpr", "a.mol2"]
)
def test_small_files_that_become_large_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ending: str
) -> None:
    """Of all formats, with both sizes in the error; nothing stays in the temporary folder."""
    monkeypatch.setattr(structure_files, "_MAX_SMALL", 2**22)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / f"{name}{ending}"
    content = b"PSF\n" if name == "a.psf" else b""
    path.write_bytes(PACK[ending](content + b" \n" * (2**21 + 1)))
    with raises(tj.FormatError):
        load(path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_info_names_the_format_inside(tmp_path: Path) -> None:
    """It is no format of its own."""
    path = tmp_path / "x.pdb.gz"
    path.write_bytes(gzip.compress("\n".join([*WRAPPED, "END", ""]).encode()))
    done = invoke("info", path)
    assert re.search(r"^format +PDB$", done.output, re.MULTILINE), done.output


def test_copies_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """By the next process of this user that needs one in the same folder."""
    path, folder = tmp_path / "x.pdb.gz", tmp_path / "temporary"
    path.write_bytes(gzip.compress("\n".join([*WRAPPED, "END", ""]).encode()))
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    killed = [sys.executable, "-c", KILLED, str(path)]
    assert subprocess.run(killed, env=environment, check=False).returncode == -signal.SIGKILL
    (left,) = folder.rglob("x.pdb")
    assert left.stat().st_size > 0 and left.parent.stat().st_mode & 0o777 == 0o700
    opened = [
        sys.executable,
        "-c",
        f"from trajet.structure_files import read_structure as read; read({str(path)!r})",
    ]
    subprocess.run(opened, env=environment, check=True)
    assert list(folder.iterdir()) == []


DATA = Path(MDAnalysisTests.__file__).parent / "data"
PSF = (
    "PSF\n\n 1 !NTITLE\n made\n\n 2 !NATOM\n"
    "       1 S1   1    ALA  N    NH1   -0.470000       14.0070           0\n"
    "       2 S1   1    ALA  CA   CT1    0.070000       12.0110           0\n"
)


def test_messages_on_topologies_are_those_of_results(tmp_path: Path) -> None:
    """A topology that may be cut is reported by the trajectory, results and commands."""
    (tmp_path / "a.psf").write_text(PSF)
    tj.write(tmp_path / "a.nc", np.zeros((2, 2, 3), "f4"))
    traj = tj.open(tmp_path / "a.psf", tmp_path / "a.nc")
    assert traj.messages == ()
    assert traj.topology.bonds is None
    expected = [f"{tmp_path / 'a.psf'}: {text}" for text in traj.topology.messages]
    assert len(expected) == 1
    assert "no section of bonds" in expected[0]
    assert list(traj.messages) == expected
    report = tj.gyration(traj.select("all")).report
    assert [one for one in report.messages if "!NBOND" in one] == expected
    done = run(
        *("gyration", tmp_path / "a.psf", tmp_path / "a.nc"),
        *("--select", "all", "-o", tmp_path / "a.csv"),
    )
    assert "!NBOND" in done.stdout + done.stderr


def test_file_that_is_both_is_reported_once(tmp_path: Path) -> None:
    """A PDB file without END is topology and trajectory."""
    lines = (DATA / "adk_open.pdb").read_text().splitlines(keepends=True)
    path = tmp_path / "a.pdb"
    path.write_text("".join(line for line in lines[:60] if line.startswith("ATOM")))
    traj = tj.open(path)
    assert len(traj.topology.names) > 40
    (message,) = traj.messages
    assert "without an END record" in message
    path.write_text(path.read_text() + "END\n")
    assert tj.open(path).messages == ()


@pytest.mark.parametrize(
    ("name", "end"), [("adk_open.pqr", "TER\nEND\n"), ("pdbqt_inputpdbqt.pdbqt", "END\n")]
)
def test_files_that_mdanalysis_reads(name: str, end: str, tmp_path: Path) -> None:
    """A file that ends within its atoms has a message, one that ends as whole files do has none."""
    lines = [line for line in (DATA / name).read_text().splitlines() if line.startswith("ATOM")]
    text = "\n".join([*lines[:20], ""])
    path = tmp_path / name
    for content, n_messages in ((text, 1), (text + end, 0), (text[:-3], 1)):
        path.write_text(content)
        tj.write(tmp_path / "a.nc", np.zeros((1, 20, 3), "f4"), force=True)
        traj = tj.open(path, tmp_path / "a.nc", sidecar=False)
        assert traj.topology.n_atoms == 20
        assert len(traj.messages) == n_messages
