"""MDAnalysis' own tests pass with our readers, but for those that `differences.toml` lists."""

import json
import os
import sys
import tomllib
from pathlib import Path

import MDAnalysisTests
import pytest
from helpers.commands import execute

SUITE = Path(MDAnalysisTests.__file__).parent
DIFFERENCES = Path(__file__).parent / "differences.toml"
PATHS = (
    *(
        f"coordinates/test_{name}.py"
        for name in (
            *("xdr", "dcd", "netcdf", "h5md", "chainreader", "reader_api", "timestep_api"),
            *("copying", "memory", "lammps", "writer_api", "writer_registration", "trj"),
        )
    ),
    "core",
    "analysis",
    "parallelism",
    "transformations",
    "auxiliary",
    "formats",
    "lib",
    "topology/test_minimal.py",
    "topology/test_guessers.py",
    "utils",
    "visualization",
)


def differences() -> dict[str, str]:
    """Return the tests that fail for a reason, each with it."""
    listed = tomllib.loads(DIFFERENCES.read_text(encoding="utf-8"))["difference"]
    return {test: entry["reason"] for entry in listed for test in entry["tests"]}


def outcomes(folder: Path, *arguments: str) -> dict[str, list[str]]:
    """Run tests, and return the outcome of each."""
    path = folder / "outcomes.json"
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=native", "-c", os.devnull]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "helpers.mdanalysis_guest"]
    command += ["--rootdir", str(SUITE), "--outcomes", str(path), "-W", "ignore", *arguments]
    done = execute(*command, cwd=folder, timeout=7200, code=None)
    assert path.exists(), done.stdout[-4000:] + done.stderr[-4000:]
    found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS)
def test_own_tests_pass(path: str, tmp_path: Path) -> None:
    """Whatever passes with MDAnalysis' readers, or is listed; what is listed fails."""
    found = outcomes(tmp_path, str(SUITE / path))
    assert found
    failed = {name for name, (outcome, _) in found.items() if outcome in ("failed", "not run")}
    listed = {name for name in differences() if name in found}
    assert sorted(listed - failed) == [], "these pass: remove them from differences.toml"
    if doubtful := sorted(failed - listed):
        theirs = outcomes(tmp_path, "--own-readers", *(str(SUITE / name) for name in doubtful))
        worse = {name: found[name][1] for name in doubtful if theirs.get(name, [""])[0] == "passed"}
        assert worse == {}


def test_listed_differences_have_reasons_and_exist() -> None:
    """Each test is listed once, with a reason, and is in the suite that is installed."""
    listed = tomllib.loads(DIFFERENCES.read_text(encoding="utf-8"))["difference"]
    names = [test for entry in listed for test in entry["tests"]]
    assert len(names) == len({*names})
    assert all(len(entry["reason"]) > 30 for entry in listed)
    for name in names:
        path, test = name.split("::", 1)
        function = test.split("::")[-1].split("[")[0]
        assert any(path.startswith(one) for one in PATHS), path
        sources = (SUITE / path, SUITE / "coordinates" / "base.py")
        assert any(f"def {function}(" in one.read_text(encoding="utf-8") for one in sources), name
