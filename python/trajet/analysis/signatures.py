"""Signatures and docstrings of analyses, completed with the parameters of every run."""

import inspect
from inspect import Parameter, Signature
from types import NoneType, UnionType
from typing import Annotated, ForwardRef, Literal, Union, get_args, get_origin

from trajet.analysis.runner import RunOptions

# The parameters of a run, which all jobs of a run share.
OF_RUN = tuple(RunOptions.__annotations__)

_TEXT = """\
frames
    A slice, frame numbers, or a mask; None for all.
pool
    Where to compute; None for `LocalPool()`: all cores of this process.
progress
    Called with frames done and in total; True for a progress bar.
"""


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


def with_run_texts(doc: str) -> str:
    """Return a docstring with the texts of the parameters of a run, before what is returned."""
    doc = inspect.cleandoc(doc)
    return doc.replace("\n\nReturns\n---", f"\n{_TEXT}\nReturns\n---", 1)


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
