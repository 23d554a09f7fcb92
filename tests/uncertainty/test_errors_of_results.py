"""Results with values per frame: their statistics, in tables, JSON files and figures."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import Systems
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from trajet.cli.results import table_of
from trajet.result import Table, document

MADE: dict[str, Callable[[tj.Trajectory], Table]] = {
    "one": lambda t: tj.rmsd(t.select("name CA")),
    "several": lambda t: tj.rmsd(t.select("name CA"), groups=["backbone", "resid 1:3"]),
    "matrix": lambda t: tj.distances(t.select("resid 3:5 and name CA"), "resid 9:10 and name CA"),
    "angles": lambda t: tj.dihedrals(t.select("resid 3:6")),
    "sines": lambda t: tj.dihedrals(t.select("resid 3:6"), sin_cos=True),
    "bonds": lambda t: tj.hbonds(t.select("resid 1:40")),
    "areas": lambda t: tj.sasa(t.select("resid 3:5"), by="residue", frames=slice(20)),
    "function": lambda t: tj.apply(t.select("name CA"), lambda x: x.std(axis=0)),
}


@pytest.mark.parametrize("kind", MADE)
def test_statistics_are_in_tables_files_and_figures(kind: str, systems: Systems) -> None:
    """The same numbers everywhere; figures have room for their words."""
    result = MADE[kind](systems["adk.xtc"].trajectory)
    stats = result.statistics()
    values = result.angles if isinstance(result, tj.Dihedrals) else result.values
    period = 360 if isinstance(result, tj.Dihedrals) else None
    alone = tj.statistics(values, result.times, period=period)
    for name in ("mean", "standard_error", "correlation_time", "reason"):
        assert np.array_equal(getattr(stats, name), getattr(alone, name))
    errors = document(result)["statistics"]
    assert isinstance(errors, dict)
    columns, rows = errors["columns"], errors["rows"]
    assert len(rows) == len(stats.estimates.mean)
    first = dict(zip(columns, rows[0], strict=True))
    assert first["mean"] == np.ravel(stats.mean)[0]
    assert first["low_95"] == np.ravel(stats.interval[0])[0]
    assert first["correlation_time_ps"] == np.ravel(stats.correlation_time)[0]
    assert first["resolved"] == (first["reason"] == "")
    json.dumps(errors, allow_nan=False)
    if kind != "function":
        printed = "\n".join(table_of(result))
        assert ("± 95 %" in printed) or ("(95 %)" in printed)
        if kind == "several":
            assert "3 of 3 means are not resolved (name CA: 2.85 effective frames" in printed
    for way in ("convergence", "histogram"):
        figure = result.plot(kind=way)
        _assert_inside(figure)
        axes = figure.axes[0]
        assert result.plot(axes, kind=way) is axes
        _assert_inside(figure)


def _assert_inside(figure: Figure) -> None:
    """Assert that labels and legends lie within the figure."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    for part in (*figure.axes, *figure.legends):
        box = part.get_tightbbox(canvas.get_renderer())
        assert box is not None
        assert box.x0 >= -1 and box.y0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1


def test_one_series_has_a_sentence(systems: Systems) -> None:
    """Commands print why the mean is not resolved; with --verbose the rest, such as a drift."""
    result = MADE["one"](systems["adk.xtc"].trajectory)
    summary = result.summary()
    assert summary.lines == ("mean not resolved: 2.85 effective frames are fewer than 20",)
    assert summary.verbose == (
        "mean 4 ± 11 Å (95 %), correlation time 17 ps, 2.85 effective frames of 98; MSER would"
        " leave out the first 49 ps",
    )
    printed = "\n".join(table_of(result))
    assert "correlation time" not in printed and "MSER" not in printed
    printed = "\n".join(table_of(result, is_verbose=True))
    assert "correlation time 17 ps" in printed and "MSER" in printed
    several = MADE["several"](systems["adk.xtc"].trajectory).summary()
    assert len(several.lines) == 1
    assert several.verbose[0] == "± 95 %: longer side of the interval of the mean"
    assert several.verbose[1].startswith("name CA: mean 4 ± 11 Å (95 %), correlation time 17 ps")
    assert len(several.verbose) == 1 + 3


def test_gaps_and_missing_values_are_reasons(systems: Systems) -> None:
    """Where `tj.statistics` raises, a result says the frame."""
    result = tj.rmsd(systems["adk.xtc"].trajectory.select("name CA"))
    assert isinstance(result, tj.Table)
    uneven = result[[0, 1, 2, 3, 9, 10, 11, 12]].statistics()
    assert "times are not even: 6 ps from frame 3 to frame 9, and 1 ps" in str(uneven.reason)
    assert uneven.time_unit == "frames"
    assert np.isfinite(uneven.interval).all()
    values = result.values.copy()
    values[17] = np.nan
    missing = replace(result, values=values)
    assert missing.statistics().reason == "the value of frame 17 is nan"
    assert np.isnan(missing.statistics().interval).all()
    assert "not resolved: the value of frame 17 is nan" in "\n".join(table_of(missing))
    assert isinstance(missing.plot(), Figure)
    assert isinstance(missing.plot(kind="histogram"), Figure)
    for n in (0, 1, 3):
        short = result[:n]
        assert short.statistics().resolved is False
        assert isinstance(short.summary().title, str)
        with raises(ValueError):
            short.plot(kind="convergence")
    with raises(ValueError):
        result.plot(kind="violin")  # type: ignore[arg-type]


def test_bands_do_not_change_the_axes(systems: Systems) -> None:
    """A wide interval would hide the curve."""
    result = tj.rmsd(systems["adk.xtc"].trajectory.select("name CA"))
    axes = result.plot(band=True).axes[0]
    assert len(axes.patches) == 1
    assert axes.get_ylim() == result.plot().axes[0].get_ylim()


def test_classes_of_secondary_structure_have_errors(systems: Systems) -> None:
    """Those of the shares of the classes."""
    result = tj.dssp(systems["adk.xtc"].trajectory.select("protein"), frames=slice(12))
    assert np.shape(result.statistics().mean) == (8,)
    assert len(result.mean_errors()[0].values) == 8


def test_results_without_values_per_frame_have_no_errors(adk: Adk, tmp_path: Path) -> None:
    """A reduced array and an RMSF; JSON files have no entry then."""
    traj = tj.open(adk.psf, adk.xtc)
    reduced = tj.apply(traj.select("resid 3"), lambda x: x[:, 0], reducer=np.maximum)
    assert reduced.mean_errors() == ()
    with raises(ValueError):
        reduced.statistics()
    assert tj.rmsf(traj.select("resid 3")).mean_errors() == ()
    reduced.save(tmp_path / "reduced.json")
    assert "statistics" not in json.loads((tmp_path / "reduced.json").read_text())


def test_discard_is_a_time_whatever_its_type(systems: Systems) -> None:
    """Numbers of NumPy count; a time needs even times in ps."""
    result = tj.rmsd(systems["adk.xtc"].trajectory.select("name CA"))
    means = [result.statistics(discard=d).mean for d in (20.0, 20, np.int64(20), np.float32(20))]
    assert len(set(means)) == 1
    assert means[0] != result.statistics().mean
    gap = tj.rmsd(systems["adk.xtc"].trajectory.select("name CA"), frames=[0, 1, 2, 3, 8, 9])
    with raises(ValueError):
        gap.statistics(discard=1.0)
    assert gap.statistics(discard="auto").reason
