"""Conductivities: values, units, motion of the whole system, and checks of the input."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.analysis_cases import unequal
from helpers.analysis_laws import assert_same_bits_on_any_pool
from helpers.messages import raises
from trajet.messages import Code

BOX, STEP, N_FRAMES = 19.31, 0.5, 1200
CELL = [BOX] * 3 + [90] * 3
E, BOLTZMANN = 1.602176634e-19, 1.380649e-23


def walk() -> np.ndarray:
    """Return unwrapped positions of 108 Na and 108 Cl, of which each two share half of a step."""
    rng = np.random.default_rng(6)
    own = rng.normal(size=(N_FRAMES, 216, 3))
    shared = rng.normal(size=(N_FRAMES, 108, 3))
    steps = 0.2 * own + 0.1 * np.concatenate([shared, shared], axis=1)
    return np.cumsum(steps, axis=0) + rng.uniform(0, BOX, (1, 216, 3))


def opened(path: Path, positions: np.ndarray) -> tj.Trajectory:
    """Write positions, and return the salt of the sample at them."""
    tj.write(path, positions, times=STEP * np.arange(len(positions)), cells=CELL)
    return tj.open(tj.samples.molten_salt().topology, path)


@pytest.fixture(scope="module")
def salt(tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Return the walk as a trajectory."""
    return opened(tmp_path_factory.mktemp("salt") / "walk.trr", walk())


def test_values_follow_from_the_definition(salt: tj.Trajectory) -> None:
    """Both displacements pair by pair, and both conductivities from lines of NumPy, in S/m."""
    atoms = salt.all_atoms()
    found = tj.conductivity(atoms, temperature=1200, max_lag=20, fit_range=(5, 20), unwrapped=True)
    block = atoms.read()
    masses, charges = (atoms.topology_atoms.column(name) for name in ("masses", "charges"))
    assert sorted({*charges.tolist()}) == [-1.0, 1.0]
    positions = block.positions.astype(np.float64)
    positions -= np.average(positions, axis=1, weights=masses)[:, np.newaxis]
    dipoles = np.einsum("i,tij->tj", charges, positions)
    lags = np.arange(41)
    together = [((dipoles[k:] - dipoles[: len(dipoles) - k]) ** 2).sum(1).mean() for k in lags]
    squares = np.array(
        [((positions[k:] - positions[: len(positions) - k]) ** 2).sum(2).mean(0) for k in lags]
    )
    assert np.allclose(found.values[:, 0], together, rtol=1e-7, atol=1e-5)
    assert np.allclose(found.values[:, 1], squares @ charges**2, rtol=1e-9, atol=1e-6)
    fitted = slice(10, 41)
    unit = E**2 * 1e-20 / 1e-12 / (BOX**3 * 1e-30 * BOLTZMANN * 1200)
    slopes = [
        np.polyfit(STEP * lags[fitted], numbers[fitted], 1)[0] / 6
        for numbers in (np.array(together), squares @ charges**2, squares[:, charges > 0].mean(1))
    ]
    numbers = found.scalars()
    assert numbers["conductivity_S_per_m"] == pytest.approx(unit * slopes[0], rel=1e-5)
    einstein = numbers["Nernst_Einstein_conductivity_S_per_m".lower().replace("s_per", "S_per")]
    assert einstein == pytest.approx(unit * slopes[1], rel=1e-6)
    assert numbers["diffusion_A2_per_ps:Na"] == pytest.approx(slopes[2], rel=1e-6)


def test_intervals_hold_the_truth(salt: tj.Trajectory) -> None:
    """Pairs of ions of opposite charge move together: less conductivity than that of ions alone."""
    found = tj.conductivity(salt.all_atoms(), temperature=1200, max_lag=20, unwrapped=True)
    unit = E**2 * 1e22 / (BOX**3 * BOLTZMANN * 1200)
    truths = [216 * 0.04 * unit / (2 * STEP), 216 * 0.05 * unit / (2 * STEP), 0.05 / (2 * STEP)]
    table = found.parts["scalars"]
    assert table.axes[0].labels() == [
        "conductivity",
        "Nernst-Einstein conductivity",
        "diffusion:Cl",
        "diffusion:Na",
    ]
    assert table.resolved.all()
    for k, truth in enumerate([*truths, truths[2]]):
        assert abs(table.values[k] - truth) < 1.5 * table.half_widths[k]
        assert table.half_widths[k] < 0.4 * truth
    assert [one.code for one in found.messages] == []


def test_motion_of_the_system_and_jumps_change_nothing(salt: tj.Trajectory, tmp_path: Path) -> None:
    """Drift of all atoms is removed, also of some of the ions; wrapped ions are unwrapped."""
    expected = tj.conductivity(salt.all_atoms(), temperature=1200, unwrapped=True)
    drift = 0.03 * np.arange(N_FRAMES)[:, np.newaxis, np.newaxis] * [1.0, -2.0, 0.5]
    moving = opened(tmp_path / "moving.trr", walk() + drift)
    found = tj.conductivity(moving.all_atoms(), temperature=1200, unwrapped=True)
    assert np.allclose(found.values, expected.values, rtol=1e-4, atol=1e-3)
    some = [
        tj.conductivity(one.select("type 1"), temperature=1200, unwrapped=True)
        for one in (salt, moving)
    ]
    assert np.allclose(some[0].values, some[1].values, rtol=1e-4, atol=1e-3)
    assert Code.NET_CHARGE in [one.code for one in some[0].messages]
    wrapped = opened(tmp_path / "wrapped.trr", np.mod(walk(), BOX))
    found = tj.conductivity(wrapped.nojump().all_atoms(), temperature=1200)
    assert np.allclose(found.values, expected.values, rtol=1e-4, atol=1e-3)
    for jumping in (wrapped, salt):
        with raises(tj.AnalysisError):
            tj.conductivity(jumping.all_atoms(), temperature=1200)


def test_pools_and_memory_change_no_bit(salt: tj.Trajectory) -> None:
    """Ions may be read some at a time."""

    def found(**options: object) -> tj.Table:
        return tj.conductivity(salt.all_atoms(), temperature=1200, unwrapped=True, **options)

    assert_same_bits_on_any_pool(lambda pool: found(pool=pool).values)
    parts = found(max_memory=2_000_000)
    assert parts.report["parameters"]["n_reads"] > 1
    assert unequal(found(), parts) == []


def test_molecular_ions_and_neutral_molecules(tmp_path: Path) -> None:
    """A molecule is an ion with the sum of its charges, and neutral ones add to no ion."""
    traj = tj.samples.peptide_in_water().open().nojump()
    ions = tj.conductivity(traj.select("resname NA CL"), temperature=300)
    everything = tj.conductivity(traj.select("resname NA CL HOH IPH"), temperature=300)
    assert everything.report["parameters"]["n_ions"] == traj.select("resname NA CL").n_atoms
    assert np.allclose(everything.values[:, 1], ions.values[:, 1], rtol=1e-9)
    assert not np.allclose(everything.values[1:, 0], ions.values[1:, 0], rtol=1e-3)
    with raises(tj.SelectionError):
        tj.conductivity(traj.select("resname HOH"), temperature=300)
    with raises(ValueError):
        tj.conductivity(traj.select("resname NA CL"), temperature=0.0)
    positions = traj.all_atoms().read(range(10)).positions
    path = tmp_path / "without.trr"
    tj.write(path, positions, times=np.arange(10.0))
    without = tj.open(traj.topology_path, path)
    with raises(tj.AnalysisError):
        tj.conductivity(without.select("resname NA CL"), temperature=300, unwrapped=True)


def test_kinds_of_ions_do_not_depend_on_the_order_of_atoms(tmp_path: Path) -> None:
    """Two anions of the same first element are two kinds, whatever atom of a molecule is first."""
    # Molecules with their atoms, which are types, in several orders: PO2, P2O, and Na.
    orders = [(1, 2, 2), (2, 1, 2), (2, 2, 1), (1, 1, 2), (2, 1, 1), (1, 2, 1), *[(3,)] * 6]
    types = [kind for one in orders for kind in one]
    molecules = np.repeat(np.arange(len(orders)), [len(one) for one in orders])
    charges = [1.0 if kind == 3 else -1 / 3 for kind in types]
    lines = ["ions", "", f"{len(types)} atoms", "3 atom types", ""]
    lines += [f"0 {BOX} {axis}lo {axis}hi" for axis in "xyz"]
    lines += ["", "Masses", "", "1 30.97", "2 15.999", "3 22.99", "", "Atoms # full", ""]
    lines += [
        f"{k + 1} {molecule + 1} {kind} {charge:.8f} {k} 0 0"
        for k, (molecule, kind, charge) in enumerate(zip(molecules, types, charges, strict=True))
    ]
    (tmp_path / "ions.data").write_text("\n".join(lines) + "\n")
    rng = np.random.default_rng(4)
    walks = np.cumsum(rng.normal(size=(60, len(types), 3)), axis=0)
    tj.write(tmp_path / "ions.trr", walks, times=np.arange(60.0), cells=CELL)
    traj = tj.open(tmp_path / "ions.data", tmp_path / "ions.trr")
    options = {"temperature": 300.0, "unwrapped": True, "max_lag": 10.0}
    found = tj.conductivity(traj.all_atoms(), **options).scalars()
    names = [name for name in found if name.startswith("diffusion_A2_per_ps")]
    assert names == [f"diffusion_A2_per_ps:{ion}" for ion in ("Na", "O2P", "OP2")]
    shuffled = traj.select(rng.permutation(len(types)))
    other = tj.conductivity(shuffled, **options).scalars()
    for name in names:
        assert other[name] == pytest.approx(found[name], rel=1e-9)


def test_unknown_masses_have_advice_that_can_be_followed(tmp_path: Path) -> None:
    """There are no weights, and the centre of mass of all atoms is needed."""
    topology = tj.samples.molten_salt().topology.read_text()
    before, _, rest = topology.partition("Masses\n")
    (tmp_path / "salt.data").write_text(before + "Atoms" + rest.partition("Atoms")[2])
    tj.write(tmp_path / "walk.trr", walk()[:99], times=STEP * np.arange(99), cells=CELL)
    traj = tj.open(tmp_path / "salt.data", tmp_path / "walk.trr")
    with raises(tj.SelectionError) as error:
        tj.conductivity(traj.all_atoms(), temperature=1200, unwrapped=True)
    assert "mass of 216 of 216 atoms is unknown" in str(error.value)
    assert "weights" not in str(error.value)
    assert "leave these atoms out" not in str(error.value)


def test_fit_beyond_the_longest_lag_is_an_error(salt: tj.Trajectory) -> None:
    """The default lags reach to a twentieth of the trajectory, 29.5 ps; ends may be rounded."""
    options = {"temperature": 1200, "unwrapped": True}
    with raises(ValueError):
        tj.conductivity(salt.all_atoms(), fit_range=(5, 100), **options)
    found = tj.conductivity(salt.all_atoms(), fit_range=(5, 29.9), **options)
    assert found.report["parameters"]["fit_range"] == [5.0, 29.5]
    displacement = tj.msd(salt.all_atoms(), unwrapped=True, max_lag=50)
    with raises(ValueError):
        displacement.fit(10, 60)
    assert displacement[:40].fit(5, 15).fit_last == 15
