"""The pages of docs/extending: their examples run and hold the laws."""

import importlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import trajet as tj
from helpers import pool_laws
from helpers.doc_examples import examples, place_of, run_python
from helpers.golden_files import Adk

POOL = Path(__file__).parents[2] / "docs" / "extending" / "pool.md"


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
