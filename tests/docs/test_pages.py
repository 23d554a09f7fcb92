"""The examples of each page, README and tutorials run as they stand, in their order."""

import os
import re
import runpy
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.image
import matplotlib.pyplot as plt
import pytest
import trajet.mdanalysis
from helpers.commands import python, run
from helpers.doc_examples import (
    cells,
    commands_of,
    examples,
    place_of,
    place_of_sample,
    run_python,
    run_shell,
)
from helpers.golden_files import Adk
from MDAnalysisTests import datafiles
from trajet._trajet import FORMATS

DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Page:
    """Files that a page needs, and files and text that its examples make."""

    # By the names of the page; with any, it has `adk` instead of the sample.
    needs: dict[str, Path] = field(default_factory=dict)
    makes: tuple[str, ...] = ()
    # Called with the printed text of Python and of commands, and the folder.
    check: Callable[[str, str, Path], None] = lambda _printed, _shell, _folder: None
    # The heading before the first example that runs.
    begin: str = ""
    # Whether each block of Python has the names of those before.
    is_one_script: bool = True
    marks: tuple[pytest.MarkDecorator, ...] = ()


def _quoted(page: str, pattern: str, count: int) -> list[str]:
    """Return the indented lines of a page that quote output."""
    lines = (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines()
    quoted = [line.strip() for line in lines if re.match(f"    {pattern}", line)]
    assert len(quoted) == count
    return quoted


def _ensembles(printed: str, shell: str, _: Path) -> None:
    assert all(line in shell + printed for line in _quoted("ensembles", "(sasa|rg|rmsf) .*[;(]", 3))


def _features(printed: str, _shell: str, _folder: Path) -> None:
    """Check that the slowest coordinate is the one that the replicas were made by."""
    assert "of 5 trajectories> cos:phi_ALA1 distance_A:" in printed
    assert _quoted("features", "<", 1)[0] in printed
    assert "slowest time scale: " in printed


def _figures(_: str, _shell: str, folder: Path) -> None:
    """Check that the figure of the command has the size that it names."""
    height, width = matplotlib.image.imread(folder / "rmsd.png").shape[:2]
    assert abs(width - 600 * 8 / 2.54) <= 1 and abs(height - 600 * 6 / 2.54) <= 1


def _interactions(printed: str, _shell: str, folder: Path) -> None:
    """Check quoted lines, and that only hydrogen bonds and rings with narrower limits are left."""
    quoted = _quoted("interactions", "(<Chem|IPH|dwell|\\{')", 7)
    assert not [line for line in quoted if line not in printed]
    kinds = {
        name: {row.split(",")[6] for row in (folder / f"{name}.csv").read_text().splitlines()[1:]}
        for name in ("pairs", "strict")
    }
    assert kinds == {
        "pairs": {"hydrophobic", "pi-edge", "pi-face"},
        "strict": {"pi-edge", "pi-face"},
    }


def _mdanalysis(printed: str, _shell: str, _folder: Path) -> None:
    first, second, third, tag, fourth, fifth = printed.splitlines()
    assert (first, third, tag, fifth) == ("100 10 atoms", "100 (1649, 3)", "166 171", "100")
    assert second.endswith(" 100")
    assert fourth.startswith("0 of ")


def _periodic(_: str, _shell: str, folder: Path) -> None:
    """Check that both files are the same frame, with the same repair."""
    one, other = (
        [line for line in (folder / name).read_text().splitlines() if line.startswith("ATOM")]
        for name in ("frame5.pdb", "frame5-repaired.pdb")
    )
    assert one == other
    assert len(one) == 3341


def _statistics(printed: str, shell: str, _: Path) -> None:
    """Check that the lines on the errors are those of the page."""
    of_script, of_command = _quoted("statistics", "mean ", 2)
    assert of_command in shell.splitlines()
    assert of_script in printed


def _topology(printed: str, _shell: str, folder: Path) -> None:
    """Check that the examples print the same without MDAnalysis."""
    assert printed.startswith("10 505\n")
    script = folder / "page.py"
    blocks = [example.text for example in examples(DOCS / "topology.md")]
    script.write_text("\n".join(["import sys; sys.modules['MDAnalysis'] = None", *blocks]))
    done = python(script)
    assert (done.stdout, done.stderr) == (printed, "")


def _profile(folder: Path) -> None:
    """Write the profile of the page of stores."""
    text = (DOCS / "store.md").read_text(encoding="utf-8")
    ((profile, name),) = re.findall(
        r"^```toml\n(# (\S+)\n.*?)^```\s*$", text, re.MULTILINE | re.DOTALL
    )
    (folder / name).write_text(profile)


PAGES = {
    "clusters": Page(
        makes=("clusters.png", "clusters.csv", "frames.csv", "medoids/cluster0.pdb"),
    ),
    "ensembles": Page(
        begin="## From files to a figure",
        makes=("sasa.difference.csv", "sasa.difference.png", "violins.png"),
        check=_ensembles,
        marks=(pytest.mark.long,),
    ),
    "features": Page(check=_features, marks=(pytest.mark.long,)),
    "figures": Page(makes=("rmsd.pdf", "halves.png", "column.pdf", "slide.png"), check=_figures),
    "interactions": Page(
        makes=("interactions.png", "replicas.png", "numbers.csv", "bars.png"), check=_interactions
    ),
    "mdanalysis": Page(check=_mdanalysis),
    "periodic": Page(
        needs={"solvated.tpr": datafiles.TPR, "solvated.xtc": datafiles.XTC},
        makes=("protein.xtc", "protein.pdb", "frame5.pdb", "frame5-repaired.pdb"),
        check=_periodic,
    ),
    "statistics": Page(makes=("convergence.png", "rmsd.png", "rmsd.json"), check=_statistics),
    "store": Page(makes=("links/run@protein.xtc",), is_one_script=False),
    "topology": Page(check=_topology),
    "transport": Page(
        needs={
            **{path.name: path for path in trajet.samples.molten_salt().files},
            "water.prmtop": datafiles.PRM_NCBOX,
            "water.ncdf": datafiles.TRJ_NCBOX,
        },
        makes=("conductivity.png", "dielectric.png", "spectrum.png"),
    ),
    "trajectories": Page(makes=("repaired.xtc", "ca.pdb", "run.trr", "frame10.pdb", "shifted.dcd")),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=page.marks) for name, page in PAGES.items()]
)
def test_examples_of_the_page_run(
    name: str,
    adk: Adk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a folder with the files that the page names."""
    page, document = PAGES[name], DOCS / f"{name}.md"
    if page.needs:
        place_of(document, adk, tmp_path, monkeypatch)
    else:
        place_of_sample(document, tmp_path, monkeypatch)
    for needed, path in page.needs.items():
        shutil.copy(path, tmp_path / needed)
    if name == "store":
        _profile(tmp_path)
    text = document.read_text(encoding="utf-8")
    begin = text.count("\n", 0, text.index(page.begin))
    names: dict[str, object] = {"__name__": name}
    shell = ""
    try:
        for example in examples(document):
            if example.line < begin:
                continue
            if example.language == "python":
                run_python(document, example, names if page.is_one_script else {"__name__": name})
            else:
                shell += run_shell(example.text)
    finally:
        plt.close("all")
        trajet.mdanalysis.uninstall()
    for made in page.makes:
        assert (tmp_path / made).is_file(), made
    page.check(capsys.readouterr().out, shell, tmp_path)


README = Path(__file__).parents[2] / "README.md"


def test_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks run one after the other in one namespace, commands between them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "readme"}
    ran = {"python": 0, "sh": 0}
    for example in examples(README):
        if example.language == "python":
            run_python(README, example, namespace)
            ran["python"] += 1
            continue
        for command in commands_of(example.text):
            done = run(*command)
            assert done.returncode == 0, (example.line, command, done.stderr)
            assert done.stderr == ""
            ran["sh"] += 1
    assert ran["python"] >= 1
    assert ran["sh"] >= 1


NOTEBOOKS = sorted(
    page
    for page in DOCS.rglob("*.md")
    if "{code-cell}" in page.read_text(encoding="utf-8") and "generated" not in page.parts
)
# One notebook is executed in the gate, as an example; the site executes all of them.
IN_THE_GATE = "protein"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page.stem == IN_THE_GATE else pytest.mark.long)
        for page in NOTEBOOKS
    ],
    ids=lambda page: page.stem,
)
def test_cells_of_a_notebook_run(page: Path, tmp_path: Path) -> None:
    """The script is a file with a main guard, as worker processes read it again."""
    lines = "".join(f"    {line}\n" if line else "\n" for line in cells(page).splitlines())
    script = tmp_path / "cells.py"
    script.write_text(f'if __name__ == "__main__":\n{lines}', encoding="utf-8")
    commands = Path(sys.executable).parent
    python(
        script.name,
        cwd=tmp_path,
        env=os.environ
        | {"MPLBACKEND": "agg", "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"},
    )


# The other one takes files of GROMACS: tests/formats/test_series.py runs it.
EXAMPLES = [
    path
    for path in sorted((DOCS.parent / "examples").glob("*.py"))
    if "sys.argv" not in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a script that needs no files but those of samples."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))


def test_tutorials_have_what_each_of_them_promises() -> None:
    """A tutorial names its task, has a figure and a sentence, and says what to check."""
    tutorials = [page for page in NOTEBOOKS if page.parent.name == "tutorials"]
    contents = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    for page in tutorials:
        text = page.read_text(encoding="utf-8")
        for needed in ("**You have**", "**You want**", "## The sentence", "## What to check"):
            assert needed in text, (page.name, needed)
        assert f"({page.name})" in contents, page.name
        assert f"{{nb-download}}`{page.stem}.ipynb`" in text, page.name


ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "topology.md"
ROW = re.compile(r"^\| ([\w ]+?)(?: \([^|]*)? \| ((?:`\.\w+`(?:, )?)+) \|", re.MULTILINE)
INFO = re.compile(r'name: "([\w ]+)",\s*suffixes: (?:&\[([^\]]+)\]|\S*Format::(\w+)\.info)')


def test_table_has_the_formats_that_are_read() -> None:
    """With the same suffixes."""
    source = ROOT / "crates" / "trajet-topology" / "src" / "formats.rs"
    formats = {
        name: [ending[1:] for ending in FORMATS[shared.upper()].suffixes]
        if shared
        else re.findall(r'"(\w+)"', suffixes)
        for name, suffixes, shared in INFO.findall(source.read_text(encoding="utf-8"))
    }
    assert len(formats) >= 6
    rows = {
        name: re.findall(r"`\.(\w+)`", suffixes)
        for name, suffixes in ROW.findall(DOCUMENT.read_text(encoding="utf-8"))
    }
    assert rows == formats
