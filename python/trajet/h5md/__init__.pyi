"""The names of `trajet.h5md`, each with the module that defines it.

`__init__.py` reads this file.
"""

from trajet._trajet import is_hdf5 as is_hdf5
from trajet.formats import HDF5 as HDF5
from trajet.h5md.joining import join as join
from trajet.h5md.library import HdfFile as HdfFile
from trajet.h5md.library import h5py as h5py
from trajet.h5md.library import parallel_h5py as parallel_h5py
from trajet.h5md.mpio import MpioFrames as MpioFrames
from trajet.h5md.native_units import NativeContent as NativeContent
from trajet.h5md.native_units import left_out as left_out
from trajet.h5md.native_units import native_content as native_content
from trajet.h5md.native_units import write_described as write_described
from trajet.h5md.observables import Numbers as Numbers
from trajet.h5md.observables import Observables as Observables
from trajet.h5md.other_contents import OtherContents as OtherContents
from trajet.h5md.other_contents import Source as Source
from trajet.h5md.preserve import keep as keep
from trajet.h5md.ranks import Communicator as Communicator
from trajet.h5md.ranks import raise_on_all as raise_on_all
from trajet.h5md.ranks import shares as shares
from trajet.h5md.tables import describe as describe
from trajet.h5md.topology import bonds_of as bonds_of
from trajet.h5md.topology import has_topology as has_topology
from trajet.h5md.topology import keep_topology as keep_topology
from trajet.h5md.topology import read_structure as read_structure
from trajet.h5md.writing import Content as Content
from trajet.h5md.writing import check as check
from trajet.h5md.writing import write_all as write_all
from trajet.h5md.writing import write_blocks as write_blocks
from trajet.h5md.writing import write_checked as write_checked
