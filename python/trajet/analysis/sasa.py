"""`sasa`: solvent-accessible surface areas."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import (
    ANGSTROM,
    PYTHON_ONLY,
    Atoms,
    Between,
    OtherAtoms,
)
from trajet.analysis.atom_groups import labelled_atoms, residues_axis
from trajet.analysis.atom_sets import selected_locations
from trajet.analysis.job import Steps, analysis
from trajet.analysis.runner import (
    RunOptions,
    RunRequest,
    further_selection,
    main_selection,
)
from trajet.analysis.unit_warnings import looks_like_nm
from trajet.checked_numbers import checked_numbers
from trajet.messages import Code, Message
from trajet.particles import guessed_elements_text, known_elements, without_element
from trajet.result import SurfaceAreas
from trajet.result.axes import Axis
from trajet.topology import first_of
from trajet.trajectory import Selection

# Radius of a probe, Å, below which it is smaller than any atom; 0 is the van der Waals surface.
_MIN_PROBE = 0.5

By: TypeAlias = Literal["total", "residue", "atom"]
Radii: TypeAlias = (
    "Mapping[str, float] | Sequence[float] | NDArray[np.floating | np.integer] | None"
)

# Bondi's radius of hydrogen, Å. That of the topology's table is shorter, as bonds need it.
_HYDROGEN = 1.2


@analysis(
    axes=("frames",),
    stored=True,
    examples=r"""
    trajet sasa adk.psf adk.xtc --select protein -o sasa.csv --plot sasa.png
    trajet sasa adk.psf adk.xtc --select protein --by residue --plot residues.png
    trajet sasa top.gro run.xtc --select "resname LIG" --context protein
    """,
)
def sasa(
    selection: Atoms,
    *,
    context: OtherAtoms | None = None,
    probe: Annotated[float, ANGSTROM, Between(0)] = 1.4,
    points: Annotated[int, Between(1, 10**6)] = 960,
    radii: Annotated[Radii, PYTHON_ONLY] = None,
    by: By = "total",
    **run: Unpack[RunOptions],
) -> Steps[SurfaceAreas]:
    """Compute the solvent-accessible surface area of atoms.

    Parameters
    ----------
    context
        Further atoms that cover the selected ones. Selection text, a Selection or an AtomGroup: the
        area of a ligand in a protein is that of `ligand` with `context="protein"`. None for only
        the selected atoms, which cover each other.
    probe
        Radius of the probe, Å.
    points
        Number of points on the sphere of each atom.
    radii
        Van der Waals radii, Å. None for those of the elements: A. Bondi, J. Phys. Chem. 68, 441
        (1964), doi:10.1021/j100785a001, and for elements that Bondi lacks those of M. Mantina et
        al., J. Phys. Chem. A 113, 5806 (2009), doi:10.1021/jp8111556, and S. Alvarez, Dalton Trans.
        42, 8617 (2013), doi:10.1039/c3dt50599e. A dict changes some: `{"Na": 1.02}`. An array has
        one for each atom of the topology. Atoms of radius 0 have no area and cover nothing, as
        virtual sites, lone pairs and Drude particles do.
    by
        "total" for the area of all atoms, "residue" or "atom" for that of each.

    Returns
    -------
    SurfaceAreas
        `values` `(n_frames,)` for the total, `(n_frames, n_residues)` or `(n_frames, n_atoms)`;
        float64, Å².

    Raises
    ------
    SelectionError
        If an atom has no known radius: its element is unknown, or the topology is coarse-grained.
    AnalysisError
        If an atom has no position.
    ValueError
        If `probe`, `points` or `radii` are out of range.

    Notes
    -----
    A. Shrake and J. A. Rupley, J. Mol. Biol. 79, 351 (1973), doi:10.1016/0022-2836(73)90011-9: the
    share of points, evenly spread over the sphere of an atom and the probe, that are within no
    other such sphere. Points are on a golden spiral. The error of an atom's area is a few points:
    one is 4π (r + probe)² / points, 0.13 Å² for carbon.

    Periodic images cover no atoms.

    Atoms at different alternate locations of one residue do not cover each other.

    Atoms that the topology lacks have no radius: united atoms of force fields without hydrogens
    need radii of their own.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> tj.sasa(traj.select("protein"), frames=[0]).values.round(0)
    array([10421.])
    >>> tj.sasa(traj.select("resname LYS"), by="residue", context="protein").values.shape
    (98, 18)
    """
    main = main_selection(selection)
    if by not in get_args(By):
        raise ValueError(f"by is 'total', 'residue' or 'atom', not {by!r}")
    around = None if context is None else further_selection(context, main.trajectory)
    messages: list[Message] = []
    groups, axes = _groups(main, by)
    selections = [main] if around is None else [main, around]
    plan = Plan(
        "surface",
        atoms=main.columns,
        context=np.empty(0, np.int64) if around is None else around.columns,
        radii=_radii(selections, radii, messages),
        groups=groups,
        probe=float(probe),
        points=points,
        locations=selected_locations(selections),
    )
    outcome = yield RunRequest(plan, selections, as_written=selections)
    areas = outcome.floats("areas")
    if 0 < probe < _MIN_PROBE:
        messages += looks_like_nm("probe", float(probe), found=False, what="no atom is")
    return SurfaceAreas(
        values=areas[:, 0] if by == "total" else areas,
        axes=(outcome.frames_axis, *axes),
        name="SASA",
        units="Å²",
        selections=(main.label,),
        report=outcome.report(messages, recorded={"radii": "elements"} if radii is None else {}),
    )


def _groups(main: Selection, by: By) -> tuple[NDArray[np.int64] | None, tuple[Axis, ...]]:
    """Return the group of each atom (None if each is its own), and the axis of the groups."""
    if by == "total":
        return np.zeros(main.n_atoms, np.int64), ()
    if by == "atom":
        return None, (labelled_atoms(main),)
    residues, which = main.topology_atoms.by_place()
    return which, (residues_axis(main.trajectory.topology, residues),)


def _radii(
    selections: list[Selection], radii: Radii, messages: list[Message]
) -> NDArray[np.float64]:
    """Return the radii of the atoms of all selections, one after the other; append messages."""
    indices = np.concatenate([selection.indices for selection in selections])
    trajectory = selections[0].trajectory
    if radii is not None and not isinstance(radii, Mapping):
        numbers = checked_numbers(radii, "radii")
        n_atoms = trajectory.source.index.n_topology_atoms
        if numbers.shape != (n_atoms,):
            raise ValueError(
                f"{numbers.shape} radii do not fit the topology's {n_atoms} atoms: give one for"
                " each of them, not for the selected ones"
            )
        chosen: NDArray[np.float64] = numbers[indices]
        return chosen
    atoms = trajectory.topology.atoms[indices]
    elements = known_elements(atoms)
    symbols, which = np.unique(elements, return_inverse=True)
    changed = {symbol.capitalize(): radius for symbol, radius in (radii or {}).items()}
    if unknown := sorted(set(changed) - set(symbols.tolist())):
        raise ValueError(
            f"radii of {', '.join(unknown)}: the selected atoms have only the elements"
            f" {', '.join(filter(None, symbols.tolist()))}"
        )
    table = [_radius(symbol, changed) for symbol in symbols.tolist()]
    found = np.array(table, np.float64)[which]
    # Virtual sites and lone pairs have no surface.
    found[trajectory.topology.sites[indices] & (elements == "")] = 0.0
    without = np.flatnonzero(np.isnan(found))
    if without.size:
        raise SelectionError(
            f"{without.size} of {len(found)} atoms have no known radius in {atoms.topology}, the"
            f" first is {atoms.describe(int(without[0]))}: leave these atoms out, use a topology"
            " that states elements or masses, or give radii= as numbers, 0 for sites without a"
            " surface"
        )
    # An atom may be selected, and be part of the context.
    once = np.unique(indices, return_index=True)[1]
    named = without_element(atoms[once]) & (elements[once] != "")
    if named.any():
        counts = np.bincount(which[once][named], minlength=len(symbols)).tolist()
        # Wrong guesses are mostly rare, and the list is cut.
        rare_first = sorted(zip(counts, symbols, strict=True))
        words = [f"{s} {count}" for count, s in rare_first if s and count]
        messages.append(
            Message(
                Code.UNDECIDED_ELEMENTS,
                f"radii are those of elements {guessed_elements_text(named, str(atoms.topology))}:"
                f" {first_of(words)} atoms; united atoms have other radii",
            )
        )
    return found


def _radius(symbol: str, changed: Mapping[str, float]) -> float:
    """Return the radius of an element, Å; NaN if it is unknown."""
    if symbol in changed:
        return float(changed[symbol])
    found = _HYDROGEN if symbol in ("H", "D", "T") else _trajet.van_der_waals_radius(symbol)
    return float("nan") if found is None else found
