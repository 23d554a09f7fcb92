"""Analyses of MDAnalysis that declare that they can run in parallel, on files of MDAnalysisTests.

Ranks of MPI and benches import this module.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import MDAnalysis as mda
import numpy as np
from MDAnalysis.analysis.atomicdistances import AtomicDistances
from MDAnalysis.analysis.base import AnalysisBase, AnalysisFromFunction
from MDAnalysis.analysis.bat import BAT
from MDAnalysis.analysis.contacts import Contacts
from MDAnalysis.analysis.density import DensityAnalysis
from MDAnalysis.analysis.diffusionmap import DistanceMatrix
from MDAnalysis.analysis.dihedrals import Dihedral, Janin, Ramachandran
from MDAnalysis.analysis.dssp import DSSP
from MDAnalysis.analysis.gnm import GNMAnalysis
from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis
from MDAnalysis.analysis.lineardensity import LinearDensity
from MDAnalysis.analysis.polymer import PersistenceLength
from MDAnalysis.analysis.rdf import InterRDF, InterRDF_s
from MDAnalysis.analysis.results import ResultsGroup
from MDAnalysis.analysis.rms import RMSD
from MDAnalysisTests import datafiles

# Last bits of sums depend on the division of the frames.
TOLERANCE, SINGLE = 1e-12, 2e-5
# Those that add single precision numbers.
IN_SINGLE = {"PersistenceLength"}


@cache
def adk() -> mda.Universe:
    """Return the Universe of ADK, 98 frames."""
    return mda.Universe(datafiles.PSF, datafiles.DCD)


@cache
def water() -> mda.Universe:
    """Return the Universe of ADK in water, 10 frames, with cells."""
    return mda.Universe(datafiles.TPR, datafiles.XTC)


def _of_adk(selection: str) -> mda.AtomGroup:
    return adk().select_atoms(selection)


def radius(atoms: mda.AtomGroup) -> float:
    """Return a radius of gyration."""
    return float(atoms.radius_of_gyration())


# Each analysis by its name, with the frames that it runs over.
ANALYSES: dict[str, tuple[Callable[[], AnalysisBase], dict[str, Any]]] = {
    "RMSD": (lambda: RMSD(adk(), select="name CA", groupselections=["resid 1:50"]), {}),
    "Contacts": (
        lambda: Contacts(
            adk(),
            select=("resname ARG LYS and name NH* NZ", "resname ASP GLU and name OE* OD*"),
            refgroup=(
                _of_adk("resname ARG LYS and name NH* NZ"),
                _of_adk("resname ASP GLU and name OE* OD*"),
            ),
            radius=6.0,
        ),
        {},
    ),
    "AtomicDistances": (
        lambda: AtomicDistances(_of_adk("name CA")[:100], _of_adk("name CA")[100:200]),
        {"start": 90, "stop": 3, "step": -7},
    ),
    "Dihedral": (
        lambda: Dihedral([r.phi_selection() for r in adk().residues[1:40]]),
        {"frames": [5, 3, 3, 97, 0]},
    ),
    "Ramachandran": (lambda: Ramachandran(_of_adk("resid 2:60")), {"step": 3}),
    "Janin": (lambda: Janin(_of_adk("resid 2:60")), {"step": 3}),
    "InterRDF": (
        lambda: InterRDF(
            water().select_atoms("name OW")[:400], water().select_atoms("name OW")[:500]
        ),
        {},
    ),
    "InterRDF_s": (
        lambda: InterRDF_s(
            water(), [[water().select_atoms("name OW")[:2], water().select_atoms("name OW")[:300]]]
        ),
        {},
    ),
    "HydrogenBondAnalysis": (
        lambda: HydrogenBondAnalysis(
            water(), hydrogens_sel="protein and name H*", acceptors_sel="protein and name O*"
        ),
        {"stop": 2},
    ),
    "DSSP": (lambda: DSSP(_of_adk("protein")), {"step": 20}),
    "GNMAnalysis": (lambda: GNMAnalysis(adk(), select="name CA and resid 1:60"), {"step": 30}),
    "BAT": (lambda: BAT(adk().select_atoms("resid 1:3")), {"step": 5}),
    "LinearDensity": (lambda: LinearDensity(water().select_atoms("protein"), binsize=2.0), {}),
    "DensityAnalysis": (
        lambda: DensityAnalysis(water().select_atoms("name OW"), delta=4.0),
        {"frames": np.arange(10) % 3 == 1},
    ),
    "PersistenceLength": (
        lambda: PersistenceLength(
            [_of_adk("name CA and resid 1:30"), _of_adk("name CA and resid 60:89")]
        ),
        {},
    ),
    "DistanceMatrix": (lambda: DistanceMatrix(adk(), select="name CA"), {"step": 10}),
    "AnalysisFromFunction": (
        lambda: AnalysisFromFunction(radius, adk().trajectory, _of_adk("protein")),
        {"step": 4},
    ),
}

# All with one Universe; those of a run on every kind of pool.
FEW = ("RMSD", "AtomicDistances", "Dihedral", "AnalysisFromFunction")


class MadeInInit(AnalysisBase):
    """Adds to results that it makes once, as LinearDensity of MDAnalysis does."""

    _analysis_algorithm_is_parallelizable = True

    def __init__(self, atoms: mda.AtomGroup) -> None:
        super().__init__(atoms.universe.trajectory)
        self.atoms, self.calls = atoms, [0, 0]
        self.results.total = np.zeros(3)
        self.results.mean = 0.0

    def _prepare(self) -> None:
        self.calls[0] += 1

    def _single_frame(self) -> None:
        self.results.total += self.atoms.positions.sum(axis=0)
        before = self._frame_index * self.results.mean
        self.results.mean = (before + self._ts.frame) / (self._frame_index + 1)

    def _conclude(self) -> None:
        self.calls[1] += 1

    def _get_aggregator(self) -> ResultsGroup:
        return ResultsGroup({"total": ResultsGroup.ndarray_sum, "mean": ResultsGroup.float_mean})


class Failing(MadeInInit):
    """Fails in one frame."""

    def __init__(self, atoms: mda.AtomGroup, frame: int, how: Callable[[], None]) -> None:
        super().__init__(atoms)
        self.frame, self.how = frame, how

    def _single_frame(self) -> None:
        if self._ts.frame == self.frame:
            self.how()
        super()._single_frame()


def raise_value_error() -> None:
    """Raise an error."""
    raise ValueError("the atoms are not well")


def assert_same_run(name: str, ours: Any) -> None:
    """Assert that an analysis of `ANALYSES` is as after a serial run."""
    serial = serial_run(name)
    near = SINGLE if name in IN_SINGLE else TOLERANCE
    results = [dict(serial.results), dict(ours.results)]
    if name == "LinearDensity":
        # A serial run has the edges of the last frame, MDAnalysis' aggregator those of the first.
        results = [
            {axis: {**one, "hist_bin_edges": None} for axis, one in found.items()}
            for found in results
        ]
    compare(*results, name, near)
    for found in ("frames", "times", "n_frames", "start", "stop", "step"):
        compare(getattr(serial, found), getattr(ours, found), f"{name}: {found}", 0.0)


@cache
def serial_run(name: str) -> Any:
    """Return an analysis of `ANALYSES` after a serial run."""
    make, frames = ANALYSES[name]
    return make().run(**frames)


def compare(one: Any, other: Any, where: str, near: float) -> None:
    """Assert that values are equal, but for `near` relative to the largest."""
    assert type(one) is type(other), where
    if hasattr(one, "keys"):
        assert sorted(one) == sorted(other), where
        for name in one:
            compare(one[name], other[name], f"{where}.{name}", near)
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), where
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            compare(a, b, f"{where}[{number}]", near)
    elif isinstance(one, (np.ndarray, np.generic, float, int)):
        a, b = np.asarray(one), np.asarray(other)
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        if a.dtype.kind == "f":
            scale = np.nanmax(np.abs(a), initial=0)
            np.testing.assert_allclose(b, a, rtol=near, atol=near * scale, err_msg=where)
        else:
            np.testing.assert_array_equal(a, b, err_msg=where)
    else:
        assert repr(one) == repr(other), where
