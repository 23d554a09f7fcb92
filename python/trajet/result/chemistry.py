"""`Chemistry`: roles, charges, hydrogens and rings of atoms, as plain arrays."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import FormatError, __version__
from trajet.messages import Message, Messages, as_entries, messages_in, repr_of
from trajet.parsing import ParseError, parsed
from trajet.result.as_json import CHEMISTRY
from trajet.result.columns import write_csv

_T = TypeVar("_T", bound=np.generic)

VERSION = 1
_BEGIN = json.dumps({"format": CHEMISTRY})[:-1].encode()
# Roles by their bits, from 1.
ROLES = (
    "hydrophobic",
    "acceptor",
    "donor",
    "cation",
    "anion",
    "metal",
    "metal-ligand",
    "halogen-donor",
    "halogen-acceptor",
)
_PAIRS = ("hydrogens", "neighbours")
# States that go without saying.
_USUAL = ("ASP-", "GLU-", "LYS+", "ARG+", "CYS", "CYX", "TYR")
_MAX_STATES = 12


@dataclass(frozen=True, eq=False, repr=False)
class Chemistry(Messages):
    """What atoms can do in interactions; `trajet.chemistry` finds it.

    It needs no RDKit once it is saved. Atoms of other arrays are numbers of places in `atoms`.

    Attributes
    ----------
    atoms
        `(n,)`, int64, indices in the topology, ascending.
    roles
        `(n,)`, uint16, sums of 1 (hydrophobic), 2 (acceptor of hydrogen bonds), 4 (donor), 8
        (cation), 16 (anion), 32 (metal), 64 (ligand of metals), 128 (donor of halogen bonds, the
        halogen) and 256 (acceptor of halogen bonds).
    formal_charges
        `(n,)`, int8, e.
    radii
        `(n,)`, float32, van der Waals radii, Å; NaN where unknown.
    residues
        `(n,)`, uint32, index of each atom's residue in the topology.
    hydrogens
        `(m, 2)`, uint32, donors and their hydrogens.
    neighbours
        `(k, 2)`, uint32: halogens of role 128 and the atom that each is bonded to; atoms of role
        256 and each of their neighbours in the residue, without those of triple bonds.
    ring_starts, ring_atoms
        `(n_rings + 1,)` and `(n,)`, uint32: aromatic ring `i`, of 5 or 6 atoms in cyclic order, is
        `ring_atoms[ring_starts[i]:ring_starts[i + 1]]`. Fused rings are rings each.
    names
        Name of each atom.
    labels
        Label of each residue, by its index.
    states
        Protonation state of residues that have several, by label, such as "HSP".
    smiles
        SMILES of residues of no table, by their name.
    """

    atoms: NDArray[np.int64]
    roles: NDArray[np.uint16]
    formal_charges: NDArray[np.int8]
    radii: NDArray[np.float32]
    residues: NDArray[np.uint32]
    hydrogens: NDArray[np.uint32]
    neighbours: NDArray[np.uint32]
    ring_starts: NDArray[np.uint32]
    ring_atoms: NDArray[np.uint32]
    names: tuple[str, ...]
    labels: Mapping[int, str]
    states: Mapping[str, str] = field(default_factory=dict)
    smiles: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()

    def __post_init__(self) -> None:
        """Check that the arrays fit together.

        Raises
        ------
        ValueError
            If they do not.
        """
        n = len(self.atoms)
        for name in ("roles", "formal_charges", "radii", "residues"):
            if np.shape(getattr(self, name)) != (n,):
                raise ValueError(f"{name} has not one element for each of {n} atoms")
        if len(self.names) != n or (np.diff(self.atoms) <= 0).any():
            raise ValueError("atoms are not ascending, or have not one name each")
        for name in (*_PAIRS, "ring_atoms"):
            array = getattr(self, name)
            if array.shape[1:] != (2,) * (name in _PAIRS) or (array >= n).any():
                raise ValueError(f"{name} are none of {n} atoms")
        starts = self.ring_starts.astype(np.int64)
        if not (starts.size and starts[0] == 0 and starts[-1] == len(self.ring_atoms)):
            raise ValueError("ring_starts and ring_atoms do not fit together")
        if not np.isin(np.diff(starts), (5, 6)).all():
            raise ValueError("rings have 5 or 6 atoms")
        if not self.labels.keys() >= {*self.residues.tolist()}:
            raise ValueError("residues have not one label each")

    def __len__(self) -> int:
        return len(self.atoms)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        first, *others = self.lines()
        return "\n".join([f"<Chemistry: {first}>", *others]) + repr_of(self.messages)

    def lines(self) -> list[str]:
        """Return a summary: numbers, unusual protonation states, SMILES of residues of no table."""
        charge, n_rings = int(self.formal_charges.sum(dtype=int)), len(self.ring_starts) - 1
        n_atoms, n_residues = len(self), len(self.labels)
        lines = [
            f"{n_atoms} atom{'s' * (n_atoms != 1)} of {n_residues}"
            f" residue{'s' * (n_residues != 1)}, charge {charge:+}, {n_rings} aromatic"
            f" ring{'s' * (n_rings != 1)}"
        ]
        told = [f"{label}: {one}" for label, one in self.states.items() if one not in _USUAL]
        if told:
            more = [f"… and {len(told) - _MAX_STATES} more"] if len(told) > _MAX_STATES else []
            lines.append(", ".join([*told[:_MAX_STATES], *more]))
        return lines + [f"{name}: {smiles}" for name, smiles in self.smiles.items()]

    @property
    def rings(self) -> list[NDArray[np.uint32]]:
        """The aromatic rings, places of atoms in cyclic order."""
        return np.split(self.ring_atoms, self.ring_starts[1:-1].tolist())[
            : len(self.ring_starts) - 1
        ]

    @property
    def donors(self) -> NDArray[np.int64]:
        """Indices in the topology of the donors of hydrogen bonds."""
        return np.asarray(self.atoms[(self.roles & 4) != 0])

    def table(self) -> dict[str, NDArray[np.generic]]:
        """Return the columns of CSV files: a row for each atom, with the words of its roles.

        Examples
        --------
        >>> import trajet as tj
        >>> list(tj.chemistry(traj.select("protein")).table())
        ['atom', 'residue', 'name', 'charge', 'radius_A', 'roles']
        """
        words = np.array(
            [
                " ".join(word for k, word in enumerate(ROLES) if bits >> k & 1)
                for bits in range(1 << len(ROLES))
            ]
        )
        return {
            "atom": self.atoms,
            "residue": np.array([self.labels[one] for one in self.residues.tolist()], np.str_),
            "name": np.array(self.names, np.str_),
            "charge": self.formal_charges,
            "radius_A": np.round(self.radii.astype(np.float64), 4),
            "roles": words[self.roles],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON, which `load` restores, or the table as CSV.

        Raises
        ------
        ValueError
            If the name ends in neither `.json` nor `.csv`.
        OutputError
            If the file cannot be written.
        """
        path = Path(path)
        output.check(path, (".json", ".csv"))
        output.write(path, self._write_csv if path.suffix.lower() == ".csv" else self._write_json)

    def _write_csv(self, file: IO[bytes]) -> None:
        columns = self.table()
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        write_csv(file, [list(columns)], rows)

    def _write_json(self, file: IO[bytes]) -> None:
        entries = {
            "format": CHEMISTRY,
            "version": VERSION,
            "trajet": __version__,
            **{one.name: _plain(getattr(self, one.name)) for one in fields(self)},
            "radii": [None if np.isnan(one) else one for one in self.radii.tolist()],
            "messages": as_entries(self.messages),
        }
        file.write(json.dumps(entries, allow_nan=False).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Chemistry":
        """Return the chemistry of a JSON file that `save` wrote.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        FormatError
            If the file is something else, damaged, or of another version.
        """
        path = Path(path)
        with path.open("rb") as file:
            if file.read(len(_BEGIN)) != _BEGIN:
                raise FormatError(
                    f"{path}: no chemistry: give a file that chemistry.save or `trajet chemistry`"
                    " wrote as .json"
                )
            file.seek(0)
            try:
                entries = parsed(json.loads, file.read())
            except ParseError as error:
                raise FormatError(f"{path}: not a JSON file: {error}") from error
        if entries.get("version") != VERSION:
            raise FormatError(
                f"{path}: chemistry of version {entries.get('version')!r}; this trajet reads"
                f" version {VERSION}: save it again"
            )
        try:
            return cls(
                atoms=_array(entries["atoms"], np.int64),
                roles=_array(entries["roles"], np.uint16),
                formal_charges=_array(entries["formal_charges"], np.int8),
                radii=np.array(
                    [np.nan if one is None else one for one in entries["radii"]], np.float32
                ),
                residues=_array(entries["residues"], np.uint32),
                hydrogens=_array(entries["hydrogens"], np.uint32).reshape(-1, 2),
                neighbours=_array(entries["neighbours"], np.uint32).reshape(-1, 2),
                ring_starts=_array(entries["ring_starts"], np.uint32),
                ring_atoms=_array(entries["ring_atoms"], np.uint32),
                names=tuple(map(str, entries["names"])),
                labels={int(key): str(label) for key, label in entries["labels"].items()},
                states=dict(entries["states"]),
                smiles=dict(entries["smiles"]),
                messages=tuple(messages_in(entries["messages"])),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FormatError(
                f"{path}: chemistry whose fields do not fit together ({error}): save it again"
            ) from error


def _plain(value: object) -> object:
    """Return an array as lists."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _array(value: object, dtype: type[_T]) -> NDArray[_T]:
    """Return an array of a file.

    Raises
    ------
    ValueError
        If numbers are out of the range of the type.
    """
    array = np.array(value, np.int64)
    found = array.astype(dtype)
    if not np.array_equal(found, array):
        raise ValueError(f"numbers out of the range of {np.dtype(dtype).name}")
    return found
