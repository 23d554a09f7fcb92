"""Analyses as functions: a selection in, a result out."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, mdanalysis
from trajet._trajet import Reader, SelectionError
from trajet.pools.local import LocalPool
from trajet.pools.pool import Frames, Pool
from trajet.result import Series, make_report
from trajet.trajectory import (
    FrameChoice,
    Selection,
    Trajectory,
    describe_file,
    frame_numbers,
    from_atomgroup,
    resolve_frames,
)

# The frames whose average the reference is: they are superposed on the first of them.
AVERAGE = "average"

Weights: TypeAlias = str | Sequence[float] | NDArray[Any] | None
# An MDAnalysis AtomGroup has no type that could stand here.
Reference: TypeAlias = int | str | os.PathLike[str] | Selection | NDArray[Any] | Any


def rmsd(
    selection: Selection | Any,
    *,
    reference: Reference = 0,
    groups: Sequence[str | Selection | Any] = (),
    weights: Weights = None,
    group_weights: str | None = None,
    superposition: bool = True,
    center: bool | None = None,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Series:
    """Compute the RMSD of atoms to a reference, frame by frame.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file.
    reference
        What the frames are compared with: a frame number of the same trajectory; the path of a
        structure file, in which the selections name the same atoms; an AtomGroup, as it is now; a
        Selection (of its trajectory's frame 0); positions `(n_atoms, 3)` in Å; or `"average"`: the
        average of the analysed frames after superposition on the first of them (two passes).
    groups
        Further selections of the same system, as text, Selections or AtomGroups. Each gives a
        column: its RMSD after the superposition of `selection` (MDAnalysis' `groupselections`).
        Beside an AtomGroup, text is evaluated as its Universe would now.
    weights
        None for equal weights, "mass", or one number an atom: for superposition and RMSD of
        `selection`.
    group_weights
        None or "mass": for the RMSD of `groups`. None means equal weights, also where `weights` are
        masses.
    superposition
        Whether each frame is rotated and shifted on the reference first.
    center
        Whether the centres are laid on each other where nothing is rotated. None: as
        `superposition`.
    frames
        A slice, frame numbers, or a mask; None for all.
    pool
        Where to compute; None for `LocalPool()`: all cores of this process.
    progress
        Called with frames done and in total.

    Returns
    -------
    Series
        `values` `(n_frames,)`, or `(n_frames, 1 + n_groups)` with groups; float64, Å.

    Raises
    ------
    SelectionError
        If atoms and reference do not fit each other, or masses are asked for and missing.
    FrameError
        If a frame is out of range.
    FormatError
        If a frame is corrupt.

    Notes
    -----
    Positions are taken as the file holds them: molecules that are broken over the box must be made
    whole before (`gmx trjconv -pbc whole`).

    Quaternion characteristic polynomial: D. L. Theobald, Acta Cryst. A 61, 478 (2005).

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> core = "(resid 1:29 or resid 60:121 or resid 160:214) and name CA"
    >>> result = tj.rmsd(traj.select(core), groups=["name CA"])
    >>> result.values.shape
    (98, 2)
    """
    main = _as_selection(selection)
    trajectory = main.trajectory
    if trajectory.topology is not None:
        # Also where nothing is selected by name: the topology must be this trajectory's.
        _ = trajectory.universe
    if isinstance(groups, str):
        groups = (groups,)
    others = [_as_group(group, trajectory) for group in groups]
    fit = _fit(superposition=superposition, center=center)
    average = isinstance(reference, str) and reference == AVERAGE
    if average and fit != "superposition":
        raise ValueError("reference='average' needs the superposition that it averages after")

    def attempt(reader: Reader) -> tuple[NDArray[np.float64], dict[str, Any], Frames]:
        numbers = resolve_frames(frames, reader.n_frames, trajectory.path)
        onto = reference
        if average:
            # Without a frame there is nothing to average, and any reference will do.
            onto = int(next(iter(frame_numbers(numbers)), 0))
        targets = _reference_positions(onto, main, others)
        plan = _trajet.rmsd_plan(
            (main.indices, targets[0], _weights(weights, main)),
            [
                (group.indices, target, _weights(group_weights, group))
                for group, target in zip(others, targets[1:], strict=True)
            ],
            fit=fit,
            average=average,
        )
        rows, run = (pool or LocalPool()).run(reader, plan, numbers, progress=progress)
        return rows, run, numbers

    rows, run, numbers = trajectory.fresh(attempt)
    chosen = frame_numbers(numbers)
    columns = tuple(item.label for item in (main, *others))
    asked = {
        "analysis": "rmsd",
        "parameters": {
            "selections": list(columns),
            "n_atoms": [item.n_atoms for item in (main, *others)],
            "first_frame": int(chosen[0]) if len(chosen) else None,
            "last_frame": int(chosen[-1]) if len(chosen) else None,
            "n_frames": len(chosen),
            "reference": _describe(reference),
            "weights": _describe(weights),
            "group_weights": group_weights,
            "fit": fit,
        },
        "inputs": [*trajectory.describe_inputs(), *_describe_reference(reference)],
    }
    return Series(
        values=rows if others else rows[:, 0].copy(),
        times=trajectory.times[chosen],
        frames=chosen,
        units="Å",
        columns=columns,
        name="RMSD",
        report=make_report(trajectory.reader, run, asked),
    )


def _as_selection(thing: Selection | Any) -> Selection:
    """Return the main selection of an analysis."""
    if isinstance(thing, Selection):
        return thing
    if isinstance(thing, Trajectory):
        return Selection(thing, np.arange(thing.n_atoms, dtype=np.int64), "all")
    if mdanalysis.is_atomgroup(thing):
        return from_atomgroup(thing)
    raise TypeError(
        "the first argument must be a selection (trajectory.select(...)) or an MDAnalysis"
        f" AtomGroup, not {type(thing).__name__}"
    )


def _as_group(thing: str | Selection | Any, trajectory: Trajectory) -> Selection:
    """Return a further selection of the same system."""
    if isinstance(thing, str):
        return trajectory.select(thing)
    if isinstance(thing, Selection):
        if thing.trajectory is not trajectory:
            raise SelectionError(f"{thing!r} is of another trajectory than the main selection")
        return thing
    if mdanalysis.is_atomgroup(thing):
        if len(thing.universe.atoms) != trajectory.n_atoms:
            raise SelectionError("a group is of another system than the main selection")
        return trajectory.select(mdanalysis.fixed_indices(thing))
    raise TypeError(f"a group is a selection string or a Selection, not {type(thing).__name__}")


def _fit(*, superposition: bool, center: bool | None) -> str:
    """Return how frames are laid on the reference."""
    if superposition:
        if center is False:
            raise ValueError("a superposition shifts the centres too: center=False contradicts it")
        return "superposition"
    return "centre" if center else "none"


def _weights(weights: Weights, selection: Selection) -> NDArray[np.float64] | None:
    """Return one weight an atom, or None for equal ones."""
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights != "mass":
            raise ValueError(f"weights are None, 'mass' or numbers, not {weights!r}")
        where = selection.trajectory.topology or "the Universe"
        return mdanalysis.masses(selection.atoms, str(where))
    numbers = np.ascontiguousarray(weights, dtype=np.float64)
    if numbers.shape != (selection.n_atoms,):
        raise ValueError(f"{numbers.shape} weights do not fit {selection.n_atoms} atoms")
    return numbers


def _reference_positions(
    reference: Reference, main: Selection, groups: list[Selection]
) -> list[NDArray[np.float32]]:
    """Return the reference positions, `(n_atoms, 3)` Å, of the main selection and of each group."""
    selections = [main, *groups]
    if isinstance(reference, (int, np.integer)) and not isinstance(reference, bool):
        return [_one_frame(item, int(reference)) for item in selections]
    if isinstance(reference, (str, os.PathLike)):
        structure = _Structure(mdanalysis.load(Path(reference)), str(reference))
        return [structure.positions(item) for item in selections]
    if isinstance(reference, Selection):
        others = [reference]
        for item in groups:
            if item.text is None:
                raise SelectionError("groups by index have no counterpart in another selection")
            others.append(reference.trajectory.select(item.text))
        for item, other in zip(selections, others, strict=True):
            _check_same_kind(item, other)
        return [_one_frame(other, 0) for other in others]
    if mdanalysis.is_atomgroup(reference):
        atoms: Any = reference
        structure = _Structure(atoms.universe, "the reference's Universe")
        first = structure.checked(main, atoms)
        return [first, *(structure.positions(item) for item in groups)]
    array = np.ascontiguousarray(reference, dtype=np.float32)
    if groups:
        raise ValueError("with groups, the reference must say where their atoms are too")
    if array.shape != (main.n_atoms, 3):
        raise SelectionError(
            f"reference positions of shape {array.shape} do not fit {main.n_atoms} atoms:"
            f" expected ({main.n_atoms}, 3)"
        )
    return [array]


@dataclass(frozen=True)
class _Structure:
    """Another structure, in which selections are looked up."""

    universe: Any
    name: str

    def positions(self, selection: Selection) -> NDArray[np.float32]:
        """Return the positions of the same atoms there."""
        if selection.text is not None:
            atoms = mdanalysis.select(self.universe, selection.text, self.name)
        elif len(self.universe.atoms) == selection.trajectory.n_atoms:
            atoms = self.universe.atoms[selection.indices]
        else:
            raise SelectionError(
                f"{self.name} has {len(self.universe.atoms)} atoms, the trajectory"
                f" {selection.trajectory.n_atoms}: atoms chosen by index cannot be found in it;"
                " use a selection string"
            )
        return self.checked(selection, atoms)

    def checked(self, selection: Selection, atoms: Any) -> NDArray[np.float32]:
        """Return the positions of `atoms`, which must be of the same kind."""
        what = f"selection {selection.label!r} and reference {self.name}"
        if selection.trajectory.has_topology:
            mdanalysis.check_same_kind(selection.atoms, atoms, what)
        elif len(atoms) != selection.n_atoms:
            raise SelectionError(f"{what}: {selection.n_atoms} and {len(atoms)} atoms")
        return mdanalysis.positions(atoms, self.name)


def _one_frame(selection: Selection, frame: int) -> NDArray[np.float32]:
    positions: NDArray[np.float32] = selection.read(frames=[frame]).positions[0]
    return positions


def _check_same_kind(mobile: Selection, reference: Selection) -> None:
    """Make sure that two selections can be compared atom by atom."""
    what = f"selection {mobile.label!r} and reference {reference.label!r}"
    if mobile.trajectory.has_topology and reference.trajectory.has_topology:
        mdanalysis.check_same_kind(mobile.atoms, reference.atoms, what)
    elif mobile.n_atoms != reference.n_atoms:
        raise SelectionError(f"{what}: {mobile.n_atoms} and {reference.n_atoms} atoms")


def _describe_reference(reference: Reference) -> list[dict[str, Any]]:
    """Return what a report says of a structure file that is the reference."""
    if isinstance(reference, (str, os.PathLike)) and reference != AVERAGE:
        return [describe_file(Path(reference))]
    return []


def _describe(value: Any) -> Any:
    """Return what a report says of an argument."""
    if value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return f"given as {type(value).__name__}"
