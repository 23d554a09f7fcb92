"""Messages on cut topologies reach the user; files that MDAnalysis reads have them, too."""

from pathlib import Path

import MDAnalysisTests
import numpy as np
import pytest
import trajet as tj
from helpers.commands import run

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
