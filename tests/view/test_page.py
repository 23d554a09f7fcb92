"""The page of `trajet view` in Chromium, where that, Playwright and the viewer are installed.

`make test-browser` installs them.
"""

import io
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import trajet as tj
from helpers.browser import chromium, missing
from helpers.viewed import write_gro
from matplotlib.image import imread
from MDAnalysisTests import datafiles
from trajet import viewer
from trajet.viewer.layers import make_layer
from trajet.viewer.series import of_result

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from playwright.sync_api import Browser, Page, Route

# Timeout, s: loading the viewer takes half a minute on a busy machine without a GPU.
PATIENCE = 100

pytestmark = pytest.mark.skipif(
    bool(missing()), reason=f"{missing()} is missing: make test-browser installs it"
)


@dataclass
class Shown:
    """A page in the browser, and the frames that it has requested."""

    page: "Page"
    requested: list[int] = field(default_factory=list)

    def label(self) -> str:
        """Return the text that names the frame."""
        return self.page.inner_text(".label")

    def wait_for(self, number: int) -> None:
        """Wait until a frame is shown."""
        self.page.wait_for_function(
            f"document.querySelector('.label').textContent.startsWith('frame {number} ')"
        )

    def seek(self, number: int) -> None:
        """Choose a frame by its number."""
        self.page.fill(".number", str(number))
        self.page.press(".number", "Enter")
        self.wait_for(number)

    def pixels(self) -> "NDArray[np.float32]":
        """Return the picture of the molecules, once two in a row are the same."""
        before = None
        while True:
            png = self.page.locator(".picture").screenshot()
            if png == before:
                return imread(io.BytesIO(png))
            before = png

    def wait_for_picture(self, expected: "Callable[[NDArray[np.float32]], bool]") -> None:
        """Wait until the picture is as expected."""
        deadline = time.monotonic() + PATIENCE
        while not expected(self.pixels()):
            assert time.monotonic() < deadline, "the picture is not as expected"

    def wait_for_other_picture(self, before: "NDArray[np.float32]", share: float) -> None:
        """Wait until a share of the pixels is not as before."""
        self.wait_for_picture(lambda after: difference(after, before) > share)

    def wait_for_same_picture(self, before: "NDArray[np.float32]") -> None:
        """Wait until the pixels are as before."""
        self.wait_for_picture(lambda after: difference(after, before) < 0.001)


def difference(one: "NDArray[np.float32]", other: "NDArray[np.float32]") -> float:
    """Return the share of pixels that differ."""
    return float((np.abs(one - other).max(axis=2) > 0.1).mean())


def has_violet(picture: "NDArray[np.float32]") -> bool:
    """Return whether sodium is in the picture."""
    red, green, blue = np.moveaxis(picture[:, :, :3], 2, 0)
    return bool(((blue > green + 0.2) & (red > green + 0.1)).mean() > 0.001)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Return Chromium."""
    with chromium() as made:
        yield made


def opened(browser: "Browser", address: str) -> Shown:
    """Open a page of a small size, and wait for the first picture."""
    page = browser.new_page(viewport={"width": 900, "height": 500})
    page.set_default_timeout(1000 * PATIENCE)
    made = Shown(page)
    page.on("request", lambda request: note(made, request.url))
    page.goto(address, wait_until="commit")
    page.wait_for_function(
        "document.querySelector('[data-ready]') || document.querySelector('.message:not([hidden])')"
    )
    if page.is_visible(".message"):
        raise AssertionError(page.inner_text(".message"))
    return made


@pytest.fixture(scope="module")
def shown(browser: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Return the page of a protein and ions in water, with two series."""
    folder = tmp_path_factory.mktemp("page")
    tpr, xtc = (shutil.copy(path, folder) for path in (datafiles.TPR, datafiles.XTC))
    command = [sys.executable, "-m", "trajet", "view", tpr, xtc, "--no-browser"]
    chosen = ["--select", "protein", "--layer", "resname NA+:spheres", "--series", "rmsd,gyration"]
    with subprocess.Popen([*command, *chosen], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            made = opened(browser, server.stdout.readline().split()[1])
            made.page.wait_for_function(
                "document.querySelectorAll('.plot[data-ready]').length == 2"
            )
            yield made
            made.page.close()
        finally:
            server.send_signal(signal.SIGTERM)


def note(shown: Shown, url: str) -> None:
    """Note the number of a frame that is requested."""
    if found := re.search(r"/frame/(\d+)", url):
        shown.requested.append(int(found[1]))


def test_first_picture_has_colours_and_no_message(shown: Shown) -> None:
    """Frame 0 is drawn: the chain in green, sodium in violet, nothing failed."""
    assert shown.label() == "frame 0 of 10 · 0 ps"
    assert not shown.page.is_visible(".message")
    red, green, blue = np.moveaxis(shown.pixels()[:, :, :3], 2, 0)
    assert ((green > red + 0.15) & (green > blue + 0.05)).mean() > 0.02
    assert has_violet(shown.pixels())
    assert "1 of 10 frames fetched · 3,345 of 47,681 atoms" in shown.page.inner_text(".read")


def test_ten_random_seeks_fetch_exactly_these_frames(shown: Shown) -> None:
    """Frames that were fetched before are kept; pictures of frames differ, and come again."""
    chosen = random.Random(1)
    seeks = [chosen.randrange(10) for _ in range(10)]
    shown.requested.clear()
    for number in seeks:
        shown.seek(number)
    assert shown.requested == [number for number in dict.fromkeys(seeks) if number != 0]
    shown.seek(0)
    first = shown.pixels()
    shown.seek(9)
    shown.wait_for_other_picture(first, 0.01)
    shown.seek(0)
    shown.wait_for_same_picture(first)


def test_click_in_a_plot_shows_the_frame(shown: Shown) -> None:
    """Picture, label and both plots follow."""
    shown.seek(0)
    before = shown.pixels()
    plot = shown.page.locator(".plot .u-over").first
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] * 6 / 9, "y": box["height"] / 2})
    shown.wait_for(6)
    assert "600 ps" in shown.label()
    shown.wait_for_other_picture(before, 0.01)


def test_layers_are_hidden_and_drawn_otherwise(shown: Shown) -> None:
    """Check boxes and menus change the picture; a hidden layer stays hidden in other frames."""
    page = shown.page
    before = shown.pixels()
    page.locator(".layer input").nth(1).uncheck()
    shown.wait_for_picture(lambda picture: not has_violet(picture))
    shown.seek(2)
    shown.seek(6)
    assert not has_violet(shown.pixels())
    page.locator(".layer input").nth(1).check()
    shown.wait_for_picture(has_violet)
    page.locator(".layer select").first.select_option("spheres")
    shown.wait_for_other_picture(before, 0.05)
    page.locator(".layer select").first.select_option("cartoon")
    shown.wait_for_same_picture(before)
    assert not page.is_visible(".message")


def test_playing_shows_frames_one_after_the_other(shown: Shown) -> None:
    """Frames ahead are fetched while playing, each once."""
    page = shown.page
    shown.seek(0)
    page.select_option(".speed", "5")
    page.click(".play")
    page.wait_for_function("Number(document.querySelector('.number').value) >= 3")
    page.click(".play")
    assert page.inner_text(".play") == "Play"
    assert len(set(shown.requested)) == len(shown.requested)


def test_smoothed_frames_are_averages_of_neighbours(shown: Shown) -> None:
    """The picture changes, and comes again."""
    shown.seek(5)
    before = shown.pixels()
    shown.page.select_option(".smooth", "9")
    shown.wait_for_other_picture(before, 0.005)
    shown.page.select_option(".smooth", "1")
    shown.wait_for_same_picture(before)


def test_positions_as_stored_are_requested(shown: Shown) -> None:
    """Frames are fetched again, one at a time though an average was shown; nothing fails."""
    shown.seek(4)
    shown.page.select_option(".smooth", "3")
    shown.requested.clear()
    with shown.page.expect_response(re.compile("positions=stored")):
        shown.page.check(".stored")
    shown.page.wait_for_selector(".smooth-switch", state="hidden")
    assert shown.requested == [4] and not shown.page.is_visible(".message")
    shown.page.uncheck(".stored")
    shown.page.wait_for_selector(".smooth-switch")
    shown.page.select_option(".smooth", "1")


class Held:
    """Requests of frames that are answered only when a test says so."""

    def __init__(self, shown: Shown) -> None:
        self.page = shown.page
        self.routes: dict[int, Route] = {}
        # Frames of before are forgotten.
        shown.page.check(".stored")
        shown.page.uncheck(".stored")
        shown.page.route(re.compile(r"/frame/\d+"), self.hold)

    def hold(self, route: "Route") -> None:
        """Note a request."""
        found = re.search(r"/frame/(\d+)", route.request.url)
        assert found is not None
        self.routes[int(found[1])] = route

    def wait_for(self, number: int) -> "Route":
        """Return the request of a frame."""
        deadline = time.monotonic() + PATIENCE
        while number not in self.routes:
            assert time.monotonic() < deadline, f"frame {number} is not requested"
            self.page.evaluate("1")
        return self.routes.pop(number)

    def end(self) -> None:
        """Answer all requests from now on."""
        self.page.unroute(re.compile(r"/frame/\d+"))
        self.page.unroute_all(behavior="ignoreErrors")


def choose(page: "Page", number: int) -> None:
    """Choose a frame, which is not waited for."""
    page.fill(".number", str(number))
    page.press(".number", "Enter")


def test_late_answers_change_nothing(shown: Shown) -> None:
    """Of two frames that were chosen in a row, the second is shown whichever is there first."""
    shown.seek(0)
    held = Held(shown)
    choose(shown.page, 3)
    late = held.wait_for(3)
    choose(shown.page, 8)
    held.wait_for(8).continue_()
    shown.wait_for(8)
    late.continue_()
    held.end()
    shown.page.evaluate("new Promise(requestAnimationFrame)")
    assert shown.label().startswith("frame 8 ")
    assert shown.page.input_value(".seek") == "8"


def test_steps_in_a_row_are_all_taken(shown: Shown) -> None:
    """Also those before the frame of the first is drawn."""
    shown.seek(0)
    shown.page.evaluate("for (let k = 0; k < 3; k++) document.querySelector('.forward').click()")
    shown.wait_for(3)


HOSTILE = "<img src=x onerror=alert(1)>"


def test_saved_page_needs_no_server(browser: "Browser", tmp_path: Path) -> None:
    """It shows the frames that were chosen; names of files and atoms are text."""
    path = tmp_path / f"{HOSTILE}.gro"
    write_gro(path, [("<b>&", "</x>"), ("ALA", "CA")] * 3)
    made = tj.open(path)
    series = tmp_path / f"{HOSTILE}.npz"
    tj.end_to_end(made.all_atoms()).save(series)
    scene = viewer.Scene(
        made, [make_layer(made.all_atoms())], quantise=True, series=viewer.parse_series(str(series))
    )
    viewer.save(scene, tmp_path / "hostile.html", [0])
    hostile = opened(browser, (tmp_path / "hostile.html").as_uri()).page
    hostile.wait_for_selector(".plot[data-ready]")
    assert hostile.inner_text("h1.title") == path.name
    assert hostile.locator("img, b:not(.name b)").count() == 0
    hostile.close()


def test_saved_page_shows_its_frames(browser: "Browser", tmp_path: Path) -> None:
    """Seeks go to the nearest frame of the file; pictures differ; nothing is requested."""
    wet = tj.open(datafiles.TPR, datafiles.XTC)
    layers = [make_layer(wet.select("protein"))]
    scene = viewer.Scene(wet, layers, quantise=True, series=viewer.parse_series("gyration"))
    viewer.save(scene, tmp_path / "movie.html", range(1, 10, 4))
    shown = opened(browser, (tmp_path / "movie.html").as_uri())
    requests: list[str] = []
    shown.page.on("request", lambda request: requests.append(request.url))
    assert shown.label() == "frame 1 of 10 · 100 ps"
    before = shown.pixels()
    shown.page.fill(".number", "8")
    shown.page.press(".number", "Enter")
    shown.wait_for(9)
    shown.wait_for_other_picture(before, 0.01)
    assert "3 of 10 frames are in this file" in shown.page.inner_text(".read")
    assert not shown.page.is_visible(".message")
    assert [url for url in requests if not url.startswith(("blob:", "data:"))] == []
    shown.page.close()


def test_results_choose_frames_and_residues(browser: "Browser", tmp_path: Path) -> None:
    """A click on values selects a residue, one on pairwise RMSDs a frame; bonds are blue dashes."""
    adk = tj.open(datafiles.PSF, datafiles.DCD)
    protein = adk.select("protein")
    layers = [make_layer(protein, colour="values")]
    some = np.arange(0, 98, 10)
    results = [
        tj.rmsf(protein, frames=some),
        tj.contact_map(adk.select("name CA"), cutoff=8, frames=some),
        tj.pairwise_rmsd(adk.select("name CA"), frames=some),
        tj.hbonds(protein, list_bonds=True, frames=some),
    ]
    series = [of_result(result) for result in results]
    scene = viewer.Scene(adk, layers, quantise=True, series=series)
    viewer.save(scene, tmp_path / "movie.html", some.tolist())
    shown = opened(browser, (tmp_path / "movie.html").as_uri())
    page = shown.page
    page.wait_for_function("document.querySelectorAll('.plot[data-ready]').length == 4")
    before = shown.pixels()
    red, green, blue = np.moveaxis(before[:, :, :3], 2, 0)
    assert ((blue > red + 0.5) & (blue > green + 0.25)).mean() > 0.0005
    assert page.locator(".layer .scale").count() == 1
    frames = page.locator("canvas.matrix").nth(1)
    box = frames.bounding_box()
    assert box is not None
    frames.click(position={"x": box["width"] * 0.5, "y": 4})
    shown.wait_for(50)
    assert "frames" in page.locator(".plot .notice").nth(2).inner_text()
    page.locator("canvas.matrix").first.click(position={"x": 90, "y": 60})
    shown.wait_for_other_picture(before, 0.05)
    pair = shown.pixels()
    page.locator(".plot .u-over").first.click(position={"x": 40, "y": 40})
    shown.wait_for_other_picture(pair, 0.05)
    assert not page.is_visible(".message")
    page.close()


def test_click_in_a_free_energy_shows_a_frame_of_the_bin(
    browser: "Browser", tmp_path: Path
) -> None:
    """Of a map, whose y rises, and of a profile; a click on an empty bin changes nothing."""
    traj = tj.samples.peptide_variants().open().where(system="wild_type", replica=1)[0].open()
    angles = tj.dihedrals(traj.select("protein"))
    phi, psi = (angles, "phi ALA5"), (angles, "psi ALA5")
    plane, profile = (
        tj.free_energy(*given, temperature=300, bins=12) for given in ((phi, psi), (psi,))
    )
    scene = viewer.Scene(
        traj, [make_layer(traj.all_atoms())], series=[of_result(plane), of_result(profile)]
    )
    viewer.save(scene, tmp_path / "map.html", range(100))
    shown = opened(browser, (tmp_path / "map.html").as_uri())
    shown.page.wait_for_function("document.querySelectorAll('.plot[data-ready]').length == 2")

    def click(name: str, x: float, y: float) -> None:
        place = shown.page.locator(name)
        box = place.bounding_box()
        assert box is not None
        place.click(position={"x": box["width"] * x, "y": box["height"] * y})

    frames = plane.also["frame"]
    for i, j in np.argwhere(frames > 0)[::5].tolist():
        click(".matrix", (i + 0.5) / 12, 1 - (j + 0.5) / 12)
        shown.wait_for(int(frames[i, j]))
    i, j = np.argwhere(frames < 0)[0].tolist()
    before = shown.label()
    click(".matrix", (i + 0.5) / 12, 1 - (j + 0.5) / 12)
    assert shown.label() == before
    k = int(np.flatnonzero(profile.also["frame"] >= 0)[-1])
    click(".plot:nth-of-type(2) .u-over", k / 11 if k < 11 else 0.999, 0.5)
    shown.wait_for(int(profile.also["frame"][k]))
    assert not shown.page.is_visible(".message")
    shown.page.close()
