"""`OpenOptions`, how `trajet.open` reads files, and the calls by which pickle opens them again."""

import json
import math
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np

from trajet._trajet import DEFAULT_CONNECTIONS, DEFAULT_REQUEST_SIZE, check_format_options
from trajet.dataset import DatasetPath
from trajet.formats import FormatOptions
from trajet.quantities import hint_on_text
from trajet.remote import StorageOptions, is_object, without_secrets
from trajet.trajectory.atom_index import AtomChoice


@dataclass(frozen=True, kw_only=True)
class OpenOptions:
    """Options of `trajet.open`, which describes them; invalid values raise ValueError."""

    continuous: bool = False
    allow_truncated_tail: bool = False
    request_size: int = DEFAULT_REQUEST_SIZE
    sidecar: bool = True
    rebuild_index: bool = False
    threads: int | None = None
    format_options: FormatOptions | None = None
    atoms: AtomChoice | None = None
    time_step: float | None = None
    # It may hold secrets.
    storage_options: StorageOptions | None = field(default=None, repr=False)
    allow_http: bool = False
    connections: int = DEFAULT_CONNECTIONS
    merge_gap: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_step", _checked_time_step(self.time_step))
        if self.request_size < 1:
            raise ValueError(f"request_size must be at least 1 byte, not {self.request_size}")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, not {self.threads}")
        if self.connections < 1 or (self.merge_gap is not None and self.merge_gap < 0):
            raise ValueError("connections must be at least 1, and merge_gap at least 0 bytes")
        check_format_options(self.format_options_text)

    @property
    def format_options_text(self) -> str:
        """Options of formats as JSON, which the native module takes."""
        return json.dumps(self.format_options or {})

    def set_when_stored(self) -> list[str]:
        """Return the names of given options that a data set has from when it was added."""
        is_given = {
            "continuous": self.continuous,
            "allow_truncated_tail": self.allow_truncated_tail,
            "format_options": self.format_options,
            "atoms": self.atoms is not None,
        }
        return [name for name, given in is_given.items() if given]

    def for_names(self, names: Iterable[object]) -> Self:
        """Return the options without those of storage if no name is that of an object.

        For options that several trajectories share, some of which are files.
        """
        return self if any(map(is_object, names)) else replace(self, storage_options=None)

    def to_open_again(self) -> Self:
        """Return a copy of the options for other processes and machines, without secrets.

        An index that was built anew is valid there, and threads are those of the process.
        """
        atoms = self.atoms
        return replace(
            self,
            rebuild_index=False,
            threads=None,
            format_options=deepcopy(self.format_options),
            atoms=atoms if atoms is None or isinstance(atoms, str) else np.array(atoms),
            storage_options=without_secrets(self.storage_options),
        )


def _checked_time_step(time_step: object) -> float | None:
    """Return a time step, ps.

    Raises
    ------
    ValueError
        If it is not a finite number above 0.
    """
    if time_step is None:
        return None
    is_number = isinstance(time_step, (int, float, np.number)) and not isinstance(time_step, bool)
    if not is_number or not (math.isfinite(time_step) and time_step > 0):  # type: ignore[arg-type, operator]
        raise ValueError(
            f"time_step must be a time in ps above 0, not {time_step!r}"
            f"{hint_on_text(time_step, 'ps')}"
        )
    return float(time_step)  # type: ignore[arg-type]


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
