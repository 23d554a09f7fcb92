"""Contact maps equal those of mdtraj and of naive twins."""

from pathlib import Path

import mdtraj
import numpy as np
import pytest
import trajet as tj
from helpers.commands import python
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import NAMES, Systems, in_changing_cells
from MDAnalysisTests import datafiles

# Distances this close to the cut-off (Å) may be contacts or not: mdtraj's are float32.
SINGLE = 3e-5
ROUNDING = 1e-9

# Runs under a limit of address space: too large a request is refused and does not end the process.
TOO_LARGE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
import trajet as tj
from trajet import memory

# As where the system does not say what is available.
memory.available = lambda: None
traj = tj.open(None, sys.argv[1])
try:
    tj.contact_map(traj.all_atoms(), by="atom", cutoff=3.0)
except MemoryError as error:
    print(error)
"""


def fractions(
    distances: np.ndarray, rows: np.ndarray, columns: np.ndarray, limit: float
) -> np.ndarray:
    """Return the fraction of frames in which any distance of two groups is up to the limit."""
    within = distances <= limit
    found = np.zeros((rows.max() + 1, columns.max() + 1))
    for i, j in np.ndindex(found.shape):
        found[i, j] = within[:, rows == i][:, :, columns == j].any(axis=(1, 2)).mean()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_maps_by_residue_equal_the_distances(systems: Systems, name: str) -> None:
    """Contacts of two selections that share residues, and within one, with images and without."""
    traj = systems[name].trajectory
    near = traj.source.structure.atoms.residues
    a = traj.select(np.flatnonzero(near < 14))
    b = traj.select(np.flatnonzero((near >= 8) & (near < 24))[::2])
    rows, columns = (np.unique(each.topology_atoms.residues) for each in (a, b))
    of_a, of_b = (
        np.searchsorted(kinds, each.topology_atoms.residues)
        for kinds, each in ((rows, a), (columns, b))
    )
    own = rows[:, None] == columns
    for pbc in (True, False):
        result = tj.contact_map(a, b, cutoff=5.0, pbc=pbc)
        every = tj.distances(a, b, pbc=pbc).values
        least, most = (fractions(every, of_a, of_b, 5.0 + by) for by in (-ROUNDING, ROUNDING))
        assert np.array_equal(result.axes[0]["residue"], rows)
        assert np.array_equal(result.axes[1]["residue"], columns)
        assert np.isnan(result.values[own]).all()
        assert (result.counts[own] == 0).all()
        assert (result.values[~own] >= least[~own]).all()
        assert (result.values[~own] <= most[~own]).all()
        assert np.array_equal(result.values[~own], result.counts[~own] / traj.n_frames)
        assert result.counts.sum() > 0
        same = tj.contact_map(a, cutoff=5.0, pbc=pbc)
        again = tj.contact_map(a, a, cutoff=5.0, pbc=pbc)
        assert np.array_equal(same.values, again.values, equal_nan=True)
        assert np.array_equal(same.counts, same.counts.T)


def test_maps_equal_mdtraj(adk: Adk) -> None:
    """Its `compute_contacts` gives the shortest distances of residues, all atoms and heavy."""
    theirs = mdtraj.load(str(adk.xtc), top=str(adk.psf))[::7]
    traj = tj.open(adk.psf, adk.xtc)
    chosen = traj.select("resid 1:60")
    pairs = np.array([(i, j) for i in range(60) for j in range(i + 4, 60)])
    for heavy, scheme in ((False, "closest"), (True, "closest-heavy")):
        result = tj.contact_map(
            chosen, heavy_only=heavy, exclude_neighbors=3, frames=slice(None, None, 7)
        )
        distances, found = mdtraj.compute_contacts(theirs, pairs, scheme, periodic=False)
        assert np.array_equal(found, pairs)
        for by, compare in ((-SINGLE, np.less_equal), (SINGLE, np.greater_equal)):
            fraction = (10 * distances <= 4.5 + by).mean(axis=0)
            assert compare(fraction, result.values[tuple(pairs.T)]).all()
        assert result.axes[0].labels(3) == ["MET1", "ARG2", "ILE3"]
        apart = np.abs(np.subtract.outer(range(60), range(60)))
        assert np.array_equal(np.isnan(result.values), apart <= 3)


def test_maps_by_atom_equal_neighbors_of_mdtraj() -> None:
    """In the solvated system, with nearest images: those of the atoms with most contacts."""
    theirs = mdtraj.load_frame(datafiles.XTC, 0, top=datafiles.GRO)
    traj = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False)
    a, b = traj.select("name CA"), traj.select("name OW and resid 300:1500")
    result = tj.contact_map(a, b, cutoff=9.0, by="atom", frames=[0])
    every = tj.distances(a, b, frames=[0]).values[0]
    assert result.counts.sum() > 20
    for k in np.argsort(result.counts.sum(axis=1))[-6:]:
        atom = a.indices[k]
        (found,) = mdtraj.compute_neighbors(theirs, 0.9, [atom], b.indices)
        ours = b.indices[result.counts[k] == 1]
        apart = np.setxor1d(ours, found)
        assert (np.abs(every[k, np.isin(b.indices, apart)] - 9.0) < 1e-4).all()
    assert result.of == "atom"
    assert result.axes[0].labels(1) == ["MET1:CA"]


def test_neighbors_end_with_their_chain() -> None:
    """Residues of two chains are no neighbours, also where their numbers follow one another."""
    structure = tj.open(datafiles.PDB_full)
    protein = structure.select("protein")
    chains = protein.topology_atoms.column("chainIDs")
    assert chains is not None
    result = tj.contact_map(protein, exclude_neighbors=2, heavy_only=True)
    residues, first = np.unique(protein.topology_atoms.residues, return_index=True)
    apart = np.abs(residues[:, None] - residues)
    near = (apart <= 2) & (chains[first][:, None] == chains[first])
    assert np.array_equal(np.isnan(result.values), near)


def test_atoms_without_topology_have_maps_by_number(tmp_path: Path) -> None:
    """Cells may change from frame to frame."""
    traj, _ = in_changing_cells(tmp_path, 5)
    chosen = traj.select(range(traj.n_atoms))
    result = tj.contact_map(chosen, by="atom", cutoff=9.0)
    every = tj.distances(chosen, chosen).values <= 9.0
    different = ~np.eye(20, dtype=bool)
    assert np.array_equal(result.counts[different], every.sum(axis=0)[different])
    assert result.axes[0].labels(2) == ["atom0", "atom1"]
    some = tj.contact_map(chosen, by="atom", cutoff=9.0, frames=[3, 0, 3])
    assert np.array_equal(some.counts[different], (every[[3, 0, 3]].sum(axis=0))[different])


def test_unusable_requests_are_errors(systems: Systems) -> None:
    """Each has one line that says what to do."""
    traj = systems["solvated.xtc"].trajectory
    chosen = traj.select("name CA")
    bare = tj.open(None, systems["solvated.xtc"].path).select(range(9))
    for error, call in (
        (tj.AnalysisError, lambda: tj.contact_map(chosen, cutoff=41)),
        (ValueError, lambda: tj.contact_map(chosen, cutoff=0)),
        (ValueError, lambda: tj.contact_map(chosen, exclude_neighbors=-1)),
        (ValueError, lambda: tj.contact_map(chosen, by="chain")),
        (tj.SelectionError, lambda: tj.contact_map(traj.select("resid 3"))),
        (tj.SelectionError, lambda: tj.contact_map(bare, by="atom", heavy_only=True)),
        (tj.SelectionError, lambda: tj.contact_map(bare)),
        (tj.SelectionError, lambda: tj.contact_map(bare, by="atom", exclude_neighbors=1)),
        (tj.SelectionError, lambda: tj.contact_map(traj.select("name HW1"), heavy_only=True)),
    ):
        with raises(error):
            call()
    none = tj.contact_map(chosen, frames=[])
    assert np.isnan(none.values).all()


def test_maps_that_do_not_fit_into_memory_are_refused() -> None:
    """The message names the size and what to choose instead."""
    done = python("-c", TOO_LARGE, datafiles.XTC)
    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    assert line.startswith("cannot allocate 9235809700 bytes of memory for a contact map")
    assert "choose fewer atoms, or residues instead of atoms" in line


def test_tables_have_pairs_within_one_group_once(adk: Adk) -> None:
    """Also those of some rows; between two groups both orders are other pairs."""
    traj = tj.open(adk.psf, adk.xtc)
    whole = tj.contact_map(traj.select("resid 1:30 and name CA CB"), cutoff=6.0)
    rows = whole[5:9]
    for result in (whole, rows):
        names = [(one, other) for one, other, *_ in result.pairs()]
        assert len({frozenset(pair) for pair in names}) == len(names)
        i, j = np.nonzero(result.counts)
        numbers = [one["residue"] for one in result.axes]
        all_pairs = zip(numbers[0][i].tolist(), numbers[1][j].tolist(), strict=True)
        assert len(names) == len({frozenset(pair) for pair in all_pairs}) > 0
    between = tj.contact_map(
        traj.select("resid 1:30 and name CA"), "resid 1:30 and name N", cutoff=6.0
    )
    assert np.array_equal(between.axes[0]["residue"], between.axes[1]["residue"])
    assert not np.array_equal(between.counts, between.counts.T)
    assert len(list(between.pairs())) == np.count_nonzero(between.counts)
    assert not list(whole[[]].pairs())


def test_files_and_figures_have_the_names_of_residues(adk: Adk, tmp_path: Path) -> None:
    """A row of the file is a pair of residues that are in contact."""
    result = tj.contact_map(tj.open(adk.psf, adk.xtc).select("resid 1:30"), heavy_only=True)
    result.save(tmp_path / "map.csv")
    _, *lines = (tmp_path / "map.csv").read_text(encoding="utf-8").splitlines()
    table = [line.split(",") for line in lines]
    assert table[0][:6] == ["MET1", "MET", "1", "ARG2", "ARG", "2"]
    seen = np.triu(result.counts) > 0
    assert [float(row[6]) for row in table] == result.values[seen].tolist()
    assert [int(row[7]) for row in table] == result.counts[seen].tolist()
    axes = result.plot().axes[0]
    assert axes.get_xlabel() == "residue (resid 1:30)"
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        *("5", "10", "15", "20", "25", "30")
    ]
