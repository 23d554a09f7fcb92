"""Runs the code of a notebook in a process of its own, and keeps the numbers in its globals.

Arguments: the notebook, "theirs" or "ours" (the readers), and the file that gets the numbers. Cells
that fail, for want of a package for instance, are left out: the message is kept.
"""

import hashlib
import json
import pickle
import random
import re
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

# Lines of cells that only Jupyter understands.
MAGIC = re.compile(r"\s*[%!]|.*\b(nglview|nv)\b")
DEEPEST, LONGEST = 3, 3000


def bits(value: Any, depth: int = 0) -> Any:
    """Return types and bits of what holds numbers; None for everything else."""
    inner = partial(bits, depth=depth + 1)
    found: Any = None
    if depth > DEEPEST:
        pass
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        found = value.dtype.str, value.shape, digest
    elif isinstance(value, float | int | np.number):
        found = type(value).__name__, repr(value)
    elif isinstance(value, list | tuple | np.ndarray):
        found = [inner(one) for one in list(value)[:LONGEST]]
    elif isinstance(value, dict):
        found = {str(key): inner(one) for key, one in value.items()}
    elif hasattr(value, "to_numpy"):
        found = inner(value.to_numpy())
    elif isinstance(results := getattr(value, "results", None), dict):
        found = inner(dict(results))
    elif type(value).__name__ in ("AtomGroup", "Universe"):
        found = inner([value.atoms.positions, value.atoms.dimensions])
    return found


def run(notebook: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the numbers in the globals, and the errors of cells."""
    found: dict[str, Any] = {"__name__": "__main__"}
    errors = []
    for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] != "code":
            continue
        lines = "".join(cell["source"]).splitlines()
        source = "\n".join(line for line in lines if not MAGIC.match(line))
        try:
            exec(compile(source, f"cell {number}", "exec"), found)
        except Exception as error:
            errors.append(f"cell {number}: {type(error).__name__}")
    numbers = {}
    for name, value in found.items():
        try:
            numbers[name] = bits(value)
        except Exception as error:
            numbers[name] = type(error).__name__
    return {name: one for name, one in numbers.items() if one is not None}, errors


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    np.random.seed(1)
    random.seed(1)
    if sys.argv[2] == "ours":
        import trajet.mdanalysis

        trajet.mdanalysis.install()
    Path(sys.argv[3]).write_bytes(pickle.dumps(run(Path(sys.argv[1]))))
