"""`Reader`: files and data sets that trajet reads, as trajectories of MDAnalysis."""

import errno
import os
import warnings
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import numpy as np
from MDAnalysis.coordinates.base import ReaderBase, WriterBase
from MDAnalysis.coordinates.timestep import Timestep
from MDAnalysis.core.groups import AtomGroup
from MDAnalysis.lib.util import store_init_arguments
from numpy.typing import ArrayLike, NDArray

from trajet import FormatError, StaleIndexError
from trajet.dataset import find_dataset
from trajet.formats import formats_of
from trajet.mdanalysis.conventions import (
    OWN_READERS,
    Convention,
    Files,
    convention_of,
    convention_of_header,
)
from trajet.mdanalysis.errors import ChangedFileError, UnreadableError, read_error
from trajet.mdanalysis.frame_parts import (
    copy_frame,
    is_turned,
    set_cell,
    warn_of_turned_cell,
)
from trajet.mdanalysis.identity import Ends, changed_files, identity_of
from trajet.mdanalysis.source import Report, Source
from trajet.mdanalysis.timestep import PENDING, LazyTimestep
from trajet.trajectory.opening import open as open_trajectory
from trajet.trajectory.trajectory import Trajectory
from trajet.trajectory.transforms import from_origin

# Formats whose headers MDAnalysis' own readers check.
_WITH_HEADER = ("NCDF", "H5MD")
# Types of values that never change.
_PLAIN = {bool, int, float, str, np.float32, np.float64, np.int32, np.int64}


class Reader(ReaderBase):  # type: ignore[misc]
    """Reads trajectories for MDAnalysis: every file or data set that `trajet.open` reads.

    Parameters
    ----------
    filename
        A file, or several that are read as one trajectory; or a data set `"STORE/name"`, or some of
        its tags `"STORE/name@protein"`.
    convert_units
        Whether to convert to Å and ps. If not, MDAnalysis' own reader reads the file.
    sub
        Indices of the atoms that the time steps have, or a mask of all atoms; None for all.
    refresh_offsets
        Whether to build the index of frames anew.
    strict
        Whether files that trajet refuses are errors (`FormatError`). If not, MDAnalysis' own reader
        reads them after a warning. None for the choice of `install`.
    dt
        Time between frames, ps, instead of the file's.
    time_offset
        Added to all times, ps.
    **kwargs
        Further arguments of MDAnalysis' readers.

    Raises
    ------
    FileNotFoundError, PermissionError
        If the file cannot be opened.
    UnreadableError
        If it is of no known format, or damaged; a `FormatError` and an `OSError`.
    TypeError, ValueError
        If `sub` has other numbers than integers, is out of range, or a mask of another size; or if
        a data set and the topology of the Universe have different numbers of atoms.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import trajet.mdanalysis
    >>> u = mda.Universe("adk.psf", "adk.xtc", format=trajet.mdanalysis.Reader)
    >>> u.trajectory
    <Reader adk.xtc with 98 frames of 3341 atoms>
    >>> u.trajectory[3].positions.shape
    (3341, 3)
    """

    filename: Files
    _Timestep = LazyTimestep
    # The format that the file must have; None for any.
    _only: str | None = None
    # Whether readers are strict by default; set by `install`.
    strict_by_default = True

    @store_init_arguments  # type: ignore[untyped-decorator]
    def __init__(
        self,
        filename: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        convert_units: bool = True,
        *,
        sub: ArrayLike | None = None,
        refresh_offsets: bool = False,
        strict: bool | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(filename, convert_units=convert_units, **kwargs)
        # Copies in other processes behave as this reader.
        strict = self._kwargs["strict"] = self.strict_by_default if strict is None else strict
        self._strict: bool = strict
        if not isinstance(filename, (str, os.PathLike)):
            # Several files, or an open h5py.File.
            self.filename = filename
        self._sub = None if sub is None else np.asarray(sub)
        self._source: Source | None = None
        # MDAnalysis' own reader, where it reads the file instead.
        self._own: ReaderBase | None = None
        self._identity: list[Ends] = []
        self._frame = -1
        # Whether a warning about rotated boxes was given.
        self._is_warned = False
        # Keys of `ts.data` that the current frame sets; the others belong to the script.
        self._data_names: set[str] = set()
        self._open(rebuild_index=refresh_offsets)
        self.ts = self._new_timestep()
        self._read_next_timestep()
        if self._convention.has_dt_data and self._convention.dt is not None:
            self.ts.dt = self._convention.dt

    def _open(self, *, rebuild_index: bool = False) -> None:
        """Open the file.

        Raises
        ------
        UnreadableError
            If it cannot be read.
        """
        if self._needs_own_reader():
            self._give_to_own_reader()
            return
        checked = None
        if self._only in _WITH_HEADER:
            checked = self._convention_of_header(self._only)
        try:
            trajectory = self._opened(rebuild_index=rebuild_index)
            atoms = None if self._sub is None else _indices(self._sub, trajectory.n_atoms)
            self._source = source = Source(trajectory, atoms)
            _check_topology(trajectory, source.n_atoms, self._kwargs.get("n_atoms"))
            source.head.read(0)
            self.format = trajectory.format
            convention = checked or self._convention_of(trajectory, source)
        except FormatError as error:
            if self._strict or self._own_name is None:
                raise UnreadableError(str(error)) from error
            self._give_to_own_reader(error)
            return
        self.n_atoms, self.n_frames = source.n_atoms, source.n_frames
        self._follow(convention)
        self._identity = identity_of(trajectory)

    def _convention_of_header(self, format: str) -> Convention:
        """Return the convention of a NetCDF or H5MD file."""
        options = {k: v for k, v in self._kwargs.items() if k not in _TRAJET_OPTIONS}
        return convention_of_header(format, self.filename, options.get("dt"), options)

    def _convention_of(self, trajectory: Trajectory, source: Source) -> Convention:
        """Return the convention of files of any format."""
        is_xdr = trajectory.format in ("XTC", "TRR")
        is_one = trajectory.dataset is None and len(trajectory.paths) == 1
        if not is_one and not is_xdr:
            return Convention()
        if trajectory.format in _WITH_HEADER:
            try:
                return self._convention_of_header(trajectory.format)
            except Exception:
                # trajet reads files that MDAnalysis does not.
                return Convention()
        given_dt: float | None = self._kwargs.get("dt")
        return convention_of(trajectory.format, self.filename, source, given_dt)

    def _opened(self, *, rebuild_index: bool) -> Trajectory:
        """Return the trajectory, whose format is the one that the class reads."""
        if isinstance(self.filename, str):
            files: Sequence[str | os.PathLike[str]] = (self.filename,)
            if self._only is None and find_dataset(self.filename) is not None:
                return open_trajectory(self.filename)
        else:
            files = self.filename
        trajectory = open_trajectory(None, *files, rebuild_index=rebuild_index)
        if any(info.holds_origin for info in formats_of(trajectory.format)):
            # Cells of MDAnalysis begin at 0.
            trajectory = trajectory._transformed(from_origin)
        if self._only not in (None, trajectory.format):
            raise FormatError(
                f"{self.filename}: a {trajectory.format} file, not {self._only}: give the right"
                " format, or none"
            )
        return trajectory

    @property
    def _own_name(self) -> str | None:
        """Format name ("XTC", …) of MDAnalysis' own reader for the file; None without one."""
        if self._only is not None or not isinstance(self.filename, str):
            return self._only
        name: str = Path(self.filename).suffix[1:].upper()
        return name if name in OWN_READERS else None

    def _needs_own_reader(self) -> bool:
        """Return whether only MDAnalysis' own reader can do what was asked for.

        Raises
        ------
        ValueError
            If there is none.
        """
        is_path = isinstance(self.filename, str) or self._only is None
        is_native = not self.convert_units and self._own_name != "DCD"
        needs = not is_path or is_native or self._kwargs.get("driver") is not None
        if needs and self._own_name is None:
            raise ValueError(
                f"{self.filename}: convert_units=False is for one XTC, TRR, DCD, NetCDF or H5MD"
                " file: leave it out"
            )
        return needs

    def _give_to_own_reader(self, error: FormatError | None = None) -> None:
        """Have MDAnalysis' own reader read the file."""
        name = self._own_name
        assert name is not None
        if error is not None:
            warnings.warn(f"{error}; MDAnalysis' own reader reads the file instead", stacklevel=2)
        options = {k: v for k, v in self._kwargs.items() if k not in ("strict",)}
        if name not in ("XTC", "TRR"):
            options = {k: v for k, v in options.items() if k not in ("sub", "refresh_offsets")}
        self._source = None
        self._own = own = OWN_READERS[name](**options)
        self.format = name
        self.n_atoms, self.n_frames = own.n_atoms, own.n_frames
        names = {*_OWN_ATTRIBUTES}.intersection(own.__dict__)
        self._follow(
            Convention(
                dict(own.units),
                {name: getattr(own, name) for name in names},
                dt=own.ts.data.get("dt"),
            )
        )
        self._identity = []

    def _follow(self, convention: Convention) -> None:
        """Take units and attributes of a file."""
        self._convention = convention
        self.units = convention.units
        for name, value in convention.attributes.items():
            setattr(self, name, value)

    def _new_timestep(self) -> LazyTimestep:
        return self._Timestep(self.n_atoms, reader=self, **self._ts_kwargs)

    @classmethod
    def parse_n_atoms(cls, filename: str, **kwargs: object) -> int:
        """Return the number of atoms of a file."""
        if cls._only in _WITH_HEADER:
            return int(OWN_READERS[cls._only].parse_n_atoms(filename, **kwargs))
        try:
            if cls._only is None and find_dataset(filename) is not None:
                return open_trajectory(filename).n_atoms
            return open_trajectory(None, filename).n_atoms
        except FormatError as error:
            raise UnreadableError(str(error)) from error

    @property
    def report(self) -> Report:
        """Report on the atoms that were decoded ahead for the script, and on the decoding saved."""
        if self._source is None:
            return Report(0, 0, 0, 0, 0, 0, "nothing: MDAnalysis' own reader reads the file")
        return self._source.report

    def _get_dt(self) -> float:
        """Return the time between frames, for time steps that do not know it."""
        if self._convention.dt is not None:
            return self._convention.dt
        if self._own is not None:
            return float(self._own._get_dt())
        raise AttributeError("dt")

    def next(self) -> LazyTimestep:
        """Return the next frame.

        Raises
        ------
        StopIteration
            After the last frame, where the reader goes back to the first.
        FormatError, ReadError
            If the frame cannot be read. The base class would end the trajectory, or go back to the
            first frame, which may not be readable either, for ever.
        """
        if self._frame >= self.n_frames - 1:
            self.rewind()
            raise StopIteration
        ts = self._read_next_timestep()
        for auxiliary in self._auxs.values():
            ts = auxiliary.update_ts(ts)
        return self._apply_transformations(ts)  # type: ignore[no-any-return]

    def _read_next_timestep(self, ts: LazyTimestep | None = None) -> LazyTimestep:
        if self._frame >= self.n_frames - 1:
            raise OSError(errno.EIO, f"frame {self._frame} is the last one")
        return self._go(self._frame + 1, ts)

    def _read_frame(self, frame: int) -> LazyTimestep:
        if not 0 <= frame < self.n_frames:
            raise IndexError(f"frame must be from 0 to {self.n_frames - 1}, not {frame}")
        return self._go(int(frame), None)

    def _go(self, frame: int, ts: LazyTimestep | None) -> LazyTimestep:
        """Read a frame into a time step."""
        if self._own is not None:
            return self._go_with_own_reader(frame, ts)
        if self._source is None:
            raise OSError(errno.EBADF, f"{self.filename}: the trajectory is closed: open it again")
        convention = self._convention
        if ts is None:
            ts = self._next_timestep() if convention.is_independent else self.ts
        target = ts if isinstance(ts, LazyTimestep) else self._new_timestep()
        whole = bool(self._transformations) or target is not ts
        try:
            cursor = self._source.read(target, frame, whole=whole)
            data = convention.data(cursor)
            self._source.show(target, cursor)
        except FormatError as error:
            is_stale = isinstance(error, StaleIndexError)
            if self._strict or is_stale or self._own_name is None:
                raise
            self._give_to_own_reader(error)
            return self._go_with_own_reader(frame, ts)
        except OSError as error:
            raise read_error(self.filename, frame, error) from error
        set_cell(target, cursor, convention)
        if not self._is_warned and cursor.vectors is not None and is_turned(cursor.vectors):
            self._is_warned = True
            warn_of_turned_cell(self.filename, frame, cursor.cell)
        if self._data_names != data.keys():
            for name in self._data_names - data.keys():
                ts.data.pop(name, None)
            self._data_names = {*data}
        target.data.update(data)
        target.frame = self._frame = frame
        if target is not ts:
            copy_frame(target, ts)
        if convention.is_independent:
            self.ts = ts
        return ts

    def _next_timestep(self) -> LazyTimestep:
        """Return a time step of its own for the next frame."""
        before = self.ts
        if before.has_velocities or before.has_forces:
            # A script has added these, and a copy has them, too.
            copied: LazyTimestep = before.copy()
            return copied
        made = self._Timestep(self.n_atoms, reader=self)
        # Numbers and texts need no copies.
        is_plain = _PLAIN.issuperset(map(type, before.data.values()))
        made.data = {**before.data} if is_plain else deepcopy(before.data)
        return made

    def _go_with_own_reader(self, frame: int, ts: LazyTimestep | None) -> LazyTimestep:
        assert self._own is not None
        ts = self.ts if ts is None else ts
        try:
            copy_frame(self._own[frame], ts)
        except OSError as error:
            raise read_error(self.filename, frame, error) from error
        ts.frame = self._frame = frame
        return ts

    def _reopen(self) -> None:
        self.ts.frame = 0
        self._frame = -1
        if self._source is None and self._own is None:
            self._open()

    def close(self) -> None:
        """Close the file; time steps that scripts hold can still read theirs."""
        self._source = None
        own, self._own = self.__dict__.get("_own"), None
        if own is not None:
            own.close()

    def copy(self) -> "Reader":
        """Return a reader of the same file, at the same frame, which opens it anew.

        Raises
        ------
        ChangedFileError
            If another file is found under its name.
        """
        made: Reader = super().copy()
        made._check_identity(self._identity)
        # The file may have grown.
        made.n_frames = self.n_frames
        return made

    def _check_identity(self, before: list[Ends]) -> None:
        """Compare the file with what the original of a copy had read.

        Raises
        ------
        ChangedFileError
            If it is another one. It may have grown.
        """
        if self._source is None:
            return
        for path in changed_files(before):
            raise ChangedFileError(
                f"{path}: the file has changed since the Universe was made of which this is a"
                " copy: make the Universe anew"
            )

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        for name in ("_source", "_own", "_convention", "_trjfile", "_opened_file"):
            state.pop(name, None)
        ts = self.ts
        # A script cannot have changed what is still in the file.
        is_unchanged = (
            type(ts) is LazyTimestep
            and ts.state == PENDING
            and self._source is not None
            and ts.source is self._source
            and (
                ts.motion_pending or not (ts.source.can_move or ts.has_velocities or ts.has_forces)
            )
        )
        if is_unchanged:
            # The copy reads the positions of its frame, if they are asked for.
            state["ts"] = (ts.frame_read, ts.frame, ts.data, ts._unitcell.copy(), ts.aux)
        state["_is_closed"] = self._source is None and self._own is None
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        is_closed, ts = state.pop("_is_closed"), state.pop("ts")
        self.__dict__.update(state)
        frame, n_frames, identity = self._frame, self.n_frames, self._identity
        self._source = self._own = None
        self._open()
        self._check_identity(identity)
        self.n_frames = n_frames
        if isinstance(ts, tuple):
            number, shown, data, cell, aux = ts
            self.ts = self._new_timestep()
            self._go(number, self.ts)
            self.ts.data, self.ts.aux = data, aux
            self.ts.frame = shown
            self.ts._unitcell[:] = cell
        elif isinstance(ts, Timestep):
            self.ts = ts
        self._frame = frame
        if is_closed:
            self.close()

    def timeseries(
        self,
        asel: AtomGroup | None = None,
        atomgroup: AtomGroup | None = None,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        order: str | None = None,
    ) -> NDArray[np.float32]:
        """Return positions of many frames; see `ProtoReader.timeseries`.

        They are decoded on all cores.
        """
        if order is None:
            order = "afc" if self._convention.is_independent else "fac"
        chosen = atomgroup if asel is None else asel
        # Readers of DCD files ignore transformations here.
        is_plain = not self._transformations or self._convention.is_independent
        if self._source is None or not is_plain or (chosen is not None and not len(chosen)):
            return self._frame_by_frame(asel, atomgroup, start, stop, step, order)
        if asel is not None:
            warnings.warn(
                "asel argument to timeseries is deprecated: use atomgroup",
                category=DeprecationWarning,
                stacklevel=2,
            )
            if atomgroup:
                raise ValueError("Cannot provide both: asel is the old name of atomgroup")
        if sorted(order) != ["a", "c", "f"]:
            raise ValueError(f"order must be a permutation of 'fac', not {order!r}")
        frames = np.arange(*self.check_slice_indices(start, stop, step))
        coordinates = self._source.read_frames(frames, None if chosen is None else chosen.ix)
        if coordinates is None:
            return self._frame_by_frame(asel, atomgroup, start, stop, step, order)
        if not self._convention.is_independent:
            self.rewind()
        return np.moveaxis(coordinates, ["fac".index(axis) for axis in order], [0, 1, 2])

    def read_arrays(
        self, start: int | None, stop: int | None, step: int | None
    ) -> dict[str, NDArray[np.float32] | None] | None:
        """Return arrays of many frames, as `Universe.transfer_to_memory` keeps them.

        Returns
        -------
        dict or None
            "positions", "velocities", "forces" and "dimensions"; None for what the current frame
            does not have. None instead if frames must be read one by one: for transformations, and
            where some frame lacks what the current one has.
        """
        frames = np.arange(*self.check_slice_indices(start, stop, step))
        if self._source is None or self._transformations or self._auxs or not len(frames):
            return None
        fields = [name for name in ("velocities", "forces") if getattr(self.ts, f"has_{name}")]
        try:
            found = self._source.read_fields(frames, ["positions", *fields])
        except StaleIndexError:
            raise
        except FormatError:
            # The frame that is refused says so, or has what is needed of it.
            return None
        if found is None:
            return None
        arrays, cells, vectors, periodic = found
        if vectors is not None and not self._is_warned and any(map(is_turned, vectors)):
            return None
        boxes = [None] * len(cells) if vectors is None else vectors
        shown = np.empty((len(cells), 6), np.float32)
        for row, cell, box, flags in zip(shown, cells, boxes, periodic, strict=True):
            row[:] = self._convention.dimensions(cell, box, flags)
        is_without = (shown[:, :3] == 0).all(axis=1)
        if self.ts.dimensions is not None and is_without.any():
            return None
        empty = dict.fromkeys(("velocities", "forces", "dimensions"))
        dimensions = {} if self.ts.dimensions is None else {"dimensions": shown}
        return {**empty, **arrays, **dimensions}

    def _frame_by_frame(self, *arguments: object) -> NDArray[np.float32]:
        """Return what `timeseries` of the base class does."""
        positions: NDArray[np.float32] = super().timeseries(*arguments)
        return positions

    def Writer(self, filename: str, n_atoms: int | None = None, **kwargs: object) -> WriterBase:
        """Return MDAnalysis' writer of the same format, with the properties of this trajectory."""
        own = OWN_READERS.get(self.format)
        if own is None:
            return super().Writer(filename, n_atoms=n_atoms, **kwargs)
        kwargs["n_atoms"] = self.n_atoms if n_atoms is None else n_atoms
        self._writer = getattr(own, "_writer", None)
        return own.Writer(self, filename, **kwargs)


# Options that MDAnalysis' own readers do not have, or that name this class.
_TRAJET_OPTIONS = ("filename", "strict", "sub", "refresh_offsets", "format")
_OWN_ATTRIBUTES = (
    "compression",
    "compression_opts",
    "_driver",
    "_comm",
    "_has",
    "flavor",
    "skip_timestep",
    "remarks",
    "periodic",
    "has_time",
    "has_velocities",
    "has_forces",
    "scale_factors",
)


def _indices(sub: NDArray[np.bool_ | np.integer], n_atoms: int) -> NDArray[np.int64]:
    """Return the indices of the atoms that `sub=` chooses.

    Raises
    ------
    TypeError
        If it has other numbers than integers.
    ValueError
        If a mask has not one value for each atom, an index is out of range, or there is none.
    """
    if sub.dtype == bool:
        if sub.shape != (n_atoms,):
            raise ValueError(
                f"sub has the shape {sub.shape}: a mask needs one value for each of the {n_atoms}"
                " atoms"
            )
        return np.flatnonzero(sub)
    if not np.issubdtype(sub.dtype, np.integer):
        raise TypeError(f"sub must be indices of atoms or a mask, not {sub.dtype}")
    if sub.ndim != 1 or not len(sub) or sub.min() < -n_atoms or sub.max() >= n_atoms:
        raise ValueError(f"sub must be a list of indices of atoms from 0 to {n_atoms - 1}")
    return np.asarray(np.arange(n_atoms)[sub], np.int64)


def _check_topology(trajectory: Trajectory, n_atoms: int, wanted: int | None) -> None:
    """Compare a data set with the topology of a Universe, which may have atoms of other tags.

    Raises
    ------
    ValueError
        If the topology has another number of atoms.
    """
    if trajectory.dataset is None or wanted in (None, n_atoms):
        return
    label = trajectory.label
    raise ValueError(
        f"{label}: has {n_atoms} atoms, and the topology {wanted}: make the Universe of its atoms,"
        f' MDAnalysis.Merge(trajet.open("{label}").all_atoms().atoms), or of a file that "trajet'
        f' frame {label} -o FILE.pdb" writes'
    )
