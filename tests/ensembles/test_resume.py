"""Results of earlier runs are used again if nothing has changed on which they depend."""

import gzip
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.kept_members import (
    again,
    in_a_process,
    jobs,
    kill_at_random,
    n_reused,
    numbers,
    on_processes,
    on_threads,
)
from helpers.made_ensembles import made_replicas
from helpers.made_hdf5 import add_gromacs_topology
from helpers.made_stores import TWO_TAGS
from helpers.messages import raises
from MDAnalysisTests.datafiles import TPR, XTC
from trajet.analysis import resume
from trajet.analysis.resume import ResumeFolder
from trajet.members import OpenMember


@pytest.fixture
def ensemble(adk: Adk, tmp_path: Path) -> tj.Ensemble:
    """Return three replicas."""
    return made_replicas(adk, tmp_path / "files", {"wt": 3})


def test_results_are_used_again_with_the_same_bits(ensemble: tj.Ensemble, tmp_path: Path) -> None:
    """Whatever the threads; also where each result begins, for the message on one start."""
    first = tj.run(jobs(ensemble), resume=tmp_path / "kept")
    assert n_reused(first) == [0, 0]
    second = tj.run(
        jobs(again(tmp_path)), resume=tmp_path / "kept", pool=tj.LocalPool(threads=1, task_frames=3)
    )
    assert n_reused(second) == [3, 3]
    assert numbers(first) == numbers(second)
    for one, other in zip(first[0].outcomes, second[0].outcomes, strict=True):
        assert np.array_equal(one.start, other.start)
    assert not [path for path in (tmp_path / "kept").iterdir() if path.name.startswith(".")]


def test_only_what_depends_on_a_change_is_computed_again(
    ensemble: tj.Ensemble, tmp_path: Path
) -> None:
    """Arguments, frames, transforms, a selection, a topology and a trajectory."""
    kept = tmp_path / "kept"
    tj.run(jobs(ensemble), resume=kept)
    calpha = ensemble.select("name CA")
    for changed, count in (
        (tj.rmsf.job(calpha, align="same"), 3),
        (tj.rmsf.job(calpha, align="name CB"), 0),
        (tj.rmsf.job(ensemble.select("name CB"), align="same"), 0),
        (tj.rmsf.job(ensemble.translate([1, 0, 0]).select("name CA"), align="same"), 0),
    ):
        assert n_reused(tj.run([changed], resume=kept)) == [count]
        # The second time all are there.
        assert n_reused(tj.run([changed], resume=kept)) == [3]
    assert n_reused(tj.run(jobs(ensemble), resume=kept, frames=slice(5))) == [0, 0]
    one = ensemble[0].trajectories[0]
    os.utime(one, ns=(1, 1))
    assert n_reused(tj.run(jobs(again(tmp_path)), resume=kept)) == [2, 2]
    topology = ensemble[0].topology
    assert topology is not None
    with topology.open("a") as file:
        file.write("\n")
    assert n_reused(tj.run(jobs(again(tmp_path)), resume=kept)) == [0, 0]


def test_all_bytes_are_compared_on_request(ensemble: tj.Ensemble, tmp_path: Path) -> None:
    """A byte in the middle that changed, with the times of the file put back, is seen."""
    kept = tmp_path / "kept"
    job = [tj.gyration.job(ensemble.select("protein"))]
    tj.run(job, resume=kept, verify=True)
    assert n_reused(tj.run(job, resume=kept, verify=True)) == [3]
    one = ensemble[0].trajectories[0]
    stat = one.stat()
    content = bytearray(one.read_bytes())
    content[len(content) // 2] ^= 1
    one.write_bytes(content)
    os.utime(one, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (result,) = tj.run(job, resume=kept, verify=True, keep_going=True)
    assert result.n_reused == 2
    # Only the time of change differs: all bytes are the same.
    os.utime(ensemble[1].trajectories[0], ns=(1, 1))
    assert n_reused(tj.run(job, resume=kept, verify=True, keep_going=True))[0] >= 2


def test_damaged_results_are_computed_again(ensemble: tj.Ensemble, tmp_path: Path) -> None:
    """Files that are cut, and empty folders."""
    kept = tmp_path / "kept"
    first = tj.run(jobs(ensemble), resume=kept)
    places = sorted(kept.iterdir())
    assert len(places) == 6
    result = places[0] / "result.npz"
    result.write_bytes(result.read_bytes()[:-40])
    shutil.rmtree(places[1])
    places[1].mkdir()
    second = tj.run(jobs(ensemble), resume=kept)
    assert sum(n_reused(second)) == 4
    assert numbers(first) == numbers(second)
    assert n_reused(tj.run(jobs(ensemble), resume=kept)) == [3, 3]


@pytest.mark.parametrize("name", ["start.npy", "result.npz"])
def test_damaged_headers_are_computed_again(
    ensemble: tj.Ensemble, tmp_path: Path, name: str
) -> None:
    """NumPy parses a header as Python, whose errors are many."""
    kept = tmp_path / "kept"
    first = tj.run(jobs(ensemble), resume=kept)
    path = min(kept.iterdir()) / name
    good = path.read_bytes()
    changes = {b"}": b" ", b"(": b"[", b"'": b'"', b"{": b"\xff", b"shape": b"sh(pe"}
    for before, after in changes.items():
        path.write_bytes(good.replace(before, after, 1))
        again = tj.run(jobs(ensemble), resume=kept)
        assert sum(n_reused(again)) == 5
        assert numbers(first) == numbers(again)


def test_failed_members_are_not_kept(ensemble: tj.Ensemble, tmp_path: Path) -> None:
    """They are tried again, and the others are used again."""
    kept = tmp_path / "kept"
    one = ensemble[1].trajectories[0]
    whole = one.read_bytes()
    one.write_bytes(whole[:-9])
    (first, _) = tj.run(jobs(ensemble), resume=kept, keep_going=True)
    assert [failure.label for failure in first.failures] == ["system=wt, replica=2"]
    one.write_bytes(whole)
    second = tj.run(jobs(again(tmp_path)), resume=kept)
    assert n_reused(second) == [2, 2]
    assert len(second[0]) == 3


def test_functions_and_single_trajectories_are_refused(
    ensemble: tj.Ensemble, tmp_path: Path
) -> None:
    """A function cannot be compared with that of an earlier run."""
    job = tj.apply.job(ensemble.select("name CA"), lambda x: x.mean(axis=0))
    with raises(ValueError):
        tj.run([job], resume=tmp_path / "kept")
    with raises(ValueError):
        tj.run([tj.rmsd.job(ensemble[0].open().select("name CA"))], resume=tmp_path / "kept")


@pytest.mark.kills(2)
@pytest.mark.parametrize("target", [on_threads, on_processes])
def test_killed_runs_go_on_with_the_same_bits(
    adk: Adk, tmp_path: Path, target: Callable[[Path], None], kills: int
) -> None:
    """At random moments between the first and the last result."""
    died = kill_at_random(adk, tmp_path, lambda folder: in_a_process(target, folder), kills)
    assert died or kills < 10


@dataclass
class Inputs:
    """An analysis with files of a kind.

    Attributes
    ----------
    ensemble, job
        Makes both, as a later run would.
    file
        The file to change.
    is_whole
        Whether all bytes of the file are compared in any case.
    """

    ensemble: Callable[[], tj.Ensemble]
    job: Callable[[tj.Ensemble], Any]
    file: Path
    is_whole: bool = True


def gyration(ensemble: tj.Ensemble) -> Any:
    """Return an analysis without further files."""
    return tj.gyration.job(ensemble.select("protein"))


def members(topology: Path, trajectory: Path) -> Callable[[], tj.Ensemble]:
    """Return what makes an ensemble of one member."""
    row = {"topology": str(topology), "trajectory": str(trajectory), "replica": 1}
    return lambda: tj.ensemble([row])


def with_gzip(path: Path) -> Path:
    """Compress a file."""
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return packed


def in_store(own: Adk, folder: Path) -> tj.Store:
    """Return a store with two tags."""
    (folder / "profile.toml").write_text(TWO_TAGS)
    store = tj.Store(folder / "store", create=True)
    store.add("adk", tj.open(own.psf, own.xtc), profile=folder / "profile.toml")
    return store


def trajectory(own: Adk, folder: Path) -> Inputs:
    """Change the trajectory of a member."""
    return Inputs(members(own.psf, own.xtc), gyration, own.xtc, is_whole=False)


def trajectory_in_hdf5(own: Adk, folder: Path) -> Inputs:
    """Change one in H5MD."""
    path = folder / "t.h5md"
    tj.convert(tj.open(own.psf, own.xtc), path, frames=slice(5))
    return Inputs(members(own.psf, path), gyration, path, is_whole=False)


def topology(own: Adk, folder: Path) -> Inputs:
    """Change the topology of a member."""
    return Inputs(members(own.psf, own.xtc), gyration, own.psf)


def compressed_topology(own: Adk, folder: Path) -> Inputs:
    """Change a compressed one."""
    packed = with_gzip(own.psf)
    return Inputs(members(packed, own.xtc), gyration, packed)


def topology_in_hdf5(own: Adk, folder: Path) -> Inputs:
    """Change one in H5MD."""
    path = folder / "top.h5md"
    tj.convert(tj.open(own.psf, own.xtc), path, frames=slice(1))
    return Inputs(members(path, own.xtc), gyration, path)


def large_topology(own: Adk, folder: Path) -> Inputs:
    """Change one of which the ends are compared."""
    return replace(topology_in_hdf5(own, folder), is_whole=False)


def reference(own: Adk, folder: Path) -> Inputs:
    """Change a structure that is named in the arguments."""
    path = folder / "r.trr"
    tj.convert(tj.open(own.psf, own.xtc), path, frames=slice(1))
    made = members(own.psf, own.xtc)
    return Inputs(made, lambda of: tj.rmsd.job(of.select("name CA"), reference=path), path)


def large_reference(own: Adk, folder: Path) -> Inputs:
    """Change one of which the ends are compared."""
    return replace(reference(own, folder), is_whole=False)


def trajectory_of_a_selection(own: Adk, folder: Path) -> Inputs:
    """Change the trajectory of a Selection in the arguments."""
    other = Path(shutil.copy(own.xtc, folder / "other.xtc"))
    top = Path(shutil.copy(own.psf, folder / "other.psf"))

    def compared(of: tj.Ensemble) -> Any:
        chosen = tj.open(top, other).select(range(100))
        return tj.rmsd.job(of.select("index 0:99"), reference=chosen)

    return Inputs(members(own.psf, own.xtc), compared, other, is_whole=False)


def topology_of_a_selection(own: Adk, folder: Path) -> Inputs:
    """Change its topology."""
    about = trajectory_of_a_selection(own, folder)
    return replace(about, file=folder / "other.psf", is_whole=True)


def tag_of_a_store(own: Adk, folder: Path) -> Inputs:
    """Change a file of a tag; frames are compared with their digests when they are read."""
    store = in_store(own, folder)
    rows = [{"topology": str(store.folder / "adk"), "replica": 1}]
    (path,) = store.show("adk").tags[0].paths
    return Inputs(lambda: tj.ensemble(rows), gyration, path, is_whole=False)


def topology_of_a_store(own: Adk, folder: Path) -> Inputs:
    """Change the topology that a store keeps."""
    about = tag_of_a_store(own, folder)
    (path,) = (folder / "store" / "adk").glob("topology-*")
    return replace(about, file=path, is_whole=True)


KINDS = [
    *(trajectory, trajectory_in_hdf5, topology, compressed_topology, topology_in_hdf5),
    *(large_topology, reference, large_reference),
    *(trajectory_of_a_selection, topology_of_a_selection, tag_of_a_store, topology_of_a_store),
]


def place_of(about: Inputs, folder: Path, *, verify: bool) -> Path:
    """Return the folder of the result."""
    ensemble = about.ensemble()
    opened = OpenMember(ensemble[0])
    try:
        kept = ResumeFolder(folder / "kept", verify=verify)
        return kept.place(about.job(ensemble), opened, np.arange(2))
    finally:
        opened.close()


def change_a_byte(path: Path) -> None:
    """Change a file within, not at its ends; its size stays."""
    if path.suffix == ".h5md":
        with h5py.File(path, "r+") as file:
            values = file["particles"]
            (name,) = values
            values[name]["position/value"][0, 50, 0] += 1
        return
    content = bytearray(path.read_bytes())
    # Positions of texts have digits, which stay some.
    at = len(content) // 2
    while path.suffix in (".gro", ".psf", ".pdb") and not chr(content[at]).isdigit():
        at += 1
    content[at] ^= 1
    with path.open("r+b") as file:
        file.write(content)


@pytest.mark.parametrize("verify", [False, True], ids=["ends", "all bytes"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_changes_of_all_kinds_of_files_are_seen(
    own_adk: Adk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Callable[[Adk, Path], Inputs],
    verify: bool,
) -> None:
    """The size is the same; the time of change is another one, or put back."""
    about = kind(own_adk, tmp_path)
    monkeypatch.setattr(resume, "_WHOLE", 2**26 if about.is_whole else 0)
    before = place_of(about, tmp_path, verify=verify)
    assert place_of(about, tmp_path, verify=verify) == before
    assert place_of(about, tmp_path, verify=not verify) != before
    state = about.file.stat()
    change_a_byte(about.file)
    assert about.file.stat().st_size == state.st_size
    os.utime(about.file, ns=(state.st_atime_ns, state.st_mtime_ns))
    # Only the ends and the time of change of large files and trajectories are compared otherwise.
    is_seen = verify or about.is_whole
    assert (place_of(about, tmp_path, verify=verify) != before) == is_seen
    os.utime(about.file, ns=(state.st_atime_ns, state.st_mtime_ns + 10**9))
    # Frames of a store are compared with their digests when they are read.
    is_seen = is_seen or kind is not tag_of_a_store
    assert (place_of(about, tmp_path, verify=verify) != before) == is_seen


def test_masses_in_a_topology_in_hdf5_count(tmp_path: Path) -> None:
    """Results of the old ones are not used again."""
    path = tmp_path / "top.h5md"
    tj.convert(tj.open(None, XTC), path, frames=slice(0, 1))
    add_gromacs_topology(path, mda.Universe(TPR).atoms)

    def radius(*, verify: bool) -> float:
        rows = [{"topology": str(path), "trajectory": XTC, "replica": 1}]
        job = tj.gyration.job(tj.ensemble(rows).select("protein"))
        kept = tmp_path / f"kept-{verify}"
        (result,) = tj.run([job], resume=kept, verify=verify, frames=slice(2))
        return float(result[0].values.ravel()[0])

    old = radius(verify=False), radius(verify=True)
    with h5py.File(path, "r+") as file:
        for molecule in file["h5md/modules/gromacs_topology"].values():
            masses = molecule["mass"][...]
            masses[: len(masses) // 2] *= 5
            molecule["mass"][...] = masses
    new = radius(verify=False), radius(verify=True)
    assert new[0] == new[1] != old[0] == old[1]


def test_files_that_are_named_like_words_of_the_digest_do_no_harm(
    own_adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that is the name of a file in the working folder is compared with its bytes."""
    monkeypatch.chdir(tmp_path)
    about = topology(own_adk, tmp_path)
    before = place_of(about, tmp_path, verify=False)
    for name in ("file", "protein", "selection", "trajectory", "atoms", "transform"):
        (tmp_path / name).write_text("x")
    after = place_of(about, tmp_path, verify=False)
    assert after != before and place_of(about, tmp_path, verify=False) == after
