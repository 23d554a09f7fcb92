"""Messages of the command line tell a new user where an error is and how to correct it."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import messages
from helpers.commands import execute, fail, lines_without_dask_warnings, python, run, succeed
from helpers.golden_files import DATA, Adk
from helpers.made_hdf5 import write_h5md
from helpers.messages import raises
from helpers.started_ranks import run_on_ranks
from trajet.pools.dask import dask_client


@pytest.mark.parametrize("text", ["nam CA", "resid 1:29 adn name CA", "(resid 1:29"])
def test_invalid_selections_are_explained(adk: Adk, text: str) -> None:
    """The message names the word, what was expected, and an example of a selection."""
    fail("rmsd", adk.psf, adk.xtc, "--select", text)


@pytest.mark.parametrize(
    "times", [("--begin", 1000), ("--end", 0.25), ("--begin", 1.25, "--end", 1.5)]
)
def test_times_without_a_frame_are_errors(adk: Adk, times: tuple[object, ...]) -> None:
    """Only the given bounds are named."""
    fail("rmsd", adk.psf, adk.xtc, "--select", "name CA", *times)


def test_invalid_references_are_errors(adk: Adk) -> None:
    """A word that is none of the known ones is taken for a file name."""
    for command in ("rmsd", "rmsf", "distances"):
        align = ("--align", "name CA") if command == "rmsf" else ()
        fail(*(command, adk.psf, adk.xtc, "--select", "name CA", *align, "--reference", "avreage"))


def test_unfinished_frames_are_reported(own_adk: Adk) -> None:
    """With --allow-truncated-tail, the command prints how much was left out."""
    own_adk.xtc.write_bytes(own_adk.xtc.read_bytes()[:-500])
    lines = succeed(
        *("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", "--allow-truncated-tail")
    )
    left = [line for line in lines if "unfinished frame" in line]
    assert len(left) == 1
    assert re.fullmatch(r"note: \d+ bytes of an unfinished frame at the end are left out", left[0])


def test_times_that_do_not_ascend_are_reported_by_info() -> None:
    """`info` reports this beside the time step; plots and tables would show it too late."""
    lines = succeed("info", DATA / "Amber" / "bala.ncdf")
    assert "time step     none: all frames have the same time" in lines


def test_index_skips_data_sets(own_adk: Adk, tmp_path: Path) -> None:
    """A data set has no index to build, and the other files are indexed."""
    store = tmp_path / "md"
    tj.Store(store, create=True).add("adk", tj.open(own_adk.psf, own_adk.xtc))
    first, second = succeed("index", store / "adk", own_adk.xtc)
    assert first == f"{store / 'adk'}: nothing to do: the store keeps its index"
    assert second.startswith(f"{own_adk.xtc}: 98 frames, ")


def test_full_or_closed_output_is_an_error(adk: Adk) -> None:
    """The error names the output, not one of the files."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "trajet", "info", adk.xtc, adk.xtc],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 1
    messages.compare(done.stderr)
    closed = f'exec {sys.executable} -m trajet rmsd "$0" "$1" --select "name CA" >&-'
    done = execute("sh", "-c", closed, adk.psf, adk.xtc, code=None)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command",
    [
        'rmsd "$0" "$1" --select protein -o out.csv',
        'convert "$1" out.trr',
        'info "$1" --json',
        'split "$1" --segments 2 -o parts',
        'store add md/run --topology "$0" --trajectory "$1"',
        'rmsd "$0" "$1" --select nothing -o out.csv',
    ],
)
def test_closed_standard_error_changes_nothing(adk: Adk, tmp_path: Path, command: str) -> None:
    """Exit code, standard output and files are those of one that is open, byte for byte."""

    def run(name: str, close: str) -> tuple[int, bytes, dict[str, bytes]]:
        folder = tmp_path / name
        folder.mkdir()
        done = subprocess.run(
            ["sh", "-c", f"exec {sys.executable} -m trajet {command} {close}", adk.psf, adk.xtc],
            cwd=folder,
            capture_output=True,
            timeout=120,
            check=False,
        )
        files = [path for path in folder.rglob("*.*") if path.suffix in (".csv", ".trr", ".xtc")]
        # Lines on the time that was spent differ from run to run.
        output = re.sub(rb"(?m)^.*( m?s:|would save).*\n", b"", done.stdout)
        output = re.sub(rb"[\d.]+ m?s\b", b"", output)
        return done.returncode, output, {path.name: path.read_bytes() for path in files}

    assert run("closed", "2>&-") == run("open", "2>/dev/null")


def test_closed_standard_error_gives_its_descriptor_to_no_file(adk: Adk, tmp_path: Path) -> None:
    """What a library writes there would change the first file that is opened."""
    code = (
        "import os, sys; from trajet.cli import entry; entry._open_standard_error();"
        f"file = open({str(tmp_path / 'out')!r}, 'w'); os.write(2, b'noise');"
        "print(file.fileno() > 2, sys.stderr.write('x'))"
    )
    shell = ["sh", "-c", f'exec {sys.executable} -c "$0" 2>&-', code]
    done = execute(*shell)
    assert done.stdout == "True 1\n"
    assert (tmp_path / "out").read_bytes() == b""


def test_units_and_groups_of_hdf5_files_are_options_of_copies(tmp_path: Path) -> None:
    """Options that `info` asks for are options of every command that reads, such as `split`."""
    path = tmp_path / "run.h5md"
    units = (
        *("--format-option", "h5md.units.position=nm"),
        *("--format-option", "h5md.units.time=ps"),
    )
    positions = np.linspace(0, 5, 90, dtype=np.float32).reshape(5, 6, 3)
    write_h5md(path, positions, unit=None, time_unit=None)
    fail("convert", path, tmp_path / "run.dcd")
    succeed("convert", path, tmp_path / "run.dcd", *units)
    succeed("split", path, "--segments", 2, "-o", tmp_path / "parts", "--format", "dcd", *units)
    options = {"h5md": {"units": {"position": "nm", "time": "ps"}}}
    whole = tj.open(None, path, format_options=options).read().positions
    for files in ([tmp_path / "run.dcd"], sorted((tmp_path / "parts").iterdir())):
        assert np.array_equal(tj.open(None, *files).read().positions, whole)
    together = succeed("info", path, path, *units)
    assert "together      2 files" in together
    assert succeed("info", path, "--format-option", "h5md.particles=trajectory", *units)


def test_mismatch_of_mpiexec_and_pool_is_reported(adk: Adk) -> None:
    """Ranks that all do the whole work are reported once, and so is a single rank."""
    arguments = ("-m", "trajet", "rmsd", adk.psf, adk.xtc, "--select", "name CA", "-q")
    done = run_on_ranks(2, *arguments)
    assert done.stderr.count("note: mpiexec has started this 2 times") == 1
    assert "--pool mpi" in done.stderr
    assert "note:" not in run_on_ranks(2, *arguments, "--pool", "mpi").stderr
    alone = run(*arguments[2:], "--pool", "mpi")
    assert alone.returncode == 0
    assert alone.stderr.startswith("note: --pool mpi with one rank: start several with mpiexec")


def test_dask_workers_started_by_a_command(adk: Adk) -> None:
    """A port in use is no error, and Ctrl-C goes to the program, which ends the workers."""
    with socket.socket() as taken:
        with contextlib.suppress(OSError):
            # Another process that has the port already serves as well.
            taken.bind(("", 8787))
            taken.listen()
        arguments = ("rmsd", adk.psf, adk.xtc, "--select", "name CA", "--pool", "dask")
        done = run(*arguments, "--workers", 2)
        assert (done.returncode, lines_without_dask_warnings(done.stderr)) == (0, [])
    with dask_client(workers=2) as client:
        asked = client.run(lambda: signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
    assert list(asked.values()) == [True, True]


@pytest.mark.parametrize("group", [(), ("store",)])
def test_summaries_of_commands_fit_into_80_columns(group: tuple[str, ...]) -> None:
    """A list of commands shows the whole first sentence of each."""
    done = python("-m", "trajet", *group, "--help", env=os.environ | {"COLUMNS": "80"})
    commands = done.stdout.partition("Commands:")[2]
    assert commands
    assert "..." not in commands


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (tj.rmsd, "<Table: RMSD of 98 frames, values (98,) Å>"),
        (tj.rmsf, "<Table: RMSF of 'name CA', values (214,) Å>"),
        (
            lambda ca: tj.distances(ca, "index 0"),
            "<Distances: distance of 98 frames, values (98, 214, 1) Å>",
        ),
        (
            lambda ca: tj.dihedrals(ca, sin_cos=True),
            "<Dihedrals: dihedral features of 98 frames, values (98, 848)>",
        ),
        (lambda ca: ca.read(frames=[0, 5]), "<Block: positions (2, 214, 3) Å>"),
        (lambda ca: tj.apply(ca, np.sum, per="frame"), "<Applied: sum of 98 frames, values (98,)>"),
    ],
)
def test_results_have_a_repr_of_one_line(
    adk: Adk, make: Callable[[tj.Selection], object], expected: str
) -> None:
    """A notebook shows this line and the first warning, and not pages of numbers."""
    line, *others = repr(make(tj.open(adk.psf, adk.xtc).select("name CA"))).splitlines()
    assert all(one.startswith("1 warning: ") for one in others)
    # The numbers that follow are compared in tests/analyses/test_results.py.
    assert line.startswith(expected.removesuffix(">"))


def test_invalid_pools_are_errors(adk: Adk) -> None:
    """A name or an address is easily mistaken for a pool or a client."""
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    with raises(TypeError):
        tj.rmsd(calpha, pool="dask")  # type: ignore[arg-type]
    with raises(TypeError):
        tj.DaskPool("tcp://node17:8786")
    assert repr(tj.rmsd(calpha, frames=[0])).startswith(
        "<Table: RMSD of 1 frame, values (1,) Å, mean "
    )


def test_list_of_trajectories_is_an_error(adk: Adk) -> None:
    """Other packages take a list; the error shows how to pass several files."""
    with raises(TypeError):
        tj.open(adk.psf, [adk.xtc])  # type: ignore[arg-type]
