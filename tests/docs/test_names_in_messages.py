"""Messages name only options and keywords that exist: an advised command can be run."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import trajet as tj
from helpers.help_pages import every_command
from trajet import hints
from trajet.cli import option_hints

ROOT = Path(__file__).parents[2]
# Options of other programs, of every command, and what only looks like an option.
OTHER_OPTIONS = {
    # Of Chromium.
    *(
        "--headless",
        "--no-first-run",
        "--disable-extensions",
        "--mute-audio",
        "--disable-background-networking",
        "--disable-sync",
        "--hide-scrollbars",
        "--enable-unsafe-swiftshader",
        "--user-data-dir",
        "--window-size",
        "--no-sandbox",
    ),
    *("--help", "--no-", "--option"),
    *(
        "--mk",
        "--merge",
        "--release",
        "--device",
        "--cap-add",
        "--oversubscribe",
        "--mpi-lib-version",
    ),
    # Of other programs, for which hints name ours.
    *option_hints.OPTIONS,
    # Colours of HTML pages.
    *("--overhead", "--wait"),
}
# Keywords of MDAnalysis and numpy, settings of Amber, variables of the environment and labels.
OTHER_KEYWORDS = {
    *(
        "backend",
        "convert_units",
        "dt",
        "exclude_same",
        "unsupported_backend",
        "keepdims",
        "ntxo",
        "strict",
    ),
    "in_memory",
    # Kinds in the text of an option.
    *("hbond", "ionic"),
    # A key of members.
    "replica",
    # A parameter of HTTP authentication, and the unit of an HTTP range.
    *("realm", "bytes"),
    # An option of remote storage.
    "endpoint",
    # Of other programs, for which hints name ours.
    *hints.KEYWORDS,
    *("ntwf", "ntwv", "salt", "user_id", "src", "t", "unit", "velocity"),
}
# The name of a keyword with a value, a placeholder of it in capitals, or without.
KEYWORD = re.compile(r"""(?<![\w.?&-])([a-z_]+)=(?=["'\dA-Z]|\W|$)""")


def messages_of_python() -> Iterator[tuple[str, str]]:
    """Yield the place and text of each string of the package that is no docstring."""
    for path in sorted((ROOT / "python" / "trajet").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body
            if isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docstrings:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def messages_of_rust() -> Iterator[tuple[str, str]]:
    """Yield the file and text of each string of the crates."""
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        code = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        # A quotation mark as a character would begin a string.
        code = code.replace("'\"'", "")
        # A backslash at the end of a line joins it with the next.
        for found in re.finditer(r'"((?:[^"\\]|\\.)*)"', re.sub(r"\\\n\s*", "", code)):
            yield str(path.relative_to(ROOT)), found[1]


@pytest.fixture(scope="module")
def messages() -> list[tuple[str, str]]:
    """Return the place and text of each string; found here, not by each process that collects."""
    return [*messages_of_python(), *messages_of_rust()]


def test_messages_of_both_languages_are_found(messages: list[tuple[str, str]]) -> None:
    """Known messages, in particular."""
    texts = {text for _, text in messages}
    assert any("selection.whole()" in text for text in texts)
    assert any("whole frames before it with allow_truncated_tail=True" in text for text in texts)


def test_options_in_messages_exist(messages: list[tuple[str, str]]) -> None:
    """Some command has each of them."""
    options = {
        spelling
        for _, command in every_command()
        for param in command.params
        if isinstance(param, click.Option)
        for spelling in (*param.opts, *param.secondary_opts)
    }
    unknown = {
        f"{place}: {name}"
        for place, text in messages
        for name in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)
        if name not in options | OTHER_OPTIONS
    }
    assert not unknown


def test_keywords_in_messages_exist(messages: list[tuple[str, str]]) -> None:
    """Some public function, class or method has each of them."""
    public = [getattr(tj, name) for name in tj.__all__]
    methods = [
        getattr(owner, name)
        for owner in public
        if inspect.isclass(owner)
        for name in dir(owner)
        if not name.startswith("_")
    ]
    keywords = set[str]()
    for function in filter(callable, public + methods):
        try:
            keywords |= set(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            # Classes of the native module have no signature.
            continue
    unknown = {
        f"{place}: {name}="
        for place, text in messages
        for name in KEYWORD.findall(text)
        if name not in keywords | OTHER_KEYWORDS
    }
    assert not unknown


# Names in modules of analyses that are not of the analysis: of opening, selecting, transforms.
OF_OTHERS = {"continuous", "time_step", "updating", "view"}


def test_names_in_modules_of_analyses_are_of_their_analysis(
    messages: list[tuple[str, str]],
) -> None:
    """Errors and messages of an analysis name its own parameters and options, in both languages."""
    commands = {names[0]: command for names, command in every_command() if len(names) == 1}
    checked, unknown = set[tuple[str, str]](), set[str]()
    for place, text in messages:
        name = Path(place.split(":")[0]).stem
        # Examples of help texts are executed by another test.
        if name not in tj.ANALYSES or text.lstrip().startswith("trajet "):
            continue
        known = {*inspect.signature(getattr(tj, name)).parameters, *OF_OTHERS}
        if (command := commands.get(name.replace("_", "-"))) is not None:
            known |= {each for one in command.params for each in (*one.opts, *one.secondary_opts)}
        words = KEYWORD.findall(text)
        words += re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)
        checked |= {(name, word) for word in words}
        unknown |= {f"{place}: {name} {word}" for word in words if word not in known}
    assert {("rmsf", "align"), ("rmsf", "--align"), ("hbonds", "max_memory")} <= checked
    assert not unknown
