"""`OpenCall`: how a trajectory was opened, which is what pickle keeps of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajet.dataset import DatasetPath


@dataclass(frozen=True)
class OpenCall:
    """The call that opened a trajectory: `trajet.open(topology, *paths, **options)`.

    Attributes
    ----------
    topology
        Absolute path of the topology, or None.
    paths
        Absolute paths of the files; empty for a data set.
    options
        Further arguments.
    dataset
        The data set of a store, or None.
    """

    topology: Path | None
    paths: tuple[Path, ...]
    options: dict[str, Any]
    dataset: DatasetPath | None = None
