"""Sums of squared displacements over all pairs of frames at each lag.

With Fourier transforms: G. R. Kneller, V. Keiner, M. Kneller and M. Schiller, Comput. Phys. Commun.
91, 191 (1995), doi:10.1016/0010-4655(95)00048-K. The sum over the pairs of frames at lag m is

    Σ (x[t+m] - x[t])² = Σ (x[t+m]² + x[t]²) - 2 Σ x[t+m] x[t].

The first sum comes from running sums of x². The second is an autocorrelation: the inverse
transform of the power spectrum of the series, padded with zeros. Departures: power spectra are
summed over the particles of a group before one inverse transform of all; means over time are
subtracted first, as the difference of large numbers would lose digits; the padding is as long as
the longest lag, not as the series.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

# Most bytes of the arrays in which some particles are transformed at a time, and their part of all.
_WORK = 32 * 2**20
_WORK_PART = 4
# Particles of which errors follow: of fewer, they follow from blocks of time origins.
MIN_PARTICLES = 5
# Numbers for each frame and axis of a particle: frames of blocks and of pairs of them, their
# spectra, and products of these.
_WORK_OF_BLOCKS = 12
# At least so many blocks, if there are frames enough.
_MIN_BLOCKS = 64


@dataclass(frozen=True)
class Shape:
    """Sizes of the arrays of a computation, and its memory limit.

    Attributes
    ----------
    n_frames, n_lags, n_axes
        Frames of each series, lags from 0 to `n_lags - 1` frames, axes of each particle.
    borders
        `(n_groups + 1,)`: group k has the particles from `borders[k]` to `borders[k + 1] - 1`.
    fft
        Whether Fourier transforms are used, or all pairs of frames.
    max_memory
        Largest number of bytes of all arrays.
    """

    n_frames: int
    n_lags: int
    n_axes: int
    borders: NDArray[np.int64]
    fft: bool
    max_memory: int

    @property
    def n_padded(self) -> int:
        """Length of the transforms: no pair of frames is counted across their ends."""
        return fast_length(self.n_frames + self.n_lags - 1)

    @property
    def n_frequencies(self) -> int:
        """Number of frequencies of a transform."""
        return self.n_padded // 2 + 1

    @property
    def fixed_bytes(self) -> int:
        """Bytes that the sums take."""
        per_group = self.n_frequencies + self.n_frames if self.fft else self.n_lags
        return 8 * ((len(self.borders) - 1) * per_group + self.n_blocks * self.n_lags)

    @property
    def work_bytes(self) -> int:
        """Bytes that one particle takes while it is computed."""
        # The series, its square, and differences of neighbours; spectra, and their squares.
        numbers = 3 * self.n_frames + (5 * self.n_frequencies if self.fft else self.n_frames)
        if self.n_blocks:
            numbers += _WORK_OF_BLOCKS * self.n_frames
        return 8 * self.n_axes * numbers

    @property
    def n_blocks(self) -> int:
        """Number of blocks of time origins; 0 if errors follow from groups of particles.

        It is 0, too, if blocks would take more than half of the memory: then there are no errors.
        """
        if self.borders[-1] >= MIN_PARTICLES:
            return 0
        count = self.n_frames // size_of_blocks(self.n_frames)
        numbers = count * self.n_lags + _WORK_OF_BLOCKS * self.n_axes * self.n_frames
        return count if 8 * numbers <= self.max_memory // 2 else 0

    @property
    def n_at_once(self) -> int:
        """Particles that are computed at a time."""
        rest = max(0, self.max_memory - self.fixed_bytes)
        return max(1, min(_WORK, rest // _WORK_PART) // self.work_bytes)


def size_of_blocks(n_frames: int) -> int:
    """Return the time origins of each of 64 to 127 blocks, or 1 for fewer frames."""
    return max(1, n_frames // _MIN_BLOCKS)


def fast_length(least: int) -> int:
    """Return the smallest product of powers of 2, 3 and 5 that is at least `least`."""
    best = 1 << max(0, (least - 1).bit_length())
    fives = 1
    while fives < best:
        threes = fives
        while threes < best:
            twos = threes << max(0, (-(-least // threes) - 1).bit_length())
            best = min(best, twos)
            threes *= 3
        fives *= 5
    return best


class Displacements:
    """Sums of squared displacements of groups of particles.

    Particles are added one after the other, so that the bits do not depend on how many are added at
    a time, nor on the number of threads.
    """

    def __init__(self, shape: Shape, threads: int = 1) -> None:
        self.shape, self.threads = shape, threads
        n_groups = len(shape.borders) - 1
        if shape.fft:
            self._powers = np.zeros((n_groups, shape.n_frequencies))
            self._squares = np.zeros((n_groups, shape.n_frames))
        else:
            self._sums = np.zeros((n_groups, shape.n_lags))

    def add(self, series: NDArray[np.float64], group: int) -> None:
        """Add particles of a group.

        Parameters
        ----------
        series
            `(n_particles, n_axes, n_frames)`, Å, in C order.
        group
            Number of the group.
        """
        if self.shape.fft:
            self._add_spectra(series - series.mean(axis=-1, keepdims=True), group)
        else:
            self._add_pairs(series, group)

    def _add_spectra(self, series: NDArray[np.float64], group: int) -> None:
        add_in_order(self._powers[group], power_spectra(series, self.shape.n_padded, self.threads))
        add_in_order(self._squares[group], over_axes(series**2))

    def _add_pairs(self, series: NDArray[np.float64], group: int) -> None:
        n_frames = self.shape.n_frames
        for lag in range(1, self.shape.n_lags):
            steps = series[..., lag:] - series[..., : n_frames - lag]
            of_particles = (steps**2).reshape(len(steps), -1).sum(axis=1)
            for one in of_particles.tolist():
                self._sums[group, lag] += one

    def means(self) -> NDArray[np.float64]:
        """Return the mean squared displacement of each group, `(n_lags, n_groups)`, Å²."""
        shape, sizes = self.shape, np.diff(self.shape.borders)
        windows = shape.n_frames - np.arange(shape.n_lags)
        means = np.empty((shape.n_lags, len(sizes)))
        for group, size in enumerate(sizes.tolist()):
            sums = self._from_spectra(group) if shape.fft else self._sums[group]
            means[:, group] = sums / (size * windows)
        return means

    def _from_spectra(self, group: int) -> NDArray[np.float64]:
        """Return the sums of a group at each lag."""
        n_frames, n_lags = self.shape.n_frames, self.shape.n_lags
        lags = np.arange(n_lags)
        products = np.fft.irfft(self._powers[group], self.shape.n_padded)[:n_lags]
        before = np.concatenate([np.zeros(1), np.cumsum(self._squares[group])])
        # Squares up to frame n - lag, and from frame `lag` on.
        sums = before[n_frames - lags] + (before[-1] - before[lags]) - 2 * products
        # Rounding may leave a little at lag 0, or less than nothing.
        sums[0] = 0
        return np.asarray(np.maximum(sums, 0))


def power_spectra(series: NDArray[np.float64], n_padded: int, threads: int) -> NDArray[np.float64]:
    """Return the power spectrum of each particle, summed over axes, `(n_particles, n_frequencies)`.

    Parameters
    ----------
    series
        `(n_particles, n_axes, n_frames)`.
    n_padded
        Length of the transforms.
    threads
        Threads of this process that compute them.
    """
    powers = np.empty((len(series), n_padded // 2 + 1))

    def transform(part: slice) -> None:
        spectra = np.fft.rfft(series[part], n_padded)
        powers[part] = over_axes(spectra.real**2 + spectra.imag**2)

    threads = max(1, min(threads, len(series)))
    borders = np.linspace(0, len(series), threads + 1).astype(int).tolist()
    # NumPy's transforms release the GIL.
    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(transform, (slice(*two) for two in pairwise(borders))))
    return powers


def over_axes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums over x, y and z of `(n_particles, n_axes, n)`."""
    total = values[:, 0]
    for axis in range(1, values.shape[1]):
        total = total + values[:, axis]
    return total


def add_in_order(total: NDArray[np.float64], rows: NDArray[np.float64]) -> None:
    """Add rows one after the other."""
    for row in rows:
        total += row
