"""Reading and computing import neither MDAnalysis nor matplotlib."""

import ast
import importlib
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import trajet as tj
from helpers.commands import execute, python
from helpers.golden_files import Adk

SETTINGS = Path(__file__).parents[2] / "pyproject.toml"
HEAVY = "{'MDAnalysis', 'matplotlib', 'scipy', 'dask', 'distributed', 'mpi4py', 'h5py'}"


def run(code: str, *arguments: str) -> str:
    """Run code in a fresh interpreter; it must be silent on standard error."""
    done = python("-c", code, *arguments, code=None)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.strip()


def test_import_loads_no_module_before_a_name_is_used() -> None:
    """`import trajet` loads neither NumPy nor other modules of the package."""
    code = """
import sys
import trajet
ours = sorted(name for name in sys.modules if name.split(".")[0] in ("numpy", "trajet"))
print(*ours)
trajet.open
print("numpy" in sys.modules)
"""
    names = "trajet trajet._trajet trajet.signals trajet.startup"
    assert run(code).splitlines() == [names, "True"]


def test_reading_and_rmsd_import_no_optional_package(adk: Adk) -> None:
    """Atoms are given by number."""
    code = f"""
import sys
import numpy as np
import trajet as tj
traj = tj.open(None, sys.argv[1])
traj.read(frames=[0, 5], atoms=[1, 2, 3])
selection = traj.select(np.arange(0, traj.n_atoms, 7))
for block in selection.blocks(30):
    pass
result = tj.rmsd(selection, pool=tj.LocalPool(threads=2))
print(result.values.shape, sorted({HEAVY} & set(sys.modules)))
"""
    assert run(code, str(adk.xtc)) == "(98,) []"


def test_figures_and_advice_are_imported_when_they_are_needed(adk: Adk) -> None:
    """Figures with `plot`, sentences of advice when the report is read."""
    code = """
import sys
import trajet as tj
def loaded():
    return [name for name in ("trajet.plots", "trajet.advise.sentences") if name in sys.modules]
selection = tj.open(None, sys.argv[1]).select([4, 5, 6, 7])
print(loaded())
result = tj.rmsd(selection)
print(loaded())
result.report["advice"]
print(loaded())
result.plot()
print(loaded())
"""
    advice, plots = "trajet.advise.sentences", "trajet.plots"
    lines = run(code, str(adk.xtc)).splitlines()
    assert lines == ["[]", "[]", f"{[advice]}", f"{[plots, advice]}"]


def test_saving_imports_no_optional_package(adk: Adk, tmp_path: Path) -> None:
    """The numbers of a result are saved."""
    code = f"""
import sys
import trajet as tj
result = tj.rmsd(tj.open(None, sys.argv[1]).select([4, 5, 6, 7]))
result.save(sys.argv[2] + "/r.npz")
result.save(sys.argv[2] + "/r.csv")
result.report.save(sys.argv[2] + "/r.json")
print(sorted({HEAVY} & set(sys.modules)))
"""
    assert run(code, str(adk.xtc), str(tmp_path)) == "[]"
    assert len(list(tmp_path.iterdir())) == 3


def test_public_names_are_found() -> None:
    """Each name of `__all__` is found as type checkers see it; others are errors."""
    code = """
import ast
import trajet
names = ["open", "rmsd", "LocalPool", "Trajectory", "Selection", "Block", "Report",
         "TrajetError", "FormatError", "TruncatedError", "SelectionError", "FrameError",
         "OutputError", "__version__"]
print([name for name in names if not hasattr(trajet, name)])
print([name for name in trajet.__all__ if not hasattr(trajet, name)])
statements = ast.walk(ast.parse(open(trajet.__file__ + "i").read()))
seen = {(node.module, name.name) for node in statements if isinstance(node, ast.ImportFrom)
        for name in node.names if node.module.startswith("trajet.")}
wrong = [name for module, name in seen
         if getattr(trajet, name) is not getattr(__import__(module, fromlist=[name]), name)]
print(len(seen) > 20, wrong, hasattr(trajet, "rmds"))
"""
    assert run(code).splitlines() == ["[]", "[]", "True [] False"]


def test_version_is_printed_without_numpy() -> None:
    """The command line imports only what a command needs."""
    code = f"""
import runpy, sys
sys.argv = ["trajet", "--version"]
try:
    runpy.run_module("trajet", run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code
print(sorted({HEAVY} & set(sys.modules)), "numpy" in sys.modules)
"""
    assert run(code).splitlines()[-1] == "[] False"


def test_command_imports_only_what_it_uses(adk: Adk) -> None:
    """One kind of result, and none of the modules that take milliseconds for little."""
    code = """
import os, runpy, sys
for name in ("TMPDIR", "TEMP", "TMP"):
    os.environ.pop(name, None)
sys.argv = ["trajet", "rmsd", *sys.argv[1:], "--select", "name CA", "--quiet"]
try:
    runpy.run_module("trajet", run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code
slow = {"concurrent.futures", "csv", "html", "logging", "numpy.ma", "shutil", "socket",
        "statistics", "subprocess", "tempfile", "zipfile", "trajet.h5md.tables",
        "trajet.pools.dispatch", "trajet.plots"}
print(sorted(slow & set(sys.modules)))
print(sorted(name for name in sys.modules if name.startswith("trajet.result.")))
"""
    names = ("as_json", "axes", "columns", "frame_masks", "joining", "report")
    further = ("scalars", "summary", "table", "times")
    modules = [f"trajet.result.{name}" for name in (*names, *further)]
    assert run(code, str(adk.psf), str(adk.xtc)).splitlines()[-2:] == ["[]", f"{modules}"]


def test_results_are_found_in_their_modules() -> None:
    """Each public name of `trajet.result` is in its module, and a saved result finds its class."""
    code = """
import trajet.result
names = trajet.result.__all__
print([name for name in names if not hasattr(trajet.result, name)])
from trajet.result.table import RESULTS
print(sorted(set(RESULTS) - set(names)))
"""
    assert run(code).splitlines() == ["[]", "[]"]


@pytest.mark.parametrize("package", ["trajet", "trajet.advise", "trajet.h5md", "trajet.result"])
def test_every_line_of_a_stub_is_read(package: str) -> None:
    """The names of a package are those that its stub imports."""
    module = importlib.import_module(package)
    stub = Path(str(module.__file__)).with_suffix(".pyi").read_text()
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    assert {alias.name for node in imports for alias in node.names} == set(module.__all__)


def test_import_within_an_import_is_timed_once() -> None:
    """The time of imports is at most the time that passed."""
    code = """
import time
begin = time.perf_counter()
from trajet import startup
with startup.importing("one"):
    with startup.importing("two"):
        time.sleep(0.05)
print(0.05 <= startup.import_seconds() <= time.perf_counter() - begin)
"""
    assert run(code) == "True"


def test_rules_hold_for_a_package_that_they_do_not_name(tmp_path: Path) -> None:
    """It needs a layer, and imports none of the packages that belong to a room."""
    package = tmp_path / "trajet"
    modules = shutil.ignore_patterns("*.so", "__pycache__", "vendor")
    shutil.copytree(Path(tj.__file__).parent, package, ignore=modules)
    contracts = tomllib.loads(SETTINGS.read_text())["tool"]["importlinter"]["contracts"]
    names = [name for contract in contracts for name in contract.get("forbidden_modules", ())]
    (package / "newcomer").mkdir()
    (package / "newcomer" / "__init__.py").write_text("".join(f"import {name}\n" for name in names))
    lint = Path(sys.executable).with_name("lint-imports")
    command = [lint, "--config", SETTINGS, "--no-cache"]
    done = execute(*command, cwd=tmp_path, code=1)
    found = {name for name in names if f"trajet.newcomer -> {name} (" in done.stdout}
    assert found == {*names}
    assert "- trajet.newcomer\n" in done.stdout
