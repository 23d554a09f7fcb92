"""A lossy tag may omit values: the whole omits them too, and the other tags keep them."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.made_files import write_names, write_trr, write_with_mdanalysis
from helpers.made_stores import write_profile
from helpers.messages import raises
from helpers.mounted_stores import mounted

N_ATOMS = 30
# Velocities and forces in some frames, as GROMACS writes them; TRR lists the parts of each frame.
SOME = ["bxuf", "bx", "bxu", "bx", "bxf", "bxuf"]
FIELDS = ("velocities", "forces")


def lossy(form: str) -> tuple[str, ...]:
    """Return two exact tags, and one that may lose values."""
    rest = f'water;rest;format = "{form}";lossy = true'
    return ("front;index 0:9", "few;index 13:16", rest)


FRONT, WATER = np.r_[0:10, 13:17], np.setdiff1d(np.arange(N_ATOMS), np.r_[0:10, 13:17])


def sourced(folder: Path, ending: str, held: list[str] = SOME) -> tj.Trajectory:
    """Return a trajectory with velocities and forces."""
    path = folder / f"run{ending}"
    if ending == ".trr":
        write_trr(path, held, N_ATOMS, "f4")
    else:
        amber = write_with_mdanalysis(path.with_suffix(".nc"), N_ATOMS, len(held), fields=True)
        if ending != ".nc":
            tj.convert(tj.open(None, amber), path, force=True)
    return tj.open(write_names(folder / "top.gro", N_ATOMS), path)


def added(folder: Path, form: str, ending: str = ".trr", held: list[str] = SOME) -> tj.Store:
    """Return a store with it as `run`, one tag in a lossy format."""
    store = tj.Store(folder / "store", create=True)
    store.add("run", sourced(folder, ending, held), profile=write_profile(folder, *lossy(form)))
    return store


def vectors(path: Path | str, kind: str, atoms: np.ndarray | None = None) -> np.ndarray | None:
    """Return velocities or forces of all frames, or None if no frame has them."""
    try:
        is_file = bool(Path(path).suffix)
        traj = tj.open(None, path, sidecar=False) if is_file else tj.open(path)
        block = traj.read(atoms=atoms, **{kind: True})
    except tj.FormatError:
        return None
    values = getattr(block, kind)
    assert isinstance(values, np.ndarray)
    return values


def same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Return whether both are equal in every bit; NaN equals NaN."""
    return one is not None and other is not None and np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("form", ["xtc", "dcd", "ncdf", "h5md"])
@pytest.mark.parametrize("ending", [".trr", ".nc", ".h5md"])
def test_whole_has_the_fields_that_all_tags_have(form: str, ending: str, tmp_path: Path) -> None:
    """A message names omitted fields and the tags that omit them."""
    held = ["bxuf"] * 4 if form == "ncdf" or ending != ".trr" else SOME
    store, source = added(tmp_path, form, ending, held), tmp_path / f"run{ending}"
    wanted = tj.open(None, source).read()
    keeps = form in ("ncdf", "h5md")
    assert store.show("run").tags[2].omitted_fields == (() if keeps else FIELDS)
    for to in (".trr", ".nc", ".h5md"):
        if to != ".trr" and len(set(held)) > 1 and keeps:
            # Frames differ in their parts, which these formats do not take.
            continue
        done = store.get("run", tmp_path / f"whole{to}", allow_loss=True)
        messages = [
            message for message in done.messages if message.endswith("lossy tags omit: water")
        ]
        assert len(messages) == (0 if keeps else 2), done.messages
        got = tj.open(None, done.path).read()
        assert np.abs(got.positions - wanted.positions).max() <= 0.0051
        # TRR has nm in single precision.
        assert np.allclose(got.positions[:, FRONT], wanted.positions[:, FRONT], rtol=2e-7, atol=0)
        assert np.array_equal(got.times, wanted.times)
        assert np.allclose(got.cells, wanted.cells, rtol=1e-5)
        for kind in FIELDS:
            found, there = vectors(done.path, kind), vectors(source, kind)
            assert there is not None
            if not keeps:
                assert found is None
                continue
            assert found is not None
            assert np.allclose(found, there, rtol=1e-6, equal_nan=True)
    for to in (".xtc", ".dcd"):
        done = store.get("run", tmp_path / f"whole{to}", allow_loss=True)
        assert done.n_frames == len(held)
    assert store.verify() == ()


@pytest.mark.parametrize("form", ["xtc", "dcd"])
def test_omitted_fields_are_errors_that_name_the_tag(form: str, tmp_path: Path) -> None:
    """Atoms of other tags have every bit of their values."""
    store = added(tmp_path, form)
    path, source = tmp_path / "store" / "run", tmp_path / "run.trr"
    for kind in FIELDS:
        for atoms in (None, WATER[:1], np.r_[0:30:7]):
            with raises(tj.FormatError):
                tj.open(path).read(atoms=atoms, **{kind: True})
        with raises(tj.FormatError):
            tj.open(f"{path}@few,water").read(**{kind: True})
        there = vectors(source, kind)
        assert there is not None
        assert same(vectors(path, kind, FRONT), there[:, FRONT])
        assert same(vectors(f"{path}@few", kind), there[:, 13:17])
        done = store.get("run", tmp_path / "front.trr", tags=["front", "few"], force=True)
        assert done.messages == ()
        assert same(vectors(done.path, kind), there[:, FRONT])
        done = store.get("run", tmp_path / "some.trr", tags=["few", "water"], force=True)
        assert len(done.messages) == 2
        assert vectors(done.path, kind) is None


@pytest.mark.parametrize("ending", [".trr", ".nc", ".h5md"])
@pytest.mark.parametrize("form", ["xtc", "h5md"])
def test_new_tags_keep_every_value_of_the_old(ending: str, form: str, tmp_path: Path) -> None:
    """Atoms may be in any tags; frames that are appended later are like the others."""
    held = SOME if ending == ".trr" else ["bxuf"] * 6
    store, source = added(tmp_path, form, ending, held), tmp_path / f"run{ending}"
    path = tmp_path / "store" / "run"
    keeps = form == "h5md"
    before = {kind: vectors(path, kind, FRONT) for kind in FIELDS}
    positions = tj.open(path).read().positions
    tags = ("all of both;index 0:9 13:16", "first;index 10:12", "rest;rest")
    new = write_profile(tmp_path, *(tag.replace("all of both", "both") for tag in tags))
    done = store.retag("run", new)
    assert len(done.messages) == 2
    assert store.verify() == ()
    assert tj.open(path).read().positions.tobytes() == positions.tobytes()
    for kind in FIELDS:
        there = vectors(source, kind)
        assert there is not None
        assert same(before[kind], there[:, FRONT])
        assert same(vectors(path, kind, FRONT), there[:, FRONT])
        assert (vectors(path, kind) is None) != keeps
    assert [kept.omitted_fields for kept in store.show("run").tags] == [
        (),
        *[() if keeps else FIELDS] * 2,
    ]
    # Once more, to other tags, and after frames were appended.
    more = sourced(tmp_path, ending, [*held, *held[:2]])
    assert store.append("run", more).n_frames == 2
    store.retag("run", write_profile(tmp_path, "a;index 0:5", "b;index 6:9 13:16", "c;rest"))
    assert store.verify() == ()
    for kind in FIELDS:
        there = vectors(source, kind)
        assert there is not None
        assert same(vectors(path, kind, FRONT), there[:, FRONT])
        assert (vectors(path, kind) is None) != keeps
    done = store.get("run", tmp_path / "whole.trr")
    assert done.n_frames == len(held) + 2
    assert len(
        [message for message in done.messages if message.endswith("lossy tags omit: c")]
    ) == (2 - 2 * keeps)


@pytest.mark.parametrize("ending", [".trr", ".nc", ".h5md"])
def test_new_tags_must_not_lose_values_of_some_atoms(ending: str, tmp_path: Path) -> None:
    """It is refused and the data set is unchanged, unless loss is requested."""
    held = SOME if ending == ".trr" else ["bxuf"] * 6
    store, path = added(tmp_path, "xtc", ending, held), tmp_path / "store" / "run"
    before = (path / "manifest.json").read_bytes()
    for form in ("", ';format = "h5md";lossy = true', ';format = "ncdf";lossy = true'):
        mixed = write_profile(tmp_path, f"mixed;index 0:11{form}", "others;rest")
        with raises(tj.StoreError):
            store.retag("run", mixed)
        assert (path / "manifest.json").read_bytes() == before
    asked = write_profile(
        tmp_path, 'mixed;index 0:11;format = "xtc";lossy = true', "few;index 13:16", "rest;rest"
    )
    store.retag("run", asked)
    there = vectors(tmp_path / f"run{ending}", "velocities")
    assert there is not None
    assert same(vectors(f"{path}@few", "velocities"), there[:, 13:17])
    assert vectors(f"{path}@mixed", "velocities") is None
    assert store.verify() == ()


def test_frames_with_values_that_a_tag_would_lose_are_not_appended(tmp_path: Path) -> None:
    """NetCDF fixes the parts of all frames: the first of the new ones has no velocities."""
    store = added(tmp_path, "ncdf", held=["bxuf"] * 3)
    more = sourced(tmp_path, ".trr", ["bxuf"] * 3 + ["bx", "bxuf"])
    with raises(tj.StoreError):
        store.append("run", more)
    assert store.show("run").n_frames == 3


def test_mounted_whole_equals_the_export(tmp_path: Path) -> None:
    """Its size is known beforehand; a text file beside it lists omitted fields."""
    store = added(tmp_path, "xtc")
    store.get("run", tmp_path / "whole.trr")
    with mounted(store.folder, tmp_path / "shown") as shown:
        whole = (tmp_path / "whole.trr").read_bytes()
        assert (shown / "run.trr").stat().st_size == len(whole)
        assert (shown / "run.trr").read_bytes() == whole
        readme = (shown / "run.README").read_text().splitlines()
        assert len(readme) == 2
        assert "have no velocities, which these lossy tags omit: water" in readme[0]
        few = tj.open(None, shown / "run@few.trr", sidecar=False).read(forces=True)
        there = vectors(tmp_path / "run.trr", "forces")
        assert there is not None
        assert same(few.forces, there[:, 13:17])
        store.retag("run", write_profile(tmp_path, "front;index 0:9 13:16", "water;rest"))
        assert (shown / "run.trr").read_bytes() == whole
        assert shown.end()[0] == 0


def test_format_that_would_omit_later_fields_is_refused_by_retag(tmp_path: Path) -> None:
    """All frames of NCDF have the parts of the first one: `add` has a message on the loss."""
    held = ["bx", "bxuf", "bxuf"]
    store, source = tj.Store(tmp_path / "store", create=True), sourced(tmp_path, ".trr", held)
    water = "water;rest"
    store.add("run", source, profile=write_profile(tmp_path, "front;index 0:9", water))
    before = [vectors(tmp_path / "store" / "run", kind) for kind in FIELDS]
    form = 'format = "ncdf";lossy = true'
    late = write_profile(tmp_path, "front;index 0:9", f"{water};{form}")
    with raises(tj.StoreError):
        store.retag("run", profile=late)
    for kind, vectors_before in zip(FIELDS, before, strict=True):
        assert same(vectors(tmp_path / "store" / "run", kind), vectors_before)
    done = store.add("other", source, profile=late)
    (message,) = [message for message in done.messages if message.startswith("water: left out")]
    for kind in FIELDS:
        words = f"{kind}, where its first frame has none (in 2 of 3 frames, first in frame 1)"
        assert words in message
