"""Print the signatures of all analyses and transforms, without the options that runs share.

.venv/bin/python packaging/signatures.py            print the lines of docs/signatures.txt anew
.venv/bin/python packaging/signatures.py --check    compare them instead; exit code 1 if they differ
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import trajet as tj

# In the order of the list: pairs of groups, comparisons, shapes, structure, densities, motion.
ANALYSES = (
    *("apply", "count", "contacts", "min_distance", "distances", "center_distances", "contact_map"),
    *(
        "native_contacts",
        "rdf",
        "rdf_pairs",
        "coordination",
        "hbonds",
        "interactions",
        "rmsd",
        "rmsf",
        "pca",
        "correlation_map",
        "pairwise_rmsd",
    ),
    *("cluster_rmsd", "gyration", "gyration_moments", "centers", "end_to_end", "dihedrals", "dssp"),
    *("sasa", "density", "linear_density", "conductivity", "dielectric_constant", "msd"),
    *("velocity_autocorrelation", "survival", "run"),
)
TRANSFORMS = ("whole", "nojump", "cluster", "center", "translate", "wrap", "fit", "repair")
LIST = Path(__file__).parents[1] / "docs" / "signatures.txt"
SHARED = ("self", "frames", "pool", "progress")


def signatures() -> Iterator[str]:
    """Yield the signature of each analysis, of `tj.run` and of each transform."""
    for name in ANALYSES:
        yield f"tj.{name}{_parameters(getattr(tj, name))}"
    for name in TRANSFORMS:
        yield f"traj.{name}{_parameters(getattr(tj.Trajectory, name))}"


def _parameters(function: Callable[..., object]) -> str:
    """Return the names of parameters with their defaults, in parentheses."""
    words: list[str] = []
    own = [p for p in inspect.signature(function).parameters.values() if p.name not in SHARED]
    for parameter in own:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        has_default = parameter.default is not parameter.empty
        words.append(parameter.name + (f"={_text(parameter.default)}" if has_default else ""))
    return f"({', '.join(words)})"


def _text(default: object) -> str:
    """Return a default as Python code: texts in double quotes, numbers without `.0`."""
    if isinstance(default, str):
        return json.dumps(default)
    if isinstance(default, float):
        return f"{default:g}"
    if isinstance(default, tuple):
        return f"({', '.join(map(_text, default))})"
    return repr(default)


if __name__ == "__main__":
    lines = [*signatures()]
    if "--check" not in sys.argv:
        print("\n".join(lines))
    elif {*ANALYSES} != {*tj.ANALYSES, "run"}:
        sys.exit("packaging/signatures.py: ANALYSES are not those of trajet")
    elif LIST.read_text().splitlines() != lines:
        sys.exit(f"{LIST}: is not what packaging/signatures.py prints")
