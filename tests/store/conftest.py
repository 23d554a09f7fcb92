"""Stores of a solvated protein."""

from pathlib import Path

import pytest
from helpers.made_stores import STORES, Solvated, make_store


@pytest.fixture(scope="module")
def wet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Solvated:
    """Return a store for reading only, with exact tags or those of a parameter."""
    formats = STORES[getattr(request, "param", "exact")]
    return make_store(tmp_path_factory.mktemp("wet"), formats=formats)


@pytest.fixture
def own_wet(request: pytest.FixtureRequest, tmp_path: Path) -> Solvated:
    """Return a store for a test that changes it, with exact tags or those of a parameter."""
    return make_store(tmp_path, formats=STORES[getattr(request, "param", "exact")])
