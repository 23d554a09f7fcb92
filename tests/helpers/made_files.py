"""Trajectories with features that no file of MDAnalysisTests has, read by MDAnalysis too."""

import struct
from pathlib import Path

import MDAnalysis as mda
import numpy as np

TRICLINIC = [31.0, 32.5, 29.0, 80.0, 95.5, 102.25]
# 0.0408 of CHARMM's units of time. Its bytes are a palindrome: MDAnalysis does not swap those of a
# big-endian file.
TIME_STEP = 0x3D27273D


def random_vectors(*shape: int, seed: int = 0, size: float = 30.0) -> np.ndarray:
    """Draw vectors (…, 3) with all digits of a float."""
    return np.random.default_rng(seed).normal(0, size, (*shape, 3)).astype(np.float32)


def write_trr(path: Path, parts: list[str], n_atoms: int, real: str) -> Path:
    """Write frames of which each holds the `parts` named: b(ox), v(irial), p(ressure), x, u, f."""
    rng = np.random.default_rng(1)
    data = b""
    for frame, held in enumerate(parts):
        vectors = [
            rng.normal(0, 3, 9 if name in "bvp" else 3 * n_atoms) if name in held else np.empty(0)
            for name in "bvpxuf"
        ]
        if "b" in held:
            vectors[0] = np.array([3.1, 0, 0, 0.4, 2.9, 0, -0.7, 0.9, 3.3]) + frame / 8
        sizes = [len(numbers) * np.dtype(real).itemsize for numbers in vectors]
        data += struct.pack(">3i12s", 1993, 13, 12, b"GMX_trn_file")
        data += struct.pack(">10i", 0, 0, *sizes[:3], 0, 0, *sizes[3:])
        data += struct.pack(">3i", n_atoms, 500 * frame - 3, 0)
        for numbers in (np.array([0.125 * frame, 0.5]), *vectors):
            data += numbers.astype(f">{real}").tobytes()
    path.write_bytes(data)
    return path


def write_dcd(
    path: Path,
    positions: np.ndarray,
    *,
    order: str = "<",
    fixed: np.ndarray | None = None,
    cells: np.ndarray | None = None,
    claimed: int | None = None,
    version: int = 24,
    marker: str = "i",
) -> Path:
    """Write CHARMM's DCD; after the first frame without the `fixed` atoms.

    Markers of records have 32 bits ("i") or 64 ("q").
    """
    letter = marker

    def record(content: bytes) -> bytes:
        marker = struct.pack(f"{order}{letter}", len(content))
        return marker + content + marker

    n_frames, n_atoms, _ = positions.shape
    free = np.setdiff1d(np.arange(n_atoms), [] if fixed is None else fixed)
    control = np.zeros(20, f"{order}i4")
    control[[0, 1, 2, 19]] = n_frames if claimed is None else claimed, 700, 7, version
    control[8] = n_atoms - len(free)
    control[9] = TIME_STEP
    control[10] = cells is not None
    data = record(b"CORD" + control.tobytes())
    data += record(struct.pack(f"{order}i", 2) + b"made for the tests".ljust(160))
    data += record(struct.pack(f"{order}i", n_atoms))
    if fixed is not None:
        data += record((free + 1).astype(f"{order}i4").tobytes())
    for frame in range(n_frames):
        if cells is not None:
            data += record(cells[frame].astype(f"{order}f8").tobytes())
        held = positions[frame] if frame == 0 else positions[frame, free]
        for axis in range(3):
            data += record(held[:, axis].astype(f"{order}f4").tobytes())
    path.write_bytes(data)
    return path


def write_with_mdanalysis(
    path: Path, n_atoms: int, n_frames: int, *, fields: bool = False, **options: float
) -> Path:
    """Write with MDAnalysis; `fields` means velocities and forces."""
    universe = mda.Universe.empty(n_atoms, trajectory=True, velocities=fields, forces=fields)
    ts = universe.trajectory.ts
    if fields and path.suffix == ".nc":
        options = {**options, "velocities": True, "forces": True}
    with mda.Writer(str(path), n_atoms, dt=2.5, **options) as writer:
        for frame in range(n_frames):
            ts.frame, ts.time = frame, 2.5 * frame
            ts.dimensions = np.array(TRICLINIC) + frame
            ts.positions = random_vectors(n_atoms, seed=frame)
            if fields:
                ts.velocities = random_vectors(n_atoms, seed=100 + frame, size=5)
                ts.forces = random_vectors(n_atoms, seed=200 + frame, size=500)
            writer.write(universe.atoms)
    return path


def mixed_trr(path: Path) -> Path:
    """Write frames of different parts, some without positions; the first and last are complete."""
    return write_trr(path, ["bxuf", "bu", "bx", "bvpx", "buf", "b", "bxf", "bxuf"], 33, "f4")


def double_trr(path: Path) -> Path:
    """Write frames of different parts in double precision."""
    return write_trr(path, ["bx", "bvpxuf", "bu", "bxu"], 21, "f8")


def silent_trr(path: Path) -> Path:
    """Write velocities and no positions anywhere."""
    return write_trr(path, ["bu", "bu", "bvu"], 8, "f4")


def many_trr(path: Path) -> Path:
    """Write more frames than are compared when an index is loaded."""
    return write_trr(path, ["bxu", "bx", "bx"] * 20, 31, "f4")


def fixed_dcd(path: Path) -> Path:
    """Write frames after the first one without the fixed atoms."""
    cells = np.array([[31, 60.0 + k, 32, 80, 70, 33.3] for k in range(7)])
    return write_dcd(path, random_vectors(7, 40), fixed=np.arange(3, 40, 3), cells=cells)


def big_endian_dcd(path: Path) -> Path:
    """Write big endian, cosines for angles, and a header that counts too few frames."""
    cells = np.array([[31, -0.2, 32, 0.1, 0.05 * k, 33.3] for k in range(9)])
    return write_dcd(path, random_vectors(9, 50), order=">", cells=cells, claimed=2)


def vectors_dcd(path: Path) -> Path:
    """Write no cell in some frames, the symmetric matrix of new CHARMM in others."""
    cells = np.zeros((6, 6))
    cells[1::2] = [31.2, -2.1, 30.1, 1.4, -0.3, 29.9]
    return write_dcd(path, random_vectors(6, 20), cells=cells, version=46)


def scaled_nc(path: Path) -> Path:
    """Write variables with scale factors."""
    return write_with_mdanalysis(
        path,
        25,
        6,
        fields=True,
        scale_time=0.1,
        scale_coordinates=0.37,
        scale_velocities=20.455,
        scale_forces=3.3,
        scale_cell_lengths=0.7,
    )


def many_nc(path: Path) -> Path:
    """Write more frames than are compared when an index is loaded."""
    return write_with_mdanalysis(path, 24, 41)


def write_gro(path: Path, n_atoms: int, n_frames: int, *, velocities: bool = True) -> Path:
    """Write frames with times, steps, a triclinic box and coordinates of five decimals."""
    text = ""
    positions = random_vectors(n_frames, n_atoms, size=3.0)
    for k, frame in enumerate(positions):
        text += f"Made t= {0.5 * k:9.5f} step= {250 * k}\n{n_atoms:5}\n"
        for i, (x, v) in enumerate(zip(frame, frame[::-1] / 7, strict=True)):
            text += f"{i % 100000:5}SOL  {'OW':>5}{i % 100000:5}" + "".join(f"{u:10.5f}" for u in x)
            text += "".join(f"{u:10.6f}" for u in v) * velocities + "\n"
        numbers = [7 + k, 8, 9, 0, 0, 1.25, 0, -2.5, 0.5]
        text += "".join(f"{number:10.5f}" for number in numbers) + "\n"
    path.write_text(text)
    return path


def write_names(path: Path, n_atoms: int) -> Path:
    """Write a GRO file of oxygens, each in a residue of its own, all at the origin."""
    line = "{0:5d}SOL     OW{0:5d}   0.000   0.000   0.000".format
    atoms = [line(k % 100_000) for k in range(1, n_atoms + 1)]
    path.write_text("\n".join(["made", str(n_atoms), *atoms, "   3.0   3.0   3.0", ""]))
    return path


def write_pdb(path: Path, n_atoms: int, n_frames: int) -> Path:
    """Write models with a cell each, ANISOU records, and hybrid-36 serial numbers."""
    text = ""
    for k, frame in enumerate(random_vectors(n_frames, n_atoms)):
        text += f"MODEL     {k + 1:4}\nCRYST1{40 + k:9.3f}   42.000   44.000  90.00  90.00  90.00\n"
        for i, (x, y, z) in enumerate(frame):
            serial = f"{i + 99_990:5}" if i < 10 else f"A{i - 10:04}"
            text += f"ATOM  {serial}  CA AALA A{i:4}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00\n"
            text += f"ANISOU{serial}  CA AALA A{i:4}     2406   1892   1614    198    519   -328\n"
        text += "TER\nENDMDL\n"
    path.write_text(text + "END\n")
    return path


def write_rst7(
    path: Path, n_atoms: int, *, velocities: bool = True, cell: bool = True, time: bool = True
) -> Path:
    """Write a restart file of Amber, whose numbers fill their columns."""
    positions = random_vectors(1, n_atoms, size=200.0)[0]
    arrays = [positions, positions[::-1] / 450][: 1 + velocities]
    if cell:
        arrays.append(np.array([40.5, 41, 42, 80, 90, 109.4712190]))
    text = f"Made\n{n_atoms:5}" + "  0.1234500E+04" * time + "\n"
    for array in arrays:
        words = [f"{number:12.7f}" for number in np.ravel(array)]
        text += "".join("".join(words[k : k + 6]) + "\n" for k in range(0, len(words), 6))
    path.write_text(text)
    return path


def models_pdb(path: Path) -> Path:
    """Write models with a cell each."""
    return write_pdb(path, 25, 12)
