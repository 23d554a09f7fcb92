"""H5MD of several files that follow each other: chunks are copied as they are packed."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import FormatError, OutputError
from trajet.h5md.library import h5py
from trajet.h5md.writing import (
    ELEMENTS,
    GROUP,
    Content,
    create,
    head,
    said_of_system,
    share_rows,
    write_box,
    write_rows,
)


def join(
    path: Path,
    parts: Sequence[tuple[Path, int]],
    numbers: NDArray[np.int64],
    content: Content,
    *,
    force: bool,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Make a file of several that were written with its chunks, and remove each of them.

    Parameters
    ----------
    path
        Where it goes.
    parts
        Files of `Content.fill`, of whole chunks all but the last, and the frames of each.
    numbers
        All frames.
    content
        What the files hold.
    force
        Whether to replace what stands there.
    progress
        Called with frames done and in total.

    Raises
    ------
    FormatError
        If some frames lack what others have.
    OutputError
        If it cannot be written, or a part has not the frames that it should; then there is none.
    """
    library = h5py(f"{path} cannot be written")
    packing = content.packing(len(numbers), 1)
    boxes, done = [], 0
    with (
        output.beside(path, force=force) as own,
        said_of_system(path),
        library.File(own, "w") as file,
        output.synced_on_the_way(own) as wrote,
    ):
        group = head(file, content.author)
        there = {name: create(group, name, len(numbers), packing) for name in content.fields}
        for part, n_expected in parts:
            with library.File(part, "r") as other:
                given = other[GROUP]
                n_frames = len(given["position/value"])
                if n_frames != n_expected:
                    raise OutputError(
                        f"{path}: a part has {n_frames} frames, not {n_expected}: do all workers"
                        " see the same files? Run it again"
                    )
                for name, values in there.items():
                    source = given[f"{ELEMENTS[name][0]}/value"]
                    if len(source) != n_frames:
                        raise FormatError(
                            f"{path}: some of the frames have no {name}: choose frames that have,"
                            f" leave these out (--no-{name}), or write it without a pool"
                        )
                    wrote(_copy(source, values, done, packing.chunk))
                boxes.append(_boxes(given, n_frames))
            part.unlink()
            done += n_frames
            if progress is not None:
                progress(done, len(numbers))
        elements = [values.parent for values in there.values()]
        times, steps = content.reader.times(), content.reader.steps()
        write_rows(elements[0], steps[numbers], times[numbers])
        for element in elements[1:]:
            share_rows(element, elements[0])
        write_box(group, np.concatenate(boxes))


def _copy(source: Any, values: Any, first: int, chunk: tuple[int, int]) -> int:
    """Copy chunks to the rows from `first` on; return their bytes."""
    n_bytes = 0
    n_frames, n_atoms, _ = source.shape
    for row, atom in product(range(0, n_frames, chunk[0]), range(0, n_atoms, chunk[1])):
        skipped, held = source.id.read_direct_chunk((row, atom, 0))
        values.id.write_direct_chunk((first + row, atom, 0), held, skipped)
        n_bytes += len(held)
    return n_bytes


def _boxes(given: Any, n_frames: int) -> NDArray[np.float64]:
    """Return box vectors as `write_box` takes them."""
    if "edges" not in given["box"]:
        return np.full((n_frames, 3, 3), np.nan)
    return np.asarray(given["box/edges/value"][()])
