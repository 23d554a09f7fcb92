"""NMD files, in which NMWiz of VMD and ProDy have the modes of a structure.

A line has a word and its values: names of atoms and residues, coordinates, and of each mode its
number, its scale and the direction of each atom (A. Bakan, L. M. Meireles and I. Bahar,
Bioinformatics 27, 1575 (2011), doi:10.1093/bioinformatics/btr168; ProDy, `parseNMD`).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import Axis

# Columns of atoms by the words of their lines.
_COLUMNS = {"atomnames": "name", "resnames": "resname", "resids": "resid", "chainids": "chain"}


def lines_of_modes(
    title: str,
    atoms: Axis,
    mean: NDArray[np.float64],
    variances: NDArray[np.float64],
    components: NDArray[np.float64],
) -> Iterator[str]:
    """Yield the lines of an NMD file.

    Parameters
    ----------
    mean
        `(n_atoms, 3)`, Å.
    variances
        `(n_modes,)`, Å².
    components
        `(n_modes, n_atoms, 3)`, each of length 1.
    """
    yield f"name {_word(title)}"
    for word, name in _COLUMNS.items():
        column = atoms.get(name)
        if column is not None:
            yield f"{word} {' '.join(map(_word, column.astype(np.str_).tolist()))}"
    squares = (variances[:, None, None] * components**2).sum(axis=(0, 2))
    yield f"bfactors {_numbers(8 * np.pi**2 / 3 * squares)}"
    yield f"coordinates {_numbers(mean)}"
    for k, (variance, component) in enumerate(zip(variances, components, strict=True), 1):
        yield f"mode {k} {variance**0.5:.8g} {_numbers(component)}"


def _word(text: str) -> str:
    """Return a text without spaces; X for an empty one."""
    return "_".join(text.split()) or "X"


def _numbers(values: NDArray[np.float64]) -> str:
    return " ".join([f"{value:.8g}" for value in values.ravel().tolist()])
