"""Makes the sample data in `python/trajet/samples`, whose README.md describes them.

It takes OpenMM 8.6.1, in an environment of its own, and about ten minutes: `pip install
openmm==8.6.1`. `tests/cli/test_sample_molecules.py` looks at the molecules of every frame.

    python packaging/samples/make.py [NAME ...]
"""

import hashlib
import os
import sys
from pathlib import Path

# Read when OpenMM is imported. Several threads add forces in any order: no two runs were the same.
os.environ["OPENMM_CPU_THREADS"] = "1"

import bilayer
import molten_salt
import peptide
import variants

FOLDER = Path(__file__).parents[2] / "python/trajet/samples"
SAMPLES = {
    "peptide_in_water": peptide.make,
    "bilayer": bilayer.make,
    "peptide_variants": variants.make,
    "molten_salt": molten_salt.make,
}


def main() -> None:
    """Make the samples that the command line names, or all of them."""
    for name in sys.argv[1:] or SAMPLES:
        FOLDER.joinpath(name).mkdir(parents=True, exist_ok=True)
        SAMPLES[name](FOLDER / name)
    made = sorted(p for p in FOLDER.glob("*/**/*") if p.is_file())
    digests = [
        f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(FOLDER)}" for p in made
    ]
    FOLDER.joinpath("SHA256SUMS").write_text("\n".join([*digests, ""]))


if __name__ == "__main__":
    main()
