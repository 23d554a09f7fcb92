"""`open`: trajectories of files or of a data set in a store, and of an AtomGroup's Universe."""

import contextlib
import copyreg
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trajet import _trajet, cache, h5md, remote, universes
from trajet._trajet import (
    DEFAULT_CONNECTIONS,
    DEFAULT_REQUEST_SIZE,
    FORMATS,
    FormatError,
    FormatInfo,
    Reader,
    SelectionError,
)
from trajet.box import Box
from trajet.dataset import DatasetPath, find_dataset
from trajet.formats import (
    OF_ATOMS,
    OF_TOPOLOGIES,
    STRUCTURE_SUFFIXES,
    WRITTEN_SUFFIXES,
    FormatOptions,
    begins_as,
    formats_of,
    hdf5_options,
    is_dump,
    matching_files,
)
from trajet.hints import hint_on_format
from trajet.messages import Code, Message, emit
from trajet.pools.pool import Pool
from trajet.pools.rank_placeholder import root_only
from trajet.remote import StorageOptions
from trajet.startup import Stopwatch
from trajet.structure_files import COMPRESSED
from trajet.topology import SidecarUse
from trajet.trajectory.atom_index import AtomChoice, AtomIndex, index_of_some
from trajet.trajectory.clock import rounding_of_times
from trajet.trajectory.files import OpenFiles, describe_file, opened_hdf5
from trajet.trajectory.options import DatasetCall, OpenCall, OpenOptions
from trajet.trajectory.source import FrameSource, Step
from trajet.trajectory.structure import LazyTopology, TopologyFile, in_order
from trajet.trajectory.trajectory import Selection, Trajectory
from trajet.trajectory.transforms import from_origin

if TYPE_CHECKING:
    from trajet.remote.objects import RemoteFile
    from trajet.universes import AtomGroup

# The name of a file or of an object in remote storage.
TrajectoryName: TypeAlias = str | os.PathLike[str] | tuple[object, str]

# What follows the path in the native error on a file of an unknown format.
_UNKNOWN_FORMAT = ": frame 0 at byte 0: unrecognised trajectory format"
# First bytes of HDF5 files.
_HDF5 = b"\x89HDF\r\n\x1a\n"
# The trajectories of Universes, by the id of the Universe, while several analyses share them.
_shared: ContextVar[dict[int, Trajectory] | None] = ContextVar("shared", default=None)


@root_only("trajectory")
def open(
    topology: TrajectoryName | None,
    *trajectories: TrajectoryName,
    continuous: bool = False,
    allow_truncated_tail: bool = False,
    request_size: int = DEFAULT_REQUEST_SIZE,
    sidecar: bool = True,
    rebuild_index: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    format_options: FormatOptions | None = None,
    atoms: AtomChoice | None = None,
    time_step: float | None = None,
    pool: Pool | None = None,
    storage_options: StorageOptions | None = None,
    allow_http: bool = False,
    connections: int = DEFAULT_CONNECTIONS,
    merge_gap: int | None = None,
) -> Trajectory:
    """Open a trajectory.

    Parameters
    ----------
    topology
        A PSF, PDB, GRO, TPR, PRMTOP, mmCIF or XYZ file, a data file of LAMMPS, an H5MD file in
        which GROMACS (from 2026 on) has written its topology, or another file that MDAnalysis
        reads; None to read coordinates only. It is read when atoms are first selected, or to
        compare it with PDB and GRO trajectories, whose atoms are put into its order. Without
        trajectories: a PDB, GRO or XYZ file or a dump of LAMMPS, of one frame or several, which is
        its own topology, or an H5MD file of GROMACS from 2026 on; or a data set of a store,
        `"STORE/name"`, or some of its tags, `"STORE/name@protein,lipid"`. With tags, the trajectory
        has only the atoms of these tags, in their original order; atom indices stay those of the
        original.
    *trajectories
        One XTC, TRR, DCD, Amber NetCDF, H5MD or mdtraj HDF5 file, a PDB, GRO or XYZ file, a restart
        file of Amber, a dump of LAMMPS, or several files of the same atoms, in any of these
        formats. Several files are read as one trajectory: frames are numbered consecutively in the
        order of the files; times and steps are those of the files. Frames of PDB and GRO files have
        the times that GROMACS writes into titles (`t= …`), else 0, 1, 2, … ps. Files may also be
        objects in remote storage: URLs (`"https://…"`, `"s3://bucket/key"`, `"gs://…"`,
        `"az://…"`), or `(store, path)` with a store of obstore or an fsspec filesystem. Of these,
        the bytes of the wanted atoms and frames are read (docs/remote.md). A topology may be an
        object, too; it is downloaded to the cache folder. In names of files and in buckets, `*` and
        `[…]` are wildcards: what matches is in natural order, dumps of LAMMPS in that of their
        steps.
    continuous
        Whether to drop frames that overlap with a later file, after a simulation was continued
        (`gmx mdrun -noappend`) or restarted. Files are sorted by their first times; from the first
        time of a later file on, the frames of the later file are kept. Frames that the same file
        repeats later are dropped likewise. `messages` give the number of dropped frames. By default
        all frames are kept, and `messages` say where times overlap or step back.
    allow_truncated_tail
        Whether to read files that end inside a frame (of a simulation that still runs) without
        their incomplete last frame. The report of every analysis records it.
    request_size
        Bytes per read request. Larger requests (8 MiB) suit parallel and network file systems.
    sidecar
        Whether to read and keep the index of frames in a hidden file beside the trajectory, or in
        the cache folder, and likewise the topology if only MDAnalysis reads its format. An index
        file that belongs to another user, who is neither root nor the owner of the trajectory, is
        ignored; `messages` say so.
    rebuild_index
        Build the index even if a valid one exists, and read the topology anew.
    threads
        Threads that build the index of a large file; None for all cores.
    progress
        Called with bytes done and in total while an index is built.
    format_options
        Options of single formats, by format and option:
        `{"h5md": {"particles": "protein"}}` for the particles group of H5MD files that have
        several; `{"h5md": {"units": {"position": "nm", "time": "ps"}}}` for units of H5MD files
        that do not name them, also of "velocity" and "force"; `{"dcd": {"cell": "matrix"}}` for the
        layout of the unit cells of DCD files: "matrix" for the symmetric matrix of CHARMM, "angles"
        for lengths and angles. By default the version in the header of a DCD file decides, or its
        first frame if the version does not; files that contradict themselves need the option.
        `{"lammps": {"units": "real", "md_step": 0.5}}` for LAMMPS dumps: `units` of the run, which
        lengths are taken as Å without, and velocities, forces and times are not read without; the
        time of a step in these units (command `timestep`), for dumps without times; and
        `"positions"`, "wrapped" or "unwrapped" (with image flags, if need be), where "auto" takes
        the first of x, xs, xu and xsu that there is.
        `{"lammps": {"atom_style": "full", "types": {1: "Li"}}}` for the atom style of a data file
        that does not name it, and for elements of types that masses do not tell.
        `{"xyz": {"units": {"time": "fs", "velocity": "Angstrom/fs", "force": "eV/Angstrom"}}}` for
        units that XYZ files have by no convention; "types" as of LAMMPS.
        Copies and stores record it.
    atoms
        The atoms of the topology that the files have, where they have only some of them
        (`compressed-x-grps` of GROMACS): selection text, "protein", or indices, in the order of
        the topology. Indices of atoms stay those of the topology.
    time_step
        Time between neighbouring frames, ps, in place of the times in the files, for files that
        have none or wrong ones: frame k has the time k × `time_step`, or (k + s) × `time_step` if
        the integration steps of the frames begin s steps between frames later than 0. Files are
        numbered on, one after the other. With `continuous`, repeated frames are dropped first, by
        the times in the files. Copies and stores record it.
    pool
        A pool whose processes all run this script (`MpiPool`): rank 0 opens the trajectory. The
        other ranks get a placeholder, which `select` and the analyses accept.
    storage_options
        Options of the stores of URLs, as obstore takes them: `{"skip_signature": True}`,
        `{"endpoint": …}`; `"client_options"` for headers and timeouts. Credentials may also be in
        the environment. Secrets are shown nowhere, and sent to no other machine.
    allow_http
        Whether `http://`, without encryption, is read.
    connections
        Requests to remote storage that wait at the same time, each in a thread of its own.
    merge_gap
        Largest gap between wanted ranges of an object, bytes, that is read along, as another
        request would take longer; None to decide by the latency and rate of earlier requests.

    Returns
    -------
    Trajectory

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        If the operating system cannot open a file, or a store an object.
    RemoteError
        If a store does not answer, or sends no ranges of bytes.
    TruncatedError
        If a file ends inside a frame.
    FormatError
        If a file is empty, of another format or corrupt; if the number of atoms changes within a
        file or between files; if the cells of a DCD file contradict its header; or if `continuous`
        is set for files that state no times.
    StoreError
        If the store has no such data set, or the data set no such tag.
    SelectionError
        If `atoms` has another number of atoms than the files, or a PDB or GRO trajectory has the
        names of the topology in an order that is not unique.
    MissingPackageError
        If a file is HDF5 and h5py is not installed, or a file is remote and obstore is not.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> traj
    <Trajectory adk.xtc: 98 frames of 3341 atoms>
    """
    options = OpenOptions(
        continuous=continuous,
        allow_truncated_tail=allow_truncated_tail,
        request_size=request_size,
        sidecar=sidecar,
        rebuild_index=rebuild_index,
        threads=threads,
        format_options=format_options,
        atoms=atoms,
        time_step=time_step,
        storage_options=storage_options,
        allow_http=allow_http,
        connections=connections,
        merge_gap=merge_gap,
    )
    made = opened(topology, trajectories, options, progress)
    files = made.source.files
    if messages := (*files.messages(), *files.order_messages):
        emit(messages)
    return made


def opened(
    topology: TrajectoryName | None,
    trajectories: Sequence[TrajectoryName],
    options: OpenOptions,
    progress: Callable[[int, int], None] | None = None,
) -> Trajectory:
    """Open a trajectory, as `open` does."""
    watch = Stopwatch()
    if not trajectories and topology is not None and may_have_topology(topology):
        trajectories = (topology,)
    if not trajectories:
        return opened_dataset(_dataset(topology, options), options)
    _check_paths(trajectories)
    names = (topology, *trajectories)
    if options.storage_options is not None and not any(map(remote.is_object, names)):
        raise ValueError("storage_options= is for objects in remote storage: no file is one")
    named = opened_names(
        topology, trajectories, options.storage_options, allow_http=options.allow_http
    )
    paths, objects = named.paths, named.objects
    hdf5 = [path for path in paths if is_hdf5(path, objects)]
    format_options, as_text = options.format_options or {}, options.format_options_text
    of_hdf5 = hdf5_options(format_options)
    described = {
        path: h5md.describe(
            opened_hdf5(path, objects),
            **of_hdf5,
            allow_truncated_tail=options.allow_truncated_tail,
        )
        for path in hdf5
    }
    _check_numbers(described)
    threads = options.threads or _trajet.available_threads()
    with _with_hint_on_format(named.topology):
        reader = Reader(
            paths,
            continuous=options.continuous,
            allow_truncated_tail=options.allow_truncated_tail,
            request_size=options.request_size,
            sidecar=options.sidecar,
            rebuild_index=options.rebuild_index,
            cache=cache.folder(),
            threads=max(threads, options.connections if objects else 1),
            progress=progress,
            described=described,
            format_options=as_text,
            time_step=options.time_step,
            objects=objects,
            connections=options.connections,
            merge_gap=options.merge_gap,
        )
    if format_options:
        _check_used(format_options, reader, paths[0], has_topology=named.topology is not None)
    first, particles = paths[0], of_hdf5.get("particles")
    file = None
    if named.topology is not None and named.topology_at is not None:
        sidecar = SidecarUse(is_used=options.sidecar, rebuild=options.rebuild_index)
        if named.topology not in objects and not named.topology_at.exists():
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(named.topology))
        file = TopologyFile(
            named.topology,
            named.topology_at,
            sidecar,
            particles,
            objects,
            as_text,
        )
    files = OpenFiles(reader, objects=objects, particles=particles, time_step=options.time_step)
    index, found = AtomIndex(files.label, reader.n_atoms, reader.n_atoms), None
    if options.atoms is not None:
        found = LazyTopology(file, index, first).checked_file().read()
        index = index_of_some(found, options.atoms, files.label, reader.n_atoms)
    first_format = reader.segments()[0]["format"]
    is_hdf5_first = first_format == h5md.HDF5.name
    structure = LazyTopology(
        file,
        index,
        first,
        listing_bonds=files.hdf5_at(files.absolute_paths[0]) if is_hdf5_first else None,
        seconds=watch.seconds(),
        topology=found,
    )
    files.reader, order_messages = in_order(reader, structure)
    if first_format in OF_ATOMS:
        order_messages += _unread_frames(named, FORMATS[first_format])
    files.order_messages = tuple(order_messages)
    call = OpenCall(
        None if named.topology is None else named.topology.absolute(),
        tuple([path.absolute() for path in paths]),
        options.to_open_again(),
    )
    return Trajectory(FrameSource(files, structure, call))


def _unread_frames(named: "NamedFiles", info: FormatInfo) -> list[Message]:
    """Return a warning if the topology is one of a series of dumps or XYZ files."""
    path, at = named.topology, named.topology_at
    if path is None or at is None or path in named.paths:
        return []
    if not begins_as(info, at) and at.suffix.lower() not in info.suffixes:
        return []
    fix = f"tj.open({str(path)!r}, {str(path)!r}, …)"
    text = f"frames of {path} are not read, as it is given as the topology"
    return [Message(Code.TOPOLOGY_FRAMES, text, f"to read them too, write {fix}")]


def opened_dataset(place: DatasetPath, options: OpenOptions | None = None) -> Trajectory:
    """Open a data set of a store; of the options, `request_size` and `time_step` are used."""
    watch = Stopwatch()
    options = options or OpenOptions()
    dataset, reader = place.open(request_size=options.request_size)
    if options.time_step is not None:
        reader = reader.with_time_step(options.time_step)
    files = OpenFiles(reader, dataset=dataset, time_step=options.time_step)
    n_topology_atoms = int(dataset.manifest["n_atoms"])
    index = AtomIndex(files.label, reader.n_atoms, n_topology_atoms, dataset=dataset)
    # A store has no files but its own.
    sidecar = SidecarUse(beside=False)
    file = TopologyFile(dataset.topology, dataset.topology.absolute(), sidecar)
    structure = LazyTopology(file, index, files.path, seconds=watch.seconds())
    return Trajectory(FrameSource(files, structure, DatasetCall(place, options.to_open_again())))


@dataclass(frozen=True)
class NamedFiles:
    """Files and open objects.

    Attributes
    ----------
    topology
        The topology; None if there is none.
    topology_at
        Where it is read: the file, or a copy of the object, but an HDF5 object itself; None if
        there is none.
    paths
        The trajectory's files.
    objects
        The objects among them, by path.
    """

    topology: Path | None
    topology_at: Path | None
    paths: list[Path]
    objects: "Mapping[Path, RemoteFile]" = field(repr=False)


def opened_names(
    topology: TrajectoryName | None,
    trajectories: Sequence[TrajectoryName],
    options: StorageOptions | None,
    *,
    allow_http: bool,
) -> NamedFiles:
    """Open the objects among topology and trajectories, and download the topology if it is one.

    The name of a trajectory may have wildcards, `run.*.xtc` or `s3://bucket/run.*.xtc`.

    Raises
    ------
    FileNotFoundError, PermissionError, RemoteError, MissingPackageError, ValueError
        As `trajet.remote.objects.open_objects`, `trajet.remote.downloads.downloaded` and
        `trajet.remote.listing.matching`.
    """
    trajectories = _expanded(trajectories, options, allow_http=allow_http)
    given = trajectories if topology is None else (topology, *trajectories)
    of_objects = [name for name in given if remote.is_object(name)]
    objects: dict[Path, RemoteFile] = {}
    paths: list[Path] = []
    copy: Path | None = None
    if of_objects:
        from trajet.remote.objects import open_objects

        # The topology may be the trajectory, too.
        once = {_identity(name): name for name in of_objects}
        opened = open_objects(list(once.values()), options, allow_http=allow_http)
        _name_apart(opened)
        known = dict(zip(once, opened, strict=True))
    for name in given:
        if isinstance(name, tuple) or remote.is_url(name):
            found = known[_identity(name)]
            objects[found.path] = found
            paths.append(found.path)
        else:
            paths.append(Path(name))
    if topology is None:
        return NamedFiles(None, None, paths, objects)
    first, *rest = paths
    if first in objects and not is_hdf5(first, objects):
        from trajet.remote.downloads import downloaded

        copy = downloaded(objects[first], cache.folder())
        if first not in rest:
            del objects[first]
    return NamedFiles(first, copy or first.absolute(), rest, objects)


def _identity(name: remote.ObjectName) -> object:
    """Return a value that is equal for names of the same object in the same store."""
    return (id(name[0]), name[1]) if isinstance(name, tuple) else os.fspath(name)


def _name_apart(objects: "Sequence[RemoteFile]") -> None:
    """Give objects with equal paths numbers: paths name no stores of callers, nor users."""
    taken: set[Path] = set()
    for found in objects:
        scheme, divider, rest = str(found.path).partition("://")
        number = 1
        while found.path in taken:
            number += 1
            numbered = f"{scheme}+{number}{divider}{rest}"
            found.path = remote.ObjectPath(numbered, is_complete=False)
        taken.add(found.path)


def is_hdf5(path: Path, objects: "Mapping[Path, RemoteFile]") -> bool:
    """Return whether a file, or an object, is HDF5, by its first bytes."""
    if path not in objects:
        return h5md.is_hdf5(path)
    from trajet.remote.ranges import read_range

    found = objects[path]
    return read_range(found, 0, min(len(_HDF5), found.size)) == _HDF5


def _expanded(
    names: Sequence[TrajectoryName], options: StorageOptions | None, *, allow_http: bool
) -> list[TrajectoryName]:
    """Return names with the files or objects that match a pattern in its place."""
    found: list[TrajectoryName] = []
    for name in names:
        if isinstance(name, tuple):
            found.append(name)
            continue
        if not remote.is_url(name):
            found += matching_files(os.fspath(name))
            continue
        from trajet.remote.listing import is_pattern, matching

        if is_pattern(name):
            found += matching(os.fspath(name), options, allow_http=allow_http)
        else:
            found.append(name)
    return found


def _dataset(topology: TrajectoryName | None, options: OpenOptions) -> DatasetPath:
    """Return the data set that is named in place of a topology.

    Raises
    ------
    TypeError
        If it is none: the trajectory is missing.
    ValueError
        If an option is given that applies when a data set is added.
    """
    found = None
    if remote.is_published(topology):
        from trajet.remote.published import PublishedDataset

        published = PublishedDataset.at(
            topology, options.storage_options, allow_http=options.allow_http
        )
        folder, name, parts = published.copied(cache.folder())
        found = DatasetPath(
            folder,
            name,
            published.tags,
            published.shown,
            objects=parts,
            connections=options.connections,
            merge_gap=options.merge_gap,
        )
    elif isinstance(topology, (str, os.PathLike)):
        found = find_dataset(topology)
    if found is None:
        if isinstance(topology, (str, os.PathLike)) and Path(topology).suffix.lower() in COMPRESSED:
            raise TypeError(
                f"{topology}: a compressed file can be a topology,"
                f" open({str(topology)!r}, 'traj.xtc'), but no trajectory: uncompress it first"
            )
        raise TypeError(
            "give the topology first, then the trajectory: open('top.psf', 'traj.xtc');"
            " give None for no topology; PDB and GRO files, H5MD files of GROMACS from 2026"
            " on, and data sets of a store include their topology"
        )
    if options.set_when_stored():
        raise ValueError(
            f"{found.label}: these options apply when a data set is added, not when it is"
            " opened: leave continuous=, allow_truncated_tail=, format_options= and atoms= out"
        )
    return found


@contextlib.contextmanager
def _with_hint_on_format(topology: Path | None) -> Iterator[None]:
    """Add to the error on a file of an unknown format what converts it, or the right order."""
    try:
        yield
    except FormatError as error:
        path, is_unknown, _ = str(error).partition(_UNKNOWN_FORMAT)
        if topology is not None and topology.suffix.lower() in WRITTEN_SUFFIXES and is_unknown:
            raise FormatError(
                f"{error}; or give the files in the other order: tj.open({path!r},"
                f" {str(topology)!r})"
            ) from None
        if is_unknown and (hint := hint_on_format(path)):
            raise FormatError(f"{error}{hint}") from None
        raise


def _check_used(
    chosen: Mapping[str, object], reader: Reader, path: Path, *, has_topology: bool
) -> None:
    """Raise an error for options of a format that none of the files has."""
    opened = {info.name for info in formats_of(reader.format)}
    for name in chosen:
        # The format of the topology is known when it is read.
        if name.upper() not in opened and not (has_topology and name in OF_TOPOLOGIES):
            raise ValueError(
                f"{path}: none of the files is {name.upper()}: leave its options out of"
                " format_options="
            )


def _check_numbers(described: Mapping[Path, "_trajet.FileLayout"]) -> None:
    """Refuse H5MD files that number their atoms (`id`) in different ways."""
    numbered = [
        (path, numbers)
        for path, layout in described.items()
        if (numbers := layout["atom_numbers"]) is not None
    ]
    for path, numbers in numbered[1:]:
        if not np.array_equal(numbers, numbered[0][1]):
            raise FormatError(
                f"{path}: its atoms have other numbers (id) than those of {numbered[0][0]}: files"
                " that are one trajectory hold the same atoms, in the same order"
            )


def _check_paths(trajectories: Sequence[TrajectoryName]) -> None:
    """Raise an error for a trajectory that is no path, or that of a data set."""
    for path in trajectories:
        if remote.is_object(path):
            continue
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(
                f"a trajectory must be a path, not {path!r}: give several as open(topology, *files)"
            )
        if Path(path).suffix.lower() == ".pqr":
            # Its columns are not those of PDB files, which begin alike.
            raise FormatError(
                f"{path}: a PQR file is read as a topology, and holds one structure: write"
                f" tj.open({os.fspath(path)!r}, 'traj.xtc')"
            )
        if find_dataset(path) is not None:
            raise ValueError(
                f"{path}: is a data set of a store, which includes its topology: use"
                f" open({os.fspath(path)!r})"
            )


def _reduce(source: FrameSource) -> tuple[Callable[..., FrameSource], tuple[object, ...]]:
    """Return what pickle keeps: the call that opened the files, their digests, and the transforms.

    Digests of trajectories and HDF5 files cover size, head and tail; the digest of another topology
    covers the whole file.

    Raises
    ------
    TypeError
        If the topology is that of an MDAnalysis Universe.
    """
    call = source.call
    if call is None:
        raise TypeError(
            f"{source.label}: it cannot be pickled, as its topology is that of a Universe: open its"
            " files with trajet.open"
        )
    _check_complete(call)
    digest = _topology_digest(source)
    return _reopened, (call, _stamps(source), digest, source.transforms)


def _check_complete(call: OpenCall | DatasetCall) -> None:
    """Raise an error for a file that its name alone does not open again."""
    if isinstance(call, DatasetCall) and call.dataset.objects:
        raise TypeError(
            f"{call.dataset.label}: a trajectory of a published data set cannot be pickled: open it"
            " where it is used"
        )
    paths = (call.topology, *call.paths) if isinstance(call, OpenCall) else ()
    for path in paths:
        if isinstance(path, remote.ObjectPath) and not path.is_complete:
            raise TypeError(
                f"{path}: a trajectory cannot be pickled if its URL holds secrets, or it was opened"
                " through a store: open it where it is used, or give a URL and credentials apart"
            )


def _reopened(
    call: OpenCall | DatasetCall,
    stamps: list[tuple[int, str]],
    topology_digest: str | None,
    steps: tuple[Step, ...],
) -> FrameSource:
    """Return the source of the trajectory that was pickled.

    Raises
    ------
    FormatError
        If a file is another one than when the trajectory was pickled.
    """

    def check(path: Path | None, now: object, then: object) -> None:
        if now != then:
            raise FormatError(
                f"{path}: it has changed since the trajectory was pickled: open it again"
            )

    if isinstance(call, DatasetCall):
        made = opened_dataset(call.dataset, call.options).source
    else:
        made = opened(call.topology, call.paths, call.options).source
        check(call.topology, _topology_digest(made), topology_digest)
    for path, now, then in zip(made.files.paths, _stamps(made), stamps, strict=True):
        check(path, now, then)
    return made.transformed(steps) if steps else made


def _stamps(source: FrameSource) -> list[tuple[int, str]]:
    """Return size and digest of each file."""
    return [(segment["size"], segment["digest"]) for segment in source.reader.segments()]


def _topology_digest(source: FrameSource) -> str | None:
    """Return the digest of the topology, if that is a file or a copy of an object."""
    file = source.structure.file
    if source.files.dataset is not None or file is None or not file.at.is_file():
        return None
    return describe_file(file.at)["digest"]


copyreg.pickle(FrameSource, _reduce)


def is_structure(path: TrajectoryName) -> bool:
    """Return whether a file is a trajectory that contains a topology.

    It is opened without another topology, as data sets are. Such are PDB, GRO and XYZ files, by
    their suffix, dumps of LAMMPS, and H5MD files with the topology of GROMACS.
    """
    if isinstance(path, tuple) or remote.is_url(path):
        return remote.suffix_of(path[1] if isinstance(path, tuple) else path) in STRUCTURE_SUFFIXES
    is_known = remote.suffix_of(path) in STRUCTURE_SUFFIXES
    if not is_known:
        is_file = Path(path)
        return is_dump(is_file) or (h5md.is_hdf5(is_file) and h5md.has_topology(is_file))
    return find_dataset(path) is None


def may_have_topology(path: TrajectoryName) -> bool:
    """Return whether a file is a trajectory that may contain a topology; of objects by the suffix.

    It is opened without another topology, as data sets are.
    """
    name = path[1] if isinstance(path, tuple) else path
    is_object = isinstance(path, tuple) or remote.is_url(path)
    return is_structure(path) or (is_object and remote.suffix_of(name) in h5md.HDF5.suffixes)


@contextlib.contextmanager
def sharing_universes() -> Iterator[None]:
    """Open the files of each Universe once: its AtomGroups are selections of one trajectory."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def _has_times_of(opened: Trajectory, group: universes.FromAtomGroup) -> bool:
    """Return whether the frames have the times of a Universe."""
    times = opened.source.reader.times()
    if group.counts_steps:
        step = group.time_step or 1.0
        return bool(np.allclose(times, opened.source.reader.steps() * step, rtol=1e-9, atol=0))
    if times[group.frame] != group.time:
        return False
    # The time of frame 0 is 0 for any time step; steps between later frames may differ.
    if group.time_step is None or group.frame != 0 or len(times) < 2:
        return True
    slack = 1e-5 * abs(group.time_step) + rounding_of_times(opened.source.reader, times[:2]).max()
    return bool(abs(times[1] - times[0] - group.time_step) <= slack)


def _md_steps_apart(dump: Trajectory) -> int:
    """Return the number of integration steps between neighbouring frames of a dump of LAMMPS.

    Raises
    ------
    SelectionError
        If it changes, so that a time step cannot give the times of the Universe.
    """
    apart = np.diff(dump.source.reader.steps())
    if len(apart) and (np.ptp(apart) or apart[0] <= 0):
        raise SelectionError(
            f"this AtomGroup cannot serve as a selection: steps of {dump.label} are not equally"
            " spaced: open it with trajet.open, with units and md_step in"
            ' format_options={"lammps": {"units": "real", "md_step": 2.0}}'
        )
    return int(apart[0]) if len(apart) else 1


def from_atomgroup(atoms: "AtomGroup") -> Selection:
    """Return the atoms of an AtomGroup as a Selection of the file that its Universe reads.

    Raises
    ------
    SelectionError
        If the current frame of the Universe is not what the file holds.
    """
    watch = Stopwatch()
    group = universes.from_atomgroup(atoms)
    shared = _shared.get()
    known = None if shared is None else shared.get(id(group.universe))
    opened = open(group.topology, *group.paths) if known is None else known
    same = (opened.n_atoms, opened.n_frames) == (group.n_atoms, group.n_frames)
    if same and not _has_times_of(opened, group):
        # The Universe was made with dt=..., or MDAnalysis reads the time step otherwise: 1 ps
        # where it reads none.
        step = (group.time_step or 1.0) * (_md_steps_apart(opened) if group.counts_steps else 1)
        opened = open(group.topology, *group.paths, time_step=step)
    if same:
        candidates = [opened]
        if known is None and any(info.holds_origin for info in formats_of(opened.format)):
            # Readers of MDAnalysis give positions from the corner of the cell, or as stored.
            candidates.insert(0, opened._transformed(from_origin))
        for opened in candidates:
            now = opened.source.read([group.frame], group.indices, None)
            same = _has_times_of(opened, group) and np.array_equal(
                now.positions[0], group.positions, equal_nan=True
            )
            if same:
                break
    if not same:
        where = str(group.paths[0].absolute())
        if len(group.paths) > 1:
            where += f" … ({len(group.paths)} files)"
        raise SelectionError(
            f"this AtomGroup cannot serve as a selection: {where} holds other"
            " coordinates or times than its Universe (were positions or units changed, a time"
            " offset given, or did the file or the working folder change since it was loaded?)"
        )
    if known is not None:
        return Selection(opened, group.indices, None, watch.seconds())
    # Further groups are selected in the Universe of this group, which stays alive with it.
    opened = Trajectory(opened.source.of_universe(group.universe, Box.of(now)))
    if shared is not None:
        shared[id(group.universe)] = opened
    return Selection(opened, group.indices, None, watch.seconds())
