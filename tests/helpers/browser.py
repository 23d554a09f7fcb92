"""Chromium for tests of the viewer, where it is installed."""

import contextlib
import importlib.util
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trajet import viewer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_CHROMIUM = shutil.which("chromium")
# Drawing in software, as no test has a GPU.
_OPTIONS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--mute-audio"]


def missing() -> str:
    """Return the name of what is missing for tests in the browser; empty if nothing is."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright"
    if _CHROMIUM is None:
        return "Chromium"
    return "the viewer" if viewer.missing_files() else ""


@contextlib.contextmanager
def chromium() -> Iterator["Browser"]:
    """Yield Chromium, which is closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=_CHROMIUM, args=_OPTIONS)
        try:
            yield made
        finally:
            made.close()
