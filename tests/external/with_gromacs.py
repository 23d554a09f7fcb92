"""GROMACS reads our files, and we read its TPR files: `make test-gromacs`, if `gmx` is installed.

pytest does not collect this file by itself: the gate needs no GROMACS.
"""

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import MDAnalysisTests
import numpy as np
import pytest
import trajet as tj
from docs.test_coming_from_docs import CODE, FOLDER, rows_of
from docs.test_coming_from_docs import _prepare as prepare
from helpers.commands import execute, succeed
from helpers.golden_files import FORMATS
from helpers.made_stores import make_store
from helpers.mounted_stores import mounted
from helpers.periodic_systems import (
    NAMES,
    PeriodicSystem,
    assert_same_in_molecules,
    lattice_shifts,
    make_system,
)
from helpers.plain_geometry import cell_vectors
from helpers.round_trips import SOURCES, assert_near, source_of
from helpers.structure_files import StructureFile
from helpers.tpr_laws import version_of
from MDAnalysisTests import datafiles
from trajet.trajectory.transforms import FitMotion, WrapCell

# GROMACS prints six digits, nm.
PRINTED = 5.1e-6
GMX_FILES = {**FORMATS["XTC"].files(), **FORMATS["TRR"].files()}


def gmx(*words: object, typed: str = "") -> tuple[str, str]:
    """Run GROMACS, with what is typed at its questions; return its output on both streams."""
    program = shutil.which("gmx")
    assert program, "there is no gmx: install GROMACS (apt-get install gromacs) for these tests"
    command = [program, "-quiet", *map(str, words)]
    done = execute(*command, input=typed, timeout=600)
    return done.stdout, done.stderr


def counted(path: Path) -> dict[str, int]:
    """Return the number of frames with each part; `gmx check` must find nothing odd."""
    messages = gmx("check", "-f", path)[1]
    assert not re.search("warning|error|incomplete|corrupt", messages, re.IGNORECASE), messages
    return {
        name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)(?: +\S+)?$", messages, re.MULTILINE)
    }


def dumped(path: Path) -> dict[str, np.ndarray]:
    """Return the box, x, v and f of every frame, as `gmx dump` prints them."""
    vectors: dict[str, list[str]] = {}
    frames = 0
    for line in gmx("dump", "-f", path)[0].splitlines():
        frames += " frame " in line
        if found := re.match(r" +(box|x|v|f)\[ *\d+\]=\{(.*)\}$", line):
            vectors.setdefault(found[1], []).append(found[2])
    numbers = {name: np.loadtxt(rows, delimiter=",") for name, rows in vectors.items()}
    return {name: rows.reshape(frames, -1, 3) for name, rows in numbers.items()}


def assert_printed(printed: np.ndarray, numbers: np.ndarray) -> None:
    """Compare printed numbers with numbers of the same units."""
    assert printed.shape == numbers.shape
    assert (np.abs(printed - numbers) <= PRINTED * np.abs(numbers) + 1e-30).all()


@pytest.mark.parametrize("target", [".xtc", ".trr"])
@pytest.mark.parametrize("source", SOURCES)
def test_gromacs_reads_conversions_of_any_format(source: str, target: str, tmp_path: Path) -> None:
    """GROMACS finds all frames and reads the numbers that we read."""
    original = source_of(source, tmp_path)
    path = tmp_path / f"copy{target}"
    tj.convert(original, path, allow_loss=True)
    counts, printed = counted(path), dumped(path)
    copy = tj.open(None, path, sidecar=False)
    names = {"x": "positions"}
    if target == ".trr" and source in (".trr", ".h5md"):
        names |= {"v": "velocities", "f": "forces"}
    block = copy.read(velocities="v" in names, forces="f" in names)
    assert counts["Step"] == counts["Time"] == counts["Coords"] == original.n_frames
    assert counts["Velocities"] == counts["Forces"] == original.n_frames * ("v" in names)
    assert set(printed) - {"box"} == set(names)
    for symbol, name in names.items():
        # Forces have an inverse length in their unit.
        scale = 0.1 if symbol != "f" else 10.0
        assert_printed(printed[symbol], getattr(block, name).astype(np.float64) * scale)
    lengths = np.linalg.norm(printed["box"], axis=2) if "box" in printed else None
    if np.isnan(block.cells).any():
        assert lengths is None or not lengths.any()
    else:
        assert np.allclose(lengths * 10, block.cells[:, :3], rtol=2 * PRINTED)
    assert_near(block.positions, original.read().positions, source, target)


@pytest.mark.parametrize("name", sorted(GMX_FILES))
def test_gromacs_finds_no_difference_in_copies(name: str, tmp_path: Path) -> None:
    """`gmx check` compares published files with their copies."""
    copy = tmp_path / name
    tj.convert(tj.open(None, GMX_FILES[name], sidecar=False), copy)
    output, messages = gmx("check", "-f", copy, "-f2", GMX_FILES[name], "-tol", 0, "-abstol", 0)
    assert output.strip() == "Both files read correctly"
    assert re.search(r"frame +0 +time", messages)


@pytest.mark.parametrize("ending", ["xtc", "trr"])
def test_gromacs_joins_segments(ending: str, tmp_path: Path) -> None:
    """The numbers are those before the split."""
    whole = tj.open(None, SOURCES[f".{ending}"], sidecar=False)
    parts = tj.split(whole, tmp_path, segments=3)
    joined = tmp_path / f"joined.{ending}"
    gmx("trjcat", "-f", *(part.path for part in parts), "-o", joined)
    again = tj.open(None, joined, sidecar=False).read()
    assert np.array_equal(again.positions, whole.read().positions)
    assert np.array_equal(again.times, whole.times)


def test_gromacs_reads_a_mounted_store(tmp_path: Path) -> None:
    """GROMACS finds nothing odd in files that are generated as it reads, and no difference."""
    wet = make_store(tmp_path)
    with mounted(wet.store.folder, tmp_path / "shown") as shown:
        for name in ("wet", "wet@protein", "wet@ion", "wet@water"):
            assert counted(shown / f"{name}.xtc")["Coords"] == 10
        output, _ = gmx("check", "-f", shown / "wet.xtc", "-f2", wet.xtc, "-tol", 0, "-abstol", 0)
        assert output.strip() == "Both files read correctly"
        assert counted(shown / "wet.xtc") == counted(wet.xtc)
        assert shown.end() == (0, "")


# TPR files that a GROMACS of 2022 reads.
TPR_VERSIONS = range(103, 128)
BONDS = {
    "BONDS", "G96BONDS", "MORSE", "CUBICBONDS", "CONNBONDS", "HARMONIC", "FENEBONDS", "TABBONDS",
    "TABBONDSNC", "RESTRAINTPOT", "CONSTR", "CONSTRNC",
}  # fmt: skip
SHELLS = {"POLARIZATION", "ANHARM_POL", "WATERPOL"}


@dataclass
class Molecule:
    """A molecule type, as `gmx dump` prints it."""

    masses: list[float] = field(default_factory=list)
    charges: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    residues: list[int] = field(default_factory=list)
    residue_names: list[str] = field(default_factory=list)
    residue_numbers: list[int] = field(default_factory=list)
    bonds: set[tuple[int, int]] = field(default_factory=set)
    connections: set[tuple[int, int]] = field(default_factory=set)

    def add(self, function: str, atoms: list[int]) -> None:
        """Add an interaction."""
        first, *others = atoms
        pairs = {(min(first, other), max(first, other)) for other in others}
        if function in BONDS or function == "SETTLE":
            self.bonds |= pairs
        elif function in SHELLS or function.startswith("VSITE"):
            self.connections |= pairs


def dumped_molecules(path: Path) -> list[Molecule]:
    """Return the type of each molecule of a TPR file, in their order."""
    blocks: list[tuple[int, int]] = []
    kinds: list[Molecule] = []
    unused = False
    for line in gmx("dump", "-s", path)[0].splitlines():
        if found := re.match(r" +moltype += (\d+) ", line):
            kind = int(found[1])
        elif found := re.match(r" +#molecules += (\d+)", line):
            blocks.append((kind, int(found[1])))
        elif re.match(r"   moltype \(\d+\):", line):
            kinds.append(Molecule())
        elif found := re.match(r" +atom\[.*m= *(\S+), q= *(\S+), mB.*resind= *(\d+)", line):
            kinds[-1].masses.append(float(found[1]))
            kinds[-1].charges.append(float(found[2]))
            kinds[-1].residues.append(int(found[3]))
        elif found := re.match(r' +atom\[\d+\]=\{name="(.*)"\}', line):
            kinds[-1].names.append(found[1])
        elif found := re.match(r' +type\[\d+\]=\{name="(.*)",nameB', line):
            kinds[-1].types.append(found[1])
        elif found := re.match(r' +residue\[\d+\]=\{name="(.*)", nr=(-?\d+)', line):
            kinds[-1].residue_names.append(found[1])
            kinds[-1].residue_numbers.append(int(found[2]))
        elif re.match(r"      \w.*:$", line):
            # Interactions of implicit solvent are printed with wrong atoms.
            unused = "unused" in line
        elif not unused and (found := re.match(r" +\d+ type=-?\d+ \((\w+)\)((?: +\d+)+)", line)):
            kinds[-1].add(found[1], [int(atom) for atom in found[2].split()])
    return [kinds[kind] for kind, n in blocks for _ in range(n)]


def tpr_files() -> list[Path]:
    """Return the TPR files of MDAnalysis' tests that this GROMACS reads."""
    data = Path(MDAnalysisTests.__file__).parent / "data"
    files = sorted(path for path in data.rglob("*.tpr") if "-beta2" not in path.name)
    return [path for path in files if version_of(path) in TPR_VERSIONS]


@pytest.mark.parametrize("path", tpr_files(), ids=lambda path: path.name)
def test_topologies_are_those_that_gromacs_reads(path: Path) -> None:
    """Atoms, residues, bonds and connections equal what `gmx dump` prints."""
    topology = StructureFile.open(path)
    molecules = dumped_molecules(path)
    sizes = [len(molecule.names) for molecule in molecules]
    starts = np.cumsum([0, *sizes[:-1]])
    residue_starts = np.cumsum([0, *(len(molecule.residue_names) for molecule in molecules[:-1])])

    def all_of(name: str) -> list[object]:
        return [value for molecule in molecules for value in getattr(molecule, name)]

    def all_pairs(name: str) -> list[list[int]]:
        pairs = zip(starts, (getattr(molecule, name) for molecule in molecules), strict=True)
        return sorted(
            [int(start) + a, int(start) + b] for start, of_one in pairs for a, b in of_one
        )

    for ours, theirs in {"names": "names", "types": "types", "resnames": "residue_names"}.items():
        column = topology.column(ours)
        assert column is not None
        assert column.tolist() == all_of(theirs), ours
    for name in ("masses", "charges"):
        assert_printed(np.array(all_of(name)), topology.column(name))
    residues = np.array(all_of("residues")) + np.repeat(residue_starts, sizes)
    assert np.array_equal(topology.column("resindices"), residues)
    numbers = np.repeat(np.arange(len(molecules)), sizes)
    assert np.array_equal(topology.column("molnums"), numbers)
    assert topology.bonds is not None
    assert topology.connections is not None
    assert topology.bonds.tolist() == all_pairs("bonds")
    assert topology.connections.tolist() == all_pairs("connections")


@pytest.mark.parametrize("path", tpr_files(), ids=lambda path: path.name)
def test_residue_numbers_are_those_that_gromacs_writes(path: Path, tmp_path: Path) -> None:
    """In a GRO file, whose columns hold the last five digits."""
    gmx("editconf", "-f", path, "-o", tmp_path / "written.gro")
    lines = (tmp_path / "written.gro").read_text().splitlines()[2:-1]
    atoms = StructureFile.open(path)
    numbers, residues = atoms.column("resids"), atoms.column("resindices")
    assert numbers is not None and residues is not None
    assert [int(line[:5]) for line in lines] == (numbers[residues] % 100_000).tolist()


SOLVATED = (datafiles.TPR, datafiles.XTC)
# Å: five decimals of nm, and single precision of either program.
MOVED_ERROR = 2e-3


@pytest.fixture(scope="module")
def solvated() -> tj.Trajectory:
    """Return a protein in water, in a rhombic dodecahedron."""
    return tj.open(*SOLVATED, sidecar=False)


def converted(
    folder: Path,
    *options: object,
    groups: str = "0\n",
    files: tuple[str | Path, str | Path] = SOLVATED,
) -> np.ndarray:
    """Return the positions that `gmx trjconv` writes, by default of the solvated protein."""
    program = shutil.which("gmx")
    assert program
    path = folder / "moved.xtc"
    command = [program, "-quiet", "trjconv", "-s", files[0], "-f", files[1], "-o", path]
    execute(*map(str, (*command, "-ndec", 5, *options)), input=groups, timeout=600)
    return tj.open(None, path, sidecar=False).read().positions


def shifts_of(one: np.ndarray, other: np.ndarray, traj: tj.Trajectory) -> np.ndarray:
    """Return the differences in lattice vectors, which must be whole numbers."""
    vectors = np.array([cell_vectors(cell) for cell in traj.read(atoms=[0]).cells])
    return lattice_shifts(one, other, vectors, MOVED_ERROR)


def test_whole_equals_trjconv(solvated: tj.Trajectory, tmp_path: Path) -> None:
    """Not even a lattice vector differs: both begin with the first atom of a molecule."""
    twin = converted(tmp_path, "-pbc", "whole")
    assert not shifts_of(solvated.whole().read().positions, twin, solvated).any()


@pytest.mark.parametrize(
    ("shape", "cell"), [("tric", "triclinic"), ("compact", "compact"), ("rect", "rectangular")]
)
def test_wrapping_molecules_equals_trjconv(
    solvated: tj.Trajectory, tmp_path: Path, shape: str, cell: WrapCell
) -> None:
    """By centres of mass, molecules are in the same image, but for ties on faces."""
    twin = converted(tmp_path, "-pbc", "mol", "-ur", shape)
    moved = solvated.whole().wrap(cell=cell, weights="mass").read().positions
    shifts = shifts_of(moved, twin, solvated)
    assert_same_in_molecules(shifts, solvated.topology.molecules)
    others = np.unique(np.nonzero(shifts.any(axis=2))[1])
    assert len(np.unique(solvated.topology.molecules[others])) <= 3


def test_nojump_equals_trjconv_for_small_steps(solvated: tj.Trajectory, tmp_path: Path) -> None:
    """Trjconv compares Cartesian coordinates with half of the box's diagonal elements.

    In this cell that is the same image as ours where no fraction changes by more than a third:
    water between frames that are 100 ps apart may move farther, and its direction is doubtful.
    """
    twin = converted(tmp_path, "-pbc", "nojump")
    stored, moved = solvated.read(), solvated.nojump().read().positions
    shifts = shifts_of(moved, twin, solvated)
    # Trjconv counts from the structure in the TPR file, we from the first frame.
    shifts -= shifts[0]
    inverse = np.linalg.inv([cell_vectors(cell) for cell in stored.cells])
    fractions = np.einsum("fai,fij->faj", stored.positions.astype(float), inverse)
    steps = np.diff(fractions, axis=0)
    is_small = np.abs(steps - np.rint(steps)).max(axis=(0, 2)) < 0.33
    assert is_small.mean() > 0.5
    assert not shifts[:, is_small].any()


MASSES = {"C": 12.011, "O": 15.999, "H": 1.008, "NA": 22.990}
TOPOLOGY = """
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
{types}
{molecules}
[ system ]
made
[ molecules ]
{counts}
"""


def tpr_of(system: PeriodicSystem, folder: Path) -> Path:
    """Return a TPR file of a made system, with harmonic bonds and nothing else."""
    atoms = tj.open(system.topology).topology
    kinds, counts = {}, []
    for number in range(system.molecules.max() + 1):
        own = np.flatnonzero(system.molecules == number)
        bonds = system.bonds[np.isin(system.bonds[:, 0], own)] - own[0] + 1
        names, residue = atoms.names[own].tolist(), atoms.resnames[own[0]]
        kind = f"{residue}{len(own)}"
        rows = [
            f"{k} {name.upper()} 1 {residue} {name} {k} 0 {MASSES[name.upper()]}"
            for k, name in enumerate(names, 1)
        ]
        pairs = [f"{one} {other} 1 0.15 1000" for one, other in bonds]
        kinds[kind] = "\n".join(
            ["[ moleculetype ]", f"{kind} 1", "[ atoms ]", *rows]
            + (["[ bonds ]", *pairs] if pairs else [])
        )
        counts.append(f"{kind} 1")
    types = "\n".join(f"{name} {mass} 0 A 0 0" for name, mass in MASSES.items())
    words = {"types": types, "molecules": "\n".join(kinds.values()), "counts": "\n".join(counts)}
    (folder / "made.top").write_text(TOPOLOGY.format(**words))
    (folder / "made.mdp").write_text(
        "rlist=0.5\nrvdw=0.5\nrcoulomb=0.5\nverlet-buffer-tolerance=-1\n"
    )
    system.open()[0].save(folder / "made.gro")
    path = folder / "made.tpr"
    files = ("-f", folder / "made.mdp", "-c", folder / "made.gro", "-p", folder / "made.top")
    gmx("grompp", *files, "-o", path, "-po", folder / "out.mdp", "-maxwarn", 9)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_made_systems_equal_trjconv(name: str, tmp_path: Path) -> None:
    """Whole, wrapped into each shape of the cell, and without jumps: no lattice vector differs.

    Trjconv breaks the molecule that is bonded to its own image, which we leave as it is.
    """
    system = make_system(name, tmp_path)
    files = (tpr_of(system, tmp_path), system.path)
    traj = tj.open(*files, sidecar=False)
    can = system.molecules > 0 if name == "endless" else np.ones(len(system.molecules), bool)

    def shifts_to(moved: tj.Trajectory, *options: str) -> np.ndarray:
        twin = converted(tmp_path, *options, files=files)[:, can]
        return lattice_shifts(moved.read().positions[:, can], twin, system.vectors, MOVED_ERROR)

    assert not shifts_to(traj.whole(), "-pbc", "whole").any()
    shapes: dict[str, WrapCell]
    shapes = {"tric": "triclinic", "compact": "compact", "rect": "rectangular"}
    for shape, cell in shapes.items():
        shifts = shifts_to(
            traj.whole().wrap(cell=cell, weights="mass"), "-pbc", "mol", "-ur", shape
        )
        assert not shifts.any()
    shifts = shifts_to(traj.nojump(), "-pbc", "nojump")
    # Trjconv counts from the structure in the TPR file, we from the first frame.
    assert not (shifts - shifts[0]).any()


def structure_of_tpr(folder: Path) -> tj.Trajectory:
    """Return the structure in the TPR file, as one frame."""
    gmx("editconf", "-f", SOLVATED[0], "-o", folder / "stored.g96")
    blocks: dict[str, list[list[str]]] = {}
    rows: list[list[str]] = []
    for line in (folder / "stored.g96").read_text().splitlines():
        if line.isupper() and line.isalpha():
            rows = blocks.setdefault(line, []) if line != "END" else []
        else:
            rows.append(line.split())
    positions = np.array([row[-3:] for row in blocks["POSITION"]], np.float64) * 10
    # Diagonal elements come first.
    xx, yy, zz, xy, xz, yx, yz, zx, zy = (10 * float(x) for x in blocks["BOX"][0])
    rows_of_box = np.array([[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]])
    lengths = np.linalg.norm(rows_of_box, axis=1)
    a, b, c = rows_of_box / lengths[:, np.newaxis]
    angles = np.degrees(np.arccos([b @ c, a @ c, a @ b]))
    tj.write(folder / "stored.trr", positions[np.newaxis], cells=[*lengths, *angles])
    return tj.open(SOLVATED[0], folder / "stored.trr", sidecar=False)


@pytest.mark.parametrize(
    ("words", "motion", "is_whole"),
    [
        ("rot+trans", "superposition", True),
        ("rotxy+transxy", "plane", True),
        # Trjconv makes molecules whole only where it rotates.
        ("translation", "translation", False),
    ],
)
def test_fit_equals_trjconv(
    solvated: tj.Trajectory, tmp_path: Path, words: str, motion: FitMotion, is_whole: bool
) -> None:
    """On the structure in the TPR file, by masses; all atoms are moved along."""
    reference = structure_of_tpr(tmp_path)
    if is_whole:
        solvated, reference = solvated.whole(), reference.whole()
    at = reference.select("protein").read().positions[0]
    fitted = solvated.fit("protein", reference=at, weights="mass", motion=motion)
    twin = converted(tmp_path, "-fit", words, groups="1\n0\n")
    off = np.abs(fitted.read().positions.astype(float) - twin)
    print(f"largest difference, -fit {words}: {off.max():.1e} Å")
    assert off.max() < MOVED_ERROR


def test_centring_differs_from_trjconv_by_one_vector(
    solvated: tj.Trajectory, tmp_path: Path
) -> None:
    """Trjconv takes the middle of the extents of the group, we the mean of its positions."""
    twin = converted(tmp_path, "-center", groups="1\n0\n")
    moved = solvated.center("protein").read().positions
    moves = moved.astype(float) - twin
    assert np.abs(moves - moves[:, :1]).max() < MOVED_ERROR
    protein = twin[:, solvated.select("protein").indices].astype(float)
    middle = (protein.min(1) + protein.max(1)) / 2
    assert np.allclose(moves[:, 0], middle - protein.mean(1), atol=MOVED_ERROR)


def test_radii_of_gyration_are_those_of_gromacs(tmp_path: Path) -> None:
    """`gmx gyrate` prints the radius and those about the axes."""
    output = tmp_path / "gyrate.xvg"
    program = ["gmx", "-quiet", "gyrate", "-f", datafiles.XTC, "-s", datafiles.TPR]
    subprocess.run([*program, "-o", output], input="Protein\n", text=True, check=True)
    rows = [
        line.split() for line in output.read_text().splitlines() if not line.startswith(("#", "@"))
    ]
    theirs = np.array(rows, float)[:, 1:] * 10
    # GROMACS makes the protein whole.
    whole = tj.open(datafiles.TPR, datafiles.XTC).whole()
    ours = tj.gyration(whole.select("protein"), per_axis=True).values
    assert theirs.shape == ours.shape == (10, 4)
    assert np.abs(ours - theirs).max() < 10 * PRINTED


def test_gromos_clusters_are_those_of_gmx_cluster(tmp_path: Path) -> None:
    """Equal but for the choice among frames with equally many neighbours; the same RMSDs."""
    calpha = tj.open(datafiles.PSF, datafiles.DCD, sidecar=False).select("name CA")
    files = tmp_path / "ca.xtc", tmp_path / "ca.pdb"
    tj.convert(calpha, files[0], topology=files[1], allow_loss=True)
    pairs = tj.pairwise_rmsd(tj.open(None, files[0]))
    chosen = 0
    for cutoff in (0.8, 1.0, 1.3, 1.5, 2.0, 2.7, 3.3, 4.0):
        command = [shutil.which("gmx"), "cluster", "-f", files[0], "-s", files[1]]
        command += ["-method", "gromos", "-cutoff", cutoff / 10, "-xvg", "none"]
        command += ["-clid", tmp_path / "id.xvg", "-g", tmp_path / "log", "-o", tmp_path / "x.xpm"]
        words = list(map(str, command))
        # It writes a distribution into the current folder.
        done = subprocess.run(words, input=b"0\n0\n", capture_output=True, check=True, cwd=tmp_path)
        lowest, highest = re.findall(rb"ranges from ([\d.]+) to ([\d.]+)", done.stderr)[0]
        assert abs(float(highest) * 10 - pairs.values.max()) < 1e-4
        assert abs(float(lowest) * 10 - pairs.off_diagonal().min()) < 1e-4
        theirs = np.loadtxt(tmp_path / "id.xvg")[:, 1].astype(int) - 1
        near, free, ties = pairs.values <= cutoff, np.ones(98, np.bool_), 0
        for number in range(theirs.max() + 1):
            counts = (near & free).sum(axis=1) * free
            members = np.flatnonzero(theirs == number)
            assert len(members) == counts.max()
            centres = np.flatnonzero(counts == counts.max())
            assert any(np.array_equal(np.flatnonzero(near[k] & free), members) for k in centres)
            ties += len({(near[k] & free).tobytes() for k in centres}) > 1
            free[members] = False
        chosen += ties > 0
        if not ties:
            assert tj.cluster_rmsd(pairs, cutoff=cutoff).labels.tolist() == theirs.tolist()
    assert chosen < 8


@pytest.mark.parametrize(
    ("quantity", "allowed"), [("number", 1e-6), ("mass", 1e-5), ("charge", 1e-8)]
)
def test_density_along_z_is_that_of_gromacs(tmp_path: Path, quantity: str, allowed: float) -> None:
    """`gmx density` prints six digits, per nm³ (mass: kg/m³)."""
    output = tmp_path / "density.xvg"
    program = ["gmx", "-quiet", "density", "-f", datafiles.XTC, "-s", datafiles.TPR, "-sl", "50"]
    options = ["-d", "Z", "-dens", quantity, "-o", str(output)]
    subprocess.run([*program, *options], input="System\n", text=True, check=True)
    rows = [
        line.split() for line in output.read_text().splitlines() if not line.startswith(("#", "@"))
    ]
    position, theirs = np.array(rows, float).T
    everything = tj.open(datafiles.TPR, datafiles.XTC).select("all")
    ours = tj.linear_density(everything, quantity=quantity, bins=50)  # type: ignore[arg-type]
    assert np.abs(ours.position - position * 10).max() < 1e-4
    assert np.abs(ours.values - theirs / 1000).max() < allowed


def test_hydrogen_bonds_are_those_of_gmx_hbond(tmp_path: Path) -> None:
    """The number in each frame, each hydrogen counted; `gmx hbond` is of GROMACS before 2024."""
    output = tmp_path / "number.xvg"
    options = ["-r", "0.35", "-a", "30", "-nomerge", "-num", output, "-xvg", "none"]
    gmx("hbond", "-s", datafiles.TPR, "-f", datafiles.XTC, *options, typed="Protein\nProtein\n")
    theirs = np.loadtxt(output)[:, 1].astype(int).tolist()
    protein = tj.open(datafiles.TPR, datafiles.XTC).select("protein")
    ours = tj.hbonds(protein, cutoff=3.5, donor_angle=30.0).values.astype(int).tolist()
    assert ours == theirs


def test_backbone_of_gromacs_has_no_oxygen(tmp_path: Path) -> None:
    """Its default group `Backbone`."""
    gmx("select", "-s", datafiles.TPR, "-select", "group Backbone", "-on", tmp_path / "b.ndx")
    numbers = " ".join((tmp_path / "b.ndx").read_text().splitlines()[1:]).split()
    ours = tj.open(datafiles.TPR, datafiles.XTC).select("protein and name N CA C")
    assert [int(number) - 1 for number in numbers] == ours.indices.tolist()


@pytest.mark.parametrize("probe", [0.0, 1.4])
def test_surface_area_is_that_of_gmx(tmp_path: Path, probe: float) -> None:
    """`gmx sasa` has the same radii and other points: a lattice on the faces of an icosahedron."""
    path = tmp_path / "protein.gro"
    tj.open(datafiles.TPR, datafiles.XTC).select("protein").whole()[0].save(path)
    output = tmp_path / "area.xvg"
    options = ["-surface", "0", "-nopbc", "-ndots", "960", "-probe", probe / 10]
    gmx("sasa", "-s", path, "-f", path, *options, "-o", output)
    (row,) = [line.split() for line in output.read_text().splitlines() if line[0] not in "#@"]
    area = tj.sasa(tj.open(path, path).all_atoms(), probe=probe).values[0]
    print(f"probe {probe}: {area:.1f} Å², gmx {100 * float(row[1]):.1f} Å²")
    assert abs(area - 100 * float(row[1])) < 1e-3 * area


def test_minimum_distances_and_contacts_equal_gmx_mindist(tmp_path: Path) -> None:
    """Distance, atoms and number of contacts of two groups in a rhombic dodecahedron."""
    groups = np.arange(300), np.arange(300, 1500)
    index = "".join(f"[ {k} ]\n{' '.join(map(str, atoms + 1))}\n" for k, atoms in enumerate(groups))
    (tmp_path / "groups.ndx").write_text(index, encoding="ascii")
    gmx(
        *("mindist", "-f", datafiles.XTC, "-s", datafiles.GRO, "-n", tmp_path / "groups.ndx"),
        *("-od", tmp_path / "d.xvg", "-on", tmp_path / "n.xvg", "-o", tmp_path / "atoms.out"),
        *("-d", "0.6", "-xvg", "none"),
        typed="0\n1\n",
    )
    distances, counts = (np.loadtxt(tmp_path / name)[:, 1] for name in ("d.xvg", "n.xvg"))
    traj = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False)
    result = tj.min_distance(*(traj.select(atoms) for atoms in groups), cutoff=6.0)
    assert np.abs(result.values - 10 * distances).max() < 1e-5
    assert result.contacts is not None
    assert result.contacts.tolist() == counts.tolist()
    assert (result.pairs + 1).tolist() == np.loadtxt(tmp_path / "atoms.out")[:, 1:].tolist()


# Task of a row of docs/coming-from/gromacs.md: what is typed, the file that gmx writes, its unit in
# that of ours, and the largest difference.
ROWS = {
    # The first frame differs from the structure of -s by the rounding of XTC.
    "RMSD with fit": ("C-alpha\nC-alpha\n", "rmsd.xvg", 10, 0.006),
    "RMSD from a structure": ("C-alpha\nC-alpha\n", "rmsd.xvg", 10, 1e-3),
    "RMSF": ("C-alpha\n", "rmsf.xvg", 10, 2e-3),
    "radius of gyration": ("Protein\n", "gyrate.xvg", 10, 1e-4),
    "distances": ("", "dist.xvg", 10, 6e-3),
    "smallest distance": ("Protein\nIon\n", "mindist.xvg", 10, 1e-4),
    "number of contacts": ("Protein\nIon\n", "numcont.xvg", 1, 0),
    "density along an axis": ("SOL\n", "density.xvg", 1e-3, 1e-5),
    "MSD": ("", "msd.xvg", 100, 0.01),
}


@pytest.mark.parametrize("task", ROWS)
def test_rows_of_gromacs_have_its_numbers(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both columns are executed, on a protein that the box breaks."""
    prepare("gromacs", tmp_path)
    monkeypatch.chdir(tmp_path)
    typed, output, unit, allowed = ROWS[task]
    cells = {name: cells for name, *cells in rows_of(FOLDER / "gromacs.md")}[task]
    theirs, ours = (CODE.findall(cell)[0] for cell in cells)
    if task == "RMSF":
        # gmx rmsf does not make the structure of -s whole.
        protein = tj.open("top.tpr", "run.xtc").whole().select("protein")
        tj.convert(protein, "whole.xtc", topology="whole.gro")
        theirs = theirs.replace("top.tpr", "whole.gro").replace("run.xtc", "whole.xtc")
    gmx(*shlex.split(theirs)[1:], "-xvg", "none", typed=typed)
    succeed(*shlex.split(ours.partition(" -o ")[0])[1:], "-o", "ours.npz", "--quiet")
    result = tj.load("ours.npz")
    found = np.squeeze(result.values)
    printed = np.squeeze(np.loadtxt(output)[:, 1:]) * unit
    assert printed.shape == found.shape
    assert np.abs(printed - found).max() <= allowed
