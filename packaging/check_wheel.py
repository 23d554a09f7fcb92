"""Install a wheel into an environment of its own, without Rust on the path, and run it there.

The numbers must be those of the package that is installed here, on every instruction set of this
processor, the baseline of all processors among them, of the samples that the wheel contains.
`trajet demo` must run, with the oldest packages that the manifest allows too, and the plug-in for
VMD must load into a program without Python.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import trajet as tj
from numpy.typing import NDArray
from trajet.store.profile import default_text

# The PATH of a user's shell, without any tool that builds.
PATH = "/usr/bin:/bin"
# Loads a library as any program does, and calls it.
LOAD = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).vmdplugin_init())"
# glibc of manylinux2014.
NEWEST_GLIBC = 17
# The oldest NumPy has no wheels for this Python.
NEWER_THAN_LOWEST = (3, 13)
LARGEST_WHEEL = 15_000_000  # bytes
# What `make viewer` fetches, with its licences.
VIEWER = {"molstar.js.gz", "molstar-LICENSE", "uPlot.js.gz", "uPlot.min.css", "uPlot-LICENSE"}


def main() -> None:
    """Check the wheel that the command line names."""
    (given,) = sys.argv[1:]
    wheel = Path(given)
    check_content(wheel)
    with tempfile.TemporaryDirectory() as folder:
        # Copies, as an index is kept beside a trajectory.
        row = tj.samples.peptide_variants().rows[0]
        given = [shutil.copy(row[name], folder) for name in ("topology", "trajectory")]
        expected = tj.rmsd(tj.open(*given).select("all")).values
        environment = Path(folder) / "clean"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        python = environment / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
        # The profile is not a module but a file of the package.
        profile = [python, "-m", "trajet", "store", "profile"]
        done = subprocess.run(profile, check=True, cwd=folder, capture_output=True, text=True)
        if done.stdout != default_text():
            sys.exit(f"{wheel.name}: has another built-in profile of stores")
        for name in tj._trajet.INSTRUCTION_SETS:
            output = Path(folder) / f"{name}.npz"
            command = [
                *(python, "-m", "trajet", "rmsd", *given),
                *("--select", "all", "--output", output, "--quiet"),
            ]
            variables = {"PATH": PATH, "HOME": folder, "TRAJET_INSTRUCTION_SET": name}
            subprocess.run(command, check=True, cwd=folder, env=variables)
            values = np.load(output)["values"]
            if values.tobytes() != expected.tobytes():
                sys.exit(f"{wheel.name}: other numbers with {name}")
            print(f"{wheel.name}: the same numbers with {name}")
        check_samples(python, Path(folder))
        print(f"{wheel.name}: the same samples, and the demo runs")
        check_store(python, given, Path(folder), expected)
        print(f"{wheel.name}: the same numbers of a store")
        check_plugin(python, {"PATH": PATH, "HOME": folder})
        print(f"{wheel.name}: the plug-in for VMD loads")
        if sys.version_info < NEWER_THAN_LOWEST:
            lowest = check_lowest(wheel, Path(folder))
            print(f"{wheel.name}: the demo runs with {', '.join(lowest)}")


def check_content(wheel: Path) -> None:
    """Compare size and contents with what a wheel must have."""
    if (size := wheel.stat().st_size) > LARGEST_WHEEL:
        sys.exit(f"{wheel.name}: has {size} bytes, more than {LARGEST_WHEEL}")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    parts = {f"viewer/vendor/{name}" for name in VIEWER}
    parts |= {"molfile/trajet_molfile.so", "LICENSES-OF-CRATES.txt"}
    if missing := {f"trajet/{part}" for part in parts} - {*names}:
        sys.exit(f"{wheel.name}: is without {', '.join(sorted(missing))}")
    print(f"{wheel.name}: {size} bytes, {len(names)} files")


def check_lowest(wheel: Path, folder: Path) -> list[str]:
    """Run the demo with the oldest packages that the manifest allows, and return these."""
    required = importlib.metadata.requires("trajet") or []
    lowest = [line.replace(">=", "==") for line in required if ";" not in line]
    environment = folder / "lowest"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
    subprocess.run([*install, wheel, *lowest], check=True)
    variables = {"PATH": PATH, "HOME": str(folder)}
    demo = [python, "-m", "trajet", "demo", "lowest-demo"]
    subprocess.run(demo, check=True, cwd=folder, env=variables, stdout=subprocess.DEVNULL)
    return lowest


def check_samples(python: Path, folder: Path) -> None:
    """Copy each sample from the wheel and compare it; run the demo."""
    variables = {"PATH": PATH, "HOME": str(folder)}
    for made in (function() for function in tj.samples.ALL):
        words = [python, "-m", "trajet", "sample", made.name, folder / made.name]
        subprocess.run(words, check=True, cwd=folder, env=variables, stdout=subprocess.PIPE)
        for path in made.files:
            copy = folder / made.name / path.relative_to(made.folder)
            if copy.read_bytes() != path.read_bytes():
                sys.exit(f"another {copy.name} of {made.name}")
    subprocess.run([python, "-m", "trajet", "demo"], check=True, cwd=folder, env=variables)


def check_store(
    python: Path, given: list[str], folder: Path, expected: NDArray[np.float64]
) -> None:
    """Divide a trajectory by the built-in profile and analyse it, in an empty folder."""
    empty = folder / "empty"
    empty.mkdir()
    topology, trajectory = given
    given = ["--topology", topology, "--trajectory", trajectory]
    for command in (
        ["store", "add", "peptide", "--store", "md", *given],
        ["rmsd", "md/peptide", "--select", "all", "--output", "store.npz"],
        ["store", "verify", "--store", "md"],
    ):
        words = [python, "-m", "trajet", *command, "--quiet"]
        subprocess.run(words, check=True, cwd=empty, env={"PATH": PATH, "HOME": str(folder)})
    if np.load(empty / "store.npz")["values"].tobytes() != expected.tobytes():
        sys.exit("other numbers of a store")


def check_plugin(python: Path, variables: dict[str, str]) -> None:
    """Load the plug-in without trajet, and check the versions of the C library that it requires."""
    asked = [python, "-m", "trajet", "molfile"]
    done = subprocess.run(
        asked, check=True, cwd=variables["HOME"], env=variables, stdout=subprocess.PIPE, text=True
    )
    path = Path(done.stdout.rstrip("\n"))
    subprocess.run([sys.executable, "-I", "-c", LOAD, path], check=True, env=variables)
    wanted = {int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes())}
    # macOS has none.
    if max(wanted, default=0) > NEWEST_GLIBC:
        sys.exit(f"{path.name} wants GLIBC_2.{max(wanted)}")


if __name__ == "__main__":
    os.environ.pop("TRAJET_INSTRUCTION_SET", None)
    main()
