"""`ClosedReader`: stands for the native reader of a closed trajectory."""

from typing import NoReturn


class ClosedReader:
    """Raises an error for everything that needs the files of a closed trajectory."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __getattr__(self, name: str) -> NoReturn:
        """Raise ValueError, as closed files of Python do."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(
            f"{self._label}: the trajectory is closed: open it again, or read within its `with`"
            " block"
        )
