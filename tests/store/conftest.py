"""Stores of a solvated protein."""

from pathlib import Path

import pytest
from helpers.made_stores import Solvated, make_store


@pytest.fixture(scope="module")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Solvated:
    """Return a store for reading only."""
    return make_store(tmp_path_factory.mktemp("wet"))


@pytest.fixture
def own_wet(tmp_path: Path) -> Solvated:
    """Return a store for a test that changes it."""
    return make_store(tmp_path)
