"""H5MD and mdtraj's HDF5 files; no other package imports h5py.

h5py reads and creates groups, attributes and small tables. Positions and other large arrays are
read, decompressed and compressed by the native module, on all threads.
"""

from trajet import startup

# Most callers only ask whether a file is HDF5: names are imported when they are first used.
_MODULES = startup.modules_of_names(__file__)
__all__ = list(_MODULES)
__getattr__ = startup.lazy_names(__name__, _MODULES)
