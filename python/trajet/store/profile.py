"""Profiles: the tiers of a store, and the tags of atoms.

A profile is a TOML file. `default.toml` beside this module is the built-in profile and an example.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from trajet._trajet import MAX_TIERS, StoreError
from trajet.parsing import ParseError, parsed
from trajet.remote import is_url, shown

REST = "rest"
# Formats of tags; "exact" is the format of the original, without any loss.
EXACT = "exact"
HDF5 = "h5md"
FORMATS = (EXACT, "xtc", "dcd", "ncdf", HDF5)

# A table of TOML, whose values are checked.
_Table: TypeAlias = Mapping[str, object]
_BUILT_IN = "the built-in profile"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST_NAME = 100
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGTP]i?)?B")
_POWERS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_TIER_KEYS = ("folder", "limit")
_TAG_KEYS = ("name", "short", "select", "tier", "format", "lossy", "precision", "optional")
_TAG_NEEDS = ("name", "select", "tier")


@dataclass(frozen=True)
class Tier:
    """A storage tier, which holds files of tags.

    Attributes
    ----------
    name
        Name of the tier.
    folder
        Folder of the tier, absolute.
    limit
        Most bytes that the store may keep there; None for no limit.
    rank
        Rank by speed, from the order in the profile; 0 is the fastest.
    """

    name: str
    folder: Path
    limit: int | None = None
    rank: int = 0


@dataclass(frozen=True)
class Tag:
    """A group of atoms that is stored in files of its own.

    Attributes
    ----------
    name, short
        Name and short name, in commands and in paths.
    select
        Selection of its atoms in MDAnalysis' language; "rest" for the atoms of no other tag.
    tier
        Name of its tier.
    format
        "exact", the format of the original; or "xtc", "dcd", "ncdf", "h5md".
    lossy
        Whether fields that the format cannot hold may be left out.
    precision
        XTC: positions are rounded to multiples of 1/`precision` nm; None for the original's
        precision.
    optional
        Whether the tag is left out if it selects no atom; otherwise that is an error.
    """

    name: str
    short: str
    select: str
    tier: str
    format: str = EXACT
    lossy: bool = False
    precision: float | None = None
    optional: bool = False


@dataclass(frozen=True)
class Profile:
    """Tiers and tags of a data set.

    Attributes
    ----------
    tiers
        The tiers in the order of the profile, the fastest first.
    tags
        The tags in the order of the profile.
    where
        Name in messages: the file.
    built_in
        Whether it is the built-in profile, for which no note names tags that are left out.
    """

    tiers: tuple[Tier, ...]
    tags: tuple[Tag, ...]
    where: str
    built_in: bool = False

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Profile":
        """Read a profile. Its folders are relative to the file.

        Raises
        ------
        FileNotFoundError, IsADirectoryError, PermissionError
            If the operating system cannot read the file.
        StoreError
            If the file is not TOML, or not a valid profile.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise StoreError(f"{path}: not a profile: {error}; write it as TOML, UTF-8") from error
        return cls.parse(text, str(path), path.absolute().parent)

    @classmethod
    def parse(cls, text: str, where: str, folder: Path) -> "Profile":
        """Parse the text of a profile, with folders relative to `folder`.

        Raises
        ------
        StoreError
            If the text is not TOML, or not a valid profile.
        """
        try:
            tables = parsed(tomllib.loads, text)
        except ParseError as error:
            raise StoreError(f"{where}: not TOML: {error}") from error
        try:
            return _parsed(tables, where, folder)
        except RecursionError:
            raise StoreError(f"{where}: not a profile: its values are nested too deeply") from None

    @classmethod
    def default(cls, store: Path) -> "Profile":
        """Return the built-in profile, with its folders in the folder of the store."""
        profile = cls.parse(default_text(), _BUILT_IN, store.absolute())
        return cls(profile.tiers, profile.tags, _BUILT_IN, built_in=True)


def default_text() -> str:
    """Return the text of the built-in profile.

    Examples
    --------
    >>> from trajet.store.profile import default_text
    >>> default_text().count("[[tags]]")
    7
    """
    return resources.files("trajet.store").joinpath("default.toml").read_text(encoding="utf-8")


def _parsed(table: _Table, where: str, folder: Path) -> Profile:
    _check_keys(table, ("tiers", "tags"), where, "a profile")
    tiers = table.get("tiers", {})
    if not isinstance(tiers, dict) or not tiers:
        raise StoreError(f'{where}: names no tier: write [tiers] and under it fast = "folder"')
    if len(tiers) > MAX_TIERS:
        raise StoreError(f"{where}: has {len(tiers)} tiers: a store has at most {MAX_TIERS}")
    made = tuple(
        _tier(name, value, where, folder, rank) for rank, (name, value) in enumerate(tiers.items())
    )
    _check_unique(((tier.name, str(tier.folder)) for tier in made), "folder", where, "tier")
    tags = table.get("tags", [])
    if not isinstance(tags, list) or not tags or not all(isinstance(tag, dict) for tag in tags):
        raise StoreError(
            f"{where}: names no tag: write [[tags]] and under it name, select and tier"
        )
    divided = tuple(_tag(tag, number, tiers, where) for number, tag in enumerate(tags, start=1))
    _check_unique(((tag.name, tag.name) for tag in divided), "name", where, "tag")
    # Users name tags by either name.
    names = ((tag.name, name) for tag in divided for name in sorted({tag.name, tag.short}))
    _check_unique(names, "short", where, "tag")
    rest = [tag.name for tag in divided if tag.select == REST]
    if len(rest) > 1:
        raise StoreError(
            f"{where}: tags {rest[0]!r} and {rest[1]!r} both select the rest: give one of them a"
            " selection of atoms"
        )
    return Profile(made, divided, where)


def _tier(name: str, value: object, where: str, folder: Path, rank: int) -> Tier:
    what = f"{where}: tier {name!r}"
    _check_name(name, what)
    if isinstance(value, str):
        value = {"folder": value}
    if not isinstance(value, dict):
        raise StoreError(f'{what}: write {name} = "folder"')
    _check_keys(value, _TIER_KEYS, what, "a tier")
    at = value.get("folder")
    if not isinstance(at, str) or not at:
        raise StoreError(f'{what}: has no folder: write {name} = {{folder = "…"}}')
    limit = value.get("limit")
    if limit is not None:
        limit = _size(limit, what)
    if is_url(at):
        raise StoreError(
            f"{what}: {shown(at)} is no folder: name one of this machine, and publish the data set"
            " (trajet store publish)"
        )
    return Tier(name, Path(os.path.normpath(folder / Path(at).expanduser())), limit, rank)


def _size(value: object, what: str) -> int:
    """Return the number of bytes of a size: an integer, or a text with a unit."""
    size = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if isinstance(value, str) and (found := _SIZE.fullmatch(value.strip())):
        unit = found[2] or ""
        base = 1024 if unit.endswith("i") else 1000
        size = int(float(found[1]) * base ** _POWERS.get(unit[:1], 0))
    if not 0 < size < 2**63:
        raise StoreError(
            f'{what}: limit {value!r} is not a size: write "200 GB", "1.5 TiB" or a number of bytes'
        )
    return size


def _tag(table: _Table, number: int, tiers: Mapping[str, object], where: str) -> Tag:
    name = table.get("name")
    what = f"{where}: tag {name!r}" if isinstance(name, str) else f"{where}: tag number {number}"
    _check_keys(table, _TAG_KEYS, what, "a tag")
    for key in _TAG_NEEDS:
        if key not in table:
            raise StoreError(f"{what}: has no {key}: write one")
    texts: dict[str, str] = {}
    for key in ("name", "short", "select", "tier", "format"):
        value = table.get(key, "")
        if not isinstance(value, str):
            raise StoreError(f'{what}: {key} must be a text: write {key} = "…"')
        if key in table:
            texts[key] = value
    tag = Tag(
        name=texts["name"],
        short=texts.get("short", texts["name"]),
        select=" ".join(texts["select"].split()),
        tier=texts["tier"],
        format=texts.get("format", EXACT),
    )
    _check_name(tag.name, what)
    _check_name(tag.short, f"{what}: short")
    if not tag.select:
        raise StoreError(f'{what}: select is empty: write a selection, or "rest"')
    if tag.tier not in tiers:
        raise StoreError(f"{what}: there is no tier {tag.tier!r}: there are {', '.join(tiers)}")
    if tag.format not in FORMATS:
        raise StoreError(f"{what}: unknown format {tag.format!r}: choose {_either(FORMATS)}")
    tag = replace(tag, lossy=_flag(table, "lossy", what), optional=_flag(table, "optional", what))
    precision = table.get("precision")
    if precision is None:
        return tag
    return replace(tag, precision=_precision(precision, tag, what))


def _flag(table: _Table, key: str, what: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise StoreError(f"{what}: {key} must be true or false, not {value!r}")
    return value


def _precision(value: object, tag: Tag, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e7:
        raise StoreError(
            f"{what}: precision {value!r} is not above 0 and below 1e7: try 100, for 0.01 nm"
        )
    if tag.format != "xtc":
        raise StoreError(f'{what}: precision needs format = "xtc", not {tag.format!r}')
    if not tag.lossy:
        raise StoreError(f"{what}: precision may lose digits: write lossy = true to allow that")
    return value


def _check_name(name: str, what: str) -> None:
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise StoreError(
            f"{what}: invalid name {name!r}: use letters, digits and . _ -, at most"
            f" {_LONGEST_NAME}, and begin with a letter or a digit"
        )


def _check_keys(table: Mapping[str, object], known: tuple[str, ...], where: str, what: str) -> None:
    for key in table:
        if key not in known:
            raise StoreError(
                f"{where}: unknown key {key!r} of {what}: the keys are {', '.join(known)}"
            )


def _check_unique(named: Iterable[tuple[str, str]], key: str, where: str, what: str) -> None:
    """Raise an error if two tiers or tags have the same value."""
    seen: dict[str, str] = {}
    for name, value in named:
        if value in seen:
            both = "twice" if seen[value] == name else f"for {seen[value]!r} and {name!r}"
            raise StoreError(f"{where}: {what}s: {key} {value!r} occurs {both}: change one")
        seen[value] = name


def _either(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
