"""H5MD of H5MD: numbers in the units and the precision that they have there."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet._trajet import FormatError
from trajet.h5md import units
from trajet.h5md.lanes import Show, in_order
from trajet.h5md.library import h5py
from trajet.h5md.tables import describe
from trajet.h5md.writing import (
    ELEMENTS,
    STEP_BYTES,
    Content,
    Packing,
    Rows,
    head,
    share_rows,
    write_checked,
    write_rows,
)

# What h5py takes where nothing is asked for.
_LEVEL = 4
# What frames have in common.
_MANNER = ("time_factor", "edges_factor", "lengths", "periodic")
_READ = {*(element for element, _ in ELEMENTS.values()), "box"}


@dataclass(frozen=True)
class OwnContent(Content):
    """What files hold of frames of H5MD: all that these say, as they say it."""

    steps_ascend: ClassVar[bool] = False

    def fill(self, own: Path, numbers: NDArray[np.int64], threads: int, show: Show) -> None:
        """Write frames to the file `own`; `show` is called with the frames of each step."""
        step = max(1, STEP_BYTES // (24 * self.n_atoms))

        def read(first: int) -> dict[str, Any]:
            return self.reader.stored(numbers[first : first + step], self.atoms)

        series: dict[str, Rows] = {}
        parts: list[Mapping[str, Any]] = []
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(h5py("it cannot be written").File(own, "w"))
            group = head(file, self.author, self.remarks)
            wrote = stack.enter_context(output.synced_on_the_way(own))
            read_ahead = in_order(read, range(0, len(numbers), step), threads)
            # No thread works on when the file is closed.
            for got in stack.enter_context(contextlib.closing(read_ahead)):
                parts.append({name: got[name] for name in (*_MANNER, "times", "steps", "edges")})
                if any(got[name] != parts[0][name] for name in _MANNER):
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

    def _packing(self, deflate: bool, n_frames: int, threads: int) -> Packing:
        """Return how frames become chunks: compressed, where they were."""
        frames, atoms, n_atoms = *self.chunk_of(n_frames), self.n_atoms
        level = self.compression or (_LEVEL if deflate else 0)
        return Packing(frames, atoms, n_atoms, level, threads)

    def _rows(
        self,
        group: Any,
        name: str,
        values: NDArray[Any],
        factor: float,
        got: Mapping[str, Any],
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


def _unit(name: str, factor: float) -> str:
    return units.named(ELEMENTS[name][0], factor)


def _write_box(group: Any, first: Rows, parts: list[Mapping[str, Any]]) -> None:
    """Write boxes as they were."""
    manner = parts[0]
    edges = np.concatenate([part["edges"] for part in parts]).reshape(-1, 3, 3)
    box = group.create_group("box")
    box.attrs["dimension"] = 3
    box.attrs["boundary"] = ["periodic" if is_so else "none" for is_so in manner["periodic"]]
    there = ~np.isnan(edges).any(axis=(1, 2))
    if not there.any():
        return
    if manner["lengths"]:
        edges = np.diagonal(edges, axis1=1, axis2=2)
    element = box.create_group("edges")
    values = element.create_dataset("value", data=edges[there])
    values.attrs["unit"] = units.named("edges", manner["edges_factor"])
    if there.all():
        share_rows(element, first.group)
        return
    steps, times = (np.concatenate([part[name] for part in parts]) for name in ("steps", "times"))
    write_rows(element, steps[there], times[there], first.time_unit)


def write_described(
    reader: _trajet.Reader,
    path: Path,
    *,
    own: bool,
    velocities: bool,
    forces: bool,
    threads: int,
    show: Show,
) -> dict[str, Any]:
    """Write all frames of an open trajectory, and return what `describe` tells of the file.

    With `own` they are frames of H5MD, and all that they say is written as they say it.
    """
    content = (
        OwnContent(reader, None)
        if own
        else Content(reader, None, velocities=velocities, forces=forces)
    )
    write_checked(path, np.arange(reader.n_frames), content, threads, show)
    return describe(path)


def left_out(path: Path) -> list[str]:
    """Name what an H5MD file holds beside positions, velocities, forces, boxes, times and steps."""
    with h5py(str(path)).File(path) as file:
        groups = {
            name: group
            for name, group in file["particles"].items()
            if hasattr(group, "keys") and any(name in group for name, _ in ELEMENTS.values())
        }
        found = [name for name in file if name not in ("h5md", "particles")]
        if len(groups) > 1:
            found.append("all particles but one group of " + ", ".join(sorted(groups)))
        found += [
            f"particles/{name}/{element}"
            for name, group in groups.items()
            for element in group
            if element not in _READ
        ]
    return sorted(found)
