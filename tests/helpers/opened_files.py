"""Lists the files that are opened during a block, as the kernel reports them."""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

_IN_OPEN = 0x20


@contextlib.contextmanager
def watch_opens(*paths: Path) -> Iterator[list[Path]]:
    """Yield a list that holds, when the block ends, the files that were opened in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert watch >= 0, os.strerror(ctypes.get_errno())
    names = {libc.inotify_add_watch(watch, os.fsencode(path), _IN_OPEN): path for path in paths}
    opened: list[Path] = []
    try:
        yield opened
        with contextlib.suppress(BlockingIOError):
            while events := os.read(watch, 4096):
                # Watch, mask, cookie and length of the name; watched files have no name.
                for at in range(0, len(events), 16):
                    opened.append(names[int.from_bytes(events[at : at + 4], "little")])
    finally:
        os.close(watch)
