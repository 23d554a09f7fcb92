"""A scene: the layers of a trajectory, and its frames as bytes.

A frame has the atoms of all layers, each once, in the order of the frames of the trajectory. It
begins with a header of `HEADER_SIZE` bytes, little-endian:

======  ==========  ====================================================================
offset  type        content
======  ==========  ====================================================================
0       uint32      number of the frame
4       uint32      number of atoms
8       float64     time, ps; NaN if it is unknown
16      float64     bytes of files that were read for frames so far
24      9 float32   box vectors row by row, Å; 0 without a box
60      3 float32   corner of the cell, Å
72      3 float32   origin of the positions, Å
84      float32     step of the positions, Å: they are int16; 0: they are float32
======  ==========  ====================================================================

The positions follow, x, y, z of one atom after the other: float32 in Å, or int16, which times the
step plus the origin are Å.
"""

import os
import re
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FrameError, SelectionError
from trajet.messages import Code, Message
from trajet.trajectory import Selection, Trajectory
from trajet.trajectory.cursor import Cursor
from trajet.viewer.encoding import centre, plain, quantised
from trajet.viewer.layers import VALUES, Layer, polymer_atoms
from trajet.viewer.result_json import ShownAtoms
from trajet.viewer.series import LinkedSeries
from trajet.viewer.structure import structure_of

_HEADER = struct.Struct("<IIdd9f3f3ff")
HEADER_SIZE = _HEADER.size
# Atoms by which frames are superposed: one a residue of proteins, nucleic acids and beads of both.
_FITTED = "CA P BB"
_MIN_FITTED = 3
# The folders of an absolute path in a text; in quotes they may have spaces. URLs keep theirs.
_FOLDERS = re.compile(r"""(?<=['"])/[^'"]*/|(?<![\w.:/])/(?:[^/\s'":]+/)+""")


class Scene:
    """The layers of a trajectory, and its frames as bytes; for several threads at a time.

    Parameters
    ----------
    trajectory
        The trajectory.
    layers
        Its layers, at least one.
    as_stored
        Whether positions are shown as stored at first. Otherwise, where there are a cell and bonds,
        molecules are made whole around the first layer, and where there is a protein or a nucleic
        acid, frames are superposed by it.
    quantise
        Whether frames have positions of 16 bits in steps of 0.01 Å. Frames that are larger than
        655 Å have positions of 32 bits anyway.
    series
        Series that are plotted beside it.
    first
        Number of the frame that is shown first.

    Raises
    ------
    ValueError
        If a layer is coloured by values and no series has any.

    Attributes
    ----------
    first
        Number of the frame that is shown first.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        layers: Sequence[Layer],
        *,
        as_stored: bool = False,
        quantise: bool = False,
        series: Sequence[LinkedSeries] = (),
        first: int = 0,
    ) -> None:
        self.first = first
        self._trajectory, self.layers, self.series = trajectory, tuple(layers), tuple(series)
        # The series whose values colour layers of the colour `VALUES`.
        self._values = next((k for k, each in enumerate(series) if each.has_colours), None)
        if self._values is None and any(layer.colour == VALUES for layer in layers):
            raise ValueError(
                "the colour values needs a result with values per atom or residue: add a series"
                " such as rmsf, a contact map, or areas by residue"
            )
        self._as_stored, self._quantise = as_stored, quantise
        self._columns = _sorted(*(layer.selection for layer in self.layers))
        self._first = np.searchsorted(self._columns, _sorted(self.layers[0].selection))
        self._messages: list[Message] = []
        self._guesses_bonds = False
        # Frames as stored, and repaired ones, by `stored`; empty before they are prepared.
        self._cursors: dict[bool, _Frames] = {}
        self._preparing = threading.Lock()
        self._structures: dict[int, bytes] = {}
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Repair molecules and superpose frames, where possible, before they are asked for.

        Large systems take a second, in which the page can be loaded.

        Raises
        ------
        TrajetError, OSError
            If frame 0 cannot be read.
        """
        with self._preparing:
            if self._cursors:
                return
            self._messages, self._guesses_bonds = [], False
            repaired = self._repaired(self.layers[0].selection)
            stored = _Frames(self._trajectory, self._columns)
            is_same = repaired is self._trajectory
            self._cursors = {
                True: stored,
                False: stored if is_same else _Frames(repaired, self._columns),
            }

    @property
    def messages(self) -> list[Message]:
        """Reasons why positions are not repaired or fitted, for the user."""
        self.prepare()
        return self._messages

    @property
    def has_repaired(self) -> bool:
        """Whether there are positions that are not as stored."""
        self.prepare()
        return self._cursors[False] is not self._cursors[True]

    @property
    def shows_stored(self) -> bool:
        """Whether positions are shown as stored at first."""
        return not self.has_repaired or self._as_stored

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return self._trajectory.n_frames

    @property
    def n_atoms(self) -> int:
        """Number of atoms of a frame."""
        return len(self._columns)

    @property
    def bytes_read(self) -> int:
        """Bytes of files that were read for frames so far."""
        return sum(frames.bytes_read for frames in set(self._cursors.values()))

    @property
    def bytes_by_tier(self) -> dict[str, int]:
        """Bytes that were read for frames so far, by the names of a store's tiers; else empty."""
        tiers = self._trajectory.tiers
        found = dict.fromkeys(tiers, 0)
        for frames in set(self._cursors.values()):
            # A cursor that has read nothing has no list, and lists may be longer.
            for name, n_bytes in zip(tiers, frames.bytes_by_tier, strict=False):
                found[name] += n_bytes
        return found

    @property
    def frames_read(self) -> int:
        """Number of frames that were read so far."""
        return sum(frames.n_read for frames in set(self._cursors.values()))

    def describe(self) -> dict[str, object]:
        """Return what the page needs to know, as values that JSON has; no path is among them."""
        trajectory = self._trajectory
        dataset = trajectory.dataset
        return {
            "title": self._title(),
            "n_frames": self.n_frames,
            "files": self._files(),
            "first": self.first,
            "n_atoms": trajectory.n_atoms,
            "n_shown": self.n_atoms,
            "size": trajectory.source.reader.size if dataset is None else dataset.size,
            "header_size": HEADER_SIZE,
            "bytes_an_atom": 6 if self._quantise else 12,
            "has_repaired": self.has_repaired,
            "shows_stored": self.shows_stored,
            "messages": self.messages,
            "layers": [
                {
                    "label": layer.label,
                    "n_atoms": layer.selection.n_atoms,
                    "representation": layer.representation,
                    "colour": layer.colour,
                    "ranges": _ranges(np.searchsorted(self._columns, _sorted(layer.selection))),
                }
                for layer in self.layers
            ],
            "series": [series.title for series in self.series],
            "values": self._values,
        }

    def _title(self) -> str:
        """Return the name of the data set, or of the first file and the number of the others."""
        trajectory = self._trajectory
        if trajectory.dataset is not None:
            return trajectory.source.files.stem
        others = len(trajectory.paths) - 1
        more = f" and {others} more file{'s' * (others > 1)}" if others else ""
        return trajectory.path.name + more

    def _files(self) -> list[dict[str, object]]:
        """Return name and first frame of each file that has frames; nothing of a single file."""
        trajectory = self._trajectory
        if trajectory.dataset is not None or len(trajectory.paths) == 1:
            return []
        segments = trajectory.source.reader.segments()
        kept = [segment["n_frames"] - segment["dropped_frames"] for segment in segments]
        first = np.cumsum([0, *kept]).tolist()
        return [
            {"name": path.name, "first": first[k]}
            for k, path in enumerate(trajectory.paths)
            if kept[k]
        ]

    def structure(self, layer: int) -> bytes:
        """Return the structure of a layer as BinaryCIF, at the positions of frame 0.

        Raises
        ------
        TrajetError, OSError
            If frame 0 cannot be read.
        """
        self.prepare()
        with self._lock:
            if layer not in self._structures:
                columns = _sorted(self.layers[layer].selection)
                positions, _ = self._cursors[self.shows_stored].read(0)
                indices = self._trajectory.source.index.indices_of(columns)
                self._structures[layer] = structure_of(
                    self._trajectory.topology,
                    indices,
                    positions[np.searchsorted(self._columns, columns)],
                    self._bonds(),
                )
            return self._structures[layer]

    def frame(self, number: int, *, stored: bool) -> bytes:
        """Return a frame as bytes; see the module.

        Parameters
        ----------
        number
            Its number, from 0 to `n_frames` - 1.
        stored
            Whether positions are as stored, not repaired and fitted.

        Raises
        ------
        FrameError
            If the frame has no positions.
        TrajetError, OSError
            If the frame cannot be read.
        """
        self.prepare()
        positions, metadata = self._cursors[stored].read(number)
        data, origin, quantum = quantised(positions) if self._quantise else plain(positions)
        vectors = metadata.box.vectors if metadata.box.exists else np.zeros((3, 3))
        corner = metadata.box.origin
        if not stored and self.has_repaired and metadata.box.exists:
            # The corner of a periodic cell is arbitrary: the first layer is in its centre.
            corner = centre(self._of_first(positions)) - vectors.sum(axis=0) / 2
        header = _HEADER.pack(
            number,
            len(positions),
            metadata.time,
            float(self.bytes_read),
            *vectors.ravel().tolist(),
            *corner.tolist(),
            *origin.tolist(),
            quantum,
        )
        return header + data

    def series_document(self, number: int) -> dict[str, object]:
        """Return a series as values that JSON has; see `LinkedSeries.document`.

        Analyses run on the positions of the trajectory, as their commands do: not on those of the
        picture, which are repaired and superposed.
        """
        shown = ShownAtoms(
            self._trajectory, self._trajectory.source.index.indices_of(self._columns)
        )
        found = self.series[number].document(self.layers[0].selection, shown)
        messages = found["messages"]
        assert isinstance(messages, list)
        return {**found, "messages": [self.without_paths(message) for message in messages]}

    def close(self) -> None:
        """Close the cursors; the trajectory stays open."""
        for frames in set(self._cursors.values()):
            frames.close()

    def _of_first(self, positions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the positions of the atoms of the first layer, of those of all layers."""
        if len(self._first) == len(positions):
            return positions
        return positions.take(self._first, axis=0)

    def _repaired(self, first: Selection) -> Trajectory:
        """Return the trajectory, repaired around the first layer and fitted where possible.

        One that has transforms already is shown as they make it.
        """
        if self._trajectory.transforms:
            return self._trajectory
        fitted = polymer_atoms(first, _FITTED)
        if fitted is not None and fitted.n_atoms < _MIN_FITTED:
            fitted = None
        found = self._whole(fitted)
        if fitted is None:
            return found
        try:
            return found.fit(fitted)
        except SelectionError as error:
            text = self.without_paths(f"frames are not superposed: {error}")
            self._messages.append(Message(Code.NOT_SUPERPOSED, text))
        return found

    def _whole(self, around: Selection | None) -> Trajectory:
        """Return the trajectory with whole molecules, if there are a cell and bonds."""
        trajectory = self._trajectory
        with trajectory.cursor([], positions=False, read_ahead=False) as cursor:
            if not cursor.read(0).box.exists:
                return trajectory
        self._guesses_bonds = not trajectory.topology.has_all_bonds
        try:
            if around is None:
                found = trajectory.whole(guess_bonds=self._guesses_bonds)
            else:
                found = trajectory.repair(around, guess_bonds=self._guesses_bonds)
            found.source.check_known(found.transforms, self._columns)
        except SelectionError as error:
            self._guesses_bonds = False
            text = self.without_paths(f"molecules may be broken: {error}")
            self._messages.append(Message(Code.BROKEN_MOLECULES, text))
            return trajectory
        return found

    def _bonds(self) -> NDArray[np.int64] | None:
        """Return the bonds of the topology, or those that were guessed; None if there are none."""
        topology = self._trajectory.topology
        if self._guesses_bonds:
            return topology.guessed_bonds
        # The page finds bonds by distances where only some are listed.
        return topology.bonds if topology.has_all_bonds else None

    def without_paths(self, text: str) -> str:
        """Return a text with the names of files in place of their paths."""
        trajectory = self._trajectory
        paths = [str(path) for path in (*trajectory.paths, *trajectory.source.files.absolute_paths)]
        # Topologies that are no files, such as objects of MDAnalysis, have no path.
        with suppress(TypeError):
            paths.append(os.fspath(trajectory.topology))
        return without_paths(text, paths)


def without_paths(text: str, paths: Sequence[str]) -> str:
    """Return a text with the names of files in place of their paths, and of all absolute ones."""
    for path in sorted(paths, key=len, reverse=True):
        text = text.replace(path, path.rstrip("/").rpartition("/")[2])
    return _FOLDERS.sub("", text)


def is_quantised(frame: bytes) -> bool:
    """Return whether the positions of a frame are int16."""
    step: float = _HEADER.unpack_from(frame)[-1]
    return step != 0


class _Metadata:
    """Time, ps, and box of a frame."""

    def __init__(self, cursor: Cursor) -> None:
        self.time = float(cursor.time)
        self.box = cursor.box


class _Frames:
    """Frames of some atoms of a trajectory, read one at a time."""

    def __init__(self, trajectory: Trajectory, columns: NDArray[np.int64]) -> None:
        # Only the frames that are asked for are read.
        self._cursor = Cursor(
            trajectory.source,
            columns,
            positions=True,
            velocities=False,
            forces=False,
            read_ahead=False,
        )
        self._lock = threading.Lock()

    def read(self, number: int) -> tuple[NDArray[np.float32], _Metadata]:
        """Return positions, `(n_atoms, 3)`, Å, and metadata of a frame.

        Raises
        ------
        FrameError
            If it has no positions.
        """
        with self._lock:
            out = np.empty((self._cursor.n_atoms, 3), np.float32)
            self._cursor.read(number, out)
            if not self._cursor.has_positions:
                raise FrameError(f"frame {number} has no positions")
            return out, _Metadata(self._cursor)

    @property
    def bytes_read(self) -> int:
        """Bytes of files that were read so far."""
        return self._cursor.counts["bytes_read"]

    @property
    def bytes_by_tier(self) -> list[int]:
        """Bytes of `bytes_read` from each tier of a store; empty if none was read."""
        return self._cursor.counts.get("bytes_by_tier", [])

    @property
    def n_read(self) -> int:
        """Number of frames that were read so far."""
        return self._cursor.counts["frames"]

    def close(self) -> None:
        """Close the cursor, after the frame that is being read."""
        with self._lock:
            self._cursor.close()


def _sorted(*selections: Selection) -> NDArray[np.int64]:
    """Return the columns of the atoms that are in any of some selections, ascending."""
    is_selected = np.zeros(selections[0].trajectory.n_atoms, np.bool_)
    for selection in selections:
        is_selected[selection.columns] = True
    return np.flatnonzero(is_selected)


def _ranges(numbers: NDArray[np.int64]) -> list[list[int]]:
    """Return ascending numbers as ranges [first, last + 1]."""
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    starts, ends = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(numbers)]])
    firsts, lasts = numbers[starts].tolist(), numbers[ends - 1].tolist()
    return [[first, last + 1] for first, last in zip(firsts, lasts, strict=True)]
