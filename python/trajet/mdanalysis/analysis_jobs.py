"""An analysis of MDAnalysis as jobs of a pool: a range of frames each.

The analysis travels in two parts. Universes and their trajectories, which may be large, are loaded
once in each worker. The rest of the analysis is loaded anew for each range of frames, so that it
does not see what it computed of others, and begins with the same current frames. Its arrays that
are those of the current frame stay so: `universe.dimensions` changes with the frame, also where an
analysis has kept it.
"""

import copyreg
import io
import pickle
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Literal, TypeAlias

import numpy as np
from MDAnalysis import Universe
from MDAnalysis.analysis.base import AnalysisBase
from MDAnalysis.analysis.results import Results, ResultsGroup
from MDAnalysis.coordinates.base import ProtoReader
from MDAnalysis.coordinates.timestep import Timestep
from MDAnalysis.core.topologyattrs import _Connection
from numpy.typing import ArrayLike, NDArray

from trajet._trajet import WorkerError
from trajet.mdanalysis.current_frame import CurrentFrame, Part, as_part, attach, own_arrays, part_of
from trajet.mdanalysis.installation import installed_as, strictness
from trajet.pools.jobs import ShowFrames
from trajet.pools.portable import Portable, cloudpickle

# Objects that are loaded once in each worker.
_Shared: TypeAlias = Universe | ProtoReader


@dataclass(frozen=True)
class RangeResult:
    """Results of a range of frames.

    Attributes
    ----------
    frames, times
        Numbers and times of the frames, `(n_frames,)`; ps.
    results
        `analysis.results`.
    loading
        Seconds that loading the Universe in this worker took; 0 in all but its first job.
    """

    frames: NDArray[np.int64]
    times: NDArray[np.float64]
    results: Results
    loading: float


class AnalysisJobs:
    """Common part of all jobs of an analysis.

    In this process the jobs use the Universes of the analysis; other processes load copies.
    """

    def __init__(self, analysis: AnalysisBase) -> None:
        """Take the analysis as it is now.

        Raises
        ------
        MissingPackageError
            If cloudpickle is not installed.
        Exception
            An exception of pickling the analysis, for example of a trajectory that is a stream.
        """
        # Universes and trajectories; their positions in this list stand for them in `_analysis`.
        self._shared: list[_Shared] | None = []
        # The first time collects all trajectories: an array may come before the one it is part of.
        for _ in range(2):
            file = io.BytesIO()
            _pickler(file, self._shared).dump(analysis)
        self._analysis = file.getvalue()
        self._data = b""
        # Workers decode as this process does: groups of atoms alone, or whole frames.
        self.strict = strictness()
        self._frames = [
            (place, CurrentFrame(one))
            for place, one in enumerate(self._shared)
            if isinstance(one, ProtoReader)
        ]

    def __getstate__(self) -> dict[str, object]:
        data = self._data if self._shared is None else _universes_as_bytes(self._shared)
        return {**vars(self), "_data": data, "_shared": None}

    def end(self) -> None:
        """Make the time steps of this process views of trajectories in memory again."""
        for place, _ in self._frames:
            if self._shared is not None:
                attach(self._shared[place])

    def begin(self) -> "_AnalysisWorker":
        """Return the worker of a process."""
        return _AnalysisWorker(self)

    def load(self) -> list[_Shared]:
        """Return Universes and trajectories.

        Raises
        ------
        WorkerError
            If a package of the analysis is not installed here.
        """
        if self._shared is not None:
            return self._shared
        try:
            shared: list[_Shared] = cloudpickle().loads(self._data)
        except ModuleNotFoundError as error:
            raise _missing(error) from error
        except FileNotFoundError as error:
            error.add_note(
                "a worker opens the files of a Universe by the paths that it was made of: give"
                " absolute paths, on storage that all workers see"
            )
            raise
        for place, _ in self._frames:
            own_arrays(shared[place])
        # They are large: they are kept once.
        self._shared, self._data = shared, b""
        return shared

    def analysis(self, shared: list[_Shared]) -> AnalysisBase:
        """Return a copy of the analysis as it was when this object was made."""
        for place, frame in self._frames:
            frame.restore(shared[place])
        try:
            return _Unpickler(io.BytesIO(self._analysis), shared).load()
        except ModuleNotFoundError as error:
            raise _missing(error) from error


class _AnalysisWorker:
    """Runs the analysis over ranges of frames, one at a time: a Universe has one current frame."""

    def __init__(self, jobs: AnalysisJobs) -> None:
        self._jobs, self._lock = jobs, Lock()
        self._shared: list[_Shared] | None = None

    def do(
        self, what: NDArray[np.int64], /, threads: int, show: ShowFrames
    ) -> Portable[RangeResult]:
        """Run the analysis over frames: `what` has their positions and numbers, `(n_frames, 2)`."""
        with self._lock, installed_as(self._jobs.strict):
            show(0)
            begin, loading = time.perf_counter(), 0.0
            if self._shared is None:
                self._shared = self._jobs.load()
                loading = time.perf_counter() - begin
            analysis = self._jobs.analysis(self._shared)
            analysis._single_frame = _SingleFrame(analysis, show)
            analysis._compute(what, verbose=False)
            return Portable(RangeResult(analysis.frames, analysis.times, analysis.results, loading))


class _SingleFrame:
    """`_single_frame` of an analysis, which counts frames and names them in errors."""

    def __init__(self, analysis: AnalysisBase, show: ShowFrames) -> None:
        self._analysis, self._function, self._show = analysis, analysis._single_frame, show
        self._done = 0

    def __call__(self) -> None:
        try:
            self._function()
        except Exception as error:
            name = type(self._analysis).__name__
            error.add_note(f"{name}: frame {self._analysis._ts.frame} of the trajectory")
            raise
        self._done += 1
        self._show(self._done)


# A reference to a Universe or trajectory by its position in the list, to the current frame of a
# trajectory, or to a part of an array of that frame.
_Reference: TypeAlias = tuple[int, Literal["itself", "frame"] | Part]


def _pickler(file: io.BytesIO, shared: list[_Shared]) -> pickle.Pickler:
    """Return a pickler that leaves out Universes and trajectories, and collects them."""
    positions: dict[int, int] = {}

    def share(thing: _Shared) -> int:
        if id(thing) not in positions:
            positions[id(thing)] = len(shared)
            shared.append(thing)
        return positions[id(thing)]

    def current_frames() -> Iterator[tuple[int, Timestep]]:
        for place, one in enumerate(shared):
            if isinstance(one, ProtoReader):
                yield place, one.ts

    class Pickler(cloudpickle().Pickler):  # type: ignore[misc]
        def persistent_id(self, thing: object) -> _Reference | None:
            if isinstance(thing, Universe):
                place = share(thing)
                if (trajectory := getattr(thing, "_trajectory", None)) is not None:
                    share(trajectory)
                return place, "itself"
            if isinstance(thing, ProtoReader):
                return share(thing), "itself"
            if isinstance(thing, Timestep):
                for place, ts in current_frames():
                    if ts is thing:
                        return place, "frame"
            if isinstance(thing, np.ndarray):
                for place, ts in current_frames():
                    if (part := part_of(ts, thing)) is not None:
                        return place, part
            return None

    pickler: pickle.Pickler = Pickler(file)
    return pickler


def _universes_as_bytes(shared: list[_Shared]) -> bytes:
    """Return Universes and trajectories as bytes; bonds as arrays.

    Some parsers make bonds, angles and dihedrals of NumPy integers, which pickle slowly one by one.
    """

    class Pickler(cloudpickle().Pickler):  # type: ignore[misc]
        def reducer_override(self, thing: object) -> object:
            if isinstance(thing, _Connection):
                values = np.array(thing.values)
                if values.ndim == 2 and values.dtype.kind == "i":
                    state = {**vars(thing), "_cache": {}}, values
                    make, kind = copyreg.__newobj__, (type(thing),)  # type: ignore[attr-defined]
                    return make, kind, state, None, None, _set_connection
            return super().reducer_override(thing)

    file = io.BytesIO()
    Pickler(file).dump(shared)
    return file.getvalue()


def _set_connection(
    connection: _Connection, state: tuple[dict[str, object], NDArray[np.integer]]
) -> None:
    attributes, values = state
    vars(connection).update(attributes, values=[tuple(atoms) for atoms in values.tolist()])


class _Unpickler(pickle.Unpickler):
    """Restores an analysis with Universes and trajectories that are loaded already."""

    def __init__(self, file: io.BytesIO, shared: list[_Shared]) -> None:
        super().__init__(file)
        self._shared = shared

    # The base class calls the argument pid.
    def persistent_load(self, pid: _Reference) -> _Shared | Timestep | NDArray[np.generic]:
        place, what = pid
        thing = self._shared[place]
        if what == "itself":
            return thing
        return thing.ts if what == "frame" else as_part(thing.ts, what)


def _missing(error: ModuleNotFoundError) -> WorkerError:
    return WorkerError(
        f"a worker cannot load the analysis: it has no module {error.name}: install it on all"
        " machines of the pool"
    )


def joined(analysis: AnalysisBase, parts: Iterable[RangeResult]) -> RangeResult:
    """Return the results of all ranges, merged by the aggregator of the analysis.

    Its means are weighted by the numbers of frames: ranges may differ in their number.
    """
    ranges = list(parts)
    group = analysis._get_aggregator()
    weights = [len(one.frames) for one in ranges]

    def mean(values: list[ArrayLike]) -> object:
        # The mean of equal numbers, such as edges of bins, would not be exact.
        if all(np.array_equal(values[0], value) for value in values):
            return np.asarray(values[0])[()]
        stacked = np.array(values)
        average = np.average(stacked, axis=0, weights=weights)
        return average.astype(stacked.dtype)[()] if stacked.dtype.kind == "f" else average

    if type(group) is ResultsGroup and group._lookup:
        means = (ResultsGroup.ndarray_mean, ResultsGroup.float_mean)
        group = ResultsGroup(
            {name: mean if way in means else way for name, way in group._lookup.items()}
        )
    return RangeResult(
        np.hstack([one.frames for one in ranges]),
        np.hstack([one.times for one in ranges]),
        group.merge([one.results for one in ranges]),
        sum(one.loading for one in ranges),
    )
