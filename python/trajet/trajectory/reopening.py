"""Calls that opened a trajectory, by which pickle opens it again."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from trajet.dataset import DatasetPath
from trajet.formats import FormatOptions
from trajet.remote import StorageOptions


class DatasetOptions(TypedDict):
    """Further arguments of `trajet.open` for a data set."""

    request_size: int
    time_step: float | None


class FileOptions(DatasetOptions):
    """Further arguments of `trajet.open` for files."""

    continuous: bool
    allow_truncated_tail: bool
    sidecar: bool
    format_options: FormatOptions
    atoms: str | NDArray[np.integer] | None
    storage_options: StorageOptions | None
    allow_http: bool
    connections: int
    merge_gap: int | None


@dataclass(frozen=True)
class DatasetCall:
    """The call that opened a data set of a store."""

    dataset: DatasetPath
    options: DatasetOptions


@dataclass(frozen=True)
class OpenCall:
    """The call that opened files: `trajet.open(topology, *paths, **options)`.

    Attributes
    ----------
    topology
        Absolute path of the topology, or None.
    paths
        Absolute paths of the files.
    options
        Further arguments.
    """

    topology: Path | None
    paths: tuple[Path, ...]
    options: FileOptions
