"""Residues that `protein` in a selection has or lacks although one may expect otherwise."""

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import TrajetError
from trajet.analysis.backbone import (
    PEPTIDE_BOND,
    are_bonded,
    atoms_of_places,
    residues_of_places,
)
from trajet.labels import residue_labels
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.selection_text import parsed
from trajet.topology import Topology, listed
from trajet.trajectory import Trajectory

# N, CA, C and O of each place, and the places with all that have no protein's name, of topologies
# in use.
_known: "WeakKeyDictionary[Topology, tuple[NDArray[np.int64], NDArray[np.int64]]]" = (
    WeakKeyDictionary()
)


def protein_messages(
    trajectory: Trajectory, texts: Iterable[str], atoms: NDArray[np.int64]
) -> list[Message]:
    """Return messages on modified residues, and on residues that `protein` leaves out.

    Parameters
    ----------
    trajectory
        The trajectory.
    texts
        Texts of selections, or labels of selections that have none.
    atoms
        Atoms of the analysis, by index in the topology, which stand for selections that depend on
        positions.
    """
    topology = trajectory.topology
    messages: list[Message] = []
    for text in dict.fromkeys(texts):
        try:
            needs = parsed(text).needs
            if "protein" not in needs:
                continue
            chosen = atoms if "positions" in needs else topology.select(text, "", empty=True)
        except TrajetError:
            # Not the text of a selection.
            continue
        if len(taken := _modified(topology, text, chosen)):
            called = listed(residue_labels(topology)[taken].tolist())
            messages.append(
                Message(
                    Code.MODIFIED_RESIDUES,
                    f"selection {quoted(text)}: 'protein' has modified amino acids, which"
                    f" MDAnalysis' leaves out: {called}",
                )
            )
        if len(left_out := _left_out(trajectory, chosen)):
            called = listed(residue_labels(topology)[left_out].tolist())
            name = topology.residues.resnames[left_out[0]]
            messages.append(
                Message(
                    Code.PROTEIN_NAMES,
                    f"selection {quoted(text)}: 'protein' leaves out residues that are bonded to"
                    f" it on both sides, as it does not know their names: {called}",
                    f"add them ('protein or resname {name}')",
                )
            )
    return messages


def _modified(topology: Topology, text: str, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the modified amino acids that are chosen, or all if the text has `not`."""
    found = topology.native.column("resnames")
    names = set(_trajet.MODIFIED_AMINO_ACIDS)
    if not isinstance(found, tuple) or names.isdisjoint(found[1]):
        return np.zeros(0, np.int64)
    modified = np.flatnonzero(np.isin(topology.residues.resnames, list(names)))
    if "not" in text.replace("(", " ").split():
        return modified
    return modified[np.isin(modified, topology.atoms_residues[chosen])]


def _left_out(trajectory: Trajectory, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the residues with a backbone between atoms that are chosen, without any that is."""
    topology = trajectory.topology
    if topology.native.column("resnames") is None:
        return np.zeros(0, np.int64)
    backbone, unknown = _backbones(topology)
    if not len(unknown):
        return unknown
    is_chosen = np.zeros(topology.n_places + 2, np.bool_)
    is_chosen[topology.places[chosen] + 1] = True
    unknown = unknown[~is_chosen[unknown + 1] & is_chosen[unknown] & is_chosen[unknown + 2]]
    if not len(unknown):
        return unknown
    pairs = np.concatenate(
        [np.stack([unknown - 1, unknown], axis=1), np.stack([unknown, unknown + 1], axis=1)]
    )
    try:
        bonded = are_bonded(trajectory, backbone, pairs, PEPTIDE_BOND)
    except (TrajetError, OSError):
        # The analysis may not have needed frame 0.
        return unknown[:0]
    kept = unknown[bonded.reshape(2, -1).all(axis=0)]
    return residues_of_places(topology.atoms)[kept]


def _backbones(topology: Topology) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return N, CA, C and O of each place, and the places that have all but no protein's name."""
    if (known := _known.get(topology)) is not None:
        return known
    backbone = atoms_of_places(topology, ("N", "CA", "C", "O"))
    assert backbone is not None
    whole = np.flatnonzero((backbone >= 0).all(axis=1))
    names = topology.column("resnames")
    assert names is not None
    of_whole = names[topology.atoms_residues[backbone[whole, 1]]]
    kinds, which = np.unique(of_whole, return_inverse=True)
    is_protein = np.array([_trajet.is_protein(kind) for kind in kinds.tolist()], np.bool_)
    _known[topology] = backbone, whole[~is_protein[which]]
    return _known[topology]
