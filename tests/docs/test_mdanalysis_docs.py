"""The examples of docs/mdanalysis.md run as they stand."""

from pathlib import Path

import pytest
import trajet.mdanalysis
from helpers.doc_examples import examples, place_of, run_python
from helpers.golden_files import Adk

DOCUMENT = Path(__file__).parents[2] / "docs" / "mdanalysis.md"


def test_examples_of_the_page_run(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one namespace, one after the other."""
    place_of(DOCUMENT, adk, tmp_path, monkeypatch)
    names: dict[str, object] = {}
    try:
        for example in examples(DOCUMENT):
            run_python(DOCUMENT, example, names)
    finally:
        trajet.mdanalysis.uninstall()
    first, second, third, tag, fourth, fifth = capsys.readouterr().out.splitlines()
    assert first == "98 214 atoms"
    assert second.endswith(" 98")
    assert third == "98 (3341, 3)"
    assert tag == "3341 3365"
    assert fourth.startswith("0 of ")
    assert fifth == "98"
