"""Components of mmCIF dictionaries (`_chem_comp_atom`, `_chem_comp_bond`) as molecules of RDKit."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trajet._trajet import FormatError

if TYPE_CHECKING:
    from rdkit.Chem import Mol

# A quoted text or a word; comments and texts of several lines are none.
_TOKEN = re.compile(r"""^;.*?^;|(?<!\S)\#.*?$|'.*?'(?=\s)|".*?"(?=\s)|\S+""", re.M | re.S)
_ORDERS = {"SING": 1, "DOUB": 2, "TRIP": 3, "AROM": 12, "DELO": 12}


def molecule_of_cif(path: Path) -> "Mol":
    """Return the component of a CIF file.

    Raises
    ------
    FormatError
        If the file has no atoms and bonds of a component.
    """
    from rdkit import Chem

    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        made, at = Chem.RWMol(), dict[str, int]()
        for row in _rows(text, "_chem_comp_atom."):
            atom = Chem.Atom(row["type_symbol"].capitalize())
            atom.SetFormalCharge(int(row.get("charge", "0").replace("?", "0")))
            at[row["atom_id"]] = made.AddAtom(atom)
        for row in _rows(text, "_chem_comp_bond."):
            order = Chem.BondType.values[_ORDERS[row["value_order"][:4].upper()]]
            made.AddBond(at[row["atom_id_1"]], at[row["atom_id_2"]], order)
        Chem.SanitizeMol(made)
        if not at:
            raise ValueError("no atoms")
    except (KeyError, ValueError, RuntimeError) as error:
        raise FormatError(
            f"{path}: no component of _chem_comp_atom and _chem_comp_bond that RDKit accepts:"
            f" {' '.join(str(error).split())}"
        ) from error
    return made.GetMol()


def _rows(text: str, category: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of a CIF file, by names of items."""
    tokens = [one for one in _TOKEN.findall(text) if not one.startswith("#")]
    names = [k for k, one in enumerate(tokens) if one.startswith(category)]
    if not names:
        return
    items = [tokens[k].removeprefix(category) for k in names]
    if tokens[names[0] - 1].lower() != "loop_":
        yield {item: tokens[k + 1].strip("'\"") for item, k in zip(items, names, strict=True)}
        return
    values = tokens[names[-1] + 1 :]
    n = next((k for k, one in enumerate(values) if re.match("(?i)_|loop_|data_", one)), len(values))
    for k in range(0, n, len(items)):
        row = [value.strip("'\"") for value in values[k : k + len(items)]]
        yield dict(zip(items, row, strict=True))
