"""The reader of each format, under the names of MDAnalysis' own."""

from typing import TYPE_CHECKING

import numpy as np
from MDAnalysis.coordinates.H5MD import H5PYPicklable
from MDAnalysis.coordinates.TRJ import NCDFPicklable
from MDAnalysis.coordinates.TRJ import NCDFReader as NCDFOwn
from numpy.typing import NDArray

from trajet.mdanalysis.readers import Reader

if TYPE_CHECKING:
    import h5py


class XTCReader(Reader):
    """Reads XTC files."""

    _only = "XTC"


class TRRReader(Reader):
    """Reads TRR files."""

    _only = "TRR"


class DCDReader(Reader):
    """Reads DCD files; each frame has a time step of its own, as MDAnalysis' reader has it."""

    _only = "DCD"

    @property
    def dimensions(self) -> NDArray[np.float32] | None:
        """The unit cell of the current frame."""
        dimensions: NDArray[np.float32] | None = self.ts.dimensions
        return dimensions


class NCDFReader(Reader):
    """Reads Amber NetCDF files."""

    _only = "NCDF"
    version = NCDFOwn.version
    _verify_units = staticmethod(NCDFOwn._verify_units)
    _trjfile: NCDFPicklable | None = None

    @property
    def trjfile(self) -> NCDFPicklable | None:
        """The variables of the file, as MDAnalysis' own reader has them; opened when asked for."""
        if self._trjfile is None and self._source is not None:
            self._trjfile = NCDFPicklable(self.filename, mmap=self._mmap, maskandscale=False)
        return self._trjfile

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._trjfile = None


class H5MDReader(Reader):
    """Reads H5MD files."""

    _only = "H5MD"
    _opened_file: H5PYPicklable | None = None

    @property
    def _file(self) -> H5PYPicklable | None:
        """The file as h5py opens it, for scripts that look at chunks or other groups."""
        if self._own is not None:
            return self._own._file
        if self._opened_file is None and self._source is not None:
            self._opened_file = H5PYPicklable(self.filename, "r")
        return self._opened_file

    @property
    def _particle_group(self) -> "h5py.Group":
        file = self._file
        assert file is not None
        particles = file["particles"]
        return particles[next(iter(particles))]

    def close(self) -> None:
        """Close the file."""
        super().close()
        opened, self._opened_file = self._opened_file, None
        if opened is not None:
            opened.close()


for _class in (XTCReader, TRRReader, DCDReader, NCDFReader, H5MDReader):
    # In the body of a class this would register it.
    _class.format = _class._only
