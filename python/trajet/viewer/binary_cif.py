"""BinaryCIF files: tables of columns, as viewers read them.

Columns of numbers are their bytes, columns of texts the distinct texts and a number for each row,
so that writing takes no loop over rows. The format is that of
D. Sehnal et al., PLoS Comput. Biol. 16, e1008247 (2020), doi:10.1371/journal.pcbi.1008247, and
https://github.com/molstar/BinaryCIF (version 0.3); the container is MessagePack.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Numbers of a column; or the distinct texts of a column, with the number of the text of each row.
Column: TypeAlias = (
    "NDArray[np.int32] | NDArray[np.float32] | tuple[Sequence[str], NDArray[np.int32]]"
)
_Packed: TypeAlias = "int | str | bytes | list[_Packed] | dict[str, _Packed] | None"
# Numbers of the types in the encoding `ByteArray`.
_TYPES = {"i4": 3, "f4": 32}


def binary_cif(name: str, categories: Mapping[str, Mapping[str, Column]]) -> bytes:
    """Return a file with one block of categories, each with columns of the same length."""
    packed: list[_Packed] = [
        {
            "name": f"_{category}",
            "rowCount": len(next(iter(map(_rows, columns.values())), ())),
            "columns": [
                {"name": column, "data": _encoded(values), "mask": None}
                for column, values in columns.items()
            ],
        }
        for category, columns in categories.items()
    ]
    return message_pack(
        {
            "version": "0.3.0",
            "encoder": "trajet",
            "dataBlocks": [{"header": name, "categories": packed}],
        }
    )


def _rows(column: Column) -> NDArray[np.int32] | NDArray[np.float32]:
    return column[1] if isinstance(column, tuple) else column


def _encoded(column: Column) -> dict[str, _Packed]:
    """Return the data of a column and its encoding."""
    if not isinstance(column, tuple):
        return {"data": _bytes_of(column), "encoding": [_encoding_of(column)]}
    texts, numbers = column
    # Offsets count UTF-16 units, as strings of JavaScript do.
    lengths = [len(text.encode("utf-16-le", "surrogatepass")) // 2 for text in texts]
    offsets = np.cumsum([0, *lengths]).astype(np.int32)
    encoding: dict[str, _Packed] = {
        "kind": "StringArray",
        "dataEncoding": [_encoding_of(numbers)],
        "stringData": "".join(texts),
        "offsetEncoding": [_encoding_of(offsets)],
        "offsets": _bytes_of(offsets),
    }
    return {"data": _bytes_of(numbers), "encoding": [encoding]}


def _encoding_of(numbers: NDArray[np.int32] | NDArray[np.float32]) -> dict[str, _Packed]:
    return {"kind": "ByteArray", "type": _TYPES[numbers.dtype.str[1:]]}


def _bytes_of(numbers: NDArray[np.int32] | NDArray[np.float32]) -> bytes:
    return numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes()


def message_pack(value: _Packed) -> bytes:
    """Return a value as MessagePack."""
    pieces: list[bytes] = []
    _pack(value, pieces)
    return b"".join(pieces)


def _pack(value: _Packed, pieces: list[bytes]) -> None:
    """Append the bytes of a value; lengths always take 32 bits."""
    if value is None:
        pieces.append(b"\xc0")
    elif isinstance(value, int):
        pieces.append(struct.pack(">Bi", 0xD2, value))
    elif isinstance(value, str):
        text = value.encode("utf-8", "replace")
        pieces += (struct.pack(">BI", 0xDB, len(text)), text)
    elif isinstance(value, bytes):
        pieces += (struct.pack(">BI", 0xC6, len(value)), value)
    elif isinstance(value, list):
        pieces.append(struct.pack(">BI", 0xDD, len(value)))
        for each in value:
            _pack(each, pieces)
    else:
        pieces.append(struct.pack(">BI", 0xDF, len(value)))
        for key, each in value.items():
            _pack(key, pieces)
            _pack(each, pieces)
