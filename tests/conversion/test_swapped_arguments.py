"""Arguments of functions that write, given the other way round."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises


@pytest.mark.parametrize("kind", [str, Path])
def test_swapped_arguments_are_named(adk: Adk, tmp_path: Path, kind: type) -> None:
    """The message says which argument comes first, and no file is written."""
    traj, path = tj.open(adk.psf, adk.xtc), kind(tmp_path / "out.xtc")
    for source in (traj, traj.select("name CA")):
        with raises(TypeError):
            tj.convert(path, source)  # type: ignore[arg-type]
        with raises(TypeError):
            tj.split(kind(tmp_path), source, segments=2)  # type: ignore[arg-type]
    with raises(TypeError):
        tj.convert(kind(adk.xtc), path)  # type: ignore[arg-type]
    for positions in (np.zeros((2, 3, 3)), [np.zeros((1, 3, 3))], traj.blocks()):
        with raises(TypeError):
            tj.write(positions, path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
