"""Saved pages: their pieces, their size, and what is refused."""

import base64
import gzip
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.viewed import write_gro
from MDAnalysisTests import datafiles
from trajet import viewer
from trajet.cli.view import _layers
from trajet.viewer import files, saved
from trajet.viewer.layers import make_layer
from trajet.viewer.scene import HEADER_SIZE

HOSTILE = "<img src=x onerror=alert(1)>"
STYLE = "/* of uPlot */"
PROGRAM = b"// draws"


@pytest.fixture(autouse=True)
def with_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put texts in the place of programs, which only `make viewer` fetches."""
    folder = tmp_path / "of-viewer"
    shutil.copytree(Path(files.__file__).parent / "page", folder / "page")
    (folder / "vendor").mkdir()
    for name in ("molstar.js.gz", "uPlot.js.gz"):
        (folder / "vendor" / name).write_bytes(gzip.compress(PROGRAM))
    (folder / "vendor" / "uPlot.min.css").write_text(STYLE, encoding="utf-8")
    monkeypatch.setattr(files, "_HERE", folder)


def element(page: str, name: str) -> str:
    """Return the text of the element with an id."""
    (found,) = re.findall(rf'id="{name}">([^<]*)</script>', page)
    return str(found)


def pieces_of(path: Path) -> tuple[dict[str, bytes], dict[str, object]]:
    """Return the pieces of a saved page and its index."""
    page = path.read_text(encoding="utf-8")
    index = json.loads(element(page, "index"))
    content = base64.b64decode(element(page, "pieces"), validate=True)
    found = {
        name: gzip.decompress(content[offset : offset + length])
        for name, (offset, length) in index["pieces"].items()
    }
    return found, index


def frame_of(pieces: dict[str, bytes], number: int, base: object) -> bytes:
    """Return a frame as the page restores it."""
    stored = pieces[f"frame/{number}"]
    low, high = np.frombuffer(stored, np.uint8, offset=HEADER_SIZE).reshape(2, -1).astype(int)
    steps = low + 256 * high
    if base not in (None, number):
        first = frame_of(pieces, int(str(base)), base)
        steps = steps + np.frombuffer(first, "<i2", offset=HEADER_SIZE)
    return stored[:HEADER_SIZE] + (steps % 2**16).astype("<u2").tobytes()


def save(trajectory: tj.Trajectory, select: str, path: Path, frames: Sequence[int]) -> viewer.Scene:
    """Save some frames of a selection, and return the scene."""
    layers = [make_layer(trajectory.select(select))]
    scene = viewer.Scene(trajectory, layers, quantise=True)
    size = viewer.save(scene, path, frames)
    assert size == path.stat().st_size
    return scene


def test_frames_are_restored_exactly(adk: Adk, tmp_path: Path) -> None:
    """The frames of the scene, in fewer bytes than positions of 16 bits have."""
    path, numbers = tmp_path / "movie.html", [9, 3, 97, 0]
    scene = save(tj.open(adk.psf, adk.xtc), "protein", path, numbers)
    pieces, index = pieces_of(path)
    assert (json.loads(pieces["scene.json"])["first"], index["base"]) == (9, 9)
    described = json.loads(pieces["scene.json"])
    assert described["frames"] == numbers and not described["has_repaired"]
    assert pieces["molstar.js"] == pieces["uPlot.js"] == PROGRAM
    assert pieces["structure/0"] == scene.structure(0)
    for number in numbers:
        restored = frame_of(pieces, number, 9)
        expected = scene.frame(number, stored=scene.shows_stored)
        # Bytes that were read so far differ.
        assert restored[:16] + restored[24:] == expected[:16] + expected[24:]
    sizes = index["pieces"]
    assert sizes["frame/3"][1] < 0.8 * 6 * scene.n_atoms


def test_frames_that_16_bits_cannot_hold_are_stored_as_they_are(tmp_path: Path) -> None:
    """They have no base."""
    gro = write_gro(tmp_path / "large.gro", [("A", "X"), ("A", "Y")], 70.0)
    scene = save(tj.open(gro), "all", tmp_path / "large.html", [0])
    pieces, index = pieces_of(tmp_path / "large.html")
    assert index["base"] is None
    assert pieces["frame/0"][24:] == scene.frame(0, stored=True)[24:]


def test_page_has_no_text_of_users_as_html(tmp_path: Path) -> None:
    """Hostile names change nothing outside of the pieces and the index."""
    pages = []
    for name, atoms in (("plain", ("ALA", "CA")), (HOSTILE, ("<b>&", "</x>"))):
        gro = write_gro(tmp_path / f"{name}.gro", [atoms] * 4)
        save(tj.open(gro), "all", tmp_path / "page.html", [0])
        pieces, _ = pieces_of(tmp_path / "page.html")
        assert json.loads(pieces["scene.json"])["title"] == gro.name
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        for part in ("pieces", "index"):
            text = text.replace(element(text, part), "")
        pages.append(text)
    assert pages[0] == pages[1] and str(tmp_path) not in pages[0]


def test_page_loads_nothing(tmp_path: Path) -> None:
    """Its policy allows only what the file has; scripts end where they should."""
    gro = write_gro(tmp_path / "one.gro", [("ALA", "CA")] * 2)
    save(tj.open(gro), "all", tmp_path / "page.html", [0])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and "connect-src data: blob:;" in page
    assert page.count("</script>") == 3 and "http:" not in page and "https:" not in page


@pytest.mark.parametrize("entry", ["saved", "widget"])
def test_modules_make_one_script(entry: str) -> None:
    """No import is left, and no name is declared twice."""
    script = files.script(entry)
    assert not re.search(r"^import ", script, re.MULTILINE)
    declared = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", script, re.MULTILINE)
    assert len(declared) > 30 and len(set(declared)) == len(declared)


def test_large_files_need_force(adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size is stated, and no file is left."""
    monkeypatch.setattr(saved, "LARGEST", 100_000)
    opened = tj.open(adk.psf, adk.xtc)
    scene = viewer.Scene(opened, [make_layer(opened.select("protein"))], quantise=True)
    path = tmp_path / "movie.html"
    with raises(tj.OutputError):
        viewer.save(scene, path, range(20))
    assert not list(tmp_path.glob("*movie*"))
    viewer.save(scene, path, range(20), force=True)
    assert path.stat().st_size > 100_000


def test_saved_pages_have_no_membrane(capsys: pytest.CaptureFixture[str]) -> None:
    """Unless it is named: its atoms would be most of the file; ligands are there."""
    opened = tj.open(datafiles.GRO_MEMPROT, datafiles.XTC_MEMPROT)
    (protein,) = _layers(opened, None, (), is_saved=True)
    assert protein.label == "protein or nucleic"
    note = r"note: \d+ atoms of resname POPE POPG are left out .* --layer\n"
    assert re.fullmatch(note, capsys.readouterr().err)
    assert len(_layers(opened, None, (), is_saved=False)) == 2
    assert len(_layers(opened, "protein", ("resname POPE",), is_saved=True)) == 2
    peptide = tj.samples.peptide_in_water().open()
    assert len(_layers(peptide, None, (), is_saved=True)) == 2
    assert not capsys.readouterr().err


def test_command_saves_chosen_frames(adk: Adk, tmp_path: Path) -> None:
    """It prints frames, atoms and size; options of frames need --save."""
    commands.misuse("view", adk.psf, adk.xtc, "--step", "2")
    path = tmp_path / "movie.html"
    line = ("view", adk.psf, adk.xtc, "--select", "name CA", "--start", "90", "--save", path)
    if missing_files():
        assert commands.run(*line).returncode == 1
        return
    wrong = commands.run(*line, "--frame", "98")
    assert wrong.returncode == 1 and "98" in wrong.stderr
    assert "8 frames of 214 atoms, 2." in commands.run(*line).stdout
    pieces, _ = pieces_of(path)
    assert json.loads(pieces["scene.json"])["first"] == 90 and "frame/97" in pieces
    commands.run(*line, "--frame", "-3", "--quiet")
    assert json.loads(pieces_of(path)[0]["scene.json"])["first"] == 95


def missing_files() -> bool:
    """Return whether this installation lacks the viewer, whatever this test has in its place."""
    vendor = Path(viewer.__file__).parent / "vendor"
    return not (vendor / "molstar.js.gz").is_file() or not (vendor / "uPlot.js.gz").is_file()
