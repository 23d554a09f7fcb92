"""Laws of every analysis: threads, tasks and the choice of frames change no bit."""

import inspect
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import trajet as tj
from trajet.analysis.job import AnalysisFunction
from trajet.analysis.signatures import OF_RUN
from trajet.cli.option_kinds import kind_of

from helpers.extent import IS_LONG

# Threads and frames of a task: every number once and small tasks with each; all pairs in
# `make test-long`.
POOLS = [(1, 1000), (2, 3), (7, 1)]
if IS_LONG:
    POOLS = [(threads, task_frames) for threads in (1, 2, 7) for task_frames in (1, 3, 1000)]


def plain_analyses() -> list[AnalysisFunction[..., tj.Table]]:
    """Return the analyses of one selection that return series and take only words and switches."""
    functions = [getattr(tj, name) for name in tj.ANALYSES if name != "apply"]
    return [function for function in functions if _is_plain(function)]


def _is_plain(function: AnalysisFunction[..., object]) -> bool:
    main, *options = own_parameters(function).values()
    kind = kind_of(main)
    return (
        issubclass(kind_of_result := function.__annotations__["return"], tj.Table)
        and kind_of_result.HAS_SERIES
        and kind is not None
        and kind.updating in ("never", "always")
        and not kind.multiple
        and all(choices_of(option) for option in options)
    )


def own_parameters(function: AnalysisFunction[..., object]) -> dict[str, object]:
    """Return the annotations of those parameters of an analysis that are not of every run."""
    names = [name for name in inspect.signature(function).parameters if name not in OF_RUN]
    return {name: function.__annotations__[name] for name in names}


def choices_of(annotation: object) -> list[object]:
    """Return the values of a parameter that takes words or is a switch; none for others."""
    kind = kind_of(annotation)
    if kind is None or kind.multiple:
        return []
    if kind.type is None:
        return [False, True]
    return list(kind.type.choices) if isinstance(kind.type, click.Choice) else []


def without_topology(function: AnalysisFunction[..., object]) -> dict[str, object]:
    """Return arguments with which an analysis needs atoms only by number."""
    simple = {"by": "selection", "weights": "equal"}
    return {name: simple[name] for name in own_parameters(function) if name in simple}


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
        rng.integers(-n_frames, n_frames, size=40).tolist(),
        rng.permutation(n_frames),
        np.array([4, 8], np.int32),
        mask,
        mask.tolist(),
    ]


def table(path: Path) -> tuple[list[str], np.ndarray]:
    """Read a CSV file of numbers: its header, and its rows as float64."""
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    return head.split(","), np.array([[float(cell) for cell in row.split(",")] for row in rows])
