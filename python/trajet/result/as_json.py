"""Results as JSON: numbers for other programs, and files that restore every bit."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError, __version__
from trajet.messages import Message, as_entries
from trajet.parsing import ParseError, parsed
from trajet.result.report import Report, json_object, plain
from trajet.result.summary import Column, Summary

FORMAT, CHEMISTRY = "trajet result", "trajet chemistry"
VERSION = 2
_GIVE = "give a file that result.save or -o wrote"

# Texts for the numbers that JSON does not have.
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# Bytes of an array of texts for each character: fewer than a long text among short ones needs.
_MAX_PADDING = 64


class Described(Protocol):
    """A result, as it is written; see `trajet.result.Result`."""

    @property
    def report(self) -> Report:
        """Timings and counters of the run."""

    @property
    def messages(self) -> Sequence[Message]:
        """Warnings and notes on its numbers."""

    def summary(self, limit: int | None = None) -> Summary:
        """Return the table that the terminal shows."""

    def scalars(self) -> Mapping[str, object]:
        """Return numbers that say most about the result."""

    def mean_errors(self) -> tuple[Column, ...]:
        """Return the mean of each series with its error."""

    def _arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Return the fields by name."""


def document(result: Described, *, outputs: Iterable[object] = ()) -> dict[str, object]:
    """Return what is worth knowing about a result, as values that JSON has; NaN is None.

    Parameters
    ----------
    result
        The result.
    outputs
        Paths of the files that were written.
    """
    summary, report = result.summary(), result.report
    errors = Summary("", result.mean_errors())
    found: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "trajet": __version__,
        "kind": type(result).__name__,
        "analysis": report.get("analysis"),
        "scalars": json_object(result.scalars()),
        "table": {
            "title": summary.title,
            "columns": [column.name for column in summary.columns],
            "rows": plain(summary.rows()),
        },
        **(_statistics(errors) if errors.columns else {}),
        "parameters": report.get("parameters", {}),
        **as_entries(result.messages),
        "inputs": report.get("inputs", []),
    }
    return found | ({"outputs": [str(path) for path in outputs]} if outputs else {})


def _statistics(errors: Summary) -> dict[str, object]:
    """Return the entry with the errors of means."""
    names = [column.name for column in errors.columns]
    return {"statistics": {"columns": names, "rows": plain(errors.rows())}}


def write(result: Described, file: IO[bytes]) -> None:
    """Write a result with all of its fields."""
    for piece in _pieces(result):
        file.write(piece.encode("ascii"))


def _pieces(result: Described) -> Iterator[str]:
    """Yield the text, one entry a line."""
    entries = [*document(result).items(), ("report", dict(result.report))]
    for k, (name, value) in enumerate(entries):
        yield ("{" if k == 0 else ",") + f"\n{json.dumps(name)}: "
        yield json.dumps(value, allow_nan=False)
    yield ',\n"fields": '
    arrays = result._arrays()
    for k, (name, array) in enumerate(arrays.items()):
        yield ("{" if k == 0 else ",") + f"\n  {json.dumps(name)}: "
        yield json.dumps(_encoded(array), allow_nan=False)
    yield "\n}}\n" if arrays else "{}}\n"


def _encoded(array: NDArray[np.generic]) -> dict[str, object]:
    """Return type, shape and nested lists of the elements of an array."""
    kind = array.dtype.kind
    numbers = array
    if kind == "c":
        # Real and imaginary part, along one more axis.
        numbers = np.stack([np.real(array), np.imag(array)], axis=-1)
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        numbers = _with_texts(numbers)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": numbers.tolist()}


def _with_texts(numbers: NDArray[np.generic]) -> NDArray[np.object_]:
    """Return numbers with texts for those that are not finite; NaN of unusual bits keep them."""
    found = numbers.astype(np.float64).astype(object)
    size = numbers.dtype.itemsize
    bits = np.ascontiguousarray(numbers).view(f"V{size}").reshape(numbers.shape)
    for name, value in _SPECIAL.items():
        usual = np.array(value, numbers.dtype).view(f"V{size}")
        is_it = np.isnan(numbers) if math.isnan(value) else numbers == value
        is_usual = is_it & (bits == usual)
        found[is_usual] = name
        for at in np.argwhere(is_it & ~is_usual):
            found[tuple(at)] = f"{name}:{numbers[tuple(at)].tobytes().hex()}"
    return found


def arrays_of(text: bytes, path: Path) -> dict[str, NDArray[np.generic]]:
    """Return the fields of a result by name, with its `kind` and `report`, as NPZ files have them.

    Raises
    ------
    FormatError
        If the text is not a result with all of its fields.
    """
    try:
        entries = parsed(json.loads, text)
    except ParseError as error:
        raise FormatError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(entries, dict) or entries.get("format") != FORMAT:
        is_chemistry = isinstance(entries, dict) and entries.get("format") == CHEMISTRY
        give = "tj.Chemistry.load reads it" if is_chemistry else _GIVE
        raise FormatError(f"{path}: JSON, but not a result: {give}")
    if entries.get("version") != VERSION:
        raise FormatError(
            f"{path}: a result of version {entries.get('version')!r}; this trajet reads version"
            f" {VERSION}: run the analysis again"
        )
    fields = entries.get("fields")
    if not isinstance(fields, dict):
        raise FormatError(f"{path}: a printed result, without its fields: {_GIVE}")
    found = {str(name): _decoded(value, f"{path}: field {name}") for name, value in fields.items()}
    found["kind"] = np.array(str(entries.get("kind")))
    found["report"] = np.array(json.dumps(entries.get("report")).encode())
    return found


def _decoded(value: object, where: str) -> NDArray[np.generic]:
    """Return the array of a field.

    Raises
    ------
    FormatError
        If type, shape and elements do not agree.
    """
    try:
        if not isinstance(value, dict):
            raise TypeError(f"not an object but {type(value).__name__}")
        dtype, shape = np.dtype(str(value["dtype"])), tuple(map(int, value["shape"]))
        if dtype.kind not in "biufcU":
            raise TypeError(f"elements of the type {dtype}")
        return _array(value["data"], dtype, shape)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{where}: {error}; save the result again") from error
    except RecursionError:
        raise FormatError(f"{where}: nested too deeply; save the result again") from None


def _array(
    data: object, dtype: "np.dtype[np.generic]", shape: tuple[int, ...]
) -> NDArray[np.generic]:
    """Return nested lists as an array; nothing of the shape is allocated before it is compared."""
    if dtype.kind == "U":
        texts = [str(one) for one in _flat(data)]
        longest, characters = max(map(len, texts), default=0), sum(len(one) + 4 for one in texts)
        is_padded = dtype.itemsize * len(texts) > _MAX_PADDING * characters
        if len(texts) != math.prod(shape) or longest > dtype.itemsize // 4 or is_padded:
            raise ValueError(f"{len(texts)} texts of up to {longest} characters as {dtype} {shape}")
        return np.array(texts, dtype).reshape(shape)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        pairs = _array(data, part, (*shape, 2))
        return np.ascontiguousarray(pairs).view(dtype.newbyteorder("=")).reshape(shape)
    numbers = _flat(data)
    if len(numbers) != math.prod(shape):
        raise ValueError(f"{len(numbers)} elements for the shape {shape}")
    allowed = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float, str)}[dtype.kind]
    for k, element in enumerate(numbers):
        if not isinstance(element, allowed):
            raise TypeError(f"element {k} is not of the type {dtype}")
    special = {k: one for k, one in enumerate(numbers) if isinstance(one, str)}
    array = np.array([0.0 if isinstance(n, str) else n for n in numbers], dtype)
    for k, text in special.items():
        name, _, bits = text.partition(":")
        if bits:
            array[k] = np.frombuffer(bytes.fromhex(bits), dtype)[0]
        else:
            array[k] = _SPECIAL[name]
    return array.reshape(shape)


def _flat(data: object) -> list[object]:
    """Return the elements of nested lists, in order."""
    if not isinstance(data, list):
        return [data]
    if data and isinstance(data[0], list):
        return [one for row in data for one in _flat(row)]
    return data
