"""Writers for MDAnalysis: frames are encoded in blocks while the script goes on."""

import atexit
import errno
import os
import shutil
import sys
import threading
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal

import numpy as np
from MDAnalysis import Universe
from MDAnalysis.coordinates.base import WriterBase
from MDAnalysis.coordinates.timestep import Timestep
from MDAnalysis.core.groups import AtomGroup
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet.conversion.files import OutputOptions
from trajet.trajectory import Block

# Bytes of positions in a block, and the largest number of its frames.
_BLOCK_BYTES = 2**22
_MOST_FRAMES = 32

# Writers that are not closed.
_open: "weakref.WeakSet[Writer]" = weakref.WeakSet()


@dataclass
class _Pending:
    """Frames that are not encoded yet."""

    positions: NDArray[np.float32]
    velocities: NDArray[np.float32] | None
    forces: NDArray[np.float32] | None
    times: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    vectors: list[NDArray[np.float64]] = field(default_factory=list)

    @classmethod
    def of(cls, n_atoms: int, *, velocities: bool, forces: bool) -> "_Pending":
        n_frames = min(max(_BLOCK_BYTES // (12 * max(n_atoms, 1)), 1), _MOST_FRAMES)
        shape = (n_frames, n_atoms, 3)
        return cls(
            np.empty(shape, np.float32),
            np.empty(shape, np.float32) if velocities else None,
            np.empty(shape, np.float32) if forces else None,
        )

    def holds(self, n_atoms: int, *, velocities: bool, forces: bool) -> bool:
        """Return whether there is room for a frame with these fields."""
        capacity, of_block, _ = self.positions.shape
        has = (self.velocities is not None, self.forces is not None)
        return len(self.times) < capacity and of_block == n_atoms and has == (velocities, forces)

    def block(self) -> Block:
        """Return the frames as a block."""
        n = len(self.times)
        steps = np.array(self.steps, np.int64)
        return Block(
            self.positions[:n],
            np.array(self.times),
            steps,
            steps,
            np.full((n, 6), np.nan),
            None if self.velocities is None else self.velocities[:n],
            None if self.forces is None else self.forces[:n],
            vectors=np.array(self.vectors),
        )


class Writer(WriterBase):  # type: ignore[misc]
    """Writes a trajectory, which gets its name when it is closed.

    If the `with` block or the script fails, there is no file. Each subclass writes one format.
    """

    # MDAnalysis' own writer of the format, and the endings of file names that ours takes.
    _own: type[WriterBase]
    _suffixes: tuple[str, ...]

    def __new__(
        cls,
        filename: object,
        n_atoms: int | None,
        convert_units: bool = True,
        *rest: object,
        **more: object,
    ) -> WriterBase:
        """Return a writer, or MDAnalysis' own for files and units that ours does not write."""
        if convert_units and cls._takes(filename):
            return super().__new__(cls)
        return cls._own(filename, n_atoms, convert_units, *rest, **more)

    @classmethod
    def _takes(cls, filename: object) -> bool:
        """Return whether a file is a plain one whose ending is that of the format."""
        if not isinstance(filename, (str, Path)):
            return False
        path = Path(filename)
        return path.suffix.lower() in cls._suffixes and (path.is_file() or not path.exists())

    def _begin(self, filename: str | Path, how: OutputOptions) -> None:
        """Begin the file.

        Raises
        ------
        OutputError
            If its folder is missing, or cannot be written.
        """
        self._path = Path(filename)
        self._pid = os.getpid()
        self._pending: _Pending | None = None
        self._thread: threading.Thread | None = None
        self._errors: list[BaseException] = []
        # MDAnalysis' own writer, once a frame came that ours does not write, and its file.
        self._rest: WriterBase | None = None
        self._rest_path: Path | None = None
        self._n_written = 0
        self._last_error = id(getattr(sys, "last_value", None))
        nothing = np.empty(0), np.empty(0, np.int64)
        self._target = self._target_of(self._path)
        self._native: _trajet.TrajectoryWriter | None = _trajet.TrajectoryWriter(
            self._target, how, *nothing, force=True
        )
        _open.add(self)

    def _target_of(self, path: Path) -> Path:
        """Return the path that the engine's writer gives to its file."""
        return path

    def _write_next_frame(self, ag: AtomGroup | Universe) -> None:
        try:
            ts = ag.ts
        except AttributeError:
            try:
                ts = ag.trajectory.ts
            except AttributeError:
                raise TypeError(
                    f"{type(ag).__name__} is neither an AtomGroup or Universe"
                ) from None
        if self._native is None and self._rest is None:
            raise OSError(errno.EBADF, "the writer is closed", str(self.filename))
        self._check(ts)
        if self._rest is None and not self._can_write(ts):
            self._hand_over()
        if self._rest is not None:
            self._rest.write(ag)
        else:
            self._append(ts)
        self._n_written += 1

    def _check(self, ts: Timestep) -> None:
        """Raise the errors of MDAnalysis' writer for a frame."""
        raise NotImplementedError

    def _append(self, ts: Timestep) -> None:
        """Append a frame that the engine's writer takes."""
        raise NotImplementedError

    def _can_write(self, ts: Timestep) -> bool:
        """Return whether the engine's writer writes what MDAnalysis' own writes for a frame."""
        raise NotImplementedError

    def _own_writer(self, path: Path) -> WriterBase:
        """Return MDAnalysis' own writer of the same options."""
        raise NotImplementedError

    def _put(
        self,
        ts: Timestep,
        time: float,
        step: int,
        *,
        vectors: NDArray[np.float64],
        velocities: bool = False,
        forces: bool = False,
    ) -> None:
        """Add a frame to the block; `vectors` are the box, `(3, 3)`, Å, or zeros."""
        fields = {"velocities": velocities, "forces": forces}
        if self._pending is None or not self._pending.holds(ts.n_atoms, **fields):
            self._send()
            self._pending = _Pending.of(ts.n_atoms, **fields)
        pending = self._pending
        k = len(pending.times)
        pending.positions[k] = ts.positions
        if pending.velocities is not None:
            pending.velocities[k] = ts.velocities
        if pending.forces is not None:
            pending.forces[k] = ts.forces
        pending.times.append(time)
        pending.steps.append(step)
        pending.vectors.append(vectors)

    def _send(self) -> None:
        """Have the block encoded by a thread, when the one before it is."""
        self._wait()
        pending, self._pending = self._pending, None
        if pending is not None:
            # Not a bound method: the thread must not be the last that has this object.
            work = (self._native, pending, self._errors)
            self._thread = threading.Thread(target=_encode, args=work)
            self._thread.start()

    def _wait(self) -> None:
        """Wait for the thread.

        Raises
        ------
        OutputError
            If the format cannot hold a frame, or the file cannot be written; it is removed.
        """
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        if self._errors:
            self._discard()
            raise self._errors.pop()

    def _flush(self) -> None:
        """Encode all frames, without another thread: none can be started at the end of Python."""
        self._wait()
        pending, self._pending = self._pending, None
        if pending is not None:
            _encode(self._native, pending, self._errors)
            self._wait()

    def _hand_over(self) -> None:
        """Have MDAnalysis' own writer write the frames from here on."""
        self._flush()
        if self._native is not None:
            if self._n_written:
                self._native.finish()
            self._native.discard()
            self._native = None
        self._rest_path = output.name_beside(self._path)
        self._rest = self._own_writer(self._rest_path)

    def close(self) -> None:
        """Complete the file, and give it its name; a file without frames is not made.

        Raises
        ------
        OutputError
            If the format cannot hold a frame, or the file cannot be written; there is none then.
        """
        if getattr(self, "_pid", None) != os.getpid():
            return
        try:
            if self._native is not None:
                self._flush()
                if self._native is not None and self._n_written:
                    self._native.finish()
                    self._native = None
                    if self._target != self._path:
                        output.give_name(self._target, self._path, force=True)
            elif self._rest is not None:
                self._complete_rest()
        finally:
            self._discard()

    def _complete_rest(self) -> None:
        rest, self._rest = self._rest, None
        path = self._rest_path
        if rest is None or path is None:
            return
        rest.close()
        if self._target != self._path and self._target.exists():
            # Frames of the engine's writer come first; the formats are sequences of frames.
            with self._target.open("ab") as file, path.open("rb") as more:
                shutil.copyfileobj(more, file, 2**22)
            path.unlink()
            path = self._target
        if path.exists():
            output.give_name(path, self._path, force=True)

    def _discard(self) -> None:
        """Remove what is not complete."""
        _open.discard(self)
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self._pending = None
        native, self._native = self._native, None
        if native is not None:
            native.discard()
        rest, self._rest = self._rest, None
        if rest is not None:
            rest.close()
        for path in (self._rest_path, self._target):
            if path is not None and path != self._path:
                path.unlink(missing_ok=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        """Call `close`, or leave no file after an error."""
        if kind is not None and getattr(self, "_pid", None) == os.getpid():
            self._discard()
        self.close()
        return False

    def __del__(self) -> None:
        """Call `close`."""
        self.close()


def _encode(
    native: _trajet.TrajectoryWriter | None, pending: _Pending, errors: list[BaseException]
) -> None:
    """Append frames to the file; the next call of the script raises an error."""
    try:
        if native is not None:
            native.append(pending.block(), threads=_trajet.available_threads())
    except BaseException as error:
        errors.append(error)


@atexit.register
def _close_all() -> None:
    """Close writers that a script left open, or remove their files if it failed."""
    for writer in list(_open):
        if id(getattr(sys, "last_value", None)) != writer._last_error:
            if writer._pid == os.getpid():
                writer._discard()
        else:
            writer.close()
