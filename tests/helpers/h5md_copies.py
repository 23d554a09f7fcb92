"""Writes frames as H5MD with layouts that users cannot choose."""

from pathlib import Path
from typing import Any

import trajet as tj
from trajet import _trajet, h5md
from trajet.trajectory import AtomChoice, FrameChoice


def write_h5md_copy(
    path: Path,
    trajectory: tj.Trajectory,
    *,
    frames: FrameChoice = None,
    atoms: AtomChoice | None = None,
    threads: int | None = None,
    progress: Any = None,
    **layout: Any,
) -> None:
    """Write frames and atoms of a trajectory; `layout` has further fields of `h5md.Content`."""
    columns = None if atoms is None else trajectory.select(atoms).columns
    numbers = trajectory.source.numbers(frames)
    workers = threads or _trajet.available_threads()
    reader = trajectory.source.reader_for(numbers, columns, workers=workers)
    kept = tuple(trajectory.source.reader.messages_for_copy("H5MD"))
    content = h5md.Content(reader, columns, of_source=kept, **layout)
    h5md.write_all([(path, numbers)], content, threads=threads, progress=progress)
