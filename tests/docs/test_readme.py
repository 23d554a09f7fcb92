"""Every example in README.md runs as it stands, in a folder without files.

The gate runs them without MDAnalysis: `cli/test_without_mdanalysis.py`.
"""

from pathlib import Path

import pytest
from helpers.commands import run
from helpers.doc_examples import commands_of, examples, run_python

README = Path(__file__).parents[2] / "README.md"


def test_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks run one after the other in one namespace, commands between them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "readme"}
    ran = {"python": 0, "sh": 0}
    for example in examples(README):
        if example.language == "python":
            run_python(README, example, namespace)
            ran["python"] += 1
            continue
        for command in commands_of(example.text):
            done = run(*command)
            assert done.returncode == 0, (example.line, command, done.stderr)
            assert done.stderr == ""
            ran["sh"] += 1
    assert ran["python"] >= 1
    assert ran["sh"] >= 1
