"""`run`: several analyses in one pass give the bits of each alone, and read every frame once."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.periodic_systems import Solvated
from trajet.analysis.job import Job

POOLS = [(1, None), (2, 7), (3, 1)]


def jobs_of(trajectory: tj.Trajectory) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Return analyses of rows, states, both passes, Python functions, with overlapping atoms."""
    calpha, protein = trajectory.select("name CA"), trajectory.select("protein")
    few = trajectory.select([7, 3, 3, 900])
    return [
        (tj.rmsd, (calpha,), {"groups": [protein]}),
        (tj.rmsf, (calpha,), {"align": calpha, "reference": "average"}),
        (tj.gyration, (protein,), {}),
        (tj.apply, (few, lambda x: x.mean(axis=0)), {}),
        (tj.apply, (protein, lambda x: x.sum(axis=(0, 1))), {"per": "block", "reducer": np.add}),
        (tj.dihedrals, (calpha,), {}),
        (tj.distances, (few, calpha), {"pbc": False}),
    ]


def numbers(result: Any) -> np.ndarray:
    """Return the values of a result."""
    return np.asarray(result.values)


@pytest.fixture(scope="module")
def trajectory(adk: Adk) -> tj.Trajectory:
    """Return ADK without box."""
    return tj.open(adk.psf, adk.xtc)


@pytest.mark.parametrize(("threads", "task_frames"), POOLS)
@pytest.mark.parametrize("frames", [None, slice(90, 3, -7), [5, 1, 1], []])
def test_results_have_the_bits_of_separate_runs(
    trajectory: tj.Trajectory, threads: int, task_frames: int | None, frames: Any
) -> None:
    """All threads, tasks and frames give the bits of one analysis on one thread."""
    pool = tj.LocalPool(threads=threads, task_frames=task_frames)
    made = jobs_of(trajectory)
    if frames == []:
        # Without frames the shape of a function's values is unknown.
        made = [one for one in made if one[0] is not tj.apply]
    together = tj.run(
        [of.job(*args, **named) for of, args, named in made], frames=frames, pool=pool
    )
    for (of, args, named), result in zip(made, together, strict=True):
        alone = of(*args, **named, frames=frames, pool=tj.LocalPool(threads=1))
        assert type(result) is type(alone)
        assert numbers(result).tobytes() == numbers(alone).tobytes(), of.__name__
        assert numbers(result).shape == numbers(alone).shape


def test_one_job_is_a_run_of_its_own(trajectory: tj.Trajectory) -> None:
    """A single job gives the report of a single analysis."""
    (result,) = tj.run([tj.rmsd.job(trajectory.select("name CA"))])
    assert np.array_equal(result.values, tj.rmsd(trajectory.select("name CA")).values)
    assert "analyses_of_run" not in result.report["parameters"]


def test_each_analysis_has_its_own_transforms() -> None:
    """Analyses of one trajectory may differ in their transforms, and share the decoded frames."""
    trajectory = tj.open(Solvated.topology, Solvated.path, sidecar=False)
    transforms: list[Callable[[tj.Trajectory], tj.Trajectory]] = [
        lambda traj: traj,
        lambda traj: traj.whole(),
        lambda traj: traj.nojump(),
        lambda traj: traj.repair("protein").fit("name CA"),
    ]
    trajectories = [make(trajectory) for make in transforms]
    made = [
        (of, traj.select(text))
        for traj in trajectories
        for of, text in ((tj.gyration, "protein"), (tj.rmsd, "name CA"), (tj.gyration, "resid 1:3"))
    ]
    pools = (
        tj.LocalPool(threads=1),
        tj.LocalPool(threads=2, task_frames=1),
        tj.ProcessPool(workers=2),
    )
    alone = [of(atoms).values for of, atoms in made]
    for pool in pools:
        results = tj.run([of.job(atoms) for of, atoms in made], pool=pool)
        for (of, atoms), values, result in zip(made, alone, results, strict=True):
            assert np.array_equal(result.values, values), (of.__name__, atoms)
            steps = [step.words for step in atoms.trajectory.transforms]
            assert result.report["parameters"].get("transforms", []) == steps


def test_frames_are_read_once(trajectory: tj.Trajectory) -> None:
    """Bytes, requests and passes are those of the analysis that reads the most."""
    calpha, protein = trajectory.select("name CA"), trajectory.select("protein")
    pool = tj.LocalPool(threads=1)
    alone = tj.gyration(protein, pool=pool).report
    results = tj.run(
        [tj.rmsd.job(calpha), tj.gyration.job(protein), tj.rmsf.job(calpha)], pool=pool
    )
    for result in results:
        for count in ("bytes_read", "requests", "passes"):
            assert result.report[count] == alone[count] > 0, count
        names = result.report["parameters"]["analyses_of_run"]
        assert names == ["rmsd", "gyration", "rmsf"]


def test_other_things_than_jobs_are_refused(trajectory: tj.Trajectory, adk: Adk) -> None:
    """Results, misspelt arguments and other trajectories are errors."""
    calpha = trajectory.select("name CA")
    with raises(TypeError):
        tj.run([tj.rmsd(calpha)])
    with raises(ValueError):
        tj.run([])
    with raises(TypeError):
        tj.rmsd.job(calpha, frames=slice(3))
    with raises(TypeError):
        tj.rmsd.job(calpha, refrence=3)
    other = tj.open(adk.psf, adk.xtc).select("name CA")
    with raises(ValueError):
        tj.run([tj.rmsd.job(calpha), tj.rmsd.job(other)])
    assert isinstance(tj.rmsd.job(calpha), Job)


def test_the_exception_of_one_analysis_ends_the_run(trajectory: tj.Trajectory) -> None:
    """An exception of a function is raised as it is."""
    calpha = trajectory.select("name CA")

    def fails(positions: np.ndarray) -> float:
        if positions[0, 0] != first:
            raise ZeroDivisionError("of the function")
        return 1.0

    first = calpha.read(frames=[0]).positions[0, 0, 0]
    with raises(ZeroDivisionError):
        tj.run([tj.rmsd.job(calpha), tj.apply.job(calpha, fails)])


@pytest.mark.parametrize("pool", [None, tj.ProcessPool(workers=2)], ids=["threads", "processes"])
def test_analyses_go_on_without_the_ones_that_fail(
    trajectory: tj.Trajectory, tmp_path: Path, pool: tj.Pool | None
) -> None:
    """Their exceptions are their results; the others have the bits of runs of their own."""
    calpha = trajectory.select("name CA")
    (tmp_path / "two.pdb").write_text(
        "".join(
            f"ATOM  {k:5}  CB  TRP X{k:4}    {k:8.3f}{0:8.3f}{0:8.3f}  1.00  0.00           C\n"
            for k in (1, 2)
        )
    )
    jobs = [
        tj.rmsd.job(calpha),
        # Known while it is prepared, from the first frame, and from the result of the run.
        tj.rmsd.job(calpha, reference=tmp_path / "two.pdb"),
        tj.linear_density.job(calpha, quantity="number"),
        tj.rmsf.job(calpha),
    ]
    results = tj.run(jobs, keep_going=True, pool=pool)
    for k, of in ((0, tj.rmsd), (3, tj.rmsf)):
        assert results[k].values.tobytes() == of(calpha).values.tobytes()
        assert results[k].report["parameters"]["analyses_of_run"] == ["rmsd", "rmsf"]
    assert isinstance(results[1], tj.TrajetError)
    assert isinstance(results[2], tj.AnalysisError)
    assert "has no unit cell" in str(results[2])
    for k, name in ((1, "rmsd"), (2, "linear_density")):
        assert results[k].__notes__ == [f"in {name}, analysis {k + 1} of 4"]
        with pytest.raises(type(results[k])) as caught:
            tj.run([jobs[0], jobs[k], jobs[3]], pool=pool)
        assert caught.value.__notes__ == [f"in {name}, analysis 2 of 3"]
        # Processes may meet another of the frames first.
        one, other = (
            re.sub(r"frame \d+", "frame", str(error)) for error in (caught.value, results[k])
        )
        assert one == other
    (alone,) = tj.run([jobs[2]], keep_going=True)
    assert isinstance(alone, tj.AnalysisError)


def test_a_function_that_fails_is_named_and_not_called_again(trajectory: tj.Trajectory) -> None:
    """The other analyses have results."""
    calpha = trajectory.select("name CA")
    calls = []

    def fails(positions: np.ndarray) -> float:
        calls.append(positions)
        raise ZeroDivisionError("of the function")

    rmsd, failed = tj.run(
        [tj.rmsd.job(calpha), tj.apply.job(calpha, fails)],
        keep_going=True,
        pool=tj.LocalPool(threads=1),
    )
    assert np.array_equal(rmsd.values, tj.rmsd(calpha).values)
    assert isinstance(failed, ZeroDivisionError)
    assert failed.__notes__[-1] == "in apply, analysis 2 of 2"
    assert len(calls) == 1


def test_a_frame_that_cannot_be_read_is_the_error_of_the_run(
    trajectory: tj.Trajectory, adk: Adk, tmp_path: Path
) -> None:
    """No analysis is blamed, and none is left out."""
    broken = tmp_path / "broken.xtc"
    data = bytearray(adk.xtc.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    broken.write_bytes(data)
    with pytest.raises(tj.FormatError) as caught:
        calpha = tj.open(adk.psf, broken).select("name CA")
        tj.run([tj.rmsd.job(calpha), tj.rmsf.job(calpha)], keep_going=True)
    assert caught.value.__notes__[-1] == "in the run of rmsd, rmsf"
    with pytest.raises(tj.FormatError) as caught:
        tj.run([tj.rmsd.job(calpha)], keep_going=True)
    assert caught.value.__notes__[-1] == "in the run of rmsd"


def test_a_sample_is_of_all_analyses(tmp_path: Path) -> None:
    """It is the same in all reports, and changes no number."""
    positions = np.random.default_rng(3).normal(0, 9, (3000, 40, 3)).astype(np.float32)
    tj.write(tmp_path / "long.xtc", positions)
    atoms = tj.open(None, tmp_path / "long.xtc").select(np.arange(40))
    jobs = [tj.rmsd.job(atoms), tj.rmsf.job(atoms)]
    pool = tj.LocalPool(threads=2)
    results = tj.run(jobs, pool=pool, time_sample=True)
    samples = [result.report["sample"] for result in results]
    assert samples[0] == samples[1]
    assert samples[0]["frames"] >= 5
    for result, without in zip(results, tj.run(jobs, pool=pool), strict=True):
        assert "sample" not in without.report
        assert np.array_equal(result.values, without.values)


def test_analyses_with_frames_of_their_own_are_read_alone(adk: Adk) -> None:
    """A second pass over other frames is not shared, in whatever order the jobs are given."""
    traj = tj.open(adk.psf, adk.xtc)
    calpha, few = traj.select("name CA"), traj.select("name CA and resid 1:10")
    protein = traj.select("protein")

    def jobs() -> list[Any]:
        return [
            tj.pairwise_rmsd.job(few, few, other_frames=slice(0, 10)),
            tj.pairwise_rmsd.job(few, few, other_frames=slice(50, 60)),
            tj.hbonds.job(protein, list_bonds=True, pbc=False),
            tj.pca.job(few, n_components=3),
            tj.cluster_rmsd.job(calpha, cutoff=1.5),
        ]

    together = tj.run(jobs())
    for job, result in zip(jobs(), together, strict=True):
        (alone,) = tj.run([job])
        assert np.asarray(result).tobytes() == np.asarray(alone).tobytes(), job.name
    assert together[1].other_frames.tolist() == list(range(50, 60))
    assert together[1].values[50, 0] == 0
    assert len(together[2].bonds) == together[2].values.sum()


def test_jobs_of_atomgroups_share_the_files_of_their_universe(adk: Adk) -> None:
    """Each has the numbers of a run of its own, also with further groups."""
    universe = mda.Universe(adk.psf, adk.xtc)
    protein, few = universe.atoms, universe.select_atoms("resid 5:9 and name CA")
    jobs = [
        tj.gyration.job(protein),
        tj.rmsd.job(few, groups=["name CA"]),
        tj.distances.job(few, universe.select_atoms("resid 20 and name CA")),
    ]
    gyration, rmsd, distances = tj.run(jobs)
    assert np.array_equal(gyration.values, tj.gyration(protein).values)
    assert np.array_equal(rmsd.values, tj.rmsd(few, groups=["name CA"]).values)
    assert distances.values.shape == (98, 5, 1)
    assert rmsd.report["parameters"]["analyses_of_run"] == ["gyration", "rmsd", "distances"]
    with raises(ValueError):
        tj.run([jobs[0], tj.gyration.job(mda.Universe(adk.psf, adk.xtc).atoms)])
