"""Commands on files: `trajet info | index`."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, final

import click
import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import FormatError, OutputError, TrajetError
from trajet.advise import in_bytes
from trajet.box import Box
from trajet.cli import options, topologies
from trajet.cli.command import command
from trajet.cli.open_options import REMOTE, open_files, open_with_progress, opening
from trajet.cli.results import check_json, echo_json, json_option
from trajet.cli.tables import EXPECTED, wrapped
from trajet.cli.translation import as_options, error_line
from trajet.dataset import find_dataset
from trajet.digits import in_digits
from trajet.formats import STRUCTURE_SUFFIXES, WRITTEN_SUFFIXES, is_dump
from trajet.messages import Message
from trajet.remote import INDEX_SUFFIX, is_url, name_of, suffix_of
from trajet.result import json_object
from trajet.structure_files import read_structure
from trajet.topology import Topology, load
from trajet.trajectory import OpenOptions, Trajectory, is_structure, opened_names, rounding_of_times

# Endings of the names of trajectories.
_OF_TRAJECTORIES = (*WRITTEN_SUFFIXES, *STRUCTURE_SUFFIXES)


@command()
@options.files
@click.option("--residues", is_flag=True, help="Also list the residues of topologies.")
@json_option
@opening("continuous", "allow_truncated_tail", "format_options", "time_step", *REMOTE)
def info(files: list[str], residues: bool, as_json: bool, how: OpenOptions) -> None:
    """Describe trajectories and topologies.

    For a topology, it prints atoms, residues, chains, molecules, names that selections can use, and
    missing data. The first use of a trajectory builds its index and keeps it beside the file.
    Several trajectories of the same atoms are also described as one, as other commands read them.
    If a file cannot be read, an error is printed, the other files are described, and the exit code
    is 1.

    \b
    Examples:
      trajet info adk.xtc
      trajet info top.tpr
      trajet info top.tpr --residues
      trajet info run*/traj.xtc --json
      trajet info --continuous 'run.part*.xtc'
      trajet info --allow-truncated-tail still-running.xtc
    """
    how_alone = replace(how, continuous=False)
    described, failures = list[_Described](), _Failures()
    for file in files:
        found = None
        with failures.go_on():
            found = _describe(file, how_alone, residues=residues)
        if found is None:
            continue
        if not as_json:
            if described:
                click.echo()
            found.echo()
        described.append(found)
    together = None
    trajectories = [found for found in described if found.trajectory is not None]
    sizes = {found.trajectory["atoms"] for found in trajectories if found.trajectory is not None}
    if not failures.any and len(trajectories) > 1 and len(sizes) == 1:
        names = [found.file for found in trajectories]
        opened = open_files(None, names, how.for_names(names))
        together = _Described("", trajectory=_facts_together(opened))
    if as_json:
        documents = [found.document() for found in described]
        documents += [together.document()] if together else []
        echo_json(documents[0] if len(files) == 1 and documents else documents)
    elif together is not None:
        click.echo()
        together.echo()
    failures.leave()


class _Clock(TypedDict):
    """Facts on the times of frames."""

    first_time_ps: float
    last_time_ps: float
    time_step_ps: float | None
    time_step: str


@final
class _FileFacts(_Clock):
    """Facts on the frames of a file."""

    file: str
    format: str
    atoms: int
    frames: int
    cell: list[float] | str | None
    # Along a, b and c.
    periodic: list[bool]
    size: int
    bytes_per_frame: float
    truncated_tail: int
    index: str
    messages: list[Message]


@final
class _JointFacts(_Clock):
    """Facts on the frames of several files together."""

    together: int
    atoms: int
    frames: int
    size: int
    messages: list[Message]


@dataclass(frozen=True)
class _Described:
    """Description of a file for `trajet info`.

    Attributes
    ----------
    file
        Its path; empty for several files together.
    trajectory, topology
        Facts on its frames, and on its atoms; None if it has none.
    """

    file: str
    trajectory: _FileFacts | _JointFacts | None = None
    topology: topologies.TopologyFacts | None = None

    def document(self) -> Mapping[str, object]:
        """Return the facts as values that JSON has."""
        facts: dict[str, object] = {"file": self.file} if self.file else {}
        facts.update(self.trajectory or {})
        if self.topology is not None:
            facts["topology"] = self.topology
        return json_object(facts)

    def echo(self) -> None:
        """Print the facts."""
        if self.trajectory is not None:
            _print(_lines(self.trajectory))
        if self.topology is not None:
            if self.trajectory is None:
                _print([("file", self.file), ("format", topologies.topology_format(self.file))])
            n_atoms = None if self.trajectory is None else self.trajectory["atoms"]
            _print(topologies.lines_on(self.topology, n_atoms))
            if "residue_list" in self.topology:
                for line in topologies.residue_lines(self.topology):
                    click.echo(line)


def _describe(file: str, how: OpenOptions, *, residues: bool) -> _Described:
    """Describe a trajectory, a topology, or a file that is both."""
    how = how.for_names([file])
    if is_url(file) and suffix_of(file) not in _OF_TRAJECTORIES:
        named = opened_names(file, [], how.storage_options, allow_http=how.allow_http)
        if named.topology_at is not None and _is_topology(str(named.topology_at), how):
            topology = _load(str(named.topology_at), how)
            return _of_topology(topology, name_of(file), residues=residues)
    if _is_topology(file, how):
        return _of_topology(_load(file, how), file, residues=residues)
    try:
        opened = open_files(None, [file], how)
    except FormatError:
        if _is_named_as_trajectory(file):
            raise
        # A topology that only MDAnalysis reads.
        with contextlib.suppress(TrajetError):
            return _of_topology(_load(file, how), file, residues=residues)
        raise
    described = _Described(file, _facts(opened))
    if is_structure(file):
        opened = open_files(file, [], how)
    if not opened.has_topology:
        return described
    facts = topologies.facts_of(opened.topology, residues=residues)
    return replace(described, topology=facts)


def _of_topology(topology: Topology, file: str, *, residues: bool) -> _Described:
    return _Described(file, topology=topologies.facts_of(topology, residues=residues))


def _load(file: str, how: OpenOptions) -> Topology:
    return load(Path(file), format_options=how.format_options_text).topology


def _is_topology(file: str, how: OpenOptions) -> bool:
    """Return whether a file is a topology and no trajectory, by its name and its first bytes."""
    if _is_named_as_trajectory(file) or not Path(file).is_file() or is_dump(Path(file)):
        return False
    options = how.format_options_text
    return not isinstance(read_structure(file, positions=False, format_options=options), str)


def _is_named_as_trajectory(file: str) -> bool:
    """Return whether the ending of a file's name is one of trajectories."""
    return find_dataset(file) is not None or suffix_of(file) in _OF_TRAJECTORIES


class _Failures:
    """Collects errors of files, so that a command goes on with the other files.

    Nothing may be printed inside of `go_on`: an error of standard output is not one of a file.
    """

    def __init__(self) -> None:
        self.any = False

    @contextlib.contextmanager
    def go_on(self) -> Iterator[None]:
        """Run a block for one file, and print its error, if any."""
        try:
            yield
        except EXPECTED as error:
            self.any = True
            click.echo(f"trajet: {error_line(error)}", err=True)

    def leave(self) -> None:
        """Exit with code 1 if a file could not be read."""
        if self.any:
            raise click.exceptions.Exit(1)


def _print(facts: Iterable[tuple[str, str]]) -> None:
    for name, value in facts:
        label = f"{name:<{topologies.LABEL}}"
        # Paths may have spaces, and are one line.
        for line in [label + value] if name in ("file", "index") else wrapped(value, label):
            click.echo(line)


def _facts_together(opened: Trajectory) -> _JointFacts:
    """Return facts on several files as one trajectory."""
    size = opened.source.reader.size
    return {
        "together": len(opened.paths),
        "atoms": opened.n_atoms,
        "frames": opened.n_frames,
        **_clock(opened),
        "size": size,
        # The messages on each file are printed already.
        "messages": [one for one in opened.messages if one in opened.source.reader.chain_messages],
    }


def _facts(opened: Trajectory) -> _FileFacts:
    """Return facts on the frames of a file."""
    reader = opened.source.reader
    first = opened.source.index.indices_of(np.zeros(1, np.int64))
    block = opened.read(frames=[0], atoms=first)
    size = reader.size if opened.dataset is None else opened.dataset.size
    if opened.dataset is not None:
        index = "kept by the store"
    elif opened.index_state == "computed":
        index = "none needed: frame offsets follow from the format"
    elif opened.index_state == "published":
        index = "published beside the object"
    else:
        path = opened.index_path
        is_beside = path is not None and path.parent == opened.path.absolute().parent
        where = "in memory only" if path is None else path.name if is_beside else str(path)
        index = f"{opened.index_state}, {where}"
    return {
        "file": opened.label,
        "format": opened.format,
        "atoms": opened.n_atoms,
        "frames": opened.n_frames,
        **_clock(opened),
        "cell": _stored_cell(block.cells[0]),
        "periodic": Box.of(block).periodic.tolist(),
        "size": size,
        "bytes_per_frame": (size - reader.truncated_tail) / opened.n_frames,
        "truncated_tail": reader.truncated_tail,
        "index": index,
        "messages": list(opened.messages),
    }


def _clock(opened: Trajectory) -> _Clock:
    """Return facts on the times of frames."""
    times = opened.source.reader.times()
    return {
        "first_time_ps": float(times[0]),
        "last_time_ps": float(times[-1]),
        "time_step_ps": float(np.median(np.diff(times))) if len(times) > 1 else None,
        "time_step": _time_step(opened),
    }


def _lines(found: _FileFacts | _JointFacts) -> Iterator[tuple[str, str]]:
    """Yield the lines of `info` on a trajectory, given its facts."""
    if "together" in found:
        yield "together", f"{found['together']} files"
    else:
        yield "file", found["file"]
        yield "format", found["format"]
        yield "atoms", str(found["atoms"])
    yield "frames", str(found["frames"])
    first, last = found["first_time_ps"], found["last_time_ps"]
    yield "time", f"{in_digits(first)} to {in_digits(last)} ps"
    yield "time step", found["time_step"]
    if "cell" in found:
        yield "cell", _cell(found["cell"], found["periodic"])
    yield "size", f"{found['size']} bytes ({in_bytes(found['size'])})"
    if "index" in found:
        yield "bytes a frame", f"{found['bytes_per_frame']:.1f}"
        if cut := found["truncated_tail"]:
            yield "cut", f"{cut} bytes of an unfinished frame at the end are left out"
        yield "index", found["index"]
    for message in found["messages"]:
        yield message.label, as_options(message)


def _stored_cell(cell: NDArray[np.float64]) -> list[float] | str | None:
    """Return the cell of a frame, or the text that it lacks, if the file declares cells."""
    if np.isnan(cell).all():
        return None
    return "never written in frame 0" if np.isnan(cell).any() else cell.tolist()


def _cell(cell: list[float] | str | None, periodic: list[bool]) -> str:
    """Return a text on the cell of frame 0."""
    if cell is None or isinstance(cell, str):
        return cell or "none"
    a, b, c, *angles = map(in_digits, cell)
    open_vectors = [name for name, is_so in zip("abc", periodic, strict=True) if not is_so]
    boundaries = f", not periodic along {' and '.join(open_vectors)}" * bool(open_vectors)
    return f"{a} x {b} x {c} Å, {' '.join(angles)} degrees{boundaries} (frame 0)"


def _time_step(opened: Trajectory) -> str:
    """Return a text on the time between frames."""
    times = opened.source.reader.times()
    steps = np.diff(times)
    if not len(steps):
        return "one frame only"
    if not np.ptp(times):
        return "none: all frames have the same time"
    middle = float(np.nanmedian(steps))
    slack = rounding_of_times(opened.source.reader, times)
    slack = np.minimum(np.maximum(slack[1:], slack[:-1]) + 1e-6 * abs(middle), abs(middle) / 2)
    odd = int((~(np.abs(steps - middle) <= slack)).sum())
    uneven = f" (differs at {odd} of {len(steps)} frames)" if odd else ""
    if not odd:
        # Better known than a single step.
        middle = float(times[-1] - times[0]) / len(steps)
    largest = float(np.nanmax(np.abs(times))) / (1 if odd else len(steps))
    return f"{in_digits(middle, of=largest)} ps{uneven}"


@command()
@options.files
@click.option("--force", is_flag=True, help="Build the index again even if a valid one exists.")
@click.option(
    "--publish", is_flag=True, help="Also write the index for upload, as NAME.trajet-index."
)
@opening("threads", "allow_truncated_tail", "format_options", *REMOTE)
@json_option
@options.quiet
def index(
    files: list[str],
    force: bool,
    publish: bool,
    how: OpenOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build the index of trajectories ahead of time.

    Other commands do so when they need the index. It is kept in a hidden file beside the
    trajectory, or in the cache folder if that folder is read-only. If a file cannot be read, an
    error is printed, the other files are indexed, and the exit code is 1.

    --publish also writes NAME.trajet-index beside the trajectory (of a URL: to the working folder).
    If it is uploaded to the same folder as the trajectory, opening that by its URL reads this index
    and searches for no frames.

    \b
    Examples:
      trajet index long.xtc
      trajet index --publish long.xtc
      trajet index --force --threads 8 run*/traj.xtc
    """
    check_json(as_json=as_json, quiet=quiet)
    failures, documents = _Failures(), list[dict[str, str]]()
    how = replace(how, rebuild_index=force)
    for file in files:
        message = ""
        with failures.go_on():
            if find_dataset(file) is not None:
                message = "nothing to do: the store keeps its index"
            else:
                opened = open_with_progress(None, [file], how.for_names([file]), quiet=quiet)
                message = f"{opened.n_frames} frames, {opened.index_state}, {_location(opened)}"
                if publish and (published := _publish(opened)) is not None:
                    message += f"; for upload: {published}"
        if message:
            documents.append({"file": name_of(file), "index": message})
        if message and not quiet and not as_json:
            click.echo(f"{name_of(file)}: {message}")
    if as_json:
        echo_json(documents)
    failures.leave()


def _location(opened: Trajectory) -> str:
    """Return the location of the index."""
    if opened.index_state == "computed":
        return "nothing to keep: frame offsets follow from the format"
    if opened.index_state == "published":
        return "beside the object"
    return str(opened.index_path or "in memory only: no folder could be written")


def _publish(opened: Trajectory) -> Path | None:
    """Write the index as a file for upload beside the trajectory, and return its path.

    None if the format needs no index. That of an object in remote storage is written to the working
    folder.

    Raises
    ------
    OutputError
        If the index was not kept, or the file cannot be written.
    """
    if opened.index_state == "computed":
        return None
    name = opened.path.name + INDEX_SUFFIX
    path = Path(name) if is_url(opened.path) else opened.path.with_name(name)
    if opened.index_state == "published":
        raise OutputError(f"{path}: the object has a published index: --force makes another one")
    if opened.index_path is None:
        raise OutputError(
            f"{path}: the index was not kept: set XDG_CACHE_HOME to a folder that can be written;"
            " of an object without a strong ETag, index a copy"
        )
    kept = opened.index_path.read_bytes()
    output.write(path, lambda file: file.write(kept))
    return path


COMMANDS = (info, index)
