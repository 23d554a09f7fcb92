"""Interactions: the bits of ProLIF, bridges from hydrogen bonds, pairs, slices, and bad input."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers.interaction_bits import Sample, bits_of
from helpers.messages import raises, warns
from matplotlib.container import BarContainer
from trajet.analysis import interaction_search
from trajet.messages import Code
from trajet.result.interactions import KINDS
from trajet.uncertainty.estimates import estimates_of_blocks

ALL = ("hydrophobic", "hbond", "pi", "ionic", "cation-pi", "halogen", "metal", "vdw")


@pytest.fixture(scope="module")
def traj() -> tj.Trajectory:
    """Return the sample of a peptide in water."""
    return tj.samples.peptide_in_water().open()


@pytest.fixture(scope="module")
def listed(traj: tj.Trajectory) -> tj.Interactions:
    """Return all interactions within the peptide."""
    return tj.interactions(traj.select("protein"), kinds=ALL, bits=True, list_all=True)


def opened(sample: Sample, folder: Path) -> tj.Trajectory:
    """Return a trajectory of a sample."""
    n_atoms = sample.positions.shape[1]
    residues = sample.chemistry.residues.astype(np.int64)
    universe = mda.Universe.empty(
        n_atoms, residues.max() + 1, atom_resindex=residues, trajectory=True
    )
    universe.add_TopologyAttr("names", ["X"] * n_atoms)
    universe.add_TopologyAttr("resnames", ["RES"] * (residues.max() + 1))
    universe.add_TopologyAttr("resids", np.arange(residues.max() + 1) + 1)
    universe.load_new(sample.positions)
    universe.atoms.write(str(folder / "sample.gro"))
    with mda.Writer(str(folder / "sample.dcd"), n_atoms) as writer:
        for _ in universe.trajectory:
            writer.write(universe.atoms)
    return tj.open(folder / "sample.gro", folder / "sample.dcd")


@pytest.mark.parametrize("name", ["top", "water"])
@pytest.mark.parametrize("is_swapped", [False, True])
def test_bits_and_matches_are_those_of_prolif(
    name: str, is_swapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its roles and its rules of rings; own rules change bits of rings edge to face alone."""
    sample = Sample.of(name)
    traj = opened(sample, tmp_path)
    groups = [traj.select(np.arange(sample.n_first))]
    groups.append(traj.select(np.arange(sample.n_first, traj.n_atoms)))
    options = {"kinds": ALL, "bits": True, "chemistry": sample.chemistry}
    monkeypatch.setattr(interaction_search, "_near_by_bonds", lambda *_: np.zeros((0, 2), int))
    expected = sample.bits
    if not is_swapped:
        with monkeypatch.context() as patch:
            patch.setattr(interaction_search, "PEER_RINGS", True)
            found = tj.interactions(*groups, list_all=True, **options)
        np.testing.assert_array_equal(bits_of(found), expected)
        counts = np.bincount([KINDS.index(kind) for kind in found.list.kinds], minlength=14)
        np.testing.assert_array_equal(counts, sample.n_matches)
    own = bits_of(tj.interactions(*groups[:: -1 if is_swapped else 1], **options))
    if is_swapped:
        own[:, 2:] = own[:, :1:-1].copy()
        paired = {
            a: b for one in ((1, 2), (5, 6), (7, 8), (9, 10), (11, 12)) for a, b in (one, one[::-1])
        }
        own[:, 1] = [paired.get(kind, kind) for kind in own[:, 1].tolist()]
    changed = {*map(tuple, own.tolist())} ^ {*map(tuple, expected.tolist())}
    assert {KINDS[kind] for _, kind, *_ in changed} <= {"pi-edge"}
    assert len(changed) < 8


@pytest.mark.parametrize("most", [1, 2, 3])
def test_bridges_are_chains_of_hydrogen_bonds(traj: tj.Trajectory, most: int) -> None:
    """Through different waters, the fewest of which are counted."""
    frames = slice(0, 12)
    peptide, options = traj.select("protein"), {"kinds": ["hbond"], "bits": True}
    found = tj.interactions(
        peptide, kinds=["water-bridge"], max_waters=most, bits=True, frames=frames
    )
    ends = tj.interactions(peptide, "water", frames=frames, **options)
    between = tj.interactions(traj.select("water"), frames=frames, **options)
    expected = {
        (frame, one, other): n
        for frame in range(12)
        for one, other, n in _bridges(*(_bonded(each, frame) for each in (ends, between)), most)
    }
    assert {tuple(bit) for bit in bits_of(found)[:, [0, 2, 3]].tolist()} == {*expected}
    waters = found.pairs.waters * found.pairs.counts
    assert waters.sum() == pytest.approx(sum(expected.values()))
    assert len(expected) > 10 * most
    np.testing.assert_array_equal(found.values[:, 0], np.bincount([f for f, *_ in expected]))


def _bonded(found: tj.Interactions, frame: int) -> dict[int, set[int]]:
    """Return the residues that are bonded to each residue in a frame."""
    neighbours: dict[int, set[int]] = {}
    for _, _, one, other in (row for row in bits_of(found).tolist() if row[0] == frame):
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    return neighbours


def _bridges(
    ends: dict[int, set[int]], between: dict[int, set[int]], most: int
) -> Iterator[tuple[int, int, int]]:
    """Yield both residues and the number of waters of each bridge, by breadth-first search."""
    for start in range(10):
        layer = seen = set(ends.get(start, ()))
        done: set[int] = set()
        for n in range(1, most + 1):
            reached = set[int]().union(*(ends.get(water, set()) for water in layer))
            new = {end for end in reached if start < end < 10} - done
            yield from ((start, end, n) for end in new)
            done |= new
            layer = set[int]().union(*(between.get(water, set()) for water in layer)) - seen
            seen = seen | layer


def test_atoms_that_few_bonds_connect_do_not_interact(
    traj: tj.Trajectory, listed: tj.Interactions
) -> None:
    """Pairs are of two residues, and four bonds or more apart."""
    bonds = traj.topology.bonds
    near = [{atom} for atom in range(traj.n_atoms)]
    neighbours = [set[int]() for _ in range(traj.n_atoms)]
    for a, b in bonds.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)
    for _ in range(3):
        near = [one.union(*(neighbours[k] for k in one)) for one in near]
    atoms = listed.list.atoms[np.array(listed.list.kinds) == "vdw"]
    assert len(atoms) > 1000
    assert not any(b in near[a] for a, _, b in atoms.tolist())
    residues = traj.topology.atoms_residues
    assert (residues[listed.list.atoms[:, 0]] < residues[listed.list.atoms[:, 2]]).all()


def test_lists_have_the_distances_and_angles_of_the_positions(
    traj: tj.Trajectory, listed: tj.Interactions
) -> None:
    """Of hydrogen bonds in frame 7, by nearest images."""
    found = listed.list
    rows = np.flatnonzero(
        (found.frames == 7) & np.isin(found.kinds, ["hbond-donor", "hbond-acceptor"])
    )
    assert len(rows) > 3
    frame = traj.read(frames=[7])
    at, box = frame.positions[0].astype(np.float64), frame.cells[0][:3]
    for row in rows:
        first, hydrogen, second = at[found.atoms[row]]
        shorter = [one - box * np.rint(one / box) for one in (first - hydrogen, second - hydrogen)]
        across = first - second
        across -= box * np.rint(across / box)
        assert found.distances[row] == pytest.approx(np.linalg.norm(across), abs=1e-5)
        cosine = shorter[0] @ shorter[1] / np.prod(np.linalg.norm(shorter, axis=1))
        angles = found.angles[row]
        assert angles[0] == pytest.approx(np.degrees(np.arccos(cosine)), abs=1e-3)
        assert np.isnan(angles[1])
        assert found.distances[row] <= 3.5
        assert angles[0] >= 130


def test_slices_have_the_pairs_of_a_run_over_these_frames(
    traj: tj.Trajectory, listed: tj.Interactions
) -> None:
    """With the bits; without them there are no pairs."""
    rows = [3, 8, 50, 51]
    some = tj.interactions(traj.select("protein"), kinds=ALL, bits=True, frames=rows)
    taken = listed[rows]
    for one in (taken, some):
        assert one.pairs.n_frames == 4
    assert dict(zip(taken.pairs.labels(), taken.pairs.counts, strict=True)) == dict(
        zip(some.pairs.labels(), some.pairs.counts, strict=True)
    )
    np.testing.assert_array_equal(bits_of(taken), bits_of(some))
    assert tj.interactions(traj.select("protein"))[:5].pairs is None


def test_tables_of_pairs_have_their_occupancies(
    traj: tj.Trajectory, listed: tj.Interactions
) -> None:
    """As vectors, and for programs that take ProLIF's."""
    vectors, pairs = listed.bitvectors(), listed.pairs
    np.testing.assert_array_equal(vectors.sum(axis=0), pairs.counts)
    np.testing.assert_allclose(vectors.mean(axis=0), pairs.occupancies)
    table = listed.to_prolif()
    assert table.shape == vectors.shape
    assert table.columns.names == ["ligand", "protein", "interaction"]
    assert {*table.columns.get_level_values(2)} <= {"Hydrophobic", "HBDonor", "HBAcceptor"} | {
        *("EdgeToFace", "Cationic", "CationPi", "VdWContact")
    }
    numbers = listed.to_prolif(count=True)
    np.testing.assert_array_equal(numbers > 0, table)
    assert numbers.to_numpy().sum() == len(listed.list)
    k = int(np.flatnonzero(np.array(pairs.kinds) == "hydrophobic")[0])
    atoms = listed.list.atoms[np.array(listed.list.kinds) == "hydrophobic"]
    of_atoms = traj.topology.atoms_residues[atoms][:, [0, 2]]
    assert numbers.to_numpy()[:, k].sum() == (of_atoms == pairs.members[k]).all(axis=1).sum() > 0
    for kept in ({"pairs": pairs}, {}):
        for count in (False, True):
            with pytest.raises(ValueError):
                replace(listed, parts=kept).to_prolif(count=count)


def test_pairs_of_atoms_name_atoms_and_rings(traj: tj.Trajectory, listed: tj.Interactions) -> None:
    """Each bit of residues is one of atoms at least."""
    found = tj.interactions(traj.select("protein"), kinds=["pi", "cation-pi", "ionic"], by="atom")
    labels = found.pairs.labels()
    assert any(":ring CG-CD2 -- TRP9:ring" in label for label in labels)
    assert len({*labels}) == len(labels)
    assert any(label.startswith("TYR1:N -- TRP9:ring") and "cation-pi" in label for label in labels)
    residues = tj.interactions(traj.select("protein"), kinds=["pi", "cation-pi", "ionic"])
    assert (found.values >= residues.values).all()
    assert ((found.values > 0) == (residues.values > 0)).all()


def test_neighbours_in_the_chain_are_left_out(traj: tj.Trajectory, listed: tj.Interactions) -> None:
    """As many as are asked for; the other pairs stay."""
    found = tj.interactions(traj.select("protein"), kinds=ALL, exclude_neighbors=2)
    every = zip(listed.pairs.members.tolist(), listed.pairs.labels(), strict=True)
    expected = {label for (one, other), label in every if other - one > 2}
    assert {*found.pairs.labels()} == expected
    assert 0 < len(expected) < len(listed.pairs)


def test_saved_chemistry_gives_the_same_bits(traj: tj.Trajectory, tmp_path: Path) -> None:
    """Of more atoms than are needed, and by the command; hydrogens need not be selected."""
    protein = traj.select("protein")
    chemistry = tj.chemistry(traj.select("protein or water"))
    chemistry.save(tmp_path / "chem.json")
    heavy = traj.select("protein and not name H*")
    here = [
        tj.interactions(protein, bits=True),
        tj.interactions(protein, bits=True, chemistry=chemistry),
        tj.interactions(heavy, bits=True),
    ]
    expected = bits_of(here[0])
    assert len(expected) > 500
    for one in here[1:]:
        np.testing.assert_array_equal(bits_of(one), expected)
    done = commands.run(
        *("interactions", *tj.samples.peptide_in_water().files, "--select", "protein"),
        *("--chemistry", tmp_path / "chem.json", "--kinds", "hbond,ionic"),
        *("--criteria", "hbond=3.3/140,ionic=4", "--save", f"pairs={tmp_path / 'pairs.csv'}"),
        *("--save", f"bits={tmp_path / 'bits.npz'}", "-o", tmp_path / "number.csv"),
    )
    assert done.returncode == 0, done.stderr
    options = {"criteria": {"hbond": (3.3, 140), "ionic": 4}, "kinds": ["hbond", "ionic"]}
    found = tj.interactions(protein, **options)
    written = (tmp_path / "pairs.csv").read_text().splitlines()
    assert len(written) == len(found.pairs) + 1
    assert written[0].split(",")[-4:] == ["kind", "frames", "occupancy", "label"]
    assert len(tj.load(tmp_path / "bits.npz")) == found.values.sum()
    assert 0 < found.values.sum() < here[0].values[:, :3].sum()


@pytest.mark.filterwarnings("ignore::trajet.TrajetWarning")
@pytest.mark.parametrize("gap", [0, 2])
def test_lifetimes_of_kinds_are_counts_over_their_bits(traj: tj.Trajectory, gap: int) -> None:
    """Of three kinds; bridges of one and two waters are one pair."""
    found = tj.interactions(
        traj.select("protein"),
        kinds=["hbond", "water-bridge"],
        max_waters=2,
        bits=True,
        lifetimes=True,
        max_lag=16.0,
        intermittency=gap,
    )
    vectors, kinds = found.bitvectors(), np.array(found.pairs.kinds)
    for kind in ("hbond-donor", "hbond-acceptor", "water-bridge"):
        h = vectors[:, kinds == kind]
        filled = h.copy()
        for k in range(1, gap + 1):
            for t in range(1, len(h) - k):
                filled[t : t + k] |= h[t - 1] & h[t + k]
        one = found.lifetimes.of_kind(kind)
        assert len(one.times) > 5
        assert one.intermittency == gap
        for lag in range(len(one.times)):
            begin = slice(0, len(h) - lag)
            again = (h[begin] & h[lag:]).sum() / h[begin].sum()
            throughout = np.all([filled[k : len(h) - lag + k] for k in range(lag + 1)], axis=0)
            assert one.intermittent[lag] == pytest.approx(again, rel=1e-14)
            assert one.continuous[lag] == pytest.approx(
                throughout.sum() / filled[begin].sum(), rel=1e-14
            )
        begins = filled & ~np.concatenate([np.zeros_like(filled[:1]), filled[:-1]])
        assert found.dwell_times.of_kind(kind).n_runs == begins.sum() > 2


@pytest.mark.filterwarnings("ignore::trajet.TrajetWarning")
def test_lifetimes_of_hydrogen_bonds_are_those_of_hbonds(
    traj: tj.Trajectory, tmp_path: Path
) -> None:
    """With the same donors and criteria, also in files; kinds without pairs have none."""
    protein = traj.select("protein")
    chemistry = tj.chemistry(protein)
    donors = traj.select(chemistry.atoms[np.unique(chemistry.hydrogens[:, 0])])
    options = {"lifetimes": True, "max_lag": 20, "intermittency": 1}
    expected = tj.hbonds(
        *(protein, "water"),
        donors=donors,
        acceptors="water and name O*",
        cutoff=3.5,
        angle=130,
        by="residue",
        **options,
    )
    found = tj.interactions(protein, "water", kinds=["hbond", "metal"], **options)
    for suffix in ("npz", "json"):
        found.save(tmp_path / f"found.{suffix}")
        loaded = tj.load(tmp_path / f"found.{suffix}")
        own = loaded.lifetimes.of_kind("hbond-donor"), loaded.dwell_times.of_kind("hbond-donor")
        assert own[0].scalars() == expected.lifetimes.scalars()
        assert own[1].scalars() == expected.dwell_times.scalars()
        np.testing.assert_array_equal(own[0].values, expected.lifetimes.values)
        np.testing.assert_array_equal(own[0].n_starts, expected.lifetimes.n_starts)
        np.testing.assert_array_equal(own[1].values, expected.dwell_times.values)
        np.testing.assert_array_equal(own[1].at_risk, expected.dwell_times.at_risk)
    assert found.lifetimes.values.shape == (11, 4, 3)
    assert np.isnan(found.lifetimes.of_kind("metal-donor").values).all()
    assert found.dwell_times.of_kind("metal-donor").n_runs == 0
    assert found.scalars()["hbond_donor_n_exits"] == expected.dwell_times.n_exits
    assert found.bits is None
    assert found[:50].lifetimes is None
    for part in (found.lifetimes, found.dwell_times):
        assert part.kinds == found.columns
        assert len(part.plot().axes[0].lines) == 2
        assert len(part.lines()) == 2
        with pytest.raises(ValueError):
            part.of_kind("vdw")


def test_impossible_lifetimes_are_refused(traj: tj.Trajectory) -> None:
    """Of uneven frames, longer than the trajectory, or without memory."""
    protein = traj.select("protein")
    wrong: list[tuple[type[Exception], dict[str, object]]] = [
        (ValueError, {"max_lag": 10.0}),
        (ValueError, {"lifetimes": True, "intermittency": -1}),
        (ValueError, {"lifetimes": True, "max_lag": 1e6}),
        (tj.AnalysisError, {"lifetimes": True, "frames": [0, 1, 5]}),
        (tj.AnalysisError, {"lifetimes": True, "frames": [0]}),
        (MemoryError, {"lifetimes": True, "max_memory": 100_000}),
    ]
    for kind, options in wrong:
        with raises(kind):
            tj.interactions(protein, "water", kinds=["hbond"], **options)


def test_warnings_on_lifetimes_name_all_kinds(traj: tj.Trajectory) -> None:
    """One for each function."""
    options = {"kinds": ["hbond", "metal"], "lifetimes": True}
    found = tj.interactions(traj.select("protein"), "water", max_lag=20, **options)
    assert [one.code for one in found.warnings] == [Code.LIFETIME] * 2
    for warning in found.warnings:
        assert "hbond-donor" in warning and "hbond-acceptor" in warning
        assert "metal" not in warning


def test_errors_of_occupancies_are_those_of_their_series(traj: tj.Trajectory) -> None:
    """Of 100 blocks of one frame each, bridges of one and two waters together."""
    options = {"kinds": ["hbond", "water-bridge"], "max_waters": 2}
    found = tj.interactions(traj.select("protein"), errors=True, bits=True, **options)
    series = found.bitvectors().astype(np.float64)
    changes = np.flatnonzero(series.any(axis=0) & ~series.all(axis=0))
    assert len(changes) > 20
    expected = estimates_of_blocks(series[:, changes]).standard_error
    np.testing.assert_allclose(found.pairs.standard_errors[changes], expected)
    constant = np.setdiff1d(np.arange(len(found.pairs)), changes)
    assert np.isnan(found.pairs.standard_errors[constant]).all()


def test_kinds_that_no_atoms_can_form_are_noted(traj: tj.Trajectory) -> None:
    """Halogens and metals, of which the peptide has none."""
    found = tj.interactions(traj.select("protein"), frames=[0])
    (note,) = [one for one in found.notes if one.code is Code.NO_ROLES]
    assert "halogen" in note
    assert "hbond" not in note
    assert not found.values[:, [found.columns.index("metal-donor")]].any()


def test_impossible_arguments_are_refused(traj: tj.Trajectory) -> None:
    """Before a frame is read."""
    protein = traj.select("protein")
    wrong: list[dict[str, object]] = [
        {"kinds": "bond"},
        {"kinds": []},
        {"kinds": ["bonds"]},
        {"by": "chain"},
        {"max_waters": 0},
        {"criteria": {"hbonds": 3}},
        {"criteria": {"hbond": (3, 120, 4)}},
        {"criteria": {"hbond": (-3, 120)}},
        {"criteria": {"hbond": (3, 190)}},
        {"exclude_neighbors": -1},
    ]
    for options in wrong:
        with pytest.raises(ValueError):
            tj.interactions(protein, **options)
    texts: list[dict[str, object]] = [
        {"chemistry": "chem.json"},
        {"criteria": {"hydrophobic": "0.4 nm"}},
        {"criteria": {"pi-edge": (6.5, 50, 30, "0.15 nm")}},
        {"criteria": {"hbond": (3.5, "wide")}},
    ]
    for options in texts:
        with raises(TypeError):
            tj.interactions(protein, **options)
    with raises(ValueError):
        tj.interactions(protein, "protein")
    with pytest.raises(tj.SelectionError):
        tj.interactions(protein, kinds=["water-bridge"], water="resname XYZ")
    with pytest.raises(tj.SelectionError):
        tj.interactions(protein, "water", chemistry=tj.chemistry(protein))
    with pytest.raises(tj.SelectionError):
        tj.interactions(traj.select("water and around 4 protein", updating=True))
    with pytest.raises(MemoryError):
        tj.interactions(protein, max_memory=100)


def test_one_kind_may_be_a_word(traj: tj.Trajectory) -> None:
    """As a list of it."""
    found = tj.interactions(traj.select("protein"), kinds="hbond")
    assert found.columns == ("hbond-donor", "hbond-acceptor")


def test_distances_that_look_like_nm_give_a_warning(traj: tj.Trajectory) -> None:
    """Of kinds that are searched and not found."""
    criteria = {"hydrophobic": np.float32(0.45), "pi-face": 0.55, "ionic": 4.5, "metal": 0.28}
    kinds = ["hydrophobic", "ionic", "pi"]
    with warns(tj.TrajetWarning):
        found = tj.interactions(traj.select("protein"), kinds=kinds, criteria=criteria)
    texts = [one for one in found.messages if one.code is Code.UNITS]
    assert len(texts) == 2
    done = commands.run(
        *("interactions", *tj.samples.peptide_in_water().files, "--select", "protein"),
        *("--kinds", "hydrophobic", "--criteria", "hydrophobic=0.45"),
    )
    assert "--criteria hydrophobic=4.5 " in done.stdout


def test_first_pair_that_is_not_resolved_has_its_label(traj: tj.Trajectory) -> None:
    """Not its number alone."""
    found = tj.interactions(traj.select("protein"), kinds="hydrophobic", errors=True)
    (note,) = [one for one in found.messages if one.code is Code.NOT_RESOLVED]
    pairs = found.pairs
    first = np.flatnonzero(~pairs.resolved & (pairs.occupancies < 1))[0]
    assert f"{pairs.labels()[first]}:" in note


def test_figures_have_the_bars_and_the_timeline(listed: tj.Interactions) -> None:
    """Of the same rows, in the order of residues; without bits there are bars alone."""
    bars, timeline = listed.plot().axes
    pairs = listed.pairs
    widths = sorted(bar.get_width() for bar in bars.patches)
    assert widths == sorted(pairs.occupancies[pairs.occupancies >= 0.1][:24].tolist())
    (image,) = timeline.images
    seen = 1 - image.get_array().min(axis=2)
    assert seen.shape == (len(widths), len(listed))
    gaps = [(bar.get_y(), bar.get_height()) for bar in timeline.patches]
    np.testing.assert_allclose(gaps, [(k - 0.6, 0.2) for k in range(len(widths) + 1)])
    shares = (seen > 0).mean(axis=1)
    np.testing.assert_allclose(np.sort(shares), widths)
    (alone,) = pairs.plot().axes
    assert len(alone.patches) == len(widths)
    (lines,) = replace(listed, parts={}).plot().axes
    assert len(lines.lines) >= 6


@pytest.mark.filterwarnings("ignore::trajet.TrajetWarning")
def test_differences_of_systems_count_pairs_that_never_interact() -> None:
    """As 0: each row is the difference of the means of the occupancies of both systems."""
    ensemble = tj.samples.peptide_variants().open()
    found = tj.interactions(ensemble.select("protein"), kinds=["hydrophobic", "hbond"], pbc=False)
    table = found.difference("wild_type", "mutant").to_dataframe()
    occupancies = [
        (keys["system"], dict(zip(_names(one.pairs), one.pairs.occupancies, strict=True)))
        for keys, one in found.done()
    ]
    rows = {name for _, own in occupancies for name in own}
    assert len(table) == len(rows)
    assert any(name not in own for name in rows for _, own in occupancies)
    for label, difference in zip(table["label"], table["difference"], strict=True):
        means = [
            np.mean([own.get(_name(label), 0.0) for system, own in occupancies if system == name])
            for name in ("mutant", "wild_type")
        ]
        assert difference == pytest.approx(means[0] - means[1])


def test_an_ensemble_without_cells_warns_once() -> None:
    """Also where means and differences are made, which still have the messages."""
    ensemble = tj.samples.peptide_variants().open()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = tj.interactions(ensemble.select("protein"), kinds=["hydrophobic", "hbond"])
        others = found.mean(), found.difference("wild_type", "mutant")
    assert [one.category.__name__ for one in seen] == ["TrajetWarning"]
    for one in (found, *others):
        assert Code.NO_CELL in [message.code for message in one.messages]
    names = [text.partition("(")[2].partition(")")[0] for text in others[0].sentences()]
    assert names == others[0].to_dataframe()["label"].tolist()


@pytest.mark.filterwarnings("ignore::trajet.TrajetWarning")
def test_a_figure_says_that_no_occupancy_is_resolved(listed: tj.Interactions) -> None:
    """If errors were asked for."""
    assert listed.pairs is not None
    pairs = replace(listed.pairs, half_widths=np.full(len(listed.pairs), np.nan))
    found = replace(listed, parts={**listed.parts, "pairs": pairs})
    (note,) = found.plot().axes[0].texts
    assert "not resolved" in note.get_text()
    assert not found.plot(band=False).axes[0].texts


def test_figures_of_ensembles_have_bars_of_groups() -> None:
    """With a bar for each pair and group, in the order of residues, and intervals from 0 to 1."""
    ensemble = tj.samples.peptide_variants().open()
    found = tj.interactions(ensemble.select("protein"), kinds=["hydrophobic", "hbond"], pbc=False)
    mean = found.mean()
    table = mean.to_dataframe()
    residues = table["label"].str.findall(r"[0-9]+").map(lambda one: (*map(int, one),)).tolist()
    assert residues == 2 * sorted({*residues})
    most = table.groupby("label", sort=False)["mean"].max()
    shown = most.index[most >= 0.1]
    for figure in (found.plot(), mean.plot(series="occupancy")):
        (bars,) = figure.axes
        assert [text.get_text() for text in bars.get_yticklabels()] == shown.tolist()
        for one, group in zip(bars.containers[::2], mean, strict=True):
            rows = np.isin(group.axes["label"], shown)
            np.testing.assert_allclose([bar.get_width() for bar in one], group.mean[rows])
        ends = np.concatenate([part.get_segments() for part in bars.collections])[..., 0]
        assert ends.min() >= 0
        assert ends.max() <= 1
        assert len({tuple(one.get_y() for one in part) for part in bars.containers[::2]}) == 2
    difference = found.difference("wild_type", "mutant")
    (bars,) = difference.plot().axes
    np.testing.assert_allclose([bar.get_width() for bar in bars.patches], difference.difference)
    none = tj.interactions(ensemble.select("protein"), kinds="metal", pbc=False)
    assert not none.plot().axes[0].patches
    for kind in ("violin", "overlay"):
        with raises(ValueError):
            found.plot(kind=kind)


@pytest.mark.filterwarnings("ignore::trajet.TrajetWarning")
def test_figures_of_ensembles_have_the_rows_of_one_run() -> None:
    """In the order of residues, then of kinds; of copies of the run."""
    topology, run = map(str, tj.samples.peptide_in_water().files)
    members = [{"replica": k, "topology": topology, "trajectory": run} for k in (1, 2)]
    found = tj.interactions(tj.ensemble(members).select("protein"))
    labels = [text.get_text() for text in found.plot().axes[0].get_yticklabels()]
    names, kinds = zip(*(label.rsplit(maxsplit=1) for label in labels), strict=True)
    one = found[0].pairs.plot().axes[0]
    assert [*names] == [text.get_text() for text in one.get_yticklabels()]
    assert len({*names}) < len(names)
    colours = [(k, bars.get_label()) for bars in one.containers[::2] for k in _rows_of(bars)]
    assert [kind for _, kind in sorted(colours)] == [*kinds]


def _rows_of(bars: BarContainer) -> list[int]:
    """Return the rows of lying bars."""
    return [round(bar.get_y() + bar.get_height() / 2) for bar in bars]


def _name(label: str) -> str:
    """Return a label without the names of residues, which a mutation changes."""
    return "".join(one for one in label if not one.isupper())


def _names(pairs: tj.InteractionPairs) -> list[str]:
    return [_name(label) for label in pairs.labels()]
