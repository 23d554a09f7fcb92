"""Coordinates that reach every branch of the XTC encoder, in nm, from fixed seeds."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

N_FRAMES = 4


@dataclass(frozen=True)
class Made:
    """A recipe: coordinates (n_frames, n_atoms, 3) in nm and the precision to store them with."""

    name: str
    build: Callable[[np.random.Generator], np.ndarray]
    precision: float = 1000.0

    def coordinates(self) -> np.ndarray:
        """Build the same float32 array at every call."""
        seed = [ord(letter) for letter in self.name]
        return self.build(np.random.default_rng(seed)).astype(np.float32)


def _gas(n_atoms: int, edge: float, low: float = 0.0) -> Callable[..., np.ndarray]:
    return lambda rng: rng.uniform(low, low + edge, (N_FRAMES, n_atoms, 3))


def _water(n_molecules: int, edge: float) -> Callable[..., np.ndarray]:
    """Return oxygens anywhere, with two hydrogens within 0.1 nm: the encoder swaps and runs."""

    def build(rng: np.random.Generator) -> np.ndarray:
        oxygen = rng.uniform(0, edge, (N_FRAMES, n_molecules, 1, 3))
        offsets = rng.normal(0, 0.05, (N_FRAMES, n_molecules, 3, 3))
        offsets[:, :, 0] = 0
        return (oxygen + offsets).reshape(N_FRAMES, 3 * n_molecules, 3)

    return build


def _chain(n_atoms: int, step: float) -> Callable[..., np.ndarray]:
    """Walk at random: the longest runs, and a small index that goes up and down."""

    def build(rng: np.random.Generator) -> np.ndarray:
        scale = step * 10.0 ** rng.uniform(-2, 1, (1, n_atoms, 1))
        return np.cumsum(rng.normal(0, 1, (N_FRAMES, n_atoms, 3)) * scale, axis=1)

    return build


def _flat(axis: int) -> Callable[..., np.ndarray]:
    def build(rng: np.random.Generator) -> np.ndarray:
        x = rng.uniform(-3, 3, (N_FRAMES, 80, 3))
        x[:, :, axis] = 1.25
        return x

    return build


def _one_point(rng: np.random.Generator) -> np.ndarray:
    return np.repeat(rng.uniform(-5, 5, (N_FRAMES, 1, 3)), 25, axis=1)


def _line(rng: np.random.Generator) -> np.ndarray:
    x = np.zeros((N_FRAMES, 30, 3))
    x[:, :, 1] = rng.uniform(-5, 5, (N_FRAMES, 30))
    return x


def _wide(extents: tuple[float, float, float], clusters: bool = True) -> Callable[..., np.ndarray]:
    """Fix the corners, so that every frame has exactly these extents."""

    def build(rng: np.random.Generator) -> np.ndarray:
        size = np.array(extents)
        x = rng.uniform(-0.5, 0.5, (N_FRAMES, 60, 3)) * size
        if clusters:
            x[:, 1::2] = x[:, 0::2] + rng.normal(0, 0.02, (N_FRAMES, 30, 3))
        x[:, 0] = -size / 2
        x[:, -1] = size / 2
        return x

    return build


MADE = [
    *(Made(f"{n}-atoms", _gas(n, 4.0, -2.0)) for n in range(1, 13)),
    *(
        Made(f"precision-{precision:g}", _water(40, 3.0), precision)
        for precision in (10.0, 100.0, 1000.0, 12345.0, 1e6)
    ),
    *(Made(f"flat-{'xyz'[axis]}", _flat(axis)) for axis in range(3)),
    Made("one-point", _one_point),
    Made("line", _line),
    # Each of the three sizes in turn above 0xffffff steps: every axis is stored by itself.
    Made("one-axis-huge-x", _wide((20_000.0, 3.0, 4.0))),
    Made("one-axis-huge-y", _wide((3.0, 20_000.0, 4.0))),
    Made("one-axis-huge-z", _wide((3.0, 4.0, 20_000.0))),
    Made("all-axes-huge", _wide((2_000_000.0, 1_500_000.0, 17_000.0))),
    # Below 0xffffff steps each, but their product may need up to 72 bits: no machine word holds it.
    Made("product-72-bits", _wide((16_000.0, 16_000.0, 16_000.0))),
    Made("product-69-bits", _wide((6_000.0, 7_000.0, 8_000.0))),
    Made("product-65-bits", _wide((4_000.0, 3_000.0, 3_000.0))),
    Made("product-64-bits", _wide((2_500.0, 2_500.0, 2_500.0))),
    Made("product-63-bits", _wide((2_000.0, 2_000.0, 2_000.0))),
    Made("negative", _gas(150, 6.0, -9.0)),
    Made("water-small", _water(7, 1.0)),
    Made("water", _water(900, 3.0)),
    Made("chain", _chain(700, 0.1)),
    Made("chain-fine", _chain(333, 0.001)),
    Made("chain-coarse", _chain(333, 30.0)),
    Made("gas-dense", _gas(500, 0.2)),
    Made("gas", _gas(1000, 9.0)),
    Made("sparse", _gas(10, 2_000.0)),
]
