"""Fail if a message that is made outside of `trajet.cli` names an option of the command line.

    .venv/bin/python packaging/option_names.py

Messages are Python expressions, such as `pbc=False`; `trajet.cli.translation` writes them as
options of the command that is running. Read are all string literals of `python/trajet` outside of
`cli/`, and of the crates. Left out are docstrings, `examples=` and `notes=` of `@analysis`, which
are help of commands, options behind the name of another program, and variables of CSS.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# Other programs with their arguments, and variables of CSS.
OTHERS = re.compile(r"\b(docker run|h5repack|maturin|ncks) [^:;]*|var\(--[a-z]+\)")
RUST_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
RUST_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def of_python(code: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string literal that may be part of a message."""
    nodes: list[ast.AST] = [ast.parse(code)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr):
            # Words of one sentence, with values between them.
            yield (
                node.lineno,
                "{}".join(
                    str(part.value) for part in node.values if isinstance(part, ast.Constant)
                ),
            )
            nodes += [part for part in node.values if isinstance(part, ast.FormattedValue)]
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "analysis":
            nodes += [one for one in node.keywords if one.arg not in ("examples", "notes")]
            continue
        nodes += ast.iter_child_nodes(node)


def of_rust(code: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string literal."""
    # A quotation mark as a character would begin a string.
    code = RUST_COMMENT.sub("", code).replace("'\"'", "' '")
    for found in RUST_STRING.finditer(code):
        yield code.count("\n", 0, found.start()) + 1, re.sub(r"\\\n\s*", "", found[1])


def option_names() -> Iterator[str]:
    """Yield the place and the name of each option in a message."""
    sources = {
        of_python: (ROOT / "python" / "trajet").rglob("*.py"),
        of_rust: (ROOT / "crates").rglob("*.rs"),
    }
    for literals, paths in sources.items():
        for path in sorted(paths):
            if "cli" in path.parts:
                continue
            for line, text in literals(path.read_text(encoding="utf-8")):
                for option in OPTION.findall(OTHERS.sub("", text)):
                    yield f"{path.relative_to(ROOT)}:{line}: {option}: write a Python expression"


if __name__ == "__main__":
    sys.exit("\n".join(option_names()) or 0)
