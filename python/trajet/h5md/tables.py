"""Reads the layout of the trajectory in an HDF5 file from its tables."""

import array
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import MESSAGES_ATTRIBUTE, FormatError, TruncatedError
from trajet.formats import HDF5
from trajet.h5md import bounded
from trajet.h5md import units as known
from trajet.h5md.bounded import attribute
from trajet.h5md.files import OptionError, creator_of, has_vectors, opened, text
from trajet.h5md.library import HdfFile, h5py
from trajet.h5md.links import link, member
from trajet.messages import Code, Message

if TYPE_CHECKING:
    from h5py import Dataset, File, Group
    from h5py.h5d import StoreInfo

_DEFLATE, _SHUFFLE = 1, 2
_FILTERS = {3: "Fletcher32", 4: "SZIP", 5: "N-bit", 6: "scale-offset", 32000: "LZF"}
# From this number on filters are registered by others, and come with their programs.
_REGISTERED = 256
# Bytes of a number of single precision.
_SINGLE_BYTES = 4
_Float = NDArray[np.float64]
_Int = NDArray[np.int64]


def describe(
    path: HdfFile,
    *,
    particles: str | None = None,
    units: Mapping[str, str] | None = None,
    allow_truncated_tail: bool = False,
) -> "_trajet.FileLayout":
    """Return the layout of a file for the native reader.

    Parameters
    ----------
    path
        An H5MD file, or one of mdtraj.
    particles
        Which group of particles, where there are several.
    units
        Units that the file does not name, by "position", "velocity", "force" and "time".
    allow_truncated_tail
        Whether frames that were not written to the end are left out.

    Raises
    ------
    MissingPackageError
        If h5py is not installed.
    FormatError
        If it is another HDF5 file, or holds what is not read; TruncatedError where it is cut.
    ValueError
        If `particles` or `units` do not fit the file.
    """
    begin = time.perf_counter()
    known.check_named(units or {})
    reader = _LayoutReader(str(path), particles, dict(units or {}), allow_truncated_tail)
    with opened(path) as file:
        if MESSAGES_ATTRIBUTE in file.attrs:
            reader.stored_messages = text(attribute(file, MESSAGES_ATTRIBUTE))
        if link(file, "particles") is not None:
            found = reader.h5md(file)
        elif "AMBER" in text(attribute(file, "Conventions", "")) or "_NCProperties" in file.attrs:
            raise FormatError(
                f"{path}: it is NetCDF-4, which is HDF5: convert it with nccopy -k nc6 or cpptraj"
            )
        elif "Pande" in text(attribute(file, "conventions", "")):
            found = reader.mdtraj(file)
        else:
            raise FormatError(
                f"{path}: an HDF5 file that holds neither H5MD (a group 'particles') nor a"
                " trajectory of mdtraj: convert it with the program that wrote it"
            )
    return {**found, "seconds": time.perf_counter() - begin}


@dataclass(frozen=True)
class _Rows:
    """When the rows of a series were written; None where it does not say."""

    n: int
    steps: _Int | None
    times: _Float | None
    # In the file's unit, and what makes ps of that.
    own_times: _Float | None = None
    time_factor: float | None = None
    has_single_times: bool = False


@dataclass
class _LayoutReader:
    """One look at a file."""

    path: str
    particles: str | None
    units: dict[str, str]
    allow_cut: bool
    messages: list[Message] = field(default_factory=list)
    # Messages that the file keeps of its source, as the file has them.
    stored_messages: str | None = None
    # The program that wrote the file.
    creator: str = ""

    def h5md(self, file: "File") -> "_trajet.TrajectoryLayout":
        """Describe an H5MD file."""
        self.creator = creator_of(file)
        group = self._particles(file)
        where = group.name.strip("/")
        names = {"position": "positions", "velocity": "velocities", "force": "forces"}
        elements = {name: element for name in names if (element := member(group, name)) is not None}
        values: dict[str, Dataset] = {}
        for name, element in elements.items():
            value = member(element, "value") if hasattr(element, "keys") else None
            if value is None:
                raise self._error(f"{where}/{name} does not change in time: not a trajectory")
            values[name] = value
        # GROMACS makes a series for what it never writes.
        there = {name: value for name, value in values.items() if not _has_no_rows(value)}
        values = there or values
        elements = {name: elements[name] for name in values}
        first = next(iter(elements))
        storages = {name: self._storage(value) for name, value in values.items()}
        rows = {
            name: self._rows(element, values[name], timed=name == first)
            for name, element in elements.items()
        }
        frames = rows[first]
        n_atoms = values[first].shape[1]
        for name, value in values.items():
            if value.shape[1] != n_atoms:
                raise self._error(
                    f"{where} has {first}s of {n_atoms} atoms, {name} of {value.shape[1]}:"
                    " groups of different atoms are not read"
                )
        factors = {name: self._factor(name, value, "unit") for name, value in values.items()}
        boxes, own_boxes = self._box(group, frames, factors.get("position"))
        atom_numbers = self._numbers_of_atoms(group, frames.n)
        series: dict[str, _trajet.SeriesLayout] = {}
        for name, value in values.items():
            row_of = None if name == first else self._match(names[name], rows[name], frames)
            series[names[name]] = {
                "rows": value.shape[0],
                "row_of": row_of,
                **self._form(value),
                "factor": factors[name],
                "storage": storages[name],
                **_dataset(value),
            }
        layout = self._description(HDF5.name, n_atoms, frames, boxes, series)
        layout["atom_numbers"] = atom_numbers
        # If the file stores times in ps, these are the same numbers.
        own_times = None if frames.time_factor == 1 else frames.own_times
        layout["own"] = {
            "time_factor": frames.time_factor,
            "times": own_times,
            **own_boxes,
            "deflate": bool(values[first].compression),
        }
        return layout

    def mdtraj(self, file: "File") -> "_trajet.TrajectoryLayout":
        """Describe a file of mdtraj."""
        if self.particles is not None:
            raise OptionError(f"{self.path}: a file of mdtraj has no groups of particles")
        coordinates = member(file, "coordinates")
        if coordinates is None:
            raise self._error("a file of mdtraj without coordinates")
        storage = self._storage(coordinates)
        n = coordinates.shape[0]
        time = member(file, "time")
        times = None
        if time is not None:
            n = self._shorter("time", self._count(time), n)
        n = self._written(coordinates, n)
        if time is not None:
            times = self._numbers(time, n) * self._factor("time", time, "units", "picoseconds")
        is_single = time is not None and time.dtype.itemsize <= _SINGLE_BYTES
        frames = _Rows(n, None, times, has_single_times=is_single)
        cells = self._cells_of_mdtraj(file, n)
        series: dict[str, _trajet.SeriesLayout] = {}
        for name, quantity, unit, value in (
            ("positions", "position", "nanometers", coordinates),
            ("velocities", "velocity", "nanometers/picosecond", member(file, "velocities")),
        ):
            if value is None:
                continue
            if value.shape[1] != coordinates.shape[1] or value.shape[0] < n:
                raise self._error(f"{value.name} is not of the shape of its coordinates")
            series[name] = {
                "rows": value.shape[0],
                "row_of": None,
                **self._form(value),
                "factor": self._factor(quantity, value, "units", unit),
                "storage": storage if value is coordinates else self._storage(value),
                **_dataset(value),
            }
        return self._description(HDF5.layouts[1], coordinates.shape[1], frames, cells, series)

    def _cells_of_mdtraj(self, file: "File", n: int) -> _Float:
        """Return the cells of `n` frames of a file of mdtraj, Å and degrees; none without cells."""
        lengths, angles = (member(file, f"cell_{what}") for what in ("lengths", "angles"))
        if lengths is None and angles is None:
            return np.empty((0, 6))
        if lengths is None or angles is None:
            raise self._error(
                "it has one of cell_lengths and cell_angles: add the other, or remove it"
            )
        unit = text(attribute(angles, "units", "degrees")).strip().lower()
        if unit not in ("degrees", "degree", "deg"):
            raise self._error(
                f"cell_angles are in {unit!r}: convert them to degrees, and name that in the"
                " attribute 'units'"
            )
        for cell in (lengths, angles):
            if cell.shape[1:] != (3,):
                raise self._error(f"{cell.name.strip('/')} is of shape {cell.shape}, no cells")
        if lengths.shape[0] < n or angles.shape[0] < n:
            raise self._error(f"it has {lengths.shape[0]} cells and {n} frames")
        by = self._factor("edges", lengths, "units", "nanometers")
        cells = np.hstack((self._numbers(lengths, n) * by, self._numbers(angles, n)))
        damaged = ~np.isfinite(cells).all(axis=1)
        cells[(cells[:, :3] <= 0).any(axis=1)] = np.nan
        # Readers refuse these frames; a row that is not a number is one without a cell.
        cells[damaged] = np.inf
        return cells

    def _description(
        self,
        layout: str,
        n_atoms: int,
        frames: _Rows,
        boxes: _Float,
        series: dict[str, "_trajet.SeriesLayout"],
    ) -> "_trajet.TrajectoryLayout":
        numbers = np.arange(frames.n)
        return {
            "layout": layout,
            "n_atoms": n_atoms,
            "times": numbers.astype(np.float64) if frames.times is None else frames.times,
            "steps": numbers.astype(np.int64) if frames.steps is None else frames.steps,
            "boxes": np.ascontiguousarray(boxes, dtype=np.float64),
            "positions": series.get("positions"),
            "velocities": series.get("velocities"),
            "forces": series.get("forces"),
            "messages": self.messages,
            "stored_messages": self.stored_messages,
            "no_times": frames.times is None,
            "single_times": frames.has_single_times,
            "atom_numbers": None,
            "own": None,
        }

    def _error(self, words: str) -> FormatError:
        return FormatError(f"{self.path}: {words}")

    def _particles(self, file: "File") -> "Group":
        """Return the chosen particles group."""
        groups = member(file, "particles")
        if groups is None or not hasattr(groups, "keys"):
            raise self._error("'particles' is not a group: not an H5MD file")
        names = list(groups)
        if self.particles in names:
            # Other groups may stand in other files.
            names = [self.particles]
        there = {name: group for name in names if has_vectors(group := member(groups, name))}
        if self.particles is not None:
            if self.particles not in there:
                raise OptionError(
                    f"{self.path}: there are no particles {self.particles!r} in it, but"
                    f" {', '.join(map(repr, there)) or 'none'}"
                )
            return there[self.particles]
        if len(there) == 1:
            return next(iter(there.values()))
        if not there:
            raise self._error("its particles have neither positions, velocities nor forces")
        raise self._error(
            f"it holds several groups of particles ({', '.join(map(repr, there))}): name one with"
            ' format_options={"h5md": {"particles": NAME}}'
        )

    def _storage(self, value: "Dataset") -> "bytes | int | _trajet.ChunkLayout":
        """Return the offsets of the numbers of a dataset."""
        where = value.name.strip("/")
        if len(getattr(value, "shape", None) or ()) != 3 or value.shape[2] != 3:
            shape = getattr(value, "shape", None)
            raise self._error(f"{where} is of shape {shape}: three numbers an atom are read")
        if 0 in value.shape:
            raise self._error(f"{where} holds no frame: let the program that writes it go on")
        module = h5py(self.path)
        plist = value.id.get_create_plist()
        layout = plist.get_layout()
        if layout == module.h5d.COMPACT:
            return bounded.read(value).tobytes()
        if value.id.get_storage_size() > bounded.file_size(value):
            raise TruncatedError(
                f"{self.path}: {where} takes {value.id.get_storage_size()} bytes, more than the"
                " file has: copy the file again"
            )
        unwritten: _trajet.ChunkLayout = {
            "shape": (1, *value.shape[1:]),
            "shuffle": False,
            "deflate": False,
            "table": np.empty((0, 6), np.uint64),
        }
        if layout == module.h5d.CONTIGUOUS:
            offset = value.id.get_offset()
            return unwritten if offset is None else offset
        filters = [plist.get_filter(k) for k in range(plist.get_nfilters())]
        codes = [code for code, *_ in filters]
        if codes not in ([], [_DEFLATE], [_SHUFFLE], [_SHUFFLE, _DEFLATE]):
            other = next((f for f in filters if f[0] not in (_DEFLATE, _SHUFFLE)), filters[0])
            name = _FILTERS.get(other[0]) or text(other[3]) or f"number {other[0]}"
            # HDF5's own tools know HDF5's own filters.
            remedy = (
                "repack it with 'h5repack -f SHUF -f GZIP=2 OLD NEW'"
                if other[0] < _REGISTERED
                else "write it again with gzip (h5py, MDAnalysis: compression='gzip')"
            )
            raise self._error(f"{where} is packed with the filter {name}: {remedy}")
        if _SHUFFLE in codes and filters[0][2][:1] != (value.dtype.itemsize,):
            raise self._error(
                f"{where} is shuffled by other than its numbers: repack it (h5repack)"
            )
        return {
            "shape": value.chunks,
            "shuffle": _SHUFFLE in codes,
            "deflate": _DEFLATE in codes,
            "table": chunks(value),
        }

    def _form(self, value: "Dataset") -> "_trajet.NumberForm":
        """Say how a number is stored."""
        types = h5py(self.path).h5t
        stored = value.id.get_type()
        for double, big_endian, known_type in (
            (False, False, types.IEEE_F32LE),
            (False, True, types.IEEE_F32BE),
            (True, False, types.IEEE_F64LE),
            (True, True, types.IEEE_F64BE),
        ):
            if stored.equal(known_type):
                return {"double": double, "big_endian": big_endian}
        raise self._error(
            f"{value.name.strip('/')} is of type {value.dtype}: float32 and float64 are read"
        )

    def _count(self, table: "Dataset") -> int:
        """Return the rows of a table of one number each."""
        if len(table.shape) != 1:
            raise self._error(f"{table.name.strip('/')} is of shape {table.shape}")
        return int(table.shape[0])

    def _numbers(self, dataset: "Dataset", n: int | None = None) -> _Float:
        """Read the first `n` rows of a table, None for all; a single number as it is."""
        if dataset.dtype.kind not in "fiu":
            raise self._error(f"{dataset.name.strip('/')} is of type {dataset.dtype}, no numbers")
        return bounded.read(dataset, n, np.float64)

    def _integers(self, dataset: "Dataset", n: int) -> _Int:
        """Read the first `n` rows of a table of whole numbers."""
        kind = dataset.dtype
        numbers = bounded.read(dataset, n) if kind.kind in "iu" else None
        if numbers is None or (kind == np.uint64 and (numbers > np.iinfo(np.int64).max).any()):
            raise self._error(
                f"{dataset.name.strip('/')} is of type {kind}: whole numbers are read"
            )
        return numbers.astype(np.int64, copy=False)

    def _rows(self, element: "Group", value: "Dataset", *, timed: bool) -> _Rows:
        """Say when the rows of an element were written."""
        n = value.shape[0]
        datasets = {"step": member(element, "step")}
        if timed:
            datasets["time"] = member(element, "time")
        for dataset in datasets.values():
            if dataset is not None and len(dataset.shape) == 1:
                n = self._shorter(dataset.name.strip("/"), dataset.shape[0], n)
        n = self._written(value, n)
        steps = times = own = factor = None
        if datasets["step"] is not None:
            steps = self._steps(datasets["step"], n)
        if (dataset := datasets.get("time")) is not None:
            times = self._numbers(dataset, n)
            if len(times.shape) > 1:
                raise self._error(f"{dataset.name.strip('/')} is of shape {dataset.shape}")
            if times.shape == ():
                offset = float(np.asarray(attribute(dataset, "offset", 0)).item())
                times = offset + np.arange(n) * times
            own, factor = times, self._factor("time", dataset, "unit")
            times = own * factor
        if timed and (written := self._filled(value, n, steps, times)) < n:
            n = written
            steps = None if steps is None else steps[:n]
            times, own = (None if it is None else it[:n] for it in (times, own))
        stored = datasets.get("time")
        is_single = stored is not None and stored.dtype.itemsize <= _SINGLE_BYTES
        return _Rows(n, steps, times, own, factor, is_single)

    def _filled(self, value: "Dataset", n: int, steps: _Int | None, times: _Float | None) -> int:
        """Return the number of frames before those at the end that hold zeros only.

        A chunk of several frames holds zeros for those that were never written to it.

        Raises
        ------
        TruncatedError
            If there are such frames, unless they may be left out.
        """
        clocks = [table for table in (steps, times) if table is not None]
        written = n
        while (
            written > 1
            and clocks
            and all(clock[written - 1] == 0 for clock in clocks)
            and value.shape[1] > 1
        ):
            bounded.check(value, 1)
            if value[written - 1].any():
                break
            written -= 1
        if written < n and not self.allow_cut:
            raise TruncatedError(
                f"{self.path}: frame {written} was never written: its time and"
                f" {value.name.strip('/')} are zeros: let the program that writes it end, or read"
                f" the {written} whole frames with allow_truncated_tail=True"
            )
        if written < n:
            self._add_message(
                Code.FRAME_COUNT, f"of {n} frames {written} were written: these count"
            )
        return written

    def _add_message(self, code: Code, words: str) -> None:
        """Add a message, unless it is there."""
        message = Message(code, words)
        if message not in self.messages:
            self.messages.append(message)

    def _steps(self, dataset: "Dataset", n: int) -> _Int:
        """Return the steps of `n` rows, which are listed or at equal distances."""
        steps = self._integers(dataset, n)
        if steps.shape == ():
            offset = int(np.asarray(attribute(dataset, "offset", 0)).item())
            return offset + np.arange(n) * steps
        if len(steps.shape) != 1:
            raise self._error(f"{dataset.name.strip('/')} is of shape {dataset.shape}")
        return steps

    def _written(self, value: "Dataset", n: int) -> int:
        """Return how many of `n` frames may have been written, by what is stored."""
        if value.chunks:
            frames, *others = value.chunks
            across = 1
            for extent, chunk in zip(value.shape[1:], others, strict=True):
                across *= -(-extent // chunk)
            there = value.id.get_num_chunks() // across * frames
        else:
            row = value.dtype.itemsize * math.prod(value.shape[1:])
            there = value.id.get_storage_size() // row
        # The native reader says which frame is missing, and whether that is allowed.
        n = n if there >= n else max(1, min(n, there + 1))
        if n > (most := bounded.most_rows(value)):
            raise self._error(
                f"{value.name.strip('/')} has {n} frames, and files of its size up to {most} are"
                " read: store it without compression (h5repack -f NONE)"
            )
        return n

    def _shorter(self, name: str, n: int, rows: int) -> int:
        """Return the number of frames where two counts of them should be equal."""
        if n == rows:
            return n
        least = min(n, rows)
        if least == 0 or not self.allow_cut:
            raise TruncatedError(
                f"{self.path}: frame {least} was not written to its end: {name} has {n} rows, the"
                f" numbers have {rows}: let the program that writes it end"
                + (
                    f", or read the {least} whole frames with allow_truncated_tail=True"
                    if least
                    else ""
                )
            )
        # Series that were written together were ended together.
        words = f"of {max(n, rows)} frames {least} were written to their end: these count"
        self._add_message(Code.FRAME_COUNT, words)
        return least

    def _factor(
        self, quantity: str, dataset: "Dataset", unit_attribute: str, usual: str | None = None
    ) -> float:
        """Return the factor that converts the numbers of a dataset to Å, ps, …."""
        where = f"{self.path}: {dataset.name.strip('/')}"
        named = text(attribute(dataset, unit_attribute, "")) or None
        given = self.units.get(quantity)
        if named is not None:
            by = known.factor(quantity, named, where)
            if given is not None and known.factor(quantity, given, where) != by:
                raise OptionError(
                    f"{where} is in {named}, as the file says, not in {given}: leave the format"
                    f" option h5md.units.{quantity} out"
                )
            return by
        if given is not None:
            self._add_message(
                Code.ASSUMED_UNITS,
                f"the file names no unit of {quantity}: {given}, as was asked for",
            )
            return known.factor(quantity, given, where)
        if usual is None:
            usual = known.OF_PROGRAMS.get(self.creator, {}).get(quantity)
        if usual is not None:
            self._add_message(
                Code.ASSUMED_UNITS, f"the file names no unit of {quantity}: {usual}, as usual there"
            )
            return known.factor(quantity, usual, where)
        example = {"position": "nm", "time": "ps"}.get(quantity, "nm ps-1")
        raise FormatError(
            f"{where} has no unit: name it with"
            f" format_options={{'h5md': {{'units': {{'{quantity}': '{example}'}}}}}}"
            ", or write the attribute 'unit' to the file"
        )

    def _box(
        self, group: "Group", frames: _Rows, position: float | None
    ) -> tuple[_Float, "_trajet.StoredBox"]:
        """Return the vectors of no box, of one, or of one a frame, Å, and as the file has them."""
        own: _trajet.StoredBox = {
            "periodic": [False] * 3,
            "edges": None,
            "edges_factor": 1.0,
            "lengths": False,
        }
        none = np.empty((0, 9)), own
        box = member(group, "box")
        if box is None:
            return none
        dimension = int(np.asarray(attribute(box, "dimension", 3)).item())
        if dimension != 3:
            raise self._error(f"its space has {dimension} dimensions: three are read")
        edges = member(box, "edges")
        if edges is None and "boundary" not in box.attrs:
            return none
        boundary = self._boundary(box)
        own["periodic"] = [b == "periodic" for b in boundary]
        if edges is None:
            return none
        if "periodic" not in boundary:
            # The specification calls the edges of such directions placeholders.
            return none
        fixed = not hasattr(edges, "keys")
        value = edges if fixed else member(edges, "value")
        shape = getattr(value, "shape", ())
        if value is None or shape[0 if fixed else 1 :] not in ((3,), (3, 3)):
            raise self._error(f"{edges.name.strip('/')} is of shape {shape}, no cell")
        if position is None or "unit" in value.attrs:
            position = self._factor("position", value, "unit")
        vectors = self._numbers(value)
        if len(shape) == (1 if fixed else 2):
            vectors = vectors[..., None] * np.eye(3)
        vectors = vectors.reshape(-1, 9)
        # Readers refuse these frames; a row that is not a number is one without a box.
        vectors[~np.isfinite(vectors).all(axis=1)] = np.inf
        if not fixed:
            step = member(edges, "step")
            steps = None if step is None else self._steps(step, len(vectors))
            rows = _Rows(len(vectors), steps, None)
            chosen = self._match("boxes", rows, frames)
            if chosen is None:
                vectors = vectors[: frames.n]
            else:
                vectors = np.where((chosen >= 0)[:, None], vectors[chosen], np.nan)
        own |= {
            "edges": None if position == 1 else np.ascontiguousarray(vectors),
            "edges_factor": position,
            "lengths": len(shape) == (1 if fixed else 2),
        }
        return vectors * position, own

    def _boundary(self, box: "Group") -> list[str]:
        """Return the boundary of each direction: "periodic" or "none"."""
        named = attribute(box, "boundary")
        if named is None:
            self._add_message(Code.ASSUMED_CELL, "its box names no boundaries: taken as periodic")
            return ["periodic"] * 3
        words = [text(word) for word in np.asarray(named).reshape(-1)]
        boundary = [word.strip("\0 ").lower() for word in words]
        for word, read in zip(words, boundary, strict=True):
            if read not in ("periodic", "none"):
                raise self._error(
                    f"{box.name.strip('/')} has the boundary {word!r}, which is neither 'periodic'"
                    " nor 'none': change the attribute 'boundary'"
                )
        if len(boundary) == 1:
            boundary *= 3
        if len(boundary) != 3:
            raise self._error(
                f"{box.name.strip('/')} has {len(boundary)} boundaries: name one for each of three"
                " directions in the attribute 'boundary'"
            )
        return boundary

    def _match(self, name: str, rows: _Rows, frames: _Rows) -> _Int | None:
        """Return the row of each frame, -1 where there is none; None where they are the same."""
        n = frames.n
        if rows.steps is None or frames.steps is None:
            if rows.n < n:
                raise self._error(f"there are {rows.n} {name} without steps, and {n} frames")
            return None
        if rows.n >= n and np.array_equal(rows.steps[:n], frames.steps):
            return None
        if not all((np.diff(steps) > 0).all() for steps in (rows.steps, frames.steps)):
            raise self._error(
                f"{name} have steps of their own, and they do not ascend: it is unknown to"
                " which positions they belong"
            )
        at = np.minimum(np.searchsorted(rows.steps, frames.steps), rows.n - 1)
        there = rows.steps[at] == frames.steps
        if len(rows.steps) > there.sum():
            more = len(rows.steps) - there.sum()
            self._add_message(
                Code.NOT_READ, f"{more} {name} belong to no positions and are left out"
            )
        if not there.all():
            self._add_message(Code.SOME_FRAMES, f"{name} are there at {there.sum()} of {n} frames")
        return np.where(there, at, -1).astype(np.int64)

    def _numbers_of_atoms(self, group: "Group", n: int) -> _Int | None:
        """Return `id` of each atom, which must be the same in all frames; None if there is none."""
        element = member(group, "id")
        value = member(element, "value") if hasattr(element, "keys") else element
        if value is None or value.dtype.kind not in "iu" or len(value.shape) not in (1, 2):
            return None
        n = min(n, value.shape[0]) if len(value.shape) == 2 else 0
        if n:
            bounded.check(value, 1)
        first = value[0] if n else bounded.read(value).reshape(-1)
        frame = bounded.first_other_row(value, n) if n else None
        if frame is not None:
            raise self._error(
                f"its atoms change places: {value.name.strip('/')} of frame {frame} is not that"
                " of frame 0: put the atoms of each frame into the order of this id (docs/h5md.md"
                " has a script)"
            )
        if (first[1:] < first[:-1]).any():
            self._add_message(
                Code.ATOM_ORDER,
                f"its atoms are not in the order of their numbers ({value.name.strip('/')}): a"
                " topology must have them in the order of the file",
            )
        return np.asarray(first).astype(np.int64)


def chunks(value: "Dataset") -> NDArray[np.uint64]:
    """Return first row, atom and axis, offset, size and skipped filters of each stored chunk."""
    table = array.array("Q")

    def row(chunk: "StoreInfo", extend: Callable[[Iterable[int]], None] = table.extend) -> None:
        if chunk.byte_offset is not None:
            extend((*chunk.chunk_offset, chunk.byte_offset, chunk.size, chunk.filter_mask))

    if hasattr(value.id, "chunk_iter"):
        value.id.chunk_iter(row)
    else:
        # HDF5 1.10, as of Debian's MPI builds, looks for each among all: by place in half the time.
        rows, atoms, axes = map(range, (0, 0, 0), value.shape, value.chunks)
        for at in ((i, j, k) for i in rows for j in atoms for k in axes):
            chunk = value.id.get_chunk_info_by_coord(at)
            row(chunk)
            # Later chunks are not read: frames end at the first chunk that was not written.
            if chunk.byte_offset is None:
                break
    return np.frombuffer(table, np.uint64).reshape(-1, 6)


def _dataset(value: "Dataset") -> "_trajet.DatasetInfo":
    """Return name, shape and type of a dataset, for readers that use the HDF5 library."""
    return {"dataset": value.name, "shape": value.shape, "dtype": value.dtype}


def _has_no_rows(value: "Dataset") -> bool:
    """Tell whether nothing was ever written to a series."""
    return (getattr(value, "shape", None) or (1,))[0] == 0
