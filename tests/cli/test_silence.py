"""Requests that could silently give a wrong number are refused or answered correctly."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.commands import execute
from helpers.golden_files import Adk
from helpers.messages import raises


def shifted(source: Path, target: Path) -> None:
    """Write the frames of an XTC file in another order, under the old steps and times."""
    pieces = xtc_bytes.pieces(source.read_bytes())
    heads = [piece[:16] for piece in pieces]
    turned = [head + piece[16:] for head, piece in zip(heads, reversed(pieces), strict=True)]
    target.write_bytes(b"".join(turned))


def test_atom_group_of_another_folder_is_not_mistaken(
    own_adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Universe loaded by a relative name does not become the file of that name elsewhere."""
    other = own_adk.xtc.parent / "other"
    other.mkdir()
    shifted(own_adk.xtc, other / "adk.xtc")
    monkeypatch.chdir(own_adk.xtc.parent)
    universe = mda.Universe(str(own_adk.psf), "adk.xtc", refresh_offsets=True)
    monkeypatch.chdir(other)
    with raises(tj.SelectionError):
        tj.rmsd(universe.select_atoms("name CA"))


@pytest.mark.parametrize("option", [{"convert_units": False}, {"time_offset": 1000.0}, {"dt": 5.0}])
def test_atom_group_in_other_units_is_an_error(own_adk: Adk, option: dict[str, object]) -> None:
    """nm, or times that the file does not hold, are not taken for the file's."""
    universe = mda.Universe(str(own_adk.psf), str(own_adk.xtc), refresh_offsets=True, **option)
    with raises(tj.SelectionError):
        tj.rmsd(universe.select_atoms("name CA"))


def test_selection_keeps_its_atoms(adk: Adk) -> None:
    """The caller's array may change; the selection's own cannot."""
    indices = np.arange(10)
    selection = tj.open(None, adk.xtc).select(indices)
    indices += 100
    assert np.array_equal(selection.indices, np.arange(10))
    with raises(ValueError):
        selection.indices[0] = 5


def test_topology_is_found_after_a_change_of_folder(
    own_adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative topology is the one of the folder in which the trajectory was opened."""
    monkeypatch.chdir(own_adk.psf.parent)
    traj = tj.open("adk.psf", "adk.xtc")
    (own_adk.psf.parent / "elsewhere").mkdir()
    monkeypatch.chdir(own_adk.psf.parent / "elsewhere")
    assert traj.select("name CA").n_atoms == 214


def test_topology_is_checked_for_index_selections_too(adk: Adk, tmp_path: Path) -> None:
    """A topology of another system is refused for every kind of selection."""
    pdb = tmp_path / "small.pdb"
    mda.Universe(str(adk.psf), str(adk.xtc)).select_atoms("name CA").write(str(pdb))
    with raises(tj.SelectionError):
        tj.rmsd(tj.open(pdb, adk.xtc).select([0, 1, 2, 3]))


def test_stale_bytes_are_not_read_again(own_adk: Adk) -> None:
    """Bytes of an earlier read are not used after the file has changed in place."""
    traj = tj.open(None, own_adk.xtc, sidecar=False)
    traj.read(frames=slice(0, 5))
    size = own_adk.xtc.stat().st_size
    with own_adk.xtc.open("r+b") as file:
        file.write(bytes(size))
    with raises(tj.StaleIndexError):
        traj.read(frames=slice(0, 5))


def test_stale_index_is_rebuilt_after_the_error(own_adk: Adk) -> None:
    """Opening the file again rebuilds the index."""
    tj.open(None, own_adk.xtc)
    traj = tj.open(None, own_adk.xtc)
    assert traj.index_state == "loaded"
    pieces = xtc_bytes.pieces(own_adk.xtc.read_bytes())
    pieces[1] = xtc_bytes.with_field(pieces[1], xtc_bytes.STEP, 77)
    own_adk.xtc.write_bytes(b"".join(pieces))
    with raises(tj.StaleIndexError):
        traj.read()
    again = tj.open(None, own_adk.xtc)
    assert again.index_state == "built"
    assert again.read().steps[1] == 77


def test_sidecar_that_is_no_regular_file_is_ignored(own_adk: Adk) -> None:
    """A named pipe at the sidecar's path neither hangs nor fails the opening."""
    os.mkfifo(own_adk.xtc.with_name(".adk.xtc.trajet-index"))
    code = "import sys, trajet; print(trajet.open(None, sys.argv[1]).n_frames)"
    command = [sys.executable, "-c", code, str(own_adk.xtc)]
    done = execute(*command)
    assert done.stdout == "98\n"


def test_results_survive_a_closed_pipe(own_adk: Adk) -> None:
    """Files are written before anything is printed."""
    output = own_adk.xtc.parent / "r.csv"
    options = ["--select", "name CA", "-o", str(output)]
    command = [sys.executable, "-m", "trajet", "rmsd", str(own_adk.psf), str(own_adk.xtc), *options]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert len(output.read_text().splitlines()) == 99


@pytest.mark.parametrize("command", ["info", "index"])
def test_closed_pipes_are_silent(own_adk: Adk, command: str) -> None:
    """No error message is printed if nobody reads the output."""
    reading, writing = os.pipe()
    os.close(reading)
    arguments = [sys.executable, "-m", "trajet", command, str(own_adk.xtc)]
    done = subprocess.run(arguments, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_references_of_other_atoms_are_errors(adk: Adk, tmp_path: Path) -> None:
    """As many atoms, but others, are refused for a Selection as for a file."""
    traj = tj.open(adk.psf, adk.xtc)
    with raises(tj.SelectionError):
        tj.rmsd(traj.select("name CA"), reference=traj.select("name N"))
    copy = shutil.copy(adk.xtc, tmp_path / "copy.xtc")
    same = tj.open(adk.psf, copy).select("name CA")
    values = tj.rmsd(traj.select("name CA"), reference=same).values
    assert np.array_equal(values, tj.rmsd(traj.select("name CA")).values)
