"""NetCDF to NetCDF loses no variable, dimension or attribute, as SciPy reads source and copy."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.made_ncdf import N_ATOMS, Run, assert_same, read_all
from helpers.messages import raises
from helpers.mounted_stores import mounted
from helpers.round_trips import own_messages
from trajet._trajet import MESSAGES_ATTRIBUTE
from trajet.pools.jobs import Job, JobResult, JobSpec, do_job
from trajet.pools.pool import Progress

STEPS = "NCDF keeps the times, but not the numbers of the steps"
OF_ATOMS = ("charge", "atom_name", "state", "planes")


@pytest.mark.parametrize("version", [1, 2])
def test_copy_keeps_every_variable_dimension_and_attribute(version: int, tmp_path: Path) -> None:
    """A copy of the copy has the same bytes."""
    source = Run(version=version).write(tmp_path / "run.nc")
    traj = tj.open(None, source)
    done = tj.convert(traj, tmp_path / "copy.nc")
    assert done.messages == tuple(traj.messages)
    assert_same(read_all(done.path), read_all(source))
    again = tj.convert(tj.open(None, done.path), tmp_path / "again.nc")
    assert again.path.read_bytes() == done.path.read_bytes()


def test_copies_of_some_frames_and_atoms_are_cut(tmp_path: Path) -> None:
    """Variables with the dimension of frames or atoms are cut; the rest is unchanged."""
    source = Run().write(tmp_path / "run.nc")
    traj, expected = tj.open(None, source), read_all(source)
    frames = slice(4, None, -2)
    done = tj.convert(traj, tmp_path / "frames.nc", frames=frames)
    assert_same(read_all(done.path), expected.part(frames=frames))
    for number, atoms in enumerate(([0], [5, 1, 2], list(range(N_ATOMS))[::-1])):
        path = tmp_path / f"{number}.nc"
        assert own_messages(tj.convert(traj.select(atoms), path), traj) == ()
        assert_same(read_all(path), expected.part(atoms=atoms))


def test_parts_of_a_split_keep_every_variable(tmp_path: Path) -> None:
    """Every part has all variables, and together they give the source back."""
    source = Run().write(tmp_path / "run.nc")
    parts = tj.split(tj.open(None, source), tmp_path / "parts", frames_per_segment=2)
    for k, part in enumerate(parts):
        expected = read_all(source).part(frames=slice(2 * k, 2 * k + 2))
        assert_same(read_all(part.path), expected)
    together = tj.open(None, *[part.path for part in parts])
    joined = tj.convert(together, tmp_path / "joined.nc")
    assert own_messages(joined, together) == (STEPS,)
    assert_same(read_all(joined.path), read_all(source))


def test_convert_command_keeps_every_variable(tmp_path: Path) -> None:
    """`trajet convert` writes the copy."""
    source = Run().write(tmp_path / "run.nc")
    copy = tmp_path / "copy.nc"
    command = [sys.executable, "-m", "trajet", "convert", source, copy]
    subprocess.run(command, check=True, capture_output=True)
    assert_same(read_all(copy), read_all(source))


def test_dropped_velocities_are_the_only_loss(tmp_path: Path) -> None:
    """All other contents stay."""
    source = Run().write(tmp_path / "run.nc")
    done = tj.convert(tj.open(None, source), tmp_path / "copy.nc", velocities=False)
    assert_same(read_all(done.path), read_all(source).without("velocities"))


def test_source_without_times_gets_frame_numbers(tmp_path: Path) -> None:
    """The copy keeps everything else."""
    source = Run(without=("time",)).write(tmp_path / "run.nc")
    done = tj.convert(tj.open(None, source), tmp_path / "copy.nc", frames=[3, 1])
    copy = read_all(done.path)
    assert copy.variables["time"][3].tolist() == [3, 1]
    assert b"states no times" in copy.attributes[MESSAGES_ATTRIBUTE]
    kept = copy.without("time", MESSAGES_ATTRIBUTE)
    assert_same(kept, read_all(source).part(frames=[3, 1]))


class InThisProcess:
    """A pool whose only worker is this process."""

    kind: ClassVar[str] = "here"
    n_threads = 1

    def do_jobs(
        self, brief: JobSpec, jobs: Sequence[Job], progress: Progress | None = None
    ) -> list[JobResult]:
        """Do the jobs one after the other."""
        done = [do_job(brief.begin(), job, 1, lambda _: None) for job in jobs]
        return [one.by(worker=k) for k, one in enumerate(done)]


def test_workers_write_the_bytes_and_messages_of_one_process(tmp_path: Path) -> None:
    """The source files differ in their contents."""
    first = Run().write(tmp_path / "first.nc")
    other = Run(seed=1, title="other", without=("shorts",)).write(tmp_path / "other.nc")
    third = Run(seed=2, without=("temp0",)).write(tmp_path / "third.nc")
    traj = tj.open(None, first, other, third)
    here = tj.convert(traj, tmp_path / "here.nc")
    there = tj.convert(traj, tmp_path / "there.nc", pool=InThisProcess())
    assert there.path.read_bytes() == here.path.read_bytes()
    assert there.messages == here.messages
    assert len(own_messages(here, traj)) == 5
    parts = tj.split(traj, tmp_path / "parts", segments=3, pool=InThisProcess())
    for part, source in zip(parts, (first, other, third), strict=True):
        # The message that their times overlap is kept in the parts.
        assert_same(read_all(part.path).without("trajet_messages"), read_all(source))


def test_files_that_differ_are_written_as_the_first_with_messages(tmp_path: Path) -> None:
    """NetCDF's fill value replaces a variable that a file lacks."""
    first = Run().write(tmp_path / "first.nc")
    run = Run(n_frames=3, seed=1, title="other", dimtype=(3, 1), without=("temp0",))
    other = run.write(tmp_path / "other.nc")
    both = tj.open(None, first, other)
    done = tj.convert(both, tmp_path / "both.nc")
    steps, *words = own_messages(done, both)
    assert "numbers of the steps" in steps
    assert words == [
        "as in the first file, where other files differ: :title, charge, remd_dimtype",
        "frames of files that lack these variables of the first file hold NetCDF's fill value in"
        " them: temp0",
    ]
    copy, expected = read_all(done.path), read_all(first)
    fill = np.frombuffer(bytes.fromhex("479e000000000000"), ">f8")
    temperatures = copy.variables["temp0"][3]
    assert np.array_equal(temperatures[:5], expected.variables["temp0"][3])
    assert temperatures[5:].tolist() == [fill[0]] * 3
    assert "times overlap" in bytes(copy.attributes["trajet_messages"]).decode()
    assert_same(copy.part(frames=slice(5)).without("trajet_messages"), expected)
    theirs = read_all(other)
    for name in ("remd_indices", "flags", "state", "planes", "coordinates", "velocities"):
        assert np.array_equal(copy.variables[name][3][5:], theirs.variables[name][3]), name
    # In the other order temp0 is lost.
    back = tj.convert(tj.open(None, other, first), tmp_path / "back.nc")
    assert "left out, since the first file has no such variables: temp0" in back.messages
    found = read_all(back.path).part(frames=slice(3)).without("trajet_messages")
    assert_same(found, theirs)


@pytest.mark.parametrize("ending", [".xtc", ".trr", ".dcd", ".h5md"])
def test_another_format_names_the_lost_variables(ending: str, tmp_path: Path) -> None:
    """Files without further variables have no such message."""
    source = Run(velocities=False).write(tmp_path / "run.nc")
    done = tj.convert(tj.open(None, source), tmp_path / f"copy{ending}")
    assert (
        f"left out, as {ending[1:].upper()} cannot hold it: variables atom_name, charge,"
        " remd_dimtype, flags, temp0, remd_indices, remd_repidx, remd_crdidx,"
        " remd_values, shorts, state, planes; attributes counts"
    ) in done.messages
    plain = tmp_path / "plain.nc"
    tj.convert(tj.open(None, tmp_path / f"copy{ending}"), plain)
    second = tj.convert(tj.open(None, plain), tmp_path / f"plain{ending}")
    assert not any("cannot hold it" in message for message in second.messages)


TAGS = [("front", "index 0:2"), ("back", "index 5:6"), ("middle", "index 3:4")]
PLACES = {"front": [0, 1, 2], "back": [5, 6], "middle": [3, 4]}


def stored(folder: Path, sources: list[Path], **forms: str) -> tj.Store:
    """Return a store with the data set `run` of these files, its tags in these formats."""
    lines = ['[tiers]\nhere = "here"']
    for name, select in TAGS:
        lines += [f'[[tags]]\nname = "{name}"\nselect = "{select}"\ntier = "here"']
        lines += [forms.get(name, "")]
    profile = folder / "profile.toml"
    profile.write_text("\n".join(lines))
    top = folder / "top.gro"
    atoms = mda.Universe.empty(
        N_ATOMS, n_residues=N_ATOMS, atom_resindex=range(N_ATOMS), trajectory=True
    )
    atoms.atoms.write(top)
    store = tj.Store(folder / "store", create=True)
    store.add("run", tj.open(top, *sources), profile=profile)
    return store


def test_all_tags_of_a_data_set_give_the_source_back(tmp_path: Path) -> None:
    """A retagged data set and a mount do so, too; some tags give their atoms."""
    source = Run().write(tmp_path / "run.nc")
    expected = read_all(source)
    store = stored(tmp_path, [source])
    whole = tj.open(tmp_path / "store" / "run")
    assert own_messages(tj.convert(whole, tmp_path / "back.nc"), whole) == ()
    assert_same(read_all(tmp_path / "back.nc"), expected)
    for tag, atoms in PLACES.items():
        (path,) = (tmp_path / "here").rglob(f"{tag}.nc")
        assert_same(read_all(path), expected.part(atoms=atoms))
    two = tj.open(f"{tmp_path}/store/run@back,front")
    tj.convert(two, tmp_path / "two.nc")
    assert_same(read_all(tmp_path / "two.nc"), expected.part(atoms=[0, 1, 2, 5, 6]))
    assert not store.verify("run")
    # Retagged, it is the same.
    profile = tmp_path / "profile.toml"
    profile.write_text(profile.read_text().replace("index 3:4", "index 3").replace("5:6", "4:6"))
    store.retag("run", profile=profile)
    tj.convert(tj.open(tmp_path / "store" / "run"), tmp_path / "again.nc")
    assert_same(read_all(tmp_path / "again.nc"), expected)
    with mounted(tmp_path / "store", tmp_path / "mnt") as mount:
        assert (mount / "run.nc").read_bytes() == (tmp_path / "again.nc").read_bytes()


def test_data_set_grows_with_its_variables(tmp_path: Path) -> None:
    """Appended frames have their values."""
    long = Run(n_frames=6, seed=3).write(tmp_path / "long.nc")
    source = tmp_path / "run.nc"
    tj.convert(tj.open(None, long), source, frames=slice(0, 4))
    store = stored(tmp_path, [source])
    source.write_bytes(long.read_bytes())
    store.append("run", tj.open(tmp_path / "top.gro", source))
    tj.convert(tj.open(tmp_path / "store" / "run"), tmp_path / "back.nc")
    assert_same(read_all(tmp_path / "back.nc"), read_all(long))


def test_lossy_tags_name_lost_variables(tmp_path: Path) -> None:
    """Exact tags refuse to lose them."""
    source = Run(velocities=False).write(tmp_path / "run.nc")
    with raises(tj.TrajetError):
        stored(tmp_path, [source], middle='format = "dcd"')
    (tmp_path / "lossy").mkdir()
    form = 'format = "xtc"\nlossy = true'
    store = stored(tmp_path / "lossy", [source], middle=form)
    whole = tj.open(store.folder / "run")
    done = tj.convert(whole, tmp_path / "back.nc")
    (words,) = own_messages(done, whole)
    assert words.startswith("left out: atom_name (files of some of the atoms do not have it), ")
    expected = read_all(source).without(*OF_ATOMS)
    found = read_all(done.path)
    xyz = found.variables["coordinates"]
    assert np.abs(xyz[3] - expected.variables["coordinates"][3]).max() < 0.006
    expected = replace(expected, variables={**expected.variables, "coordinates": xyz})
    assert_same(found, expected)
