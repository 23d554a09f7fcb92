"""The widget of notebooks without a notebook: requests, answers and the frame that is shown."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.viewed import write_gro
from trajet import viewer
from trajet.viewer import files, notebook
from trajet.viewer.layers import make_layer
from trajet.viewer.scene import HEADER_SIZE


@pytest.fixture(autouse=True)
def with_viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do without the programs that only `make viewer` fetches."""
    monkeypatch.setattr(files, "missing_files", list)
    monkeypatch.setattr(notebook, "program", str.encode)


@dataclass
class Cell:
    """A widget, and the messages that it sends."""

    view: notebook.View
    sent: list[tuple[dict[str, object], list[bytes]]] = field(default_factory=list)

    def ask(self, **request: object) -> tuple[dict[str, object], list[bytes]]:
        """Send a request as a notebook does, and return the answer."""
        self.view._handle_custom_msg({"id": "7", **request}, [])
        return self.sent.pop()


@pytest.fixture
def trajectory(adk: Adk) -> tj.Trajectory:
    """Return the trajectory."""
    return tj.open(adk.psf, adk.xtc)


@pytest.fixture
def cell(trajectory: tj.Trajectory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    """Return a widget of a selection, with a result."""
    ca = trajectory.select("name CA")
    made = Cell(tj.view(ca, style="ball", layers=["resid 1:10:spheres"], series=tj.end_to_end(ca)))
    monkeypatch.setattr(
        type(made.view), "send", lambda _, content, buffers: made.sent.append((content, buffers))
    )
    yield made
    made.view.close()


def test_answers_are_those_of_the_page(cell: Cell, trajectory: tj.Trajectory) -> None:
    """Scene, structures, quantised frames and series, with the id of the request."""
    ca = trajectory.select("name CA")
    layers = [make_layer(ca, "ball"), viewer.parse_layer(trajectory, "resid 1:10:spheres")]
    expected = viewer.Scene(trajectory, layers, quantise=True)
    answer, _ = cell.ask(ask="scene")
    assert answer["id"] == "7"
    described = {**expected.describe(), "series": ["end-to-end distance"]}
    assert answer["value"] == described
    _, (structure,) = cell.ask(ask="structure", number=1)
    assert structure == expected.structure(1)
    _, (frame,) = cell.ask(ask="frame", number=42, stored=True)
    other = expected.frame(42, stored=True)
    assert frame[24:] == other[24:] and len(frame) == HEADER_SIZE + 6 * expected.n_atoms
    answer, _ = cell.ask(ask="series", number=0)
    values = answer["value"]["values"][0]
    assert np.allclose(values, tj.end_to_end(ca).values, rtol=1e-5)
    _, (program,) = cell.ask(ask="program", name="uPlot.js")
    assert program == b"uPlot.js"


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"ask": "frame", "number": 98},
        {"ask": "frame", "number": -1},
        {"ask": "structure", "number": 2},
        {"ask": "series", "number": 1},
        {"ask": "program", "name": "../notebook.py"},
    ],
)
def test_requests_for_nothing_are_errors(cell: Cell, request_: dict[str, object]) -> None:
    """They are answered, so that the widget does not wait."""
    answer, buffers = cell.ask(**request_)
    assert answer["id"] == "7" and "what there is not" in str(answer["error"]) and not buffers


def test_frame_is_shared(cell: Cell) -> None:
    """Python sets it and hears of changes; a frame that does not exist is refused."""
    heard: list[int] = []
    cell.view.observe(lambda change: heard.append(change["new"]), "frame")
    cell.view.frame = 5
    cell.view.set_state({"frame": 9})
    cell.view.frame = -1
    assert heard == [5, 9, 97]
    with raises(tj.FrameError):
        cell.view.frame = 98
    assert cell.view.frame == 97


def test_errors_name_no_paths(
    cell: Cell, trajectory: tj.Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared notebook shows names of files only."""
    path = trajectory.path

    def fail(*_: object, **__: object) -> bytes:
        raise tj.FormatError(f"{path}: is damaged")

    monkeypatch.setattr(viewer.Scene, "frame", fail)
    answer, _ = cell.ask(ask="frame", number=0)
    assert answer["error"] == f"{path.name}: is damaged"


def test_trajectory_stays_open(trajectory: tj.Trajectory) -> None:
    """Closing a view closes its own files."""
    made = tj.view(trajectory, layers="name CA:lines")
    made.close()
    assert np.isfinite(trajectory[3].positions).all()


def test_transforms_are_kept(trajectory: tj.Trajectory) -> None:
    """A trajectory with transforms is shown as they make it."""
    ca = trajectory.select("name CA")
    fitted = ca.fit(ca)
    scene = viewer.Scene(fitted.trajectory, [make_layer(fitted)])
    assert not scene.has_repaired and scene.shows_stored
    shown = np.frombuffer(scene.frame(50, stored=True)[HEADER_SIZE:], "<f4").reshape(-1, 3)
    assert np.array_equal(shown, fitted[50].positions)


def test_choices_are_checked(trajectory: tj.Trajectory) -> None:
    """Styles, colours and series that do not exist are errors before anything is shown."""
    with raises(ValueError):
        tj.view(trajectory.select("name CA"), style="ribbon")
    with raises(ValueError):
        tj.view(trajectory, style="cartoon")
    with raises(ValueError):
        tj.view(trajectory, series="nothing")


def test_only_trajectories_and_selections_are_shown(adk: Adk, trajectory: tj.Trajectory) -> None:
    """The error says what to take of ensembles and of updating selections."""
    updating = trajectory.select("around 5 resid 1", updating=True)
    members = tj.ensemble([{"topology": adk.psf, "trajectory": adk.xtc}])
    for source in (updating, members, trajectory.path):
        with raises(TypeError):
            tj.view(source)
    made = tj.view(updating.at(0))
    made.close()


def test_missing_package_is_named(
    trajectory: tj.Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tj.view` exists without anywidget, and calling it says what to install."""
    for name in ("in_notebooks", "notebook"):
        monkeypatch.delitem(sys.modules, f"trajet.viewer.{name}", raising=False)
    monkeypatch.delitem(vars(tj), "view", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with raises(tj.MissingPackageError):
        tj.view(trajectory)


def test_names_are_data(tmp_path: Path) -> None:
    """Names of files and atoms are values of messages, never part of the script."""
    gro = write_gro(tmp_path / "<img src=x>.gro", [("<b>", "</x>")] * 2)
    made = tj.view(tj.open(gro))
    assert made._esm == files.script("widget") and "<img" not in made._esm
