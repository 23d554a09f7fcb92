"""The widget in JupyterLab and Chromium, where both, Playwright and the viewer are installed.

`make test-browser` installs them.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.browser import chromium, missing
from MDAnalysisTests import datafiles

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Timeout, s: JupyterLab starts slowly on a busy machine.
PATIENCE = 300

pytestmark = pytest.mark.skipif(
    bool(missing()) or importlib.util.find_spec("jupyterlab") is None,
    reason=f"{missing() or 'JupyterLab'} is missing: make test-browser installs it",
)

CELLS = (
    f"""
import trajet as tj
traj = tj.open({datafiles.PSF!r}, {datafiles.DCD!r})
ca = traj.select("protein")
heard = []
view = tj.view(ca, series="end-to-end", height=400)
view.observe(lambda change: heard.append(change["new"]), "frame")
view
""",
    "view.frame = 42",
    'print("heard", heard)',
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator["Page"]:
    """Return the page of a notebook in JupyterLab."""
    cells = [
        {
            "cell_type": "code",
            "id": f"c{k}",
            "metadata": {},
            "outputs": [],
            "source": source.strip(),
        }
        | {"execution_count": None}
        for k, source in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "view.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    folders = (
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
        "HOME",
    )
    environment = os.environ | {name: str(tmp_path / name.lower()) for name in folders}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    options = [f"--ServerApp.root_dir={tmp_path}", "--ServerApp.port=0", "--ip=127.0.0.1"]
    with subprocess.Popen(
        [*command, *options, "--LabApp.news_url=None"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=tmp_path,
    ) as server:
        try:
            assert server.stderr is not None
            found = None
            for line in server.stderr:
                if found := re.search(r"(http://127\.0\.0\.1:\d+)/lab\?token=(\w+)", line):
                    break
            assert found is not None
            # A full pipe would stop the server.
            threading.Thread(target=server.stderr.read, daemon=True).start()
            with chromium() as browser:
                page = browser.new_page(viewport={"width": 1200, "height": 900})
                page.set_default_timeout(1000 * PATIENCE)
                page.goto(f"{found[1]}/lab/tree/view.ipynb?token={found[2]}")
                yield page
        finally:
            server.terminate()


def run_next_cell(page: "Page") -> None:
    """Run the selected cell and select the next."""
    page.keyboard.press("Shift+Enter")


def test_widget_shows_frames_and_shares_their_number(lab: "Page") -> None:
    """The first picture; Python's frame is shown; a click in the plot is heard in Python."""
    lab.locator(".jp-Cell .cm-content").first.click()
    run_next_cell(lab)
    lab.wait_for_selector(".trajet-view[data-ready], .trajet-view .message:not([hidden])")
    assert not lab.is_visible(".trajet-view .message")
    assert lab.inner_text(".trajet-view .label").startswith("frame 0 of 98")
    lab.wait_for_selector(".trajet-view .plot[data-ready]")
    run_next_cell(lab)
    lab.wait_for_function(
        "document.querySelector('.trajet-view .label').textContent.startsWith('frame 42 ')"
    )
    plot = lab.locator(".trajet-view .plot .u-over").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] - 1, "y": box["height"] / 2})
    lab.wait_for_function(
        "document.querySelector('.trajet-view .label').textContent.startsWith('frame 97 ')"
    )
    lab.locator(".jp-Cell .cm-content").nth(2).click()
    run_next_cell(lab)
    lab.wait_for_selector("text=heard [")
    assert lab.locator("text=heard [42, 97]").count() == 1
