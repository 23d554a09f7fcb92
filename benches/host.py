"""The machine, the source and the load of a measurement, and where its results are written."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA, RECORD = HERE / "data", HERE / "record" / "runs.csv"
PAGES = HERE.parent / "docs"
# Words of /proc/cpuinfo and names in trajet's reports, widest first.
INSTRUCTION_SETS = (("avx512f", "avx512"), ("avx2", "avx2"), ("asimd", "neon"), ("sse2", "sse2"))
COLUMNS = (
    *("date", "commit", "cpu", "cores", "isa", "bench", "case", "tool", "version", "threads"),
    *("frames", "atoms", "best_s", "median_s", "more"),
)


class MissingError(Exception):
    """A program is not installed or not built, or does not support a case."""


def load() -> Any:
    """Return the package; raise `MissingError` if it is missing, or no release build."""
    try:
        import trajet as tj
    except ModuleNotFoundError as error:
        raise MissingError(f"trajet: {error}") from None
    if tj._trajet.DEBUG_BUILD or tj._trajet.TEST_BUILD:
        raise MissingError("trajet is no release build: make .venv/.made-built")
    return tj


def require_release_build() -> None:
    """End the program if trajet is missing, or no release build."""
    try:
        load()
    except MissingError as error:
        raise SystemExit(str(error)) from None


def machine() -> dict[str, Any]:
    """Return the name of the processor, its cores and its widest instruction set."""
    fields: dict[str, str] = {}
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text(errors="replace").splitlines() if cpuinfo.exists() else ():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    flags = f"{fields.get('flags', '')} {fields.get('features', '')}".split()
    return {
        "cpu": fields.get("model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "isa": next((name for flag, name in INSTRUCTION_SETS if flag in flags), "unknown"),
    }


def commit() -> str:
    """Return the short commit of the source, with `-dirty` if other files than results differ."""
    excluded = [f":(exclude,top){name}" for name in ("benches/record", "docs")]
    try:
        differs = _git("diff", "HEAD", "--name-only", "--", ".", *excluded)
        return _git("rev-parse", "--short", "HEAD").strip() + ("-dirty" if differs else "")
    except (OSError, subprocess.CalledProcessError):
        return "none"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(HERE.parent), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def describe_load() -> str:
    """Return the load of the machine: measurements beside other programs are invalid."""
    busy = os.getloadavg()[0]
    warning = "; OTHER PROGRAMS RUN: wait for a calm machine" if busy > 0.7 else ""
    return f"load {busy:.2f}{warning}"


def stamp() -> str:
    """Return the processor, the date and the commit, as tables on pages state them."""
    here = machine()
    return f"{here['cpu']}, {here['cores']} cores, {datetime.now(UTC):%Y-%m-%d}, {commit()}"


def drop_pages(path: Path) -> None:
    """Write a file to the disk and drop its pages from the page cache."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(path: Path) -> None:
    """Read a file into the page cache in sequential order.

    From single pages, as programs leave them that write in small pieces, reading takes twice as
    long as from the large ones that this makes.
    """
    drop_pages(path)
    with path.open("rb") as stream:
        while stream.read(1 << 20):
            pass


def record(bench: str, rows: Sequence[Mapping[str, Any]], path: Path = RECORD) -> None:
    """Append runs to the table of all runs; entries that are no columns go into `more`, as JSON."""
    common = {"date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "commit": commit(), **machine()}
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        for row in rows:
            more = {name: value for name, value in row.items() if name not in COLUMNS}
            columns = {name: value for name, value in row.items() if name in COLUMNS}
            entry = {**common, "bench": bench, **columns}
            writer.writerow({**entry, "more": json.dumps(more) if more else ""})
    print(f"recorded in {path}")


def write_section(page: str, name: str, lines: Sequence[str]) -> None:
    """Put lines between `<!-- NAME:begin -->` and `<!-- NAME:end -->` of a page of docs."""
    path = PAGES / page
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, found, rest = path.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{path}: has no {begin} ... {end}")
    path.write_text("\n".join([before + begin, *lines, end + after]))
    print(f"written to {path}")


def as_lines(head: Sequence[object], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return a table of Markdown."""
    first, *others = ["| " + " | ".join(map(str, cells)) + " |" for cells in (head, *rows)]
    return [first, "|---" * len(head) + "|", *others]


def digits(us: float) -> str:
    """Return a time with about three digits."""
    return f"{us:,.0f}" if us >= 100 else f"{us:.1f}" if us >= 10 else f"{us:.2f}"
