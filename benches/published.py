"""Two published scaling runs beside the same work as one command on this machine.

    .venv/bin/python benches/published.py --scale 0.01    # to try it
    .venv/bin/python benches/published.py                 # 32, then 36 GB of disk

Each run makes a file of the published shape (`published_systems.py`, `repeated_frames.py`), times
`trajet rmsd` as a whole command, with its start, in turns with a cold and a warm page cache, with
the index to build and kept, on one core and on more, and deletes the file. Cold: the pages of the
trajectory, its index and the topology are dropped before; those of Python are not. Beside that: the
disk alone, which reads the same bytes and does nothing with them, and MDAnalysis on the first
frames of the same file, extrapolated. Values are compared with MDAnalysis', and over the whole file
with themselves, since its frames repeat. The tables stand in docs/scaling.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from host import (
    DATA,
    RECORD,
    as_lines,
    describe_load,
    drop_pages,
    load,
    record,
    require_release_build,
    stamp,
    write_section,
)
from numpy.typing import NDArray
from published_systems import RUNS, Condition, Published
from repeated_frames import Encoded, NoRoomError, write_repeated

# Bytes that the disk alone reads, at most: enough for its speed.
DISK_SAMPLE = 2e9
DISK_PARTS = 32
PIECE = 1 << 20
# The largest part of the available memory that is filled with pages of a file.
OF_MEMORY = 0.3
TOLERANCE = 1e-3  # Å
SCRIPT = """
import json, sys, time, warnings
begin = time.perf_counter()
warnings.simplefilter("ignore")
import MDAnalysis as mda, numpy as np
from MDAnalysis.analysis.rms import RMSD
topology, trajectory, selection, output = sys.argv[1:]
universe = mda.Universe(topology)
started = time.perf_counter()
universe.load_new(trajectory)
atoms = universe.select_atoms(selection)
values = RMSD(atoms, atoms).run().results.rmsd[:, 2]
ended = time.perf_counter()
np.save(output, values)
print(json.dumps([started - begin, ended - started]))
"""


@dataclass(frozen=True)
class Files:
    """The files of a run."""

    topology: Path
    trajectory: Path
    encoded: Encoded
    n_frames: int

    @property
    def index(self) -> Path:
        """The index that trajet keeps beside the trajectory."""
        return self.trajectory.with_name(f".{self.trajectory.name}.trajet-index")

    def all(self) -> list[Path]:
        """Return the files that exist."""
        paths = (self.topology, self.trajectory, self.index)
        return [path for path in paths if path.exists()]

    def drop_pages(self) -> None:
        """Drop the files' pages from the cache."""
        for path in self.all():
            drop_pages(path)

    def remove(self) -> None:
        """Delete all of them."""
        for path in self.all():
            path.unlink()


@dataclass(frozen=True)
class Row:
    """One whole command."""

    run: str
    frames: int
    cache: str
    index: str
    cores: int
    round: int
    seconds: float  # by the clock
    cpu: float  # s, of processors
    t_index: float
    bytes_read: int  # that trajet asked for, to open and to compute
    bytes_disk: int  # that came from the disk
    disk_alone: float | None = None  # s in which this disk gives them, cold

    def entries(self) -> dict[str, Any]:
        """Return the columns of the record."""
        entries = asdict(self)
        case = " ".join((entries.pop("run"), entries.pop("cache"), f"index {entries.pop('index')}"))
        seconds, cores = entries.pop("seconds"), entries.pop("cores")
        columns = {"case": case, "tool": "trajet", "threads": cores, "best_s": seconds}
        return {**columns, "median_s": seconds, "cpu_s": entries.pop("cpu"), **entries}


def make(run: Published, folder: Path, scale: float) -> Files:
    """Make the files of a run; a trajectory that exists is used again."""
    folder.mkdir(parents=True, exist_ok=True)
    topology = folder / f"published-{run.topology}"
    encoded = run.prepare(topology)
    n_frames = max(run.part, round(scale * run.n_frames))
    trajectory = folder / f"published-{run.name}-{n_frames}.xtc"
    files = Files(topology, trajectory, encoded, n_frames)
    if trajectory.exists():
        print(f"{trajectory}: there, {trajectory.stat().st_size:,} bytes")
        return files
    begin = time.perf_counter()
    write_repeated(trajectory, encoded, n_frames, run.time_step)
    size = trajectory.stat().st_size
    seconds = time.perf_counter() - begin
    print(f"{trajectory}: made, {size:,} bytes in {seconds:.0f} s", flush=True)
    return files


def whole_command(command: list[str], cores: int) -> tuple[float, Any, str]:
    """Run a command on some cores; return its seconds, its resource usage and its output."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:cores])
    try:
        begin = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        os.sched_setaffinity(0, allowed)
    if process.returncode != 0:
        raise SystemExit(f"{command}: exit code {process.returncode}")
    return seconds, usage, output


def rmsd(
    run: Published, files: Files, condition: Condition, number: int, stop: int, output: Path
) -> Row:
    """Time `trajet rmsd` of the first `stop` frames under one condition, and check its values."""
    if condition.index == "to build":
        files.index.unlink(missing_ok=True)
    if condition.cache == "cold":
        files.drop_pages()
    report = output.with_suffix(".json")
    command = [sys.executable, "-m", "trajet", "rmsd", str(files.topology), str(files.trajectory)]
    command += ["--select", run.selection, "--threads", str(condition.cores), "--quiet"]
    command += ["--output", str(output), "--report", str(report), "--stop", str(stop)]
    seconds, usage, _ = whole_command(command, condition.cores)
    values = np.load(output)["values"]
    # Values repeat as the frames do.
    if not np.array_equal(values, np.resize(values[: files.encoded.n_frames], stop)):
        raise SystemExit(f"{run.name}: the RMSD differs between frames that are the same")
    entries = json.loads(report.read_text())
    expected = {"to build": "built", "kept": "loaded"}[condition.index]
    if entries["opening"]["index"] != expected:
        raise SystemExit(f"{run.name}: the index was {entries['opening']['index']}, not {expected}")
    cpu, opening = usage.ru_utime + usage.ru_stime, entries["opening"]
    n_bytes = opening["bytes_read"] + entries["bytes_read"], 512 * usage.ru_inblock
    how = asdict(condition)
    return Row(run.name, stop, *how.values(), number, seconds, cpu, opening["t_index"], *n_bytes)


def disk_speed(files: Files, length: int, threads: int) -> float:
    """Return bytes a second of the disk alone: the first `length` bytes of each frame, cold.

    Where they are most of a frame, the file is read from its begin on, 1 MiB at a time.
    """
    offsets = files.encoded.offsets(files.n_frames)
    size = files.encoded.size(files.n_frames)
    if length > 0.8 * size / files.n_frames:
        offsets, length = np.arange(0, size, PIECE), PIECE
    # Spread over the file: what was read last may be in a cache of the host.
    n_pieces = min(len(offsets), max(threads, int(DISK_SAMPLE / length)))
    n_parts = min(DISK_PARTS, n_pieces)
    parts = [part[: n_pieces // n_parts] for part in np.array_split(offsets, n_parts)]
    offsets = np.concatenate(parts)
    files.drop_pages()
    descriptor = os.open(files.trajectory, os.O_RDONLY)

    def read(part: NDArray[np.int64]) -> int:
        buffer = bytearray(length)
        return sum(os.preadv(descriptor, [buffer], int(offset)) for offset in part)

    begin = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        total = sum(pool.map(read, np.array_split(offsets, threads)))
    seconds = time.perf_counter() - begin
    os.close(descriptor)
    return total / seconds


def mdanalysis_seconds(run: Published, files: Files, ours: Path, folder: Path) -> float:
    """Return the seconds of MDAnalysis' serial RMSD of the whole file, extrapolated.

    It reads a copy of the first frames, cold, finds their offsets and must have trajet's values.
    """
    part = folder / "part.xtc"
    with files.trajectory.open("rb") as source:
        part.write_bytes(source.read(files.encoded.size(run.part)))
    drop_pages(part)
    values = folder / "values.npy"
    command = [sys.executable, "-c", SCRIPT, str(files.topology), str(part), run.selection]
    _, _, output = whole_command([*command, str(values)], 1)
    known = np.load(ours)["values"][: run.part]
    if not np.allclose(np.load(values), known, rtol=0, atol=TOLERANCE):
        raise SystemExit(f"{run.name}: the RMSD differs from MDAnalysis'")
    started, ran = json.loads(output)
    return float(started + ran * files.n_frames / run.part)


def available_memory() -> int:
    """Return the bytes of memory that are available."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("MemAvailable:"))
    return int(line.split()[1]) * 1024


def take_round(
    run: Published, files: Files, cores: list[int], number: int, output: Path
) -> list[Row]:
    """Time all conditions once; return their rows, cold ones with the time of the disk alone.

    Where memory cannot hold what is read, warm runs take the first frames only, and the index is
    built once, on the first number of cores: finding the frames and reading them both take the
    time of the disk.
    """
    rows: list[Row] = []

    def take(cache: str, index: str, n: int, stop: int) -> Row:
        row = rmsd(run, files, Condition(cache, index, n), number, stop, output)
        print(row, flush=True)
        rows.append(row)
        return row

    stop = files.n_frames
    for n in cores:
        if stop == files.n_frames:
            take("cold", "to build", n, files.n_frames)
        kept = take("cold", "kept", n, files.n_frames)
        speed = disk_speed(files, -(-kept.bytes_read // files.n_frames), n)
        part = min(1.0, OF_MEMORY * available_memory() / max(1, kept.bytes_disk))
        stop = int(part * files.n_frames)
        # Fills the cache.
        rmsd(run, files, Condition("warm", "kept", n), number, stop, output)
        take("warm", "kept", n, stop)
        if stop == files.n_frames:
            take("warm", "to build", n, stop)
        for k, row in enumerate(rows):
            if row.cores == n and row.cache == "cold":
                rows[k] = replace(row, disk_alone=row.bytes_disk / speed)
    return rows


def cell(values: list[float], digits: int = 1) -> str:
    """Return a median, with the least and the most of several."""
    middle = f"{median(values):,.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def as_table(rows: list[Row], run: Published) -> list[str]:
    """Return the lines of the measured table: medians over the rounds."""
    head = ("cache", "index", "cores", "frames", "seconds", "of processors", "index, s", "GB read")
    head += ("GB from the disk", "disk alone, s", "target")
    lines = []
    conditions = dict.fromkeys(Condition(row.cache, row.index, row.cores) for row in rows)
    for at in sorted(conditions, key=lambda at: (at.cache, at.index == "kept", at.cores)):
        found = [row for row in rows if Condition(row.cache, row.index, row.cores) == at]
        target = f"{run.target[1]:g}" if run.target[0] == at else ""
        alone = [row.disk_alone for row in found if row.disk_alone is not None]
        cells = [
            *(at.cache, at.index, str(at.cores), f"{found[0].frames:,}"),
            cell([row.seconds for row in found]),
            cell([row.cpu for row in found]),
            f"{median(row.t_index for row in found):.1f}" if at.index == "to build" else "",
            f"{median(row.bytes_read for row in found) / 1e9:.2f}",
            f"{median(row.bytes_disk for row in found) / 1e9:.2f}",
            cell(alone) if alone else "",
            target,
        ]
        lines.append(cells)
    return as_lines(head, lines)


def measure(run: Published, files: Files, options: argparse.Namespace) -> None:
    """Time all conditions in rounds, print the tables, and write the record and the page."""
    before = describe_load()
    rows: list[Row] = []
    with TemporaryDirectory(dir=options.data) as name:
        output = Path(name) / "rmsd.npz"
        speed = disk_speed(files, PIECE, 1)
        for number in range(options.rounds):
            rows += take_round(run, files, options.cores, number, output)
        theirs = mdanalysis_seconds(run, files, output, Path(name))
    size = files.encoded.size(files.n_frames)
    rounds = "one round" if options.rounds == 1 else f"medians of {options.rounds} rounds"
    here = f"here: MDAnalysis, serial, cold, extrapolated from the first {run.part:,} frames"
    lines = [
        f"{stamp()}, {available_memory() / 1e9:.0f} GB of memory available; trajet with"
        f" {load()._trajet.INSTRUCTION_SET}; {before}; {rounds}. {files.n_frames:,} frames,"
        f" {size / 1e9:.1f} GB of XTC. The disk alone reads it from begin to end at"
        f" {speed / 1e6:,.0f} MB/s.",
        "",
        *as_table(rows, run),
        "",
        *as_lines([run.source, "seconds"], [*run.published, (here, f"{theirs:,.0f}")]),
    ]
    print("\n".join(lines), flush=True)
    print(f"at the end: {describe_load()}")
    if options.scale == 1 and not options.no_record:
        record("published", [row.entries() for row in rows], options.record)
        write_section("scaling.md", f"published-{run.name}", lines)


def main() -> None:
    """Make, measure and delete one run after the other."""
    names = [run.name for run in RUNS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the files")
    parser.add_argument("--record", type=Path, default=RECORD, help="the table of all runs")
    parser.add_argument("--no-record", action="store_true", help="append and write nothing")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 1], help="default: 2 1")
    parser.add_argument("--runs", nargs="+", choices=names, default=names)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the published frames")
    parser.add_argument("--make", action="store_true", help="make the files, and measure nothing")
    parser.add_argument("--keep", action="store_true", help="do not delete the files")
    options = parser.parse_args()
    if not options.make:
        require_release_build()
        print(describe_load())
    for run in RUNS:
        if run.name not in options.runs:
            continue
        try:
            files = make(run, options.data, options.scale)
        except NoRoomError as error:
            raise SystemExit(f"published: {error}") from None
        if options.make:
            continue
        try:
            measure(run, files, options)
        finally:
            if not options.keep:
                files.remove()


if __name__ == "__main__":
    main()
