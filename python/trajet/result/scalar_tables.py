"""Tables of the numbers that describe a whole result: its part "scalars"."""

from collections.abc import Sequence

import numpy as np

from trajet.result.axes import named
from trajet.result.report import Report
from trajet.result.scalars import Scalar
from trajet.result.table import Table


def scalar_table(rows: Sequence[Scalar], selections: tuple[str, ...], report: Report) -> Table:
    """Return the table of some numbers, with a row for each."""
    units = np.array([one.unit for one in rows], np.str_)
    return Table(
        values=np.array([one.value for one in rows]),
        axes=(named("scalars", [one.name for one in rows], unit=units),),
        name="value",
        units="",
        selections=selections,
        report=report,
        standard_errors=np.array([one.standard_error for one in rows]),
        half_widths=np.array([one.half_width for one in rows]),
        resolved=np.array([one.is_resolved for one in rows], bool),
    )
