"""Rows of repeats to a line for each case and size."""

from collections.abc import Mapping, Sequence
from typing import Any

from trajet._trajet import AnalysisError
from trajet.bench.store.cases import PROTEIN, USUAL, Case
from trajet.bench.store.run import Row
from trajet.plots import Sized

# nm of mdtraj, times 10, are not the bits of Å.
_EQUAL = 1e-3


def case_of(row: Mapping[str, Any]) -> Case:
    """Return the case that a row is of."""
    return Case(storage=row["storage"], tool=row["tool"], atoms=row["atoms"])


def check(rows: Sequence[Row], first: Row) -> None:
    """Make sure that rows have read the same positions as the first one of this size.

    Raises
    ------
    AnalysisError
        If one has not.
    """
    for row in rows:
        apart = max(abs(a - b) for a, b in zip(row["check"], first["check"], strict=True))
        if row["frames"] != first["frames"] or not apart <= _EQUAL:
            raise AnalysisError(
                f"{case_of(row).label}: read {row['frames']} frames whose protein is {apart:.3g} Å"
                f" from that of {case_of(first).label} ({first['frames']} frames)"
            )


def best(rows: Sequence[Row]) -> Row:
    """Return the repeat of the shortest turnaround, with that of the shortest retrieval in it."""
    quickest = min(rows, key=lambda row: row["t_turnaround"])
    row = {**quickest, "t_retrieval": min(row["t_retrieval"] for row in rows)}
    drawing = row["t_draw"] / row["drawn"] * row["frames"] if row["drawn"] else None
    row["t_turnaround_drawn"] = None if drawing is None else row["t_turnaround"] + drawing
    return row


def head(n_frames: int) -> str:
    """Return the head of the lines of one size."""
    names = ("turnaround", "drawn", "retrieval", "CPU", "energy", "peak", "read", "fits")
    units = ("s", "s", "s", "s", "J", "MiB", "MB", "frames")
    return _line("", names) + "\n" + _line(f"{n_frames:,} frames", units)


def line(row: Row) -> str:
    """Return a case as a line for a terminal."""
    reached = row["frames_reached"]
    numbers = (
        *(row["t_turnaround"], row["t_turnaround_drawn"], row["t_retrieval"]),
        *(row["cpu"], row["energy"], row["peak_memory"] / 2**20, row["bytes_read"] / 1e6),
    )
    cells = [*map(_cell, numbers), "" if reached is None else f"{reached:,}"]
    return _line(case_of(row).label, cells)


def curves(rows: Sequence[Row], quantity: str, factor: float) -> list[Sized]:
    """Return a curve for each case: a quantity against the number of frames."""
    found: dict[Case, list[Row]] = {}
    for row in rows:
        if row[quantity] is not None:
            found.setdefault(case_of(row), []).append(row)
    return [
        Sized(
            label=case.label,
            group=case.storage,
            kind=f"{case.tool}, {case.atoms}",
            frames=[row["frames"] for row in own],
            values=[row[quantity] * factor for row in own],
        )
        for case, own in found.items()
    ]


def _line(label: str, cells: Sequence[str]) -> str:
    return f"{label:<32}" + "".join(f"{cell:>11}" for cell in cells)


def _cell(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def verdict(rows: Sequence[Row]) -> list[str]:
    """Return what the exact protein of a store saves beside the usual ways."""
    by_case = {case_of(row): row for row in rows}
    mine = by_case.get(Case(storage="store exact", tool="trajet", atoms=PROTEIN))
    if mine is None:
        return []
    said = [f"store exact: {mine['stored'] / mine['source']:.3f} times the bytes of the source"]
    if (usual := by_case.get(USUAL)) is not None:
        times = usual["t_turnaround"] / mine["t_turnaround"]
        said.append(f"its protein: {times:.1f} times as fast as {USUAL.label}")
    whole = Case(storage="xtc", tool="mdtraj", atoms="all")
    if (loaded := by_case.get(whole)) is not None:
        part = mine["peak_memory"] / loaded["peak_memory"]
        said.append(f"its protein: {part:.2f} of the memory of {whole.label}")
    return said
