"""`trajet bench` measures each pool and number of workers, and gives advice."""

import csv
from pathlib import Path

import pytest
from helpers.commands import fail, misuse, succeed
from helpers.golden_files import Adk


def test_bench_tabulates_pools_and_workers(adk: Adk, tmp_path: Path) -> None:
    """One worker is always measured, S and E refer to it, and advice follows the table."""
    table = tmp_path / "table.csv"
    options = ("--pools", "local", "--workers", 2, "--frames", 20, "--repeats", 2, "-o", table)
    lines = succeed("bench", adk.psf, adk.xtc, *options)
    one, two = csv.DictReader(table.open())
    assert [(row["pool"], row["workers"]) for row in (one, two)] == [("local", "1"), ("local", "2")]
    assert (one["S"], one["E"]) == ("1", "1")
    speed_up = float(one["t_total"]) / float(two["t_total"])
    assert float(two["S"]) == pytest.approx(speed_up, rel=0.02)
    assert float(two["E"]) == pytest.approx(speed_up / 2, rel=0.02)
    for row in (one, two):
        assert 0 < float(row["t_io"]) < float(row["t_total"])
        assert float(row["sd"]) >= 0
        assert float(row["R_comp/IO"]) > 0
    assert lines[0].split() == list(one)
    assert lines[3].startswith("fastest: local with ")
    advice, path = lines[4:-1], lines[-1]
    assert advice
    assert path == str(table)


def test_failures_of_bench_are_one_line(adk: Adk) -> None:
    """The line states the failure, also that of another process."""
    files = (adk.psf, adk.xtc)
    line = fail("bench", *files, "--pools", "mpi", "--mpiexec", "false")
    assert line.startswith("trajet: false -n 1")
    line = fail("bench", *files, "--select", "name NONE")
    assert "name NONE" in line
    assert "'cloud' is none of" in misuse("bench", *files, "--pools", "cloud")
    assert "1,2,4" in misuse("bench", *files, "--workers", "1,x")
