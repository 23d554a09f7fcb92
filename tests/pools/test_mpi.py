"""Ranks of MPI, started as users start them, give the results of one thread."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import pool_laws
from helpers.commands import wait_until
from helpers.golden_files import Adk
from helpers.kept_members import kill_at_random, on_ranks
from helpers.made_files import write_gro, write_pdb
from helpers.made_hdf5 import tables_of
from helpers.mpi_ranks import WAYS
from helpers.started_ranks import HANGS, command, run_on_ranks
from trajet.pools.timing import WORKER_STAGES

RANKS = (1, 2, 5)


def link(adk: Adk, folder: Path) -> None:
    """Link files under the names that ranks open."""
    for path in (adk.psf, adk.xtc):
        (folder / f"adk{path.suffix}").symlink_to(path)


def fill(folder: Path, adk: Adk) -> Path:
    """Put the trajectory and one that has a corrupt frame into a folder; return it."""
    link(adk, folder)
    data = bytearray(adk.xtc.read_bytes())
    offsets = tj.open(None, adk.xtc).source.reader.offsets()
    offset = int(offsets[min(500, len(offsets) - 2)])
    data[offset + 100 : offset + 400] = bytes(300)
    (folder / "broken.xtc").write_bytes(data)
    return folder


@pytest.fixture
def folder(long_adk: Adk, tmp_path: Path) -> Path:
    """Return a folder with the trajectory and one that has a corrupt frame."""
    return fill(tmp_path, long_adk)


# Functions of `mpi_ranks` that the same three ranks run: Python and MPI start once. The first two
# record what ranks have imported.
TOGETHER = (
    *("record_opens", "copies", "fill_windows", "structures", "run_every_way", "bits"),
    *("compute_wide_rows", "catch_errors", "keep_going", "members", "stragglers"),
    *("copies_with_a_slow_rank", "copies_that_fail"),
)


@pytest.fixture(scope="module")
def together(
    long_adk: Adk, thrice_adk: Adk, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Return the folder in which each function of `TOGETHER` has run, one after the other."""
    thrice = ("copies", "bits")
    folders = {
        name: fill(tmp_path_factory.mktemp(name), thrice_adk if name in thrice else long_adk)
        for name in TOGETHER
    }
    pool_laws.segments(long_adk.xtc, folders["record_opens"] / "parts", 20)
    prepare_copies(thrice_adk, folders["copies"])
    write_gro(folders["structures"] / "made.gro", 80, 40)
    write_pdb(folders["structures"] / "made.pdb", 80, 40)
    pairs = [word for pair in folders.items() for word in pair]
    run_on_ranks(3, "-m", "helpers.mpi_ranks", *pairs)
    return folders


def answer_in(folder: Path) -> Any:
    """Return the answer of rank 0."""
    return json.loads((folder / "answer.json").read_text())


@pytest.fixture(scope="module")
def truth(thrice_adk: Adk) -> dict[str, np.ndarray]:
    """Return the results of one thread."""
    traj = tj.open(thrice_adk.psf, thrice_adk.xtc)
    one = tj.LocalPool(threads=1)
    return {name: compute(one) for name, compute in pool_laws.analyses(traj).items()}


def assert_same(there: np.ndarray, here: np.ndarray) -> None:
    """Assert that every bit is the same."""
    assert (there.shape, there.dtype) == (here.shape, here.dtype)
    assert there.tobytes() == here.tobytes()


def test_ranks_have_memory_of_their_own(together: dict[str, Path]) -> None:
    """MPICH 4.0 does not provide it if its size is not a multiple of 16 bytes."""
    assert answer_in(together["fill_windows"]) == "nobody"


def test_bits_are_those_of_one_thread(together: dict[str, Path], thrice_adk: Adk) -> None:
    """Every way of scheduling and gathering is used, the usual one for every shape."""
    one, traj = tj.LocalPool(threads=1), tj.open(thrice_adk.psf, thrice_adk.xtc)
    truth = {k: compute(one) for k, compute in pool_laws.analyses(traj, pool_laws.SHAPES).items()}
    assert set(truth) == set(pool_laws.SHAPES)
    for way, names in WAYS.items():
        with np.load(together["bits"] / f"{' '.join(way)}.npz") as found:
            assert set(found) == set(names)
            for name, values in found.items():
                assert_same(values, truth[name])


@pytest.mark.long
@pytest.mark.parametrize("ranks", RANKS)
def test_every_analysis_has_the_bits_of_one_thread(
    ranks: int, thrice_adk: Adk, tmp_path: Path, truth: dict[str, np.ndarray]
) -> None:
    """In every way of scheduling and gathering."""
    link(thrice_adk, tmp_path)
    run_on_ranks(ranks, "-m", "helpers.mpi_ranks", "every_bit", tmp_path)
    for way in WAYS:
        with np.load(tmp_path / f"{' '.join(way)}.npz") as found:
            assert set(found) == set(truth)
            for name, values in found.items():
                assert_same(values, truth[name])


def test_frames_of_text_files_have_the_bits_of_one_thread(together: dict[str, Path]) -> None:
    """GRO and PDB files of several frames are trajectories of ranks, too."""
    folder = together["structures"]
    for name in ("made.gro", "made.pdb"):
        here = pool_laws.analyses(tj.open(folder / name), pool_laws.SHAPES)
        with np.load(folder / f"{name}.npz") as found:
            assert set(found) == set(here)
            for analysis, compute in here.items():
                assert_same(found[analysis], compute(tj.LocalPool(threads=1)))


def test_setup_is_sent_once(together: dict[str, Path]) -> None:
    """Ranks import no MDAnalysis, build no index, and open the files of their own frames."""
    paths = sorted((together["record_opens"] / "parts").glob("*.xtc"))
    found = answer_in(together["record_opens"])
    assert found["heavy"] == [[], [], []]
    report = found["report"]
    assert [worker["rank"] for worker in report["workers"]] == [0, 1, 2]
    assert len({worker["process"] for worker in report["workers"]}) == 3
    # A third of twenty files each, and those that the borders go through.
    assert all(worker["opens"] <= 8 for worker in report["workers"])
    assert sum(worker["frames"] for worker in report["workers"]) == 980
    assert len(report["tasks"]) == 12
    # Opening reads head and tail. A task reads from each of its files.
    size = sum(path.stat().st_size for path in paths)
    opens = sum(worker["opens"] for worker in report["workers"])
    files = opens + len(report["tasks"])
    assert report["requests"] <= size / 2**18 + 2 * files + 2 * opens
    assert report["bytes_read"] <= size + 2 * 4096 * opens + 2**18 * files
    assert report["mpi"]["ranks"] == 3
    assert sum(report["mpi"]["ranks_per_node"].values()) == 3
    assert report["mpi"]["library"]


def test_threads_small_tasks_and_files_change_no_bit(
    together: dict[str, Path], long_adk: Adk
) -> None:
    """The report accounts for all the time of each thread."""
    folder = together["run_every_way"]
    reports = answer_in(folder)
    traj = tj.open(long_adk.psf, long_adk.xtc)
    one, fours = tj.LocalPool(threads=1), np.arange(400).reshape(-1, 4)
    features = tj.dihedrals(traj, fours, sin_cos=True, pool=one).values
    atoms = traj.select(range(0, 3000, 50))
    spread = tj.apply(atoms, lambda positions: positions.std(axis=0), pool=one).values
    with np.load(folder / "ways.npz") as found:
        for name in ("threads", "small tasks", "file"):
            assert_same(found[f"{name}, features"], features)
            assert_same(found[f"{name}, apply"], spread)
    assert_same(np.load(folder / "rows" / "dihedrals.npy"), features)
    assert_same(np.load(folder / "rows" / "values.npy"), spread)
    assert not list(folder.glob(".trajet-*"))
    assert reports["file"]["mpi"]["gathering"] == "file"
    # Leaves of 4 frames.
    assert len(reports["small tasks"]["tasks"]) == 245
    for name, report in reports.items():
        assert len(report["workers"]) == 3 * (2 if name == "threads" else 1)
        for worker in report["workers"]:
            known = sum(worker[stage] for stage in WORKER_STAGES)
            assert known == pytest.approx(worker["t_total"], rel=1e-6)


def test_tasks_of_wide_rows_are_small(together: dict[str, Path]) -> None:
    """A static rank has 150 frames to do, and 64 MiB are 139; leaves stay whole."""
    found = answer_in(together["compute_wide_rows"])
    assert all(sum(frames) == 450 for frames in found.values())
    assert max(found["static"]) < 150
    assert max(found["dynamic"]) < 139


def test_errors_reach_every_rank(together: dict[str, Path]) -> None:
    """Errors of rank 0 before the run, and of any rank in it, are raised on all ranks."""
    folder = together["catch_errors"]
    found = answer_in(folder)
    assert found["errors"][1:] == found["errors"][:1] * 2
    kinds = [kind for kind, _ in found["errors"][0]]
    known = ["FileNotFoundError", "SelectionError", "FormatError", "ValueError"]
    assert kinds == [*known, "StopIteration", "StopIteration", "OSError"]
    assert "the storage is gone" in found["errors"][0][6][1]
    assert not list(folder.glob("*rows*"))
    assert "frame 500 at byte" in found["errors"][0][2][1]
    assert found["frames"] == 980


def test_analyses_go_on_without_the_ones_that_fail(
    together: dict[str, Path], long_adk: Adk
) -> None:
    """Their exceptions stay on rank 0, and every rank takes part in the further runs."""
    found = answer_in(together["keep_going"])
    missing, without_cell = found["errors"]
    assert missing.startswith("SelectionError")
    assert "has no unit cell" in without_cell
    atoms = tj.open(long_adk.psf, long_adk.xtc).select(range(0, 3000, 70))
    rmsf = tj.rmsf(atoms, align=atoms, reference="average")
    assert found["rmsd"] == found["again"] == tj.rmsd(atoms).values.tolist()
    assert found["rmsf"] == rmsf.values.tolist()


def test_members_share_ranks(together: dict[str, Path], long_adk: Adk) -> None:
    """With the bits of one thread; the one that fails is named, or left out."""
    found = answer_in(together["members"])
    assert found["stopped"] == "in member 2 of 3 (replica=2)"
    known = []
    for path in (long_adk.xtc, together["members"] / "backwards.xtc"):
        atoms = tj.open(long_adk.psf, path).select("name CA")
        jobs = [tj.rmsd.job(atoms), tj.rmsf.job(atoms, align="same")]
        known.append([one.values.tolist() for one in tj.run(jobs, pool=tj.LocalPool(threads=1))])
    (rmsd, rmsf), (backwards, rmsf_backwards) = known
    assert rmsd != backwards
    assert found["values"] == [rmsd, None, backwards, rmsf, None, rmsf_backwards]


@pytest.mark.kills(1)
def test_members_of_killed_ranks_go_on_with_the_same_bits(
    adk: Adk, tmp_path: Path, kills: int
) -> None:
    """A rank is killed at random moments between the first and the last result."""
    kill_at_random(adk, tmp_path, on_ranks, kills)


def test_stragglers_and_transient_errors_change_no_bit(
    together: dict[str, Path], long_adk: Adk
) -> None:
    """A failed task is retried; one that hangs is done by another rank, and counts once."""
    folder = together["stragglers"]
    reports = answer_in(folder)
    traj = tj.open(long_adk.psf, long_adk.xtc)
    one = tj.rmsd(traj.select(range(0, 3000, 7)), pool=tj.LocalPool(threads=1)).values
    with np.load(folder / "stragglers.npz") as found:
        assert_same(found["failing"], one)
        assert_same(found["stuck"], one)
        assert_same(found["stuck_later"], one)
    retried = reports["failing"]["retried"]
    assert len(retried) == 2
    assert len({entry["task"] for entry in retried}) == 1
    assert "not well" in retried[0]["error"]
    stuck = reports["stuck"]
    # On a busy machine, tasks of other ranks are repeated, too.
    won = [(entry["late"], entry["task"]) for entry in stuck["repeated"] if entry["won"]]
    assert [late for late, _ in won].count(2) == 1
    assert len({task for _, task in won}) == len(won)
    assert [worker["tasks"] for worker in stuck["workers"]][2] == 0
    tasks = [task["task"] for task in stuck["tasks"]]
    assert tasks == list(range(len(tasks)))
    # Workers also count the frames of results that came too late.
    assert sum(task["frames"] for task in stuck["tasks"]) == 980
    # The batch in which it hangs is done by others as a whole, and its first tasks count once.
    later = reports["stuck_later"]
    batch = [entry["task"] for entry in later["repeated"] if entry["won"]]
    assert len(batch) > 1
    assert batch == list(range(batch[0], batch[0] + len(batch)))
    assert [task["task"] for task in later["tasks"]] == tasks
    assert {task["worker"] for task in later["tasks"] if task["task"] in batch} <= {0, 1}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("read_corrupt_frame", "frame 500 at byte"),
        ("fail_on_one_rank", "RuntimeError: of one's own"),
    ],
)
def test_uncaught_error_ends_all(what: str, words: str, folder: Path) -> None:
    """Its message is on standard error once."""
    done = run_on_ranks(3, "-m", "helpers.mpi_ranks", what, folder, fails=True)
    assert done.stderr.count(words) == 1


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_rank_that_waits_for_others_can_be_ended(
    by: signal.Signals, adk: Adk, tmp_path: Path
) -> None:
    """The second of two ranks starts no MPI: two signals end the first, in MPI_Init."""
    rank = command(1, "-m", "trajet", "rmsd", adk.psf, adk.xtc, "--pool", "mpi", "-o", "rmsd.csv")
    shell = ["sh", "-c", 'echo $$ >pid; exec "$@"', "sh"]
    at = rank.index(sys.executable)
    waits = [*rank[:at], *shell, *rank[at:], "--select", "all", ":", "-n", "1", "sleep", "600"]
    with subprocess.Popen(
        waits, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as launcher:
        try:
            wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
            process = Path("/proc", (tmp_path / "pid").read_text().strip())
            wait_until(lambda: "libmpi" in (process / "maps").read_text())
            time.sleep(1)
            assert process.exists()
            for _ in range(2):
                os.kill(int(process.name), by)
                time.sleep(0.6)
            assert launcher.wait(HANGS) != 0
        finally:
            launcher.terminate()
    assert not process.exists()


@pytest.mark.kills(1)
def test_killed_rank_ends_all(attempt: int, folder: Path) -> None:
    """At any moment, no process is left, and no file in memory."""
    processes = killed(folder, "run_until_killed", (1 + attempt) % 3)
    assert not list(Path("/dev/shm").glob(f"trajet-*-{processes[0]}-*"))


def killed(
    folder: Path, what: str, victim: int | None, by: signal.Signals = signal.SIGKILL
) -> list[int]:
    """Kill one or all ranks of an endless run, see all end, and return their process numbers."""
    with subprocess.Popen(
        command(3, "-m", "helpers.mpi_ranks", what, folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as ranks:
        processes: list[int] = []
        try:
            wait_until(lambda: len(list(folder.glob("rank *"))) == 3)
            processes += [int(path.read_text()) for path in sorted(folder.glob("rank *"))]
            time.sleep(random.random())
            for process in processes if victim is None else processes[victim : victim + 1]:
                os.kill(process, by)
            assert ranks.wait(HANGS) != 0
        finally:
            # Ranks that hang would hold up all tests behind this one.
            ranks.kill()
            for process in filter(is_alive, processes):
                os.kill(process, signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, processes)))
    return processes


def is_alive(process: int) -> bool:
    """Return whether a process runs."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def prepare_copies(adk: Adk, folder: Path) -> None:
    """Make the files that ranks copy, and the folders that they write to."""
    pool_laws.segments(adk.xtc, folder / "parts", 6)
    for where in ("converted", "converted here"):
        (folder / where).mkdir()


def test_copies_equal_those_of_one_process(together: dict[str, Path]) -> None:
    """Bytes are equal; ranks open the files of their own frames, and read no topology."""
    assert_copies_are_those_of_one_process(together["copies"], 3)


@pytest.mark.long
@pytest.mark.parametrize("ranks", RANKS)
def test_copies_of_any_ranks_equal_those_of_one_process(
    ranks: int, tmp_path: Path, thrice_adk: Adk
) -> None:
    """One rank writes everything itself."""
    prepare_copies(thrice_adk, tmp_path)
    run_on_ranks(ranks, "-m", "helpers.mpi_ranks", "copies", tmp_path)
    assert_copies_are_those_of_one_process(tmp_path, ranks)


def assert_copies_are_those_of_one_process(folder: Path, ranks: int) -> None:
    """Compare files and reports of `mpi_ranks.copies`."""
    found, paths = answer_in(folder), sorted((folder / "parts").glob("*.xtc"))
    traj = tj.open(None, *paths)
    converted = pool_laws.conversions(traj, folder / "converted here")
    pool_laws.assert_same_conversions(folder / "converted", folder / "converted here")
    assert found["converted"] == {name: list(one.messages) for name, one in converted.items()}
    done = pool_laws.divisions(traj, folder / "here")
    pool_laws.assert_same_files(folder / "there", folder / "here")
    assert found["done"] == {name: [p.n_frames for p in parts] for name, parts in done.items()}
    tj.split(traj, folder / "first here", segments=8)
    pool_laws.assert_same_files(folder / "first", folder / "first here")
    alone = tj.convert(traj, folder / "alone.h5md", frames=slice(98, 196), compression=2)
    assert tables_of(folder / "together.h5md") == tables_of(alone.path)
    assert found["whole"][:2] == [98, 3341]
    assert found["whole"][2] == (folder / "together.h5md").stat().st_size
    assert found["heavy"] == [[]] * ranks
    assert found["seen"][-1] == [294, 294]
    assert not list(folder.glob("**/.trajet-*tmp*"))
    # Every frame is read once, the first of each of 8 files twice; each rank opens the files that
    # it reads, once.
    workers = [worker for report in found["reports"] for worker in report["workers"]]
    assert len({worker["process"] for worker in workers}) == ranks
    for rank in range(ranks):
        own = [worker for worker in workers if worker["rank"] == rank]
        n_frames, opens = (sum(worker[name] for worker in own) for name in ("frames", "opens"))
        # Files of 49 frames each, and those that the borders of its segments go through.
        did = [report["workers"][0]["rank"] == rank for report in found["reports"]]
        stretches = sum(here and not before for before, here in pairwise([False, *did]))
        assert opens <= n_frames / 49 + 2 * stretches
    names = ("frames", "opens", "requests", "bytes_read")
    frames, opens, requests, n_bytes = (sum(worker[name] for worker in workers) for name in names)
    size = sum(path.stat().st_size for path in paths)
    assert frames == 294
    assert size <= n_bytes <= size + 2 * 4096 * opens + 8 * 2 * size / 294
    # Of 14 segments of one file each the first frame is read before two threads share it.
    assert requests <= size / 2**18 + 2 * opens + 3 * 14


def test_segments_of_a_slow_rank_are_written_by_others(
    together: dict[str, Path], long_adk: Adk
) -> None:
    """The slow rank writes the one that it has begun; idle ranks write the others."""
    folder = together["copies_with_a_slow_rank"]
    by_rank = answer_in(folder)
    assert len(by_rank) == 8
    assert by_rank.count(1) == 1
    tj.split(tj.open(None, long_adk.xtc), folder / "here", segments=8)
    ours = [path.read_bytes() for path in sorted((folder / "out").iterdir())]
    assert ours == [path.read_bytes() for path in sorted((folder / "here").iterdir())]


def test_copy_that_fails_leaves_nothing(together: dict[str, Path]) -> None:
    """All ranks raise the error of any rank, and continue."""
    found = answer_in(together["copies_that_fail"])
    assert found["errors"][1:] == found["errors"][:1] * 2
    words = [": ".join(error) for error in found["errors"][0]]
    expected = (
        *["FormatError: .*frame 500 at byte"] * 4,
        "ValueError: .*leave threads out",
        "OutputError: somebody else",
    )
    assert len(words) == len(expected)
    for message, pattern in zip(words, expected, strict=True):
        assert re.match(pattern, message)
    assert found["left"] == []
    assert found["parts"] == 3


@pytest.mark.kills(1)
def test_rank_killed_in_a_copy_leaves_whole_files(
    attempt: int, folder: Path, long_adk: Adk
) -> None:
    """At any moment, each file with a final name is complete."""
    killed(folder, "copies_killed", attempt % 3)
    traj = tj.open(None, long_adk.xtc)
    tj.split(traj, folder / "here", segments=5, format="trr")
    tj.convert(traj, folder / "one.h5md", frames=slice(0, 98))
    # Named after what was split.
    whole = {
        path.name.replace(long_adk.xtc.stem, "adk"): path.read_bytes()
        for path in (folder / "here").iterdir()
    }
    for path in folder.glob("out/adk*"):
        assert path.read_bytes() == whole[path.name]
    for path in folder.glob("out/one.h5md"):
        assert tables_of(path) == tables_of(folder / path.name)


@pytest.mark.kills(2)
def test_ranks_interrupted_in_a_copy_leave_whole_files(
    attempt: int, folder: Path, long_adk: Adk
) -> None:
    """Ctrl-C reaches all ranks or rank 0."""
    out, traj = folder / "out", tj.open(None, long_adk.xtc)
    out.mkdir()
    killed(folder, "copies_interrupted", 0 if attempt % 2 else None, signal.SIGINT)
    tj.split(traj, folder / "here", segments=5, format="trr")
    whole = {
        path.name.replace(long_adk.xtc.stem, "adk"): path.read_bytes()
        for path in (folder / "here").iterdir()
    }
    tj.convert(traj, folder / "one.trr")
    whole["one.trr"] = (folder / "one.trr").read_bytes()
    tj.convert(traj, folder / "one.h5md", frames=slice(0, 98))
    # mpiexec may kill a rank before it removes its temporary files; the next copy removes them.
    tj.convert(traj, out / "next.trr", frames=[0])
    (out / "next.trr").unlink()
    for path in out.iterdir():
        if path.name == "one.h5md":
            assert tables_of(path) == tables_of(folder / "one.h5md")
        else:
            assert path.read_bytes() == whole[path.name]


def test_commands_that_copy_print_once(folder: Path, long_adk: Adk) -> None:
    """Rank 0 prints the list of written files."""
    what = ["-m", "trajet", "split", long_adk.xtc, "--segments", 4]
    done = run_on_ranks(2, *what, "-o", folder / "there", "--pool", "mpi")
    assert done.stdout.count("980 frames in 4 files") == 1
    tj.split(tj.open(None, long_adk.xtc), folder / "here", segments=4)
    pool_laws.assert_same_files(folder / "there", folder / "here")
    done = run_on_ranks(2, *what, "-o", folder / "there", "--pool", "mpi", fails=True)
    assert done.stderr.count("already exists") == 1
    assert "Traceback" not in done.stderr


def test_command_line_on_ranks_equals_one_process(folder: Path, long_adk: Adk) -> None:
    """Rank 0 runs the command; one table and one file have the same bytes."""
    what = ["-m", "trajet", "rmsd", long_adk.psf, long_adk.xtc, "--select", "name CA"]
    done = run_on_ranks(2, *what, "--pool", "mpi", "-o", folder / "mpi.csv")
    assert done.stdout.count("980 frames") == 1
    tj.rmsd(tj.open(long_adk.psf, long_adk.xtc).select("name CA")).save(folder / "local.csv")
    assert (folder / "mpi.csv").read_bytes() == (folder / "local.csv").read_bytes()
    what[-1] = "name NONE"
    done = run_on_ranks(2, *what, "--pool", "mpi", fails=True)
    assert done.stderr.count("matches none of the 3341 atoms") == 1
    assert "Traceback" not in done.stderr
