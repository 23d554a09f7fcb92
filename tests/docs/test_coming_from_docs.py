"""Every command and call of ours in docs/coming-from runs, in the folder of one system."""

import bz2
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import invoke
from helpers.doc_examples import examples, run_python
from MDAnalysisTests import datafiles

FOLDER = Path(__file__).parents[2] / "docs" / "coming-from"
# A row of a table: task, theirs, ours.
ROW = re.compile(r"^\| ([^|]+) \|([^|]*)\| (`.+`[^|]*) \|$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
# Tasks that every page of a program of many analyses has.
TASKS = {
    *("strip water", "RMSD with fit", "RMSF", "radius of gyration", "distances"),
    *("hydrogen bonds", "DSSP", "SASA", "PCA", "clusters", "RDF", "MSD", "repair of the box"),
    *("convert", "figure", "processes"),
}


def rows_of(page: Path) -> list[tuple[str, str, str]]:
    """Return task, cell of theirs and cell of ours of each row of a page."""
    return ROW.findall(page.read_text(encoding="utf-8"))


def _prepare(page: str, folder: Path) -> None:
    """Write the files that a page names."""
    if page == "prolif":
        sample = tj.samples.peptide_in_water()
        shutil.copy(sample.topology, folder / "top.psf")
        shutil.copy(sample.trajectory, folder / "run.xtc")
        return
    if page == "lammps":
        for path in tj.samples.molten_salt().files:
            shutil.copy(path, folder)
        return
    if page == "cpptraj":
        packed = Path(str(datafiles.TRJ_NCBOX)).with_name("tz2.truncoct.parm7.bz2")
        (folder / "top.parm7").write_bytes(bz2.decompress(packed.read_bytes()))
        block = tj.open(None, packed.with_name("tz2.truncoct.nc")).read()
        for k, name in enumerate(("run.nc", "part2.nc")):
            # The times of this file are all 0.
            times = np.arange(10.0) + 10 * k
            tj.write(folder / name, block.positions, times=times, cells=block.cells)
        return
    shutil.copy(datafiles.GRO if page == "mdtraj" else datafiles.TPR, folder)
    found = Path(datafiles.GRO if page == "mdtraj" else datafiles.TPR)
    (folder / found.name).rename(folder / f"top{found.suffix}")
    shutil.copy(datafiles.GRO, folder / "other.gro")
    for name in ("run.xtc", "part2.xtc"):
        # Of so many atoms a few frames are enough.
        tj.convert(tj.open(None, datafiles.XTC), folder / name, frames=slice(6))


@pytest.mark.parametrize("page", sorted({path.stem for path in FOLDER.glob("*.md")} - {"index"}))
def test_every_command_and_call_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Examples first, then the rows of the table, in their order."""
    document = FOLDER / f"{page}.md"
    _prepare(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for example in examples(document):
        assert example.language == "python"
        run_python(document, example, namespace)
    rows = rows_of(document)
    assert page in ("prolif", "lammps") or {task for task, _, _ in rows} >= TASKS
    for task, _, cell in rows:
        for code in CODE.findall(cell):
            if not code.startswith("trajet "):
                eval(code, namespace)
                continue
            words = shlex.split(code)[1:]
            done = invoke(*words, "--quiet")
            if "No such option" in done.output:
                done = invoke(*words)
            assert done.exit_code == 0, (task, code, done.output, done.exception)


def test_positions_that_a_loop_keeps_are_those_of_reading(tmp_path: Path) -> None:
    """The row of the loop, on a system of one block for each frame."""
    _prepare("mdanalysis", tmp_path)
    traj = tj.open(tmp_path / "top.tpr", tmp_path / "run.xtc")
    (code,) = (ours for task, _, ours in rows_of(FOLDER / "mdanalysis.md") if task == "loop")
    kept = eval(CODE.findall(code)[0], {"traj": traj})
    assert [len(positions) for positions in kept] == [1, 1, 1]
    assert np.array_equal(np.concatenate(kept), traj.read(frames=slice(0, None, 2)).positions)


def test_calls_of_mdtraj_exist() -> None:
    """The names of functions and methods in its column."""
    import mdtraj as md

    cells = " ".join(theirs for _, theirs, _ in rows_of(FOLDER / "mdtraj.md"))
    functions = set(re.findall(r"\bmd\.(\w+)", cells))
    assert len(functions) > 10
    assert not [name for name in functions if not hasattr(md, name)]
    methods = set(re.findall(r"\bt\.(\w+)\(", cells))
    assert not [name for name in methods if not hasattr(md.Trajectory, name)]


def test_rows_of_mdtraj_have_its_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both columns of rows that no other test compares, in nm and radians there."""
    import mdtraj as md

    _prepare("mdtraj", tmp_path)
    monkeypatch.chdir(tmp_path)
    whole = md.load("run.xtc", top="top.gro")
    protein = whole.atom_slice(whole.topology.select("protein"))
    names = {"md": md, "tj": tj, "traj": tj.open("top.gro", "run.xtc")}
    names["ca"] = protein.topology.select("name CA")
    rows = {task: (theirs, ours) for task, theirs, ours in rows_of(FOLDER / "mdtraj.md")}
    factors = {"RMSD with fit": 10, "RMSF": 10, "radius of gyration": 10, "distances": 10}
    for task, factor in {**factors, "any dihedral angle": 180 / np.pi}.items():
        # Calls of mdtraj change what they are given.
        names["t"] = md.Trajectory(protein.xyz.copy(), protein.topology)
        theirs, ours = (eval(CODE.findall(cell)[0], names) for cell in rows[task])
        assert np.allclose(np.squeeze(theirs) * factor, np.squeeze(ours.values), atol=1e-3), task


def test_readme_links_the_pages() -> None:
    """All of them."""
    readme = FOLDER.parents[1].joinpath("README.md").read_text(encoding="utf-8")
    for path in set(FOLDER.glob("*.md")) - {FOLDER / "index.md"}:
        assert f"docs/coming-from/{path.name}" in readme
