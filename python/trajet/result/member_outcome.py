"""`MemberOutcome`: the result of one member of an ensemble, or why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet.labels import ResiduePlace
from trajet.result.result import Result

_R_co = TypeVar("_R_co", bound=Result, covariant=True)

# A value that tells members apart.
Key: TypeAlias = str | int | float


@dataclass(frozen=True)
class MemberOutcome(Generic[_R_co]):
    """The result of one member, or why there is none.

    Attributes
    ----------
    keys
        The keys of the member.
    result
        The result; None if the member failed.
    error
        The exception of a member that failed.
    start
        `(n, 3)`, float32, Å: positions of some atoms in the first frame, by which replicas that
        started from one place are found; None if they were not read.
    is_reused
        Whether the result was computed by an earlier run.
    residues
        Labels of the residues in the names of the result's rows, and where each residue is; see
        `trajet.result.common_names`.
    chains
        Names of the chains of the topology in their order; none without a topology.
    renamed
        Labels of residues that have other names in another member, and those that they have there.
    chains_of
        Names of all chains and those of the first member, in which no chain has its name here.
    """

    keys: Mapping[str, Key]
    result: _R_co | None = None
    error: Exception | None = None
    start: NDArray[np.float32] | None = field(default=None, repr=False)
    is_reused: bool = False
    residues: Mapping[str, ResiduePlace] = field(default_factory=dict, repr=False)
    chains: tuple[str, ...] = field(default=(), repr=False)
    renamed: Mapping[str, str] = field(default_factory=dict, repr=False)
    chains_of: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def label(self) -> str:
        """The keys as text: "system=wt, replica=1"."""
        return ", ".join(f"{name}={value}" for name, value in self.keys.items())


def key_columns(keys: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the names of the columns of keys, which differ from those of other columns."""
    names: list[str] = []
    for key in keys:
        name = key
        while name in others or name in names or (name != key and name in keys):
            name = f"member_{name}"
        names.append(name)
    return names
