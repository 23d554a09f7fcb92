"""Laws of every pool: results have the bits of one thread."""

import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import trajet as tj
from trajet.pools.jobs import do_job

from helpers.analysis_laws import plain_analyses, without_topology

Compute = Callable[[tj.Pool], np.ndarray]

# One of each shape: rows, two passes, wide rows, a histogram, all frames in memory, states of
# different lengths, Python functions, several in one pass.
SHAPES = (
    *("rmsd", "rmsd, average", "distances", "density", "pairwise_rmsd", "hbonds", "msd"),
    *("apply", "reduced, updating", "joint", "some frames", "no frame"),
)
# For options of a pool of which each two have every shape between them.
HALVES = (SHAPES[::2], SHAPES[1::2])


def analyses(traj: tj.Trajectory, names: Collection[str] | None = None) -> dict[str, Compute]:
    """Return every analysis, or those of some names that the trajectory has what they need for."""
    found = _analyses(traj)
    return found if names is None else {name: found[name] for name in names if name in found}


def _analyses(traj: tj.Trajectory) -> dict[str, Compute]:
    atoms = traj.select(np.arange(0, traj.n_atoms, max(1, traj.n_atoms // 60)))
    others = traj.select(np.arange(1, traj.n_atoms, max(1, traj.n_atoms // 40)))
    fours = atoms.indices[: len(atoms.indices) // 4 * 4].reshape(-1, 4)
    found: dict[str, Compute] = {
        "rmsd": lambda pool: tj.rmsd(atoms, groups=[others], pool=pool).values,
        "rmsd, average": lambda pool: tj.rmsd(atoms, reference="average", pool=pool).values,
        "rmsf": lambda pool: tj.rmsf(atoms, align=others, reference="average", pool=pool).values,
        "features": lambda pool: tj.dihedrals(traj, fours, sin_cos=True, pool=pool).values,
        "distances": lambda pool: tj.distances(atoms, others, pool=pool).values,
        "centers": lambda pool: (
            tj.center_distances([atoms, others, atoms & others], weights="equal", pool=pool).values
        ),
        "contacts": lambda pool: tj.contacts(atoms, others, cutoff=7.0, pool=pool).values,
        "nearest pair": lambda pool: tj.min_distance(atoms, others, pool=pool).pairs,
        "pairwise_rmsd": lambda pool: tj.pairwise_rmsd(atoms, pool=pool).values,
        "cluster_rmsd": lambda pool: tj.cluster_rmsd(atoms, cutoff=1.5, pool=pool).labels,
        "kcenters": lambda pool: (
            tj.cluster_rmsd(atoms, method="kcenters", n_clusters=4, pool=pool).radii
        ),
        "pca": lambda pool: tj.pca(atoms, align=others, pool=pool).projections,
        "density": lambda pool: tj.density(atoms, spacing=9.0, pool=pool).values,
        "sasa": lambda pool: (
            tj.sasa(
                atoms,
                context=others,
                radii=np.full(traj.source.index.n_topology_atoms, 1.7),
                points=64,
                by="atom",
                pool=pool,
            ).values
        ),
        "contact map": lambda pool: (
            tj.contact_map(atoms, others, by="atom", cutoff=7.0, pool=pool).values
        ),
        "coordination": lambda pool: (
            tj.coordination(atoms, others, cutoff=5.0, outer_cutoff=7.0, pool=pool).values
        ),
        "correlation map": lambda pool: tj.correlation_map(atoms, pool=pool).values,
        # Within half of the cells of made files.
        "native contacts": lambda pool: (
            tj.native_contacts(atoms, cutoff=15.0, factor=1.2, pool=pool).values
        ),
        "apply": lambda pool: tj.apply(atoms, lambda x: x.std(axis=0), pool=pool).values,
        # The positions are read twice, for some atoms at a time; later times repeat the first.
        "msd": lambda pool: (
            tj.msd(atoms, unwrapped=True, max_memory=130_000, frames=slice(0, 90), pool=pool).groups
        ),
        "some frames": lambda pool: tj.rmsd(atoms, frames=[5, 1, 1, 7, 0], pool=pool).values,
        "no frame": lambda pool: tj.rmsd(atoms, frames=[], pool=pool).values,
    }
    found["joint"] = partial(_jointly, [atoms, others, fours])
    if traj.has_topology:
        near = traj.select("byres around 6 index 20", updating=True)
        found["count, updating"] = lambda pool: tj.count(near, pool=pool).values
        found["contacts, updating"] = lambda pool: tj.contacts(near, atoms, pool=pool).values
        found["density, updating"] = lambda pool: (
            tj.density(near, grid_center=[0, 0, 0], grid_size=90.0, spacing=9.0, pool=pool).values
        )
        found["apply, updating"] = lambda pool: (
            tj.apply(near, lambda x, atoms: [x.sum(), atoms.sum()], indices=True, pool=pool).values
        )
        found["reduced, updating"] = lambda pool: (
            tj.apply(near, lambda x: x.sum(axis=0), reducer=np.add, pool=pool).values
        )
    for function in plain_analyses():
        found[function.__name__] = partial(_values, function, atoms, without_topology(function))
    names = set(traj.topology.column("names")) if traj.has_topology else set()
    has_protein = names >= {"N", "CA", "C", "O"}
    if has_protein:
        found["dssp"] = lambda pool: tj.dssp(traj.all_atoms(), pool=pool).codes
    if np.isfinite(traj.read(atoms=[0]).cells).all():
        found["linear_density"] = lambda pool: (
            tj.linear_density([atoms, others], quantity="number", bins=9, pool=pool).values
        )
        found["rdf_pairs"] = lambda pool: (
            tj.rdf_pairs([(atoms, others), (atoms, atoms)], range=(0.0, 8.0), pool=pool).g
        )
        found["rdf"] = lambda pool: tj.rdf(atoms, others, range=(0.0, 8.0), pool=pool).g
    if has_protein:
        found["hbonds"] = lambda pool: _hydrogen_bonds(traj, pool)
    return found


def _jointly(chosen: list[Any], pool: tj.Pool) -> np.ndarray:
    """Return the values of analyses of one and of two passes that share their passes."""
    atoms, others, fours = chosen
    results = tj.run(
        [
            tj.rmsd.job(atoms, reference="average"),
            tj.rmsf.job(atoms, align=others),
            tj.apply.job(others, lambda x: x.std(axis=0)),
            tj.dihedrals.job(atoms.trajectory, fours),
            tj.rmsd.job(others),
            # Arrays without numbers: one atom has no pair.
            tj.distances.job(others.trajectory.select([0])),
            tj.distances.job(others.trajectory.select([1])),
        ],
        pool=pool,
    )
    return np.concatenate([result.values.ravel() for result in results])


def _hydrogen_bonds(traj: tj.Trajectory, pool: tj.Pool) -> np.ndarray:
    """Return the numbers of a run whose states have different lengths."""
    found = tj.hbonds(traj, list_bonds=True, frames=slice(3, None, 9), pool=pool)
    assert found.bonds is not None
    pairs = (found.pairs.members.ravel(), found.pairs.counts)
    return np.concatenate([found.values, *pairs, found.bonds.distances, found.bonds.angles])


def _values(
    function: Callable[..., tj.Table],
    atoms: tj.Selection,
    options: Mapping[str, object],
    pool: tj.Pool,
) -> np.ndarray:
    return function(atoms, pool=pool, **options).values


def assert_same_bits(
    pool: tj.Pool, traj: tj.Trajectory, names: Collection[str] | None = None
) -> None:
    """Assert that analyses have the bits that they have on one thread of this process."""
    for name, compute in analyses(traj, names).items():
        here, there = compute(tj.LocalPool(threads=1)), compute(pool)
        assert here.shape == there.shape, name
        assert here.size > 0 or name == "no frame"
        assert here.tobytes() == there.tobytes(), name


def segments(source: Path, folder: Path, n: int) -> list[Path]:
    """Divide a trajectory into files of their own."""
    tj.split(tj.open(None, source), folder, segments=n)
    return sorted(folder.iterdir())


# Whole frames, other formats, some atoms; a number of frames per file unlike that of the source.
DIVISIONS: dict[str, dict[str, Any]] = {
    "xtc": {"segments": 7},
    "trr": {"frames_per_segment": 150, "format": "trr"},
    "dcd": {"segments": 3, "format": "dcd", "allow_loss": True},
    "nc": {"segments": 2, "format": "nc", "allow_loss": True},
    # The steps of a longer segment go back.
    "h5md": {"frames_per_segment": 98, "format": "h5md", "compression": 1},
}


class PoolOfThisProcess:
    """A pool whose worker gets only the bytes that a worker process gets, the last job first."""

    kind: ClassVar[str] = "here"
    n_threads = 2

    def do_jobs(self, brief: Any, jobs: Sequence[Any], progress: Any = None) -> list[Any]:
        """Do jobs one after the other."""
        worker = pickle.loads(pickle.dumps(brief)).begin()
        answers = []
        for k, job in reversed(list(enumerate(jobs))):
            sent = pickle.loads(pickle.dumps(job))
            answer = pickle.loads(pickle.dumps(do_job(worker, sent, 1, lambda _: None)))
            answers.append(answer.by(worker=k))
        return answers[::-1]


def divisions(
    traj: tj.Trajectory, folder: Path, pool: tj.Pool | None = None
) -> dict[str, list[tj.Conversion]]:
    """Divide a trajectory in every way, each into a folder of its name."""
    subjects = {name: traj for name in DIVISIONS} | {"nc": traj.select(range(0, 900, 7))}
    return {
        name: tj.split(subjects[name], folder / name, pool=pool, **options)
        for name, options in DIVISIONS.items()
    }


# Endings, and options: all atoms or some, all frames or some, in files of one pass.
CONVERSIONS: dict[str, dict[str, Any]] = {
    "all.xtc": {},
    "coarse.xtc": {"precision": 100},
    "some.trr": {"frames": slice(900, None, -7), "double": True},
    "all.dcd": {},
    "few.nc": {"frames": [5, 3, 3, 97]},
    "packed.h5md": {"frames": slice(0, 98), "compression": 1},
    "some.h5md": {"frames": slice(0, 98, 3)},
}


def conversions(
    traj: tj.Trajectory, folder: Path, pool: tj.Pool | None = None
) -> dict[str, tj.Conversion]:
    """Convert a trajectory in every way, each into a file of its name."""
    atoms = traj.select(range(0, 900, 7))
    return {
        name: tj.convert(
            atoms if name[0] in "sf" else traj, folder / name, allow_loss=True, pool=pool, **options
        )
        for name, options in CONVERSIONS.items()
    }


def hdf5_copies(sources: Path, folder: Path, pool: tj.Pool | None = None) -> None:
    """Convert trajectories to H5MD: small and large frames, some of them, velocities and forces."""
    adk, vectors, bits = (
        tj.open(None, sources / name, sidecar=False, pool=pool)
        for name in ("adk.xtc", "vectors.trr", "bits.dcd")
    )
    for name, source, options in (
        ("plain.h5md", adk, {}),
        ("packed.h5md", adk, {"compression": 2}),
        ("atoms.h5md", adk.select(range(5, 3000, 2)), {}),
        ("frames.h5md", adk.select(range(9)), {"frames": slice(1, 98, 3), "compression": 5}),
        ("one.h5md", adk, {"frames": [3]}),
        ("vectors.h5md", vectors, {"compression": 1, "allow_loss": True}),
        ("bits.h5md", bits, {"compression": 9}),
    ):
        tj.convert(source, folder / name, pool=pool, **options)


def assert_same_conversions(there: Path, here: Path) -> None:
    """Assert that two folders hold the same outputs; see `assert_same_files`."""
    for folder in (there, here):
        assert sorted(path.name for path in folder.iterdir()) == sorted(CONVERSIONS)
    assert_same_files(there, here)


def assert_same_files(there: Path, here: Path) -> None:
    """Assert that two folders hold the same files, byte for byte, and no others.

    Of HDF5 every group, dataset and attribute is compared, with its type and how it is stored: the
    library does not always give them the same positions in a file.
    """
    # Ranks import this module and are tested to load no h5py.
    from helpers.made_hdf5 import content_of, tables_of

    names = [sorted(str(p.relative_to(own)) for p in own.rglob("*")) for own in (there, here)]
    assert names[0] == names[1]
    for name in names[0]:
        one, other = there / name, here / name
        if name.endswith(".h5md"):
            assert content_of(one) == content_of(other), name
            assert tables_of(one) == tables_of(other), name
        else:
            assert one.is_dir() or one.read_bytes() == other.read_bytes(), name
