"""What a path, several, or an AtomGroup opens: files, or a data set of a store."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trajet import _trajet, h5md, mdanalysis
from trajet._trajet import Reader, SelectionError
from trajet.dataset import find_dataset
from trajet.pools.pool import Pool
from trajet.pools.rank_placeholder import root_only
from trajet.startup import Stopwatch
from trajet.trajectory.selection import Selection
from trajet.trajectory.trajectory import DEFAULT_REQUEST_SIZE, Trajectory


@root_only("trajectory")
def open(
    topology: str | os.PathLike[str] | None,
    *trajectories: str | os.PathLike[str],
    continuous: bool = False,
    allow_truncated_tail: bool = False,
    request_size: int = DEFAULT_REQUEST_SIZE,
    sidecar: bool = True,
    rebuild_index: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    particles: str | None = None,
    units: Mapping[str, str] | None = None,
    dcd_cell: str | None = None,
    pool: Pool | None = None,
) -> Trajectory:
    """Open a trajectory.

    Parameters
    ----------
    topology
        A file that MDAnalysis reads (PSF, PDB, GRO, TPR, PRMTOP, …), or None for plain coordinates.
        It is read when atoms are first selected. Or, without trajectories, a data set of a store,
        "STORE/name", or some of its tags, "STORE/name@protein,lipid": then the trajectory has the
        atoms of these tags alone, in their original order, and selections look only at them.
        Indices of atoms are those of the original.
    *trajectories
        The trajectory: an XTC, TRR, DCD, Amber NetCDF, H5MD or mdtraj HDF5 file; or several files
        of the same atoms, of any of these formats. Several files are one trajectory: frames are
        numbered through, in the order in which the files are given; times and steps are those of
        the files.
    continuous
        Whether frames that several files hold are read once, where a simulation was continued
        (`gmx mdrun -noappend`) or restarted. Files are put in the order of their first times; of
        frames from the first time of a later file on, those of the later file are kept. `remarks`
        say how many frames were dropped. Otherwise all frames are kept, and `remarks` say where
        times overlap.
    allow_truncated_tail
        Read the whole frames of files that end inside a frame (a simulation that still runs). The
        report of every analysis records it.
    request_size
        Bytes of a read request. Larger ones (8 MiB) suit parallel and network file systems.
    sidecar
        Whether to keep the index of frames in a hidden file beside the trajectory (or in the cache
        folder) and to use the one that is there. One that belongs to another user, who is neither
        root nor the owner of the trajectory, is ignored; `remarks` say so.
    rebuild_index
        Build the index although there is one that fits.
    threads
        Threads that build an index of a large file; None for all cores.
    progress
        Called with bytes done and in total while an index is built.
    particles
        Which group of particles of H5MD files, where there are several.
    units
        Units of H5MD files that do not name them: {"position": "nm", "time": "ps"}, and
        "velocity" and "force".
    dcd_cell
        How the cells of DCD files are stored, where a file contradicts itself: "matrix" for the
        symmetric matrix of CHARMM, "angles" for lengths and angles. By default the version in the
        file's header decides, and the first frame where the version leaves it open. Copies and
        stores keep what is said here.
    pool
        A pool whose processes all run this script (`MpiPool`): rank 0 opens the trajectory, and
        what the others get stands for it where `select` and analyses take it.

    Returns
    -------
    Trajectory

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As the operating system says.
    TruncatedError
        If the file ends inside a frame.
    FormatError
        If a file is empty, of another format or corrupt, or the number of atoms changes, in a file
        or from one to the next; or if the cells of a DCD file are not what its header says.
    StoreError
        If the store has no such data set, or that no such tag.
    MissingPackageError
        If it is an HDF5 file and h5py is not installed.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> traj
    <Trajectory adk.xtc: 98 frames of 3341 atoms>
    """
    watch = Stopwatch()
    if request_size < 1:
        raise ValueError(f"request_size must be at least 1 byte, not {request_size}")
    if not trajectories:
        found = None if topology is None else find_dataset(topology)
        if found is None:
            raise TypeError(
                "give the topology first, then the trajectory: open('top.psf', 'traj.xtc');"
                " None stands for no topology, and a data set of a store has one with it"
            )
        told = (particles, units, dcd_cell)
        if continuous or allow_truncated_tail or any(one is not None for one in told):
            raise ValueError(
                f"{found.label}: a data set was put in order when it was added: leave continuous=,"
                " allow_truncated_tail=, particles=, units= and dcd_cell= out"
            )
        return Trajectory.of_dataset(found, request_size=request_size)
    for path in trajectories:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(
                f"several trajectories are given as open(topology, *files), not {path!r}"
            )
        if find_dataset(path) is not None:
            raise ValueError(
                f"{path}: is a data set of a store, which has its topology with it:"
                f" open({os.fspath(path)!r})"
            )
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    paths = [Path(trajectory) for trajectory in trajectories]
    hdf5 = [path for path in paths if h5md.is_hdf5(path)]
    if not hdf5 and (particles is not None or units is not None):
        raise ValueError(f"{paths[0]}: is no HDF5 file: particles= and units= are for those")
    if dcd_cell not in (None, "matrix", "angles"):
        raise ValueError(f"dcd_cell is 'matrix' or 'angles', not {dcd_cell!r}")
    reader = Reader(
        paths,
        continuous=continuous,
        allow_truncated_tail=allow_truncated_tail,
        request_size=request_size,
        sidecar=sidecar,
        rebuild_index=rebuild_index,
        cache=_cache_folder(),
        threads=threads or _trajet.available_threads(),
        progress=progress,
        described={
            path: h5md.describe(
                path, particles=particles, units=units, allow_truncated_tail=allow_truncated_tail
            )
            for path in hdf5
        },
        dcd_cell=dcd_cell,
    )
    if dcd_cell is not None and "DCD" not in reader.format:
        raise ValueError(f"{paths[0]}: is no DCD file: dcd_cell= is for those")
    at = None if topology is None else Path(topology)
    return Trajectory(at, reader, t_open=watch.seconds(), particles=particles)


def _cache_folder() -> Path | None:
    """Return the folder for indexes of trajectories whose own folder cannot be written."""
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "trajet"
    try:
        return Path.home() / ".cache" / "trajet"
    except RuntimeError:
        return None


def from_atomgroup(atoms: Any) -> Selection:
    """Return the selection that an AtomGroup stands for, on its own Universe's file."""
    watch = Stopwatch()
    said = mdanalysis.from_atomgroup(atoms)
    opened = open(said.topology, *said.paths)
    same = (opened.n_atoms, opened.n_frames) == (said.n_atoms, said.n_frames)
    if same:
        now = opened.read_places([said.frame], said.indices, None)
        same = bool(now.times[0] == said.time) and np.array_equal(
            now.positions[0], said.positions, equal_nan=True
        )
        # At frame 0 the time is 0 whatever steps are given; steps between later frames may differ.
        if said.time_step is not None and said.frame == 0:
            near = np.diff(opened.reader.times()[:2])
            slack = 1e-5 * abs(said.time_step) + 4 * np.spacing(np.float32(abs(said.time)))
            same &= not near.size or bool((abs(near - said.time_step) <= slack).any())
    if not same:
        where = str(said.paths[0].absolute())
        if len(said.paths) > 1:
            where += f" … ({len(said.paths)} files)"
        raise SelectionError(
            f"this AtomGroup cannot serve as a selection: {where} holds other"
            " coordinates or times than its Universe (were positions or units changed, a time"
            " offset or step given, or did the file or the working folder change since it was"
            " loaded?)"
        )
    # The Universe that made the group selects further groups, on its own topology.
    opened.adopt(said.universe, mdanalysis.Box.of(now))
    return Selection(opened, said.indices, None, watch.seconds() - opened.t_topology)
