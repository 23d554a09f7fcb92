"""Ions of an electrolyte by kinds, and the displacements of each kind."""

import contextlib
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
        Name of a residue or an atom.
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
        _, first = np.unique(molecules, return_index=True)
        ions = np.flatnonzero(charged.of_molecules)
        if not ions.size:
            raise SelectionError(
                f"{quoted(main.label)} has no ions: all molecules are neutral, and their"
                " conductivity is 0"
            )
        names = _names(charged)[first[ions]]
        keys = [*zip(names.tolist(), charged.of_molecules[ions].round(3).tolist(), strict=True)]
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
            heavy = masses_as_weights(main.topology_atoms[atoms], messages, sizes.tolist())
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


def _names(charged: MolecularCharges) -> NDArray[np.str_]:
    """Return the name of the residue of each atom, or its element or its own name, `(n_atoms,)`."""
    atoms = charged.selection.topology_atoms
    residues = atoms.column("resnames")
    if residues is not None and (residues != "").all():
        return residues
    # Files of LAMMPS have numbers for names, and masses. Beads have no elements.
    with contextlib.suppress(SelectionError):
        elements = known_elements(atoms)
        if (elements != "").all():
            return elements
    own = atoms.column("names")
    return np.full(len(charged.charges), "ion") if own is None else own
