"""Describe the machine and the version of the source of a measurement."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Widest first: the words of /proc/cpuinfo and the names in trajet's reports.
INSTRUCTION_SETS = (("avx512f", "avx512"), ("avx2", "avx2"), ("asimd", "neon"), ("sse2", "sse2"))
# Features that trajet, or a peer, requires for a set.
VECTOR_FLAGS = re.compile(r"sse|ssse3|avx|fma|f16c|bmi|abm|movbe|popcnt|asimd|sve")
NOISE = re.compile(r"\((r|tm)\)|@.*$|\b(cpu|processor|\d+-core)\b", re.IGNORECASE)
# Files that a run itself writes, which do not change the source.
WRITTEN = (":(exclude,top)benches/record", ":(exclude,top)docs/performance.md")


@dataclass(frozen=True)
class Machine:
    """The processor: its model as the system names it, its cores, its widest instruction set.

    `flags` are the features of the processor that vector code requires.
    """

    cpu: str
    cores: int
    isa: str
    flags: tuple[str, ...]

    @property
    def slug(self) -> str:
        """Return the name of its folder under `record/`, such as `amd-epyc-2c`."""
        words = re.sub(r"[^a-z0-9]+", "-", NOISE.sub(" ", self.cpu).lower()).strip("-")
        return f"{words or 'unknown'}-{self.cores}c"

    def describe(self) -> str:
        """Return the content of `machine.txt` in its folder."""
        return (
            f"cpu: {self.cpu}\ncores: {self.cores}\nisa: {self.isa}\n"
            f"flags: {' '.join(self.flags)}\n"
        )


def this_machine() -> Machine:
    """Read the processor's name and flags if the system shows them."""
    fields: dict[str, str] = {}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            fields.setdefault(name.strip().lower(), value.strip())
    cpu = fields.get("model name") or platform.processor() or platform.machine()
    flags = f"{fields.get('flags', '')} {fields.get('features', '')}".split()
    isa = next((name for flag, name in INSTRUCTION_SETS if flag in flags), "unknown")
    vector = tuple(sorted(flag for flag in set(flags) if VECTOR_FLAGS.match(flag)))
    return Machine(cpu=cpu, cores=os.cpu_count() or 1, isa=isa, flags=vector)


def this_commit() -> str:
    """Return the short commit of the source, with `-dirty` if tracked files differ from it."""
    try:
        commit = _git("rev-parse", "--short", "HEAD").strip()
        return commit + ("-dirty" if _git("diff", "HEAD", "--name-only", *WRITTEN) else "")
    except (OSError, subprocess.CalledProcessError):
        return "none"


def _git(*arguments: str) -> str:
    """Return the output of git in the folder of the source."""
    folder = Path(__file__).resolve().parent.parent
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def describe_load() -> str:
    """Return the load of the machine: measurements beside other programs are invalid."""
    busy = os.getloadavg()[0]
    warning = "; OTHER PROGRAMS RUN: wait for a calm machine" if busy > 0.7 else ""
    return f"load {busy:.2f}{warning}"
