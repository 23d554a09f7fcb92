"""`Universe.transfer_to_memory`, which decodes frames into the arrays that the Universe keeps."""

from collections.abc import Callable
from functools import wraps

from MDAnalysis import Universe
from MDAnalysis.coordinates.memory import MemoryReader

from trajet.mdanalysis.readers import Reader


def with_blocks(before: Callable[..., None]) -> Callable[..., None]:
    """Return `transfer_to_memory` for trajectories of any reader.

    Trajectories of `Reader` are decoded in blocks, on all cores if there is much to decode. All
    others, and calls that need each frame by itself, are left to the method of MDAnalysis.

    Parameters
    ----------
    before
        MDAnalysis' method.
    """

    @wraps(before)
    def transfer_to_memory(
        self: Universe,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        verbose: bool = False,
        **kwargs: object,
    ) -> None:
        trajectory = self.trajectory
        arrays = None
        # The progress bar counts frames.
        if isinstance(trajectory, Reader) and not verbose:
            arrays = trajectory.read_arrays(start, stop, step)
        if arrays is None:
            before(self, start, stop, step, verbose, **kwargs)
            return
        trajectory.rewind()
        self.trajectory = MemoryReader(
            arrays.pop("positions"),
            dt=trajectory.ts.dt * (1 if step is None else step),
            filename=trajectory.filename,
            **arrays,
            **kwargs,
        )

    return transfer_to_memory
