"""Measure the memory of every analysis on a short and on a long trajectory; print it as JSON.

python -m helpers.flat_memory TOPOLOGY SHORT LONG [NAME ...]
"""

import ctypes
import json
import os
import struct
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import trajet as tj

# How many times as many frames the long trajectory has.
TIMES = 10
# Measurements of each; of the long trajectory fewer, if one of them is flat.
REPEATS = 3
# Memory of the system's allocator and of Python, bytes.
SLACK = 2**20
# Copies of a result while it is made: rows of the engine, values, and what is derived of them.
COPIES = 4
# An analysis that keeps all frames, by which tests know that growth is seen.
KEEPING = "apply, keeping frames"
# The bound of analyses that need all frames.
MAX_MEMORY = 2**22
# Two threads, whose tasks hold states at the same time.
POOL = tj.LocalPool(threads=2)

Compute = Callable[..., Any]


def analyses(traj: tj.Trajectory) -> dict[str, Compute]:
    """Return each analysis by name, and further ways to run some: after a comma."""
    calpha, atoms = traj.select("name CA"), traj.select("protein and resid 1:20")
    some, others = traj.select("protein and resid 1:10"), traj.select("resid 30:60")
    three = atoms.trajectory.select("protein and resid 1:3")
    neutral = traj.whole().select("resname LEU and resid 1:20")
    limit = {"max_memory": MAX_MEMORY}
    near = traj.select("name CA and around 8 resid 5", updating=True)
    # The matrix of all pairs, and the members of all frames, take about the limit.
    few = {"frames": slice(0, 480)}
    kept: list[np.ndarray] = []
    return {
        KEEPING: lambda **of: tj.apply(some, lambda x: kept.append(x.copy()) or 0.0, **of),
        "apply": lambda **of: tj.apply(some, lambda x: x.mean(axis=0), **of),
        "apply, reducer": lambda **of: tj.apply(
            some, lambda x: x.mean(axis=0), reducer=np.add, **of
        ),
        "center_distances": lambda **of: tj.center_distances([some, three], **of),
        "centers": lambda **of: tj.centers(three, **of),
        "cluster_rmsd": lambda **of: tj.cluster_rmsd(three, cutoff=1.0, **limit, **few | of),
        "cluster_rmsd, kcenters": lambda **of: tj.cluster_rmsd(
            three, method="kcenters", n_clusters=5, **limit, **few | of
        ),
        "conductivity": lambda **of: tj.conductivity(
            atoms, temperature=300, unwrapped=True, max_lag=10.0, **limit, **of
        ),
        "contact_map": lambda **of: tj.contact_map(atoms, **of),
        "contact_map, lifetimes": lambda **of: tj.contact_map(
            some, lifetimes=True, max_lag=10.0, **limit, **few | of
        ),
        "contacts": lambda **of: tj.contacts(some, others, **of),
        "coordination": lambda **of: tj.coordination(some, others, cutoff=5.0, **of),
        "correlation_map": lambda **of: tj.correlation_map(three, **limit, **of),
        "count": lambda **of: tj.count(atoms, **of),
        # A grid waits to be merged for each doubling of the frames: these grids are small.
        "density": lambda **of: tj.density(atoms, spacing=1.5, **of),
        "dielectric_constant": lambda **of: tj.dielectric_constant(neutral, temperature=300, **of),
        "dihedrals": lambda **of: tj.dihedrals(three, **of),
        "distances": lambda **of: tj.distances(three, **of),
        "dssp": lambda **of: tj.dssp(some, **of),
        "end_to_end": lambda **of: tj.end_to_end(some, **of),
        "gyration": lambda **of: tj.gyration(atoms, **of),
        "gyration_moments": lambda **of: tj.gyration_moments(atoms, **of),
        "hbonds": lambda **of: tj.hbonds(atoms, **limit, **of),
        "hbonds, lifetimes": lambda **of: tj.hbonds(
            some, lifetimes=True, max_lag=10.0, **limit, **of
        ),
        "interactions": lambda **of: tj.interactions(atoms, **limit, **of),
        "linear_density": lambda **of: tj.linear_density(atoms, **of),
        "min_distance": lambda **of: tj.min_distance(some, others, **of),
        "msd": lambda **of: tj.msd(atoms, unwrapped=True, max_lag=10.0, **limit, **of),
        "native_contacts": lambda **of: tj.native_contacts(atoms, **of),
        "pairwise_rmsd": lambda **of: tj.pairwise_rmsd(three, **limit, **few | of),
        "pca": lambda **of: tj.pca(three, **limit, **of),
        "rdf": lambda **of: tj.rdf(some, others, **of),
        "rdf_pairs": lambda **of: tj.rdf_pairs([(some, others), (some, some)], **of),
        "rmsd": lambda **of: tj.rmsd(calpha, **of),
        "rmsd, average": lambda **of: tj.rmsd(atoms, reference="average", **of),
        "rmsf": lambda **of: tj.rmsf(atoms, align=calpha, reference="average", **of),
        "run": lambda **of: tj.run(
            [tj.rmsd.job(calpha), tj.pca.job(three, **limit), tj.density.job(atoms)], **of
        ),
        "sasa": lambda **of: tj.sasa(three, points=64, **of),
        "survival": lambda **of: tj.survival(near, max_lag=10.0, **limit, **few | of),
    }


def make(folder: Path, xtc: Path, frames: int) -> list[Path]:
    """Write a short and a long trajectory of ADK in a box, with times that go on."""
    paths = [folder / f"{n_frames}.xtc" for n_frames in (frames, TIMES * frames)]
    data, offsets = xtc.read_bytes(), tj.open(None, xtc).source.reader.offsets().tolist()
    parts = [bytearray(data[a:b]) for a, b in pairwise([*offsets, len(data)])]
    box = (np.eye(3) * 8).astype(">f4").tobytes()
    for path, n_frames in zip(paths, (frames, TIMES * frames), strict=True):
        with path.open("wb") as file:
            for k in range(n_frames):
                frame = parts[k % len(parts)]
                # Behind the magic number and the number of atoms.
                frame[8:52] = struct.pack(">if", k, k) + box
                file.write(frame)
    return paths


def status(name: str) -> int:
    """Return a number of `/proc/self/status`, bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) * 1024


def arrays_of(result: object) -> Iterator[np.ndarray]:
    """Iterate over the arrays of a result, and of results in it."""
    if isinstance(result, np.ndarray):
        yield result
    elif isinstance(result, (list, tuple)):
        for one in result:
            yield from arrays_of(one)
    elif is_dataclass(result):
        for one in fields(result):
            yield from arrays_of(getattr(result, one.name))


def measured(compute: Compute) -> tuple[int, int]:
    """Return the peak memory of a call, and the size of its arrays, bytes, in a process of its own.

    The process is forked: its memory is that of this one, and none is kept from calls before.
    """
    reader, writer = os.pipe()
    if child := os.fork():
        os.close(writer)
        with os.fdopen(reader) as answer:
            text = answer.read()
        os.waitpid(child, 0)
        peak, size = json.loads(text)
        return peak, size
    try:
        # Libraries count as memory once they are used.
        compute(frames=slice(0, 20), pool=POOL)
        # Freed memory would be used again without being counted.
        ctypes.CDLL(None).malloc_trim(0)
        # The peak of a forked process begins as the memory of the other; 5 resets it.
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        result = compute(pool=POOL)
        sizes = {id(array): array.nbytes for array in arrays_of(result)}
        os.write(writer, json.dumps([status("VmHWM") - before, sum(sizes.values())]).encode())
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def is_flat(short: Sequence[int], long: Sequence[int]) -> bool:
    """Return whether memory grows by at most a tenth and the result; each is (peak, result)."""
    return long[0] <= 1.1 * short[0] + COPIES * (long[1] - short[1]) + SLACK


def measured_until_flat(compute: Compute, short: tuple[int, int]) -> tuple[int, int]:
    """Return the least of `REPEATS` measurements, or the first that is flat."""
    found: list[tuple[int, int]] = []
    while len(found) < REPEATS and not (found and is_flat(short, min(found))):
        found.append(measured(compute))
    return min(found)


def main(topology: str, paths: list[str], names: list[str]) -> None:
    """Print the peaks and sizes of analyses, all or these, on both trajectories."""
    tables = [analyses(tj.open(topology, path)) for path in paths]
    found = {}
    for name in names or tables[0]:
        # Modules are imported, and what is kept of the topology is made.
        for table in tables:
            table[name](frames=slice(0, 20), pool=POOL)
        # A thread that the system holds up lets the results of the others wait: the least counts.
        short = min(measured(tables[0][name]) for _ in range(REPEATS))
        found[name] = [short, measured_until_flat(tables[1][name], short)]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:4], sys.argv[4:])
