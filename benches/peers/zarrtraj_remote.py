"""zarrtraj for benches/remote.py, in an interpreter that has it: `pip install zarrtraj`.

    python zarrtraj_remote.py write TOPOLOGY TRAJECTORY OUT.zarrmd N_FRAMES
    python zarrtraj_remote.py read TOPOLOGY URL N_ATOMS

`write` makes its own format as its documentation advises for the cloud: Zstandard, three decimals.
The frames of the trajectory are repeated. `read` prints the seconds of opening and of the RMSD of
the first atoms, and its values, as JSON.
"""

import json
import sys
import time
import warnings

import MDAnalysis as mda
import zarrtraj
from MDAnalysis.analysis.rms import RMSD
from numcodecs import Blosc


def write(topology: str, trajectory: str, out: str, n_frames: int) -> None:
    """Write the frames of a trajectory, repeated."""
    universe = mda.Universe(topology, trajectory)
    how = {"compressor": Blosc(cname="zstd", clevel=7), "precision": 3}
    with mda.Writer(out, universe.atoms.n_atoms, format="ZARRMD", n_frames=n_frames, **how) as to:
        for k in range(n_frames):
            frame = universe.trajectory[k % len(universe.trajectory)]
            # A frame is known by its step number.
            frame.data["step"], frame.time = k, float(k)
            to.write(universe.atoms)


def read(topology: str, url: str, n_atoms: int) -> dict[str, object]:
    """Time opening, and the RMSD of the first atoms."""
    begin = time.perf_counter()
    # Web servers have no listings, by which the group would be found.
    universe = mda.Universe(topology, url, format="ZARRMD", group="trajectory")
    opened = time.perf_counter()
    values = RMSD(universe.atoms[:n_atoms]).run().results.rmsd[:, 2]
    ended = time.perf_counter()
    return {"open": opened - begin, "rmsd": ended - opened, "values": values.tolist()}


def main(what: str, *given: str) -> None:
    """Do what the first argument says."""
    warnings.simplefilter("ignore")
    if what == "write":
        write(given[0], given[1], given[2], int(given[3]))
    else:
        print(json.dumps({"version": zarrtraj.__version__, **read(*given[:2], int(given[2]))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
