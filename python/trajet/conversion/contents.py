"""Contents of copies, and notes on what copies leave out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, h5md
from trajet._trajet import OutputError
from trajet.conversion.files import OutputOptions, hdf5_content
from trajet.formats import has_velocities, written_as
from trajet.messages import Message, left_out
from trajet.pools.pool import Pool
from trajet.trajectory import Trajectory

# What H5MD cannot hold of boxes that do not begin at 0.
WITHOUT_ORIGIN = (
    "left out, as H5MD cannot hold it: the corner at which boxes begin (positions stay as they are)"
)
# Frames per read in the search for velocities or forces.
_FRAMES_LOOKED_AT = 1000


def native_content(
    trajectory: Trajectory,
    path: Path,
    columns: NDArray[np.int64] | None,
    how: OutputOptions,
    pool: Pool | None,
    *,
    joined: bool,
) -> h5md.NativeContent | None:
    """Return the content of an exact copy of H5MD; None if one file cannot hold it."""
    reader, dataset = trajectory.source.reader, trajectory.dataset

    def frames_only() -> h5md.NativeContent:
        messages = content_left_out(trajectory, path)
        return h5md.NativeContent(
            reader,
            columns,
            compression=how.compression,
            messages=messages,
            of_source=how.of_source,
        )

    if reader.format != h5md.HDF5.name or trajectory.transforms:
        return None
    if not trajectory.source.files.copies_rows:
        return frames_only()
    atoms = columns
    if dataset is None:
        if pool is not None and trajectory.source.files.objects:
            raise ValueError(
                f"{path}: only threads of this process write exact H5MD copies of objects in remote"
                " storage: leave the pool out"
            )
        sources = [
            h5md.Source(
                trajectory.source.files.hdf5_at(segment["path"]),
                segment["n_frames"] - segment["dropped_frames"],
            )
            for segment in reader.segments()
        ]
    else:
        if not _is_exact(trajectory, how):
            return None
        if pool is not None:
            raise ValueError(
                f"{path}: only threads of this process write exact H5MD copies of a data set:"
                " leave the pool out"
            )
        if dataset.origin is not None:
            atoms = dataset.origin if columns is None else dataset.origin[columns]
        kept = dataset.other_contents
        if kept is None:
            return frames_only()
        sources = [h5md.Source(*one) for one in kept]
    content = h5md.native_content(
        reader,
        columns,
        sources,
        atoms=atoms,
        particles=trajectory.source.files.particles,
        omitted=[
            *["velocity"] * (not how.velocities),
            *["force"] * (not how.forces),
        ],
        compression=how.compression,
        joined=joined,
        is_file=dataset is None,
    )
    if content is None:
        return frames_only() if dataset is not None else None
    return replace(content, of_source=how.of_source)


def content_left_out(trajectory: Trajectory, path: Path) -> list[Message]:
    """Return a note on the contents of HDF5 files that this output cannot hold."""
    if trajectory.dataset is not None:
        kept = trajectory.dataset.other_contents or []
        sources = [source for source, _ in kept]
    else:
        segments = trajectory.source.reader.segments()
        sources = [one["path"] for one in segments if one["format"] in h5md.HDF5.layouts]
    found = [
        h5md.left_out(trajectory.source.files.hdf5_at(one), trajectory.source.files.particles)
        for one in sources
    ]
    names = sorted({name for one in found for name in one})
    info = written_as(path.suffix)
    what = path.suffix if info is None else info.name
    return (
        [left_out(f"left out, as {what} has no place for it: {', '.join(names)}")] if names else []
    )


def _is_exact(trajectory: Trajectory, how: OutputOptions) -> bool:
    """Return whether a copy of a data set loses nothing: no tag is lossy, no field left out."""
    assert trajectory.dataset is not None
    tags = trajectory.dataset.manifest["tags"]
    return how.velocities and how.forces and not any(tag["lossy"] for tag in tags)


def lost_by_tags(trajectory: Trajectory, columns: NDArray[np.int64] | None) -> list[Message]:
    """Return notes on fields that are not written since lossy tags of a data set lack them."""
    tags: dict[str, list[str]] = {}
    for what, tag in trajectory.source.reader.omitted_fields(columns):
        tags.setdefault(what, []).append(tag)
    return [
        left_out(f"left out: {what}, which these lossy tags omit: {', '.join(lossy)}")
        for what, lossy in tags.items()
    ]


def frames_left_out(
    trajectory: Trajectory,
    path: Path,
    numbers: NDArray[np.int64],
    columns: NDArray[np.int64] | None,
    how: OutputOptions,
) -> list[Message]:
    """Return notes on fields of frames that H5MD cannot hold.

    Raises
    ------
    OutputError
        If a frame has such a field, and loss is not allowed.
    """
    messages = []
    if names := trajectory.source.reader.further_names(int(numbers[0])):
        messages.append(left_out(f"left out, as H5MD cannot hold it: {'; '.join(names)}"))
    with trajectory.cursor([], positions=False, read_ahead=False) as cursor:
        if cursor.read(int(numbers[0])).origin is not None:
            messages.append(left_out(WITHOUT_ORIGIN))
    losses, message = trajectory.source.reader.left_out(numbers, columns)
    if message is None:
        return messages
    if not how.allow_loss:
        first = min(position for *_, position in losses)
        lost = ", ".join(what or kind for kind, what, _, position in losses if position == first)
        raise OutputError(
            f"{path}: frame {numbers[first]}: H5MD cannot hold {lost}: choose a format that can, or"
            " allow the loss with allow_loss=True"
        )
    return [message, *messages]


def left_out_if_rotated(trajectory: Trajectory, path: Path) -> list[Message]:
    """Return notes on what copies of rotated frames leave out."""
    if not trajectory.source.rotates:
        return []
    without = []
    if has_velocities(trajectory.format):
        without.append("velocities and forces, which are not rotated along")
    if path.suffix.lower() not in h5md.HDF5.suffixes:
        without.append("unit cells, as the format cannot hold rotated ones")
    return [left_out(f"left out of fitted frames: {what}") for what in without]


def converted_content(
    trajectory: Trajectory,
    reader: _trajet.Reader,
    every: NDArray[np.int64],
    columns: NDArray[np.int64] | None,
    how: OutputOptions,
) -> h5md.Content:
    """Return the content of H5MD outputs of frames."""
    gone = {what for what, _ in trajectory.source.reader.omitted_fields(columns)}
    if trajectory.source.rotates:
        gone |= {"velocities", "forces"}
    how = replace(
        how,
        velocities=how.velocities
        and "velocities" not in gone
        and _holds(trajectory, every, "velocities"),
        forces=how.forces and "forces" not in gone and _holds(trajectory, every, "forces"),
    )
    return hdf5_content(reader, columns, how)


def _holds(trajectory: Trajectory, frames: NDArray[np.int64], kind: str) -> bool:
    """Return whether any of the frames has velocities or forces."""
    # Files of a chain may differ; formats without these fields raise errors.
    mixed = len({segment["format"] for segment in trajectory.source.reader.segments()}) > 1
    size = 1 if mixed else _FRAMES_LOOKED_AT
    for begin in range(0, len(frames), size):
        try:
            trajectory.source.read(
                frames[begin : begin + size],
                np.zeros(1, np.int64),
                None,
                velocities=kind == "velocities",
                forces=kind == "forces",
                counted=False,
            )
        except _trajet.FormatError as error:
            # A field that is damaged or was never written is not a field that the file lacks.
            if "positions only" not in str(error):
                raise
            continue
        return True
    return False
