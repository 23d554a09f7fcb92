"""Dumps of LAMMPS and extended XYZ that are written: all digits, and what they cannot hold."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

SUFFIXES = (".lammpstrj", ".xyz")
CELLS = ([np.nan] * 6, [20, 30, 40, 90, 90, 90], [30, 31, 32, 70, 80, 100])
NUMBERS = st.floats(-1e6, 1e6, width=32)


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(
    positions=arrays(np.float32, (3, 4, 3), elements=NUMBERS),
    velocities=arrays(np.float32, (3, 4, 3), elements=NUMBERS),
    forces=arrays(np.float32, (3, 4, 3), elements=NUMBERS),
    times=st.lists(st.floats(0, 1e6), min_size=3, max_size=3, unique=True).map(sorted),
    cell=st.sampled_from(CELLS),
)
@settings(deadline=None, max_examples=30)
def test_all_digits_are_written(
    suffix: str,
    positions: np.ndarray,
    velocities: np.ndarray,
    forces: np.ndarray,
    times: list[float],
    cell: list[float],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Positions, velocities and forces have their bits; times are equal."""
    folder = tmp_path_factory.mktemp("text")
    source, out = folder / "source.trr", folder / f"out{suffix}"
    given = tj.Block(
        positions,
        np.array(times),
        np.array([1, 2, 4]),
        np.ones(3, bool),
        np.array([cell] * 3, float),
        velocities=velocities,
        forces=forces,
    )
    tj.write(source, [given], double=True)
    tj.convert(tj.open(None, source), out)
    both = {"velocities": True, "forces": True}
    found, expected = (tj.open(None, path).read(**both) for path in (out, source))
    assert np.array_equal(found.positions, expected.positions)
    assert np.array_equal(found.velocities, expected.velocities)
    assert np.array_equal(found.forces, expected.forces)
    # Double precision holds times of a few significant digits in fs; others are the nearest there.
    assert np.allclose(found.times, times, rtol=0 if suffix == ".xyz" else 3e-16, atol=0)
    assert found.steps.tolist() == [1, 2, 4]
    assert np.allclose(found.cells, [cell] * 3, rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_outputs_are_topologies(suffix: str, adk: Adk, tmp_path: Path) -> None:
    """With names, or residues, masses and charges."""
    out = tmp_path / f"out{suffix}"
    chosen = tj.open(adk.psf, adk.xtc).select("resid 1 to 5")
    tj.convert(chosen, out, frames=slice(3))
    names = tj.open(out).topology
    atoms = chosen.topology_atoms
    if suffix == ".xyz":
        assert names.names.tolist() == atoms.column("names").tolist()  # type: ignore[union-attr]
    else:
        assert names.resids.tolist() == atoms.column("resids").tolist()  # type: ignore[union-attr]
        assert np.allclose(names.charges, atoms.column("charges"), atol=1e-6)
        assert np.allclose(names.masses, atoms.column("masses"), atol=1e-4)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_that_are_not_finite_are_an_error(suffix: str, tmp_path: Path) -> None:
    """No program reads them."""
    positions = np.zeros((2, 3, 3), np.float32)
    positions[1, 2, 0] = np.nan
    with raises(tj.OutputError):
        tj.write(tmp_path / f"out{suffix}", positions)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_reduced_units_are_refused(suffix: str, tmp_path: Path) -> None:
    """They are no Å and fs, also where losses are allowed."""
    dump = tmp_path / "reduced.lammpstrj"
    dump.write_text(
        "ITEM: UNITS\nlj\nITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS pp pp pp\n"
        + "0 9\n" * 3
        + "ITEM: ATOMS id type x y z\n1 1 0 0 0\n"
    )
    for allow_loss in (False, True):
        with raises(tj.OutputError, "lj"):
            tj.convert(tj.open(dump), tmp_path / f"out{suffix}", allow_loss=allow_loss)
    assert list(tmp_path.glob("out*")) == []


def test_items_of_time_can_be_left_out(tmp_path: Path) -> None:
    """Steps remain."""
    out = tmp_path / "out.lammpstrj"
    source = tmp_path / "source.trr"
    tj.write(source, np.zeros((2, 3, 3)), times=[0.5, 1.0], steps=[10, 20])
    tj.convert(tj.open(None, source), out, without_time=True)
    text = out.read_text()
    assert "TIME\n" not in text and "UNITS" not in text
    assert tj.open(None, out).read().steps.tolist() == [10, 20]
    with raises(ValueError):
        tj.convert(tj.open(None, source), tmp_path / "out.xyz", without_time=True)
