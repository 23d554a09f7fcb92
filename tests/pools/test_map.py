"""Every pool calls a function for every item; ranks of MPI are in `tests/mdanalysis`."""

import errno
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from distributed import Client
from helpers.messages import raises
from trajet.pools import shared


@pytest.fixture(params=["local", "processes", "dask"])
def pool(request: pytest.FixtureRequest) -> tj.LocalPool | tj.ProcessPool | tj.DaskPool:
    """Return each pool."""
    if request.param == "dask":
        return tj.DaskPool(request.getfixturevalue("client"))
    return tj.LocalPool() if request.param == "local" else tj.ProcessPool(workers=2)


def test_results_are_in_the_order_of_the_items(pool: Any) -> None:
    """Functions and items may be such that only a script knows; results too."""
    seen: list[tuple[int, int]] = []
    offset = 3

    class Number:
        def __init__(self, value: int) -> None:
            self.value = value

    def cubed(number: Number) -> Number:
        return Number(number.value**3 + offset)

    found = pool.map(cubed, (Number(n) for n in range(30)), progress=lambda *n: seen.append(n))
    assert [one.value for one in found] == [n**3 + 3 for n in range(30)]
    assert all(type(one) is Number for one in found)
    assert seen == sorted(seen)
    assert seen[-1] == (30, 30)
    assert pool.map(cubed, []) == []


def test_error_has_its_class_and_names_the_item(pool: Any) -> None:
    """The pool can be used again."""
    with pytest.raises(ZeroDivisionError) as caught:
        pool.map(lambda number: 1 // number, [1, 2, 0, 3])
    assert caught.value.__notes__ == ["item 2 of map"]
    assert pool.map(len, ["protein"]) == [7]


def test_storage_that_fails_is_tried_again(pool: Any, tmp_path: Path) -> None:
    """Three attempts of an item are made, no more."""
    counts = tmp_path / "counts"

    def fail(times: int) -> int:
        with counts.open("a") as file:
            file.write(".")
        if len(counts.read_text()) <= times:
            raise OSError(errno.EIO, "the storage is gone")
        return times

    assert pool.map(fail, [2]) == [2]
    counts.unlink()
    with raises(OSError):
        pool.map(fail, [100])
    assert len(counts.read_text()) == 3


def test_function_is_sent_once_to_each_worker(client: Client, tmp_path: Path) -> None:
    """It is unpickled once in each process."""
    counts = tmp_path / "counts"

    class Counted:
        def __call__(self, number: int) -> int:
            return os.getpid()

        def __setstate__(self, state: object) -> None:
            with counts.open("a") as file:
                file.write(f"{os.getpid()}\n")

        def __getstate__(self) -> int:
            return 1

    for pool in (tj.ProcessPool(workers=2), tj.DaskPool(client)):
        processes = pool.map(Counted(), range(40))
        loaded = list(map(int, counts.read_text().split()))
        counts.unlink()
        assert len(loaded) == len(set(loaded))
        assert set(processes) <= set(loaded)
        assert os.getpid() not in loaded


def test_large_worker_is_kept() -> None:
    """A process that holds much is not replaced by another, to which it would be sent again."""
    pool, held = tj.ProcessPool(workers=1), []

    def hold(size: int) -> int:
        held.append(b"x" * size)
        return os.getpid()

    assert len(set(pool.map(hold, [0, 350_000_000, 0]))) == 1


def test_dead_process_is_an_error() -> None:
    """The next call has processes of its own."""
    pool = tj.ProcessPool(workers=2)
    with raises(tj.WorkerError):
        pool.map(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(4))
    assert pool.map(abs, [-1, 1]) == [1, 1]


def test_processes_work_in_the_folder_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that started elsewhere follow."""
    pool = tj.ProcessPool(workers=1)
    pool.map(abs, [1])
    monkeypatch.chdir(tmp_path)
    assert pool.map(lambda _: str(Path.cwd()), [1]) == [str(tmp_path)]


def test_large_function_goes_to_the_disk_if_memory_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No file is left in either place."""
    full = tmp_path / "memory"
    full.mkdir()
    monkeypatch.setattr(shared, "in_memory", lambda: full)
    plain = Path.write_bytes

    def write(path: Path, data: bytes) -> int:
        if full in path.parents:
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain(path, data)

    monkeypatch.setattr(Path, "write_bytes", write)
    assert tj.ProcessPool(workers=1).map(lambda n: n + 1, [1]) == [2]
    assert list(full.iterdir()) == []
