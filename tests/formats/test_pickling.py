"""Trajectories and selections in other processes, and what frames hold beside their atoms."""

import copy
import os
import pickle
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes
from helpers.messages import raises
from MDAnalysisTests import datafiles


def _again(trajectory: tj.Trajectory) -> tj.Trajectory:
    again = pickle.loads(pickle.dumps(trajectory))
    assert isinstance(again, tj.Trajectory)
    return again


def test_pickled_trajectories_read_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, options, transforms and selections survive, from another working folder too."""
    for source in (datafiles.TPR, datafiles.XTC):
        shutil.copy(source, tmp_path)
    monkeypatch.chdir(tmp_path)
    traj = tj.open("adk_oplsaa.tpr", "adk_oplsaa.xtc", "adk_oplsaa.xtc")
    made = [traj, traj.whole().fit("name CA"), traj.nojump(every_frame=True)]
    pickled = [pickle.dumps(one) for one in made]
    selection = pickle.dumps(made[1].select("name CA"))
    expected = [one.read([3, 12], [0, 4000]).positions for one in made]
    of_selection = made[1].select("name CA").read([5]).positions
    os.chdir("/")
    for bytes_of, positions in zip(pickled, expected, strict=True):
        again = pickle.loads(bytes_of)
        assert again.read([3, 12], [0, 4000]).positions.tobytes() == positions.tobytes()
    chosen = pickle.loads(selection)
    assert chosen.text == "name CA"
    assert chosen.read([5]).positions.tobytes() == of_selection.tobytes()


def test_options_survive(tmp_path: Path) -> None:
    """A file that ends inside a frame is read again without it."""
    content = Path(datafiles.XTC).read_bytes()
    cut = tmp_path / "cut.xtc"
    cut.write_bytes(content[: len(content) // 2])
    traj = tj.open(None, cut, allow_truncated_tail=True)
    assert _again(traj).n_frames == traj.n_frames


def test_data_sets_of_stores_survive(tmp_path: Path) -> None:
    """Some tags of a data set are opened again."""
    store = tj.Store(tmp_path / "store", create=True)
    store.add("adk", tj.open(datafiles.PSF, datafiles.DCD))
    traj = tj.open(tmp_path / "store" / "adk@protein")
    again = _again(traj)
    assert again.label == traj.label
    assert np.array_equal(again.read([4]).positions, traj.read([4]).positions)


def test_another_file_is_an_error(tmp_path: Path) -> None:
    """A file that was replaced since is not read in its place."""
    path = Path(shutil.copy(datafiles.DCD, tmp_path / "one.dcd"))
    pickled = pickle.dumps(tj.open(datafiles.PSF, path))
    shutil.copy(datafiles.DCD2, path)
    with raises(tj.FormatError):
        pickle.loads(pickled)


def test_another_topology_is_an_error(tmp_path: Path) -> None:
    """Selections of the copy would be of other atoms."""
    path = Path(shutil.copy(datafiles.PSF, tmp_path / "one.psf"))
    pickled = pickle.dumps(tj.open(path, datafiles.DCD))
    path.write_text(path.read_text().replace(" CB ", " CX "))
    with raises(tj.FormatError):
        pickle.loads(pickled)


def test_copies_share_the_files() -> None:
    """Both kinds of copy read the same, and outlive the original."""
    traj = tj.open(datafiles.PSF, datafiles.DCD)
    expected = traj.read([7]).positions
    copies = [copy.copy(traj), copy.deepcopy(traj), copy.deepcopy(traj.select("name CA"))]
    traj.close()
    for one in copies[:2]:
        assert np.array_equal(one.read([7]).positions, expected)
    assert np.array_equal(copies[2].read([7]).positions, expected[:, copies[2].indices])


def test_a_topology_of_a_universe_is_not_pickled() -> None:
    """The error names the remedy."""
    import MDAnalysis

    universe = MDAnalysis.Universe(datafiles.PSF, datafiles.DCD)
    selection = tj.trajectory.from_atomgroup(universe.select_atoms("name CA"))
    with raises(TypeError):
        pickle.dumps(selection.trajectory)


def test_lambda_and_observables_are_those_of_the_frame(tmp_path: Path) -> None:
    """TRR frames have λ; rows of H5MD series are found by their steps; other formats have none."""
    x = np.zeros((3, 4, 3))
    path = tmp_path / "lambda.trr"
    frames = [
        trr_bytes.frame_bytes(x[k], n_atoms=4, step=k, time=k, lambda_=0.25 * k) for k in range(3)
    ]
    path.write_bytes(b"".join(frames))
    traj = tj.open(None, path, path)
    assert [traj.observables(k) for k in (1, -1, 3)] == [
        {"lambda": 0.25},
        {"lambda": 0.5},
        {"lambda": 0.0},
    ]
    assert traj.cursor([]).read(2).observables() == {"lambda": 0.5}
    assert tj.open(datafiles.PSF, datafiles.DCD).observables(0) == {}
    with pytest.raises(tj.FrameError):
        traj.observables(6)
    energy = tj.open(None, datafiles.H5MD_energy)
    with h5py.File(datafiles.H5MD_energy) as file:
        rows = file["observables/atoms/energy/value"][:]
    for frame in (0, 3, energy.n_frames - 1):
        assert energy.observables(frame) == {"atoms/energy": rows[frame]}


def test_observables_of_other_steps_are_left_out(tmp_path: Path) -> None:
    """A series that was written every other frame belongs to these frames; constants to none."""
    path = Path(shutil.copy(datafiles.H5MD_energy, tmp_path / "some.h5md"))
    traj = tj.open(None, path)
    steps = traj.steps
    with h5py.File(path, "a") as file:
        group = file.create_group("observables/rare")
        group["step"] = steps[::2]
        group["value"] = np.arange(len(steps[::2]) * 2.0).reshape(-1, 2)
        even = file.create_group("observables/even")
        even["step"] = int(steps[1] - steps[0])
        even["step"].attrs["offset"] = int(steps[0])
        even["value"] = np.arange(float(len(steps)))
        file["observables/constant"] = 3.0
        unknown = file.create_group("observables/unknown")
        unknown["value"] = np.arange(2.0)
    traj = tj.open(None, path)
    found = [traj.observables(k) for k in range(4)]
    assert [sorted(one) for one in found] == [
        ["atoms/energy", "even", "rare"],
        ["atoms/energy", "even"],
        ["atoms/energy", "even", "rare"],
        ["atoms/energy", "even"],
    ]
    assert np.array_equal(found[2]["rare"], [2.0, 3.0])
    assert [one["even"] for one in found] == [0, 1, 2, 3]


def test_rows_of_steps_that_repeat_are_the_frames(tmp_path: Path) -> None:
    """Steps of a continued run begin anew: rows with the steps of the frames are the frames."""
    path = Path(shutil.copy(datafiles.H5MD_energy, tmp_path / "again.h5md"))
    with h5py.File(path, "a") as file:
        (particles,) = file["particles"].values()
        n_frames = len(particles["position/value"])
        restarted = np.arange(n_frames) % 3
        for element in ("position", "box/edges"):
            del particles[f"{element}/step"]
            particles[f"{element}/step"] = restarted
        for name, steps in (("same", restarted), ("fewer", restarted[:-1])):
            group = file.create_group(f"observables/{name}")
            group["step"] = steps
            group["value"] = np.arange(float(len(steps)))
    traj = tj.open(None, path)
    found = [traj.observables(k) for k in range(n_frames)]
    assert [one["same"] for one in found] == list(range(n_frames))
    assert not any("fewer" in one for one in found)


def test_observables_are_those_of_the_opened_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of a file of this name in another folder, nor of one that took its place."""
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        shutil.copy(datafiles.H5MD_energy, tmp_path / folder / "t.h5md")
    with h5py.File(tmp_path / "other" / "t.h5md", "a") as file:
        file["observables/atoms/energy/value"][:] += 1
        file["observables/atoms/more"] = np.zeros(1000)
    monkeypatch.chdir(tmp_path / "one")
    first, second = tj.open(None, "t.h5md"), tj.open(None, "t.h5md")
    expected = tj.open(None, datafiles.H5MD_energy).observables(2)
    monkeypatch.chdir(tmp_path / "other")
    assert first.observables(2) == expected
    shutil.copy(tmp_path / "other" / "t.h5md", tmp_path / "one" / "t.h5md")
    with raises(tj.FormatError):
        second.observables(2)
