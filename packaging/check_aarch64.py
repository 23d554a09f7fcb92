"""Run a wheel for aarch64 under qemu, on any Debian: its numbers must be those of this processor.

    .venv/bin/python packaging/check_aarch64.py dist/trajet-*aarch64.whl

Decoded frames and analyses are compared bit for bit with the package that is installed here, in
files of all formats without a topology, and every analysis with one. Numbers in which NumPy rounds
as the processor suits it (`ROUNDED`) may differ by `LARGEST_DIFFERENCE`. A table has all that was
compared.

Python comes from Debian's packages for arm64, which are unpacked and not installed; other packages
come as wheels. Both are kept in `target/aarch64`. Pools are threads: qemu runs the one process that
it is given.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import trajet as tj
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
HELPERS = ROOT / "tests"
sys.path.insert(0, str(HELPERS))

from helpers import xtc_bytes  # noqa: E402
from helpers.made_coordinates import MADE  # noqa: E402

KEPT = ROOT / "target" / "aarch64"
SYSTEM, SITE = KEPT / "system", KEPT / "site"
# Packages of Debian for arm64: Python, and what the wheels of other packages load.
DEBIAN = ("python3:arm64", "libstdc++6:arm64")
# What newer wheels of NumPy and matplotlib call the systems that they run on.
PLATFORMS = [f"manylinux_2_{minor}_aarch64" for minor in (17, 26, 27, 28)]
PYTHON = SYSTEM / "usr/bin/python3"
QEMU = ["qemu-aarch64", "-L", SYSTEM, PYTHON]
# The formats to which the samples are converted.
ENDINGS = (".trr", ".dcd", ".nc")
# Attributes and results that come from NumPy's Fourier transforms, exponentials and logarithms,
# and from LAPACK.
ROUNDED = (
    *("standard_errors", "half_widths", "msd values", "msd groups"),
    *("pca variances", "pca components", "pca projections"),
)
# Relative to the largest number of an array.
LARGEST_DIFFERENCE = 1e-13


def main() -> None:
    """Check the wheel that the command line names."""
    (wheel,) = sys.argv[1:]
    unpack_python()
    unpack_packages(Path(wheel).resolve())
    compare_digests()
    compare_numbers()
    subprocess.run(
        [*QEMU, "-m", "trajet", "demo"],
        check=True,
        cwd=KEPT,
        env={**os.environ, "PYTHONPATH": str(SITE)},
    )


def compare_digests() -> None:
    """Compare frames and analyses of all files, and print how many there are of each."""
    here, there = on_both("helpers.bits_of_results", *files())
    different = [a for a, b in zip(here[1:], there[1:], strict=True) if a != b]
    if different:
        sys.exit("\n".join(["other bits on aarch64:", *different]))
    kinds = Counter(kind_of(line) for line in here[1:])
    print("digests of files without a topology, all the same:")
    for kind, count in sorted(kinds.items()):
        print(f"  {count:5}  {kind}")
    print(f"  {kinds.total():5}  in all ({there[0]} on aarch64, {here[0]} here)", flush=True)


def kind_of(line: str) -> str:
    """Return what a digest is of: frames of a format, or an analysis."""
    name, size, *rest = line.partition(" (")[0].split(" ")
    return f"frames of {Path(name).suffix}" if size == "all" else " ".join(rest)


def compare_numbers() -> None:
    """Compare all analyses of a sample with its topology, and print what was compared."""
    paths = [KEPT / "here.npz", KEPT / "there.npz"]
    on_both("helpers.numbers_of_analyses", *paths, together=False)
    with np.load(paths[0]) as here, np.load(paths[1]) as there:
        if here.files != there.files:
            sys.exit(f"other results on aarch64: {set(here.files) ^ set(there.files)}")
        print("analyses with a topology:")
        wrong = []
        for name in here.files:
            difference = difference_of(here[name], there[name])
            is_right = difference <= (LARGEST_DIFFERENCE if name.endswith(ROUNDED) else 0)
            wrong += [] if is_right else [name]
            told = f"differs by {difference:.1e} of the largest" if difference else "the same bits"
            print(f"  {name} {here[name].shape}: {told}")
        if wrong:
            sys.exit(f"other numbers on aarch64: {', '.join(wrong)}")


def difference_of(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the largest difference relative to the largest number; 0 for the same bits."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return np.inf
    if one.tobytes() == other.tobytes():
        return 0.0
    is_number = np.isfinite(one)
    if not np.array_equal(one[~is_number], other[~is_number], equal_nan=True):
        return np.inf
    return float(np.abs(one - other)[is_number].max() / np.abs(one[is_number]).max())


def files() -> list[Path]:
    """Return the samples, in every format, and files that are made for the decoder of XTC."""
    found = [path for make in tj.samples.ALL for path in make().files if path.suffix == ".xtc"]
    made = KEPT / "made"
    made.mkdir(exist_ok=True)
    for path in found[:3]:
        for ending in ENDINGS:
            found.append(made.with_name(path.stem + ending))
            tj.convert(tj.open(None, path), found[-1], force=True, allow_loss=True)
    for one in MADE:
        if one.name.startswith(("one-", "line")):
            # Angles in a point or on a line are NaN, whose sign differs between processors.
            continue
        path = made / f"{one.name}.xtc"
        found.append(xtc_bytes.write_xtc(path, one.coordinates(), precision=one.precision))
    return found


def unpack_python() -> None:
    """Unpack Debian's Python for arm64, with all that it depends on."""
    if SYSTEM.exists():
        return
    packages, own = KEPT / "packages", KEPT / "system.part"
    packages.mkdir(parents=True, exist_ok=True)
    weak = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    depends = ["apt-cache", "depends", "--recurse", *(f"--no-{kind}" for kind in weak), *DEBIAN]
    # Packages begin a line, others than those for arm64 are only needed to install them.
    names = {line for line in printed(depends, {}) if re.fullmatch(r"\S+:arm64", line)}
    subprocess.run(["apt-get", "download", "--quiet", *sorted(names)], check=True, cwd=packages)
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg", "--extract", package, own], check=True)
    own.rename(SYSTEM)


def unpack_packages(wheel: Path) -> None:
    """Unpack the wheel, and those of the packages that it and the tests' helpers need."""
    version = os.readlink(PYTHON).removeprefix("python")
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"),
            *("--target", SITE, "--only-binary=:all:", f"--python-version={version}"),
            *(f"--platform={name}" for name in PLATFORMS),
            *(wheel, f"numpy=={np.__version__}", "pytest"),
        ],
        check=True,
    )


def on_both(module: str, *arguments: Path, together: bool = True) -> tuple[list[str], list[str]]:
    """Return what a module prints here and on aarch64, with all arguments, or with one each."""
    ours, theirs = (arguments, arguments) if together else (arguments[:1], arguments[1:])
    here = printed([sys.executable, "-m", module, *ours], {"PYTHONPATH": str(HELPERS)})
    path = f"{SITE}{os.pathsep}{HELPERS}"
    return here, printed([*QEMU, "-m", module, *theirs], {"PYTHONPATH": path})


def printed(command: list[str | Path], variables: dict[str, str]) -> list[str]:
    """Return the lines that a command prints."""
    done = subprocess.run(
        command, check=True, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.splitlines()


if __name__ == "__main__":
    os.environ.pop("TRAJET_INSTRUCTION_SET", None)
    main()
