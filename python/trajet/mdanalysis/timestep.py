"""`LazyTimestep`: a time step whose numbers are decoded when they are first asked for."""

from sys import getrefcount
from types import GetSetDescriptorType
from typing import Protocol

import numpy as np
from MDAnalysis.coordinates.timestep import Timestep
from numpy.typing import NDArray

# States of positions. KNOWN: the array holds them. READY: it does, but nobody has asked for all of
# them yet. PENDING: it does not, they are in the file.
KNOWN, READY, PENDING = 0, 1, 2

# The attributes of the C class, below the properties of this one.
positions_array = Timestep._pos.__get__
marked_positions = Timestep.has_positions.__get__
mark_positions = Timestep.has_positions.__set__


class NumberSource(Protocol):
    """Reads the numbers of time steps; see `trajet.mdanalysis.source.Source`."""

    can_move: bool

    def whole_asked(self, ts: "LazyTimestep") -> None:
        """Have all positions in the array of a time step."""

    def read_motion(self, ts: "LazyTimestep") -> None:
        """Read velocities and forces of a frame into a time step."""

    def positions_of(self, ts: "LazyTimestep", ix: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return positions of a group of atoms, `(n, 3)`."""

    def position_of(self, ts: "LazyTimestep", index: int) -> NDArray[np.float32]:
        """Return the position of one atom, `(3,)`."""

    def updating_asked(self, ts: "LazyTimestep", ix: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return positions of a group that changes from frame to frame."""


def _decoded(array: GetSetDescriptorType, doc: str | None = None) -> property:
    """Return a property of the base class whose array is complete before it is returned."""
    get_array, set_array = array.__get__, array.__set__

    def get(ts: "LazyTimestep") -> object:
        if ts.state != KNOWN:
            ts._ask()
        return get_array(ts)

    def set_values(ts: "LazyTimestep", values: object) -> None:
        set_array(ts, values)
        ts.state = KNOWN

    return property(get, set_values, doc=doc)


def _with_motion(before: GetSetDescriptorType, doc: str | None = None) -> property:
    """Return a property of the base class that reads velocities and forces before its use."""
    get_before, set_before = before.__get__, before.__set__

    def get(ts: "LazyTimestep") -> object:
        if ts.motion_pending:
            ts._ask_motion()
        return get_before(ts)

    def set_value(ts: "LazyTimestep", value: object) -> None:
        if ts.motion_pending:
            ts._ask_motion()
        set_before(ts, value)

    return property(get, set_value, doc=doc)


class LazyTimestep(Timestep):  # type: ignore[misc]
    """A time step of a `Reader`.

    It behaves as its base class, whose arrays it fills from the file when they are first asked for.
    Copies, pickles and slices hold decoded numbers.
    """

    # Defaults of the class, as unpickling calls no `__init__`.
    source: NumberSource | None = None
    # Number of the frame in the file; `frame` may be overwritten, by chains for instance.
    frame_read = -1
    state = KNOWN
    # Whether velocities and forces are still in the file.
    motion_pending = False

    def _ask(self) -> None:
        """Have all positions in the array, because somebody asks for all of them."""
        assert self.source is not None
        self.source.whole_asked(self)

    def _ask_motion(self) -> None:
        """Have velocities and forces in their arrays."""
        assert self.source is not None
        self.motion_pending = False
        try:
            self.source.read_motion(self)
        except BaseException:
            self.motion_pending = True
            raise

    positions = _decoded(Timestep.positions, "Positions of all atoms, `(n_atoms, 3)`, float32, Å.")
    _pos = _decoded(Timestep._pos)
    velocities = _with_motion(
        Timestep.velocities, "Velocities of all atoms, `(n_atoms, 3)`, float32, Å/ps."
    )
    _velocities = _with_motion(Timestep._velocities)
    has_velocities = _with_motion(
        Timestep.has_velocities, "Whether there are velocities; setting it makes or removes them."
    )
    forces = _with_motion(
        Timestep.forces, "Forces on all atoms, `(n_atoms, 3)`, float32, kJ/(mol Å)."
    )
    _forces = _with_motion(Timestep._forces)
    has_forces = _with_motion(
        Timestep.has_forces, "Whether there are forces; setting it makes or removes them."
    )

    @property
    def has_positions(self) -> bool:
        """Whether there are positions; setting it makes or removes them."""
        return bool(Timestep.has_positions.__get__(self))

    @has_positions.setter
    def has_positions(self, value: bool) -> None:
        if not value:
            self.state = KNOWN
        mark_positions(self, value)

    def holds_motion(self) -> bool:
        """Return whether somebody holds the array of velocities or forces, or a view of it."""
        return _holds(self, Timestep._velocities, _OWN_MOTION_REFERENCES) or _holds(
            self, Timestep._forces, _OWN_MOTION_REFERENCES
        )

    def __getitem__(self, atoms: int | slice | NDArray[np.integer]) -> NDArray[np.float32]:
        if self.state != KNOWN:
            self._ask()
        positions: NDArray[np.float32] = super().__getitem__(atoms)
        return positions

    def __getstate__(self) -> dict[str, object]:
        if self.state != KNOWN:
            self._ask()
        if self.motion_pending:
            self._ask_motion()
        state: dict[str, object] = super().__getstate__()
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        views = {
            name: array.copy()
            for name in ("_pos", "_velocities", "_forces")
            if isinstance(array := state[name], np.ndarray) and array.base is not None
        }
        super().__setstate__(state | views)


def _references(ts: Timestep, array: GetSetDescriptorType) -> int:
    return getrefcount(array.__get__(ts))


# References to arrays of a time step of which no caller knows.
_OWN_REFERENCES = _references(Timestep(1), Timestep._pos)
_OWN_MOTION_REFERENCES = _references(Timestep(1), Timestep._velocities)


def _holds(ts: Timestep, array: GetSetDescriptorType, own: int) -> bool:
    """Return whether somebody else than `own` has an array, or the one of which it is a view."""
    if _references(ts, array) > own:
        return True
    found = array.__get__(ts)
    return found is not None and found.base is not None


def is_held(ts: LazyTimestep, own: int) -> bool:
    """Return whether somebody holds the array of positions or a view of it.

    Parameters
    ----------
    ts
        The time step.
    own
        How many references this package holds beside the time step itself.
    """
    return _holds(ts, Timestep._pos, _OWN_REFERENCES + own)
