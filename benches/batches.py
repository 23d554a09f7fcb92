"""Time shuffled batches of C-alpha atoms from XTC beside those of a memory-mapped `.npy` file.

    .venv/bin/python benches/batches.py [--frames 20000] [--batch 256] [--rounds 5] [--workers 0 1]

Reads all frames of adenylate kinase, 3,341 atoms of which 214 are taken, in one random order:
trajet from XTC, NumPy from a file that has nothing but these atoms' positions. Both take turns; the
page cache is warm. With PyTorch installed also steps of training by its loader: a small
autoencoder, 642 numbers to 64 and back. Aims: 15,000 frames a second and core, and half of the
steps a second that the `.npy` file gives. Batches of both are compared before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import trajet as tj
from host import describe_load
from peers.trajet import require_release_build
from published_systems import adk
from repeated_frames import write_repeated
from trajet.trajectory.batches import FrameBatches

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]


class Mapped:
    """The same batches from an array of all positions, mapped into memory."""

    def __init__(self, path: Path, order: FrameBatches) -> None:
        self._path, self._order = path, order
        self._array: Any = None

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self._order)

    def read(self, batch: int, epoch: int, out: np.ndarray) -> None:
        """Read a batch."""
        if self._array is None:
            self._array = np.load(self._path, mmap_mode="r")
        out[:] = self._array[self._order.frames_of(batch, epoch)[:, 1]]

    def __getitem__(self, batch: int) -> Any:
        """Return a batch of epoch 0 as a tensor."""
        made = torch.empty((len(self._order.frames_of(batch, 0)), self._order.n_atoms, 3))
        self.read(batch, 0, made.numpy())
        return made


def read_all(batches: Any, order: FrameBatches) -> Callable[[], int]:
    """Return a function that reads an epoch into memory and returns the number of its frames."""
    out = np.empty((order.size, order.n_atoms, 3), np.float32)

    def work() -> int:
        for k in range(len(order)):
            batches.read(k, 0, out[: len(order.frames_of(k, 0))])
        return order.n_frames

    return work


def train(dataset: Any, n_numbers: int, workers: int) -> Callable[[], int]:
    """Return a function that trains an epoch and returns the number of steps."""
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=None, num_workers=workers, persistent_workers=workers > 0
    )
    layers = torch.nn.Linear(n_numbers, 64), torch.nn.Tanh(), torch.nn.Linear(64, n_numbers)
    model = torch.nn.Sequential(*layers)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def work() -> int:
        steps = 0
        for positions in loader:
            flat = positions.reshape(len(positions), -1)
            optimiser.zero_grad()
            ((model(flat) - flat) ** 2).mean().backward()
            optimiser.step()
            steps += 1
        return steps

    return work


def take_turns(name: str, ours: Callable[[], int], theirs: Callable[[], int], rounds: int) -> None:
    """Print how many frames or steps a second each does, and the median of the ratios."""
    rates: list[list[float]] = [[], []]
    # Starts workers and fills caches.
    ours(), theirs()
    for _ in range(rounds):
        for rate, work in zip(rates, (ours, theirs), strict=True):
            begin = time.perf_counter()
            n = work()
            rate.append(n / (time.perf_counter() - begin))
    ratio = median(a / b for a, b in zip(*rates, strict=True))
    middle = [median(rate) for rate in rates]
    print(f"{name:28} {middle[0]:12,.0f} {middle[1]:12,.0f} {ratio:8.2f}", flush=True)


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1])
    options = parser.parse_args()
    print(describe_load())
    with TemporaryDirectory() as name:
        topology, path = Path(name) / "adk.psf", Path(name) / "adk.xtc"
        write_repeated(path, adk(topology), options.frames, 1.0)
        atoms = tj.open(topology, path).select("name CA")
        np.save(Path(name) / "positions.npy", atoms.read().positions)
        ours = FrameBatches(atoms, None, options.batch, shuffle=True, seed=0)
        theirs = Mapped(Path(name) / "positions.npy", ours)
        pair = [np.empty((options.batch, atoms.n_atoms, 3), np.float32) for _ in range(2)]
        ours.read(0, 0, pair[0])
        theirs.read(0, 0, pair[1])
        if pair[0].tobytes() != pair[1].tobytes():
            raise SystemExit("the batches differ")
        print(f"{options.frames:,} frames, batches of {options.batch}; a second:")
        print(f"{'':28} {'XTC':>12} {'.npy':>12} {'ratio':>8}")
        take_turns(
            "frames, one thread", read_all(ours, ours), read_all(theirs, ours), options.rounds
        )
        if torch is None:
            print("PyTorch is not installed: no steps of training")
            return
        from trajet.torch import FrameDataset

        dataset = FrameDataset(atoms, batch=options.batch)
        for workers in options.workers:
            pairs = [train(each, 3 * atoms.n_atoms, workers) for each in (dataset, theirs)]
            take_turns(f"steps, {workers} workers", *pairs, options.rounds)


if __name__ == "__main__":
    main()
