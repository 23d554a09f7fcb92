"""`Member`: a trajectory of an ensemble, which is opened when it is needed."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from trajet.dataset import find_dataset
from trajet.formats import FormatOptions
from trajet.members.rows import Key
from trajet.remote import StorageOptions, is_url
from trajet.trajectory import (
    MakeSteps,
    OpenOptions,
    SharedTopologies,
    Trajectory,
    check_consecutive,
    is_structure,
    opened,
    sharing,
)


class MemberOptions(TypedDict, total=False):
    """Options of `trajet.ensemble`: those of `trajet.open`, which describes them."""

    continuous: bool
    allow_truncated_tail: bool
    request_size: int
    sidecar: bool
    rebuild_index: bool
    threads: int | None
    format_options: FormatOptions | None
    atoms: str | None
    time_step: float | None
    storage_options: StorageOptions | None
    allow_http: bool
    connections: int
    merge_gap: int | None


@dataclass(frozen=True)
class Member:
    """A trajectory of an ensemble, with the keys that tell it apart from the others.

    Attributes
    ----------
    keys
        Values by name, such as `{"system": "wt", "replica": 1}`.
    topology
        Path of the topology, or of a data set of a store; None if there is none.
    trajectories
        The trajectory's files, in the order of their frames.
    options
        Options of `trajet.open`.
    is_chained
        Whether several files are read one after the other also if they look like replicas.
    transforms
        Functions that make the transforms of the ensemble for an open trajectory.
    """

    keys: dict[str, Key]
    topology: Path | None
    trajectories: tuple[Path, ...]
    options: OpenOptions = field(repr=False)
    is_chained: bool = field(repr=False)
    _shared: SharedTopologies = field(repr=False, compare=False)
    transforms: tuple[MakeSteps, ...] = field(default=(), repr=False, compare=False)

    @property
    def label(self) -> str:
        """The keys as text: "system=wt, replica=1"."""
        return ", ".join(f"{name}={value}" for name, value in self.keys.items())

    @property
    def topology_key(self) -> Hashable:
        """Equal for members with equal topologies.

        Members without a topology have the paths of their trajectories, which may hold one.
        """
        if self.topology is None:
            return self.trajectories
        return self._shared.key_of(self.topology)

    def open(self) -> Trajectory:
        """Open the files, with the transforms of the ensemble; the caller closes them.

        Equal topologies of an ensemble are parsed once, when one of them is used.

        Raises
        ------
        TrajetError, OSError
            As `trajet.open`.
        SelectionError
            If a transform cannot be made of the topology.

        Examples
        --------
        >>> import trajet as tj
        >>> ens = tj.ensemble([{"topology": "adk.psf", "trajectory": "adk.xtc", "replica": 1}])
        >>> with ens[0].open() as traj:
        ...     len(traj)
        98
        """
        return OpenMember(self).trajectory(self.transforms)

    def open_files(self) -> Trajectory:
        """Open the files, without transforms.

        Raises
        ------
        FormatError
            If several files look like replicas; see `check_consecutive`.
        """
        topology, trajectories = self.topology, self.trajectories
        if topology is None and len(trajectories) == 1:
            (only,) = trajectories
            if find_dataset(only) is not None or is_structure(only):
                topology, trajectories = only, ()
        if topology is not None and not trajectories and not _has_frames(topology):
            raise ValueError(
                f"member {self.label}: {topology} has no frames, and no trajectory is named: name"
                " it as `trajectory` (a column of a table, an entry of a plan)"
            )
        options = self.options.for_names((topology, *trajectories))
        with sharing(self._shared):
            made = opened(topology, trajectories, options)
        if not (self.is_chained or options.continuous):
            try:
                check_consecutive(made.source.files)
            except BaseException:
                made.close()
                raise
        return made


class OpenMember:
    """The open files of a member, whose selections may have different transforms.

    Attributes
    ----------
    member
        The member.
    files
        Its trajectory, without transforms.
    """

    def __init__(self, member: Member) -> None:
        self.member = member
        self.files = member.open_files()
        self._transformed: dict[tuple[MakeSteps, ...], Trajectory] = {(): self.files}

    def trajectory(self, transforms: tuple[MakeSteps, ...]) -> Trajectory:
        """Return the trajectory with transforms; with the same ones it is the same object."""
        if transforms not in self._transformed:
            before = self.trajectory(transforms[:-1])
            self._transformed[transforms] = before._transformed(transforms[-1])
        return self._transformed[transforms]

    def close(self) -> None:
        """Close the files."""
        for trajectory in self._transformed.values():
            trajectory.close()


def _has_frames(topology: Path) -> bool:
    """Return whether `trajet.open` takes a topology without a trajectory."""
    return is_url(topology) or find_dataset(topology) is not None or is_structure(topology)
