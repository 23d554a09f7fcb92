"""A pytest plugin: MDAnalysis' own tests run with the readers and writers of `trajet.mdanalysis`.

`python -m pytest -p helpers.mdanalysis_guest --outcomes FILE …` writes the outcome of each test.
"""

import json
from pathlib import Path
from types import FunctionType

import pytest
import trajet.mdanalysis as guest
from MDAnalysis.coordinates import H5MD, TRJ, TRR, XTC
from trajet.mdanalysis import writers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the file for the outcomes, and the choice of MDAnalysis' own readers."""
    parser.addoption("--outcomes", type=Path, help="where the outcome of each test is written")
    parser.addoption("--own-readers", action="store_true", help="install nothing")


def pytest_configure(config: pytest.Config) -> None:
    """Install readers and writers, also under the names by which tests construct them."""
    config.stash[_OUTCOMES] = {}
    if config.getoption("--own-readers"):
        return
    guest.install()
    XTC.XTCReader, TRR.TRRReader = guest.XTCReader, guest.TRRReader
    # Its own writer goes on calling super() of itself.
    own = XTC.XTCWriter
    own.__init__ = FunctionType(
        own.__init__.__code__,
        {**vars(XTC), "XTCWriter": own},
        argdefs=own.__init__.__defaults__,
        closure=own.__init__.__closure__,
    )
    XTC.XTCWriter, TRR.TRRWriter = writers.XTCWriter, writers.TRRWriter


# A spawned process has MDAnalysis' own reader. What it sends back is unpickled by the class of the
# same name here, which is ours in these tests only: the thread of the pool that receives it dies,
# and the test waits forever.
ENDLESS = "parallelism/test_multiprocessing.py::test_creating_multiple_universe_without_offset"

_OUTCOMES = pytest.StashKey[dict[str, list[str]]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name all tests, and give their modules our readers where they import others by name."""
    for item in items:
        if XTC.XTCReader is guest.XTCReader and isinstance(item, pytest.Function):
            _replace_readers(item.module)
        item.config.stash[_OUTCOMES].setdefault(name_of(item.nodeid), ["not run", ""])
    if XTC.XTCReader is guest.XTCReader:
        items[:] = [item for item in items if name_of(item.nodeid) != ENDLESS]


def _replace_readers(place: object) -> None:
    """Replace readers that a module of tests, or a class in it, has as attributes."""
    ours = {TRJ.NCDFReader: guest.NCDFReader, H5MD.H5MDReader: guest.H5MDReader}
    for name, value in list(vars(place).items()):
        if isinstance(value, type) and value in ours:
            setattr(place, name, ours[value])
        elif isinstance(value, type) and value.__module__ == getattr(place, "__name__", None):
            _replace_readers(value)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item):  # noqa: ANN201
    """Keep the outcome of a test, and the last line of its error."""
    made = yield
    report = made.get_result()
    kept = item.config.stash[_OUTCOMES]
    name = name_of(item.nodeid)
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        kept[name] = ["failed", str(crash.message if crash else report.longrepr)[:300]]
    elif (report.when == "call" or report.skipped) and kept.get(name, [""])[0] != "failed":
        kept[name] = [report.outcome, ""]


def name_of(nodeid: str) -> str:
    """Return the name of a test from the folder of MDAnalysisTests on."""
    return nodeid.rsplit("MDAnalysisTests/", maxsplit=1)[-1]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the outcomes."""
    path = session.config.getoption("--outcomes")
    if path is not None:
        path.write_text(json.dumps(session.config.stash[_OUTCOMES], indent=0), encoding="utf-8")
