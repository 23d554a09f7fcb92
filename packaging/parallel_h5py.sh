#!/bin/sh
# A virtual environment with an h5py that knows MPI, built with the MPICH and HDF5 of Debian or Ubuntu:
#
#   sh packaging/parallel_h5py.sh FOLDER
#
# mpi4py is built too: wheels take whatever MPI they find, and both must use the same.
set -eu
folder=${1:?which folder?}
headers=/usr/include/hdf5/mpich
libraries=/usr/lib/$(uname -m)-linux-gnu/hdf5/mpich
command -v mpicc.mpich >/dev/null && command -v mpiexec.mpich >/dev/null \
	&& [ -d "$headers" ] && [ -d "$libraries" ] || {
	echo "MPICH and its HDF5 are missing: apt-get install mpich libmpich-dev libhdf5-mpich-dev" >&2
	exit 1
}
[ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet numpy cython pkgconfig 'setuptools>=77' wheel
# Without the cache, which would keep the builds as ordinary wheels.
from_source="--quiet --no-cache-dir --no-deps --no-build-isolation"
MPICC=mpicc.mpich CC=mpicc.mpich CFLAGS='-O1 -g0' \
	"$folder/bin/python" -m pip install $from_source --no-binary=mpi4py 'mpi4py>=4'
CC=mpicc.mpich CFLAGS='-O1 -g0' LDFLAGS=-s \
	HDF5_MPI=ON HDF5_INCLUDEDIR=$headers HDF5_LIBDIR=$libraries \
	"$folder/bin/python" -m pip install $from_source --no-binary=h5py 'h5py>=3.9'
"$folder/bin/python" -c 'import h5py; assert h5py.get_config().mpi'
