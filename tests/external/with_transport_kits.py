"""Velocities correlate as transport-analysis and tidynamics have it: `make test-peers`."""

import MDAnalysis as mda
import numpy as np
import pytest
import tidynamics
import trajet as tj
from MDAnalysisTests import datafiles
from transport_analysis.velocityautocorr import VelocityAutocorr

FILES = datafiles.PRM_NCBOX, datafiles.TRJ_NCBOX
WATER = "resname WAT and resid 1-50"


@pytest.mark.parametrize("fft", [True, False])
def test_correlation_and_its_integral(fft: bool) -> None:
    """Over all pairs of frames, and all atoms."""
    there = VelocityAutocorr(mda.Universe(*FILES).select_atoms(WATER), fft=fft).run()
    found = tj.velocity_autocorrelation(tj.open(*FILES).select(WATER), max_lag=9.0)
    assert np.allclose(found.values, there.results.timeseries, rtol=1e-6, atol=1e-4)
    integral = found.scalars()["diffusion_A2_per_ps"]
    assert integral == pytest.approx(there.self_diffusivity_gk(), rel=1e-5)


def test_correlation_of_an_atom() -> None:
    """In double precision."""
    atom = tj.open(*FILES).select([7])
    velocities = atom.read(velocities=True).velocities
    expected = tidynamics.acf(velocities[:, 0].astype(np.float64))
    found = tj.velocity_autocorrelation(atom, max_lag=9.0)
    assert np.allclose(found.values, expected, rtol=1e-10, atol=1e-10)
