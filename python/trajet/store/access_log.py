"""What was used of a data set, by the record that readers leave, and what follows from it."""

import json
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trajet.store.entry import Entry
from trajet.store.profile import Tier

# Uses before which nothing is said of tiers.
_FEW = 5
# A tag that this part of all uses needs belongs on the fastest tier.
_OFTEN = 0.5


@dataclass(frozen=True)
class Use:
    """An analysis, or what was read of a trajectory while it was open.

    Attributes
    ----------
    at
        When, ISO 8601, UTC.
    what
        "rmsd", "read", ….
    tags
        Those that were touched.
    frames
        That were read, over all passes.
    bytes
        That were read, by tag.
    """

    at: str
    what: str
    tags: tuple[str, ...]
    frames: int
    bytes: Mapping[str, int]


@dataclass(frozen=True)
class TagUse:
    """How a tag was used.

    Attributes
    ----------
    name, tier, size
        The tag, where it is, and the bytes of its files.
    uses
        How often it was read.
    read
        Bytes that were read of it.
    last
        When that was the last time, ISO 8601, UTC; None where it never was.
    """

    name: str
    tier: str
    size: int
    uses: int
    read: int
    last: str | None


@dataclass(frozen=True)
class Statistics:
    """How a data set was used.

    Attributes
    ----------
    name
        Of the data set.
    uses
        How often it was read.
    tags
        The same of each tag.
    read
        Bytes that were read.
    saved
        Bytes that were not, but would have been of whole frames of the original.
    cost
        Bytes that dividing read and wrote.
    paid
        When `saved` came up to `cost`, ISO 8601, UTC; None where it has not.
    uses_to_pay
        How many more uses like those so far that takes; None where it has, or nothing was saved.
    advice
        Which tag should move to which tier, and why.
    """

    name: str
    uses: int
    tags: tuple[TagUse, ...]
    read: int
    saved: int
    cost: int
    paid: str | None
    uses_to_pay: int | None
    advice: tuple[str, ...]


def statistics(entry: Entry, tiers: Mapping[str, Tier], record: Path) -> Statistics:
    """Return what the record of a data set says."""
    uses = list(recorded(record))
    tags = []
    for kept in entry.tags:
        own = [use for use in uses if kept.tag.name in use.tags]
        tags.append(
            TagUse(
                kept.tag.name,
                kept.tag.tier,
                kept.size,
                len(own),
                sum(use.bytes.get(kept.tag.name, 0) for use in own),
                max((use.at for use in own), default=None),
            )
        )
    cost, saved, paid = entry.source_size + entry.size, 0, None
    for use in uses:
        whole = use.frames * entry.source_size // max(1, entry.n_frames)
        saved += max(0, whole - sum(use.bytes.values()))
        if paid is None and saved >= cost:
            paid = use.at
    to_pay = None
    if paid is None and saved:
        to_pay = -(-(cost - saved) * len(uses) // saved)
    return Statistics(
        name=entry.name,
        uses=len(uses),
        tags=tuple(tags),
        read=sum(sum(use.bytes.values()) for use in uses),
        saved=saved,
        cost=cost,
        paid=paid,
        uses_to_pay=to_pay,
        advice=tuple(_advice(tags, len(uses), tiers)),
    )


def _advice(tags: Sequence[TagUse], uses: int, tiers: Mapping[str, Tier]) -> Iterator[str]:
    """Say which tags lie on a tier that does not suit how often they are used."""
    if uses < _FEW or len(tiers) < 2:
        return
    ranked = sorted(tiers.values(), key=lambda tier: tier.rank)
    fastest, slowest = ranked[0], ranked[-1]
    for tag in tags:
        often = f"{tag.uses} of {uses} uses"
        rank = tiers[tag.tier].rank
        if tag.uses >= _OFTEN * uses and rank > fastest.rank:
            yield f"move {tag.name} to {fastest.name}: {often} read it, from {tag.tier}"
        if not tag.uses and rank < slowest.rank:
            yield (
                f"move {tag.name} to {slowest.name}: {often} read it, and it takes {tag.size} bytes"
                f" of {tag.tier}"
            )


def recorded(path: Path) -> Iterator[Use]:
    """Yield the uses that were written down; a line that is none is left out."""
    try:
        # A named pipe would be waited for.
        if not stat.S_ISREG(path.lstat().st_mode):
            return
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            told = json.loads(line)
            yield Use(
                str(told["at"]),
                str(told["what"]),
                tuple(map(str, told["tags"])),
                int(told["frames"]),
                {str(tag): int(count) for tag, count in told["bytes"].items()},
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
