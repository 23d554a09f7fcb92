"""`python/trajet/_types.py` is what `packaging/record_types.py` makes of the schemas."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_types_of_records_are_those_of_the_schemas() -> None:
    """The schemas are compared with the structs by tests of the crates."""
    subprocess.run([sys.executable, ROOT / "packaging" / "record_types.py", "--check"], check=True)
