"""The library of HDF5, imported where it is needed: few trajectories are such files."""

from typing import Any

from trajet._trajet import MissingPackageError


def h5py(why: str) -> Any:
    """Return the module h5py.

    Raises
    ------
    MissingPackageError
        If it is not installed; `why` says what it is needed for.
    """
    try:
        import h5py as module
    except ImportError as error:
        raise MissingPackageError(
            f"{why}: h5py is needed for HDF5 files: pip install 'trajet[h5md]'"
        ) from error
    return module
