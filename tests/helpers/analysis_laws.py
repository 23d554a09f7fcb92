"""Laws of every analysis: threads, tasks and the choice of frames change no bit."""

import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import trajet as tj
from trajet.analysis.command import Command

POOLS = [(threads, task_frames) for threads in (1, 2, 7) for task_frames in (1, 3, 1000)]


def declared_commands() -> list[Command]:
    """Return the commands that analyses declare in their modules."""
    modules = [importlib.import_module(f"trajet.analysis.{name}") for name in tj.ANALYSES]
    return [module.COMMAND for module in modules if hasattr(module, "COMMAND")]


def assert_same_bits_on_any_pool(compute: Callable[[tj.LocalPool], np.ndarray]) -> None:
    """Assert that threads and tasks change no bit of the values."""
    results = [compute(tj.LocalPool(threads=n, task_frames=k)) for n, k in POOLS]
    assert results[0].size > 0
    assert np.isfinite(results[0]).any()
    assert {values.shape for values in results} == {results[0].shape}
    assert {values.tobytes() for values in results} == {results[0].tobytes()}


def frame_choices(n_frames: int) -> list[object]:
    """Return slices, lists and masks, with frames from the end, repeated and out of order."""
    rng = np.random.default_rng(n_frames)
    mask = np.arange(n_frames) % 3 == 1
    return [
        slice(None),
        slice(10, 20),
        slice(None, None, 7),
        slice(None, None, -1),
        slice(n_frames - 8, 3, -11),
        slice(-5, None),
        slice(50, 10_000),
        [0],
        [-1],
        [n_frames - 1, 0, 5, 5, 0],
        rng.integers(-n_frames, n_frames, size=300).tolist(),
        rng.permutation(n_frames),
        np.array([4, 8], np.int32),
        mask,
        mask.tolist(),
    ]


def assert_rows_follow_frames(compute: Callable[[object], tj.Series], n_frames: int) -> None:
    """Assert that each choice of frames gives its rows of the whole, bit by bit."""
    whole = compute(None)
    assert len(whole.values) == n_frames
    for frames in frame_choices(n_frames):
        rows = np.arange(n_frames)[frames]
        result = compute(frames)
        assert result.frames.tolist() == rows.tolist()
        assert result.times.tobytes() == whole.times[rows].tobytes()
        assert result.values.tobytes() == whole.values[rows].tobytes()
        assert result.report["frames"] == len(rows)
        assert result.report["parameters"]["n_frames"] == len(rows)
    none = compute([])
    assert none.values.shape == (0, *whole.values.shape[1:])
    assert none.values.dtype == np.float64


def table(path: Path) -> tuple[list[str], np.ndarray]:
    """Read a CSV file of numbers: its header, and its rows as float64."""
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    return head.split(","), np.array([[float(cell) for cell in row.split(",")] for row in rows])
