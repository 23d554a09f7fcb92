"""Copies of H5MD in the units and the precision of the source."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet._trajet import FormatError
from trajet.h5md import units
from trajet.h5md.elements import (
    ELEMENTS,
    Boxes,
    Field,
    Packing,
    Rows,
    head,
    keep_messages,
    share_rows,
    write_rows,
)
from trajet.h5md.library import HdfFile, h5py
from trajet.h5md.links import find
from trajet.h5md.other_contents import OtherContents, Source, other_contents_of
from trajet.h5md.preserve import copy_other_contents
from trajet.h5md.tables import describe
from trajet.h5md.threads import Show, map_ordered
from trajet.h5md.writing import STEP_BYTES, Content, write_checked

if TYPE_CHECKING:
    from h5py import File, Group

# Default gzip level of h5py.
_LEVEL = 4
_READ_OF_MDTRAJ = {"coordinates", "velocities", "time", "cell_lengths", "cell_angles"}
_READ = {*(element for element, _ in ELEMENTS.values()), "box"}


@dataclass(frozen=True)
class NativeContent(Content):
    """Content of H5MD outputs whose frames come from H5MD, in the units of the source.

    Attributes
    ----------
    other_contents
        Other contents to copy from the source files; None for none.
    is_deflated
        Whether vectors are compressed if `compression` is None; None for as in the source.
    is_part
        Whether the output is a piece; other contents are added when the pieces are joined.
    is_single
        Whether all frames come from files and have all vectors in single precision; then they are
        read and written on all threads.
    """

    other_contents: OtherContents | None = None
    is_deflated: bool | None = None
    is_part: bool = False
    is_single: bool = False

    @property
    def fields(self) -> list[Field]:
        """Vectors that are written."""
        if self.other_contents is None:
            return super().fields
        return [
            name for name, (element, _) in ELEMENTS.items() if element in self.other_contents.native
        ]

    @property
    def group(self) -> str:  # type: ignore[override]
        """The group of particles."""
        return super().group if self.other_contents is None else self.other_contents.particles

    def dtype_of(self, name: Field) -> str:
        """Return the stored type of a vector field."""
        return (
            "<f4" if self.other_contents is None else self.other_contents.native[ELEMENTS[name][0]]
        )

    def may_go_back(self, numbers: NDArray[np.int64]) -> bool:
        """Return whether the steps may decrease: in copies of one file, as in that file."""
        one = self.other_contents is None or len(self.other_contents.sources) == 1
        return one and bool((np.diff(numbers) > 0).all())

    def packing(self, n_frames: int, threads: int) -> Packing:
        """Return the chunk layout for a number of frames."""
        return self._packing(bool(self.is_deflated), n_frames, threads)

    def finish(self, file: "File", numbers: NDArray[np.int64]) -> None:
        """Copy the other contents of the sources to a file that has its vectors."""
        assert self.other_contents is not None
        messages = copy_other_contents(self.other_contents, file, numbers)
        self.messages.extend(message for message in messages if message not in self.messages)
        keep_messages(file, self.of_source)

    def fill(self, own: Path, numbers: NDArray[np.int64], threads: int, show: Show) -> None:
        """Write frames to the file `own`; `show` is called with the frames of each step."""
        if self.is_single:
            super().fill(own, numbers, threads, show)
            return
        series: dict[str, Rows] = {}
        parts: list[_Tables] = []
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(h5py("it cannot be written").File(own, "w"))
            wrote = stack.enter_context(output.synced_on_the_way(own))
            read_ahead = stack.enter_context(self._read(numbers, threads))
            if self.other_contents is not None:
                self._fill_vectors(file, numbers, read_ahead, threads, wrote, show)
                return
            group = head(file, self.author, self.of_source)
            for got in read_ahead:
                # The vectors are not kept.
                parts.append(_Tables(_manner(got), got["times"], got["steps"], got["edges"]))
                if _manner(got) != parts[0].manner:
                    raise self._unlike()
                packing = self._packing(got["deflate"], len(numbers), threads)
                for name in ELEMENTS:
                    values, there, factor = got[name]
                    if values is None:
                        continue
                    if name not in series:
                        series[name] = self._rows(group, name, values, factor, got, packing)
                    one = series[name]
                    if (one.dtype, one.unit) != (values.dtype, _unit(name, factor)):
                        raise self._unlike()
                    all_there = np.ones(len(values), np.bool_)
                    one.add(values, all_there, got["steps"][there], got["times"][there])
                    wrote(values.nbytes)
                show(len(got["steps"]))
            first = next(iter(series.values()))
            for one in series.values():
                one.close(first)
            _write_box(group, first, parts)

    @contextlib.contextmanager
    def _read(
        self, numbers: NDArray[np.int64], threads: int
    ) -> Iterator[Iterator["_trajet.StoredFrames"]]:
        """Yield an iterator over batches of frames; its threads have ended after the block."""
        step = max(1, STEP_BYTES // (24 * self.n_atoms))

        def read(first: int) -> "_trajet.StoredFrames":
            here = numbers[first : first + step]
            return self.reader.stored(here, self.atoms, tables=self.other_contents is None)

        with contextlib.closing(map_ordered(read, range(0, len(numbers), step), threads)) as ahead:
            yield ahead

    def _fill_vectors(
        self,
        file: "File",
        numbers: NDArray[np.int64],
        read_ahead: Iterator["_trajet.StoredFrames"],
        threads: int,
        wrote: Callable[[int], None],
        show: Show,
    ) -> None:
        """Write vectors to an open file, and other contents unless it is a piece."""
        group = self.begin(file)
        packing = self.packing(len(numbers), threads)
        series = {
            name: Rows(
                group,
                name,
                packing,
                dtype=np.dtype(self.dtype_of(name)).newbyteorder("="),
                stored=self.dtype_of(name),
            )
            for name in self.fields
        }
        factors: dict[str, float] = {}
        for got in read_ahead:
            for name, one in series.items():
                values, _, factor = got[name]
                if values is None:
                    continue
                if values.dtype != one.dtype or factors.setdefault(name, factor) != factor:
                    raise self._unlike()
                one.add_values(values)
                wrote(values.nbytes)
            show(len(got["steps"]))
        for one in series.values():
            one.flush()
        self.end(file, group, numbers, [])

    def begin(self, file: "File") -> "Group":
        """Return the group of particles of a new file."""
        if self.other_contents is None:
            return head(file, self.author, self.of_source)
        return file.create_group(self.group)

    def end(
        self,
        file: "File",
        group: "Group",
        numbers: NDArray[np.int64],
        boxes: list[Boxes],
    ) -> None:
        """Copy the other contents, unless the file is a piece."""
        if self.other_contents is None or self.is_part:
            return
        # Steps and times are those of the sources.
        for name in self.fields:
            for kind in ("step", "time"):
                if (path := f"{ELEMENTS[name][0]}/{kind}") in group:
                    del group[path]
        self.finish(file, numbers)

    def read(
        self, name: Field, numbers: NDArray[np.int64], values: NDArray[np.float32], threads: int
    ) -> tuple["_trajet.ReadFrames", NDArray[np.bool_]]:
        """Put vectors of frames into `values`, in the unit of their file."""
        got = self.reader.read(
            numbers, self.atoms, values, name, threads=threads, native_units=True
        )
        return got, np.ones(len(values), np.bool_)

    def _packing(self, deflate: bool, n_frames: int, threads: int) -> Packing:
        """Return the chunk layout; with `deflate`, chunks are compressed."""
        frames, atoms, n_atoms = *self.chunk_of(n_frames), self.n_atoms
        level = self.compression or (_LEVEL if deflate else 0)
        return Packing(frames, atoms, n_atoms, level, threads)

    def _rows(
        self,
        group: "Group",
        name: Field,
        values: NDArray[np.floating],
        factor: float,
        got: "_trajet.StoredFrames",
        packing: Packing,
    ) -> Rows:
        by = got["time_factor"]
        time_unit = None if by is None else units.named("time", by)
        return Rows(
            group, name, packing, unit=_unit(name, factor), dtype=values.dtype, time_unit=time_unit
        )

    def _unlike(self) -> FormatError:
        return FormatError(
            f"{self._path}: its frames are stored in several units or precisions, which one file of"
            " H5MD does not hold: write another format"
        )


def _unit(name: Field, factor: float) -> str:
    return units.named(ELEMENTS[name][0], factor)


class _UniformUnits(NamedTuple):
    """Units of times and boxes, which an H5MD file states once for all frames."""

    # Times in ps, and boxes in Å, of the unit.
    time_factor: float | None
    edges_factor: float
    # Whether boxes are three lengths instead of three vectors.
    lengths: bool
    # Whether the box is periodic in each direction.
    periodic: list[bool]


class _Tables(NamedTuple):
    """Tables of consecutive frames, in units of the file."""

    manner: _UniformUnits
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    edges: NDArray[np.float64]


def _manner(got: "_trajet.StoredFrames") -> _UniformUnits:
    return _UniformUnits(got["time_factor"], got["edges_factor"], got["lengths"], got["periodic"])


def _write_box(group: "Group", first: Rows, parts: list[_Tables]) -> None:
    """Write boxes in the units and the shape of the source."""
    manner = parts[0].manner
    edges = np.concatenate([part.edges for part in parts]).reshape(-1, 3, 3)
    box = group.create_group("box")
    box.attrs["dimension"] = 3
    box.attrs["boundary"] = ["periodic" if is_so else "none" for is_so in manner.periodic]
    there = ~np.isnan(edges).any(axis=(1, 2))
    if not there.any():
        return
    if manner.lengths:
        edges = np.diagonal(edges, axis1=1, axis2=2)
    element = box.create_group("edges")
    values = element.create_dataset("value", data=edges[there])
    values.attrs["unit"] = units.named("edges", manner.edges_factor)
    if there.all():
        share_rows(element, first.group)
        return
    steps = np.concatenate([part.steps for part in parts])
    times = np.concatenate([part.times for part in parts])
    write_rows(element, steps[there], times[there], first.time_unit)


def native_content(
    reader: _trajet.Reader,
    columns: NDArray[np.int64] | None,
    sources: Sequence[Source],
    *,
    atoms: NDArray[np.int64] | None,
    particles: str | None,
    omitted: Sequence[str],
    compression: int | None,
    joined: bool,
    is_file: bool,
) -> NativeContent | None:
    """Return the content of an exact copy of H5MD; None if one H5MD file cannot hold it.

    Parameters
    ----------
    reader, columns
        The trajectory, and the indices of atoms in its frames.
    sources
        The files with the other contents.
    atoms
        Indices of the same atoms in the files.
    particles, omitted, joined
        As for `other_contents_of`.
    compression
        As for `Content`.
    is_file
        Whether frames come from files of H5MD, not from a store.
    """
    one = np.zeros(1, np.int64)
    firsts = accumulate((source.n_frames for source in sources[:-1]), initial=0)
    found = [reader.stored((first, 1, 1), one) for first in firsts]
    manners = [
        (
            _manner(got),
            *(
                (factor, values.dtype)
                for values, _, factor in (got[name] for name in ELEMENTS)
                if values is not None
            ),
        )
        for got in found
    ]
    if any(manner != manners[0] for manner in manners):
        return None
    factors: dict[str, float | None] = {
        element: found[0][name][2]
        for name, (element, _) in ELEMENTS.items()
        if found[0][name][0] is not None
    }
    factors["time"] = found[0]["time_factor"]
    other_contents = other_contents_of(
        sources, factors, particles=particles, omitted=omitted, joined=joined
    )
    if other_contents is None:
        return None
    return NativeContent(
        reader,
        columns,
        compression=compression,
        other_contents=replace(other_contents, atoms=atoms),
        is_deflated=any(got["deflate"] for got in found),
        is_single=is_file
        and "position" in other_contents.native
        and other_contents.is_complete
        and all(np.dtype(stored) == np.dtype("<f4") for stored in other_contents.native.values()),
    )


def write_described(
    reader: _trajet.Reader,
    path: Path,
    *,
    own: bool,
    velocities: bool,
    forces: bool,
    threads: int,
    show: Show,
) -> "_trajet.FileLayout":
    """Write all frames of an open trajectory as H5MD, and return the layout of the file.

    With `own`, the frames come from H5MD and are written in the units of the source.
    """
    content = (
        NativeContent(reader, None)
        if own
        else Content(reader, None, velocities=velocities, forces=forces)
    )
    write_checked(path, np.arange(reader.n_frames), content, threads, show)
    return describe(path)


def left_out(path: HdfFile, particles: str | None = None) -> list[str]:
    """Return the names of an HDF5 file's contents that are not fields of frames.

    Fields are positions, velocities, forces, boxes, times and steps.
    """
    with h5py(str(path)).File(path) as file:
        groups = find(file, "particles")
        if groups is None:
            return sorted(name for name in file if name not in _READ_OF_MDTRAJ)
        members = {name: find(file, f"particles/{name}") for name in groups}
        there = {
            name: group
            for name, group in members.items()
            if group is not None
            and hasattr(group, "keys")
            and any(name in group for name, _ in ELEMENTS.values())
        }
        found = [name for name in file if name not in ("h5md", "particles")]
        read = [name for name in there if particles in (None, name)]
        found += [f"particles/{name}" for name in members if name not in read]
        if len(read) > 1:
            found.append("all particles but one group of " + ", ".join(sorted(read)))
        found += [
            f"particles/{name}/{element}"
            for name in read
            for element in there[name]
            if element not in _READ
        ]
    return sorted(found)
