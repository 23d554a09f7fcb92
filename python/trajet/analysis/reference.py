"""Reference positions and weights for comparisons and superpositions."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import h5md, topology, universes
from trajet._trajet import AnalysisError, SelectionError
from trajet.analysis.arguments import AsOption, AtomsOption, StructureOption
from trajet.analysis.broken_molecules import find_broken_molecules, find_chains_apart
from trajet.analysis.runner import further_selection
from trajet.atom_matching import check_pairs
from trajet.box import Box
from trajet.checked_numbers import checked_numbers, checked_positions, checked_weights
from trajet.formats import FormatOptions
from trajet.messages import Message
from trajet.particles import EQUAL_WEIGHTS, masses_as_weights
from trajet.quoting import quoted
from trajet.report_entries import InputEntry
from trajet.selection_text import depends_on_order
from trajet.topology import Atoms, SidecarUse, Structure
from trajet.trajectory import Selection, Trajectory, describe_file
from trajet.trajectory import open as open_trajectory

if TYPE_CHECKING:
    from trajet.universes import AtomGroup

# Reference of the average structure: frames are superposed on the first one, then averaged.
AVERAGE = "average"

Weights: TypeAlias = Annotated[
    "Literal['mass', 'equal'] | Sequence[float] | NDArray[np.floating | np.integer]",
    AsOption(Literal["mass", "equal"]),
]
# In quotes, since MDAnalysis is imported only if needed.
Reference: TypeAlias = Annotated[
    "int | str | os.PathLike[str] | Selection | NDArray[np.floating | np.integer] | AtomGroup",
    StructureOption(words=(AVERAGE,)),
]
# A reference that is not the average structure.
ReferenceStructure: TypeAlias = Annotated[
    "int | str | os.PathLike[str] | Selection | NDArray[np.floating | np.integer] | AtomGroup",
    StructureOption(),
]
# Atoms by which frames are superposed: "same" for the selection, None for positions as stored.
Align: TypeAlias = Annotated["str | Selection | AtomGroup", AtomsOption(words=("same",))] | None


def aligned_atoms(align: Align, main: Selection) -> Selection | None:
    """Return the atoms by which frames are superposed; None if positions are used as stored."""
    if isinstance(align, str) and align == "same":
        return main
    return None if align is None else further_selection(align, main.trajectory)


def is_equal(weights: Weights) -> bool:
    """Return whether weights are "equal"."""
    return isinstance(weights, str) and weights == "equal"


def is_average(reference: Reference) -> bool:
    """Return whether the reference is the average structure."""
    return isinstance(reference, str) and reference == AVERAGE


def first_of(chosen: NDArray[np.int64]) -> int:
    """Return the frame on which frames are superposed before they are averaged.

    It is 0 if no frame is chosen.
    """
    return int(next(iter(chosen), 0))


def frame_of(reference: Reference, trajectory: Trajectory) -> int | None:
    """Return the frame of a trajectory that is the reference; None if it is none of its frames."""
    if isinstance(reference, Selection):
        return 0 if reference.trajectory is trajectory else None
    if isinstance(reference, (int, np.integer)) and not isinstance(reference, bool):
        # Numbers that are out of range are errors where the frame is read.
        number = int(reference)
        return number + trajectory.n_frames if number < 0 else number
    return None


def weights_of(
    weights: Weights, selection: Selection, messages: list[Message], instead: str = EQUAL_WEIGHTS
) -> NDArray[np.float64] | None:
    """Return `(n_atoms,)` weights, or None for equal ones; append messages on guessed masses.

    `instead` is advice that needs no masses.
    """
    if not isinstance(weights, str):
        return checked_weights(weights, selection.n_atoms)
    if weights != "mass":
        return None
    return masses_as_weights(selection.topology_atoms, messages, instead=instead)


@dataclass(frozen=True)
class Coordinates:
    """Positions of the atoms of a selection in a structure.

    Attributes
    ----------
    positions
        `(n_atoms, 3)`, float32, Å.
    box
        Box of the structure.
    where
        The structure, for messages: a frame or a file.
    """

    positions: NDArray[np.float32]
    box: Box
    where: str


def group_of(
    selection: Selection,
    target: Coordinates,
    weights: Weights,
    messages: list[Message],
    instead: str = EQUAL_WEIGHTS,
) -> dict[str, object]:
    """Return a selection with its reference and weights, as plans have it (`rmsd::Group`)."""
    return {
        "atoms": selection.columns,
        "reference": target.positions,
        "weights": weights_of(weights, selection, messages, instead),
    }


def reference_positions(
    reference: Reference,
    main: Selection,
    groups: list[Selection],
    messages: list[Message],
    chosen: NDArray[np.int64],
) -> list[Coordinates]:
    """Return the reference positions of the main selection and of each group.

    Jumps in a frame of the same trajectory are removed as in the `chosen` frames of the run. If a
    structure may have other atoms, this is appended to `messages`.
    """
    selections = [main, *groups]
    if isinstance(reference, (int, np.integer)) and not isinstance(reference, bool):
        return [_one_frame(item, int(reference), chosen) for item in selections]
    if isinstance(reference, (str, os.PathLike)):
        if not Path(reference).exists():
            raise FileNotFoundError(
                f"{reference}: there is no such reference: give a frame number, 'average', the path"
                " of a structure, positions, or a Selection of another trajectory"
            )
        found = _read_structure(Path(reference), main.trajectory)
        structure = _Structure(found, str(reference), messages)
        return [structure.coordinates(item) for item in selections]
    if isinstance(reference, Selection):
        others = [reference]
        for item in groups:
            if item.text is None:
                raise SelectionError("groups by index have no counterpart in another selection")
            if (
                item.trajectory.source.index.n_topology_atoms
                != reference.trajectory.source.index.n_topology_atoms
                and depends_on_order(item.text)
            ):
                raise SelectionError(
                    f"group {quoted(item.text)}: {reference.trajectory.label} numbers atoms"
                    " differently: select the group by names"
                )
            others.append(reference.trajectory.select(item.text))
        for item, other in zip(selections, others, strict=True):
            check_same_atoms(item, other, messages)
        # Another trajectory is not compared frame by frame.
        run = chosen if reference.trajectory is main.trajectory else None
        return [
            _one_frame(other, 0, run, f" of reference {quoted(other.label)}") for other in others
        ]
    if universes.is_atomgroup(reference):
        atoms: AtomGroup = reference
        found = topology.of_universe(atoms.universe)
        structure = _Structure(found, "the reference's Universe", messages)
        indices = np.asarray(atoms.indices, np.int64)
        first = structure.coordinates_of(main, indices, given=True)
        return [first, *(structure.coordinates(item) for item in groups)]
    array = checked_numbers(reference, "reference positions")
    if groups:
        raise ValueError(
            "with groups, the reference must have positions of their atoms too: give a frame, a"
            " file, a Selection or an AtomGroup"
        )
    if array.shape != (main.n_atoms, 3):
        raise SelectionError(
            f"reference positions of shape {array.shape} do not fit {main.n_atoms} atoms:"
            f" expected ({main.n_atoms}, 3)"
        )
    array = checked_positions(array, array.shape, "the reference")
    return [Coordinates(array.astype(np.float32), Box(), "the reference")]


def _read_structure(path: Path, trajectory: Trajectory) -> Structure:
    """Return the content of a structure file, or the first frame of an H5MD file with a topology.

    It is read with the options of a trajectory.
    """
    file = trajectory.source.structure.file
    use = SidecarUse() if file is None else file.sidecar
    if not h5md.is_hdf5(path):
        return topology.load(path, use, "{}" if file is None else file.format_options)
    options: FormatOptions = {}
    if trajectory.source.files.particles is not None:
        options["h5md"] = {"particles": trajectory.source.files.particles}
    with open_trajectory(
        path, path, sidecar=use.is_used, rebuild_index=use.rebuild, format_options=options
    ) as opened:
        first = opened.read([0])
        has_positions = bool(np.isfinite(first.positions).any())
        positions = first.positions[0] if has_positions else None
        return Structure(opened.topology, positions, Box.of(first))


@dataclass(frozen=True)
class _Structure:
    """A reference structure in which selections are evaluated."""

    structure: Structure
    name: str
    messages: list[Message]

    def coordinates(self, selection: Selection) -> Coordinates:
        """Return the positions of the atoms of a selection in this structure."""
        n, trajectory = self.structure.topology.n_atoms, selection.trajectory
        if n == trajectory.n_atoms != trajectory.source.index.n_topology_atoms:
            # The structure holds the same tags of a data set, and numbers its own atoms.
            atoms = selection.columns
        elif selection.text is not None:
            atoms = self.structure.select(selection.text, self.name)
        elif n == trajectory.source.index.n_topology_atoms:
            atoms = selection.indices
        else:
            raise SelectionError(
                f"{self.name} has {n} atoms, the trajectory"
                f" {selection.trajectory.n_atoms}: atoms chosen by index cannot be found in it;"
                " use a selection string"
            )
        return self.coordinates_of(selection, atoms, given=False)

    def coordinates_of(
        self, selection: Selection, indices: NDArray[np.int64], *, given: bool
    ) -> Coordinates:
        """Return the positions of the atoms of the structure that match the selection one by one.

        If they may be other atoms, this is appended to the messages.
        """
        what = f"selection {quoted(selection.label)} and reference {self.name}"
        if selection.source.structure.is_known:
            atoms = Atoms(self.structure.topology, indices)
            self.messages.extend(check_pairs(selection.topology_atoms, atoms, what, given=given))
        elif len(indices) != selection.n_atoms:
            raise SelectionError(
                f"{what} have {selection.n_atoms} and {len(indices)} atoms: choose the same atoms"
            )
        found = self.structure.positions_of(self.name)[indices]
        return Coordinates(found, self.structure.box, f"reference {self.name}")


def _one_frame(
    selection: Selection, frame: int, run: NDArray[np.int64] | None, of: str = ""
) -> Coordinates:
    block = selection.read_uncounted(frame, run)
    positions: NDArray[np.float32] = block.positions[0]
    if not np.isfinite(positions).all():
        raise AnalysisError(
            f"{selection.trajectory.path}: frame {block.frames[0]}: a selected atom has no position"
            " (NaN): choose another frame as reference"
        )
    return Coordinates(positions, Box.of(block), f"frame {block.frames[0]}{of}")


def check_same_atoms(mobile: Selection, reference: Selection, messages: list[Message]) -> None:
    """Raise an error if selections cannot be compared atom by atom; add messages to `messages`."""
    what = f"selection {quoted(mobile.label)} and reference {quoted(reference.label)}"
    if mobile.source.structure.is_known and reference.source.structure.is_known:
        given = mobile.text is None or reference.text is None
        messages.extend(
            check_pairs(mobile.topology_atoms, reference.topology_atoms, what, given=given)
        )
    elif mobile.n_atoms != reference.n_atoms:
        raise SelectionError(
            f"{what} have {mobile.n_atoms} and {reference.n_atoms} atoms: choose the same atoms"
        )


def describe_reference(reference: Reference) -> list[InputEntry]:
    """Return the report's entries on a structure file that is the reference."""
    if isinstance(reference, (str, os.PathLike)) and reference != AVERAGE:
        return [describe_file(Path(reference))]
    return []


def broken_in_reference(
    selections: Sequence[Selection],
    coordinates: Sequence[Coordinates],
    frame: int | None,
    chosen: NDArray[np.int64],
) -> list[Message]:
    """Return messages on molecules that are broken, or in different images, in a run's reference.

    Parameters
    ----------
    selections, coordinates
        Selections, and the reference of each.
    frame
        Number of the reference among the frames of the trajectory, if it is one of them.
    chosen
        The frames of the run, which are checked with it.
    """
    if frame is not None and frame in chosen:
        return []
    pairs = zip(selections, coordinates, strict=True)
    broken = [
        message
        for one, at in pairs
        for message in find_broken_molecules(one, at.positions, at.box, at.where)
    ]
    first = coordinates[0]
    positions = [at.positions for at in coordinates]
    return [*broken, *find_chains_apart(selections, positions, first.box, first.where)]
