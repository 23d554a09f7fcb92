"""`install`: Universes read files through trajet, and write XTC and TRR through it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from types import TracebackType
from typing import Self

import MDAnalysis as mda
import numpy as np
from MDAnalysis.coordinates import TRR, XTC
from MDAnalysis.core.groups import Atom, AtomGroup, UpdatingAtomGroup
from numpy.typing import NDArray

from trajet.mdanalysis.block_writer import Writer
from trajet.mdanalysis.format_readers import (
    DCDReader,
    H5MDReader,
    NCDFReader,
    TRRReader,
    XTCReader,
)
from trajet.mdanalysis.in_memory import with_blocks
from trajet.mdanalysis.readers import Reader
from trajet.mdanalysis.timestep import KNOWN, LazyTimestep
from trajet.mdanalysis.writers import TRRWriter, XTCWriter

_CLASSES: dict[str, type[Reader]] = {
    "XTC": XTCReader,
    "TRR": TRRReader,
    "DCD": DCDReader,
    "NCDF": NCDFReader,
    "NC": NCDFReader,
    "H5MD": H5MDReader,
}

# Formats whose files are written at least 1.2 times as fast.
_WRITERS: dict[str, type[Writer]] = {"XTC": XTCWriter, "TRR": TRRWriter}

# Functions that undo `install`; empty while nothing is installed.
_undo: list[Callable[[], None]] = []

# Jobs that run in this process with the readers that `installed_as` has installed: several, if a
# Dask worker has several threads.
_jobs: set[object] = set()
_jobs_lock = Lock()


def _group_positions(atoms: AtomGroup) -> NDArray[np.float32]:
    # An updating group looks at the frame first, which may have it decoded.
    ix = atoms.ix
    ts = atoms.universe.trajectory.ts
    if type(ts) is LazyTimestep and ts.state != KNOWN and ts.source is not None:
        if isinstance(atoms, UpdatingAtomGroup):
            return ts.source.updating_asked(ts, ix)
        return ts.source.positions_of(ts, ix)
    positions: NDArray[np.float32] = ts.positions[ix]
    return positions


def _atom_position(atom: Atom) -> NDArray[np.float32]:
    ts = atom.universe.trajectory.ts
    if type(ts) is LazyTimestep and ts.state != KNOWN and ts.source is not None:
        return ts.source.position_of(ts, atom.ix)
    position: NDArray[np.float32] = ts.positions[atom.ix].copy()
    return position


class Installed:
    """The result of `install`, as a context manager, which undoes this call at the end.

    If the readers had been installed before, they stay, with the `strict` of before.
    """

    def __init__(self, *, was_installed: bool, was_strict: bool) -> None:
        self._was_installed, self._was_strict = was_installed, was_strict

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._was_installed:
            uninstall()
        elif _undo:
            Reader.strict_by_default = self._was_strict


def install(*, strict: bool = True) -> Installed:
    """Have MDAnalysis read XTC, TRR, DCD, Amber NetCDF and H5MD files through trajet.

    The readers of these formats are replaced in MDAnalysis' table of readers, the writers of XTC
    and TRR in its tables of writers, the getters `AtomGroup.positions` and `Atom.position` by ones
    that decode their own atoms only, and `Universe.transfer_to_memory` by one that decodes many
    frames at once. Universes that exist already keep their readers. A second call changes only
    `strict`.

    Parameters
    ----------
    strict
        Whether files that trajet refuses (truncated, in unknown units, with contradicting cells)
        are errors. If not, a warning is given, and MDAnalysis' own reader reads them.

    Returns
    -------
    Installed
        A context manager that undoes this call at the end.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import trajet.mdanalysis
    >>> with trajet.mdanalysis.install():
    ...     u = mda.Universe("adk.psf", "adk.xtc")
    ...     calpha = u.select_atoms("name CA")
    ...     means = [calpha.positions.mean() for ts in u.trajectory]
    >>> len(means)
    98
    """
    found = Installed(was_installed=bool(_undo), was_strict=Reader.strict_by_default)
    Reader.strict_by_default = strict
    if not _undo:
        _update(mda._READERS, _CLASSES)
        for table in (mda._MULTIFRAME_WRITERS, mda._SINGLEFRAME_WRITERS):
            _update(table, _WRITERS)
        # `reader.Writer` looks for the classes of writers there.
        _replace(XTC.XTCReader, "_writer", XTCWriter)
        _replace(TRR.TRRReader, "_writer", TRRWriter)
        of_groups = _with_getter(AtomGroup.positions, _group_positions)
        _replace(AtomGroup, "positions", of_groups)
        _replace(Atom, "position", _with_getter(Atom.position, _atom_position))
        in_blocks = with_blocks(mda.Universe.transfer_to_memory)
        _replace(mda.Universe, "transfer_to_memory", in_blocks)
    return found


def _update(table: dict[str, type], classes: Mapping[str, type]) -> None:
    """Put classes into a table of MDAnalysis."""
    before = {name: table[name] for name in classes}
    table.update(classes)
    _undo.append(lambda: table.update(before))


def _replace(owner: type, name: str, value: object) -> None:
    """Replace an attribute of a class of MDAnalysis."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    _undo.append(lambda: setattr(owner, name, before))


def uninstall() -> None:
    """Undo `install`. Universes keep their readers, which decode whole frames from now on."""
    Reader.strict_by_default = True
    for restore in _undo:
        restore()
    _undo.clear()


def strictness() -> bool | None:
    """Return `strict` of `install`, or None if nothing is installed."""
    return Reader.strict_by_default if _undo else None


@contextmanager
def installed_as(strict: bool | None) -> Iterator[None]:
    """Have the readers installed in a worker process while a job runs, as where it comes from.

    Parameters
    ----------
    strict
        `strictness` of the process that sent the job; None changes nothing. It does not change
        either what this process has installed by itself.
    """
    job = object()
    with _jobs_lock:
        if strict is not None and (_jobs or not _undo):
            install(strict=strict)
            _jobs.add(job)
    try:
        yield
    finally:
        with _jobs_lock:
            if job in _jobs:
                _jobs.remove(job)
                if not _jobs:
                    uninstall()


def _with_getter(before: property, getter: Callable[[AtomGroup], NDArray[np.float32]]) -> property:
    return property(getter, before.fset, before.fdel, before.__doc__)
