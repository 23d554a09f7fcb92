"""HDF5 on ranks of MPI, with an h5py that was built with MPI: `make test-mpio`.

Each test starts its own ranks: a rank that fails must not leave the tests waiting.
"""

import csv
import shlex
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.commands import execute
from helpers.golden_files import Adk
from helpers.made_files import random_vectors
from helpers.made_hdf5 import (
    LAYOUTS,
    N_ATOMS,
    N_FRAMES,
    write_as_gromacs,
    write_h5md,
    write_with_mdanalysis,
)
from helpers.started_ranks import MPIEXEC, run_on_ranks
from MDAnalysisTests import datafiles

HERE = Path(__file__).parent
MACHINE = HERE.parents[1] / "benches" / "machine"
POSITIONS = np.array([random_vectors(N_ATOMS, seed=k) for k in range(N_FRAMES)], np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, adk: Adk) -> list[Path]:
    """Return files of every layout, kind of number, box and unit, of other programs and of ours."""
    folder = tmp_path_factory.mktemp("files")
    made = [
        write_h5md(folder / f"{name}.h5md", POSITIONS, layout=layout)
        for name, layout in LAYOUTS.items()
    ]
    for k, kind in enumerate((">f4", "<f8", ">f8")):
        layout = LAYOUTS["odd shuffled" if k else "contiguous"]
        made.append(write_h5md(folder / f"{k}.h5md", POSITIONS.astype(kind), layout=layout))
    edges = np.tile(np.eye(3) * 4, (N_FRAMES, 1, 1))
    edges[:, 1, 0] = np.linspace(0, 1, N_FRAMES)
    edges[2] = [[0, 4, 0], [5, 0, 0], [0, 0, 6]]
    made.append(write_h5md(folder / "turned.h5md", POSITIONS, edges=edges))
    made.append(write_h5md(folder / "fixed.h5md", POSITIONS, edges=np.eye(3), edges_of="edges"))
    made.append(write_h5md(folder / "two.h5md", POSITIONS[:2], unit="pm"))
    made.append(write_h5md(folder / "unitless.h5md", POSITIONS, unit=None))
    grown = write_h5md(folder / "grown.h5md", POSITIONS, layout=LAYOUTS["growing"])
    with h5py.File(grown, "r+") as file:
        group = file["particles/trajectory/position"]
        group["value"].resize(N_FRAMES + 9, axis=0)
    made.append(grown)
    made.append(write_as_gromacs(folder / "gromacs.h5md", POSITIONS))
    mdtraj = folder / "mdtraj.h5"
    with h5py.File(mdtraj, "w") as file:
        file.attrs["conventions"] = "Pande"
        file["coordinates"] = POSITIONS
        file["coordinates"].attrs["units"] = "nanometers"
        file["cell_lengths"] = np.full((N_FRAMES, 3), 4, np.float32)
        file["cell_angles"] = np.full((N_FRAMES, 3), 80, np.float32)
    made.append(mdtraj)
    made.append(write_with_mdanalysis(folder / "mdanalysis.h5md"))
    made.append(write_with_mdanalysis(folder / "gzip.h5md", compression="gzip"))
    made.append(Path(datafiles.H5MD_xvf))
    ours = tj.open(None, adk.xtc, sidecar=False)
    for name, compression in (("plain.h5md", None), ("packed.h5md", 2)):
        tj.convert(ours, folder / name, compression=compression)
        made.append(folder / name)
    return made


@pytest.mark.parametrize("size", [1, 4])
def test_ranks_read_the_values_of_one_process(files: list[Path], size: int) -> None:
    """They read independently and collectively, also if some ranks have no frames."""
    done = run_on_ranks(size, "-m", "mpi4py", HERE / "ranks_read.py", *files)
    assert done.stdout == f"{len(files)} files on {size} ranks: equal\n"


@pytest.mark.parametrize("size", [1, 4])
def test_bench_computes_the_values_of_one_process(
    files: list[Path], tmp_path: Path, size: int
) -> None:
    """The bits do not depend on how ranks read and gather; there are cells, and small requests."""
    edges = np.tile(np.eye(3) * 3, (N_FRAMES, 1, 1))
    edges[:, 1, 0] = np.linspace(0, 1, N_FRAMES)
    edges[5] = 0
    made = [
        write_h5md(tmp_path / f"{k}.h5md", POSITIONS, edges=edges, layout=LAYOUTS[name])
        for k, name in enumerate(("contiguous", "several frames"))
    ]
    made += [path for path in files if path.name in {"packed.h5md", "two.h5md"}]
    done = run_on_ranks(size, "-m", "mpi4py", HERE / "ranks_bench.py", *made)
    assert done.stdout == f"4 files on {size} ranks: equal\n"


def test_bench_scaling_through_mpio_has_the_plain_values(adk: Adk, tmp_path: Path) -> None:
    """It runs beside the plain access, on 1 and 4 ranks."""
    execute(
        *(sys.executable, MACHINE, "scaling", adk.psf, adk.xtc),
        *("--frames", "400", "--tasks", "rmsd,dihedrals", "--formats", "h5md"),
        *("--access", "shared,mpio,mpio-collective", "--pools", "local,mpi"),
        *("--gathering", "collective,one-sided", "--cache", "cold"),
        *("--workers", "4", "--repeats", "2", "-o", tmp_path),
        *("--mpiexec", shlex.join(MPIEXEC)),
        timeout=600,
    )
    runs = list(csv.DictReader((tmp_path / "runs.csv").open()))
    for task in ("rmsd", "dihedrals"):
        mine = [row for row in runs if row["task"] == task]
        assert len({row["digest"] for row in mine}) == 1
        through = [row for row in mine if row["access"].startswith("mpio")]
        assert len(through) == 2 * 2 * 2 * 2
        for row in through:
            assert row["pool"] == "mpi"
            assert 0 < float(row["t_io"]) < float(row["t_N"]) <= float(row["t_total"])
            assert min(float(row[name]) for name in ("t_open", "t_comp", "t_comm")) > 0
            # At most 4 MB each, and at least one per rank.
            assert 4 <= int(row["requests"]) <= 8
    assert {path.name for path in tmp_path.iterdir()} == {
        "runs.csv",
        "table.csv",
        "rmsd-strong-cold.png",
        "dihedrals-strong-cold.png",
    }


def test_ranks_have_memory_of_their_own(tmp_path: Path) -> None:
    """The MPI of the distribution provides it as well."""
    run_on_ranks(3, "-m", "helpers.mpi_ranks", "fill_windows", tmp_path)
    assert (tmp_path / "answer.json").read_text() == '"nobody"'


def test_unreadable_files_are_errors_on_all_ranks(tmp_path: Path) -> None:
    """Unwritten chunks, damage, and files that are no trajectory are never read as zeros."""
    holes = write_h5md(tmp_path / "holes.h5md", POSITIONS, layout=LAYOUTS["growing"])
    with h5py.File(holes, "r+") as file:
        group = file["particles/trajectory/position"]
        n = N_FRAMES + 20
        group["value"].resize(n, axis=0)
        del group["step"], group["time"]
        group["step"], group["time"] = np.arange(n), np.arange(n) * 1.0
        group["time"].attrs["unit"] = "ps"
    cut = tmp_path / "cut.h5md"
    cut.write_bytes(holes.read_bytes()[:-3000])
    text = tmp_path / "text.h5md"
    text.write_text("no HDF5")
    for path, kind in (
        (holes, "TruncatedError"),
        (cut, "TruncatedError"),
        (text, "FormatError"),
        (tmp_path / "none.h5md", "FileNotFoundError"),
    ):
        lines = run_on_ranks(4, HERE / "ranks_fail.py", path).stdout.splitlines()
        assert len(lines) == 4
        assert len(set(lines)) == 1
        assert lines[0].startswith(kind)
        assert path.name in lines[0]
