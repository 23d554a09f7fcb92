"""Main loop of a worker process of `ProcessPool`."""

import gc
import os
import pickle
import select
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence

# Bytes in front of each message: its length. A message of length 0 says that a worker leaves.
HEADER = 8
# Seconds after which a worker without work ends, and frees its memory.
_IDLE = 10.0
# Seconds between two checks of a worker for its parent.
_LOOK = 0.5


def header(size: int) -> bytes:
    """Return the bytes in front of a message."""
    return size.to_bytes(HEADER, "little")


class RemoteTraceback(Exception):
    """Traceback of an error in a worker, as the cause of the error in the calling process."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def main(requests: int, answers: int, parent: int, argv: Sequence[str]) -> None:
    """Serve in a new process, whose code is the text that `worker_processes` made."""
    # Set after the package was imported, which compares it with its own command.
    sys.argv = list(argv)
    serve(requests, answers, parent)


def serve_forked(requests: int, answers: int, parent: int, others: Sequence[int]) -> None:
    """Serve in a process that was forked, and close the pipes of the calling process first."""
    for pipe in others:
        os.close(pipe)
    # Memory that it shares with its parent is never collected, nor copied by counting references.
    gc.freeze()
    serve(requests, answers, parent)


def serve(requests: int, answers: int, parent: int) -> None:
    """Call the functions that come through a pipe, until it is closed or nothing comes."""
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    arrives = select.poll()
    arrives.register(requests, select.POLLIN)
    try:
        while arrives.poll(1000 * _IDLE):
            if (message := _read(requests)) is None:
                return
            answer = _answer(message)
            if answer is not None:
                _write(answers, header(len(answer)))
                _write(answers, answer)
            del message, answer
        _write(answers, header(0))
    except BrokenPipeError:
        # The calling process has ended.
        return


def _read(pipe: int) -> bytearray | None:
    """Return the next message; None if the calling process has closed the pipe."""
    size = bytearray(HEADER)
    if not _fill(pipe, size):
        return None
    message = bytearray(int.from_bytes(size, "little"))
    return message if _fill(pipe, message) else None


def _fill(pipe: int, buffer: bytearray) -> bool:
    """Fill a buffer; return False at the end of the pipe."""
    with memoryview(buffer) as view:
        done = 0
        while done < len(view):
            n = os.readv(pipe, [view[done:]])
            if n == 0:
                return False
            done += n
    return True


def _write(pipe: int, data: bytes) -> None:
    with memoryview(data) as view:
        done = 0
        while done < len(view):
            done += os.write(pipe, view[done:])


def _answer(message: bytearray) -> bytes | None:
    """Call the function of a message; return its pickled value or error, or None if unwanted."""
    is_wanted = True
    try:
        call: Callable[[], object]
        is_wanted, call = pickle.loads(message)
        value = call()
        return pickle.dumps((True, value, ""), -1) if is_wanted else None
    except BaseException as error:
        if not is_wanted:
            return None
        text = "".join(traceback.format_exception(error))
        return pickle.dumps((False, _portable(error), text), -1)


def _portable(error: BaseException) -> object:
    """Return an error as an object that the calling process can unpickle."""
    from trajet.pools.portable import Portable, as_worker_error

    candidates: list[Callable[[], object]] = [
        lambda: error,
        # An error whose class only a script knows.
        lambda: Portable(error),
    ]
    for make in candidates:
        try:
            candidate = make()
            pickle.loads(pickle.dumps(candidate, -1))
        except Exception:
            continue
        return candidate
    return as_worker_error(error)


def _end_after(parent: int) -> None:
    """End this process after its parent was killed, also while it computes."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
