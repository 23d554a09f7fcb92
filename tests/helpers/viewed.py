"""Structures for the viewer."""

from pathlib import Path


def write_gro(path: Path, names: list[tuple[str, str]], step: float = 0.1) -> Path:
    """Write a structure of atoms in a row, `step` nm apart, with names of residues and atoms."""
    lines = [
        f"{k // 2 + 1:5}{residue:<5}{name:>5}{k + 1:5}{step * k:8.3f}{0.2:8.3f}{0.3:8.3f}"
        for k, (residue, name) in enumerate(names)
    ]
    text = "\n".join(["odd", str(len(names)), *lines, "   2.0   2.0   2.0", ""])
    path.write_text(text, encoding="utf-8")
    return path
