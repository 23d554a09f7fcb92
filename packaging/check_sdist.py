"""Check the content of an sdist, build it in a clean environment, and run demo and tests there.

    python3 packaging/check_sdist.py dist/trajet-*.tar.gz

pip builds it as it does for a user, with Rust and without anything from this folder; the tests are
those that need no packages but pytest.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

TESTS = Path(__file__).resolve().parents[1] / "tests"
CHOSEN = (
    *("analyses/test_cells_of_frames.py", "analyses/test_equal_steps.py"),
    *("chain/test_restarts.py", "topology/test_large_numbers.py", "uncertainty/test_statistics.py"),
)
LICENCES = {"LICENSE-MIT", "LICENSE-APACHE", "python/trajet/samples/README.md"}
# Simulations, and files of the Rust tests, which GROMACS has written from made coordinates.
DATA = ("python/trajet/samples/", "crates/trajet-files/tests/write/")
DATA_SUFFIXES = {".xtc", ".trr", ".dcd", ".nc", ".h5", ".h5md", ".psf", ".pdb", ".gro", ".tpr"}
# Both are built or fetched, and parts of wheels only.
BUILT = (".so", ".dylib", "/vendor/", "LICENSES-OF-CRATES")
LARGEST_FILE, LARGEST_ARCHIVE = 2**20, 4 * 2**20  # bytes


def main() -> None:
    """Check the sdist that the command line names."""
    (given,) = sys.argv[1:]
    archive = Path(given).resolve()
    check_content(archive)
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "clean"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        python = environment / "bin" / "python"
        pip = [python, "-m", "pip", "install", "--quiet"]
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        for command in (
            [*pip, archive],
            [python, "-c", "import trajet; print(trajet.__file__, trajet.__version__)"],
            [environment / "bin" / "trajet", "demo"],
            [*pip, "pytest", "hypothesis", "h5py"],
            [
                *(python, "-m", "pytest", "--quiet", "-c", os.devnull, "--rootdir", TESTS),
                *("--noconftest", "-p", "no:cacheprovider", "-o", f"pythonpath={TESTS}"),
                *(TESTS / name for name in CHOSEN),
            ],
        ):
            subprocess.run(command, check=True, cwd=folder, env=variables)
    print(f"{archive.name}: builds, and passes {len(CHOSEN)} files of tests")


def check_content(archive: Path) -> None:
    """Compare names and sizes with what an sdist of ours may contain."""
    with tarfile.open(archive) as packed:
        sizes = {
            str(PurePosixPath(*PurePosixPath(member.name).parts[1:])): member.size
            for member in packed
            if member.isfile()
        }
    faults = [f"{name} is missing" for name in sorted(LICENCES - sizes.keys())]
    for name, size in sizes.items():
        if size > LARGEST_FILE:
            faults.append(f"{name} has {size} bytes")
        if PurePosixPath(name).suffix in DATA_SUFFIXES and not name.startswith(DATA):
            faults.append(f"{name} is data")
        if any(part in name for part in BUILT):
            faults.append(f"{name} is not a source")
    if archive.stat().st_size > LARGEST_ARCHIVE:
        faults.append(f"it has {archive.stat().st_size} bytes")
    if faults:
        sys.exit("\n".join(f"{archive.name}: {fault}" for fault in faults))
    print(f"{archive.name}: {len(sizes)} files, {archive.stat().st_size} bytes")


if __name__ == "__main__":
    main()
