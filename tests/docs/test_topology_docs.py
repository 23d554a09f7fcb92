"""The table of docs/topology.md is that of the formats."""

import re
from pathlib import Path

from trajet._trajet import FORMATS

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "topology.md"
ROW = re.compile(r"^\| (\w+)[^|]* \| ((?:`\.\w+`(?:, )?)+) \|", re.MULTILINE)
INFO = re.compile(r'name: "(\w+)",\s*suffixes: (?:&\[([^\]]+)\]|\S*Format::(\w+)\.info)')


def test_table_has_the_formats_that_are_read() -> None:
    """With the same suffixes."""
    source = ROOT / "crates" / "trajet-topology" / "src" / "formats.rs"
    formats = {
        name: [ending[1:] for ending in FORMATS[shared.upper()].suffixes]
        if shared
        else re.findall(r'"(\w+)"', suffixes)
        for name, suffixes, shared in INFO.findall(source.read_text(encoding="utf-8"))
    }
    assert len(formats) >= 6
    rows = {
        name: re.findall(r"`\.(\w+)`", suffixes)
        for name, suffixes in ROW.findall(DOCUMENT.read_text(encoding="utf-8"))
    }
    assert rows == formats
