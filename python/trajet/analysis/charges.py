"""Charges of molecules, and dipole moments of groups of charges over time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, Plan, SelectionError
from trajet.analysis.amounts import amounts_of
from trajet.analysis.runner import AnalysisOutcome
from trajet.analysis.unwrapped_positions import are_made_whole
from trajet.messages import Message
from trajet.particles import masses_as_weights
from trajet.trajectory import Selection

# Charge of a molecule, e, that is the rounding of the charges of its atoms.
_ROUNDING = 0.01


@dataclass(frozen=True)
class MolecularCharges:
    """Charges of the atoms of a selection, and of its molecules.

    Attributes
    ----------
    selection
        The selection.
    charges
        `(n_atoms,)`, e; those of neutral molecules add up to 0.
    molecules
        `(n_atoms,)`, numbers of their molecules from 0; each atom is one if there are no bonds.
    of_molecules
        `(n_molecules,)`, e; 0 for rounding.
    """

    selection: Selection
    charges: NDArray[np.float64]
    molecules: NDArray[np.int64]
    of_molecules: NDArray[np.float64]

    @classmethod
    def of(
        cls, selection: Selection, messages: list[Message], *, needs_bonds: bool
    ) -> "MolecularCharges":
        """Return the charges of a selection; rounding is spread over the atoms of a molecule.

        Raises
        ------
        SelectionError
            If charges are unknown, or bonds that are needed.
        """
        charges = amounts_of("charge", selection, messages)
        assert charges is not None
        topology = selection.source.structure.topology
        is_bonded = topology.column("molnums") is not None or topology.bonds is not None
        if needs_bonds or is_bonded:
            numbers = selection.group_numbers("molecule")
        else:
            numbers = np.arange(len(charges), dtype=np.int64)
        _, molecules, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
        total = np.bincount(molecules, charges)
        exact = np.where(np.abs(total) < _ROUNDING, 0.0, total)
        charges = charges - ((total - exact) / sizes)[molecules]
        return cls(selection, charges, molecules, exact)

    def check_whole(self, broken: list[Message]) -> None:
        """Raise an AnalysisError if molecules are broken over the box, or may be.

        Parameters
        ----------
        broken
            The messages of the run, which compares neighbouring atoms of residues.
        """
        selection = self.selection
        residues = selection.group_numbers("residue")
        n_parts = len(np.unique(np.stack([self.molecules, residues]), axis=1).T)
        steps = [step.words for step in selection.trajectory.transforms]
        why = [str(message) for message in broken]
        if n_parts > len(self.of_molecules) and not are_made_whole(steps):
            why = ["molecules of several residues may be broken over the box"]
        if why:
            raise AnalysisError(
                f"{selection.trajectory.label}: {why[0]}, and dipole moments would be wrong: make"
                " molecules whole with selection.whole()"
            )

    def check_neutral(self) -> None:
        """Raise a SelectionError if a molecule has a charge."""
        charged = np.flatnonzero(self.of_molecules)
        if charged.size:
            first = int(np.flatnonzero(self.molecules == charged[0])[0])
            raise SelectionError(
                f"{charged.size} molecules have a charge, the first is that of"
                f" {self.selection.topology_atoms.describe(first)}"
                f" ({self.of_molecules[charged[0]]:+.3g} e): their dipole moment depends on where"
                " they are, so select neutral molecules, each with all of its atoms"
            )


def dipole_plan(
    charged: MolecularCharges, drifting: Selection | None, messages: list[Message]
) -> Plan:
    """Return the plan that reads centres of positive and of negative charge.

    Parameters
    ----------
    charged
        The charges.
    drifting
        Atoms whose centre of mass is read, too; None for none.
    messages
        Gets messages on masses.

    Raises
    ------
    SelectionError
        If masses are unknown.
    """
    charges, columns = charged.charges, charged.selection.columns
    groups = [(columns[sign * charges > 0], abs(charges[sign * charges > 0])) for sign in (1, -1)]
    if drifting is not None:
        heavy = masses_as_weights(drifting.topology_atoms, messages, instead=None)
        groups.append((drifting.columns, heavy))
    groups = [one for one in groups if len(one[0])]
    return Plan(
        "particles",
        atoms=np.concatenate([atoms for atoms, _ in groups]),
        sizes=np.array([len(atoms) for atoms, _ in groups]),
        weights=np.concatenate([weights for _, weights in groups]),
        axes="xyz",
        quantity="positions",
    )


def dipoles_of(
    outcome: AnalysisOutcome, charged: MolecularCharges
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Σ q r of a run of `dipole_plan`, e·Å, and the last of its centres, Å.

    Both are `(n_frames, 3)`.

    Raises
    ------
    AnalysisError
        If an atom has no position in a frame.
    """
    centres, charges = outcome.floats("vectors"), charged.charges
    known = np.isfinite(centres).all(axis=(1, 2))
    if not known.all():
        raise AnalysisError(
            f"{charged.selection.trajectory.label}: frame {outcome.frames[int(known.argmin())]}: an"
            " atom has no position there (not a number): leave this frame out"
        )
    dipoles = np.zeros((len(centres), 3))
    sums = [charges[charges > 0].sum(), charges[charges < 0].sum()]
    for k, total in enumerate(one for one in sums if one):
        dipoles += total * centres[:, k]
    return dipoles, centres[:, -1]


def volumes_of(outcome: AnalysisOutcome, label: str) -> NDArray[np.float64]:
    """Return the volume of the cell of each frame of a run of particles, `(n_frames,)`, Å³.

    Raises
    ------
    AnalysisError
        If a frame has no cell that is periodic in all directions, or a rotated one.
    """
    volumes: NDArray[np.float64] = outcome.floats("cell").prod(axis=1)
    known = np.isfinite(volumes)
    if not known.all():
        raise AnalysisError(
            f"{label}: frame {outcome.frames[int(known.argmin())]} has no cell that is periodic in"
            " all directions, or a fit has rotated it: its volume is needed"
        )
    return volumes
