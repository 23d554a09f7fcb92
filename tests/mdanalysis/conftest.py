"""Small files of each format, and the readers of MDAnalysis as they were after each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trajet.mdanalysis as guest
from helpers.universe_pairs import FORMATS, write_files


@pytest.fixture(scope="session")
def small_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return files of 12 frames of 60 atoms, by their suffixes."""
    return write_files(tmp_path_factory.mktemp("small"))


@pytest.fixture(params=FORMATS)
def small(request: pytest.FixtureRequest, small_files: dict[str, Path]) -> Path:
    """Return the small file of each format in turn."""
    return small_files[request.param]


@pytest.fixture(autouse=True)
def _nothing_installed() -> Iterator[None]:
    yield
    guest.uninstall()
