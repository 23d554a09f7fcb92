"""`trajet view` while a trajectory is opened: the page waits; errors reach page and command."""

import os
import re
import shutil
import signal
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import Future
from pathlib import Path

import pytest
import trajet as tj
from helpers import commands
from helpers.asgi_requests import request
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.viewed import write_gro
from trajet import viewer
from trajet.cli import view_serving
from trajet.server import ViewApp
from trajet.viewer.layers import make_layer


def scene_of(folder: Path) -> viewer.Scene:
    """Return a scene of two atoms."""
    opened = tj.open(write_gro(folder / "two.gro", [("A", "X"), ("A", "Y")]))
    return viewer.Scene(opened, [make_layer(opened.all_atoms())])


def test_requests_wait_until_the_scene_is_loaded(tmp_path: Path) -> None:
    """They are answered then; files of the page are sent at once."""
    loading: Future[viewer.Scene] = Future()
    app = ViewApp(loading, lambda _: None)
    assert request(app, "/view.css").status == 200
    timer = threading.Timer(0.1, lambda: loading.set_result(scene_of(tmp_path)))
    timer.start()
    assert request(app, "/scene.json").status == request(app, "/frame/0").status == 200
    app.close()


def test_requests_get_the_error_of_loading() -> None:
    """As text, with a status of its own; closing needs no scene."""
    loading: Future[viewer.Scene] = Future()
    app = ViewApp(loading, lambda _: None)
    loading.set_exception(Exception("no atom matches"))
    assert not app.is_told
    for name in ("scene.json", "structure/0", "frame/0", "series/0"):
        answer = request(app, f"/{name}")
        assert answer.status == 409
        assert answer.body == b"the trajectory cannot be shown: no atom matches\n"
    assert app.is_told
    app.close()


def test_page_and_command_get_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server runs until the page, which is on its way, has the error; no folder is named."""
    path = tmp_path / "run.gro"
    is_asked = threading.Event()
    answers = []

    def open_page(url: str) -> bool:
        text = Path(url.removeprefix("file://")).read_text(encoding="utf-8")
        address = re.search('url=(http[^"]*)', text)
        assert address is not None
        is_asked.set()
        time.sleep(0.3)
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(f"{address[1]}scene.json")
        answers.append(raised.value.read().decode())
        return True

    def load() -> viewer.Scene:
        assert is_asked.wait(commands.PATIENCE)
        raise FileNotFoundError(2, "No such file", str(path))

    monkeypatch.setattr("webbrowser.open", open_page)
    with raises(FileNotFoundError):
        view_serving.serve(load, [str(path)], 0, no_browser=False, quiet=True)
    assert answers == ["the trajectory cannot be shown: run.gro: No such file\n"]


def test_command_ends_with_panics_too() -> None:
    """They are exceptions of the native module that are no `Exception`."""

    def load() -> viewer.Scene:
        raise BaseException("a panic")

    with raises(BaseException):
        view_serving.serve(load, [], 0, no_browser=True, quiet=True)


def test_small_systems_fail_before_a_page_is_opened(
    adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake in a selection is an error of the command alone."""
    asked: list[str] = []
    monkeypatch.setattr("webbrowser.open", asked.append)
    # Other tests may use all cores.
    monkeypatch.setattr(view_serving, "_GRACE", commands.PATIENCE)
    opened = tj.open(adk.psf, adk.xtc)

    def load() -> viewer.Scene:
        return viewer.Scene(opened, [make_layer(opened.select("resname NOSUCH"))])

    with raises(tj.SelectionError):
        view_serving.serve(load, [], 0, no_browser=False, quiet=True)
    assert asked == []


def test_signal_ends_loading_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that loads is left behind."""
    has_ended = threading.Event()

    def interrupt(_: str) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return True

    def load() -> viewer.Scene:
        has_ended.wait(commands.PATIENCE)
        raise OSError("nobody waits for it")

    monkeypatch.setattr("webbrowser.open", interrupt)
    view_serving.serve(load, [], 0, no_browser=False, quiet=True)
    has_ended.set()


def test_address_is_printed_if_no_browser_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A browser that cannot read the temporary file says nothing to the command."""

    def open_nothing(_: str) -> bool:
        time.sleep(0.8)
        os.kill(os.getpid(), signal.SIGINT)
        return True

    monkeypatch.setattr(view_serving, "_UNSEEN", 0.1)
    monkeypatch.setattr("webbrowser.open", open_nothing)
    view_serving.serve(lambda: scene_of(tmp_path), [], 0, no_browser=False, quiet=True)
    assert "so far: open http://127.0.0.1:" in capsys.readouterr().err


def test_a_scene_that_cannot_be_prepared_ends_the_command(adk: Adk, tmp_path: Path) -> None:
    """The page is served while the scene is prepared; its errors are those of the command."""
    path = tmp_path / "cut.xtc"
    shutil.copy(adk.xtc, path)
    opened = tj.open(adk.psf, path)
    scene = viewer.Scene(opened, [make_layer(opened.select("name CA"))])
    os.truncate(path, 40)
    with raises(OSError):
        view_serving.serve(lambda: scene, [], 0, no_browser=True, quiet=True)


@pytest.mark.skipif(bool(viewer.missing_files()), reason="the viewer is missing: make viewer")
def test_missing_files_are_errors_of_the_command(tmp_path: Path, adk: Adk) -> None:
    """The last line is the error, and no address is printed after it."""
    done = commands.run("view", adk.psf, tmp_path / "none.xtc", "--no-browser")
    assert done.returncode == 1
    assert str(tmp_path / "none.xtc") in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data/me/run.xtc: truncated", "run.xtc: truncated"),
        ("me/run.xtc: truncated", "run.xtc: truncated"),
        ("cannot write '/home/x y/.cache/a.index'", "cannot write 'a.index'"),
        ("https://host/a/run.xtc: 404", "https://host/a/run.xtc: 404"),
        ("md/run has no tag and 1/2 frames", "run has no tag and 1/2 frames"),
    ],
)
def test_texts_for_the_page_name_no_folder(text: str, expected: str) -> None:
    """Files that were given have their names, and absolute paths no folders."""
    assert viewer.without_paths(text, ["me/run.xtc", "md/run"]) == expected
