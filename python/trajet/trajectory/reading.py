"""Reading of atoms by their columns: `ReadingByColumns`, the basis of `Trajectory`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import FormatError
from trajet.memory import check_memory
from trajet.pools.pool import n_frames_of
from trajet.trajectory.block import Block
from trajet.trajectory.choice import FrameChoice, frame_numbers, resolve_frames
from trajet.trajectory.files import TrajectoryFiles

if TYPE_CHECKING:
    from trajet._trajet import ReadFrames

# Default bytes of a block's positions: with a request they fit into the processor's cache, and
# blocks are large enough that the cost of each is small.
BLOCK_BYTES = 512 * 1024
# Reads of more bytes of positions use all cores.
MUCH_BYTES = 16 * 1024 * 1024
# Most frames of a default block: with few atoms, the first block should not take long.
BLOCK_FRAMES = 256


class ReadingByColumns(TrajectoryFiles):
    """Open files whose frames are read, with atoms given by their checked columns in a frame."""

    def read_places(
        self,
        frames: FrameChoice,
        places: NDArray[np.int64] | None,
        out: NDArray[np.float32] | None,
        *,
        velocities: bool = False,
        forces: bool = False,
        required: bool = True,
        threads: int | None = None,
        counted: bool = True,
        run: NDArray[np.int64] | None = None,
    ) -> Block:
        """Read atoms by their checked indices in a frame; see `read`.

        Velocities and forces that no frame has are an error if they are `required`, else None.

        With `counted=False` the read does not enter the access log of a data set. `run` are the
        frames of a run to which these frames are compared: jumps are counted from the first of
        all.
        """
        numbers = resolve_frames(frames, self.n_frames, self.label)
        n_atoms = self.n_atoms if places is None else len(places)
        shape = (n_frames_of(numbers), n_atoms, 3)
        size = 12 * shape[0] * shape[1]
        parts = [("positions", 0 if out is not None else size)]
        parts += [("velocities", size)] * velocities + [("forces", size)] * forces
        check_memory(parts, None, "choose fewer frames or atoms, or read block by block (blocks())")
        positions = np.empty(shape, np.float32) if out is None else _fitting(out, shape)
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        if threads is None:
            threads = _trajet.available_threads() if positions.nbytes > MUCH_BYTES else 1
        also = run
        if run is not None and shape[0]:
            # Frames of the run after these change nothing.
            also = run[run <= frame_numbers(numbers).max()]
        reader = self.reader_for(
            numbers,
            places,
            threads,
            also=also,
            n_read=shape[0],
            # Threads that read further fields do not hand over to one another.
            hands_over=not (velocities or forces),
            checked=counted,
        )
        further: dict[str, NDArray[np.float32]] = {}
        if velocities:
            further["velocities"] = np.empty(shape, np.float32)
        if forces:
            further["forces"] = np.empty(shape, np.float32)
        got: ReadFrames
        if further:
            fields = partial(reader.read_fields, threads=threads)
            got = of_all = self.fresh(fields, numbers, places, {"positions": positions, **further})
            for name in list(further):
                if not shape[0] or of_all["n_with"][name] > 0:
                    continue
                if required:
                    raise FormatError(
                        f"{self.label}: none of the {shape[0]} frames has {name}: read positions"
                        " only"
                    )
                del further[name]
        else:
            read = partial(reader.read, threads=threads)
            got = self.fresh(read, numbers, places, positions, "positions")
        if counted:
            self.count_read(places, got["counts"])
            if self._reader.has_no_jump and (counting := reader.counting())["frames"]:
                self.count_read(places, counting)

        vectors = got["vectors"]
        return Block(
            positions,
            got["times"],
            got["steps"],
            frame_numbers(numbers),
            got["cells"],
            further.get("velocities"),
            further.get("forces"),
            None if vectors is None else vectors.reshape(-1, 3, 3),
            tuple(self.transform_remarks([got["counts"]])),
        )

    def blocks_of_places(
        self, size: int | None, frames: FrameChoice, places: NDArray[np.int64] | None
    ) -> Iterator[Block]:
        """Iterate over blocks of atoms given by their checked indices in a frame; see `blocks`."""
        if size is not None and size < 1:
            raise ValueError(f"a block has at least 1 frame, not {size}")
        numbers = resolve_frames(frames, self.n_frames, self.label)
        n_frames = n_frames_of(numbers)
        n_atoms = self.n_atoms if places is None else len(places)
        if size is None:
            size = max(1, min(BLOCK_FRAMES, BLOCK_BYTES // (12 * n_atoms)))
        parts = self.reader_for(numbers, places, 1).parts(numbers, places)
        buffer = np.empty((min(size, n_frames), n_atoms, 3), np.float32)

        def go(size: int) -> Iterator[Block]:
            for begin in range(0, n_frames, size):
                positions = buffer[: n_frames - begin]
                times, steps, here, cells, boxes = self.fresh(parts.read, begin, positions)
                vectors = None if boxes is None else boxes.reshape(-1, 3, 3)
                remarks = tuple(self.transform_remarks([parts.counts()] if self.transforms else []))
                yield Block(positions, times, steps, here, cells, vectors=vectors, remarks=remarks)

        return go(size) if self._access_log is None else self._used_by(go(size), places, parts)

    def _used_by(
        self, blocks: Iterator[Block], places: NDArray[np.int64] | None, parts: _trajet.Parts
    ) -> Iterator[Block]:
        """Iterate over blocks, then record in the access log what was read."""
        assert self._access_log is not None
        try:
            yield from blocks
        finally:
            self._access_log.read(places, parts.counts())


def _fitting(out: NDArray[np.float32], shape: tuple[int, int, int]) -> NDArray[np.float32]:
    """Return `out` if positions of this shape can be written to it.

    Raises
    ------
    ValueError
        If they cannot.
    """
    fits = (
        isinstance(out, np.ndarray)
        and out.dtype == np.float32
        and out.shape == shape
        and out.flags.c_contiguous
        and out.flags.writeable
    )
    if not fits:
        raise ValueError(f"out must be a writeable float32 array of shape {shape} in C order")
    return out
