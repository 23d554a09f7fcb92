"""Commands that refuse an option that is given twice, unless it may be repeated."""

from collections import Counter
from collections.abc import Callable

import click


class Command(click.Command):
    """A command whose options are used as they are given.

    click takes the last value of an option that is given several times, and forgets the others.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; refuse an option that is given twice."""
        if not ctx.resilient_parsing:
            self._refuse_repetitions(ctx, args)
        return super().parse_args(ctx, args)

    def _refuse_repetitions(self, ctx: click.Context, args: list[str]) -> None:
        """Raise an error for an option that is given twice and takes one value.

        Raises
        ------
        UsageError
            If there is one.
        """
        given: list[click.Parameter] = self.make_parser(ctx).parse_args(list(args))[2]
        if self.get_help_option(ctx) in given:
            return
        for param, count in Counter(given).items():
            if count == 1 or not isinstance(param, click.Option) or may_be_repeated(param):
                continue
            name = max(param.opts, key=len)
            if param.secondary_opts:
                raise click.UsageError(f"choose {name} or {param.secondary_opts[0]}, once", ctx)
            advice = "give it once"
            if param.metavar == "SELECTION":
                advice = f'join selections by "or", as in {name} "(protein) or (resname LIG)"'
                advice += ", or run the command for each of them"
            raise click.UsageError(
                f"{name} is given {count} times, but {self.name} takes one value of it: {advice}",
                ctx,
            )


def may_be_repeated(option: click.Option) -> bool:
    """Return whether an option may be given several times: all values count, or it has none."""
    return option.multiple or option.count or (option.is_flag and not option.secondary_opts)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


def command(
    name: str | None = None, *, cls: type[click.Command] = Command, epilog: str | None = None
) -> Callable[[Callable[..., object]], click.Command]:
    """Return a decorator that makes a command of a function."""
    return click.command(name, cls=cls, epilog=epilog)
