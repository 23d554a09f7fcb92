"""docs/signatures.txt has the signature of every analysis and transform."""

import importlib
from pathlib import Path

import pytest
import trajet as tj

ROOT = Path(__file__).parents[2]


def test_list_of_signatures_is_complete_and_true() -> None:
    """`packaging/signatures.py` prints its lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "packaging")
        script = importlib.import_module("signatures")
    assert set(script.ANALYSES) == {*tj.ANALYSES, "run"}
    assert (ROOT / "docs" / "signatures.txt").read_text().splitlines() == [*script.signatures()]
