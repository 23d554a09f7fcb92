"""`benches/machine store` makes its system, and its table states what was measured."""

import csv
from dataclasses import replace
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.commands import python
from machine import store_command, store_run, store_system
from machine.store_bench import fits, most
from machine.store_run import measured

# Timeout of a run, s: far more than any needs.
HANGS = 600
MACHINE = Path(__file__).parents[2] / "benches" / "machine"
N_ATOMS, N_PROTEIN = 43_398, 20_046


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the topology and five frames."""
    return store_system.make(tmp_path_factory.mktemp("proteins"), 5)


def test_system_is_like_that_of_the_paper(made: tuple[Path, Path]) -> None:
    """Its part of protein and the bytes per frame are those of table 1 of Deng et al."""
    topology, trajectory = made
    universe = mda.Universe(topology, trajectory)
    protein, water = universe.select_atoms("protein"), universe.select_atoms("resname SOL")
    assert (len(universe.atoms), len(protein)) == (N_ATOMS, N_PROTEIN)
    assert 0.435 <= len(protein) / N_ATOMS <= 0.49
    assert len(water) == 3 * len(water.residues)
    assert trajectory.stat().st_size / 5 == pytest.approx(800e6 / 5006, rel=0.05)
    alone = tj.convert(
        tj.open(topology, trajectory).select("protein"), trajectory.with_name("protein.xtc")
    )
    assert 0.435 <= alone.size / trajectory.stat().st_size <= 0.49


def test_waters_are_rigid(made: tuple[Path, Path]) -> None:
    """Distances in waters are those of TIP4P in each frame."""
    universe = mda.Universe(*made)
    for _ in universe.trajectory:
        positions = universe.select_atoms("resname SOL").positions.reshape(-1, 3, 3)
        oh = np.linalg.norm(positions[:, 1:] - positions[:, :1], axis=2)
        assert oh == pytest.approx(0.957, abs=0.03)


def test_system_moves_and_is_reproducible(made: tuple[Path, Path], tmp_path: Path) -> None:
    """Fewer frames are the first of many; the topology has the positions of the first."""
    fewer = tj.open(None, store_system.make(tmp_path, 3)[1]).read()
    read = tj.open(None, made[1]).read()
    assert np.array_equal(read.positions[:3], fewer.positions)
    # XTC rounds to 0.01 Å, and GRO as well.
    assert np.abs(mda.Universe(made[0]).atoms.positions - read.positions[0]).max() < 0.011
    moved = np.linalg.norm(np.diff(read.positions, axis=0), axis=2)
    assert 0.05 < np.median(moved) < 10
    assert read.times.tolist() == [0, 20, 40, 60, 80]
    assert read.steps.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("edge", [0, 1, 2, 57, 400, 999, 1000])
@pytest.mark.parametrize("guess", [0, 1, 55, 420, 5000])
def test_largest_number_of_frames_that_fits_is_found(edge: int, guess: int) -> None:
    """It is within 3 % below the first number that does not fit, for any initial guess."""
    asked: list[int] = []

    def within(count: int) -> bool:
        asked.append(count)
        return count <= edge

    found = most(within, 1000, guess)
    assert found <= edge <= max(found * 1.03, found)
    assert all(1 <= count <= 1000 for count in asked)
    assert len(asked) == len(set(asked)) <= 16


@pytest.mark.parametrize("case", [store_run.USUAL, replace(store_run.USUAL, tool="trajet")])
def test_memory_limit_ends_a_run(made: tuple[Path, Path], case: store_run.Case) -> None:
    """A run that needs more memory than its limit has no result, and is not a failure."""
    topology, trajectory = map(str, made)
    job = store_run.CaseRun(case=case, topology=topology, source=trajectory, files=(), frames=5)
    plenty, wanted = 2**26, N_PROTEIN * 12 * 5
    assert measured(replace(job, limit=plenty, patience=HANGS))["frames"] == 5
    assert not fits(replace(job, limit=wanted // 2, patience=HANGS))


@pytest.mark.parametrize("atoms", [store_run.PROTEIN, store_run.ALL])
@pytest.mark.parametrize("tool", ["trajet", "MDAnalysis"])
def test_bytes_of_mapped_files_count_as_read(
    made: tuple[Path, Path], tmp_path: Path, tool: str, atoms: str
) -> None:
    """MDAnalysis maps NetCDF, which makes no read requests."""
    topology, trajectory = made
    whole = tmp_path / "whole.nc"
    tj.convert(tj.open(None, trajectory), whole, allow_loss=True)
    case = store_run.Case(storage="nc", tool=tool, atoms=atoms)
    places = [str(path) for path in (topology, whole)]
    row = measured(
        store_run.CaseRun(case=case, topology=places[0], source=places[1], files=places, frames=5)
    )
    assert row["frames"] == 5
    assert row["bytes_read"] >= 5 * 12 * (N_ATOMS if atoms == store_run.ALL else N_PROTEIN)


@pytest.mark.parametrize(
    ("storages", "tools"),
    [
        (("xtc",), ("trajet",)),
        pytest.param(("xtc", "store-exact"), store_run.TOOLS, marks=pytest.mark.long),
    ],
)
def test_sizes_have_one_line_each(
    tmp_path: Path, storages: tuple[str, ...], tools: tuple[str, ...]
) -> None:
    """Every storage, tool and size has its line, with memory held and bytes read."""
    given = ("--frames", "3,12", "--repeats", "1", "--draw", "2")
    given += ("--storages", ",".join(storages), "--tools", ",".join(tools))
    python(MACHINE, "store", *given, "-o", tmp_path, timeout=HANGS)
    rows = list(csv.DictReader((tmp_path / "table.csv").open()))
    expected = list(store_run.cases(storages, tools))
    assert [store_command.case_of(row) for row in rows] == 2 * expected
    assert len(list(csv.DictReader((tmp_path / "runs.csv").open()))) == 2 * len(expected)
    a_frame = {store_run.PROTEIN: N_PROTEIN * 12, store_run.ALL: N_ATOMS * 12}
    for k, row in enumerate(rows):
        size, reached = ("3", "") if k < len(expected) else ("12", "12")
        assert (row["frames"], row["drawn"], row["frames_reached"]) == (size, "2", reached)
        assert 0 < float(row["t_turnaround"]) < float(row["t_turnaround_drawn"])
        held = int(row["peak_memory"]) - int(row["idle_memory"])
        assert held >= int(size) * a_frame[row["atoms"]]
    if "store-exact" in storages:
        read = {store_command.case_of(row): int(row["bytes_read"]) for row in rows}
        protein = store_run.Case(storage="store-exact", tool="trajet", atoms=store_run.PROTEIN)
        # At so few frames the structures are as large as the trajectories.
        assert read[protein] < 0.5 * read[store_run.USUAL]
        assert int(rows[-1]["source"]) < read[store_run.USUAL]
    for name in ("retrieval", "turnaround", "turnaround-drawn", "memory"):
        assert (tmp_path / f"{name}.png").stat().st_size > 0
