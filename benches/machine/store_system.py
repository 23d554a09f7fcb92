"""Six proteins in water, made of files of MDAnalysisTests: what a viewer of a large system loads.

From table 2 of Deng et al. 2021 (doi:10.1145/3472456.3473509) follow 43,480 atoms (2,612 MB of
positions in 5,006 frames), of which 43.5 to 49 % are protein, and 160 kB of XTC a frame.
"""

from pathlib import Path

from published_systems import proteins_in_water
from repeated_frames import write_repeated

N_PROTEINS, N_WATERS, N_SITES = 6, 7784, 3
# How often the ten distinct frames are used, each time with other noise, before they repeat.
_TIMES = 10
_TIME_STEP = 20.0  # ps
# Changes with what is made, so that files of before are not taken for it.
_VERSION = 2


def make(folder: Path, n_frames: int) -> tuple[Path, Path]:
    """Return topology (GRO) and trajectory (XTC), made where the folder has none."""
    topology = folder / f"proteins-{_VERSION}.gro"
    trajectory = folder / f"proteins-{_VERSION}-{n_frames}.xtc"
    if not topology.exists() or not trajectory.exists():
        beside = topology.with_name(f".{topology.name}")
        encoded = proteins_in_water(beside, N_PROTEINS, N_WATERS, N_SITES, _TIMES)
        write_repeated(trajectory, encoded, n_frames, _TIME_STEP)
        beside.replace(topology)
    return topology, trajectory
