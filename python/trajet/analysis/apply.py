"""`apply`: run a user's function on every frame, on any pool."""

import inspect
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import ClassVar, Literal, Unpack
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajet import _trajet
from trajet._trajet import Plan
from trajet.analysis.atom_groups import Selections, main_selections
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest
from trajet.block import Block
from trajet.messages import Message
from trajet.pools.portable import cloudpickle
from trajet.result import Applied
from trajet.result.axes import Axis, named
from trajet.trajectory import Selection, UpdatingSelection

_PER = ("frame", "block")


@analysis(counts_repeats=False)
def apply(
    selection: "UpdatingSelection | Selections",
    # In quotes, since help() would spell out all that ArrayLike stands for.
    function: "Callable[..., ArrayLike]",
    *,
    per: Literal["frame", "block"] = "frame",
    reducer: "Callable[[NDArray[np.float64], NDArray[np.float64]], ArrayLike] | None" = None,
    cells: bool = False,
    indices: bool = False,
    thread_safe: bool = False,
    **run: Unpack[RunOptions],
) -> Steps[Applied]:
    """Call a function with the positions of every frame.

    The function runs in the processes of the pool. Frames are read as in the other analyses.

    In each process, one thread at a time calls the function or the reducer, while the other threads
    read and decode. So a function may set the positions of an AtomGroup, or return the same array
    from every call. Each worker process calls its own copy of the function: `ProcessPool`,
    `DaskPool` and `MpiPool` compute in parallel. Threads do so only with `thread_safe=True`, and
    only in code that releases Python's lock, such as NumPy.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file; or a list of
        several, of which all but the first may be selection texts: the function gets the positions
        of each as an argument of its own. With an updating selection it gets those of the atoms
        that are selected in the frame, whose number varies and may be 0; only with `per="frame"`.
    function
        Called with positions, float32, Å: `(n_atoms, 3)` for a frame, or `(n_frames, n_atoms, 3)`
        for a block. Returns an array of numbers. For a frame, its shape must be constant; for a
        block without a `reducer`, its first axis must be the frames; with a `reducer`, its shape
        must be constant. The function must not rely on the order of the calls. One extra call, with
        the first frame, determines the shape. Parameters of the function that are named `frame`,
        `time` or `cell`, after the first one, are passed by name: the frame number, the time (ps),
        and the cell, `(6,)`, Å and degrees. For a block they are arrays whose first axis is the
        frames. For each frame, it may return a dict of arrays instead, without a `reducer`, with
        the same names in the same order.
    per
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
        `warnings` say in how many frames molecules of a selection are broken over the box. If True,
        a cell that is not periodic in all directions is an error, as these numbers do not say so.
    indices
        Whether the function gets the indices of the atoms in the topology, `(n_atoms,)`, int64, as
        its last argument; for one selection only.
    thread_safe
        Whether several threads of a process may call the function and the reducer at the same time.
        Give True only if two calls share nothing that a call changes, such as an AtomGroup, a
        Universe, an array or an attribute.

    Returns
    -------
    Applied
        `values`, float64: `(n_frames, …)`, or the reduced value of all frames. If the function
        returned dicts, `arrays` has the array of each name.

    Raises
    ------
    ValueError
        If the function returns arrays of different shapes, no frame is chosen, blocks of an
        updating selection are requested, or indices of several selections.
    Exception
        The exception of the function, with a note that names the frame, or of the reducer.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> def end_to_end(positions):
    ...     return np.linalg.norm(positions[-1] - positions[0])
    >>> tj.apply(traj.select("name CA"), end_to_end).values.shape
    (98,)
    >>> def gap(one, other):
    ...     return {"distance": np.linalg.norm(one.mean(axis=0) - other.mean(axis=0))}
    >>> tj.apply([traj.select("resid 1-29"), "resid 122-159"], gap).arrays["distance"].shape
    (98,)
    >>> near = traj.select("around 5 resid 100", updating=True)
    >>> def spread(positions):
    ...     return positions.std(axis=0)
    >>> tj.apply(near, spread).values.shape
    (98, 3)
    """
    _check(function, per)
    chosen = [selection] if isinstance(selection, UpdatingSelection) else main_selections(selection)
    main, user = _of_selections(function, chosen)
    if indices and len(chosen) > 1:
        raise ValueError(
            "indices=True is for one selection: of several, use the attribute indices of each"
        )
    updating = isinstance(main, UpdatingSelection)
    if updating and per != "frame":
        raise ValueError(
            f"per={per!r}: {main!r} has other atoms in each frame: leave per={per!r} out"
        )
    # The native module gives the function the indices of atoms that follow the frame.
    native_indices = indices and updating
    called = _WithIndices(function, main) if indices and isinstance(main, Selection) else user
    by_name = [
        name for name in _named_parameters(function, len(chosen)) if not (cells and name == "cell")
    ]
    has_cell = cells or "cell" in by_name
    if has_cell and main.trajectory.source.rotates:
        raise ValueError(
            "cells of fitted frames are rotated, which lengths and angles cannot express: leave out"
            " the fit, or cells=True and the parameter cell of the function"
        )
    shape: tuple[int, ...] = ()
    parts: dict[str, tuple[int, ...]] | None = None
    messages: list[Message] = []

    def plan(chosen: NDArray[np.int64]) -> Plan:
        nonlocal shape, parts
        if not len(chosen):
            raise ValueError(
                "no frame is chosen: the shape of the function's values is unknown: choose frames"
            )
        here, first, native, columns = _read_first(main, int(chosen[0]))
        positions, box = first.positions, first.cells
        of_first = {"frame": first.frames, "time": first.times, "cell": box}
        named = {name: of_first[name][0] if per == "frame" else of_first[name] for name in by_name}
        if per == "frame":
            positions, box = positions[0], box[0]
        given = [positions, *([box] if cells else []), *([here.indices] if native_indices else [])]
        with _noting_frame(int(first.frames[0])):
            # The function may change its arrays.
            worker_function, shape, parts, value = _worker_function(
                called, called(*map(np.array, given), **named), per, has_reducer=reducer is not None
            )
        worker_function = _CalledForFirst(worker_function, [*given, *named.values()], value)
        lock = None if thread_safe else _ProcessLock(secrets.token_hex(16))
        return Plan(
            "apply",
            atoms=columns,
            selection=None if native is None else native.to_bytes(),
            function=_PicklableFunction(worker_function, lock),
            reducer=None
            if reducer is None
            else _PicklableFunction(_ReshapingReducer(reducer, shape), lock),
            by_frame=per == "frame",
            cells=cells,
            indices=native_indices,
            by_name=by_name,
            shape=shape,
        )

    # A function that gets cells can take nearest images.
    fixed = [] if has_cell or not isinstance(main, Selection) else [main]
    outcome = yield RunRequest(plan, chosen, as_written=fixed)
    if reducer is None:
        values = outcome.floats("values")
    else:
        values = outcome.floats("reduced").reshape(shape)
    messages += outcome.cells.missing_for(chosen)
    name = getattr(function, "__name__", type(function).__name__).strip("<>")
    recorded = {
        "updating": updating,
        "function": name,
        "reducer": None if reducer is None else getattr(reducer, "__name__", "given"),
    }
    of_frame = values.shape if reducer is not None else values.shape[1:]
    places = [_places([str(k) for k in range(n)]) for n in of_frame]
    if parts is not None:
        places = [
            _places(
                "_".join([array, *map(str, index)])
                for array, one in parts.items()
                for index in np.ndindex(*one)
            )
        ]
    return Applied(
        values=values,
        axes=(*([outcome.frames_axis] if reducer is None else []), *places),
        name=name,
        units="",
        selections=tuple(one.label for one in chosen),
        report=outcome.report(messages, recorded=recorded),
        names_of_arrays=tuple(parts or ()),
        shapes=tuple("x".join(map(str, one)) for one in (parts or {}).values()),
    )


def _read_first(
    main: "Selection | UpdatingSelection", frame: int
) -> tuple[Selection, Block, _trajet.UpdatingSelection | None, NDArray[np.int64]]:
    """Return the atoms that are selected in a frame, the frame, and which atoms a run reads."""
    if isinstance(main, UpdatingSelection):
        return (*main.read_uncounted(frame), *main.prepared(has_selected=True))
    return main, main.read_uncounted(frame), None, main.columns


def _places(labels: Iterable[str]) -> Axis:
    """Return the axis of the numbers of a frame, or of one dimension of their array."""
    labels = list(labels)
    return named("index", labels, index=np.arange(len(labels)))


def _check(function: object, per: str) -> None:
    """Raise an error for something that is no function, or an unknown `per`."""
    if not callable(function):
        raise TypeError(
            f"give the selection first, then the function: apply(selection, function); {function!r}"
            " cannot be called"
        )
    if per not in _PER:
        raise ValueError(f"per is 'frame' or 'block', not {per!r}")


@contextmanager
def _noting_frame(frame: int) -> Iterator[None]:
    """Note the frame in exceptions of the function, as the native module does for later frames."""
    try:
        yield
    except Exception as error:
        error.add_note(f"the function was called for frame {frame}")
        raise


def _named_parameters(function: Callable[..., object], n_first: int) -> list[str]:
    """Return which of frame, time and cell a function has as parameters after the first ones."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # Some functions of compiled modules have no signature.
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {one.name for one in parameters[n_first:] if one.kind in kinds}
    return [name for name in ("frame", "time", "cell") if name in named]


def _worker_function(
    function: Callable[..., object], returned: object, per: str, *, has_reducer: bool
) -> tuple[
    Callable[..., object],
    tuple[int, ...],
    dict[str, tuple[int, ...]] | None,
    NDArray[np.generic],
]:
    """Return the function that workers call, the shapes of its values, and its first value.

    Parameters
    ----------
    returned
        Value of the function for the first frame.

    Returns
    -------
    function
        Returns arrays.
    shape
        Shape of the array of a frame, or of what the reducer takes.
    parts
        Names and shapes of the arrays of a dict; None for other functions.
    value
        Value of `function` for the first frame.
    """
    parts = None
    if isinstance(returned, dict):
        if per != "frame" or has_reducer:
            raise ValueError("a function may return dicts only for frames, without a reducer")
        parts = _shapes_of(returned)
        flattened = _Flattened(function, parts)
        function, returned = flattened, flattened.flat(returned)
    sample = np.asarray(returned)
    if sample.dtype.kind not in "biuf":
        raise TypeError(f"the function returned {sample.dtype}: it must return numbers")
    shape = sample.shape
    if per == "block" and not has_reducer:
        if not shape or shape[0] != 1:
            raise ValueError(
                f"the function returned an array of shape {shape} for a block of one frame: the"
                " first axis must be the frames"
            )
        shape = shape[1:]
    return function, shape, parts, sample.copy()


def _of_selections(
    function: Callable[..., object], chosen: "Sequence[Selection | UpdatingSelection]"
) -> "tuple[Selection | UpdatingSelection, Callable[..., object]]":
    """Return the atoms to read, and the function of their positions."""
    if len(chosen) == 1:
        return chosen[0], function
    fixed = [one for one in chosen if isinstance(one, Selection)]
    atoms = np.concatenate([each.columns for each in fixed])
    union, in_union = np.unique(atoms, return_inverse=True)
    ends = np.cumsum([one.n_atoms for one in fixed])[:-1]
    main = Selection(fixed[0].trajectory, union, None)
    return main, _SelectionsCall(function, np.split(in_union, ends))


def _shapes_of(returned: Mapping[object, object]) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the arrays that a function returned.

    Raises
    ------
    TypeError
        If there is none, or a name is no text, or a value is no number.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for name, value in returned.items():
        array = np.asarray(value)
        if not isinstance(name, str) or array.dtype.kind not in "biuf":
            raise TypeError(
                f"{name!r}: a dict that the function returns must have texts as keys and numbers or"
                " arrays of numbers as values"
            )
        shapes[name] = array.shape
    if not shapes:
        raise TypeError("the function returned an empty dict: it must return numbers")
    return shapes


class _SelectionsCall:
    """Calls a function with the positions of several selections.

    Parameters
    ----------
    columns
        The atoms of each selection, by their positions among those that are read.
    """

    def __init__(self, function: Callable[..., object], columns: list[NDArray[np.int64]]) -> None:
        self.function = function
        self.columns = columns

    def __call__(self, positions: NDArray[np.float32], *further: object, **named: object) -> object:
        """Return the value of the function."""
        parts = [positions[..., columns, :] for columns in self.columns]
        return self.function(*parts, *further, **named)


class _Flattened:
    """Calls a function that returns a dict of arrays, and returns their numbers as one array.

    Parameters
    ----------
    parts
        Name and shape of each array.
    """

    def __init__(self, function: Callable[..., object], parts: dict[str, tuple[int, ...]]) -> None:
        self.function = function
        self.parts = parts

    def flat(self, returned: object) -> NDArray[np.float64]:
        """Return the numbers of all arrays, one after the other.

        Raises
        ------
        ValueError
            If names or shapes are others than those of the first frame.
        """
        found = _shapes_of(returned) if isinstance(returned, dict) else type(returned).__name__
        if not isinstance(returned, dict) or found != self.parts:
            raise ValueError(
                f"the function returned {found}, and {self.parts} for the first frame: return the"
                " same names and shapes for every frame"
            )
        arrays = [np.ravel(np.asarray(returned[name], np.float64)) for name in self.parts]
        return np.concatenate([*arrays, np.empty(0)])

    def __call__(self, *given: object, **named: object) -> NDArray[np.float64]:
        """Return the numbers of the function's arrays."""
        return self.flat(self.function(*given, **named))


class _CalledForFirst:
    """Calls a function that was called for the first frame before the run, once for each frame.

    Copies in other processes call it for the first frame, too.

    Parameters
    ----------
    arguments, value
        Arguments of the first call, and its value.
    """

    def __init__(
        self,
        function: Callable[..., object],
        arguments: Sequence[object],
        value: NDArray[np.generic],
    ) -> None:
        self._function = function
        self._first: tuple[Sequence[object], NDArray[np.generic]] | None = arguments, value

    def __getstate__(self) -> dict[str, object]:
        return {"_function": self._function, "_first": None}

    def __call__(self, *given: object, **named: object) -> object:
        """Return the value of the function."""
        first, arguments = self._first, (*given, *named.values())
        if first is not None and all(
            np.array_equal(np.asarray(one), np.asarray(known))
            for one, known in zip(arguments, first[0], strict=True)
        ):
            self._first = None
            return first[1]
        return self._function(*given, **named)


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
