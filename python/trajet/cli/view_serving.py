"""The server of `trajet view`: it runs, and the browser opens, while the trajectory is opened."""

import contextlib
import os
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

import click

from trajet import viewer
from trajet._trajet import TrajetError
from trajet.cli import view_movies
from trajet.cli.translation import as_options, error_line
from trajet.quoting import escaped

# Seconds within which errors open no page.
_GRACE = 0.12
# Seconds after which the address is printed if the browser has not asked for the page.
_UNSEEN = 10.0
# Seconds within which a page that is on its way gets the error that ends the command, and after its
# answer until the server ends.
_TOLD_WITHIN = 5.0
_SENT = 0.1


def print_notes(scene: viewer.Scene) -> None:
    """Print why positions are not repaired or superposed, if they are not."""
    for message in scene.messages:
        click.echo(f"note: {escaped(as_options(message))}", err=True)


def serve(
    load: Callable[[], viewer.Scene],
    files: Sequence[str],
    port: int,
    *,
    no_browser: bool,
    quiet: bool,
) -> None:
    """Serve the page until a signal ends the command.

    Parameters
    ----------
    load
        Returns the scene; it runs in a thread.
    files
        The files of the command, which the page names without their folders.
    port
        Port; 0 for a free one.
    no_browser
        Whether the address is printed, and not opened in the browser.
    quiet
        Whether no line says that the page opens.

    Raises
    ------
    Exception
        The error of `load`, or of frame 0; a page that is on its way has shown it.
    """
    loading = _Loading(load, files)
    loading.start()
    begin = time.monotonic()
    # Takes about as long as small systems do.
    from trajet import server

    loading.join(max(0.0, _GRACE - (time.monotonic() - begin)))
    if loading.error is not None:
        raise loading.error
    at = server.Address("127.0.0.1", port)
    access = server.Access(server.new_token(), at.names())
    address = f"http://127.0.0.1:{at.port}/{access.token}/"
    browser = _Browser(address)

    def failed(error: Exception) -> None:
        click.echo(f"trajet: {error_line(error)}", err=True)

    with contextlib.ExitStack() as kept:

        def started() -> None:
            if loading.error is not None:
                return
            if no_browser:
                _introduce(address, at.port)
            else:
                kept.enter_context(browser.opening())
                if not quiet:
                    click.echo("the page opens in the browser; Ctrl-C ends the command")

        app = server.ViewApp(loading.scene, failed)
        is_unseen = not no_browser

        def tick() -> bool:
            nonlocal is_unseen
            if loading.error is not None:
                is_told = app.is_told and app.quiet_for > _SENT
                return is_told or not browser.may_come or loading.failed_for > _TOLD_WITHIN
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
    if loading.error is not None:
        raise loading.error


class _Loading(threading.Thread):
    """Loads a scene and prints its notes, while the browser starts and loads the page.

    Attributes
    ----------
    scene
        The scene, when frame 0 can be drawn; or an error whose text is for the page.
    error
        The error that prevents it, if any.
    """

    def __init__(self, load: Callable[[], viewer.Scene], files: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._load, self._files = load, files
        context = click.get_current_context(silent=True)
        # The command whose options messages name.
        self._scope = contextlib.nullcontext() if context is None else context.scope(cleanup=False)
        self.scene: Future[viewer.Scene] = Future()
        # Requests that are ended do not cancel it.
        self.scene.set_running_or_notify_cancel()
        self.error: BaseException | None = None
        self._failed_at = 0.0

    @property
    def failed_for(self) -> float:
        """Seconds since the error."""
        return time.monotonic() - self._failed_at

    def run(self) -> None:
        """Load the scene."""
        with self._scope:
            self._run()

    def _run(self) -> None:
        try:
            scene = self._load()
            print_notes(scene)
        # Panics of the native module are no `Exception`.
        except BaseException as error:
            self._failed_at = time.monotonic()
            self.scene.set_exception(Exception(self._text_for_page(error)))
            self.error = error
            return
        self.scene.set_result(scene)
        # Requests that need it meet the same error.
        with contextlib.suppress(TrajetError, OSError, MemoryError):
            scene.structure(0)

    def _text_for_page(self, error: BaseException) -> str:
        text = (
            error.format_message() if isinstance(error, click.ClickException) else error_line(error)
        )
        return viewer.without_paths(text, [*self._files, *map(os.path.abspath, self._files)])


class _Browser:
    """The browser, which is asked to open a page.

    Attributes
    ----------
    may_come
        Whether a page may be on its way.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self.may_come = False

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """Open the page; print its address if there is no browser."""
        with view_movies.redirect_file(self._address) as path:
            self.may_come = True

            def open_browser() -> None:
                # A browser of the terminal runs until it is left.
                if not webbrowser.open(path.as_uri()):
                    self.may_come = False
                    click.echo(f"there is no browser here: open {self._address}", err=True)

            threading.Thread(target=open_browser, daemon=True).start()
            yield


def _introduce(address: str, port: int) -> None:
    """Print the address of the page, and how it is reached from another machine."""
    click.echo(f"open {address}")
    name = socket.gethostname()
    click.echo(f"from another machine, first: ssh -L {port}:127.0.0.1:{port} {name}")
    click.echo("keep the address to yourself: it opens the trajectory; Ctrl-C ends the command")
