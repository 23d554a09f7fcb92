"""Workers of a real Dask scheduler give the results of one thread and a complete report."""

import contextlib
import json
import os
import re
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from distributed import Client, LocalCluster
from distributed.security import Security
from helpers import messages, pool_laws
from helpers.commands import fail, invoke, lines_without_dask_warnings, misuse, python, run
from helpers.dask_cluster import N_WORKERS, change_do
from helpers.golden_files import Adk
from helpers.made_files import write_gro, write_pdb
from helpers.made_hdf5 import tables_of
from helpers.messages import raises
from MDAnalysisTests.datafiles import TRR
from trajet.pools.dask import dask_client

OPTIONS: list[dict[str, Any]] = [
    {"scheduling": "static"},
    {"scheduling": "static", "oversubscription": 3, "threads": 2},
    {"task_frames": 7, "threads": 2},
    {"oversubscription": 2},
]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, pool_laws.SHAPES),
        *zip(OPTIONS[1:3], pool_laws.HALVES, strict=True),
        *(pytest.param(options, None, marks=pytest.mark.long) for options in ({}, *OPTIONS)),
    ],
)
def test_bits_are_those_of_one_thread(
    client: Client, thrice_adk: Adk, options: dict[str, Any], names: tuple[str, ...] | None
) -> None:
    """One analysis of each shape has the default options, half of them have others."""
    pool = tj.DaskPool(client, **options)
    pool_laws.assert_same_bits(pool, tj.open(thrice_adk.psf, thrice_adk.xtc), names)


@pytest.mark.parametrize(
    ("write", "names"), [*zip([write_gro, write_pdb], pool_laws.HALVES, strict=True)]
)
def test_frames_of_text_files_have_the_bits_of_one_thread(
    client: Client, tmp_path: Path, write: Callable[[Path, int, int], Path], names: tuple[str, ...]
) -> None:
    """GRO and PDB files of several frames are trajectories of workers, too."""
    path = write(tmp_path / f"made.{write.__name__[-3:]}", 80, 40)
    pool_laws.assert_same_bits(tj.DaskPool(client, task_frames=3), tj.open(path), names)


def test_workers_open_only_files_of_their_tasks(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """Opens, requests and bytes are those of the tasks' own frames; MDAnalysis is not loaded."""
    paths = pool_laws.segments(long_adk.xtc, tmp_path / "parts", 20)
    traj = tj.open(long_adk.psf, *paths)
    report = tj.rmsd(traj.select("name CA"), reference="average", pool=tj.DaskPool(client)).report
    assert report["passes"] == 2
    assert {worker["process"] for worker in report["workers"]}.isdisjoint({os.getpid()})
    # Each worker opens a file at most once, for both passes, and reads its head and tail then.
    assert all(worker["opens"] <= 20 for worker in report["workers"])
    assert sum(worker["opens"] for worker in report["workers"]) >= 20
    size = sum(path.stat().st_size for path in paths)
    opens = sum(worker["opens"] for worker in report["workers"])
    most = 2 * size / 2**18 + 2 * len(report["tasks"]) + 2 * opens
    # A task in two files makes a request in each.
    assert report["requests"] <= most + 2 * 2 * len(paths)
    assert 2 * size <= report["bytes_read"] <= 2 * size + 2 * 4096 * opens + 2 * 20 * 2**15
    assert not any(client.run(lambda: "MDAnalysis" in sys.modules).values())


def test_setup_is_sent_once_per_pass(client: Client, long_adk: Adk) -> None:
    """The reference and the atoms go to each worker once, and not with each task."""

    def count() -> None:
        from trajet.pools.dask import plugins

        plain = plugins.RunPlugin.setup
        plugins.setups = []

        def setup(self: Any, worker: Any) -> None:
            plugins.setups.append(self.name)
            plain(self, worker)

        plugins.RunPlugin.setup = setup

    def setups() -> list[str]:
        from trajet.pools.dask import plugins

        return plugins.setups

    def largest(dask_scheduler: Any) -> int:
        from distributed.protocol.pickle import dumps

        # None is left there while the results of a pass are merged.
        tasks = dask_scheduler.tasks.items()
        sizes = [len(dumps(state.run_spec)) for key, state in tasks if "trajet" in key[0]]
        return max(sizes, default=0)

    client.run(count)
    sizes = []
    traj = tj.open(long_adk.psf, long_adk.xtc)
    change_do(client, lambda *_: __import__("time").sleep(0.01))
    result = tj.rmsd(
        traj,
        reference="average",
        pool=tj.DaskPool(client),
        progress=lambda *_: sizes.append(client.run_on_scheduler(largest)),
    )
    assert result.report["tasks"]
    for names in client.run(setups).values():
        assert len(names) == len(set(names)) == 2
    # The reference alone has 12 bytes per atom.
    assert 0 < max(sizes) < 12 * traj.n_atoms


def test_static_blocks_stay_on_their_workers(client: Client, long_adk: Adk) -> None:
    """Each worker has one block of neighbouring frames."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    pool = tj.DaskPool(client, scheduling="static", oversubscription=4)
    change_do(client, lambda *_: __import__("time").sleep(0.02))
    report = tj.rmsd(traj.select("name CA"), pool=pool).report
    assert [worker["tasks"] for worker in report["workers"]] == [4, 4, 4]
    by_worker = [task["worker"] for task in report["tasks"]]
    assert len(by_worker) == 12
    assert all(len(set(by_worker[k : k + 4])) == 1 for k in (0, 4, 8))


def test_tasks_of_wide_arrays_are_small(client: Client, long_adk: Adk) -> None:
    """They have at most 64 MiB of numbers, although a static worker has 72 MB to do."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    pairs = traj.select(range(245)), traj.select(range(245, 490))
    pool = tj.DaskPool(client, scheduling="static")
    result = tj.distances(*pairs, frames=slice(0, 450), pool=pool)
    assert sum(task["frames"] for task in result.report["tasks"]) == 450
    assert max(task["frames"] for task in result.report["tasks"]) <= 2**26 // (8 * 245 * 245)


def test_report_has_every_task_of_the_scheduler(client: Client, long_adk: Adk) -> None:
    """The scheduler's time of a task includes the time measured inside of it."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    report = tj.rmsd(traj.select("name CA"), reference="average", pool=tj.DaskPool(client)).report
    assert report["pool"] == "dask"
    assert report["scheduler"] == client.scheduler.address
    assert report["retried"] == []
    assert "distributed" in report["versions"]
    assert {worker["address"] for worker in report["workers"]} <= set(client.nthreads())
    for worker in report["workers"]:
        stages = [worker[name] for name in report["stages"] if name not in ("t_io", "t_total")]
        assert sum(stages) == pytest.approx(worker["t_total"])
    changes = Counter(
        tuple(change[name] for name in ("pass", "task", "copy", "start", "finish"))
        for change in report["transitions"]
    )
    assert report["transitions_left_out"] == 0
    assert len(report["tasks"]) > 2 * N_WORKERS
    for task in report["tasks"]:
        assert task["t_scheduler"] >= task["t_end"] - task["t_begin"] - 0.005
        assert task["t_waiting"] == task["t_scheduler"] - (task["t_end"] - task["t_begin"])
        assert task["batch"] <= task["task"]
        assert changes[task["pass"], task["batch"], task["copy"], "processing", "memory"] == 1
    given = {change["address"] for change in report["transitions"] if change["address"]}
    assert given >= {worker["address"] for worker in report["workers"]}
    json.loads(report.to_json())


def test_numbers_in_files_are_mapped(client: Client, long_adk: Adk, tmp_path: Path) -> None:
    """Arrays are in files and mapped from them; states need no file."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    fours = np.arange(400).reshape(-1, 4)
    here = tj.dihedrals(traj, fours, sin_cos=True, pool=tj.LocalPool())
    folder = tmp_path / "rows"
    path = folder / "dihedrals.npy"
    pool = tj.DaskPool(client, rows_in=folder)
    there = tj.dihedrals(traj, fours, sin_cos=True, pool=pool)
    assert there.values.tobytes() == here.values.tobytes()
    # The values are a view of the bytes of the file.
    assert isinstance(there.values.base.base, np.memmap)
    assert np.load(path).tobytes() == here.values.tobytes()
    # The next result replaces the file and does not change the first one.
    tj.dihedrals(traj, fours[::-1], sin_cos=True, pool=pool)
    assert there.values.tobytes() == here.values.tobytes()
    assert np.load(path).tobytes() != here.values.tobytes()
    path.unlink()
    tj.rmsf(traj.select("name CA"), pool=pool)
    assert list(folder.iterdir()) == []
    ca = traj.select("name CA")
    tj.run([tj.rmsd.job(ca), tj.min_distance.job(ca, "name CB", cutoff=5)], pool=pool)
    names = {"0-rmsd", "1-distance", "1-pair", "1-count"}
    assert {path.stem for path in folder.iterdir()} == names
    with raises(tj.OutputError):
        tj.rmsd(traj, pool=tj.DaskPool(client, rows_in=tmp_path / "none" / "rows"))
    with raises(tj.OutputError):
        tj.rmsd(traj, pool=tj.DaskPool(client, rows_in=tmp_path / "rows.npy"))
    # The name of an array is taken by a folder: found before any frame is read.
    (folder / "rmsd.npy").mkdir()
    with raises(tj.OutputError):
        tj.rmsd(traj, pool=pool)


def test_numbers_in_files_take_no_memory(client: Client, tmp_path: Path) -> None:
    """The client's peak is a few fetches, not the numbers: a sixtieth of the papers' 8.5 GB."""
    script = """
import sys
import trajet as tj
from distributed import Client
from trajet.pools import fetching

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

assert fetching._MAX_OF_WORKER > 2**20
fetching._MAX_OF_WORKER = 2**20
address, rows, path = sys.argv[1:]
with Client(address) as client:
    atoms = tj.open(None, path).select(range(100))
    pool = tj.DaskPool(client, rows_in=rows, task_frames=9)
    tj.distances(atoms, frames=slice(0, 9), pool=pool)
    before = peak()
    values = tj.distances(atoms, pool=pool).values
    print(values.nbytes, 1024 * (peak() - before))
"""
    # Few atoms and many distances: most of the time is spent on numbers, not on frames.
    path, rows = tmp_path / "made.dcd", tmp_path / "rows"
    tj.write(path, np.random.default_rng(5).uniform(0, 50, (3500, 100, 3)).astype(np.float32))
    done = python("-c", script, client.scheduler.address, rows, path)
    size, grown = map(int, done.stdout.split())
    assert size > 8.5e9 / 64
    assert grown < size / 4
    kept = np.load(rows / "distances.npy", mmap_mode="r")
    atoms = tj.open(None, path).select(range(100))
    here = tj.distances(atoms, frames=slice(0, None, 97)).values
    assert kept[::97].tobytes() == here.tobytes()


def test_copies_equal_those_of_one_process(client: Client, thrice_adk: Adk, tmp_path: Path) -> None:
    """Every format has the same bytes; workers read no topology and open only their files."""
    paths = pool_laws.segments(thrice_adk.xtc, tmp_path / "parts", 20)
    traj = tj.open(thrice_adk.psf, *paths)
    pool = tj.DaskPool(client, threads=2)
    there = pool_laws.divisions(traj, tmp_path / "there", pool)
    here = pool_laws.divisions(traj, tmp_path / "here")
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")
    for name, parts in here.items():
        assert [part.n_frames for part in there[name]] == [part.n_frames for part in parts]
        assert [part.messages for part in there[name]] == [part.messages for part in parts]
    reports = [part.report for part in there["xtc"]]
    assert {report["pool"] for report in reports} == {"dask"}
    workers = [worker for report in reports for worker in report["workers"]]
    assert {worker["process"] for worker in workers}.isdisjoint({os.getpid()})
    assert {worker["address"] for worker in workers} <= set(client.nthreads())
    assert sum(worker["frames"] for worker in workers) == 294
    # Each opens a file at most once.
    assert 20 <= sum(worker["opens"] for worker in workers) <= 20 + 6
    assert not any(client.run(lambda: "MDAnalysis" in sys.modules).values())


@pytest.mark.parametrize("name", [*pool_laws.DIVISIONS, "continuous"])
def test_copies_of_any_format_equal_those_of_one_process(
    client: Client, adk: Adk, tmp_path: Path, name: str
) -> None:
    """Frames of a chain may be dropped, and atoms selected."""
    source, parts = tj.open(None, adk.xtc), tmp_path / "parts"
    if name == "continuous":
        parts.mkdir()
        for k, frames in enumerate((slice(0, 60), slice(31, 98))):
            tj.convert(source, parts / f"{k}.xtc", frames=frames)
    else:
        tj.split(source, parts, **pool_laws.DIVISIONS[name])
    traj = tj.open(None, *sorted(parts.iterdir()), continuous=name == "continuous")
    some = traj.select(range(5, 3000, 3))
    for subject, folder in ((traj, "all"), (some, "some")):
        for pool, where in ((tj.DaskPool(client), "there"), (None, "here")):
            out = tmp_path / where / folder
            tj.split(subject, out, frames_per_segment=14, allow_loss=True, pool=pool)
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")
    assert traj.n_frames == 98
    assert len(list((tmp_path / "there").rglob("*.*"))) == 2 * 7


def assert_tasks_are_pieces(report: tj.Report) -> None:
    """Assert that pieces hold all frames, and that stages add up, with joining by no worker."""
    tasks, workers = report["tasks"], report["workers"]
    assert sum(worker["tasks"] for worker in workers) == len(tasks) > len(workers)
    ends = [task["first"] + task["frames"] for task in tasks]
    assert [task["first"] for task in tasks] == [0, *ends[:-1]]
    assert ends[-1] == report["frames"]
    total, joining = report["stages"]["t_total"], report["t_joining"]
    assert all(0 <= task["t_begin"] < task["t_end"] <= total - joining for task in tasks)
    names = [name for name in report["stages"] if name != "t_total"]
    for worker in workers:
        assert sum(worker[name] for name in names) == pytest.approx(worker["t_total"])
    written = sum(worker["t_merge"] for worker in workers)
    assert joining > 0
    assert report["stages"]["t_merge"] == pytest.approx(written + joining)


def test_conversions_equal_those_of_one_process(
    client: Client, thrice_adk: Adk, tmp_path: Path
) -> None:
    """Workers write pieces; each piece is opened once, and frames are counted."""
    traj, pool = tj.open(None, thrice_adk.xtc), tj.DaskPool(client)
    for where in ("there", "here"):
        (tmp_path / where).mkdir()
    seen: list[tuple[int, int]] = []
    there = pool_laws.conversions(traj, tmp_path / "there", pool)
    here = pool_laws.conversions(traj, tmp_path / "here")
    pool_laws.assert_same_conversions(tmp_path / "there", tmp_path / "here")
    for name, one in here.items():
        other = there[name]
        assert (other.n_frames, other.n_atoms) == (one.n_frames, one.n_atoms)
        assert other.messages == one.messages
        assert other.size == (tmp_path / "there" / name).stat().st_size
    report = there["coarse.xtc"].report
    assert report["pool"] == "dask"
    assert report["frames"] == 294
    assert {worker["address"] for worker in report["workers"]} <= set(client.nthreads())
    assert len(report["workers"]) <= N_WORKERS
    assert report["opens"] <= 1 + N_WORKERS
    assert_tasks_are_pieces(report)

    def show(done: int, total: int) -> None:
        seen.append((done, total))

    again = {"force": True, "allow_loss": True}
    tj.convert(traj, tmp_path / "there" / "all.dcd", **again, pool=pool, progress=show)
    assert seen == sorted(seen)
    assert seen[-1] == (294, 294)


def test_velocities_in_some_frames_alone_are_kept_or_refused(
    client: Client, tmp_path: Path
) -> None:
    """TRR keeps them; pieces of H5MD have vectors of all frames, and refuse others."""
    tj.convert(tj.open(None, TRR), tmp_path / "without.trr", velocities=False)
    traj, pool = tj.open(None, tmp_path / "without.trr", TRR), tj.DaskPool(client)
    for kind in ("trr", "dcd"):
        whole = [tmp_path / f"{where}.{kind}" for where in ("there", "here")]
        done = [
            tj.convert(traj, path, allow_loss=True, pool=writer)
            for path, writer in zip(whole, (pool, None), strict=True)
        ]
        assert whole[0].read_bytes() == whole[1].read_bytes()
        assert done[0].messages == done[1].messages
    out, some = tmp_path / "out.h5md", traj.select(range(20))
    frames = [1, 2, 4, *range(15, 20)]
    # One piece per frame, some without; one piece with both.
    for atoms in (traj, some):
        with raises(tj.FormatError, tmp_path / "without.trr", "velocities"):
            tj.convert(atoms, out, frames=frames, allow_loss=True, pool=pool)
        assert not out.exists()
    tj.convert(traj, out, frames=slice(10, None), allow_loss=True, pool=pool)
    alone = tj.convert(tj.open(None, TRR), tmp_path / "alone.h5md", allow_loss=True)
    assert tables_of(out) == tables_of(alone.path)


def test_invalid_options_are_errors(
    client: Client, long_adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are raised at once."""
    with raises(ValueError):
        tj.DaskPool(client, oversubscription=0)
    with raises(ValueError):
        tj.DaskPool(client, scheduling="random")  # type: ignore[arg-type]
    with raises(ValueError):
        tj.DaskPool(client, oversubscription=2, task_frames=2)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with raises(tj.MissingPackageError):
        tj.rmsd(tj.open(None, long_adk.xtc).select([1, 2, 3]), pool=tj.DaskPool(client))


def test_errors_are_printed_once(adk: Adk, tmp_path: Path) -> None:
    """The error is one line, without the traceback of each worker."""
    damaged = tmp_path / "damaged.dcd"
    tj.convert(tj.open(None, adk.xtc), damaged)
    content = bytearray(damaged.read_bytes())
    content[-10_000:] = bytes(10_000)
    damaged.write_bytes(content)
    what = ["rmsd", adk.psf, damaged, "--select", "name CA", "--pool", "dask", "--workers", "2"]
    done = run(*what)
    assert done.returncode == 1
    (line,) = lines_without_dask_warnings(done.stderr)
    messages.compare(line)


def test_command_line_uses_a_scheduler(client: Client, adk: Adk, tmp_path: Path) -> None:
    """It takes the address of a scheduler, or starts workers on this machine."""
    here = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).values
    choices = [["--scheduler", client.scheduler.address], ["--workers", "2"]]
    for k, choice in enumerate(choices):
        out = tmp_path / f"{k}.npz"
        what = ["rmsd", adk.psf, adk.xtc, "--select", "name CA", "-o", out, "--quiet"]
        command = [*what, "--pool", "dask", *choice]
        done = run(*command)
        assert done.returncode == 0, done.stderr
        with np.load(out) as kept:
            assert kept["values"].tobytes() == here.tobytes()
    tj.split(tj.open(None, adk.xtc), tmp_path / "here", segments=3)
    what = ["split", adk.xtc, "--segments", "3", "-o", tmp_path / "there"]
    copy = [*what, "--pool", "dask", *choices[0]]
    done = run(*copy)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("98 frames in 3 files") == 1
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")
    command[-2:] = ["--scheduler", "tcp://127.0.0.1:9"]
    fail(*command)
    command[-2:] = ["--scheduler", client.scheduler.address, "--workers", "2"]
    misuse(*command)


def listening_addresses(pids: set[int]) -> set[str]:
    """Return the local addresses on which these processes accept TCP connections."""
    sockets: set[str] = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                sockets.update(re.findall(r"socket:\[(\d+)\]", os.readlink(entry)))
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            # 0A is the state LISTEN.
            if fields[3] == "0A" and fields[9] in sockets:
                addresses.add(fields[1].partition(":")[0])
    return addresses


def test_own_cluster_refuses_strangers() -> None:
    """It listens on 127.0.0.1 alone, and takes no connection without its certificate."""
    before = listening_addresses({os.getpid()})
    with dask_client(workers=2) as client:
        workers = client.run(os.getpid)
        # Addresses are in hexadecimal, the last byte first.
        assert listening_addresses(set(workers.values())) == {"0100007F"}
        assert listening_addresses({os.getpid()}) <= before | {"0100007F"}
        targets = [client.scheduler.address, min(workers)]
        assert all(target.startswith("tls://127.0.0.1:") for target in targets)
        for target in targets:
            plain = target.replace("tls://", "tcp://")
            with pytest.raises(OSError):
                Client(plain, timeout=1)
            with pytest.raises(OSError):
                Client(target, security=Security.temporary(), timeout=1)


def test_numbers_of_a_command_go_to_files(
    client: Client, adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--rows-in keeps a result of any size out of memory, so that it needs no --force."""
    monkeypatch.setattr("trajet.cli.analysis_options._LARGE_RESULT", 1000)
    rows = tmp_path / "rows"
    pool = ["--pool", "dask", "--scheduler", client.scheduler.address, "--rows-in", str(rows)]
    select = "name CA and resid 1:10"
    command = ["distances", str(adk.psf), str(adk.xtc), "--select", select, "--quiet", *pool]
    done = invoke(*command)
    assert done.exit_code == 0, done.exception
    here = tj.distances(tj.open(adk.psf, adk.xtc).select(select)).values
    assert np.load(rows / "distances.npy").tobytes() == here.tobytes()


def test_threads_and_workers_of_one_process_call_a_function_in_turns(long_adk: Adk) -> None:
    """Two workers of Dask in this process have two threads each: no two calls overlap."""
    calls = types.ModuleType("calls_in_this_process")
    calls.barrier = threading.Barrier(2)  # type: ignore[attr-defined]
    sys.modules[calls.__name__] = calls

    def overlaps(_: np.ndarray) -> bool:
        import calls_in_this_process as calls

        if (threading.current_thread() is threading.main_thread()) or calls.barrier.broken:
            return False
        try:
            calls.barrier.wait(0.1)
        except threading.BrokenBarrierError:
            return False
        return True

    cluster = LocalCluster(
        processes=False, n_workers=2, threads_per_worker=2, dashboard_address=None
    )
    try:
        with cluster, Client(cluster) as client:
            atoms = tj.open(long_adk.psf, long_adk.xtc).select("name CA")
            result = tj.apply(atoms, overlaps, pool=tj.DaskPool(client, task_frames=100))
    finally:
        del sys.modules[calls.__name__]
    assert not result.values.any()
