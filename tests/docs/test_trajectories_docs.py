"""The examples of docs/trajectories.md run as they stand."""

from pathlib import Path

import pytest
from helpers.commands import succeed
from helpers.doc_examples import commands_of, examples, place_of_sample, run_python

DOCUMENT = Path(__file__).parents[2] / "docs" / "trajectories.md"


def test_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the document, in one namespace."""
    place_of_sample(DOCUMENT, tmp_path, monkeypatch)
    names: dict[str, object] = {"__name__": "trajectories"}
    for example in examples(DOCUMENT):
        if example.language == "python":
            run_python(DOCUMENT, example, names)
            continue
        for command in commands_of(example.text):
            succeed(*command)
    for name in ("repaired.xtc", "ca.pdb", "run.trr", "frame10.pdb", "shifted.dcd"):
        assert (tmp_path / name).is_file(), name
