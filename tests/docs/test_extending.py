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
from loky import get_reusable_executor

ROOT = Path(__file__).parents[2]
POOL = ROOT / "docs" / "extending" / "pool.md"
ANALYSIS = ROOT / "docs" / "extending" / "analysis.md"
# A block of lines that are quoted from a file, which its first line names.
QUOTED = re.compile(r"^```(?:rust|py)\n(?://|#) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_pool_of_the_page_holds_the_pool_laws(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kind of analysis has the bits of one thread, also with tasks of one leaf."""
    place_of(POOL, adk, tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(tmp_path)
    pool_class = importlib.import_module("futures_pool").FuturesPool
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        for task_frames in (None, 1):
            pool = pool_class(executor, 2, task_frames)
            pool_laws.assert_same_bits(pool, tj.open(adk.psf, adk.xtc))


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
    here = tj.apply(anisotropy, calpha)
    # Processes that earlier tests started do not find the module.
    get_reusable_executor().shutdown(wait=True)
    there = tj.apply(anisotropy, calpha, pool=tj.ProcessPool(workers=2))
    assert here.values.tobytes() == there.values.tobytes()
    assert (tmp_path / "anisotropy.csv").exists()
    run_python(ANALYSIS, gyration, {})
    assert capsys.readouterr().out.splitlines() == [
        f"(98,) {here.values.max().round(2)}",
        "<Series: Rg of 98 frames, values (98,) Å>",
    ]
    for command in commands_of(shell.text):
        subprocess.run([sys.executable, "-m", "trajet", *command], check=True, timeout=120)
    assert (tmp_path / "gyration.png").exists()


def test_quoted_lines_are_those_of_the_files() -> None:
    """Whatever is quoted of the project stands so in the file that is named above it."""
    quoted = QUOTED.findall(ANALYSIS.read_text(encoding="utf-8"))
    assert len(quoted) >= 8
    for path, lines in quoted:
        assert lines in (ROOT / path).read_text(encoding="utf-8"), path


def test_the_analysis_page_lists_all_files_of_its_model() -> None:
    """An analysis of one selection is in at most seven files, and no other file knows it."""
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
    assert {str(path.relative_to(ROOT)) for path in found} | {test} == set(listed)
