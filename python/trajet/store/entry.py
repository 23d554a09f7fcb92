"""Descriptions of data sets, made from their manifests."""

import errno
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trajet._trajet import StoreError, file_digest
from trajet._types import Manifest, Source
from trajet.messages import Message, Messages
from trajet.store.profile import Tag, Tier


@dataclass(frozen=True)
class Published:
    """Outcome of publishing a data set.

    Attributes
    ----------
    url
        Where it is, without secrets.
    n_files
        Number of objects that were written.
    size
        Bytes of these.
    """

    url: str
    n_files: int
    size: int


@dataclass(frozen=True)
class TagEntry:
    """A tag of a data set with its files.

    Attributes
    ----------
    tag
        The tag as in the profile.
    n_atoms
        Number of its atoms.
    size
        Bytes of its files.
    paths
        Its files, in the order of their frames.
    omitted_fields
        Fields of the original's frames that this lossy tag omits: "velocities", "forces", "fourth"
        (a coordinate of CHARMM's DCD).
    """

    tag: Tag
    n_atoms: int
    size: int
    paths: tuple[Path, ...]
    omitted_fields: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """Description of a data set.

    Attributes
    ----------
    name
        Name of the data set.
    format
        Format of the original: "XTC", "TRR", "DCD", "NCDF", "H5MD".
    n_frames, n_atoms
        Number of frames, and of atoms of the original.
    source_sizes
        Path and size of each original file, in order.
    tags
        The tags, in the order of the profile.
    seconds
        Time that dividing took.
    """

    name: str
    format: str
    n_frames: int
    n_atoms: int
    source_sizes: tuple[tuple[Path, int], ...]
    tags: tuple[TagEntry, ...]
    seconds: float

    @property
    def source_size(self) -> int:
        """Bytes of the original files."""
        return sum(size for _, size in self.source_sizes)

    @property
    def size(self) -> int:
        """Bytes of all tags."""
        return sum(kept.size for kept in self.tags)


@dataclass(frozen=True)
class Original:
    """State of an original file.

    Attributes
    ----------
    path
        Path of the file when it was added.
    size
        Its size when it was added.
    state
        "unchanged" (size and digest of head and tail are the same), "changed", "missing", or
        "unreadable: …" with the error of the operating system.
    """

    path: Path
    size: int
    state: str


@dataclass(frozen=True)
class Divided(Messages):
    """Outcome of `add`, `append` or `retag`.

    Attributes
    ----------
    n_frames
        Number of frames that were added.
    messages
        Messages, such as fields that lossy tags lack, and those on the trajectory, which every
        report on the data set repeats.
    """

    n_frames: int
    messages: tuple[Message, ...]


def entry_of(manifest: Manifest, tiers: Mapping[str, Tier]) -> Entry:
    """Return the description of a data set by its manifest and the tiers of the store.

    Raises
    ------
    StoreError
        If the manifest names an unknown tier.
    """
    segments = [segment["files"] for segment in manifest["segments"]]
    named = {each["tier"] for each in [*manifest["tags"], *itertools.chain(*segments)]}
    if unknown := sorted(named - tiers.keys()):
        raise StoreError(
            f"{manifest['name']}: is on a tier {unknown[0]!r} that the store does not know: it has"
            f" {', '.join(tiers) or 'none'}; restore store.json from a copy"
        )
    kept = []
    for index, tag in enumerate(manifest["tags"]):
        files = [each[index] for each in segments]
        kept.append(
            TagEntry(
                Tag(
                    name=tag["name"],
                    short=tag["short_name"],
                    select=tag["select"],
                    tier=tag["tier"],
                    format=tag["format"],
                    lossy=tag["lossy"],
                    precision=tag["precision"],
                ),
                sum(stop - start for start, stop in tag["atoms"]),
                sum(file["size"] for file in files),
                tuple(tiers[file["tier"]].folder / file["path"] for file in files),
                tuple(manifest["omitted_fields"].get(tag["name"], ())),
            )
        )
    return Entry(
        name=manifest["name"],
        format=manifest["format"],
        n_frames=sum(segment["n_frames"] for segment in manifest["segments"]),
        n_atoms=manifest["n_atoms"],
        source_sizes=tuple((Path(file["path"]), file["size"]) for file in manifest["source"]),
        tags=tuple(kept),
        seconds=manifest["seconds"],
    )


def originals_of(manifest: Manifest) -> tuple[Original, ...]:
    """Return the original files, each compared with its recorded size and digest."""
    return tuple(
        Original(Path(file["path"]), file["size"], _state(file)) for file in manifest["source"]
    )


def _state(source: Source) -> str:
    """Return the state of an original file; see `Original`."""
    path = Path(source["path"])
    try:
        if path.stat().st_size != source["size"]:
            return "changed"
        return "unchanged" if file_digest(path) == source["digest"] else "changed"
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return "missing"
        return f"unreadable: {os.strerror(error.errno) if error.errno else error}"
