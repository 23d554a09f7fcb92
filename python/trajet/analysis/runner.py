"""Selections, runs and reports of all analyses."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from trajet import universes
from trajet._trajet import MAX_BLOCKS_OF_ERRORS, Plan, Reader, SelectionError
from trajet.advise.task_columns import TaskColumns
from trajet.alternate_locations import location_messages
from trajet.analysis.broken_molecules import Neighbours
from trajet.analysis.cell_summary import CellSummary
from trajet.analysis.protein_names import protein_messages
from trajet.analysis.sample import serial_sample
from trajet.memory import STATES, check_memory, connections_that_fit, in_bytes
from trajet.messages import Code, Message
from trajet.pools.local import LocalPool
from trajet.pools.pool import Frames, Pool, PoolFacts, Progress, facts_of
from trajet.report_entries import (
    AnalysisEntries,
    Counts,
    InputEntry,
    Parameters,
    RunReport,
    WorkerEntry,
)
from trajet.result import Report, counting_of, make_report
from trajet.result.axes import Axis
from trajet.trajectory import (
    FrameChoice,
    Selection,
    Trajectory,
    UpdatingSelection,
    frame_numbers,
    from_atomgroup,
    resolve_frames,
)

if TYPE_CHECKING:
    from trajet.universes import AtomGroup

_TO_FILES = (
    ", or write it to files (pool=DaskPool(client, rows_in=FOLDER) or pool=MpiPool(rows_in=FOLDER))"
)
# The pool of runs to which none is given.
_ALL_CORES = LocalPool()
# Most elements of an argument that a report lists.
MAX_LISTED = 6


@dataclass(frozen=True)
class ResultSize:
    """Size of a result, for a caller who may refuse it before any frame is read.

    Attributes
    ----------
    n_bytes
        Bytes of memory that it takes.
    numbers
        The numbers of which it consists, as text.
    advice
        The end of a sentence on how to do without it.
    """

    n_bytes: int
    numbers: str
    advice: str


# Raises an exception for a result that is too large.
Approve: TypeAlias = Callable[[ResultSize], None]


def main_selection(thing: "Selection | AtomGroup") -> Selection:
    """Return the main selection of an analysis."""
    if isinstance(thing, Trajectory):
        thing = thing.all_atoms()
    _check_fixed(thing)
    if not isinstance(thing, Selection):
        if not universes.is_atomgroup(thing):
            raise TypeError(
                "the first argument must be a selection (trajectory.select(...)) or an MDAnalysis"
                f" AtomGroup, not {type(thing).__name__}"
            )
        thing = from_atomgroup(thing)
    if thing.source.structure.is_known:
        # Also where nothing is selected by name: the topology must be this trajectory's.
        _ = thing.source.structure.topology
    return thing


def _check_fixed(thing: object) -> None:
    """Raise an error for a selection whose atoms follow the frame.

    Raises
    ------
    SelectionError
        If it is one.
    """
    if isinstance(thing, UpdatingSelection):
        raise SelectionError(
            f"{thing!r} may have other atoms in each frame, and this analysis needs the same atoms"
            " in all frames: use count(...), contacts(...), density(...) or apply(...), select with"
            " updating=False, or take the atoms of one frame with .at(frame)"
        )


def further_selection(thing: "str | Selection | AtomGroup", trajectory: Trajectory) -> Selection:
    """Return a further selection of the same system."""
    if isinstance(thing, str):
        return trajectory.select(thing)
    _check_fixed(thing)
    if isinstance(thing, Selection):
        if thing.trajectory is not trajectory:
            raise SelectionError(
                f"{thing!r} is of another trajectory than the main selection: transform the"
                " trajectory first, then select from it"
            )
        return thing
    if universes.is_atomgroup(thing):
        if len(thing.universe.atoms) != trajectory.source.index.n_topology_atoms:
            raise SelectionError("a group is of another system than the main selection")
        return trajectory.select(universes.fixed_indices(thing))
    raise TypeError(f"a group is a selection string or a Selection, not {type(thing).__name__}")


class LabelledSelection(Protocol):
    """Selected atoms of a trajectory."""

    @property
    def trajectory(self) -> Trajectory:
        """The trajectory."""
        ...

    @property
    def label(self) -> str:
        """Name in figures and reports."""
        ...


class LabelledAtoms(LabelledSelection, Protocol):
    """The same atoms in every frame, or other ones in each."""

    @property
    def n_atoms(self) -> int | None:
        """Number of atoms; None if it is another in each frame."""
        ...


@dataclass(frozen=True)
class AnalysisCall:
    """The analysis that asked for a run.

    Attributes
    ----------
    name
        Its name.
    arguments
        Its arguments, those of the run and selections left out.
    t_select
        Seconds of its selections, and of what it prepared before its first run.
    """

    name: str
    arguments: Mapping[str, object]
    t_select: float


@dataclass(frozen=True)
class AnalysisOutcome:
    """Arrays and report of a run.

    Attributes
    ----------
    request
        What was asked for.
    arrays
        By name: those with an entry for each frame, `(n_frames, ...)`, and those of all frames.
    cells
        Which frames have no cell, or too small a cell, if the analysis uses cells.
    frames, times
        `(n_frames,)`, frame numbers and ps.
    run
        Report of the engine.
    atoms
        The atoms that were read.
    analyses
        Names of all analyses of the run, if it had several.
    is_first
        Whether this is the first of them.
    files
        Entries on the files, which the reports of all analyses of the run share.
    broken
        A message if molecules are broken over the box in some frames; the report has it.
    blocks
        The arrays of all frames for each block of equally many frames, if they were asked for.
    fewer_connections
        A message if memory has room for fewer connections than were asked for; the report has it.
    asked
        The analysis.
    """

    request: "RunRequest"
    arrays: Mapping[
        str, NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int64] | NDArray[np.uint8]
    ]
    cells: CellSummary
    frames: NDArray[np.int64]
    times: NDArray[np.float64]
    run: RunReport
    atoms: NDArray[np.int64]
    analyses: tuple[str, ...] = ()
    is_first: bool = True
    files: list[InputEntry] = field(default_factory=list)
    broken: list[Message] = field(default_factory=list)
    blocks: list[dict[str, NDArray[np.float64] | NDArray[np.int64]]] = field(default_factory=list)
    fewer_connections: list[Message] = field(default_factory=list)
    asked: AnalysisCall | None = None

    @property
    def frames_axis(self) -> Axis:
        """The axis of the frames, with their numbers and times."""
        return Axis("frames", {"frame": self.frames, "time": self.times})

    def floats(self, name: str) -> NDArray[np.float64]:
        """Return an array of floats."""
        values = self.arrays[name]
        assert values.dtype == np.float64
        return cast("NDArray[np.float64]", values)

    def singles(self, name: str) -> NDArray[np.float32]:
        """Return an array of floats in single precision."""
        values = self.arrays[name]
        assert values.dtype == np.float32
        return cast("NDArray[np.float32]", values)

    def integers(self, name: str) -> NDArray[np.int64]:
        """Return an array of integers."""
        values = self.arrays[name]
        assert values.dtype == np.int64
        return cast("NDArray[np.int64]", values)

    def codes(self, name: str) -> NDArray[np.uint8]:
        """Return an array of codes."""
        values = self.arrays[name]
        assert values.dtype == np.uint8
        return cast("NDArray[np.uint8]", values)

    def number(self, name: str) -> np.float64:
        """Return a single number, as a float: the division of zero by zero is NaN."""
        return np.float64(self.arrays[name])

    def report(
        self,
        messages: Sequence[Message] = (),
        *,
        recorded: Parameters | None = None,
        inputs: Sequence[InputEntry] = (),
        uses_times: bool | Literal["lags"] = True,
    ) -> Report:
        """Return the report: what was asked for, of which files, and where the time went.

        The store of a data set remembers the analysis.

        Parameters
        ----------
        messages
            Messages on the numbers of the result.
        recorded
            Parameters beside the arguments of the analysis, or in their place.
        inputs
            Files that were read beside those of the trajectory.
        uses_times
            Whether the result has times: otherwise there is no message on times that files lack.
            "lags" where numbers depend on the time between frames: the message is a warning.
        """
        asked, trajectory = self.asked, self.request.trajectory
        assert asked is not None
        # All analyses of a run share its reads, which are counted once.
        read: list[Counts | WorkerEntry] = [*self.run["workers"]] if self.is_first else []
        if self.is_first and "counting" in self.run:
            read.append(self.run["counting"])
        trajectory.source.files.record_analysis(asked.name, self.atoms, read)
        if not self.files:
            self.files.extend(trajectory.source.describe_inputs())
        selections = self.request.selections
        parameters: dict[str, object] = {
            "first_frame": int(self.frames[0]) if len(self.frames) else None,
            "last_frame": int(self.frames[-1]) if len(self.frames) else None,
            "n_frames": len(self.frames),
            "selections": [one.label for one in selections],
            "n_atoms": [
                None if isinstance(one, UpdatingSelection) else one.n_atoms for one in selections
            ],
            **{name: describe(value) for name, value in asked.arguments.items()},
            **(recorded or {}),
            **({"analyses_of_run": list(self.analyses)} if self.analyses else {}),
            **trajectory.source.describe_transforms(self.atoms),
        }
        entries: AnalysisEntries = {
            "analysis": asked.name,
            "parameters": parameters,
            "inputs": [*[entry.copy() for entry in self.files], *inputs],
            "warnings": [],
            "notes": [],
            "result_bytes": sum([values.nbytes for values in self.arrays.values()]),
            **trajectory.source.seconds_outside(asked.t_select, self.run["t_total"]),
        }
        report = make_report(
            trajectory.source.reader, self.run, entries, trajectory.tiers, trajectory.tags
        )
        if not len(self.frames):
            messages = [
                Message(Code.NO_FRAMES, "no frame was chosen: there are no numbers"),
                *messages,
            ]
        report.record_messages(
            [
                *self.broken,
                *messages,
                *self._topology_messages(),
                *trajectory.source.transform_messages(self.run["workers"]),
                *self._messages_on_files(uses_times),
                *self.fewer_connections,
            ]
        )
        return report

    def _messages_on_files(self, uses_times: bool | Literal["lags"]) -> list[Message]:
        """Return the messages on the files of a result that uses times, or not; see `report`."""
        trajectory = self.request.trajectory
        is_given = trajectory.source.files.time_step is not None
        found = []
        for one in trajectory.messages:
            if is_given or one.code not in (Code.NO_TIMES, Code.UNKNOWN_TIMES):
                found.append(one)
            elif uses_times == "lags":
                found.append(Message(Code.UNKNOWN_TIMES, one.without_fix, one.fix))
            elif uses_times:
                found.append(one)
        return found

    def _topology_messages(self) -> list[Message]:
        """Return messages on alternate locations that count several times, and on `protein`."""
        trajectory = self.request.trajectory
        if not trajectory.source.structure.is_known:
            return []
        atoms = trajectory.source.index.indices_of(self.atoms)
        messages = location_messages(trajectory.source.structure.topology, atoms)
        # Names of proteins are looked up for these words alone.
        texts = [one.label for one in self.request.selections]
        if texts := [text for text in texts if "protein" in text or "backbone" in text]:
            messages += protein_messages(trajectory, texts, atoms)
        return messages


class RunOptions(TypedDict, total=False):
    """Parameters of a run, which every analysis has.

    Attributes
    ----------
    frames
        The chosen frames, as users give them.
    pool
        Where to compute; None for `LocalPool()`.
    progress
        Called with frames done and in total; True for a progress bar.
    """

    frames: FrameChoice
    pool: Pool | None
    progress: Progress | bool | None


@dataclass(frozen=True)
class RunRequest:
    """A run that an analysis asks for: a plan over frames of a trajectory.

    Attributes
    ----------
    plan
        The plan, or a function that returns it, given the numbers of the chosen frames.
    selections
        The selections, all of one trajectory, which the report names.
    frames, pool, progress
        See `RunOptions`; those of the analysis where they are None.
    reference
        A frame to which the chosen frames are compared: jumps are counted from the first of all
        these.
    compared
        Frames of which the chosen frames are some: jumps are counted through all of them.
    too_large
        Message of the MemoryError if the state has more entries than the plan allows.
    smaller_state
        Advice for a run whose states, of which each thread has several, do not fit into memory.
    as_written
        Selections whose positions are taken as they are written: a message says in how many frames
        molecules are broken over the box.
    chains_apart
        Whether each chain of these selections is taken by itself; otherwise a warning also says in
        how many frames chains lie in different images.
    in_blocks
        Whether the outcome has the arrays of 64 to 128 blocks of frames: nodes of the fixed tree of
        merges, which are the same on every pool.
    further_result
        Size of a result that is computed of the outcome, such as a matrix.
    is_alone
        Whether the run is not shared with other analyses, as it reads no positions.
    """

    plan: Plan | Callable[[NDArray[np.int64]], Plan]
    selections: "Sequence[LabelledAtoms | UpdatingSelection]"
    _: KW_ONLY
    frames: FrameChoice = None
    pool: Pool | None = None
    progress: Progress | bool | None = None
    reference: int | None = None
    compared: NDArray[np.int64] | None = None
    too_large: str = ""
    smaller_state: str = "choose fewer atoms"
    as_written: Sequence[Selection] = ()
    chains_apart: bool = False
    in_blocks: bool = False
    further_result: ResultSize | None = None
    is_alone: bool = False

    @cached_property
    def trajectory(self) -> Trajectory:
        """The trajectory of the selections."""
        return self.selections[0].trajectory

    def make_plan(self, chosen: NDArray[np.int64]) -> Plan:
        """Return the plan, given the numbers of the chosen frames."""
        return self.plan if isinstance(self.plan, Plan) else self.plan(chosen)

    def with_options(self, options: RunOptions) -> "RunRequest":
        """Return the request with the options of a run where it has none of its own."""
        return replace(
            self,
            frames=options.get("frames") if self.frames is None else self.frames,
            pool=options.get("pool") if self.pool is None else self.pool,
            progress=options.get("progress") if self.progress is None else self.progress,
        )

    def frame_numbers(self) -> NDArray[np.int64]:
        """Return the numbers of the chosen frames, `(n_frames,)`."""
        trajectory = self.trajectory
        return frame_numbers(resolve_frames(self.frames, trajectory))


def run(request: RunRequest) -> AnalysisOutcome:
    """Run the plan that a request makes for the numbers of the chosen frames.

    Raises
    ------
    TypeError
        If the pool is not a pool, for example a name.
    """
    return run_jointly([request])[0]


def run_jointly(
    requests: Sequence[RunRequest],
    names: Sequence[str] = (),
    *,
    time_sample: bool = False,
    approve: Approve | None = None,
) -> list[AnalysisOutcome]:
    """Run the plans of requests, each frame of which is read and decoded once for all of them.

    All requests are of the same frames; pool and progress are those of the first. `names` are the
    names of the analyses, for reports; a request alone has none. With `time_sample`, a serial
    sample is measured before the run. `approve` is called with the size of each result before.

    Raises
    ------
    TypeError
        If the pool is not a pool, for example a name.
    ValueError
        If the trajectories differ in more than their transforms, or the frames differ.
    """
    begin = time.perf_counter()
    first, alone = requests[0], len(requests) == 1
    pool = _ALL_CORES if first.pool is None else first.pool
    facts, trajectory = facts_of(pool), _shared_trajectory(requests)
    frames = resolve_frames(first.frames, trajectory)
    numbers = _shared_numbers(requests, frames)
    neighbours = [
        Neighbours.of(request.as_written, with_chains=not request.chains_apart)
        for request in requests
    ]
    with trajectory.source.files.stale_index_removed(), _own_messages(requests):
        plans, n_atoms = _plans(requests, neighbours, numbers), trajectory.source.reader.n_atoms
        if approve is not None:
            for size in _result_sizes(requests, plans, len(numbers), n_atoms):
                approve(size)
        _check_memory(requests, plans, len(numbers), n_atoms, facts)
        readers = _readers(requests, plans, frames, facts)
        plan, reader = _joined(plans, readers, trajectory.source.reader)
        measured = counting_of({id(reader): reader for reader in readers}.values())
        reader, fewer_connections = _with_room(reader, plans, len(numbers), facts)
        # Frames in the middle would need those before them.
        if time_sample and not any(reader.has_no_jump for reader in readers):
            measured["sample"] = serial_sample(reader, plan, frames, facts.n_threads)
        before = time.perf_counter() - begin
        # Bars are functions here: see `shown_progress`.
        show = first.progress if callable(first.progress) else None
        output = pool.run(reader, plan, frames, progress=show)
    report = cast(RunReport, {**_shift_times(output.report, before), **measured})
    # Frames that were read have been compared with the index.
    times = trajectory.source.reader.times()[numbers]
    report["t_total"] = time.perf_counter() - begin
    files: list[InputEntry] = []
    return [
        AnalysisOutcome(
            request,
            arrays,
            CellSummary(len(numbers), *cells),
            numbers,
            times,
            report,
            plan.atoms,
            () if alone else tuple(names),
            is_first=request is first,
            files=files,
            broken=of_request.messages(broken, len(numbers)),
            blocks=blocks,
            fewer_connections=fewer_connections,
        )
        for request, of_request, plan, (arrays, cells, broken, blocks) in zip(
            requests, neighbours, plans, output.analyses, strict=True
        )
    ]


def _shared_trajectory(requests: Sequence[RunRequest]) -> Trajectory:
    """Return the trajectory of requests; that without transforms if there are several.

    Raises
    ------
    ValueError
        If they are of several trajectories.
    """
    trajectory = requests[0].trajectory
    if len(requests) == 1:
        return trajectory
    if any(request.trajectory.source.files is not trajectory.source.files for request in requests):
        raise ValueError(
            "the analyses are of different trajectories: open the files once, and make all"
            " selections from that trajectory"
        )
    return Trajectory(trajectory.source.untransformed)


def _shared_numbers(requests: Sequence[RunRequest], frames: Frames) -> NDArray[np.int64]:
    """Return the numbers of the frames of requests.

    Raises
    ------
    ValueError
        If they are of different frames.
    """
    numbers = frame_numbers(frames)
    if any(not np.array_equal(request.frame_numbers(), numbers) for request in requests[1:]):
        raise ValueError("the analyses are of different frames")
    return numbers


@contextlib.contextmanager
def _own_messages(requests: Sequence[RunRequest]) -> Iterator[None]:
    """Replace the message on a state that is too large by that of the request."""
    try:
        yield
    except MemoryError as error:
        if getattr(error, "is_too_large", False):
            error.args = (requests[getattr(error, "analysis_number", 0)].too_large,)
        raise


def _joined(
    plans: Sequence[Plan], readers: Sequence[Reader], shared: Reader
) -> tuple[Plan, Reader]:
    """Return one plan of all plans, and its reader: of several plans, each has its transforms."""
    if len(plans) == 1:
        return plans[0], readers[0]
    jobs = [(plan, reader.transforms) for plan, reader in zip(plans, readers, strict=True)]
    return Plan.joint(jobs), shared


def _plans(
    requests: Sequence[RunRequest], neighbours: Sequence[Neighbours], chosen: NDArray[np.int64]
) -> list[Plan]:
    """Return the plan of each request; an error has its number, as errors of the engine have."""
    plans = []
    for number, (request, checked) in enumerate(zip(requests, neighbours, strict=True)):
        try:
            plan = checked.added_to(request.make_plan(chosen))
            plans.append(plan.in_blocks(len(chosen)) if request.in_blocks else plan)
        except Exception as error:
            # Exceptions of users may have no room for it.
            with contextlib.suppress(AttributeError):
                error.__dict__["analysis_number"] = number
            raise
    return plans


def _result_sizes(
    requests: Sequence[RunRequest], plans: Sequence[Plan], n_frames: int, n_atoms: int
) -> Iterator[ResultSize]:
    """Yield the size of the numbers of all frames, and of what is computed of them."""
    counts, sizes, _ = zip(*[plan.sizes(n_atoms) for plan in plans], strict=True)
    numbers = f"{sum(counts)} numbers of each of {n_frames} frames"
    yield ResultSize(n_frames * sum(sizes), numbers, _TO_FILES)
    yield from (one.further_result for one in requests if one.further_result is not None)


def _check_memory(
    requests: Sequence[RunRequest],
    plans: Sequence[Plan],
    n_frames: int,
    n_atoms: int,
    facts: PoolFacts,
) -> None:
    """Raise an error if there is no memory for the numbers of all frames and for states.

    Raises
    ------
    MemoryError
        If they take more than is available.
    """
    counts, sizes, states = zip(*[plan.sizes(n_atoms) for plan in plans], strict=True)
    size = n_frames * sum(sizes)
    numbers = f"{sum(counts)} numbers of each of {n_frames} frames"
    parts = []
    if size and not facts.has_room_for_rows:
        parts.append((size, numbers, f"choose fewer atoms or frames{_TO_FILES}"))
    # The result of each run, and the states of threads of this process; a leaf has one frame at
    # least. Workers of other pools may be on other machines.
    n_runs = facts.runs_here
    of_run = n_runs + min(STATES * facts.threads_here, n_runs * n_frames)
    for request, each in zip(requests, states, strict=True):
        if each:
            n_states = of_run + min(MAX_BLOCKS_OF_ERRORS, n_frames) * request.in_blocks
            advice = f"{request.smaller_state}, or fewer threads (pool=LocalPool(threads=1))"
            parts.append((n_states * each, f"{n_states} states of {in_bytes(each)}", advice))
    if parts:
        _, _, advice = max(parts)
        check_memory([(what, n_bytes) for n_bytes, what, _ in parts], None, advice)


def _with_room(
    reader: Reader, plans: Sequence[Plan], n_frames: int, facts: PoolFacts
) -> tuple[Reader, list[Message]]:
    """Return a reader with as many connections to remote storage as memory has room for.

    And a message if these are fewer than were asked for. Workers on other machines are assumed to
    have as much memory as this one.
    """
    asked = reader.connections
    if asked is None:
        return reader, []
    # States, of which a thread has no more than frames, and a frame as bytes and as positions.
    of_states = sum([plan.sizes(reader.n_atoms)[2] for plan in plans])
    each = min(STATES, -(-n_frames // asked)) * of_states + 2 * 12 * reader.n_atoms
    least = facts.n_threads if facts.hands_over else 1
    most = min(asked, max(n_frames, 1))
    used = connections_that_fit(most, least, facts.processes_here * each)
    if used >= most:
        return reader, []
    message = Message(
        Code.FEWER_CONNECTIONS,
        f"{used} connections to remote storage instead of {asked}: memory has room for no more"
        f" threads, each of which may take {in_bytes(each)}",
    )
    return reader.with_connections(used), [message]


def _readers(
    requests: Sequence[RunRequest], plans: Sequence[Plan], frames: Frames, facts: PoolFacts
) -> list[Reader]:
    """Return the reader of each request, for the atoms that its plan reads; see `reader_for`.

    Requests with the same transforms share a reader, which counts the jumps of all their atoms
    once. Molecules are counted as they are selected, so that each selection has its own.
    """

    def key_of(request: RunRequest, atoms: NDArray[np.int64]) -> tuple[int, int | None, bytes]:
        views = (step.words.get("view") for step in request.trajectory.transforms)
        own = atoms.tobytes() if "toroidal" in views else b""
        return id(request.trajectory), request.reference, own

    read = [plan.atoms for plan in plans]
    hand_over = facts.hands_over and len(requests) == 1
    threads, workers = (facts.n_threads, 1) if hand_over else (1, facts.n_threads)
    keys = [key_of(*one) for one in zip(requests, read, strict=True)]
    readers: dict[tuple[int, int | None, bytes], Reader] = {}
    for key, request in zip(keys, requests, strict=True):
        if key in readers:
            continue
        same = [atoms for other, atoms in zip(keys, read, strict=True) if other == key]
        compared = [] if request.compared is None else [request.compared]
        if request.reference is not None:
            compared.append(np.array([request.reference]))
        readers[key] = request.trajectory.source.reader_for(
            frames,
            # `np.unique` imports the masked arrays of NumPy.
            same[0] if len(same) == 1 else np.unique(np.concatenate(same)),
            compared=np.concatenate(compared) if compared else None,
            threads=threads,
            workers=workers,
        )
    return [readers[key] for key in keys]


def _shift_times(report: RunReport, before: float) -> RunReport:
    """Return a pool's report with times since the call, which began `before` seconds earlier."""
    shifted: RunReport = {**report, "t_preparing": before}
    # A user's own pool may leave entries out.
    if isinstance(tasks := report.get("tasks"), TaskColumns):
        shifted["tasks"] = tasks.later(before)
    elif tasks is not None:
        shifted["tasks"] = [
            {**task, "t_begin": task["t_begin"] + before, "t_end": task["t_end"] + before}
            for task in tasks
        ]
    if "transitions" in report:
        shifted["transitions"] = [
            {**entry, "time": entry["time"] + before} for entry in report["transitions"]
        ]
    return shifted


def describe(value: object) -> object:
    """Return the entry of an argument in a report."""
    if isinstance(value, np.generic | np.ndarray) and value.size <= MAX_LISTED:
        value = value.tolist()
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (tuple, list)) and len(value) <= MAX_LISTED:
        return [describe(one) for one in value]
    return f"given as {type(value).__name__}"
