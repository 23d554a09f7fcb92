"""`LazyTimestep`: a time step whose numbers are decoded when they are first asked for."""

from sys import getrefcount
from typing import Any, Protocol

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
_base = Timestep


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

    @property
    def positions(self) -> Any:
        """Positions of all atoms, `(n_atoms, 3)`, float32, Å."""
        if self.state != KNOWN:
            self._ask()
        return _base.positions.__get__(self)

    @positions.setter
    def positions(self, values: Any) -> None:
        _base.positions.__set__(self, values)
        self.state = KNOWN

    @property
    def _pos(self) -> Any:
        if self.state != KNOWN:
            self._ask()
        return positions_array(self)

    @_pos.setter
    def _pos(self, values: Any) -> None:
        _base._pos.__set__(self, values)
        self.state = KNOWN

    @property
    def has_positions(self) -> bool:
        """Whether there are positions; setting it makes or removes them."""
        return bool(_base.has_positions.__get__(self))

    @has_positions.setter
    def has_positions(self, value: bool) -> None:
        if not value:
            self.state = KNOWN
        mark_positions(self, value)

    @property
    def velocities(self) -> Any:
        """Velocities of all atoms, `(n_atoms, 3)`, float32, Å/ps."""
        if self.motion_pending:
            self._ask_motion()
        return _base.velocities.__get__(self)

    @velocities.setter
    def velocities(self, values: Any) -> None:
        if self.motion_pending:
            self._ask_motion()
        _base.velocities.__set__(self, values)

    @property
    def _velocities(self) -> Any:
        if self.motion_pending:
            self._ask_motion()
        return _base._velocities.__get__(self)

    @_velocities.setter
    def _velocities(self, values: Any) -> None:
        if self.motion_pending:
            self._ask_motion()
        _base._velocities.__set__(self, values)

    @property
    def has_velocities(self) -> bool:
        """Whether there are velocities; setting it makes or removes them."""
        if self.motion_pending:
            self._ask_motion()
        return bool(_base.has_velocities.__get__(self))

    @has_velocities.setter
    def has_velocities(self, value: bool) -> None:
        if self.motion_pending:
            self._ask_motion()
        _base.has_velocities.__set__(self, value)

    @property
    def forces(self) -> Any:
        """Forces on all atoms, `(n_atoms, 3)`, float32, kJ/(mol Å)."""
        if self.motion_pending:
            self._ask_motion()
        return _base.forces.__get__(self)

    @forces.setter
    def forces(self, values: Any) -> None:
        if self.motion_pending:
            self._ask_motion()
        _base.forces.__set__(self, values)

    @property
    def _forces(self) -> Any:
        if self.motion_pending:
            self._ask_motion()
        return _base._forces.__get__(self)

    @_forces.setter
    def _forces(self, values: Any) -> None:
        if self.motion_pending:
            self._ask_motion()
        _base._forces.__set__(self, values)

    @property
    def has_forces(self) -> bool:
        """Whether there are forces; setting it makes or removes them."""
        if self.motion_pending:
            self._ask_motion()
        return bool(_base.has_forces.__get__(self))

    @has_forces.setter
    def has_forces(self, value: bool) -> None:
        if self.motion_pending:
            self._ask_motion()
        _base.has_forces.__set__(self, value)

    def holds_motion(self) -> bool:
        """Return whether somebody holds the array of velocities or forces, or a view of it."""
        return _holds(self, _base._velocities, _OWN_MOTION_REFERENCES) or _holds(
            self, _base._forces, _OWN_MOTION_REFERENCES
        )

    def __getitem__(self, atoms: Any) -> Any:
        """Return the positions of an atom, or of a slice or an array of atoms."""
        if self.state != KNOWN:
            self._ask()
        return super().__getitem__(atoms)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of the base class, decoded: a pickle needs no file."""
        if self.state != KNOWN:
            self._ask()
        if self.motion_pending:
            self._ask_motion()
        state: dict[str, Any] = super().__getstate__()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a state; arrays that are views, as in pickles of protocol 5, are copied."""
        views = {
            name: state[name].copy()
            for name in ("_pos", "_velocities", "_forces")
            if state[name] is not None and state[name].base is not None
        }
        super().__setstate__(state | views)


def _references(ts: Timestep, array: Any) -> int:
    return getrefcount(array.__get__(ts))


# References to arrays of a time step of which no caller knows.
_OWN_REFERENCES = _references(Timestep(1), Timestep._pos)
_OWN_MOTION_REFERENCES = _references(Timestep(1), Timestep._velocities)


def _holds(ts: Timestep, array: Any, own: int) -> bool:
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
    return _holds(ts, _base._pos, _OWN_REFERENCES + own)
