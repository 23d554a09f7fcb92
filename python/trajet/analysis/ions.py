"""Ions of an electrolyte by kinds, and the displacements of each kind."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.analysis.charges import MolecularCharges
from trajet.analysis.particle_series import MovingParticles, borders_of_groups
from trajet.messages import Message
from trajet.particles import known_elements, masses_as_weights
from trajet.quoting import quoted
from trajet.result import Diffusion, diffusion, errors_of


class KindOfIon(NamedTuple):
    """Displacements of the ions of a kind.

    Attributes
    ----------
    label
        Name of a residue, formula, or names of atoms.
    squared_charge
        N q² of the ions, e².
    msd, standard_errors, half_widths
        `(n_lags,)`, mean squared displacement of an ion and its errors, Å².
    fit
        The diffusion coefficient.
    """

    label: str
    squared_charge: float
    msd: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    half_widths: NDArray[np.float64]
    fit: Diffusion


@dataclass(frozen=True)
class Ions:
    """The ions of a selection, those of a kind one after the other.

    Attributes
    ----------
    moving
        The ions as particles, with masses as weights.
    borders
        `(n_groups + 1,)`, groups of consecutive ions of a kind.
    kinds
        `(n_groups,)`, number of the kind of each group.
    labels, charges
        Name and charge, e, of each kind.
    """

    moving: MovingParticles
    borders: NDArray[np.int64]
    kinds: NDArray[np.int64]
    labels: tuple[str, ...]
    charges: NDArray[np.float64]

    @classmethod
    def of(cls, charged: MolecularCharges, messages: list[Message]) -> "Ions":
        """Return the ions of a selection, by name and charge.

        Raises
        ------
        SelectionError
            If there is none, or masses are unknown.
        """
        main, molecules = charged.selection, charged.molecules
        ions = np.flatnonzero(charged.of_molecules)
        if not ions.size:
            raise SelectionError(
                f"{quoted(main.label)} has no ions: all molecules are neutral, and their"
                " conductivity is 0"
            )
        names = _names(charged, ions)
        keys = [*zip(names, charged.of_molecules[ions].round(3).tolist(), strict=True)]
        known = {key: kind for kind, key in enumerate(sorted({*keys}))}
        kinds = np.array([known[key] for key in keys])
        in_order = ions[np.argsort(kinds, kind="stable")]
        # The place of each ion among all, and of atoms in the order of their ions.
        place = np.full(len(charged.of_molecules), -1)
        place[in_order] = np.arange(len(in_order))
        atoms = np.flatnonzero(place[molecules] >= 0)
        atoms = atoms[np.argsort(place[molecules[atoms]], kind="stable")]
        sizes = np.bincount(place[molecules[atoms]])
        heavy = None
        if (sizes > 1).any():
            of_ions = main.topology_atoms[atoms]
            heavy = masses_as_weights(of_ions, messages, sizes.tolist(), instead=None)
        moving = MovingParticles(
            main.columns[atoms],
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            heavy,
            are_groups=heavy is not None,
        )
        borders, of_groups = [np.zeros(1, np.int64)], []
        for kind, count in enumerate(np.bincount(kinds).tolist()):
            ends = borders_of_groups(count)[1:]
            borders.append(borders[-1][-1] + ends)
            of_groups += [kind] * len(ends)
        charges = charged.of_molecules[in_order][np.cumsum(np.bincount(kinds)) - 1]
        every = [name for name, _ in known]
        labels = tuple(
            name if every.count(name) == 1 else f"{name} {charge:+.3g} e" for name, charge in known
        )
        return cls(moving, np.concatenate(borders), np.array(of_groups), labels, charges)

    def by_kind(
        self,
        lags: NDArray[np.float64],
        groups: NDArray[np.float64],
        fit_range: tuple[float, float] | None,
    ) -> Iterator[KindOfIon]:
        """Yield the displacements of each kind, of those of groups, `(n_lags, n_groups)`, Å²."""
        sizes = np.diff(self.borders)
        for kind, charge in enumerate(self.charges.tolist()):
            own, count = groups[:, self.kinds == kind], sizes[self.kinds == kind]
            errors = errors_of(own, count, None)
            yield KindOfIon(
                self.labels[kind],
                charge**2 * float(count.sum()),
                own @ (count / count.sum()),
                errors.standard_errors,
                errors.half_widths,
                diffusion(lags, own, count, 3, fit_range),
            )


def _names(charged: MolecularCharges, ions: NDArray[np.int64]) -> list[str]:
    """Return the name of each ion: of its first residue, or the elements or names of its atoms.

    They do not depend on the order of the selection, nor on that of the atoms of a molecule.
    """
    atoms, molecules = charged.selection.topology_atoms, charged.molecules
    order = np.lexsort((atoms.indices, molecules))
    sizes = np.bincount(molecules)[ions]
    first = np.searchsorted(molecules[order], ions)
    residues = atoms.column("resnames")
    if residues is not None and (residues != "").all():
        names: list[str] = residues[order[first]].tolist()
        return names
    own, is_formula = _names_of_atoms(charged)
    return [
        _name_of_atoms(own[order[begin : begin + size]].tolist(), is_formula=is_formula)
        for begin, size in zip(first.tolist(), sizes.tolist(), strict=True)
    ]


def _names_of_atoms(charged: MolecularCharges) -> tuple[NDArray[np.str_], bool]:
    """Return the elements of atoms, or their names, and whether these are elements."""
    atoms = charged.selection.topology_atoms
    # Files of LAMMPS have numbers for names, and masses. Beads have no elements.
    with contextlib.suppress(SelectionError):
        elements = known_elements(atoms)
        if (elements != "").all():
            return elements, True
    own = atoms.column("names")
    return (np.full(len(charged.charges), "ion") if own is None else own), False


def _name_of_atoms(names: list[str], *, is_formula: bool) -> str:
    """Return the name of an ion of these atoms: a formula of elements, or their names."""
    if not is_formula:
        return "-".join(sorted(names))
    counts = sorted(Counter(names).items())
    return "".join(f"{symbol}{count if count > 1 else ''}" for symbol, count in counts)
