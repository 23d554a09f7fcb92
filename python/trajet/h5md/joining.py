"""Joins consecutive H5MD files by copying their compressed chunks."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import OutputError
from trajet.h5md.elements import (
    ELEMENTS,
    Boxes,
    Field,
    create,
    share_rows,
    write_box,
    write_rows,
)
from trajet.h5md.files import text
from trajet.h5md.library import h5py
from trajet.h5md.native_units import NativeContent
from trajet.h5md.writing import Content, output_errors

if TYPE_CHECKING:
    from h5py import Group


def join(
    path: Path,
    parts: Sequence[tuple[Path, int]],
    numbers: NDArray[np.int64],
    content: Content,
    *,
    force: bool,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Join files with the same chunk layout to one file, and remove them.

    Parameters
    ----------
    path
        Path of the output.
    parts
        Files written by `Content.fill`, and the number of frames of each. All but the last consist
        of whole chunks.
    numbers
        Frame numbers of the output.
    content
        Content of the output.
    force
        Whether to replace an existing file.
    progress
        Called with frames done and in total.

    Raises
    ------
    OutputError
        If the output cannot be written, or a part cannot be read or has another number of frames;
        there is no output then.
    """
    library = h5py(f"{path} cannot be written")
    packing = content.packing(len(numbers), 1)
    boxes, done = [], 0
    with (
        output.replacing_file(path, force=force) as own,
        output_errors(path),
        library.File(own, "w") as file,
        output.synced_on_the_way(own) as wrote,
    ):
        keeps_rest = isinstance(content, NativeContent) and content.other_contents is not None
        group = content.begin(file)
        there = {
            name: create(group, name, len(numbers), packing, dtype=content.dtype_of(name))
            for name in content.fields
        }
        for part, n_frames in parts:
            with contextlib.ExitStack() as stack:
                with _reading(part):
                    given = stack.enter_context(library.File(part, "r"))[content.group]
                    if not keeps_rest:
                        boxes.append(_boxes(given, n_frames))
                for name, values in there.items():
                    for (row, atom), skipped, held in _chunks(part, given, name, n_frames):
                        values.id.write_direct_chunk((done + row, atom, 0), held, skipped)
                        wrote(len(held))
            part.unlink()
            done += n_frames
            if progress is not None:
                progress(done, len(numbers))
        if isinstance(content, NativeContent) and keeps_rest:
            content.finish(file, numbers)
            return
        elements = [values.parent for values in there.values()]
        times, steps = content.reader.times(), content.reader.steps()
        write_rows(elements[0], steps[numbers], times[numbers])
        for element in elements[1:]:
            share_rows(element, elements[0])
        write_box(group, boxes, path)


@contextlib.contextmanager
def _reading(part: Path) -> Iterator[None]:
    """Make errors name the part that is read instead of the output."""
    try:
        yield
    except (OSError, RuntimeError, KeyError) as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"{part}: cannot be read: {output.why(error)}: do all workers see the same files? Run"
            " it again"
        ) from error


def _chunks(
    part: Path, given: "Group", name: Field, n_frames: int
) -> Iterator[tuple[tuple[int, int], int, bytes]]:
    """Yield first frame and atom, filter mask and bytes of each chunk of an element."""
    with _reading(part):
        values = given[f"{ELEMENTS[name][0]}/value"]
        found, n_atoms, _ = values.shape
        if found != n_frames:
            raise OutputError(
                f"{part}: has {name} of {found} frames, not of {n_frames}: do all workers see the"
                " same files? Run it again"
            )
    rows, atoms, _ = values.chunks
    for place in product(range(0, n_frames, rows), range(0, n_atoms, atoms)):
        with _reading(part):
            skipped, held = values.id.read_direct_chunk((*place, 0))
        yield place, skipped, held


def _boxes(given: "Group", n_frames: int) -> Boxes:
    """Return the boxes of a part; its vectors are NaN if it has none."""
    boundary = [text(word) == "periodic" for word in given["box"].attrs["boundary"]]
    periodic = np.tile(np.array(boundary, np.bool_), (n_frames, 1))
    if "edges" not in given["box"]:
        return Boxes(np.full((n_frames, 3, 3), np.nan), periodic)
    return Boxes(np.asarray(given["box/edges/value"][()]), periodic)
