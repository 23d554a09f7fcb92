"""Find import cycles among the modules of each crate and of the Python package.

    .venv/bin/python packaging/import_cycles.py             fail on cycles that are not known
    .venv/bin/python packaging/import_cycles.py --update    write the known cycles anew

A cycle is a strongly connected component: a set of modules each of which imports, directly or over
others, all of them. Known ones are in `known_import_cycles.txt`, one per line, and may only
shrink: a module that joins one fails the gate, and so does a line with a module that has left.

Rust modules are files. Their imports are the paths in `use` declarations and in expressions, each
followed through re-exports to the module that defines the name. Tests are left out. Python's are
found by grimp, the library of import-linter, with those for type checkers alone; calls of
`import_module` with a literal name count as imports, too.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
KNOWN = Path(__file__).with_name("known_import_cycles.txt")
# The path of a Rust module: names from the root of its crate on, () for the root itself.
Module = tuple[str, ...]
# Comments, then strings: neither names a module.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|b?r?#*"(?:\\.|[^"\\])*"#*', re.DOTALL)
TEST_MODULE = re.compile(
    r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:pub(?:\([a-z]+\))?\s+)?mod\s+\w+\s*"
)
USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])[a-z_]\w*(?:::\w+)+")


@dataclass
class Source:
    """The imports of a Rust file, and the names that it re-exports, as they are written."""

    paths: list[list[str]] = field(default_factory=list)
    reexports: dict[str, list[str]] = field(default_factory=dict)


def without_tests(code: str) -> str:
    """Return code without comments, strings and the modules that only tests have."""
    code = NOT_CODE.sub('""', code)
    while match := TEST_MODULE.search(code):
        end = match.end()
        if code[end] == "{":
            depth = 1
            while depth:
                end += 1
                depth += {"{": 1, "}": -1}.get(code[end], 0)
        code = code[: match.start()] + code[end + 1 :]
    return code


def leaves_of(tree: str) -> Iterator[tuple[list[str], str]]:
    """Yield the path of each name in a `use` tree, and the name that it gets."""
    head, brace, rest = tree.strip().partition("{")
    prefix = [name for name in head.strip().split("::") if name]
    if not brace:
        path, _, alias = head.partition(" as ")
        names = path.strip().split("::")
        yield names, alias.strip() or names[-1]
        return
    depth, begin = 0, 0
    body = rest[: rest.rindex("}")]
    for place, letter in enumerate(f"{body},"):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if part := body[begin:place].strip():
                for names, alias in leaves_of(part):
                    name = prefix[-1] if names == ["self"] else alias
                    yield prefix + [n for n in names if n != "self"], name
            begin = place + 1


def source_of(code: str, children: set[str]) -> Source:
    """Return the paths in a file: of `use`, and those that begin at the crate or at a child."""
    source = Source()
    for match in USE.finditer(code):
        for names, alias in leaves_of(match[2]):
            source.paths.append(names)
            if match[1] and alias != "_":
                source.reexports[alias] = names
    for path in PATH.findall(USE.sub("", code)):
        names = path.split("::")
        if names[0] in {"crate", "super", "self"} | children:
            source.paths.append(names)
    return source


def files_of(folder: Path) -> dict[Module, str]:
    """Return the code of each module of a crate."""
    found = {}
    for path in sorted(folder.rglob("*.rs")):
        *above, last = path.relative_to(folder).with_suffix("").parts
        module = (*above, *([] if last in ("lib", "mod") else [last]))
        if "tests" not in module:
            found[module] = without_tests(path.read_text())
    return found


def imports_of(folder: Path) -> dict[Module, set[Module]]:
    """Return the modules of its crate that each module imports."""
    files = files_of(folder)
    children = {
        module: {other[-1] for other in files if other and other[:-1] == module} for module in files
    }
    sources = {module: source_of(code, children[module]) for module, code in files.items()}

    def absolute(module: Module, names: list[str]) -> list[str] | None:
        """Return a path from the root of the crate; None where it leads out of the crate."""
        here, rest = list(module), list(names)
        if rest[0] == "crate":
            return rest[1:]
        if rest[0] not in {"self", "super"}:
            return here + rest if rest[0] in children[module] else None
        while rest and rest[0] in {"self", "super"}:
            if rest.pop(0) == "super":
                here.pop()
        return here + rest

    def defined(names: list[str]) -> Module:
        """Return the module that defines the last name of a path."""
        depth = max(n for n in range(len(names) + 1) if tuple(names[:n]) in files)
        module, rest = tuple(names[:depth]), names[depth:]
        if not rest or rest[0] not in sources[module].reexports:
            return module
        further = absolute(module, sources[module].reexports[rest[0]])
        return module if further is None else defined(further + rest[1:])

    imports: dict[Module, set[Module]] = {}
    for module, source in sources.items():
        exported = list(source.reexports.values())
        paths = [
            found
            for names in source.paths
            # A root that only re-exports does not use what it names.
            if (module or names not in exported) and (found := absolute(module, names)) is not None
        ]
        imports[module] = {defined(names) for names in paths} - {module}
    return imports


def names_imported(code: str) -> set[str]:
    """Return the literal names that Python code gives to `importlib.import_module`."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                found.add(name)
    return found


def python_imports_of(package: str) -> dict[str, set[str]]:
    """Return the modules of a Python package that each module imports, but for the package itself.

    The package imports its modules for its users, when a name is first used.
    """
    graph = grimp.build_graph(package)
    # The native module, which grimp does not see, counts as the package itself.
    modules = graph.modules - {package}
    imports = {one: graph.find_modules_directly_imported_by(one) & modules for one in modules}
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    for path in folder.rglob("*.py"):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        module = name.removesuffix(".__init__")
        if module in modules:
            imports[module] |= names_imported(path.read_text(encoding="utf-8")) & modules
    return imports


def cycles_in(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module; after Tarjan (1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for other in sorted(imports.get(module, ())):
            if other not in order:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], order[other])
        if lowest[module] == order[module]:
            place = stack.index(module)
            component = stack[place:]
            del stack[place:]
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(imports):
        if module not in order:
            visit(module)
    return found


def all_cycles() -> list[list[str]]:
    """Return the cycles of every crate and of the Python package."""
    found = []
    for crate in sorted((ROOT / "crates").iterdir()):
        named = {
            "::".join((crate.name, *module)): {"::".join((crate.name, *other)) for other in others}
            for module, others in imports_of(crate / "src").items()
        }
        found += cycles_in(named)
    found += cycles_in(python_imports_of("trajet"))
    return found


def main() -> None:
    """Compare the cycles that are found with the known ones."""
    found = all_cycles()
    lines = [" ".join(cycle) for cycle in found]
    if "--update" in sys.argv[1:]:
        KNOWN.write_text("".join(f"{line}\n" for line in lines))
        return
    known = KNOWN.read_text().splitlines()
    if {*lines} == {*known}:
        return
    for line in sorted({*lines} - {*known}):
        # The known cycle that shares most modules with this one.
        near = max(known, key=lambda one: len({*one.split()} & {*line.split()}), default="")
        if joined := sorted({*line.split()} - {*near.split()}):
            print(f"modules that are in an import cycle now: {' '.join(joined)}", file=sys.stderr)
    for module in sorted({*" ".join(known).split()} - {*" ".join(lines).split()}):
        print(f"no longer in an import cycle: {module}", file=sys.stderr)
    sys.exit(f"import cycles have changed; if they have only shrunk: {sys.argv[0]} --update")


if __name__ == "__main__":
    main()
