"""GROMACS reads our files: `make test-gromacs`, if `gmx` is installed.

pytest does not collect this file by itself: the gate needs no GROMACS.
"""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import FORMATS
from helpers.made_stores import make_store
from helpers.mounted_stores import mounted
from helpers.round_trips import SOURCES, assert_near, source_of

# GROMACS prints six digits, nm.
PRINTED = 5.1e-6
GMX_FILES = {**FORMATS["XTC"].files(), **FORMATS["TRR"].files()}


def gmx(*words: object) -> tuple[str, str]:
    """Run GROMACS; return its output on both streams."""
    program = shutil.which("gmx")
    assert program, "there is no gmx: install GROMACS (apt-get install gromacs) for these tests"
    command = [program, "-quiet", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def counted(path: Path) -> dict[str, int]:
    """Return the number of frames with each part; `gmx check` must find nothing odd."""
    messages = gmx("check", "-f", path)[1]
    assert not re.search("warning|error|incomplete|corrupt", messages, re.IGNORECASE), messages
    return {
        name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)(?: +\S+)?$", messages, re.MULTILINE)
    }


def dumped(path: Path) -> dict[str, np.ndarray]:
    """Return the box, x, v and f of every frame, as `gmx dump` prints them."""
    vectors: dict[str, list[str]] = {}
    frames = 0
    for line in gmx("dump", "-f", path)[0].splitlines():
        frames += " frame " in line
        if found := re.match(r" +(box|x|v|f)\[ *\d+\]=\{(.*)\}$", line):
            vectors.setdefault(found[1], []).append(found[2])
    numbers = {name: np.loadtxt(rows, delimiter=",") for name, rows in vectors.items()}
    return {name: rows.reshape(frames, -1, 3) for name, rows in numbers.items()}


def assert_printed(printed: np.ndarray, numbers: np.ndarray) -> None:
    """Compare printed numbers with numbers of the same units."""
    assert printed.shape == numbers.shape
    assert (np.abs(printed - numbers) <= PRINTED * np.abs(numbers) + 1e-30).all()


@pytest.mark.parametrize("target", [".xtc", ".trr"])
@pytest.mark.parametrize("source", SOURCES)
def test_gromacs_reads_conversions_of_any_format(source: str, target: str, tmp_path: Path) -> None:
    """GROMACS finds all frames and reads the numbers that we read."""
    original = source_of(source, tmp_path)
    path = tmp_path / f"copy{target}"
    tj.convert(original, path, allow_loss=True)
    counts, printed = counted(path), dumped(path)
    copy = tj.open(None, path, sidecar=False)
    names = {"x": "positions"}
    if target == ".trr" and source in (".trr", ".h5md"):
        names |= {"v": "velocities", "f": "forces"}
    block = copy.read(velocities="v" in names, forces="f" in names)
    assert counts["Step"] == counts["Time"] == counts["Coords"] == original.n_frames
    assert counts["Velocities"] == counts["Forces"] == original.n_frames * ("v" in names)
    assert set(printed) - {"box"} == set(names)
    for symbol, name in names.items():
        # Forces have an inverse length in their unit.
        scale = 0.1 if symbol != "f" else 10.0
        assert_printed(printed[symbol], getattr(block, name).astype(np.float64) * scale)
    lengths = np.linalg.norm(printed["box"], axis=2) if "box" in printed else None
    if np.isnan(block.cells).any():
        assert lengths is None or not lengths.any()
    else:
        assert np.allclose(lengths * 10, block.cells[:, :3], rtol=2 * PRINTED)
    assert_near(block.positions, original.read().positions, source, target)


@pytest.mark.parametrize("name", sorted(GMX_FILES))
def test_gromacs_finds_no_difference_in_copies(name: str, tmp_path: Path) -> None:
    """`gmx check` compares published files with their copies."""
    copy = tmp_path / name
    tj.convert(tj.open(None, GMX_FILES[name], sidecar=False), copy)
    output, messages = gmx("check", "-f", copy, "-f2", GMX_FILES[name], "-tol", 0, "-abstol", 0)
    assert output.strip() == "Both files read correctly"
    assert re.search(r"frame +0 +time", messages)


@pytest.mark.parametrize("ending", ["xtc", "trr"])
def test_gromacs_joins_segments(ending: str, tmp_path: Path) -> None:
    """The numbers are those before the split."""
    whole = tj.open(None, SOURCES[f".{ending}"], sidecar=False)
    parts = tj.split(whole, tmp_path, segments=3)
    joined = tmp_path / f"joined.{ending}"
    gmx("trjcat", "-f", *(part.path for part in parts), "-o", joined)
    again = tj.open(None, joined, sidecar=False).read()
    assert np.array_equal(again.positions, whole.read().positions)
    assert np.array_equal(again.times, whole.times)


def test_gromacs_reads_a_mounted_store(tmp_path: Path) -> None:
    """GROMACS finds nothing odd in files that are generated as it reads, and no difference."""
    wet = make_store(tmp_path)
    with mounted(wet.store.folder, tmp_path / "shown") as shown:
        for name in ("wet", "wet@protein", "wet@ion", "wet@water"):
            assert counted(shown / f"{name}.xtc")["Coords"] == 10
        output, _ = gmx("check", "-f", shown / "wet.xtc", "-f2", wet.xtc, "-tol", 0, "-abstol", 0)
        assert output.strip() == "Both files read correctly"
        assert counted(shown / "wet.xtc") == counted(wet.xtc)
        assert shown.end() == (0, "")
