"""Fenced blocks of documents, which tests execute."""

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import trajet as tj

from helpers.commands import execute, succeed
from helpers.golden_files import Adk

BLOCK = re.compile(r"^```(python|sh|bash)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
# Searched for in the first two lines.
NAME = re.compile(r"\A(?:#!.*\n)?# (\S+\.(?:py|sbatch))\n")


@dataclass(frozen=True)
class Example:
    """One fenced block: its language, its text and its first line in the document."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """Return the file name in the block, if it has one."""
        found = NAME.match(self.text)
        return None if found is None else found[1]


def examples(document: Path) -> list[Example]:
    """List the fenced blocks of a document that can be executed."""
    text = document.read_text(encoding="utf-8")
    return [
        Example(found[1], found[2], text.count("\n", 0, found.start()) + 2)
        for found in BLOCK.finditer(text)
    ]


def commands_of(text: str) -> list[list[str]]:
    """Split the lines that begin with `trajet `, continuation joined, comments left out."""
    lines = text.replace("\\\n", " ").splitlines()
    lines = [line.strip().removeprefix("$ ") for line in lines]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("trajet ")]


def run_python(document: Path, example: Example, namespace: dict[str, object]) -> None:
    """Execute a block; errors name the document's line."""
    code = "\n" * (example.line - 1) + example.text
    exec(compile(code, str(document), "exec"), namespace)


def run_shell(text: str) -> str:
    """Execute a block and return what it prints; nothing may go to standard error."""
    lines = text.replace("\\\n", " ").splitlines()
    if all(re.match(r"trajet [^$*~|<>&;`]*$|#|$", line) for line in lines):
        # Without a shell and imports of their own.
        return "\n".join(line for command in commands_of(text) for line in succeed(*command))
    done = execute("bash", "-e", "-c", text)
    assert done.stderr == "", text
    return done.stdout


def place_of(document: Path, adk: Adk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with the trajectory and the files of a document, this environment active."""
    for path in (adk.psf, adk.xtc):
        shutil.copy(path, folder / f"adk{path.suffix}")
    return _prepared(document, folder, monkeypatch)


def place_of_sample(document: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with the peptide in water and the files of a document, as `place_of`."""
    for path in tj.samples.peptide_in_water().files:
        shutil.copy(path, folder)
    return _prepared(document, folder, monkeypatch)


def _prepared(document: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for example in examples(document):
        if example.file is not None:
            (folder / example.file).write_text(example.text)
    monkeypatch.chdir(folder)
    commands = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    return folder


def cells(document: Path) -> str:
    """Return the cells of a notebook as one script; lines that begin with `!` are commands."""
    lines: list[str] = []
    for cell in CELL.findall(document.read_text(encoding="utf-8")):
        for line in cell.splitlines():
            if line.startswith("!"):
                lines.append("import subprocess")
                lines.append(f"subprocess.run({line[1:]!r}, shell=True, check=True)")
            elif not line.startswith(":tags:"):
                lines.append(line)
    return "\n".join(lines)
