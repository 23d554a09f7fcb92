"""`gmx rms` and cpptraj's `rms`, if they are on PATH: whole commands, with their start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from cases import Case, MissingError, Truth, expect_values

from peers.contestant import Contestant

ANGSTROM_PER_NM = 10.0
# The frame on which all others are fitted; `trajectories.py` makes it.
FIRST_FRAME = "adk0.gro"
TABLE, INDEX = "rmsd.xvg", "atoms.ndx"
# gmx keeps no backups of files that it overwrites, and prints as little as possible.
ENVIRONMENT = {**os.environ, "GMX_MAXBACKUP": "-1"}


@dataclass(frozen=True)
class Program:
    """A command that writes `TABLE` (time and RMSD) to its folder; `angstrom` is Å in its unit."""

    tool: str
    version: str
    command: list[str]
    spoken: str
    angstrom: float

    def run(self, truth: Truth) -> tuple[float, np.ndarray]:
        """Return the seconds that the command took, and the RMSD values, Å."""
        with TemporaryDirectory() as folder:
            atoms = " ".join(str(index + 1) for index in truth.indices)
            (Path(folder) / INDEX).write_text(f"[ atoms ]\n{atoms}\n")
            start = perf_counter()
            done = subprocess.run(
                self.command,
                check=False,
                cwd=folder,
                env=ENVIRONMENT,
                input=self.spoken,
                capture_output=True,
                text=True,
            )
            seconds = perf_counter() - start
            table = Path(folder) / TABLE
            if done.returncode or not table.exists():
                output = " ".join((done.stdout + done.stderr).split())
                raise MissingError(f"{self.tool} failed ({done.returncode}): ... {output[-400:]}")
            return seconds, np.loadtxt(table)[:, 1] * self.angstrom

    def contestants(self, case: Case, truth: Truth) -> list[Contestant]:
        """Return the command as a contestant."""

        def verify() -> None:
            expect_values(self.run(truth)[1], case, truth, self.tool)

        note = f"{self.tool}: the whole command"
        once = lambda: self.run(truth)[0]  # noqa: E731
        return [Contestant(self.tool, self.version, 1, verify, once, note=note)]


def find_version(command: list[str], pattern: str) -> str:
    """Return the version that a program prints; raise `MissingError` if it is not on PATH."""
    if shutil.which(command[0]) is None:
        raise MissingError(f"{command[0]}: not on PATH")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    found = re.search(pattern, done.stdout + done.stderr)
    return found[1] if found else "unknown"


def prepare_gmx(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare `gmx rms` with equal weights."""
    if case.task != "rmsd":
        return []
    version = find_version(["gmx", "--version"], r"GROMACS version:\s+([\w.]+)")
    structure = str(case.trajectory.parent.absolute() / FIRST_FRAME)
    files = ["-s", structure, "-f", str(case.trajectory.absolute()), "-n", INDEX, "-o", TABLE]
    options = ["-fit", "rot+trans", "-nomw", "-nopbc", "-xvg", "none"]
    command = ["gmx", "-quiet", "rms", *files, *options]
    return Program("gmx", version, command, "0 0\n", ANGSTROM_PER_NM).contestants(case, truth)


def prepare_cpptraj(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare cpptraj's `rms` to the first frame."""
    if case.task != "rmsd":
        return []
    version = find_version(["cpptraj", "--version"], r"Version\s+V?([\w.]+)")
    atoms = ",".join(str(index + 1) for index in truth.indices)
    script = (
        f"parm {case.topology.absolute()}\n"
        f"trajin {case.trajectory.absolute()}\n"
        f"rms first @{atoms} out {TABLE} prec 12.6\nrun\n"
    )
    return Program("cpptraj", version, ["cpptraj"], script, 1.0).contestants(case, truth)
