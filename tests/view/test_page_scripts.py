"""The scripts of the page, run by Node: numbers of frames and averages, requests, playing."""

import shutil
from pathlib import Path

import pytest
from helpers.commands import execute
from trajet import viewer
from trajet.viewer.files import script

PAGE = Path(viewer.__file__).parent / "page"
NEEDS_NODE = pytest.mark.skipif(
    shutil.which("node") is None, reason="Node.js is missing: apt-get install nodejs"
)
TESTS = Path(__file__).parent / "page_scripts"


@NEEDS_NODE
@pytest.mark.parametrize("name", [path.name for path in sorted(TESTS.glob("*.test.mjs"))])
def test_scripts_in_node(name: str, tmp_path: Path) -> None:
    """Every test of the file passes; Node takes scripts for modules by the package beside them."""
    for path in PAGE.glob("*.js"):
        shutil.copy(path, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    shutil.copy(TESTS / name, tmp_path)
    command = ["node", "--test", "--test-timeout=60000", "--test-reporter=tap", name]
    done = execute(*command, cwd=tmp_path, code=None)
    assert (done.returncode, "# pass 0" in done.stdout) == (0, False), done.stdout


@NEEDS_NODE
@pytest.mark.parametrize("entry", ["widget", "saved"])
def test_modules_are_one_script(entry: str, tmp_path: Path) -> None:
    """No two of them define the same name, as they become one module."""
    (tmp_path / "page.mjs").write_text(script(entry), encoding="utf-8")
    command = ["node", "--check", "page.mjs"]
    execute(*command, cwd=tmp_path)
