"""Formats are named in their table and in folders of their own; other code asks the table."""

import ast
import re
from pathlib import Path

from trajet._trajet import FORMATS

ROOT = Path(__file__).parents[2]
LAYOUTS = {layout for info in FORMATS.values() for layout in info.layouts}
VARIANTS = "|".join(name.capitalize() for name in FORMATS)
NAME = re.compile(rf'"(?:{"|".join(LAYOUTS)})"')
VARIANT = re.compile(rf"\bFormat::(?:{VARIANTS})\b")
# A frame as its format stores it, which has the name of the format.
RAW = re.compile(rf"\bRaw::(?:{VARIANTS})\b")
RUST_TESTS = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*mod \w+ \{.*\Z", re.DOTALL)
COMMENTS = re.compile(r"//[^\n]*")
# The tables, by crate and in the package, and where names are those of structure files or of other
# programs.
TABLES = {
    "crates/trajet-formats/src/table.rs",
    "crates/trajet-formats/src/encoders.rs",
    "crates/trajet-files/src/open.rs",
    "crates/trajet-topology/src/formats.rs",
}
STRUCTURE_FILES = {
    "crates/trajet-topology/src/write.rs",
    "python/trajet/structure_output.py",
    "python/trajet/store/division.py",
}
# MDAnalysis has readers under these names.
GUEST = ("python/trajet/mdanalysis/", "python/trajet/universes.py")


def of_one_format(path: str) -> bool:
    """Return whether a file belongs to one format: `dcd.rs`, `dcd/writer.rs`, `h5md/tables.py`."""
    parts = Path(path).with_suffix("").parts
    return any(name.lower() in parts for name in FORMATS)


def names_in_rust(code: str) -> list[str]:
    """Return the lines with names of formats, outside of comments, tests and matches on frames."""
    lines = COMMENTS.sub("", RUST_TESTS.sub("", code)).splitlines()
    named = [line for line in lines if NAME.search(line) or VARIANT.search(line)]
    return [line.strip() for line in named if not RAW.search(line)]


def names_in_python(code: str) -> list[str]:
    """Return the texts that are names of formats."""
    constants = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant))
    return [f"line {node.lineno}: {node.value}" for node in constants if node.value in LAYOUTS]


def test_formats_are_named_in_their_table_only() -> None:
    """A new format is a row of each table, and a folder."""
    found = []
    for folder, ending in (("crates", "rs"), ("python/trajet", "py")):
        names_in = names_in_rust if ending == "rs" else names_in_python
        for file in sorted((ROOT / folder).rglob(f"*.{ending}")):
            path = file.relative_to(ROOT).as_posix()
            is_test = "tests" in path or file.stem == "cut_files"
            is_table = path in TABLES | STRUCTURE_FILES or path.startswith(GUEST)
            if not (is_test or is_table or of_one_format(path)):
                names = names_in(file.read_text(encoding="utf-8"))
                found += [f"{path}: {name}" for name in names]
    assert found == []
