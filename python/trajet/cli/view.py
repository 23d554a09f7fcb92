"""`trajet view`: shows a trajectory in the browser."""

import contextlib
import importlib
import socket
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from trajet import signals, viewer
from trajet._trajet import MissingPackageError
from trajet.cli import options, recordings, remote_options
from trajet.cli.command import command
from trajet.cli.tables import escaped, one_line
from trajet.dataset import find_dataset
from trajet.formats import FormatOptions
from trajet.trajectory import Trajectory, is_structure
from trajet.trajectory.choice import frame_numbers, resolve_frames
from trajet.viewer.layers import make_layer

# Seconds after the end within which a thread that reads or analyses is left behind.
_END = 1.0
# Seconds after which the address is printed if the browser has not asked for the page.
_UNSEEN = 10.0


@command()
@options.files
@click.option(
    "--select",
    metavar="SELECTION",
    help="Atoms of the first layer. Default: protein and nucleic acids, or else all.",
)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    metavar="SELECTION[:STYLE[:COLOUR]]",
    help="A layer. STYLE: cartoon, ball, spheres, lines, surface or points; COLOUR: chain, residue,"
    " element, secondary, sequence or values (of --series). May be repeated.",
)
@click.option(
    "--series",
    multiple=True,
    metavar="FILE|ANALYSIS,…",
    help="A result that -o wrote (.npz, .json), or an analysis of the first layer, such as rmsd,"
    " rmsf, hbonds or contact-map: drawn beside the picture. May be repeated.",
)
@click.option(
    "--as-stored",
    is_flag=True,
    help="Show positions as they are stored at first, neither whole nor superposed.",
)
@click.option(
    "--quantise",
    is_flag=True,
    help="Send positions in steps of 0.01 Å, in half of the bytes; for slow connections.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Default: a free one."
)
@click.option(
    "--no-browser",
    is_flag=True,
    help="Print the address, and how to reach it from another machine, instead of opening it.",
)
@click.option(
    "--save",
    metavar="FILE.html",
    callback=options.path_to((".html",)),
    help="Write one file with the page and the chosen frames, in steps of 0.01 Å, which a browser"
    " opens without a server.",
)
@click.option(
    "--movie",
    metavar="FILE.mp4",
    callback=options.path_to((".mp4",)),
    help="Write a movie of the chosen frames, drawn by Chromium without a window.",
)
@click.option(
    "--png",
    metavar="FILE.png",
    callback=options.path_to((".png",)),
    help="Write a picture of the frame of --frame, drawn likewise.",
)
@click.option(
    "--frame",
    type=int,
    metavar="NUMBER",
    help="The frame of --png, and the first that the page shows; from 0, or from the end if"
    " negative. Default: the first of the chosen frames.",
)
@click.option(
    "--size",
    type=(click.IntRange(64, 4096), click.IntRange(64, 4096)),
    default=(1280, 720),
    show_default=True,
    metavar="WIDTH HEIGHT",
    help="Size of pictures and movies, pixels; even numbers.",
)
@options.amount("--rate", 25, "Pictures of a movie per second.")
@options.frames
@click.option("--force", is_flag=True, help="Save more than 50 MB.")
@options.continuous
@options.truncated
@options.format_options
@options.time_step
@remote_options.options
@options.quiet
def view(
    files: list[str],
    select: str | None,
    layers: tuple[str, ...],
    series: tuple[str, ...],
    as_stored: bool,
    quantise: bool,
    port: int,
    no_browser: bool,
    save: Path | None,
    movie: Path | None,
    png: Path | None,
    frame: int | None,
    size: tuple[int, int],
    rate: int,
    start: int | None,
    stop: int | None,
    step: int | None,
    begin: float | None,
    end: float | None,
    force: bool,
    continuous: bool,
    allow_truncated_tail: bool,
    format_options: FormatOptions | None,
    time_step: float | None,
    remote: options.RemoteOptions,
    quiet: bool,
) -> None:
    """Show a trajectory in the browser, frame by frame.

    FILE... is a topology and trajectories, or a data set of a store (STORE/NAME, STORE/NAME@TAG).
    Only frames that are shown are read, and of these only the atoms of the layers. Where there are
    a cell and bonds, molecules are made whole, and frames are superposed on frame 0 by the protein
    or the nucleic acid of the first layer; a switch on the page shows positions as stored.

    Lines of --series have a cursor at the frame, and a click on them shows a frame; a click on
    values of residues, or on a contact map, shows these residues. Hydrogen bonds are dashes.

    The page is on 127.0.0.1, and its address has a token. From another machine, take --no-browser
    and forward the port as the command says. Other users of this machine cannot reach the page
    without the token. Ctrl-C ends the command. It needs pip install 'trajet[view]'.

    \b
    Examples:
      trajet view top.tpr run.xtc --select protein
      trajet view top.tpr run.xtc --layer protein --layer "resname LIG:ball"
      trajet view top.tpr run.xtc --series rmsd,end-to-end --no-browser
      trajet view md/run@protein --series rmsd.npz
      trajet view top.tpr run.xtc --select protein --step 10 --save movie.html
      trajet view top.tpr run.xtc --step 10 --movie movie.mp4
      trajet view top.tpr run.xtc --frame 500 --png frame500.png --size 1600 1200
    """
    outputs = _Outputs(save, movie, png, size, rate, force=force, quiet=quiet)
    chosen = (start, stop, step, begin, end)
    outputs.check(chooses_frames=any(each is not None for each in chosen))
    topology, trajectories = _divided(files)
    linked = [each for text in series for each in viewer.parse_series(text)]
    opened = options.open_files(
        topology,
        trajectories,
        quiet=quiet,
        continuous=continuous,
        allow_truncated_tail=allow_truncated_tail,
        format_options=format_options,
        time_step=time_step,
        **remote,
    )
    options.read_topology(opened, quiet=quiet)
    with contextlib.closing(opened):
        frames = None if frame is None else resolve_frames([frame], opened.n_frames, "--frame")
        scene = viewer.Scene(
            opened,
            _layers(opened, select, layers),
            as_stored=as_stored,
            quantise=quantise or save is not None,
            series=linked,
            first=0 if frames is None else int(frame_numbers(frames)[0]),
        )
        for remark in scene.remarks:
            click.echo(f"note: {escaped(remark)}", err=True)
        if not outputs.paths:
            _serve(scene, port, no_browser=no_browser, quiet=quiet)
            signals.end_within(_END)
            return
        numbers = resolve_frames(options.choose_frames(opened, *chosen), scene.n_frames, "frames")
        with contextlib.closing(scene):
            outputs.write(scene, frame_numbers(numbers).tolist(), picture_first=frames is None)


@dataclass(frozen=True)
class _Outputs:
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
    quiet
        Whether nothing is printed.
    """

    save: Path | None
    movie: Path | None
    png: Path | None
    size: tuple[int, int]
    rate: int
    force: bool
    quiet: bool

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
            recordings.find_browser()
        if missing := viewer.missing_files():
            raise MissingPackageError(
                f"trajet view: {', '.join(missing)} are not part of this installation: take a"
                " wheel, or run `make viewer` in the sources, which needs npm"
            )

    def write(self, scene: viewer.Scene, numbers: Sequence[int], *, picture_first: bool) -> None:
        """Write all files of chosen frames, and print their sizes.

        `picture_first` is whether the picture has the first of the chosen frames, not that of the
        scene.
        """
        if self.save is not None:
            n_bytes = viewer.save(scene, self.save, numbers, force=self.force)
            amount = f"{len(numbers)} frames of {scene.n_atoms} atoms, {n_bytes / 1e6:.1f} MB"
            self._say(self.save, amount)
        pixels = f"{self.size[0]} x {self.size[1]} pixels"
        if self.movie is not None:
            recordings.record(scene, self.movie, numbers, self.size, self.rate)
            self._say(self.movie, f"{len(numbers)} frame{'s' * (len(numbers) > 1)}, {pixels}")
        if self.png is not None:
            shown = numbers[0] if picture_first else scene.first
            recordings.record(scene, self.png, [shown], self.size, None)
            self._say(self.png, f"frame {shown}, {pixels}")

    def _say(self, path: Path, text: str) -> None:
        if not self.quiet:
            click.echo(f"{path}: {text}")


def _serve(scene: viewer.Scene, port: int, *, no_browser: bool, quiet: bool) -> None:
    """Serve the page until a signal ends the command."""
    from trajet import server

    at = server.Address("127.0.0.1", port)
    access = server.Access(server.new_token(), at.names())
    address = f"http://127.0.0.1:{at.port}/{access.token}/"

    def failed(error: Exception) -> None:
        click.echo(f"trajet: {one_line(error)}", err=True)

    with contextlib.ExitStack() as kept:

        def started() -> None:
            if no_browser:
                _introduce(address, at.port)
            else:
                kept.enter_context(_opened_browser(address))
                if not quiet:
                    click.echo("the page opens in the browser; Ctrl-C ends the command")

        app = server.ViewApp(scene, failed)
        is_unseen = not no_browser

        def tick() -> bool:
            nonlocal is_unseen
            if is_unseen and app.n_requests == 0 and app.quiet_for > _UNSEEN:
                click.echo(f"no browser has opened the page so far: open {address}", err=True)
                is_unseen = False
            return False

        server.serve(
            app,
            access,
            at,
            headers=server.PAGE_HEADERS,
            failed=failed,
            started=started,
            is_done=tick,
        )


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


def _divided(files: list[str]) -> tuple[str | None, list[str]]:
    """Return the topology and the trajectories; a structure file is both of them.

    Raises
    ------
    UsageError
        If the only file has no topology.
    """
    if len(files) > 1 or is_structure(files[0]):
        return files[0], files[1:]
    if find_dataset(files[0]) is None:
        raise click.UsageError(
            f"{files[0]}: give the topology first, then the trajectory: names of atoms are needed"
        )
    return None, files


def _layers(opened: Trajectory, select: str | None, layers: tuple[str, ...]) -> list[viewer.Layer]:
    """Return the layers of the options, or the usual ones."""
    first = [] if select is None else [make_layer(opened.select(select))]
    found = [*first, *(viewer.parse_layer(opened, text) for text in layers)]
    return found or viewer.default_layers(opened)


def _introduce(address: str, port: int) -> None:
    """Print the address of the page, and how it is reached from another machine."""
    click.echo(f"open {address}")
    name = socket.gethostname()
    click.echo(f"from another machine, first: ssh -L {port}:127.0.0.1:{port} {name}")
    click.echo("keep the address to yourself: it opens the trajectory; Ctrl-C ends the command")


@contextlib.contextmanager
def _opened_browser(address: str) -> Iterator[None]:
    """Open a page in the browser; print the address if there is no browser."""
    with recordings.redirect_file(address) as path:

        def open_browser() -> None:
            # A browser of the terminal runs until it is left.
            if not webbrowser.open(path.as_uri()):
                click.echo(f"there is no browser here: open {address}", err=True)

        threading.Thread(target=open_browser, daemon=True).start()
        yield


COMMANDS = (view,)
