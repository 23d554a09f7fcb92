"""H5MD and mdtraj's HDF5 files; no other package imports h5py.

h5py reads and creates groups, attributes and small tables. Positions and other large arrays are
read, decompressed and compressed by the native module, on all threads.
"""

from typing import TYPE_CHECKING

from trajet import startup

# Most callers only ask whether a file is HDF5.
if TYPE_CHECKING:
    from trajet.h5md.joining import join
    from trajet.h5md.library import h5py, parallel_h5py
    from trajet.h5md.mpio import MpioFrames
    from trajet.h5md.native_units import NativeContent, left_out, native_content, write_described
    from trajet.h5md.observables import Numbers, Observables
    from trajet.h5md.preserve import Rest, Source, keep
    from trajet.h5md.ranks import Communicator, raise_on_all, shares
    from trajet.h5md.signature import FORMAT, is_hdf5
    from trajet.h5md.tables import describe
    from trajet.h5md.topology import bonds_of, has_topology, keep_topology, read_structure
    from trajet.h5md.writing import (
        Content,
        check,
        write_all,
        write_blocks,
        write_checked,
    )
else:
    __getattr__ = startup.lazy_names(
        __name__,
        {
            "trajet.h5md.joining": "join",
            "trajet.h5md.library": "h5py parallel_h5py",
            "trajet.h5md.mpio": "MpioFrames",
            "trajet.h5md.native_units": "NativeContent left_out native_content write_described",
            "trajet.h5md.observables": "Numbers Observables",
            "trajet.h5md.preserve": "Rest Source keep",
            "trajet.h5md.ranks": "Communicator raise_on_all shares",
            "trajet.h5md.signature": "FORMAT is_hdf5",
            "trajet.h5md.tables": "describe",
            "trajet.h5md.topology": "bonds_of has_topology keep_topology read_structure",
            "trajet.h5md.writing": "Content check write_all write_blocks write_checked",
        },
    )

__all__ = [
    "FORMAT",
    "Communicator",
    "Content",
    "MpioFrames",
    "NativeContent",
    "Numbers",
    "Observables",
    "Rest",
    "Source",
    "bonds_of",
    "check",
    "describe",
    "h5py",
    "has_topology",
    "is_hdf5",
    "join",
    "keep",
    "keep_topology",
    "left_out",
    "native_content",
    "parallel_h5py",
    "raise_on_all",
    "read_structure",
    "shares",
    "write_all",
    "write_blocks",
    "write_checked",
    "write_described",
]
