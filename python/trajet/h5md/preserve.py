"""Copies the contents of H5MD files other than the vectors of their frames.

The native module copies positions, velocities and forces. Everything else is copied here through
HDF5's library: attributes, observables, parameters, further elements and groups. Objects that are
needed whole are copied by the library itself, byte for byte; elements that change in time are cut
to the frames of the copy, elements of the copied particles to its atoms.

Nothing outside of the files is ever opened: external links, external storage and virtual datasets
are left out, with a note.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import FormatError
from trajet.h5md.bounded import attribute_bytes, file_size, most_rows
from trajet.h5md.datasets import address, are_alike, reading, slabs, target_of, why_unread
from trajet.h5md.library import h5py
from trajet.h5md.links import find, link
from trajet.h5md.other_contents import (
    GROUP_KEPT,
    VECTORS,
    OtherContents,
    Source,
    n_rows,
    native_elements,
    opened_files,
    particles_of,
)
from trajet.h5md.time_axis import TimeAxis, listed_numbers
from trajet.h5md.topology import GROMACS_TOPOLOGY
from trajet.messages import Message, left_out

if TYPE_CHECKING:
    from h5py import Dataset, File, Group

_CREATOR = "h5md/creator"
# Groups deeper than this are left out.
_DEPTH = 64
# HDF5 keeps smaller datasets in their headers.
_COMPACT = 60_000
_NUMBERS_ATOMS = "it names atoms by their numbers, which the copy changes"
_LEAVES_FILE = "its data are stored in another file, which copies never follow"

_Int = NDArray[np.int64]
# Rows of an element by the number of their file.
_Parts = list[tuple[int, _Int]]


def copy_other_contents(contents: OtherContents, file: "File", numbers: _Int) -> list[Message]:
    """Add the other contents to an open file that has the native vectors; return notes.

    Parameters
    ----------
    contents
        The other contents.
    file
        The output, open in h5py.
    numbers
        Its frames, as the trajectory numbers them.
    """
    borders = np.cumsum([0, *(source.n_frames for source in contents.sources)])
    number_of = np.searchsorted(borders, numbers, side="right") - 1
    cuts = np.flatnonzero(np.diff(number_of)) + 1
    runs = [
        (int(number_of[run[0]]), numbers[run] - borders[number_of[run[0]]])
        for run in np.split(np.arange(len(numbers)), cuts)
    ]
    with opened_files([source.path for source in contents.sources]) as files:
        copy = _Copy(file, files, contents, runs)
        copy.run()
        copy.sign()
    return copy.listed_messages()


def keep(path: Path, source: Path, particles: str | None) -> list[Message]:
    """Write everything that an H5MD file holds but its vectors to a new file; return notes.

    Datasets of vectors are there, without a single chunk.
    """
    with opened_files([source]) as (file,), h5py(str(path)).File(path, "w") as out:
        group = particles_of(file) if particles is None else f"particles/{particles}"
        if group is None:
            return []
        native = native_elements(file, group, None, joined=False)
        for name in native:
            value = find(file, f"{group}/{name}/value")
            assert value is not None
            out.create_dataset(
                f"{group}/{name}/value", value.shape, value.dtype, chunks=(1, *value.shape[1:])
            )
        n_frames = n_rows(file, group)
        if n_frames > (most := most_rows(file)):
            raise FormatError(f"{source}: {n_frames} frames; files of its size have up to {most}")
        other_contents = OtherContents((Source(source, n_frames),), group, native)
        copy = _Copy(out, [file], other_contents, [(0, np.arange(n_frames))])
        copy.run()
        out.attrs[GROUP_KEPT] = group
    return copy.listed_messages()


@dataclass
class _Copy:
    """One copy of the other contents of some files.

    Attributes
    ----------
    out
        The output, which has the native vectors.
    files
        The files; objects come from the first one, rows of elements from all of them.
    runs
        Frames of the output: the number of the file, and frames of it.
    """

    out: "File"
    files: list["File"]
    other_contents: OtherContents
    runs: _Parts
    # Paths that were left out, by the reason.
    reasons: dict[str, list[str]] = field(default_factory=dict)
    # Places in the output by the address of the object, and of datasets of steps by their rows.
    objects: dict[int, str] = field(default_factory=dict)
    shared: dict[tuple[tuple[int, int | None, bytes], ...], str] = field(default_factory=dict)
    # Object references that are written when all objects are there.
    references: list[tuple["Group | Dataset", str, str]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.library = h5py("it cannot be written")
        self.atoms = self.other_contents.atoms
        self.frames = []
        group = self.other_contents.particles
        for file, source in zip(self.files, self.other_contents.sources, strict=True):
            values = ((name, find(file, f"{group}/{name}/value")) for name in VECTORS)
            name, value = next((n, v) for n, v in values if v is not None and v.shape[0])
            self.frames.append(TimeAxis.of(file, f"{group}/{name}", value).first(source.n_frames))
            self.n_atoms = int(value.shape[1])
        self.every = [
            np.concatenate([np.arange(0), *(frames for k, frames in self.runs if k == number)])
            for number in range(len(self.files))
        ]
        self.is_whole = (
            len(self.runs) == 1
            and len(self.files) == 1
            and len(self.runs[0][1]) == n_rows(self.files[0], group)
            and np.array_equal(self.runs[0][1], np.arange(len(self.runs[0][1])))
        )

    def run(self) -> None:
        """Copy everything."""
        self._group("", 0)
        for number in range(1, len(self.files)):
            self._note_others("", number)
        self._write_references()
        for path, unit in self.other_contents.units.items():
            if path in self.out and "unit" not in self.out[path].attrs:
                self.out[path].attrs["unit"] = unit

    def sign(self) -> None:
        """Write that this program made the file; who made the first one stays known."""
        head = self.out.require_group("h5md")
        if "version" not in head.attrs:
            head.attrs["version"] = np.array([1, 1], np.int32)
        creator = self.out.require_group(_CREATOR)
        for name, own in (("name", "trajet"), ("version", _trajet.__version__)):
            if name in creator.attrs and f"source_{name}" not in creator.attrs:
                creator.attrs[f"source_{name}"] = creator.attrs[name]
            creator.attrs[name] = own

    def listed_messages(self) -> list[Message]:
        """Return a note per reason for which objects were not copied."""
        return [left_out(f"{', '.join(paths)}: {why}") for why, paths in self.reasons.items()]

    def _note(self, path: str, reason: str) -> None:
        self.reasons.setdefault(reason, []).append(path)

    def _leave_out(self, path: str, reason: str) -> None:
        self._note(path, f"left out: {reason}")

    def _group(self, path: str, depth: int) -> None:
        """Copy a group of the first file with all that is in it."""
        source = find(self.files[0], path)
        assert source is not None
        made = self.out.require_group(path or "/")
        self.objects[address(source)] = path or "/"
        self._attributes(source, made, path)
        for name in source:
            where = f"{path}/{name}".lstrip("/")
            self.seen.add(where)
            found = link(source, name)
            if isinstance(found, self.library.SoftLink):
                if name not in made:
                    made[name] = self.library.SoftLink(found.path)
            elif (thing := find(source, name)) is None:
                self._leave_out(where, _LEAVES_FILE)
            else:
                self._object(thing, where, depth)

    def _object(self, source: "Group | Dataset", path: str, depth: int) -> None:
        """Copy what a hard link leads to."""
        group, _, name = path.rpartition("/")
        if path in (
            f"{self.other_contents.particles}/{omitted}" for omitted in self.other_contents.omitted
        ):
            return
        known = self.objects.get(address(source))
        if known is not None:
            if known in self.out and path not in self.out:
                self.out[path] = self.out[known]
        elif isinstance(source, self.library.Group):
            if depth >= _DEPTH:
                self._leave_out(path, f"it is nested deeper than {_DEPTH} groups")
            elif self.atoms is not None and path == GROMACS_TOPOLOGY:
                self._leave_out(path, _NUMBERS_ATOMS)
            elif self._is_element(path):
                self._element(source, path, depth)
            else:
                self._group(path, depth + 1)
        elif isinstance(source, self.library.Dataset):
            self._dataset(source, path)
            self._compare(source, path)
        else:
            self.library.h5o.copy(
                source.parent.id, name.encode(), self.out[group or "/"].id, name.encode()
            )
            self.objects[address(source)] = path

    def _is_element(self, path: str) -> bool:
        """Tell whether a group is an element of H5MD that changes in time."""
        value, *when = (find(self.files[0], f"{path}/{name}") for name in ("value", "step", "time"))
        if not isinstance(value, self.library.Dataset) or not value.shape:
            return False
        edges = path == f"{self.other_contents.particles}/box/edges"
        return edges or any(isinstance(one, self.library.Dataset) for one in when)

    def _is_of_atoms(self, path: str) -> bool:
        group = self.other_contents.particles
        return path.startswith(f"{group}/") and not path.startswith(f"{group}/box/")

    def _element(self, source: "Group", path: str, depth: int) -> None:
        """Copy the rows of an element that belong to the frames of the output."""
        made = self.out.require_group(path)
        self.objects[address(source)] = path
        self._attributes(source, made, path)
        value = find(self.files[0], f"{path}/value")
        assert value is not None
        parts = None if self.is_whole else self._parts(path, value)
        name_of = path.rpartition("/")[2]
        native = (
            path == f"{self.other_contents.particles}/{name_of}"
            and name_of in self.other_contents.native
        )
        for name in source:
            where = f"{path}/{name}"
            self.seen.add(where)
            how = link(source, name)
            found = find(self.files[0], where)
            soft = how if isinstance(how, self.library.SoftLink) else None
            if soft is None and found is None:
                self._leave_out(where, _LEAVES_FILE)
                continue
            if name == "value" and native:
                n = value.shape[0] if parts is None else sum(len(rows) for _, rows in parts)
                if made["value"].shape[0] != n:
                    raise FormatError(
                        f"{value.file.filename}: {where} has other rows than when it was opened:"
                        " open it again"
                    )
                for attribute in list(made["value"].attrs):
                    del made["value"].attrs[attribute]
                self._attributes(value, made["value"], where)
                self.objects[address(value)] = where
            elif name in ("value", "step", "time") and found is not None and parts is not None:
                self._rows(found, where, name, parts)
            elif soft is not None:
                if name == "value" and found is not None:
                    self._dataset(found, where)
                else:
                    made[name] = self.library.SoftLink(soft.path)
            elif name == "value":
                self._dataset(found, where)
            else:
                self._object(found, where, depth + 1)

    def _parts(self, path: str, value: "Dataset") -> _Parts | None:
        """Return the rows of an element that belong to the output; None where all are kept."""
        parts: _Parts = []
        for number, chosen in self.runs:
            theirs = find(self.files[number], f"{path}/value")
            if not isinstance(theirs, self.library.Dataset):
                self._note(path, f"is not in {self.files[number].filename}")
                continue
            if theirs.shape[1:] != value.shape[1:] or theirs.dtype != value.dtype:
                self._leave_out(path, f"{self.files[number].filename} stores it otherwise")
                continue
            when = TimeAxis.of(self.files[number], path, theirs)
            rows = when.rows_at(self.frames[number], chosen, self.every[number])
            if rows is None:
                if len(self.files) > 1:
                    self._note(
                        path,
                        f"kept as it is in {self.files[0].filename}: nothing says which rows"
                        " belong to which frames",
                    )
                else:
                    self._note(path, "kept whole: nothing says which rows belong to which frames")
                return None
            parts.append((number, rows))
        return parts

    def _rows(self, source: "Dataset", path: str, kind: str, parts: _Parts) -> None:
        """Copy rows of the values, steps or times of an element."""
        if kind == "value":
            atoms = (
                self.atoms
                if self._is_of_atoms(path) and source.shape[1:2] == (self.n_atoms,)
                else None
            )
            self._cut(source, path, parts, atoms)
            return
        theirs = ((find(self.files[k], path), k, rows) for k, rows in parts)
        key = tuple(
            (k, None if found is None else address(found), rows.tobytes())
            for found, k, rows in theirs
        )
        if key in self.shared:
            self.out[path] = self.out[self.shared[key]]
            return
        if len(source.shape) == 1:
            self._cut(source, path, parts, None)
        else:
            self._cut_distances(source, path, parts)
        if path in self.out:
            self.shared[key] = path

    def _cut_distances(self, source: "Dataset", path: str, parts: _Parts) -> None:
        """Copy steps or times at equal distances; they are listed where frames are chosen."""
        ((number, rows), *more) = parts or [(0, np.arange(0))]
        if not more and number == 0 and np.array_equal(rows, np.arange(len(rows))):
            self._dataset(source, path)
            return
        listed = []
        for k, chosen in parts:
            theirs = find(self.files[k], path)
            n = int(chosen.max(initial=-1)) + 1
            every = None if theirs is None else listed_numbers(self.files[k], theirs, n)
            if every is None:
                self._leave_out(path, "not all files have it")
                return
            listed.append(every[chosen])
        numbers = np.concatenate(listed)
        if numbers.dtype.kind in "iu" and np.array_equal(numbers.astype(source.dtype), numbers):
            numbers = numbers.astype(source.dtype)
        made = self.out.create_dataset(path, data=numbers)
        self._attributes(source, made, path)
        if "offset" in made.attrs:
            del made.attrs["offset"]

    def _dataset(self, source: "Dataset", path: str) -> None:
        """Copy all rows of a dataset; of one of atoms those that are chosen."""
        by_row = source.shape[:1] == (self.n_atoms,) and not self._is_element(
            path.rpartition("/")[0]
        )
        by_atom = source.shape[1:2] == (self.n_atoms,) and path.endswith("/value")
        if self.atoms is not None and self._is_of_atoms(path) and (by_row or by_atom):
            if (reason := self._reason(source) or why_unread(source)) is not None:
                self._leave_out(path, reason)
            elif by_row:
                self._cut(source, path, [(0, self.atoms)], None)
            else:
                self._cut(source, path, [(0, np.arange(source.shape[0]))], self.atoms)
            return
        if (
            self.atoms is not None
            and path.startswith("connectivity/")
            and self._names_atoms(source)
        ):
            self._leave_out(path, _NUMBERS_ATOMS)
            return
        if (reason := self._reason(source)) is not None:
            self._leave_out(path, reason)
            return
        kind = source.id.get_type()
        if kind.detect_class(self.library.h5t.REFERENCE):
            self._leave_out(path, "it holds references")
            return
        group, _, name = path.rpartition("/")
        made = self.out.require_group(group or "/")
        with reading(source):
            self.library.h5o.copy(source.id, b".", made.id, name.encode())
        self.objects[address(source)] = path
        for attribute in source.attrs:
            self._note_reference(source, attribute, path)

    def _names_atoms(self, source: "Dataset") -> bool:
        """Tell whether a list of bonds is of the particles that are copied."""
        named = source.attrs.get("particles_group")
        if isinstance(named, self.library.Reference) and named:
            group = find(self.files[0], self.other_contents.particles)
            return address(source.file[named]) == address(group)
        return True

    def _reason(self, source: "Dataset") -> str | None:
        """Say why a dataset is not copied."""
        if source.id.get_storage_size() > file_size(source):
            return "its numbers are not in the file"
        return None

    def _cut(self, source: "Dataset", path: str, parts: _Parts, atoms: _Int | None) -> None:
        """Write rows of a dataset, and of these some atoms."""
        taken = []
        for number, rows in parts:
            theirs = source if number == 0 else find(self.files[number], path)
            if theirs is None:
                self._leave_out(path, "not all files have it")
                return
            reason = self._reason(theirs) or why_unread(theirs)
            if reason is None and theirs.shape[1:] != source.shape[1:]:
                reason = "files store it otherwise"
            if reason is None and len(rows) and rows.max() >= theirs.shape[0]:
                reason = "it has fewer rows than frames"
            if reason is not None:
                self._leave_out(path, reason)
                return
            taken.append((theirs, rows))
        made = self._created(source, path, sum(len(rows) for _, rows in parts), atoms)
        begin = 0
        for theirs, rows in taken:
            for some, numbers in slabs(theirs, rows):
                made[begin : begin + some] = numbers if atoms is None else numbers[:, atoms]
                begin += some
        self._attributes(source, made, path)

    def _created(self, source: "Dataset", path: str, n_rows: int, atoms: _Int | None) -> "Dataset":
        """Make a dataset like another one, of other rows and atoms."""
        shape = [n_rows, *source.shape[1:]]
        most = [*source.maxshape]
        if atoms is not None:
            shape[1] = len(atoms)
        most = [None if m is None else n for n, m in zip(shape, most, strict=True)]
        plist = source.id.get_create_plist().copy()
        # The second in which a file is made must not change its bytes.
        plist.set_obj_track_times(False)
        unlimited = self.library.h5s.UNLIMITED
        if source.chunks is not None:
            plist.set_chunk(
                tuple(
                    chunk if m is None else max(1, min(chunk, n))
                    for chunk, n, m in zip(source.chunks, shape, most, strict=True)
                )
            )
        elif math.prod(shape) * source.dtype.itemsize > _COMPACT:
            plist.set_layout(self.library.h5d.CONTIGUOUS)
        space = self.library.h5s.create_simple(
            tuple(shape), tuple(unlimited if m is None else m for m in most)
        )
        group, _, name = path.rpartition("/")
        made = self.out.require_group(group or "/")
        kind = source.id.get_type().copy()
        self.library.h5d.create(made.id, name.encode(), kind, space, plist)
        return made[name]

    def _attributes(self, source: "Group | Dataset", made: "Group | Dataset", path: str) -> None:
        """Copy attributes, in their own types."""
        low = self.library.h5a
        for name in source.attrs:
            if name == GROUP_KEPT or self._note_reference(source, name, path):
                continue
            attribute = low.open(source.id, name.encode())
            kind, shape = attribute.dtype, attribute.shape
            # Without numbers the shape is None.
            size = 0 if shape is None else kind.itemsize * math.prod(shape)
            if attribute_bytes(attribute) > file_size(source):
                self._leave_out(f"{path}@{name}", "its numbers are not in the file")
                continue
            if name in made.attrs:
                del made.attrs[name]
            space, type_ = attribute.get_space(), attribute.get_type().copy()
            new = low.create(made.id, name.encode(), type_, space)
            if not size:
                continue
            memory = self.library.h5t.py_create(kind)
            if kind.subdtype is not None:
                kind, inner = kind.subdtype
                shape = (*shape, *inner)
            with reading(source):
                numbers = np.zeros(shape, kind)
                attribute.read(numbers, mtype=memory)
            new.write(numbers, mtype=memory)

    def _note_reference(self, source: "Group | Dataset", name: str, path: str) -> bool:
        """Tell whether an attribute holds references, which are written at the end."""
        kind = self.library.h5a.open(source.id, name.encode()).get_type()
        if not kind.detect_class(self.library.h5t.REFERENCE):
            return False
        if kind.equal(self.library.h5t.STD_REF_OBJ):
            self.references.append((source, name, path))
        else:
            if path in self.out and name in self.out[path].attrs:
                del self.out[path].attrs[name]
            self._leave_out(f"{path}@{name}", "it holds references to parts of objects")
        return True

    def _write_references(self) -> None:
        """Have references to objects lead to their copies."""
        for source, name, path in self.references:
            made = self.out[path or "/"]
            if name in made.attrs:
                del made.attrs[name]
            given = source.attrs[name]
            array = np.ravel(np.asarray(given, dtype=object))
            # Some references of the source lead to nothing.
            leads = [self.objects.get(target_of(source, one), "") if one else None for one in array]
            if any(lead == "" or (lead and lead not in self.out) for lead in leads):
                self._leave_out(f"{path}@{name}", "it refers to what is left out")
                continue
            new = [self.out[lead].ref if lead else self.library.Reference() for lead in leads]
            if isinstance(given, np.ndarray):
                filled = np.empty(len(new), object)
                filled[:] = new
                kind = self.library.ref_dtype
                made.attrs.create(name, filled.reshape(given.shape).astype(kind), dtype=kind)
            else:
                made.attrs[name] = new[0]

    def _compare(self, source: "Dataset", path: str) -> None:
        """Say where another file holds other numbers than the first one."""
        for file in self.files[1:]:
            other = find(file, path)
            if other is None or not are_alike(source, other):
                self._note(path, f"kept as it is in {self.files[0].filename}: the files differ")
                return

    def _note_others(self, path: str, number: int, depth: int = 0) -> None:
        """Say what only a later file holds."""
        group = find(self.files[number], path)
        assert group is not None
        for name in group:
            where = f"{path}/{name}".lstrip("/")
            if where not in self.seen:
                self._leave_out(where, f"only {self.files[number].filename} holds it")
            elif (
                isinstance(link(group, name), self.library.HardLink)
                and depth < _DEPTH
                and where in self.objects.values()
                and isinstance(find(self.files[0], where), self.library.Group)
                and isinstance(group[name], self.library.Group)
            ):
                self._note_others(where, number, depth + 1)
