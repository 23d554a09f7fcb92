"""What the command line says to somebody who does not know it yet: where, what, and what to do."""

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
from helpers.commands import fail, run, said_beside_dask, succeed
from helpers.golden_files import DATA, Adk
from helpers.made_hdf5 import write_h5md
from helpers.started_ranks import run_on_ranks
from trajet.pools.dask import dask_client


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nam CA", "Unknown selection token: 'nam'"),
        ("resid 1:29 adn name CA", "Failed to parse value: adn"),
        ("(resid 1:29", "Expected: ')'"),
    ],
)
def test_selections_that_are_none(adk: Adk, text: str, why: str) -> None:
    """The library's words, and what a selection looks like."""
    said = fail("rmsd", adk.psf, adk.xtc, "--select", text)
    assert said.startswith(f"trajet: selection {text!r}: ")
    assert why in said
    assert said.endswith("written in MDAnalysis' language, such as 'name CA and resid 1:29'")


@pytest.mark.parametrize(
    ("times", "where"),
    [
        (("--begin", 1000), "from 1000 ps on"),
        (("--end", 0.25), "up to 0.25 ps"),
        (("--begin", 1.25, "--end", 1.5), "from 1.25 ps to 1.5 ps"),
    ],
)
def test_times_without_a_frame(adk: Adk, times: tuple[object, ...], where: str) -> None:
    """Only what was asked for is named."""
    said = fail("rmsd", adk.psf, adk.xtc, "--select", "name CA", *times)
    assert f"no frame lies {where}: times go from 0.99" in said


def test_references_that_are_none(adk: Adk) -> None:
    """A word is taken for a file, where it is none of those that are known."""
    for command, word in (("rmsd", ", nor average"), ("rmsf", ", nor average"), ("distances", "")):
        align = ("--align", "name CA") if command == "rmsf" else ()
        said = fail(
            *(command, adk.psf, adk.xtc, "--select", "name CA", *align, "--reference", "avreage")
        )
        assert said == f"trajet: avreage: not a frame number{word}, and there is no such file"


def test_unfinished_frames_are_named(own_adk: Adk) -> None:
    """Whoever lets a file end inside a frame is told how much of it was left out."""
    own_adk.xtc.write_bytes(own_adk.xtc.read_bytes()[:-500])
    lines = succeed(
        *("rmsd", own_adk.psf, own_adk.xtc, "--select", "name CA", "--allow-truncated-tail")
    )
    left = [line for line in lines if "unfinished frame" in line]
    assert len(left) == 1
    assert re.fullmatch(r"note: \d+ bytes of an unfinished frame at the end are left out", left[0])


def test_times_that_do_not_go_on() -> None:
    """Is said where one looks for the time step; plots and tables would show it too late."""
    lines = succeed("info", DATA / "Amber" / "bala.ncdf")
    assert "time step     none: all frames have the same time" in lines


def test_index_of_a_data_set(own_adk: Adk, tmp_path: Path) -> None:
    """There is nothing to build, and the other files are looked at."""
    store = tmp_path / "md"
    tj.Store(store, create=True).add("adk", tj.open(own_adk.psf, own_adk.xtc))
    first, second = succeed("index", store / "adk", own_adk.xtc)
    assert first == f"{store / 'adk'}: nothing to do: the store keeps its index"
    assert second.startswith(f"{own_adk.xtc}: 98 frames, ")


def test_output_that_is_full_or_closed(adk: Adk) -> None:
    """The output is named, not one of the files; where there is none, nothing is printed."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "trajet", "info", adk.xtc, adk.xtc],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        1,
        "trajet: standard output: No space left on device\n",
    )
    closed = f'exec {sys.executable} -m trajet rmsd "$0" "$1" --select "name CA" >&-'
    done = subprocess.run(
        ["sh", "-c", closed, adk.psf, adk.xtc],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_units_and_groups_of_hdf5_files_in_copies(tmp_path: Path) -> None:
    """What `info` asks for goes with every command that reads: `convert` and `split` too."""
    path, units = tmp_path / "run.h5md", ("--unit", "position=nm", "--unit", "time=ps")
    positions = np.linspace(0, 5, 90, dtype=np.float32).reshape(5, 6, 3)
    write_h5md(path, positions, unit=None, time_unit=None)
    assert "has no unit" in fail("convert", path, tmp_path / "run.dcd")
    succeed("convert", path, tmp_path / "run.dcd", *units)
    succeed("split", path, "--segments", 2, "-o", tmp_path / "parts", "--format", "dcd", *units)
    whole = tj.open(None, path, units={"position": "nm", "time": "ps"}).read().positions
    for files in ([tmp_path / "run.dcd"], sorted((tmp_path / "parts").iterdir())):
        assert np.array_equal(tj.open(None, *files).read().positions, whole)
    together = succeed("info", path, path, *units)
    assert "together      2 files" in together
    assert succeed("info", path, "--particles", "trajectory", *units)


def test_mpiexec_without_the_pool_of_ranks_and_the_other_way_round(adk: Adk) -> None:
    """Ranks that all do the whole work are told once how to share it; so is a rank alone."""
    arguments = ("-m", "trajet", "rmsd", adk.psf, adk.xtc, "--select", "name CA", "-q")
    done = run_on_ranks(2, *arguments)
    assert done.stderr.count("note: mpiexec has started this 2 times") == 1
    assert "--pool mpi" in done.stderr
    assert "note:" not in run_on_ranks(2, *arguments, "--pool", "mpi").stderr
    alone = run(*arguments[2:], "--pool", "mpi")
    assert alone.returncode == 0
    assert alone.stderr.startswith("note: --pool mpi with one rank: start several with mpiexec")


def test_workers_of_dask_that_are_started_here(adk: Adk) -> None:
    """A port that is taken is no matter, and Ctrl-C is for the program, which ends them."""
    with socket.socket() as taken:
        with contextlib.suppress(OSError):
            # Whoever has it already does as well.
            taken.bind(("", 8787))
            taken.listen()
        arguments = ("rmsd", adk.psf, adk.xtc, "--select", "name CA", "--pool", "dask")
        done = run(*arguments, "--workers", 2)
        assert (done.returncode, said_beside_dask(done.stderr)) == (0, [])
    with dask_client(workers=2) as client:
        asked = client.run(lambda: signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
    assert list(asked.values()) == [True, True]


@pytest.mark.parametrize("group", [(), ("store",), ("bench",)])
def test_what_commands_are_for_is_not_cut(group: tuple[str, ...]) -> None:
    """A list of commands shows the first sentence of each, where 80 columns hold it."""
    done = subprocess.run(
        [sys.executable, "-m", "trajet", *group, "--help"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=os.environ | {"COLUMNS": "80"},
    )
    commands = done.stdout.partition("Commands:")[2]
    assert commands
    assert "..." not in commands


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (tj.rmsd, "<Series: RMSD of 98 frames, values (98,) Å>"),
        (tj.rmsf, "<AtomValues: RMSF of 'name CA', values (214,) Å>"),
        (
            lambda ca: tj.distances(ca, "index 0"),
            "<Distances: distance of 98 frames, values (98, 214, 1) Å>",
        ),
        (
            lambda ca: tj.dihedrals(ca, features=True),
            "<Dihedrals: dihedral features of 98 frames, values (98, 848)>",
        ),
        (lambda ca: ca.read(frames=[0, 5]), "<Block: positions (2, 214, 3) Å>"),
        (
            lambda ca: tj.apply(np.sum, ca, by="frame"),
            "<Applied: sum of 98 frames, values (98,)>",
        ),
    ],
)
def test_results_say_what_they_are_in_a_line(
    adk: Adk, make: Callable[[tj.Selection], object], said: str
) -> None:
    """A notebook shows them so, and not pages of numbers."""
    assert repr(make(tj.open(adk.psf, adk.xtc).select("name CA"))) == said


def test_pools_that_are_none(adk: Adk) -> None:
    """A name or an address is easily taken for a pool, or for a client."""
    calpha = tj.open(adk.psf, adk.xtc).select("name CA")
    with pytest.raises(TypeError, match=r"a pool is one of LocalPool\(\), .*, not 'dask'"):
        tj.rmsd(calpha, pool="dask")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes a distributed.Client, .*, not 'tcp://node17:8786'"):
        tj.DaskPool("tcp://node17:8786")
    assert repr(tj.rmsd(calpha, frames=[0])) == "<Series: RMSD of 1 frame, values (1,) Å>"


def test_trajectories_in_a_list(adk: Adk) -> None:
    """As other packages take them."""
    with pytest.raises(TypeError, match=r"must be a path, not \[.*open\(topology, \*files\)"):
        tj.open(adk.psf, [adk.xtc])  # type: ignore[arg-type]
