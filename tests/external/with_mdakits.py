"""Kits of MDAnalysis have the same numbers with our readers: `make test-mdakits`.

The kits are installed into an environment of their own; pytest does not collect this file by
itself. It prints the times of each kit with MDAnalysis' readers and with ours.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet.mdanalysis
from MDAnalysisTests import datafiles
from trajet.mdanalysis import Reader

Numbers = dict[str, Any]


def universe(*paths: object) -> mda.Universe:
    """Return a Universe."""
    return mda.Universe(*map(str, paths))


def prolif() -> Numbers:
    """Return the interactions of the ligand of ProLIF's tutorial."""
    import prolif

    u = universe(prolif.datafiles.TOP, prolif.datafiles.TRAJ)
    ligand, protein = u.select_atoms("resname LIG"), u.select_atoms("protein")
    fingerprint = prolif.Fingerprint()
    fingerprint.run(u.trajectory[:10], ligand, protein, n_jobs=1, progress=False)
    table = fingerprint.to_dataframe()
    return {"columns": [str(one) for one in table.columns], "values": table.to_numpy()}


def lipyphilic() -> Numbers:
    """Return leaflets and neighbours of the lipids of a membrane."""
    from lipyphilic.analysis.neighbours import Neighbours
    from lipyphilic.leaflets.assign_leaflets import AssignCurvedLeaflets

    u = universe(datafiles.GRO_MEMPROT, datafiles.XTC_MEMPROT)
    leaflets = AssignCurvedLeaflets(universe=u, lipid_sel="name P", lf_cutoff=15)
    leaflets.run()
    neighbours = Neighbours(universe=u, lipid_sel="name P", cutoff=12.0)
    neighbours.run()
    near = np.array([one.toarray() for one in neighbours.neighbours])
    return {"leaflets": leaflets.leaflets, "neighbours": near}


def waterdynamics() -> Numbers:
    """Return the survival probability and the orientation of water."""
    from waterdynamics import SurvivalProbability, WaterOrientationalRelaxation

    u = universe(datafiles.waterPSF, datafiles.waterDCD)
    survival = SurvivalProbability(u, "byres name OH2")
    survival.run(tau_max=3)
    relaxation = WaterOrientationalRelaxation(u, "byres name OH2", 0, 10, 2)
    relaxation.run()
    return {"survival": survival.sp_timeseries, "relaxation": np.array(relaxation.timeseries)}


def mdakit_sasa() -> Numbers:
    """Return surface areas of ADK."""
    from mdakit_sasa.analysis.sasaanalysis import SASAAnalysis

    u = universe(datafiles.PSF, datafiles.DCD)
    u.add_TopologyAttr("elements", [name[0] for name in u.atoms.names])
    areas = SASAAnalysis(u, select="protein")
    areas.run(step=20)
    return {name: areas.results[name] for name in areas.results}


def membrane_curvature() -> Numbers:
    """Return heights and curvatures of a membrane."""
    from membrane_curvature.base import MembraneCurvature

    u = universe(datafiles.GRO_MEMPROT, datafiles.XTC_MEMPROT)
    curvature = MembraneCurvature(u, select="name P", n_x_bins=5, n_y_bins=5)
    curvature.run()
    return {name: curvature.results[name] for name in ("z_surface", "mean", "gaussian")}


def transport_analysis() -> Numbers:
    """Return the autocorrelation of velocities of water."""
    from transport_analysis.velocityautocorr import VelocityAutocorr

    u = universe(datafiles.GRO, datafiles.TRR)
    velocities = VelocityAutocorr(u.select_atoms("name OW")[:500], fft=False)
    velocities.run()
    return {"autocorrelation": velocities.results.timeseries}


KITS: tuple[Callable[[], Numbers], ...] = (
    prolif,
    lipyphilic,
    waterdynamics,
    mdakit_sasa,
    membrane_curvature,
    transport_analysis,
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.__name__)
def test_numbers_are_those_of_mdanalysis(kit: Callable[[], Numbers]) -> None:
    """Unmodified kits have the same numbers, and read through our readers."""
    # The first run imports the kit, and MDAnalysis writes its offsets.
    kit()
    found, seconds, opened = {}, {}, []
    plain = Reader.__init__

    def counted(self: Any, *arguments: Any, **options: Any) -> None:
        opened.append(type(self).__name__)
        plain(self, *arguments, **options)

    Reader.__init__ = counted
    try:
        for name in ("MDAnalysis", "trajet"):
            with trajet.mdanalysis.install() if name == "trajet" else nullcontext():
                begin = time.perf_counter()
                found[name] = kit()
                seconds[name] = time.perf_counter() - begin
            assert bool(opened) == (name == "trajet")
    finally:
        Reader.__init__ = plain
    print(f"{kit.__name__}: " + ", ".join(f"{name} {s:.3f} s" for name, s in seconds.items()))
    assert sorted(found["MDAnalysis"]) == sorted(found["trajet"])
    for name, numbers in found["MDAnalysis"].items():
        truth, ours = np.asarray(numbers), np.asarray(found["trajet"][name])
        if truth.dtype.kind == "f":
            # Last bits of single precision cells differ.
            np.testing.assert_allclose(ours, truth, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(ours, truth)
