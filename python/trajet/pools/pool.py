"""The protocol of pools, and the plan of an analysis that they run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import Reader
from trajet.advise.entries import RunReport

# (first, step, count) or frame numbers; none is negative
Frames: TypeAlias = tuple[int, int, int] | NDArray[np.int64]
# called with frames done and in total
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class AnalysisSpec:
    """Picklable plan of an analysis, without the trajectory and its frames.

    Attributes
    ----------
    analysis
        Name of the analysis in the native module.
    arguments
        Its parameters by name.
    """

    analysis: str
    arguments: dict[str, object]

    @classmethod
    def of(cls, analysis: str, **arguments: object) -> "AnalysisSpec":
        """Return the plan of an analysis of the native module with these parameters.

        They have the names and types of the fields of its `Request` in `crates/trajet-engine`.
        """
        return cls(analysis, arguments)

    @classmethod
    def joint(cls, plans: "Sequence[AnalysisSpec]", readers: Sequence[Reader]) -> "AnalysisSpec":
        """Return the plan of several analyses, each with the transforms of its reader.

        It runs on a reader without transforms.
        """
        jobs = [
            (plan.analysis, plan.arguments, reader.transforms)
            for plan, reader in zip(plans, readers, strict=True)
        ]
        return cls("joint", {"jobs": jobs})

    def atoms(self) -> NDArray[np.int64]:
        """Return the atoms that the plan reads: all integer arrays of its arguments are atoms."""
        found: list[NDArray[np.int64]] = []

        def look(argument: object) -> None:
            if isinstance(argument, np.ndarray) and np.issubdtype(argument.dtype, np.integer):
                found.append(argument.ravel())
            elif isinstance(argument, (tuple, list)):
                # Most long lists hold numbers, on which no call is spent.
                for part in argument:
                    if isinstance(part, (np.ndarray, tuple, list, dict)):
                        look(part)
            elif isinstance(argument, dict):
                look([*argument.values()])

        look(self.arguments)
        atoms = np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)
        # `np.unique` imports the masked arrays of NumPy.
        distinct: NDArray[np.int64] = atoms[np.diff(atoms, prepend=atoms[:1] - 1) != 0]
        return distinct

    def row_width(self, n_atoms: int, n_frames: int) -> int:
        """Return the numbers per frame in the rows of the first pass; further passes keep few."""
        return _trajet.Pass(self.build(), n_atoms, n_frames, []).row_width

    def build(self) -> _trajet.Plan:
        """Return the plan for the native module of this process.

        Raises
        ------
        ValueError, TypeError
            If a parameter is out of range, or of another type.
        """
        try:
            return _trajet.Plan(self.analysis, self.arguments)
        except OverflowError as error:
            raise ValueError(f"a number that was given is too large: {error}") from error


class Pool(Protocol):
    """Runs the plan of an analysis over frames of a trajectory."""

    @property
    def n_threads(self) -> int:
        """Number of threads of all workers, as far as it is known before a run."""
        ...

    def run(
        self,
        reader: Reader,
        plan: AnalysisSpec,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], RunReport]:
        """Return rows, `(n_frames, width)` float64, the folded state, and the report of the engine.

        Rows and state have the same bits on every pool, with any number of workers and any size of
        task.
        """
        ...


def check_counts(**counts: int | None) -> None:
    """Check that numbers are at least one.

    Raises
    ------
    ValueError
        If a number is below one.
    """
    for name, value in counts.items():
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")


def n_frames_of(frames: Frames) -> int:
    """Return the number of frames."""
    return frames[2] if isinstance(frames, tuple) else len(frames)
