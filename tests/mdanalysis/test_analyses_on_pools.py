"""Analyses of MDAnalysis have their serial results on every pool."""

import os
import pickle
import signal
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from distributed import Client
from helpers import guest_analyses
from helpers.guest_analyses import ANALYSES, Failing, MadeInInit, assert_same_run
from helpers.messages import raises
from helpers.started_ranks import run_on_ranks
from MDAnalysis import transformations
from MDAnalysis.analysis.base import AnalysisBase, AnalysisFromFunction
from MDAnalysis.analysis.pca import PCA
from MDAnalysis.analysis.results import ResultsGroup
from MDAnalysis.analysis.rms import RMSD, RMSF
from MDAnalysisTests import datafiles
from trajet.mdanalysis import Backend, Reader, XTCReader, install, report, run
from trajet.mdanalysis.pools import _n_parts

TWO = tj.ProcessPool(workers=2)
# Every pool has the same jobs: all analyses run on each in `make test-long`.
SOME = pytest.mark.parametrize(
    "names",
    [guest_analyses.FEW, pytest.param(tuple(ANALYSES), marks=pytest.mark.long)],
    ids=["few", "all"],
)


def atoms() -> mda.AtomGroup:
    """Return the C-alpha of ADK."""
    return guest_analyses.adk().select_atoms("name CA")


@pytest.mark.parametrize("name", sorted(ANALYSES))
def test_local_and_processes_give_serial_results(name: str) -> None:
    """Results, frames and times are those of `analysis.run()`; both have the same bits."""
    make, frames = ANALYSES[name]
    here, there = (run(make(), pool=pool, progress=False, **frames) for pool in (None, TWO))
    assert_same_run(name, here)
    assert_same_run(name, there)
    guest_analyses.compare(dict(here.results), dict(there.results), name, 0.0)


def test_workers_do_not_change_results() -> None:
    """With one number of parts results have the same bits for any workers, on every pool."""
    found = [
        run(MadeInInit(atoms()), pool=pool, parts=5, progress=False)
        for pool in (tj.LocalPool(), tj.ProcessPool(workers=3, fork=True), TWO)
    ]
    assert len({one.results.total.tobytes() for one in found}) == 1
    assert len({one.results.mean for one in found}) == 1


@pytest.mark.parametrize(("stop", "parts"), [(0, 1), (1, 1), (7, 1), (8, 2), (63, 8), (98, 16)])
def test_default_parts_do_not_depend_on_workers(stop: int, parts: int) -> None:
    """Each has at least four frames, if there are as many."""
    ours = run(MadeInInit(atoms()), stop=stop, progress=False)
    assert [ours.n_frames, len(report(ours)["tasks"])] == [stop, parts]


@pytest.mark.parametrize(
    ("n_frames", "n_atoms", "parts"),
    [
        *((1, 10**6, 1), (30, 10**6, 4), (98, 3341, 16), (9_800, 3341, 16), (20_100, 3341, 32)),
        *((10**6, 3341, 64), (1_000, 10**6, 64), (10**6, 0, 16)),
    ],
)
def test_more_than_16_parts_are_for_many_positions(n_frames: int, n_atoms: int, parts: int) -> None:
    """A range that is read in a few milliseconds takes as long to begin."""
    assert _n_parts(n_frames, n_atoms) == parts


class Decoded(MadeInInit):
    """Has the number of frames of which its atoms alone were decoded, by their reader's report."""

    def _single_frame(self) -> None:
        self.atoms.positions.sum()
        self.results.total = np.array([self._trajectory.report.frames_of_groups])

    def _get_aggregator(self) -> ResultsGroup:
        return ResultsGroup({"total": ResultsGroup.ndarray_sum, "mean": ResultsGroup.float_mean})


def test_workers_decode_groups_where_readers_are_installed() -> None:
    """As the process that runs the analysis; afterwards nothing is installed in them."""
    files = (datafiles.PSF, datafiles.DCD)
    plain = mda.Universe(*files, format=Reader)
    with install():
        patched = mda.Universe(*files)
        ours = run(Decoded(patched.select_atoms("name CA")), pool=TWO, parts=2, progress=False)
    assert ours.results.total[0] >= 98
    theirs = run(Decoded(plain.select_atoms("name CA")), pool=TWO, parts=2, progress=False)
    assert theirs.results.total[0] == 0
    assert TWO.map(lambda _: _is_installed(), range(4)) == [False] * 4


def _is_installed() -> bool:
    return mda._READERS["XTC"] is XTCReader


def test_parts_change_last_bits_at_most() -> None:
    """Ranges of 98 frames differ in length, and results that a class begins with are made anew."""
    serial = MadeInInit(atoms()).run()
    for parts in (1, 5, 64, 98, 200):
        ours = run(MadeInInit(atoms()), parts=parts, progress=False)
        assert len(report(ours)["tasks"]) == min(parts, 98)
        np.testing.assert_allclose(ours.results.total, serial.results.total, rtol=1e-12)
        assert ours.results.mean == pytest.approx(serial.results.mean, rel=1e-12)


def test_analysis_is_as_after_a_serial_run() -> None:
    """It is prepared and concluded once; the trajectory is at its first frame."""
    analysis = MadeInInit(atoms())
    guest_analyses.adk().trajectory[50]
    assert run(analysis, start=10, stop=60, step=5, pool=TWO, progress=False) is analysis
    assert analysis.calls == [1, 1]
    assert (analysis.start, analysis.stop, analysis.step, analysis.n_frames) == (10, 60, 5, 10)
    assert analysis.frames.tolist() == list(range(10, 60, 5))
    assert analysis._trajectory.ts.frame == 0
    serial = MadeInInit(atoms()).run(start=10, stop=60, step=5)
    assert vars(analysis).keys() == vars(serial).keys()
    # It can run again, as after a serial run, to which its results would add.
    assert run(RMSD(atoms()), pool=TWO, progress=False).run().results.rmsd.shape == (98, 3)


def test_no_frames_are_as_in_a_serial_run() -> None:
    """The results are those that the analysis begins with."""
    for pool in (None, TWO):
        ours = run(MadeInInit(atoms()), stop=0, pool=pool, progress=False)
        assert (ours.n_frames, ours.frames.tolist(), ours.results.mean) == (0, [], 0.0)
        assert ours.calls == [1, 1]
    assert report(ours)["parameters"]["n_frames"] == 0


class InSingle(MadeInInit):
    """Has a mean in single precision, which every frame changes."""

    def _single_frame(self) -> None:
        self.results.total = self.atoms.positions.mean(axis=0)
        self.results.mean = float(self._ts.frame)

    def _prepare(self) -> None:
        self.results.total = np.zeros(3, np.float32)

    def _get_aggregator(self) -> ResultsGroup:
        return ResultsGroup({"total": ResultsGroup.ndarray_mean, "mean": ResultsGroup.float_mean})


@pytest.mark.parametrize(
    "frames",
    [
        {"frames": np.arange(98) % 7 == 3},
        {"frames": [5, 3, 3, 97, -1, -98]},
        {"step": -9},
        {"frames": [41]},
        {"frames": []},
        {"start": 5, "stop": 5},
    ],
)
def test_choices_of_frames_are_those_of_a_serial_run(frames: dict[str, Any]) -> None:
    """Masks, lists, negative steps, one frame, none; there may be more parts than frames."""
    serial = MadeInInit(atoms()).run(**frames)
    for pool, parts in ((None, 200), (TWO, None)):
        ours = run(MadeInInit(atoms()), pool=pool, parts=parts, progress=False, **frames)
        guest_analyses.compare(serial.results.total, ours.results.total, "total", 1e-12)
        assert ours.results.mean == pytest.approx(serial.results.mean, rel=1e-12)
        for name in ("frames", "times", "n_frames", "start", "stop", "step"):
            guest_analyses.compare(getattr(serial, name), getattr(ours, name), name, 0.0)


def test_means_keep_their_precision() -> None:
    """Means of arrays of single precision are such arrays."""
    serial = InSingle(atoms()).run(frames=[4, 9])
    ours = run(InSingle(atoms()), frames=[4, 9], parts=2, progress=False)
    assert ours.results.total.dtype == serial.results.total.dtype == np.float32


@pytest.mark.parametrize("is_installed", [False, True])
def test_universes_of_several_files_have_serial_results(is_installed: bool, tmp_path: Path) -> None:
    """Universes with MDAnalysis' readers, whose trajectory has file names in an array, or ours."""
    made = np.random.default_rng(1).normal(0, 5, (10, 6, 3)).astype(np.float32)
    paths = [str(tmp_path / name) for name in ("a.xtc", "b.xtc")]
    for k, path in enumerate(paths):
        tj.write(path, made[5 * k : 5 * k + 5], times=5.0 * k + np.arange(5))
    with install() if is_installed else nullcontext():
        u = mda.Universe.empty(6, trajectory=False)
        u.load_new(paths)

    def analysis() -> AnalysisBase:
        return AnalysisFromFunction(mda.AtomGroup.center_of_geometry, u.trajectory, u.atoms)

    known = analysis().run().results.timeseries
    backend = {"backend": Backend(tj.LocalPool(), 2), "unsupported_backend": True}
    for done in (run(analysis(), progress=False), analysis().run(**backend)):
        assert np.array_equal(done.results.timeseries, known)
        inputs = report(done)["inputs"]
        assert [Path(one["path"]).name for one in inputs] == ["a.xtc", "b.xtc"]


def test_progress_counts_frames() -> None:
    """Every pool ends with all frames; this process counts each."""
    for pool, least in ((None, 98), (TWO, 2)):
        seen: list[tuple[int, int]] = []
        run(MadeInInit(atoms()), pool=pool, progress=lambda *now, to=seen: to.append(now))
        assert seen == sorted(seen)
        assert seen[-1] == (98, 98)
        assert len(set(seen)) >= least


def test_analysis_is_sent_once_to_each_worker() -> None:
    """One task of each worker has loaded the Universe; the report can be saved and read."""
    ours = run(MadeInInit(atoms()), pool=TWO, progress=False)
    found = report(ours)
    assert found["analysis"] == "MadeInInit"
    assert found["pool"] == "processes"
    assert sum(task["t_open"] > 0 for task in found["tasks"]) == len(found["workers"])
    assert sum(task["frames"] for task in found["tasks"]) == found["frames"] == 98
    assert {worker["process"] for worker in found["workers"]}.isdisjoint({os.getpid()})
    assert found["inputs"][0]["path"].endswith(".dcd")
    assert tj.Report.from_json(found.to_json(), "report")["frames"] == 98
    assert "MadeInInit: 98 frames" in found.to_html()
    with raises(KeyError):
        report(MadeInInit(atoms()))


def test_universe_in_memory_and_class_of_a_script() -> None:
    """Neither needs a file or a module in the workers."""

    class Local(MadeInInit):
        pass

    positions = np.random.default_rng(7).normal(size=(14, 214, 3))
    calpha = mda.Merge(atoms()).load_new(positions).atoms
    ours, serial = run(Local(calpha), pool=TWO, progress=False), Local(calpha).run()
    np.testing.assert_allclose(ours.results.total, serial.results.total, rtol=1e-12)
    assert "positions in memory" in report(ours).to_html()


@pytest.mark.parametrize("kind", [PCA, RMSF])
def test_serial_class_is_refused(kind: type[AnalysisBase]) -> None:
    """The error gives the reason; nothing has begun."""
    analysis = kind(guest_analyses.adk() if kind is PCA else atoms())
    before = set(vars(analysis))
    with raises(ValueError):
        run(analysis, pool=TWO)
    assert set(vars(analysis)) == before


def test_what_cannot_be_divided_is_refused() -> None:
    """Transformations that need all frames, classes that do not merge, and other objects."""
    universe = guest_analyses.adk().copy()
    universe.trajectory.add_transformations(
        transformations.positionaveraging.PositionAverager(2, check_reset=True)
    )
    with raises(ValueError):
        run(MadeInInit(universe.select_atoms("name CA")), pool=TWO)

    class NoAggregator(MadeInInit):
        def _get_aggregator(self) -> Any:
            return AnalysisBase._get_aggregator(self)

    with raises(ValueError):
        run(NoAggregator(atoms()), pool=TWO)
    with raises(TypeError):
        run(atoms(), pool=TWO)
    with raises(TypeError):
        run(MadeInInit(atoms()), pool="processes")  # type: ignore[arg-type]
    with raises(ValueError):
        run(MadeInInit(atoms()), parts=0)


def test_backend_of_mdanalysis() -> None:
    """`analysis.run` takes a pool as its backend; other functions are called for each argument."""
    backend = Backend(TWO)
    assert backend.n_workers == 2
    ours = ANALYSES["RMSD"][0]().run(backend=backend, unsupported_backend=True)
    assert_same_run("RMSD", ours)
    tasks = report(ours)["tasks"]
    assert [task["frames"] for task in tasks] == [49, 49]
    analysis = MadeInInit(atoms())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analysis.run(backend=backend, n_workers=2, n_parts=10, unsupported_backend=True)
    assert len(report(analysis)["tasks"]) == 10
    assert analysis.results.mean == pytest.approx(48.5)
    assert backend.apply(lambda number: -number, [3, 1, 2]) == [-3, -1, -2]
    with raises(ValueError):
        Backend(TWO, 0)


def test_workers_have_the_bonds_of_the_universe() -> None:
    """Angles, fragments and what was changed before the run are there, in a system of a PSF."""

    def counts(atoms: mda.AtomGroup) -> list[float]:
        near = atoms.select_atoms("bonded index 100")
        return [
            *(len(getattr(atoms, kind)) for kind in ("bonds", "angles", "dihedrals", "impropers")),
            *(len(atoms.fragments), float(near.indices.sum()), float(atoms.masses.sum())),
            float(atoms.dihedrals[7].value()),
        ]

    universe = guest_analyses.adk().copy()
    universe.delete_bonds(universe.bonds[:50])
    universe.add_bonds([(0, 3000)])
    universe.atoms.masses += 0.5
    analysis = AnalysisFromFunction(counts, universe.trajectory, universe.atoms)
    truth = analysis.run(step=30).results.timeseries
    ours = run(analysis, step=30, pool=TWO, progress=False).results.timeseries
    assert np.array_equal(truth, ours)
    assert truth[0, 0] == len(universe.bonds)


def assert_error_names_the_frame(pool: tj.Pool | None) -> None:
    """Assert that the error of an analysis has its class and message, and names the frame."""
    analysis = Failing(atoms(), 37, guest_analyses.raise_value_error)
    with raises(ValueError) as caught:
        run(analysis, pool=pool, progress=False)
    assert caught.value.__notes__ == ["Failing: frame 37 of the trajectory"]


@pytest.mark.parametrize("pool", [None, TWO])
def test_error_names_the_frame(pool: tj.Pool | None) -> None:
    """It has the class and message of the analysis."""
    assert_error_names_the_frame(pool)


def dying_once(flag: Path) -> Callable[[], None]:
    """Return a function that kills its process the first time."""

    def die() -> None:
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return die


def test_dead_process_ends_the_run(tmp_path: Path) -> None:
    """The error names the job."""
    with raises(tj.WorkerError):
        run(Failing(atoms(), 37, dying_once(tmp_path / "one")), pool=TWO, progress=False)


# Last: the processes of `TWO` end while these tests run, and would import MDAnalysis anew.


@pytest.mark.parametrize("reader", [None, Reader])
def test_forked_processes_open_files_of_their_own(reader: type[Reader] | None) -> None:
    """Positions in a file that several processes had open would be those of all."""
    forked = tj.ProcessPool(workers=3, fork=True)
    options = {} if reader is None else {"format": reader}
    u = mda.Universe(datafiles.PSF, datafiles.DCD, **options)
    known = RMSD(u, select="name CA").run().results.rmsd
    # The reader of this process is in the middle of its file.
    u.trajectory[40]
    for _ in range(3):
        ours = run(RMSD(u, select="name CA", ref_frame=0), pool=forked, progress=False)
        np.testing.assert_array_equal(ours.results.rmsd, known)
        assert len(report(ours)["tasks"]) == 16


@pytest.mark.parametrize(
    "name", [*guest_analyses.FEW, *(pytest.param(n, marks=pytest.mark.long) for n in ANALYSES)]
)
def test_forked_processes_give_serial_results(name: str) -> None:
    """As other processes do."""
    make, frames = ANALYSES[name]
    pool = tj.ProcessPool(workers=2, fork=True)
    assert_same_run(name, run(make(), pool=pool, progress=False, **frames))


@SOME
def test_ranks_give_serial_results(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Ranks of MPI run analyses; those other than 0 need none.

    A backend on ranks that all run the script comes last: its error says what to call instead, and
    ends all ranks.
    """
    done = run_on_ranks(3, "-m", "helpers.guest_ranks", tmp_path, *names, fails=True)
    assert "call trajet.mdanalysis.run(analysis, pool=pool) on all ranks" in done.stderr
    answer = pickle.loads((tmp_path / "answer.pickle").read_bytes())
    assert sorted(answer["analyses"]) == sorted(names)
    for name, found in answer["analyses"].items():
        assert_same_run(name, SimpleNamespace(**found))
    own = run(MadeInInit(atoms()), progress=False)
    guest_analyses.compare(dict(own.results), answer["own"], "own", 0.0)
    assert answer["seen"][-1] == (98, 98)
    assert answer["squares"] == [number**2 for number in range(20)]
    assert answer["same class"]
    assert answer["ranks"] == {0, 1, 2}
    first, second, third = answer["errors"][0]
    assert answer["errors"] == [[first, second, third]] * 3
    assert first == [
        "ValueError",
        "the atoms are not well",
        ["Failing: frame 37 of the trajectory"],
    ]
    assert second[0] == "TypeError"
    assert (third[0], third[2]) == ("ValueError", ["item 1 of map"])


@SOME
def test_cluster_gives_serial_results(client: Client, names: tuple[str, ...]) -> None:
    """A cluster of Dask runs analyses; every worker loads the Universe once."""
    pool = tj.DaskPool(client)
    for name in names:
        make, frames = ANALYSES[name]
        assert_same_run(name, run(make(), pool=pool, progress=False, **frames))
    seen: list[tuple[int, int]] = []
    ours = run(MadeInInit(atoms()), pool=pool, progress=lambda *now: seen.append(now))
    assert seen == sorted(seen)
    assert seen[-1] == (98, 98)
    tasks, workers = report(ours)["tasks"], report(ours)["workers"]
    assert len(tasks) == 16
    assert sum(task["t_open"] > 0 for task in tasks) == len(workers)


def test_error_of_a_cluster_names_the_frame(client: Client) -> None:
    """It has the class and message of the analysis."""
    assert_error_names_the_frame(tj.DaskPool(client))


def test_dead_worker_of_a_cluster_is_replaced(client: Client, tmp_path: Path) -> None:
    """Another worker takes its frames."""
    analysis = Failing(atoms(), 37, dying_once(tmp_path / "other"))
    ours = run(analysis, pool=tj.DaskPool(client), progress=False)
    again = run(MadeInInit(atoms()), progress=False)
    guest_analyses.compare(dict(ours.results), dict(again.results), "died", 0.0)
