"""Every instruction set of this processor gives the same bits, from the file to the result."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers import trr_bytes, xtc_bytes
from helpers.commands import python
from helpers.made_coordinates import MADE
from helpers.systems import Systems
from trajet import _trajet

VARIABLE = "TRAJET_INSTRUCTION_SET"


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with one instruction set."""
    return python(*arguments, env={**os.environ, VARIABLE: name}, code=None)


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
        done = run(name, "-m", "helpers.bits_of_results", *map(str, files))
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stderr == ""
        chosen, *digests = done.stdout.splitlines()
        assert chosen == name
        assert len(digests) > 500
        printed[name] = digests
    for name, digests in printed.items():
        assert digests == printed["scalar"], name


def test_every_analysis_has_the_same_bits_on_every_instruction_set(tmp_path: Path) -> None:
    """With a topology, all arrays of all results."""
    found = []
    for name in _trajet.INSTRUCTION_SETS:
        path = tmp_path / f"{name}.npz"
        done = run(name, "-m", "helpers.numbers_of_analyses", str(path))
        assert done.returncode == 0, done.stderr[-2000:]
        with np.load(path) as arrays:
            found.append({key: arrays[key].tobytes() for key in arrays.files})
    analyses = {key.split(" ")[0] for key in found[0]}
    assert analyses == set(tj.ANALYSES) - {"apply"}
    assert all(other == found[0] for other in found)


def test_widest_set_is_the_default() -> None:
    """It is one of the sets that the package lists."""
    assert _trajet.INSTRUCTION_SETS[0] == "scalar"
    assert len(set(_trajet.INSTRUCTION_SETS)) == len(_trajet.INSTRUCTION_SETS)
    plainly = {name: value for name, value in os.environ.items() if name != VARIABLE}
    code = "from trajet import _trajet; print(_trajet.INSTRUCTION_SET)"
    done = python("-c", code, env=plainly)
    assert done.stdout.strip() == _trajet.INSTRUCTION_SETS[-1]


@pytest.mark.parametrize("name", ["sse9", "AVX2", "scalar,avx2", " "])
def test_unknown_instruction_set_is_an_error(name: str) -> None:
    """Another name is an ImportError that lists the sets of this processor."""
    done = run(name, "-c", "import trajet")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert name in last
    for known in _trajet.INSTRUCTION_SETS:
        assert known in last
