"""Commands that refuse an option that is given twice, unless it may be repeated."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import click

from trajet.cli.option_hints import hint_on_option
from trajet.cli.translation import errors_with_options_of

# Name of the parameter of `--help-all`, and of its mark in the context.
HELP_ALL = "help_all"
# Name of the words of the command line in the context.
ARGUMENTS = "trajet.arguments"
_NO_BREAK = "\N{NON-BREAKING HYPHEN}"
# Options as help shows them, and their texts, by the titles of sections.
Rows: TypeAlias = "dict[str, list[tuple[str, str]]]"


class Command(click.Command):
    """A command whose options are used as they are given.

    click takes the last value of an option that is given several times, and forgets the others.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; refuse an option that is given twice."""
        ctx.meta[ARGUMENTS] = tuple(args)
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        try:
            self._refuse_repetitions(ctx, args)
        except click.NoSuchOption as error:
            raise self._with_hint(ctx, error) from None
        with errors_with_options_of(self):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; its errors name its options."""
        with errors_with_options_of(self):
            return super().invoke(ctx)

    def _with_hint(self, ctx: click.Context, error: click.NoSuchOption) -> click.UsageError:
        """Return the error on an unknown option, with a hint if other programs have it.

        click splits -dt into -d and -t, and names the first of them that it does not know.
        """
        known = {name for param in self.get_params(ctx) for name in param.opts}
        files = " ".join([ctx.command_path, *self.collect_usage_pieces(ctx)[1:]])
        for argument in ctx.meta[ARGUMENTS]:
            word = argument.partition("=")[0]
            is_meant = word == error.option_name or (
                re.fullmatch(r"-\w{2,}", word) and error.option_name[-1] in word
            )
            if is_meant and (hint := hint_on_option(word, known, files)):
                return click.UsageError(f"No such option {word!r}: {hint}", ctx)
        return error

    def _refuse_repetitions(self, ctx: click.Context, args: list[str]) -> None:
        """Raise an error for an option that is given twice and takes one value.

        Raises
        ------
        UsageError
            If there is one.
        """
        given: list[click.Parameter] = self.make_parser(ctx).parse_args(list(args))[2]
        # click before 8.2 makes another option for help at each call.
        shown = self.get_help_option(ctx)
        if any(param.name in (HELP_ALL, shown and shown.name) for param in given):
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


class _HelpFormatter(click.HelpFormatter):
    """A formatter that breaks no line within the name of an option."""

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(_unbroken(text))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of options and their help."""
        unbroken = [(name, _unbroken(text)) for name, text in rows]
        super().write_dl(unbroken, col_max, col_spacing)

    def getvalue(self) -> str:
        """Return the text."""
        return super().getvalue().replace(_NO_BREAK, "-")


def _unbroken(text: str) -> str:
    """Return a text with hyphens in options at which no line is broken."""
    return re.sub(r"--[a-z-]+", lambda found: found[0].replace("-", _NO_BREAK), text)


class LeveledCommand(Command):
    """A command whose `--help` shows some sections of its options, and `--help-all` all of them.

    Attributes
    ----------
    sections
        Titles of the sections after the first one, with the names of their parameters.
    more_sections
        The sections that only `--help-all` shows.
    more_epilog
        The text after them.
    """

    sections: Mapping[str, Sequence[str]]
    more_sections: Mapping[str, Sequence[str]]
    more_epilog: str

    def get_help(self, ctx: click.Context) -> str:
        """Return the help of one of the levels."""
        formatter = _HelpFormatter(width=ctx.terminal_width, max_width=ctx.max_content_width)
        self.format_help(ctx, formatter)
        return formatter.getvalue().rstrip("\n")

    def rows(self, ctx: click.Context) -> Rows:
        """Return all options with their help, by sections."""
        titles = {**self.sections, **self.more_sections}
        section_of = {name: title for title, names in titles.items() for name in names}
        rows: Rows = {title: [] for title in ("Options", *titles)}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if row is not None:
                rows[section_of.get(param.name or "", "Options")].append(row)
        return rows

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by sections."""
        for title, options in self.rows(ctx).items():
            if options and (title not in self.more_sections or ctx.meta.get(HELP_ALL)):
                with formatter.section(title):
                    formatter.write_dl(options)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog, and which options are not shown."""
        *others, last = (title.lower() for title in self.more_sections)
        pointer = (
            f"{ctx.command_path} --help-all also shows options for {', '.join(others)} and {last}."
        )
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(self.more_epilog if ctx.meta.get(HELP_ALL) else pointer)
        super().format_epilog(ctx, formatter)


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Show the help with all options and exit, as the callback of an option."""
    if value and not ctx.resilient_parsing:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


help_all = click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options and exit.",
)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


def command(
    name: str | None = None, *, cls: type[click.Command] = Command, epilog: str | None = None
) -> Callable[[Callable[..., object]], click.Command]:
    """Return a decorator that makes a command of a function."""
    return click.command(name, cls=cls, epilog=epilog)
