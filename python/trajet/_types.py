"""Types of records that the native module writes, made by `packaging/record_types.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypeAlias, TypedDict

# A value that JSON has.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


class File(TypedDict):
    """A file on a tier."""

    # Files beside it: its structure, its atom numbers
    companion_files: list[StoredFile]
    # For an HDF5 file its layout, beside the manifest
    layout_file: NotRequired[StoredFile]
    # Path relative to the tier's folder
    path: str
    # Size in bytes
    size: int
    # Name of the tier
    tier: str


class MovedLink(TypedDict):
    """A link at the former path of a moved file."""

    # The file that was there
    file: File
    # Index of the segment
    segment: int
    # Name of the tag
    tag: str


class Segment(TypedDict):
    """Frames that were added together."""

    # One file per tag, in their order
    files: list[File]
    # Per-frame data other than atoms
    frame_metadata: StoredFile
    # The frame table: times, sizes and digests
    frames: StoredFile
    # Number of frames
    n_frames: int
    # Digests of the original frames, if any tag is lossy
    original_digests: NotRequired[StoredFile]


class Source(TypedDict):
    """A source file."""

    # XXH3 of size, head and tail
    digest: str
    # Messages on the file that readers of a full copy derive again by themselves
    messages: NotRequired[list[str]]
    # Number of frames that were added from it
    n_frames: int
    # A file beside the manifest with its contents other than frames (H5MD)
    other_contents: NotRequired[StoredFile]
    # Absolute path
    path: str
    # Size in bytes
    size: int
    # XXH3 of the sizes of these frames; `None` if a library that tells no sizes reads them
    sizes: str | None


class StoredFile(TypedDict):
    """A file beside the manifest."""

    # XXH3 of its bytes, hexadecimal
    digest: str
    # Its name
    file: str
    # Size in bytes
    size: int


class Tag(TypedDict):
    """A group of atoms."""

    # Atom indices in the original, ascending
    atoms: list[list[int]]
    # "exact", "xtc", "dcd", "ncdf" or "h5md"
    format: str
    # Whether fields that the format cannot hold may be omitted
    lossy: bool
    # Its name
    name: str
    # For XTC: steps per nm, if the profile sets a precision other than the original's
    precision: float | None
    # The selection that defines it
    select: str
    # Short name, for paths
    short_name: str
    # The tier for new frames
    tier: str


class Manifest(TypedDict):
    """Description of a data set: `manifest.json`."""

    # Version of the encoders by which the sizes in the whole trajectory were measured
    encoder: int
    # Whether frames follow one another in equal steps of time, as DCD requires
    even_times: bool
    # Format of the original
    format: str
    # Messages on the frames and their source that every later report repeats
    messages: NotRequired[list[str]]
    # Links at the former paths of moved files
    moved_links: list[MovedLink]
    # Number of atoms of the original
    n_atoms: int
    # The data set's name
    name: str
    # Fields of the original that lossy tags omit, by tag; tags that omit none are left out
    omitted_fields: dict[str, list[str]]
    # Version of the schema
    schema: int
    # Total time spent on partitioning, s
    seconds: float
    # Frames in the order in which they were added
    segments: list[Segment]
    # The source files, in order
    source: list[Source]
    # Groups of atoms, which together cover every atom exactly once
    tags: list[Tag]
    # The topology of the original
    topology: StoredFile
