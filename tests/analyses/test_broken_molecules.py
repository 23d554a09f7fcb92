"""Molecules that are broken across the box give a message if positions are taken as written."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import plain_geometry as plain
from helpers.commands import invoke, unwrapped
from helpers.systems import Systems
from hypothesis import given, settings
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from trajet.analysis.broken_molecules import find_broken_molecules
from trajet.box import Box
from trajet.result import Report

CELLS = {name: plain.CELLS[name] for name in ("cube", "dodecahedron", "octahedron", "obtuse")}
N_FRAMES = 7
BROKEN = "molecules are broken over the box, and positions are taken as they are written"


def written(
    folder: Path, cell: tuple[float, ...] | None, broken: set[int], by: str = "atoms"
) -> tuple[Path, Path]:
    """Write 14 residues of a porin, which drift through the box, broken in some frames."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = mda.Merge(mda.Universe(datafiles.PDB_icodes).select_atoms("protein")[300:410])
        top, path = folder / "chain.pdb", folder / "chain.xtc"
        chain.add_TopologyAttr("chainIDs", ["X"] * chain.atoms.n_atoms)
        chain.atoms.write(top)
        whole = chain.atoms.positions - chain.atoms.center_of_geometry()
        rng = np.random.default_rng(5)
        with mda.Writer(str(path), chain.atoms.n_atoms) as file:
            for k in range(N_FRAMES):
                chain.dimensions = cell
                chain.trajectory.ts.time = k
                chain.atoms.positions = whole + rng.normal(0, 0.1, whole.shape)
                if k in broken:
                    # The first residue in the list is at a corner of the box.
                    if by == "atoms":
                        chain.atoms.pack_into_box()
                    else:
                        chain.atoms.wrap(compound="residues")
                elif not broken:
                    chain.atoms.translate(rng.uniform(-100, 100, 3))
                file.write(chain.atoms)
    return top, path


def messages_on(report: Report) -> list[str]:
    """Return the messages on broken molecules."""
    return [message for message in report.messages if BROKEN in message]


def radius(positions: np.ndarray) -> float:
    """Return the radius of gyration."""
    return float(np.sqrt(((positions - positions.mean(0)) ** 2).sum(1).mean()))


ANALYSES: dict[str, Callable[[tj.Selection], Report]] = {
    "rmsd": lambda chosen: tj.rmsd(chosen).report,
    "rmsd, average": lambda chosen: tj.rmsd(chosen, reference="average").report,
    "rmsd, group": lambda c: tj.rmsd(c.trajectory.select("resid 45"), groups=[c]).report,
    "rmsf": lambda chosen: tj.rmsf(chosen).report,
    "rmsf, aligned": lambda chosen: tj.rmsf(chosen, align="name CA").report,
    "rg": lambda chosen: tj.apply(chosen, radius).report,
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize("text", ["name CA", "protein", "backbone", "name CA CB"])
@pytest.mark.parametrize("by", ["atoms", "residues"])
def test_molecules_broken_in_every_frame_give_one_message(
    tmp_path: Path, cell: tuple[float, ...], text: str, by: str
) -> None:
    """Every analysis of positions gives it once, and names neighbours."""
    top, path = written(tmp_path, cell, set(range(N_FRAMES)), by)
    traj = tj.open(top, path)
    chosen = traj.select(text)
    for name, analyse in ANALYSES.items():
        found = messages_on(analyse(chosen))
        assert len(found) == 1, name
        # The first pair may be of the selection that is fitted.
        assert repr(text) in found[0] or name == "rmsd, group"
        assert f", {N_FRAMES} of {N_FRAMES} frames, the first is frame 0: " in found[0]
        assert " Å as nearest images: make molecules whole with selection.whole()" in found[0]
    for quiet in (tj.distances(chosen), tj.dihedrals(chosen)):
        assert not messages_on(quiet.report)
    # A function that gets cells may take images itself.
    assert not messages_on(tj.apply(chosen, lambda x, _: radius(x), cells=True).report)


@pytest.mark.parametrize("cell", [*CELLS.values(), None], ids=[*CELLS, "none"])
def test_whole_molecules_give_no_message(tmp_path: Path, cell: tuple[float, ...] | None) -> None:
    """Neither do molecules without a cell, nor whole ones anywhere in the box."""
    top, path = written(tmp_path, cell, set())
    for text in ("name CA", "protein", "name N"):
        for analyse in ANALYSES.values():
            messages = analyse(tj.open(top, path).select(text)).messages
            assert [one for one in messages if "nothing was fitted" not in one] == []


def test_molecules_broken_in_later_frames_give_a_message(tmp_path: Path) -> None:
    """All chosen frames are checked, and the reference; reads and numbers do not change."""
    top, path = written(tmp_path, CELLS["cube"], {3, 6})
    traj, plain_one = tj.open(top, path), tj.open(None, path)
    chosen = traj.select("name CA")
    result = tj.rmsd(chosen)
    (message,) = messages_on(result.report)
    assert "selection 'name CA', 2 of 7 frames, the first is frame 3: " in message
    same = tj.rmsd(plain_one.select(chosen.indices))
    assert same.values.tobytes() == result.values.tobytes()
    for count in ("requests", "opens", "bytes_read", "frames"):
        assert same.report[count] == result.report[count]
    assert messages_on(same.report) == []
    (message,) = messages_on(tj.rmsf(chosen).report)
    assert "2 of 7 frames, the first is frame 3: " in message
    assert messages_on(tj.rmsd(chosen, frames=[0, 1, 2, 4]).report) == []
    assert messages_on(tj.rmsf(chosen, frames=slice(0, 3)).report) == []
    assert (
        "1 of 2 frames, the first is frame 3: "
        in messages_on(tj.rmsd(chosen, frames=[1, 3]).report)[0]
    )
    assert "'name CA', frame 3: " in messages_on(tj.rmsd(chosen, frames=[3]).report)[0]
    # The reference is none of the chosen frames.
    assert "frame 6: " in messages_on(tj.rmsd(chosen, reference=6, frames=[1]).report)[0]
    arguments = ["rmsd", str(top), str(path), "--select", "name CA"]
    printed = unwrapped(invoke(*arguments).output)
    shown = messages_on(result.report)[0].replace("selection.whole()", "--whole")
    shown = shown.replace("trajectory.repair(...)", "--repair SELECTION")
    assert f"warning: {shown}" in printed
    # Messages on many files do not hide it either.
    several = tj.open(top, *[path] * 8)
    messages = tj.rmsd(several.select("name CA")).messages
    assert several.messages
    assert BROKEN in messages[0]
    assert messages[1:] == list(several.messages)


# Analyses that take positions of "protein" as they are written.
AS_WRITTEN: dict[str, Callable[[tj.Selection, Any], Report]] = {
    "rmsd": lambda chosen, pool: tj.rmsd(chosen, pool=pool).report,
    "average": lambda chosen, pool: tj.rmsd(chosen, reference="average", pool=pool).report,
    "rmsf": lambda chosen, pool: tj.rmsf(chosen, pool=pool).report,
    "rmsf, average": lambda chosen, pool: (
        tj.rmsf(chosen, align="name CA", reference="average", pool=pool).report
    ),
    "gyration": lambda chosen, pool: tj.gyration(chosen, pool=pool).report,
    "moments": lambda chosen, pool: tj.gyration_moments(chosen, pool=pool).report,
    "pairs": lambda chosen, pool: tj.pairwise_rmsd(chosen, pool=pool).report,
    "clusters": lambda chosen, pool: tj.cluster_rmsd(chosen, cutoff=2.0, pool=pool).report,
    "pca": lambda chosen, pool: tj.pca(chosen, align=None, pool=pool).report,
    "pca, folded": lambda chosen, pool: (
        tj.pca(
            chosen.trajectory.select("resid 45 and name CA or resid 46 and name CA"),
            align="protein",
            pool=pool,
        ).report
    ),
    "centers": lambda chosen, pool: tj.centers(chosen, by="selection", pool=pool).report,
    "distances": lambda chosen, pool: tj.center_distances(chosen, "resid 45", pool=pool).report,
    "ends": lambda chosen, pool: tj.end_to_end(chosen, pool=pool).report,
    "dssp": lambda chosen, pool: tj.dssp(chosen, pool=pool).report,
    "sasa": lambda chosen, pool: tj.sasa(chosen, points=20, pool=pool).report,
    "rdf": lambda chosen, pool: (
        tj.rdf_pairs([(chosen, chosen)], by="residue", range=(0, 10), pool=pool).report
    ),
    "apply": lambda chosen, pool: tj.apply(chosen, radius, pool=pool).report,
}


@pytest.mark.parametrize("analyse", AS_WRITTEN.values(), ids=AS_WRITTEN)
def test_each_frame_is_checked_on_any_number_of_threads(
    tmp_path: Path, analyse: Callable[[tj.Selection, Any], Report]
) -> None:
    """Molecules that are broken in frames in the middle are counted."""
    top, path = written(tmp_path, CELLS["cube"], {2, 4}, "residues")
    chosen = tj.open(top, path).select("protein")
    found = [
        messages_on(analyse(chosen, tj.LocalPool(threads=n, task_frames=task)))
        for n, task in ((1, 7), (2, 1))
    ]
    assert len(found[0]) == 1
    assert ", 2 of 7 frames, the first is frame 2: " in found[0][0]
    assert found[1] == found[0]


def test_processes_and_joint_runs_check_each_frame(tmp_path: Path) -> None:
    """Each analysis of a joint run has the message of a run of its own."""
    top, path = written(tmp_path, CELLS["dodecahedron"], {2, 4}, "residues")
    chosen = tj.open(top, path).select("protein")
    alone = [messages_on(tj.gyration(chosen).report), messages_on(tj.rmsf(chosen).report)]
    jobs = [
        tj.gyration.job(chosen),
        tj.rmsf.job(chosen),
        tj.rmsd.job(chosen.whole(guess_bonds=True)),
    ]
    for pool in (None, tj.ProcessPool(workers=2)):
        gyration, rmsf, whole = tj.run(jobs, pool=pool)
        assert [messages_on(gyration.report), messages_on(rmsf.report)] == alone
        assert messages_on(whole.report) == []


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_run_finds_what_a_loop_over_frames_finds(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Atoms anywhere in any cell, some of them missing; frames without a cell are left out."""
    n_frames, n_residues = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    folder = tmp_path_factory.mktemp("any")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = mda.Universe(datafiles.PDB_icodes).select_atoms("protein").residues[:n_residues]
        made = mda.Merge(chain.atoms)
        made.atoms.write(folder / "top.pdb")
        with mda.Writer(str(folder / "run.trr"), made.atoms.n_atoms) as file:
            for _ in range(n_frames):
                made.dimensions = data.draw(st.sampled_from([*CELLS.values(), None]))
                spread = data.draw(st.sampled_from([0.5, 20.0]))
                made.atoms.positions = rng.normal(0, spread, made.atoms.positions.shape)
                if made.dimensions is not None and data.draw(st.booleans()):
                    made.atoms.pack_into_box()
                file.write(made.atoms)
    chosen = tj.open(folder / "top.pdb", folder / "run.trr").select("protein")
    expected = []
    for frame in range(n_frames):
        block = chosen.read_uncounted(frame)
        box = Box.of(block)
        expected += find_broken_molecules(chosen, block.positions[0], box, f"frame {frame}")
    found = messages_on(tj.gyration(chosen).report)
    assert len(found) == bool(expected)
    if expected:
        count = f"{len(expected)} of {n_frames} frames, the first is " if n_frames > 1 else ""
        assert found[0] == expected[0].replace(", frame", f", {count}frame", 1)


def test_broken_references_give_a_message(tmp_path: Path) -> None:
    """A file, an AtomGroup and another trajectory may be broken."""
    (tmp_path / "whole").mkdir()
    top, path = written(tmp_path, CELLS["cube"], set(range(N_FRAMES)))
    whole = tj.open(*written(tmp_path / "whole", CELLS["cube"], set())).select("name CA")
    universe = mda.Universe(str(top), str(path))
    gro = tmp_path / "broken.gro"
    universe.atoms.write(gro)
    for reference, where in (
        (gro, f"reference {gro}: "),
        (universe.select_atoms("name CA"), "the reference's Universe: "),
        (tj.open(top, path).select("name CA"), "frame 0 of reference 'name CA': "),
    ):
        (message,) = messages_on(tj.rmsd(whole, reference=reference).report)
        assert where in message


def test_published_systems_give_the_right_messages(systems: Systems) -> None:
    """ADK in water is broken as GROMACS wrote it; waters are no neighbours of each other."""
    solvated = systems["solvated.xtc"].trajectory
    assert messages_on(tj.rmsd(solvated.select("name CA"), frames=slice(3)).report)
    assert tj.rmsd(solvated.select("name OW"), frames=slice(3)).messages == []
    assert tj.rmsd(systems["adk.xtc"].trajectory.select("protein")).messages == []


def test_chains_far_from_each_other_are_whole(tmp_path: Path) -> None:
    """Consecutive residues of two molecules may be half a box apart."""
    top, _ = written(tmp_path, None, set())
    one = mda.Universe(str(top)).select_atoms("protein")
    both = mda.Merge(one, one)
    both.atoms[len(one) :].translate([35, 10, 20])
    both.residues.resids = np.arange(1, len(both.residues) + 1)
    both.dimensions = CELLS["cube"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both.atoms.write(tmp_path / "both.gro")
        both.atoms.write(tmp_path / "both.xtc")
    traj = tj.open(tmp_path / "both.gro", tmp_path / "both.xtc")
    assert tj.rmsd(traj.select("protein")).messages == []


def chains(folder: Path, places: np.ndarray, length: int = 12) -> tj.Selection:
    """Return the CA atoms of straight chains that begin at `places`, `(frames, chains, 3)`."""
    n_frames, n_chains, _ = places.shape
    along = np.zeros((length, 3))
    along[:, 0] = 3.8 * np.arange(length)
    positions = (places[:, :, np.newaxis] + along).reshape(n_frames, -1, 3)
    records = [
        f"ATOM  {k + 1:>5}  CA  ALA {'ABCDEFGH'[k // length]}{k % length + 1:>4}    "
        f"{0:8.3f}{0:8.3f}{0:8.3f}  1.00  0.00           C"
        for k in range(n_chains * length)
    ]
    (folder / "chains.pdb").write_text("\n".join([*records, "END", ""]))
    cell = [60.0, 60, 60, 90, 90, 90]
    tj.write(folder / "chains.xtc", positions.astype(np.float32), cells=cell, force=True)
    return tj.open(folder / "chains.pdb", folder / "chains.xtc", sidecar=False).select("name CA")


def on_chains(report: Report) -> list[str]:
    """Return the messages on chains in different images."""
    return [message for message in report.messages if "different images" in message]


@settings(max_examples=30, deadline=None)
@given(moved=st.lists(st.lists(st.integers(-1, 1), min_size=3, max_size=3), min_size=2, max_size=6))
def test_chains_in_different_images_give_a_message(
    tmp_path_factory: pytest.TempPathFactory, moved: list[list[int]]
) -> None:
    """If one of two chains that touch lies in another image, in any frame, the first included."""
    places = np.zeros((len(moved), 2, 3))
    places[:, 1] = [0, 6, 0] + 60 * np.array(moved)
    chosen = chains(tmp_path_factory.mktemp("chains"), places)
    apart = [k for k, image in enumerate(moved) if any(image)]
    found = on_chains(tj.gyration(chosen).report)
    assert len(found) == bool(apart)
    if apart:
        assert f"{len(apart)} of {len(moved)} frames, the first is frame {apart[0]}" in found[0]
        # Each chain by itself is whole.
        assert not on_chains(tj.centers(chosen, by="chain").report)
        assert not on_chains(tj.gyration(chosen.trajectory.select("chainID B")).report)


@pytest.fixture(scope="module")
def beside() -> tuple[tj.Trajectory, list[str]]:
    """Return a peptide with the ligand beside it, and selections of both."""
    traj = tj.samples.peptide_in_water().open().repair("protein")
    return traj, ["backbone", "resname IPH and not name H*"]


@settings(max_examples=20, deadline=None)
@given(moved=st.lists(st.lists(st.integers(-1, 1), min_size=3, max_size=3), min_size=2, max_size=6))
def test_ligands_in_other_images_give_a_warning(
    tmp_path_factory: pytest.TempPathFactory,
    beside: tuple[tj.Trajectory, list[str]],
    moved: list[list[int]],
) -> None:
    """In the selection of the protein or in a group; `repair` puts them together."""
    traj, (backbone, ligand) = beside
    block = traj.read(frames=slice(len(moved)))
    positions, edges = block.positions.copy(), block.cells[:, :3]
    shifts = np.array(moved) * edges
    positions[:, traj.select("resname IPH").indices] += shifts[:, np.newaxis]
    path = tmp_path_factory.mktemp("ligand") / "moved.xtc"
    tj.write(path, positions, cells=block.cells, times=block.times)
    written = tj.open(tj.samples.peptide_in_water().topology, path)
    apart = [k for k, image in enumerate(moved) if any(image)]
    where = f"frame {apart[0]}" if apart else ""
    for result in (
        tj.rmsd(written.select(backbone), groups=[ligand]),
        tj.gyration(written.select(f"({backbone}) or ({ligand})")),
    ):
        found = on_chains(result.report)
        assert len(found) == bool(apart)
        assert all(where in message and "IPH1" in message for message in found)
    together = written.repair("protein")
    assert not on_chains(tj.rmsd(together.select(backbone), groups=[ligand]).report)
    # The last frame as a reference, which is none of the frames of the run.
    last = len(moved) - 1
    result = tj.rmsd(written.select(backbone), groups=[ligand], reference=last, frames=[0])
    assert [f"frame {last}: " in message for message in on_chains(result.report)] == [
        is_last for k, is_last in ((0, False), (last, True)) if any(moved[k])
    ]
    # Each by itself is whole, and a solvent lies in all images.
    for alone in (backbone, ligand, "protein or water"):
        assert not on_chains(tj.rmsd(written.select(alone)).report)


def test_a_broken_molecule_is_named_beside_chains_in_other_images(tmp_path: Path) -> None:
    """Two messages, each with its own frames; chains are named."""
    places = np.zeros((6, 2, 3))
    places[:, 1, 1] = 66
    chosen = chains(tmp_path, places)
    positions = chosen.read().positions
    positions[4, 5:12, 2] += 60
    cell = [60.0, 60, 60, 90, 90, 90]
    tj.write(tmp_path / "torn.xtc", positions, cells=cell)
    torn = tj.open(tmp_path / "chains.pdb", tmp_path / "torn.xtc").select("name CA")
    messages = tj.gyration(torn).messages
    (broken,) = [each for each in messages if BROKEN in each]
    assert "1 of 6 frames, the first is frame 4" in broken
    (moved,) = [each for each in messages if "different images" in each]
    assert "of 6 frames, the first is frame 0" in moved
    assert " of A and " in moved
    assert " of B, near each other in frame 0" in moved


@pytest.mark.parametrize("scale", [1.0, 0.8, 0.6])
def test_cells_that_shrink_are_compared_too(
    tmp_path: Path, beside: tuple[tj.Trajectory, list[str]], scale: float
) -> None:
    """As far as half of the cell is more than 11 Å, or than any pair."""
    traj, (backbone, ligand) = beside
    block = traj.read(frames=slice(2))
    positions, cells = block.positions.copy(), block.cells.copy()
    cells[:, :3] *= 2.0
    cells[1, :3] *= scale
    positions[1, traj.select("resname IPH").indices] += cells[1, :3]
    tj.write(tmp_path / "run.xtc", positions, cells=cells)
    written = tj.open(tj.samples.peptide_in_water().topology, tmp_path / "run.xtc")
    (message,) = on_chains(tj.rmsd(written.select(backbone), groups=[ligand]).report)
    assert "1 of 2 frames, the first is frame 1" in message


def test_a_fibril_over_the_box_is_no_chain_in_another_image(tmp_path: Path) -> None:
    """Chains at both ends touch over the box, and are connected by those between."""
    places = np.zeros((3, 8, 3))
    places[:, :, 1] = 7.5 * np.arange(8)
    assert not on_chains(tj.rmsd(chains(tmp_path, places)).report)
    places[2, 5:, 1] -= 60
    (message,) = on_chains(tj.rmsd(chains(tmp_path, places)).report)
    assert "1 of 3 frames, the first is frame 2" in message


def test_a_single_residue_of_all_atoms_is_made_whole(tmp_path: Path) -> None:
    """Of files without molecules: water by guessed bonds, and ions, which have none."""
    rng = np.random.default_rng(2)
    sites = np.array(list(np.ndindex(3, 3, 3))) * 4.0 + rng.uniform(0, 12, 3)
    shape = np.array([[0.0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]])
    water = (sites[:, np.newaxis] + shape).reshape(-1, 3)
    lines = [f"{len(water)}", 'Lattice="12 0 0 0 12 0 0 0 12" pbc="T T T"']
    lines += [f"{'OHH'[k % 3]} {x:.4f} {y:.4f} {z:.4f}" for k, (x, y, z) in enumerate(water % 12)]
    path = tmp_path / "water.xyz"
    path.write_text("\n".join([*lines, ""]))
    whole = tj.open(path, path).whole(guess_bonds=True).all_atoms()[0].positions
    apart = whole.reshape(-1, 3, 3) - whole.reshape(-1, 3, 3)[:, :1]
    np.testing.assert_allclose(apart, np.broadcast_to(shape, apart.shape), atol=2e-4)
    melt = tj.samples.molten_salt().open()
    unwrapped = melt.whole(guess_bonds=True).nojump(view="toroidal").all_atoms().read()
    expected = melt.nojump().all_atoms().read()
    np.testing.assert_allclose(unwrapped.positions, expected.positions, atol=1e-3)
