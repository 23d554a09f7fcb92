"""Results: values with their units, frames, times and a report of where the time went."""

import json
import os
import platform
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajet import mdanalysis, output, plots
from trajet._trajet import INSTRUCTION_SET, Reader, __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAGES = (
    "t_open",
    "t_index",
    "t_read",
    "t_decode",
    "t_comp",
    "t_wait",
    "t_comm",
    "t_merge",
    "t_close",
    "t_overhead",
    "t_total",
)
_COUNTS = (
    "requests",
    "opens",
    "bytes_read",
    "bytes_used",
    "frames",
    "empty_frames",
    "atoms_decoded",
)


class Report(Mapping[str, Any]):
    """Where the time of a run went, and what it read. The names are described in docs/report.md."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Any:
        """Return one entry."""
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        """Go over the names."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def __repr__(self) -> str:
        """Return a table of the stages, with the counts that matter most."""
        stages = self["stages"]
        lines = [f"{name:<12}{stages[name]:>12.4f} s" for name in STAGES if stages[name] > 0]
        lines.append(
            f"{self['frames']} frames, {self['requests']} requests, {self['bytes_read']} bytes,"
            f" {self['threads']} threads, R_comp/IO {self['r_comp_io']:.3f}"
        )
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self._entries, indent=1, allow_nan=False) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as JSON.

        Raises
        ------
        ValueError
            If the name does not end in `.json`.
        OutputError
            If it cannot be written.
        """
        path = Path(path)
        output.check(path, (".json",))
        output.write(path, lambda file: _write_text(file, self.to_json()))


def make_report(reader: Reader, run: Mapping[str, Any], analysis: Mapping[str, Any]) -> Report:
    """Put together what the run, the opening and the machine say.

    Parameters
    ----------
    reader
        The trajectory.
    run
        What the engine reports: `workers`, `tasks`, `passes`, `t_total`.
    analysis
        What was asked for; goes into the report as it is.
    """
    workers, opening = run["workers"], reader.opening()
    stages = {name: sum(worker[name] for worker in workers) for name in STAGES}
    stages["t_open"] += opening["t_open"]
    stages["t_index"] += opening["t_index"]
    stages["t_total"] = run["t_total"]
    counts = {name: sum(worker[name] for worker in workers) for name in _COUNTS}
    counts["opens"] += opening["opens"]
    io = stages["t_read"] + stages["t_decode"]
    versions = {"trajet": __version__, "python": platform.python_version(), "numpy": np.__version__}
    if (version := mdanalysis.version()) is not None:
        versions["MDAnalysis"] = version
    host = socket.gethostname()
    return Report(
        {
            "schema": 1,
            **analysis,
            "stages": stages,
            **counts,
            "r_comp_io": stages["t_comp"] / io if io > 0 else 0.0,
            "passes": run["passes"],
            "threads": len(workers),
            "workers": [{"host": host, **worker} for worker in workers],
            "tasks": run["tasks"],
            "opening": opening,
            "versions": versions,
            "cpu": _cpu(),
            "instruction_set": INSTRUCTION_SET,
            "host": host,
            "platform": platform.platform(),
        }
    )


def _cpu() -> str:
    """Return the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@dataclass(frozen=True)
class Series:
    """Numbers a frame.

    Attributes
    ----------
    values
        `(n_frames,)`, or `(n_frames, n_columns)` where there are several; float64, `units`.
    times
        `(n_frames,)`, float64, ps.
    frames
        `(n_frames,)`, int64, frame numbers.
    units
        Of the values.
    columns
        What each column is: the selections.
    name
        What was computed.
    report
        Where the time went.
    """

    values: NDArray[np.float64]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]
    units: str
    columns: tuple[str, ...]
    name: str
    report: Report = field(repr=False)

    def plot(self) -> "Figure":
        """Draw the series against time and return the matplotlib Figure.

        Examples
        --------
        >>> figure = result.plot()
        >>> figure.savefig("rmsd.png")
        """
        return plots.series(
            self.values,
            self.times,
            self.frames,
            labels=self.columns,
            quantity=f"{self.name} ({self.units})",
            title=f"{self.name} of {self.columns[0]}" if len(self.columns) == 1 else self.name,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the series as NPZ (`values`, `times`, `frames`, `units`, `columns`) or CSV.

        CSV has the columns frame, time_ps and one a series, with all digits.

        Raises
        ------
        ValueError
            If the name ends in neither `.npz` nor `.csv`.
        OutputError
            If it cannot be written.
        """
        path = Path(path)
        output.check(path, (".npz", ".csv"))
        if path.suffix.lower() == ".npz":
            output.write(path, self._write_npz)
        else:
            output.write(path, self._write_csv)

    def _write_npz(self, file: IO[bytes]) -> None:
        np.savez(
            file,
            values=self.values,
            times=self.times,
            frames=self.frames,
            units=np.array(self.units),
            columns=np.array(self.columns),
        )

    def _write_csv(self, file: IO[bytes]) -> None:
        unit = {"Å": "A"}.get(self.units, self.units)
        stem = f"{self.name.lower()}_{unit}"
        names = [stem, *(f"{stem}_group{k}" for k in range(1, len(self.columns)))]
        _write_text(file, ",".join(["frame", "time_ps", *names]) + "\n")
        rows = self.values.reshape(len(self.frames), -1)
        for frame, time, row in zip(
            self.frames.tolist(), self.times.tolist(), rows.tolist(), strict=True
        ):
            _write_text(file, ",".join([str(frame), repr(time), *map(repr, row)]) + "\n")


def _write_text(file: IO[bytes], text: str) -> None:
    file.write(text.encode())
