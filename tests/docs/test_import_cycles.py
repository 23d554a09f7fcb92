"""The check for import cycles finds those of Rust and Python code, and no others."""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging" / "import_cycles.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the script as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        return importlib.import_module(SCRIPT.stem)


@pytest.fixture(scope="module")
def cycles_of(script: ModuleType) -> Callable[[Path, Mapping[str, str]], list[list[str]]]:
    """Return a function that writes the files of a crate and returns its cycles."""

    def found(folder: Path, files: Mapping[str, str]) -> list[list[str]]:
        for name, code in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(code)
        imports = script.imports_of(folder)
        named = {"::".join(one): {"::".join(two) for two in imports[one]} for one in imports}
        return [[str(name) for name in cycle] for cycle in script.cycles_in(named)]

    return found


# The modules of a cycle, if there is one, and the files of a crate.
CRATES: dict[str, tuple[list[str], dict[str, str]]] = {
    "a tree": ([], {"a.rs": "use crate::b::B;", "b.rs": "use std::fmt;"}),
    "two modules": (["a", "b"], {"a.rs": "use crate::b::B;", "b.rs": "fn f() { crate::a::g() }"}),
    "over three": (
        ["a", "b", "c"],
        {
            "a.rs": "use crate::{b::{self, B}, d};",
            "b.rs": "use super::c;",
            "c.rs": "use crate::a;",
            "d.rs": "",
        },
    ),
    "a child of its parent": (
        ["a", "a::child"],
        {"a.rs": "use child::C; struct A;", "a/child.rs": "use super::A;"},
    ),
    "a name that the parent re-exports": (
        [],
        {
            "a.rs": "pub(crate) use one::{One as First};",
            "a/one.rs": "pub struct One;",
            "a/two.rs": "use super::First;",
        },
    ),
    "a name that the root re-exports": (
        ["a", "b"],
        {
            "lib.rs": "mod a; mod b; pub use a::A; pub use b::B;",
            "a.rs": "use crate::B;",
            "b.rs": "use crate::A;",
        },
    ),
    "only in tests": (
        [],
        {
            "a.rs": "use crate::b;",
            "b.rs": "#[cfg(all(test, unix))]\nmod tests { use crate::a; fn f() { a::g() } }",
        },
    ),
    "only in comments and strings": (
        [],
        {"a.rs": "use crate::b;", "b.rs": '// use crate::a;\nconst S: &str = "use crate::a;";'},
    ),
}


@pytest.mark.parametrize("name", CRATES)
def test_import_cycles_are_found(
    cycles_of: Callable[[Path, Mapping[str, str]], list[list[str]]], name: str, tmp_path: Path
) -> None:
    """Cycles of code are found, but not those of comments, strings or tests."""
    cycle, files = CRATES[name]
    assert cycles_of(tmp_path, {"lib.rs": ""} | files) == ([cycle] if cycle else [])


# The modules of a cycle, if there is one, and the code of modules `a`, `b` and `c` of a package.
PACKAGES: dict[str, tuple[list[str], dict[str, str]]] = {
    "a tree": ([], {"a": "from PACKAGE import b", "b": "import json"}),
    "statements": (["a", "b"], {"a": "from PACKAGE.b import f", "b": "import PACKAGE.a"}),
    "a literal name": (
        ["a", "b", "c"],
        {
            "a": "from PACKAGE import b",
            "b": "from PACKAGE.c import f",
            "c": "import importlib\ndef f(): return importlib.import_module('PACKAGE.a')",
        },
    ),
    "a literal name, without importlib": (
        ["a", "b"],
        {
            "a": "from PACKAGE import b",
            "b": "from importlib import import_module\nimport_module('PACKAGE.a')",
        },
    ),
    "a name that is computed": (
        [],
        {
            "a": "from PACKAGE import b",
            "b": "import importlib\ndef f(name): return importlib.import_module(name)",
        },
    ),
    "a literal name in a docstring": (
        [],
        {"a": "from PACKAGE import b", "b": '"""importlib.import_module(\'PACKAGE.a\')"""'},
    ),
}


@pytest.mark.parametrize("number", range(len(PACKAGES)), ids=PACKAGES)
def test_import_cycles_of_python_are_found(
    script: ModuleType, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cycles are found through `import_module` with a literal name; the package is none of them."""
    cycle, files = list(PACKAGES.values())[number]
    # Each package has its own name, as the import system remembers where it has found one.
    package = f"package_with_imports_{number}"
    (tmp_path / package).mkdir()
    for name, code in {"__init__": "from PACKAGE import a", **files}.items():
        path = tmp_path / package / f"{name}.py"
        path.write_text(code.replace("PACKAGE", package))
    monkeypatch.syspath_prepend(tmp_path)
    # grimp keeps its cache in the working directory.
    monkeypatch.chdir(tmp_path)
    found = script.cycles_in(script.python_imports_of(package))
    assert found == ([[f"{package}.{name}" for name in cycle]] if cycle else [])
