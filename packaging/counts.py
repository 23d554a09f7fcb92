"""Count code and words, and fail above the limits in `counts.toml`.

    .venv/bin/python packaging/counts.py

Statements are those of Python's grammar, lines those with a token of one. Strings that stand alone,
as docstrings do, are neither. Words of Markdown stand between spaces. Files are those that git
knows or would add.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = Path(__file__).with_suffix(".toml")


def statements_and_lines(code: str) -> tuple[int, int]:
    """Return the numbers of statements and of code lines of a Python file."""
    statements, docstrings = 0, set[int]()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            case ast.stmt():
                statements += 1
    written = {number for number, line in enumerate(code.split("\n"), start=1) if line.strip()}
    tokens = {
        number
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type != tokenize.COMMENT and token.string.strip()
        for number in range(token.start[0], token.end[0] + 1)
    }
    return statements, len(tokens & written - docstrings)


def wordings(code: str) -> int:
    """Return how often tests look at the wording of an error: `match=`, and `str(error)` compared.

    Few should: they freeze the wording of messages.
    """
    count = 0
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Attribute(attr="raises" | "warns"), keywords=keywords):
                count += any(keyword.arg == "match" for keyword in keywords)
            case ast.Compare(left=left, comparators=others):
                texts = [ast.unparse(one) for one in (left, *others)]
                count += any(re.fullmatch(r"str\((error|\w+\.value)\)", text) for text in texts)
    return count


def counts_of(pattern: str) -> dict[str, int]:
    """Return what is counted in the files of a pattern of git."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", pattern)
    listed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    paths = [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    if pattern.endswith(".md"):
        return {"words": sum(len(text.split()) for text in texts)}
    statements, lines = map(sum, zip(*map(statements_and_lines, texts), strict=True))
    return {
        "statements": statements,
        "lines": lines,
        "wordings": sum(map(wordings, texts)),
    }


def main() -> None:
    """Print the counts beside their limits; fail if one is above its limit."""
    above = False
    print(f"{'files':<18} {'of':<10} {'count':>7} {'limit':>7}")
    for pattern, limits in tomllib.loads(LIMITS.read_text(encoding="utf-8")).items():
        counts = counts_of(pattern)
        for kind, limit in limits.items():
            print(f"{pattern:<18} {kind:<10} {counts[kind]:>7,} {limit:>7,}")
            above |= counts[kind] > limit
    if above:
        sys.exit(f"above a limit of {LIMITS.relative_to(ROOT)}; a new capability may raise it")


if __name__ == "__main__":
    main()
