"""Commands that the modules of analyses declare."""

import importlib
from collections.abc import Callable

import click

from trajet.analysis.command import Choice, Command
from trajet.cli.analyses.shared import select_option
from trajet.cli.analysis_options import AnalysisOptions, analysis
from trajet.cli.pools import Decorated


def declared(name: str) -> click.Command:
    """Return the command that the module of an analysis declares as `COMMAND`."""
    command: Command = importlib.import_module(f"trajet.analysis.{name}").COMMAND

    def function(job: AnalysisOptions, *, select: str, **words: str) -> None:
        values = {option.parameter: option.values[words[option.parameter]] for option in options}
        selection = job.select_updating(select) if command.updating else job.select(select)
        job.run(command.function.job(selection, **values))

    options = command.options
    function.__name__, function.__doc__ = command.name, command.help
    return analysis(select_option, *map(_choice, options))(function)


def _choice(choice: Choice) -> Callable[[Decorated], Decorated]:
    """Return the option of a declared choice; the first word is the default."""
    words = list(choice.values)
    return click.option(
        "--" + choice.parameter.replace("_", "-"),
        type=click.Choice(words),
        default=words[0],
        show_default=True,
        help=choice.help,
    )
