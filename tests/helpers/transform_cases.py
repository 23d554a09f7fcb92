"""The table of transforms for which `tests/periodic` tests laws.

Within `tests`, `python -m helpers.transform_cases` prints which laws are tested of which transform.
"""

from collections.abc import Callable
from dataclasses import dataclass

import trajet as tj

from helpers.analysis_cases import print_table

_CHAINS = "resname ALA GLY"


@dataclass(frozen=True)
class Case:
    """Options of the command line, in any order, and the methods that they mean."""

    options: tuple[str, ...]
    change: Callable[[tj.Trajectory], tj.Trajectory]


CASES = {
    "whole": Case(("--whole",), lambda traj: traj.whole()),
    "whole, nojump": Case(("--nojump", "--whole"), lambda traj: traj.whole().nojump()),
    "toroidal": Case(("--nojump", "toroidal"), lambda traj: traj.nojump(view="toroidal")),
    "every frame": Case(
        ("--whole", "--nojump", "--nojump-every-frame"),
        lambda traj: traj.whole().nojump(every_frame=True),
    ),
    "cluster": Case(("--whole", "--cluster", _CHAINS), lambda traj: traj.whole().cluster(_CHAINS)),
    "center, wrap": Case(
        ("--whole", "--wrap", "--center", "resname ALA"),
        lambda traj: traj.whole().center("resname ALA").wrap(),
    ),
    "compact": Case(
        ("--whole", "--wrap", "molecule", "--wrap-cell", "compact"),
        lambda traj: traj.whole().wrap(cell="compact"),
    ),
    "residues": Case(
        ("--wrap", "residue", "--center", "index 0"),
        lambda traj: traj.center("index 0").wrap(by="residue"),
    ),
    "fit": Case(("--whole", "--fit", "resname ALA"), lambda traj: traj.whole().fit("resname ALA")),
    "repair": Case(("--repair", _CHAINS), lambda traj: traj.repair(_CHAINS)),
    "repair, rectangular": Case(
        ("--repair", _CHAINS, "--wrap-cell", "rectangular"),
        lambda traj: traj.repair(_CHAINS, cell="rectangular"),
    ),
    "repaired, fit": Case(
        ("--repair", _CHAINS, "--fit", "resname ALA"),
        lambda traj: traj.repair(_CHAINS).fit("resname ALA"),
    ),
}
_BY_FRAME = [name for name in CASES if "--nojump" not in CASES[name].options]
_ALONE = dict.fromkeys(
    [name for name in _BY_FRAME if name != "repaired, fit"],
    "moves each frame by itself, as 'repaired, fit' does, which has all of these steps",
)
# Laws, each with the transforms that it leaves out, and the reason.
LAWS: dict[str, dict[str, str]] = {
    "threads, processes": _ALONE,
    "Dask": _ALONE | dict.fromkeys(("toroidal", "repaired, fit"), "has no further frames to read"),
    "MPI": _ALONE,
    "frames": {},
    "analyses": {},
    "command": {},
}


def cases_of(law: str) -> list[str]:
    """Return the transforms that a law is tested of."""
    return [name for name in CASES if name not in LAWS[law]]


if __name__ == "__main__":
    print_table(LAWS, {name: [name] for name in CASES}, LAWS)
