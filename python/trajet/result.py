"""Results: values with their units, frames, times and a report of where the time went."""

import csv
import io
import json
import os
import platform
import socket
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajet import advise, html, mdanalysis, output, plots
from trajet._trajet import INSTRUCTION_SET, FormatError, Reader, __version__, available_threads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = 2
REPORT_SUFFIXES = (".json", ".html")
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
COUNTS = (
    "requests",
    "opens",
    "bytes_read",
    "bytes_used",
    "frames",
    "empty_frames",
    "atoms_decoded",
)
# What a report that is read must have, itself and in its lists.
_NAMES = (
    *("analysis", "parameters", "inputs", "stages", "averages", "requests", "bytes_read", "frames"),
    *(
        "r_comp_io",
        "threads",
        "ranks_per_node",
        "workers",
        "tasks",
        "stragglers",
        "retried",
        "repeated",
    ),
    *("advice", "versions", "cpu", "instruction_set", "host", "platform"),
)
_OF_WORKER = (*STAGES, "worker", "thread", "host", "tasks", "frames", "requests", "opens")
_OF_TASK = ("pass", "task", "worker", "thread", "first", "frames", "t_begin", "t_end")


class Report(Mapping[str, Any]):
    """Where the time of a run went, and what it read. The names are described in docs/report.md."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._entries = dict(entries)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Report":
        """Read a report that was saved as JSON.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        FormatError
            If it is no report, or one of another version.
        """
        path = Path(path)
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: is no text: give what --report wrote") from error
        except ValueError as error:
            raise FormatError(f"{path}: is no report: {error}; give what --report wrote") from error
        schema = entries.get("schema") if isinstance(entries, dict) else None
        if schema is None:
            raise FormatError(f"{path}: is JSON, but no report: give what --report wrote")
        if schema != SCHEMA:
            raise FormatError(
                f"{path}: is a report of schema {schema}, this version of trajet knows {SCHEMA}:"
                " run the analysis again"
            )
        report = cls(entries)
        if missing := sorted(report._missing()):
            raise FormatError(f"{path}: is a report without {missing[0]}: give what --report wrote")
        return report

    def _missing(self) -> Iterator[str]:
        """Yield what a report of this schema has and this one has not."""
        yield from (name for name in _NAMES if name not in self)
        for name, needed in (("workers", _OF_WORKER), ("tasks", _OF_TASK)):
            for entry in self.get(name, ()):
                yield from (f"{each} in {name}" for each in needed if each not in entry)

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
        """Return a table of the stages, with the counts that matter most, and what bounded it."""
        stages = self["stages"]
        lines = [f"{name:<12}{stages[name]:>12.4f} s" for name in STAGES if stages[name] > 0]
        ratio = "" if self["r_comp_io"] is None else f", R_comp/IO {self['r_comp_io']:.3f}"
        lines.append(
            f"{self['frames']} frames, {self['requests']} requests, {self['bytes_read']} bytes,"
            f" {self['threads']} threads{ratio}"
        )
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self._entries, indent=1, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the report as one page of HTML that needs nothing else."""
        return html.page(self._entries)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as JSON, or as a page of HTML, which holds its figures.

        Raises
        ------
        ValueError
            If the name ends in neither `.json` nor `.html`.
        OutputError
            If it cannot be written.
        """
        path = Path(path)
        output.check(path, REPORT_SUFFIXES)
        text = self.to_json() if path.suffix.lower() == ".json" else self.to_html()
        output.write(path, lambda file: _write_text(file, text))


def bytes_by_place(entries: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the sums of what `entries` say they read of each tier and tag of a store, if any."""
    entries, sums = list(entries), {}
    for name in ("bytes_by_tier", "bytes_by_tag"):
        if said := [entry[name] for entry in entries if name in entry]:
            sums[name] = [sum(place) for place in zip(*said, strict=True)]
    return sums


def make_report(
    reader: Reader,
    run: Mapping[str, Any],
    analysis: Mapping[str, Any],
    tiers: Sequence[str] = (),
    tags: Sequence[str] = (),
) -> Report:
    """Put together what the run, the opening and the machine say.

    Parameters
    ----------
    reader
        The trajectory.
    run
        What the pool reports: `workers`, `tasks`, `passes`, `t_total`, and entries of its own,
        which go into the report as they are; its `versions` join the others.
    analysis
        What was asked for; goes into the report as it is.
    tiers
        Those of the store of a data set, in the order in which their bytes are counted.
    tags
        Those of the data set that are open, likewise.
    """
    opening, host = reader.opening(), socket.gethostname()
    workers, tasks = _places(run, host)
    for worker in workers:
        worker["t_io"] = worker["t_read"] + worker["t_decode"]
    stages = {name: sum(worker[name] for worker in workers) for name in STAGES}
    input_time = stages["t_read"] + stages["t_decode"]
    together = {**stages, "t_io": input_time}
    averages = {name: seconds / max(1, len(workers)) for name, seconds in together.items()}
    sample = run.get("sample")
    stages["t_open"] += opening["t_open"]
    stages["t_index"] += opening["t_index"]
    stages["t_merge"] += run.get("t_joining", 0.0)
    stages["t_total"] = run["t_total"]
    counts = {name: sum(worker[name] for worker in workers) for name in COUNTS}
    counts["opens"] += opening["opens"]
    versions = {"trajet": __version__, "python": platform.python_version(), "numpy": np.__version__}
    if (version := mdanalysis.version()) is not None:
        versions["MDAnalysis"] = version
    places = {(worker["host"], worker["worker"]) for worker in workers}
    of_places = bytes_by_place(workers)
    entries = {
        "pool": "local",
        **run,
        "schema": SCHEMA,
        **analysis,
        "stages": stages,
        "averages": averages,
        **counts,
        **of_places,
        # Room for more tiers is counted than there are.
        "tiers": dict(zip(tiers, of_places.get("bytes_by_tier", [0] * len(tiers)), strict=False)),
        "tags": dict(zip(tags, of_places.get("bytes_by_tag", [0] * len(tags)), strict=True)),
        "sample": sample,
        "r_comp_io": advise.computing_to_input(together if len(workers) == 1 else sample),
        "r_comp_comm": _ratio(stages["t_comp"], stages["t_comm"]),
        "passes": run["passes"],
        "threads": len(workers),
        "cores": available_threads(),
        "ranks_per_node": dict(sorted(Counter(host for host, _ in places).items())),
        "workers": workers,
        "tasks": tasks,
        "stragglers": advise.stragglers(workers, tasks, run["t_total"]),
        "retried": run.get("retried", []),
        "repeated": run.get("repeated", []),
        "opening": opening,
        "versions": {**versions, **run.get("versions", {})},
        "cpu": _cpu(),
        "instruction_set": INSTRUCTION_SET,
        "host": host,
        "platform": platform.platform(),
    }
    del entries["t_total"]
    return Report({**entries, "advice": advise.advice(entries)})


def _places(run: Mapping[str, Any], host: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return workers and tasks with process, thread and host.

    What the engine calls workers are threads of this process.
    """
    if all("thread" in worker for worker in run["workers"]):
        tasks = [{"thread": None, **task} for task in run["tasks"]]
        return [{"host": host, **worker} for worker in run["workers"]], tasks
    here = {"host": host, "process": os.getpid()}
    workers = [{**here, **w, "worker": 0, "thread": w["worker"]} for w in run["workers"]]
    tasks = [{**task, "worker": 0, "thread": task["worker"]} for task in run["tasks"]]
    return workers, tasks


def _ratio(part: float, other: float) -> float | None:
    """Return a ratio of seconds; None where it has no meaning."""
    return part / other if other > 0 else None


@cache
def _cpu() -> str:
    """Return the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class Result:
    """What every analysis returns: numbers with their report, to be drawn and saved.

    NPZ files hold everything, CSV files the numbers.
    """

    report: Report

    def __repr__(self) -> str:
        """Say what it holds, and how much of it: the numbers would fill pages."""
        return f"<{type(self).__name__}: {self._about()}>"

    def plot(self) -> "Figure":
        """Return a matplotlib Figure."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write NPZ, which `numpy.load` reads without pickle, or CSV with all digits.

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
            output.write(path, lambda file: np.savez(file, allow_pickle=False, **self._arrays()))
        else:
            output.write(path, self._write_csv)

    def _about(self) -> str:
        raise NotImplementedError

    def _arrays(self) -> dict[str, NDArray[Any]]:
        raise NotImplementedError

    def _header(self) -> list[str]:
        raise NotImplementedError

    def _rows(self) -> Iterable[Iterable[object]]:
        raise NotImplementedError

    def _write_csv(self, file: IO[bytes]) -> None:
        names = io.StringIO()
        # Whoever names a function, a segment or a residue may use commas and quotes.
        csv.writer(names, lineterminator="\n").writerow(self._header())
        _write_text(file, names.getvalue())
        for row in self._rows():
            _write_text(file, ",".join(map(repr, row)) + "\n")


@dataclass(frozen=True, repr=False)
class Series(Result):
    """Numbers a frame.

    NPZ files hold `values`, `times`, `frames`, `units` and `columns`; CSV files have the columns
    frame, time_ps and one a series.

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
    report: Report

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

    def _about(self) -> str:
        values = f"values {self.values.shape} {self.units}".rstrip()
        return f"{self.name} of {_frames(self.frames)}, {values}"

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "values": self.values,
            "times": self.times,
            "frames": self.frames,
            "units": np.array(self.units),
            "columns": np.array(self.columns),
        }

    def _names(self) -> list[str]:
        """Return the name of each column of numbers in a CSV file."""
        stem = f"{self.name.lower()}_{_ascii(self.units)}"
        return [stem, *(f"{stem}_group{k}" for k in range(1, len(self.columns)))]

    def _header(self) -> list[str]:
        return ["frame", "time_ps", *self._names()]

    def _rows(self) -> Iterable[Iterable[object]]:
        rows = self.values.reshape(len(self.frames), int(np.prod(self.values.shape[1:])))
        for frame, time, row in zip(self.frames.tolist(), self.times.tolist(), rows, strict=True):
            yield [frame, time, *row.tolist()]


@dataclass(frozen=True, repr=False)
class Dihedrals(Series):
    """Dihedral angles, or their cosines and sines, of each frame; saved as a `Series` is.

    Attributes
    ----------
    atoms
        `(n, 4)`, int64: the atoms of each angle, indices in the topology.
    backbone
        Whether the angles are φ and ψ of residues, in turns.
    features
        Whether the values are cosines and sines, in turns.
    """

    atoms: NDArray[np.int64]
    backbone: bool
    features: bool

    @property
    def angles(self) -> NDArray[np.float64]:
        """The angles, `(n_frames, n)`, degrees, also where the values are features."""
        if not self.features:
            return self.values
        cosines, sines = self.values[:, ::2], self.values[:, 1::2]
        return np.degrees(np.arctan2(sines, cosines))

    def plot(self) -> "Figure":
        """Draw φ against ψ of all residues and frames, or else each angle against time."""
        if self.backbone:
            angles = self.angles
            title = f"φ and ψ of {angles.shape[1] // 2} residues, {len(self.frames)} frames"
            return plots.ramachandran(angles[:, ::2], angles[:, 1::2], title=title)
        labels = self.columns[::2] if self.features else self.columns
        labels = tuple(label.removeprefix("cos ") for label in labels)
        return plots.angles(self.angles, self.times, self.frames, labels=labels)

    def _names(self) -> list[str]:
        unit = "" if self.features else "_degrees"
        return [name.replace(" ", "_") + unit for name in self.columns]


@dataclass(frozen=True, repr=False)
class Distances(Series):
    """Distances of pairs of atoms in each frame.

    NPZ files hold `values`, `times`, `frames`, `units`, `columns`, `atoms` and `partners` (empty
    for pairs among the atoms); CSV files have one column a pair, named by the atoms' indices.

    Attributes
    ----------
    values
        `(n_frames, n_atoms, n_partners)`, or `(n_frames, n_atoms (n_atoms - 1) / 2)` for the pairs
        among the atoms; float64, Å.
    atoms
        `(n_atoms,)`, int64, indices in the topology.
    partners
        `(n_partners,)`, int64; None for pairs among the atoms.
    to_reference
        Whether the partners are where they are in the reference, not in the frame.
    """

    atoms: NDArray[np.int64]
    partners: NDArray[np.int64] | None
    to_reference: bool

    def plot(self) -> "Figure":
        """Draw each distance against time where there are few, else the matrix of their means."""
        pairs = self.values.reshape(len(self.frames), int(np.prod(self.values.shape[1:])))
        if pairs.shape[1] <= len(plots.COLOURS):
            return plots.series(
                pairs,
                self.times,
                self.frames,
                labels=tuple(self.pair_names()),
                quantity=f"{self.name} ({self.units})",
                title=" to ".join(self.columns),
            )
        return plots.matrix(
            self._mean_matrix(),
            self.atoms,
            self.atoms if self.partners is None else self.partners,
            quantity=f"mean {self.name} ({self.units})",
            axes=(self.columns[0], self.columns[-1] + (" (reference)" * self.to_reference)),
        )

    def _mean_matrix(self) -> NDArray[np.float64]:
        """Return the mean over the frames with positions, `(n_atoms, n_partners)`."""
        with warnings.catch_warnings():
            # Of no frame at all.
            warnings.simplefilter("ignore", RuntimeWarning)
            mean: NDArray[np.float64] = np.nanmean(self.values, axis=0)
        if self.partners is not None:
            return mean
        square = np.zeros((len(self.atoms),) * 2)
        square[np.triu_indices(len(self.atoms), 1)] = mean
        return square + square.T

    def _arrays(self) -> dict[str, NDArray[Any]]:
        partners = np.empty(0, np.int64) if self.partners is None else self.partners
        return {**super()._arrays(), "atoms": self.atoms, "partners": partners}

    def pair_names(self, count: int | None = None) -> list[str]:
        """Return the atoms of the first `count` pairs, or of all, as "17-203"."""
        atoms = self.atoms.tolist()
        then = "ref" if self.to_reference else ""
        if self.partners is None:
            pairs = ((i, j) for k, i in enumerate(atoms) for j in atoms[k + 1 :])
        else:
            partners = self.partners.tolist()
            pairs = ((i, j) for i in atoms for j in partners)
        return [f"{i}-{then}{j}" for i, j in islice(pairs, count)]

    def _names(self) -> list[str]:
        return [f"distance_A_{pair}" for pair in self.pair_names()]


@dataclass(frozen=True, repr=False)
class Applied(Result):
    """What a function of one's own returned.

    NPZ files hold `values`, `times` and `frames`; CSV files have the columns frame, time_ps and one
    a number of a frame, or where all frames were reduced to a few numbers, index and value.

    Attributes
    ----------
    values
        `(n_frames, …)`, or what a reducer made of all frames; float64.
    times
        `(n_frames,)`, float64, ps.
    frames
        `(n_frames,)`, int64, frame numbers.
    name
        The function's.
    reduced
        Whether there was a reducer.
    report
        Where the time went.
    """

    values: NDArray[np.float64]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]
    name: str
    reduced: bool
    report: Report

    def plot(self) -> "Figure":
        """Draw the numbers of a frame against time.

        Raises
        ------
        ValueError
            If they are too many to tell apart, or all frames were reduced.
        """
        columns = self._columns()
        if self.reduced or len(columns) > len(plots.COLOURS):
            raise ValueError(
                f"values of shape {self.values.shape} are no few series: draw them yourself"
            )
        return plots.series(
            self.values.reshape(len(self.frames), len(columns)),
            self.times,
            self.frames,
            labels=tuple(columns),
            quantity=self.name,
            title=self.name,
        )

    def _columns(self) -> list[str]:
        inner = self.values.shape[1:]
        return ["_".join([self.name, *map(str, index)]) for index in np.ndindex(*inner)]

    def _about(self) -> str:
        return f"{self.name} of {_frames(self.frames)}, values {self.values.shape}"

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"values": self.values, "times": self.times, "frames": self.frames}

    def _header(self) -> list[str]:
        return ["index", "value"] if self.reduced else ["frame", "time_ps", *self._columns()]

    def _rows(self) -> Iterable[Iterable[object]]:
        if self.reduced:
            yield from enumerate(self.values.reshape(-1).tolist())
            return
        rows = self.values.reshape(len(self.frames), int(np.prod(self.values.shape[1:])))
        for frame, time, row in zip(self.frames.tolist(), self.times.tolist(), rows, strict=True):
            yield [frame, time, *row.tolist()]


@dataclass(frozen=True, repr=False)
class AtomValues(Result):
    """One number an atom.

    NPZ files hold `values`, `atoms` and `units`; CSV files have the columns atom, resid (where
    residues are numbered) and the values.

    Attributes
    ----------
    values
        `(n_atoms,)`, float64, `units`.
    atoms
        `(n_atoms,)`, int64, indices in the topology.
    residues
        `(n_atoms,)`, int64, residue numbers; None where there are none.
    units
        Of the values.
    label
        What the atoms are: the selection.
    name
        What was computed.
    report
        Where the time went.
    """

    values: NDArray[np.float64]
    atoms: NDArray[np.int64]
    residues: NDArray[np.int64] | None
    units: str
    label: str
    name: str
    report: Report

    def plot(self) -> "Figure":
        """Draw the values along the sequence of residues, or of atoms where they have none."""
        return plots.profile(
            self.values,
            self.atoms,
            self.residues,
            quantity=f"{self.name} ({self.units})",
            title=f"{self.name} of {self.label}",
        )

    def _about(self) -> str:
        return f"{self.name} of {self.label!r}, values {self.values.shape} {self.units}"

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"values": self.values, "atoms": self.atoms, "units": np.array(self.units)}

    def _header(self) -> list[str]:
        resid = [] if self.residues is None else ["resid"]
        return ["atom", *resid, f"{self.name.lower()}_{_ascii(self.units)}"]

    def _rows(self) -> Iterable[Iterable[object]]:
        columns = [self.atoms, self.values]
        if self.residues is not None:
            columns.insert(1, self.residues)
        return zip(*(column.tolist() for column in columns), strict=True)


@dataclass(frozen=True, repr=False)
class RadialDistribution(Result):
    """A radial distribution function.

    NPZ files hold `r`, `g`, `counts` and `edges`; CSV files have the columns r_A, g and count.

    Attributes
    ----------
    r
        `(bins,)`, float64, centres of the bins, Å.
    g
        `(bins,)`, float64; 1 where atoms are as frequent as their mean density says.
    counts
        `(bins,)`, float64 of whole numbers: pairs in each bin, of all frames.
    edges
        `(bins + 1,)`, float64, Å.
    labels
        What the two groups of atoms are.
    density
        Mean number density of the second group, 1/Å³.
    report
        Where the time went.
    """

    r: NDArray[np.float64]
    g: NDArray[np.float64]
    counts: NDArray[np.float64]
    edges: NDArray[np.float64]
    labels: tuple[str, str]
    density: float
    report: Report

    def plot(self) -> "Figure":
        """Draw g against the distance."""
        return plots.radial(self.edges, self.g, title=f"RDF of {self._between()}")

    def _about(self) -> str:
        return f"RDF of {self._between()}, g {self.g.shape}"

    def _between(self) -> str:
        """Return what the groups are."""
        return " and ".join(dict.fromkeys(self.labels))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"r": self.r, "g": self.g, "counts": self.counts, "edges": self.edges}

    def _header(self) -> list[str]:
        return ["r_A", "g", "count"]

    def _rows(self) -> Iterable[Iterable[object]]:
        counts = self.counts.astype(np.int64)
        return zip(self.r.tolist(), self.g.tolist(), counts.tolist(), strict=True)


def _frames(frames: NDArray[np.int64]) -> str:
    """Return how many frames there are, in words."""
    return f"{len(frames)} frame{'' if len(frames) == 1 else 's'}"


def _ascii(units: str) -> str:
    """Return units as the header of a CSV file writes them."""
    return {"Å": "A"}.get(units, units)


def _write_text(file: IO[bytes], text: str) -> None:
    file.write(text.encode())
