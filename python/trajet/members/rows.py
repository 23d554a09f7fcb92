"""Rows that describe the members of an ensemble: of tables, dictionaries and patterns."""

import glob
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeAlias

import numpy as np

from trajet.natural_order import natural
from trajet.parsing import ParseError, parsed
from trajet.remote import is_url

# A value that tells members apart.
Key: TypeAlias = str | int | float
# Lists the URLs of objects that match a pattern.
Listing: TypeAlias = Callable[[str], list[str]]
# Columns of a table that are no keys.
FILES = ("topology", "trajectory")

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
# Pieces of a pattern: a placeholder, or wildcards as in shells.
_PIECE = re.compile(r"\{(\w+)\}|(\*\*/?)|(\*)|(\?)|(\[[^\]]+\])")


@dataclass(frozen=True)
class Row:
    """The files of a member, and its keys.

    Attributes
    ----------
    keys
        Values by the names of the columns.
    topology
        Path of the topology, or of a data set of a store; None if there is none.
    trajectories
        Paths of the trajectory's files, in the order of their frames.
    """

    keys: dict[str, Key]
    topology: str | None
    trajectories: tuple[str, ...]


def rows_of_table(path: Path) -> list[dict[str, object]]:
    """Return the rows of a CSV file; paths are relative to its folder.

    Raises
    ------
    ValueError
        If it has no column `trajectory` or `topology`, two columns have one name, or a row has
        another number of values than the header.
    """
    # Imported late, so that commands of one trajectory start fast.
    import csv

    def read(file: TextIO) -> tuple[list[str], list[dict[str, object]]]:
        reader = csv.DictReader(file, skipinitialspace=True, strict=True)
        names = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = names
        return names, [dict(row) for row in reader]

    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            names, rows = parsed(read, file)
        except ParseError as error:
            raise ValueError(f"{path}: not a CSV table: {error}") from error
    if not set(FILES) & set(names):
        raise ValueError(
            f"{path}: its columns are {', '.join(names) or 'none'}: name the files of each member"
            " in the columns topology and trajectory"
        )
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise ValueError(f"{path}: two columns are named {twice[0]!r}: leave one out")
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ValueError(f"{path}: line {number} has another number of values than the header")
    folder = path.absolute().parent
    return [{**row, **_within(folder, row)} for row in rows]


def _within(folder: Path, row: Mapping[str, object]) -> dict[str, object]:
    """Return the paths of a row, relative to a folder; empty ones are left empty."""
    paths = {name: str(row[name] or "").strip() for name in FILES if name in row}
    return {
        name: os.path.join(folder, path) if path and not is_url(path) else path
        for name, path in paths.items()
    }


def expanded(
    given: Iterable[Mapping[str, object]], topology: str | None, objects_of: Listing
) -> list[Row]:
    """Return the members of rows whose paths may have placeholders and wildcards.

    Parameters
    ----------
    given
        Rows: `trajectory` and `topology`, and any keys.
    topology
        The topology of rows without one.
    objects_of
        Lists the URLs of objects that match a pattern.

    Raises
    ------
    FileNotFoundError
        If no file matches a pattern.
    ValueError
        If there are no members, two have the same keys, or a row names no file.
    TypeError
        If a path or a key is of another type.
    """
    rows: list[Row] = []
    for number, entry in enumerate(given):
        rows.extend(_members_of(entry, topology, objects_of, f"member {number}"))
    if not rows:
        raise ValueError("an ensemble has at least one member: the list of members is empty")
    names = list(dict.fromkeys(name for row in rows for name in row.keys))
    for row in rows:
        if missing := [name for name in names if name not in row.keys]:
            raise ValueError(
                f"{_files(row)}: has no {missing[0]}, which other members have: give each member"
                " the same keys"
            )
    return _distinct([Row(keys, *files) for keys, files in _typed(rows, names)])


def _members_of(
    row: Mapping[str, object], topology: str | None, objects_of: Listing, where: str
) -> Iterator[Row]:
    """Yield the members of a row: one, or one for each set of values of its placeholders."""
    keys = {str(name).strip(): value for name, value in row.items() if name not in FILES}
    own: dict[str, Key]
    own = {name: _key(value, f"{where}: {name}") for name, value in keys.items()}
    structure = _paths(row.get("topology"), f"{where}: topology") or (
        [] if topology is None else [topology]
    )
    if len(structure) > 1:
        raise ValueError(f"{where}: a member has one topology, not {len(structure)}")
    trajectories = _paths(row.get("trajectory"), f"{where}: trajectory")
    if not structure and not trajectories:
        raise ValueError(f"{where}: names no file: give its topology and its trajectory")
    known = {name: str(value) for name, value in own.items()}
    patterns = [_filled(path, known) for path in trajectories or structure]
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for pattern in patterns:
        for values, path in _matches(pattern, objects_of):
            found.setdefault(tuple(values.items()), []).append(path)
    for pairs, paths in found.items():
        further: dict[str, Key] = dict(pairs)
        if not trajectories:
            yield Row(own | further, paths[0], ())
            continue
        named = _filled_whole(structure[0], known | dict(pairs)) if structure else None
        yield Row(own | further, named, tuple(paths))


def _key(value: object, where: str) -> Key:
    """Return the value of a key as Python has it.

    Raises
    ------
    TypeError
        If it is neither a text nor a number.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{where} is a text or a number, not {type(value).__name__}")
    return value


def _paths(value: object, where: str) -> list[str]:
    """Return the paths that a row names: none, one or several."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return []
    if isinstance(value, (str, os.PathLike)):
        return [os.fspath(value)]
    if isinstance(value, Sequence) and all(isinstance(one, (str, os.PathLike)) for one in value):
        return [os.fspath(one) for one in value]
    raise TypeError(f"{where} is a path or a list of paths, not {type(value).__name__}")


def _filled(path: str, keys: Mapping[str, str]) -> str:
    """Return a path with the values of known placeholders; others stay."""
    return _PLACEHOLDER.sub(lambda found: keys.get(found[1], found[0]), path)


def _filled_whole(path: str, keys: Mapping[str, str]) -> str:
    """Return a path without placeholders.

    Raises
    ------
    ValueError
        If the value of one is not known.
    """
    filled = _filled(path, keys)
    if (left := _PLACEHOLDER.search(filled)) is not None:
        known = ", ".join(keys) or "none"
        raise ValueError(f"{path}: {left[0]} is no key of the members, whose keys are {known}")
    return filled


def _matches(pattern: str, objects_of: Listing) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the paths that match a pattern, in natural order, with the values of placeholders.

    A path without placeholders and wildcards need not exist. Those of a URL without placeholders
    are looked up when it is opened.

    Raises
    ------
    FileNotFoundError
        If no file matches.
    """
    has_placeholders = _PLACEHOLDER.search(pattern) is not None
    if is_url(pattern) and not has_placeholders:
        yield {}, pattern
        return
    if not has_placeholders and (not re.search(r"[*?\[]", pattern) or os.path.lexists(pattern)):
        yield {}, pattern
        return
    matching = re.compile(_regex(pattern))
    wide = _PLACEHOLDER.sub("*", pattern)
    paths = objects_of(wide) if is_url(wide) else glob.glob(wide, recursive=True)
    found = [(match, path) for path in paths if (match := matching.fullmatch(path)) is not None]
    if not found:
        raise FileNotFoundError(f"{pattern}: no file matches this pattern")
    longest = re.compile(_regex(pattern, text="[^/]+"))
    for match, path in sorted(found, key=lambda one: natural(one[1])):
        keys, other = match.groupdict(), longest.fullmatch(path)
        if other is not None and other.groupdict() != keys:
            raise ValueError(
                f"{path}: matches {pattern} in several ways ({keys}, or {other.groupdict()}): put"
                " a separator between placeholders that no name contains, or give a table"
            )
        yield keys, path


def _regex(pattern: str, *, text: str = "[^/]+?") -> str:
    """Return the regular expression of a pattern with placeholders and wildcards.

    `text` matches the text of a placeholder, the shortest or the longest.
    """
    made, at, seen = "", 0, set[str]()
    for piece in _PIECE.finditer(pattern):
        made += re.escape(pattern[at : piece.start()])
        at = piece.end()
        name, anywhere, any_text, any_one, some = piece.groups()
        if name is not None:
            made += f"(?P={name})" if name in seen else f"(?P<{name}>{text})"
            seen.add(name)
        elif anywhere is not None:
            made += "(?:.*/)?" if anywhere.endswith("/") else ".*"
        elif some is not None:
            made += some.replace("[!", "[^")
        else:
            made += "[^/]*" if any_text is not None else "[^/]" if any_one is not None else ""
    return made + re.escape(pattern[at:])


def _typed(
    rows: Sequence[Row], names: Sequence[str]
) -> Iterator[tuple[dict[str, Key], tuple[str | None, tuple[str, ...]]]]:
    """Yield keys and files of the rows; a key whose texts are all numbers has numbers.

    Raises
    ------
    ValueError
        If some texts of a key are empty, and all others are numbers.
    """
    columns: dict[str, list[Key]] = {}
    for name in names:
        column = [row.keys[name] for row in rows]
        columns[name] = column
        if not all(isinstance(value, str) for value in column):
            continue
        columns[name] = _numbers([str(value) for value in column]) or column
        stated = [str(value) for value in column if value != ""]
        if len(stated) < len(column) and stated and _numbers(stated) is not None:
            raise ValueError(
                f"{_files(rows[column.index('')])}: its {name} is empty, and those of other members"
                " are numbers: give one"
            )
    for k, row in enumerate(rows):
        yield {name: columns[name][k] for name in names}, (row.topology, row.trajectories)


def _numbers(texts: list[str]) -> list[Key] | None:
    """Return texts as numbers; None if two of them would be equal, or one would look like another.

    "01" stays a text, and so do "1.1" and "1.10", of mutants or versions.
    """
    if all(re.fullmatch(r"0|-?[1-9][0-9]*", text) for text in texts):
        return [int(text) for text in texts]
    if not all(re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", text) for text in texts):
        return None
    # More digits than a float holds would be shown as others.
    if any(len(re.sub(r"\D", "", text).lstrip("0")) > sys.float_info.dig for text in texts):
        return None
    digits = {len(text.partition(".")[2]) for text in texts}
    # "0.0" beside "0.05" is a number.
    ends_in_zero = any(re.search(r"\.\d+0$", text) for text in texts)
    numbers: list[Key] = [float(text) for text in texts]
    if (ends_in_zero and len(digits) > 1) or len(set(numbers)) != len(set(texts)):
        return None
    return numbers


def _distinct(rows: list[Row]) -> list[Row]:
    """Return rows whose keys differ: without a column `replica`, equal ones are numbered.

    Raises
    ------
    ValueError
        If two members have the same keys, and their replicas are named.
    """
    numbers: dict[tuple[Key, ...], int] = {}
    counted = []
    for row in rows:
        own = tuple(row.keys.values())
        numbers[own] = numbers.get(own, 0) + 1
        counted.append(numbers[own])
    if max(numbers.values()) == 1:
        return rows
    if "replica" in rows[0].keys:
        number = next(k for k, n in enumerate(counted) if n > 1)
        same = ", ".join(f"{name}={value}" for name, value in rows[number].keys.items())
        raise ValueError(
            f"two members have the same keys ({same}): {_files(rows[number])} is the second; give"
            " another replica, or another key that tells them apart"
        )
    return [
        Row({**row.keys, "replica": number}, row.topology, row.trajectories)
        for row, number in zip(rows, counted, strict=True)
    ]


def _files(row: Row) -> str:
    return row.trajectories[0] if row.trajectories else str(row.topology)
