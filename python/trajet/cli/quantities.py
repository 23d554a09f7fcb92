"""Values of options that are distances or times, with or without a unit: 4.5, 0.45nm, 0.2ns."""

import math
from typing import ClassVar

import click

from trajet.cli.param_type import ParamType
from trajet.quantities import Number, number_of


class Quantity(ParamType[float]):
    """A finite number in the unit of trajet, or followed by another unit.

    Parameters
    ----------
    least
        The least value that is taken, in the unit of trajet.
    positive
        Whether the value must be more than zero.
    """

    # The unit of trajet.
    UNIT: ClassVar[str] = ""
    EXAMPLES: ClassVar[str] = ""

    def __init__(self, least: float | None = None, *, positive: bool = False) -> None:
        self._least = 0.0 if positive else least
        self._positive = positive

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number in the unit of trajet."""
        number = value if isinstance(value, (int, float)) else self._number(value, param, ctx)
        if self._positive and not number > 0:
            self.fail(f"{value} is not more than 0", param, ctx)
        if self._least is not None and not number >= self._least:
            self.fail(f"{value} is less than {self._least:g}", param, ctx)
        return number

    def _number(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = number_of(text, self.UNIT)
        if number is None:
            self.fail(f"{text!r} is not a {self.name}: write {self.EXAMPLES}", param, ctx)
        if not math.isfinite(number):
            self.fail(f"{text!r} is too large", param, ctx)
        return number


class Distance(Quantity):
    """A distance in Å: 4.5, 4.5A, 0.45nm, 450pm."""

    name = "distance"
    EXAMPLES = "4.5 (Å) or 0.45nm"
    UNIT = "Å"


class Time(Quantity):
    """A time in ps: 200, 200ps, 0.2ns, 0.0002us."""

    name = "time"
    EXAMPLES = "200 (ps), 0.2ns or 1us"
    UNIT = "ps"


def same_units(
    _: click.Context, param: click.Parameter, values: tuple[float, ...] | None
) -> tuple[float, ...] | None:
    """Refuse several numbers of which only some have a unit, as the callback of an option."""
    given = [value for value in values or () if value]
    with_unit = [isinstance(value, Number) and value.has_unit for value in given]
    if any(with_unit) and not all(with_unit):
        raise click.BadParameter("give the unit with each of the numbers", param=param)
    return values
