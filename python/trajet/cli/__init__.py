"""The command line: `trajet info | index | rmsd | …`, a command per analysis and more."""

import os
import sys

from trajet import startup

# The threads of NumPy's BLAS, which no command uses, take a third of the time of its import. After
# that only worker processes would have one thread, and eigenvectors of them other bits than here.
if "numpy" not in sys.modules:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

with startup.importing("trajet.cli.entry"):
    from trajet.cli.entry import main

__all__ = ["main"]
