"""Writing of pages that the build makes, below docs/generated."""

from pathlib import Path

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
