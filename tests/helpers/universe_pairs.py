"""Universes that read the same files, one with MDAnalysis' readers and one with ours."""

from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import trajet.mdanalysis as guest

N_ATOMS, N_FRAMES = 60, 12
FORMATS = ("xtc", "trr", "dcd", "nc", "h5md")
FIELDS = ("positions", "velocities", "forces")


def empty_universe(n_atoms: int = N_ATOMS) -> mda.Universe:
    """Return a Universe of atoms that have names, and no coordinates."""
    universe = mda.Universe.empty(
        n_atoms, n_residues=n_atoms // 3, atom_resindex=np.arange(n_atoms) // 3
    )
    universe.add_TopologyAttr("names", ["OW", "HW1", "HW2"] * (n_atoms // 3))
    universe.add_TopologyAttr("masses", [16.0, 1.0, 1.0] * (n_atoms // 3))
    return universe


def write_files(
    folder: Path, n_atoms: int = N_ATOMS, n_frames: int = N_FRAMES, seed: int = 7
) -> dict[str, Path]:
    """Write the same random frames in each format; TRR has forces in every third frame."""
    rng = np.random.default_rng(seed)
    paths = {name: folder / f"small.{name}" for name in FORMATS}
    universe = mda.Universe.empty(n_atoms, trajectory=True, velocities=True, forces=True)
    universe.dimensions = [30, 31, 32, 90, 80, 70]
    for name, path in paths.items():
        options: dict[str, Any] = {}
        if name in ("nc", "h5md"):
            options = {"velocities": True, "forces": True}
        if name == "h5md":
            units = {"timeunit": "ps", "lengthunit": "nm"}
            options |= units | {"velocityunit": "nm/ps", "forceunit": "kJ/(mol*nm)"}
        with mda.Writer(str(path), n_atoms, **options) as writer:
            for frame in range(n_frames):
                ts = universe.trajectory.ts
                if name == "trr":
                    ts.has_forces = frame % 3 == 0
                ts.positions = rng.uniform(0, 30, (n_atoms, 3))
                if name in ("trr", "nc", "h5md"):
                    ts.velocities = rng.normal(size=(n_atoms, 3))
                    if ts.has_forces:
                        ts.forces = rng.normal(size=(n_atoms, 3))
                ts.frame, ts.time = frame, 2.0 * frame
                ts.data["step"] = 10 * frame
                writer.write(universe)
        universe.trajectory.ts.has_forces = True
    return paths


def with_theirs(path: Path | list[Path], **options: Any) -> mda.Universe:
    """Return a Universe of `empty_universe` with a file that MDAnalysis' own reader reads."""
    return load(path, **options)


def with_ours(path: Path | list[Path], **options: Any) -> mda.Universe:
    """Return a Universe of `empty_universe` with a file that our reader reads."""
    return load(path, format=guest.Reader, **options)


def load(path: Path | list[Path], **options: Any) -> mda.Universe:
    """Return a Universe of `empty_universe` with a file, or several."""
    files = [str(one) for one in path] if isinstance(path, list) else str(path)
    return empty_universe().load_new(files, **options)


def assert_same_frame(ours: Any, theirs: Any) -> None:
    """Assert that two time steps have the same bits."""
    assert (ours.frame, ours.n_atoms) == (theirs.frame, theirs.n_atoms)
    assert ours.time == theirs.time
    for field in FIELDS:
        has = getattr(theirs, f"has_{field}")
        assert getattr(ours, f"has_{field}") == has, field
        if has:
            np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field), field)
    assert_same_data(ours.data, theirs.data)
    assert_same_cell(ours.dimensions, theirs.dimensions)


def assert_same_data(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Assert that `ts.data` is the same."""
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert type(ours[key]) is type(value), key
        np.testing.assert_array_equal(ours[key], value, key)


def assert_same_cell(ours: Any, theirs: Any) -> None:
    """Assert that cells have the same bits."""
    assert (ours is None) == (theirs is None)
    if theirs is not None:
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
