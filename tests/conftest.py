"""Fixtures: trajectories written by other programs, always copied before they are opened."""

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import MDAnalysis as mda
import pytest
from helpers.extent import IS_LONG, examples
from helpers.golden_files import XTC_FILES, Adk, Golden, Truth, read_with_mdanalysis
from helpers.mounted_stores import UNTESTED, reason_not_to_mount
from helpers.parsed_topologies import keep_topologies
from helpers.systems import Systems
from MDAnalysisTests import datafiles
from threadpoolctl import threadpool_limits

# The page of messages, and the fixtures of a Dask cluster.
pytest_plugins = ["helpers.messages", "helpers.dask_cluster"]

# Files that take longest, longest first: begun last, one would keep the others waiting at the end.
LONGEST = (
    *("mdanalysis/test_analyses_on_pools.py", "formats/test_formats.py", "pools/test_mpi.py"),
    *("pools/test_dask.py", "store/test_store_kills.py", "pools/test_dask_faults.py"),
    *("store/test_mount.py", "benches/test_machine.py", "pools/test_ranks.py"),
    *("conversion/test_h5md_copies.py", "cli/test_without_mdanalysis.py", "store/test_store.py"),
    *("ensembles/test_replicas.py", "formats/test_h5md.py", "periodic/test_pools.py"),
    *("docs/test_parallel_docs.py", "topology/test_selection.py", "pools/test_processes.py"),
    *("docs/test_coming_from_docs.py", "conversion/test_convert.py", "store/test_store_exact.py"),
    *("ensembles/test_resume.py", "ensembles/test_ensembles.py", "periodic/test_copies.py"),
    *("analyses/test_instruction_sets.py", "chain/test_chain.py", "index/test_index.py"),
    *("analyses/test_rmsd.py", "benches/test_machine_store.py", "analyses/test_plots.py"),
    *("store/test_store_hdf5.py", "analyses/test_rmsf.py", "docs/test_extending.py"),
    *("analyses/test_hbonds.py", "store/test_store_h5md.py", "analyses/test_msd.py"),
    *("formats/test_refused_memory.py", "periodic/test_positions.py", "cli/test_signals.py"),
    *("topology/test_topology_sidecar.py", "store/test_store_damage.py", "cli/test_cli.py"),
    *("analyses/test_contact_map.py", "docs/test_docstrings.py", "pools/test_map.py"),
    *("mdanalysis/test_readers.py", "docs/test_pages.py", "analyses/test_apply.py"),
)

# Warnings of MDAnalysis, and those of our readers instead, at lines of other modules.
OF_MDANALYSIS = (
    *("Reader has no dt information", "asel argument to timeseries is deprecated"),
    ".* is rotated",
)


def pytest_configure(config: pytest.Config) -> None:
    """Set signals, paths and BLAS threads; ignore MDAnalysis' warnings on DCD and PDB files."""
    # Processes that tests start import helpers and `benches/machine` as well.
    tests = Path(__file__).parent
    paths = [str(tests), str(tests.parent / "benches"), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    # Eigenvectors of NumPy depend on the number of BLAS threads. Worker processes inherit that of
    # the environment, where Dask sets one thread while it starts workers of its own.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    threadpool_limits(1, "blas")
    keep_topologies()
    # A process in the background ignores SIGINT, and so do all of its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (":::MDAnalysis", *(f":{text}" for text in OF_MDANALYSIS)):
        config.addinivalue_line("filterwarnings", f"ignore{ignored}")
    config.addinivalue_line("markers", "kills(n): how many kills are enough for the gate")
    config.addinivalue_line("markers", "long: runs in `make test-long` only")
    if IS_LONG:
        # Property tests that set no number of examples.
        from hypothesis import settings

        settings.register_profile("long", max_examples=examples(100))
        settings.load_profile("long")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempt modules and tests from garbage collection, which takes a twentieth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--kills`: `pytest -k kill --kills 20` kills more often than the gate does."""
    parser.addoption("--kills", type=int, help="how often tests kill what works")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat tests that kill as often as their mark sets: within one test, or as one test each."""
    if (mark := metafunc.definition.get_closest_marker("kills")) is None:
        return
    kills = metafunc.config.getoption("--kills") or mark.args[0]
    if "kills" in metafunc.fixturenames:
        metafunc.parametrize("kills", [kills])
    else:
        metafunc.parametrize("attempt", range(kills))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""
    order = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a warning on tests that could not run on this machine."""
    left_out = terminalreporter.stats.get("skipped", [])
    if any(UNTESTED in str(report.longrepr) for report in left_out):
        terminalreporter.write_sep("!", f"{UNTESTED}: {reason_not_to_mount()}", red=True, bold=True)


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Replace the user's cache folder during the tests."""
    folder = tmp_path_factory.mktemp("cache")
    before = {name: os.environ.get(name) for name in ("XDG_CACHE_HOME", "MPLBACKEND")}
    os.environ["XDG_CACHE_HOME"] = str(folder)
    os.environ["MPLBACKEND"] = "Agg"
    yield folder
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture(scope="session", params=sorted(XTC_FILES))
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """Return every XTC file of MDAnalysisTests in turn."""
    source = XTC_FILES[request.param]
    truth = read_with_mdanalysis(source, tmp_path_factory.mktemp("truth"))
    return Golden(request.param, source, truth)


@pytest.fixture
def golden_xtc(golden: Golden, tmp_path: Path) -> Path:
    """Copy the golden file into a folder of its own."""
    folder = tmp_path / "golden"
    folder.mkdir()
    return golden.copy(folder)


@pytest.fixture(scope="session")
def adk(tmp_path_factory: pytest.TempPathFactory) -> Adk:
    """Return adk.psf and adk.xtc (adk_dims.dcd as MDAnalysis writes it), for reading only."""
    folder = tmp_path_factory.mktemp("adk")
    psf = Path(shutil.copy(datafiles.PSF, folder / "adk.psf"))
    xtc = folder / "adk.xtc"
    universe = mda.Universe(str(psf), datafiles.DCD)
    with mda.Writer(str(xtc), n_atoms=universe.atoms.n_atoms) as writer:
        for _ in universe.trajectory:
            writer.write(universe.atoms)
    return Adk(psf, xtc)


@pytest.fixture(scope="session")
def adk_truth(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Truth:
    """Return MDAnalysis' reading of `adk`."""
    return read_with_mdanalysis(adk.xtc, tmp_path_factory.mktemp("adk-truth"))


@pytest.fixture(scope="session")
def long_adk(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Adk:
    """Return `adk` repeated ten times: 980 frames, so that leaves and tasks have several."""
    xtc = tmp_path_factory.mktemp("long") / "long.xtc"
    xtc.write_bytes(adk.xtc.read_bytes() * 10)
    return Adk(adk.psf, xtc)


@pytest.fixture(scope="session")
def thrice_adk(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Adk:
    """Return `adk` repeated three times: leaves of 2 frames, 3 leaves in a task of 3 workers."""
    xtc = tmp_path_factory.mktemp("thrice") / "thrice.xtc"
    xtc.write_bytes(adk.xtc.read_bytes() * 3)
    return Adk(adk.psf, xtc)


@pytest.fixture(scope="session")
def systems(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Systems:
    """Return systems with and without cells, in trajet and in MDAnalysis, for reading only."""
    return Systems(adk, tmp_path_factory.mktemp("systems"))


@pytest.fixture
def own_adk(adk: Adk, tmp_path: Path) -> Adk:
    """Copy `adk` for a test that changes it."""
    folder = tmp_path / "own-adk"
    folder.mkdir()
    return Adk(
        Path(shutil.copy(adk.psf, folder / "adk.psf")),
        Path(shutil.copy(adk.xtc, folder / "adk.xtc")),
    )
