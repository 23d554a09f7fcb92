"""Find words and names that the project has replaced by those of its field.

    .venv/bin/python packaging/plain_words.py    fail if one of them is found

`WORDS` are searched in all text files under version control, also as parts of names with
underscores. `MODULES` and `DEFINITIONS` are former names of modules, types and functions. Each is
forbidden in some files only: elsewhere the word may have its ordinary meaning.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Files that must contain the words.
UNCHECKED = ("packaging/plain_words.py", "tests/docs/test_plain_words.py")
# Words and phrases that hide the subject of a sentence or are in no manual, and a former crate.
WORDS = re.compile(
    r"(?<![a-z])(?:told|said|whoever|manieth|ha(?:ve|s) let go|lets? it go|is there already"
    r"|no format that is read|trajet[-_]io)(?![a-z])",
    re.IGNORECASE,
)

CODE = r"(?:crates|python)/.*"
RUST_IO = r"crates/trajet-(?:formats|files)/.*"
ENGINE = r"crates/trajet-(?:engine|convert)/.*"
STORE = r"crates/trajet-store/.*"
POOLS = r"python/trajet/pools/.*"
# Former names of modules, by the paths in which they are forbidden.
MODULES = {
    CODE: "told|said|going|elsewhere|seams|together|shown|subject|pairing|wholeness|stretches|face"
    "|growth|crew|leader|undisturbed|board|member|gathering",
    RUST_IO: "rules|outline|heads|places|between|own|divided|division|io",
    ENGINE: "places|line|lanes",
    STORE: "disk|uses|operation|pending|loss|own|divided|division",
    POOLS: "work|link",
    r"python/trajet/h5md/.*": "own|plain|places|lanes",
    r"python/trajet/cli/.*": "copies",
    r"python/trajet/store/.*": "uses|division",
    r"python/trajet/bench/.*": "store_files|store_memory_limit",
}
# Former names of types and functions, likewise.
DEFINITIONS = {
    CODE: "Told|Said|Going|Brief|Elsewhere|Heads|Refusal|Crew|Board|Member|Leader|Ledger|Account"
    "|Held|Silent|Laid|Known|Shown|Face|Subject|Given|Done|together|lend|take_back|_?doubts?",
    RUST_IO: "Divided|Division",
    ENGINE: "Places|Stretch|Line|Lanes?",
    STORE: "Uses|Operation",
    POOLS: "Link|Part",
}
DEFINITION = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:class|def|struct|enum|trait|type|mod|fn)\s+(\w+)"
)


def is_former(name: str, path: str, names: Mapping[str, str]) -> bool:
    """Return whether a name is forbidden in a file."""
    return any(
        re.fullmatch(paths, path) and re.fullmatch(former, name) for paths, former in names.items()
    )


def findings_in(path: str, text: str) -> Iterator[str]:
    """Yield a line for each replaced word or name in a file, with its position."""
    file = Path(path)
    is_code = file.suffix in (".rs", ".py", ".pyi")
    module = file.parent.name if file.stem == "__init__" else file.stem
    if is_code and "tests" not in file.parts and is_former(module, path, MODULES):
        yield f"{path}: module {module}"
    for number, line in enumerate(text.splitlines(), 1):
        if match := WORDS.search(line):
            yield f"{path}:{number}: {match[0]}"
        if is_code and (match := DEFINITION.match(line)) and is_former(match[1], path, DEFINITIONS):
            yield f"{path}:{number}: {match[0].strip()}"


def main() -> None:
    """Search all text files under version control."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    found = []
    for path in listed.stdout.decode().split("\0"):
        if path in UNCHECKED or not (ROOT / path).is_file():
            continue
        try:
            found += findings_in(path, (ROOT / path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
    if found:
        print(*found, sep="\n", file=sys.stderr)
        sys.exit("these words and names were replaced: use those of ARCHITECTURE.md's glossary")


if __name__ == "__main__":
    main()
