"""Two published scaling runs beside the same work as one command on this machine.

    .venv/bin/python benches/published.py --scale 0.01    # to try it
    .venv/bin/python benches/published.py                 # 32, then 36 GB of disk

Each run makes a file of the published shape (`published_systems.py`, `repeated_frames.py`), times
`trajet rmsd` as a whole command, with its start, in turns with a cold and a warm page cache, with
the index to build and kept, on one core and on more, and deletes the file. Cold: the pages of the
trajectory, its index and the topology are dropped before; those of Python are not. Beside that: the
disk alone, which reads the same bytes and does nothing with them, and MDAnalysis on the first
frames of the same file, extrapolated. Values are compared with MDAnalysis', and over the whole file
with themselves, since its frames repeat. The tables stand in docs/published.md.

`--make` only makes the files, which a later run finds; `--keep` does not delete them. To time
another version, run this by the Python of its environment.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from host import describe_load, this_machine
from numpy.typing import NDArray
from page import write_section
from peers.trajet import instruction_set, require_release_build
from published_systems import RUNS, Condition, Published
from repeated_frames import Encoded, NoRoomError, write_repeated

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "published.md"
# Bytes that the disk alone reads, at most: enough for its speed.
DISK_SAMPLE = 2e9
DISK_PARTS = 32
A_PIECE = 1 << 20
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
    """The files of a run, and the frames of the trajectory."""

    topology: Path
    trajectory: Path
    encoded: Encoded
    n_frames: int

    @property
    def index(self) -> Path:
        """The index that trajet keeps beside the trajectory."""
        return self.trajectory.with_name(f".{self.trajectory.name}.trajet-index")

    def drop_pages(self) -> None:
        """Drop the files' pages from the cache."""
        for path in (self.topology, self.trajectory, self.index):
            if path.exists():
                with path.open("rb") as stream:
                    os.fsync(stream.fileno())
                    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def remove(self) -> None:
        """Delete all of them."""
        for path in (self.topology, self.trajectory, self.index):
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Row:
    """One whole command: seconds by the clock and of processors, seconds of the index, bytes.

    `bytes_read` are those that trajet asked for, to open and to compute; `bytes_disk` came from the
    disk. `disk_alone` is the time in which this disk gives `bytes_disk` (s; cold only).
    """

    run: str
    frames: int
    cache: str
    index: str
    cores: int
    round: int
    seconds: float
    cpu: float
    t_index: float
    bytes_read: int
    bytes_disk: int
    disk_alone: float | None = None


def make(run: Published, folder: Path, scale: float) -> Files:
    """Make the files of a run; a trajectory that exists is used again.

    Raises
    ------
    NoRoomError
        If the disk has no room for it.
    """
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
    """Run a command on some cores; return its seconds, its resource usage and its output.

    Raises
    ------
    SystemExit
        If it fails.
    """
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


def check_values(values: NDArray[np.float64], run: Published, files: Files, n_frames: int) -> None:
    """End the program unless the values repeat as the frames do."""
    repeated = np.resize(values[: files.encoded.n_frames], n_frames)
    if len(values) != n_frames or not np.array_equal(values, repeated):
        raise SystemExit(f"{run.name}: the RMSD differs between frames that are the same")


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
    with np.load(output) as result:
        check_values(result["values"], run, files, stop)
    entries = json.loads(report.read_text())
    expected = {"to build": "built", "kept": "loaded"}[condition.index]
    if entries["opening"]["index"] != expected:
        raise SystemExit(f"{run.name}: the index was {entries['opening']['index']}, not {expected}")
    return Row(
        run=run.name,
        frames=stop,
        **asdict(condition),
        round=number,
        seconds=seconds,
        cpu=usage.ru_utime + usage.ru_stime,
        t_index=entries["opening"]["t_index"],
        bytes_read=entries["opening"]["bytes_read"] + entries["bytes_read"],
        bytes_disk=512 * usage.ru_inblock,
    )


def disk_speed(files: Files, length: int, threads: int) -> float:
    """Return bytes a second of the disk alone: the first `length` bytes of each frame, cold.

    Where they are most of a frame, the file is read from its begin on, 1 MiB at a time.
    """
    offsets = files.encoded.offsets(files.n_frames)
    size = files.encoded.size(files.n_frames)
    if length > 0.8 * size / files.n_frames:
        offsets, length = np.arange(0, size, A_PIECE), A_PIECE
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
    with files.trajectory.open("rb") as source, part.open("wb") as target:
        target.write(source.read(files.encoded.size(run.part)))
        target.flush()
        os.fsync(target.fileno())
        os.posix_fadvise(target.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    values = folder / "values.npy"
    command = [sys.executable, "-c", SCRIPT, str(files.topology), str(part), run.selection]
    _, _, output = whole_command([*command, str(values)], 1)
    with np.load(ours) as result:
        if not np.allclose(np.load(values), result["values"][: run.part], rtol=0, atol=TOLERANCE):
            raise SystemExit(f"{run.name}: the RMSD differs from MDAnalysis'")
    started, ran = json.loads(output)
    return float(started + ran * files.n_frames / run.part)


def available_memory() -> int:
    """Return the bytes of memory that are available."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("/proc/meminfo has no MemAvailable")


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
        stop = int(
            min(1.0, OF_MEMORY * available_memory() / max(1, kept.bytes_disk)) * files.n_frames
        )
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
    lines = [
        "| cache | index | cores | frames | seconds | of processors | index, s | GB read"
        " | GB from the disk | disk alone, s | target |",
        "|---" * 11 + "|",
    ]
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
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def version_of_trajet() -> str:
    """Return the commit of the checkout that the measured trajet is installed from."""
    import trajet

    command = ["git", "-C", str(Path(trajet.__file__).parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or trajet.__version__


def record(rows: list[Row], folder: Path, stamp: str, commit: str) -> None:
    """Append every run to the record."""
    path = folder / this_machine().slug / f"{stamp[:10]}-published.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as stream:
        names = ["date", "commit", *asdict(rows[0])]
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows({"date": stamp, "commit": commit, **asdict(row)} for row in rows)


def measure(run: Published, files: Files, options: argparse.Namespace) -> None:
    """Time all conditions in rounds, print the tables, and write the record and the page."""
    stamp, commit, load = (
        f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        version_of_trajet(),
        describe_load(),
    )
    machine = this_machine()
    rows: list[Row] = []
    with TemporaryDirectory(dir=options.data) as name:
        output = Path(name) / "rmsd.npz"
        speed = disk_speed(files, A_PIECE, 1)
        for number in range(options.rounds):
            rows += take_round(run, files, options.cores, number, output)
        theirs = mdanalysis_seconds(run, files, output, Path(name))
    size = files.encoded.size(files.n_frames)
    rounds = "one round" if options.rounds == 1 else f"medians of {options.rounds} rounds"
    lines = [
        f"{machine.cpu}, {machine.cores} cores, {available_memory() / 1e9:.0f} GB of memory"
        f" available, {stamp[:10]}, {commit}; trajet with {instruction_set()}; {load}; {rounds}."
        f" {files.n_frames:,} frames, {size / 1e9:.1f} GB of XTC. The disk alone reads it from"
        f" begin to end at {speed / 1e6:,.0f} MB/s.",
        "",
        *as_table(rows, run),
        "",
        f"| {run.source} | seconds |",
        "|---|---|",
        *(f"| {what} | {seconds} |" for what, seconds in run.published),
        f"| here: MDAnalysis, serial, cold, extrapolated from the first {run.part:,} frames"
        f" | {theirs:,.0f} |",
    ]
    print("\n".join(lines), flush=True)
    print(f"at the end: {describe_load()}")
    if options.scale == 1 and not options.no_record:
        record(rows, options.record, stamp, commit)
        write_section(PAGE, f"published-{run.name}", lines)


def parse() -> argparse.Namespace:
    """Return the options."""
    names = [run.name for run in RUNS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the files")
    parser.add_argument("--record", type=Path, default=HERE / "record", help="folder of the CSVs")
    parser.add_argument("--no-record", action="store_true", help="append and write nothing")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 1], help="default: 2 1")
    parser.add_argument("--runs", nargs="+", choices=names, default=names)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the published frames")
    parser.add_argument("--make", action="store_true", help="make the files, and measure nothing")
    parser.add_argument("--keep", action="store_true", help="do not delete the files")
    return parser.parse_args()


def main() -> None:
    """Make, measure and delete one run after the other."""
    options = parse()
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
