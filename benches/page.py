"""Keep measured tables in docs/performance.md: each stands between two markers."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def write_section(page: Path, name: str, lines: list[str]) -> None:
    """Put lines between the markers `<!-- NAME:begin -->` and `<!-- NAME:end -->` of a page."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page}: has no {begin} ... {end}")
    page.write_text("\n".join([before + begin, *lines, end + after]))


def digits(us: float) -> str:
    """Return a time with about three digits."""
    return f"{us:,.0f}" if us >= 100 else f"{us:.1f}" if us >= 10 else f"{us:.2f}"
