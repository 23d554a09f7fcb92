"""Writers for MDAnalysis: frames are encoded in blocks while the script goes on."""

import atexit
import errno
import os
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
from MDAnalysis.lib.mdamath import triclinic_vectors
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import OutputError
from trajet.conversion.files import OutputOptions

# Bytes of positions in a block, and the largest number of its frames.
_BLOCK_BYTES = 2**22
_MAX_FRAMES = 32

# Writers that are not closed.
_open: "weakref.WeakSet[Writer]" = weakref.WeakSet()


@dataclass
class GromacsFrames:
    """Frames in the units of GROMACS.

    Attributes
    ----------
    n_atoms
        Number of atoms.
    times, steps, lambdas
        ps, integration steps, and λ of each frame.
    vectors
        Box vectors, `(n_frames, 3, 3)`, nm; zeros without a cell.
    positions, velocities, forces
        `(n_frames, n_atoms, 3)`: nm, nm/ps and kJ/(mol nm).
    """

    n_atoms: int
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    lambdas: NDArray[np.float64]
    vectors: NDArray[np.float32]
    positions: NDArray[np.float32] | None
    velocities: NDArray[np.float32] | None
    forces: NDArray[np.float32] | None


# The fields of a frame, in the order of `GromacsFrames`.
_FIELDS = ("positions", "velocities", "forces")


@dataclass
class _Pending:
    """Frames that are not encoded yet."""

    n_atoms: int
    # None for what these frames do not have.
    fields: dict[str, NDArray[np.float32] | None]
    capacity: int
    times: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    lambdas: list[float] = field(default_factory=list)
    vectors: list[NDArray[np.float32]] = field(default_factory=list)

    @classmethod
    def of(cls, n_atoms: int, names: tuple[str, ...]) -> "_Pending":
        n_frames = min(max(_BLOCK_BYTES // (12 * max(n_atoms, 1)), 1), _MAX_FRAMES)
        shape = (n_frames, n_atoms, 3)
        made = {name: np.empty(shape, np.float32) if name in names else None for name in _FIELDS}
        return cls(n_atoms, made, n_frames)

    def holds(self, n_atoms: int, names: tuple[str, ...]) -> bool:
        """Return whether there is room for a frame with these fields."""
        has = tuple(name for name in _FIELDS if self.fields[name] is not None)
        return len(self.times) < self.capacity and self.n_atoms == n_atoms and has == names

    def frames(self) -> GromacsFrames:
        """Return the frames so far."""
        n = len(self.times)
        fields = {name: None if x is None else x[:n] for name, x in self.fields.items()}
        return GromacsFrames(
            self.n_atoms,
            np.array(self.times),
            np.array(self.steps, np.int64),
            np.array(self.lambdas),
            np.array(self.vectors, np.float32),
            **fields,
        )


class Writer(WriterBase):  # type: ignore[misc]
    """Writes a trajectory, which gets its name when it is closed, or the script ends or fails.

    Until then, and if the process is killed, it is `NAME.unfinished-…`. Each subclass writes one
    format.
    """

    # MDAnalysis' own writer of the format, and the endings of file names that ours takes.
    _own: type[WriterBase]
    _suffixes: tuple[str, ...]
    _has_lambda = False

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
        self._pid = os.getpid()
        self._native: _trajet.TrajectoryWriter | None = None
        self._pending: _Pending | None = None
        self._thread: threading.Thread | None = None
        self._errors: list[BaseException] = []
        self._n_written = 0
        nothing = np.empty(0), np.empty(0, np.int64)
        self._native = _trajet.TrajectoryWriter(Path(filename), how, *nothing, force=True)
        self._native.keep_if_killed()
        _open.add(self)

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
        if self._pid != os.getpid():
            raise OSError(
                errno.EPERM,
                "another process, of which this is a fork, writes the file",
                str(self.filename),
            )
        if self._native is None:
            raise OSError(errno.EBADF, "the writer is closed", str(self.filename))
        self._check(ts)
        self._append(ts)
        self._n_written += 1

    def _check(self, ts: Timestep) -> None:
        """Raise the errors of MDAnalysis' writer for a frame."""
        raise NotImplementedError

    def _fields_of(self, ts: Timestep) -> tuple[str, ...]:
        """Return the fields of a frame that the format takes, in the order of `_FIELDS`."""
        raise NotImplementedError

    def _append(self, ts: Timestep) -> None:
        """Add a frame to the block, converted by MDAnalysis' own functions: the same bits."""
        names, step = self._fields_of(ts), _step(ts)
        time = float(ts.time if self._dt is None else self._dt * ts.frame)
        coupling = float(ts.data.get("lambda", 0)) if self._has_lambda else 0.0
        vectors = triclinic_vectors(self.convert_dimensions_to_unitcell(ts, inplace=False))
        if self._pending is None or not self._pending.holds(ts.n_atoms, names):
            self._send()
            self._pending = _Pending.of(ts.n_atoms, names)
        pending = self._pending
        for name, convert in (
            ("positions", self.convert_pos_to_native),
            ("velocities", self.convert_velocities_to_native),
            ("forces", self.convert_forces_to_native),
        ):
            if (values := pending.fields[name]) is not None:
                row = values[len(pending.times)]
                row[:] = getattr(ts, name)
                convert(row)
        pending.vectors.append(vectors)
        pending.lambdas.append(coupling)
        pending.steps.append(step)
        pending.times.append(time)

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
            If the format cannot hold a frame, or the file cannot be written; the error names the
            file with the frames before.
        """
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        if self._errors:
            error, native = self._errors.pop(), self._native
            kept = None if native is None else native.keep()
            self._discard()
            if kept is None:
                raise error
            if isinstance(error, Exception):
                raise OutputError(f"{error}; the frames before it are in {kept}") from error
            error.add_note(f"the frames before it are in {kept}")
            raise error

    def _flush(self) -> None:
        """Encode all frames, without another thread: none can be started at the end of Python."""
        self._wait()
        pending, self._pending = self._pending, None
        if pending is not None:
            _encode(self._native, pending, self._errors)
            self._wait()

    def close(self) -> None:
        """Complete the file, and give it its name; a file without frames is not made.

        Raises
        ------
        OutputError
            If the format cannot hold a frame, or the file cannot be written; the error names the
            file with the frames before.
        """
        if getattr(self, "_pid", None) != os.getpid():
            return
        try:
            if self._native is not None:
                self._flush()
            if self._native is not None and self._n_written:
                try:
                    self._native.sync()
                except OutputError as error:
                    self._errors.append(error)
                    self._wait()
                self._native.finish()
        except BaseException as error:
            # Ctrl-C may come at any moment.
            if self._native is not None and (kept := self._native.keep()) is not None:
                error.add_note(f"the frames are in {kept}")
            raise
        finally:
            self._discard()

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        self.close()
        return False

    def __del__(self) -> None:
        self.close()


def _step(ts: Timestep) -> int:
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


def _encode(
    native: _trajet.TrajectoryWriter | None, pending: _Pending, errors: list[BaseException]
) -> None:
    """Append frames to the file; the next call of the script raises an error."""
    try:
        if native is not None:
            native.append_gromacs(pending.frames(), threads=_trajet.available_threads())
    except BaseException as error:
        errors.append(error)


@atexit.register
def _close_all() -> None:
    """Close writers that a script left open."""
    for writer in list(_open):
        writer.close()
