"""Profiles: which tiers there are, and which atoms get which tag.

A profile is a TOML file; `default.toml` beside this is the one that is built in, and an example.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from trajet._trajet import StoreError

REST = "rest"
# What files of a tag may be; "exact" is the format of the original, without any loss.
EXACT = "exact"
HDF5 = "h5md"
FORMATS = (EXACT, "xtc", "dcd", "ncdf", HDF5)
# More are not counted apart in reports.
MOST_TIERS = 8

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
    """A place where files of tags are kept.

    Attributes
    ----------
    name
        What tags call it.
    folder
        Absolute.
    limit
        Most bytes that the store may keep there; None for no limit.
    rank
        Its place in the profile that named it: 0 is the fastest.
    """

    name: str
    folder: Path
    limit: int | None = None
    rank: int = 0


@dataclass(frozen=True)
class Tag:
    """A group of atoms that is kept together.

    Attributes
    ----------
    name, short
        What it is called, in commands and in paths.
    select
        Its atoms in MDAnalysis' language; "rest" for those that no other tag has.
    tier
        Where it is kept.
    format
        "exact", the format of the original; or "xtc", "dcd", "ncdf", "h5md".
    lossy
        Whether it may lose what the format cannot hold.
    precision
        XTC: steps per nm; None for the original's.
    optional
        Whether the tag is left out where it selects no atom; otherwise that is an error.
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
    """Tiers, and the tags that atoms get.

    Attributes
    ----------
    tiers
        The fastest first, in the order of the profile.
    tags
        In the order of the profile.
    where
        What messages call it: the file.
    built_in
        Whether it is the one that is built in: no remark names the tags that it leaves out.
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
            As the operating system says.
        StoreError
            If it is no TOML, or says something that cannot be.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise StoreError(f"{path}: is no profile: {error}; write it as TOML, UTF-8") from error
        return cls.parse(text, str(path), path.absolute().parent)

    @classmethod
    def parse(cls, text: str, where: str, folder: Path) -> "Profile":
        """Return the profile that a text is, with folders relative to `folder`.

        Raises
        ------
        StoreError
            If it is no TOML, or says something that cannot be.
        """
        try:
            return _parsed(tomllib.loads(text), where, folder)
        except tomllib.TOMLDecodeError as error:
            raise StoreError(f"{where}: is no TOML: {error}") from error
        except RecursionError:
            raise StoreError(f"{where}: is no profile: its values are nested too deeply") from None

    @classmethod
    def default(cls, store: Path) -> "Profile":
        """Return the profile that is built in, with its folders in the store's."""
        told = cls.parse(default_text(), _BUILT_IN, store.absolute())
        return cls(told.tiers, told.tags, _BUILT_IN, built_in=True)


def default_text() -> str:
    """Return the profile that is built in, as its file says it.

    Examples
    --------
    >>> from trajet.store.profile import default_text
    >>> default_text().count("[[tags]]")
    7
    """
    return resources.files("trajet.store").joinpath("default.toml").read_text(encoding="utf-8")


def _parsed(told: Mapping[str, Any], where: str, folder: Path) -> Profile:
    _known_keys(told, ("tiers", "tags"), where, "a profile")
    tiers = told.get("tiers", {})
    if not isinstance(tiers, dict) or not tiers:
        raise StoreError(f'{where}: names no tier: write [tiers] and under it fast = "folder"')
    if len(tiers) > MOST_TIERS:
        raise StoreError(f"{where}: has {len(tiers)} tiers: a store has at most {MOST_TIERS}")
    made = tuple(
        _tier(name, value, where, folder, rank) for rank, (name, value) in enumerate(tiers.items())
    )
    _apart(((tier.name, str(tier.folder)) for tier in made), "folder", where, "tier")
    tags = told.get("tags", [])
    if not isinstance(tags, list) or not tags or not all(isinstance(tag, dict) for tag in tags):
        raise StoreError(
            f"{where}: names no tag: write [[tags]] and under it name, select and tier"
        )
    divided = tuple(_tag(tag, number, tiers, where) for number, tag in enumerate(tags, start=1))
    _apart(((tag.name, tag.name) for tag in divided), "name", where, "tag")
    # Tags are asked for by either.
    called = ((tag.name, name) for tag in divided for name in sorted({tag.name, tag.short}))
    _apart(called, "short", where, "tag")
    rest = [tag.name for tag in divided if tag.select == REST]
    if len(rest) > 1:
        raise StoreError(
            f"{where}: tags {rest[0]!r} and {rest[1]!r} both select the rest: one of them must say"
            " which atoms it has"
        )
    return Profile(made, divided, where)


def _tier(name: str, value: Any, where: str, folder: Path, rank: int) -> Tier:
    what = f"{where}: tier {name!r}"
    _check_name(name, what)
    if isinstance(value, str):
        value = {"folder": value}
    if not isinstance(value, dict):
        raise StoreError(f'{what}: write {name} = "folder"')
    _known_keys(value, _TIER_KEYS, what, "a tier")
    at = value.get("folder")
    if not isinstance(at, str) or not at:
        raise StoreError(f'{what}: has no folder: write {name} = {{folder = "…"}}')
    limit = value.get("limit")
    if limit is not None:
        limit = _size(limit, what)
    return Tier(name, Path(os.path.normpath(folder / Path(at).expanduser())), limit, rank)


def _size(value: Any, what: str) -> int:
    """Return a number of bytes that is written as one, or with a unit."""
    size = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if isinstance(value, str) and (found := _SIZE.fullmatch(value.strip())):
        unit = found[2] or ""
        base = 1024 if unit.endswith("i") else 1000
        size = int(float(found[1]) * base ** _POWERS.get(unit[:1], 0))
    if not 0 < size < 2**63:
        raise StoreError(f'{what}: limit {value!r} is no size: write "200 GB", "1.5 TiB" or bytes')
    return size


def _tag(told: Mapping[str, Any], number: int, tiers: Mapping[str, Any], where: str) -> Tag:
    name = told.get("name")
    what = f"{where}: tag {name!r}" if isinstance(name, str) else f"{where}: tag number {number}"
    _known_keys(told, _TAG_KEYS, what, "a tag")
    for key in _TAG_NEEDS:
        if key not in told:
            raise StoreError(f"{what}: has no {key}: write one")
    for key in ("name", "short", "select", "tier", "format"):
        if key in told and not isinstance(told[key], str):
            raise StoreError(f'{what}: {key} must be a text: write {key} = "…"')
    tag = Tag(
        name=told["name"],
        short=told.get("short", told["name"]),
        select=" ".join(told["select"].split()),
        tier=told["tier"],
        format=told.get("format", EXACT),
        lossy=told.get("lossy", False),
        precision=told.get("precision"),
        optional=told.get("optional", False),
    )
    _check_name(tag.name, what)
    _check_name(tag.short, f"{what}: short")
    if not tag.select:
        raise StoreError(f'{what}: select is empty: name atoms, or "rest"')
    if tag.tier not in tiers:
        raise StoreError(f"{what}: there is no tier {tag.tier!r}: there are {', '.join(tiers)}")
    if tag.format not in FORMATS:
        raise StoreError(f"{what}: {tag.format!r} is no format: choose {_either(FORMATS)}")
    for key, value in (("lossy", tag.lossy), ("optional", tag.optional)):
        if not isinstance(value, bool):
            raise StoreError(f"{what}: {key} is true or false, not {value!r}")
    if tag.precision is not None:
        _check_precision(tag, what)
    return tag


def _check_precision(tag: Tag, what: str) -> None:
    precision = tag.precision
    number = isinstance(precision, (int, float)) and not isinstance(precision, bool)
    if not number or not 0 < float(precision or 0) < 1e7:
        raise StoreError(f"{what}: precision {precision!r} is no number of steps per nm: try 100")
    if tag.format != "xtc":
        raise StoreError(f'{what}: precision goes with format = "xtc", not {tag.format!r}')
    if not tag.lossy:
        raise StoreError(
            f"{what}: a precision of its own may lose digits: write lossy = true to allow that"
        )


def _check_name(name: str, what: str) -> None:
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise StoreError(
            f"{what}: {name!r} is no name: use letters, digits and . _ -, at most {_LONGEST_NAME},"
            " and begin with a letter or a digit"
        )


def _known_keys(told: Mapping[str, Any], known: tuple[str, ...], where: str, what: str) -> None:
    for key in told:
        if key not in known:
            raise StoreError(f"{where}: {key!r} is nothing that {what} has: {', '.join(known)}")


def _apart(named: Any, key: str, where: str, what: str) -> None:
    """Make sure that no two have the same value."""
    seen: dict[str, str] = {}
    for name, value in named:
        if value in seen:
            both = "twice" if seen[value] == name else f"for {seen[value]!r} and {name!r}"
            raise StoreError(f"{where}: {what}s: {key} {value!r} stands there {both}: change one")
        seen[value] = name


def _either(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
