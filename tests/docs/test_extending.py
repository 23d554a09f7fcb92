"""The pages of docs/extending: their examples run and hold the laws."""

import importlib
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import pool_laws
from helpers.doc_examples import commands_of, examples, place_of, run_python
from helpers.golden_files import Adk
from helpers.made_files import write_gro
from trajet.pools import processes

ROOT = Path(__file__).parents[2]
POOL = ROOT / "docs" / "extending" / "pool.md"
ANALYSIS = ROOT / "docs" / "extending" / "analysis.md"
FORMAT = ROOT / "docs" / "extending" / "format.md"
# A block of lines that are quoted from a file, which its first line names.
QUOTED = re.compile(r"^```(?:rust|py)\n(?://|#) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_pool_of_the_page_holds_the_pool_laws(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Analyses of each shape have the bits of one thread, half of them with tasks of one leaf."""
    place_of(POOL, adk, tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(tmp_path)
    pool_class = importlib.import_module("futures_pool").FuturesPool
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        for task_frames, names in ((None, pool_laws.SHAPES), (1, pool_laws.HALVES[0])):
            pool = pool_class(executor, 2, task_frames)
            traj = tj.open(adk.psf, adk.xtc)
            pool_laws.assert_same_bits(pool, traj, names)


def test_pool_of_the_page_can_be_imported(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second block imports the file that the first one is."""
    place_of(POOL, adk, tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(tmp_path)
    _, use = examples(POOL)
    run_python(POOL, use, {})
    assert capsys.readouterr().out.split()[1] == "futures"


def test_examples_of_the_analysis_page_run(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The function of the page is right, and the same on processes; then the analysis it shows."""
    place_of(ANALYSIS, adk, tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(tmp_path)
    shape, use, gyration, shell = examples(ANALYSIS)
    assert shape.file == "shape.py"
    run_python(ANALYSIS, use, {})
    anisotropy = importlib.import_module("shape").anisotropy
    rod = np.outer(np.arange(5.0), [1, 2, -1]).astype(np.float32)
    assert abs(anisotropy(rod) - 1) < 1e-12
    assert abs(anisotropy(np.concatenate([np.eye(3), -np.eye(3)]))) < 1e-12
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    here = tj.apply(calpha, anisotropy)
    # Processes that earlier tests started do not find the module.
    processes.end_kept()
    there = tj.apply(calpha, anisotropy, pool=tj.ProcessPool(workers=2))
    assert here.values.tobytes() == there.values.tobytes()
    assert (tmp_path / "anisotropy.csv").exists()
    run_python(ANALYSIS, gyration, {})
    assert capsys.readouterr().out.splitlines() == [
        f"(98,) {here.values.max().round(2)}",
        "<Table: Rg of 98 frames, values (98,) Å, mean 18.27, min 16.67, max 19.59>",
    ]
    for command in commands_of(shell.text):
        subprocess.run([sys.executable, "-m", "trajet", *command], check=True, timeout=120)
    assert (tmp_path / "gyration.png").exists()


def test_format_of_the_page_is_read(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example opens three frames of a GRO file and copies them."""
    place_of(FORMAT, adk, tmp_path, monkeypatch)
    write_gro(tmp_path / "water.gro", 12, 3, velocities=False)
    (example,) = examples(FORMAT)
    run_python(FORMAT, example, {})
    assert capsys.readouterr().out == "3 [0.0, 0.5, 1.0]\n"
    assert tj.open(None, tmp_path / "water.xtc").n_frames == 3


def test_the_format_page_lists_all_files_of_its_model() -> None:
    """A format that is decoded whole is in at most six files, its folder counted as one.

    GRO is a format of topologies too, which has files of its own, and MDAnalysis reads its cells
    in a way of its own.
    """
    listed = re.findall(r"^\| `(\S+/\S+)` \|", FORMAT.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) <= 6
    folders = ("crates", "fuzz/src", "python/trajet", "tests")
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".rs", ".py", ".pyi", ".toml")
    }
    of_model = re.compile(r"\bGro\b|\bmod gro;|\bgro::|_gro_borders|\"GRO\"")
    of_topologies = re.compile(
        r"crates/trajet-topology/|crates/trajet-(?:py/src/topology|files/src/topology_sidecar)\.rs"
        r"|fuzz/src/(?:targets/topology_gro|topology)\.rs|python/trajet/structure_output\.py"
        r"|python/trajet/mdanalysis/conventions\.py"
        r"|tests/(?:docs/test_extending|store/test_store_profile|helpers/law_tables)\.py"
    )
    found = {
        re.sub(r"(crates/trajet-formats/src/gro)/.*", r"\1.rs", name)
        for name, text in sources.items()
        if of_model.search(text) and not of_topologies.match(name)
    }
    assert found | {"crates/trajet-formats/src/gro.rs"} == set(listed)


@pytest.mark.parametrize("page", [ANALYSIS, FORMAT])
def test_quoted_lines_are_those_of_the_files(page: Path) -> None:
    """Whatever is quoted of the project stands so in the file that is named above it."""
    quoted = QUOTED.findall(page.read_text(encoding="utf-8"))
    assert len(quoted) >= 7
    for path, lines in quoted:
        assert lines in (ROOT / path).read_text(encoding="utf-8"), path


def test_the_analysis_page_lists_all_files_of_its_model() -> None:
    """An analysis of one selection is in at most seven files, and no other file knows it.

    But for the analysis of the moments, which shares its plan and has results of its own, and for
    hints to users of other programs.
    """
    listed = re.findall(r"^\| `(\S+/\S+)` \|", ANALYSIS.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) <= 7
    sources = [
        path
        for folder in ("crates", "python")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".rs", ".py", ".pyi", ".toml")
    ]
    found = [path for path in sources if "gyration" in path.read_text(encoding="utf-8").lower()]
    (test,) = [name for name in listed if name.startswith("tests/")]
    others = {
        "python/trajet/hints.py",
        "python/trajet/analysis/gyration_moments.py",
        "python/trajet/result/__init__.pyi",
        "python/trajet/result/gyration.py",
    }
    assert {str(path.relative_to(ROOT)) for path in found} | {test} == set(listed) | others
