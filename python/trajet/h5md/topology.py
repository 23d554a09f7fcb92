"""Topologies in H5MD files: GROMACS' molecule types, and bonds.

GROMACS from 2026 on stores its topology in "h5md/modules/gromacs_topology" (h5md_topologyutils.cpp
in its sources): a group for each molecule type describes the atoms of one molecule, and the
attributes `molecule_block_names` and `molecule_block_counts` say how many molecules of which type
follow one another. Bonds are the pairs of "connectivity/bonds", as in H5MD 1.1.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import FormatError
from trajet.h5md import bounded
from trajet.h5md.bounded import attribute
from trajet.h5md.files import creator_of, has_vectors, opened, text
from trajet.h5md.library import HdfFile, h5py
from trajet.h5md.links import find, member
from trajet.topology import Structure, structure_of

if TYPE_CHECKING:
    from h5py import Dataset, File, Group

GROMACS_TOPOLOGY = "h5md/modules/gromacs_topology"
_BONDS = "connectivity/bonds"
# The version of `gromacs_topology` that is read. GROMACS calls its layout experimental.
_VERSION = [0, 1]

_Int = NDArray[np.int64]
# An array of codes, and the string of each code.
_Strings = tuple[NDArray[np.uint32], list[str]]


def has_topology(path: Path) -> bool:
    """Return whether an HDF5 file has the topology that GROMACS writes.

    Raises
    ------
    FormatError
        If its tables are damaged.
    MissingPackageError
        If h5py is not installed.
    """
    with opened(path) as file:
        return find(file, GROMACS_TOPOLOGY) is not None


def read_structure(path: HdfFile, particles: str | None = None) -> Structure:
    """Return the topology of an H5MD file of GROMACS, without positions.

    Atoms, segments and molecules are numbered as those of a TPR file. Residues are counted from 1,
    as versions of GROMACS differ in the numbers that they store. The file has no insertion codes:
    neighbouring residues that differ in these alone are one. Elements are those of
    the atomic numbers; types are guessed.

    Parameters
    ----------
    path
        The file.
    particles
        Name of the particles group; None for the only one.

    Raises
    ------
    FormatError
        If the file has no such topology, or one that is damaged or of another version.
    MissingPackageError
        If h5py is not installed.
    """
    with opened(path) as file:
        group = member(file, GROMACS_TOPOLOGY)
        if group is None:
            raise FormatError(
                f"{path}: this HDF5 file has no topology that is read (GROMACS writes one from 2026"
                f" on, in {GROMACS_TOPOLOGY}): use a topology, such as a PSF, PDB, GRO or TPR file"
            )
        _check_version(group)
        blocks = _blocks(group)
        types = {
            name: _MoleculeType.of(group, name) for name in dict.fromkeys(n for n, _ in blocks)
        }
        counts = [(types[name].n_atoms * count, count) for name, count in blocks]
        n_atoms = sum(n for n, _ in counts)
        # A few bytes can claim any number of molecules.
        if n_atoms > bounded.most_rows(file):
            raise _error(group, f"has {n_atoms} atoms, too many for a file of its size")
        if not n_atoms:
            raise _error(group, "has no atoms: give the TPR file as topology")
        columns = _columns([(name, types[name], count) for name, count in blocks if count])
        try:
            native = _trajet.Topology.from_columns(
                columns, _bonds(file, particles, n_atoms), [], may_lack_bonds=True
            )
        except ValueError as error:
            raise _error(group, f"is not consistent: {error}") from error
    return structure_of(_trajet.StructureFile.of(native, None, None), Path(str(path)))


def bonds_of(path: HdfFile, particles: str | None, n_atoms: int) -> _Int | None:
    """Return the bonds that an H5MD file lists, `(n_bonds, 2)`, indices of atoms.

    None if it has no bonds, bonds that change in time, or those of other particles.

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


def keep_topology(path: Path, target: Path, particles: str | None = None) -> None:
    """Write a new file that has the topology of an H5MD file of GROMACS, but not its frames.

    Bonds are pairs of indices of atoms.

    Raises
    ------
    FormatError, MissingPackageError
        As for `read_structure`.
    """
    structure = read_structure(path, particles)
    with opened(path) as file, h5py(str(target)).File(target, "w") as copy:
        copy.require_group("h5md/modules").attrs["note"] = "a topology without frames"
        file.copy(GROMACS_TOPOLOGY, copy, GROMACS_TOPOLOGY)
        if (bonds := structure.topology.native.bonds) is not None:
            copy[_BONDS] = bonds


def _error(group: "Group | Dataset", what: str) -> FormatError:
    return FormatError(f"{group.file.filename}: {group.name.strip('/')} {what}")


def _check_version(group: "Group") -> None:
    """Refuse a topology of a version that may have another layout."""
    version = np.asarray(attribute(group, "version", [])).reshape(-1).tolist()
    if version != _VERSION:
        found = "version " + ".".join(map(str, version)) if version else "no version"
        known = ".".join(map(str, _VERSION))
        raise _error(
            group, f"has {found}, and only version {known} is read: give the TPR file as topology"
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
class _MoleculeType:
    """Columns of the atoms and residues of one molecule."""

    names: _Strings
    residue_names: _Strings
    # Residue of each atom, from 0.
    residues: _Int
    elements: _Strings
    # Whether the atomic number is that of no element.
    no_elements: _Int
    masses: NDArray[np.float64]
    charges: NDArray[np.float64]

    @property
    def n_atoms(self) -> int:
        return len(self.residues)

    @property
    def n_residues(self) -> int:
        return len(self.residue_names[0])

    @classmethod
    def of(cls, blocks: "Group", name: str) -> "_MoleculeType":
        """Return the molecule type of this name."""
        group = member(blocks, name)
        if group is None or not hasattr(group, "keys"):
            raise _error(blocks, f"has no molecule type {name!r}: give the TPR file as topology")
        numbers = _integers(group, "residue_id", None)
        n = len(numbers)
        if not n:
            raise _error(group, "has no atoms: give the TPR file as topology")
        names = _strings(group, "particle_name", n)
        codes, strings = _strings(group, "residue_name", n)
        # Numbers of residues begin anywhere: GROMACS writes those of its own topology plus one.
        is_first = np.ones(n, np.bool_)
        is_first[1:] = (np.diff(numbers) != 0) | (np.diff(codes.astype(np.int64)) != 0)
        species = _integers(group, "species", n)
        atomic_numbers, elements = np.unique(species, return_inverse=True)
        symbols = [_trajet.element_symbol(number) or "" for number in atomic_numbers.tolist()]
        masses = _column(group, "mass", "f", n, unit="u").astype(np.float64)
        charges = _column(group, "charge", "f", n, unit="e").astype(np.float64)
        if not (np.isfinite(masses) & (masses >= 0) & np.isfinite(charges)).all():
            raise _error(group, "has a mass or charge that is no number, or a mass below zero")
        return cls(
            names,
            (codes[is_first], strings),
            np.cumsum(is_first) - 1,
            (elements.astype(np.uint32), symbols),
            (species == 0).astype(np.int64),
            masses,
            charges,
        )


def _column(
    group: "Group", name: str, kinds: str, n: int | None, *, unit: str | None = None
) -> NDArray[np.generic]:
    """Return a dataset with one number for each atom; `kinds` are those of NumPy's types."""
    dataset = member(group, name)
    dtype = getattr(dataset, "dtype", None)
    if dataset is None or dtype is None or dtype.kind not in kinds:
        raise _error(group, f"has no column {name!r} of numbers: give the TPR file as topology")
    shape = dataset.shape or ()
    is_column = len(shape) == 1 and n in (None, *shape)
    if not is_column or dataset.size > bounded.most_rows(group):
        raise _error(dataset, f"has shape {dataset.shape} instead of ({n or 'n_atoms'},)")
    if unit is not None and (found := text(attribute(dataset, "unit", unit))) != unit:
        raise _error(dataset, f"has the unit {found!r} instead of {unit!r}")
    return bounded.read(dataset)


def _integers(group: "Group", name: str, n: int | None) -> _Int:
    """Return a column of whole numbers."""
    return _column(group, name, "iu", n).astype(np.int64)


def _strings(group: "Group", name: str, n: int) -> _Strings:
    """Return a column of strings, which is stored as codes and a table."""
    codes = _integers(group, name, n)
    table = member(group, f"{name}_table")
    dtype = getattr(table, "dtype", None)
    # Each string of the table is that of an atom.
    if (
        table is None
        or dtype is None
        or dtype.kind != "S"
        or len(table.shape or ()) != 1
        or table.shape[0] > n
    ):
        raise _error(group, f"has no table {name}_table of at most {n} strings of fixed length")
    strings = [text(value) for value in bounded.read(table).tolist()]
    if not (codes.min() >= 0 and codes.max() < len(strings)):
        raise _error(group, f"has a code in {name} that is not in {name}_table")
    return codes.astype(np.uint32), strings


def _columns(blocks: list[tuple[str, _MoleculeType, int]]) -> dict[str, object]:
    """Return the columns of all molecules, as `from_columns` takes them."""
    counts = np.array([count for *_, count in blocks], np.int64)
    n_atoms = counts * np.array([kind.n_atoms for _, kind, _ in blocks], np.int64)
    n_residues = counts * np.array([kind.n_residues for _, kind, _ in blocks], np.int64)
    first_residues = np.cumsum(n_residues) - n_residues
    first_molecules = np.cumsum(counts) - counts
    resindices = [
        (first + np.arange(count)[:, None] * kind.n_residues + kind.residues).reshape(-1)
        for (_, kind, count), first in zip(blocks, first_residues, strict=True)
    ]
    molnums = [
        first + np.repeat(np.arange(count), kind.n_atoms)
        for (_, kind, count), first in zip(blocks, first_molecules, strict=True)
    ]
    names = [name for name, *_ in blocks]
    of_blocks = np.repeat(np.arange(len(blocks), dtype=np.uint32), n_atoms)
    elements = _joined([(kind.elements, count) for _, kind, count in blocks])
    return {
        "names": _joined([(kind.names, count) for _, kind, count in blocks]),
        **({"elements": elements} if any(elements[1]) else {}),
        "no_elements": np.concatenate(
            [np.tile(kind.no_elements, count) for _, kind, count in blocks]
        ),
        "masses": np.concatenate([np.tile(kind.masses, count) for _, kind, count in blocks]),
        "charges": np.concatenate([np.tile(kind.charges, count) for _, kind, count in blocks]),
        "ids": np.arange(n_atoms.sum()),
        "chainIDs": (of_blocks, [name.removeprefix("Protein_chain_") for name in names]),
        "molnums": np.concatenate(molnums),
        "moltypes": (of_blocks, names),
        "resindices": np.concatenate(resindices),
        "resnames": _joined([(kind.residue_names, count) for _, kind, count in blocks]),
        "resids": np.arange(1, n_residues.sum() + 1),
        "segindices": np.repeat(np.arange(len(blocks)), n_residues),
        "segids": [f"seg_{k}_{name}" for k, name in enumerate(names)],
    }


def _joined(parts: list[tuple[_Strings, int]]) -> _Strings:
    """Return columns of strings, each repeated as often as its count, one after the other."""
    strings: list[str] = []
    # Blocks of the same type share a table.
    starts: dict[int, int] = {}
    codes = []
    for (numbers, table), count in parts:
        if id(table) not in starts:
            starts[id(table)] = len(strings)
            strings += table
        codes.append(np.tile(numbers + np.uint32(starts[id(table)]), count))
    return np.concatenate(codes), strings


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
    stored = bounded.read(dataset)
    properties = dataset.id.get_create_plist()
    if properties.fill_value_defined() == h5py(file.filename).h5d.FILL_VALUE_USER_DEFINED:
        # Numbers of the type of the file: its largest one is none of int64.
        stored = stored[(stored != dataset.fillvalue).all(axis=1)]
    pairs: _Int = stored.astype(np.int64)
    if group is not None and (numbers := _identifiers(group)) is not None:
        pairs = _indices_of(numbers, pairs, dataset)
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
    if "particles_group" in dataset.attrs:
        reference = np.asarray(attribute(dataset, "particles_group")).reshape(-1)
        is_one = reference.size == 1 and isinstance(reference[0], h5py(file.filename).Reference)
        return (
            own if own is not None and is_one and file[reference[0]] == own else _OtherParticles()
        )
    # GROMACS writes indices, and no reference; a topology without frames has indices, too.
    if "GROMACS" in creator_of(file) or not names:
        return None
    return own if own is not None else _OtherParticles()


def _identifiers(group: "Group") -> _Int | None:
    """Return the numbers of particles, `id`; None if their indices are their numbers."""
    element = member(group, "id")
    value = member(element, "value") if hasattr(element, "keys") else element
    if value is None:
        return None
    if value.dtype.kind not in "iu" or len(value.shape) not in (1, 2):
        raise _error(value, "is not a whole number for each particle")
    # The readers of frames refuse files whose particles change places.
    rows = bounded.read(value, 1 if len(value.shape) == 2 else None, np.int64)
    return rows.reshape(-1)


def _indices_of(numbers: _Int, pairs: _Int, dataset: "Dataset") -> _Int:
    """Return pairs of numbers of particles as pairs of their indices."""
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    if (np.diff(ascending) == 0).any():
        raise _error(dataset, "names particles by their id, and several have the same")
    if not np.isin(pairs, ascending).all():
        raise _error(dataset, "has the id of a particle that does not exist")
    found: _Int = order[np.searchsorted(ascending, pairs)]
    return found
