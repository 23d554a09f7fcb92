"""The application: routes and their endpoints."""

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TypeVar
from urllib.parse import parse_qsl

from anyio import (
    CapacityLimiter,
    Event,
    Semaphore,
    current_time,
    fail_after,
    move_on_after,
    to_thread,
)
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from trajet._trajet import TrajetError
from trajet.remote import INDEX_SUFFIX
from trajet.server.frames import Frames, OpeningError, RequestError
from trajet.server.ranges import PIECE, OpenFile, PiecesResponse, file_response
from trajet.server.served_names import ServedNames

# Threads that read files and frames, each of its own, so that neither waits for the other.
_FILE_READERS = 16
# Frames that are decoded or sent at a time: each takes 12 bytes an atom.
_FRAMES = 8
# Bytes of a request's body, enough for the ranges of a million scattered atoms.
LARGEST_BODY = 16 * 2**20
# Seconds within which the body of a request must arrive.
_BODY_WITHIN = 20
# Trajectories that are opened at a time, in threads of their own.
_OPENINGS = 4
# Seconds for which a request waits for a trajectory that another one opens, or for others to be
# opened: fewer than those after which clients give up. Seconds after which they may ask again.
_OPENED_WITHIN = 10.0
_AGAIN = 5
# Fields of a form: more take long to take apart.
_MAX_FIELDS = 8
# Digits of a number in a path.
_MAX_DIGITS = 18
_T = TypeVar("_T")


class App:
    """Serves the files and trajectories of a table; an ASGI application.

    Parameters
    ----------
    table
        The files and trajectories.
    failed
        Called with an error that a request has met; its text, which may name paths, is not sent.
    """

    def __init__(self, table: ServedNames, failed: Callable[[Exception], None]) -> None:
        self._table, self._failed = table, failed
        self.frames = Frames(table)
        self._file_readers = CapacityLimiter(_FILE_READERS)
        self._frame_readers = CapacityLimiter(_FRAMES)
        self._frames = Semaphore(_FRAMES)
        self._openers = CapacityLimiter(_OPENINGS)
        # First come, first served.
        self._places = Semaphore(_OPENINGS)
        # Trajectories that are being opened, or wait for a place; the event follows it.
        self._opening: dict[str, Event] = {}
        self._router = Router(
            [
                Route("/file/{name:path}", answered(self._file), methods=["GET"]),
                Route("/dir/{name:path}", answered(self._listing), methods=["GET"]),
                Route("/traj/numframes/{name:path}", answered(self._n_frames), methods=["GET"]),
                Route(
                    "/traj/frame/{number}/{name:path}",
                    answered(self._frame),
                    methods=["POST"],
                ),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._router(scope, receive, send)

    def close(self) -> None:
        """Close all trajectories."""
        self.frames.close()

    async def _file(self, request: Request) -> Response:
        open_file = partial(self._open_file, _name_in(request))
        file = await self._when_open(
            lambda since: self._in_thread(partial(open_file, since), self._file_readers)
        )
        return file_response(request, file, self._file_readers)

    def _open_file(self, name: str, since: float) -> OpenFile:
        """Open a file of the table, or the index that trajet keeps of it."""
        path = self._table.file(name)
        if path is None and name.endswith(INDEX_SUFFIX):
            path = self.frames.index_of(name.removesuffix(INDEX_SUFFIX), since)
        if path is None:
            raise RequestError("no such file")
        return OpenFile.of(path)

    async def _listing(self, request: Request) -> Response:
        list_folder = partial(self._table.listing, _name_in(request))
        entries = await self._in_thread(list_folder, self._file_readers)
        if entries is None:
            raise RequestError("no such folder")
        return JSONResponse(entries)

    async def _n_frames(self, request: Request) -> Response:
        count = partial(self.frames.n_frames, _name_in(request))
        found = await self._when_open(
            lambda since: self._in_thread(partial(count, since), self._frame_readers)
        )
        return PlainTextResponse(str(found))

    async def _frame(self, request: Request) -> Response:
        number = number_in(request)
        body = await body_of(request)

        def read(since: float) -> bytes:
            # Large forms take a while, in which others are answered.
            ranges = _field(body, "atomIndices")
            return self.frames.frame(_name_in(request), number, ranges, since)

        async def read_frame(since: float) -> bytes:
            await self._frames.acquire()
            try:
                return await self._in_thread(partial(read, since), self._frame_readers)
            except BaseException:
                self._frames.release()
                raise

        frame = await self._when_open(read_frame)
        headers = {
            "Content-Length": str(len(frame)),
            "Content-Type": "application/octet-stream",
        }
        return PiecesResponse(_pieces(frame), self._frames.release, headers=headers)

    async def _when_open(self, call: Callable[[float], Awaitable[_T]]) -> _T:
        """Call a function with the time, and again when the trajectory that it reads is open.

        Raises
        ------
        OpeningError
            If another request opens it, or others are opened, for long.
        """
        since = time.monotonic()
        deadline = current_time() + _OPENED_WITHIN
        while True:
            try:
                return await call(since)
            except OpeningError as error:
                if current_time() > deadline:
                    raise
                name = error.name
            await self._open(name, deadline)

    async def _open(self, name: str, deadline: float) -> None:
        """Open a trajectory, or wait until another request has opened it, or for the deadline.

        Waiting takes no thread.
        """
        if (opening := self._opening.get(name)) is not None:
            with move_on_after(deadline - current_time()):
                await opening.wait()
            return
        opening = self._opening[name] = Event()
        has_place = False
        try:
            with move_on_after(deadline - current_time()):
                await self._places.acquire()
                has_place = True
            if has_place:
                await self._in_thread(partial(self.frames.open, name), self._openers)
        finally:
            if has_place:
                self._places.release()
            del self._opening[name]
            opening.set()

    async def _in_thread(self, call: Callable[[], _T], limiter: CapacityLimiter) -> _T:
        """Call a function in a thread.

        Raises
        ------
        RequestError
            For errors of files and trajectories, without their texts.
        """
        try:
            return await to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=True)
        except RequestError:
            raise
        except (TrajetError, OSError, MemoryError) as error:
            self._failed(error)
            raise RequestError("the server cannot read this", 500) from error


def _name_in(request: Request) -> str:
    name: str = request.path_params["name"]
    return name


def number_in(request: Request) -> int:
    """Return the number in the path of a request.

    Raises
    ------
    RequestError
        If it is none, or has more digits than any number of frames.
    """
    text: str = request.path_params["number"]
    if not re.fullmatch(rf"[0-9]{{1,{_MAX_DIGITS}}}", text):
        raise RequestError("there is nothing of this number")
    return int(text)


async def _pieces(frame: bytes) -> AsyncIterator[bytes]:
    """Yield the bytes of a frame in pieces."""
    for offset in range(0, len(frame), PIECE):
        yield frame[offset : offset + PIECE]


def _field(body: bytes, name: str) -> str:
    """Return a field of the form in the body of a request, "" without it.

    Raises
    ------
    RequestError
        If the body is no form of few fields.
    """
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=_MAX_FIELDS)).get(name, "")
    except ValueError as error:
        raise RequestError("the body of the request is no form", 400) from error


async def body_of(request: Request) -> bytes:
    """Return the body of a request.

    Raises
    ------
    RequestError
        If it is too large, or does not arrive.
    """
    found = bytearray()
    try:
        with fail_after(_BODY_WITHIN):
            async for piece in request.stream():
                found += piece
                if len(found) > LARGEST_BODY:
                    raise RequestError("the body of the request is too large", 413)
    except TimeoutError as error:
        raise RequestError("the body of the request did not arrive", 408) from error
    return bytes(found)


def answered(
    endpoint: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that answers errors of requests with their status and text."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except RequestError as error:
            headers = {"Retry-After": str(_AGAIN)} if isinstance(error, OpeningError) else None
            return PlainTextResponse(f"{error}\n", error.status, headers)
        except ClientDisconnect:
            return Response(status_code=400)

    return answer
