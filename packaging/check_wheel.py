"""Install a wheel into an environment of its own, without Rust on the path, and run it there.

The numbers must be those of the package that is installed here, on every instruction set that this
processor has, the plain one of every x86-64 included.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import trajet as tj
from MDAnalysisTests import datafiles

# What a user's shell finds without any tool that builds.
PATH = "/usr/bin:/bin"


def main() -> None:
    """Check the wheel that the command line names."""
    wheel = Path(sys.argv[1])
    ca = tj.open(datafiles.PSF, datafiles.DCD).select("name CA")
    expected = tj.rmsd(ca).values
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "clean"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        python = environment / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
        for name in tj._trajet.INSTRUCTION_SETS:
            output = Path(folder) / f"{name}.npz"
            command = [
                *(python, "-m", "trajet", "rmsd", datafiles.PSF, datafiles.DCD),
                *("--select", "name CA", "--output", output, "--quiet"),
            ]
            variables = {"PATH": PATH, "HOME": folder, "TRAJET_INSTRUCTION_SET": name}
            subprocess.run(command, check=True, cwd=folder, env=variables)
            values = np.load(output)["values"]
            if values.tobytes() != expected.tobytes():
                sys.exit(f"{wheel.name}: other numbers with {name}")
            print(f"{wheel.name}: the same numbers with {name}")


if __name__ == "__main__":
    os.environ.pop("TRAJET_INSTRUCTION_SET", None)
    main()
