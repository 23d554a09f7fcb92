"""Data sets of stores return the original, and counts show which files were read."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.commands import execute
from helpers.golden_files import Adk
from helpers.made_stores import STORES, Solvated, make_store, write_profile
from helpers.messages import raises
from helpers.small_disk import small_disk
from trajet.dataset import find_dataset

CALPHA = "name CA"
each_wet = pytest.mark.parametrize("wet", STORES, indirect=True)
each_own_wet = pytest.mark.parametrize("own_wet", STORES, indirect=True)


@pytest.fixture(scope="module")
def long_wet(tmp_path_factory: pytest.TempPathFactory) -> Solvated:
    """Return a store of 50 frames, so large that opening it reads little in comparison."""
    return make_store(tmp_path_factory.mktemp("long"), times=5)


def sizes(wet: Solvated) -> dict[str, int]:
    """Return the bytes of each tag."""
    return {kept.tag.name: kept.size for kept in wet.store.show("wet").tags}


def uses(wet: Solvated) -> list[dict[str, object]]:
    """Return the entries of the access log."""
    lines = (wet.path / "access.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


POOLS: list[Callable[[], tj.Pool]] = [
    lambda: tj.LocalPool(threads=1),
    lambda: tj.LocalPool(threads=2),
    lambda: tj.ProcessPool(workers=2, task_frames=10),
]


@pytest.mark.parametrize("pool", POOLS, ids=["one thread", "two threads", "processes"])
def test_analysis_reads_only_the_tag_that_it_needs(
    long_wet: Solvated, pool: Callable[[], tj.Pool]
) -> None:
    """RMSD of C-alpha atoms reads at most 1.1 times the protein's bytes, and no other tag."""
    traj = tj.open(long_wet.path)
    result = tj.rmsd(traj.select(CALPHA), pool=pool())
    assert 0 < result.report["bytes_read"] <= 1.1 * sizes(long_wet)["protein"]
    assert result.report["tiers"] == {"fast": result.report["bytes_read"], "slow": 0}
    plain = tj.rmsd(tj.open(long_wet.gro, long_wet.xtc).select(CALPHA))
    assert result.values.tobytes() == plain.values.tobytes()
    assert result.times.tobytes() == plain.times.tobytes()
    assert plain.report["tiers"] == {}


@each_own_wet
def test_files_of_unused_tags_are_not_needed(own_wet: Solvated) -> None:
    """Selecting, analysing and reading open no file of a tag without selected atoms."""
    for kept in own_wet.store.show("wet").tags:
        if kept.tag.name != "protein":
            for path in kept.paths:
                path.unlink()
    traj = tj.open(own_wet.path)
    calpha = traj.select(CALPHA)
    assert tj.rmsd(calpha, groups=["backbone"]).values.shape == (10, 2)
    assert calpha.read(frames=[3, 1]).positions.shape == (2, 214, 3)
    assert tj.open(f"{own_wet.path}@protein").read().positions.shape == (10, 3341, 3)
    with raises(OSError):
        traj.select("resname SOL").read(frames=[0])


@each_wet
def test_whole_data_set_is_the_original(wet: Solvated, tmp_path: Path) -> None:
    """Positions, cells, times and steps are equal; a file has every byte."""
    ours, plain = tj.open(wet.path), tj.open(wet.gro, wet.xtc)
    assert repr(ours) == f"<Trajectory {wet.path}: 10 frames of 47681 atoms>"
    one, other = ours.read(), plain.read()
    for name in ("positions", "times", "steps", "cells", "frames"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    blocks = [block.positions for block in ours.blocks(3)]
    assert np.concatenate(blocks).tobytes() == other.positions.tobytes()
    done = wet.store.get("wet", tmp_path / "whole.xtc", topology=tmp_path / "whole.gro")
    assert (done.n_frames, done.n_atoms) == (10, 47681)
    assert (tmp_path / "whole.xtc").read_bytes() == wet.xtc.read_bytes()
    assert tj.open(tmp_path / "whole.gro", tmp_path / "whole.xtc").select(CALPHA).n_atoms == 214


@pytest.mark.parametrize("tags", [["protein"], ["water", "protein"], ["i"], ["ion", "w"]])
@each_wet
def test_some_tags_have_the_order_of_the_original(
    wet: Solvated, tmp_path: Path, tags: list[str]
) -> None:
    """Tags have names and short names; their atoms equal a selection of the original."""
    text = {"protein": "protein", "p": "protein", "ion": "resname NA+", "i": "resname NA+"}
    wanted = " or ".join(text.get(tag, "resname SOL") for tag in tags)
    ours = tj.open(f"{wet.path}@{','.join(tags)}")
    plain = tj.open(wet.gro, wet.xtc).select(wanted)
    assert ours.n_atoms == plain.n_atoms
    assert ours.read().positions.tobytes() == plain.read().positions.tobytes()
    wet.store.get("wet", tmp_path / "ours.xtc", tags=tags)
    tj.convert(plain, tmp_path / "plain.xtc")
    assert (tmp_path / "ours.xtc").read_bytes() == (tmp_path / "plain.xtc").read_bytes()


@each_wet
def test_selections_are_those_of_the_original(wet: Solvated) -> None:
    """Atoms of the tags are selected by their index in the original, or by distance at frame 0."""
    traj = wet.store.open("wet", tags=["ion", "water"])
    plain = tj.open(wet.gro, wet.xtc)
    for text in (
        *("index 3341:3350", "bynum 47680", "resname NA+", "resid 300:310 and name OW"),
        *("around 4 resname NA+", "same residue as (around 3 resname NA+)", "prop z < 2.5"),
        *("around 4 global resname NA+", "not (protein or around 4 resname NA+)"),
        "not (byres name OW) or byres around 4 resname NA+",
    ):
        here = traj.select(text)
        among = plain.select(f"({text}) and not protein")
        positions = here.read(frames=[0, 9]).positions
        assert positions.tobytes() == among.read(frames=[0, 9]).positions.tobytes(), text
        assert here.atoms.positions.tobytes() == positions[0].tobytes()
        assert here.atoms.resids.tolist() == among.atoms.resids.tolist()
    with raises(tj.SelectionError):
        traj.select("protein")
    assert np.isnan(traj.universe.select_atoms("protein").positions).all()


@pytest.mark.parametrize(
    "text",
    [
        "around 4 protein",
        "not around 6 protein",
        "name OW and not (byres around 6 global protein)",
        "sphzone 9 protein",
        "same x as resname NA+ or around 3 (prop z > 3)",
    ],
)
def test_selections_by_distance_need_the_tags_of_their_operands(wet: Solvated, text: str) -> None:
    """An atom of a tag that is not open is not taken for one that is far away."""
    water = wet.store.open("wet", tags=["water"])
    with raises(tj.SelectionError):
        water.select(text)
    with raises(tj.SelectionError):
        water.select(text, updating=True)
    if "NA" not in text:
        some = wet.store.open("wet", tags=["water", "protein"])
        everything = tj.open(wet.gro, wet.xtc)
        expected = everything.select(f"({text}) and not resname NA+").indices
        assert some.select(text).indices.tolist() == expected.tolist()
        (frame,) = some.select(text, updating=True).read([0])
        assert frame.indices.tolist() == expected.tolist()


def test_files_with_some_atoms_need_those_of_a_selection_by_distance(
    wet: Solvated, tmp_path: Path
) -> None:
    """Atoms that no frame has are an error where a distance from them matters."""
    wet.store.get("wet", tmp_path / "ions.xtc", tags=["ion"])
    ions = tj.open(wet.gro, tmp_path / "ions.xtc", atoms="resname NA+")
    with raises(tj.SelectionError):
        ions.select("around 9 protein", updating=True)


@each_wet
def test_atoms_keep_the_numbers_of_the_original(wet: Solvated, tmp_path: Path) -> None:
    """Selections, results and files use them, whatever tags are open."""
    ions = tj.open(f"{wet.path}@ion,water").select("resname NA+")
    plain = tj.open(wet.gro, wet.xtc).select("resname NA+")
    numbers = [47677, 47678, 47679, 47680]
    assert ions.indices.tolist() == plain.indices.tolist() == numbers
    (one, other) = (tj.rmsf(chosen) for chosen in (ions, plain))
    assert one.atoms.tolist() == numbers
    assert one.values.tobytes() == other.values.tobytes()
    one.save(tmp_path / "rmsf.csv")
    rows = (tmp_path / "rmsf.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["atom", *map(str, numbers)]
    with np.load(_saved(one, tmp_path / "rmsf.npz")) as kept:
        assert kept["axis0.atom"].tolist() == numbers
    pairs = tj.distances(ions.trajectory.select([47680, 47677]), "index 3341")
    assert pairs.columns == ("NA+11302:NA - SOL215:OW", "NA+11299:NA - SOL215:OW")
    wanted = tj.distances(plain.trajectory.select([47680, 47677]), "index 3341")
    assert pairs.values.tobytes() == wanted.values.tobytes()
    # Choosing by the numbers of a result, or of MDAnalysis.
    again = ions.trajectory.read(atoms=one.atoms)
    assert again.positions.tobytes() == plain.read().positions.tobytes()
    group = ions.trajectory.universe.select_atoms("resname NA+")
    assert tj.rmsd(ions, groups=[group]).values.shape == (10, 2)
    mask = np.zeros(44340, bool)
    mask[-4:] = True
    assert ions.trajectory.select(mask).indices.tolist() == numbers
    (block,) = ions.trajectory.blocks(10, atoms=numbers)
    assert block.positions.tobytes() == again.positions.tobytes()
    with raises(tj.SelectionError):
        ions.trajectory.select([47680, 17])
    with raises(tj.SelectionError):
        ions.trajectory.read(atoms=[47681])


def _saved(result: tj.Table, path: Path) -> Path:
    result.save(path)
    return path


def test_references_and_angles_of_tags_leave_out_other_tags(own_wet: Solvated) -> None:
    """The tag holds the end of a protein: angles that extend beyond the tag are left out."""
    text = own_wet.profile.read_text()
    end = '[[tags]]\nname = "end"\nselect = "protein and resid 101:214"\ntier = "fast"\n'
    rest = text.replace('"protein"\ntier', '"protein and resid 1:100"\ntier')
    own_wet.profile.write_text(rest + end)
    own_wet.store.retag("wet", own_wet.profile)
    traj, plain = tj.open(f"{own_wet.path}@end"), tj.open(own_wet.gro, own_wet.xtc)
    ours = tj.dihedrals(traj.select("all"))
    theirs = tj.dihedrals(plain.select("protein and resid 102:214"))
    assert ours.columns == theirs.columns
    assert ours.atoms.tolist() == theirs.atoms.tolist()
    assert ours.values.tobytes() == theirs.values.tobytes()
    # The first residue extends beyond the tag.
    (message,) = [text for text in ours.messages if "left out" in text]
    assert message.endswith(": 1")
    fours = ours.atoms[[5, 0]]
    assert tj.dihedrals(traj, fours).values.tobytes() == ours.values[:, [5, 0]].tobytes()
    with raises(tj.SelectionError):
        tj.dihedrals(traj, [[0, 1, 2, 3]])
    with raises(tj.SelectionError):
        tj.dihedrals(traj.select("resid 101"))
    # By indices in the structure of the whole, and in that of the tag alone.
    chosen = traj.select(ours.atoms[:, 1])
    (kept,) = [kept for kept in own_wet.store.show("wet").tags if kept.tag.name == "end"]
    beside = kept.paths[0].with_suffix(".gro")
    same = tj.rmsd(plain.select(ours.atoms[:, 1]), reference=own_wet.gro)
    assert tj.rmsd(chosen, reference=own_wet.gro).values.tobytes() == same.values.tobytes()
    # By text, too: the tag's own structure counts its atoms from 0.
    text = f"index {' '.join(map(str, ours.atoms[:, 1]))}"
    by_text = tj.rmsd(traj.select(text), reference=beside)
    assert by_text.values.tobytes() == tj.rmsd(chosen, reference=beside).values.tobytes()
    # Both are frame 0, in steps of 0.01 Å.
    assert np.allclose(tj.rmsd(chosen, reference=beside).values, tj.rmsd(chosen).values, atol=1e-4)


def test_missing_data_sets_and_tags_are_errors(
    wet: Solvated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error lists those that exist; a path outside of a store is no data set."""
    with raises(tj.StoreError):
        tj.open(f"{wet.path}@protien")
    with raises(tj.StoreError):
        tj.open(wet.folder / "store" / "dry")
    with raises(tj.StoreError):
        tj.Store(wet.folder)
    with raises(TypeError):
        tj.open(wet.folder / "wet")
    with raises(ValueError):
        tj.open(wet.gro, wet.path)
    with raises(ValueError):
        tj.open(wet.path, continuous=True)
    with raises(TypeError):
        wet.store.open("wet", tags="protein")
    monkeypatch.chdir(wet.folder / "store")
    assert find_dataset("wet") is not None
    traj = tj.open("wet@ion")
    monkeypatch.chdir("/")
    assert traj.label == "wet@ion"
    assert traj.select("all").n_atoms == 4


def test_only_a_trajectory_can_be_added_to_a_store(wet: Solvated) -> None:
    """The error names the given object and the expected one."""
    universe = mda.Universe(wet.gro, wet.xtc)
    store = wet.store
    others = [
        wet.gro,
        "wet.xtc",
        universe,
        universe.atoms,
        tj.open(wet.gro, wet.xtc).select([0]),
        None,
    ]
    for given in others:
        for method in (store.add, store.append):
            with raises(TypeError):
                method("wet", given)
    with raises(tj.StoreError):
        store.add("dry", tj.open(None, wet.xtc))
    with raises(tj.StoreError):
        store.add("dry", store.open("wet"))
    with raises(TypeError):
        store.open(5)
    for profile in (5, {"tags": []}):
        with pytest.raises(TypeError):
            store.add("dry", tj.open(wet.gro, wet.xtc), profile=profile)
    assert store.list() == ("wet",)


@each_own_wet
def test_analysis_is_logged(own_wet: Solvated) -> None:
    """The entry has frames, tags and bytes, without those that were read in preparation."""
    traj = tj.open(own_wet.path)
    result = tj.rmsd(traj.select(CALPHA), frames=slice(0, 6))
    (use,) = uses(own_wet)
    assert use["what"] == "rmsd"
    assert (use["tags"], use["frames"]) == (["protein"], 6)
    assert use["bytes"] == {"protein": result.report["bytes_read"]}
    tj.rdf(traj.select("resname NA+"), "name OW")
    use = uses(own_wet)[1]
    assert (use["what"], use["tags"]) == ("rdf", ["ion", "water"])
    del traj
    assert len(uses(own_wet)) == 2


def test_bytes_of_tags_on_one_tier_are_counted_separately(own_wet: Solvated) -> None:
    """Ions are 4 atoms of 44,340 on their tier; each tag costs the bytes of its file."""
    traj = tj.open(own_wet.path)
    chosen = traj.select("resname NA+")
    for _ in range(2):
        report = tj.rmsd(chosen, groups=["resname SOL"]).report
    assert report["tiers"] == {"fast": 0, "slow": report["bytes_read"]}
    assert sum(report["tags"].values()) == report["bytes_read"]
    assert report["tags"]["protein"] == 0
    by_tag = {tag: size for tag, size in sizes(own_wet).items() if tag != "protein"}
    assert report["tags"] == {"protein": 0, **by_tag}
    assert uses(own_wet)[1]["bytes"] == by_tag
    two = tj.ProcessPool(workers=2)
    assert tj.rmsd(traj.select("resname SOL"), pool=two).report["tags"]["water"] > 0
    # Blocks and reads as well; only open tags are listed.
    part = tj.open(f"{own_wet.path}@w,i")
    part.read(frames=[0])
    del part
    read = uses(own_wet)[-1]
    assert (read["what"], read["tags"]) == ("read", ["ion", "water"])
    assert 0 < read["bytes"]["ion"] < 10_000 < read["bytes"]["water"]


def test_reads_of_a_trajectory_are_one_entry(own_wet: Solvated) -> None:
    """It is written when the trajectory is released; copies have entries of their own."""
    traj = tj.open(own_wet.path)
    calpha = traj.select(CALPHA)
    for frame in range(5):
        calpha.read(frames=[frame])
    for block in calpha.blocks(2):
        if block.frames[0] == 4:
            break
    assert not (own_wet.path / "access.jsonl").exists()
    del block, calpha, traj
    (use,) = uses(own_wet)
    assert (use["what"], use["tags"], use["frames"]) == ("read", ["protein"], 11)
    own_wet.store.get("wet", own_wet.folder / "ions.xtc", tags=["ion"])
    use = uses(own_wet)[1]
    assert (use["what"], use["tags"], use["frames"]) == ("convert", ["ion"], 10)


def test_log_that_cannot_be_written_is_no_error(own_wet: Solvated) -> None:
    """The store is on a read-only disk, for example."""
    (own_wet.path / "access.jsonl").mkdir()
    traj = tj.open(own_wet.path)
    assert tj.rmsd(traj.select(CALPHA)).values.shape == (10,)
    assert own_wet.store.stats("wet").uses == 0


def test_statistics_add_up(own_wet: Solvated) -> None:
    """They state when dividing has paid off, and which tags to move."""
    store, entry = own_wet.store, own_wet.store.show("wet")
    stats = store.stats("wet")
    assert (stats.uses, stats.saved, stats.paid, stats.uses_to_pay) == (0, 0, None, None)
    assert stats.cost == entry.source_size + entry.size
    assert stats.advice == ()
    calpha = tj.open(own_wet.path).select(CALPHA)
    for _ in range(2):
        result = tj.rmsd(calpha)
    stats = store.stats("wet")
    assert stats.saved == 2 * (entry.source_size - result.report["bytes_read"])
    assert stats.read == 2 * result.report["bytes_read"]
    assert stats.uses_to_pay == 1
    for _ in range(4):
        tj.rmsd(calpha)
    with (own_wet.path / "access.jsonl").open("a") as record:
        record.write('half a li\n{"at": 3}\n')
    stats = store.stats("wet")
    assert stats.uses == 6
    assert stats.paid == uses_until(own_wet, 3)
    by_name = {tag.name: tag for tag in stats.tags}
    assert (by_name["protein"].uses, by_name["ion"].uses) == (6, 0)
    assert by_name["ion"].last is None
    assert stats.advice == ()
    store.move("wet", "protein", "slow")
    store.move("wet", "ion", "fast")
    move, back = store.stats("wet").advice
    assert move.startswith("move protein to fast: 6 of 6 uses")
    assert back.startswith("move ion to slow: 0 of 6 uses")


def uses_until(wet: Solvated, count: int) -> object:
    """Return the time of the entry of that number."""
    lines = (wet.path / "access.jsonl").read_text().splitlines()
    return json.loads(lines[count - 1])["at"]


@each_own_wet
def test_readers_continue_while_a_tag_moves(own_wet: Solvated) -> None:
    """These are readers that were opened before, and users of the old path."""
    store = own_wet.store
    before = tj.open(own_wet.path)
    wanted = before.read(frames=[0]).positions.tobytes()
    (old,) = [kept.paths[0] for kept in store.show("wet").tags if kept.tag.name == "protein"]
    store.move("wet", "protein", "slow")
    assert before.read(frames=[0]).positions.tobytes() == wanted
    assert tj.open(None, old).n_atoms == 3341
    again = tj.open(own_wet.path)
    assert again.read(frames=[0]).positions.tobytes() == wanted
    report = tj.rmsd(again.select(CALPHA)).report
    assert report["tiers"] == {"fast": 0, "slow": report["bytes_read"]}
    with raises(tj.StoreError):
        store.move("wet", "protein", "tape")
    assert store.verify("wet") == ()


@each_own_wet
def test_grown_trajectory_is_appended(own_wet: Solvated) -> None:
    """It is appended twice; other files continue it, and a rewritten file is refused."""
    store, whole = own_wet.store, own_wet.xtc.read_bytes()
    assert store.append("wet", tj.open(None, own_wet.xtc)).n_frames == 0
    own_wet.xtc.write_bytes(whole * 2)
    assert store.append("wet", tj.open(None, own_wet.xtc)).n_frames == 10
    more = own_wet.folder / "more.xtc"
    more.write_bytes(whole)
    assert store.append("wet", tj.open(None, more)).n_frames == 10
    traj = tj.open(own_wet.path)
    assert traj.n_frames == 30
    plain = tj.rmsd(tj.open(own_wet.gro, own_wet.xtc, more).select(CALPHA))
    assert tj.rmsd(traj.select(CALPHA)).values.tobytes() == plain.values.tobytes()
    assert store.verify() == ()
    own_wet.xtc.write_bytes(whole[::-1])
    with pytest.raises((tj.StoreError, tj.FormatError)):
        store.append("wet", tj.open(None, own_wet.xtc))
    assert tj.open(own_wet.path).n_frames == 30


@each_own_wet
def test_another_path_of_the_source_adds_no_frames(own_wet: Solvated) -> None:
    """All of its frames would be stored twice."""
    link = own_wet.folder / "link.xtc"
    link.symlink_to(own_wet.xtc)
    assert own_wet.store.append("wet", tj.open(None, link)).n_frames == 0
    assert tj.open(own_wet.path).n_frames == 10


def test_relative_path_of_a_store_outlives_a_change_of_folder(
    own_wet: Solvated, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path is that of the folder in which it was named."""
    monkeypatch.chdir(own_wet.folder)
    store = tj.Store("store")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert store.open("wet").n_frames == 10
    assert store.stats("wet").uses == 0


def test_few_files_of_many_stay_open(adk: Adk, tmp_path: Path) -> None:
    """A data set that was appended to often is read with few open files over all tags."""
    parts = tj.split(tj.open(None, adk.xtc), tmp_path / "parts", segments=49)
    tags = [f"t{k};index {500 * k}:{500 * k + 499}" for k in range(6)]
    profile = write_profile(tmp_path, *tags, "rest;rest")
    store = tj.Store(tmp_path / "store", create=True)
    store.add("adk", tj.open(adk.psf, parts[0].path), profile=profile)
    for part in parts[1:]:
        store.append("adk", tj.open(None, part.path))
    before = len(os.listdir("/proc/self/fd"))
    opened = store.open("adk")
    assert np.array_equal(opened.read().positions, tj.open(None, adk.xtc).read().positions)
    assert len(os.listdir("/proc/self/fd")) - before < 200


def test_file_names_that_are_not_text_are_refused_by_stores(adk: Adk, tmp_path: Path) -> None:
    """Such files are read and reported; a store would have to keep the name."""
    path = Path(shutil.copy(adk.xtc, tmp_path / os.fsdecode(b"adk-\xff.xtc")))
    traj = tj.open(adk.psf, path)
    page = tmp_path / "report.html"
    tj.rmsd(traj.select(CALPHA)).report.save(page)
    assert "adk-\\udcff.xtc" in page.read_text()
    store = tj.Store(tmp_path / "store", create=True)
    with raises(tj.StoreError):
        store.add("adk", traj)
    assert {path.name for path in (tmp_path / "store").iterdir()} == {"store.json", "lock"}
    with raises(tj.StoreError):
        tj.Store(page)


def test_file_beside_data_sets_is_a_file(own_wet: Solvated) -> None:
    """The folder does not matter."""
    beside = own_wet.path.with_name("plain.xtc")
    beside.write_bytes(own_wet.xtc.read_bytes())
    assert tj.open(own_wet.gro, beside).n_frames == 10


def test_file_that_is_given_twice_counts_twice(wet: Solvated, tmp_path: Path) -> None:
    """It counts in the bytes that dividing read, and in the bytes saved."""
    store = tj.Store(tmp_path / "store", create=True)
    store.add("twice", tj.open(wet.gro, wet.xtc, wet.xtc))
    entry = store.show("twice")
    size = wet.xtc.stat().st_size
    assert entry.source_sizes == ((wet.xtc, size), (wet.xtc, size))
    assert entry.source_size == 2 * size
    assert store.stats("twice").cost == 2 * size + entry.size
    assert store.append("twice", tj.open(None, wet.xtc, wet.xtc)).n_frames == 0


def test_unknown_tier_is_an_error(own_wet: Solvated) -> None:
    """Every request names it; the settings file may come from another store."""
    path = own_wet.path.parent / "store.json"
    settings = json.loads(path.read_text())
    del settings["tiers"]["slow"]
    path.write_text(json.dumps(settings))
    store = own_wet.store
    asked: tuple[Callable[[], object], ...] = (
        lambda: store.show("wet"),
        lambda: store.stats("wet"),
        lambda: store.open("wet"),
        lambda: store.remove("wet"),
    )
    for ask in asked:
        with raises(tj.StoreError):
            ask()


@each_own_wet
def test_missing_files_of_open_tags_are_explained(own_wet: Solvated) -> None:
    """Tags are opened on first use: a reader that comes too late gets the reason."""
    store = own_wet.store
    before = store.open("wet")
    store.retag("wet", own_wet.profile)
    with raises(tj.StoreError):
        before.read(frames=[0])
    before = store.open("wet")
    calpha = before.select(CALPHA)
    store.retag("wet", own_wet.profile)
    with raises(tj.StoreError):
        tj.rmsd(calpha, pool=tj.ProcessPool(workers=2, task_frames=5))
    before = store.open("wet")
    store.remove("wet")
    for ask in (lambda: before.read(frames=[0]), lambda: before.select(CALPHA)):
        with raises(tj.StoreError):
            ask()


def test_unmounted_tier_is_an_error(own_wet: Solvated) -> None:
    """No file is written below its mount point, and the error asks whether it is mounted."""
    slow, away = own_wet.folder / "slow", own_wet.folder / "away"
    traj = tj.open(own_wet.path)
    slow.rename(away)
    slow.mkdir()
    with raises(tj.StoreError):
        traj.read(frames=[0])
    source = tj.open(own_wet.gro, own_wet.xtc)
    with raises(tj.StoreError):
        own_wet.store.add("two", source, profile=own_wet.profile)
    (problem,) = own_wet.store.verify("wet")
    assert "nothing seems to be mounted" in problem
    assert list(slow.iterdir()) == []


def test_data_set_is_retagged(own_wet: Solvated) -> None:
    """It takes one step, from the store's own files; a coarser precision must be requested."""
    store, wanted = own_wet.store, tj.open(own_wet.gro, own_wet.xtc).read()
    text = own_wet.profile.read_text()
    halves = text.replace('"resname NA+"', '"resid 1:500 and not protein"')
    own_wet.profile.write_text(halves)
    own_wet.xtc.unlink()
    store.retag("wet", own_wet.profile)
    assert tj.open(own_wet.path).read().positions.tobytes() == wanted.positions.tobytes()
    coarse = halves.replace('"rest"', '"rest"\nformat = "xtc"\nprecision = 50\nlossy = true')
    own_wet.profile.write_text(coarse)
    store.retag("wet", own_wet.profile)
    positions = tj.open(own_wet.path).read().positions
    water = tj.open(own_wet.path).dataset
    assert water is not None
    kept = np.setdiff1d(np.arange(47681), tj.open(f"{own_wet.path}@water").dataset.origin)
    assert positions[:, kept].tobytes() == wanted.positions[:, kept].tobytes()
    off = np.abs(positions - wanted.positions).max()
    assert 0.05 < off <= 0.1001, "half a step of 0.2 Å"
    assert store.verify() == ()


@each_wet
def test_structures_lie_beside_the_tags(wet: Solvated) -> None:
    """They have the atoms with names at frame 0, and their numbers in the original, from 1."""
    (kept,) = [kept for kept in wet.store.show("wet").tags if kept.tag.name == "ion"]
    path = kept.paths[0]
    beside = tj.open(path.with_suffix(".gro"), path)
    assert beside.select("resname NA+").n_atoms == 4
    head, numbers = path.with_suffix(".ndx").read_text().splitlines()
    assert head == "[ ion ]"
    assert [int(number) - 1 for number in numbers.split()] == [47677, 47678, 47679, 47680]
    first = beside.universe.atoms.positions
    assert first.tobytes() == tj.open(f"{wet.path}@ion").read(frames=[0]).positions.tobytes()


def test_links_follow_the_files(own_wet: Solvated) -> None:
    """Each file has a link, numbered if there are several; links to removed files are removed."""
    folder = own_wet.folder / "links"
    made = own_wet.store.link(folder)
    tags = ("protein", "ion", "water")
    assert {path.name for path in made} == {
        *(f"wet@{tag}{suffix}" for tag in tags for suffix in (".xtc", ".gro", ".ndx")),
        *(f"wet.{tag[0]}.tjt" for tag in tags),
    }
    words = (folder / "wet.i.tjt").read_text().split()
    assert words == ["trajet-pointer", "1", "dataset", str(own_wet.path), "tag", "ion"]
    ions = tj.open(folder / "wet@ion.gro", folder / "wet@ion.xtc")
    assert (
        ions.read().positions.tobytes() == tj.open(f"{own_wet.path}@ion").read().positions.tobytes()
    )
    own_wet.xtc.write_bytes(own_wet.xtc.read_bytes() * 2)
    own_wet.store.append("wet", tj.open(None, own_wet.xtc))
    own_wet.store.link(folder)
    parts = [folder / f"wet@ion-00{k}.xtc" for k in (0, 1)]
    assert tj.open(folder / "wet@ion.gro", *parts).n_frames == 20
    own_wet.store.remove("wet")
    (folder / "wet@ion.txt").write_text("a note")
    assert own_wet.store.link(folder) == ()
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {
        "wet@ion.txt"
    }


def test_links_follow_a_tag_to_another_format(own_wet: Solvated) -> None:
    """The link to its former files is removed."""
    store, folder = own_wet.store, own_wet.folder / "links"
    store.link(folder)
    profile = own_wet.profile.with_name("dcd.toml")
    form = 'name = "ion"\nformat = "dcd"\nlossy = true'
    profile.write_text(own_wet.profile.read_text().replace('name = "ion"', form))
    store.retag("wet", profile)
    store.link(folder)
    names = {path.name for path in folder.iterdir() if path.name.startswith("wet@ion")}
    assert names == {"wet@ion.dcd", "wet@ion.gro", "wet@ion.ndx"}


def test_links_of_a_damaged_data_set_stay(
    own_wet: Solvated, caplog: pytest.LogCaptureFixture
) -> None:
    """They are unchanged; those of the other data sets are made."""
    store, folder = own_wet.store, own_wet.folder / "links"
    for name in ("dry", "also"):
        store.add(name, tj.open(own_wet.gro, own_wet.xtc), profile=own_wet.profile)
    before = store.link(folder)
    store.remove("also")
    (store.folder / "dry" / "manifest.json").write_text("{")
    after = store.link(folder)
    assert {path.name.partition("@")[0].partition(".")[0] for path in after} == {"wet"}
    assert set(folder.iterdir()) == {path for path in before if not path.name.startswith("also")}
    (message,) = caplog.messages
    assert str(store.folder / "dry" / "manifest.json") in message


def test_links_to_an_unmounted_tier_stay(own_wet: Solvated) -> None:
    """Damaged data sets keep theirs; links of removed data sets and tags are removed."""
    store, folder = own_wet.store, own_wet.folder / "links"
    for name in ("dry", "also"):
        store.add(name, tj.open(own_wet.gro, own_wet.xtc), profile=own_wet.profile)
    text = own_wet.profile.read_text()
    before = store.link(folder)
    own_wet.profile.write_text(text.replace('name = "ion"', 'name = "salt"'))
    store.retag("wet", own_wet.profile)
    store.remove("also")
    (store.folder / "dry" / "manifest.json").write_text("{")
    slow = own_wet.folder / "slow"
    slow.rename(own_wet.folder / "away")
    slow.mkdir()
    store.link(folder)
    stay = {path for path in before if not path.name.startswith(("also", "wet@ion"))}
    assert {path for path in folder.iterdir() if "salt" not in path.name} == stay
    assert (folder / "dry@water.gro").is_symlink()
    slow.rmdir()
    (own_wet.folder / "away").rename(slow)
    store.link(folder)
    assert (folder / "wet@salt.gro").exists()


@pytest.mark.parametrize("name", ["wet@ion.xtc", "wet.i.tjt"])
def test_link_replaces_no_other_file(own_wet: Solvated, name: str) -> None:
    """A file of that name stays."""
    folder = own_wet.folder / "links"
    folder.mkdir()
    (folder / name).write_text("mine")
    with raises(tj.OutputError):
        own_wet.store.link(folder)
    assert [path.name for path in folder.iterdir()] == [name]


@each_own_wet
def test_removed_data_set_leaves_no_files(own_wet: Solvated) -> None:
    """The original file stays."""
    calpha = tj.open(own_wet.path).select(CALPHA)
    tj.rmsd(calpha)
    before = own_wet.xtc.read_bytes()
    own_wet.store.remove("wet")
    assert own_wet.store.list() == ()
    assert own_wet.xtc.read_bytes() == before
    left = [path.name for tier in ("fast", "slow") for path in (own_wet.folder / tier).iterdir()]
    assert all(name.startswith(".trajet-tier-") for name in left)
    assert len(left) == 2
    assert not own_wet.path.exists()
    own_wet.store.add("wet", tj.open(own_wet.gro, own_wet.xtc), profile=own_wet.profile)
    assert own_wet.store.stats("wet").uses == 0


def test_changed_byte_is_found(own_wet: Solvated) -> None:
    """It may be in any file, and its position is named."""
    (kept,) = [kept for kept in own_wet.store.show("wet").tags if kept.tag.name == "protein"]
    data = bytearray(kept.paths[0].read_bytes())
    data[len(data) // 2] ^= 16
    kept.paths[0].write_bytes(data)
    (problem,) = own_wet.store.verify("wet")
    assert str(kept.paths[0]) in problem
    assert "frame 5" in problem or "frame 4" in problem


def test_damage_is_not_retagged(own_wet: Solvated) -> None:
    """It would get checksums that fit it."""
    store, path = own_wet.store, own_wet.store.show("wet").tags[0].paths[0]
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    before = store.verify("wet")
    assert len(before) == 1
    with raises(tj.TrajetError):
        store.retag("wet", own_wet.profile)
    assert store.verify("wet") == before


ANEW = """
import json, sys
from pathlib import Path
from helpers import killed_store
from trajet import _trajet

folder, xtc = Path(sys.argv[1]), Path(sys.argv[2])
store, any_ = _trajet.Store(folder, create=True), folder / "any.gro"
any_.write_text("any")
halves = killed_store.profile(folder, {"a": [[0, 20_000]], "b": [[20_000, 47_681]]})
store.add("wet", killed_store.opened(xtc), halves, any_, [[], []], threads=2)
parts = {"c": [[0, 20_000]], "d": [[20_000, 30_000]], "e": [[30_000, 47_681]]}

def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])

(segment,) = json.loads(store.manifest("wet"))["segments"]
before = bytes_read()
store.retag("wet", killed_store.profile(folder, parts), [[], [], []], threads=2)
print(bytes_read() - before, sum(file["size"] for file in segment["files"]))
"""


def test_retagging_reads_the_data_once(wet: Solvated, tmp_path: Path) -> None:
    """Checksums need no second reading, as the system's count of read bytes shows."""
    xtc = tmp_path / "long.xtc"
    xtc.write_bytes(wet.xtc.read_bytes() * 6)
    words = [sys.executable, "-c", ANEW, tmp_path / "store", xtc]
    done = execute(*words)
    read, held = map(int, done.stdout.split())
    assert held <= read < 1.1 * held


def test_failed_add_leaves_no_tier(wet: Solvated, tmp_path: Path) -> None:
    """Neither a tier nor a limit of its profile is kept."""
    store = tj.Store(tmp_path / "store", create=True)
    tag = '[[tags]]\nname = "all"\nshort = "a"\nselect = "all"\ntier = "only"\n'
    for folder, limit in (("one", "1 kB"), ("other", "1 GB")):
        profile = tmp_path / f"{folder}.toml"
        profile.write_text(f'[tiers]\nonly = {{folder = "{folder}", limit = "{limit}"}}\n{tag}')
        if limit == "1 kB":
            with raises(tj.StoreError):
                store.add("wet", tj.open(wet.gro, wet.xtc), profile=profile)
            assert store.tiers == {}
            assert not (tmp_path / folder).exists()
    store.add("wet", tj.open(wet.gro, wet.xtc), profile=profile)
    assert store.tiers["only"].folder == tmp_path / "other"


def test_full_temporary_folder_is_named(
    wet: Solvated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full temporary folder ends the command cleanly, and the error names the folder."""
    temporary, store = tmp_path / "temporary", tj.Store(tmp_path / "store", create=True)
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with small_disk(4096), raises(tj.OutputError):
        store.add("wet", tj.open(wet.gro, wet.xtc))
    assert store.list() == ()
    assert list(temporary.iterdir()) == []
