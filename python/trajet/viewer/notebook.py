"""The viewer in notebooks: a widget whose data travel through the kernel's connection.

The widget sends requests with an `id` and `ask`: "scene", "structure", "frame" or "series" with a
`number`, frames also with `stored`; or "program" with a `name`. Answers have the `id` with a
`value`, or one buffer, or an `error`. Structures and frames are those of `trajet.viewer.scene`.
"""

from typing import TypedDict

import anywidget
import traitlets

from trajet._trajet import FrameError, TrajetError
from trajet.viewer.files import PROGRAMS, program, script, style
from trajet.viewer.scene import Scene


class _Request(TypedDict, total=False):
    """A request of the widget."""

    id: str
    ask: str
    number: int
    stored: bool
    name: str


class View(anywidget.AnyWidget):
    """A trajectory in a notebook; made by `trajet.view`.

    Attributes
    ----------
    frame
        Number of the frame that is shown; setting it shows another. `view.observe(f, "frame")`
        calls `f` whenever it changes, also by the controls of the widget.
    height
        Height, pixels.
    """

    _esm = script("widget")
    _css = style()
    frame = traitlets.Int(0).tag(sync=True)
    height = traitlets.Int(480, min=200).tag(sync=True)

    def __init__(self, scene: Scene, *, height: int) -> None:
        self._scene = scene
        super().__init__(height=height)
        self.on_msg(self._answer)

    def close(self) -> None:
        """Remove the widget and close its files; the trajectory stays open."""
        super().close()
        self._scene.close()

    @traitlets.validate("frame")
    def _check_frame(self, proposal: dict[str, int]) -> int:
        """Return the number of a frame; negative numbers count from the end.

        Raises
        ------
        FrameError
            If there is no such frame.
        """
        number, n_frames = proposal["value"], self._scene.n_frames
        if not -n_frames <= number < n_frames:
            raise FrameError(
                f"frame {number} is out of range: the trajectory has {n_frames} frames, 0 to"
                f" {n_frames - 1}"
            )
        return number % n_frames

    def _answer(self, _: object, request: _Request, __: object) -> None:
        """Send the answer to a request."""
        answer: dict[str, object] = {"id": request.get("id")}
        buffers: list[bytes] = []
        try:
            found = self._found(request)
        except (TrajetError, OSError, ValueError, MemoryError) as error:
            answer["error"] = self._scene.without_paths(str(error))
        else:
            if isinstance(found, bytes):
                buffers = [found]
            else:
                answer["value"] = found
        self.send(answer, buffers)

    def _found(self, request: _Request) -> bytes | dict[str, object]:
        """Return what a request asks for.

        Raises
        ------
        ValueError
            If there is no such thing.
        """
        scene, number = self._scene, request.get("number", 0)
        match request.get("ask"):
            case "scene":
                return scene.describe()
            case "structure" if 0 <= number < len(scene.layers):
                return scene.structure(number)
            case "frame" if 0 <= number < scene.n_frames:
                return scene.frame(number, stored=request.get("stored", False))
            case "series" if 0 <= number < len(scene.series):
                return scene.series_document(number)
            case "program" if (name := request.get("name", "")) in PROGRAMS:
                return program(name)
        raise ValueError("the widget asks for what there is not: run its cell again")
