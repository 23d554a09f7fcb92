"""`Store`: data sets that are divided by tags, and operations on them."""

import json
import logging
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from trajet import _trajet, h5md
from trajet._trajet import (
    DEFAULT_CONNECTIONS,
    DEFAULT_REQUEST_SIZE,
    STORE_ACCESS_LOG,
    STORE_SETTINGS,
    StoreError,
)
from trajet.conversion import Conversion, convert
from trajet.dataset import DatasetPath
from trajet.pools.pool import Progress
from trajet.remote import ObjectName, StorageOptions, is_url, shown
from trajet.store import access_log, link_folder
from trajet.store.access_log import Statistics
from trajet.store.division import (
    check_is_trajectory,
    check_packages,
    divided,
    other_contents_files,
    structures_of,
    tiers_and_tags,
    topology_file,
)
from trajet.store.entry import Divided, Entry, Original, Published, entry_of, originals_of
from trajet.store.profile import Profile, Tier
from trajet.store.tag_atoms import assign_atoms, omitted_tags
from trajet.trajectory import FrameChoice, OpenOptions, Trajectory, opened_dataset

# Least threads of a mount: some of them wait for storage.
_MIN_ANSWERS = 8
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
        return f"<Store {self.folder}: {len(self.list())} data sets>"

    @cached_property
    def _native(self) -> _trajet.Store:
        return _trajet.Store(self._absolute, create=self._create, hdf5=h5md.write_described)

    @property
    def _is_there(self) -> bool:
        return not self._create or (self._absolute / STORE_SETTINGS).exists()

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
            The number of frames, and messages.

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
        Divided(n_frames=98, messages=())
        """
        check_is_trajectory(trajectory)
        if trajectory.topology_path is None:
            raise StoreError(
                f"{trajectory.label}: was opened without a topology, which tags need: give one to"
                " open()"
            )
        if trajectory.dataset is not None:
            raise StoreError(f"{trajectory.label}: is a data set already: use retag")
        chosen = self._profile(profile)
        parts = assign_atoms(chosen, trajectory)
        check_packages((part.tag for part in parts), trajectory.source.reader.format)
        left_out = omitted_tags(chosen, parts, trajectory)
        with (
            structures_of(parts, trajectory) as structures,
            other_contents_files(trajectory) as (other_contents, messages),
            topology_file(trajectory) as (topology, left_out_bonds),
            trajectory.source.files.stale_index_removed(),
        ):
            done = self._native.add(
                name,
                trajectory.source.reader,
                tiers_and_tags(chosen, parts),
                topology,
                structures,
                threads=threads or _trajet.available_threads(),
                progress=progress,
                other_contents=other_contents,
            )
        return divided(done, [*left_out, *left_out_bonds, *messages, *trajectory.messages])

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
            The number of frames that were added, and messages.

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
        check_is_trajectory(trajectory)
        entry = self.show(name)
        check_packages((kept.tag for kept in entry.tags), entry.format)
        # The same file may have several paths.
        again = trajectory.paths[0].resolve() == entry.source_sizes[0][0].resolve()
        with (
            other_contents_files(trajectory) as (other_contents, messages),
            trajectory.source.files.stale_index_removed(),
        ):
            done = self._native.append(
                name,
                trajectory.source.reader,
                skip=entry.n_frames if again else 0,
                threads=threads or _trajet.available_threads(),
                progress=progress,
                other_contents=other_contents,
            )
        return divided(done, [*messages, *trajectory.messages])

    def retag(
        self,
        name: str,
        profile: Profile | str | os.PathLike[str],
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Divided:
        """Divide a data set again by another profile, from the files in the store.

        Table and errors are those of `add`. After an error the data set is unchanged.

        Parameters
        ----------
        profile
            The new tiers and tags: a TOML file, or a Profile.
        """
        chosen = self._profile(profile)
        opened = self.open(name)
        parts = assign_atoms(chosen, opened)
        check_packages((part.tag for part in parts), opened.source.reader.format)
        with structures_of(parts, opened) as structures:
            done = self._native.retag(
                name,
                tiers_and_tags(chosen, parts),
                structures,
                threads=threads or _trajet.available_threads(),
                progress=progress,
            )
        return divided(done, [*omitted_tags(chosen, parts, opened), *opened.messages])

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
        return opened_dataset(place, OpenOptions(request_size=request_size))

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
            self.show(name), self.tiers, self._absolute / name / STORE_ACCESS_LOG
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
        OSError
            If a file in the store is a link that leads out of its tiers, or cannot be read.
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
            threads=threads or max(_MIN_ANSWERS, _trajet.available_threads()),
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
