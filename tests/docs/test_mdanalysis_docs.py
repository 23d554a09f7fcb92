"""The examples of docs/mdanalysis.md run as they stand."""

from pathlib import Path

import pytest
import trajet.mdanalysis
from helpers.doc_examples import examples, place_of_sample, run_python

DOCUMENT = Path(__file__).parents[2] / "docs" / "mdanalysis.md"


def test_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one namespace, one after the other."""
    place_of_sample(DOCUMENT, tmp_path, monkeypatch)
    names: dict[str, object] = {}
    try:
        for example in examples(DOCUMENT):
            run_python(DOCUMENT, example, names)
    finally:
        trajet.mdanalysis.uninstall()
    first, second, third, tag, fourth, fifth = capsys.readouterr().out.splitlines()
    assert first == "100 10 atoms"
    assert second.endswith(" 100")
    assert third == "100 (1649, 3)"
    assert tag == "166 171"
    assert fourth.startswith("0 of ")
    assert fifth == "100"
