"""Signatures and docstrings of analyses, completed with the parameters of every run."""

import inspect
import re
from inspect import Parameter, Signature
from types import NoneType, UnionType
from typing import Annotated, ForwardRef, Literal, Union, get_args, get_origin

from trajet.analysis.arguments import AsOption, AtomsOption, Unit
from trajet.analysis.runner import RunOptions

# The parameters of a run, which all jobs of a run share.
OF_RUN = tuple(RunOptions.__annotations__)

_SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.MULTILINE)
# In their order.
_SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "Examples")

_SELECTION = """\
selection
    A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file."""
_OF_RUN = """\
frames
    A slice, frame numbers, or a mask; None for all. One number is one frame: `range(10)` are ten.
pool
    Where to compute; None for `LocalPool()`: all cores of this process.
progress
    Called with frames done and in total; True for a progress bar."""
_NO_MASSES = """\
SelectionError
    If masses are requested and missing."""
_OF_FRAMES = """\
FrameError, FormatError
    If a frame is out of range, or corrupt."""
_STORED = """\
Positions are used as stored: make molecules that are broken over the box whole with
`selection.whole()`. A warning says in how many frames they are broken."""


def with_run_options(signature: Signature) -> Signature:
    """Return a signature with the parameters of a run in place of `**run`."""
    own = [each for each in signature.parameters.values() if each.kind != Parameter.VAR_KEYWORD]
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in RunOptions.__annotations__.items()
    ]
    return signature.replace(parameters=[*own, *options])


def shown(signature: Signature) -> Signature:
    """Return a signature whose annotations have no metadata, as users see it."""
    parameters = [
        each.replace(annotation=_text_of(each.annotation))
        if "Annotated[" in repr(each.annotation)
        else each
        for each in signature.parameters.values()
    ]
    return signature.replace(parameters=parameters)


def recorded_parameters(signature: Signature) -> list[str]:
    """Return the names of the parameters that reports have as they are: no selections.

    The first parameter is what is analysed, and those of the run are in other entries.
    """
    _, *others = signature.parameters.values()
    return [
        each.name
        for each in others
        if each.name not in OF_RUN and not _takes_atoms(each.annotation)
    ]


def _takes_atoms(annotation: object) -> bool:
    """Return whether a parameter takes selections."""
    if isinstance(annotation, AtomsOption):
        return True
    if isinstance(annotation, AsOption):
        return _takes_atoms(annotation.annotation)
    # Those of `Annotated` are a type and its metadata.
    return any(map(_takes_atoms, get_args(annotation)))


def unit_of(annotation: object) -> str | None:
    """Return the unit of a parameter that is a number or several, or None."""
    if isinstance(annotation, Unit):
        return annotation.name
    if isinstance(annotation, AsOption):
        return unit_of(annotation.annotation)
    return next(filter(None, map(unit_of, get_args(annotation))), None)


def with_shared_texts(doc: str, signature: Signature, *, stored: bool) -> str:
    """Return a docstring with the texts that analyses share, in the sections where they belong.

    Parameters
    ----------
    doc
        Docstring of an analysis.
    signature
        Its signature.
    stored
        Whether positions are taken as stored.
    """
    head, *parts = _SECTION.split(inspect.cleandoc(doc))
    texts = dict.fromkeys(_SECTIONS, "")
    texts |= {title: text.strip("\n") for title, text in zip(parts[::2], parts[1::2], strict=True)}
    parameters, errors = texts["Parameters"], texts["Raises"]
    if "selection" in signature.parameters and not parameters.startswith("selection\n"):
        parameters = f"{_SELECTION}\n{parameters}"
    if "weights" in signature.parameters and "masses" not in errors:
        errors = f"{errors}\n{_NO_MASSES}"
    texts["Parameters"] = f"{parameters}\n{_OF_RUN}"
    texts["Raises"] = f"{errors}\n{_OF_FRAMES}".strip("\n")
    if stored:
        texts["Notes"] = f"{_STORED}\n\n{texts['Notes']}".strip("\n")
    written = (f"{title}\n{'-' * len(title)}\n{text}" for title, text in texts.items() if text)
    return "\n\n".join([head.strip("\n"), *written]) + "\n"


def _text_of(annotation: object) -> str:
    """Return an annotation without metadata, as source text."""
    origin, args = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, str):
        text = annotation
    elif isinstance(annotation, ForwardRef):
        text = annotation.__forward_arg__
    elif annotation is NoneType:
        text = "None"
    elif origin is Annotated:
        text = _text_of(args[0])
    elif origin in (Union, UnionType):
        text = " | ".join(map(_text_of, args))
    elif origin is None or origin is Literal:
        text = inspect.formatannotation(annotation)
    else:
        text = f"{origin.__name__}[{', '.join(map(_text_of, args))}]"
    return text
