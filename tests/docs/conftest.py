"""Pages are executed with short blocks, so that their loops pass several of them."""

import pytest
from trajet.trajectory import source


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_FRAMES", 10)
