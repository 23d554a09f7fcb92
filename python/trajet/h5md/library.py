"""Import of h5py when it is needed."""

from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from trajet._trajet import MissingPackageError

if TYPE_CHECKING:
    from pathlib import Path

    from h5py import Dataset, Datatype, ExternalLink, Group, HardLink, SoftLink

    from trajet.remote.ranges import RangeFile

# An HDF5 file: a path, or an object in remote storage.
HdfFile: TypeAlias = "Path | RangeFile"
# Object at a path of a file, and link of a group to an object; None if nothing is there.
Found: TypeAlias = "Group | Dataset | Datatype | None"
Link: TypeAlias = "HardLink | SoftLink | ExternalLink | None"
_HOW = (
    "install libhdf5-mpich-dev and build h5py from source with CC=mpicc.mpich HDF5_MPI=ON"
    " (docs/parallel.md has the commands), or take the python3-h5py-mpi of Debian"
)


def h5py(why: str) -> ModuleType:
    """Return the module h5py.

    Raises
    ------
    MissingPackageError
        If it is not installed; the message begins with `why`.
    """
    try:
        import h5py as module
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"{why}: h5py is needed for HDF5 files: pip install 'trajet[h5md]'"
        ) from error
    except ImportError as error:
        # Such as a library of MPI that it was built with.
        raise MissingPackageError(f"{why}: h5py cannot be loaded: {error}") from error
    library: ModuleType = module
    return library


def parallel_h5py(why: str) -> ModuleType:
    """Return the module h5py if it was built with MPI.

    Raises
    ------
    MissingPackageError
        If it is not installed, or was built without MPI; the message begins with `why`.
    """
    module = h5py(why)
    if not module.get_config().mpi:
        raise MissingPackageError(
            f"{why}: this h5py was built without MPI, as the wheels of PyPI are: {_HOW}"
        )
    return module


def version(why: str) -> str:
    """Return the version of the HDF5 library, and whether it runs on ranks of MPI.

    Raises
    ------
    MissingPackageError
        If h5py is not installed; the message begins with `why`.
    """
    module = h5py(why)
    return f"{module.version.hdf5_version}, {'with' if module.get_config().mpi else 'without'} MPI"
