"""The access log of a data set, and statistics of it."""

import json
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trajet.parsing import parsed
from trajet.store.entry import Entry
from trajet.store.profile import Tier

# With fewer uses than this there is no advice on tiers.
_FEW = 5
# A tag that at least this part of all uses reads belongs on the fastest tier.
_OFTEN = 0.5


@dataclass(frozen=True)
class AccessEntry:
    """An entry of the access log: an analysis, or the reads of one open trajectory.

    Attributes
    ----------
    at
        Time, ISO 8601, UTC.
    what
        "rmsd", "read", ….
    tags
        Tags that were read.
    frames
        Number of frames read, summed over all passes.
    bytes
        Bytes read, by tag.
    """

    at: str
    what: str
    tags: tuple[str, ...]
    frames: int
    bytes: Mapping[str, int]


@dataclass(frozen=True)
class TagUse:
    """Statistics of a tag.

    Attributes
    ----------
    name, tier, size
        Name, tier, and bytes of the files.
    uses
        Number of uses that read the tag.
    read
        Bytes read.
    last
        Time of the last use, ISO 8601, UTC; None if the tag was never used.
    """

    name: str
    tier: str
    size: int
    uses: int
    read: int
    last: str | None


@dataclass(frozen=True)
class Statistics:
    """Statistics of a data set.

    Attributes
    ----------
    name
        Name of the data set.
    uses
        Number of uses.
    tags
        Statistics of each tag.
    read
        Bytes read.
    saved
        Bytes that were not read but would have been, had the uses read whole frames of the
        original.
    cost
        Bytes that dividing the original read and wrote.
    paid
        Time at which `saved` reached `cost`, ISO 8601, UTC; None if it has not yet.
    uses_to_pay
        Number of further average uses until `saved` reaches `cost`; None if it has, or if nothing
        was saved.
    advice
        Advice on moving tags to other tiers.
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
    """Return the statistics of a data set by its access log at `record`."""
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
    """Yield advice on tags whose tier does not match how often they are used."""
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


def recorded(path: Path) -> Iterator[AccessEntry]:
    """Yield the entries of an access log; invalid lines are skipped."""
    try:
        # Opening a named pipe would block.
        if not stat.S_ISREG(path.lstat().st_mode):
            return
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            entry = parsed(json.loads, line)
            yield AccessEntry(
                str(entry["at"]),
                str(entry["what"]),
                tuple(map(str, entry["tags"])),
                int(entry["frames"]),
                {str(tag): int(count) for tag, count in entry["bytes"].items()},
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
