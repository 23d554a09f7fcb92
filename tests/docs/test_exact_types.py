"""Values have exact types: `Any` switches the type checker off, also where the value goes next."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "trajet"
ANY = re.compile(r"\bAny\b")


def test_no_value_has_the_type_any() -> None:
    """`object`, a protocol, a type variable or a typed dictionary says what is known."""
    assert [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py*"))
        if path.suffix in (".py", ".pyi")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if ANY.search(line)
    ] == []
