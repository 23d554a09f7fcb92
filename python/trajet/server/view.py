"""The page of the viewer: its files, the scene, structures, frames and series."""

import asyncio
import gzip
import json
import re
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from trajet._trajet import FrameError, SelectionError, TrajetError
from trajet.server.app import answered, number_in
from trajet.server.frames import RequestError
from trajet.server.recording import Recording
from trajet.viewer import Scene, page_files

# Frames that are read at a time, and analyses, which have a limit of their own, so that neither
# waits for the other.
_READERS = 8
_ANALYSES = 1
# Status of an answer that nobody waits for.
_GONE = 400
# The page loads nothing from elsewhere. Mol*'s bundle makes functions of text, and styles of
# elements.
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
        " img-src 'self' data: blob:; connect-src 'self' data: blob:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_T = TypeVar("_T")


class ViewApp:
    """Serves a scene and the page that draws it; an ASGI application.

    Parameters
    ----------
    scene
        The scene, or one that is being loaded, for which requests wait: the text of its error is
        sent. It is closed with the application, unless it records.
    failed
        Called with an error that a request has met; its text, which may name paths, is not sent.
    recording
        A recording, which takes pictures from the page.

    Attributes
    ----------
    n_requests
        Number of requests so far.
    is_told
        Whether a request has got the error that prevents the scene.
    """

    def __init__(
        self,
        scene: Scene | Future[Scene],
        failed: Callable[[Exception], None],
        recording: Recording | None = None,
    ) -> None:
        if isinstance(scene, Scene):
            loaded: Future[Scene] = Future()
            loaded.set_result(scene)
            scene = loaded
        self._scene, self._failed = scene, failed
        self.is_told = False
        self._readers, self._analyses = CapacityLimiter(_READERS), CapacityLimiter(_ANALYSES)
        self._records = recording is not None
        self._n_open, self._quiet_since = 0, time.monotonic()
        self.n_requests = 0
        self._files = page_files(records=recording is not None)
        further = [] if recording is None else recording.routes()
        self._router = Router(
            [
                Route("/scene.json", answered(self._description), methods=["GET"]),
                Route("/structure/{number}", answered(self._structure), methods=["GET"]),
                Route("/frame/{number}", answered(self._frame), methods=["GET"]),
                Route("/series/{number}", answered(self._series), methods=["GET"]),
                *further,
                Route("/{name:path}", answered(self._file), methods=["GET"]),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        self.n_requests += 1
        self._n_open += 1
        try:
            await self._router(scope, receive, send)
        finally:
            self._n_open -= 1
            self._quiet_since = time.monotonic()

    @property
    def quiet_for(self) -> float:
        """Seconds since the last answer; 0 while a request is being answered."""
        return 0.0 if self._n_open else time.monotonic() - self._quiet_since

    def close(self) -> None:
        """Close the scene, unless it may be recorded again."""
        scene = self._scene
        if not self._records and scene.done() and scene.exception() is None:
            scene.result().close()

    async def _loaded(self) -> Scene:
        """Return the scene when it is loaded.

        Raises
        ------
        RequestError
            If it cannot be.
        """
        try:
            return await asyncio.wrap_future(self._scene)
        except Exception as error:
            self.is_told = True
            raise RequestError(f"the trajectory cannot be shown: {error}", 409) from error

    async def _file(self, request: Request) -> Response:
        name: str = request.path_params["name"]
        if name not in self._files:
            raise RequestError("no such file")
        path, media_type = self._files[name]
        content = await to_thread.run_sync(path.read_bytes)
        if path.suffix != ".gz":
            return Response(content, media_type=media_type)
        if not _accepts_gzip(request.headers.get("accept-encoding", "")):
            content = await to_thread.run_sync(gzip.decompress, content)
            return Response(content, media_type=media_type)
        return Response(content, headers={"Content-Encoding": "gzip"}, media_type=media_type)

    async def _description(self, _: Request) -> Response:
        scene = await self._loaded()
        return _json(await self._in_thread(scene, scene.describe))

    async def _structure(self, request: Request) -> Response:
        layer = number_in(request)
        scene = await self._loaded()
        if layer >= len(scene.layers):
            raise RequestError("no such layer")
        return _binary(await self._in_thread(scene, partial(scene.structure, layer)))

    async def _frame(self, request: Request) -> Response:
        number = number_in(request)
        scene = await self._loaded()
        if number >= scene.n_frames:
            raise RequestError(f"no such frame: there are {scene.n_frames}, from 0 on")
        stored = request.query_params.get("positions") == "stored"
        async with self._readers:
            # A page that has moved on to another frame has ended its request.
            if await request.is_disconnected():
                return Response(status_code=_GONE)
            frame = await self._in_thread(
                scene, partial(scene.frame, number, stored=stored), CapacityLimiter(1)
            )
        return _binary(frame)

    async def _series(self, request: Request) -> Response:
        number = number_in(request)
        scene = await self._loaded()
        if number >= len(scene.series):
            raise RequestError("no such series")
        document = partial(scene.series_document, number)
        try:
            return _json(await self._in_thread(scene, document, self._analyses))
        except ValueError as error:
            if isinstance(error, (TrajetError, RequestError)):
                raise
            raise RequestError(scene.without_paths(str(error)), 409) from error

    async def _in_thread(
        self, scene: Scene, call: Callable[[], _T], limiter: CapacityLimiter | None = None
    ) -> _T:
        """Call a function of a scene in a thread.

        Raises
        ------
        RequestError
            For errors of trajectories, without their texts, and for frames and atoms that an
            analysis or the page cannot use, with a text.
        """
        try:
            return await to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=True)
        except (FrameError, SelectionError) as error:
            self._failed(error)
            raise RequestError(scene.without_paths(str(error)), 409) from error
        except (TrajetError, OSError, MemoryError) as error:
            self._failed(error)
            raise RequestError("the server cannot read this: see its terminal", 500) from error


def _accepts_gzip(header: str) -> bool:
    """Return whether an `Accept-Encoding` header names gzip, with another weight than 0."""
    for entry in header.lower().split(","):
        coding, _, weight = (part.strip() for part in entry.partition(";"))
        if coding in ("gzip", "x-gzip"):
            return not re.fullmatch(r"q\s*=\s*0(\.0*)?", weight)
    return False


def _json(value: object) -> Response:
    text = json.dumps(value, allow_nan=False)
    return Response(text, media_type="application/json")


def _binary(data: bytes) -> Response:
    return Response(data, media_type="application/octet-stream")
