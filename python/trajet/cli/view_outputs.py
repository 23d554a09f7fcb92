"""Options of `trajet view` for files: a page without a server, movies and pictures."""

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import click

from trajet import viewer
from trajet._trajet import MissingPackageError
from trajet.cli import view_movies
from trajet.cli.options import amount, path_to
from trajet.cli.pools import Decorated

_OPTIONS = (
    click.option(
        "--save",
        metavar="FILE.html",
        callback=path_to((".html",)),
        help="Write one file with the page and the chosen frames, in steps of 0.01 Å, which a"
        " browser opens without a server.",
    ),
    click.option(
        "--movie",
        metavar="FILE.mp4",
        callback=path_to((".mp4",)),
        help="Write a movie of the chosen frames, drawn by Chromium without a window.",
    ),
    click.option(
        "--png",
        metavar="FILE.png",
        callback=path_to((".png",)),
        help="Write a picture of the frame of --frame, drawn likewise.",
    ),
    click.option(
        "--size",
        type=(click.IntRange(64, 4096), click.IntRange(64, 4096)),
        default=(1280, 720),
        show_default=True,
        metavar="WIDTH HEIGHT",
        help="Size of pictures and movies, pixels; even numbers.",
    ),
    amount("--rate", 25, "Pictures of a movie per second."),
    click.option("--force", is_flag=True, help="Save more than 50 MB."),
)


def options(command: Decorated) -> Decorated:
    """Add the options to a command, which gets their values as `outputs`."""

    @functools.wraps(command)
    def with_outputs(
        *,
        save: Path | None,
        movie: Path | None,
        png: Path | None,
        size: tuple[int, int],
        rate: int,
        force: bool,
        **values: object,
    ) -> object:
        return command(**values, outputs=Outputs(save, movie, png, size, rate, force))

    made: Callable[..., object] = with_outputs
    for option in reversed(_OPTIONS):
        made = option(made)
    return cast(Decorated, made)


@dataclass(frozen=True)
class Outputs:
    """The files that are written in place of serving the page.

    Attributes
    ----------
    save, movie, png
        Their paths; None for those that are not asked for.
    size
        Width and height of pictures and movies, pixels.
    rate
        Pictures of a movie per second.
    force
        Whether a saved page may have more than 50 MB.
    """

    save: Path | None
    movie: Path | None
    png: Path | None
    size: tuple[int, int]
    rate: int
    force: bool

    @property
    def paths(self) -> list[Path]:
        """The paths of all files."""
        return [path for path in (self.save, self.movie, self.png) if path is not None]

    def check(self, *, chooses_frames: bool) -> None:
        """Raise an error for options that go with others, and for packages that are missing.

        Raises
        ------
        UsageError
            If options do not go together.
        MissingPackageError
            If a package, a browser or the programs of the page are not installed.
        """
        if not self.paths and (self.force or chooses_frames):
            raise click.UsageError(
                "--start, --stop, --step, --begin, --end and --force go with --save, --movie or"
                " --png"
            )
        if any(length % 2 for length in self.size):
            raise click.BadParameter(
                "width and height of a movie must be even", param_hint="--size"
            )
        if self.paths != [self.save]:
            _check_server()
        if self.movie is not None or self.png is not None:
            view_movies.find_browser()
        viewer.check_installed("trajet view")

    def write(
        self, scene: viewer.Scene, numbers: Sequence[int], *, picture_first: bool, quiet: bool
    ) -> None:
        """Write all files of chosen frames, and print their sizes.

        `picture_first` is whether the picture has the first of the chosen frames, not that of the
        scene.
        """
        for path, text in self._written(scene, numbers, picture_first=picture_first):
            if not quiet:
                click.echo(f"{path}: {text}")

    def _written(
        self, scene: viewer.Scene, numbers: Sequence[int], *, picture_first: bool
    ) -> Iterator[tuple[Path, str]]:
        """Write the files; yield the path and the content of each when it is there."""
        if self.save is not None:
            n_bytes = viewer.save(scene, self.save, numbers, force=self.force)
            frames = "1 frame" if len(numbers) == 1 else f"{len(numbers)} frames"
            amount = f"{frames} of {scene.n_atoms} atoms, {n_bytes / 1e6:.1f} MB"
            yield self.save, amount
        pixels = f"{self.size[0]} x {self.size[1]} pixels"
        if self.movie is not None:
            view_movies.record(scene, self.movie, numbers, self.size, self.rate)
            yield self.movie, f"{len(numbers)} frame{'s' * (len(numbers) > 1)}, {pixels}"
        if self.png is not None:
            shown = numbers[0] if picture_first else scene.first
            view_movies.record(scene, self.png, [shown], self.size, None)
            yield self.png, f"frame {shown}, {pixels}"


def _check_server() -> None:
    """Raise an error if the packages of the server are not installed.

    Raises
    ------
    MissingPackageError
        If one is missing.
    """
    try:
        importlib.import_module("trajet.server")
    except ImportError as error:
        raise MissingPackageError(
            f"trajet view: {error.name} is not installed: pip install 'trajet[view]'"
        ) from error
