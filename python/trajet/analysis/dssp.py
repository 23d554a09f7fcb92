"""`dssp`: secondary structure of proteins."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import Atoms
from trajet.analysis.atom_groups import residues_axis
from trajet.analysis.backbone import (
    are_bonded,
    chains_of_places,
    first_of_each,
    has_backbone,
    residues_of_places,
)
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.labels import residue_labels
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result import SecondaryStructure
from trajet.result.secondary import letters_of
from trajet.topology import Atoms as TopologyAtoms
from trajet.topology import listed
from trajet.trajectory import Selection

# Names of the carbonyl oxygen, the first of which counts: force fields rename it in the last
# residue.
_OXYGENS = ("O", "OT1", "OC1", "O1")
# Residues whose N has no hydrogen atom; N and C are Amber's names of terminal residues.
_PROLINES = ("PRO", "NPRO", "CPRO", "HYP")
# Longest peptide bond, Å, as in DSSP: a longer one is a break of the chain.
_PEPTIDE_BOND = 2.5


@analysis(
    counts_repeats=False,
    select="protein",
    stored=True,
    examples=r"""
    trajet dssp adk.psf adk.xtc --plot dssp.png
    trajet dssp top.gro run.xtc --select "protein and resid 1:100" --simplified -o dssp.csv
    """,
)
def dssp(
    selection: Atoms,
    *,
    simplified: bool = False,
    **run: Unpack[RunOptions],
) -> Steps[SecondaryStructure]:
    """Assign the secondary structure of residues (DSSP).

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file. Each of its
        residues that has N, CA, C and O is assigned, from the bonds among these residues; other
        atoms do not count.
    simplified
        Return three classes (helix, strand and coil) instead of eight. See
        `SecondaryStructure.simplified`.

    Returns
    -------
    SecondaryStructure
        `values` `(n_frames, n_residues)`, letters: H (α-helix), G (3₁₀-helix), I (π-helix),
        E (strand), B (bridge), T (turn), S (bend), - (loop); `codes`, uint8, their numbers.

    Raises
    ------
    SelectionError
        If no residue has all atoms of the backbone.
    AnalysisError
        If an atom has no position.

    Notes
    -----
    W. Kabsch and C. Sander, Biopolymers 22, 2577 (1983), doi:10.1002/bip.360221211, with the rules
    of DSSP 2: hydrogen atoms of N are placed 1 Å from it, opposite to the C=O of the residue
    before; each donor has at most two bonds, of less than -0.5 kcal/mol; π-helices come before
    α-helices (R. P. Joosten et al., Nucleic Acids Res. 39, D411 (2011), doi:10.1093/nar/gkq1105).

    A chain ends where C of a residue and N of the next are not bonded: by the bonds of the
    topology, or, if it lists none of these residues, more than 2.5 Å apart in frame 0. Names of
    chains and segments do not matter, nor whether the next residue is selected. No bridge, turn or
    bend goes across, and the residue behind donates no bond. Residues that lack atoms, or that are
    not selected, keep their place in the sequence but have no class; `warnings` name those
    that lack atoms, and those in which chains go on beyond the selection.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> result = tj.dssp(traj.select("protein"))
    >>> "".join(result.values[0, :30])
    '-EEEE-S-SSSSHHHHHHHHHHHH---EEE'
    >>> result.content().columns[0]
    'α-helix'
    """
    main = main_selection(selection)
    messages: list[Message] = []
    sequence = _sequence(main, messages)
    outcome = yield RunRequest(
        sequence.plan(),
        [main],
        # Hydrogen bonds of broken molecules are missed, so that residues have no structure.
        as_written=[main],
    )
    result = SecondaryStructure(
        values=letters_of(outcome.codes("codes"), simplified=False),
        axes=(outcome.frames_axis, residues_axis(main.trajectory.topology, sequence.residues)),
        name="class",
        units="",
        selections=(main.label,),
        report=outcome.report(messages, recorded={"n_residues": len(sequence.residues)}),
    )
    return result.simplified() if simplified else result


@dataclass(frozen=True)
class _Sequence:
    """The residues of a run: columns of their atoms in a frame, and their order.

    Attributes
    ----------
    residues
        `(n,)`, indices of the residues in the topology.
    atoms, before
        `(n, 4)` and `(n, 2)`: N, CA, C, O of each; C and O of the residue before.
    donates
        `(n,)`, whether N has a hydrogen atom.
    slots, chains
        `(n,)` and `(n_slots,)`: place of each residue, and the chain of each place.
    """

    residues: NDArray[np.int64]
    atoms: NDArray[np.int64]
    before: NDArray[np.int64]
    donates: NDArray[np.bool_]
    slots: NDArray[np.int64]
    chains: NDArray[np.int64]

    def plan(self) -> Plan:
        """Return the plan."""
        return Plan(
            "dssp",
            residues=self.atoms,
            before=self.before,
            donates=self.donates.tolist(),
            slots=self.slots,
            chains=self.chains,
        )


def _sequence(main: Selection, messages: list[Message]) -> _Sequence:
    """Return the residues of a selection that have a backbone.

    Raises
    ------
    SelectionError
        If there is none.
    """
    trajectory, topology = main.trajectory, main.topology_atoms.topology
    names = topology.column("names")
    if names is None:
        raise SelectionError(f"DSSP needs names of atoms, which {topology} lacks")
    atoms = main.topology_atoms
    found = [first_of_each(atoms, names, name) for name in ("N", "CA", "C", *_OXYGENS)]
    for other in found[4:]:
        found[3] = np.where(found[3] < 0, other, found[3])
    backbone = np.stack(found[:4], axis=1)
    columns, there = trajectory.source.index.columns_of(np.maximum(backbone, 0))
    known = (backbone >= 0) & there
    chosen = np.zeros(topology.n_places, np.bool_)
    chosen[atoms.places] = True
    rows = residues_of_places(atoms)
    # Caps are among them: the C=O of acetyl places the hydrogen atom behind. Water has O alone.
    places = np.flatnonzero(has_backbone(topology, np.where(known, backbone, -1), rows))
    within = np.flatnonzero(chosen[places])
    if not (chosen & known.all(axis=1)).any():
        raise SelectionError(
            f"{trajectory.label}: selection {quoted(main.label)}: none of its"
            f" {np.count_nonzero(chosen)} residues has the atoms N, CA, C and O of a backbone"
        )
    # Those that are not selected keep their places in the chain.
    places = places[max(within[0] - 1, 0) : within[-1] + 2]
    rows, columns, known, chosen = rows[places], columns[places], known[places], chosen[places]
    whole: NDArray[np.bool_] = np.asarray(chosen & known.all(axis=1))
    pairs = np.stack([places[:-1], places[1:]], axis=1)
    bonded = are_bonded(trajectory, np.where(there, backbone, -1), pairs, _PEPTIDE_BOND)
    labels = residue_labels(topology)[rows]
    incomplete = chosen & known[:, 1] & ~whole
    if incomplete.any():
        called = labels[incomplete].tolist()
        messages.append(
            Message(
                Code.RESIDUES_LEFT_OUT,
                f"residues without a class, since they lack N, CA, C or O: {listed(called)}",
            )
        )
    several = _with_several(atoms, names, places) & whole
    if several.any():
        called = labels[several].tolist()
        messages.append(
            Message(
                Code.ALTERNATE_LOCATIONS,
                "residues with several N, CA, C or O (alternate locations), of which the first one"
                f" counts: {listed(called)}",
                "use a selection that has one of them ('… and not altloc B')",
            )
        )
    chains = chains_of_places(topology)[places]
    broken = ~bonded & chosen[:-1] & chosen[1:] & (chains[:-1] == chains[1:])
    if broken.any():
        called = labels[1:][broken].tolist()
        messages.append(
            Message(
                Code.CHAIN_BREAKS,
                "breaks of the chain, since N is not bonded to C of the residue before (by the"
                f" bonds of the topology, or within {_PEPTIDE_BOND} Å in frame 0), are before"
                f" {listed(called)}",
            )
        )
    beside = np.zeros(len(places), np.bool_)
    beside[:-1] |= bonded & chosen[1:]
    beside[1:] |= bonded & chosen[:-1]
    beside &= ~chosen
    if beside.any():
        messages.append(
            Message(
                Code.CHAIN_BREAKS,
                "chains go on in residues that are not selected, whose hydrogen bonds do not count:"
                f" {listed(labels[beside].tolist())}",
            )
        )
    has_carbonyl = np.concatenate([[False], known[:-1, 2:].all(axis=1) & bonded])
    before = np.concatenate([columns[:1, 2:], columns[:-1, 2:]])
    kinds = topology.column("resnames")
    proline = np.zeros(len(rows), np.bool_) if kinds is None else np.isin(kinds[rows], _PROLINES)
    donates = has_carbonyl & ~proline
    before = np.where(donates[:, None], before, columns[:, 1:2])
    return _Sequence(
        residues=rows[whole],
        atoms=columns[whole],
        before=before[whole],
        donates=donates[whole],
        slots=np.flatnonzero(whole),
        chains=np.cumsum(np.concatenate([[True], ~bonded])),
    )


def _with_several(
    atoms: TopologyAtoms, names: NDArray[np.str_], places: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which places have several selected atoms of a name of the backbone."""
    of_atoms, of_names = atoms.places, names[atoms.indices]
    several = [
        np.bincount(of_atoms[of_names == name], minlength=atoms.topology.n_places) > 1
        for name in ("N", "CA", "C", "O")
    ]
    return np.asarray(np.stack(several).any(axis=0))[places]
