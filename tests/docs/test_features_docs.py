"""The examples of docs/features.md run as they stand, one after the other."""

from pathlib import Path

import pytest
from helpers.doc_examples import examples, place_of_sample, run_python

DOCUMENT = Path(__file__).parents[2] / "docs" / "features.md"


@pytest.mark.long
def test_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one namespace; the slowest coordinate is the one that the replicas were made by."""
    place_of_sample(DOCUMENT, tmp_path, monkeypatch)
    names: dict[str, object] = {"__name__": "features"}
    for example in examples(DOCUMENT):
        assert example.language == "python"
        run_python(DOCUMENT, example, names)
    shown = capsys.readouterr().out
    assert "of 5 trajectories> cos:phi_ALA1 distance_A:" in shown
    printed = [line[4:] for line in DOCUMENT.read_text().splitlines() if line.startswith("    <")]
    assert len(printed) == 1 and printed[0] in shown
    assert "slowest time scale: " in shown
