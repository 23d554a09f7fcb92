"""`MemberOutcome`: the result of one member of an ensemble, or why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet.labels import chains_of_first
from trajet.result.table import Table

_R_co = TypeVar("_R_co", bound=Table, covariant=True)

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
    chains
        Names of the chains of the topology in their order; none without a topology.
    chains_of
        Names of all chains and those of the first member, in which no chain has its name here.
    """

    keys: Mapping[str, Key]
    result: _R_co | None = None
    error: Exception | None = None
    start: NDArray[np.float32] | None = field(default=None, repr=False)
    is_reused: bool = False
    chains: tuple[str, ...] = field(default=(), repr=False)
    chains_of: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def label(self) -> str:
        """The keys as text: "system=wt, replica=1"."""
        return ", ".join([f"{name}={value}" for name, value in self.keys.items()])


def with_chains_of_first(
    outcomes: Sequence[MemberOutcome[_R_co]],
) -> list[MemberOutcome[_R_co]]:
    """Return outcomes with `chains_of`, where a topology has no chain of the first one."""
    first = next((one.chains for one in outcomes if one.chains), ())
    return [replace(one, chains_of=chains_of_first(one.chains, first)) for one in outcomes]


def key_columns(keys: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the names of the columns of keys, which differ from those of other columns."""
    names: list[str] = []
    for key in keys:
        name = key
        while name in others or name in names or (name != key and name in keys):
            name = f"member_{name}"
        names.append(name)
    return names
