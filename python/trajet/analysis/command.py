"""Declarations of commands: what the command line and the tests need to know of an analysis."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trajet.analysis.job import AnalysisFunction
from trajet.result import Series


@dataclass(frozen=True)
class Choice:
    """An option of a command that takes one of several words.

    Attributes
    ----------
    parameter
        The parameter of the function; `--parameter` on the command line.
    values
        The value that each word stands for; the first word is the default.
    help
        One sentence on the option.
    """

    parameter: str
    values: Mapping[str, object]
    help: str


@dataclass(frozen=True)
class Command:
    """The command of an analysis of one selection that returns one or several series.

    Analyses whose commands need more (several selections, other results) have a module in
    `trajet.cli.analyses`.

    Attributes
    ----------
    function
        The analysis, called with a Selection, the parameters of `options`, and `frames`, `pool` and
        `progress` by name. The command has its name, with hyphens.
    help
        Text of `--help`: the first line is the summary.
    options
        Further options.
    updating
        Whether the selection of the command is evaluated in each frame.
    without_topology
        Arguments with which the function needs atoms only by number, as tests call it.
    """

    function: AnalysisFunction[..., Series]
    help: str
    options: tuple[Choice, ...] = ()
    updating: bool = False
    without_topology: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the command."""
        return self.function.__name__
