"""README.md: every example in it runs as it stands."""

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from golden_files import Adk

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(python|sh)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One fenced block: its language, its text and its first line in the README."""

    language: str
    text: str
    line: int


def examples() -> list[Example]:
    """List the fenced blocks of the README that can be executed."""
    text = README.read_text(encoding="utf-8")
    return [
        Example(found[1], found[2], text.count("\n", 0, found.start()) + 2)
        for found in BLOCK.finditer(text)
    ]


def commands_of(text: str) -> list[list[str]]:
    """Split the lines that begin with `trajet `, continuation joined, comments left out."""
    lines = text.replace("\\\n", " ").splitlines()
    lines = [line.strip().removeprefix("$ ") for line in lines]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("trajet ")]


def test_every_example_runs(adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks run one after the other in one namespace, commands between them."""
    for path in (adk.psf, adk.xtc):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "readme"}
    ran = {"python": 0, "sh": 0}
    for example in examples():
        if example.language == "python":
            code = "\n" * (example.line - 1) + example.text
            exec(compile(code, str(README), "exec"), namespace)
            ran["python"] += 1
            continue
        for command in commands_of(example.text):
            done = subprocess.run(
                [sys.executable, "-m", "trajet", *command],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, (example.line, command, done.stderr)
            assert done.stderr == ""
            ran["sh"] += 1
    assert ran["python"] >= 1
    assert ran["sh"] >= 1
