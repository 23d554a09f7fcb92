"""Topologies in H5MD files: GROMACS' molecule types, and bonds.

GROMACS from 2026 on stores its topology in "h5md/modules/gromacs_topology" (h5md_topologyutils.cpp
in its sources): a group for each type of molecules describes the atoms of one molecule, and the
attributes `molecule_block_names` and `molecule_block_counts` say how many molecules of which type
follow one another. Bonds are the pairs of "connectivity/bonds", as in H5MD 1.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import FormatError
from trajet.h5md import bounded
from trajet.h5md.bounded import attribute
from trajet.h5md.library import h5py
from trajet.h5md.links import find, member
from trajet.h5md.tables import creator_of, has_vectors, opened, text
from trajet.topology import Structure, structure_of

if TYPE_CHECKING:
    from h5py import Dataset, File, Group

GROMACS_TOPOLOGY = "h5md/modules/gromacs_topology"
_BONDS = "connectivity/bonds"
# The first number of the versions of `gromacs_topology` that are read.
_VERSION = 0

_Int = NDArray[np.int64]
# An array of codes, and the text of each code.
_Texts = tuple[NDArray[np.uint32], list[str]]


def has_topology(path: Path) -> bool:
    """Return whether an HDF5 file names its atoms: whether GROMACS' topology is in it.

    Raises
    ------
    FormatError
        If its tables are damaged.
    MissingPackageError
        If h5py is not installed.
    """
    with opened(path) as file:
        return find(file, GROMACS_TOPOLOGY) is not None


def read_structure(path: Path) -> Structure:
    """Return the topology of an H5MD file of GROMACS, without positions.

    Names, residues, segments and molecules are numbered as those of a TPR file; elements are those
    of the atomic numbers; types are guessed.

    Raises
    ------
    FormatError
        If the file does not name its atoms, or its topology is damaged or of an unknown version.
    MissingPackageError
        If h5py is not installed.
    """
    with opened(path) as file:
        group = member(file, GROMACS_TOPOLOGY)
        if group is None:
            raise FormatError(
                f"{path}: this HDF5 file does not name its atoms (GROMACS writes their names from"
                f" 2026 on, in {GROMACS_TOPOLOGY}): use a topology, such as a PSF, PDB, GRO or TPR"
                " file"
            )
        _check_version(group)
        blocks = _blocks(group)
        kinds = {name: _Kind.of(group, name) for name, _ in blocks}
        n_atoms = sum(kinds[name].n_atoms * count for name, count in blocks)
        # A few bytes can claim any number of molecules.
        if n_atoms > bounded.most_rows(file):
            raise _error(group, f"has {n_atoms} atoms, too many for a file of its size")
        columns = _columns(kinds, [block for block in blocks if block[1]])
        bonds = _bonds(file, None, n_atoms)
        try:
            native = _trajet.Topology.from_columns(columns, bonds, [])
        except ValueError as error:
            raise _error(group, f"is not consistent: {error}") from error
    return structure_of(_trajet.StructureFile.of(native, None, None), path)


def bonds_of(path: Path, particles: str | None, n_atoms: int) -> _Int | None:
    """Return the bonds that an H5MD file lists, `(n_bonds, 2)`, indices of atoms.

    None if it has no bonds, bonds that change in time, or bonds whose numbers it does not explain.

    Parameters
    ----------
    path
        The file.
    particles
        Name of the particles group; None for the only one.
    n_atoms
        Number of its atoms.

    Raises
    ------
    FormatError
        If the bonds are damaged, or of atoms that do not exist.
    MissingPackageError
        If h5py is not installed.
    """
    with opened(path) as file:
        return _bonds(file, particles, n_atoms)


def keep_topology(path: Path, target: Path) -> None:
    """Write a new file that has the topology of an H5MD file, but not its frames.

    Raises
    ------
    FormatError
        If the file does not name its atoms.
    MissingPackageError
        If h5py is not installed.
    """
    # What is not read is not copied.
    read_structure(path)
    with opened(path) as file, h5py(str(target)).File(target, "w") as copy:
        copy.require_group("h5md/modules")
        for name in (GROMACS_TOPOLOGY, _BONDS):
            if find(file, name) is not None:
                file.copy(name, copy, name)
        creator = copy.create_group("h5md/creator")
        creator.attrs["name"], creator.attrs["source_name"] = "trajet", creator_of(file)
        copy["h5md"].attrs["version"] = np.array([1, 1], np.int32)
        copy.create_group("particles")


def _error(group: "Group | Dataset", what: str) -> FormatError:
    return FormatError(f"{group.file.filename}: {group.name.strip('/')} {what}")


def _check_version(group: "Group") -> None:
    """Refuse a topology of a version that may have another layout."""
    version = np.asarray(attribute(group, "version", [_VERSION])).reshape(-1)
    if not version.size or version.dtype.kind not in "iu" or version[0] != _VERSION:
        found = ".".join(str(number) for number in version.tolist())
        raise _error(
            group,
            f"has version {found}, and only {_VERSION}.x is known: give the TPR file as topology",
        )


def _blocks(group: "Group") -> list[tuple[str, int]]:
    """Return the molecule type and the number of molecules of each block."""
    names = np.asarray(attribute(group, "molecule_block_names", [])).reshape(-1)
    counts = np.asarray(attribute(group, "molecule_block_counts", [])).reshape(-1)
    is_whole = counts.dtype.kind in "iu" and (counts >= 0).all()
    if not names.size or len(names) != len(counts) or not is_whole:
        raise _error(
            group, "has no list of molecules, or one that is damaged: give the TPR file as topology"
        )
    return list(zip(map(text, names.tolist()), counts.tolist(), strict=True))


@dataclass(frozen=True)
class _Kind:
    """A type of molecules: columns of the atoms and residues of one molecule."""

    names: _Texts
    residue_names: _Texts
    # Residue of each atom, from 0.
    residues: _Int
    elements: _Texts
    masses: NDArray[np.float64]
    charges: NDArray[np.float64]

    @property
    def n_atoms(self) -> int:
        return len(self.residues)

    @property
    def n_residues(self) -> int:
        return len(self.residue_names[0])

    @classmethod
    def of(cls, blocks: "Group", name: str) -> "_Kind":
        """Return the molecule type of this name."""
        group = member(blocks, name)
        if group is None or not hasattr(group, "keys"):
            raise _error(blocks, f"has no molecule type {name!r}: give the TPR file as topology")
        numbers = _column(group, "residue_id", "iu", None)
        n = len(numbers)
        names = _texts(group, "particle_name", n)
        codes, texts = _texts(group, "residue_name", n)
        # Numbers of residues begin anywhere: GROMACS writes those of its own topology plus one.
        is_first = np.ones(n, np.bool_)
        is_first[1:] = (np.diff(numbers) != 0) | (np.diff(codes.astype(np.int64)) != 0)
        species = _column(group, "species", "iu", n)
        atomic_numbers, elements = np.unique(species, return_inverse=True)
        symbols = [_trajet.element_symbol(number) or "" for number in atomic_numbers.tolist()]
        return cls(
            names,
            (codes[is_first], texts),
            np.cumsum(is_first) - 1,
            (elements.astype(np.uint32), symbols),
            _column(group, "mass", "f", n).astype(np.float64),
            _column(group, "charge", "f", n).astype(np.float64),
        )


def _column(group: "Group", name: str, kinds: str, n: int | None) -> "NDArray[Any]":
    """Return a dataset with one number for each atom; `kinds` are those of NumPy's types."""
    dataset = member(group, name)
    if getattr(dataset, "dtype", None) is None or dataset.dtype.kind not in kinds:
        raise _error(group, f"has no column {name!r} of numbers: give the TPR file as topology")
    if len(dataset.shape or ()) != 1 or n not in (None, dataset.shape[0]):
        raise _error(dataset, f"has shape {dataset.shape} instead of ({n or 'n_atoms'},)")
    values = bounded.read(dataset)
    return values.astype(np.int64) if "i" in kinds else values


def _texts(group: "Group", name: str, n: int) -> _Texts:
    """Return a column of texts, which is stored as codes and a table."""
    codes = _column(group, name, "iu", n)
    table = member(group, f"{name}_table")
    if table is None or len(getattr(table, "shape", None) or ()) != 1:
        raise _error(group, f"has no table of texts {name}_table")
    texts = [text(value) for value in bounded.read(table).tolist()]
    if n and not (codes.min() >= 0 and codes.max() < len(texts)):
        raise _error(group, f"has a code in {name} that is not in {name}_table")
    return codes.astype(np.uint32), texts


def _columns(kinds: dict[str, _Kind], blocks: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Return the columns of all molecules, as `from_columns` takes them."""
    of = [(kinds[name], count) for name, count in blocks]
    n_atoms = np.array([kind.n_atoms * count for kind, count in of], np.int64)
    n_residues = np.array([kind.n_residues * count for kind, count in of], np.int64)
    first_residues = np.cumsum(n_residues) - n_residues
    counts = np.array([count for _, count in blocks], np.int64)
    first_molecules = np.cumsum(counts) - counts
    resindices = [
        (first + np.arange(count)[:, None] * kind.n_residues + kind.residues).reshape(-1)
        for (kind, count), first in zip(of, first_residues, strict=True)
    ]
    molnums = [
        first + np.repeat(np.arange(count), kind.n_atoms)
        for (kind, count), first in zip(of, first_molecules, strict=True)
    ]
    names = [name for name, _ in blocks]
    by_block = np.repeat(np.arange(len(of), dtype=np.uint32), n_atoms)
    elements = _joined([(kind.elements, count) for kind, count in of])
    return {
        "names": _joined([(kind.names, count) for kind, count in of]),
        **({"elements": elements} if any(elements[1]) else {}),
        "masses": np.concatenate([np.tile(kind.masses, count) for kind, count in of]),
        "charges": np.concatenate([np.tile(kind.charges, count) for kind, count in of]),
        "ids": np.arange(n_atoms.sum()),
        "chainIDs": (by_block, [name.removeprefix("Protein_chain_") for name in names]),
        "molnums": np.concatenate(molnums),
        "moltypes": (by_block, names),
        "resindices": np.concatenate(resindices),
        "resnames": _joined([(kind.residue_names, count) for kind, count in of]),
        "resids": np.arange(1, n_residues.sum() + 1),
        "segindices": np.repeat(np.arange(len(of)), n_residues),
        "segids": [f"seg_{k}_{name}" for k, name in enumerate(names)],
    }


def _joined(parts: Sequence[tuple[_Texts, int]]) -> _Texts:
    """Return columns of texts, each repeated so many times, one after the other."""
    texts: list[str] = []
    codes = []
    for (numbers, values), count in parts:
        codes.append(np.tile(numbers + np.uint32(len(texts)), count))
        texts += values
    return np.concatenate(codes), texts


def _bonds(file: "File", particles: str | None, n_atoms: int) -> _Int | None:
    """Return the bonds of a file; see `bonds_of`."""
    dataset = member(file, _BONDS)
    # Bonds that change in time are a group.
    if dataset is None or hasattr(dataset, "keys"):
        return None
    if len(dataset.shape or ()) != 2 or dataset.shape[1] != 2 or dataset.dtype.kind not in "iu":
        raise _error(dataset, "is not a table of pairs of whole numbers, (n_bonds, 2)")
    group = _group_of(file, dataset, particles)
    if isinstance(group, _OtherParticles):
        return None
    pairs: _Int = bounded.read(dataset, dtype=np.int64)
    properties = dataset.id.get_create_plist()
    if properties.fill_value_defined() == h5py(file.filename).h5d.FILL_VALUE_USER_DEFINED:
        pairs = pairs[(pairs != np.int64(dataset.fillvalue)).all(axis=1)]
    if group is not None and (numbers := _identifiers(group)) is not None:
        pairs = _places(numbers, pairs, dataset)
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < n_atoms):
        raise _error(dataset, f"has an atom that does not exist: there are {n_atoms} atoms")
    return pairs


class _OtherParticles:
    """Bonds belong to a group of particles that is not read."""


def _group_of(
    file: "File", dataset: "Dataset", particles: str | None
) -> "Group | _OtherParticles | None":
    """Return the group of particles that bonds belong to; None where they have indices of atoms."""
    groups = find(file, "particles")
    names = [] if groups is None else [name for name in groups if has_vectors(find(groups, name))]
    if particles is None and len(names) == 1:
        particles = names[0]
    own = None if particles is None else find(file, f"particles/{particles}")
    reference = attribute(dataset, "particles_group")
    if isinstance(reference, h5py(file.filename).Reference):
        return own if own is not None and file[reference] == own else _OtherParticles()
    # GROMACS writes indices, and no reference.
    if "GROMACS" in creator_of(file):
        return None
    return own if own is not None else _OtherParticles()


def _identifiers(group: "Group") -> _Int | None:
    """Return the numbers of particles, `id`; None if their indices are their numbers."""
    element = member(group, "id")
    value = member(element, "value") if hasattr(element, "keys") else element
    if value is None:
        return None
    # Readers refuse files whose particles change places.
    rows = bounded.read(value, 1 if len(value.shape) == 2 else None, np.int64)
    return rows.reshape(-1)


def _places(numbers: _Int, pairs: _Int, dataset: "Dataset") -> _Int:
    """Return pairs of numbers of particles as pairs of their indices."""
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    if (np.diff(ascending) == 0).any():
        raise _error(dataset, "names particles by their id, and several have the same")
    if not np.isin(pairs, ascending).all():
        raise _error(dataset, "has the id of a particle that does not exist")
    found: _Int = order[np.searchsorted(ascending, pairs)]
    return found
