"""Loading of results that were saved as NPZ or JSON."""

import importlib
import os
import zipfile
import zlib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError
from trajet.result.modules import MODULES
from trajet.result.report import Report
from trajet.result.result import KINDS, Result


def load(path: str | os.PathLike[str]) -> Any:
    """Read a result that was saved as NPZ or JSON, with its report.

    Parameters
    ----------
    path
        A file that `result.save` or the option `-o` wrote, `.npz` or `.json`.

    Returns
    -------
    Result
        A result of the class that was saved, with the same numbers.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FormatError
        If the file is neither an NPZ nor a JSON file of a result, is damaged, or was written by a
        version of trajet whose files do not name their class.

    Examples
    --------
    >>> result.save("rmsd.npz")
    >>> import trajet as tj
    >>> tj.load("rmsd.npz").columns
    ('name CA',)
    """
    path = Path(path)
    arrays = _arrays_of(path)
    if "kind" not in arrays:
        names = ", ".join(sorted(arrays)) or "nothing"
        raise FormatError(
            f"{path}: an NPZ file without a result's class (of an older version of trajet, or of"
            f" another program): numpy.load reads its arrays ({names}); run the analysis again for"
            " a result"
        )
    kind = str(arrays.pop("kind"))
    for module, names in MODULES.items():
        if kind in names.split():
            importlib.import_module(module)
    if kind not in KINDS:
        raise FormatError(
            f"{path}: a result of the class {kind}, which this version of trajet does not have:"
            " import the module that defines the class, or read the arrays with numpy.load"
        )
    values = _values_of(KINDS[kind], arrays, path)
    result = KINDS[kind](**values)
    _check_rows(result, path)
    return result


def _arrays_of(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file."""
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            if file.read(1) == b"{":
                from trajet.result.as_json import arrays_of

                return arrays_of(b"{" + file.read(), path)
            raise FormatError(
                f"{path}: neither an NPZ nor a JSON file: give a file that result.save wrote as"
                " .npz or .json"
            )
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise FormatError(
                f"{path}: a damaged NPZ file: {error}; save the result again"
            ) from error


def _values_of(
    kind: type[Result], arrays: dict[str, NDArray[Any]], path: Path
) -> dict[str, object]:
    """Return the fields of a result by name."""
    hints, found = get_type_hints(kind), dict[str, object]()
    for field in fields(cast(Any, kind)):
        name, hint = field.name, hints[field.name]
        inner = [one for one in (hint, *get_args(hint)) if isinstance(one, type)]
        nested = [one for one in inner if issubclass(one, Result)]
        begin = f"{name}."
        own = {key.removeprefix(begin): arrays[key] for key in arrays if key.startswith(begin)}
        if nested and own:
            values = _values_of(nested[0], {**own, "report": arrays["report"]}, path)
            found[name] = nested[0](**values)
        elif name in arrays:
            found[name] = _value_of(hint, arrays[name], path)
        elif type(None) in get_args(hint):
            found[name] = None
        elif field.default is MISSING and field.default_factory is MISSING:
            raise FormatError(
                f"{path}: a {kind.__name__} without its {name!r}: written by another version of"
                " trajet, or incomplete; numpy.load reads the other arrays"
            )
    return found


def _value_of(hint: object, array: NDArray[Any], path: Path) -> object:
    """Return the value of a field of the type `hint`."""
    if hint is Report:
        return Report.from_json(bytes(array.item()).decode(), f"{path}: report")
    types = [get_origin(one) for one in (hint, *get_args(hint))]
    if np.ndarray in types:
        return array
    if tuple not in types:
        return array.item()
    return tuple(tuple(row) if isinstance(row, list) else row for row in array.tolist())


def _check_rows(result: Result, path: Path) -> None:
    """Raise an error if fields with one element per row have different lengths."""
    lengths = {
        name: len(value)
        for name in result._row_fields()
        if (value := getattr(result, name)) is not None and np.ndim(value)
    }
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise FormatError(f"{path}: fields have different numbers of rows: {found}; save it again")
