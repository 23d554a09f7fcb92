"""Columns of the tables of results, their names and CSV files; parts with files of their own."""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet.result.summary import Column

# The columns of a table: names, and values with one element per row.
Columns: TypeAlias = "list[tuple[str, NDArray[np.generic]]]"

# Numbers of a table that are Python objects at the same time.
AT_ONCE = 2**17
# Endings of files that every result can be saved to.
SUFFIXES = (".npz", ".json", ".csv")


@dataclass(frozen=True)
class Part:
    """A part of a result that its command can write: `--save NAME=FILE`.

    Attributes
    ----------
    help
        Contents of the file.
    suffixes
        Endings of the file; none for a folder.
    needs
        The parameter of the analysis that must be True for the result to have the part, or None.
    """

    help: str
    suffixes: tuple[str, ...] = (".csv", ".npz")
    needs: str | None = None

    @property
    def metavar(self) -> str:
        """Placeholder for the path in help texts."""
        return "FILE" if self.suffixes else "FOLDER"


def write_csv(file: IO[bytes], *parts: Iterable[Iterable[object]]) -> None:
    """Write rows, those of one part after the other, as CSV.

    As `repr` prints them, numbers have all digits.
    """
    import csv

    text = io.StringIO()
    # Names of functions, segments and residues may contain commas and quotes.
    writer = csv.writer(text, lineterminator="\n")

    def flush() -> None:
        file.write(text.getvalue().encode(errors="backslashreplace"))
        text.seek(0)
        text.truncate()

    for part in parts:
        for row in part:
            writer.writerow([one if isinstance(one, str) else repr(one) for one in row])
            if text.tell() > AT_ONCE:
                flush()
    flush()


def count_of_frames(frames: NDArray[np.int64]) -> str:
    """Return the number of frames as text: "98 frames"."""
    return f"{len(frames)} frame{'' if len(frames) == 1 else 's'}"


def column_name(quantity: str, units: str = "", label: str = "") -> str:
    """Return the name of a column of a table: "rmsd_A", or "rmsd_A:name_CA".

    All tables have names of this form. The column of the command's own selection has no label. A
    label tells apart further groups, and the residues, atoms or pairs of a selection. No option
    changes the name of a column.

    Parameters
    ----------
    quantity, units
        Quantity and unit of the column.
    label
        The selection, or the name, to which it belongs, if a table may have several such columns.
    """
    name = quantity.lower().replace(" ", "_").replace("-", "_")
    stem = "_".join(filter(None, [name, ascii_units(units)]))
    return f"{stem}:{label}".replace(" ", "_") if label else stem


def ascii_units(units: str) -> str:
    """Return a unit in ASCII, for the header of a CSV file."""
    return units.replace("Å", "A").replace("²", "2").replace("³", "3")


def names_column(heading: str, names: Iterable[str]) -> Column:
    """Return the first column of a summary."""
    return Column(heading, list(names))


def residue_columns(
    of: str,
    names: NDArray[np.generic] | None,
    numbers: NDArray[np.generic] | None,
    at: "tuple[slice, int] | NDArray[np.int64]",
    codes: NDArray[np.generic] | None = None,
) -> Columns:
    """Return the columns with name, number and insertion code of residues, as far as known.

    Parameters
    ----------
    of
        Role of the residues, such as "donor".
    names, numbers
        Names and numbers; None if they are unknown.
    at
        Index of the elements that belong to the rows.
    codes
        Insertion codes; None if there are none.
    """
    columns: Columns = []
    if names is not None:
        columns.append((f"{of}_resname", names[at]))
    if numbers is not None:
        columns.append((f"{of}_resid", numbers[at]))
    if codes is not None:
        columns.append((f"{of}_icode", codes[at]))
    return columns
