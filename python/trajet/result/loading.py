"""Loading of results that were saved as NPZ or JSON."""

import errno
import importlib
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError
from trajet.hints import with_hints
from trajet.memory import check_memory, in_bytes
from trajet.parsing import ParseError, parsed
from trajet.result import MODULES
from trajet.result.axes import KINDS as AXES
from trajet.result.axes import Axis, Kind
from trajet.result.report import Report
from trajet.result.table import RESULTS, Table

# Errors of classes of results whose fields are others than they wrote.
_UNFIT = (
    ValueError,
    TypeError,
    KeyError,
    OverflowError,
    AttributeError,
    IndexError,
    RecursionError,
)
# Memory that arrays may take: bytes in any case, and bytes per byte of the file.
_LEAST, _MAX_COMPRESSED = 2**24, 48
# Kinds of the numbers of fields; columns of axes may have texts, too.
_TABLE_TYPES = {"standard_errors": "f", "half_widths": "f", "resolved": "b"}
# Kinds of numbers of columns in files; of others any.
_COLUMN_TYPES: Mapping[str, str] = {
    **dict.fromkeys(
        ("frame", "atom", "partner", "residue", "resid", "number", "size", "index", "medoid"), "iu"
    ),
    **dict.fromkeys(("time", "centre", "density"), "fiu"),
    **dict.fromkeys(
        (
            "label",
            "chain",
            "resname",
            "icode",
            "name",
            "first",
            "second",
            "angle",
            "function",
            "ion",
            "letter",
            "own_label",
        ),
        "U",
    ),
}
# Characters of a name that a message quotes.
_QUOTED = 100


@with_hints
def load(path: str | os.PathLike[str]) -> Table:
    """Read a result that was saved as NPZ or JSON, with its report.

    `Chemistry.load` reads the chemistry of atoms.

    Parameters
    ----------
    path
        A file that `result.save` or the option `-o` wrote, `.npz` or `.json`.

    Returns
    -------
    Table
        An object of the class that was saved, with the same numbers.

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
    return load_table(Path(path))


def load_table(path: Path) -> Table:
    """Read a result; see `load`.

    Raises
    ------
    FileNotFoundError, FormatError
        As `load`.
    """
    arrays = _arrays_of(path)
    if "kind" not in arrays:
        names = ", ".join(sorted(arrays)) or "nothing"
        raise FormatError(
            f"{path}: an NPZ file without a result's class (of an older version of trajet, or of"
            f" another program): numpy.load reads its arrays ({names}); run the analysis again for"
            " a result"
        )
    if arrays["kind"].dtype.kind != "U":
        raise FormatError(f"{path}: the name of its class is no text: save the result again")
    kind = str(arrays.pop("kind"))[:_QUOTED]
    if kind in MODULES:
        importlib.import_module(MODULES[kind])
    # Files of tables outlive their classes.
    made = RESULTS.get(kind, Table if "axis0.kind" in arrays else None)
    if made is None:
        raise FormatError(
            f"{path}: a result of the class {kind}, which this version of trajet does not have: run"
            " the analysis again, import the module that defines the class, or read the arrays with"
            " numpy.load"
        )
    try:
        for name in ("report", *Table.REQUIRED):
            if name not in arrays:
                raise _without(kind, name, path)
        result = _table_of(made, arrays, _report_of(arrays.pop("report"), path))
        # Fields whose shapes do not fit together have no table.
        for one in (result, *result.parts.values()):
            _check_columns(one[:2] if one.axes else one)
    except FormatError:
        raise
    except _UNFIT as error:
        raise FormatError(
            f"{path}: a {kind} whose fields do not fit together ({type(error).__name__}: {error}):"
            " damaged, or of another version of trajet; save the result again"
        ) from error
    return result


def _arrays_of(path: Path) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a file."""
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            if file.read(1) == b"{":
                from trajet.result.as_json import arrays_of

                return arrays_of(b"{" + file.read(), path)
            raise FormatError(
                f"{path}: neither an NPZ nor a JSON file: give a file that result.save or"
                " -o wrote as .npz or .json; trajectories are opened by"
                " tj.open('top.psf', 'traj.xtc')"
            )
        file.seek(0)
        try:
            archive = parsed(zipfile.ZipFile, file)
            with archive:
                members = archive.infolist()
                _check_sizes(members, path)
                read = partial(parsed, partial(_array, archive))
                return {one.filename.removesuffix(".npy"): read(one) for one in members}
        except (ParseError, OSError) as error:
            # A place in front of the file, which a damaged one names.
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise
            raise FormatError(
                f"{path}: a damaged NPZ file: {error}; save the result again"
            ) from error


def _check_sizes(members: Sequence[zipfile.ZipInfo], path: Path) -> None:
    """Raise an error if the arrays take much more memory than the file has bytes, or there is.

    Raises
    ------
    FormatError
        If a small file would become large arrays; `Table.save` compresses nothing.
    MemoryError
        If there is no memory for them.
    """
    in_memory, on_disk = sum(one.file_size for one in members), path.stat().st_size
    if in_memory > _LEAST + _MAX_COMPRESSED * on_disk:
        raise FormatError(
            f"{path}: a file of {in_bytes(on_disk)} whose arrays would take {in_bytes(in_memory)}:"
            " result.save does not compress, so that another program wrote it; save the result"
            " again"
        )
    check_memory([("arrays", in_memory)], None, "run the analysis with fewer frames or atoms")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[np.generic]:
    """Return an array of an archive, whose header has the size of its numbers.

    Raises
    ------
    ValueError
        If it has not.
    """
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename!r} is compressed in another way than NPZ files are")
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
        if dtype.hasobject:
            raise ValueError(f"{member.filename!r} has Python objects, which need pickle")
        if stream.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError(
                f"{member.filename!r} has not as many bytes as its shape {shape} needs"
            )
    with archive.open(member) as stream:
        array: NDArray[np.generic] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _without(kind: str, name: str, path: Path) -> FormatError:
    return FormatError(
        f"{path}: a {kind} without its {name!r}: written by another version of trajet, or"
        " incomplete; numpy.load reads the other arrays"
    )


def _report_of(array: NDArray[np.generic], path: Path) -> Report:
    """Return the report of a file."""
    text = array.item()
    if not isinstance(text, bytes):
        raise TypeError(f"the report is no text but {_type_of(array)}")
    return Report.from_json(text.decode(), f"{path}: report")


def _type_of(array: NDArray[np.generic]) -> str:
    return f"an array of the type {array.dtype.name} and the shape {array.shape}"


def _check_columns(result: Table) -> None:
    """Raise an error if the table of a result has columns of different lengths.

    Raises
    ------
    ValueError
        If it has, or a column is no column.
    """
    shapes = {np.shape(column) for _, column in result._table()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"columns have the shapes {sorted(shapes)}")


def _table_of(
    kind: type[Table], arrays: Mapping[str, NDArray[np.generic]], report: Report
) -> Table:
    """Return the table of the arrays of a file.

    Raises
    ------
    KeyError, ValueError, TypeError
        If arrays are missing, or do not fit together.
    """
    for name, array in arrays.items():
        if array.dtype.kind not in {"values": kind.VALUES, **_TABLE_TYPES}.get(name, "biufU"):
            raise TypeError(f"{name} is of the type {array.dtype.name}")
    if arrays["selections"].ndim != 1 or arrays["selections"].dtype.kind != "U":
        raise TypeError("selections are no list of texts")
    axes, k = [], 0
    while own := _with_prefix(arrays, f"axis{k}."):
        axes.append(_axis_of(own))
        k += 1
    of_parts = _with_prefix(arrays, "part.")
    if any(".part." in name for name in of_parts):
        raise ValueError("a part of a table has parts")
    names = dict.fromkeys(key.partition(".")[0] for key in of_parts)
    own_fields = kind.own_fields()
    for name, default in own_fields.items():
        array = arrays[name]
        is_list = default == () and array.ndim == 1 and array.dtype.kind == "U"
        own_fields[name] = tuple(array.tolist()) if is_list else array.item()
        if type(own_fields[name]) is not type(default):
            raise TypeError(f"{name} is of the type {array.dtype.name}")
    # Whose types were checked.
    values = cast("NDArray[np.float64]", arrays["values"])
    standard_errors, half_widths = (
        cast("NDArray[np.float64] | None", arrays.get(name))
        for name in ("standard_errors", "half_widths")
    )
    found = kind(
        values=values,
        axes=tuple(axes),
        name=_text_of(arrays["name"]),
        units=_text_of(arrays["units"]),
        selections=tuple(arrays["selections"].astype(np.str_).tolist()),
        report=report,
        label=_text_of(arrays["label"]),
        standard_errors=standard_errors,
        half_widths=half_widths,
        resolved=cast("NDArray[np.bool_] | None", arrays.get("resolved")),
        also=_with_prefix(arrays, "also."),
        parts={
            name: _table_of(
                kind.CLASSES.get(name, Table), _with_prefix(of_parts, f"{name}."), report
            )
            for name in names
        },
        # Their types were checked.
        **cast("dict[str, str]", own_fields),
    )
    kinds = tuple(one.kind for one in axes)
    if (kind.AXES and kinds not in kind.AXES) or (
        {*kind.ALSO} - {*found.also} or {*kind.TABLES} - {*found.parts}
    ):
        raise ValueError(f"the axes are {', '.join(kinds)}, or further arrays are missing")
    return found


def _axis_of(arrays: Mapping[str, NDArray[np.generic]], depth: int = 0) -> Axis:
    """Return the axis of the arrays of a file, whose names have no prefix.

    `depth` is the number of axes that have it as the axis of their members.

    Raises
    ------
    ValueError, TypeError
        If columns have different lengths or more than one dimension, are missing, or of another
        type.
    """
    columns = {name: array for name, array in arrays.items() if not name.startswith("of.")}
    kind, edges = _text_of(columns.pop("kind")), columns.pop("edges", None)
    members = columns.pop("members", None)
    is_reference = bool(columns.pop("is_reference", np.array(False)).item())
    quantity, units = (_text_of(columns.pop(name, np.array(""))) for name in ("quantity", "units"))
    period = columns.pop("period", None)
    of = None
    of_kind = AXES.get(kind, Kind(kind))
    if of_kind.has_members and members is None:
        raise ValueError(f"an axis of {kind} has no members")
    if members is not None:
        # Pairs of molecules, which have residues.
        if depth > 1 or members.ndim != 2 or not members.shape[1] or members.dtype.kind not in "iu":
            raise TypeError("members of places are no numbers, or have members themselves")
        of = _axis_of(_with_prefix(arrays, "of."), depth + 1)
        # Labels are joined for each place.
        if (label := of.get("label")) is not None and members.size:
            check_memory([("labels", members.size * label.dtype.itemsize)], None, "save fewer")
        if members.size and not 0 <= members.min() <= members.max() < len(of):
            raise ValueError(f"members of places are none of {len(of)}")
    if (columns or of is None) and {column.ndim for column in columns.values()} != {1}:
        raise ValueError("an axis has columns of one dimension")
    for name, column in columns.items():
        if column.dtype.kind not in _COLUMN_TYPES.get(name, "biufU"):
            raise TypeError(f"{name} is of the type {column.dtype.name}")
    if missing := {*of_kind.required} - {*columns}:
        raise ValueError(f"an axis of {kind} has no {', '.join(sorted(missing))}")
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("columns of an axis have different lengths")
    made = Axis(
        kind,
        columns,
        None if edges is None else edges.astype(np.float64),
        of,
        None if members is None else members.astype(np.int64),
        is_reference,
        quantity,
        units,
        None if period is None else float(period),
    )
    if any(len(column) != len(made) for column in columns.values()):
        raise ValueError("columns of an axis have other lengths than its members")
    if made.edges is not None and made.edges.shape != (len(made) + 1,):
        raise ValueError(f"{len(made)} bins have edges of the shape {made.edges.shape}")
    return made


def _with_prefix(
    arrays: Mapping[str, NDArray[np.generic]], prefix: str
) -> dict[str, NDArray[np.generic]]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _text_of(array: NDArray[np.generic]) -> str:
    """Return the text of an array without a dimension.

    Raises
    ------
    TypeError
        If it is none.
    """
    value = array.item()
    if not isinstance(value, str):
        raise TypeError(f"a name is no text but of the type {array.dtype.name}")
    return value
