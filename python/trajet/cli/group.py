"""The command group `trajet`, which imports the module of a command when it is called."""

import difflib
import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

import trajet
from trajet import startup
from trajet.hints import COMMANDS
from trajet.messages import TrajetWarning

# The modules that define commands, each with the names of its commands.
_MODULES = {
    "trajet.cli.files": "info index",
    "trajet.cli.convert": "convert split frame",
    "trajet.cli.store": "store",
    "trajet.cli.run": "run",
    "trajet.cli.chemistry": "chemistry",
    "trajet.cli.free_energy": "free-energy",
    "trajet.cli.reports": "advise",
    "trajet.cli.doctor": "doctor",
    "trajet.cli.molfile": "molfile",
    "trajet.cli.serve": "serve",
    "trajet.cli.view": "view",
    "trajet.cli.bench": "bench",
    "trajet.cli.samples": "sample demo",
}
# The module that makes the commands of analyses.
_ANALYSES = "trajet.cli.from_signature"
_MODULE_OF = {
    # `apply` takes a Python function.
    **{name.replace("_", "-"): _ANALYSES for name in trajet.ANALYSES if name != "apply"},
    **{name: module for module, names in _MODULES.items() for name in names.split()},
}


class Interrupted(BaseException):
    """Replaces KeyboardInterrupt inside of click, which would print an empty line for it."""


class _Group(click.Group):
    """A group of commands that raises `Interrupted` instead of KeyboardInterrupt."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_MODULE_OF)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Whole sentences, of two lines if they must: click would cut them.
        made = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(limit=formatter.width)) for name, one in made if one]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # Functions have underscores where commands have hyphens: both are understood.
        cmd_name = cmd_name.replace("_", "-")
        if (module := _MODULE_OF.get(cmd_name)) is None:
            other = COMMANDS.get(cmd_name)
            near = [other] if other else difflib.get_close_matches(cmd_name, _MODULE_OF, 3)
            if near:
                ctx.fail(f"No such command {cmd_name!r}. Did you mean {' or '.join(near)}?")
            return None
        with startup.importing(module):
            imported = importlib.import_module(module)
            if module == _ANALYSES:
                made: click.Command = imported.command_of(cmd_name.replace("-", "_"))
                return made
            commands: tuple[click.Command, ...] = imported.COMMANDS
            return next(command for command in commands if command.name == cmd_name)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        with _passing_interrupts():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        # Commands print the warnings of their results themselves.
        with _passing_interrupts(), warnings.catch_warnings():
            warnings.simplefilter("ignore", TrajetWarning)
            return super().invoke(ctx)


@contextmanager
def _passing_interrupts() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted from error


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each command has its own help with examples: trajet rmsd --help",
)
@click.version_option(trajet.__version__, prog_name="trajet")
def commands() -> None:
    """Analyse molecular-dynamics trajectories, on all cores.

    Only the selected atoms are decoded, and an index of frames is kept beside each trajectory.
    Units are Å and ps. Frames are counted from 0. Selections are in MDAnalysis' language.

    \b
    Examples:
      trajet info adk.xtc
      trajet rmsd adk.psf adk.xtc --select "name CA" -o rmsd.csv --plot rmsd.png
      trajet rdf water.gro water.xtc --select "name OW" --plot rdf.png
    """
