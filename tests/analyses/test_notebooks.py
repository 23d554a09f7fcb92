"""What notebooks show of trajectories, selections, reports and figures, and bars of progress."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
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


def test_notebooks_show_a_figure_once(adk: Adk) -> None:
    """A figure of ours has one picture and is not known to pyplot; axes of a user have none."""
    result = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    before = plt.get_fignums()
    figure = result.plot()
    assert plt.get_fignums() == before
    picture = figure._repr_png_()
    assert isinstance(picture, bytes) and picture.startswith(b"\x89PNG")
    drawn, axes = plt.subplots()
    try:
        # Notebooks show all figures of pyplot at the end of a cell, and axes as text.
        assert result.plot(axes) is axes
        assert not hasattr(axes, "_repr_png_")
    finally:
        plt.close(drawn)


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
    with pytest.raises(TypeError, match="progress is a function of two numbers, True or None"):
        tj.rmsd(atoms, progress=wrong)


def test_style_sheets_are_files_of_the_package() -> None:
    """Wheels have them."""
    folder = Path(tj.__file__).parent / "styles"
    assert {path.stem for path in folder.glob("*.mplstyle")} == {"journal", "talk"}
