"""Compare each stage of reading with its limit: the table of docs/performance.md.

For every format, and for XTC with every instruction set that the processor has, one thread takes
the file stage by stage: the file's bytes copied in memory (no reader can do with less), read from
the page cache in large requests, decoded; then read and decoded within an analysis, for all atoms,
for the C-alpha atoms and for the first half of the atoms; and all atoms handed to Python by
`blocks`. Each row is measured by processes of its own, which take turns; the best of the rounds
counts. The table goes into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, MissingError, all_cases
from host import describe_load, this_commit, this_machine
from page import PAGE, digits, write_section
from peers.contestant import clock
from peers.mdanalysis import open_universe, select
from peers.trajet import load
from rounds import warm

HERE = Path(__file__).resolve().parent
VARIABLE = "TRAJET_INSTRUCTION_SET"
# Bytes of a request, as trajet makes them on local disks.
REQUEST = 256 << 10
# Offset in a page of memory to which a page of the file is copied, as in `Window` of trajet-files:
# a little behind its own offset, where NumPy's large arrays begin, reading takes twice as long.
MEMORY_PAGE, APART = 4096, 2064
# The cases whose files are read; all of them have C-alpha atoms.
ROWS = ("trr-all", "dcd-all", "ncdf-all", "adk-all", "solvated-all")
STAGES = {
    "copy": "copy",
    "requests": "read requests",
    "decode": "decoding",
    "all": "all atoms",
    "C-alpha": "C-alpha",
    "half": "first half",
    "blocks": "`blocks`",
}


@dataclass(frozen=True)
class Row:
    """One file with one instruction set."""

    case: Case
    isa: str

    def measure(self, calpha: list[int]) -> dict[str, float]:
        """Return the result of a process of its own: seconds of each stage, and counts."""
        asked = {"trajectory": str(self.case.trajectory), "calpha": calpha}
        done = subprocess.run(
            [sys.executable, __file__, "--measure", json.dumps(asked)],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, VARIABLE: self.isa},
        )
        result: dict[str, float] = json.loads(done.stdout)
        return result


def measure(asked: dict[str, Any]) -> dict[str, float]:
    """Measure the stages in this process, with the instruction set of its environment."""
    tj = load()
    path = asked["trajectory"]
    traj = tj.open(None, path)
    n_atoms = traj.n_atoms
    stored = np.fromfile(path, np.uint8)
    memory = np.empty(REQUEST + MEMORY_PAGE, np.uint8)
    buffer = memory[(APART - memory.ctypes.data) % MEMORY_PAGE :][:REQUEST]
    one = tj.LocalPool(threads=1)

    def copy() -> None:
        for begin in range(0, len(stored), REQUEST):
            piece = stored[begin : begin + REQUEST]
            buffer[: len(piece)] = piece

    def request() -> None:
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    def blocks() -> None:
        for _ in traj.blocks():
            pass

    def within(atoms: Any) -> tuple[float, float]:
        """Return the seconds of decoding, and of reading and decoding, in an analysis."""
        result = tj.rmsd(traj.select(atoms), motion="none", pool=one)
        stages = result.report["stages"]
        return stages["t_decode"], stages["t_read"] + stages["t_decode"]

    found = {"copy": clock(copy)(), "requests": clock(request)()}
    found["decode"], found["all"] = within(np.arange(n_atoms))
    found["C-alpha"] = within(asked["calpha"])[1]
    found["half"] = within(np.arange(n_atoms // 2))[1]
    found["blocks"] = clock(blocks)()
    return {**found, "frames": traj.n_frames, "atoms": n_atoms}


def rows_of(folder: Path, *, quick: bool) -> list[Row]:
    """Return the rows of the table; a file that trajet cannot open is left out."""
    tj = load()
    sets = tj._trajet.INSTRUCTION_SETS
    cases = {case.name: case for case in all_cases(folder, "", quick=quick)}
    rows = []
    for case in (cases[name] for name in ROWS):
        try:
            tj.open(None, str(case.trajectory))
        except tj.FormatError as error:
            print(f"skipped: trajet cannot open {case.trajectory.name}: {error}")
            continue
        rows += [
            Row(case, isa) for isa in (sets if case.trajectory.suffix == ".xtc" else sets[-1:])
        ]
    return rows


def find_calpha(case: Case) -> list[int]:
    """Return the indices of the C-alpha atoms."""
    indices: list[int] = select(case, open_universe(case)).select_atoms("name CA").indices.tolist()
    return indices


def take_rounds(rows: list[Row], rounds: int) -> list[dict[str, float]]:
    """Let the rows take turns; return the best of each stage."""
    calpha = {row.case.name: find_calpha(row.case) for row in rows}
    best: list[dict[str, float]] = [{} for _ in rows]
    for row in rows:
        warm(row.case.trajectory)
    for _ in range(rounds):
        for row, kept in zip(rows, best, strict=True):
            for name, value in row.measure(calpha[row.case.name]).items():
                kept[name] = min(value, kept.get(name, value))
    return best


def as_table(rows: list[Row], best: list[dict[str, float]]) -> list[str]:
    """Return the lines of the table, in Markdown: µs per frame, and the ratio to a copy."""
    head = " | ".join(STAGES.values()).replace("all atoms", "all atoms | ns an atom")
    lines = [f"| file | instruction set | {head} |", "|---" * (3 + len(STAGES)) + "|"]
    for row, found in zip(rows, best, strict=True):
        us = {name: found[name] / found["frames"] * 1e6 for name in STAGES}
        cells = {name: f"{digits(us[name])} ({us[name] / us['copy']:.1f})" for name in STAGES}
        cells["copy"] = digits(us["copy"])
        cells["all"] += f" | {us['all'] * 1e3 / found['atoms']:.2f}"
        name = f"`{row.case.trajectory.name}`"
        lines.append(f"| {name} | {row.isa} | " + " | ".join(cells[s] for s in STAGES) + " |")
    return lines


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the files")
    parser.add_argument("--no-record", action="store_true", help="write nothing")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each row (default 7)")
    parser.add_argument("--quick", action="store_true", help="short files; nothing is written")
    parser.add_argument("--measure", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Measure all rows; 1 where trajet or a file is missing."""
    arguments = parse()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return 0
    machine = this_machine()
    print(f"{machine.cpu}, {machine.cores} cores; {describe_load()}")
    try:
        rows = rows_of(arguments.data, quick=arguments.quick)
    except (MissingError, FileNotFoundError) as error:
        print(f"stages: {error}; trajectories.py makes the files", file=sys.stderr)
        return 1
    best = take_rounds(rows, arguments.rounds)
    files = {row.case.trajectory.name: found for row, found in zip(rows, best, strict=True)}
    sizes = (f"`{name}` {found['atoms']:,} atoms" for name, found in files.items())
    stamp = f"{machine.cpu}, {machine.cores} cores, {datetime.now(UTC):%Y-%m-%d}, {this_commit()}"
    lines = [f"{stamp}; best of {arguments.rounds} rounds.", f"{', '.join(sizes)}.", ""]
    lines += as_table(rows, best)
    print("\n".join(lines))
    print(f"at the end: {describe_load()}")
    if not (arguments.quick or arguments.no_record):
        write_section(PAGE, "stages", lines)
        print(f"written to {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
