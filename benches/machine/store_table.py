"""Tables of the store benchmark: a line per case and size."""

from collections.abc import Sequence
from math import inf

from trajet._trajet import AnalysisError

from machine.child_process import Row
from machine.figures import FrameCurve
from machine.store_cases import ALL, PROTEIN, STORE, USUAL, Case
from machine.store_run import CHECK
from machine.table import long

# Largest difference of positions, Å: mdtraj's nm times 10 have other bits than Å.
_EQUAL = 1e-3


def case_of(row: Row) -> Case:
    """Return the case of a row."""
    return Case(storage=row["storage"], tool=row["tool"], atoms=row["atoms"])


def check(rows: Sequence[Row], first: Row) -> None:
    """Raise an error if rows have read other positions than the first row of this size.

    Raises
    ------
    AnalysisError
        If they have.
    """
    for row in rows:
        apart = max(abs(a - b) for a, b in zip(row[CHECK], first[CHECK], strict=True))
        if row["frames"] != first["frames"] or not apart <= _EQUAL:
            raise AnalysisError(
                f"{case_of(row).label}: read {row['frames']} frames whose protein is {apart:.3g} Å"
                f" from that of {case_of(first).label} ({first['frames']} frames)"
            )


def written(rows: Sequence[Row]) -> str:
    """Return rows as CSV."""
    return long([{name: row[name] for name in row if name != CHECK} for row in rows])


def best(rows: Sequence[Row]) -> Row:
    """Return the repeat with the shortest turnaround; its `t_retrieval` is the shortest of all."""
    quickest = min(rows, key=lambda row: row["t_turnaround"])
    row = {**quickest, "t_retrieval": min(row["t_retrieval"] for row in rows)}
    drawing = row["t_draw"] / row["drawn"] * row["frames"] if row["drawn"] else None
    row["t_turnaround_drawn"] = None if drawing is None else row["t_turnaround"] + drawing
    return row


def head(n_frames: int) -> str:
    """Return the header of the table of one size."""
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


def curves(rows: Sequence[Row], quantity: str, factor: float) -> list[FrameCurve]:
    """Return the curve of a quantity against the number of frames for each case.

    The retrieval does not depend on the tool, and has one curve per set of files.
    """
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        case = case_of(row)
        kind = f"{case.tool}, {case.atoms}"
        if quantity == "t_retrieval":
            kind = case.atoms if case.storage in STORE else ""
        if (value := row[quantity]) is not None:
            curve = found.setdefault((case.storage, kind), {})
            curve[row["frames"]] = min(curve.get(row["frames"], inf), value * factor)
    return [
        FrameCurve(
            label=", ".join(word for word in (storage, kind) if word),
            group=storage,
            kind=kind,
            frames=list(curve),
            values=list(curve.values()),
        )
        for (storage, kind), curve in found.items()
    ]


def _line(label: str, cells: Sequence[str]) -> str:
    return f"{label:<32}" + "".join(f"{cell:>11}" for cell in cells)


def _cell(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def verdict(rows: Sequence[Row]) -> list[str]:
    """Return sentences on what the exact protein of a store saves, compared with other tools."""
    by_case = {case_of(row): row for row in rows}
    mine = by_case.get(Case(storage="store-exact", tool="trajet", atoms=PROTEIN))
    if mine is None:
        return []
    lines = [f"store-exact: {mine['stored'] / mine['source']:.3f} times the bytes of the source"]
    if (usual := by_case.get(USUAL)) is not None:
        times = usual["t_turnaround"] / mine["t_turnaround"]
        lines.append(f"its protein: {times:.1f} times as fast as {USUAL.label}")
    whole = Case(storage="xtc", tool="mdtraj", atoms=ALL)
    if (loaded := by_case.get(whole)) is not None:
        part = mine["peak_memory"] / loaded["peak_memory"]
        lines.append(f"its protein: {part:.2f} of the memory of {whole.label}")
    return lines
