"""`TimeAxis`: when the rows of an element were written, and which rows belong to some frames."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.h5md.bounded import is_small, is_stored, most_rows
from trajet.h5md.links import find

if TYPE_CHECKING:
    from h5py import Dataset, File

_Int = NDArray[np.int64]


@dataclass(frozen=True)
class TimeAxis:
    """When rows of an element were written: steps or, without, times in some unit."""

    n: int
    kind: str
    at: NDArray[np.number] | None

    @classmethod
    def of(cls, file: "File", path: str, value: "Dataset") -> "TimeAxis":
        """Return that of an element at `path`, whose rows are in `value`."""
        n = int(value.shape[0])
        for kind in ("step", "time"):
            dataset = find(file, f"{path}/{kind}")
            if dataset is not None and (listed := listed_numbers(file, dataset, n)) is not None:
                unit = dataset.attrs.get("unit", "") if kind == "time" else ""
                return cls(n, f"{kind} {unit}", listed)
        return cls(n, "", None)

    def first(self, n: int) -> "TimeAxis":
        """Return that of the first rows."""
        return TimeAxis(min(n, self.n), self.kind, None if self.at is None else self.at[:n])

    def has_all_of(self, other: "TimeAxis", *, joined: bool) -> bool:
        """Tell whether each row of an element belongs to a frame; if `joined`, to every one."""
        if self.at is None or other.at is None or self.kind != other.kind:
            return self.n == other.n and self.at is None and other.at is None
        if np.array_equal(self.at, other.at):
            return True
        return (
            not joined and self.ascend and other.ascend and bool(np.isin(other.at, self.at).all())
        )

    @cached_property
    def ascend(self) -> bool:
        """Whether no row was written before, or with, the row that precedes it."""
        return self.at is not None and bool((self.at[1:] > self.at[:-1]).all())

    def rows_at(self, frames: "TimeAxis", chosen: _Int, every: _Int) -> _Int | None:
        """Return the rows that belong to frames; None where nothing says which do.

        Parameters
        ----------
        frames
            When all frames of the file were written.
        chosen
            The frames, in their order in the output.
        every
            All frames of this file that are in the output: rows at other steps lie between these.
        """
        if self.at is None or frames.at is None or self.kind != frames.kind:
            return chosen if self.n == frames.n else None
        if self.n >= frames.n and np.array_equal(self.at[: frames.n], frames.at):
            return chosen
        if not (self.ascend and frames.ascend):
            return None
        if np.isin(self.at, frames.at).all():
            there = np.searchsorted(self.at, frames.at[chosen])
            there = np.minimum(there, max(self.n - 1, 0))
            return there[self.at[there] == frames.at[chosen]] if self.n else there[:0]
        first, last = int(every.min()), int(every.max())
        begin = 0 if first == 0 else np.searchsorted(self.at, frames.at[first])
        end = self.n if last + 1 >= frames.n else np.searchsorted(self.at, frames.at[last + 1])
        return np.arange(begin, end) if np.array_equal(chosen[:1], every[:1]) else np.arange(0)


def listed_numbers(file: "File", dataset: "Dataset", n: int) -> np.ndarray | None:
    """Return the steps or times of `n` rows, which are listed or at equal distances."""
    if dataset.dtype.kind not in "iuf" or len(dataset.shape) > 1 or not is_stored(dataset):
        return None
    if (dataset.shape[0] if dataset.shape else n) > most_rows(file) or not is_small(dataset):
        return None
    numbers = np.asarray(dataset[()])
    if numbers.shape == ():
        offset = np.asarray(dataset.attrs.get("offset", 0)).item()
        wide = np.float64 if numbers.dtype.kind == "f" or isinstance(offset, float) else np.int64
        return np.asarray(offset + np.arange(n) * numbers.astype(wide))
    return numbers[:n] if len(numbers) >= n else None
