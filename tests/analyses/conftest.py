"""Fixtures of the tests of analyses."""

import shutil
from pathlib import Path

import MDAnalysis as mda
import pytest
from helpers.golden_files import Adk


@pytest.fixture(scope="module")
def adk_universe(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> mda.Universe:
    """Return ADK in MDAnalysis, from a copy of its own (MDAnalysis writes beside the file)."""
    folder = tmp_path_factory.mktemp("universe")
    xtc = Path(shutil.copy(adk.xtc, folder / "adk.xtc"))
    return mda.Universe(str(adk.psf), str(xtc), refresh_offsets=True)
