"""Run a wheel for aarch64 under qemu, on any Debian: its numbers must be those of this processor.

    .venv/bin/python packaging/check_aarch64.py dist/trajet-*aarch64.whl

Decoded frames and analyses are compared bit for bit with the package that is installed here. Python
comes from Debian's packages for arm64, which are unpacked and not installed; other packages come as
wheels. Both are kept in `target/aarch64`. Pools are threads: qemu runs the one process that it is
given.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import trajet as tj

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


def main() -> None:
    """Check the wheel that the command line names."""
    (wheel,) = sys.argv[1:]
    unpack_python()
    unpack_packages(Path(wheel).resolve())
    command = ["-m", "helpers.bits_of_results", *map(str, files())]
    here = printed([sys.executable, *command], {"PYTHONPATH": str(HELPERS)})
    there = printed([*QEMU, *command], {"PYTHONPATH": f"{SITE}{os.pathsep}{HELPERS}"})
    different = [a for a, b in zip(here[1:], there[1:], strict=True) if a != b]
    if different:
        sys.exit("\n".join(["other bits on aarch64:", *different]))
    print(f"{len(there) - 1} results have the bits of this machine ({there[0]} and {here[0]})")
    subprocess.run(
        [*QEMU, "-m", "trajet", "demo"],
        check=True,
        cwd=KEPT,
        env={**os.environ, "PYTHONPATH": str(SITE)},
    )


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


def printed(command: list[str | Path], variables: dict[str, str]) -> list[str]:
    """Return the lines that a command prints."""
    done = subprocess.run(
        command, check=True, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.splitlines()


if __name__ == "__main__":
    os.environ.pop("TRAJET_INSTRUCTION_SET", None)
    main()
