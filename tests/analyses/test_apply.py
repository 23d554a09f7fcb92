"""`apply` calls functions of users, on every pool that needs no server."""

import csv
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises

POOLS = [
    tj.LocalPool(threads=1),
    tj.LocalPool(threads=3, task_frames=5),
    tj.ProcessPool(workers=2, task_frames=50),
]


def end_to_end(positions: np.ndarray) -> float:
    """Return the distance from the first atom to the last."""
    return float(np.linalg.norm(positions[-1].astype(float) - positions[0]))


@pytest.fixture(scope="module")
def calpha(long_adk: Adk) -> tj.Selection:
    """Return the C-alpha atoms of 980 frames."""
    return tj.open(long_adk.psf, long_adk.xtc).select("name CA")


@pytest.mark.parametrize("pool", POOLS)
def test_one_number_per_frame(calpha: tj.Selection, pool: tj.Pool) -> None:
    """The values are those of a loop over the frames."""
    result = tj.apply(calpha, end_to_end, pool=pool)
    wanted = [end_to_end(positions) for positions in calpha.read().positions]
    assert result.values.tolist() == wanted
    assert result.frames.tolist() == list(range(980))
    assert result.report["analysis"] == "apply"
    assert result.report["parameters"]["function"] == "end_to_end"


@pytest.mark.parametrize("pool", POOLS)
def test_arrays_per_frame_and_lambdas(calpha: tj.Selection, pool: tj.Pool) -> None:
    """A lambda with its closure is sent to other processes too."""
    scale = np.float32(3)
    result = tj.apply(calpha, lambda x: x[:4] * scale, frames=slice(900, 3, -7), pool=pool)
    wanted = calpha.read(frames=slice(900, 3, -7)).positions[:, :4] * scale
    assert result.values.shape == wanted.shape
    assert result.values.tobytes() == wanted.astype(float).tobytes()


@pytest.mark.parametrize("pool", POOLS)
def test_blocks_with_cells(long_adk: Adk, pool: tj.Pool) -> None:
    """The first axis of a returned array counts frames."""
    everything = tj.open(long_adk.psf, long_adk.xtc).select("all")

    def centres(positions: np.ndarray, cells: np.ndarray) -> np.ndarray:
        assert cells.shape == (len(positions), 6)
        return np.concatenate([positions.mean(axis=1), cells[:, :1]], axis=1)

    result = tj.apply(everything, centres, per="block", cells=True, frames=slice(50), pool=pool)
    block = everything.read(frames=slice(50))
    assert result.values.shape == (50, 4)
    np.testing.assert_array_equal(result.values[:, 3], block.cells[:, 0])
    np.testing.assert_array_equal(result.values[:, :3], block.positions.mean(axis=1))


def test_a_reducer_has_the_same_bits_on_every_pool(calpha: tj.Selection) -> None:
    """Leaves are merged in the order of frames along one tree."""

    def moments(positions: np.ndarray) -> np.ndarray:
        x = positions.astype(float)
        return np.stack([x.sum(axis=0), (x**2).sum(axis=0)])

    def blocks(positions: np.ndarray) -> np.ndarray:
        return np.array([len(positions), positions.astype(float).sum()])

    for function, by in ((moments, "frame"), (blocks, "block")):
        values = [
            tj.apply(calpha, function, per=by, reducer=np.add, pool=pool).values for pool in POOLS
        ]
        assert {array.tobytes() for array in values} == {values[0].tobytes()}
    assert values[0][0] == 980
    assert values[0][1] == pytest.approx(calpha.read().positions.astype(float).sum(), rel=1e-12)
    # The earlier state is the first argument: neither sum nor order may be lost.
    first_and_last = tj.apply(
        calpha, lambda x: np.array([x[0, 0], x[0, 0]]), reducer=lambda a, b: [a[0], b[1]]
    )
    x = calpha.read().positions[:, 0, 0]
    assert first_and_last.values.tolist() == [x[0], x[-1]]


@pytest.mark.parametrize("pool", POOLS)
def test_errors_of_the_function_keep_class_and_message(calpha: tj.Selection, pool: tj.Pool) -> None:
    """They are raised in the calling process."""

    def picky(positions: np.ndarray) -> float:
        if positions[0, 0] == wanted:
            raise ZeroDivisionError("this frame is not to be had")
        return 0.0

    wanted = calpha.read(frames=[97]).positions[0, 0, 0]
    with raises(ZeroDivisionError):
        tj.apply(calpha, picky, pool=pool)

    def bad(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        raise LookupError("cannot join these")

    with raises(LookupError):
        tj.apply(calpha, end_to_end, reducer=bad, pool=pool)


def test_values_of_wrong_shape_or_type_are_errors(calpha: tj.Selection) -> None:
    """A function must return numbers of constant shape, and for a block one row per frame."""
    x = calpha.read(frames=[97]).positions[0, 0, 0]

    def by_i(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a + b) * 1j

    with raises(ValueError):
        tj.apply(calpha, lambda p: [1.0, 2.0] if p[0, 0] == x else [1.0])
    with raises(TypeError):
        tj.apply(calpha, lambda p: 1j)
    with raises(TypeError):
        tj.apply(calpha, end_to_end, reducer=by_i)
    with raises(TypeError):
        tj.apply(calpha, lambda p: np.array([1j]) if p[0, 0] == x else np.array([1.0]))
    with raises(ValueError):
        tj.apply(calpha, lambda p: p.mean(axis=0), per="block")
    with raises(ValueError):
        tj.apply(calpha, lambda p: np.zeros((1, 2)), per="block")
    # As many numbers, but in another order.
    with raises(ValueError):
        tj.apply(calpha, lambda p: p[:2].T if p[0, 0] == x else p[:2])
    with raises(ValueError):
        tj.apply(calpha, lambda p: p[:2], reducer=lambda a, b: 1.0)
    with raises(ValueError):
        tj.apply(calpha, end_to_end, frames=[])
    with raises(ValueError):
        tj.apply(calpha, end_to_end, per="atom")


def test_results_are_saved_and_drawn(calpha: tj.Selection, tmp_path: Path) -> None:
    """They are saved and drawn like other results."""
    result = tj.apply(calpha, lambda p: p[0])
    result.save(tmp_path / "a.npz")
    result.save(tmp_path / "a.csv")
    with np.load(tmp_path / "a.npz") as kept:
        assert kept["values"].tobytes() == result.values.tobytes()
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "frame,time_ps,lambda_0,lambda_1,lambda_2"
    assert len(lines) == 981
    assert result.plot().axes
    total = tj.apply(calpha, end_to_end, reducer=np.add)
    total.save(tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().splitlines()[0] == "index,value"
    with raises(ValueError):
        total.plot()


def test_names_with_commas(calpha: tj.Selection, tmp_path: Path) -> None:
    """A CSV file has as many names as columns, whatever the name of the function."""

    def named(positions: np.ndarray) -> np.ndarray:
        return positions[0]

    named.__name__ = 'first, "alpha"'
    tj.apply(calpha, named, frames=[0]).save(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        names, numbers = csv.reader(file)
    assert names == ["frame", "time_ps", *(f'first, "alpha"_{k}' for k in range(3))]
    assert len(numbers) == 5


def meeting(patience: float) -> Callable[[], bool]:
    """Return a function that reports whether two threads of a process are in it at the same time.

    The second call, the first one of a run, waits `seconds` for another one; no call waits after
    that, whether another one came or not.
    """

    # Nested, so that it is pickled by value: workers cannot import the tests.
    class Meeting:
        def __init__(self) -> None:
            self.barrier = threading.Barrier(2)
            self.called = False

        def __call__(self) -> bool:
            if not self.called:
                self.called = True
                return False
            try:
                self.barrier.wait(patience)
            except threading.BrokenBarrierError:
                return False
            self.barrier.abort()
            return True

        def __reduce__(self) -> Any:
            return Meeting, ()

    return Meeting()


class Converted:
    """A result that NumPy converts on request."""

    def __init__(self, number: Callable[[], float]) -> None:
        self.number = number

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return one number."""
        return np.array([self.number()])


THREADED = [
    tj.LocalPool(threads=3, task_frames=5),
    tj.ProcessPool(workers=1, threads=3, task_frames=150),
]


@pytest.mark.parametrize("pool", THREADED)
def test_functions_are_called_by_one_thread_of_a_process_at_a_time(
    calpha: tj.Selection, pool: tj.Pool
) -> None:
    """Two calls overlap only with thread_safe=True, which the report states."""
    for thread_safe, patience in ((False, 0.1), (True, 60.0)):
        met = meeting(patience)
        result = tj.apply(
            calpha, lambda _, met=met: met(), reducer=np.maximum, thread_safe=thread_safe, pool=pool
        )
        assert bool(result.values) is thread_safe
        assert result.report["parameters"]["thread_safe"] is thread_safe


def test_reducers_and_conversions_are_called_under_the_same_lock(calpha: tj.Selection) -> None:
    """A reducer may change data of the function; results are copied before the next call."""
    pool = THREADED[0]
    met = meeting(0.1)
    both = tj.apply(
        calpha, lambda _: float(met()), reducer=lambda a, b: max(a, b, float(met())), pool=pool
    )
    assert both.values == 0
    converted = meeting(0.1)
    values = tj.apply(calpha, lambda _: Converted(lambda: float(converted())), pool=pool).values
    assert not values.any()


def test_function_that_moves_an_atomgroup_gives_the_numbers_of_one_thread(long_adk: Adk) -> None:
    """No other thread sets positions between setting and using them."""
    universe = mda.Universe(str(long_adk.psf), str(long_adk.xtc))
    atoms = universe.select_atoms("name CA")
    chosen = tj.open(long_adk.psf, long_adk.xtc).select("name CA")
    met = meeting(0.1)

    def gyration(positions: np.ndarray) -> float:
        atoms.positions = positions
        met()
        return float(atoms.radius_of_gyration())

    pool = tj.LocalPool(threads=4, task_frames=5)
    values = tj.apply(chosen, gyration, pool=pool).values
    assert values.tolist() == [gyration(positions) for positions in chosen.read().positions]


def test_other_threads_decode_while_one_calls_the_function(
    calpha: tj.Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All threads have decoded a block before the first call ends."""
    came, n_threads = threading.Condition(), 3
    arrived: set[int] = set()

    class Door:
        """A lock that records which threads have asked for it."""

        def __init__(self) -> None:
            self.lock = threading.Lock()

        def __enter__(self) -> None:
            with came:
                arrived.add(threading.get_ident())
                came.notify_all()
            self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    def function(_: np.ndarray) -> float:
        with came:
            # The call for the first frame, before the run, is made by none of the threads.
            if arrived:
                came.wait_for(lambda: len(arrived) == n_threads, timeout=60)
            return len(arrived)

    monkeypatch.setattr(sys.modules["trajet.analysis.apply"], "Lock", Door)
    pool = tj.LocalPool(threads=n_threads, task_frames=5)
    assert (tj.apply(calpha, function, pool=pool).values[1:] == n_threads).all()


def test_function_may_call_apply_itself(calpha: tj.Selection) -> None:
    """The inner run has a lock of its own and does not wait for the call that it is part of."""

    def inner(positions: np.ndarray) -> float:
        pool = tj.LocalPool(threads=2)
        return float(tj.apply(calpha, end_to_end, frames=[3, 5], pool=pool).values.sum())

    result = tj.apply(calpha, inner, frames=slice(4), pool=tj.LocalPool(threads=2, task_frames=1))
    assert len(set(result.values.tolist())) == 1


def test_parameters_named_frame_time_and_cell_are_given(adk: Adk) -> None:
    """By name, in any order, for frames and for blocks, also where frames go back."""
    traj = tj.open(adk.psf, adk.xtc)
    atoms, chosen = traj.select("name CA"), [5, 97, 1, 1]
    whole = traj.read(frames=chosen, atoms=[0])

    def of_frame(
        positions: np.ndarray, time: float, *, cell: np.ndarray, frame: int
    ) -> list[float]:
        assert cell.shape == (6,)
        return [frame, time, positions.shape[0]]

    def of_block(positions: np.ndarray, frame: np.ndarray, time: np.ndarray) -> np.ndarray:
        assert len(frame) == len(time) == len(positions)
        return np.stack([frame, time], axis=1)

    def of_default(positions: np.ndarray, frame: int = -1, **others: object) -> float:
        assert not others
        return frame

    for pool in (tj.LocalPool(threads=2), tj.ProcessPool(workers=1)):
        values = tj.apply(atoms, of_frame, frames=chosen, pool=pool).values
        assert values.tolist() == [[f, t, 214] for f, t in zip(chosen, whole.times, strict=True)]
        values = tj.apply(atoms, of_block, per="block", frames=chosen, pool=pool).values
        assert values.tolist() == [[f, t] for f, t in zip(chosen, whole.times, strict=True)]
        assert tj.apply(atoms, of_default, frames=chosen, pool=pool).values.tolist() == chosen


def test_exceptions_name_the_frame(adk: Adk) -> None:
    """The exception is that of the function, with a note."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")

    def fails(positions: np.ndarray, frame: int) -> float:
        return 1 / (frame - 37)

    with pytest.raises(ZeroDivisionError) as raised:
        tj.apply(atoms, fails)
    assert raised.value.__notes__ == ["the function was called for frame 37"]


def _gap(one: np.ndarray, other: np.ndarray, frame: int) -> dict[str, object]:
    """Return what a function of two selections may compute."""
    centres = np.stack([one.mean(axis=0), other.mean(axis=0)])
    return {"centres": centres, "gap": np.linalg.norm(centres[0] - centres[1]), "frame": frame}


@pytest.mark.parametrize("pool", [None, tj.ProcessPool(workers=2)], ids=["threads", "processes"])
def test_functions_of_several_selections_return_dicts(
    adk: Adk, tmp_path: Path, pool: tj.Pool | None
) -> None:
    """Each selection has its positions, also atoms of both; each name its array."""
    traj = tj.open(adk.psf, adk.xtc)
    one, other = traj.select("resid 100:120"), traj.select("name CA and resid 90:110")
    result = tj.apply([one, "name CA and resid 90:110"], _gap, pool=pool, thread_safe=True)
    x, y = one.read().positions, other.read().positions
    expected = np.stack([x.mean(axis=1), y.mean(axis=1)], axis=1)
    assert list(result.arrays) == ["centres", "gap", "frame"]
    assert np.abs(result.arrays["centres"] - expected).max() < 1e-4
    gap = np.linalg.norm(result.arrays["centres"][:, 0] - result.arrays["centres"][:, 1], axis=1)
    assert np.abs(result.arrays["gap"] - gap).max() < 1e-4
    assert result.arrays["frame"].tolist() == list(range(98))
    assert result.report["parameters"]["selections"] == [one.label, other.label]
    assert result.report["parameters"]["n_atoms"] == [one.n_atoms, other.n_atoms]
    result.save(tmp_path / "gap.npz")
    again = tj.load(tmp_path / "gap.npz")
    assert {name: part.shape for name, part in again.arrays.items()} == {
        "centres": (98, 2, 3),
        "gap": (98,),
        "frame": (98,),
    }
    assert result[3:5].arrays["gap"].tolist() == result.arrays["gap"][3:5].tolist()
    assert list(result.to_dataframe().columns[2:9]) == [
        *(f"centres_{k}_{axis}" for k in range(2) for axis in range(3)),
        "gap",
    ]


def test_parts_of_arrays_are_the_array(adk: Adk) -> None:
    """By the name of the function."""
    result = tj.apply(tj.open(adk.psf, adk.xtc).select("name CA"), np.ptp)
    assert list(result.arrays) == ["ptp"]
    assert result.arrays["ptp"] is result.values


def test_dicts_that_change_are_errors(adk: Adk) -> None:
    """So are those of blocks and of texts, and indices of several selections."""
    traj = tj.open(adk.psf, adk.xtc)
    calpha = traj.select("name CA")
    with raises(ValueError):
        tj.apply(calpha, lambda x, frame: {"x": x[: 1 + frame // 50]})
    with raises(ValueError):
        tj.apply(calpha, lambda x, frame: {"x" if frame < 9 else "y": 1.0})
    with raises(ValueError):
        tj.apply(calpha, lambda x: {"x": 1.0}, reducer=np.maximum)
    with raises(TypeError):
        tj.apply(calpha, lambda x: {"x": "text"})
    with raises(TypeError):
        tj.apply(calpha, lambda x: {})
    with raises(ValueError):
        tj.apply([calpha, "name CB"], _gap, indices=True)
