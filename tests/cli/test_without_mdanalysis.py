"""Everything but AtomGroups, Universes and rare topology formats works without MDAnalysis."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import messages
from helpers import without_mdanalysis_script as script
from helpers.analysis_laws import plain_analyses
from helpers.commands import python
from helpers.doc_examples import commands_of, examples
from helpers.golden_files import DATA, Adk
from helpers.recorded_results import files_of
from trajet.topology import load

ROOT = Path(__file__).parents[2]
HIDING = Path(__file__).parents[1] / "helpers" / "without_mdanalysis"
# MDAnalysis, and packages that only MDAnalysis brings.
HIDDEN = ("MDAnalysis", "scipy", "joblib", "gridData", "mmtf", "mda_xdrlib")
# Files of formats that only MDAnalysis reads.
RARE = ("mol2/Molecule.mol2", "adk_open.pqr", "pdbqt_inputpdbqt.pdbqt", "adk_open.crd")
# Packages that others of the manifest bring along.
BROUGHT = {
    "distributed": ("dask", "tornado"),
    "anywidget": ("IPython",),
    "ipykernel": ("jupyter_client",),
}


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python in a process without MDAnalysis."""
    variables = {
        "PYTHONPATH": os.pathsep.join([str(HIDING), os.environ["PYTHONPATH"]]),
        "HIDDEN_PACKAGES": " ".join(HIDDEN),
        "PYTHONIOENCODING": "utf-8",
    }
    return python(*arguments, cwd=folder, env=os.environ | variables, timeout=300, code=None)


def succeed(folder: Path, *arguments: object) -> str:
    """Run, expect success and an empty standard error, return the output."""
    done = run(folder, *arguments)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


@pytest.fixture
def place(adk: Adk, tmp_path: Path) -> Path:
    """Return a folder with `adk.psf` and `adk.xtc`, and a system with a cell as `wet`."""
    for path in (adk.psf, adk.xtc):
        shutil.copy(path, tmp_path)
    for ending in ("gro", "xtc"):
        shutil.copy(DATA / f"adk_oplsaa.{ending}", tmp_path / f"wet.{ending}")
    return tmp_path


def evaluated(folder: Path, setup: str, expressions: Sequence[str]) -> dict[str, object]:
    """Return the value of each expression, or the message of its error, in one process."""
    code = f"""import json
import trajet as tj
{setup}
found = {{}}
for text in {list(expressions)!r}:
    try:
        found[text] = eval(text)
    except tj.MissingPackageError as error:
        found[text] = f"error: {{error}}"
print(json.dumps(found))
"""
    found: dict[str, object] = json.loads(succeed(folder, "-c", code))
    assert list(found) == list(expressions)
    return found


def test_processes_of_these_tests_have_no_mdanalysis(tmp_path: Path) -> None:
    """Each hidden package is missing there, and installed here."""
    code = "import importlib.util as u; print([n for n in {} if u.find_spec(n)])".format
    assert succeed(tmp_path, "-c", code(HIDDEN)) == "[]\n"
    installed = python("-c", code(HIDDEN))
    assert installed.stdout == f"{list(HIDDEN)}\n"


def test_analyses_conversion_and_stores_work(place: Path) -> None:
    """Analyses have the numbers that they have where MDAnalysis is installed."""
    files = [str(place / name) for name in ("adk.psf", "adk.xtc", "wet.gro", "wet.xtc")]
    (place / "made").mkdir()
    succeed(place, "-m", "helpers.without_mdanalysis_script", place / "made", *files)
    assert set(script.CALLS) == set(tj.ANALYSES)
    atoms = script.subjects(place / "velocities", *files)
    for name, call in script.CALLS.items():
        values = call(atoms[name], tj.LocalPool())
        assert np.isfinite(values).any(), name
        assert np.load(place / "made" / f"{name}.npy").tobytes() == values.tobytes(), name


NATIVE = (
    *("adk_oplsaa.gro", "cobrotoxin_2024_4.tpr", "adk_open.pdb", "adk.psf", "mmcif/1YJP.cif"),
    "Amber/ache.prmtop",
)


def test_native_formats_are_read(tmp_path: Path) -> None:
    """The selection has the atoms that it has where MDAnalysis is installed."""
    text = "protein or name C*"
    call = f"load(Path({{!r}})).select({text!r}, '').tolist()"
    calls = {call.format(str(DATA / name)): name for name in NATIVE}
    setup = "from trajet.topology import load; from pathlib import Path"
    for code, atoms in evaluated(tmp_path, setup, list(calls)).items():
        expected = load(DATA / calls[code]).select(text, "").tolist()
        assert len(expected) > 0
        assert atoms == expected, calls[code]


def test_commands_work(place: Path) -> None:
    """Every analysis that has a command, and those that read and write trajectories."""
    adk, ca = ("adk.psf", "adk.xtc"), ("--select", "name CA")
    sample = tj.samples.peptide_in_water().files
    (place / "moving").mkdir()
    moving = files_of("velocity", place / "moving")
    hot = ("--temperature", 300)
    lines: list[tuple[object, ...]] = [
        ("info", "adk.xtc"),
        ("index", "adk.xtc"),
        ("rmsd", *adk, *ca, "--plot", "a.png", "--report", "r.json", "-o", "a.csv"),
        ("advise", "r.json", "-o", "r.html"),
        *((each.__name__.replace("_", "-"), *adk, *ca) for each in plain_analyses()),
        ("rmsf", *adk, *ca, "--align", "name CA", "-o", "f.npz"),
        ("dihedrals", *adk, "--select", "protein"),
        ("distances", *adk, "--select", "resid 5 and name CA", "--other", "resid 9 and name CA"),
        ("dssp", *adk),
        ("contact-map", *adk, *ca, "--cutoff", "8"),
        ("native-contacts", *adk, *ca, "--cutoff", "8"),
        ("msd", *adk, *ca),
        ("contacts", *adk, *ca, "--cutoff", "8"),
        ("min-distance", *adk, *ca),
        ("hbonds", *adk, "--select", "protein", "--save", "pairs=pairs.csv"),
        ("interactions", *adk, "--select", "resid 1:20", "--other", "resid 30:60"),
        ("survival", *adk, "--select", "name CA and around 6 resid 9", "--max-lag", "20"),
        ("pairwise-rmsd", *adk, *ca),
        ("cluster-rmsd", *adk, *ca, "--cutoff", "1.5"),
        ("pca", *adk, *ca),
        ("center-distances", *adk, *ca, "--other", "resid 9"),
        ("density", *adk, *ca, "--spacing", "4", "--save", "grid=ca.dx"),
        ("linear-density", "wet.gro", "wet.xtc", *ca),
        ("sasa", *adk, *ca),
        ("conductivity", *sample, "--select", "resname NA CL", "--nojump", *hot),
        ("coordination", *adk, *ca, "--cutoff", "8"),
        ("correlation-map", *adk, *ca),
        ("dielectric-constant", *sample, "--select", "water", "--whole", *hot),
        ("velocity-autocorrelation", *moving, "--select", "protein"),
        ("rdf", "wet.gro", "wet.xtc", *ca),
        ("rdf-pairs", "wet.gro", "wet.xtc", "--pairs", "name CA", "name CA"),
        ("rmsd", *adk, *ca, "--pool", "processes", "--workers", "1"),
        ("convert", "adk.xtc", "ca.xtc", "--topology", "adk.psf", *ca),
        ("split", "adk.xtc", "--segments", "2", "-o", "parts"),
        ("store", "add", "md/adk", "--topology", "adk.psf", "--trajectory", "adk.xtc"),
        ("store", "list", "--store", "md"),
        ("store", "show", "md/adk"),
        ("store", "verify", "md/adk"),
        ("rmsd", "md/adk@protein", *ca),
        ("store", "get", "md/adk@protein", "-o", "p.xtc", "--topology-out", "p.pdb"),
        ("store", "get", "md/adk", "-o", "whole.xtc"),
    ]
    called = {str(line[0]).replace("-", "_") for line in lines}
    assert called >= set(tj.ANALYSES) - {"apply"}
    code = (
        "import json, sys; from helpers.forked_commands import run; run(*json.loads(sys.argv[1]))"
    )
    done = run(place, "-c", code, json.dumps(lines, default=str))
    assert done.returncode == 0, done.stderr
    assert "MDAnalysis" not in done.stderr
    assert (place / "whole.xtc").stat().st_size > 0


def test_demo_runs(tmp_path: Path) -> None:
    """It writes table, plot and report."""
    output = succeed(tmp_path, "-m", "trajet", "demo").splitlines()
    names = ["rmsd.png", "report.json", "rmsd.csv"]
    assert output[-3:] == [f"trajet-demo/{name}" for name in names]
    assert all((tmp_path / name).stat().st_size > 0 for name in output[-3:])


def test_examples_of_the_readme_run(tmp_path: Path) -> None:
    """All blocks in one script, commands as processes, in a folder without files."""
    lines = ["from helpers import forked_commands"]
    for example in examples(ROOT / "README.md"):
        if example.language == "python":
            lines.append(example.text)
        for command in commands_of(example.text) if example.language != "python" else ():
            lines.append(f"forked_commands.run({command!r})")
    (tmp_path / "readme.py").write_text("\n".join(lines))
    succeed(tmp_path, "readme.py")
    assert {path.name for path in tmp_path.glob("rmsd.*")} == {"rmsd.png", "rmsd.csv"}


NEED_MDANALYSIS = (
    "traj.universe",
    "traj.select('name CA').atoms",
    "traj.select('smarts C')",
    "traj.select('same aromaticity as name CA')",
    "tj.convert(traj, 'a.xtc', topology='a.crd')",
    *(f"tj.open({str(DATA / name)!r}, 'adk.xtc').select('all')" for name in RARE),
)


def test_what_needs_mdanalysis_names_the_extra(place: Path) -> None:
    """The error has the command that installs it, on one line."""
    setup = "traj = tj.open('adk.psf', 'adk.xtc')"
    for expression, message in evaluated(place, setup, NEED_MDANALYSIS).items():
        assert isinstance(message, str), expression
        assert message.startswith("error: "), expression
        assert message.endswith(": pip install 'trajet[mdanalysis]'"), expression
        assert "\n" not in message, expression
        assert "MDAnalysis" in message, expression


def test_command_that_needs_mdanalysis_names_the_extra(place: Path) -> None:
    """The exit code is that of failed input."""
    shutil.copy(DATA / RARE[0], place / "a.mol2")
    done = run(place, "-m", "trajet", "rmsd", "a.mol2", "adk.xtc", "--select", "name CA")
    assert done.returncode == 1
    assert done.stdout == ""
    messages.compare(done.stderr)


def packages_of(folder: Path) -> set[str]:
    """Return the names of the packages that Python files import, but for the standard library.

    What the scripts in `external` and the test of the viewer's page import is installed by their
    targets of make.
    """
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        if path.parent.name == "external" or path.name == "test_page.py":
            continue
        text = path.read_text(encoding="utf-8")
        found.update(re.findall(r"^ *from (\w+)[\w.]* import ", text, re.MULTILINE))
        for names in re.findall(r"^ *import ([\w., ]+)$", text, re.MULTILINE):
            found |= {name.split()[0].split(".")[0] for name in names.split(",")}
    # A test makes it; others are in `benches`.
    ours = {"calls_in_this_process"} | {path.stem for path in (ROOT / "benches").iterdir()}
    ours |= {path.stem for path in folder.rglob("*.py")} | {path.name for path in folder.iterdir()}
    return found - set(sys.stdlib_module_names) - ours


@pytest.mark.parametrize(
    ("folder", "groups"), [("python/trajet", ()), ("tests", ("test", "test-files", "browser"))]
)
def test_each_imported_package_is_a_dependency(folder: str, groups: tuple[str, ...]) -> None:
    """None is installed only because another package needs it; those of tests do not count."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    assert not any(name.startswith("MDAnalysis") for name in project["dependencies"])
    lines = sum(project["optional-dependencies"].values(), project["dependencies"])
    for group in groups:
        lines += [line for line in settings["dependency-groups"][group] if isinstance(line, str)]
    named = {re.split(r"[>=<\[]", line)[0] for line in lines}
    for name, brought in BROUGHT.items():
        named.update(brought if name in named else ())
    assert packages_of(ROOT / folder) <= named
