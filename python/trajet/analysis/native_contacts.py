"""`native_contacts`: the fraction of native contacts."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import AnalysisError, Plan, SelectionError
from trajet.alternate_locations import exclude_each_other
from trajet.analysis.arguments import ANGSTROM, Above, Atoms, Between, OtherAtoms, Unit
from trajet.analysis.chain_neighbours import ChainNeighbours
from trajet.analysis.contacts import between
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import (
    ReferenceStructure,
    describe_reference,
    frame_of,
    is_average,
    reference_positions,
)
from trajet.analysis.runner import (
    AnalysisOutcome,
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.box import Box
from trajet.checked_numbers import whole_number
from trajet.messages import Code, Message
from trajet.particles import heavy_atoms
from trajet.result import NativeContacts, Table
from trajet.result.axes import Axis
from trajet.trajectory import Selection

# How much longer than in the reference the distance of a contact may be, if no factor is given.
_FACTORS = {"soft": 1.8, "hard": 1.2, "radius": 1.0}
# Rounding of distances, relative: that of the reference frame itself is within a factor of 1.
_ROUNDING = 1e-9
# Contacts are those of residues more than this many apart, if no number is given.
_NEIGHBORS = 3


@analysis(
    axes=("frames",),
    examples=r"""
    trajet native-contacts adk.psf adk.xtc --select protein
    trajet native-contacts top.gro run.xtc --select "name CA" --cutoff 8 --method hard \
        --reference crystal.pdb -o q.csv --plot q.png
    """,
)
def native_contacts(
    selection: Atoms,
    other: OtherAtoms | None = None,
    *,
    reference: ReferenceStructure = 0,
    cutoff: Annotated[float, ANGSTROM, Above(0)] = 4.5,
    method: Literal["soft", "hard", "radius"] = "soft",
    factor: Annotated[float, Unit("factor"), Above(0)] | None = None,
    beta: Annotated[float, Unit("1/Å"), Above(0)] = 5.0,
    heavy_only: bool | None = None,
    exclude_neighbors: Annotated[int, Between(-1)] | None = None,
    pbc: bool = True,
    **run: Unpack[RunOptions],
) -> Steps[NativeContacts]:
    """Compute the fraction Q of native contacts.

    Native contacts are the pairs of atoms that are within the cut-off in the reference, at the
    distances r0. In a frame, with their distances r, Q is the mean over these pairs of

    - "soft": 1 / (1 + exp(beta (r - factor r0))), after Best, Hummer and Eaton;
    - "hard": 1 if r <= factor r0, else 0;
    - "radius": 1 if r <= factor cutoff, else 0.

    Parameters
    ----------
    other
        The second group. Selection text, a Selection or an AtomGroup. None for pairs within
        `selection`.
    reference
        The reference structure. A frame number, a structure file, a Selection, an AtomGroup, or,
        without `other`, positions, as for `rmsd`.
    cutoff
        The largest distance of a native contact in the reference, Å.
    method
        How the distances of contacts count. "soft", "hard" or "radius".
    factor
        Factor by which r0, or the cut-off, is multiplied. None for 1.8 ("soft"), 1.2 ("hard") or 1
        ("radius").
    beta
        Steepness of the soft cut-off, 1/Å.
    heavy_only
        Whether hydrogens are left out, as by `contact_map`. None for leaving them out where
        residues have several selected atoms.
    exclude_neighbors
        Leave out pairs of atoms whose residues are at most this many residues apart along the bonds
        of their backbone, as for `contact_map`; -1 for no pair. With 0, pairs within a residue are
        left out. None for 3 where residues have several selected atoms, and -1 where each has one
        (such as its CA) or the trajectory has no topology.
    pbc
        Whether distances are those of nearest images, in frames, and references, with a cell.

    Returns
    -------
    NativeContacts
        `values` `(n_frames,)`, float64, from 0 to 1; `pairs` `(n_pairs, 2)`, the native contacts,
        and their distances in the reference, `(n_pairs,)`, Å. Values are NaN in frames where an
        atom has no position.

    Raises
    ------
    SelectionError
        If atoms and reference do not fit each other, or there is no native contact.
    AnalysisError
        With `pbc`, if the cut-off is above half of the shortest lattice vector of the reference, or
        the longest distance of a contact (the factor times r0, or times the cut-off) above that of
        the first or last frame.
    ValueError
        If the cut-off, the factor or beta is not positive, or the method is unknown.

    Notes
    -----
    The soft cut-off and the defaults are those of R. B. Best, G. Hummer and W. A. Eaton, PNAS 110,
    17874 (2013), doi:10.1073/pnas.1311599110: heavy atoms within 4.5 Å whose residues are more than
    three apart, beta = 5/Å and a factor (their lambda) of 1.8 for atomistic models. MDAnalysis'
    `hard_cut_q` is "hard" with a factor of 1, its `radius_cut_q` is "radius"; both take all pairs
    of atoms (`heavy_only=False, exclude_neighbors=-1`).

    If two groups share atoms i and j, the pairs i, j and j, i both count. An atom is never paired
    with itself, nor with one at another alternate location of its residue.

    With `pbc`, messages in the report name the number of frames without a cell, whose distances are
    those of the positions as they are, and a reference without a cell if the frames have one.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> result = tj.native_contacts(traj.select("protein"))
    >>> result.values[[0, -1]].round(3)
    array([1.   , 0.919])
    """
    if method not in _FACTORS:
        raise ValueError(f"the method is 'soft', 'hard' or 'radius', not {method!r}")
    if is_average(reference):
        raise ValueError(
            "the average structure is no reference for native contacts: give a frame or a file"
        )
    scale = _FACTORS[method] if factor is None else float(factor)
    cutoff = float(cutoff)
    for name, value in (("cutoff", cutoff), ("factor", scale), ("beta", beta)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} must be a number above 0, not {value}")
    if exclude_neighbors is not None:
        whole_number(exclude_neighbors, "exclude_neighbors", least=-1)
    main = main_selection(selection)
    others = None if other is None else further_selection(other, main.trajectory)
    has_several = any(map(_has_several_atoms_of_a_residue, (main, others or main)))
    heavy_only = has_several if heavy_only is None else heavy_only
    if exclude_neighbors is None:
        exclude_neighbors = _NEIGHBORS if has_several else -1
    messages: list[Message] = []
    native = _NativePairs(
        main=main,
        others=others,
        reference=reference,
        cutoff=cutoff,
        scale=scale,
        method=method,
        beta=float(beta) if method == "soft" else None,
        heavy_only=heavy_only,
        exclude_neighbors=exclude_neighbors,
        pbc=pbc,
        messages=messages,
    )
    selections = [main] if others is None else [main, others]
    outcome = yield RunRequest(
        native.plan,
        selections,
        reference=frame_of(reference, main.trajectory),
    )
    messages += native.messages_on_cells(outcome)
    atoms, partners = native.pairs.T
    recorded = {
        "factor": scale,
        "beta": native.beta,
        "heavy_only": heavy_only,
        "exclude_neighbors": exclude_neighbors,
        "n_native": len(atoms),
    }
    report = outcome.report(messages, recorded=recorded, inputs=describe_reference(reference))
    ends = {"atom": main.indices[atoms], "partner": (others or main).indices[partners]}
    return NativeContacts(
        values=outcome.floats("fraction"),
        axes=(outcome.frames_axis,),
        name="Q",
        units="",
        selections=tuple(one.label for one in selections),
        report=report,
        parts={
            "native": Table(
                values=native.distances,
                axes=(Axis("pairs", ends),),
                name="distance",
                units="Å",
                selections=tuple(one.label for one in selections),
                report=report,
            )
        },
    )


@dataclass(kw_only=True)
class _NativePairs:
    """The pairs that are in contact in the reference, which is read when the plan is made.

    Attributes
    ----------
    main, others
        The groups; `others` is None for pairs within one.
    reference
        The reference, as for `native_contacts`.
    cutoff
        Largest distance of a native contact, Å.
    scale
        Factor of its distance, or of the cut-off, up to which it counts in a frame.
    method, beta, heavy_only, exclude_neighbors, pbc
        As for `native_contacts`; `beta` is None but for soft cut-offs.
    messages
        Messages on the result, to which those on the reference are added.
    pairs
        `(n, 2)`, positions of the atoms in the groups; empty before the plan is made.
    distances
        `(n,)`, their distances in the reference, Å.
    """

    main: Selection
    others: Selection | None
    reference: ReferenceStructure
    cutoff: float
    scale: float
    method: str
    beta: float | None
    heavy_only: bool
    exclude_neighbors: int
    pbc: bool
    messages: list[Message]
    pairs: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    distances: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    # Where the reference is from, if no cell is used of it.
    _without_cell: str | None = None

    def _left_out(self, others: Selection, within: NDArray[np.int64]) -> str:
        """Return why no pair of atoms is counted, and which argument counts some."""
        if not _counted(self.main, others, within, False, self.exclude_neighbors).any():
            return (
                f"their residues are at most {self.exclude_neighbors} apart: give a lower"
                " exclude_neighbors=, or -1 for pairs within a residue too, or select more residues"
            )
        return "an atom of each is a hydrogen: give heavy_only=False, or select heavy atoms"

    def plan(self, chosen: NDArray[np.int64]) -> Plan:
        """Find the pairs in the reference, and return the plan that follows them.

        Raises
        ------
        SelectionError
            If there are none.
        AnalysisError
            If the cell of the reference is too small for the cut-off.
        """
        main, cutoff = self.main, self.cutoff
        groups = [] if self.others is None else [self.others]
        found = reference_positions(self.reference, main, groups, self.messages, chosen)
        box = found[0].box if self.pbc and found[0].box.exists else None
        lattice = None if box is None else box.lattice
        positions = [np.ascontiguousarray(each.positions, np.float32) for each in found]
        second_group = None if self.others is None else positions[1]
        pairs = _trajet.contact_pairs(positions[0], second_group, lattice, cutoff)
        others = self.others or main
        within = pairs[main.columns[pairs[:, 0]] != others.columns[pairs[:, 1]]]
        pairs = pairs[_counted(main, others, pairs, self.heavy_only, self.exclude_neighbors)]
        if len(within) and not len(pairs):
            raise SelectionError(
                f"{between(main, self.others)}: the {len(within)} pairs of atoms within {cutoff:g}"
                f" Å in {found[0].where} are left out, as {self._left_out(others, within)}"
            )
        if not len(pairs):
            raise SelectionError(
                f"{between(main, self.others)}: no pair of atoms is within {cutoff:g} Å in"
                f" {found[0].where}: choose a longer cut-off or more atoms"
                + (f"; distances are in Å: {cutoff:g} nm are {cutoff * 10:g} Å" * (cutoff < 2))
            )
        first, second = pairs.T
        self.pairs = pairs
        self.distances = _trajet.pair_distances(positions[0][first], positions[-1][second], lattice)
        if box is not None:
            _check_half(box, cutoff, found[0].where)
        else:
            self._without_cell = found[0].where
        is_radius = self.method == "radius"
        limits = self.scale * (np.full(len(pairs), cutoff) if is_radius else self.distances)
        return Plan(
            "native_contacts",
            first=main.columns[first],
            second=others.columns[second],
            limits=limits if self.method == "soft" else limits * (1 + _ROUNDING),
            beta=self.beta,
            periodic=self.pbc,
        )

    def messages_on_cells(self, outcome: AnalysisOutcome) -> list[Message]:
        """Return messages on frames without a cell, and on a reference without."""
        if not self.pbc:
            return []
        cells, n_frames = outcome.cells, len(outcome.frames)
        if self._without_cell is None or not cells.n_present:
            return cells.missing()
        return [
            Message(
                Code.NO_CELL,
                f"{self._without_cell} has no unit cell, but {cells.n_present} of {n_frames}"
                " frames have: pairs that are in contact across the box of the reference are"
                " missing from the native contacts",
                "give pbc=False, or a reference with a cell (that of a crystal is no box)",
            ),
            *cells.missing(),
        ]


def _has_several_atoms_of_a_residue(selection: Selection) -> bool:
    """Return whether a selection has several atoms of one residue, if there is a topology."""
    if not selection.trajectory.has_topology:
        return False
    places = selection.topology_atoms.places
    return len(np.unique(places)) < len(places)


def _counted(
    main: Selection,
    other: Selection,
    pairs: NDArray[np.int64],
    heavy_only: bool,
    exclude_neighbors: int,
) -> NDArray[np.bool_]:
    """Return which of some pairs of atoms, `(n, 2)` positions in the selections, count."""
    first, second = pairs.T
    counted: NDArray[np.bool_] = main.columns[first] != other.columns[second]
    topology = main.trajectory.topology if main.trajectory.has_topology else None
    counted &= ~exclude_each_other(topology, main.indices[first], other.indices[second])
    if heavy_only:
        heavy_of = [heavy_atoms(each.topology_atoms) for each in (main, other)]
        counted &= heavy_of[0][first] & heavy_of[1][second]
    if exclude_neighbors >= 0:
        one, two = (each.topology_atoms.places for each in (main, other))
        near = one[first] == two[second]
        if exclude_neighbors:
            neighbours = ChainNeighbours.of(main.trajectory)
            near = neighbours.are_near(one[first], two[second], exclude_neighbors)
        counted &= ~near
    return counted


def _check_half(box: Box, distance: float, where: str) -> None:
    """Check that a distance is at most half of the shortest lattice vector, if there is a box.

    Raises
    ------
    AnalysisError
        If it is longer.
    """
    lattice = box.lattice
    shortest = None if lattice is None else _trajet.shortest_lattice_vector(lattice)
    if shortest is None:
        return
    half = shortest / 2
    # Cells are stored in single precision. The analysis refuses cells without volume.
    if half * (1 + 1e-6) < distance:
        raise AnalysisError(
            f"{where}: contacts are up to {distance:.4f} Å long, above half of the shortest lattice"
            f" vector ({half:.3f} Å), so that an atom may be in contact with several images"
            " of another: choose a shorter cut-off or a smaller factor, or take positions as they"
            " are (pbc=False)"
        )
