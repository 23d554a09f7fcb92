"""A scene as one HTML file: the page, the programs that draw, and chosen frames.

The file has no text from users in its HTML. All data are pieces, each compressed by gzip, in the
Base64 text of one element; another element has their index as JSON: `pieces`, offset and length by
name; `base`, the number of the base frame, or null.

Pieces have the names and contents that the server answers with. Frames differ: positions of 16 bits
are stored as differences to those of the base frame, modulo 2^16, all low bytes before all high
bytes, of which gzip leaves little.
"""

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import OutputError
from trajet.output import replacing_file
from trajet.viewer.files import PROGRAMS, program, saved_page
from trajet.viewer.scene import HEADER_SIZE, Scene, is_quantised

# Bytes of a file, above which it is written only if the user insists.
LARGEST = 50_000_000


def save(
    scene: Scene,
    path: Path,
    frames: Sequence[int],
    *,
    force: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Write a page that needs no server, beside its name first; return its size in bytes.

    Parameters
    ----------
    scene
        The scene, with quantised frames.
    path
        Path of the file.
    frames
        Numbers of the frames, at least one.
    force
        Whether the file may have more than 50 MB.
    progress
        Called with the number of frames that are done.

    Raises
    ------
    OutputError
        If writing fails, or the file would have more than 50 MB.
    TrajetError, OSError, ValueError
        If a frame cannot be read, or a series cannot be drawn.
    """
    with replacing_file(path) as own, own.open("wb") as file:
        before, between, after = saved_page("PIECES", "INDEX")
        file.write(before.encode())
        pieces: dict[str, tuple[int, int]] = {}
        offset = 0

        def add_packed(name: str, packed: bytes) -> None:
            nonlocal offset
            pieces[name] = (offset, len(packed))
            # Base64 of multiples of three bytes can be joined.
            padded = packed + bytes(-len(packed) % 3)
            file.write(base64.b64encode(padded))
            offset += len(padded)

        def add(name: str, content: bytes) -> None:
            add_packed(name, gzip.compress(content, mtime=0))

        for name in PROGRAMS:
            add_packed(name, program(name))
        own_scene: dict[str, object] = {"frames": list(frames), "has_repaired": False}
        # The page shows the nearest frame that the file has.
        own_scene["first"] = scene.first or frames[0]
        add("scene.json", _json({**scene.describe(), **own_scene}))
        for layer in range(len(scene.layers)):
            add(f"structure/{layer}", scene.structure(layer))
        for number in range(len(scene.series)):
            add(f"series/{number}", _json(scene.series_document(number)))
        base: NDArray[np.int16] | None = None
        base_number = None
        for done, number in enumerate(frames):
            frame = scene.frame(number, stored=scene.shows_stored)
            if is_quantised(frame):
                content, positions = _difference(frame, base)
                if base is None:
                    base, base_number = positions, number
            else:
                content = frame
            add(f"frame/{number}", content)
            if not force and file.tell() > LARGEST:
                _refuse(path, done + 1, len(frames), file.tell())
            progress(done + 1)
        file.write(between.encode())
        index = {"pieces": pieces, "base": base_number}
        file.write(_json(index))
        file.write(after.encode())
        size = file.tell()
    return size


def _difference(frame: bytes, base: NDArray[np.int16] | None) -> tuple[bytes, NDArray[np.int16]]:
    """Return a frame with differences to a base in place of positions, and its own positions."""
    positions = np.frombuffer(frame, "<i2", offset=HEADER_SIZE).astype(np.int16)
    # Differences wrap round, and the page's sums wrap back.
    difference = positions if base is None else positions - base
    halves = difference.astype("<i2").view(np.uint8).reshape(-1, 2)
    return frame[:HEADER_SIZE] + halves.T.tobytes(), positions


def _refuse(path: Path, done: int, of: int, size: int) -> None:
    """Raise an error that states the size which the file would have.

    Raises
    ------
    OutputError
        Always.
    """
    expected = size / done * of
    raise OutputError(
        f"{path}: would have about {expected / 1e6:.0f} MB ({done} of {of} frames take"
        f" {size / 1e6:.0f} MB): choose fewer frames or atoms, or allow more than"
        f" {LARGEST / 1e6:.0f} MB with force=True"
    )


def _json(value: object) -> bytes:
    return json.dumps(value, allow_nan=False).encode()
