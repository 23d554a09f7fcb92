"""Progress of analyses that Python code runs: a bar, or a function of the user."""

from collections.abc import Iterator
from contextlib import contextmanager

from trajet.pools.pool import Progress


@contextmanager
def shown_progress(
    progress: Progress | bool | None, name: str, unit: str
) -> Iterator[Progress | None]:
    """Show a progress bar for True, in a terminal or a notebook; yield what is called.

    Parameters
    ----------
    progress
        A function of what is done and of the total; True for a bar; False or None for nothing.
    name, unit
        Name of the analysis and unit of the numbers, on the bar.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        if not callable(progress):
            raise TypeError(
                f"progress is a function of two numbers, True or None, not {progress!r}"
            )
        yield progress
        return
    import sys

    from tqdm.auto import tqdm

    # Standard error is None if it is closed. With None, tqdm would hide bars outside of terminals.
    is_closed = sys.stderr is None
    with tqdm(total=0, desc=name, unit=unit, unit_scale=True, disable=is_closed) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
