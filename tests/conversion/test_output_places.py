"""Every kind of output is where the user said: through links, with its mode, in its folder."""

import os
import random
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis as guest
from distributed import Client
from helpers.commands import succeed
from helpers.extent import examples
from helpers.messages import raises
from helpers.systems import Systems
from trajet import output

N_FRAMES = 6


@pytest.fixture(scope="module")
def traj(systems: Systems) -> tj.Trajectory:
    """Return some frames with a topology."""
    return systems["solvated.xtc"].trajectory


@contextmanager
def one_worker() -> Iterator[tj.DaskPool]:
    """Yield a pool that writes files."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with Client(processes=False, **options) as client:
        yield tj.DaskPool(client)


def _written_by_guest(_: tj.Trajectory, path: Path) -> None:
    universe = mda.Universe.empty(12, trajectory=True)
    universe.dimensions = [30, 30, 30, 90, 90, 90]
    with guest.install(), mda.Writer(str(path), 12) as writer:
        for _frame in range(N_FRAMES):
            writer.write(universe.atoms)


def _converted(traj: tj.Trajectory, path: Path) -> None:
    tj.convert(traj.select("name CA"), path, frames=slice(0, N_FRAMES), force=True)


def _converted_in_pieces(traj: tj.Trajectory, path: Path) -> None:
    with one_worker() as pool:
        calpha = traj.select("name CA")
        tj.convert(calpha, path, frames=slice(0, N_FRAMES), pool=pool, force=True)


def _written(_: tj.Trajectory, path: Path) -> None:
    tj.write(path, np.random.default_rng(1).normal(size=(N_FRAMES, 12, 3)), force=True)


def _saved(traj: tj.Trajectory, path: Path) -> None:
    tj.rmsd(traj.select("name CA"), frames=slice(0, N_FRAMES)).save(path)


def _reported(traj: tj.Trajectory, path: Path) -> None:
    tj.rmsd(traj.select("name CA"), frames=slice(0, N_FRAMES)).report.save(path)


def _framed(traj: tj.Trajectory, path: Path) -> None:
    traj.select("protein")[3].save(path, force=True)


def _of_all_pairs(traj: tj.Trajectory, path: Path) -> None:
    tj.pairwise_rmsd(traj.select("name CA"), frames=slice(0, N_FRAMES), matrix_path=path)


def _drawn(traj: tj.Trajectory, path: Path) -> None:
    top, xtc = traj.topology_path, traj.paths[0]
    succeed("rmsd", top, xtc, "--select", "name CA", "--plot", path, "--quiet")


KINDS: dict[str, tuple[Callable[[tj.Trajectory, Path], None], str]] = {
    **{f"guest {e}": (_written_by_guest, e) for e in ("xtc", "trr")},
    **{f"convert {e}": (_converted, e) for e in ("xtc", "trr", "dcd", "nc", "h5md")},
    **{f"pieces {e}": (_converted_in_pieces, e) for e in ("xtc", "h5md")},
    **{f"write {e}": (_written, e) for e in ("xtc", "dcd", "h5md")},
    **{f"result {e}": (_saved, e) for e in ("csv", "npz", "json")},
    **{f"report {e}": (_reported, e) for e in ("json", "html")},
    **{f"frame {e}": (_framed, e) for e in ("pdb", "gro")},
    "matrix": (_of_all_pairs, "npy"),
    "figure": (_drawn, "png"),
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def left_in(folder: Path) -> list[str]:
    """Return the names of temporary files anywhere in a folder."""
    begun = re.compile(r"\.trajet-.*\.tmp|\.unfinished-")
    return [path.name for path in folder.rglob("*") if begun.search(path.name)]


@pytest.mark.parametrize("kind", KINDS)
def test_links_and_modes_stay(kind: str, traj: tj.Trajectory, tmp_path: Path) -> None:
    """Chains of links to a file or to none, relative and absolute, into other folders."""
    make, ending = KINDS[kind]
    rng = random.Random(f"places {kind}")
    for case in range(4):
        folder = tmp_path / str(case)
        (folder / "scratch" / "deep").mkdir(parents=True)
        target = folder / "scratch" / "deep" / f"target.{ending}"
        if exists := case % 2 == 0:
            target.write_bytes(b"old")
            mode = rng.choice([0o600, 0o640, 0o666, 0o604])
            target.chmod(mode)
        path = target
        for k in range(case):
            link = folder / f"link{k}.{ending}"
            link.symlink_to(path if rng.random() < 0.5 else os.path.relpath(path, folder))
            path = link
        before = os.umask(0o027)
        try:
            make(traj, Path(os.path.relpath(path)))
        finally:
            os.umask(before)
        assert path.is_symlink() == (case > 0)
        assert path.resolve() == target
        assert target.stat().st_size > 3
        assert stat.S_IMODE(target.stat().st_mode) == (mode if exists else 0o640)
        assert left_in(folder) == []


def test_parts_of_a_division_go_through_their_links(traj: tj.Trajectory, tmp_path: Path) -> None:
    """Each may lead to another folder; with a pool, too."""
    names = [path.name for path in _parts(traj, tmp_path / "plain", None)]
    for has_pool in (False, True):
        folder = tmp_path / ("pool" if has_pool else "threads")
        folder.mkdir()
        for name in names:
            (folder / f"in {name}").mkdir()
            (folder / name).symlink_to(folder / f"in {name}" / "here.xtc")
        with one_worker() if has_pool else nullcontext() as pool:
            parts = _parts(traj, folder, pool)
        for path in parts:
            assert path.is_symlink()
            assert path.read_bytes() == (tmp_path / "plain" / path.name).read_bytes()
        assert left_in(folder) == []


def _parts(traj: tj.Trajectory, folder: Path, pool: tj.DaskPool | None) -> list[Path]:
    done = tj.split(traj.select("name CA"), folder, segments=2, pool=pool, force=True)
    return [part.path for part in done]


def test_a_link_to_no_file_needs_no_force(traj: tj.Trajectory, tmp_path: Path) -> None:
    """Nothing would be replaced; to a file it does."""
    link = tmp_path / "link.xtc"
    link.symlink_to("target.xtc")
    tj.convert(traj, link, frames=[0])
    assert (tmp_path / "target.xtc").is_file()
    with raises(tj.OutputError):
        tj.convert(traj, link, frames=[0])


@pytest.mark.parametrize("ending", ["xtc", "h5md", "csv"])
def test_links_to_devices_and_rings_are_errors(
    ending: str, traj: tj.Trajectory, tmp_path: Path
) -> None:
    """A device is not replaced by a file."""
    make = _saved if ending == "csv" else _converted
    path = tmp_path / f"out.{ending}"
    path.symlink_to("/dev/null")
    with raises((tj.OutputError, OSError)):
        make(traj, path)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    path.unlink()
    path.symlink_to(path.name)
    with raises(tj.OutputError):
        make(traj, path)


def test_relative_names_are_those_of_the_beginning(
    traj: tj.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the process changes while a file is written."""
    block = np.random.default_rng(1).normal(size=(N_FRAMES, 12, 3))
    (tmp_path / "below").mkdir()

    def blocks() -> Iterator[np.ndarray]:
        os.chdir(tmp_path / "below")
        yield block

    def leave(*_: int) -> None:
        os.chdir(tmp_path / "below")

    for ending in ("xtc", "trr", "dcd", "nc", "h5md"):
        monkeypatch.chdir(tmp_path)
        size = tj.write(Path(f"written.{ending}"), blocks()).size
        assert (tmp_path / f"written.{ending}").stat().st_size == size
        monkeypatch.chdir(tmp_path)
        tj.convert(traj, Path(f"converted.{ending}"), frames=slice(0, 4), progress=leave)
        assert tj.open(None, tmp_path / f"converted.{ending}").n_frames == 4
    with one_worker() as pool:
        for ending in ("xtc", "h5md"):
            monkeypatch.chdir(tmp_path)
            name = Path(f"pieces.{ending}")
            tj.convert(traj, name, frames=slice(0, 4), progress=leave, pool=pool)
            assert tj.open(None, tmp_path / name).n_frames == 4
    assert list((tmp_path / "below").iterdir()) == []
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("ending", ["xtc", "dcd", "h5md"])
def test_a_fork_leaves_the_files_of_its_parent(ending: str, tmp_path: Path) -> None:
    """It ends by an exception, which goes through the writer, or at once."""
    block = np.random.default_rng(1).normal(size=(N_FRAMES, 12, 3))

    def blocks(*, at_once: bool) -> Iterator[np.ndarray]:
        for k in range(3):
            child = os.fork()
            if child == 0:
                if at_once:
                    output.remove_unfinished()
                    os._exit(0)
                # As `sys.exit()` in a script.
                raise SystemExit(7)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == (0 if at_once else 7)
            yield block + k

    parent = os.getpid()
    for at_once in (False, True):
        path = tmp_path / f"out{at_once}.{ending}"
        try:
            tj.write(path, blocks(at_once=at_once))
        except SystemExit as end:
            if os.getpid() == parent:
                raise
            os._exit(int(str(end)))
        assert tj.open(None, path).n_frames == 3 * N_FRAMES
    assert left_in(tmp_path) == []


def test_a_file_that_gets_no_name_is_kept_and_named(tmp_path: Path) -> None:
    """A folder takes the name of the output while it is written."""
    rng = random.Random(5)
    for case in range(examples(5)):
        path = tmp_path / f"out{case}.csv"
        content = rng.randbytes(100)
        with raises(tj.OutputError), output.replacing_file(path) as own:
            own.write_bytes(content)
            path.mkdir()


def test_parts_of_workers_that_get_no_name_are_kept_and_named(
    traj: tj.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder takes the name of a part while workers write it; their own folder is removed."""
    first, _ = _parts(traj, tmp_path / "plain", None)
    taken = tmp_path / "pool" / first.name
    do_jobs = tj.DaskPool.do_jobs

    def work(*arguments: Any, **options: Any) -> Any:
        answers = do_jobs(*arguments, **options)
        taken.mkdir()
        return answers

    monkeypatch.setattr(tj.DaskPool, "do_jobs", work)
    with one_worker() as pool, raises(tj.OutputError):
        _parts(traj, taken.parent, pool)
