"""Results as documents: what the page draws of them, as values that JSON has.

A document has a `kind`. "lines" are values against frames; "profile" is a value for each of some
atoms, residues or bins; "matrix" is a value for each pair of frames, residues or bins. Positions of
atoms are those in the frames of the scene; a residue is a range of them, [first, last + 1], or null
if none of its atoms is shown, or others stand between them.
"""

import base64
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajet.digits import in_digits
from trajet.labels import atom_labels, residue_labels
from trajet.result.axes import Axis
from trajet.result.table import Table, is_of_frames
from trajet.topology import Topology
from trajet.trajectory import Trajectory

# Kinds of axes of the tables that colour atoms, and that the page draws beside series.
COLOURED = (("atoms",), ("frames", "atoms"), ("frames", "residues"), ("residues", "residues"))
DRAWN = (("atoms",), ("residues", "residues"), ("atoms", "atoms"), ("frames", "other frames"))
# Those of bins, such as of free energies, each of which has a frame that a click shows.
BINNED = (("bins",), ("bins", "bins"))
# Columns of a result that are drawn.
_MAX_COLUMNS = 8
# Rows and columns of a matrix that are drawn, and hydrogen bonds.
_MAX_ROWS = 600
_MAX_BONDS = 300_000
# Difference of times that files of other formats may have, relative.
_SLACK = 1e-5
# Significant digits of values and times in a plot.
_DIGITS = 6


@dataclass(frozen=True)
class ShownAtoms:
    """The atoms of a scene.

    Attributes
    ----------
    trajectory
        The trajectory.
    indices
        `(n,)`, ascending indices in the topology.
    """

    trajectory: Trajectory
    indices: NDArray[np.int64]

    @property
    def topology(self) -> Topology:
        """The topology."""
        return self.trajectory.topology

    @cached_property
    def residues(self) -> NDArray[np.int64]:
        """`(n,)`, the residue of each atom."""
        return self.topology.atoms_residues[self.indices]

    def positions(self, atoms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of atoms of the topology among those shown; -1 for others."""
        found = np.searchsorted(self.indices, atoms)
        found[found == len(self.indices)] = 0
        return np.where(self.indices[found] == atoms, found, -1)

    def spans(self, residues: NDArray[np.int64]) -> list[list[int] | None]:
        """Return the range of the atoms of each residue; None if they are no neighbours."""
        known, first, counts = np.unique(self.residues, return_index=True, return_counts=True)
        last = len(self.residues) - np.unique(self.residues[::-1], return_index=True)[1]
        range_of = {
            residue: [begin, end]
            for residue, begin, end, count in zip(
                known.tolist(), first.tolist(), last.tolist(), counts.tolist(), strict=True
            )
            if end - begin == count
        }
        return [range_of.get(residue) for residue in residues.tolist()]

    def colours(
        self, values: NDArray[np.floating], atoms: NDArray[np.int64] | None, of: NDArray[np.int64]
    ) -> list[float | None]:
        """Return the value of each shown atom.

        Parameters
        ----------
        values
            `(n_values,)`
        atoms
            `(n_values,)`, the atoms that have them; None if residues have them. Other atoms have
            the mean of their residue.
        of
            `(n_values,)`, the residue of each value.
        """
        finite = np.isfinite(values)
        n_residues = int(max(self.residues.max(), of.max(initial=0))) + 1
        counts = np.bincount(of[finite], minlength=n_residues)
        sums = np.bincount(of[finite], weights=values[finite], minlength=n_residues)
        with np.errstate(invalid="ignore"):
            found = (sums / counts)[self.residues]
        if atoms is not None:
            at = self.positions(atoms)
            found[at[at >= 0]] = values[at >= 0]
        return rounded(found)


def document(result: Table, title: str, shown: ShownAtoms) -> dict[str, object]:
    """Return a result as values that JSON has; NaN is None.

    Raises
    ------
    ValueError
        If the page does not draw such results, or it is of another trajectory.
    """
    if not is_drawn(result):
        raise ValueError(not_drawn(type(result), title))
    match [axis.kind for axis in result.axes]:
        case ["frames", "other frames"]:
            return _frame_pairs(result, title, shown.trajectory)
        case ["frames", "atoms" | "residues"]:
            return _means(result, title, shown)
        case ["frames", *_]:
            return {**_lines(result, title, shown.trajectory), **_bonds(result, shown)}
        case ["atoms"]:
            return _atom_values(result, title, shown)
        case ["bins", *_]:
            return _bins(result, title, shown.trajectory)
    return _contacts(result, title, shown)


def is_drawn(result: Table) -> bool:
    """Return whether the page draws a table."""
    kinds = tuple(axis.kind for axis in result.axes)
    return is_of_frames(result) or kinds in DRAWN or (kinds in BINNED and "frame" in result.also)


def has_colours(result: Table) -> bool:
    """Return whether a table has values that colour atoms."""
    return tuple(axis.kind for axis in result.axes) in COLOURED


def not_drawn(kind: type, title: str) -> str:
    """Return the message that results of a kind are not drawn."""
    return (
        f"{title}: a {kind.__name__} is not drawn beside a trajectory: give values per frame, atom"
        " or residue, a contact map, pairwise RMSDs or a free energy of one trajectory"
    )


def _lines(result: Table, title: str, trajectory: Trajectory) -> dict[str, object]:
    frames = np.asarray(result.frames)
    if not len(frames):
        raise ValueError(f"{title}: has no frames")
    _check_frames(frames, result.times, title, trajectory)
    # Lines are drawn, and searched, from left to right.
    order = np.argsort(frames, kind="stable")
    values = np.asarray(result.values).reshape(len(frames), -1)[order]
    labels = [*result.columns, *map(str, range(len(result.columns), values.shape[1]))]
    drawn = min(_MAX_COLUMNS, values.shape[1])
    return {
        "kind": "lines",
        "title": title,
        "quantity": result.quantity,
        "labels": labels[:drawn],
        "n_left_out": values.shape[1] - drawn,
        "frames": frames[order].tolist(),
        "values": [rounded(values[:, column]) for column in range(drawn)],
    }


def _bonds(result: Table, shown: ShownAtoms) -> dict[str, object]:
    """Return the hydrogen bonds between shown atoms: those of row k from `offsets[k]` on.

    Rows are the frames of `_lines`, ascending. Empty if the result has no list of bonds.
    """
    bonds = result.parts.get("bonds")
    if bonds is None:
        return {}
    frames, atoms = bonds.axes[0]["frame"].astype(np.int64), bonds.axes[0].atoms()
    if len(frames) > _MAX_BONDS:
        return {"note": "more hydrogen bonds than the picture can have: take fewer frames or atoms"}
    assert atoms is not None
    # From the hydrogen to the acceptor.
    ends = np.stack([shown.positions(atoms[:, 1]), shown.positions(atoms[:, 2])], axis=1)
    order = np.argsort(frames, kind="stable")
    order = order[(ends[order] >= 0).all(axis=1)]
    rows = np.sort(np.asarray(result.frames))
    offsets = np.searchsorted(frames[order], rows)
    counts = np.searchsorted(frames[order], rows, side="right") - offsets
    return {
        "bonds": {
            "offsets": offsets.tolist(),
            "counts": counts.tolist(),
            "ends": ends[order].tolist(),
        }
    }


def _atom_values(result: Table, title: str, shown: ShownAtoms) -> dict[str, object]:
    atoms, residues, labels = _places(result.axes[0], title, shown)
    return _profile(
        {"title": title, "quantity": result.quantity, "label": result.columns[0], "of": "atom"},
        np.asarray(result.values),
        labels,
        residues,
        atoms,
        shown,
    )


def _means(result: Table, title: str, shown: ShownAtoms) -> dict[str, object]:
    axis = result.axes[1]
    atoms = axis.atoms()
    indices, residues, labels = _places(axis, title, shown)
    mean = f"mean {result.quantity} of {len(result.frames)} frames"
    of = axis.kind.removesuffix("s")
    return _profile(
        {"title": title, "quantity": mean, "label": result.selections[0], "of": of},
        np.asarray(result.values).mean(axis=0),
        labels,
        residues,
        None if atoms is None else indices,
        shown,
    )


def _places(
    axis: Axis, title: str, shown: ShownAtoms
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return indices in the topology, residues and labels of atoms or residues.

    Raises
    ------
    ValueError
        If they are those of another topology.
    """
    topology, is_atom = shown.topology, axis.kind == "atoms"
    indices = axis[axis.kind.removesuffix("s")].astype(np.int64)
    _check_range(indices, topology.n_atoms if is_atom else topology.n_residues, title)
    known = atom_labels(topology, indices) if is_atom else residue_labels(topology)[indices]
    if axis.get("label") is not None:
        _check_labels(known.tolist(), axis.labels(), title)
    return indices, topology.atoms_residues[indices] if is_atom else indices, known.tolist()


def _profile(
    about: dict[str, object],
    values: NDArray[np.floating],
    labels: list[str],
    residues: NDArray[np.int64],
    atoms: NDArray[np.int64] | None,
    shown: ShownAtoms,
) -> dict[str, object]:
    numbers = shown.topology.column("resids")
    axis = np.arange(len(values)) if numbers is None else numbers[residues]
    is_by_residue = bool((np.diff(axis) > 0).all()) and numbers is not None
    return {
        "kind": "profile",
        **about,
        "axis": "residue" if is_by_residue else f"{about['of']}, from 0",
        "x": axis.tolist() if is_by_residue else list(range(len(values))),
        "values": rounded(values),
        "labels": labels,
        "spans": shown.spans(residues),
        "colours": shown.colours(values, atoms, residues),
    }


def _contacts(result: Table, title: str, shown: ShownAtoms) -> dict[str, object]:
    (_, rows, row_names), (_, columns, column_names) = (
        _places(axis, title, shown) for axis in result.axes
    )
    values = np.asarray(result.values)
    found: dict[str, object] = {
        **_matrix(values, title, result.quantity),
        "labels": [result.selections[0], result.selections[-1]],
        "pair": "residues",
        **_side("row", row_names, shown.spans(rows)),
        **_side("column", column_names, shown.spans(columns)),
    }
    if has_colours(result):
        number = np.nansum(values, axis=1)
        found |= {
            "coloured": "mean number of contacts",
            "colours": shown.colours(number, None, rows),
        }
    return found


def _frame_pairs(result: Table, title: str, trajectory: Trajectory) -> dict[str, object]:
    others = result.axes[1]["frame"].astype(np.int64)
    _check_frames(np.asarray(result.frames), result.times, title, trajectory)
    # Rows and columns are the same frames, but those of two trajectories.
    is_within = len(result.selections) == 1 and np.array_equal(result.frames, others)
    return {
        **_matrix(np.asarray(result.values), title, result.quantity),
        "labels": list(result.selections),
        "pair": "frames",
        # A click shows the frame of the column within one trajectory, otherwise that of the row.
        "chosen": "column" if is_within else "row",
        "rows": result.frames.tolist(),
        "columns": others.tolist(),
    }


def _bins(result: Table, title: str, trajectory: Trajectory) -> dict[str, object]:
    frames = result.also["frame"].astype(np.int64)
    times = result.also["time"].astype(np.float64)
    _check_frames(frames[frames >= 0], times[frames >= 0], title, trajectory)
    values = np.asarray(result.values)
    names = [[f"{at:.4g}" for at in axis["centre"].tolist()] for axis in result.axes]
    x = result.axes[0]
    if len(result.axes) == 1:
        return {
            "kind": "profile",
            "title": title,
            "quantity": result.quantity,
            "label": x.quantity,
            "axis": x.label,
            "x": x["centre"].tolist(),
            "values": rounded(values),
            "labels": [f"{x.quantity} {name}" for name in names[0]],
            "frames": frames.tolist(),
        }
    # The first row is drawn at the top, where y is largest.
    found = _matrix(values.T[::-1], title, result.quantity)
    return {
        **found,
        "labels": [axis.quantity for axis in result.axes],
        "pair": "bins",
        "axis": x.label,
        "row_names": names[1][::-1],
        "column_names": names[0],
        "frames": frames.T[::-1].tolist(),
    }


def _matrix(values: NDArray[np.floating], title: str, quantity: str) -> dict[str, object]:
    """Return a matrix, with every n-th row and column of a large one."""
    steps = [max(1, -(-n // _MAX_ROWS)) for n in values.shape]
    drawn = values[:: steps[0], :: steps[1]].astype("<f4")
    finite = drawn[np.isfinite(drawn)]
    return {
        "kind": "matrix",
        "title": title,
        "quantity": quantity,
        "steps": steps,
        "shape": list(drawn.shape),
        "low": float(finite.min(initial=0)),
        "high": float(finite.max(initial=0)),
        "values": base64.b64encode(drawn.tobytes()).decode(),
    }


def _side(name: str, names: list[str], spans: list[list[int] | None]) -> dict[str, object]:
    return {f"{name}_names": names, f"{name}_spans": spans}


def _check_range(numbers: NDArray[np.int64], n: int, title: str) -> None:
    """Raise an error if a number is none of the topology.

    Raises
    ------
    ValueError
        If one is not.
    """
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= n):
        raise ValueError(
            f"{title}: has atom or residue {numbers.max()}, and the topology has {n}: it is of"
            " other atoms"
        )


def _check_labels(here: list[str], given: list[str], title: str) -> None:
    """Raise an error if atoms or residues have other labels in the topology.

    Raises
    ------
    ValueError
        If they have.
    """
    for one, other in zip(here, given, strict=True):
        if one != other:
            raise ValueError(f"{title}: has {other}, which is {one} here: it is of other atoms")


def _check_frames(
    frames: NDArray[np.int64], times: NDArray[np.float64], title: str, trajectory: Trajectory
) -> None:
    """Raise an error if the first or the last frame is not in the trajectory, or at another time.

    Raises
    ------
    ValueError
        If one is.
    """
    if frames.min(initial=0) < 0 or frames.max(initial=0) >= trajectory.n_frames:
        raise ValueError(
            f"{title}: has frame {frames.max()}, but the trajectory has {trajectory.n_frames}"
            " frames: it is of another trajectory"
        )
    with trajectory.cursor([], positions=False, read_ahead=False) as cursor:
        for row in (0, -1) if len(frames) else ():
            number, time = int(frames[row]), float(times[row])
            there = float(cursor.read(number).time)
            if (
                np.isfinite(time)
                and np.isfinite(there)
                and abs(time - there) > _SLACK * max(1.0, abs(there))
            ):
                raise ValueError(
                    f"{title}: frame {number} is at {in_digits(time)} ps, and at"
                    f" {in_digits(there)} ps in the trajectory: it is of another trajectory"
                )


def rounded(values: NDArray[np.floating]) -> list[float | None]:
    """Return values with the digits that a plot shows; None where they are not finite."""
    return [
        float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None for value in values.tolist()
    ]
