"""Calls that opened a trajectory, by which pickle opens it again."""

from dataclasses import dataclass
from pathlib import Path

from trajet.dataset import DatasetPath
from trajet.trajectory.options import OpenOptions


@dataclass(frozen=True)
class DatasetCall:
    """The call that opened a data set of a store."""

    dataset: DatasetPath
    options: OpenOptions


@dataclass(frozen=True)
class OpenCall:
    """The call that opened files.

    Attributes
    ----------
    topology
        Absolute path of the topology, or None.
    paths
        Absolute paths of the files.
    options
        Options of `trajet.open`, without secrets.
    """

    topology: Path | None
    paths: tuple[Path, ...]
    options: OpenOptions
