"""`time_step=` replaces the times of files; times that files do not state are reported."""

import pickle
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import h5py
import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes
from helpers.commands import fail, misuse, succeed
from helpers.extent import examples
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import netcdf_file
from trajet.messages import Code

N_FRAMES, STEP = 12, 2.5
WALK = (20 + np.cumsum(np.random.default_rng(7).normal(size=(N_FRAMES, 5, 3)), 0)).astype("f4")
TITLES = {"vmd": "Created by DCD plugin", "lammps": "Written by LAMMPS"}


def dcd(path: Path, title: str, delta: float = 1.0, every: int = 1) -> Path:
    """Write a DCD file with a title of some program."""

    def record(data: bytes) -> bytes:
        return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))

    head = struct.pack("<9i", N_FRAMES, 0, every, every * N_FRAMES, *[0] * 5)
    head += struct.pack("<f10i", delta, 0, *[0] * 8, 24)
    parts = [b"CORD" + head, struct.pack("<i", 1) + title.encode().ljust(80)]
    parts.append(struct.pack("<i", 5))
    parts += [frame[:, axis].astype("<f4").tobytes() for frame in WALK for axis in range(3)]
    path.write_bytes(b"".join(map(record, parts)))
    return path


def text(path: Path, title: Callable[[int], str] | None) -> Path:
    """Write a PDB or GRO file whose titles state times, if any."""
    lines = []
    for k, frame in enumerate(WALK):
        words = "Made" if title is None else title(k)
        if path.suffix == ".gro":
            lines += [words, "    5"]
            lines += [
                f"    1LIG     C{i}{i:5d}" + "".join(f"{x:8.3f}" for x in xyz / 10)
                for i, xyz in enumerate(frame)
            ]
            lines.append("   9.00000   9.00000   9.00000")
        else:
            lines += [f"TITLE     {words}", f"MODEL     {k + 1:4d}"]
            lines += [
                f"ATOM  {i:5d}  C{i}  LIG A   1    " + "".join(f"{x:8.3f}" for x in xyz)
                for i, xyz in enumerate(frame)
            ]
            lines.append("ENDMDL")
    path.write_text("\n".join([*lines, ""]))
    return path


def untimed(folder: Path, kind: str) -> Path:
    """Write a file that states no times."""
    if kind == "vmd":
        return dcd(folder / "vmd.dcd", TITLES["vmd"])
    if kind in ("pdb", "gro"):
        return text(folder / f"made.{kind}", None)
    path = folder / f"zero.{kind}"
    tj.write(path, WALK, times=np.zeros(N_FRAMES))
    return path


@pytest.mark.parametrize("kind", ["vmd", "pdb", "gro", "xtc", "trr", "nc"])
def test_unstated_times_are_reported_where_they_are_used(tmp_path: Path, kind: str) -> None:
    """The message names the option, which gives the times; analyses without times have none."""
    path = untimed(tmp_path, kind)
    traj = tj.open(None, path)
    assert any("time_step=PS" in message for message in traj.messages)
    atoms = traj.all_atoms()
    assert "time_step=" in str(tj.gyration(atoms, weights="equal").messages)
    assert "time_step=" not in str(tj.rmsf(atoms, weights="equal").messages)
    if len(set(traj.times)) == 1:
        with raises(tj.AnalysisError):
            tj.msd(atoms, weights="equal", unwrapped=True)
    else:
        # A diffusion coefficient of made-up times is worth a warning.
        lags = tj.msd(atoms, weights="equal", unwrapped=True)
        assert Code.UNKNOWN_TIMES in [one.code for one in lags.warnings]
        assert "time_step=" not in str(tj.gyration(atoms, weights="equal").warnings)
    given = tj.open(None, path, time_step=STEP)
    assert np.array_equal(given.times, STEP * np.arange(N_FRAMES))
    found = tj.msd(given.all_atoms(), weights="equal", unwrapped=True)
    assert np.array_equal(found.lags[:3], STEP * np.arange(3))
    assert "those of time_step=2.5, not" in str(found.messages)
    assert not given.source.files.time_messages


@pytest.mark.parametrize(
    ("steps", "is_equal"),
    [([0, 10, 20], True), ([0, 10, 30], False), ([0, 0, 0], True), ([2**31 - 5, 5 - 2**31], True)],
)
def test_time_step_of_unequal_steps_is_a_warning(
    steps: list[int], is_equal: bool, tmp_path: Path
) -> None:
    """Steps that pass 2^31 are equal, too; without time_step= there is no such warning."""
    path = tmp_path / "a.trr"
    frames = zip(steps, WALK, strict=False)
    path.write_bytes(
        b"".join(trr_bytes.frame_bytes(x, n_atoms=5, step=k, time=0.1) for k, x in frames)
    )
    found = [one.code for one in tj.open(None, path, time_step=STEP).messages]
    assert (Code.UNEQUAL_STEPS in found) == (not is_equal)
    # Each file of a chain may begin anew.
    twice = tj.open(None, path, shutil.copy(path, tmp_path / "b.trr"), time_step=STEP)
    assert (Code.UNEQUAL_STEPS in [one.code for one in twice.messages]) == (not is_equal)
    assert Code.UNEQUAL_STEPS not in [one.code for one in tj.open(None, path).messages]


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    repeated=st.integers(0, 5),
    by=st.integers(1, 500),
)
@settings(max_examples=examples(20), deadline=None)
def test_dropped_frames_count_for_no_steps(
    lengths: list[int], repeated: int, by: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A run that was restarted within a file: with continuous=True its steps are equal."""
    numbers, end = [], 0
    for n in lengths:
        begin = max(0, end - repeated)
        numbers += range(begin, begin + n)
        end = begin + n
    path = tmp_path_factory.mktemp("restarted") / "a.trr"
    path.write_bytes(
        b"".join(
            trr_bytes.frame_bytes(WALK[0], n_atoms=5, step=by * k, time=float(k)) for k in numbers
        )
    )
    kept = tj.open(None, path, continuous=True, time_step=STEP)
    assert len(set(np.diff(kept.source.reader.steps()).tolist())) <= 1
    assert Code.UNEQUAL_STEPS not in [one.code for one in kept.messages]
    whole = tj.open(None, path, time_step=STEP)
    is_equal = len(set(np.diff(numbers))) <= 1
    assert (Code.UNEQUAL_STEPS in [one.code for one in whole.messages]) == (not is_equal)


@pytest.mark.parametrize("kind", ["pdb", "gro"])
def test_titles_of_gromacs_state_times_and_steps(tmp_path: Path, kind: str) -> None:
    """A frame without a time in such a file has an unknown one."""
    path = text(tmp_path / f"t.{kind}", lambda k: f"Water t= {100.0 * k:9.5f} step= {50000 * k}")
    traj = tj.open(None, path)
    assert np.array_equal(traj.times, 100.0 * np.arange(N_FRAMES))
    assert np.array_equal(traj.steps, 50000 * np.arange(N_FRAMES))
    assert np.array_equal(traj.read([3, 1]).times, [300.0, 100.0])
    assert np.array_equal(tj.open(None, path).times, traj.times)
    # GROMACS writes no END behind the last ENDMDL.
    assert [message.split(":")[0] for message in traj.messages] == (
        ["the file ends without an END record"] if kind == "pdb" else []
    )
    if kind == "pdb":
        path.write_text(path.read_text() + "END\n")
        ended = tj.open(None, path)
        assert not ended.messages
        assert np.array_equal(ended.times, traj.times)
    some = text(tmp_path / f"some.{kind}", lambda k: "Water" if k == 4 else f"Water t= {k}.5")
    assert np.isnan(tj.open(None, some).times).tolist() == [k == 4 for k in range(N_FRAMES)]
    with raises(tj.AnalysisError):
        tj.msd(tj.open(None, some).all_atoms(), weights="equal", unwrapped=True)


def test_time_step_of_lammps_is_read_as_fs(tmp_path: Path) -> None:
    """Its unit is that of the run, which a message says."""
    traj = tj.open(None, dcd(tmp_path / "run.dcd", TITLES["lammps"], delta=2.0, every=500))
    assert np.allclose(traj.times, np.arange(N_FRAMES), rtol=0, atol=1e-12)
    assert "read as fs, frames are 1 ps apart" in str(traj.messages)


def test_files_of_a_chain_are_numbered_on(tmp_path: Path) -> None:
    """One after the other; continuous=True needs times to compare, and drops by these."""
    one, other = dcd(tmp_path / "a.dcd", TITLES["vmd"]), dcd(tmp_path / "b.dcd", TITLES["vmd"])
    both = tj.open(None, one, other, time_step=STEP)
    assert np.array_equal(both.times, STEP * np.arange(2 * N_FRAMES))
    block = both.read([20, 3])
    assert np.array_equal(block.times, STEP * np.array([20, 3]))
    assert pickle.loads(pickle.dumps(both)).times[-1] == both.times[-1]
    with raises(tj.FormatError):
        tj.open(None, one, other, continuous=True)
    for name, first in (("c.xtc", 0), ("d.xtc", 7)):
        tj.write(tmp_path / name, WALK, times=first + np.arange(N_FRAMES))
    paths = (tmp_path / "c.xtc", tmp_path / "d.xtc")
    joined = tj.open(None, *paths, continuous=True, time_step=STEP)
    assert np.array_equal(joined.times, STEP * np.arange(7 + N_FRAMES))


def test_time_step_keeps_the_place_in_the_run(tmp_path: Path) -> None:
    """Integration steps that begin later move all times."""
    path = tmp_path / "part2.xtc"
    tj.write(path, WALK, times=np.zeros(N_FRAMES), steps=500 * (4 + np.arange(N_FRAMES)))
    traj = tj.open(None, path, time_step=0.5)
    assert np.array_equal(traj.times, 0.5 * (4 + np.arange(N_FRAMES)))


@pytest.mark.parametrize(
    ("source", "ending"),
    [
        *((one, one) for one in (".xtc", ".trr", ".nc", ".h5md")),
        *((".xtc", ".dcd"), (".trr", ".xtc"), (".nc", ".h5md"), (".h5md", ".nc")),
    ],
)
def test_copies_have_the_given_times(tmp_path: Path, source: str, ending: str) -> None:
    """Also copies in the same format, whose frames are copied as they are stored."""
    path, copy = tmp_path / f"in{source}", tmp_path / f"out{ending}"
    tj.write(path, WALK, times=3.0 * np.arange(N_FRAMES))
    traj = tj.open(None, path, time_step=STEP)
    tj.convert(traj, copy, allow_loss=True)
    assert np.allclose(tj.open(None, copy).times, traj.times, rtol=1e-6, atol=0)
    some = traj.select([1, 3])
    tj.convert(some, copy, allow_loss=True, frames=slice(3, None, 2), force=True)
    assert np.allclose(tj.open(None, copy).times, traj.times[3::2], rtol=1e-6, atol=0)


def untimed_hdf5(path: Path) -> Path:
    """Write an H5MD file, or one of mdtraj, without times."""
    with h5py.File(path, "w") as file:
        if path.suffix == ".h5":
            file.attrs["conventions"], file.attrs["conventionVersion"] = "Pande", "1.1"
            file.create_dataset("coordinates", data=WALK / 10).attrs["units"] = "nanometers"
        else:
            element = file.create_group("particles/all/position")
            element.create_dataset("value", data=WALK).attrs["unit"] = "Angstrom"
            element["step"] = np.arange(N_FRAMES)
    return path


def untimed_nc(path: Path) -> Path:
    """Write a NetCDF file that has no variable of times."""
    with netcdf_file(path, "w", version=2) as file:
        file.Conventions, file.ConventionVersion = b"AMBER", b"1.0"
        for name, n in (("frame", None), ("atom", 5), ("spatial", 3)):
            file.createDimension(name, n)
        file.createVariable("coordinates", "f", ("frame", "atom", "spatial"))[:N_FRAMES] = WALK
    return path


@pytest.mark.parametrize("name", ["run.nc", "run.h5md", "run.h5"])
def test_files_that_have_no_times_take_the_option(tmp_path: Path, name: str) -> None:
    """The message names it; copies in the same format have the times."""
    path = tmp_path / name
    (untimed_nc if path.suffix == ".nc" else untimed_hdf5)(path)
    assert any(
        "time_step=PS" in message for message in tj.open(None, path).source.files.time_messages
    )
    traj = tj.open(None, path, time_step=STEP)
    assert np.array_equal(traj.read([3, 1]).times, [3 * STEP, STEP])
    copy = tmp_path / f"copy{path.with_suffix('.h5md' if '.h5' in name else '.nc').suffix}"
    tj.convert(traj, copy)
    assert np.array_equal(tj.open(None, copy).times, traj.times)
    assert "time step     2.5 ps" in succeed("info", path, "--time-step", STEP)


def test_commands_take_the_option(tmp_path: Path) -> None:
    """With units, and for the choice of frames by times."""
    path = untimed(tmp_path, "gro")
    lines = succeed("info", path, "--time-step", "0.0025ns")
    assert "time step     2.5 ps" in lines
    fail("convert", untimed(tmp_path, "xtc"), tmp_path / "a.xtc", "--begin", "5")
    copy = tmp_path / "late.xtc"
    succeed("convert", path, copy, "--time-step", STEP, "--begin", "7.5", "--quiet")
    assert np.array_equal(tj.open(None, copy).times, STEP * np.arange(3, N_FRAMES))
    table = tmp_path / "out.csv"
    command = ("gyration", path, "--select", "all", "--weights", "equal", "-o", table)
    assert "--time-step PS" in str(succeed(*command))
    succeed(*command, "--time-step", STEP, "--quiet")
    rows = [line.split(",")[1] for line in table.read_text().splitlines()[1:]]
    assert [float(row) for row in rows] == list(STEP * np.arange(N_FRAMES))
    misuse("info", path, "--time-step", "0")


@pytest.mark.parametrize("wrong", [0, -1.0, np.nan, np.inf, "1", True])
def test_a_time_step_is_a_time_above_zero(tmp_path: Path, wrong: float) -> None:
    """Anything else is an error."""
    with raises(ValueError):
        tj.open(None, untimed(tmp_path, "gro"), time_step=wrong)


@pytest.mark.parametrize("kind", ["xtc", "nc"])
def test_data_sets_keep_the_times(tmp_path: Path, kind: str) -> None:
    """A time step that is not a number of single precision too; an open data set takes another."""
    topology = text(tmp_path / "top.pdb", None)
    traj = tj.open(topology, untimed(tmp_path, kind), time_step=0.1)
    store = tj.Store(tmp_path / "store", create=True)
    store.add("run", traj)
    kept = store.open("run")
    assert np.allclose(kept.times, 0.1 * np.arange(N_FRAMES), rtol=1e-6, atol=0)
    assert np.array_equal(kept.read().times, kept.times)
    assert "time_step=0.1" in str(kept.messages)
    again = tj.open(f"{tmp_path}/store/run", time_step=STEP)
    assert np.array_equal(again.read([2]).times, [2 * STEP])


@pytest.mark.parametrize("kind", ["xtc", "pdb", "lammps"])
def test_groups_of_universes_with_other_times_are_taken(tmp_path: Path, kind: str) -> None:
    """Also if MDAnalysis was given a time step, or reads titles otherwise."""
    topology = text(tmp_path / "top.pdb", None)
    if kind == "xtc":
        path, step = untimed(tmp_path, "xtc"), {"dt": STEP}
    elif kind == "pdb":
        path, step = text(tmp_path / "t.pdb", lambda k: f"Water t= {100.0 * k}"), {}
    else:
        path, step = dcd(tmp_path / "run.dcd", TITLES["lammps"], every=10), {}
    universe = mda.Universe(topology, path, **step)
    universe.trajectory[3]
    found = tj.gyration(universe.atoms, weights="equal")
    assert np.allclose(found.times, [ts.time for ts in universe.trajectory], rtol=1e-6, atol=0)
