"""The check for replaced words finds them in text and names, and allows ordinary uses."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging" / "plain_words.py"
STORE = "crates/trajet-store/src"


@pytest.fixture(scope="module")
def findings_in() -> Callable[[str, str], Iterator[str]]:
    """Return the function of the script that searches a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        found: Callable[[str, str], Iterator[str]] = importlib.import_module(
            SCRIPT.stem
        ).findings_in
    return found


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("docs/page.md", "one\nas was Said before", ["docs/page.md:2: Said"]),
        ("a.toml", 'description = "as told"', ["a.toml:1: told"]),
        ("tests/a.py", "TOLD_BY = 4", ["tests/a.py:1: TOLD"]),
        ("tests/a.py", "all_said = []", ["tests/a.py:1: said"]),
        ("tests/a.py", "untold, a saidan", []),
        ("docs/page.md", "The crate `trajet-io` reads.", ["docs/page.md:1: trajet-io"]),
        ("a.rs", "// use trajet_io::Chain", ["a.rs:1: trajet_io"]),
        ("a.py", '"a.xtc: is there already"', ["a.py:1: is there already"]),
        (f"{STORE}/face.rs", "", [f"{STORE}/face.rs: module face"]),
        (f"{STORE}/divided.rs", "", [f"{STORE}/divided.rs: module divided"]),
        (
            "python/trajet/pools/elsewhere.py",
            "",
            ["python/trajet/pools/elsewhere.py: module elsewhere"],
        ),
        (
            "python/trajet/h5md/own/__init__.py",
            "",
            ["python/trajet/h5md/own/__init__.py: module own"],
        ),
        ("crates/trajet-simd/src/lanes.rs", "", []),
        ("python/trajet/conversion/copies.py", "", []),
        ("docs/face.md", "", []),
        ("a.py", "class Going:\n    pass", []),
        ("python/a.py", "class Going:\n    pass", ["python/a.py:1: class Going"]),
        (
            "crates/a/src/b.rs",
            "pub(crate) struct Brief<'a> {",
            ["crates/a/src/b.rs:1: pub(crate) struct Brief"],
        ),
        ("crates/a/src/b.rs", "    Done(u64),\n// struct Given is no more", []),
        (
            "crates/a/src/b.rs",
            "pub(super) fn together() {",
            ["crates/a/src/b.rs:1: pub(super) fn together"],
        ),
        ("crates/trajet-kernels/src/pairs.rs", "struct Places {", []),
        (
            "crates/trajet-engine/src/b.rs",
            "struct Places {",
            ["crates/trajet-engine/src/b.rs:1: struct Places"],
        ),
    ],
)
def test_replaced_words_and_names_are_found(
    findings_in: Callable[[str, str], Iterator[str]], path: str, text: str, expected: list[str]
) -> None:
    """Names are forbidden in the paths of their former meaning only."""
    assert list(findings_in(path, text)) == expected
