"""Results of earlier runs are used again if nothing has changed on which they depend."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

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


@pytest.fixture
def ensemble(adk: Adk, tmp_path: Path) -> tj.Ensemble:
    """Return three replicas."""
    return made_replicas(adk, tmp_path / "files", {"wt": 3})


def test_results_are_used_again_with_the_same_bits(ensemble: tj.Ensemble, tmp_path: Path) -> None:
    """Whatever the threads; also where each result begins, for the remark on one start."""
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
    with pytest.raises(ValueError, match="apply: an argument of the type function"):
        tj.run([job], resume=tmp_path / "kept")
    with pytest.raises(ValueError, match="resume= is for the members of an ensemble"):
        tj.run([tj.rmsd.job(ensemble[0].open().select("name CA"))], resume=tmp_path / "kept")


@pytest.mark.kills(2)
@pytest.mark.parametrize("target", [on_threads, on_processes])
def test_killed_runs_go_on_with_the_same_bits(
    adk: Adk, tmp_path: Path, target: Callable[[Path], None], kills: int
) -> None:
    """At random moments between the first and the last result."""
    died = kill_at_random(adk, tmp_path, lambda folder: in_a_process(target, folder), kills)
    assert died or kills < 10
