"""Cells of the notebooks of the site run one after the other, as `make docs` executes them.

Here they run without Jupyter, in one process each, whose figures are drawn and not shown.
"""

import os
import sys
from pathlib import Path

import pytest
from helpers.commands import python
from helpers.doc_examples import cells

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted(
    page
    for page in DOCS.rglob("*.md")
    if "{code-cell}" in page.read_text(encoding="utf-8") and "generated" not in page.parts
)
# One notebook is executed in the gate, as an example; the site executes all of them.
IN_THE_GATE = "protein"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page.stem == IN_THE_GATE else pytest.mark.long)
        for page in NOTEBOOKS
    ],
    ids=lambda page: page.stem,
)
def test_cells_of_a_notebook_run(page: Path, tmp_path: Path) -> None:
    """The script is a file with a main guard, as worker processes read it again."""
    lines = "".join(f"    {line}\n" if line else "\n" for line in cells(page).splitlines())
    script = tmp_path / "cells.py"
    script.write_text(f'if __name__ == "__main__":\n{lines}', encoding="utf-8")
    commands = Path(sys.executable).parent
    python(
        script.name,
        cwd=tmp_path,
        env=os.environ
        | {"MPLBACKEND": "agg", "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"},
    )


def test_tutorials_have_what_each_of_them_promises() -> None:
    """A tutorial names its task, has a figure and a sentence, and says what to check."""
    tutorials = [page for page in NOTEBOOKS if page.parent.name == "tutorials"]
    contents = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    for page in tutorials:
        text = page.read_text(encoding="utf-8")
        for needed in ("**You have**", "**You want**", "## The sentence", "## What to check"):
            assert needed in text, (page.name, needed)
        assert f"({page.name})" in contents, page.name
        assert f"{{nb-download}}`{page.stem}.ipynb`" in text, page.name
