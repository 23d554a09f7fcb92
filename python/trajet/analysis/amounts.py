"""The amounts whose density is computed: numbers, masses or charges of atoms."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.messages import Message
from trajet.particles import masses
from trajet.quoting import quoted
from trajet.trajectory import Selection

Quantity: TypeAlias = Literal["number", "mass", "charge"]

# Units of densities, and the factor from amounts per Å³. 1 u is 1.66053906660e-24 g (CODATA 2018).
UNITS = {"number": ("1/Å³", 1.0), "mass": ("g/cm³", 1.66053906660), "charge": ("e/Å³", 1.0)}

# Bins of a histogram that takes 1 GB of memory in a thread.
_MAX_BINS = 10**7
# Advice if the histograms of all threads do not fit into memory.
FEWER_BINS = "choose fewer bins (bins=N)"


def check_bins(bins: int) -> None:
    """Raise an error if the number of bins of a histogram is out of range.

    Raises
    ------
    ValueError
        If it is below 1, or too large for memory.
    """
    if not 1 <= bins <= _MAX_BINS:
        raise ValueError(f"bins must be from 1 to {_MAX_BINS:,}, not {bins:,}")


def amounts_of(
    quantity: Quantity, selection: Selection, messages: list[Message]
) -> NDArray[np.float64] | None:
    """Return the mass (u) or charge (e) of each atom, `(n_atoms,)`; None for numbers.

    Raises
    ------
    ValueError
        If the quantity is none of these.
    SelectionError
        If an atom has no mass, or the topology has no charges, or they are all 0.
    """
    if quantity not in UNITS:
        raise ValueError(f"quantity must be 'number', 'mass' or 'charge', not {quantity!r}")
    if quantity == "number":
        return None
    atoms = selection.topology_atoms
    if quantity == "mass":
        return masses(atoms, messages, "take numbers (quantity='number')")
    charges = atoms.column("charges")
    if charges is None or not np.isfinite(charges).all():
        raise SelectionError(
            f"{atoms.topology} has no charges of {quoted(selection.label)}: use a topology with"
            " charges, such as a TPR, PSF or PRMTOP"
        )
    if not np.any(atoms.topology.column("charges")):
        raise SelectionError(
            f"all charges of {atoms.topology} are 0, which programs write where they are unknown:"
            " use a topology with charges, such as a TPR, PSF or PRMTOP"
        )
    return np.ascontiguousarray(charges, np.float64)
