"""Golden bits of ProLIF 2.2.3, which `tests/external/with_prolif_bits.py` writes.

Positions are those of its samples, multiples of 0.01 Å, and their atoms have its roles.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trajet as tj
from trajet.result.interactions import KINDS

GOLDEN = Path(__file__).parent.parent / "analyses" / "prolif_bits.npz"
# Files of a precision of 1000 per nm hold integers, which are multiplied by this, rounded.
_INVERSE = np.float32(1) / np.float32(1000)


@dataclass(frozen=True)
class Sample:
    """A ligand, the residues around it, and their interactions in some frames.

    Attributes
    ----------
    positions
        `(n_frames, n_atoms, 3)`, float32, Å.
    chemistry
        Of ProLIF.
    n_first
        Number of the atoms of the ligand, which are the first.
    bits
        `(n, 4)`, row of the frame, kind and both residues.
    n_matches
        Number of matches of each kind.
    """

    positions: np.ndarray
    chemistry: tj.Chemistry
    n_first: int
    bits: np.ndarray
    n_matches: np.ndarray

    @classmethod
    def of(cls, name: str) -> "Sample":
        """Return the sample "top" or "water"."""
        with np.load(GOLDEN) as file:
            found = {key: file[f"{name}.{key}"].astype(np.int64) for key in _KEYS}
        n = len(found["roles"])
        hundredths = np.cumsum(found["steps"], axis=1).astype(np.float32)
        chemistry = tj.Chemistry(
            atoms=np.arange(n),
            roles=found["roles"].astype(np.uint16),
            formal_charges=np.zeros(n, np.int8),
            radii=(found["radii"] / 100).astype(np.float32),
            residues=found["residues"].astype(np.uint32),
            hydrogens=found["hydrogens"].astype(np.uint32),
            neighbours=found["neighbours"].astype(np.uint32),
            ring_starts=found["ring_starts"].astype(np.uint32),
            ring_atoms=found["ring_atoms"].astype(np.uint32),
            names=("X",) * n,
            labels={k: str(k) for k in found["residues"].tolist()},
        )
        positions = hundredths * _INVERSE * np.float32(10)
        return cls(positions, chemistry, int(found["n_first"]), found["bits"], found["n_matches"])


_KEYS = (
    *("roles", "residues", "radii", "n_first", "hydrogens", "neighbours", "ring_starts"),
    *("ring_atoms", "steps", "bits", "n_matches"),
)


def bits_of(found: tj.Interactions) -> np.ndarray:
    """Return the bits of a result that lists all, `(n, 4)`: row, kind and both residues, sorted."""
    pairs, bits = found.pairs, found.bits
    assert pairs is not None and bits is not None
    kinds = np.array([KINDS.index(kind) for kind in pairs.kinds])
    rows = np.repeat(np.arange(len(found)), found.values.sum(axis=1).astype(np.int64))
    columns = [rows, kinds[bits.pairs], *pairs.members[bits.pairs].T]
    return np.unique(np.stack(columns, axis=1), axis=0)
