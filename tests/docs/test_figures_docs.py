"""The examples of docs/figures.md run as they stand."""

from pathlib import Path

import matplotlib.image
import matplotlib.pyplot as plt
import pytest
from helpers.commands import succeed
from helpers.doc_examples import commands_of, examples, place_of_sample, run_python

DOCUMENT = Path(__file__).parents[2] / "docs" / "figures.md"


def test_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the document; the figure of the command has the size that it names."""
    place = place_of_sample(DOCUMENT, tmp_path, monkeypatch)
    namespace: dict[str, object] = {"__name__": "figures"}
    try:
        for example in examples(DOCUMENT):
            if example.language == "python":
                run_python(DOCUMENT, example, namespace)
                continue
            (command,) = commands_of(example.text)
            succeed(*command)
    finally:
        plt.close("all")
    for name in ("rmsd.pdf", "halves.png", "column.pdf", "slide.png"):
        assert (place / name).is_file(), name
    height, width = matplotlib.image.imread(place / "rmsd.png").shape[:2]
    assert abs(width - 600 * 8 / 2.54) <= 1 and abs(height - 600 * 6 / 2.54) <= 1
