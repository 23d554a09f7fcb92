"""Laws of every analysis, over the table of `helpers.analysis_cases`."""

import functools
import inspect
import json
from pathlib import Path

import click
import numpy as np
import pytest
import trajet as tj
from helpers.analysis_cases import (
    CASES,
    call_of,
    cases_of,
    numbers,
    run,
    sample_of,
    unequal,
    write_tripled,
)
from helpers.analysis_laws import POOLS, frame_choices, plain_analyses, without_topology
from helpers.golden_files import Adk
from helpers.result_laws import assert_result_laws
from matplotlib.figure import Figure
from trajet.analysis.job import AnalysisFunction
from trajet.analysis.signatures import OF_RUN
from trajet.cli.group import commands

# Analyses whose numbers depend on all chosen frames.
OVER_FRAMES = (
    *("cluster-rmsd", "conductivity", "contact-map", "correlation-map", "density"),
    *("dielectric-constant", "linear-density", "msd", "pca", "rdf", "rmsf"),
    "velocity-autocorrelation",
    *("--reference average", "--lifetimes", "survival"),
)
# Options of which the numbers do not depend, or with tests of their own.
NOT_IN_TABLE = {
    "apply": {"function", "per", "reducer", "cells", "indices", "thread_safe"},
    "cluster_rmsd": {"max_memory", "medoids", "medoid_atoms"},
    "conductivity": {"max_memory"},
    "contact_map": {"max_memory"},
    "contacts": {"max_memory"},
    "correlation_map": {"max_memory"},
    "hbonds": {"donors", "hydrogens", "acceptors", "elements", "guess_bonds", "max_memory"},
    "interactions": {"template", "chemistry", "criteria", "max_memory"},
    "msd": {"max_memory"},
    "pairwise_rmsd": {"other", "other_frames", "matrix_path", "max_memory"},
    "pca": {"max_memory"},
    "sasa": {"radii"},
    "survival": {"max_memory"},
    "velocity_autocorrelation": {"max_memory"},
}
# Options whose entry in the report is what was chosen: lags, atoms, pairs of numbers.
RESOLVED = {"align", "distance", "fit_range", "pairs"}
# Options that select atoms.
SELECTIONS = {
    *("acceptors", "context", "donors", "groups", "hydrogens", "medoid_atoms", "other", "water")
}
# Options whose default is chosen by others, or by what there is.
CHOSEN = (
    *("angle", "beta", "criteria", "cutoff", "exclude_neighbors", "factor", "heavy_only", "kinds"),
    *("radii", "reference", "weights"),
)


@functools.cache
def result_of(case: str) -> tj.Table:
    """Return the result of a case on the sample."""
    return run(case, sample_of(case))


@pytest.fixture(scope="module")
def tripled(tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Return the sample three times, one after the other."""
    return tj.open(*write_tripled(tmp_path_factory.mktemp("tripled")))


@functools.cache
def on_one_thread(case: str, traj: tj.Trajectory) -> tj.Table:
    """Return the result of a case in one task."""
    return run(case, traj, pool=tj.LocalPool(threads=1, task_frames=1000))


def test_every_analysis_has_a_command_and_every_option_a_case() -> None:
    """All but `apply`, which takes a Python function, have a command."""
    assert set(tj.ANALYSES) <= set(tj.__all__)
    context = click.Context(commands)
    names = {name.replace("_", "-") for name in tj.ANALYSES} - {"apply"}
    assert names <= set(commands.list_commands(context))
    for name in names:
        command = commands.get_command(context, name)
        assert command is not None and command.name == name
    for name in tj.ANALYSES:
        options = [*inspect.signature(getattr(tj, name)).parameters][1:]
        calls = [call for call in map(call_of, CASES) if call.analysis == name]
        used = {option for call in calls for option in call.options}
        assert set(options) - used - set(OF_RUN) == NOT_IN_TABLE.get(name, set()), name


def test_plain_analyses_are_found() -> None:
    """By their annotations: analyses of one selection, words and switches."""
    names = {analysis.__name__ for analysis in plain_analyses()}
    assert names >= {"centers", "count", "end_to_end", "gyration", "gyration_moments"}


@pytest.mark.parametrize("analysis", plain_analyses(), ids=lambda one: one.__name__)
def test_atoms_by_number_need_no_topology(
    analysis: AnalysisFunction[..., tj.Table], adk: Adk
) -> None:
    """With weights and groups that need none."""
    selection = tj.open(None, adk.xtc).select([1, 5, 8, 9, 14])
    values = analysis(selection, **without_topology(analysis)).values
    assert len(values) == 98
    assert np.isfinite(values).all()


@pytest.mark.parametrize("case", cases_of("threads and tasks"))
def test_threads_and_tasks_change_no_bit(case: str, tripled: tj.Trajectory) -> None:
    """Of all numbers of the result: leaves have two frames, and tasks one leaf, several or all."""
    truth = on_one_thread(case, tripled)
    values = numbers(truth)["values"]
    assert values.size > 0
    assert values.dtype.kind != "f" or np.isfinite(values).any()
    for threads, task_frames in POOLS[1:]:
        pool = tj.LocalPool(threads=threads, task_frames=task_frames)
        assert unequal(truth, run(case, tripled, pool=pool)) == []


@pytest.mark.parametrize("transforms", {call_of(case).transforms for case in CASES})
def test_processes_joint_runs_and_divided_files_change_no_bit(
    transforms: tuple[str, ...], tripled: tj.Trajectory, tmp_path: Path
) -> None:
    """All analyses of one trajectory share the passes of worker processes over three files."""
    cases = cases_of("processes and files")
    cases = [case for case in cases if call_of(case).transforms == transforms]
    tj.split(tripled, tmp_path / "parts", frames_per_segment=130)
    parts = tj.open(tripled.topology_path, *sorted((tmp_path / "parts").iterdir()))
    parts = call_of(cases[0]).transformed(parts)
    jobs = []
    for call in map(call_of, cases):
        first, options = call.arguments(parts)
        jobs.append(getattr(tj, call.analysis).job(first, **options))
    results = tj.run(jobs, pool=tj.ProcessPool(workers=2, task_frames=50))
    differing = {
        case: unequal(on_one_thread(case, tripled), result)
        for case, result in zip(cases, results, strict=True)
    }
    assert {case: names for case, names in differing.items() if names} == {}


@pytest.mark.parametrize("case", cases_of("rows"))
def test_rows_follow_frames(case: str) -> None:
    """A choice of frames gives its rows of the whole, or of other numbers those of the frames."""
    whole = result_of(case)
    n_frames = sample_of(case).n_frames
    if any(word in case for word in OVER_FRAMES):
        rows = np.arange(8, 60, 2)
        mask = np.isin(np.arange(n_frames), rows)
        by_number = run(case, sample_of(case), frames=rows)
        assert by_number.report["parameters"]["n_frames"] == len(rows)
        assert unequal(by_number, whole) != []
        for frames in (slice(8, 60, 2), (rows - n_frames).tolist(), mask):
            assert unequal(by_number, run(case, sample_of(case), frames=frames)) == []
        assert unequal(whole, run(case, sample_of(case), frames=range(n_frames))) == []
        return
    choices = frame_choices(n_frames)
    if not case.startswith("rmsd"):
        choices = [choices[k] for k in (3, 9, 14)]
    if case != "apply":
        choices.append(np.zeros(0, np.int64))
    for frames in choices:
        rows = np.arange(n_frames)[frames]
        result = run(case, sample_of(case), frames=frames)
        assert result.report["frames"] == result.report["parameters"]["n_frames"] == len(rows)
        there, here = numbers(whole), numbers(result)
        for name in rows_in(whole):
            expected = there[name][rows]
            if name == "values" and case.startswith("pairwise-rmsd"):
                expected = expected[:, rows]
            assert (here[name].dtype, here[name].shape) == (expected.dtype, expected.shape), name
            assert here[name].tobytes() == expected.tobytes(), name


def rows_in(result: tj.Table) -> list[str]:
    """Return the names of the arrays that have a row for each frame."""
    names = [
        name
        for name, array in numbers(result).items()
        if (name == "values" or name.startswith(("also.", "axis0."))) and len(np.shape(array))
    ]
    assert {"values", "axis0.frame", "axis0.time"} <= {*names}
    return names


@pytest.mark.parametrize("case", cases_of("files"))
def test_results_are_restored_sliced_and_shown(case: str, tmp_path: Path) -> None:
    """By NPZ and JSON; tables have the columns and numbers of the CSV file."""
    result = result_of(case)
    is_first = case == next(one for one in CASES if one.split()[0] == case.split(maxsplit=1)[0])
    panels = 3 if case.startswith("centers") else 1
    assert_result_laws(result, tmp_path, panels=panels, html=is_first)
    names = result.csv_header()
    assert len({*names}) == len(names)
    assert not any(" " in name for name in names)
    assert result.report["analysis"] == call_of(case).analysis
    assert result.report["parameters"]["selections"][:1] == list(result.selections[:1])


@pytest.mark.parametrize("case", cases_of("report"))
def test_reports_have_the_options(case: str) -> None:
    """With the values of the call, selections with their texts and numbers of atoms, and files."""
    report, call = result_of(case).report, call_of(case)
    parameters = report["parameters"]
    _, *own = inspect.signature(getattr(tj, call.analysis)).parameters.values()
    defaults = {one.name: one.default for one in own if one.name not in {*OF_RUN, *CHOSEN}}
    options = {**defaults, **call.options}
    if call.analysis != "apply":
        for name in {*options} - RESOLVED - SELECTIONS:
            assert parameters[name] == json.loads(json.dumps(options[name])), name
    others = [call.options["other"]] if "other" in call.options else call.options.get("groups", [])
    texts = [*call.selections, *others]
    counts = [None if call.updating else sample_of(case).select(text).n_atoms for text in texts]
    assert parameters["selections"][: len(texts)] == texts
    assert parameters["n_atoms"][: len(texts)] == counts
    n_frames = sample_of(case).n_frames
    frames = {"first_frame": 0, "last_frame": n_frames - 1, "n_frames": n_frames}
    assert frames.items() <= parameters.items()
    paths = [*sample_of(case).paths, sample_of(case).topology_path]
    assert [Path(file["path"]) for file in report["inputs"]] == paths


@pytest.mark.parametrize("case", [case for case in CASES if "--reference" in case])
def test_reports_have_the_file_of_a_reference(case: str, tmp_path: Path) -> None:
    """Beside those of the trajectory, also where other cases have a frame or the average."""
    path, call = tmp_path / "first.gro", call_of(case)
    sample_of().select("all")[0].save(path)
    first, options = call.arguments(call.transformed(sample_of()))
    options |= {"reference": path, "frames": [0, 1, 2]}
    report = getattr(tj, call.analysis)(first, **options).report
    assert report["parameters"]["reference"] == str(path)
    assert Path(report["inputs"][-1]["path"]) == path


@pytest.mark.parametrize("case", cases_of("figure"))
def test_figures_draw_the_numbers(case: str) -> None:
    """All columns as lines, points or bars, all values as an image, or means over frames."""
    result = result_of(case)
    figure = result.plot()
    arrays = drawn(figure)
    values = numbers(result)["values"].astype(np.float64)
    if case.startswith("dihedrals"):
        values = result.angles
    if case.startswith("centers"):
        values = values[:, :6]
    columns = [*values.reshape(len(values), -1).T]
    if case.startswith("pca"):
        columns = columns[:2]
    elif case.startswith("msd"):
        # Both axes are logarithmic.
        columns = [values[1:]]
    elif case.startswith("rdf-pairs"):
        columns = [*values]
    means = values.mean(axis=0)
    candidates = [columns, [values], [means.T if case.startswith("density") else means]]
    if not any(all(is_drawn(one, arrays) for one in group) for group in candidates):
        # Distances within one group are the image of a symmetric matrix.
        assert any(np.isin(means.round(9), array.round(9)).all() for array in arrays)
    if result.units:
        assert any(result.units in axes.get_ylabel() + axes.get_xlabel() for axes in figure.axes)


def drawn(figure: Figure) -> list[np.ndarray]:
    """Return the numbers of lines, images, points and bars."""
    arrays: list[object] = []
    for axes in figure.axes:
        arrays += [data for line in axes.lines for data in line.get_data()]
        arrays += [image.get_array() for image in axes.images]
        arrays += [one.get_array() for one in axes.collections if one.get_array() is not None]
        arrays += [row for one in axes.collections for row in one.get_offsets().T]
        arrays.append([getattr(bar, "get_height", float)() for bar in axes.patches])
        arrays.append([getattr(bar, "get_width", float)() for bar in axes.patches])
    return [np.ma.filled(np.ma.asarray(one, np.float64), np.nan).ravel() for one in arrays]


def is_drawn(values: np.ndarray, arrays: list[np.ndarray]) -> bool:
    """Return whether one of the arrays has these values."""
    return any(
        array.size == values.size
        and np.allclose(np.nan_to_num(array), np.nan_to_num(values.ravel()), 1e-12, 1e-9)
        for array in arrays
    )
