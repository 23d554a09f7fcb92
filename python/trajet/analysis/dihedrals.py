"""`dihedrals`: dihedral angles, or their cosines and sines."""

from collections.abc import Sequence
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import AtomsOrTrajectory, ParsedOption
from trajet.analysis.atom_groups import atoms_axis
from trajet.analysis.backbone import PEPTIDE_BOND, backbone_dihedrals, listed_bonds
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.box import Box
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result import Dihedrals
from trajet.result.axes import Axis
from trajet.trajectory import Selection


def _four_atoms(text: str) -> list[int]:
    """Return the four indices in a text."""
    atoms = text.replace(",", " ").split()
    if len(atoms) != 4 or not all(atom.isdecimal() for atom in atoms):
        raise ValueError(f"{text!r}: write four atom indices: 4,6,8,14")
    return [int(atom) for atom in atoms]


def _check(selection: object, quadruples: object) -> None:
    """Raise a ValueError unless one of both is given, if the selection is text."""
    if selection is None and quadruples is None:
        raise ValueError("choose residues (selection=) or four atoms (quadruples=)")
    if isinstance(selection, str) and quadruples is not None:
        raise ValueError("choose residues (selection=) or four atoms (quadruples=), not both")


@analysis(
    axes=("frames",),
    counts_repeats=False,
    check=_check,
    examples=r"""
    trajet dihedrals adk.psf adk.xtc --select protein --plot ramachandran.png
    trajet dihedrals adk.psf adk.xtc --select "resid 10:20" -o angles.csv
    trajet dihedrals adk.psf adk.xtc --quadruples 4,6,8,14 --quadruples 6,8,14,16 -o angles.npz
    trajet dihedrals adk.psf adk.xtc --select protein --sin-cos -o features.npz
    """,
)
def dihedrals(
    selection: AtomsOrTrajectory,
    quadruples: Annotated[
        Sequence[Sequence[int]] | NDArray[np.integer],
        ParsedOption(_four_atoms, "I,J,K,L", is_repeated=True),
    ]
    | None = None,
    *,
    sin_cos: bool = False,
    pbc: bool = True,
    **run: Unpack[RunOptions],
) -> Steps[Dihedrals]:
    """Compute dihedral angles frame by frame.

    Parameters
    ----------
    selection
        Without `quadruples`: φ (C'-N-CA-C) and ψ (N-CA-C-N') are computed for each residue of these
        atoms that has both. Neighbouring residues follow one another in the topology, or have a
        bond that closes a ring there, and are bonded: by the bonds of the topology, or else in
        frame 0. Their numbers and segments do not matter, nor whether neighbours are selected. If a
        residue has several N, CA or C, the selection must contain one of them ("protein and not
        altloc B"); `warnings` name residues that are left out. With `quadruples`: the
        trajectory, or any selection of it.
    quadruples
        Four atoms of each angle, by index from 0. `(n, 4)`, as for `Trajectory.select`.
    sin_cos
        Return cosine and sine of each angle instead of the angle. They do not jump at 180 degrees.
    pbc
        Whether bond vectors connect nearest images, in frames with a cell.

    Returns
    -------
    Dihedrals
        `values` `(n_frames, n)`, float64, degrees from -180 to 180, with the sign of IUPAC; for
        residues, φ and ψ of one residue after the other. With `sin_cos`, `(n_frames, 2 n)`: cosine
        and sine of one angle after the other. NaN where three atoms lie on a line.

    Raises
    ------
    SelectionError
        If no residue has both angles, or an index is out of range.

    Notes
    -----
    Angle and sign are those of IUPAC-IUB, Biochemistry 9, 3471 (1970), computed from sine and
    cosine: two products of the bond vectors.

    Nearest images in cells of any shape use a reduced lattice basis: I. Semaev, LNCS 2146, 181
    (2001), doi:10.1007/3-540-44670-2_13; P. Q. Nguyen and D. Stehlé, ACM Trans. Algorithms 5, 46
    (2009), doi:10.1145/1597036.1597050.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.dihedrals(traj.select("protein"), sin_cos=True).values.shape
    (98, 848)
    >>> tj.dihedrals(traj, [[0, 4, 6, 8]]).values.shape
    (98, 1)
    """
    main = main_selection(selection)
    backbone = quadruples is None
    messages: list[Message] = []
    if quadruples is None:
        names, fours, atom_columns = _backbone(main, messages)
    else:
        fours = _checked(quadruples)
        atom_columns = main.trajectory.source.index.columns(fours.ravel()).reshape(fours.shape)
        names = tuple("-".join(map(str, four)) for four in fours.tolist())
    outcome = yield RunRequest(
        Plan("dihedrals", quadruples=atom_columns, features=sin_cos, periodic=pbc),
        [main],
    )
    if pbc:
        messages += outcome.cells.missing_in_some()
    recorded = {"n_dihedrals": len(fours), "backbone": backbone}
    return Dihedrals(
        values=outcome.floats("dihedrals"),
        axes=(
            outcome.frames_axis,
            _angles_axis(main, names, fours, backbone=backbone, sin_cos=sin_cos),
        ),
        name="dihedral features" if sin_cos else "dihedral angles",
        units="" if sin_cos else "degrees",
        selections=(main.label,),
        report=outcome.report(messages, recorded=recorded),
    )


def _angles_axis(
    main: Selection,
    names: Sequence[str],
    fours: NDArray[np.int64],
    *,
    backbone: bool,
    sin_cos: bool,
) -> Axis:
    """Return the axis of angles, or of the cosine and sine of each."""
    atoms, members = np.unique(fours, return_inverse=True)
    columns: dict[str, NDArray[np.generic]] = {"label": np.array(names, np.str_)}
    if backbone:
        columns["angle"] = np.tile(["phi", "psi"], len(fours) // 2)
    times = 2 if sin_cos else 1
    columns = {name: np.repeat(column, times) for name, column in columns.items()}
    if sin_cos:
        columns["function"] = np.tile(["cos", "sin"], len(fours))
    of = atoms_axis(main.trajectory.select(atoms))
    members = members.reshape(fours.shape)
    return Axis("angles", columns, of=of, members=np.repeat(members, times, axis=0))


def _backbone(
    main: Selection, messages: list[Message]
) -> tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.int64]]:
    """Return the backbone angles, φ and ψ of one residue after the other.

    Residues that are left out are added to the messages.

    Returns
    -------
    names
        Names of the angles.
    fours
        `(n, 4)`, atom indices of each angle.
    columns
        `(n, 4)`, positions of these atoms in a frame.

    Raises
    ------
    SelectionError
        If no residue is left.
    """
    trajectory = main.trajectory
    angles = backbone_dihedrals(main.topology_atoms, main.label, messages)
    names, fours = angles.names, angles.fours
    columns, there = trajectory.source.index.columns_of(fours)
    # A residue needs all eight atoms of φ and ψ.
    kept: NDArray[np.bool_] = np.asarray(there.reshape(-1, 8).all(axis=1))
    if not kept.any():
        raise SelectionError(
            f"{trajectory.label}: selection {quoted(main.label)}: no residue has all atoms of φ"
            " and ψ in the tags that are open: open the whole data set"
        )
    if n_left_out := int((~kept).sum()):
        messages.append(
            Message(
                Code.RESIDUES_LEFT_OUT,
                "residues left out, since atoms of their φ and ψ are not in the trajectory:"
                f" {n_left_out}",
            )
        )
    near = bonded_in_first_frame(main, columns[np.repeat(kept, 2)])
    bonded, known = listed_bonds(trajectory.topology, fours[np.repeat(kept, 2)])
    bonded = np.where(known, bonded, near)
    # Ends of chains have no neighbours to be bonded to.
    if n_left_out := int((~bonded & angles.within_chains[kept]).sum()):
        messages.append(
            Message(
                Code.RESIDUES_LEFT_OUT,
                "residues left out, since they are not bonded to their neighbours in the topology,"
                f" or in frame 0 (C and N within {PEPTIDE_BOND} Å): {n_left_out}",
            )
        )
    if not bonded.any():
        raise SelectionError(
            f"{trajectory.topology}: selection {quoted(main.label)}: no residue is bonded to its"
            " neighbours: give four atoms of each angle (quadruples=)"
        )
    kept[kept] = bonded
    whole = np.repeat(kept, 2)
    return tuple(np.array(names)[whole].tolist()), fours[whole], columns[whole]


def bonded_in_first_frame(main: Selection, columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which residues are bonded to both neighbours in frame 0.

    The topology does not show it: a segment may have several chains, and residues may be missing.

    Parameters
    ----------
    main
        The selection that has the residues.
    columns
        `(2 n, 4)`, φ and ψ of one residue after the other, as positions in a frame.

    Raises
    ------
    SelectionError
        If none is.
    """
    trajectory = main.trajectory
    ends = np.concatenate([columns[::2, :2], columns[1::2, 2:]])
    wanted, where = np.unique(ends, return_inverse=True)
    first = trajectory.source.read([0], wanted, None, counted=False)
    one, other = np.moveaxis(first.positions[0][where.reshape(ends.shape)], 1, 0)
    # Lengths are NaN in a frame without positions, and then no residue is bonded.
    near = Box.of(first).distances(one, other) <= PEPTIDE_BOND
    bonded = np.asarray(near.reshape(2, -1).all(axis=0))
    if not bonded.any():
        raise SelectionError(
            f"{trajectory.label}: selection {quoted(main.label)}: no residue is bonded to its"
            f" neighbours in frame 0 (C and N within {PEPTIDE_BOND} Å): make molecules whole, or is"
            " the topology another system's?"
        )
    return bonded


def _checked(quadruples: Sequence[Sequence[int]] | NDArray[np.integer]) -> NDArray[np.int64]:
    """Return quadruples as an array `(n, 4)`, int64.

    Raises
    ------
    SelectionError
        If there are none, or one has an atom twice.
    TypeError
        If they are not rows of four integers.
    """
    try:
        fours = np.asarray(quadruples)
    except ValueError:
        # Rows of different lengths.
        fours = np.empty(1)
    if fours.size == 0:
        raise SelectionError("no quadruple of atoms was given")
    if fours.ndim != 2 or fours.shape[1] != 4 or not np.issubdtype(fours.dtype, np.integer):
        raise TypeError("quadruples must be whole numbers of shape (n, 4)")
    ordered = np.sort(fours, axis=1)
    twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if twice.size:
        raise SelectionError(
            f"quadruple {fours[twice[0]].tolist()} has an atom twice: a dihedral angle is that of"
            " four different atoms"
        )
    return np.ascontiguousarray(fours, dtype=np.int64)
