"""A server of the files that most of these tests read."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.golden_files import Adk
from helpers.range_server import RangeServer


@pytest.fixture
def server(tmp_path: Path, adk: Adk) -> Iterator[RangeServer]:
    """Return a server of adk.xtc and adk.psf, to whose folder a test may add files."""
    folder = tmp_path / "served"
    folder.mkdir()
    shutil.copyfile(adk.xtc, folder / "adk.xtc")
    shutil.copyfile(adk.psf, folder / "adk.psf")
    with RangeServer(folder) as running:
        yield running
