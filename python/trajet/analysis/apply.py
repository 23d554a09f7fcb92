"""`apply`: run a user's function on every frame, on any pool."""

import inspect
import secrets
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajet.analysis.job import Steps, analysis
from trajet.analysis.pbc_checks import find_broken_molecules
from trajet.analysis.reference import Coordinates
from trajet.analysis.runner import RunRequest, main_selection, selecting
from trajet.box import Box
from trajet.pools.pool import AnalysisSpec, Pool, Progress
from trajet.pools.portable import cloudpickle
from trajet.result import Applied
from trajet.trajectory import FrameChoice, Selection, UpdatingSelection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup

_BY = ("frame", "block")


@analysis
def apply(
    # In quotes, since help() would spell out all that ArrayLike stands for.
    function: "Callable[..., ArrayLike]",
    selection: "Selection | UpdatingSelection | AtomGroup",
    *,
    by: str = "frame",
    reducer: "Callable[[NDArray[np.float64], NDArray[np.float64]], ArrayLike] | None" = None,
    cells: bool = False,
    indices: bool = False,
    threads_safe: bool = False,
    frames: FrameChoice = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> Steps[Applied]:
    """Call a function with the positions of every frame.

    The function runs in the processes of the pool. Frames are read as in the other analyses.

    In each process, one thread at a time calls the function or the reducer, while the other threads
    read and decode. So a function may set the positions of an AtomGroup, or return the same array
    from every call. Each worker process calls its own copy of the function: `ProcessPool`,
    `DaskPool` and `MpiPool` compute in parallel. Threads do so only with `threads_safe=True`, and
    only in code that releases Python's lock, such as NumPy.

    Parameters
    ----------
    function
        Called with positions, float32, Å: `(n_atoms, 3)` for a frame, or `(n_frames, n_atoms, 3)`
        for a block. Returns an array of numbers. For a frame, its shape must be constant; for a
        block without a `reducer`, its first axis must be the frames; with a `reducer`, its shape
        must be constant. The function must not rely on the order of the calls. One extra call, with
        the first frame, determines the shape. If it has parameters named `frame`, `time` or `cell`
        after the first, they are given by name: number, ps, and `(6,)`, Å and degrees; for a block
        as arrays with the frames as their first axis.
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file. With an
        updating selection the function is called with the positions of the atoms that are selected
        in the frame, whose number varies and may be 0; only with `by="frame"`.
    by
        "frame" or "block": the argument of the function. The number of frames of a block depends
        only on the numbers of atoms and frames (at most 256 KiB of positions, or one frame).
    reducer
        Called with the values of two neighbouring ranges of frames, the earlier one first, as
        float64 arrays; returns the value of both. Ranges are merged along a tree that depends only
        on the numbers of frames and atoms, so that the result has the same bits on every pool. None
        keeps the values of each frame.
    cells
        Whether the function gets unit cells as its second argument: `(6,)` for a frame,
        `(n_frames, 6)` for a block; Å and degrees, NaN in frames without a cell. If False,
        `report["remarks"]` say whether molecules are broken over the box in the first frame.
    indices
        Whether the function gets the indices of the atoms in the topology, `(n_atoms,)`, int64, as
        its last argument.
    threads_safe
        Whether several threads of a process may call the function and the reducer at the same time.
        Give True only if two calls share nothing that a call changes, such as an AtomGroup, a
        Universe, an array or an attribute.
    frames
        A slice, frame numbers, or a mask; None for all.
    pool
        Where to compute; None for `LocalPool()`: all cores of this process.
    progress
        Called with frames done and in total.

    Returns
    -------
    Applied
        `values`, float64: `(n_frames, …)`, or the reduced value of all frames.

    Raises
    ------
    ValueError
        If the function returns arrays of different shapes, no frame is chosen, or blocks of an
        updating selection are requested.
    Exception
        Any exception of the function or the reducer.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> def end_to_end(positions):
    ...     return np.linalg.norm(positions[-1] - positions[0])
    >>> tj.apply(end_to_end, traj.select("name CA")).values.shape
    (98,)
    >>> near = traj.select("around 5 resid 100", updating=True)
    >>> def spread(positions):
    ...     return positions.std(axis=0)
    >>> tj.apply(spread, near).values.shape
    (98, 3)
    """
    _check(function, by)
    main = selection if isinstance(selection, UpdatingSelection) else main_selection(selection)
    updating = isinstance(main, UpdatingSelection)
    if updating and by != "frame":
        raise ValueError(f"by={by!r}: {main!r} has other atoms in each frame: leave by={by!r} out")
    # The native module gives the function the indices of atoms that follow the frame.
    native_indices = indices and updating
    called = _WithIndices(function, main) if indices and isinstance(main, Selection) else function
    by_name = [name for name in _named_parameters(function) if not (cells and name == "cell")]
    has_cell = cells or "cell" in by_name
    if has_cell and main.trajectory.rotates:
        raise ValueError(
            "the function gets cells: those of fitted frames are rotated, which lengths and angles"
            " do not tell: leave the fit out, or cells=True and the parameter cell"
        )
    shape: tuple[int, ...] = ()
    remarks: list[str] = []

    def plan(chosen: NDArray[np.int64]) -> AnalysisSpec:
        nonlocal shape
        if not len(chosen):
            raise ValueError(
                "no frame is chosen: the shape of the function's values is unknown: choose frames"
            )
        if isinstance(main, UpdatingSelection):
            here, first = main.look(int(chosen[0]))
            native, places = main.prepared(has_selected=True)
        else:
            here, first = main, main.look(int(chosen[0]))
            native, places = None, main.places
        positions, box = first.positions, first.cells
        of_first = {"frame": first.frames, "time": first.times, "cell": box}
        named = {name: of_first[name][0] if by == "frame" else of_first[name] for name in by_name}
        if not has_cell and here.n_atoms:
            at_first = Coordinates(positions[0], Box.of(first), f"frame {chosen[0]}")
            remarks.extend(find_broken_molecules(here, at_first))
        if by == "frame":
            positions, box = positions[0], box[0]
        given = [positions, *([box] if cells else []), *([here.indices] if native_indices else [])]
        sample = np.asarray(called(*given, **named))
        if sample.dtype.kind not in "biuf":
            raise TypeError(f"the function returned {sample.dtype}: it must return numbers")
        shape = sample.shape
        lock = None if threads_safe else _ProcessLock(secrets.token_hex(16))
        if by == "block" and reducer is None:
            if not shape or shape[0] != 1:
                raise ValueError(
                    f"the function returned an array of shape {shape} for a block of one frame: the"
                    " first axis must be the frames"
                )
            shape = shape[1:]
        return AnalysisSpec.of(
            "apply",
            atoms=places,
            selection=None if native is None else native.to_bytes(),
            function=_PicklableFunction(called, lock),
            reducer=None
            if reducer is None
            else _PicklableFunction(_ReshapingReducer(reducer, shape), lock),
            by_frame=by == "frame",
            cells=cells,
            indices=native_indices,
            by_name=by_name,
            shape=shape,
        )

    outcome = yield RunRequest(
        main.trajectory, frames, pool, progress, plan, t_select=selecting(main)
    )
    if reducer is None:
        values = outcome.rows.reshape((len(outcome.frames), *shape))
    else:
        values = outcome.state.reshape(shape)
    name = getattr(function, "__name__", type(function).__name__).strip("<>")
    parameters = {
        "selections": [main.label],
        "n_atoms": [None if isinstance(main, UpdatingSelection) else main.n_atoms],
        "updating": updating,
        "function": name,
        "by": by,
        "reducer": None if reducer is None else getattr(reducer, "__name__", "given"),
        "threads_safe": threads_safe,
    }
    return Applied(
        values=values,
        times=outcome.times,
        frames=outcome.frames,
        name=name,
        reduced=reducer is not None,
        report=outcome.report("apply", parameters, remarks=remarks),
    )


def _check(function: object, by: str) -> None:
    """Raise an error for something that is no function, or an unknown `by`."""
    if not callable(function):
        raise TypeError(
            f"give the function first, then the selection: apply(function, selection); {function!r}"
            " cannot be called"
        )
    if by not in _BY:
        raise ValueError(f"by is 'frame' or 'block', not {by!r}")


def _named_parameters(function: Callable[..., object]) -> list[str]:
    """Return which of frame, time and cell a function has as parameters after the first."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # Some functions of compiled modules have no signature.
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {one.name for one in parameters[1:] if one.kind in kinds}
    return [name for name in ("frame", "time", "cell") if name in named]


class _WithIndices:
    """Calls a function with the indices of the atoms of a selection as its last argument."""

    def __init__(self, function: Callable[..., object], selection: Selection) -> None:
        self._function = function
        self._indices = selection.indices

    def __call__(self, *arguments: object, **named: object) -> object:
        return self._function(*arguments, self._indices, **named)


class _ReshapingReducer:
    """Reshapes the arguments of a reducer to the shape that the function returns."""

    def __init__(self, reducer: Callable[..., object], shape: tuple[int, ...]) -> None:
        self._reducer = reducer
        self._shape = shape

    def __call__(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> object:
        return self._reducer(left.reshape(self._shape), right.reshape(self._shape))


class _ProcessLock:
    """Lock of one run of `apply`; all unpickled copies in a process share it.

    Workers of Dask may share a process, and the functions sent to them may share a module.
    """

    _locks: ClassVar["WeakValueDictionary[str, Lock]"] = WeakValueDictionary()
    _making = Lock()

    def __init__(self, name: str) -> None:
        self._name = name
        with self._making:
            lock = self._locks.get(name)
            if lock is None:
                lock = self._locks[name] = Lock()
        self.lock = lock

    def __reduce__(self) -> tuple[type["_ProcessLock"], tuple[str]]:
        return _ProcessLock, (self._name,)


class _PicklableFunction:
    """A function that can be sent to other processes, even if it is defined in a script.

    With a lock, one thread at a time calls it.
    """

    def __init__(self, function: Callable[..., object], lock: _ProcessLock | None) -> None:
        self._function = function
        self._lock = lock

    def __call__(self, *arguments: object, **named: object) -> object:
        if self._lock is None:
            return self._function(*arguments, **named)
        with self._lock.lock:
            # The next call may overwrite the array that this one returned.
            return np.array(self._function(*arguments, **named))

    def __reduce__(
        self,
    ) -> tuple[
        Callable[[bytes, _ProcessLock | None], "_PicklableFunction"],
        tuple[bytes, _ProcessLock | None],
    ]:
        return _unpickled, (cloudpickle().dumps(self._function), self._lock)


def _unpickled(function: bytes, lock: _ProcessLock | None) -> _PicklableFunction:
    return _PicklableFunction(cloudpickle().loads(function), lock)
