"""What commands on stores are told: the store, a data set, a profile, trajectories."""

import click

folder = click.option("--store", "folder", required=True, metavar="FOLDER", help="The store.")
name = click.argument("name", metavar="NAME")
some_name = click.argument("name", metavar="[NAME]", required=False)
profile = click.option(
    "--profile",
    metavar="FILE.toml",
    help="Tiers and tags. Default: the built-in one, which trajet store profile prints.",
)
trajectories = click.option(
    "--trajectory",
    "trajectories",
    multiple=True,
    required=True,
    metavar="FILE...",
    help="One or more files that follow each other: XTC, TRR, DCD, Amber NetCDF or H5MD.",
)


class Several(click.Command):
    """A command whose option --trajectory takes all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each further word."""
        words: list[str] = []
        inside = False
        for arg in args:
            if arg.startswith("-"):
                inside = arg == "--trajectory"
            elif inside and words[-1] != "--trajectory":
                words.append("--trajectory")
            words.append(arg)
        return super().parse_args(ctx, words)
