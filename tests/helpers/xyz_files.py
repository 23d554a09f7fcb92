"""XYZ files, plain and extended, and a naive reading of them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from helpers.made_files import random_vectors

# kJ/mol in an eV, of CODATA 2018.
KJ_PER_EV = 96.48533212331002
SPECIES = ("O", "H", "H", "Cl", "Na")


def frames_of(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the comment and the words of the lines of each frame."""
    lines = text.splitlines()
    k = 0
    while k < len(lines):
        n = int(lines[k])
        yield lines[k + 1], [line.split() for line in lines[k + 2 : k + 2 + n]]
        k += n + 2


def frame(comment: str, *columns: np.ndarray | list[str]) -> str:
    """Return a frame; numbers with all of their digits."""
    texts = [
        np.array([[repr(x) for x in row] for row in np.asarray(column).tolist()])
        if isinstance(column, np.ndarray)
        else np.array(column)[:, None]
        for column in columns
    ]
    rows = "".join(" ".join(row) + "\n" for row in np.hstack(texts).tolist())
    return f"{len(texts[0])}\n{comment}\n{rows}"


def species(n_atoms: int) -> list[str]:
    """Return species of some atoms."""
    return [SPECIES[k % len(SPECIES)] for k in range(n_atoms)]


def lattice_text(vectors: np.ndarray) -> str:
    """Return the vectors a, b and c, which are rows."""
    return " ".join(repr(x) for x in vectors.ravel().tolist())


def write_cp2k(path: Path, n_atoms: int, n_frames: int) -> Path:
    """Write frames with the comments of CP2K: steps, and times in fs."""
    text = ""
    for k, positions in enumerate(random_vectors(n_frames, n_atoms, size=9.0)):
        rows = "".join(
            f"{name:>3} {x:19.10f} {y:19.10f} {z:19.10f}\n"
            for name, (x, y, z) in zip(species(n_atoms), positions.tolist(), strict=True)
        )
        comment = f" i = {5 * k:8}, time = {2.5 * k:12.3f}, E = {-17.1646204766 - k:19.10f}"
        text += f"{n_atoms:8}\n{comment}\n{rows}"
    path.write_text(text)
    return path


def write_extended(path: Path, n_atoms: int, n_frames: int) -> Path:
    """Write frames of extended XYZ with cells and forces, as ASE does."""
    text = ""
    for k, positions in enumerate(random_vectors(n_frames, n_atoms, size=9.0).astype(float)):
        vectors = np.array([[20.0 + k, 0, 0], [3, 21, 0], [1, 2, 22]])
        comment = (
            f'Lattice="{lattice_text(vectors)}" Properties=species:S:1:pos:R:3:forces:R:3'
            f' energy={-17.5 - k} pbc="T T T"'
        )
        text += frame(comment, species(n_atoms), positions, positions[::-1] / 7)
    path.write_text(text)
    return path
