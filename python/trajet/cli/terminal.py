"""Lines and progress bars that a terminal shows while a command works."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

# Seconds before a terminal shows a line on a long step, and the width of that line.
_WAIT = 1.0
_WIDEST = 70


@contextlib.contextmanager
def waiting(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Show a line on a terminal while a block runs for longer than a second."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        print(f"{what[:_WIDEST]} …", end="", file=sys.stderr, flush=True)

    # The block is a single call, so that another thread has to print the line.
    timer = threading.Timer(_WAIT, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(what: str, unit: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar if standard error is a terminal; yield a function to update it."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from tqdm import tqdm

    with tqdm(
        total=0,
        desc=what,
        unit=unit,
        unit_scale=True,
        leave=False,
        delay=0.3,
        file=sys.stderr,
    ) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
