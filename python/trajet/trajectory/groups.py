"""Groups of atoms by which trajectories are often reduced, for advice."""

from trajet._trajet import SelectionError
from trajet.topology import Topology

_WATER = "resname SOL HOH WAT TIP3 TIP4 TP3 TP4 T3P T4P SPC"
# Selections, the more usual first.
_GROUPS = (
    "protein",
    f"not ({_WATER})",
    f"not ({_WATER} NA CL K NA+ CL- K+ SOD CLA POT Na+ Cl-)",
    "nucleic",
    "protein or nucleic",
    "protein and not name H* 1H* 2H* 3H*",
    "backbone",
    "protein and name N CA C",
    "protein and name CA",
    "name CA",
    "not name H* 1H* 2H* 3H* MW LP*",
    _WATER,
)
_MAX_NAMES = 60


def groups_of_size(topology: Topology, n_atoms: int) -> str:
    """Return advice on selections that have as many atoms as a trajectory, or an empty text.

    Each residue name, and all but its atoms, are tried too.
    """
    if n_atoms >= topology.n_atoms:
        return ""
    column = topology.column("resnames")
    names = {} if column is None else dict.fromkeys(topology.residues.resnames.tolist())
    named = [f"resname {name}" for name in names] if len(names) <= _MAX_NAMES else []
    found = []
    for text in (*_GROUPS, *named, *(f"not {one}" for one in named)):
        try:
            n_selected = len(topology.select(text, str(topology), empty=True))
        except SelectionError:
            # A topology may lack names, or a name may be a keyword.
            continue
        if n_selected == n_atoms:
            found.append(text)
    if not found:
        return (
            "; or, where the trajectory has only some of its atoms, say which:"
            ' tj.open(..., atoms="...")'
        )
    others = "".join(f" or {text!r}" for text in found[1:3])
    return (
        f"; or, as {found[0]!r}{others} has as many atoms, open it with atoms={found[0]!r}"
        " if these are the atoms that were written"
    )
