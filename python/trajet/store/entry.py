"""What a store says of a data set, by its manifest."""

import errno
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajet._trajet import StoreError, file_digest
from trajet.store.profile import Tag, Tier


@dataclass(frozen=True)
class KeptTag:
    """A tag of a data set, and where it is.

    Attributes
    ----------
    tag
        As the profile said it.
    n_atoms
        Its atoms.
    size
        Bytes of its files.
    paths
        Its files, in the order of their frames.
    lost
        What frames of the original hold and this lossy tag does not: "velocities", "forces",
        "fourth" (a coordinate of CHARMM's DCD). Not known of stores of before.
    """

    tag: Tag
    n_atoms: int
    size: int
    paths: tuple[Path, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """What a store says of a data set.

    Attributes
    ----------
    name
        Its name.
    format
        Of the original: "XTC", "TRR", "DCD", "NCDF", "H5MD".
    n_frames, n_atoms
        Frames, and atoms of the original.
    source_sizes
        The files that were divided, in order, and how large they were.
    tags
        In the order of the profile.
    seconds
        How long dividing took.
    """

    name: str
    format: str
    n_frames: int
    n_atoms: int
    source_sizes: tuple[tuple[Path, int], ...]
    tags: tuple[KeptTag, ...]
    seconds: float

    @property
    def source_size(self) -> int:
        """Bytes that were divided."""
        return sum(size for _, size in self.source_sizes)

    @property
    def size(self) -> int:
        """Bytes of all tags."""
        return sum(kept.size for kept in self.tags)


@dataclass(frozen=True)
class Original:
    """State of a file that was divided.

    Attributes
    ----------
    path
        Where it was when it was divided.
    size
        Its bytes then.
    state
        "unchanged" (size and digest of head and tail are the same), "changed", "missing", or
        "unreadable: …" with the error of the operating system.
    """

    path: Path
    size: int
    state: str


@dataclass(frozen=True)
class Divided:
    """What came of dividing.

    Attributes
    ----------
    n_frames
        Frames that were added.
    remarks
        What one should know: what lossy tags have let go, … and the remarks on the trajectory,
        which every report on the data set repeats.
    """

    n_frames: int
    remarks: tuple[str, ...]


def entry_of(manifest: Mapping[str, Any], tiers: Mapping[str, Tier]) -> Entry:
    """Return what a manifest says, with its files on the tiers.

    Raises
    ------
    StoreError
        If one of these is unknown.
    """
    segments = [segment["files"] for segment in manifest["segments"]]
    named = {each["tier"] for each in [*manifest["tags"], *itertools.chain(*segments)]}
    if unknown := sorted(named - tiers.keys()):
        raise StoreError(
            f"{manifest['name']}: is on a tier {unknown[0]!r} that the store does not know: it has"
            f" {', '.join(tiers) or 'none'}; bring store.json back from a copy"
        )
    kept = []
    for place, told in enumerate(manifest["tags"]):
        files = [each[place] for each in segments]
        kept.append(
            KeptTag(
                Tag(**{key: value for key, value in told.items() if key != "atoms"}),
                sum(stop - start for start, stop in told["atoms"]),
                sum(file["size"] for file in files),
                tuple(tiers[file["tier"]].folder / file["path"] for file in files),
                tuple((manifest.get("lost") or {}).get(told["name"], ())),
            )
        )
    return Entry(
        name=manifest["name"],
        format=manifest["format"],
        n_frames=sum(segment["n_frames"] for segment in manifest["segments"]),
        n_atoms=manifest["n_atoms"],
        source_sizes=tuple((Path(told["path"]), told["size"]) for told in manifest["source"]),
        tags=tuple(kept),
        seconds=manifest["seconds"],
    )


def originals_of(manifest: Mapping[str, Any]) -> tuple[Original, ...]:
    """Return the files that were divided, each compared with its size and digest of then."""
    return tuple(
        Original(Path(told["path"]), told["size"], _state(told)) for told in manifest["source"]
    )


def _state(source: Mapping[str, Any]) -> str:
    """Return the state of a file that was divided; see `Original`."""
    path = Path(source["path"])
    try:
        if path.stat().st_size != source["size"]:
            return "changed"
        return "unchanged" if file_digest(path) == source["digest"] else "changed"
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return "missing"
        return f"unreadable: {os.strerror(error.errno) if error.errno else error}"
