"""Every instruction set of this processor gives the same bits, from the file to the result."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import plain_geometry as plain
from helpers import trr_bytes, xtc_bytes
from helpers.made_coordinates import MADE
from helpers.systems import Systems
from trajet import _trajet

VARIABLE = "TRAJET_INSTRUCTION_SET"

# Runs in a process of its own: the instruction set is chosen once, when the module is loaded.
EVERYTHING = """
import hashlib, sys
from pathlib import Path
import numpy as np
import trajet as tj
from trajet import _trajet
from helpers.analysis_laws import plain_analyses, without_topology
from helpers.extent import IS_LONG

def show(what, values):
    # There are no angles on a line or in a point.
    assert values.size > 0 and (np.isfinite(values).any() or what.startswith(("line", "one-")))
    print(what, values.shape, hashlib.sha256(values.tobytes()).hexdigest())

print(_trajet.INSTRUCTION_SET)
rng = np.random.default_rng(51)
for number, path in enumerate(map(Path, sys.argv[1:])):
    traj = tj.open(None, path)
    n = traj.n_atoms
    show(f"{path.name} all", traj.read(frames=slice(0, 60)).positions)
    if n < 12:
        continue
    sizes = (12, min(n, 333))
    if path.name.startswith(("precision-", "product-")):
        continue
    if path.parent.name == "made":
        if number % 3 and not IS_LONG:
            continue
        sizes = sizes[number % 2 :][:1]
    for size in sizes:
        atoms = traj.select(rng.permutation(n)[:size])
        core = traj.select(np.sort(rng.choice(n, size - 5, replace=False)))
        fours = np.array([rng.choice(n, 4, replace=False) for _ in range(size)])
        weights = rng.uniform(1, 20, size)
        name = f"{path.name} {size}"
        show(f"{name} positions", atoms.read().positions)
        if np.isfinite(cells := traj.read(atoms=[0]).cells).any():
            show(f"{name} cells", cells)
        show(f"{name} rmsd", tj.rmsd(atoms).values)
        show(f"{name} rmsd weights", tj.rmsd(atoms, weights=weights, groups=[core]).values)
        show(f"{name} rmsd average", tj.rmsd(atoms, reference="average").values)
        show(f"{name} rmsd centre", tj.rmsd(atoms, motion="translation").values)
        show(f"{name} rmsf", tj.rmsf(atoms).values)
        show(f"{name} rmsf aligned", tj.rmsf(atoms, align=core).values)
        show(f"{name} rmsf average", tj.rmsf(atoms, align=core, reference="average").values)
        radii = rng.uniform(0, 3, n)
        for by in ("total", "atom"):
            show(f"{name} sasa", tj.sasa(atoms, by=by, radii=radii, frames=[0, 1, -1]).values)
        for function in plain_analyses():
            values = function(atoms, **without_topology(function)).values
            show(f"{name} {function.__name__}", values)
        for pbc in (True, False):
            show(f"{name} angles", tj.dihedrals(traj, fours, pbc=pbc).values)
            show(f"{name} features", tj.dihedrals(traj, fours, sin_cos=True, pbc=pbc).values)
            show(f"{name} within", tj.distances(traj.select(atoms.indices[:40]), pbc=pbc).values)
            show(f"{name} between", tj.distances(traj.select(fours[:9, 0]), atoms, pbc=pbc).values)
            near = tj.min_distance(atoms, core, cutoff=5.0, pbc=False)
            show(f"{name} nearest", np.column_stack([near.values, near.pairs, near.contacts]))
            show(f"{name} nearest", tj.min_distance(atoms, pbc=pbc).values)
            q = tj.native_contacts(atoms, cutoff=1e7, pbc=False)
            show(f"{name} native", q.values)
            show(f"{name} reference", tj.distances(traj.select([1, 7, 4]), reference=0).values)
"""


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with one instruction set."""
    return subprocess.run(
        [sys.executable, "-c", *arguments],
        env={**os.environ, VARIABLE: name},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def files(systems: Systems, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return XTC, TRR and DCD of real and made systems, with cells of every kind and with none."""
    folder = tmp_path_factory.mktemp("sets")
    (folder / "made").mkdir()
    rng = np.random.default_rng(52)
    paths = [
        systems[name].path for name in ("adk.xtc", "skewed.dcd", "cobrotoxin.trr", "solvated.xtc")
    ]
    for made in MADE:
        path = folder / "made" / f"{made.name}.xtc"
        paths.append(xtc_bytes.write_xtc(path, made.coordinates(), precision=made.precision))
    for name in ("cube", "skewed", "octahedron"):
        basis = plain.cell_vectors(np.array(plain.CELLS[name], float)) / 10
        x = rng.uniform(-9, 9, (20, 100, 3))
        path = folder / f"cell-{name}.trr"
        paths.append(trr_bytes.write_trr(path, x, boxes=[basis] * 20, double=name == "cube"))
    return paths


def test_same_bits_on_every_instruction_set(files: list[Path]) -> None:
    """Positions, RMSD, RMSF, angles and distances of every file have the same digests.

    Analyses take 12 and 333 atoms of real systems and of those with cells, and one of these numbers
    of every third file that is made for the decoder of XTC, in long tests of all; those whose
    numbers of bits alone differ are decoded only.
    """
    printed = {}
    for name in _trajet.INSTRUCTION_SETS:
        done = run(name, EVERYTHING, *map(str, files))
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stderr == ""
        chosen, *digests = done.stdout.splitlines()
        assert chosen == name
        assert len(digests) > 500
        printed[name] = digests
    for name, digests in printed.items():
        assert digests == printed["scalar"], name


def test_widest_set_is_the_default() -> None:
    """It is one of the sets that the package lists."""
    assert _trajet.INSTRUCTION_SETS[0] == "scalar"
    assert len(set(_trajet.INSTRUCTION_SETS)) == len(_trajet.INSTRUCTION_SETS)
    plainly = {name: value for name, value in os.environ.items() if name != VARIABLE}
    code = "from trajet import _trajet; print(_trajet.INSTRUCTION_SET)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=plainly, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == _trajet.INSTRUCTION_SETS[-1]


@pytest.mark.parametrize("name", ["sse9", "AVX2", "scalar,avx2", " "])
def test_unknown_instruction_set_is_an_error(name: str) -> None:
    """Another name is an ImportError that lists the sets of this processor."""
    done = run(name, "import trajet")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert name in last
    for known in _trajet.INSTRUCTION_SETS:
        assert known in last
