"""Figures of ensembles draw the numbers of the right member, in the panel of the right series."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.made_results import ensemble_of, series_of
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

NAMES = ("ALA1", "GLY2", "SER3", "VAL4")


def made(levels: dict[str, float]) -> tj.Table:
    """Return a result whose series are a ramp of a tenth above their levels."""
    ramp = np.linspace(0, 0.1, 5)
    return series_of({name: level + ramp for name, level in levels.items()})


def drawn_levels(axes: Any) -> list[float]:
    """Return the level of each run that is drawn against time, in the order of drawing."""
    return [float(line.get_ydata()[0]) for line in axes.lines]


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_overlays_draw_each_series_of_each_member(data: st.DataObject) -> None:
    """Members have their columns in any order, and some of their own."""
    orders = data.draw(st.lists(st.permutations(NAMES), min_size=3, max_size=3))
    extra = data.draw(st.lists(st.booleans(), min_size=3, max_size=3))
    results = []
    for member, (order, more) in enumerate(zip(orders, extra, strict=True)):
        levels = {name: 100.0 * member + NAMES.index(name) for name in order}
        results.append(made({**({"own": 7.0} if more else {}), **levels}))
    ensemble = ensemble_of({"wt": results[:2], "mut": results[2:]}, name="sasa")
    common = NAMES if not all(extra) else (*NAMES, "own")
    panels = ensemble.plot(kind="overlay").axes
    names = [axes.get_title(loc="left") for axes in panels]
    assert sorted(names) == sorted(common)
    for axes, name in zip(panels, names, strict=True):
        if name != "own":
            assert drawn_levels(axes) == [100.0 * k + NAMES.index(name) for k in range(3)]
    chosen = data.draw(st.sampled_from(NAMES))
    (axes,) = ensemble.plot(kind="overlay", series=chosen).axes
    assert not axes.get_title(loc="left")
    assert drawn_levels(axes) == [100.0 * k + NAMES.index(chosen) for k in range(3)]


def test_violins_draw_each_series_with_the_means_of_its_groups() -> None:
    """The points are the means of runs, the lines those of groups."""
    wild = [made({"ALA1": 1, "GLY2": 10}), made({"GLY2": 20, "ALA1": 2})]
    mutant = [made({"ALA1": 5, "GLY2": 50}), made({"ALA1": 7, "GLY2": 70})]
    ensemble = ensemble_of({"wt": wild, "mut": mutant}, name="sasa")
    panels = ensemble.plot(kind="violin").axes
    for axes, runs in zip(panels, ([1, 2, 5, 7], [10, 20, 50, 70]), strict=True):
        points = [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "o"]
        lines = [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "None"]
        assert np.allclose(points, np.array(runs) + 0.05)
        assert np.allclose(lines, np.array(runs).reshape(2, 2).mean(axis=1) + 0.05)
    assert [axes.get_title(loc="left") for axes in panels] == ["ALA1", "GLY2"]


@pytest.mark.parametrize("kind", ["overlay", "violin"])
def test_series_of_one_name_are_told_apart_by_their_place(kind: Any) -> None:
    """Also those of one group that was given twice; they cannot be named."""
    twice = [made({"a": k, "b": 10.0 + k}).with_labels(["same", "same"]) for k in (1, 2)]
    ensemble = ensemble_of({"wt": twice}, name="sasa")
    first, second = ensemble.plot(kind=kind).axes
    # The points of violins, or the lines of overlays.
    assert max(drawn_levels(first)) < 5 < min(drawn_levels(second))
    with raises(ValueError):
        ensemble.plot(kind=kind, series="same")
    other = ensemble_of({"wt": [twice[0]], "mut": [made({"same": 1})]}, name="sasa")
    with raises(ValueError):
        other.plot(kind=kind)


def test_figures_ask_which_series_is_drawn_into_given_axes() -> None:
    """They would draw one of several without a word."""
    ensemble = ensemble_of({"wt": [made({"ALA1": 1, "GLY2": 10})] * 2}, name="sasa")
    axes = Figure().subplots()
    with raises(ValueError):
        ensemble.plot(axes, kind="overlay")
    assert ensemble.plot(axes, kind="overlay", series="GLY2") is axes
    assert drawn_levels(axes) == [10, 10]
    with raises(ValueError):
        ensemble.plot(kind="violin", series="LEU9")
    with raises(ValueError):
        ensemble.plot(kind="violin", series=[])


def test_more_series_than_panels_are_counted() -> None:
    """Six are drawn, and the title of the legend says so."""
    levels = {f"ALA{k}": float(k) for k in range(9)}
    figure = ensemble_of({"wt": [made(levels)] * 2}, name="sasa").plot(kind="overlay")
    assert len(figure.axes) == 6
    assert figure.legends[0].get_title().get_text() == "first 6 of 9 series"
    figure = ensemble_of({"wt": [made(levels)] * 2}, name="sasa").plot(
        kind="overlay", series=["ALA8", "ALA3"]
    )
    assert [drawn_levels(axes)[0] for axes in figure.axes] == [8, 3]


@settings(max_examples=6, deadline=None)
@given(order=st.permutations(NAMES))
def test_means_of_groups_stand_above_their_names(order: Sequence[str]) -> None:
    """Groups may have their series in other orders, or some of their own."""
    wild = [made(dict(zip(NAMES, (1.0, 2.0, 3.0, 4.0), strict=True))) for _ in range(2)]
    mutant = [made({"own": 9.0, **{name: 10.0 + NAMES.index(name) for name in order}})] * 2
    means = ensemble_of({"wt": wild, "mut": mutant}, name="sasa").mean("system")
    (axes,) = means.plot().axes
    assert [text.get_text() for text in axes.get_xticklabels()] == list(NAMES)
    bars = [container[0].get_ydata() for container in axes.containers]
    assert np.allclose(bars[0], np.arange(1, 5) + 0.05)
    assert np.allclose(bars[1], np.arange(10, 14) + 0.05)
    (axes,) = means.plot(series=["SER3"]).axes
    assert np.allclose([one[0].get_ydata()[0] for one in axes.containers], [3.05, 12.05])
    with raises(ValueError, "own"):
        means.plot(series="own")


def test_labels_and_colours_are_those_of_groups() -> None:
    """In the order of the groups, in every kind."""
    ensemble = ensemble_of(
        {"wt": [made({"ALA1": 1})] * 2, "mut": [made({"ALA1": 5})] * 2}, name="sasa"
    )
    for kind in (None, "overlay", "violin"):
        (axes,) = ensemble.plot(kind=kind, label=["wild", "mutant"], color=["k", "r"]).axes
        handles, names = axes.get_legend_handles_labels()
        assert names[0].startswith("wild") and names[-1].startswith("mutant")
        colours = [getattr(one, "lines", [one])[0].get_color() for one in handles]
        assert colours[0] == "#000000ff" and colours[-1] == "#ff0000ff"
    with raises(ValueError):
        ensemble.plot(label="wild")
    with raises(ValueError):
        ensemble.plot(smooth=3)


def test_labels_of_many_runs_of_one_group_are_all_shown() -> None:
    """Those of a user, one for each run; else the group is named, in the colour of none of them."""
    ensemble = ensemble_of({"wt": [made({"ALA1": k}) for k in range(13)]}, name="sasa")
    labels = [f"run {k}" for k in range(13)]
    (axes,) = ensemble.plot(kind="overlay", label=labels).axes
    assert axes.get_legend_handles_labels()[1] == labels
    (axes,) = ensemble.plot(kind="overlay").axes
    (handle,), (name,) = axes.get_legend_handles_labels()
    assert name == "wt (13 runs)"
    assert handle.get_color() not in {line.get_color() for line in axes.lines[:13]}
    assert [line.get_ydata()[0] for line in axes.lines[:13]] == list(range(13))


@pytest.mark.parametrize("kind", [None, "overlay", "violin"])
def test_legends_name_groups_and_titles_are_those_of_the_user(kind: Any) -> None:
    """One group needs no legend; intervals can be left out."""
    runs = {"wt": [made({"ALA1": 1}), made({"ALA1": 2})]}
    one, both = (ensemble_of(own, name="sasa") for own in (runs, {**runs, "mut": runs["wt"]}))
    (axes,) = both.plot(kind=kind, title="mine").axes
    assert axes.get_title() == "mine"
    figure = both.plot(kind=kind)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [name.split(" ")[0].strip(",") for name in (names[0], names[-1])] == ["wt", "mut"]
    assert not figure.get_suptitle() and not figure.axes[0].get_title(loc="left")
    assert bool(one.plot(kind=kind).legends) == (kind == "overlay")


def test_intervals_between_replicas_can_be_left_out() -> None:
    """Bands of means along residues, and of violins."""
    runs = {"wt": [made({"ALA1": 1}), made({"ALA1": 2})]}
    for band in (None, False):
        violins = ensemble_of(runs, name="sasa").plot(kind="violin", band=band).axes[0]
        # The bodies of both violins, and the band of their mean.
        assert len(violins.collections) == (3 if band is None else 2)
