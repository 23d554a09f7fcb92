"""Pictures and movies of `trajet view`, drawn by a browser without a window."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from trajet import output, viewer
from trajet._trajet import MissingPackageError, OutputError, TrajetError
from trajet.cli.tables import one_line

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "chrome",
)
_OPTIONS = (
    "--headless=new",
    "--no-first-run",
    "--disable-extensions",
    "--mute-audio",
    "--disable-background-networking",
    "--disable-sync",
    "--hide-scrollbars",
    # Draws without a GPU where there is none.
    "--enable-unsafe-swiftshader",
)
# Seconds after which a browser that asks for nothing has failed, and within which it must end.
_QUIET = 300.0
_END = 5.0
# Folder of programs from snaps, which see neither /tmp nor hidden folders, and bytes of a script
# that may start one.
_SNAPS = "/snap/"
_SCRIPT = 4096


def find_browser() -> str:
    """Return the path of a browser of the Chromium family.

    Raises
    ------
    MissingPackageError
        If there is none.
    """
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise MissingPackageError(
            "--png and --movie need Chromium or Chrome, which draws without a window: install it"
            " (apt-get install chromium), or take --save and open the page"
        )
    return found


@contextlib.contextmanager
def redirect_file(address: str, folder: Path | None = None) -> Iterator[Path]:
    """Yield a file of mode 0600 that leads a browser to an address.

    The command line of the browser, which other users see, names it: the address has the token.

    Parameters
    ----------
    folder
        Folder of the file; None for the one of temporary files.
    """
    with output.folder_in(folder) as own:
        path = own / "view.html"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(viewer.redirect_page(address))
        yield path


def record(
    scene: viewer.Scene,
    path: Path,
    frames: Sequence[int],
    size: tuple[int, int],
    rate: int | None,
) -> None:
    """Write a picture, or a movie, of chosen frames.

    Parameters
    ----------
    scene
        The scene.
    path
        Path of the file.
    frames
        Numbers of the frames.
    size
        Width and height, pixels.
    rate
        Pictures of a movie per second; None for one picture.

    Raises
    ------
    MissingPackageError
        If there is no browser.
    OutputError
        If the browser fails, or the file cannot be written.
    """
    from trajet import server

    browser = find_browser()
    errors: list[Exception] = []
    with output.replacing_file(path) as own, own.open("r+b") as file:
        recording = server.Recording(frames, *size, file, rate)
        at = server.Address("127.0.0.1", 0)
        access = server.Access(server.new_token(), at.names())
        with contextlib.ExitStack() as kept:
            address = f"http://127.0.0.1:{at.port}/{access.token}/record"
            process: subprocess.Popen[bytes] | None = None

            def started() -> None:
                nonlocal process
                process = kept.enter_context(_browsing(browser, address, size))

            def is_done() -> bool:
                has_ended = process is not None and process.poll() is not None
                is_over = recording.is_done or recording.failure is not None or has_ended
                return is_over or app.quiet_for > _QUIET

            app = server.ViewApp(scene, errors.append, recording)
            server.serve(
                app,
                access,
                at,
                headers=server.PAGE_HEADERS,
                failed=errors.append,
                started=started,
                is_done=is_done,
            )
            if recording.failure is None and not recording.is_done and app.quiet_for > _QUIET:
                recording.failure = f"{browser} has asked for nothing for {_QUIET:g} s"
            if not recording.is_done:
                _fail(path, recording.failure, errors, process)


def _fail(
    path: Path,
    failure: str | None,
    errors: Sequence[Exception],
    process: "subprocess.Popen[bytes] | None",
) -> None:
    """Raise the error of a recording that has not ended.

    Raises
    ------
    TrajetError, OSError
        That of a frame.
    OutputError
        That of the browser.
    KeyboardInterrupt
        If a signal has ended the recording.
    """
    for error in errors:
        if isinstance(error, (TrajetError, OSError)):
            raise error
    if failure is not None:
        raise OutputError(f"{path}: the browser could not draw it: {one_line(Exception(failure))}")
    if process is not None and process.poll() is not None:
        raise OutputError(
            f"{path}: the browser {process.args!r:.80} ended with exit code {process.returncode}"
        )
    raise KeyboardInterrupt


@contextlib.contextmanager
def _browsing(
    browser: str, address: str, size: tuple[int, int]
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a browser at an address, with a profile of its own; end it afterwards."""
    folder = Path.home() if _is_snap(browser) else None
    with (
        output.folder_in(folder) as profile,
        redirect_file(address, folder) as page,
    ):
        options = [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        # Chromium refuses to run as root in its sandbox.
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        command = [browser, *_OPTIONS, *options, page.as_uri()]
        null = subprocess.DEVNULL
        with subprocess.Popen(command, stdin=null, stdout=null, stderr=null) as process:
            try:
                yield process
            finally:
                process.terminate()
                try:
                    process.wait(_END)
                except subprocess.TimeoutExpired:
                    process.kill()


def _is_snap(browser: str) -> bool:
    """Return whether a browser is a snap, or a script that starts one."""
    path = os.path.realpath(browser)
    if _SNAPS in browser or os.path.basename(path) == "snap":
        return True
    with open(path, "rb") as file:
        begin = file.read(_SCRIPT)
    return begin.startswith(b"#!") and _SNAPS.encode() in begin
