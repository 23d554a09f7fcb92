"""Options that commands of analyses share."""

import os
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar

import click

from trajet.cli.quantities import Distance

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

WordOfWeights: TypeAlias = Literal["mass", "equal"]

select_option = click.option(
    "--select", required=True, metavar="SELECTION", help="Atoms, in MDAnalysis' language."
)
no_pbc_option = click.option(
    "--no-pbc", is_flag=True, help="Use positions as stored instead of nearest images."
)
within_option = click.option(
    "--to", metavar="SELECTION", help="The second group. Default: pairs within --select."
)
contact_cutoff_option = click.option(
    "--cutoff",
    type=Distance(positive=True),
    default=4.5,
    show_default=True,
    metavar="Å",
    help="The largest distance of a contact.",
)
updating_option = click.option(
    "--updating", is_flag=True, help="Evaluate selections in each frame, not only on frame 0."
)
heavy_option = click.option("--heavy", is_flag=True, help="Leave out hydrogens.")


def weights_option(name: str, what: str) -> Callable[[Decorated], Decorated]:
    """Return the option for weights that are equal unless masses are asked for."""
    return click.option(name, type=click.Choice(["mass", "equal"]), default="equal", help=what)


def reference_of(text: str, *words: str) -> int | str:
    """Return the reference that an option gives: a frame number, a file, or one of the words.

    Raises
    ------
    FileNotFoundError
        If it is none of these.
    """
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text not in words and not os.path.lexists(text):
        also = "".join(f", nor {word}" for word in words)
        raise FileNotFoundError(f"{text}: not a frame number{also}, and there is no such file")
    return text
