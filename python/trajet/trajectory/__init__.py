"""Trajectories, selections of their atoms, and blocks of positions.

`Trajectory.source` consists of files, topology, atoms and transforms. No module knows those after
it: `options`, `atom_index`, `files`, `structure`, `source`, `selected_atoms`, `updating`,
`transforms`, `trajectory`, `opening`.
"""

from trajet.block import Block
from trajet.trajectory.atom_index import AtomChoice, FrameChoice, frame_numbers, resolve_frames
from trajet.trajectory.batches import FrameBatches
from trajet.trajectory.clock import rounding_of_times
from trajet.trajectory.consecutive import check_consecutive
from trajet.trajectory.cursor import Cursor
from trajet.trajectory.files import describe_file, whole_digest
from trajet.trajectory.frame import Frame
from trajet.trajectory.opening import (
    from_atomgroup,
    is_structure,
    may_have_topology,
    open,
    opened,
    opened_dataset,
    opened_names,
    sharing_universes,
)
from trajet.trajectory.options import OpenOptions
from trajet.trajectory.selected_atoms import few_atoms_messages
from trajet.trajectory.source import MUCH_BYTES, FrameSource
from trajet.trajectory.structure import SharedTopologies, sharing
from trajet.trajectory.trajectory import Selection, Trajectory, UpdatingSelection
from trajet.trajectory.transforms import MakeSteps, Transformable

__all__ = [
    "MUCH_BYTES",
    "AtomChoice",
    "Block",
    "Cursor",
    "Frame",
    "FrameBatches",
    "FrameChoice",
    "FrameSource",
    "MakeSteps",
    "OpenOptions",
    "Selection",
    "SharedTopologies",
    "Trajectory",
    "Transformable",
    "UpdatingSelection",
    "check_consecutive",
    "describe_file",
    "few_atoms_messages",
    "frame_numbers",
    "from_atomgroup",
    "is_structure",
    "may_have_topology",
    "open",
    "opened",
    "opened_dataset",
    "opened_names",
    "resolve_frames",
    "rounding_of_times",
    "sharing",
    "sharing_universes",
    "whole_digest",
]
