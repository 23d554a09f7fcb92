"""Random sequences of accesses to a Universe give what they give with MDAnalysis' readers."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet.mdanalysis as guest
from helpers.extent import examples
from helpers.universe_pairs import FORMATS, N_ATOMS, N_FRAMES, assert_same_frame, load, with_theirs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

GROUPS = (
    np.arange(3, 20),
    np.array([5]),
    np.array([40, 2, 2, 59, 0]),
    np.arange(0, 60, 2),
    np.arange(10, 58),
    np.empty(0, int),
)
FRAMES = st.integers(-N_FRAMES, N_FRAMES - 1)
GROUP = st.integers(0, len(GROUPS) - 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("seek"), FRAMES),
        st.tuples(st.just("next"), st.integers(1, 5)),
        st.tuples(st.just("loop"), GROUP),
        st.tuples(st.just("group"), GROUP),
        st.tuples(st.just("temporary"), GROUP),
        st.tuples(st.just("atom"), st.integers(0, N_ATOMS - 1)),
        st.tuples(st.just("write_group"), GROUP),
        st.tuples(
            st.sampled_from(
                [
                    *("all", "hold", "hold_ts", "write_all", "write_part", "updating", "motion"),
                    *(
                        "write_motion",
                        "write_atoms_motion",
                        "remove_motion",
                        "copy_ts",
                        "copy",
                        "pickle",
                        "slice",
                        "has",
                        "remove",
                    ),
                    *("timeseries", "reload", "add", "iterate", "write_held"),
                ]
            ),
            st.just(0),
        ),
    ),
    max_size=25,
)


class Session:
    """A script that does one step after the other with a Universe."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path, self.options = path, options
        self.universe = load(path, **options)
        self.held: list[Any] = []
        self.prepare()

    def prepare(self) -> None:
        """Make the groups of the Universe."""
        self.groups = [self.universe.atoms[group] for group in GROUPS]
        self.updating = [
            self.universe.select_atoms("prop x > 12", updating=True),
            self.universe.select_atoms("around 4 index 7", updating=True),
        ]

    def do(self, name: str, value: int) -> Any:
        """Do one step and return what a script would see."""
        return getattr(self, f"do_{name}")(value)

    @property
    def ts(self) -> Any:
        """The current time step."""
        return self.universe.trajectory.ts

    def do_seek(self, value: int) -> None:
        """Go to a frame."""
        self.universe.trajectory[value]

    def do_next(self, value: int) -> None:
        """Go some frames on, perhaps beyond the end."""
        for _ in range(value):
            self.universe.trajectory.next()

    def do_loop(self, value: int) -> Any:
        """Return positions of a group in some frames."""
        return [self.groups[value].positions for _ in self.universe.trajectory[2:9:2]]

    def do_iterate(self, value: int) -> Any:
        """Return frames and times."""
        return [(ts.frame, ts.time) for ts in self.universe.trajectory]

    def do_group(self, value: int) -> Any:
        """Return positions of a group."""
        return self.groups[value].positions

    def do_temporary(self, value: int) -> Any:
        """Return positions of a group that nobody keeps."""
        return self.universe.atoms[GROUPS[value]].positions

    def do_atom(self, value: int) -> Any:
        """Return the position of one atom."""
        return self.universe.atoms[value].position

    def do_all(self, value: int) -> Any:
        """Return positions of all atoms."""
        return self.universe.atoms.positions

    def do_hold(self, value: int) -> None:
        """Keep a view of positions."""
        self.held.append(self.ts.positions[3:30])

    def do_hold_ts(self, value: int) -> None:
        """Keep the time step."""
        self.held.append(self.ts)

    def do_write_group(self, value: int) -> None:
        """Write positions of a group."""
        self.groups[value].positions = np.arange(3)

    def do_write_all(self, value: int) -> None:
        """Write all positions."""
        self.ts.positions = np.arange(3 * N_ATOMS).reshape(N_ATOMS, 3)

    def do_write_part(self, value: int) -> None:
        """Change some positions in place."""
        self.ts.positions[4:9] += 1

    def do_write_held(self, value: int) -> None:
        """Change positions through views that were kept."""
        for one in self.held:
            if isinstance(one, np.ndarray):
                one[0] = 99

    def do_add(self, value: int) -> None:
        """Change all positions in place."""
        self.ts.positions += np.float32(1.5)

    def do_updating(self, value: int) -> Any:
        """Return updating groups and their positions."""
        return [(group.ix, group.positions) for group in self.updating]

    def do_motion(self, value: int) -> Any:
        """Return velocities and forces."""
        ts = self.ts
        return [
            getattr(ts, field) if getattr(ts, f"has_{field}") else None
            for field in ("velocities", "forces")
        ]

    def do_write_motion(self, value: int) -> None:
        """Write velocities."""
        self.ts.velocities = np.full((N_ATOMS, 3), 3)

    def do_copy_ts(self, value: int) -> Any:
        """Return a copy of the time step."""
        made = self.ts.copy()
        return made.positions, made.frame, made == self.ts

    def do_copy(self, value: int) -> None:
        """Go on with a copy of the Universe."""
        self.universe = self.universe.copy()
        self.prepare()

    def do_pickle(self, value: int) -> Any:
        """Return the frame of an unpickled trajectory."""
        made = pickle.loads(pickle.dumps(self.universe.trajectory))
        arrays = [
            getattr(made.ts, field) if getattr(made.ts, f"has_{field}") else None
            for field in ("positions", "velocities", "forces")
        ]
        return arrays, made.frame, made.ts.time

    def do_write_atoms_motion(self, value: int) -> None:
        """Write velocities of some atoms."""
        self.universe.atoms[:5].velocities = np.ones((5, 3))

    def do_remove_motion(self, value: int) -> None:
        """Remove velocities, and add forces as zeros."""
        self.ts.has_forces = True
        # MDAnalysis' reader of H5MD reads no frame after that: it asks for the array that is gone.
        # Its reader of NetCDF reads velocities, but leaves has_velocities False.
        if self.path.suffix not in {".h5md", ".nc"}:
            self.ts.has_velocities = False

    def do_slice(self, value: int) -> Any:
        """Return parts of the time step."""
        ts = self.ts
        return ts[3:7], ts[5], ts.copy_slice(slice(2, 9)).positions, list(ts)[2]

    def do_has(self, value: int) -> Any:
        """Return what the frame has."""
        return self.ts.has_positions, self.ts.has_velocities, self.ts.has_forces

    def do_remove(self, value: int) -> None:
        """Remove positions, and add them as zeros."""
        self.ts.has_positions = False
        self.ts.has_positions = True

    def do_timeseries(self, value: int) -> Any:
        """Return positions of many frames."""
        read = self.universe.trajectory.timeseries
        positions = read(self.groups[2], order="fac", start=1, stop=9, step=3)
        # MDAnalysis' reader of DCD files is at another frame afterwards than its time step.
        self.universe.trajectory[2]
        return positions

    def do_reload(self, value: int) -> None:
        """Load the file again."""
        self.universe.load_new(str(self.path), **self.options)


def equal(one: Any, other: Any) -> None:
    """Assert that nested results are equal."""
    if isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            equal(a, b)
    elif hasattr(one, "n_atoms") and hasattr(one, "frame"):
        assert_same_frame(one, other)
    else:
        np.testing.assert_array_equal(one, other)


HYPOTHESIS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("is_installed", [True, False])
@settings(max_examples=examples(8), **HYPOTHESIS)
@given(steps=STEPS)
def test_any_sequence_of_accesses_is_the_same(
    small_files: dict[str, Path], suffix: str, is_installed: bool, steps: list[tuple[str, int]]
) -> None:
    """With every getter patched, and with the reader class alone."""
    same_as_theirs(small_files[suffix], is_installed, steps)


@pytest.mark.long
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("is_installed", [True, False])
@settings(max_examples=400, **HYPOTHESIS)
@given(steps=STEPS)
def test_many_sequences_of_accesses_are_the_same(
    small_files: dict[str, Path], suffix: str, is_installed: bool, steps: list[tuple[str, int]]
) -> None:
    """The same law."""
    same_as_theirs(small_files[suffix], is_installed, steps)


def same_as_theirs(path: Path, is_installed: bool, steps: list[tuple[str, int]]) -> None:
    """Assert that a script sees the same with both readers, step by step."""
    theirs = Session(path)
    expected = [attempt(theirs, name, value) for name, value in steps]
    if is_installed:
        guest.install()
    try:
        ours = Session(path, **({} if is_installed else {"format": guest.Reader}))
        assert isinstance(ours.universe.trajectory, guest.Reader)
        for (name, value), known in zip(steps, expected, strict=True):
            equal(attempt(ours, name, value), known)
    finally:
        guest.uninstall()


def attempt(session: Session, name: str, value: int) -> Any:
    """Do a step; return copies of what is seen, and of all that was held before."""
    try:
        result = session.do(name, value)
    except Exception as error:
        result = type(error).__name__
    ts = session.universe.trajectory.ts
    held = [
        one.copy() if isinstance(one, np.ndarray) else (one.frame, one.has_positions)
        for one in session.held
    ]
    return copy.deepcopy((result, ts.frame, ts.time, held))


@pytest.mark.parametrize("suffix", FORMATS)
def test_held_time_steps_show_what_theirs_show(small_files: dict[str, Path], suffix: str) -> None:
    """DCD has a time step of its own for each frame; other formats have one."""
    guest.install()
    ours = load(small_files[suffix])
    guest.uninstall()
    theirs = with_theirs(small_files[suffix])
    kept = [[ts for ts in u.trajectory[:5]] for u in (ours, theirs)]
    arrays = [[ts.positions for ts in u.trajectory[:5]] for u in (ours, theirs)]
    for one, other in zip(*kept, strict=True):
        assert_same_frame(one, other)
    equal(*arrays)
