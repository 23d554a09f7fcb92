"""Laws of every class of results: what the base class gives holds for its fields."""

import csv
import json
from html import escape
from pathlib import Path

import numpy as np
import trajet as tj
from matplotlib.figure import Figure
from trajet.result import Table


def assert_result_laws(
    result: Table, folder: Path, *, drawn: bool = True, panels: int = 1, html: bool = True
) -> None:
    """Assert that a result is restored from its file, sliced, drawn and shown.

    Parameters
    ----------
    result
        A result of at least four rows, so that rows 1 to 3 are some of it.
    folder
        A folder for files.
    drawn
        Whether `plot` draws it.
    panels
        The number of panels: axes of a user take one.
    html
        Whether a notebook shows it, with its figure.
    """
    for name in ("r.npz", "r.json"):
        assert_restored(result, folder / name)
    _assert_table(result, folder / "r.csv")
    values = np.asarray(result)
    assert len(result) == len(values) >= 4
    assert result
    for row, one in zip(result, values, strict=True):
        assert np.array_equal(row, one, equal_nan=values.dtype.kind == "f")
    assert np.array_equal(result[-2], values[-2], equal_nan=values.dtype.kind == "f")
    some = result[1:3]
    assert type(some) is type(result)
    assert len(some) == 2
    assert some.report is result.report
    for name in ("values", "standard_errors", "half_widths", "resolved"):
        whole, part = getattr(result, name), getattr(some, name)
        assert (part is None) == (whole is None)
        assert whole is None or list(map(str, part)) == list(map(str, whole[1:3]))
    for name in ("some.npz", "some.json"):
        assert_restored(some, folder / name)
    _assert_summed_up(result, folder / "r.json")
    line = repr(result)
    assert line.startswith(f"<{type(result).__name__}: ")
    if values.dtype.kind in "iuf" and (finite := values[np.isfinite(values)]).size:
        # Smaller numbers are 0 within rounding.
        low = 0.0 if abs(finite.min()) < 1e-12 * np.abs(finite).max() else finite.min()
        assert f"min {low:.4g}, max {finite.max():.4g}" in line
    if html:
        shown = result._repr_html_()
        assert all(escape(one) in shown for one in line.splitlines())
        assert ("data:image/png;base64,iVBOR" in shown) == drawn
    if drawn and panels == 1:
        figure = Figure()
        left, right = figure.subplots(1, 2)
        assert result.plot(ax=left) is left
        assert left.has_data()
        assert not right.has_data()
    if drawn:
        assert isinstance(result.plot(), Figure)


def assert_restored(result: Table, path: Path) -> None:
    """Assert that `tj.load` restores every field, with its type."""
    result.save(path)
    again = tj.load(path)
    assert type(again) is type(result)
    assert dict(again.report) == dict(result.report)
    old, new = result._arrays(), again._arrays()
    assert list(new) == list(old)
    for name, array in old.items():
        assert (new[name].dtype, new[name].shape) == (array.dtype, array.shape), name
        assert new[name].tobytes() == array.tobytes(), name


def _assert_table(result: Table, path: Path) -> None:
    """Assert that the CSV file and the DataFrame have the same names and numbers."""
    result.save(path)
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    frame = result.to_dataframe()
    assert frame.columns.tolist() == head
    assert len(frame) == len(rows)
    for k in range(len(head)):
        column = frame.iloc[:, k].to_numpy()
        text = [row[k] for row in rows]
        if column.dtype.kind == "f":
            assert np.array_equal(np.array(text, np.float64), column, equal_nan=True)
        else:
            assert text == list(map(str, column))


def _assert_summed_up(result: Table, path: Path) -> None:
    """Assert that JSON without extensions has the scalars and all rows of the summary."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    content = json.loads(path.read_text(), parse_constant=refuse)
    assert content["kind"] == type(result).__name__
    assert set(content["scalars"]) == set(result.scalars())
    summary, first = result.summary(), result.summary(2)
    table = content["table"]
    assert table["title"] == summary.title == first.title
    assert len(table["rows"]) == len(summary.rows())
    for row, old in zip(table["rows"], summary.rows(), strict=True):
        assert len(row) == len(table["columns"])
        for number, value in zip(row, old, strict=True):
            is_missing = isinstance(value, float) and not np.isfinite(value)
            assert number == (None if is_missing else value)
    # The first rows alone are the same.
    assert repr(summary.rows()[: len(first.rows())]) == repr(first.rows())
    assert summary.count == first.count
    for name in ("warnings", "notes", "inputs", "parameters"):
        assert content[name] == result.report[name]
