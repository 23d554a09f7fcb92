"""Units behind distances and times on the command line."""

from pathlib import Path

import click
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet.cli.group import commands
from trajet.cli.quantities import Distance, Time

NUMBERS = ("0", "3", "0.45", ".5", "2.", "1e-3", "0.3", "1e2")


@pytest.mark.parametrize(
    ("kind", "unit", "factor"),
    [
        *((Distance, unit, 1) for unit in ("", "Å", "A", " A")),
        *((Distance, "nm", 10), (Distance, " nm", 10), (Distance, "pm", 0.01)),
        *((Time, "", 1), (Time, "ps", 1), (Time, "fs", 0.001), (Time, "ns", 1e3)),
        *((Time, "us", 1e6), (Time, "µs", 1e6), (Time, "ms", 1e9)),
    ],
)
@pytest.mark.parametrize("number", NUMBERS)
def test_units_are_factors(kind: type, unit: str, factor: float, number: str) -> None:
    """The product is rounded once: 0.3nm is 3 Å."""
    value = kind().convert(number + unit, None, None)
    assert value == pytest.approx(float(number) * factor, rel=1e-15)
    assert value == float(f"{value:.12g}")


@pytest.mark.parametrize(
    "text", ["", "nm", "4,5", "4.5 km", "0.2 NS", "nan", "inf", "1e999", "1 2"]
)
@pytest.mark.parametrize("kind", [Distance, Time])
def test_other_words_are_refused(kind: type, text: str) -> None:
    """And the message gives examples."""
    with raises(click.BadParameter):
        kind().convert(text, None, None)


def test_bounds_hold_in_the_unit_of_trajet() -> None:
    """A cut-off of -1nm is below zero."""
    for text in ("-1nm", "0", "0nm"):
        with raises(click.BadParameter):
            Distance(positive=True).convert(text, None, None)
    with raises(click.BadParameter):
        Time(0).convert("-1ns", None, None)


def _run(*arguments: object) -> None:
    """Run a command in this process."""
    commands.main([*map(str, arguments), "--quiet"], standalone_mode=False)


def test_commands_take_units(adk: Adk, tmp_path: Path) -> None:
    """The numbers are those of the same distance in Å and the same time in ps."""
    for unit, options in (
        ("a", ("--cutoff", "0.45nm", "--begin", "0.01ns", "--end", "0.02ns")),
        ("b", ("--cutoff", "4.5", "--begin", "10", "--end", "20ps")),
    ):
        output = tmp_path / f"{unit}.npz"
        _run("contacts", adk.psf, adk.xtc, "--select", "name CA", *options, "-o", output)
    one, other = (tj.load(tmp_path / f"{unit}.npz") for unit in "ab")
    assert len(one) == 11
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.frames, other.frames)


def test_one_unit_of_two_numbers_is_refused(adk: Adk) -> None:
    """`--range 0.2 1.5nm` may mean 0.2 nm; 0 needs no unit."""
    command = ("rdf", adk.psf, adk.xtc, "--select", "name CA", "--range")
    with raises(click.UsageError):
        _run(*command, "0.2", "1.5nm")
    with raises(tj.AnalysisError):
        _run(*command, "0", "1.5nm")
