"""The two published runs: systems of the same shape, and what was published about them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from repeated_frames import Encoded, encode

# Standard deviations of the thermal noise, Å: of each atom, and of each molecule of water.
OF_ATOMS, OF_WATERS = 0.1, 0.3
# How often the frames of ADK are used, each time with other noise.
ADK_TIMES = 4


@dataclass(frozen=True)
class Condition:
    """How a run finds the files: pages `cold` or `warm`, the index `kept` or `to build`."""

    cache: str
    index: str
    cores: int


@dataclass(frozen=True)
class Published:
    """A published run, and how a file of its shape is made.

    `prepare` writes the topology and returns the distinct frames. `part` is the number of frames
    that MDAnalysis reads. `target` is the most seconds that a condition may take. `published` has
    rows: what was measured, and the seconds.
    """

    name: str
    source: str
    n_frames: int
    time_step: float
    selection: str
    topology: str
    prepare: Callable[[Path], Encoded]
    part: int
    target: tuple[Condition, float]
    published: tuple[tuple[str, str], ...]


def _universe(*paths: str) -> Any:
    import MDAnalysis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no cell in ADK's frames, no elements in the PSF
        return MDAnalysis.Universe(*paths)


def _noise(random: np.random.Generator, sigma: float, n: int) -> NDArray[np.float32]:
    return random.normal(0, sigma, (n, 3)).astype(np.float32)


def adk(topology: Path) -> Encoded:
    """Write the PSF of adenylate kinase; its transition of 98 frames, each four times."""
    from MDAnalysisTests import datafiles

    topology.write_bytes(Path(datafiles.PSF).read_bytes())
    universe = _universe(datafiles.PSF, datafiles.DCD)
    positions = [ts.positions.copy() for ts in universe.trajectory]
    random = np.random.default_rng(2020)
    frames = (
        one + _noise(random, OF_ATOMS, len(one)) for _ in range(ADK_TIMES) for one in positions
    )
    return encode(universe, frames)


def proteins_in_water(
    topology: Path, n_proteins: int, n_waters: int, n_sites: int, times: int
) -> Encoded:
    """Write a GRO file of proteins, then water of so many sites; return ten frames, `times` times.

    The boxes of the solvated adenylate kinase of MDAnalysisTests stand side by side, with their
    first molecules of water, which move as wholes.
    """
    import MDAnalysis
    from MDAnalysisTests import datafiles

    solvated = _universe(datafiles.GRO, datafiles.XTC)
    protein, water = (solvated.select_atoms(text) for text in ("protein", "resname SOL"))
    sites = water[np.arange(len(water)) % 4 < n_sites]
    residues = np.unique(protein.resindices, return_inverse=True)[1]
    resindex = [residues + k * protein.n_residues for k in range(n_proteins)]
    resindex.append(np.repeat(np.arange(n_waters), n_sites) + n_proteins * protein.n_residues)
    n_protein, n_water = n_proteins * len(protein), n_waters * n_sites
    universe = MDAnalysis.Universe.empty(
        n_protein + n_water,
        n_residues=n_proteins * protein.n_residues + n_waters,
        atom_resindex=np.concatenate(resindex),
        trajectory=True,
    )
    names = [*protein.names] * n_proteins + [*sites.names[:n_sites]] * n_waters
    universe.add_TopologyAttr("names", names)
    resnames = [*protein.residues.resnames] * n_proteins + ["SOL"] * n_waters
    universe.add_TopologyAttr("resnames", resnames)
    universe.add_TopologyAttr("resids", np.arange(1, len(resnames) + 1) % 100_000)
    edge = float(solvated.dimensions[0])
    universe.dimensions = [n_proteins * edge, *solvated.dimensions[1:]]
    shifts = np.arange(n_proteins)[:, None, None] * np.array([edge, 0, 0])

    def frames() -> Iterator[NDArray[np.float32]]:
        random = np.random.default_rng(2021)
        for _ in range(times):
            for _ in solvated.trajectory:
                proteins = (protein.positions + shifts).reshape(-1, 3)
                waters = (sites.positions + shifts).reshape(-1, 3)[:n_water]
                moved = np.repeat(_noise(random, OF_WATERS, n_waters), n_sites, axis=0)
                noise = _noise(random, OF_ATOMS, n_protein)
                yield np.concatenate([proteins + noise, waters + moved]).astype(np.float32)

    universe.atoms.positions = next(frames())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.atoms.write(str(topology))
    return encode(universe, frames())


RUNS = (
    Published(
        name="adk",
        source="Khoshlessan et al. 2020, doi:10.1002/cpe.5789",
        n_frames=2_512_200,
        time_step=240.0,
        selection="(resid 1:29 or resid 60:121 or resid 160:214) and name CA",
        topology="adk.psf",
        prepare=adk,
        part=20_000,
        target=(Condition("cold", "to build", 2), 60.0),
        published=(
            ("serial, XTC of 30 GB", "1,000"),
            ("384 cores, HDF5 file of the 146 atoms alone", "2.3"),
            ("making that HDF5 file", "5,400"),
        ),
    ),
    Published(
        name="membrane",
        source="Jakupovic and Beckstein 2021, doi:10.25080/majora-1b6fd038-005",
        n_frames=90_100,
        time_step=100.0,
        selection="name CA",
        topology="proteins.gro",
        prepare=lambda path: proteins_in_water(path, 3, 25_448, 4, 10),
        part=1_000,
        target=(Condition("cold", "kept", 2), 9.4),
        published=(
            ("I/O, serial, H5MD of 113 GiB with h5py's automatic chunks", "4,623"),
            ("I/O, serial, the same with a good layout", "460"),
            ("I/O, 112 cores", "47"),
        ),
    ),
)
