"""RMSD by MDAnalysis, for comparison.

MDAnalysis' own value of a frame against itself is not zero but up to 5e-6 Å (the root of a rounding
error), so that a frame that is its own reference must be zero instead.
"""

import MDAnalysis as mda
import numpy as np
import trajet as tj
from MDAnalysis.analysis import rms

from helpers.messages import raises

TIGHT = 1e-9
ZERO = 1e-6


def mdanalysis_rmsd(atoms: mda.AtomGroup, **options: object) -> np.ndarray:
    """Return the columns of MDAnalysis.analysis.rms.RMSD after frame and time."""
    values = rms.RMSD(atoms, **options).run().results.rmsd[:, 2:]
    return values[:, 0] if values.shape[1] == 1 else values


def assert_matches(values: np.ndarray, expected: np.ndarray, reference: int | None) -> None:
    """Assert that values equal MDAnalysis', and are zero in the reference frame."""
    assert values.dtype == np.float64
    assert values.shape == expected.shape
    others = np.arange(len(values)) != reference
    assert np.abs(values[others] - expected[others]).max() < TIGHT
    if reference is not None:
        assert np.abs(values[reference]).max() < ZERO


def refuse(*arguments: object, **options: object) -> None:
    """Expect that rmsd refuses a selection."""
    with raises(tj.SelectionError):
        tj.rmsd(*arguments, **options)
