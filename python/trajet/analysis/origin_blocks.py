"""Mean squared displacements from blocks of time origins, of which errors follow.

Squared displacements of one particle from different origins are a series, which is correlated where
their windows overlap. Means over blocks of neighbouring origins are a shorter one.
"""

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.displacements import (
    MIN_PARTICLES,
    Shape,
    fast_length,
    over_axes,
    size_of_blocks,
)
from trajet.digits import in_digits
from trajet.messages import Code, Message
from trajet.result import errors_of_blocks, errors_of_groups
from trajet.result.displacement_errors import Errors

# The part of the trajectory that the lag takes at which particles are compared with time origins.
_WINDOWS = 50
# Intervals by time origins that are so many times as wide show particles that move together. Those
# of independent particles are in at most 2 % of trajectories.
_TOGETHER = 3.0


class OriginBlocks:
    """Means of squared displacements over blocks of time origins.

    Block b has the origins from `b * size` to `(b + 1) * size - 1`. At a lag of m frames only
    blocks count whose last origin has a frame m later.

    With Fourier transforms, the products of the frames of a block with those that are between
    `k * size` and `(k + 1) * size - 1` frames later come from one transform of the block and one of
    the two blocks that follow k blocks later, which are made once.
    """

    def __init__(self, shape: Shape) -> None:
        self.n_frames, self.n_lags, self._fft = shape.n_frames, shape.n_lags, shape.fft
        self.size = size_of_blocks(shape.n_frames)
        self._sums = np.zeros((shape.n_blocks, shape.n_lags))
        self._n_particles = 0

    def add(self, series: NDArray[np.float64]) -> None:
        """Add particles, `(n_particles, n_axes, n_frames)`, Å, one after the other."""
        for particle in series:
            self._n_particles += 1
            if self._fft:
                self._add_by_transforms(particle - particle.mean(axis=-1, keepdims=True))
            else:
                self._add_pairs(particle)

    def _add_pairs(self, particle: NDArray[np.float64]) -> None:
        for lag in range(1, self.n_lags):
            steps = particle[:, lag:] - particle[:, : self.n_frames - lag]
            squares = over_axes((steps**2)[np.newaxis])[0]
            n_blocks = len(squares) // self.size
            blocks = squares[: n_blocks * self.size].reshape(n_blocks, self.size)
            self._sums[:n_blocks, lag] += blocks.sum(axis=1)

    def _add_by_transforms(self, particle: NDArray[np.float64]) -> None:
        size, n_blocks = self.size, len(self._sums)
        n_padded = fast_length(2 * size)
        # One block of zeros more, for the frames that follow the last block.
        whole = np.zeros((len(particle), (n_blocks + 2) * size))
        whole[:, : self.n_frames] = particle[:, : whole.shape[1]]
        blocks = whole.reshape(len(particle), -1, size)
        pairs = np.concatenate([blocks[:, :-1], blocks[:, 1:]], axis=2)
        own = np.fft.rfft(blocks[:, :n_blocks], n_padded).conj()
        later = np.fft.rfft(pairs, n_padded)
        before = np.zeros(whole.shape[1] + 1)
        np.cumsum(over_axes(whole[np.newaxis] ** 2)[0], out=before[1:])
        first = size * np.arange(n_blocks)
        of_block = before[first + size] - before[first]
        for begin in range(0, self.n_lags, size):
            k = begin // size
            n_left = n_blocks - k
            if n_left <= 0:
                break
            spectra = own[0, :n_left] * later[0, k : k + n_left]
            for axis in range(1, len(own)):
                spectra += own[axis, :n_left] * later[axis, k : k + n_left]
            products = np.fft.irfft(spectra, n_padded)[:, :size]
            lags = np.arange(begin, min(begin + size, self.n_lags))
            at = first[:n_left, np.newaxis] + lags
            squares = before[at + size] - before[at] + of_block[:n_left, np.newaxis]
            found = squares - 2 * products[:, : len(lags)]
            self._sums[:n_left, lags] += np.maximum(found, 0)

    def means(self) -> NDArray[np.float64]:
        """Return the means, `(n_lags, n_blocks)`, Å²; NaN for blocks that do not count at a lag.

        The sums become the means: no particles can be added afterwards.
        """
        self._sums /= self.size * max(1, self._n_particles)
        means = self._sums.T
        last = (self.n_frames - np.arange(self.n_lags)) // self.size
        means[np.arange(means.shape[1]) >= last[:, np.newaxis]] = np.nan
        means[0] = 0
        return means


class OneLag:
    """Displacements of all particles from each time origin, at one lag.

    They show particles that move together: errors that take particles as independent are smaller
    there than those by time origins.
    """

    def __init__(self, n_frames: int, n_lags: int) -> None:
        self.lag = min(n_lags - 1, max(1, n_frames // _WINDOWS))
        self._sums = np.zeros(n_frames - self.lag)
        self._size = size_of_blocks(n_frames)
        self._n_particles = 0

    def add(self, series: NDArray[np.float64]) -> None:
        """Add particles, `(n_particles, n_axes, n_frames)`, Å, one after the other."""
        for particle in series:
            steps = particle[:, self.lag :] - particle[:, : particle.shape[1] - self.lag]
            self._sums += over_axes((steps**2)[np.newaxis])[0]
        self._n_particles += len(series)

    def excess(self, groups: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
        """Return how many times as wide intervals by time origins are; 1 if it is not known.

        Parameters
        ----------
        groups
            `(n_lags, n_groups)`, the means over groups of particles.
        sizes
            `(n_groups,)`, their particles.
        """
        n_blocks = len(self._sums) // self._size
        blocks = self._sums[: n_blocks * self._size].reshape(n_blocks, self._size).mean(axis=1)
        by_origins = errors_of_blocks(blocks[np.newaxis] / self._n_particles)
        by_particles = errors_of_groups(groups[self.lag : self.lag + 1], sizes)
        narrow, wide = float(by_particles.half_widths[0]), float(by_origins.half_widths[0])
        if by_origins.reasons[0] or not narrow > 0:
            return 1.0
        return wide / narrow

    def messages(
        self, groups: NDArray[np.float64], sizes: NDArray[np.int64], lags: NDArray[np.float64]
    ) -> list[Message]:
        """Return a message if the particles move together."""
        excess = self.excess(groups, sizes)
        if excess < _TOGETHER:
            return []
        return [
            Message(
                Code.DEPENDENT_PARTICLES,
                f"particles move together: at a lag of {in_digits(lags[self.lag])} ps, 95 %"
                f" intervals from time origins are {excess:.1f} times as wide as those from groups"
                " of particles, which are too narrow",
                'choose particles that move independently, such as molecules (by="molecule"), or'
                " run replicas",
            )
        ]


class Origins:
    """Displacements by time origins: errors of few particles, and a check of those of many."""

    def __init__(self, shape: Shape) -> None:
        self._blocks = OriginBlocks(shape) if shape.n_blocks else None
        self._one_lag = None if shape.n_blocks else OneLag(shape.n_frames, shape.n_lags)
        self._lacks_memory = not shape.n_blocks and shape.borders[-1] < MIN_PARTICLES

    def add(self, series: NDArray[np.float64]) -> None:
        """Add particles, `(n_particles, n_axes, n_frames)`, Å."""
        for one in (self._blocks, self._one_lag):
            if one is not None:
                one.add(series)

    def blocks(self) -> NDArray[np.float64] | None:
        """Return the means over blocks of origins, `(n_lags, n_blocks)`, or None for many."""
        return None if self._blocks is None else self._blocks.means()

    def messages(
        self,
        groups: NDArray[np.float64],
        sizes: NDArray[np.int64],
        lags: NDArray[np.float64],
        errors: Errors,
    ) -> list[Message]:
        """Return messages on errors that are not resolved, or particles that move together."""
        if self._lacks_memory:
            return [
                Message(
                    Code.NO_ERRORS,
                    "there are no errors, which would take more than half of the memory",
                    "give more max_memory=, or a smaller max_lag=",
                )
            ]
        if self._one_lag is not None:
            return self._one_lag.messages(groups, sizes, lags)
        wrong = [k for k, reason in enumerate(errors.reasons) if reason and k]
        if not wrong:
            return []
        return [
            Message(
                Code.NOT_RESOLVED,
                f"errors from blocks of time origins are not resolved at {len(wrong)} of"
                f" {len(lags) - 1} lags, the first is {in_digits(lags[wrong[0]])} ps:"
                f" {errors.reasons[wrong[0]]}",
            )
        ]
