"""`coordination`: how many neighbours atoms have, and which ions are paired."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import ANGSTROM, Above, Atoms, OtherAtoms
from trajet.analysis.atom_sets import selected_locations
from trajet.analysis.block_errors import block_errors, with_errors
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import (
    AnalysisOutcome,
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.analysis.unit_warnings import looks_like_nm
from trajet.messages import Message
from trajet.quoting import quoted
from trajet.result import Part, Table
from trajet.result.axes import named
from trajet.trajectory import Selection

_SHELLS = ("first shell", "second shell")
# Species of ions, by the place of the nearest counter-ion.
_SPECIES = ("free", "solvent-separated", "contact pair", "aggregate")
_PARTS = {
    "distribution": Part("fractions of atoms with 0, 1, 2, … neighbours"),
    "species": Part("numbers of ions of each kind in each frame", needs="speciation"),
}


def _check(cutoff: float, outer_cutoff: float | None, speciation: bool) -> None:
    """Raise a ValueError for a second shell that ends within the first, or species without one."""
    if outer_cutoff is not None and outer_cutoff <= cutoff:
        raise ValueError(
            f"the second shell would end at {outer_cutoff:g} Å and begin at {cutoff:g} Å: choose a"
            " larger outer_cutoff"
        )
    if speciation and outer_cutoff is None:
        raise ValueError(
            "speciation tells free ions from solvent-separated ones by outer_cutoff: give one"
        )


@analysis(
    axes=("frames",),
    check=_check,
    parts=_PARTS,
    examples=r"""
    trajet coordination melt.data melt.lammpstrj --select "element Na" --other "element Cl" \
        --cutoff 4.2 -o numbers.csv
    trajet coordination top.gro run.xtc --select "name LI" --other "resname TFS and name O*" \
        --by residue --cutoff 3.2 --outer-cutoff 6.5 --speciation --save species=species.csv
    """,
)
def coordination(
    selection: Atoms,
    other: OtherAtoms | None = None,
    *,
    cutoff: Annotated[float, ANGSTROM, Above(0)],
    outer_cutoff: Annotated[float, ANGSTROM, Above(0)] | None = None,
    speciation: bool = False,
    by: Literal["atom", "residue"] = "atom",
    pbc: bool = True,
    errors: bool = False,
    **run: Unpack[RunOptions],
) -> Steps[Table]:
    """Count the neighbours of atoms: the coordination number of each frame.

    Parameters
    ----------
    other
        The neighbours that are counted. Selection text, a Selection or an AtomGroup. None for
        `selection`.
    cutoff
        The largest distance of a neighbour, Å. The first minimum of an RDF is usual
        (`tj.rdf(...).first_minimum`).
    outer_cutoff
        Where a second shell ends, Å, whose neighbours are counted apart. None for one shell.
    speciation
        Whether the result has how many ions of `selection` are free, solvent-separated, in contact
        pairs and in aggregates, with `other` as their counter-ions.
    by
        What has neighbours and is counted. "atom", or "residue" for residues of which any selected
        atom is within the cut-off of any of the other; a residue is no neighbour of itself.
    pbc
        Whether distances are those of nearest images, in frames with a cell.
    errors
        Whether errors of the distribution are estimated from blocks of frames.

    Returns
    -------
    Table
        `values` `(n_frames,)`, float64: neighbours of an atom, the mean over those of `selection`;
        with `outer_cutoff` `(n_frames, 2)`, those within the cut-off and those of the second shell.
        The part "distribution" has the fraction of atoms that have 0, 1, 2, … neighbours over all
        frames, and "outer_distribution" those of the second shell. With `speciation`, the part
        "species" has the number of ions of each kind, `(n_frames, 4)`.

    Raises
    ------
    SelectionError
        If a selection matches no atom, or there is no pair of different atoms.
    AnalysisError
        If a cut-off is above half of the shortest lattice vector of a frame, or an atom has no
        position.
    ValueError
        If a cut-off is not positive or the second shell has no width.

    Notes
    -----
    A pair at the distance of the cut-off counts. An ion is in a contact pair if one counter-ion is
    within `cutoff`, in an aggregate if several are, solvent-separated if the nearest one is between
    both cut-offs, and free if none is within `outer_cutoff`. Where only one cut-off is used, free
    ions are often called solvent-separated. Count molecules of several atoms with `by="residue"`:
    two oxygens of one anion make no aggregate.

    Examples
    --------
    >>> import trajet as tj
    >>> melt = tj.samples.molten_salt().open()
    >>> result = tj.coordination(melt.select("element Na"), "element Cl", cutoff=4.2)
    >>> result.values.shape
    (85,)
    """
    if by not in ("atom", "residue"):
        raise ValueError(f"neighbours are counted by 'atom' or by 'residue', not {by!r}")
    main = main_selection(selection)
    others = None if other is None else further_selection(other, main.trajectory)
    chosen = [main] if others is None else [main, others]
    cutoffs = [float(one) for one in (cutoff, outer_cutoff) if one is not None]
    groups = [_groups(one, by) for one in (chosen[0], chosen[-1])]
    if len(np.unique(np.concatenate(groups))) < 2:
        names = " and ".join(quoted(one.label) for one in chosen)
        raise SelectionError(f"{names}: there is no pair of different {by}s: choose more atoms")
    plan = Plan(
        "coordination",
        atoms=main.columns,
        others=None if others is None else others.columns,
        groups=None if by == "atom" else groups,
        cutoffs=cutoffs,
        periodic=pbc,
        locations=selected_locations(chosen),
    )
    outcome = yield RunRequest(plan, chosen, in_blocks=errors)
    n_centres = int(outcome.integers("n_centres"))
    # Neighbours of all centres, and centres with none and with exactly one.
    within, none, one = outcome.integers("numbers").transpose(2, 0, 1)
    numbers = np.diff(within, axis=1, prepend=0) / n_centres
    messages = outcome.cells.missing() if pbc else []
    found = bool(within.any()) or not len(outcome.frames)
    messages += looks_like_nm("cutoff", cutoffs[-1], found=found, what="no neighbour is")
    labels = tuple(dict.fromkeys(each.label for each in chosen))
    report = outcome.report(messages)
    part = partial(Table, units="", selections=labels, report=report)
    parts = dict[str, Table]()
    for k, name in enumerate(("distribution", "outer_distribution")[: len(cutoffs)]):
        parts[name], unresolved = _distribution(part, outcome, k, has_errors=errors)
        report.record_messages(unresolved)
    if speciation:
        counts = [
            none[:, 1],
            none[:, 0] - none[:, 1],
            one[:, 0],
            n_centres - none[:, 0] - one[:, 0],
        ]
        parts["species"] = part(
            np.stack(counts, axis=1).astype(np.float64),
            (outcome.frames_axis, named("species", _SPECIES)),
            "ions",
        )
    is_one = len(cutoffs) == 1
    return part(
        numbers[:, 0] if is_one else numbers,
        (outcome.frames_axis,) if is_one else (outcome.frames_axis, named("shells", _SHELLS)),
        "coordination number",
        parts=parts,
    )


def _groups(selection: Selection, by: str) -> NDArray[np.int64]:
    """Return the number of the residue of each atom, or of the atom."""
    return selection.columns if by == "atom" else selection.topology_atoms.residues


def _distribution(
    part: Callable[..., Table], outcome: AnalysisOutcome, shell: int, *, has_errors: bool
) -> tuple[Table, list[Message]]:
    """Return the fraction of centres with each number of neighbours in a shell, and messages."""
    counts = outcome.integers("histogram")[shell]
    # As far as there are any, and 0.
    n = int(np.flatnonzero(counts).max(initial=0)) + 1
    labels = [str(k) for k in range(n)]
    if n == len(counts):
        labels[-1] += " or more"

    def fractions(histogram: NDArray[np.int64], n_frames: float) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):
            found: NDArray[np.float64] = histogram[:n] / np.float64(n_centres * n_frames)
        return found

    n_centres = int(outcome.integers("n_centres"))
    values = fractions(counts, len(outcome.frames))
    table = part(values, (named("numbers", labels),), "fraction", also={"count": counts[:n]})
    if not has_errors:
        return table, []
    of_blocks = [
        fractions(one["histogram"][shell], float(one["n_frames"])) for one in outcome.blocks
    ]
    errors = block_errors(np.array(of_blocks).reshape(-1, n), "fractions", labels.__getitem__)
    return with_errors(table, errors), errors.messages
