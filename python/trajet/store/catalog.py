"""The store: data sets that are divided by tags, and what can be done with them."""

import contextlib
import errno
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trajet import _trajet, h5md, mdanalysis, output
from trajet._trajet import OutputError, StoreError
from trajet.conversion import Conversion, convert
from trajet.dataset import SETTINGS, USES, Place
from trajet.pools.pool import Progress
from trajet.pools.shared import folder_in
from trajet.store import access_log, link_folder
from trajet.store.access_log import Statistics
from trajet.store.entry import Divided, Entry, Original, entry_of, originals_of
from trajet.store.profile import EXACT, HDF5, Profile, Tag, Tier
from trajet.store.tag_atoms import TagAtoms, assign_atoms, omitted_tags
from trajet.trajectory import DEFAULT_REQUEST_SIZE, FrameChoice, Selection, Trajectory

# Numbers on a line of GROMACS' index files.
_NDX_WIDTH = 15
# Å; what has eight characters in GRO's nm.
_GRO_LIMIT = 9999.0
# Threads of a mount: some wait for storage.
_LEAST_ANSWERS = 8
_LOG = logging.getLogger(__name__)


class Store:
    """A folder of trajectories that are divided by tags, each tag on a storage tier of its own.

    Parameters
    ----------
    folder
        Of the store.
    create
        Whether to make it where there is none, when something is first added.

    Raises
    ------
    StoreError
        If there is no store, or one of a later version.

    Notes
    -----
    In all methods `name` is that of a data set: letters, digits, `.`, `_`, `-`. `threads` is None
    for all cores. `progress` is called with what is done and in total: frames, of `move` and
    `verify` bytes. A data set, tag or tier that there is not is a StoreError, which lists those
    that there are.

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
        self.folder = Path(folder)
        self._absolute = self.folder.absolute()
        self._create = create
        if not create:
            _ = self._native

    def __repr__(self) -> str:
        """Return the folder and how many data sets it has."""
        return f"<Store {self.folder}: {len(self.list())} data sets>"

    @cached_property
    def _native(self) -> _trajet.Store:
        return _trajet.Store(self._absolute, create=self._create, hdf5=h5md.write_described)

    @property
    def _is_there(self) -> bool:
        return not self._create or (self._absolute / SETTINGS).exists()

    @property
    def tiers(self) -> dict[str, Tier]:
        """Its tiers, by their names."""
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
        """Divide a trajectory by tags.

        Each frame is read once. The structure of each tag (GRO, at frame 0) and the numbers of its
        atoms in the original (a group of a GROMACS index file, from 1) are written beside its
        files.
        Whatever goes wrong, there is no such data set then, and the trajectory is as it was.

        Parameters
        ----------
        trajectory
            Opened with a topology; XTC, TRR, DCD, Amber NetCDF or H5MD.
        profile
            Tiers and tags: a TOML file, or a Profile; None for the one that is built in.

        Returns
        -------
        Divided
            Its frames, and what one should know.

        Raises
        ------
        StoreError
            If there is such a data set, the profile does not fit the system (an atom in two tags or
            in none, a tag without atoms, …), or a tier is missing, full or cannot be written.
        OutputError
            If a tag's format cannot hold what the trajectory has, and the tag is not lossy.
        MissingPackageError
            If a tag is to be kept as H5MD, and h5py is not installed.
        FormatError, FrameError, SelectionError
            If a frame is corrupt, or a selection is none.
        TypeError
            If it is no trajectory of `tj.open`.

        Examples
        --------
        >>> import trajet as tj
        >>> traj = tj.open("adk.psf", "adk.xtc")
        >>> tj.Store("other", create=True).add("adk", traj)
        Divided(n_frames=98, remarks=())
        """
        _check_is_trajectory(trajectory)
        if trajectory.topology is None:
            raise StoreError(
                f"{trajectory.label}: was opened without a topology: the tags select by it"
            )
        if trajectory.dataset is not None:
            raise StoreError(f"{trajectory.label}: is a data set already: divide it with retag")
        chosen = self._profile(profile)
        parts = assign_atoms(chosen, trajectory)
        _writable((part.tag for part in parts), trajectory.reader.format)
        left_out = omitted_tags(chosen, parts, trajectory)
        with (
            _structures(parts, trajectory) as structures,
            _rest(trajectory) as (rest, remarks),
        ):
            done = trajectory.fresh(
                self._native.add,
                name,
                trajectory.reader,
                _spec(chosen, parts),
                trajectory.topology.absolute(),
                structures,
                threads=threads or _trajet.available_threads(),
                progress=progress,
                rest=rest,
            )
        return _divided(done, [*left_out, *remarks, *trajectory.remarks])

    def append(
        self,
        name: str,
        trajectory: Trajectory,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Divided:
        """Add the new frames of a trajectory that has grown, or those of further files.

        Parameters
        ----------
        trajectory
            The files that were divided, in which there are more frames by now; or files that go on
            where those end.

        Returns
        -------
        Divided
            How many frames were added, and what one should know.

        Raises
        ------
        StoreError
            If the frames that were divided are no longer the same, or as `add`.

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
        with _rest(trajectory) as (rest, remarks):
            done = trajectory.fresh(
                self._native.append,
                name,
                trajectory.reader,
                skip=entry.n_frames if again else 0,
                threads=threads or _trajet.available_threads(),
                progress=progress,
                rest=rest,
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
        """Divide a data set anew, from what the store holds, in one step.

        Result and errors are as of `add`; after an error the data set is as it was.

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
        """Open a data set: all of it, or the atoms of some tags alone, in their original order.

        `tj.open("STORE/name@tag,tag")` does the same.

        Parameters
        ----------
        tags
            None for all. Files of other tags are not touched.
        request_size
            As for `tj.open`.

        Returns
        -------
        Trajectory
            With the original's topology. Indices of atoms are those of the original.

        Raises
        ------
        StoreError
            If there is no such data set, or tag of it.
        """
        if not isinstance(name, str):
            raise TypeError(f"a data set is called by its name, a str, not {type(name).__name__}")
        if tags is not None and (isinstance(tags, str) or not tags):
            raise TypeError("tags are some names: ['protein', 'lipid'], or None for all")
        wanted = None if tags is None else tuple(tags)
        label = str(self.folder / name) + ("" if wanted is None else "@" + ",".join(wanted))
        place = Place(self._absolute, name, wanted, label)
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
        """Write a data set, or some of its tags, to a file: all tags together are the original.

        Parameters
        ----------
        path
            The output; its ending is its format. To .h5md goes what was H5MD in its own units and
            precision, where no tag is lossy.
        tags
            None for all.
        frames, allow_loss, force, topology
            As for `tj.convert`, whose errors these are, too.

        Returns
        -------
        Conversion
            As of `tj.convert`.
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
        """Bring the files of a tag to another tier, while readers go on.

        Parameters
        ----------
        tag
            Its name, or its short one.
        tier
            The name of one of `tiers`.

        Raises
        ------
        StoreError
            If the tier is missing, full or read-only; then the tag is where it was.
        """
        self._native.move(name, tag, tier, progress=progress)

    def remove(self, name: str) -> None:
        """Remove a data set with all its files. The trajectory that was divided stays."""
        self._native.remove(name)

    def verify(
        self,
        name: str | None = None,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> tuple[str, ...]:
        """Compare every byte of a data set, or of all, with its checksum.

        Returns
        -------
        tuple of str
            A line for each thing that is wrong, which says where; empty where nothing is.
        """
        names = self.list() if name is None else (name,)
        threads = threads or _trajet.available_threads()
        return tuple(
            problem
            for each in names
            for problem in self._native.verify(each, threads=threads, progress=progress)
        )

    def repair(self) -> tuple[str, ...]:
        """Find tiers that were moved with the store, and remove what killed runs have left behind.

        Returns
        -------
        tuple of str
            A line for each; empty where there was nothing.
        """
        return tuple(self._native.repair())

    def show(self, name: str) -> Entry:
        """Return what the store says of a data set."""
        return entry_of(json.loads(self._native.manifest(name)), self.tiers)

    def originals(self, name: str) -> tuple[Original, ...]:
        """Return the files that were divided, and whether they are still what they were.

        Size and digest of head and tail are compared, which reads 8 KiB of each file.
        """
        return originals_of(json.loads(self._native.manifest(name)))

    def stats(self, name: str) -> Statistics:
        """Return what was used of a data set, what dividing has saved, and what to move where."""
        return access_log.statistics(self.show(name), self.tiers, self._absolute / name / USES)

    def show_all(self) -> tuple[tuple[Entry, ...], dict[str, Exception]]:
        """Return what the store says of each data set, and why it says nothing of the others.

        Returns
        -------
        tuple of Entry
            Those that can be read.
        dict of str to Exception
            What is wrong with the others, by their names.
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
        """Make a folder of links to the files of all tags, for programs that know no stores.

        They are called `NAME@TAG.xtc`, `NAME@TAG.gro` and `NAME@TAG.ndx`; where frames were
        appended there are several files, numbered as `NAME@TAG-000.xtc`. `NAME.SHORT.tjt` is what
        VMD's plug-in of trajet opens. Links that are there are made anew, those to files that are
        gone are removed. Of a data set that cannot be read, what is there stays as it is.

        Parameters
        ----------
        folder
            Where the links go; made if it is not there.
        say
            Called with what is wrong with each data set that cannot be read; None logs it as a
            warning.

        Returns
        -------
        tuple of Path
            The links and pointer files.

        Raises
        ------
        OutputError
            If something else has the name of a link, or the folder cannot be written.
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
        """Show the store as a folder that every program can read, until it is unmounted.

        It has for each data set `NAME` the whole trajectory as if it had never been divided
        (`NAME.xtc`, or as the original's format is called), each tag (`NAME@TAG.xtc`), positions
        and cells of both as DCD (`NAME.dcd`, `NAME@TAG.dcd`), and topologies. Data sets that come,
        go or change are seen within a second; who has a file open goes on with what that was.

        This returns when somebody else has unmounted the folder and closed all files. Ctrl-C
        unmounts it whoever reads: they get I/O errors.

        Parameters
        ----------
        folder
            An empty one.
        threads
            How many reads are answered at a time; None for as many as there are cores, at least 8.
        ready
            Called when the folder is mounted.
        say
            Called with a line for each thing that goes wrong; None logs them as warnings.

        Raises
        ------
        StoreError
            If the folder cannot be mounted on: it is not there, not empty, in use, or there is no
            FUSE.
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
        """Return a profile; without one the one that is built in, on the tiers that there are."""
        if isinstance(profile, Profile):
            return profile
        if profile is not None:
            return Profile.load(profile)
        chosen, there = Profile.default(self._absolute), self.tiers
        missing = [tier.name for tier in chosen.tiers if tier.name not in there]
        if there and missing:
            raise StoreError(
                f"{self.folder}: has the tiers {', '.join(there)}, and the built-in profile wants"
                f" {missing[0]}: give a profile (trajet store profile prints one to start from)"
            )
        tiers = tuple(there.get(tier.name, tier) for tier in chosen.tiers)
        return Profile(tiers, chosen.tags, chosen.where, built_in=True)


def _writable(tags: Iterable[Tag], source: str) -> None:
    """Make sure that there is what writes these tags, before any work."""
    formats = (HDF5, EXACT) if source == "H5MD" else (HDF5,)
    for tag in tags:
        if tag.format in formats:
            h5md.h5py(f"tag {tag.name!r} is kept as {HDF5}")


def _check_is_trajectory(given: object) -> None:
    """Refuse what else users have of a trajectory, and say what to give."""
    if isinstance(given, Trajectory):
        return
    what = f"a {type(given).__name__}"
    if isinstance(given, str | os.PathLike):
        what = f"the path {os.fspath(given)!r}"
    elif isinstance(given, Selection):
        what = "a selection: all atoms of a trajectory are divided"
    elif mdanalysis.is_universe(given) or mdanalysis.is_atomgroup(given):
        what = "of MDAnalysis: its files are divided, not what is in memory"
    raise TypeError(
        "give a trajectory with its topology, tj.open('top.psf', 'traj.xtc'): what was given is"
        f" {what}"
    )


def _divided(done: Mapping[str, Any], beside: Sequence[str] = ()) -> Divided:
    return Divided(int(done["n_frames"]), tuple(dict.fromkeys((*done["remarks"], *beside))))


@contextlib.contextmanager
def _rest(source: Trajectory) -> Iterator[tuple[list[Path], list[str]]]:
    """Write what H5MD files hold beside their frames to files of a temporary folder.

    Returns these files, none of other formats, and remarks on what they lack.
    """
    if source.reader.format != "H5MD":
        yield [], []
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
        If files cannot be written to it because there is no room, or a limit on their size.
    """
    full = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))
    try:
        yield
    except (OSError, RuntimeError) as error:  # h5py raises both.
        if (why := output.why(error)).startswith(full):
            raise OutputError(
                f"{folder}: temporary files cannot be written: {why} (TMPDIR names the folder)"
            ) from error
        raise


def _spec(profile: Profile, parts: Sequence[TagAtoms]) -> str:
    """Return tiers and tags as the native store takes them."""
    return json.dumps(
        {
            "tiers": {
                tier.name: {"folder": str(tier.folder), "limit": tier.limit, "rank": tier.rank}
                for tier in profile.tiers
            },
            "tags": [_manifest_tag(part) for part in parts],
        }
    )


def _manifest_tag(part: TagAtoms) -> dict[str, Any]:
    """Return a tag as a manifest keeps it: whether the profile required it is of no use there."""
    told = {key: value for key, value in vars(part.tag).items() if key != "optional"}
    return {**told, "atoms": part.ranges()}


@contextlib.contextmanager
def _structures(parts: Sequence[TagAtoms], trajectory: Trajectory) -> Iterator[list[list[Path]]]:
    """Write what lies beside each tag to a folder that lasts as long as it is needed.

    Structures have no box where that of frame 0 is turned: they cannot hold it.
    """
    first = trajectory.read_places([0], None, None, counted=False)
    positions, box = first.positions[0], mdanalysis.Box.of(first)
    with folder_in(None) as folder:
        made = []
        with _room_in(folder):
            for part in parts:
                paths = [folder / f"{part.tag.name}.ndx"]
                paths[0].write_text(_ndx(part), encoding="ascii")
                # Frames of TRR may have no positions (not a number), and GRO has no room for any.
                if (np.abs(positions[part.atoms]) < _GRO_LIMIT).all():
                    paths.append(folder / f"{part.tag.name}.gro")
                    atoms = trajectory.named[part.atoms]
                    mdanalysis.write_structure(paths[1], atoms, positions[part.atoms], box)
                made.append(paths)
        yield made


def _ndx(part: TagAtoms) -> str:
    """Return a group of a GROMACS index file: atoms of the original, from 1."""
    numbers = (part.atoms + 1).tolist()
    lines = [
        " ".join(map(str, numbers[k : k + _NDX_WIDTH])) for k in range(0, len(numbers), _NDX_WIDTH)
    ]
    return "\n".join([f"[ {part.tag.name} ]", *lines, ""])
