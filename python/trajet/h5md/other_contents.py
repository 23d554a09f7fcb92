"""`OtherContents`: what H5MD files hold beside the vectors of their frames, and where it is."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.h5md import units
from trajet.h5md.files import creator_of
from trajet.h5md.library import HdfFile, h5py
from trajet.h5md.links import find
from trajet.h5md.time_axis import TimeAxis

if TYPE_CHECKING:
    from h5py import Dataset, File

VECTORS = ("position", "velocity", "force")
# The attribute of a file of `keep` that names the group whose vectors are not in it.
GROUP_KEPT = "trajet_particles"

_Int = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """A source file, and the number of its frames in the trajectory."""

    path: HdfFile
    n_frames: int


@dataclass(frozen=True)
class OtherContents:
    """The contents of H5MD files other than the vectors of their frames. Can be pickled.

    Attributes
    ----------
    sources
        The files, in the order of their frames.
    particles
        The group whose vectors are copied, "particles/NAME".
    native
        Elements of it whose values the native module copies, and how these are stored ("<f4", …).
    omitted
        Elements of it that are not wanted.
    atoms
        Its atoms that are copied; None for all.
    is_complete
        Whether all frames have all native elements.
    units
        Units that a user named because the files do not, by the paths of datasets.
    """

    sources: tuple[Source, ...]
    particles: str
    native: dict[str, str]
    omitted: tuple[str, ...] = ()
    atoms: _Int | None = None
    is_complete: bool = False
    units: Mapping[str, str] = field(default_factory=dict)


def other_contents_of(
    sources: Sequence[Source],
    factors: Mapping[str, float | None],
    *,
    particles: str | None = None,
    omitted: Sequence[str] = (),
    joined: bool,
) -> OtherContents | None:
    """Return the other contents of H5MD files of one trajectory; None if one file cannot hold them.

    Parameters
    ----------
    factors
        Factors by which the numbers of "position", "velocity", "force" and "time" are multiplied
        when they are read.
    particles
        The name of the group whose vectors are copied; None where there is one.
    omitted
        Elements that are not wanted: "velocity", "force".
    joined
        Whether parts of the output are joined: then all native elements have all frames.
    """
    with opened_files([source.path for source in sources]) as files:
        group = None if particles is None else f"particles/{particles}"
        named = {group or particles_of(file) for file in files}
        if len(named) != 1 or None in named:
            return None
        (group,) = named
        assert group is not None
        found = [
            native_elements(file, group, source, joined=joined)
            for file, source in zip(files, sources, strict=True)
        ]
        native = {
            name: dtype
            for name, dtype in found[0].items()
            if name not in omitted and all(name in each for each in found)
        }
        # Only the native module can copy vectors of which this file has no chunk.
        for file in files:
            for name in VECTORS:
                value = find(file, f"{group}/{name}/value")
                if (
                    name not in native
                    and name not in omitted
                    and value is not None
                    and _is_blank(value)
                ):
                    return None
        missing = _missing_units(files[0], group, factors)
        complete = [
            native_elements(file, group, source, joined=True)
            for file, source in zip(files, sources, strict=True)
        ]
    return OtherContents(
        tuple(sources),
        group,
        native,
        tuple(omitted),
        is_complete=all(native.keys() <= one.keys() for one in complete),
        units=missing,
    )


def _missing_units(file: "File", group: str, factors: Mapping[str, float | None]) -> dict[str, str]:
    """Return units that neither a file names nor its program has, by the paths of datasets."""
    found = {}
    usual = units.OF_PROGRAMS.get(creator_of(file), {})
    for quantity, by in factors.items():
        paths = [f"{group}/{name}/time" for name in VECTORS]
        for path in paths if quantity == "time" else [f"{group}/{quantity}/value"]:
            dataset = find(file, path)
            if by is None or dataset is None or "unit" in dataset.attrs:
                continue
            named = usual.get(quantity)
            if named is None or np.float32(units.factor(quantity, named, path)) != np.float32(by):
                found[path] = units.named(quantity, by)
    return found


@contextlib.contextmanager
def opened_files(paths: Sequence[HdfFile]) -> Iterator[list["File"]]:
    """Open files in HDF5's library."""
    with contextlib.ExitStack() as stack:
        library = h5py(str(paths[0]))
        yield [stack.enter_context(library.File(path, "r")) for path in paths]


def particles_of(file: "File") -> str | None:
    """Return the only group of particles that has vectors."""
    if GROUP_KEPT in file.attrs:
        return str(file.attrs[GROUP_KEPT])
    groups = find(file, "particles")
    found = [
        f"particles/{name}"
        for name in (groups if groups is not None and hasattr(groups, "keys") else ())
        if any(find(file, f"particles/{name}/{element}/value") is not None for element in VECTORS)
    ]
    return found[0] if len(found) == 1 else None


def n_rows(file: "File", group: str) -> int:
    """Return how many rows the element has that numbers the frames."""
    values = (find(file, f"{group}/{name}/value") for name in VECTORS)
    return next(
        (int(value.shape[0]) for value in values if value is not None and value.shape[0]), 0
    )


def native_elements(
    file: "File", group: str, source: Source | None, *, joined: bool
) -> dict[str, str]:
    """Return the elements whose values the native module copies, all of them, and their types."""
    found: dict[str, str] = {}
    frames = None
    for name in VECTORS:
        value = find(file, f"{group}/{name}/value")
        if value is None or value.shape[0] == 0:
            continue
        when = TimeAxis.of(file, f"{group}/{name}", value)
        if frames is None:
            n = value.shape[0] if source is None else source.n_frames
            frames = when.first(n)
        elif not frames.has_all_of(when, joined=joined):
            continue
        found[name] = value.dtype.str
    return found


def _is_blank(value: "Dataset") -> bool:
    """Tell whether a dataset has a place for numbers and none of them."""
    return bool(value.size) and value.chunks is not None and value.id.get_num_chunks() == 0
