"""Errors of reading reach a script, however it goes through the frames."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis as guest
from helpers.messages import raises
from MDAnalysis.analysis.base import AnalysisFromFunction

N_FRAMES, N_ATOMS = 240, 500
FORMATS = ("xtc", "trr", "dcd", "nc", "h5md")


@pytest.fixture(scope="module")
def long_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return files that no reader reads at once, by their suffixes."""
    folder = tmp_path_factory.mktemp("long")
    frames = np.random.default_rng(1).normal(0, 20, (N_FRAMES, N_ATOMS, 3)).astype(np.float32)
    cells = np.tile([90.0] * 6, (N_FRAMES, 1))
    for suffix in FORMATS:
        times = np.arange(N_FRAMES, dtype=np.float64)
        tj.write(folder / f"long.{suffix}", frames, times=times, cells=cells)
    return {path.suffix[1:]: path.read_bytes() for path in folder.iterdir()}


def universe(*paths: Path) -> mda.Universe:
    """Return a Universe of trajet's readers; several files are a chain."""
    guest.install()
    u = mda.Universe.empty(N_ATOMS, trajectory=False)
    return u.load_new([str(path) for path in paths] if len(paths) > 1 else str(paths[0]))


def cut(path: Path) -> None:
    """Cut a file in its middle, as where another program writes it anew."""
    os.truncate(path, path.stat().st_size // 2)


def cut_to_nothing(path: Path) -> None:
    """Leave the first bytes: frame 0 cannot be read any longer."""
    os.truncate(path, 100)


def overwrite(path: Path) -> None:
    """Replace all bytes behind the first quarter."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(b"\xff" * (size - size // 4))


def fail_reads(path: Path) -> None:
    """Have all reads of the open file fail with EIO, as those of unmapped memory do."""
    (memory,) = [os.open("/proc/self/mem", os.O_RDONLY)]
    try:
        for name in os.listdir("/proc/self/fd"):
            link = Path("/proc/self/fd", name)
            if os.path.lexists(link) and os.path.realpath(link) == str(path):
                os.dup2(memory, int(name))
    finally:
        os.close(memory)


def by_next(u: mda.Universe) -> Iterator[Any]:
    """Yield all frames by `next`."""
    u.trajectory.rewind()
    yield u.trajectory.ts
    for _ in range(1, len(u.trajectory)):
        yield next(u.trajectory)


WAYS: dict[str, Callable[[mda.Universe], Any]] = {
    "loop": lambda u: u.trajectory,
    "slice": lambda u: u.trajectory[::2],
    "backwards": lambda u: u.trajectory[::-1],
    "indices": lambda u: u.trajectory[list(range(1, len(u.trajectory)))],
    "next": by_next,
}


def break_while_reading(
    u: mda.Universe, way: str, path: Path, fault: Callable[[Path], None], n: int = 3
) -> int:
    """Go through the frames, with a fault after `n` of them; return how many were read."""
    done = 0
    for _ in WAYS[way](u):
        _ = u.atoms[:5].positions
        done += 1
        if done == n:
            fault(path)
    return done


@pytest.mark.parametrize(
    ("suffix", "fault"),
    [
        (suffix, fault)
        for suffix in FORMATS
        for fault in (cut, cut_to_nothing, overwrite, fail_reads)
        # Arrays of HDF5 have no marks, and other bytes are other numbers.
        if (suffix, fault) not in [("h5md", overwrite), ("nc", overwrite)]
    ],
)
def test_error_of_reading_ends_a_loop(
    long_files: dict[str, bytes], tmp_path: Path, suffix: str, fault: Callable[[Path], None]
) -> None:
    """The loop does not end as if these were all frames; the next one fails as well."""
    path = tmp_path / f"one.{suffix}"
    path.write_bytes(long_files[suffix])
    u = universe(path)
    with raises(tj.TrajetError) as caught:
        break_while_reading(u, "loop", path, fault)
    if fault is fail_reads:
        assert caught.value.errno == errno.EIO
    with pytest.raises(tj.TrajetError):
        break_while_reading(u, "loop", path, lambda _: None)


@pytest.mark.parametrize("fault", [cut, cut_to_nothing, fail_reads])
@pytest.mark.parametrize("n_files", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_error_reaches_each_way_of_reading(
    long_files: dict[str, bytes],
    tmp_path: Path,
    way: str,
    n_files: int,
    fault: Callable[[Path], None],
) -> None:
    """Chains of MDAnalysis as well."""
    paths = [tmp_path / f"{number}.xtc" for number in range(n_files)]
    for path in paths:
        path.write_bytes(long_files["xtc"])
    u = universe(*paths)
    assert len(u.trajectory) == n_files * N_FRAMES
    # Positions that are decoded when they are asked for raise an `OSError` themselves.
    with pytest.raises((tj.TrajetError, OSError)):
        break_while_reading(u, way, paths[-1], fault)


def test_error_reaches_analyses_and_arrays(long_files: dict[str, bytes], tmp_path: Path) -> None:
    """`run`, our pools, `timeseries` and `transfer_to_memory`."""
    path = tmp_path / "one.xtc"
    work: dict[str, Callable[[mda.Universe], object]] = {
        "run": lambda u: made_analysis(u).run(),
        "threads": lambda u: guest.run(made_analysis(u), progress=False),
        "forked": lambda u: guest.run(
            made_analysis(u), progress=False, pool=tj.ProcessPool(workers=2, fork=True)
        ),
        "timeseries": lambda u: u.trajectory.timeseries(),
        "in memory": lambda u: u.transfer_to_memory(),
    }
    for name, do in work.items():
        path.write_bytes(long_files["xtc"])
        u = universe(path)
        cut(path)
        with pytest.raises((tj.TrajetError, OSError)):
            do(u)
            pytest.fail(f"{name} raised no error")


def made_analysis(u: mda.Universe) -> Any:
    """Return an analysis that reads a few atoms of each frame."""
    made = AnalysisFromFunction(first_position, u.trajectory, u.atoms[:3])
    made._analysis_algorithm_is_parallelizable = True
    return made


def first_position(atoms: mda.AtomGroup) -> np.ndarray:
    """Return the position of an atom."""
    return atoms.positions[0]


def test_failing_storage_is_tried_again_on_pools() -> None:
    """The error has the number of the error of the system, in other processes too."""
    import pickle

    from trajet.mdanalysis.errors import ReadError, read_error
    from trajet.pools.dispatch import is_retried

    error = read_error("one.xtc", 3, OSError(errno.EIO, "Input/output error"))
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ReadError)
    assert str(again) == "one.xtc: Input/output error (frame 3)"
    assert is_retried(again, 1)
    assert not isinstance(again, OSError)
