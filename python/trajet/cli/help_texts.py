"""Help of commands from docstrings of functions in numpydoc."""

import inspect
import re
import sys
from collections.abc import Mapping

import trajet
from trajet.analysis.job import AnalysisFunction
from trajet.analysis.signatures import with_shared_texts
from trajet.result import Table

# The beginning of a sentence on what a parameter is without a value.
_NONE = "None for "
_SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.MULTILINE)


def doc_of(function: AnalysisFunction[..., Table]) -> str:
    """Return the docstring of an analysis; Python with -OO has it only in the source, if at all."""
    if sys.flags.optimize < 2:
        return function.__doc__ or ""
    import ast

    try:
        [node] = ast.parse(inspect.getsource(inspect.unwrap(function))).body
    except OSError:
        return ""
    assert isinstance(node, ast.FunctionDef)
    found = ast.get_docstring(node, clean=False) or ""
    return with_shared_texts(found, inspect.signature(function), stored=function.command.stored)


def paragraphs_of(doc: str) -> list[str]:
    """Return the paragraphs of a docstring before its sections."""
    head = _SECTION.split(inspect.cleandoc(doc), maxsplit=1)[0]
    return [paragraph for paragraph in head.strip().split("\n\n") if paragraph]


def entries_of(doc: str) -> dict[str, str]:
    """Return the text of each parameter in a docstring, on one line."""
    _, *sections = _SECTION.split(inspect.cleandoc(doc))
    texts = dict(zip(sections[::2], sections[1::2], strict=True))
    entries: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", texts.get("Parameters", "").strip("\n")):
        names, _, text = entry.partition("\n")
        entries |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return entries


def help_of(entry: str, options: Mapping[str, str], default: object) -> str:
    """Return the help of an option from the text of its parameter.

    It is the first sentence, and a sentence "None for …" as the default or as the word none.

    Parameters
    ----------
    entry
        The text of the parameter.
    options
        The option of each parameter of the function.
    default
        The default of the parameter.
    """
    first, *others = re.split(r"(?<=\.)\s+(?=[A-Z`\"])", entry)
    for sentence in others:
        if sentence.startswith(_NONE):
            first += " Default: " if default is None else " Write none for "
            first += sentence.removeprefix(_NONE)
    return with_options(first, options)


def with_options(text: str, options: Mapping[str, str]) -> str:
    """Return a text of a docstring with options in place of parameters, and without backquotes."""
    commands = {name: name.replace("_", "-") for name in trajet.ANALYSES}
    names = {**commands, **options}
    return re.sub(r"`([^`]+)`", lambda found: names.get(found[1], found[1]), text)
