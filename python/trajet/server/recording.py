"""Pictures and movies: the page draws frames in a browser without a window, and sends them here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trajet.server.app import answered, body_of, number_in
from trajet.server.frames import RequestError
from trajet.viewer import Movie


@dataclass
class Recording:
    """Takes the pictures of chosen frames from the page.

    Attributes
    ----------
    frames
        Numbers of the frames, in their order.
    width, height
        Size of the pictures, pixels.
    file
        The file, empty: a PNG picture, or an MP4 movie.
    rate
        Pictures of a movie per second; None for one picture.
    is_done
        Whether the page has sent everything.
    failure
        The message of the page that it has failed.
    """

    frames: Sequence[int]
    width: int
    height: int
    file: IO[bytes]
    rate: int | None = None
    is_done: bool = False
    failure: str | None = None
    _movie: Movie | None = None
    _configuration: bytes = b""
    _n_taken: int = field(default=0)

    def __post_init__(self) -> None:
        if self.rate is not None:
            self._movie = Movie(self.file, self.width, self.height, self.rate)

    def routes(self) -> list[Route]:
        """Return the further routes of the application."""
        return [
            Route("/recording.json", answered(self._plan), methods=["GET"]),
            Route("/picture/{number}", answered(self._picture), methods=["POST"]),
            Route("/chunk/{number}", answered(self._chunk), methods=["POST"]),
            Route("/configuration", answered(self._configure), methods=["POST"]),
            Route("/done", answered(self._done), methods=["POST"]),
            Route("/failed", answered(self._failed), methods=["POST"]),
        ]

    async def _plan(self, _: Request) -> Response:
        size = {"width": self.width, "height": self.height}
        return JSONResponse({"frames": list(self.frames), "rate": self.rate, **size})

    async def _picture(self, request: Request) -> Response:
        data = await body_of(request)
        self._expect(request, is_movie=False)
        self.file.write(data)
        return Response()

    async def _chunk(self, request: Request) -> Response:
        data = await body_of(request)
        self._expect(request, is_movie=True)
        assert self._movie is not None
        self._movie.add(data, is_key=request.query_params.get("key") == "1")
        return Response()

    def _expect(self, request: Request, *, is_movie: bool) -> None:
        """Count a picture, whose body is there; raise an error if it is not the next one.

        Raises
        ------
        RequestError
            If it is not.
        """
        is_next = number_in(request) == self._n_taken < len(self.frames)
        if self.is_done or not is_next or is_movie != (self._movie is not None):
            raise RequestError("this is not the next picture", 409)
        self._n_taken += 1

    async def _configure(self, request: Request) -> Response:
        self._configuration = await body_of(request)
        return Response()

    async def _done(self, _: Request) -> Response:
        if self._n_taken != len(self.frames) or (self._movie and not self._configuration):
            raise RequestError("pictures are missing", 409)
        if self._movie is not None:
            self._movie.finish(self._configuration)
        self.is_done = True
        return Response()

    async def _failed(self, request: Request) -> Response:
        self.failure = (await body_of(request)).decode("utf-8", "replace")[:1000]
        return Response()
