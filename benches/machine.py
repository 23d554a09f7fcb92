"""Name the machine and the state of the source that a figure belongs to."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Widest first; the words are those of /proc/cpuinfo and the names those of trajet's reports.
INSTRUCTION_SETS = (("avx512f", "avx512"), ("avx2", "avx2"), ("asimd", "neon"), ("sse2", "sse2"))
NOISE = re.compile(r"\((r|tm)\)|@.*$|\b(cpu|processor|\d+-core)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Machine:
    """The processor: model as the system names it, cores that it has, widest instruction set."""

    cpu: str
    cores: int
    isa: str

    @property
    def slug(self) -> str:
        """Name of its folder under `record/`, such as `amd-epyc-2c`."""
        words = re.sub(r"[^a-z0-9]+", "-", NOISE.sub(" ", self.cpu).lower()).strip("-")
        return f"{words or 'unknown'}-{self.cores}c"


def this_machine() -> Machine:
    """Read the processor's name and flags where the system shows them."""
    fields: dict[str, str] = {}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            fields.setdefault(name.strip().lower(), value.strip())
    cpu = fields.get("model name") or platform.processor() or platform.machine()
    flags = f"{fields.get('flags', '')} {fields.get('features', '')}".split()
    isa = next((name for flag, name in INSTRUCTION_SETS if flag in flags), "unknown")
    return Machine(cpu=cpu, cores=os.cpu_count() or 1, isa=isa)


def this_commit() -> str:
    """Return the short commit of the source, `-dirty` where tracked files differ from it."""
    folder = Path(__file__).resolve().parent
    try:
        return subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude", "*"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"
