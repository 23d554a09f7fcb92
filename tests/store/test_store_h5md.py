"""H5MD is divided exactly: every tag's file has the numbers of the original."""

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.commands import python
from helpers.divided_stores import KINDS, division, made, spec, vectors
from helpers.extent import examples
from helpers.made_files import write_names
from helpers.made_hdf5 import (
    LAYOUTS,
    N_ATOMS,
    N_FRAMES,
    truth_of,
    write_as_gromacs,
    write_h5md,
    write_values,
    write_with_mdanalysis,
)
from helpers.made_stores import write_profile
from helpers.messages import raises
from helpers.mounted_stores import becomes_true, mounted
from helpers.small_disk import small_disk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from MDAnalysis.coordinates.H5MD import H5MDReader
from trajet import _trajet, h5md

ELEMENTS = {"positions": "position", "velocities": "velocity", "forces": "force"}
TIMES = {"ps": 1.0, "fs": 1e-3, "ns": 1e3}
LENGTHS = {"Angstrom": 1.0, "nm": 10.0, "pm": 0.01}
DTYPES = ("<f4", "<f8", ">f4", ">f8")
TAGS = {"front": "index 0:9 20:24", "back": "index 10:19", "few": "index 25:27", "rest": "rest"}


def opened(*paths: Path, **options: Any) -> _trajet.Reader:
    """Open H5MD files."""
    return tj.open(None, *paths, **options).source.reader


def random_file(path: Path, seed: int) -> Path:
    """Write a random valid H5MD file."""
    draw = np.random.default_rng(seed)

    def numbers(*shape: int) -> np.ndarray:
        return (draw.normal(size=shape) * 10.0 ** draw.integers(-2, 3)).astype(draw.choice(DTYPES))

    layout = LAYOUTS[draw.choice([*LAYOUTS])]
    n = 3 if "compact" in layout else N_FRAMES
    steps = np.cumsum(draw.integers(1, 90, n)).astype(draw.choice(["i4", "i8", "u4"]))
    edges = draw.choice(["none", "fixed", "lengths", "vectors", "placeholders"])
    shapes = {"none": (), "fixed": (3,), "lengths": (n, 3), "vectors": (n, 3, 3)}
    write_h5md(
        path,
        numbers(n, N_ATOMS, 3),
        layout=layout,
        unit=str(draw.choice([*LENGTHS])),
        step=[3, steps][draw.integers(2)],
        time=[None, False, 0.25, numbers(n)][draw.integers(4)],
        time_unit=str(draw.choice([*TIMES])),
        edges=None if edges == "none" else np.abs(numbers(*shapes.get(edges, (n, 3)))),
        edges_of="value" if edges in ("lengths", "vectors", "placeholders") else "edges",
        boundary="none"
        if edges == "placeholders"
        else ["periodic" if is_so else "none" for is_so in draw.random(3) < 0.8],
    )
    with h5py.File(path, "a") as file:
        group = file["particles/trajectory"]
        for element, unit in (("velocity", "nm ps-1"), ("force", "kJ mol-1 Angstrom-1")):
            every = int(draw.integers(0, 4))
            if every == 0:
                continue
            steps = (
                np.arange(n) * 3
                if group["position/step"].shape == ()
                else group["position/step"][()]
            )
            values = numbers(len(steps[::every]), N_ATOMS, 3)
            odd = {"chunks": (1, 20, 2), "compression": "gzip"} if draw.random() < 0.5 else {}
            write_values(group.create_group(element), "value", values, odd).attrs["unit"] = unit
            group[f"{element}/step"] = steps[::every]
        if "box/edges/value" in group and draw.random() < 0.5:
            # Every second box alone.
            edges, steps = group["box/edges/value"][::2], np.asarray(group["position/step"])
            steps = np.arange(n) * 3 if steps.shape == () else steps
            del group["box/edges"]
            group["box/edges/value"], group["box/edges/step"] = edges, steps[::2]
            group["box/edges/value"].attrs["unit"] = "nm"
    return path


def numbers_of(path: Path, atoms: np.ndarray | slice = slice(None)) -> dict[str, Any]:
    """Return every number of a file's frames, by h5py alone, in the units of the file."""
    with h5py.File(path) as file:
        (group,) = (group for group in file["particles"].values() if len(group) > 1)
        first = next(name for name in ELEMENTS.values() if name in group)
        n = group[first]["value"].shape[0]
        steps = listed(group[first]["step"], n)
        found: dict[str, Any] = {"steps": steps.tolist()}
        if "time" in group[first]:
            found["times"] = listed(group[first]["time"], n).astype("f8").tobytes()
            found["time unit"] = TIMES[group[first]["time"].attrs.get("unit", "ps")]
        for name in ELEMENTS.values():
            if name not in group:
                continue
            value = group[name]["value"]
            numbers = value[()][:, atoms]
            little = numbers.dtype.newbyteorder("<")
            found[name] = (little.str, numbers.astype(little).tobytes(), numbers.shape)
            found[f"{name} steps"] = listed(group[name]["step"], len(numbers)).tolist()
            found[f"{name} unit"] = text(value.attrs["unit"])
        found["boundary"] = [text(each) for each in group["box"].attrs["boundary"]]
        edges = group["box"].get("edges")
        if edges is not None and "periodic" in found["boundary"]:
            fixed = isinstance(edges, h5py.Dataset)
            values = np.asarray(edges if fixed else edges["value"]).astype("f8")
            found["boxes"] = (
                np.broadcast_to(values, (n, *values.shape)) if fixed else values
            ).tolist()
            named = (edges if fixed else edges["value"]).attrs.get("unit")
            found["box unit"] = found["position unit"] if named is None else text(named)
            found["box steps"] = steps.tolist() if fixed else listed(edges["step"], n).tolist()
    return found


def text(attribute: str | bytes) -> str:
    """Return an attribute as text, however it is stored."""
    return attribute.decode() if isinstance(attribute, bytes) else attribute


def listed(dataset: h5py.Dataset, n: int) -> np.ndarray:
    """Return a step or a time for each of `n` rows."""
    numbers = dataset[()]
    return numbers if np.shape(numbers) else np.arange(n) * numbers


def assert_same_read(one: _trajet.Reader, other: _trajet.Reader) -> None:
    """Compare all values of two readers."""
    assert (one.n_frames, one.n_atoms, one.format) == (other.n_frames, other.n_atoms, other.format)
    assert one.times().tobytes() == other.times().tobytes()
    assert one.steps().tobytes() == other.steps().tobytes()
    frames = np.arange(one.n_frames)
    for kind in KINDS:
        ours, theirs = vectors(one, kind, frames), vectors(other, kind, frames)
        if theirs is None:
            assert ours is None
            continue
        for key, values in ours.items():
            assert values.tobytes() == theirs[key].tobytes(), (kind, key)


def files_of(store: _trajet.Store, name: str) -> list[tuple[np.ndarray, list[Path]]]:
    """Return atoms and files of each tag."""
    manifest = json.loads(store.manifest(name))
    atoms = [np.concatenate([np.arange(*run) for run in tag["atoms"]]) for tag in manifest["tags"]]
    return [
        (here, store.paths(name, tag["name"]))
        for here, tag in zip(atoms, manifest["tags"], strict=True)
    ]


def check_whole(folder: Path, store: _trajet.Store, name: str, source: Path) -> None:
    """Assert that all tags are the original, and each tag is its part, read and as files."""
    assert store.verify(name, threads=2) == []
    assert_same_read(store.reader(name, request_size=1 << 18), opened(source))
    expected = numbers_of(source)
    whole = tj.Store(store.folder).get(name, folder / "whole.h5md", force=True, threads=2)
    assert numbers_of(whole.path) == expected
    assert_same_read(opened(whole.path), opened(source))
    for atoms, paths in files_of(store, name):
        (path,) = paths
        assert path.suffix == ".h5md"
        assert numbers_of(path) == numbers_of(source, atoms)


@settings(max_examples=examples(5), deadline=None, suppress_health_check=[*HealthCheck])
@given(seed=st.integers(0, 10**9), n_tags=st.integers(1, 4))
def test_any_file_is_restored(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n_tags: int
) -> None:
    """Every number has its own precision and units."""
    folder = tmp_path_factory.mktemp("any")
    source, store = random_file(folder / "any.h5md", seed), made(folder / "store")
    tag_of = division(N_ATOMS, n_tags, seed)
    asked, structures = spec(folder, tag_of, ("exact", "h5md")), [[] for _ in np.unique(tag_of)]
    store.add("one", opened(source), asked, topology(folder), structures, threads=2)
    check_whole(folder, store, "one", source)
    other = division(N_ATOMS, 2, seed + 1)
    structures = [[] for _ in np.unique(other)]
    store.retag("one", spec(folder, other), structures, threads=2)
    check_whole(folder, store, "one", source)
    shutil.rmtree(folder)


def topology(folder: Path) -> Path:
    """Write names of the atoms."""
    return write_names(folder / "top.gro", N_ATOMS)


def profile(folder: Path, formats: Mapping[str, str] = {}) -> Path:
    """Write a profile of tags by indices."""
    tags = [
        f'{name};{text};short = "{k}";{formats.get(name, "")}'
        for k, (name, text) in enumerate(TAGS.items())
    ]
    return write_profile(folder, *tags, tiers=("fast", "slow"))


@pytest.fixture
def mda_file(tmp_path: Path) -> Path:
    """Return a file by MDAnalysis, with all vectors."""
    return write_with_mdanalysis(tmp_path / "mda.h5md")


def test_files_of_mdanalysis_are_restored(mda_file: Path, tmp_path: Path) -> None:
    """MDAnalysis reads tags and the whole like the original."""
    top, store = (topology(tmp_path), tj.Store(tmp_path / "store", create=True))
    done = store.add("one", tj.open(top, mda_file), profile=profile(tmp_path))
    assert done.n_frames == N_FRAMES
    check_whole(tmp_path, store._native, "one", mda_file)
    truth, whole = truth_of(mda_file), truth_of(tmp_path / "whole.h5md")
    for name in ("positions", "velocities", "forces", "times", "steps", "cells"):
        assert getattr(whole, name).tobytes() == getattr(truth, name).tobytes(), name
    (back,) = [kept.paths[0] for kept in store.show("one").tags if kept.tag.name == "back"]
    with H5MDReader(str(back)) as reader:
        for k, ts in enumerate(reader):
            assert np.array_equal(ts.positions, truth.positions[k, 10:20])
            assert np.array_equal(ts.dimensions, truth.cells[k].astype("f4"))


def test_files_of_gromacs_are_restored(tmp_path: Path) -> None:
    """They have no unit of time, velocities at steps of their own, and numbers of atoms."""
    draw = np.random.default_rng(1)
    source = write_as_gromacs(tmp_path / "gmx.h5md", draw.random((N_FRAMES, N_ATOMS, 3), "f4"))
    store = tj.Store(tmp_path / "store", create=True)
    opened = tj.open(topology(tmp_path), source)
    done = store.add("one", opened, profile=profile(tmp_path))
    assert done.messages == opened.messages
    check_whole(tmp_path, store._native, "one", source)


def test_changed_data_set_keeps_the_original(mda_file: Path, tmp_path: Path) -> None:
    """It is appended to, moved and retagged."""
    top, store = (topology(tmp_path), tj.Store(tmp_path / "store", create=True))
    whole = mda_file.read_bytes()

    def cut(n: int) -> None:
        """Keep only some frames of the file."""
        mda_file.write_bytes(whole)
        with h5py.File(mda_file, "a") as file:
            group = file["particles/trajectory"]
            for name in (*ELEMENTS.values(), "box/edges"):
                for each in ("value", "step", "time"):
                    group[name][each].resize(n, axis=0)

    cut(4)
    store.add("one", tj.open(top, mda_file), profile=profile(tmp_path))
    cut(N_FRAMES)
    assert store.append("one", tj.open(None, mda_file)).n_frames == N_FRAMES - 4
    assert store.append("one", tj.open(None, mda_file)).n_frames == 0

    def check() -> None:
        assert store.verify() == ()
        assert_same_read(store.open("one").source.reader, opened(mda_file))
        store.get("one", tmp_path / "whole.h5md", force=True)
        assert numbers_of(tmp_path / "whole.h5md") == numbers_of(mda_file)

    check()
    store.move("one", "front", "slow")
    check()
    store.get("one", tmp_path / "some.h5md", tags=["back", "few"], frames=slice(2, 9, 3))
    some = numbers_of(tmp_path / "some.h5md")
    truth = opened(mda_file).stored((2, 3, 3), np.r_[10:20, 25:28])
    assert some["position"][1] == truth["positions"][0].tobytes()
    assert some["steps"] == truth["steps"].tolist()
    store.retag("one", profile(tmp_path, {"back": 'format = "h5md"'}))
    check_whole(tmp_path, store._native, "one", mda_file)
    other = shutil.copy(mda_file, tmp_path / "other.h5md")
    with h5py.File(other, "a") as file:
        file["particles/trajectory/position/value"].attrs["unit"] = "pm"
    with raises(tj.StoreError):
        store.append("one", tj.open(None, other))
    # Steps that go back are those of the original.
    again = shutil.copy(mda_file, tmp_path / "again.h5md")
    assert store.append("one", tj.open(None, again)).n_frames == N_FRAMES
    assert_same_read(store.open("one").source.reader, opened(mda_file, again))
    store.retag("one", profile(tmp_path))
    assert_same_read(store.open("one").source.reader, opened(mda_file, again))
    store.remove("one")
    assert store.list() == ()


def test_several_files_are_one_trajectory(mda_file: Path, tmp_path: Path) -> None:
    """Files whose numbers have different units are refused."""
    top, store = (topology(tmp_path), tj.Store(tmp_path / "store", create=True))
    more = shutil.copy(mda_file, tmp_path / "more.h5md")
    store.add("one", tj.open(top, mda_file, more), profile=profile(tmp_path))
    assert_same_read(store.open("one").source.reader, opened(mda_file, more))
    assert store.verify() == ()
    with h5py.File(more, "a") as file:
        file["particles/trajectory/force/value"].attrs["unit"] = "kcal mol-1 nm-1"
    # Nothing was read for it, not even the frames before.
    with raises(tj.StoreError):
        store.add("two", tj.open(top, mda_file, more), profile=profile(tmp_path))
    assert store.list() == ("one",)


def test_other_formats_need_permission_to_lose(mda_file: Path, tmp_path: Path) -> None:
    """DCD takes positions alone; XTC, and formats without forces, need `lossy`."""
    top, store = (topology(tmp_path), tj.Store(tmp_path / "store", create=True))
    for form in ("dcd", "xtc"):
        with raises(tj.OutputError):
            store.add(
                "one",
                tj.open(top, mda_file),
                profile=profile(tmp_path, {"few": f'format = "{form}"'}),
            )
        assert store.list() == ()
    lossy = {"rest": 'format = "xtc";lossy = true', "few": 'format = "dcd";lossy = true'}
    store.add("one", tj.open(top, mda_file), profile=profile(tmp_path, lossy))
    ours, truth = store.open("one").read(), tj.open(None, mda_file).read()
    exact = np.r_[0:28]
    assert ours.positions[:, exact].tobytes() == truth.positions[:, exact].tobytes()
    np.testing.assert_allclose(ours.positions, truth.positions, atol=0.00501)
    assert ours.cells.tobytes() == truth.cells.tobytes()
    # Lost numbers are not made up: positions in Å, as `convert` writes them.
    left = {"velocities": False, "forces": False}
    tj.convert(store.open("one"), tmp_path / "whole.h5md", frames=slice(0, 3), **left)
    whole = tj.open(None, tmp_path / "whole.h5md").read().positions
    assert whole.tobytes() == ours.positions[:3].tobytes()
    plain = write_h5md(tmp_path / "plain.h5md", truth.positions, unit="Angstrom", time=2.0)
    every = {name: 'format = "dcd"' for name in TAGS}
    store.add("plain", tj.open(top, plain), profile=profile(tmp_path, every))
    assert_same_read(store.open("plain").source.reader, opened(plain))
    store.get("plain", tmp_path / "again.h5md")
    assert numbers_of(tmp_path / "again.h5md") == numbers_of(plain)


def test_mounted_tags_are_their_files(mda_file: Path, tmp_path: Path) -> None:
    """The whole is decoded, and reads are logged."""
    top, store = (topology(tmp_path), tj.Store(tmp_path / "store", create=True))
    store.add("one", tj.open(top, mda_file), profile=profile(tmp_path))
    truth = tj.open(None, mda_file).read().positions
    with mounted(store.folder, tmp_path / "shown") as shown:
        names = {path.name for path in shown.folder.iterdir()}
        assert {f"one@{tag}.h5md" for tag in TAGS} | {"one.dcd", "one.gro"} <= names
        assert "one.h5md" not in names
        readme = (shown / "one.README").read_text()
        assert f"trajet store get {store.folder}/one -o one.h5md" in readme
        (back,) = [kept.paths[0] for kept in store.show("one").tags if kept.tag.name == "back"]
        assert (shown / "one@back.h5md").read_bytes() == back.read_bytes()
        with H5MDReader(str(shown / "one@back.h5md")) as reader:
            assert np.array_equal(reader[7].positions, truth[7, 10:20])
        for name, atoms in (("one.dcd", slice(None)), ("one@back.dcd", slice(10, 20))):
            view = tj.open(None, shown / name, sidecar=False).read()
            assert np.array_equal(view.positions, truth[:, atoms]), name
        assert shown.end()[0] == 0
    assert becomes_true(
        lambda: {use.name: use.uses for use in store.stats("one").tags}["back"] >= 1
    )


def test_commands_take_h5md(mda_file: Path, tmp_path: Path) -> None:
    """Add, get and watch are run, and RMSD of a tag, which reads that tag alone."""

    def run(*words: Any) -> str:
        done = python("-m", "trajet", *words)
        return done.stdout + done.stderr

    top, store = topology(tmp_path), tmp_path / "store"
    options = ("--store", store, "--quiet")
    add = ("store", "add", "one", "--topology", top, "--trajectory", mda_file)
    run(*add, "--profile", profile(tmp_path), *options)
    run("store", "get", "one", "-o", tmp_path / "whole.h5md", *options)
    assert numbers_of(tmp_path / "whole.h5md") == numbers_of(mda_file)
    result = tj.rmsd(tj.open(store / "one").select("index 10:19"))
    assert result.report["tiers"]["fast"] == 0
    plain = tj.rmsd(tj.open(top, mda_file).select("index 10:19"))
    assert result.values.tobytes() == plain.values.tobytes()
    assert tj.Store(store).show("one").format == "H5MD"


def test_invalid_requests_are_errors(
    mda_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These are a missing h5py, errors of a writer, and mdtraj's layout."""
    top, store = (topology(tmp_path), tj.Store(tmp_path / "store", create=True))
    traj = tj.open(top, mda_file)

    def wrong(reader: _trajet.Reader, path: Path, **asked: Any) -> dict[str, Any]:
        h5md.write_described(reader, path, **asked)
        with h5py.File(path, "a") as file:
            file["particles/trajectory/box/edges/value"][5, 1, 1] += 1e-12
        return h5md.describe(path)

    native = _trajet.Store(tmp_path / "store", create=True, hdf5=wrong)
    asked = spec(tmp_path, np.zeros(N_ATOMS, int))
    with raises(tj.StoreError):
        native.add("one", traj.source.reader, asked, top, [[]], threads=2)
    # Bonds of the file are read with its topology.
    assert traj.topology.n_atoms == N_ATOMS
    monkeypatch.setitem(sys.modules, "h5py", None)
    with raises(tj.MissingPackageError):
        store.add("one", traj, profile=profile(tmp_path))
    assert store.list() == ()


@pytest.mark.parametrize("exact", [False, True])
def test_h5md_tag_without_room_ends_cleanly(tmp_path: Path, exact: bool) -> None:
    """A write that fails names the tag's file and the reason; the store is unchanged."""
    positions = np.random.default_rng(1).random((1000, N_ATOMS, 3), "f4")
    source = write_h5md(tmp_path / "run.h5md", positions)
    if not exact:
        tj.convert(tj.open(None, source), tmp_path / "run.dcd")
        source = tmp_path / "run.dcd"
    top, store = (topology(tmp_path), tj.Store(tmp_path / "store", create=True))
    formats = {} if exact else dict.fromkeys(TAGS, 'format = "h5md"')
    trajectory, chosen = tj.open(top, source), profile(tmp_path, formats)
    store.add("one", trajectory, profile=chosen)
    before = sorted(tmp_path.rglob("*"))
    with small_disk(100_000), raises(tj.OutputError):
        store.add("two", trajectory, profile=chosen)
    assert sorted(tmp_path.rglob("*")) == before
    assert store.verify() == ()
