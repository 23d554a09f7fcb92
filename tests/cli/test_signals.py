"""Signals end commands, which leave nothing but one line and the exit code."""

import os
import random
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.commands import python, succeed, wait_until
from helpers.golden_files import Adk
from helpers.started_ranks import MPIEXEC

# Timeout of a process, s.
HANGS = 30.0
MEMORY = Path("/dev/shm")
# Frames of the trajectory: 30 times those of `adk`.
N_FRAMES = 2940
# Atoms of `name CA`.
N_CA = 214


@dataclass(frozen=True)
class Case:
    """A command that is interrupted, about `lasts` seconds after it has begun to handle signals."""

    arguments: str
    lasts: float
    ranks: int = 0


CASES = [
    Case("rmsd {psf} {xtc} --select all --groups all --groups all -o {out}/r.npz --threads 1", 2),
    Case("rmsf {psf} {xtc} --select all -o {out}/r.npz --pool processes --workers 2", 3),
    Case("rmsd {psf} {xtc} --select all --groups all -o {out}/r.npz --pool mpi", 3, ranks=3),
    Case("convert {xtc} {out}/c.trr --threads 2", 1),
    Case("convert {xtc} {out}/c.trr --pool mpi", 2, ranks=3),
    Case("store add {out}/store/new --topology {psf} --trajectory {xtc}", 3),
    Case("store retag {out}/store/one --profile {profile}", 2),
    Case("store append {out}/store/one --trajectory {xtc}", 1.5),
    Case("rmsf {psf} {xtc} --select name_CA -o {out}/r.csv --pool dask --workers 2", 3),
    Case("split {xtc} -o {out}/parts --segments 7 --format trr --pool dask --workers 2", 3),
]


@pytest.fixture(scope="module")
def sources(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Return a topology, a trajectory that takes some time, a profile and a store."""
    folder = tmp_path_factory.mktemp("signals")
    xtc, profile = folder / "long.xtc", folder / "profile.toml"
    xtc.write_bytes(xtc_bytes.repeated(adk.xtc.read_bytes(), N_FRAMES))
    profile.write_text(PROFILE, encoding="utf-8")
    # The copy leaves an index of its frames.
    succeed("info", xtc)
    return {"short": adk.xtc, "psf": adk.psf, "xtc": xtc, "profile": profile}


PROFILE = """\
[tiers]
quick = "quick"

[[tags]]
name = "alpha"
short = "a"
select = "name CA"
tier = "quick"

[[tags]]
name = "others"
short = "o"
select = "rest"
tier = "quick"
"""


def command(case: Case, out: Path, sources: dict[str, object]) -> list[str]:
    """Return a command as it is typed."""
    words = case.arguments.format(out=out, **sources)
    python = [sys.executable, "-m", "trajet", *words.split()]
    python = [word.replace("name_CA", "name CA") for word in python]
    return [*MPIEXEC, "-n", str(case.ranks), *python] if case.ranks else python


def processes(mark: str) -> dict[int, str]:
    """Return the processes whose environment has a mark, with their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(folder.name)] = line
        except OSError:
            continue
    return found


def handles(process: int, number: int) -> bool:
    """Return whether a process has a handler for a signal."""
    try:
        caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return False
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)


def memory_of(process: int) -> set[str]:
    """Return the names of shared memory that a process uses."""
    try:
        return set(re.findall(rf"{MEMORY}/(\S+)", Path(f"/proc/{process}/maps").read_text()))
    except OSError:
        return set()


@contextmanager
def hangups_not_ignored() -> Iterator[None]:
    """Let processes that start in the block not inherit that SIGHUP is ignored, as under nohup."""
    # A new program has the default action for signals that have a handler here.
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def started(words: list[str], tmp: Path, mark: str) -> "subprocess.Popen[str]":
    """Start a command in a session of its own."""
    tmp.mkdir()
    return subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(tmp), "TRAJET_STORM": mark},
    )


def end(process: "subprocess.Popen[str]", mark: str) -> str:
    """Wait for a process and all that it has started; return its standard error."""
    try:
        stderr = process.communicate(timeout=HANGS)[1]
        wait_until(lambda: not processes(mark))
        return stderr
    finally:
        for left in processes(mark):
            os.kill(left, signal.SIGKILL)


def assert_complete(outputs: list[Path]) -> None:
    """Assert that the files are all outputs of one command, each complete."""
    kinds = {path.suffix for path in outputs}
    if kinds == {".npz"}:
        assert len(outputs) == 1
        with np.load(outputs[0]) as arrays:
            assert all(arrays[name].size for name in arrays.files)
    elif kinds == {".csv"}:
        header, *rows = outputs[0].read_text(encoding="utf-8").splitlines()
        assert len(outputs) == 1
        assert len(rows) == N_CA
        assert {row.count(",") for row in rows} == {header.count(",")}
    elif kinds:
        assert kinds == {".trr"}
        # Opening leaves an index beside each of them.
        assert tj.open(None, *outputs).n_frames == N_FRAMES


@pytest.mark.kills(10)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_at_any_moment_leaves_nothing(
    number: signal.Signals,
    attempt: int,
    sources: dict[str, object],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """Ctrl-C goes to all processes, as by a terminal, SIGTERM to the first one or to all."""
    case = CASES[attempt % len(CASES)]
    draw = random.Random(f"{number} {attempt}")
    out, tmp, mark = tmp_path / "out", tmp_path / "tmp", f"storm-{uuid.uuid4()}"
    out.mkdir()
    if "store" in case.arguments:
        files = ("--topology", sources["psf"], "--trajectory", sources["short"])
        succeed("store", "add", out / "store" / "one", *files, "--quiet")
    process = started(command(case, out, sources), tmp, mark)
    python = (case.ranks or 1) + bool(case.ranks)

    def ready() -> bool:
        ours = [k for k in processes(mark) if handles(k, signal.SIGTERM)]
        return len(ours) >= python or process.poll() is not None

    wait_until(ready)
    time.sleep(draw.uniform(0, case.lasts))
    to_all = number == signal.SIGINT or draw.random() < 0.5
    ours = [*processes(mark)]
    used = set().union(*map(memory_of, ours))
    begin = time.monotonic()
    if process.poll() is None:
        (os.killpg if to_all else os.kill)(process.pid, number)
    stderr = end(process, mark)
    record_property("seconds", round(time.monotonic() - begin, 2))
    record_property("command", case.arguments)
    code = process.returncode
    assert "Traceback" not in stderr, stderr
    if case.ranks:
        # mpiexec combines the exit codes of its ranks.
        assert code != 0 or stderr == "", stderr
        # If a rank has died before MPI was initialized, mpiexec may kill rank 0 before it prints
        # its line.
        assert stderr.count("trajet: interrupted") <= 1, stderr
    elif code != 0:
        by = "" if number == signal.SIGINT else " by SIGTERM"
        assert (code, stderr) == (128 + number, f"trajet: interrupted{by}\n")
    else:
        assert stderr == ""
    assert [path.name for path in tmp.rglob("*")] == []
    left = [str(p.relative_to(out)) for p in out.rglob("*") if p.name.startswith(".trajet-")]
    assert [name for name in left if "trajet-tier-" not in name] == []
    if "store" in case.arguments:
        assert list((out / "store" / ".pending").glob("*")) == []
        succeed("store", "verify", out / "store" / "one")
    elif code != 0 and not case.ranks:
        # A signal may come when all files have their names, and before the command ends.
        outputs = sorted(path for path in out.rglob("*") if path.is_file())
        assert outputs or list(out.iterdir()) == []
        assert_complete(outputs)
    if "MPI_Abort" not in stderr:
        # Memory of MPICH, of ranks that mpiexec killed before they could end by themselves.
        used = {name for name in used if not name.startswith("mpich_")}
    used |= {n for n in os.listdir(MEMORY) if any(f"-{process}-" in n for process in ours)}
    assert [name for name in used if (MEMORY / name).exists()] == []


def run_python(code: str, *words: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a script that ends by itself."""
    return python("-c", code, *words, env=os.environ | environment, code=None, timeout=HANGS)


@pytest.mark.parametrize("rank", [None, 0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_during_imports_prints_one_line(
    number: signal.Signals, rank: int | None, tmp_path: Path
) -> None:
    """A rank that mpiexec has started dies by the signal: mpiexec would wait for it otherwise."""
    words = [sys.executable, "-m", "trajet", "--help"]
    mark = f"imports-{uuid.uuid4()}"
    ranks = {} if rank is None else {"PMI_RANK": str(rank)}
    output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with hangups_not_ignored():
        process = subprocess.Popen(words, env=os.environ | ranks, text=True, **output)
    # The last handler to be installed.
    wait_until(lambda: handles(process.pid, signal.SIGHUP))
    process.send_signal(number)
    stderr = end(process, mark)
    by = "" if number == signal.SIGINT else f" by {number.name}"
    assert stderr == f"trajet: interrupted{by}\n"
    assert process.returncode == (128 + number if rank is None else -number)


def test_ignored_hangups_stay_ignored(tmp_path: Path) -> None:
    """The command ignores SIGHUP, as under nohup; SIGTERM still ends it."""
    words = [sys.executable, "-m", "trajet", "info", str(tmp_path / "none.xtc")]
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = started(words, tmp_path / "tmp", mark := f"nohup-{uuid.uuid4()}")
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_until(lambda: handles(process.pid, signal.SIGTERM))
    assert not handles(process.pid, signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert end(process, mark) == "trajet: interrupted by SIGTERM\n"
    assert process.returncode == 128 + signal.SIGTERM


def test_scripts_keep_their_handlers() -> None:
    """Importing the package installs no handler."""
    done = run_python(
        "import signal; numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP);"
        " before = [*map(signal.getsignal, numbers)]; import trajet, trajet.cli;"
        " assert [*map(signal.getsignal, numbers)] == before"
    )
    assert (done.returncode, done.stderr) == (0, "")


STUCK = """
import os, signal, sys, threading
from trajet import signals

signals.interrupt()
child = os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)
try:
    print(child, flush=True)
    signal.pause()
    threading.Event().wait()
except KeyboardInterrupt:
    print("met", flush=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals.ENDING)
    # The main thread never comes back to run a handler.
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
"""


def test_second_signal_ends_at_once() -> None:
    """It ends a command whose main thread hangs, together with its processes."""
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "met\n"
    # Another signal within half a second counts as the same one.
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
    assert (process.returncode, process.communicate()[1]) == (128 + signal.SIGTERM, "")
    assert not Path(f"/proc/{child}").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from trajet import output
from trajet.pools import shared

folder = Path(sys.argv[1])
with (
    output.replacing_file(folder / "x.npz"),
    output.folder_within(folder) as parts,
    output.folder_in(shared.in_memory()),
    output.folder_in(None),
):
    (parts / "0.xtc").write_bytes(b"part")
    print(os.getpid(), flush=True)
    if len(sys.argv) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def test_next_run_removes_files_of_killed_processes(adk: Adk, tmp_path: Path) -> None:
    """It removes files beside outputs, in memory and in temporary folders, but not those in use."""
    out, tmp = tmp_path / "out", tmp_path / "tmp"
    out.mkdir()
    tmp.mkdir()
    environment = os.environ | {"TMPDIR": str(tmp)}

    def left(process: int | str) -> list[str]:
        folders = (out, tmp, MEMORY)
        return sorted(p.name for f in folders for p in f.glob(f"*trajet-*-{process}-*"))

    with subprocess.Popen(
        [sys.executable, "-c", KILLED, out],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as living:
        assert living.stdout is not None
        lives = int(living.stdout.readline())
        done = run_python(KILLED, out, "killed", TMPDIR=str(tmp))
        killed = int(done.stdout)
        assert done.returncode == -signal.SIGKILL
        assert (len(left(lives)), len(left(killed))) == (4, 4)
        done = run_python(
            "import sys; from trajet.cli import main; sys.argv[0] = 'trajet'; main()",
            *("rmsf", adk.psf, adk.xtc, "--select", "name CA", "-o", out / "rmsf.csv"),
            TMPDIR=str(tmp),
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert (len(left(lives)), len(left(killed))) == (4, 0)
        living.communicate("")
    assert left(lives) == []
    assert sorted(path.name for path in out.iterdir()) == ["rmsf.csv", "x.npz"]


def test_repair_removes_files_of_killed_processes_in_a_store(adk: Adk, tmp_path: Path) -> None:
    """It removes files beside the settings and beside manifests."""
    store = tmp_path / "store"
    files = ("--topology", adk.psf, "--trajectory", adk.xtc)
    succeed("store", "add", store / "one", *files, "--quiet")
    for folder in (store, store / "one"):
        run_python(KILLED, folder, "killed")
    assert len([*store.rglob(".trajet-*.tmp*")]) == 4
    assert succeed("store", "repair", "--store", store) == [
        "temporary files of processes that were killed: 4 removed"
    ]
    assert [*store.rglob(".trajet-*.tmp*")] == []
    assert succeed("store", "repair", "--store", store) == ["nothing was left behind"]
