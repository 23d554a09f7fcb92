"""What notebooks show of trajectories, selections, reports and figures, and bars of progress."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.kernels import run_cells
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from trajet.html import facts


@settings(max_examples=25)
@given(title=st.text(), name=st.text(), value=st.text(), note=st.text())
def test_tables_of_facts_escape_all_texts(title: str, name: str, value: str, note: str) -> None:
    """A selection or the name of a file is no markup."""
    shown = facts(title, [(name, value)], [note])
    tags = re.findall(r"<[^>]*>", facts("", [("", "")], [""]))
    assert re.findall(r"<[^>]*>", shown) == tags


def test_trajectories_selections_and_reports_are_tables(adk: Adk) -> None:
    """With their numbers; a selection is escaped."""
    traj = tj.open(adk.psf, adk.xtc)
    shown = traj._repr_html_()
    assert "<td style='text-align:left'>3,341</td>" in shown and "98" in shown
    assert "fit" in traj.fit("name CA")._repr_html_()
    assert "&lt;b&gt; or" in tj.Selection._repr_html_(_Named(traj, "<b> or all"))  # type: ignore[arg-type]
    chosen = traj.select("prop mass < 2")
    assert "prop mass &lt; 2" in chosen._repr_html_()
    assert f"{chosen.n_atoms:,} of 3,341" in chosen._repr_html_()
    assert "in each frame" in traj.select("name CA", updating=True)._repr_html_()
    report = tj.rmsd(traj.select("name CA")).report
    assert "Report of rmsd" in report._repr_html_()
    assert f"{report['bytes_read']:,}" in report._repr_html_()
    traj.close()
    assert "closed" in traj._repr_html_()


class _Named:
    """What a table of a selection shows, with a text that cannot be selected."""

    n_atoms = 1

    def __init__(self, trajectory: tj.Trajectory, text: str) -> None:
        self.trajectory, self.text = trajectory, text


# Cells, and the numbers of pictures that notebooks show below them.
_CELLS = {
    "figure = result.plot()": 0,
    "result.plot()": 1,
    "import matplotlib.pyplot as plt": 0,
    "result.plot() ": 1,
    "result.plot();": 1,
    "result.plot()\nplt.title('mine')": 1,
    "result.plot()\nplt.savefig('saved.png')": 1,
    "display(result.plot())": 1,
    "figure = result.plot() ": 1,
    "figure": 1,
    "figure.savefig('saved.png')": 0,
    "result.plot()\nresult.plot()": 2,
    # Files have all but the last.
    "for _ in range(30): result.plot().savefig('saved.png')": 1,
    "_, axes = plt.subplots()\nresult.plot(axes)": 1,
}


def test_notebooks_show_each_figure_once(adk: Adk, tmp_path: Path) -> None:
    """Whether pyplot is imported or not; it keeps no figure, and does not warn of many."""
    first = (
        f"import os, trajet as tj; os.chdir({str(tmp_path)!r})\n"
        f"result = tj.rmsd(tj.open({str(adk.psf)!r}, {str(adk.xtc)!r}).select('name CA'))"
    )
    _, *shown, (numbers,) = run_cells([first, *_CELLS, "print(plt.get_fignums())"])
    pictures = [sum("image/png" in one.get("data", ()) for one in cell) for cell in shown]
    assert dict(zip(_CELLS, pictures, strict=True)) == _CELLS
    assert not any("text" in one for cell in shown for one in cell)
    assert numbers["text"] == "[]\n"


_SCRIPT = """
import sys, threading
import matplotlib.pyplot as plt
import trajet as tj

plt.switch_backend("agg")
result = tj.load("result.json")
for title in map(str, range(30)):
    figure = result.plot(title=title)
    assert plt.gcf() is figure and len(plt.get_fignums()) == 1
plt.savefig("pyplot.png")
figure.savefig("figure.png")
mine, axes = plt.subplots()
result.plot(axes)
result.plot()
assert plt.get_fignums() == [2, 3] and plt.figure(2) is mine
# Another thread has no current figure, and no page of a result becomes one.
thread = threading.Thread(target=result.plot)
thread.start()
thread.join()
result._repr_html_()
assert plt.gcf() is mine
"""

_WITHOUT_BACKEND = """
import matplotlib.pyplot
import trajet as tj

tj.load("result.json").plot(title="29").savefig("unseen.png")
"""


def test_pyplot_saves_the_figure(adk: Adk, tmp_path: Path) -> None:
    """As the figure saves itself. Of many figures pyplot keeps the last, and does not warn."""
    tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).save(tmp_path / "result.json")
    subprocess.run([sys.executable, "-W", "error", "-c", _SCRIPT], cwd=tmp_path, check=True)
    files = [plt.imread(tmp_path / name) for name in ("pyplot.png", "figure.png")]
    assert np.array_equal(*files) and np.ptp(files[0]) > 0
    env = os.environ | {"MPLBACKEND": "module://missing"}
    subprocess.run([sys.executable, "-c", _WITHOUT_BACKEND], cwd=tmp_path, check=True, env=env)
    assert np.array_equal(files[0], plt.imread(tmp_path / "unseen.png"))


def test_figures_with_windows_stay(adk: Adk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks do not show again what a widget shows, until it is closed."""

    class Window(FigureManagerBase):
        pass

    result = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    monkeypatch.setattr(FigureCanvasAgg, "manager_class", Window)
    figures = [result.plot(), result.plot()]
    try:
        assert [*map(plt.figure, plt.get_fignums())] == figures
        assert figures[0]._repr_png_() is None
    finally:
        plt.close("all")
    picture = figures[0]._repr_png_()
    assert isinstance(picture, bytes) and picture.startswith(b"\x89PNG")


@pytest.mark.parametrize("of_members", [False, True])
def test_true_shows_a_bar_that_reaches_its_end(
    adk: Adk, capsys: pytest.CaptureFixture[str], of_members: bool
) -> None:
    """Of frames, or of members; results are the same, and False shows nothing."""
    atoms: Any = tj.open(adk.psf, adk.xtc).select("name CA")
    if of_members:
        rows = [{"replica": k, "topology": adk.psf, "trajectory": adk.xtc} for k in (1, 2)]
        atoms = tj.ensemble(rows).select("name CA")
    quiet = tj.rmsd(atoms, progress=False)
    assert capsys.readouterr().err == ""
    shown = tj.rmsd(atoms, progress=True)
    bar = capsys.readouterr().err
    assert "rmsd: 100%" in bar and ("2.00/2.00" if of_members else "98.0/98.0") in bar
    both = [one[0] if of_members else one for one in (quiet, shown)]
    assert np.array_equal(both[0].values, both[1].values)
    tj.run([tj.rmsf.job(atoms)], progress=True)
    assert "run: 100%" in capsys.readouterr().err
    wrong: Any = "yes"
    with raises(TypeError):
        tj.rmsd(atoms, progress=wrong)


def test_style_sheets_are_files_of_the_package() -> None:
    """Wheels have them."""
    folder = Path(tj.__file__).parent / "styles"
    assert {path.stem for path in folder.glob("*.mplstyle")} == {"journal", "talk"}
