"""Write `python/trajet/_types.py`, the types of records that the Rust crates write as JSON.

.venv/bin/python packaging/record_types.py            write the file anew
.venv/bin/python packaging/record_types.py --check    compare it instead; exit code 1 if it differs

The schemas in `packaging/schemas` are those of the serde structs: unit tests of the crates compare
them; `TRAJET_WRITE_SCHEMAS=1 cargo test --profile gate -p trajet-store schema` writes them anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCHEMAS = ROOT / "packaging" / "schemas"
TYPES = ROOT / "python" / "trajet" / "_types.py"
HEAD = '''"""Types of records that the native module writes, made by `packaging/record_types.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypeAlias, TypedDict

# A value that JSON has.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
'''
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
WIDTH = 100


def text() -> str:
    """Return the text of the module."""
    records: dict[str, str] = {}
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(path.read_text())
        for name, record in {**schema.get("$defs", {}), schema["title"]: schema}.items():
            records[name] = "\n".join(_record(name, record))
    return "\n\n".join([HEAD, *records.values()])


def _record(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a class."""
    yield f"class {name}(TypedDict):"
    yield f'    """{_sentence(schema["description"])}"""'
    yield ""
    for key, value in schema["properties"].items():
        # A list that is absent if it is empty, or an object that only some records have.
        kind = _type(value) if key in schema["required"] else f"NotRequired[{_present(value)}]"
        yield from _comment(value.get("description", ""))
        yield f"    {key}: {kind}"
    yield ""


def _present(schema: dict[str, Any]) -> str:
    """Return the type of an entry that is absent where it would be null."""
    return _type(schema).removesuffix(" | None")


def _type(schema: dict[str, Any]) -> str:
    """Return the Python type of a schema."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        return " | ".join(map(_type, schema["anyOf"]))
    kind = schema["type"]
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": each}) for each in kind)
    if kind == "array":
        return f"list[{_type(schema['items'])}]"
    if kind == "object":
        return f"dict[str, {_type(schema['additionalProperties'])}]"
    return SIMPLE[kind]


def _sentence(description: str) -> str:
    """Return the first sentence of a description, without links of rustdoc."""
    return description.split("\n", maxsplit=1)[0].split(" ([`", maxsplit=1)[0].rstrip(".") + "."


def _comment(description: str) -> Iterator[str]:
    """Yield a description as comment."""
    line = "    #"
    for word in _sentence(description).rstrip(".").split():
        if len(line) + 1 + len(word) > WIDTH:
            yield line
            line = "    #"
        line += f" {word}"
    yield line


if __name__ == "__main__":
    made = text()
    if "--check" not in sys.argv:
        TYPES.write_text(made)
    elif TYPES.read_text() != made:
        sys.exit(f"{TYPES}: is not what its schemas give: run packaging/record_types.py")
