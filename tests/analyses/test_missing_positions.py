"""An atom without position: no number that depends on it is finite, or the frame is an error.

The numbers that depend on an atom are found by moving it: all others keep their bits.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import messages
from helpers.systems import Systems
from numpy.typing import NDArray

Run = Callable[[tj.Trajectory], Any]
# Frame 1 is spoiled; some analyses need several frames. Functions of `apply` get what is stored.
ALL, ONE = [0, 1, 2], [1]
ANALYSES: dict[str, Run] = {
    "center_distances": lambda t: tj.center_distances(
        t.select("resid 5:12"), by="residue", frames=ALL
    ),
    "centers": lambda t: tj.centers(t.select("resid 5:12"), by="residue", frames=ALL),
    "contact_map": lambda t: tj.contact_map(t.select("resid 5:12"), frames=ONE),
    "contacts": lambda t: tj.contacts(t.select("resid 11"), "resid 5:12", frames=ALL),
    "count": lambda t: tj.count(t.select("around 4 resid 11", updating=True), frames=ALL),
    "density": lambda t: tj.density(t.select("resid 5:12"), spacing=4.0, frames=ONE),
    "dihedrals": lambda t: tj.dihedrals(t.select("resid 5:12"), frames=ALL),
    "dihedral features": lambda t: tj.dihedrals(
        t.select("resid 5:12"), sin_cos=True, pbc=False, frames=ALL
    ),
    "distances": lambda t: tj.distances(t.select("resid 11"), "resid 5", frames=ALL),
    "dssp": lambda t: tj.dssp(t.select("protein"), frames=ALL),
    "end_to_end": lambda t: tj.end_to_end(t.select("resid 11"), by="selection", frames=ALL),
    "gyration": lambda t: tj.gyration(t.select("resid 5:12"), per_axis=True, frames=ALL),
    "gyration_moments": lambda t: tj.gyration_moments(t.select("resid 5:12"), frames=ALL),
    "hbonds": lambda t: tj.hbonds(t.select("resid 5:12"), frames=ALL),
    "linear_density": lambda t: tj.linear_density(t.select("resid 5:12"), axis="y", frames=ONE),
    "min_distance": lambda t: tj.min_distance(t.select("resid 11"), "resid 5:8", frames=ALL),
    "msd": lambda t: tj.msd(t.select("resid 5:12"), unwrapped=True, frames=ALL),
    "native_contacts": lambda t: tj.native_contacts(t.select("resid 5:14"), frames=ALL),
    "pairwise_rmsd": lambda t: tj.pairwise_rmsd(t.select("resid 5:12"), frames=ALL),
    "cluster_rmsd": lambda t: tj.cluster_rmsd(t.select("resid 5:12"), cutoff=1.0, frames=ALL),
    "pca": lambda t: tj.pca(t.select("resid 11"), frames=ALL),
    "rdf": lambda t: tj.rdf(t.select("resid 5:12"), range=(0, 9), frames=ONE),
    "rdf_pairs": lambda t: tj.rdf_pairs(
        [(t.select("resid 5:12"), "resid 11")], range=(0, 9), by="residue", frames=ONE
    ),
    "rmsd": lambda t: tj.rmsd(t.select("resid 5:12"), groups=["resid 11"], frames=ALL),
    "rmsf": lambda t: tj.rmsf(t.select("resid 5:12"), align="resid 11", frames=ALL),
    "sasa": lambda t: tj.sasa(t.select("resid 5:12"), by="atom", points=60, frames=ALL),
}
TRANSFORMS: dict[str, Callable[[tj.Trajectory], tj.Trajectory]] = {
    "whole": lambda t: t.whole(),
    "nojump": lambda t: t.nojump(),
    "toroidal": lambda t: t.nojump(view="toroidal"),
    "cluster": lambda t: t.cluster("protein"),
    "center": lambda t: t.center("resid 11"),
    "wrap": lambda t: t.wrap(by="molecule"),
    "wrap, compact": lambda t: t.wrap(by="residue", cell="compact"),
    "wrap, rectangular": lambda t: t.wrap(by="residue", cell="rectangular", weights="mass"),
    "wrap, atoms": lambda t: t.wrap(by="atom"),
    "fit": lambda t: t.fit("resid 5:12"),
    "fit, others": lambda t: t.fit("resid 20:30", motion="plane"),
    "translate": lambda t: t.translate([3.0, 4.0, 5.0]),
    "repaired": lambda t: t.repair("protein"),
}
# Of residue 11: each value in each coordinate.
SPOILED = (
    ("N", 0, np.nan),
    ("CA", 1, np.inf),
    ("C", 2, np.nan),
    ("HN", 0, -np.inf),
    ("O", 1, np.nan),
)

# A number that no file has, Å.
MARK = 1280.0


def stored(number: float) -> bytes:
    """Return a number of Å as TRR files have it, in nm."""
    return np.array(number / 10, ">f4").tobytes()


@pytest.fixture(scope="module")
def broken(systems: Systems) -> tuple[Path, NDArray[np.float32], dict[str, int]]:
    """Return ADK's topology, frames with molecules over the faces of a cell, and some atoms."""
    adk = systems["adk.xtc"]
    positions = adk.trajectory.read([0, 40, 80]).positions
    atoms = adk.trajectory.select("resid 11").topology_atoms
    names = dict(zip(atoms.column("names").tolist(), atoms.indices.tolist(), strict=True))
    # Residue 11 lies on a face.
    shifted = positions - positions[:, [names["CA"]]]
    return adk.topology, np.where(shifted < 0, shifted + 90, shifted).astype(np.float32), names


@pytest.fixture(scope="module")
def versions(
    broken: tuple[Path, NDArray[np.float32], dict[str, int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[list[tj.Trajectory]]:
    """Return for each spoiled atom the trajectories as it was, with it moved, and without it."""
    topology, positions, names = broken
    folder = tmp_path_factory.mktemp("spoiled")

    def opened(name: str, changed: NDArray[np.float32]) -> tj.Trajectory:
        path = folder / f"{name}.trr"
        tj.write(path, changed, cells=[90.0, 90, 90, 90, 90, 90], times=np.arange(3.0))
        return tj.open(topology, path)

    def made() -> Iterator[list[tj.Trajectory]]:
        whole = opened("whole", positions)
        for name, axis, value in SPOILED:
            moved, without = positions.copy(), positions.copy()
            moved[1, names[name]] += [4.25, 6.5, 5.75]
            without[1, names[name], axis] = value
            # `tj.write` refuses infinite numbers, which other programs write.
            spoiled = opened(f"without{name}", np.where(np.isinf(without), MARK, without))
            if np.isinf(value):
                path = folder / f"without{name}.trr"
                data = path.read_bytes()
                assert data.count(stored(MARK)) == 1
                path.write_bytes(data.replace(stored(MARK), stored(value)))
                spoiled = tj.open(topology, path, rebuild_index=True)
            yield [whole, opened(f"moved{name}", moved), spoiled]

    return list(made())


def _numbers(result: Any) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of a result, by name."""
    fields = {name: getattr(result, name, None) for name in dir(type(result)) if name[0] != "_"}
    fields |= {name: value for name, value in vars(result).items() if name[0] != "_"}
    return {
        name: np.asarray(value, np.float64)
        for name, value in fields.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fi"
    }


@pytest.mark.parametrize("name", ANALYSES)
def test_numbers_that_depend_on_a_missing_atom_are_none(
    name: str, versions: list[list[tj.Trajectory]]
) -> None:
    """Unless the analysis refuses the frame; those of other frames keep their bits."""
    run = ANALYSES[name]
    for whole, moved, without in versions:
        try:
            found = _numbers(run(without))
        except tj.TrajetError as error:
            messages.compare(error)
            continue
        first, second = _numbers(run(whole)), _numbers(run(moved))
        for key, values in found.items():
            depend = ~np.isclose(first[key], second[key], rtol=0, atol=0, equal_nan=True)
            assert values.shape == depend.shape, key
            assert not np.isfinite(values[depend]).any(), f"{key}: {values[depend]}"
            if "frames" in found and len(values) == len(found["frames"]):
                other = (found["frames"] != 1) & ~depend.T
                assert np.array_equal(values.T[other], first[key].T[other], equal_nan=True), key


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_move_no_molecule_in_part(
    name: str, versions: list[list[tj.Trajectory]]
) -> None:
    """A frame in which an atom of it has no position is an error, or has it nowhere else."""
    for whole, moved, without in versions:
        try:
            found = TRANSFORMS[name](without).read(ALL).positions
        except tj.TrajetError as error:
            messages.compare(error)
            continue
        first, second = (TRANSFORMS[name](each).read(ALL).positions for each in (whole, moved))
        depend = first != second
        assert not np.isfinite(found[depend]).any()
        assert np.array_equal(found[~depend], first[~depend], equal_nan=True)
