"""The page of `trajet view` in Chromium, which `make test-browser` installs for these tests.

Drawing without a GPU takes minutes on two busy cores, which the gate does not have.
"""

import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.image import imread
from MDAnalysisTests import datafiles

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from playwright.sync_api import Page

_CHROMIUM = shutil.which("chromium")
# Timeout, s: loading the viewer takes a minute on a busy machine without a GPU.
PATIENCE = 300
# Drawing in software, as no test has a GPU.
_OPTIONS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--mute-audio"]

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

pytestmark = pytest.mark.skipif(
    "TRAJET_TEST_BROWSER" not in os.environ, reason="needs a browser: make test-browser"
)


@dataclass
class Shown:
    """A page in the browser, and the frames that it has requested."""

    page: "Page"
    requested: list[int] = field(default_factory=list)

    def label(self) -> str:
        """Return the text that names the frame."""
        return self.page.inner_text("#label")

    def wait_for(self, number: int) -> None:
        """Wait until a frame is shown."""
        self.page.wait_for_function(
            f"document.getElementById('label').textContent.startsWith('frame {number} ')"
        )

    def seek(self, number: int) -> None:
        """Choose a frame by its number."""
        self.page.fill("#number", str(number))
        self.page.press("#number", "Enter")
        self.wait_for(number)

    def pixels(self) -> "NDArray[np.float32]":
        """Return the picture of the molecules, once two in a row are the same."""
        before = None
        while True:
            png = self.page.locator("#picture").screenshot()
            if png == before:
                return imread(io.BytesIO(png))
            before = png


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Return the page of a protein and ions in water, with two series."""
    folder = tmp_path_factory.mktemp("page")
    tpr, xtc = (shutil.copy(path, folder) for path in (datafiles.TPR, datafiles.XTC))
    command = [sys.executable, "-m", "trajet", "view", tpr, xtc, "--no-browser"]
    chosen = ["--select", "protein", "--layer", "resname NA+:spheres", "--series", "rmsd,gyration"]
    with subprocess.Popen([*command, *chosen], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[1]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_OPTIONS)
                page = browser.new_page(viewport={"width": 1200, "height": 800})
                page.set_default_timeout(1000 * PATIENCE)
                made = Shown(page)
                page.on("request", lambda request: note(made, request.url))
                page.goto(address, wait_until="commit")
                page.wait_for_function("document.body?.dataset.ready === 'yes'")
                page.wait_for_function("document.querySelectorAll('.plot[data-ready]').length == 2")
                yield made
                browser.close()
        finally:
            server.send_signal(signal.SIGTERM)


def note(shown: Shown, url: str) -> None:
    """Note the number of a frame that is requested."""
    if found := re.search(r"/frame/(\d+)", url):
        shown.requested.append(int(found[1]))


def test_first_picture_has_colours_and_no_message(shown: Shown) -> None:
    """Frame 0 is drawn: the chain in green, sodium in violet, nothing failed."""
    assert shown.label() == "frame 0 of 10 · 0 ps"
    assert not shown.page.is_visible("#message")
    red, green, blue = np.moveaxis(shown.pixels()[:, :, :3], 2, 0)
    assert ((green > red + 0.15) & (green > blue + 0.05)).mean() > 0.02
    assert ((blue > green + 0.2) & (red > green + 0.1)).mean() > 0.001
    assert "1 of 10 frames fetched · 3,345 of 47,681 atoms" in shown.page.inner_text("#read")


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
    assert (np.abs(shown.pixels() - first).max(axis=2) > 0.1).mean() > 0.01
    shown.seek(0)
    assert (np.abs(shown.pixels() - first).max(axis=2) > 0.1).mean() < 0.001


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
    assert (np.abs(shown.pixels() - before).max(axis=2) > 0.1).mean() > 0.01


def test_layers_are_hidden_and_drawn_otherwise(shown: Shown) -> None:
    """Check boxes and menus change the picture."""
    page = shown.page
    before = shown.pixels()
    page.locator(".layer input").nth(1).uncheck()
    red, green, blue = np.moveaxis(shown.pixels()[:, :, :3], 2, 0)
    assert not ((blue > green + 0.2) & (red > green + 0.1)).mean() > 0.001
    page.locator(".layer input").nth(1).check()
    page.locator(".layer select").first.select_option("spheres")
    page.wait_for_timeout(500)
    assert (np.abs(shown.pixels() - before).max(axis=2) > 0.1).mean() > 0.05
    page.locator(".layer select").first.select_option("cartoon")
    assert not page.is_visible("#message")


def test_playing_shows_frames_one_after_the_other(shown: Shown) -> None:
    """Frames ahead are fetched while playing, each once."""
    shown.seek(0)
    shown.page.click("#play")
    shown.page.wait_for_function("Number(document.getElementById('number').value) >= 3")
    shown.page.click("#play")
    assert len(set(shown.requested)) == len(shown.requested)
    shown.page.check("#stored")
    shown.page.wait_for_timeout(500)
    assert not shown.page.is_visible("#message")
