"""Time trajet on objects behind HTTP, 50 ms away, and count its requests and bytes.

    .venv/bin/python benches/remote.py [--rounds 3] [--cases index rmsd download faults zarrtraj]

Needs the range server (`cargo build --release --manifest-path benches/range-server/Cargo.toml`),
MDAnalysisTests and `pip install 'trajet[remote]'`. The server repeats the bytes of small files, so
that objects of gigabytes take no space. Each case opens the object anew, without an index of before
unless it says so. Aims:

- index of 10,000 frames of 386 kB: 5 s, 10,400 requests and 110 MB with 256 connections, 10 s and
  30 MB with 64; of frames of 12 kB at 250 MB/s: 1.5 s;
- RMSD of the protein of 2,000 solvated frames, 64 connections: 1,000 frames a second, 1.05 requests
  and 17 kB a frame; opening in 4 round trips; of 200 frames 600 a second after it;
- at 12.5 MB/s, 8 times as fast as downloading the file and reading it;
- with every 50th request failing: the same bits;
- beside zarrtraj, which reads its own conversion of the same frames: 20 times as many frames a
  second. `--zarrtraj PYTHON` is an interpreter that has it; without it the case is left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import urllib.request
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import MDAnalysis as mda
import numpy as np
import trajet as tj
from host import describe_load
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build
from range_server import RangeServer

DELAY_MS = 50
PROTEIN = 3341
# Frames that zarrtraj reads.
ZARR_FRAMES = 2000
PEER = Path(__file__).resolve().parent / "peers/zarrtraj_remote.py"
# Atoms whose frames take 386 kB.
LARGE = 111_000
COLUMNS = ("case", "s", "per s", "requests", "MB", "connections", "aim")


@dataclass(frozen=True)
class Row:
    """A measurement: the fastest of the rounds, whose counts are those of the server."""

    case: str
    seconds: float
    n_frames: int
    counts: dict[str, int]
    aim: str

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        return (
            self.case,
            f"{self.seconds:.2f}",
            f"{self.n_frames / self.seconds:,.0f}",
            f"{self.counts['requests']:,}",
            f"{self.counts['bytes'] / 1e6:,.1f}",
            f"{self.counts['most_at_once']}",
            self.aim,
        )


def fastest(
    server: RangeServer, rounds: int, case: str, n_frames: int, aim: str, work: Callable[[], object]
) -> Row:
    """Time work as often as `rounds`, and return the fastest round."""
    found = []
    for _ in range(rounds):
        server.reset()
        begin = time.perf_counter()
        work()
        found.append(Row(case, time.perf_counter() - begin, n_frames, server.reset(), aim))
    row = min(found, key=lambda row: row.seconds)
    print(" | ".join(row.cells()), flush=True)
    return row


def write_large(path: Path) -> None:
    """Write ten frames of 386 kB: atoms of the solvated system, and copies beside it."""
    universe = mda.Universe(datafiles.GRO, datafiles.XTC)
    side = 100.0
    with mda.Writer(str(path), n_atoms=LARGE) as writer:
        for frame in universe.trajectory:
            copies = [frame.positions + side * k for k in range(3)]
            made = mda.Universe.empty(LARGE, trajectory=True)
            made.atoms.positions = np.concatenate(copies)[:LARGE]
            made.dimensions = frame.dimensions
            writer.write(made.atoms)


def write_small(path: Path) -> int:
    """Write frames of 12 kB, and return their number."""
    universe = mda.Universe(datafiles.PSF, datafiles.DCD)
    with mda.Writer(str(path), n_atoms=universe.atoms.n_atoms) as writer:
        for _ in universe.trajectory:
            writer.write(universe.atoms)
    return len(universe.trajectory)


def opened(
    server: RangeServer, name: str, connections: int, *, kept: bool = False
) -> tj.Trajectory:
    """Open an object, with an index of before if it is `kept`."""
    return tj.open(None, server.url(name), allow_http=True, connections=connections, sidecar=kept)


def rmsd(trajectory: tj.Trajectory) -> np.ndarray:
    """Return the RMSD of the protein."""
    return tj.rmsd(trajectory.select(np.arange(PROTEIN))).values


def index_cases(server: RangeServer, rounds: int, n_small: int) -> list[Row]:
    """Time the search for frames."""
    rows = []
    for connections, aim in ((256, "5 s, 10,400, 110 MB"), (64, "10 s, 30 MB")):
        case = f"index, 386 kB, {connections}"
        work = lambda n=connections: opened(server, "large.xtc", n)  # noqa: E731
        rows.append(fastest(server, rounds, case, 10_000, aim, work))
    server.set(megabytes_per_s=250, connection_mb_per_s=100)
    for connections in (64, 256):
        case = f"index, 12 kB, {connections}, 250 MB/s"
        work = lambda n=connections: opened(server, "small.xtc", n)  # noqa: E731
        rows.append(fastest(server, rounds, case, n_small, "1.5 s", work))
    server.set(megabytes_per_s=0, connection_mb_per_s=0)
    return rows


def rmsd_cases(server: RangeServer, rounds: int) -> list[Row]:
    """Time the RMSD of the protein, and compare its bits with those of a local file."""
    local = rmsd(tj.open(None, datafiles.XTC, sidecar=False))
    rows = []
    for name, n_frames, aim in (
        ("solvated.xtc", 2000, "1,000 a second, 2,100, 34 MB"),
        ("solvated200.xtc", 200, "600 a second"),
    ):
        # The index is in the cache from here on.
        opened(server, name, 64, kept=True)
        rows.append(
            fastest(
                server,
                rounds,
                f"open {name}, kept index",
                1,
                "4 round trips",
                lambda name=name: opened(server, name, 64, kept=True),
            )
        )
        trajectory = opened(server, name, 64, kept=True)
        case = f"rmsd, {n_frames} frames, 64"
        rows.append(fastest(server, rounds, case, n_frames, aim, lambda of=trajectory: rmsd(of)))
        assert np.array_equal(rmsd(trajectory), np.tile(local, n_frames // len(local)))
    return rows


def fault_cases(server: RangeServer, rounds: int) -> list[Row]:
    """Time the same while every 50th request fails, and compare the bits."""
    trajectory = opened(server, "solvated.xtc", 64, kept=True)
    expected = rmsd(trajectory)
    server.set(fail_every=50)

    def work() -> None:
        assert np.array_equal(rmsd(trajectory), expected)

    row = fastest(server, rounds, "rmsd, every 50th request fails", 2000, "the same bits", work)
    server.set(fail_every=0)
    return [row]


def download_cases(server: RangeServer, folder: Path) -> list[Row]:
    """Time the RMSD at 12.5 MB/s beside a download and the RMSD of the copy."""
    server.set(megabytes_per_s=12.5)
    trajectory = opened(server, "solvated.xtc", 64, kept=True)

    def download() -> None:
        copy = folder / "copy.xtc"
        urllib.request.urlretrieve(server.url("solvated.xtc"), copy)
        rmsd(tj.open(None, copy, sidecar=False))
        copy.unlink()

    rows = [
        fastest(server, 1, "rmsd at 12.5 MB/s", 2000, "8 x", lambda: rmsd(trajectory)),
        fastest(server, 1, "download and rmsd", 2000, "", download),
    ]
    server.set(megabytes_per_s=0)
    print(f"{rows[1].seconds / rows[0].seconds:.1f} times as fast as downloading first")
    return rows


def write_zarr(python: Path, folder: Path) -> dict[str, tuple[Path, int]]:
    """Write the solvated frames in zarrtraj's format; return its files by their names."""
    out = folder / "run.zarrmd"
    begin = time.perf_counter()
    words = ["write", datafiles.GRO, datafiles.XTC, str(out), str(ZARR_FRAMES)]
    subprocess.run([python, PEER, *words], check=True)
    files = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    times = ZARR_FRAMES // len(mda.Universe(datafiles.GRO, datafiles.XTC).trajectory)
    before = Path(datafiles.XTC).stat().st_size * times
    print(
        f"zarrtraj's conversion of {ZARR_FRAMES} frames: {time.perf_counter() - begin:.0f} s,"
        f" {before / 1e6:.0f} MB of XTC become {size / 1e6:.0f} MB in {len(files)} files"
    )
    return {str(path.relative_to(folder)): (path, 1) for path in files}


def zarrtraj_cases(server: RangeServer, rounds: int, python: Path) -> list[Row]:
    """Time the RMSD of the same frames by zarrtraj and by trajet; compare the values."""
    server.reset()
    words = ["read", datafiles.GRO, server.url("run.zarrmd"), str(PROTEIN)]
    done = subprocess.run([python, PEER, *words], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    counts = server.reset()
    theirs = Row(
        f"zarrtraj {found['version']}: rmsd, {ZARR_FRAMES} frames (opening {found['open']:.1f} s)",
        found["rmsd"],
        ZARR_FRAMES,
        counts,
        "",
    )
    print(" | ".join(theirs.cells()), flush=True)
    rows = [theirs]
    for connections in (64, 256):
        trajectory = opened(server, "solvated.xtc", connections, kept=True)
        # The conversion has three decimals.
        assert np.allclose(rmsd(trajectory), found["values"], atol=0.01)
        case = f"trajet: rmsd, {ZARR_FRAMES} frames, {connections}"
        work = lambda of=trajectory: rmsd(of)  # noqa: E731
        ours = fastest(server, rounds, case, ZARR_FRAMES, "20 x, or all requests", work)
        # The server answers a request of each connection per delay.
        most = connections * 1000 / DELAY_MS
        print(
            f"{theirs.seconds / ours.seconds:.0f} times as fast as zarrtraj,"
            f" with 1/{theirs.counts['bytes'] / ours.counts['bytes']:.0f} of its bytes;"
            f" {100 * ours.counts['requests'] / ours.seconds / most:.0f} % of the requests that"
            f" {connections} connections can make"
        )
        rows.append(ours)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    names = ("index", "rmsd", "faults", "download", "zarrtraj")
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    parser.add_argument("--zarrtraj", type=Path, help="a Python interpreter with zarrtraj")
    given = parser.parse_args(arguments)
    require_release_build()
    warnings.filterwarnings("ignore", module="MDAnalysis")
    print(describe_load())
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_large(folder / "large.xtc")
        n_once = write_small(folder / "small.xtc")
        times = -(-10_000 // n_once)
        files = {
            "large.xtc": (folder / "large.xtc", 1000),
            "small.xtc": (folder / "small.xtc", times),
            "solvated.xtc": (Path(datafiles.XTC), 200),
            "solvated200.xtc": (Path(datafiles.XTC), 20),
        }
        has_zarr = "zarrtraj" in given.cases and given.zarrtraj is not None
        if has_zarr:
            files |= write_zarr(given.zarrtraj, folder)
        print(" | ".join(COLUMNS))
        with RangeServer(files, delay_ms=DELAY_MS) as server:
            if "index" in given.cases:
                index_cases(server, given.rounds, n_once * times)
            if "rmsd" in given.cases:
                rmsd_cases(server, given.rounds)
            if "faults" in given.cases:
                fault_cases(server, given.rounds)
            if "download" in given.cases:
                download_cases(server, folder)
            if has_zarr:
                zarrtraj_cases(server, given.rounds, given.zarrtraj)
    print(describe_load())


if __name__ == "__main__":
    main()
