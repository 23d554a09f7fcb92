"""Objects that travel to other processes even if only a script knows their class or function."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Generic, TypeVar

from trajet._trajet import MissingPackageError, WorkerError

_T = TypeVar("_T")


def cloudpickle() -> ModuleType:
    """Return the module cloudpickle.

    Raises
    ------
    MissingPackageError
        If it is not installed.
    """
    try:
        import cloudpickle as module
    except ImportError as error:
        raise MissingPackageError(
            "sending a function to other processes needs cloudpickle: pip install cloudpickle"
        ) from error
    found: ModuleType = module
    return found


def as_worker_error(error: BaseException) -> WorkerError:
    """Return an error with type, text and notes of one that cannot be sent to another process."""
    made = WorkerError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made


@dataclass(frozen=True)
class Portable(Generic[_T]):
    """Holds an object, and pickles it with cloudpickle: functions of scripts by their code.

    Attributes
    ----------
    value
        The object.
    """

    value: _T

    def __reduce__(self) -> "tuple[Callable[[bytes], Portable[object]], tuple[bytes]]":
        return _restored, (cloudpickle().dumps(self.value),)


def _restored(data: bytes) -> Portable[object]:
    return Portable(cloudpickle().loads(data))
