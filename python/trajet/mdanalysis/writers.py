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
from typing import Any, Literal

import numpy as np
from MDAnalysis.coordinates.base import WriterBase
from MDAnalysis.coordinates.TRJ import NCDFWriter as NCDFOwn
from MDAnalysis.coordinates.TRR import TRRWriter as TRROwn
from MDAnalysis.coordinates.XTC import XTCWriter as XTCOwn
from MDAnalysis.lib.mdamath import triclinic_vectors
from numpy.typing import NDArray

from trajet import _trajet, output
from trajet.conversion.files import OutputOptions
from trajet.trajectory import Block

# Bytes of positions in a block, and the largest number of its frames.
_BLOCK_BYTES = 2**22
_MOST_FRAMES = 32
_ANGSTROM_PER_NM = 10.0

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
    cells: list[NDArray[np.float64]] = field(default_factory=list)
    vectors: list[NDArray[np.float64]] = field(default_factory=list)

    @classmethod
    def of(cls, n_atoms: int, *, velocities: bool, forces: bool) -> "_Pending":
        n_frames = min(max(_BLOCK_BYTES // (12 * max(n_atoms, 1)), 1), _MOST_FRAMES)
        arrays = [
            np.empty((n_frames, n_atoms, 3), np.float32) if needed else None
            for needed in (velocities, forces)
        ]
        return cls(np.empty((n_frames, n_atoms, 3), np.float32), *arrays)

    def holds(self, n_atoms: int, *, velocities: bool, forces: bool) -> bool:
        """Return whether there is room for a frame with these fields."""
        room, of_block, _ = self.positions.shape
        has = (self.velocities is not None, self.forces is not None)
        return len(self.times) < room and of_block == n_atoms and has == (velocities, forces)

    def block(self) -> Block:
        """Return the frames as a block."""
        n = len(self.times)
        steps = np.array(self.steps, np.int64)
        return Block(
            self.positions[:n],
            np.array(self.times),
            steps,
            steps,
            np.array(self.cells),
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
        self._threads = _trajet.available_threads()
        self._pending: _Pending | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
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

    def _write_next_frame(self, ag: Any) -> None:
        try:
            ts = ag.ts
        except AttributeError:
            try:
                ts = ag.trajectory.ts
            except AttributeError:
                raise TypeError("Input obj is neither an AtomGroup or Universe") from None
        if self._native is None and self._rest is None:
            raise OSError(errno.EIO, "Attempt to write to closed file", str(self.filename))
        self._check(ts)
        if self._rest is None and not self._can_write(ts):
            self._hand_over()
        if self._rest is not None:
            self._rest.write(ag)
        else:
            self._append(ts)
        self._n_written += 1

    def _check(self, ts: Any) -> None:
        """Raise the errors of MDAnalysis' writer for a frame."""
        raise NotImplementedError

    def _append(self, ts: Any) -> None:
        """Append a frame that the engine's writer takes."""
        raise NotImplementedError

    def _can_write(self, ts: Any) -> bool:
        """Return whether the engine's writer writes what MDAnalysis' own writes for a frame."""
        raise NotImplementedError

    def _own_writer(self, path: Path) -> WriterBase:
        """Return MDAnalysis' own writer of the same options."""
        raise NotImplementedError

    def _put(
        self,
        ts: Any,
        time: float,
        step: int,
        *,
        cell: NDArray[np.float64] | None = None,
        vectors: NDArray[np.float64] | None = None,
        velocities: bool = False,
        forces: bool = False,
    ) -> None:
        """Add a frame to the block; `vectors` are the box in Å, where the format has vectors."""
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
        pending.cells.append(np.full(6, np.nan) if cell is None else cell)
        pending.vectors.append(np.full((3, 3), np.nan) if vectors is None else vectors)

    def _send(self) -> None:
        """Have the block encoded by a thread, when the one before it is."""
        self._wait()
        pending, self._pending = self._pending, None
        if pending is not None:
            self._thread = threading.Thread(target=self._encode, args=(pending,))
            self._thread.start()

    def _encode(self, pending: _Pending) -> None:
        try:
            if self._native is not None:
                self._native.append(pending.block(), threads=self._threads)
        except BaseException as error:  # raised by the next call of the script
            self._error = error

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
        error, self._error = self._error, None
        if error is not None:
            self._discard()
            raise error

    def _flush(self) -> None:
        """Encode all frames, without another thread: none can be started at the end of Python."""
        self._wait()
        pending, self._pending = self._pending, None
        if pending is not None:
            self._encode(pending)
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
                if self._n_written:
                    self._native.finish()
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


class XTCWriter(Writer, XTCOwn):
    """Writes XTC files."""

    _own = XTCOwn
    _suffixes = (".xtc",)

    def __new__(
        cls, filename: Any, n_atoms: int | None, convert_units: bool = True, *rest: Any, **more: Any
    ) -> Any:
        """Return a writer, or MDAnalysis' own for files and units that ours does not write."""
        if convert_units and cls._takes(filename):
            return super().__new__(cls)
        return cls._own(filename, n_atoms, convert_units, *rest, **more)

    def __init__(
        self,
        filename: str | Path,
        n_atoms: int | None,
        convert_units: bool = True,
        dt: float | None = None,
        precision: float = 3,
        **kwargs: Any,
    ) -> None:
        self.filename = filename
        self._convert_units = convert_units
        self.n_atoms = n_atoms
        self._dt = dt
        self.precision = precision
        self._n_of_first: int | None = None
        self._begin(filename, OutputOptions(precision=10.0**precision))

    def _check(self, ts: Any) -> None:
        first = self._n_of_first = self._n_of_first or ts.n_atoms
        _compare(first, ts.n_atoms)

    def _can_write(self, ts: Any) -> bool:
        return True

    def _append(self, ts: Any) -> None:
        self._put(ts, _time(self, ts), _step(ts), vectors=_vectors(self, ts))


class TRRWriter(Writer, TRROwn):
    """Writes TRR files; frames with another λ than 0 or without positions by MDAnalysis' own."""

    _own = TRROwn
    _suffixes = (".trr",)

    def __new__(
        cls, filename: Any, n_atoms: int | None, convert_units: bool = True, *rest: Any, **more: Any
    ) -> Any:
        """Return a writer, or MDAnalysis' own for files and units that ours does not write."""
        if convert_units and cls._takes(filename):
            return super().__new__(cls)
        return cls._own(filename, n_atoms, convert_units, *rest, **more)

    def __init__(
        self,
        filename: str | Path,
        n_atoms: int | None,
        convert_units: bool = True,
        dt: float | None = None,
        **kwargs: Any,
    ) -> None:
        self.filename = filename
        self._convert_units = convert_units
        self.n_atoms = n_atoms
        self._dt = dt
        self._begin(filename, OutputOptions())

    def _target_of(self, path: Path) -> Path:
        # Frames of MDAnalysis' own writer may follow.
        return output.name_beside(path)

    def _own_writer(self, path: Path) -> WriterBase:
        return self._own(str(path), self.n_atoms, dt=self._dt)

    def _check(self, ts: Any) -> None:
        if self.n_atoms is None:
            raise TypeError("n_atoms must be an integer, not None")
        _compare(self.n_atoms, ts.n_atoms)

    def _can_write(self, ts: Any) -> bool:
        return bool(ts.has_positions) and np.float32(ts.data.get("lambda", 0)) == 0

    def _append(self, ts: Any) -> None:
        self._put(
            ts,
            _time(self, ts),
            _step(ts),
            vectors=_vectors(self, ts),
            velocities=ts.has_velocities,
            forces=ts.has_forces,
        )

    def close(self) -> None:
        """Complete the file, as `Writer.close` does."""
        if getattr(self, "_pid", None) == os.getpid() and self._native is not None:
            try:
                self._flush()
                if self._native is not None and self._n_written:
                    self._native.finish()
                    self._native = None
                    output.give_name(self._target, self._path, force=True)
            finally:
                self._discard()
        super().close()


class NCDFWriter(Writer, NCDFOwn):
    """Writes Amber NetCDF files; those whose first frame has no cell by MDAnalysis' own writer."""

    _own = NCDFOwn
    _suffixes = (".nc",)

    def __new__(cls, filename: Any, n_atoms: int | None, *rest: Any, **more: Any) -> Any:
        """Return a writer, or MDAnalysis' own for files and options that ours does not write."""
        is_scaled = any(more[name] is not None for name in more if name.startswith("scale_"))
        converts = more.get("convert_units", True)
        if not rest and not is_scaled and converts and cls._takes(filename):
            return super().__new__(cls)
        return cls._own(filename, n_atoms, *rest, **more)

    def __init__(
        self,
        filename: str | Path,
        n_atoms: int | None,
        *,
        velocities: bool = False,
        forces: bool = False,
        **kwargs: Any,
    ) -> None:
        super(Writer, self).__init__(
            filename, n_atoms, velocities=velocities, forces=forces, **kwargs
        )
        self._begin(filename, OutputOptions())

    def _own_writer(self, path: Path) -> WriterBase:
        fields = {"velocities": self.has_velocities, "forces": self.has_forces}
        return self._own(str(path), self.n_atoms, **fields)

    def _check(self, ts: Any) -> None:
        if ts.n_atoms != self.n_atoms:
            raise OSError("NCDFWriter: Timestep does not have the correct number of atoms")

    def _can_write(self, ts: Any) -> bool:
        return self._n_written > 0 or ts.dimensions is not None

    def _append(self, ts: Any) -> None:
        self.periodic = True
        self._put(
            ts,
            float(ts.time),
            self._n_written,
            cell=None if ts.dimensions is None else np.asarray(ts.dimensions, np.float64),
            velocities=self.has_velocities,
            forces=self.has_forces,
        )
        self.curr_frame += 1


def _compare(n_before: int, n_atoms: int) -> None:
    """Raise the error of MDAnalysis' writers for frames of different numbers of atoms.

    Raises
    ------
    OSError
        If they differ.
    """
    if n_before != n_atoms:
        raise OSError(
            f"Previous frames contained {n_before} atoms. You are trying to write {n_atoms} atoms."
        )


def _time(writer: Any, ts: Any) -> float:
    return float(ts.time if writer._dt is None else writer._dt * ts.frame)


def _step(ts: Any) -> int:
    """Return the step of a frame.

    Raises
    ------
    OverflowError
        If it does not fit into 32 bits.
    """
    step = int(ts.data.get("step", ts.frame))
    if not -(2**31) <= step < 2**31:
        raise OverflowError(f"step {step} is too large for a file of GROMACS: 32 bits at most")
    return step


def _vectors(writer: Any, ts: Any) -> NDArray[np.float64]:
    """Return box vectors in Å, as MDAnalysis' writers compute them in nm; zeros without a cell."""
    in_nm = triclinic_vectors(writer.convert_dimensions_to_unitcell(ts, inplace=False))
    return in_nm.astype(np.float64) * _ANGSTROM_PER_NM


@atexit.register
def _close_all() -> None:
    """Close writers that a script left open, or remove their files if it failed."""
    for writer in list(_open):
        if id(getattr(sys, "last_value", None)) != writer._last_error:
            if writer._pid == os.getpid():
                writer._discard()
        else:
            writer.close()
