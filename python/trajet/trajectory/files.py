"""`TrajectoryFiles`: the open files of a trajectory, and the transforms of their frames."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md
from trajet._trajet import Reader, SelectionError, StaleIndexError
from trajet.advise.entries import Counts, InputEntry, SecondsBefore, TransformWarnings, WorkerEntry
from trajet.box import Box
from trajet.dataset import AccessLog, Dataset
from trajet.pools.pool import Frames
from trajet.remote import is_url
from trajet.result import transform_warnings
from trajet.startup import import_seconds
from trajet.topology import SidecarUse, Topology
from trajet.trajectory import shared_topologies
from trajet.trajectory.closed import ClosedReader
from trajet.trajectory.consecutive import with_question
from trajet.trajectory.named import opened_hdf5
from trajet.trajectory.reopening import DatasetCall, OpenCall
from trajet.trajectory.steps import Step

if TYPE_CHECKING:
    from trajet.remote.objects import RemoteFile
    from trajet.universes import Universe

# Nanoseconds after which the time of change of a file tells whether it has changed since.
_SETTLED_NS = 2_000_000_000


class TrajectoryFiles(ABC):
    """The open files of a trajectory: names, frames, transforms, readers; see `Trajectory`."""

    def __init__(
        self,
        topology: Path | None,
        reader: Reader,
        *,
        topology_at: Path | None = None,
        objects: "Mapping[Path, RemoteFile] | None" = None,
        dataset: Dataset | None = None,
        t_open: float = 0.0,
        particles: str | None = None,
        sidecar: SidecarUse | None = None,
        call: OpenCall | DatasetCall | None = None,
        time_step: float | None = None,
    ) -> None:
        # Those of a published data set are copies.
        published = None if dataset is None else dataset.path.manifest_url
        self.paths: tuple[Path, ...] = tuple(
            published or segment["path"] for segment in reader.segments()
        )
        self.topology_path = topology
        self.dataset = dataset
        self.t_topology = t_open
        # Name of the particles group that is read from H5MD files; None for the only one.
        self.particles = particles
        # How it is opened again, in another process; None with the topology of a Universe.
        self.call = call
        # Time between frames that was given in place of the times in the files.
        self.time_step = time_step
        # How a sidecar of the topology is used.
        self.sidecar = sidecar or SidecarUse()
        # The topology is read later, perhaps after a change of the working directory; of an object
        # in remote storage a copy is read.
        self.topology_at = topology_at or (None if topology is None else topology.absolute())
        # Open objects in remote storage, by path.
        self.objects = objects or {}
        self._reader = reader
        self._shared_topologies = shared_topologies.current()
        self._topology: Topology | None = None
        # Whether its bonds are those that the trajectory lists, and remarks on these.
        self.has_bonds_of_frames = False
        self._bond_remarks: tuple[str, ...] = ()
        # Atom of the topology of each atom of a frame, and the number of all atoms of the topology,
        # if the files have only some.
        self._chosen: tuple[NDArray[np.int64], int] | None = None
        # Remarks on the order and names of the atoms in files that name them.
        self._order_remarks: tuple[str, ...] = ()
        # A remark on the numbers of residues, once a selection has used them.
        self._residue_remarks: tuple[str, ...] = ()
        self._universe: Universe | None = None
        # Positions and box of frame 0, once a selection needed them.
        self._first: tuple[NDArray[np.float32], Box] | None = None
        # The trajectory without transforms; None for this one, as a cycle would keep files open.
        self._untransformed: Self | None = None
        self.transforms: tuple[Step, ...] = ()
        # Open files of observables, by the numbers of the files.
        self._observables: dict[int, h5md.Observables | None] = {}
        # The working folder may change.
        self._absolute_paths = tuple(path.absolute() for path in self.paths)
        self._access_log: AccessLog | None = None
        if dataset is not None and not dataset.path.objects:
            self._access_log = AccessLog(dataset)
            finalize(self, self._access_log.close)

    def close(self) -> None:
        """Close the files; reading frames is an error from then on.

        Trajectories that were made from this one by transforms keep the files open. Closing is
        optional: files are closed when nothing refers to the trajectory any more.
        """
        if self._access_log is not None:
            self._access_log.close()
        self._reader = cast(Reader, ClosedReader(self.label))
        self._untransformed = None

    @property
    def is_closed(self) -> bool:
        """Whether the trajectory was closed."""
        return isinstance(self._reader, ClosedReader)

    def __bool__(self) -> bool:
        """Return True, also without a frame."""
        return True

    @property
    def untransformed(self) -> Self:
        """The trajectory without transforms."""
        return self._untransformed or self

    @property
    def rotates(self) -> bool:
        """Whether frames are rotated after decoding."""
        return any(
            step.words.get("motion", "translation") != "translation" for step in self.transforms
        )

    def describe_transforms(self, columns: NDArray[np.int64] | None) -> dict[str, object]:
        """Return the report's parameters on the transforms, and on the atoms that they need."""
        if not self.transforms:
            return {}
        return {
            "transforms": [step.words for step in self.transforms],
            "n_atoms_decoded": self._reader.n_decoded(columns),
        }

    def transform_remarks(self, workers: Sequence[TransformWarnings]) -> list[str]:
        """Return remarks on the transforms, given what the workers of a run have counted."""
        remarks = [remark for step in self.transforms for remark in step.remarks]
        # A run of several analyses counts those of all their transforms.
        counts = transform_warnings(workers) if self.transforms else {}
        if counts.get("infinite_molecules", 0):
            remarks.append(
                "molecules that are bonded to their own periodic image were not made whole; their"
                ' centres, which wrapping and nojump with view="toroidal" use, are arbitrary'
            )
        first = counts.get("first_large_step") if self._reader.has_no_jump else None
        if first is not None:
            frame, column = first
            atom = f"atom {self.indices_of(np.array([column]))[0]}"
            remarks.append(
                "jumps may be removed wrongly: steps of more than 0.4 cells have an uncertain"
                f" direction, the first of them leads to frame {frame} ({atom}); "
                + (
                    "the frames were written too rarely to tell"
                    if any(step.words.get("every_frame") for step in self.transforms)
                    else "take all frames between (every_frame=True, --nojump-every-frame), if the"
                    " run skips some; else they were written too rarely to tell"
                )
            )
        return remarks

    @property
    @abstractmethod
    def topology(self) -> Topology:
        """The topology of the atoms."""

    def check_known(self, steps: Sequence[Step], columns: NDArray[np.int64] | None) -> None:
        """Raise an error if atoms are read whose molecules a transform needs and does not know.

        Raises
        ------
        SelectionError
            If there are such atoms.
        """
        for step in steps:
            if step.unknown is None:
                continue
            unknown = step.unknown if columns is None else columns[np.isin(columns, step.unknown)]
            if len(unknown):
                atom = self.topology.atoms.describe(int(self.indices_of(unknown[:1])[0]))
                raise SelectionError(
                    f"{self.label}: bonds of {len(unknown)} atoms are not guessed from distances,"
                    " as no radius is known for them, so that their molecules are not repaired"
                    f" ({step.words['transform']}); the first is {atom}: choose other atoms, or use"
                    " a topology with bonds, such as a TPR, PSF or PRMTOP"
                )

    def reader_for(
        self,
        frames: Frames,
        columns: NDArray[np.int64] | None,
        *,
        compared: Frames | None = None,
        threads: int = 1,
        workers: int = 1,
        call_frames: int | None = None,
        checked: bool = True,
    ) -> Reader:
        """Return the reader of these frames and atoms.

        Jumps are counted from the first of the frames: while frames are read, or by several threads
        before any frame is read.

        Parameters
        ----------
        frames
            The frames that are read, in this order.
        columns
            The atoms; None for all.
        compared
            Frames that are compared with these: jumps are counted from the first of all.
        threads
            Threads of one reader, which hand over to one another.
        workers
            Readers that begin at any of the frames.
        call_frames
            The number of frames that one call reads, in which a long way to a frame could not be
            interrupted; None for calls that can be.
        checked
            Whether it is an error if molecules of these atoms cannot be repaired; see `Step`.

        Raises
        ------
        SelectionError
            If they cannot.
        """
        if checked:
            self.check_known(self.transforms, columns)
        for_run = partial(
            self._reader.for_run,
            compared=compared,
            threads=threads,
            workers=workers,
            call_frames=call_frames,
        )
        with self.stale_index_removed():
            return for_run(frames, columns)

    def run_before(self, number: int) -> NDArray[np.int64] | None:
        """Return the frames through which jumps are counted up to a frame: all from frame 0.

        None if jumps are not removed.
        """
        if not self._reader.has_no_jump:
            return None
        last = number + self.n_frames if number < 0 else number
        return np.arange(last + 1)

    def hdf5_at(self, path: Path) -> h5md.HdfFile:
        """Return what h5py opens: the path of a file, or an object in remote storage."""
        return opened_hdf5(path, self.objects)

    @property
    def absolute_paths(self) -> tuple[Path, ...]:
        """The files, in the order of their frames, whatever the working folder is now."""
        return self._absolute_paths

    @property
    def path(self) -> Path:
        """The first or only file."""
        return self.paths[0]

    @property
    def label(self) -> str:
        """Name in messages: the data set, or the first file and the number of files."""
        if self.dataset is not None:
            return self.dataset.path.label
        if len(self.paths) == 1:
            return str(self.path)
        return f"{self.path} … ({len(self.paths)} files)"

    @property
    def stem(self) -> str:
        """Base name for files made from the trajectory."""
        return self.path.stem if self.dataset is None else self.dataset.path.name

    @property
    def tiers(self) -> tuple[str, ...]:
        """Tiers of the store that holds the data set, in the order of `bytes_by_tier`."""
        return () if self.dataset is None else self.dataset.tiers

    @property
    def tags(self) -> tuple[str, ...]:
        """Open tags of the data set, in the order of `bytes_by_tag`."""
        return () if self.dataset is None else tuple(self.dataset.tags_of(None))

    @property
    def reader(self) -> Reader:
        """The native reader."""
        return self._reader

    @property
    def format(self) -> str:
        """Format of the files: "XTC", "NCDF", "H5MD", …; several are listed: "XTC, TRR"."""
        return self._reader.format

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return self._reader.n_frames

    @property
    def n_atoms(self) -> int:
        """Number of atoms of every frame."""
        return self._reader.n_atoms

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of all frames, `(n_frames,)`, float64, ps; no positions are decoded.

        If the index was loaded from a sidecar file, its times are compared once with the headers of
        all frames, since frames may be chosen by them.

        Raises
        ------
        StaleIndexError
            If the index does not match the frames; the index file is removed.
        """
        with self.stale_index_removed():
            self._reader.check_times(_trajet.available_threads())
        return self._reader.times()

    @property
    def steps(self) -> NDArray[np.int64]:
        """Integration steps of all frames, `(n_frames,)`, int64."""
        return self._reader.steps()

    @property
    def index_state(self) -> str:
        """Origin of the index: "built", "loaded", "extended" or, by arithmetic, "computed".

        "published" if it was read from a file beside an object in remote storage.

        With several files, the origin that took most work.
        """
        return self._reader.index_state

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the files, such as headers that contradict the frames.

        Also remarks on times that are not stated, overlap or step back, and on dropped frames; that
        on times of several files asks whether they are replicas, if they look so. Once the topology
        was read, also on what is not certain there.
        """
        of_files = (*self._reader.remarks, *self.time_remarks)
        of_topology = (*self._topology_remarks(of_files), *self._residue_remarks)
        if len(self.paths) > 1 and self.dataset is None:
            of_files = with_question(self, of_files)
        return (*of_files, *self._order_remarks, *of_topology, *self._bond_remarks)

    def _topology_remarks(self, of_files: Sequence[str]) -> list[str]:
        """Return remarks on the topology, without those on a file that is a trajectory as well."""
        if self._topology is None or self._topology.path is None:
            return []
        warnings = self._topology.native.warnings
        if self.topology_at in self._absolute_paths or self.topology_path in self.paths:
            warnings = [text for text in warnings if not any(text in one for one in of_files)]
        return [f"{self._topology.path}: {text}" for text in warnings]

    @property
    def copies_rows(self) -> bool:
        """Whether frames have the times in their files, and each file's first ones are kept.

        Other rows of H5MD files can be copied along with the frames then.
        """
        begin = 0
        for file, segment in enumerate(self._reader.segments()):
            n_kept = segment["n_frames"] - segment["dropped_frames"]
            for frame in {0, n_kept - 1} if n_kept else set():
                if self._reader.place(begin + frame)[:2] != (file, frame):
                    return False
            begin += n_kept
        return self.time_step is None

    @property
    def time_remarks(self) -> tuple[str, ...]:
        """Remarks on times that the files do not state, for what uses times."""
        # A single frame has no time between frames.
        return tuple(self._reader.unstated_times) if self.n_frames > 1 else ()

    @property
    def index_path(self) -> Path | None:
        """The index file of the first file; None if the index is kept in memory only."""
        path: Path | None = self._reader.segments()[0]["index_path"]
        return path

    @property
    def _origin(self) -> NDArray[np.int64] | None:
        """Index of each atom in the topology, or None if frames have all atoms."""
        if self._chosen is not None:
            return self._chosen[0]
        return None if self.dataset is None else self.dataset.origin

    @property
    def absent_atoms(self) -> str:
        """Reason why frames lack atoms of the topology, for messages."""
        return "not in the trajectory" if self.dataset is None else "in tags that are not open"

    @property
    def advice_on_absent_atoms(self) -> str:
        """Advice on reading all atoms of a molecule, for messages."""
        if self.dataset is None:
            return "give a trajectory with all atoms of its molecule"
        return "open all tags of its molecule"

    def columns_of(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the indices of atoms in a frame, and which of them belong to an open tag."""
        origin = self._origin
        if origin is None:
            return indices, np.ones(indices.shape, np.bool_)
        columns = np.searchsorted(origin, indices)
        return columns, origin[np.minimum(columns, len(origin) - 1)] == indices

    def indices_of(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices in the topology of atoms given by their indices in a frame."""
        return columns if self._origin is None else self._origin[columns]

    def of_open_atoms(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of one value for each atom of the topology that belong to a frame."""
        return values if self._origin is None else values[self._origin]

    @property
    def n_topology_atoms(self) -> int:
        """Number of atoms of the topology; exceeds `n_atoms` if frames have only some of them."""
        if self._chosen is not None:
            return self._chosen[1]
        return self.n_atoms if self.dataset is None else int(self.dataset.manifest["n_atoms"])

    def count_read(self, columns: NDArray[np.int64] | None, counts: Counts | WorkerEntry) -> None:
        """Count a read of atoms for the access log, if this is a data set of a store."""
        if self._access_log is not None:
            self._access_log.read(columns, counts)

    def record_analysis(
        self, what: str, columns: NDArray[np.int64] | None, counts: Sequence[Counts | WorkerEntry]
    ) -> None:
        """Record an analysis in the access log, if this is a data set of a store."""
        if self._access_log is not None:
            self._access_log.analysed(what, columns, counts)

    @contextlib.contextmanager
    def stale_index_removed(self) -> Iterator[None]:
        """If a loaded index turns out to be stale, remove the index file.

        The error is raised again: frame numbers from that index may have been used already, and a
        result must not mix frames of two versions of a file.
        """
        try:
            yield
        except StaleIndexError as error:
            for segment in self._reader.segments():
                if segment["path"] == error.path and segment["index_path"] is not None:
                    with contextlib.suppress(OSError):
                        segment["index_path"].unlink()
            if is_url(error.path) and "does not match the index" in str(error):
                # The next opening would read a published index again.
                advice = "open it with rebuild_index=True (trajet index --force)"
                fault = StaleIndexError(f"{error}; if it has a published index, {advice}")
                fault.path = error.path
                raise fault from None
            raise

    def before_run(self, t_select: float, t_total: float) -> SecondsBefore:
        """Return the report's entries on the time before a run of `t_total` seconds."""
        t_import, t_topology = import_seconds(), self.t_topology
        return {
            "t_import": t_import,
            "t_topology": t_topology,
            "t_select": t_select,
            "t_command": t_import + t_topology + t_select + t_total,
        }

    def describe_inputs(self) -> list[InputEntry]:
        """Return the report's entries on the trajectory's files and topology."""
        inputs: list[InputEntry] = []
        for segment in self._reader.segments():
            entry = {name: value for name, value in segment.items() if name != "index_path"}
            inputs.append(cast(InputEntry, {**entry, "path": str(segment["path"])}))
        if self.topology_at is not None and self.topology_at.is_file():
            inputs.append({**describe_file(self.topology_at), "path": str(self.topology_path)})
        return inputs


def describe_file(path: Path) -> InputEntry:
    """Return the report's entry on a structure file: path, size and digest."""
    # To hash a whole trajectory takes too long.
    is_whole = not h5md.is_hdf5(path)
    digest = whole_digest(path) if is_whole else _trajet.file_digest(path)
    return {"path": str(path), "size": path.stat().st_size, "digest": digest}


def whole_digest(path: Path) -> str:
    """Return the digest of all bytes of a file."""
    stat = path.stat()
    stamp = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
    # A file that has just changed may change again without another time of change.
    is_settled = time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _SETTLED_NS
    digest = _sha256(path, stamp) if is_settled else _sha256.__wrapped__(path, stamp)
    return f"sha256:{digest}"


@lru_cache(maxsize=64)
def _sha256(path: Path, _stamp: tuple[int, ...]) -> str:
    """Return the digest of a file, which members of an ensemble share."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
