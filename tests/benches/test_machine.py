"""`benches/machine` computes its tables correctly and measures the stated cases."""

import csv
import io
import math
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from helpers.commands import python
from helpers.golden_files import Adk
from helpers.messages import raises
from machine import figures, table
from machine.files import Files
from machine.run import check_same
from machine.setups import MEMORY, Axes, Setup

# Timeout of a run, s: far more than any needs.
HANGS = 240
MACHINE = Path(__file__).parents[2] / "benches" / "machine"
SPLIT = ("shared", "segments", "chain")
# Columns on which a result depends.
DIFFERENT: list[dict[str, Any]] = [
    {"task": "dihedrals"},
    {"load": 40},
    {"format": "h5md"},
    {"frames": 20},
]
PLAIN = Setup(
    task="rmsd", format="xtc", access="shared", gathering="", pool="local", workers=1, frames=10
)


def bench(*arguments: object, code: int = 0) -> str:
    """Run `benches/machine`, and return its output, or its error message if it fails."""
    done = python(MACHINE, *arguments, code=code, timeout=HANGS)
    return done.stderr if code else done.stdout


def rows_in(path: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV by its header."""
    return list(csv.DictReader(path.open()))


def run(total: float, **changes: Any) -> dict[str, Any]:
    """Return the row of a run of so many seconds: a quarter computing, half reading."""
    setup = {**asdict(PLAIN), **changes}
    times = dict.fromkeys(table.OBSERVABLES, 0.0)
    return {**setup, **times, "t_total": total, "t_comp": total / 4, "t_io": total / 2}


def test_speed_up_and_efficiency_use_means() -> None:
    """S = t(1) / t(N), E = S / N, with the deviation of a ratio."""
    rows = [run(t) for t in (9.0, 10.0, 11.0)] + [run(t, workers=4) for t in (2.4, 2.5, 2.6)]
    one, four = table.points(rows)
    assert (one.figures["S"], one.figures["E"]) == (table.Figure(1, 0), table.Figure(1, 0))
    assert four.figures["t_total"].mean == pytest.approx(2.5)
    assert four.figures["t_total"].sd == pytest.approx(statistics.stdev((2.4, 2.5, 2.6)))
    assert four.figures["S"].mean == pytest.approx(4.0)
    assert four.figures["S"].sd == pytest.approx(4 * math.hypot(1 / 10, 0.1 / 2.5))
    assert four.figures["E"].mean == pytest.approx(1.0)
    assert four.figures["E"].sd == pytest.approx(math.hypot(1 / 10, 0.1 / 2.5))


def test_weak_scaling_compares_equal_work_per_worker() -> None:
    """E = t(1) / t(N), S = N E."""
    rows = [run(10, scaling="weak"), run(12.5, scaling="weak", workers=4, frames=40)]
    _, four = table.points(rows)
    assert four.figures["E"].mean == pytest.approx(0.8)
    assert four.figures["S"].mean == pytest.approx(3.2)


def test_speed_up_of_a_pool_uses_its_own_serial_time() -> None:
    """S of a pool uses t(1) of that pool, and is absent if that was not measured."""
    rows = [run(10), run(5, workers=2), run(20, pool="dask"), run(5, pool="dask", workers=2)]
    found = table.points([*rows, run(1, pool="processes", workers=2)])
    speed_ups = [point.figures["S"].mean for point in found]
    assert speed_ups[:4] == pytest.approx([1, 2, 1, 4])
    assert math.isnan(speed_ups[4])


def test_wide_table_has_one_observable_per_line() -> None:
    """Each number of workers is a pair of columns; one repeat has no deviation."""
    rows = [run(10), run(6), run(5, workers=2), run(9, pool="dask", workers=3)]
    lines = list(csv.DictReader(io.StringIO(table.wide(table.points(rows)))))
    observables = [*table.OBSERVABLES, "S", "E"]
    assert [line["observable"] for line in lines] == 2 * observables
    assert list(lines[0])[-6:] == ["1", "1 sd", "2", "2 sd", "3", "3 sd"]
    (total,) = [
        line for line in lines if (line["pool"], line["observable"]) == ("local", "t_total")
    ]
    assert [total[name] for name in list(total)[-6:]] == ["8", "2.82843", "5", "", "", ""]
    assert [line["r_comp_io"] for line in lines] == ["0.5"] * 9 + [""] * 9


def test_every_combination_is_a_setup() -> None:
    """One worker is always included; only MPI has ways of gathering; weak frames grow."""
    axes = Axes(
        frames=10,
        pools=("local", "mpi"),
        gathering=("shared", "one-sided"),
        workers=(2, 4),
        scaling=("strong", "weak"),
    )
    found = list(axes.setups())
    assert len(set(found)) == len(found) == (1 + 2) * 2 * 3
    assert {(s.pool, s.gathering) for s in found} == {
        ("local", ""),
        ("mpi", "shared"),
        ("mpi", "one-sided"),
    }
    for setup in found:
        assert setup.frames == (10 * setup.workers if setup.scaling == "weak" else 10)


def test_lines_of_a_figure_are_distinct() -> None:
    """They differ by label and by look, and no axes hide a line."""
    few = [run(10), run(5, workers=2), run(9, pool="mpi", gathering="shared")]
    ways: list[dict[str, Any]] = [{"pool": "local"}]
    ways += [{"pool": "mpi", "gathering": name} for name in ("shared", "collective", "one-sided")]
    many = [
        run(10 / workers * (k + 1), format=form, access=access, workers=workers, **way)
        for form in ("xtc", "h5md")
        for access in SPLIT
        for k, way in enumerate(ways)
        for workers in (1, 2)
    ]
    beside = [run(10, access=MEMORY, format="dcd"), run(2000, pool="dask")]
    rows = [f"{name} rows, mpi" for name in ("shared", "collective", "one-sided")]
    files = [f"{form}, {access}" for form in ("xtc", "h5md") for access in SPLIT]
    for setups, labels in (
        ([run(10)], {"local"}),
        (few, {"local", "mpi"}),
        (many, {f"{of}, {way}" for of in files for way in ("local", *rows)}),
        ([*many[:2], *beside], {"xtc, shared, local", "xtc, shared, dask", "dcd, memory, local"}),
    ):
        (curves,) = table.curves(table.points(setups)).values()
        assert len(curves) == len(labels)
        assert {curve.label for curve in curves} == labels
        figure = figures.scaling(curves, title="", weak=False)
        for axes in figure.axes:
            lines = [
                line
                for line in axes.get_lines()
                if "None" not in (line.get_marker(), line.get_linestyle())
            ]
            looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
            assert len(looks) == len(curves)
            assert max(max(line.get_ydata()) for line in lines) <= axes.get_ylim()[1]


def test_mpio_requires_hdf5_on_ranks() -> None:
    """Other formats and pools have no such access."""
    axes = Axes(
        frames=10,
        formats=("xtc", "h5md"),
        access=("shared", "mpio", "mpio-collective"),
        pools=("local", "mpi"),
    )
    found = [(s.format, s.access, s.pool) for s in axes.setups()]
    assert sorted(found) == sorted(
        [(form, "shared", pool) for form in ("xtc", "h5md") for pool in ("local", "mpi")]
        + [("h5md", access, "mpi") for access in ("mpio", "mpio-collective")]
    )


def test_different_values_of_the_same_frames_are_an_error() -> None:
    """The error does not depend on the pool; other frames, tasks and formats have other values."""
    here = {**run(1), "digest": "a"}
    others = [{**run(1, **changes), "digest": "b"} for changes in DIFFERENT]
    check_same([here, {**here, "pool": "mpi"}, *others])
    with raises(tj.WorkerError):
        check_same(
            [
                here,
                *others,
                {
                    **run(1, access="segments", pool="mpi", gathering="one-sided", workers=2),
                    "digest": "b",
                },
            ]
        )


@pytest.mark.parametrize("form", ["xtc", "trr", "dcd", "nc", "h5md"])
def test_bench_files_repeat_the_given_frames(adk: Adk, tmp_path: Path, form: str) -> None:
    """Every access has so many files of so many frames, which are removed at the end."""
    given = tj.open(None, adk.xtc).read(atoms=[5], frames=slice(0, 10)).positions
    changes = {"format": form, "frames": 108}
    with Files(str(adk.psf), [str(adk.xtc)], "name CA", 7, tmp_path) as files:
        for access, workers, count in (("shared", 3, 1), ("segments", 3, 3), ("chain", 3, 7)):
            setup = Setup(**{**asdict(PLAIN), **changes, "access": access, "workers": workers})
            made = files.of(setup)
            assert len(made) == count
            traj = tj.open(None, *made)
            assert traj.n_frames == 108
            assert traj.read(atoms=[5], frames=slice(98, 108)).positions == pytest.approx(
                given, abs=1e-4
            )
        setup = Setup(**{**asdict(PLAIN), **changes, "access": MEMORY})
        (alone,) = files.of(setup)
        assert tj.open(None, alone).n_atoms == len(files.atoms_of(setup)) == 214
    assert not list(tmp_path.iterdir())
    assert not alone.exists()


@pytest.mark.long
def test_scaling_writes_every_run_and_observable(adk: Adk, tmp_path: Path) -> None:
    """Pools, tasks and access have a line for each run."""
    common = ("scaling", adk.psf, adk.xtc, "--frames", 40, "--workers", 2, "--repeats", 2)
    bench(
        *common,
        *("--tasks", "rmsd,dihedrals", "--pools", "local,mpi", "--gathering", "one-sided"),
        *("--access", "segments", "--cache", "cold", "--scaling", "weak", "-o", tmp_path),
    )
    runs = rows_in(tmp_path / "runs.csv")
    assert len(runs) == 2 * 2 * 2 * 2
    for row in runs:
        assert row["frames"] == str(40 * int(row["workers"]))
        assert 0 < float(row["t_io"]) < float(row["t_N"])
        assert float(row["t_total"]) <= float(row["wall"])
    lines = rows_in(tmp_path / "table.csv")
    assert {line["observable"] for line in lines} == {*table.OBSERVABLES, "S", "E"}
    assert all(line["2"] and line["2 sd"] and line["r_comp_io"] for line in lines)
    assert {path.name for path in tmp_path.iterdir()} == {
        "runs.csv",
        "table.csv",
        "rmsd-weak-cold.png",
        "dihedrals-weak-cold.png",
    }


@pytest.mark.parametrize(
    ("loads", "pools"),
    [
        (("1", "5"), ("processes",)),
        pytest.param(("1", "5"), ("processes", "dask"), marks=pytest.mark.long),
    ],
)
def test_load_measures_file_and_memory(
    adk: Adk, tmp_path: Path, loads: tuple[str, ...], pools: tuple[str, ...]
) -> None:
    """Each load is taken from a file and from memory, by each pool."""
    bench(
        *("load", adk.psf, adk.xtc, "--frames", 40, "--loads", ",".join(loads)),
        *("--pools", ",".join(pools), "--workers", 1, "--repeats", 1, "-o", tmp_path),
    )
    found = [(row["pool"], row["load"], row["access"]) for row in rows_in(tmp_path / "runs.csv")]
    assert sorted(found) == sorted(
        (pool, load, access) for pool in pools for load in loads for access in ("shared", MEMORY)
    )


@pytest.mark.parametrize(
    "pools", [("processes",), pytest.param(("processes", "dask", "mpi"), marks=pytest.mark.long)]
)
def test_scheduler_counts_tasks_of_each_pool(tmp_path: Path, pools: tuple[str, ...]) -> None:
    """Each pool does the requested number of tasks, by threads of one worker and by workers."""
    asked = ("--pools", ",".join(("local", *pools)), "--workers", 2)
    bench("scheduler", "--tasks", 100, *asked, "--repeats", 1, "-o", tmp_path)
    runs = rows_in(tmp_path / "runs.csv")
    setups = [(row["pool"], row["workers"], row["threads"]) for row in runs]
    assert setups == [
        ("local", "1", "2"),
        *((pool, *sizes) for pool in pools for sizes in ("12", "21")),
    ]
    rates = rows_in(tmp_path / "rates.csv")
    for setup in setups:
        mine = [r for r in rates if (r["pool"], r["workers"], r["threads"]) == setup]
        times = [float(row["time"]) for row in mine]
        width = 2 * times[0]
        assert sum(float(row["tasks_per_second"]) for row in mine) * width == pytest.approx(100)
    assert (tmp_path / "throughput.png").stat().st_size > 0


def test_mpio_requires_an_h5py_with_mpi(adk: Adk, tmp_path: Path) -> None:
    """Without one, no file is made, and the error explains how to get it."""
    out = tmp_path / "out"
    message = bench(
        *("scaling", adk.psf, adk.xtc, "--frames", 10, "-o", out, "--access", "shared,mpio"),
        *("--formats", "h5md", "--pools", "mpi"),
        code=1,
    )
    assert message.startswith("trajet: --access mpio: this h5py was built without MPI")
    assert "docs/parallel.md" in message
    assert message.count("\n") == 1
    assert not out.exists()


def test_failures_are_one_line(adk: Adk, tmp_path: Path) -> None:
    """The line states the failure, even if it happened in another process."""
    common = (adk.psf, adk.xtc, "--frames", 10, "-o", tmp_path)
    message = bench("scaling", *common, "--pools", "mpi", "--mpiexec", "false", code=1)
    assert message.startswith("trajet: false -n 1")
    assert message.count("\n") == 1
    assert "'cloud' is none of" in bench("scaling", *common, "--pools", "cloud", code=2)
    through = ("--access", "shared,mpio-collective")
    message = bench("scaling", *common, *through, "--formats", "h5md", code=2)
    assert "mpio-collective is HDF5 on ranks: --formats h5md --pools mpi" in message
    assert "1,2,4" in bench("load", *common, "--loads", "1,x", code=2)
