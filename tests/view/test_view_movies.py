"""Pictures and movies: what the page sends, the files that are made of it, and real ones."""

import io
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import trajet as tj
from helpers import commands
from helpers.asgi_requests import Answer, request
from helpers.browser import chromium, missing
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.viewed import write_gro
from matplotlib.image import imread
from trajet import server, viewer
from trajet._trajet import OutputError
from trajet.cli import view_movies
from trajet.server.app import LARGEST_BODY
from trajet.viewer.layers import make_layer
from trajet.viewer.mp4 import Movie

# Boxes that contain boxes, with the bytes before these.
CONTAINERS = {
    "moov": 0,
    "trak": 0,
    "mdia": 0,
    "minf": 0,
    "stbl": 0,
    "dinf": 0,
    "stsd": 8,
    "avc1": 78,
}


def boxes(data: bytes, offset: int = 0) -> Iterator[tuple[str, int, bytes]]:
    """Yield name, offset and content of each box of a file, those within others after them."""
    at = 0
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        header = 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, at + 8)
            header = 16
        assert size >= header and at + size <= len(data)
        content = data[at + header : at + size]
        yield name.decode(), offset + at + header, content
        if name.decode() in CONTAINERS:
            skipped = CONTAINERS[name.decode()]
            yield from boxes(content[skipped:], offset + at + header + skipped)
        at += size


def test_movie_has_the_pictures_in_their_order() -> None:
    """The tables of the index lead to the bytes of each picture."""
    file = io.BytesIO()
    movie = Movie(file, 640, 480, 25)
    pictures = [bytes([k]) * (100 + k) for k in range(7)]
    for k, picture in enumerate(pictures):
        movie.add(picture, is_key=k % 3 == 0)
    movie.finish(b"configuration")
    data = file.getvalue()
    found = {name: content for name, _, content in boxes(data)}
    sizes = struct.unpack(">7I", found["stsz"][12:])
    (start,) = struct.unpack(">Q", found["co64"][8:])
    places = itertools.accumulate(sizes, initial=start)
    assert [
        data[place : place + size] for place, size in zip(places, sizes, strict=False)
    ] == pictures
    assert struct.unpack(">IIII", found["stss"][4:]) == (3, 1, 4, 7)
    assert struct.unpack(">III", found["stts"][4:]) == (1, 7, 1)
    assert found["avcC"] == b"configuration"
    assert struct.unpack(">II", found["tkhd"][-8:]) == (640 << 16, 480 << 16)
    (mdat,) = [content for name, _, content in boxes(data) if name == "mdat"]
    assert mdat == b"".join(pictures)


def test_pictures_are_taken_in_order_and_complete(adk: Adk) -> None:
    """Others are refused, as are all of them where nothing is recorded."""
    opened = tj.open(adk.psf, adk.xtc)
    scene = viewer.Scene(opened, [make_layer(opened.select("name CA"))])
    file = io.BytesIO()
    recording = server.Recording([5, 7], 64, 64, file, 10)
    app = server.ViewApp(scene, lambda _: None, recording)

    def post(name: str, body: bytes = b"", query: str = "") -> Answer:
        return request(app, f"/{name}", query, method="POST", body=body)

    assert request(app, "/recording.json").body == (
        b'{"frames":[5,7],"rate":10,"width":64,"height":64}'
    )
    for name in ("chunk/1", "picture/0", "chunk/-1", f"chunk/{10**30}", "done"):
        assert post(name).status in (404, 409)
    assert post("chunk/0", b"x" * (LARGEST_BODY + 1)).status == 413
    assert post("chunk/0", b"first", "key=1").status == 200
    assert post("chunk/0", b"again").status == 409
    assert post("chunk/1", b"second").status == 200
    assert post("chunk/2", b"third").status == post("done").status == 409
    assert post("configuration", b"x" * (LARGEST_BODY + 1)).status == 413
    assert post("configuration", b"c").status == post("done").status == 200
    assert recording.is_done and b"firstsecond" in file.getvalue()
    assert post("chunk/2", b"late").status == 409
    plain = server.ViewApp(scene, lambda _: None)
    for name in ("recording.json", "record", "record.js"):
        assert request(plain, f"/{name}").status == 404
    for name in ("chunk/0", "picture/0", "done", "configuration"):
        assert request(plain, f"/{name}", method="POST").status == 405


def test_options_of_pictures_are_checked(adk: Adk, tmp_path: Path) -> None:
    """Before anything is read."""
    line = ("view", adk.psf, adk.xtc, "--png", tmp_path / "one.png")
    commands.misuse(*line, "--size", "101", "100")
    commands.misuse("view", adk.psf, adk.xtc, "--movie", tmp_path / "one.avi")


def program(path: Path, lines: str) -> Path:
    """Write a script that stands for a browser."""
    path.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_silent_browser_is_an_error(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser that asks for nothing and ignores SIGTERM is killed, and no file is left."""
    program(tmp_path / "chromium", "trap '' TERM; exec /bin/sleep 100")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(view_movies, "_QUIET", 0.3)
    monkeypatch.setattr(view_movies, "_END", 0.3)
    opened = tj.open(adk.psf, adk.xtc)
    scene = viewer.Scene(opened, [make_layer(opened.select("name CA"))])
    with raises(OutputError):
        view_movies.record(scene, tmp_path / "one.png", [0], (64, 64), None)
    assert [path.name for path in tmp_path.iterdir()] == ["chromium"]


def test_snaps_are_known(tmp_path: Path) -> None:
    """Links to the program snap, and scripts that start one of its programs."""
    snap = program(tmp_path / "snap", "")
    (tmp_path / "chromium").symlink_to(snap)
    script = program(tmp_path / "chromium-browser", 'exec /snap/bin/chromium "$@"')
    other = program(tmp_path / "google-chrome", "")
    found = [view_movies._is_snap(str(path)) for path in (tmp_path / "chromium", script, other)]
    assert found == [True, True, False]


@pytest.mark.skipif(
    bool(missing()), reason=f"{missing()} is missing: make test-browser installs it"
)
def test_command_writes_a_picture_and_a_movie(tmp_path: Path) -> None:
    """Of the size that was asked for; a browser plays the movie to its end."""
    names = [("ALA", "N"), ("ALA", "CA"), ("ALA", "C"), ("ALA", "O")] * 2
    gro = write_gro(tmp_path / "small.gro", names)
    text = gro.read_text(encoding="utf-8")
    gro.write_text(text + text.replace("0.200", "0.900"), encoding="utf-8")
    png, movie = tmp_path / "one.png", tmp_path / "all.mp4"
    size = ("--size", "320", "240", "--rate", "2")
    done = commands.run("view", gro, "--select", "all", "--png", png, "--movie", movie, *size)
    assert (done.returncode, done.stderr.count("trajet:")) == (0, 0), done
    picture = imread(png)[:, :, :3]
    assert picture.shape[:2] == (240, 320) and (picture.min(axis=2) < 0.7).mean() > 0.001
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".gro"} >= {png.name}
    (tmp_path / "play.html").write_text('<video src="all.mp4" muted></video>', encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "play.html").as_uri())
        page.wait_for_function("document.querySelector('video').readyState >= 2")
        found = page.evaluate(
            "(({duration, videoWidth, videoHeight}) => [duration, videoWidth, videoHeight])"
            "(document.querySelector('video'))"
        )
        assert found == [1, 320, 240]
        page.evaluate("document.querySelector('video').play()")
        page.wait_for_function("document.querySelector('video').ended")
