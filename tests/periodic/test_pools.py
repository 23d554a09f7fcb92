"""Every analysis sees the transformed positions, with the same bits on every pool."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from distributed import Client
from helpers import trr_bytes
from helpers.commands import execute
from helpers.made_files import write_dcd
from helpers.messages import raises
from helpers.periodic_laws import few_analyses
from helpers.periodic_systems import PeriodicSystem, lattice_shifts, make_system
from helpers.started_ranks import command
from helpers.transform_cases import CASES, cases_of
from trajet.pools.rank_placeholder import RankPlaceholder
from trajet.trajectory.transforms import Transformable

ROUNDING = 2e-3
POOLS = [
    tj.LocalPool(threads=1, task_frames=1),
    tj.LocalPool(threads=2),
    tj.LocalPool(threads=5, task_frames=3),
]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> PeriodicSystem:
    """Return chains, ions and water in a changing triclinic cell."""
    return make_system("npt", tmp_path_factory.mktemp("npt"))


@pytest.mark.parametrize("name", cases_of("threads, processes"))
def test_threads_tasks_and_processes_change_no_bit(system: PeriodicSystem, name: str) -> None:
    """Threads hand jumps over from task to task, or count them before; workers get transforms."""
    traj = CASES[name].change(system.open())
    for analysis, compute in few_analyses(traj).items():
        here = compute(tj.LocalPool(threads=1))
        assert np.isfinite(here).any(), analysis
        for pool in (*POOLS, tj.ProcessPool(workers=2, task_frames=5)):
            assert compute(pool).tobytes() == here.tobytes(), (analysis, pool)


@pytest.mark.parametrize("name", cases_of("Dask"))
def test_dask_changes_no_bit(client: Client, system: PeriodicSystem, name: str) -> None:
    """Workers read the frames on which theirs depend."""
    traj = CASES[name].change(system.open())
    pool = tj.DaskPool(client, task_frames=5)
    for analysis, compute in few_analyses(traj).items():
        assert compute(pool).tobytes() == compute(tj.LocalPool(threads=1)).tobytes(), analysis


def test_mpi_changes_no_bit(system: PeriodicSystem, tmp_path: Path) -> None:
    """Ranks save what one thread computes here."""
    execute(*command(3, "-m", "helpers.periodic_laws", system.topology, system.path, tmp_path))
    for name in cases_of("MPI"):
        with np.load(tmp_path / f"{name}.npz") as found:
            traj = CASES[name].change(system.open())
            here = tj.rmsd(traj.select("resname ALA")).values
            assert found["on rank 0"].tobytes() == here.tobytes()
            for analysis, compute in few_analyses(traj).items():
                here = compute(tj.LocalPool(threads=1))
                assert found[analysis].tobytes() == here.tobytes(), (name, analysis)


def test_other_ranks_have_all_transforms() -> None:
    """Placeholders have every method of `Transformable`; those of results have none."""
    names = [name for name in vars(Transformable) if not name.startswith("_")]
    assert "whole" in names
    for name in names:
        for what in ("trajectory", "selection"):
            made = getattr(RankPlaceholder(what), name)("protein")
            assert repr(made) == f"<{what} on rank 0>"
        with raises(AttributeError):
            getattr(RankPlaceholder("result"), name)()


@pytest.mark.parametrize("name", cases_of("frames"))
def test_reading_follows_the_chosen_frames(system: PeriodicSystem, name: str) -> None:
    """Frames in any order, blocks and threads give the positions of one thread in order."""
    traj = CASES[name].change(system.open())
    whole = traj.read(threads=1).positions
    assert np.array_equal(traj.read(threads=5).positions, whole)
    # Jumps are counted from each of the chosen frames to the next, so that all must be there.
    order = [*np.random.default_rng(3).permutation(traj.n_frames), 5, 5, 0]
    assert np.array_equal(traj.read(frames=order).positions, whole[order])
    assert np.array_equal(traj.read(frames=slice(None, None, -1)).positions, whole[::-1])
    blocks = np.concatenate([block.positions for block in traj.blocks(size=7)])
    assert np.array_equal(blocks, whole)
    chain = traj.select("resname GLY")
    assert np.array_equal(chain.read().positions, whole[:, chain.indices])
    turned = traj.select(chain.indices[::-1])
    assert np.array_equal(turned.read().positions, whole[:, chain.indices[::-1]])


def test_every_frame_is_read_only_if_asked(system: PeriodicSystem) -> None:
    """Strided frames with all frames read have the jumps of all frames, and may lack some else."""
    traj = system.open()
    frames = slice(0, None, 6)
    every = traj.nojump(every_frame=True).read(frames=frames, threads=2).positions
    assert np.array_equal(every, traj.nojump().read().positions[frames])
    strided = traj.nojump().read(frames=frames)
    assert not np.array_equal(strided.positions, every)
    stored = traj.read(frames=frames).positions
    inverse = np.linalg.inv(system.vectors[frames])
    fractions = np.einsum("fai,fij->faj", stored.astype(float), inverse)
    sums = np.cumsum(-np.rint(np.diff(fractions, axis=0)), 0)
    shifts = lattice_shifts(strided.positions, stored, system.vectors[frames], ROUNDING)
    assert np.array_equal(shifts[1:], sums)


@pytest.mark.parametrize("name", cases_of("analyses"))
def test_analyses_see_transformed_positions(
    system: PeriodicSystem, name: str, tmp_path: Path
) -> None:
    """Values are those of a file that holds the transformed positions."""
    traj = CASES[name].change(system.open())
    path = write_dcd(tmp_path / "written.dcd", traj.read().positions)
    written = tj.open(system.topology, path)
    atoms, others = "resname ALA", "resname GLY"
    fours = np.arange(20).reshape(-1, 4)
    computed: dict[str, Callable[[tj.Trajectory], np.ndarray]] = {
        "rmsd": lambda t: tj.rmsd(t.select(atoms), groups=[t.select(others)]).values,
        "rmsf": lambda t: tj.rmsf(t.select(atoms), align=others, reference="average").values,
        "gyration": lambda t: tj.gyration(t.select(others)).values,
        "dihedrals": lambda t: tj.dihedrals(t, fours, pbc=False).values,
        "distances": lambda t: tj.distances(t.select(atoms), t.select(others), pbc=False).values,
        "apply": lambda t: tj.apply(t.select(others), lambda x: x.mean(axis=0)).values,
    }
    plain = system.open()
    for analysis, compute in computed.items():
        assert np.array_equal(compute(traj), compute(written)), analysis
    assert not np.array_equal(computed["gyration"](traj), computed["gyration"](plain))


@pytest.mark.parametrize("name", ["whole, nojump", "toroidal", "repaired, fit"])
def test_minimum_image_distances_stay(system: PeriodicSystem, name: str) -> None:
    """Distances as nearest images and g(r) are those of the stored positions."""
    plain, traj = system.open(), CASES[name].change(system.open())
    # Vectors of other cells move images against each other: only distances in a molecule stay.
    texts = ("resname ALA", "resname ALA" if name == "toroidal" else "resname HOH")

    def values(t: tj.Trajectory) -> np.ndarray:
        return tj.distances(*(t.select(text) for text in texts)).values

    assert np.allclose(values(traj), values(plain), atol=ROUNDING)
    if name != "toroidal":
        pairs = [
            tj.rdf(t.select("resname ALA"), t.select("resname HOH"), range=(0.0, 8.0)).g
            for t in (plain, traj)
        ]
        assert np.abs(pairs[0] - pairs[1]).mean() < 1e-2


def without_positions(system: PeriodicSystem, folder: Path, missing: set[int]) -> tj.Trajectory:
    """Return the system as TRR, whose frames of these numbers lack positions."""
    stored = system.open().read().positions / 10
    x = [None if k in missing else frame for k, frame in enumerate(stored)]
    path = trr_bytes.write_trr(folder / "lacking.trr", x, boxes=[*(system.vectors / 10)])
    return tj.open(system.topology, path)


@pytest.mark.parametrize("missing", [{8}, {3, 7, 8, 9, 16}, set(range(5, 24))])
def test_frames_without_positions_change_no_jump(
    system: PeriodicSystem, tmp_path: Path, missing: set[int]
) -> None:
    """Runs in which jumps are counted begin at frames 8 and 16, tasks at these and others."""
    traj = without_positions(system, tmp_path, missing).whole().nojump()
    one, many = traj.read(threads=1).positions, traj.read(threads=5).positions
    assert one.tobytes() == many.tobytes()
    there = np.array(sorted(set(range(traj.n_frames)) - missing))
    assert np.isnan(one).all(axis=(1, 2)).nonzero()[0].tolist() == sorted(missing)
    back = traj.read(frames=slice(None, None, -1), threads=5).positions
    assert one.tobytes() == back[::-1].tobytes()
    few = traj.select("resname ALA")
    seen = [
        tj.apply(
            few, lambda x: x.copy(), frames=there, pool=tj.LocalPool(threads=3, task_frames=size)
        )
        for size in (1, 2, 5)
    ]
    for values in seen:
        assert np.array_equal(values.values, one[there][:, few.indices])
    alone = traj.read(frames=there, threads=1).positions
    assert np.array_equal(alone, one[there])


def test_large_steps_give_one_message_on_every_pool(system: PeriodicSystem) -> None:
    """The first step of more than 0.4 cells is named, with frame and atom; small ones are not."""
    traj = system.open()
    chain = traj.nojump().select("resname ALA GLY")
    assert not [one for one in tj.rmsd(chain).messages if "jumps" in one]
    stored = chain.source.untransformed.read(slice(0, None, 5), None, None).positions.astype(float)
    vectors = system.vectors[::5]
    fractions = np.einsum("fai,fij->faj", stored[:, chain.indices], np.linalg.inv(vectors))
    steps = np.diff(fractions, axis=0)
    large = np.abs(steps - np.rint(steps)).max(axis=2)
    first = int(np.flatnonzero(large.max(axis=1) > 0.4)[0])
    expected = f"the first of them leads to frame {5 * (first + 1)} (atom {large[first].argmax()})"
    found = set()
    for pool in (*POOLS, tj.ProcessPool(workers=2, task_frames=2)):
        report = tj.rmsd(chain, frames=slice(0, None, 5), pool=pool).report
        (message,) = (one for one in report.messages if "jumps" in one)
        found.add(message)
    (message,) = found
    assert expected in message
    # Frames between the chosen ones have small steps.
    every = traj.nojump(every_frame=True).select("resname ALA GLY")
    report = tj.rmsd(every, frames=slice(0, None, 5)).report
    assert not [one for one in report.messages if "jumps" in one]


def test_large_steps_between_chosen_frames_are_found(tmp_path: Path) -> None:
    """The first thread reads one of two frames only: runs that count jumps find the step."""
    x = np.zeros((64, 1, 3)) + 1.5
    x[5:, 0, 0] += 1.35
    path = trr_bytes.write_trr(tmp_path / "one.trr", x, boxes=[3 * np.eye(3)] * 64)
    traj = tj.open(None, path).nojump(every_frame=True)
    for threads in (1, 2):
        for frames in ([0, 63], [0, 30, 63], slice(0, 64, 20)):
            pool = tj.LocalPool(threads=threads, task_frames=1)
            report = tj.apply(traj.select([0]), lambda y: y.sum(), frames=frames, pool=pool).report
            (message,) = (one for one in report.messages if "jumps" in one)
            assert "leads to frame 5 (atom 0)" in message


def test_reference_frame_has_the_jumps_of_the_run(system: PeriodicSystem) -> None:
    """A frame compared with itself has no deviation, whichever of the frames it is."""
    traj = system.open().whole().nojump()
    atoms = traj.all_atoms()
    true = traj.read().positions.astype(float)
    for reference in (0, 5, -1):
        rows = tj.rmsd(atoms, reference=reference, motion="none").values
        twin = np.sqrt(((true - true[reference]) ** 2).sum(2).mean(1))
        assert np.allclose(rows, twin, atol=1e-4)
        assert rows.max() > 10
    few = atoms.trajectory.select("resname HOH and index 70:80")
    far = tj.distances(few, reference=7, pbc=False).values
    assert np.abs(np.diagonal(far[7])).max() < 1e-4
    last = tj.rmsd(atoms, reference=9, frames=slice(3, 18, 6), motion="none")
    assert last.values[1] < 1e-4
    rmsf = tj.rmsf(atoms, align=atoms, reference=6).values
    by_default = tj.rmsf(atoms, align=atoms, reference="average", frames=slice(None, None, -1))
    assert rmsf.shape == by_default.values.shape
    # A reference before the chosen frames is the first frame from which jumps are counted.
    later = tj.rmsd(atoms, frames=slice(20, None), motion="none").values
    alone = traj.read(frames=[0, 20, 21, 22, 23]).positions.astype(float)
    twin = np.sqrt(((alone[1:] - alone[0]) ** 2).sum(2).mean(1))
    assert np.allclose(later, twin, atol=1e-4)
    with raises(ValueError):
        traj.fit("all", reference=4)
