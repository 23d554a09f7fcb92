"""Files of our writers hold what files of MDAnalysis' own hold, and have a name when complete."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis as guest
from helpers.commands import python
from helpers.extent import examples
from helpers.messages import raises
from helpers.universe_pairs import N_ATOMS, N_FRAMES, empty_universe
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from MDAnalysis.analysis.align import AlignTraj
from MDAnalysis.coordinates import TRR, XTC
from trajet.mdanalysis import block_writer, writers

SUFFIXES = ("xtc", "trr")
NM = 10.0


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    # Writers of MDAnalysis that could not be opened fail again when they are deleted.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def random_universe(seed: int, n_frames: int = N_FRAMES, n_atoms: int = N_ATOMS) -> mda.Universe:
    """Return a Universe in memory, with velocities, forces, and a cell for each frame."""
    rng = np.random.default_rng(seed)
    universe = empty_universe(n_atoms)
    shape = (n_frames, n_atoms, 3)
    lengths, angles = rng.uniform(20, 60, (n_frames, 3)), rng.uniform(70, 95, (n_frames, 3))
    universe.load_new(
        rng.uniform(-40, 60, shape).astype("f4"),
        velocities=rng.normal(size=shape).astype("f4"),
        forces=rng.normal(size=shape).astype("f4"),
        dimensions=np.hstack([lengths, angles]).astype("f4"),
        dt=rng.uniform(0.1, 5),
    )
    return universe


def write_both(suffix: str, universe: mda.Universe, **options: Any) -> tuple[Path, Path]:
    """Write all frames with MDAnalysis' own writer, and with ours."""
    paths = Path(f"theirs.{suffix}"), Path(f"ours.{suffix}")
    for path, ours in zip(paths, (False, True), strict=True):
        if ours:
            guest.install()
        with mda.Writer(str(path), universe.atoms.n_atoms, **options) as writer:
            assert isinstance(writer, block_writer.Writer) == ours
            for _ in universe.trajectory:
                writer.write(universe)
        guest.uninstall()
    return paths


def read_own(path: Path, n_atoms: int = N_ATOMS) -> list[Any]:
    """Return copies of time steps that MDAnalysis' own reader reads."""
    universe = mda.Universe.empty(n_atoms)
    universe.load_new(str(path))
    return [ts.copy() for ts in universe.trajectory]


def assert_same_bytes(theirs: Path, ours: Path) -> None:
    """Assert that MDAnalysis' own writer writes the same file."""
    known = theirs.read_bytes()
    assert known
    assert ours.read_bytes() == known


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[*HealthCheck])
@given(
    st.sampled_from(SUFFIXES),
    st.integers(0, 2**31),
    st.integers(1, 40),
    st.sampled_from([3, 9, 12, 60, 300]),
)
def test_files_hold_the_same_numbers(suffix: str, seed: int, n_frames: int, n_atoms: int) -> None:
    """Integers or floats of positions, times, steps, cells, velocities and forces."""
    assert_same_bytes(*write_both(suffix, random_universe(seed, n_frames, n_atoms)))


def test_positions_between_two_integers_go_to_the_same() -> None:
    """Ties, and what single precision makes of them, at each precision."""
    for precision in (1, 2, 3, 4):
        universe = random_universe(12)
        step = NM * 10.0**-precision
        rng = np.random.default_rng(precision)
        for ts in universe.trajectory:
            ts.positions = (rng.integers(-9000, 9000, (N_ATOMS, 3)) + 0.5) * step
        assert_same_bytes(*write_both("xtc", universe, precision=precision))


def test_frames_of_several_blocks_are_in_order() -> None:
    """Blocks are encoded by threads, and written one after the other."""
    assert_same_bytes(*write_both("trr", random_universe(3, 150, 300)))


@pytest.mark.parametrize("precision", [1, 2, 4])
def test_precision_of_xtc(precision: int) -> None:
    """`precision` is a number of decimal places, in nm."""
    assert_same_bytes(*write_both("xtc", random_universe(1), precision=precision))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_dt_replaces_times(suffix: str) -> None:
    """Times are `dt` times the number of the frame."""
    theirs, ours = write_both(suffix, random_universe(2), dt=0.25)
    assert_same_bytes(theirs, ours)
    assert read_own(ours)[3].time == 0.75


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("without", ["all", "later", "first", "flat"])
def test_frames_without_a_cell(suffix: str, without: str) -> None:
    """`dimensions` may be None, or no cell."""
    theirs, ours = Path(f"theirs.{suffix}"), Path(f"ours.{suffix}")
    for path in (theirs, ours):
        universe = random_universe(4)
        if path == ours:
            guest.install()
        with mda.Writer(str(path), N_ATOMS) as writer:
            for ts in universe.trajectory:
                if without == "flat":
                    ts.dimensions = [10, 10, 0, 90, 90, 90]
                elif without == "all" or (without == "first") == (ts.frame == 0):
                    ts.dimensions = None
                writer.write(universe.atoms)
        guest.uninstall()
    assert_same_bytes(theirs, ours)


@pytest.mark.parametrize("case", ["lambda", "positions", "velocities"])
@pytest.mark.parametrize("begin", [0, 5])
def test_frames_of_trr_may_differ(case: str, begin: int) -> None:
    """λ is kept, and frames may lack positions or velocities from any frame on."""
    theirs, ours = Path("theirs.trr"), Path("ours.trr")
    for path in (theirs, ours):
        universe = random_universe(5)
        if path == ours:
            guest.install()
        with mda.Writer(str(path), N_ATOMS) as writer:
            for ts in universe.trajectory:
                special = ts.frame >= begin and ts.frame % 3 != 1
                ts.data["lambda"] = 0.25 * special if case == "lambda" else 0.0
                ts.has_positions = not (special and case == "positions")
                ts.has_velocities = not (special and case == "velocities")
                writer.write(universe)
            universe.trajectory.ts.has_positions = True
        guest.uninstall()
    if case != "positions":
        assert_same_bytes(theirs, ours)
        return
    # MDAnalysis writes velocities and forces of zero in frames without positions.
    universe = random_universe(5)
    for known, seen in zip(universe.trajectory, read_own(ours), strict=True):
        assert seen.has_positions == (known.frame < begin or known.frame % 3 == 1)
        for name in ("positions", "velocities", "forces")[not seen.has_positions :]:
            np.testing.assert_allclose(getattr(seen, name), getattr(known, name), rtol=4e-7)


def test_writers_are_those_that_scripts_find() -> None:
    """`u.atoms.write`, `reader.Writer`, `Merge` and several frames use them; and not afterwards."""
    universe = random_universe(6)
    before = (XTC.XTCReader._writer, TRR.TRRReader._writer)
    tables = [dict(mda._MULTIFRAME_WRITERS), dict(mda._SINGLEFRAME_WRITERS)]
    write_both("xtc", universe)
    with guest.install():
        some = universe.select_atoms("name OW")
        some.write("some.xtc", frames=universe.trajectory[2:9:3])
        some.write("all.trr", frames="all")
        some.write("one.xtc")
        mda.Merge(some).atoms.write("merged.trr")
        read = empty_universe()
        read.load_new("ours.xtc")
        with read.trajectory.Writer("more.xtc") as writer:
            assert type(writer) is writers.XTCWriter
            assert writer.n_atoms == N_ATOMS
        with read.trajectory.OtherWriter("more.trr") as writer:
            assert type(writer) is writers.TRRWriter
    times = [ts.time for ts in universe.trajectory]
    n_some = N_ATOMS // 3
    assert np.allclose([ts.time for ts in read_own(Path("some.xtc"), n_some)], times[2:9:3])
    assert len(read_own(Path("all.trr"), n_some)) == N_FRAMES
    assert len(read_own(Path("one.xtc"), n_some)) == len(read_own(Path("merged.trr"), n_some)) == 1
    assert (XTC.XTCReader._writer, TRR.TRRReader._writer) == before
    assert tables == [mda._MULTIFRAME_WRITERS, mda._SINGLEFRAME_WRITERS]


def test_fitted_and_transformed_frames_are_written() -> None:
    """`AlignTraj(filename=...)`, and transformations on the fly."""
    from MDAnalysis.transformations import translate

    theirs, _ = write_both("trr", random_universe(7))
    made = []
    for name in ("theirs", "ours"):
        if name == "ours":
            guest.install()
        universe = empty_universe()
        universe.load_new(str(theirs), transformations=[translate([1, 2, 3])])
        reference = universe.copy()
        fit = AlignTraj(universe, reference, select="name OW", filename=f"{name}_fitted.trr")
        made.append(fit.run().results.rmsd)
        universe.atoms.write(f"{name}_moved.trr", frames="all")
        guest.uninstall()
    np.testing.assert_array_equal(*made)
    for kind in ("fitted", "moved"):
        assert_same_bytes(Path(f"theirs_{kind}.trr"), Path(f"ours_{kind}.trr"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_have_a_name_when_they_are_closed(suffix: str) -> None:
    """An existing file is replaced then; after an error it has the frames before it."""
    universe = random_universe(8)
    path = Path(f"made.{suffix}")
    path.write_bytes(b"before")
    with guest.install():
        with pytest.raises(KeyError), mda.Writer(str(path), N_ATOMS) as writer:
            for _ in universe.trajectory[:7]:
                writer.write(universe)
            assert path.read_bytes() == b"before"
            raise KeyError
        assert [entry.name for entry in Path().iterdir()] == [path.name]
        assert len(read_own(path)) == 7
        path.write_bytes(b"before")
        with raises(OSError):
            writer.write(universe)
        with mda.Writer(str(path), N_ATOMS) as writer:
            writer.write(universe)
            assert path.read_bytes() == b"before"
        writer.close()
    assert len(read_own(path)) == 1


SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
import MDAnalysis as mda, trajet.mdanalysis
trajet.mdanalysis.install()
u = mda.Universe.empty(21, trajectory=True)
writers = [mda.Writer(name, 21) for name in sys.argv[1:]]
for _ in range(50):
    for writer in writers:
        writer.write(u.atoms)
"""


@pytest.mark.parametrize(
    ("end", "n_frames"),
    [*(("", 50), ("1 / 0", 50), ("sys.exit(3)", 50)), ("del writer, writers; 1 / 0", 50)],
)
def test_scripts_that_fail_leave_their_frames(end: str, n_frames: int) -> None:
    """A script that forgets `close` leaves a complete file, as with MDAnalysis."""
    Path("script.py").write_text(SCRIPT + end, encoding="utf-8")
    paths = [Path(f"out.{suffix}") for suffix in SUFFIXES]
    done = subprocess.run([sys.executable, "script.py", *map(str, paths)], check=False)
    assert (done.returncode == 0) == (end == "")
    for path in paths:
        assert len(read_own(path, 21)) == n_frames
    assert not list(Path().glob("*unfinished*"))


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_a_killed_script_leaves_its_frames_beside_the_name(end: str) -> None:
    """Blocks that were encoded; the next process does not remove them, and an old file stays."""
    script = SCRIPT.replace("range(50)", "range(3000)") + f"import os\n{end}\n"
    Path("script.py").write_text(script, encoding="utf-8")
    Path("out.xtc").write_bytes(b"before")
    subprocess.run([sys.executable, "script.py", "out.xtc"], check=False)
    assert Path("out.xtc").read_bytes() == b"before"
    for _ in range(2):
        (kept,) = Path().glob("out.xtc.unfinished-*")
        frames = tj.open(None, kept, allow_truncated_tail=True).n_frames
        assert 1500 < frames < 3000
        done = "import trajet as tj, numpy as np; tj.write('b.xtc', np.ones((1, 3, 3)), force=True)"
        subprocess.run([sys.executable, "-c", done], check=True)


def test_a_fork_does_not_write_the_file_of_its_parent() -> None:
    """It has a message of its own; a writer that it begins is its own."""
    universe = random_universe(9)
    with guest.install(), mda.Writer("out.xtc", N_ATOMS) as writer:
        writer.write(universe)
        child = os.fork()
        if child == 0:
            try:
                writer.write(universe)
            except OSError as error:
                with mda.Writer("child.xtc", N_ATOMS) as other:
                    other.write(universe)
                os._exit(0 if "another process" in str(error) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        writer.write(universe)
    assert len(read_own(Path("out.xtc"))) == 2
    assert len(read_own(Path("child.xtc"))) == 1


def test_a_forked_process_leaves_the_file_alone() -> None:
    """Only the process that began a file closes it."""
    universe = random_universe(9)
    with guest.install(), mda.Writer("out.xtc", N_ATOMS) as writer:
        writer.write(universe)
        child = os.fork()
        if child == 0:
            writer.close()
            writer.__exit__(KeyError, None, None)
            os._exit(0)
        os.waitpid(child, 0)
        assert not Path("out.xtc").exists()
        writer.write(universe)
    assert len(read_own(Path("out.xtc"))) == 2


def test_errors_are_those_of_mdanalysis() -> None:
    """Wrong objects, numbers of atoms and folders."""
    universe, other = random_universe(10), random_universe(10, n_atoms=30)
    for install in (False, True):
        if install:
            guest.install()
        for suffix in SUFFIXES:
            with mda.Writer(f"a.{suffix}", N_ATOMS) as writer:
                with raises(TypeError):
                    writer.write(universe.trajectory.ts)
                writer.write(universe)
                with raises(OSError):
                    writer.write(other)
            with pytest.raises(OSError):
                mda.Writer(f"nowhere/a.{suffix}", N_ATOMS)
        with pytest.raises(TypeError), mda.Writer("a.trr") as writer:
            writer.write(universe)
        universe.trajectory.ts.data["step"] = 2**31
        with pytest.raises(OverflowError), mda.Writer("a.xtc", N_ATOMS) as writer:
            writer.write(universe)
        del universe.trajectory.ts.data["step"]


def test_positions_that_are_no_numbers_are_an_error_in_xtc() -> None:
    """MDAnalysis writes arbitrary integers for them."""
    universe = random_universe(11)
    universe.trajectory[4].positions[7, 1] = np.nan
    with guest.install(), raises(tj.OutputError), mda.Writer("a.xtc", N_ATOMS) as writer:
        for _ in universe.trajectory:
            writer.write(universe)
    (kept,) = Path().iterdir()
    assert tj.open(None, kept).n_frames == 4


def test_frames_of_a_full_disk_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot grow: what was written of it stays."""
    script = SCRIPT.replace("range(50)", "range(2000)").replace("empty(21", "empty(999")
    script = script.replace("name, 21", "name, 999")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))\n"
    signals = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    Path("script.py").write_text(limit + signals + script, encoding="utf-8")
    for suffix in SUFFIXES:
        done = python("script.py", f"out.{suffix}", code=None)
        last = done.stderr.strip().splitlines()[-1]
        assert "File too large" in last, done.stderr
        (kept,) = Path().glob(f"out.{suffix}.unfinished-*")
        assert last.endswith(f"the frames before it are in {kept.absolute()}")
        assert tj.open(None, kept, allow_truncated_tail=True).n_frames > 5


class Interrupted:
    """A native writer during one call of which Ctrl-C comes."""

    def __init__(self, native: Any, name: str) -> None:
        self.native, self.name = native, name

    def __getattr__(self, name: str) -> Any:
        """Return a method, which is interrupted when it is done if it is the chosen one."""
        call = getattr(self.native, name)

        def interrupted(*arguments: Any, **options: Any) -> None:
            call(*arguments, **options)
            raise KeyboardInterrupt

        return interrupted if name == self.name else call


@pytest.mark.parametrize("name", ["append_gromacs", "sync"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupt_while_a_writer_is_closed_leaves_the_frames(suffix: str, name: str) -> None:
    """The interrupt names their file; it does not become another error."""
    universe = random_universe(12)
    with guest.install():
        writer: Any = mda.Writer(f"out.{suffix}", N_ATOMS)
        for _ in universe.trajectory[:6]:
            writer.write(universe)
        writer._native = Interrupted(writer._native, name)
        with pytest.raises(KeyboardInterrupt) as stopped:
            writer.close()
    (kept,) = Path().iterdir()
    assert stopped.value.__notes__[0].endswith(f"in {kept.absolute()}")
    assert tj.open(None, kept).n_frames == 6


def test_other_arguments_and_files_are_for_mdanalysis() -> None:
    """Native units, other endings; a file without frames is not made."""
    with guest.install():
        for name, options in {
            "a.xtc": {"convert_units": False},
            "a.trr": {"convert_units": False},
            "a.dat": {"format": "XTC"},
        }.items():
            with mda.Writer(name, N_ATOMS, **options) as writer:
                assert not isinstance(writer, block_writer.Writer)
        with mda.Writer("none.xtc", N_ATOMS) as writer:
            assert type(writer) is writers.XTCWriter
        assert not Path("none.xtc").exists()
