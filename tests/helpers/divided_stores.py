"""Stores that divide any trajectory by any division of its atoms."""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from trajet import _trajet, h5md

KINDS = ("positions", "velocities", "forces")


def ranges(atoms: np.ndarray) -> list[list[int]]:
    """Return ascending numbers as ranges."""
    runs = [
        list(run) for _, run in groupby(enumerate(atoms.tolist()), lambda pair: pair[1] - pair[0])
    ]
    return [[run[0][1], run[-1][1] + 1] for run in runs]


def made(folder: Path) -> _trajet.Store:
    """Return a store, which is made if it is missing."""
    return _trajet.Store(folder, create=True, hdf5=h5md.write_described)


def spec(folder: Path, tag_of: np.ndarray, formats: Sequence[str] = ("exact",)) -> str:
    """Return a profile: the atoms `k` of each tag have `tag_of` equal to `k`; formats alternate."""
    tiers = {name: {"folder": str(folder / name), "limit": None} for name in ("fast", "slow")}
    tags = [
        {"name": f"tag{k}", "short_name": f"t{k}", "select": "", "tier": ("fast", "slow")[k % 2]}
        | {"format": formats[k % len(formats)], "atoms": ranges(np.flatnonzero(tag_of == k))}
        for k in np.unique(tag_of).tolist()
    ]
    return json.dumps({"tiers": tiers, "tags": tags})


def division(n_atoms: int, n_tags: int, seed: int) -> np.ndarray:
    """Return a tag for each atom: neighbours often share one, and the last tag has few atoms."""
    draw = np.random.default_rng(seed)
    n_runs = int(draw.integers(1, 3 * n_tags + 1))
    borders = np.sort(draw.integers(0, n_atoms + 1, n_runs - 1))
    tags = draw.integers(0, n_tags, n_runs)[np.searchsorted(borders, np.arange(n_atoms), "right")]
    scattered = draw.random(n_atoms) < draw.choice([0, 0.02, 0.5])
    tags[scattered] = draw.integers(0, n_tags, int(scattered.sum()))
    few = draw.choice(n_atoms, min(n_atoms, int(draw.integers(1, 10))), replace=False)
    tags[few] = n_tags
    return np.asarray(tags)


def vectors(reader: _trajet.Reader, kind: str, frames: np.ndarray) -> dict[str, np.ndarray] | None:
    """Return the values read of some frames, or None if there are no such vectors."""
    out = np.empty((len(frames), reader.n_atoms, 3), np.float32)
    try:
        metadata = reader.read(frames, None, out, kind)
    except _trajet.FormatError:
        return None
    return {"vectors": out} | {key: metadata[key] for key in ("times", "steps", "cells")}
