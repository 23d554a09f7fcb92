"""Columns of features that depend on the topology alone, never on a frame."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import SelectionError
from trajet.analysis.backbone import PEPTIDE_BOND, backbone_dihedrals, listed_bonds
from trajet.analysis.dihedrals import bonded_in_first_frame, dihedrals
from trajet.analysis.job import Job
from trajet.analysis.runner import main_selection
from trajet.box import Box
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result.table import Table
from trajet.structure_files import read_structure
from trajet.topology import Topology
from trajet.trajectory import Selection

# names and atoms of the angles, and messages on residues that are left out
_Backbone: TypeAlias = tuple[tuple[str, ...], NDArray[np.int64], tuple[Message, ...]]


@dataclass(frozen=True)
class FixedJob:
    """A job whose columns are the same for all trajectories of a topology.

    Attributes
    ----------
    job
        The job.
    columns
        Labels of its result, where they differ.
    messages
        Messages on columns that are left out.
    """

    job: Job[Table]
    columns: tuple[str, ...] | None = None
    messages: tuple[Message, ...] = ()


class FixedColumns:
    """Finds the backbone dihedrals of each topology once.

    `dihedrals` takes the residues that are bonded in frame 0, which are others in each trajectory.
    """

    def __init__(self) -> None:
        # By topology, which trajectories may share, and by atoms. The topology is kept: its number
        # is not given to another one then.
        self._known: dict[tuple[int, bytes], tuple[_trajet.Topology, _Backbone]] = {}

    def of(self, job: Job[Table]) -> FixedJob:
        """Return a job with the same columns in every frame and trajectory of its topology.

        Raises
        ------
        SelectionError
            If no residue is left, or the topology does not tell which residues are bonded.
        """
        if job.name != "dihedrals" or job.arguments["quadruples"] is not None:
            return FixedJob(job)
        arguments = job.arguments
        main = main_selection(arguments["selection"])
        native = main.trajectory.topology.native
        key = id(native), main.indices.tobytes()
        if key not in self._known:
            self._known[key] = native, _backbone(main)
        names, fours, messages = self._known[key][1]
        _check_frame(main, fours)
        sin_cos = bool(arguments["sin_cos"])
        made = dihedrals.job(main, fours, sin_cos=sin_cos, pbc=bool(arguments["pbc"]))
        if sin_cos:
            names = tuple(name for name in names for _ in ("cos", "sin"))
        return FixedJob(made, names, messages)


def _backbone(main: Selection) -> _Backbone:
    """Return names and atoms of φ and ψ of the residues that are bonded, and messages."""
    messages: list[Message] = []
    angles = backbone_dihedrals(main.topology_atoms, main.label, messages)
    names, fours = angles.names, angles.fours
    kept = bonded_residues(main.trajectory.topology, fours)
    if not kept.any():
        raise SelectionError(
            f"{main.trajectory.topology}: selection {quoted(main.label)}: no residue is bonded to"
            " its neighbours: give four atoms of each angle (quadruples=)"
        )
    if n_left_out := int((~kept & angles.within_chains).sum()):
        messages.append(
            Message(
                Code.RESIDUES_LEFT_OUT,
                f"residues left out, since they are not bonded to their neighbours: {n_left_out}",
            )
        )
    whole = np.repeat(kept, 2)
    return tuple(np.array(names)[whole].tolist()), fours[whole], tuple(messages)


def bonded_residues(topology: Topology, fours: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which residues are bonded to both neighbours.

    The bonds of the topology decide if it lists those within the residue (N-CA and CA-C): PDB files
    list a few of all bonds. Otherwise C and N are bonded if they are near in the structure file.

    Parameters
    ----------
    fours
        `(2 n, 4)`, atoms of φ and ψ of one residue after the other.

    Returns
    -------
    ndarray
        `(n,)`, bool.

    Raises
    ------
    SelectionError
        If the topology has neither these bonds nor positions.
    """
    links = fours[::2, :2], fours[1::2, 2:]
    bonded, known = listed_bonds(topology, fours)
    if not known.all():
        box, positions = _structure(topology)
        near = np.all(
            [
                box.distances(positions[pairs[:, 0]], positions[pairs[:, 1]]) <= PEPTIDE_BOND
                for pairs in links
            ],
            axis=0,
        )
        bonded = np.where(known, bonded, near)
    return np.asarray(bonded, np.bool_)


def _structure(topology: Topology) -> tuple[Box, NDArray[np.float32]]:
    """Return box and positions of the file of a topology."""
    path, options = topology.path, topology.format_options
    found = None if path is None else read_structure(path, format_options=options)
    if found is None or isinstance(found, str) or found.positions is None:
        raise SelectionError(
            f"{topology} has neither bonds nor positions, so that it does not tell which residues"
            " are bonded: use a topology with bonds (PSF, TPR, PRMTOP) or a structure file (GRO,"
            " PDB), or give four atoms of each angle (quadruples=)"
        )
    box = Box() if found.cell is None else Box.of_cell(found.cell, found.vectors)
    return box, found.positions


def _check_frame(main: Selection, fours: NDArray[np.int64]) -> None:
    """Raise an error if no residue is bonded in frame 0: the topology is another system's."""
    trajectory = main.trajectory
    columns = trajectory.source.index.columns(fours.ravel()).reshape(fours.shape)
    bonded_in_first_frame(main, columns)
