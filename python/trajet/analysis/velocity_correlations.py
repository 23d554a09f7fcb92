"""Velocity autocorrelations of groups of particles, their integrals and spectra.

The sum of products over all pairs of frames at a lag is the inverse transform of the power
spectrum of the series, padded with zeros: G. R. Kneller, V. Keiner, M. Kneller and M. Schiller,
Comput. Phys. Commun. 91, 191 (1995), doi:10.1016/0010-4655(95)00048-K. Power spectra are summed
over the particles of a group before one transform of all. Of a few particles, whose errors follow
from blocks of time origins, products are also summed pair by pair.
"""

import contextlib
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, SelectionError
from trajet.analysis.displacements import (
    Shape,
    add_in_order,
    over_axes,
    power_spectra,
    size_of_blocks,
)
from trajet.analysis.runner import AnalysisOutcome
from trajet.constants import SPEED_OF_LIGHT
from trajet.digits import in_digits
from trajet.messages import Code, Message
from trajet.particles import HYDROGENS, known_elements
from trajet.trajectory import Selection

Window = Literal["hann", "none"]

# Centimetres that light travels in a picosecond.
_CM_PER_PS = SPEED_OF_LIGHT * 1e-10
# The highest vibrations of bonds to hydrogen, 1/cm.
_HIGHEST_OF_BONDS = 4170.0
# Correlation after one frame below which the frames are too far apart.
_MIN_CORRELATION = 0.5


class VelocityCorrelations:
    """Sums of products of velocities of groups of particles.

    Particles are added one after the other, so that the bits do not depend on how many are added at
    a time, nor on the number of threads.
    """

    def __init__(self, shape: Shape, threads: int = 1) -> None:
        self.shape, self.threads = shape, threads
        self._powers = np.zeros((len(shape.borders) - 1, shape.n_frequencies))
        self._blocks = np.zeros((shape.n_lags, shape.n_blocks))

    def add(self, series: NDArray[np.float64], group: int) -> None:
        """Add particles of a group, `(n_particles, n_axes, n_frames)`, Å/ps."""
        powers = power_spectra(series, self.shape.n_padded, self.threads)
        add_in_order(self._powers[group], powers)
        n_blocks, size = self.shape.n_blocks, size_of_blocks(self.shape.n_frames)
        for particle in series if n_blocks else ():
            for lag in range(self.shape.n_lags):
                later = particle[:, lag:]
                products = over_axes((particle[:, : later.shape[1]] * later)[np.newaxis])[0]
                count = len(products) // size
                self._blocks[lag, :count] += (
                    products[: count * size].reshape(count, size).sum(axis=1)
                )

    def means(self) -> NDArray[np.float64]:
        """Return the mean product of each group at each lag, `(n_lags, n_groups)`, Å²/ps²."""
        shape = self.shape
        windows = shape.n_frames - np.arange(shape.n_lags)
        sums = np.fft.irfft(self._powers, shape.n_padded)[:, : shape.n_lags]
        means: NDArray[np.float64] = (sums / np.diff(shape.borders)[:, np.newaxis] / windows).T
        return means

    def blocks(self) -> NDArray[np.float64] | None:
        """Return means over blocks of time origins, `(n_lags, n_blocks)`; None for many particles.

        NaN for blocks of which an origin has no frame at that lag.
        """
        shape = self.shape
        if not shape.n_blocks:
            return None
        size = size_of_blocks(shape.n_frames)
        means: NDArray[np.float64] = self._blocks / float(size * shape.borders[-1])
        known = (shape.n_frames - np.arange(shape.n_lags)) // size
        means[np.arange(shape.n_blocks) >= known[:, np.newaxis]] = np.nan
        return means


def running_integrals(values: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Return integrals from lag 0 up to each lag by trapezoids, of each column."""
    integrals = np.zeros_like(values)
    np.cumsum((values[1:] + values[:-1]) * (step / 2), axis=0, out=integrals[1:])
    return integrals


def wavenumbers(n_lags: int, step: float) -> NDArray[np.float64]:
    """Return the wavenumbers of a spectrum, `(n_lags,)`, 1/cm, from 0 to the Nyquist limit."""
    return np.linspace(0.0, highest_wavenumber(step), n_lags)


def highest_wavenumber(step: float) -> float:
    """Return the highest wavenumber, 1/cm, of frames that are `step` ps apart."""
    return 1 / (2 * step * _CM_PER_PS)


def spectra(values: NDArray[np.float64], step: float, window: Window) -> NDArray[np.float64]:
    """Return the cosine transform of each column of correlations, per 1/cm.

    The integral over all wavenumbers by trapezoids is the correlation at lag 0.

    Parameters
    ----------
    values
        `(n_lags, n)`, at lags from 0.
    step
        Time between lags, ps.
    window
        "hann", ½ (1 + cos πτ/τ_max), or "none".
    """
    n_lags = len(values)
    if window == "hann":
        weights = (1 + np.cos(np.pi * np.arange(n_lags) / (n_lags - 1))) / 2
        values = values * weights[:, np.newaxis]
    # Correlations are even functions of the lag.
    both = np.concatenate([values, values[-2:0:-1]])
    return np.fft.rfft(both, axis=0).real * (2 * step * _CM_PER_PS)


def check_velocities(label: str, outcome: AnalysisOutcome, series: NDArray[np.float64]) -> None:
    """Raise an error if particles have no velocities in a frame."""
    missing = ~np.isfinite(series).all(axis=(0, 1))
    if missing.any():
        frame = outcome.frames[int(missing.argmax())]
        raise AnalysisError(
            f"{label}: frame {frame}: a selected atom has no velocity there: choose frames that"
            " have velocities with frames="
        )


def messages_on_hydrogens(main: Selection, step: float) -> list[Message]:
    """Return a message if frames are too far apart for the bonds of selected hydrogens."""
    highest = highest_wavenumber(step)
    if highest >= _HIGHEST_OF_BONDS * (1 - 1e-3) or not main.trajectory.has_topology:
        return []
    symbols = np.empty(0, np.str_)
    # Beads have no elements.
    with contextlib.suppress(SelectionError):
        symbols = np.char.upper(known_elements(main.topology_atoms))
    if not np.isin(symbols, HYDROGENS).any():
        return []
    return [
        Message(
            Code.SPARSE_FRAMES,
            f"frames are {in_digits(1000 * step, significant=3)} fs apart, which resolves"
            f" vibrations up to {highest:.0f} 1/cm: those of bonds to hydrogen, up to"
            f" {_HIGHEST_OF_BONDS:.0f} 1/cm, appear as slower ones",
            "write velocities every 4 fs or more often",
        )
    ]


def messages_on_decay(mean: NDArray[np.float64], lags: NDArray[np.float64]) -> list[Message]:
    """Return a message if velocities change too much from one frame to the next."""
    ratio = mean[1] / mean[0]
    if ratio >= _MIN_CORRELATION:
        return []
    return [
        Message(
            Code.SPARSE_FRAMES,
            f"the correlation falls to {ratio:.2f} of its beginning within one frame"
            f" ({in_digits(lags[1])} ps): its integral and spectrum mean little",
            "write velocities more often",
        )
    ]
