"""Writing of pages that the build makes, below docs/generated."""

import hashlib
from pathlib import Path

import trajet as tj

FOLDER = Path(__file__).parents[1] / "generated"


def write(name: str, text: str) -> None:
    """Write a page, unless it has this text already: Sphinx reads changed files again."""
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def remove_others(pattern: str, kept: set[str]) -> None:
    """Remove pages of former builds, by a pattern below the folder."""
    for path in FOLDER.glob(pattern):
        if str(path.relative_to(FOLDER)) not in kept:
            path.unlink()


def package_digest() -> str:
    """Return the digest of the package, on which figures and outputs of tutorials depend."""
    package = Path(tj.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.glob("*.so")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
