"""Every page is in a table of contents of the site, and every public name in its reference."""

import importlib.util
import inspect
import posixpath
import re
from pathlib import Path

import trajet as tj

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TOCTREE = re.compile(
    r"^```\{toctree\}\n(.*?)^```$|^\.\. toctree::\n(.*?)\Z", re.MULTILINE | re.DOTALL
)
# A line of such a table: the page, or a title and the page.
ENTRY = re.compile(r"^ *(?:\w[^<\n]*<)?([\w./-]+)>?$", re.MULTILINE)
# Made by the build.
GENERATED = "docs/generated/"


def entries_of(page: Path) -> set[str]:
    """Return the pages that the tables of contents of a page name, without suffix."""
    folder = page.parent.relative_to(ROOT).as_posix()
    return {
        posixpath.normpath(posixpath.join(folder, entry))
        for contents in TOCTREE.findall(page.read_text(encoding="utf-8"))
        for entry in ENTRY.findall("".join(contents))
    }


def test_every_page_is_in_a_table_of_contents() -> None:
    """But for the first one; and no table names a page that does not exist."""
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *DOCS.glob("reference/*.rst")]
    names = {page.relative_to(ROOT).with_suffix("").as_posix() for page in pages}
    names = {name for name in names if not name.startswith(GENERATED)}
    entries = {entry for name in names for entry in entries_of(_path(name))}
    entries = {entry for entry in entries if not entry.startswith(GENERATED)}
    assert entries == (names - {"docs/index"}) | {"benches/README"}
    assert all(_path(entry).exists() for entry in entries)


def _path(name: str) -> Path:
    """Return the file of a page."""
    return ROOT / f"{name}{'.rst' if name.startswith('docs/reference/') else '.md'}"


def test_reference_has_every_public_name() -> None:
    """Each once, and those of modules that users call."""
    names = [
        name
        for page in (DOCS / "reference").glob("*.rst")
        if page.stem != "index"
        for name in re.findall(r"^   ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    own = [name for name in names if "." not in name]
    assert len(names) == len(set(names))
    assert {*own, "__version__", "samples"} == set(tj.__all__)
    modules = {name.partition(".")[0] for name in names if "." in name}
    assert modules == {"mdanalysis", "samples", "torch"}


def test_members_that_the_reference_leaves_out_exist() -> None:
    """A list of names that no class has any more would hide a later member of the same name."""
    path = DOCS / "extensions" / "public_members.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    public = (getattr(tj, name) for name in tj.__all__)
    classes = [each for each in public if inspect.isclass(each)]
    members = {name for each in classes for name in dir(each)}
    assert members >= module.OF_THE_PACKAGE
