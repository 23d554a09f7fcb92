"""`trajet bench` measures each pool and number of workers, and storages, and gives advice."""

import csv
import math
from pathlib import Path

import pytest
from helpers.commands import fail, misuse, succeed
from helpers.golden_files import Adk
from trajet.advise import Environment
from trajet.cli.bench import measure


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
    fail("bench", *files, "--pools", "mpi", "--mpiexec", "false")
    fail("bench", *files, "--select", "name NONE")
    misuse("bench", *files, "--pools", "cloud")
    misuse("bench", *files, "--workers", "1,x")


def test_bench_storage_describes_a_storage(tmp_path: Path) -> None:
    """Every number is measured, the description is read by the model, and no file is left."""
    made, description = tmp_path / "made", tmp_path / "disk.toml"
    made.mkdir()
    options = ("--readers", 2, "--size", "16MiB", "-o", description)
    lines = succeed("bench", "storage", made, *options)
    assert lines[-1] == str(description)
    assert list(made.iterdir()) == []
    storage = Environment.load(description).storage
    assert storage.latency is not None
    assert storage.client_bandwidth is not None
    assert storage.open_seconds is not None
    assert 0 < storage.client_bandwidth <= storage.total_bandwidth < math.inf
    assert storage.requests_per_s >= 0.999 / storage.latency
    assert storage.opens_per_s >= 0.999 / storage.open_seconds
    # A file that exists is read alone.
    file = made / "run.xtc"
    file.write_bytes(bytes(2**24))
    printed = succeed("bench", "storage", file, "--readers", 2)
    assert "[storage]" in printed
    assert list(made.iterdir()) == [file]


def test_bench_storage_reads_as_often_as_it_says(tmp_path: Path) -> None:
    """256 small requests alone and for each reader, and at least two large ones each."""
    found = measure(tmp_path, readers=3, size=2**24)
    assert found.requests == 256 + 2 + 3 * 256 + 3 * 2
    file = tmp_path / "short.xtc"
    file.write_bytes(bytes(2**20))
    fail("bench", "storage", file)
    misuse("bench", "storage", tmp_path / "none")
    assert "Usage: trajet bench storage [OPTIONS] PATH" in succeed("bench", "storage", "--help")[0]
