"""`Store`: data sets that are divided by tags, and operations on them."""

import contextlib
import errno
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from trajet import _trajet, h5md, output, universes
from trajet._trajet import OutputError, StoreError
from trajet.box import Box
from trajet.conversion import Conversion, convert
from trajet.dataset import ACCESS_LOG, SETTINGS, DatasetPath
from trajet.pools.pool import Progress
from trajet.pools.shared import folder_in
from trajet.remote import ObjectName, StorageOptions, is_url, shown
from trajet.store import access_log, link_folder
from trajet.store.access_log import Statistics
from trajet.store.entry import Divided, Entry, Original, Published, entry_of, originals_of
from trajet.store.profile import EXACT, HDF5, Profile, Tag, Tier
from trajet.store.tag_atoms import TagAtoms, assign_atoms, omitted_tags
from trajet.topology import write_structure
from trajet.trajectory import (
    DEFAULT_CONNECTIONS,
    DEFAULT_REQUEST_SIZE,
    FrameChoice,
    Selection,
    Trajectory,
)

# Why objects in remote storage are not divided.
NO_OBJECTS = (
    "is in remote storage, and a store divides files: copy it first (trajet convert URL FILE)"
)
# Numbers on a line of GROMACS' index files.
_NDX_WIDTH = 15
# Å; larger coordinates do not fit into the eight characters of GRO, which has nm.
_GRO_LIMIT = 9999.0
# Least threads of a mount: some of them wait for storage.
_LEAST_ANSWERS = 8
_LOG = logging.getLogger(__name__)


class Store:
    """A folder of trajectories that are divided by tags, each tag on a storage tier of its own.

    Parameters
    ----------
    folder
        Folder of the store.
    create
        Whether to create the store, if there is none, when the first data set is added.

    Raises
    ------
    StoreError
        If there is no store, or one of a later version.

    Notes
    -----
    In all methods, `name` is the name of a data set: letters, digits, `.`, `_`, `-`. `threads` is
    None for all cores. `progress` is called with the amount done and in total: bytes for `move` and
    `verify`, otherwise frames. An unknown data set, tag or tier is a StoreError, which lists the
    existing ones.

    Examples
    --------
    >>> import trajet as tj
    >>> store = tj.Store("store", create=True)
    >>> store.add("adk", tj.open("adk.psf", "adk.xtc")).n_frames
    98
    >>> store.list()
    ('adk',)
    >>> store.open("adk", tags=["protein"])
    <Trajectory store/adk@protein: 98 frames of 3341 atoms>
    """

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = False) -> None:
        if is_url(folder):
            raise StoreError(
                f"{shown(folder)}: data sets are read and not changed there: change a store of this"
                " machine, and publish its data sets (trajet store publish)"
            )
        self.folder = Path(folder)
        self._absolute = self.folder.absolute()
        self._create = create
        if not create:
            _ = self._native

    def __repr__(self) -> str:
        """Return the folder and the number of data sets."""
        return f"<Store {self.folder}: {len(self.list())} data sets>"

    @cached_property
    def _native(self) -> _trajet.Store:
        return _trajet.Store(self._absolute, create=self._create, hdf5=h5md.write_described)

    @property
    def _is_there(self) -> bool:
        return not self._create or (self._absolute / SETTINGS).exists()

    @property
    def tiers(self) -> dict[str, Tier]:
        """The tiers of the store by name."""
        if not self._is_there:
            return {}
        return {
            name: Tier(name, Path(tier["folder"]), tier["limit"], tier["rank"])
            for name, tier in json.loads(self._native.tiers()).items()
        }

    def add(
        self,
        name: str,
        trajectory: Trajectory,
        *,
        profile: Profile | str | os.PathLike[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Divided:
        """Divide a trajectory by tags and add it as a data set.

        Each frame is read once. Beside the files of each tag, its structure (GRO, at frame 0) and
        the numbers of its atoms in the original (a group of a GROMACS index file, from 1) are
        written. After an error the data set does not exist, and the trajectory is unchanged.

        Parameters
        ----------
        trajectory
            An XTC, TRR, DCD, Amber NetCDF or H5MD trajectory, opened with a topology.
        profile
            Tiers and tags: a TOML file, or a Profile; None for the built-in profile.

        Returns
        -------
        Divided
            The number of frames, and remarks.

        Raises
        ------
        StoreError
            If the data set exists, the profile does not match the system (an atom in two tags or in
            none, a tag without atoms, …), or a tier is missing, full or cannot be written.
        OutputError
            If the format of a tag that is not lossy cannot hold a field of the trajectory.
        MissingPackageError
            If a tag needs H5MD, and h5py is not installed.
        FormatError, FrameError, SelectionError
            If a frame is corrupt, or a selection is invalid.
        TypeError
            If `trajectory` is not a Trajectory.

        Examples
        --------
        >>> import trajet as tj
        >>> traj = tj.open("adk.psf", "adk.xtc")
        >>> tj.Store("other", create=True).add("adk", traj)
        Divided(n_frames=98, remarks=())
        """
        _check_is_trajectory(trajectory)
        if trajectory.topology_path is None:
            raise StoreError(
                f"{trajectory.label}: was opened without a topology, which tags need: give one to"
                " open()"
            )
        if trajectory.dataset is not None:
            raise StoreError(f"{trajectory.label}: is a data set already: use retag")
        chosen = self._profile(profile)
        parts = assign_atoms(chosen, trajectory)
        _writable((part.tag for part in parts), trajectory.reader.format)
        left_out = omitted_tags(chosen, parts, trajectory)
        with (
            _structures(parts, trajectory) as structures,
            _other_contents(trajectory) as (other_contents, remarks),
            _topology_file(trajectory) as (topology, left_out_bonds),
        ):
            done = trajectory.with_stale_index_removed(
                self._native.add,
                name,
                trajectory.reader,
                _spec(chosen, parts),
                topology,
                structures,
                threads=threads or _trajet.available_threads(),
                progress=progress,
                other_contents=other_contents,
            )
        return _divided(done, [*left_out, *left_out_bonds, *remarks, *trajectory.remarks])

    def append(
        self,
        name: str,
        trajectory: Trajectory,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Divided:
        """Append the new frames of a trajectory that has grown, or those of further files.

        Parameters
        ----------
        trajectory
            The original files, which have more frames now; or files that continue them.

        Returns
        -------
        Divided
            The number of frames that were added, and remarks.

        Raises
        ------
        StoreError
            If the frames that were added before have changed, or as for `add`.

        Examples
        --------
        >>> import trajet as tj
        >>> store = tj.Store("grown", create=True)
        >>> store.add("adk", tj.open("adk.psf", "adk.xtc")).n_frames
        98
        >>> store.append("adk", tj.open(None, "adk.xtc")).n_frames
        0
        """
        _check_is_trajectory(trajectory)
        entry = self.show(name)
        _writable((kept.tag for kept in entry.tags), entry.format)
        # The same file may have several paths.
        again = trajectory.paths[0].resolve() == entry.source_sizes[0][0].resolve()
        with _other_contents(trajectory) as (other_contents, remarks):
            done = trajectory.with_stale_index_removed(
                self._native.append,
                name,
                trajectory.reader,
                skip=entry.n_frames if again else 0,
                threads=threads or _trajet.available_threads(),
                progress=progress,
                other_contents=other_contents,
            )
        return _divided(done, [*remarks, *trajectory.remarks])

    def retag(
        self,
        name: str,
        profile: Profile | str | os.PathLike[str],
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Divided:
        """Divide a data set again by another profile, from the files in the store.

        Result and errors are those of `add`. After an error the data set is unchanged.

        Parameters
        ----------
        profile
            The new tiers and tags: a TOML file, or a Profile.
        """
        chosen = self._profile(profile)
        opened = self.open(name)
        parts = assign_atoms(chosen, opened)
        _writable((part.tag for part in parts), opened.reader.format)
        with _structures(parts, opened) as structures:
            done = self._native.retag(
                name,
                _spec(chosen, parts),
                structures,
                threads=threads or _trajet.available_threads(),
                progress=progress,
            )
        return _divided(done, [*omitted_tags(chosen, parts, opened), *opened.remarks])

    def open(
        self,
        name: str,
        *,
        tags: Sequence[str] | None = None,
        request_size: int = DEFAULT_REQUEST_SIZE,
    ) -> Trajectory:
        """Open a data set, or the atoms of some of its tags in their original order.

        `tj.open("STORE/name@tag,tag")` does the same.

        Parameters
        ----------
        tags
            Names of tags; None for all. Files of other tags are not read.
        request_size
            As for `tj.open`.

        Returns
        -------
        Trajectory
            The trajectory with the topology of the original, whose atom indices it has.

        Raises
        ------
        StoreError
            If there is no such data set or tag.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a data set must be a str, not {type(name).__name__}")
        if tags is not None and (isinstance(tags, str) or not tags):
            raise TypeError("tags must be a list of names, ['protein', 'lipid'], or None for all")
        wanted = None if tags is None else tuple(tags)
        label = str(self.folder / name) + ("" if wanted is None else "@" + ",".join(wanted))
        place = DatasetPath(self._absolute, name, wanted, label)
        return Trajectory.of_dataset(place, request_size=request_size)

    def get(
        self,
        name: str,
        path: str | os.PathLike[str],
        *,
        tags: Sequence[str] | None = None,
        frames: FrameChoice = None,
        allow_loss: bool = False,
        force: bool = False,
        topology: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Conversion:
        """Write a data set, or some of its tags, to a file.

        All tags of a data set, written in the format of the original, give the original.

        Parameters
        ----------
        path
            Path of the output; its ending selects the format. H5MD originals keep units and
            precision in .h5md outputs, if no tag is lossy.
        tags
            Names of tags; None for all.
        frames, allow_loss, force, topology
            As for `tj.convert`, with the same errors.

        Returns
        -------
        Conversion
            As for `tj.convert`.
        """
        return convert(
            self.open(name, tags=tags),
            path,
            frames=frames,
            allow_loss=allow_loss,
            force=force,
            topology=topology,
            threads=threads,
            progress=progress,
        )

    def move(self, name: str, tag: str, tier: str, *, progress: Progress | None = None) -> None:
        """Move the files of a tag to another tier, without disturbing readers.

        Parameters
        ----------
        tag
            Name or short name of the tag.
        tier
            Name of one of `tiers`.

        Raises
        ------
        StoreError
            If the tier is missing, full or read-only; the tag is not moved then.
        """
        self._native.move(name, tag, tier, progress=progress)

    def publish(
        self,
        name: str,
        url: ObjectName,
        *,
        storage_options: StorageOptions | None = None,
        allow_http: bool = False,
        progress: Progress | None = None,
    ) -> Published:
        """Copy a data set to object storage, where `tj.open(url)` reads its tags by ranges.

        Every byte is compared with its checksum first. Then the files of tags, their indexes and
        the tables are written, and the manifest last: a reader of the URL has the old data set or
        the new one, also if publishing is interrupted. Folders of the original are left out.

        Parameters
        ----------
        url
            URL of the published data set, "s3://bucket/md/adk" (`gs://`, `az://`), or a store of
            obstore and a path. Its last part has neither a dot nor an @.
        storage_options, allow_http
            As for `tj.open`.

        Returns
        -------
        Published
            URL, and the number and bytes of the objects that were written.

        Raises
        ------
        StoreError
            If a file of the data set is damaged, or the data set was changed meanwhile.
        PermissionError, RemoteError
            If an object cannot be written.
        MissingPackageError
            If obstore is not installed.
        ValueError
            If the URL is that of a web server, or its last part cannot be the name of a data set.
        """
        if problems := self.verify(name):
            raise StoreError(f"{name}: is damaged, and was not published: {problems[0]}")
        from trajet.store.publish import publish

        return publish(
            self._native,
            name,
            url,
            options=storage_options,
            allow_http=allow_http,
            progress=progress,
        )

    def download(
        self,
        url: ObjectName,
        name: str | None = None,
        *,
        storage_options: StorageOptions | None = None,
        allow_http: bool = False,
        connections: int = DEFAULT_CONNECTIONS,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Copy a published data set, with all its tags, to this store.

        Every byte is compared with its checksum before the data set exists. If the call fails or is
        interrupted there is no data set, but the copied files stay: the same call goes on with
        them, and `repair` removes them. Tags are on the tiers of this store that have the names of
        the published ones; other tiers become folders in the store.

        Parameters
        ----------
        url
            URL of the published data set, or a store of obstore and a path; see `publish`.
        name
            Name of the data set in this store; None for the one that it was published under.
        storage_options, allow_http, connections
            As for `tj.open`.
        progress
            Called with the number of bytes copied and in total.

        Returns
        -------
        str
            Name of the data set.

        Raises
        ------
        StoreError
            If the data set exists, none is published there, its files are not those of its
            manifest, or a tier is missing or full.
        OutputError
            If a file cannot be written.
        PermissionError, RemoteError
            If an object cannot be read.
        ValueError
            If the URL names tags.
        """
        from trajet.store.receive import receive

        return receive(
            lambda: self._native,
            url,
            name,
            options=storage_options,
            allow_http=allow_http,
            connections=connections,
            threads=threads,
            progress=progress,
        )

    def remove(self, name: str) -> None:
        """Remove a data set with all its files. The original trajectory is kept."""
        self._native.remove(name)

    def verify(
        self,
        name: str | None = None,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> tuple[str, ...]:
        """Compare every byte of a data set, or of all data sets, with its checksum.

        Returns
        -------
        tuple of str
            One line per problem, with its location; empty if there is none.
        """
        names = self.list() if name is None else (name,)
        threads = threads or _trajet.available_threads()
        return tuple(
            problem
            for each in names
            for problem in self._native.verify(each, threads=threads, progress=progress)
        )

    def repair(self) -> tuple[str, ...]:
        """Find tiers that were moved with the store, and remove files that killed runs left.

        Returns
        -------
        tuple of str
            One line per tier or file; empty if there was none.
        """
        return tuple(self._native.repair())

    def show(self, name: str) -> Entry:
        """Return the description of a data set."""
        return entry_of(json.loads(self._native.manifest(name)), self.tiers)

    def originals(self, name: str) -> tuple[Original, ...]:
        """Return the original files of a data set, and whether they have changed.

        Size and digest of head and tail are compared, which reads 8 KiB per file.
        """
        return originals_of(json.loads(self._native.manifest(name)))

    def stats(self, name: str) -> Statistics:
        """Return statistics of a data set: its uses, bytes saved, and advice on tiers."""
        return access_log.statistics(
            self.show(name), self.tiers, self._absolute / name / ACCESS_LOG
        )

    def show_all(self) -> tuple[tuple[Entry, ...], dict[str, Exception]]:
        """Return the descriptions of all data sets, and the errors of unreadable ones.

        Returns
        -------
        tuple of Entry
            Descriptions of the readable data sets.
        dict of str to Exception
            Errors of the others, by name.
        """
        entries: list[Entry] = []
        wrong: dict[str, Exception] = {}
        for name in self.list():
            try:
                entries.append(self.show(name))
            except (StoreError, OSError) as error:
                wrong[name] = error
        return tuple(entries), wrong

    def link(
        self, folder: str | os.PathLike[str], *, say: Callable[[str], None] | None = None
    ) -> tuple[Path, ...]:
        """Create a folder of links to the files of all tags, for programs that know no stores.

        The links are `NAME@TAG.xtc`, `NAME@TAG.gro` and `NAME@TAG.ndx`; after frames were appended,
        the files are numbered: `NAME@TAG-000.xtc`. `NAME.SHORT.tjt` is for VMD's plug-in of trajet.
        Existing links are updated, and links to removed files are removed. Links of data sets that
        cannot be read are kept.

        Parameters
        ----------
        folder
            Folder of the links; it is created if it does not exist.
        say
            Called with an error message for each data set that cannot be read; None logs them as
            warnings.

        Returns
        -------
        tuple of Path
            The links and pointer files.

        Raises
        ------
        OutputError
            If another file has the name of a link, or the folder cannot be written.
        """
        entries, wrong = self.show_all()
        made = link_folder.make(
            Path(folder), self._absolute, entries, self.tiers, skipped=wrong.keys()
        )
        for error in wrong.values():
            (say or _LOG.warning)(str(error))
        return made

    def mount(
        self,
        folder: str | os.PathLike[str],
        *,
        threads: int | None = None,
        ready: Callable[[], None] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """Mount the store on a folder that every program can read, until it is unmounted.

        For each data set `NAME`, the folder shows the whole trajectory (`NAME.xtc`, or with the
        ending of the original's format), each tag (`NAME@TAG.xtc`), positions and cells of both as
        DCD (`NAME.dcd`, `NAME@TAG.dcd`), and topologies. Changes of data sets appear within a
        second; files that are open keep their contents.

        The call returns when the folder was unmounted and all files are closed. Ctrl-C unmounts it
        at once; programs that still read get I/O errors.

        Parameters
        ----------
        folder
            An empty folder.
        threads
            Number of reads that are served at a time; None for the number of cores, at least 8.
        ready
            Called when the folder is mounted.
        say
            Called with a line per error; None logs them as warnings.

        Raises
        ------
        StoreError
            If the folder does not exist, is not empty or in use, or FUSE is not available.
        """
        self._native.mount(
            Path(folder),
            threads=threads or max(_LEAST_ANSWERS, _trajet.available_threads()),
            ready=ready or (lambda: None),
            say=say or _LOG.warning,
        )

    def list(self) -> tuple[str, ...]:
        """Return the names of the data sets."""
        return tuple(self._native.names()) if self._is_there else ()

    def _profile(self, profile: Profile | str | os.PathLike[str] | None) -> Profile:
        """Return a profile; by default the built-in one, on the existing tiers of the store."""
        if isinstance(profile, Profile):
            return profile
        if profile is not None:
            return Profile.load(profile)
        chosen, there = Profile.default(self._absolute), self.tiers
        missing = [tier.name for tier in chosen.tiers if tier.name not in there]
        if there and missing:
            raise StoreError(
                f"{self.folder}: has the tiers {', '.join(there)}, but the built-in profile needs"
                f" {missing[0]}: give a profile (trajet store profile prints one to start from)"
            )
        tiers = tuple(there.get(tier.name, tier) for tier in chosen.tiers)
        return Profile(tiers, chosen.tags, chosen.where, built_in=True)


def _writable(tags: Iterable[Tag], source: str) -> None:
    """Raise an error if h5py is missing for one of the tags, before any work."""
    formats = (HDF5, EXACT) if source == h5md.HDF5.name else (HDF5,)
    for tag in tags:
        if tag.format in formats:
            h5md.h5py(f"tag {tag.name!r} is kept as {HDF5}")


def _check_is_trajectory(given: object) -> None:
    """Raise an error for anything but a Trajectory without transforms."""
    if isinstance(given, Trajectory):
        if given.transforms:
            raise StoreError(
                f"{given.label}: a store takes frames as their files hold them, not transformed"
                " ones: write them to a file first (trajet.convert), or transform what you open"
                " from the store"
            )
        if any(is_url(path) for path in given.paths):
            raise StoreError(f"{given.label}: {NO_OBJECTS}")
        return
    what = f"a {type(given).__name__}"
    if isinstance(given, str | os.PathLike):
        what = f"the path {os.fspath(given)!r}"
    elif isinstance(given, Selection):
        what = "a selection: a store takes all atoms of a trajectory"
    elif universes.is_universe(given) or universes.is_atomgroup(given):
        what = "an object of MDAnalysis: a store takes its files, not arrays in memory"
    raise TypeError(
        f"give a trajectory with its topology, tj.open('top.psf', 'traj.xtc'): this is {what}"
    )


def _divided(done: "_trajet.StoreReport", beside: Sequence[str] = ()) -> Divided:
    return Divided(int(done["n_frames"]), tuple(dict.fromkeys((*done["remarks"], *beside))))


@contextlib.contextmanager
def _other_contents(source: Trajectory) -> Iterator[tuple[list[Path], list[str]]]:
    """Write the other contents of H5MD files to files in a temporary folder.

    Yields these files and remarks on contents that they lack; nothing for other formats.
    """
    if source.reader.format != h5md.HDF5.name:
        yield [], []
        return
    if not source.copies_rows:
        left = sorted(
            {one for path in source.paths for one in h5md.left_out(path, source.particles)}
        )
        why = "as frames have other times, or were dropped within a file"
        yield [], [f"left out, {why}: {', '.join(left)}"] if left else []
        return
    with folder_in(None) as folder:
        made: list[Path] = []
        remarks: list[str] = []
        with _room_in(folder):
            for number, path in enumerate(source.paths):
                made.append(folder / f"{number}.h5")
                remarks += [
                    f"{path}: {remark}" for remark in h5md.keep(made[-1], path, source.particles)
                ]
        yield made, remarks


@contextlib.contextmanager
def _room_in(folder: Path) -> Iterator[None]:
    """Name the temporary folder in the error of a full disk.

    Raises
    ------
    OutputError
        If the disk or a quota is full, or a limit on file sizes is reached.
    """
    full = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))
    try:
        yield
    except (OSError, RuntimeError) as error:  # h5py raises both.
        if (why := output.why(error)).startswith(full):
            raise OutputError(
                f"{folder}: temporary files cannot be written: {why} (set TMPDIR to another folder)"
            ) from error
        raise


def _spec(profile: Profile, parts: Sequence[TagAtoms]) -> str:
    """Return tiers and tags as JSON for the native store."""
    return json.dumps(
        {
            "tiers": {
                tier.name: {"folder": str(tier.folder), "limit": tier.limit, "rank": tier.rank}
                for tier in profile.tiers
            },
            "tags": [_manifest_tag(part) for part in parts],
        }
    )


def _manifest_tag(part: TagAtoms) -> dict[str, object]:
    """Return the entry of a tag in a manifest, which has no `optional`."""
    entry = vars(part.tag).copy()
    del entry["optional"]
    return {**entry, "short_name": entry.pop("short"), "atoms": part.ranges()}


@contextlib.contextmanager
def _topology_file(trajectory: Trajectory) -> Iterator[tuple[Path, list[str]]]:
    """Yield a topology without frames, and remarks on what it lacks.

    It is the file that the trajectory was opened with, a temporary H5MD file, or a PSF file of the
    atoms of a trajectory that has some of the topology.
    """
    assert trajectory.topology_path is not None
    path = trajectory.topology_at or trajectory.topology_path.absolute()
    if trajectory.n_atoms != trajectory.n_topology_atoms:
        with folder_in(None) as folder, _room_in(folder):
            made = _topology_of_some_atoms(trajectory, folder / path.stem)
            yield (
                made,
                [
                    f"the data set has a {made.suffix[1:].upper()} topology of the"
                    f" {trajectory.n_atoms} atoms that the trajectory has of {path.name}: indices"
                    " of atoms count these"
                ],
            )
        return
    if not h5md.is_hdf5(path):
        remark = (
            "the data set has no bonds: those that the H5MD file lists are not in the topology"
            f" {path.name}; add it with a topology that has bonds, such as a TPR or PSF"
        )
        # Tags were selected: the topology has been read.
        yield path, [remark] if trajectory.has_bonds_of_frames else []
        return
    with folder_in(None) as folder, _room_in(folder):
        made = folder / f"topology{path.suffix}"
        h5md.keep_topology(path, made, trajectory.particles)
        yield made, []


def _topology_of_some_atoms(trajectory: Trajectory, stem: Path) -> Path:
    """Write a PSF file of the atoms of a trajectory, or a PDB file if charges are unknown."""
    atoms = trajectory.topology_atoms
    first = trajectory.read_columns([0], None, None, counted=False)
    has_charges = atoms.column("charges") is not None and atoms.column("masses") is not None
    name = "PSF" if has_charges else "PDB"
    text = _trajet.structure_text(
        atoms.topology.native,
        atoms.indices.tolist(),
        np.ascontiguousarray(np.nan_to_num(first.positions[0])),
        None,
        name,
    )
    made = stem.with_suffix(f".{name.lower()}")
    made.write_text(text, encoding="ascii")
    return made


@contextlib.contextmanager
def _structures(parts: Sequence[TagAtoms], trajectory: Trajectory) -> Iterator[list[list[Path]]]:
    """Write index file and structure of each tag to a temporary folder; yield their paths.

    Structures have no box if the box of frame 0 is rotated: GRO cannot hold it.
    """
    first = trajectory.read_columns([0], None, None, counted=False)
    positions, box = first.positions[0], Box.of(first)
    with folder_in(None) as folder:
        made = []
        with _room_in(folder):
            for part in parts:
                paths = [folder / f"{part.tag.name}.ndx"]
                paths[0].write_text(_ndx(part), encoding="ascii")
                # TRR frames may lack positions (NaN), and GRO cannot hold large ones.
                if (np.abs(positions[part.atoms]) < _GRO_LIMIT).all():
                    paths.append(folder / f"{part.tag.name}.gro")
                    atoms = trajectory.topology_atoms[part.atoms]
                    here = positions[part.atoms]
                    write_structure(paths[1], atoms, here, box, lambda: trajectory.universe)
                made.append(paths)
        yield made


def _ndx(part: TagAtoms) -> str:
    """Return the text of a GROMACS index file: atoms of the original, counted from 1."""
    numbers = (part.atoms + 1).tolist()
    lines = [
        " ".join(map(str, numbers[k : k + _NDX_WIDTH])) for k in range(0, len(numbers), _NDX_WIDTH)
    ]
    return "\n".join([f"[ {part.tag.name} ]", *lines, ""])
