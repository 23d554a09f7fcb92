"""Tags that are kept as H5MD restore the original, and are read without HDF5's library."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.commands import execute
from helpers.made_files import write_names
from helpers.made_stores import STORES, Solvated, make_sources, make_store, write_profile
from helpers.messages import raises
from helpers.mounted_stores import becomes_true, mounted
from MDAnalysis.coordinates.H5MD import H5MDReader
from MDAnalysis.lib.formats.libmdaxdr import XTCFile
from MDAnalysisTests import datafiles
from trajet import _trajet, h5md

CALPHA = "name CA"


@pytest.fixture(scope="module")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Solvated:
    """Return a store for reading only, whose protein and ions are in H5MD."""
    return make_store(tmp_path_factory.mktemp("wet"), formats=STORES["H5MD"])


@pytest.fixture
def own_wet(tmp_path: Path) -> Solvated:
    """Return a store for a test that changes it."""
    return make_store(tmp_path, formats=STORES["H5MD"])


def file_of(wet: Solvated, tag: str) -> Path:
    """Return the first file of a tag."""
    (kept,) = [kept for kept in wet.store.show("wet").tags if kept.tag.name == tag]
    return kept.paths[0]


def read_manifest(wet: Solvated) -> dict[str, Any]:
    """Return the manifest."""
    manifest: dict[str, Any] = json.loads((wet.path / "manifest.json").read_text())
    return manifest


def test_files_of_tags_are_usual_h5md(wet: Solvated) -> None:
    """MDAnalysis reads the protein's file; it is that of `convert`, in Å and ps."""
    path, truth = file_of(wet, "protein"), tj.open(wet.gro, wet.xtc).select("protein").read()
    assert path.name == "protein.h5md"
    assert sorted(other.name for other in path.parent.iterdir()) == [
        *("protein.gro", "protein.h5md", "protein.ndx")
    ]
    with H5MDReader(str(path)) as reader:
        assert reader.n_frames == 10
        for ts, positions, time, cell in zip(
            reader, truth.positions, truth.times, truth.cells, strict=True
        ):
            assert np.array_equal(ts.positions, positions)
            assert ts.time == time
            assert np.allclose(ts.dimensions, cell, rtol=1e-6)


def test_only_needed_chunks_are_read(wet: Solvated) -> None:
    """Each frame reads its chunk, which is compared with its checksum, and no other tag."""
    traj = tj.open(wet.path)
    result = tj.rmsd(traj.select(CALPHA), reference=tj.open(wet.gro, wet.xtc).select(CALPHA))
    assert result.report["tiers"] == {"fast": result.report["bytes_read"], "slow": 0}
    size = file_of(wet, "protein").stat().st_size
    assert 0 < result.report["bytes_read"] <= 1.1 * size
    frame, reader = (
        12 * 3341,
        wet.store.open("wet", tags=["protein"], request_size=4096).source.reader,
    )

    def read(number: int, atoms: np.ndarray) -> tuple[bytes, int]:
        out = np.empty((1, len(atoms), 3), np.float32)
        outcome = reader.read(np.array([number]), atoms, out, "positions")
        return out.tobytes(), outcome["counts"]["bytes_read"]

    # The first read opens the file; its head is compared with the kept one each time.
    read(0, np.array([0]))
    assert frame <= read(7, np.array([0, 3]))[1] <= frame + 3 * 4096
    positions, bytes_read = read(7, np.arange(3341))
    assert frame <= bytes_read <= frame + 3 * 4096
    truth = tj.open(None, wet.xtc).read([7], atoms=np.arange(3341)).positions
    assert positions == truth.tobytes()


WITHOUT = """
import sys
sys.modules["h5py"] = None
import numpy as np
import trajet as tj
traj = tj.open(sys.argv[1])
print(traj.select("protein").read().positions.sum(dtype=np.float64))
print(tj.rmsd(traj.select("name CA"), pool=tj.ProcessPool(workers=2)).values.sum())
print(tj.Store(sys.argv[2]).verify())
tj.Store(sys.argv[2]).move("wet", "protein", "slow")
try:
    tj.Store(sys.argv[2]).append("wet", tj.open(None, sys.argv[3]))
except tj.MissingPackageError as error:
    print(error)
"""


def test_reading_needs_no_h5py(own_wet: Solvated) -> None:
    """Checking and moving need none either; writing names the missing package before it begins."""
    more = own_wet.folder / "more.xtc"
    shutil.copy(own_wet.xtc, more)
    words = [sys.executable, "-c", WITHOUT, own_wet.path, own_wet.store.folder, more]
    done = execute(*words)
    plain = tj.open(own_wet.gro, own_wet.xtc)
    lines = done.stdout.splitlines()
    total = plain.select("protein").read().positions.sum(dtype=np.float64)
    assert lines == [
        str(total),
        str(tj.rmsd(plain.select(CALPHA)).values.sum()),
        "()",
        "tag 'protein' is kept as h5md: h5py is needed for HDF5 files: pip install 'trajet[h5md]'",
    ]
    assert own_wet.store.verify() == ()


def test_changed_data_set_keeps_the_original(own_wet: Solvated) -> None:
    """It is converted to H5MD and back, appended to and moved."""
    store, whole = own_wet.store, own_wet.xtc.read_bytes()
    # Steps must not go back from the end of a file to its own beginning.
    more = own_wet.folder / "more.xtc"
    more.write_bytes(whole)
    assert store.append("wet", tj.open(None, more)).n_frames == 10

    def check() -> None:
        assert store.verify() == ()
        one = store.open("wet").read()
        other = tj.open(None, own_wet.xtc, more).read()
        for name in ("positions", "times", "steps", "cells"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
        store.get("wet", own_wet.folder / "whole.xtc", force=True)
        assert (own_wet.folder / "whole.xtc").read_bytes() == 2 * whole
        files = {path.name for path in own_wet.path.iterdir() if "layout" in path.name}
        kept = [file for segment in read_manifest(own_wet)["segments"] for file in segment["files"]]
        assert files == {file["layout_file"]["file"] for file in kept if "layout_file" in file}

    check()
    old = file_of(own_wet, "protein")
    store.move("wet", "protein", "slow")
    assert {path.name for path in file_of(own_wet, "protein").parent.glob("*.h5md")} == {
        *("protein.h5md", "protein-1.h5md")
    }
    assert tj.open(None, old).n_frames == 10
    check()
    links = {path.name for path in store.link(own_wet.folder / "links")}
    assert {f"wet@protein-00{k}.h5md" for k in (0, 1)} | {"wet@water-000.xtc"} <= links
    exact = own_wet.profile.read_text().replace('format = "h5md"\n', "")
    own_wet.profile.write_text(exact)
    # All frames are one segment then, whose steps go back.
    store.retag("wet", own_wet.profile)
    check()
    assert not [path for path in own_wet.folder.rglob("*.h5md") if not path.is_symlink()]
    own_wet.profile.write_text(exact.replace('"rest"', '"rest"\nformat = "h5md"'))
    before = read_manifest(own_wet)
    with raises(tj.StoreError):
        store.retag("wet", own_wet.profile)
    assert read_manifest(own_wet) == before
    check()


def test_tags_are_converted_to_hdf5_and_back(own_wet: Solvated) -> None:
    """Each conversion is one step."""
    store, text = own_wet.store, own_wet.profile.read_text()
    for changed in (
        text.replace('"h5md"', '"exact"'),
        text.replace('"rest"', '"rest"\nformat="h5md"'),
    ):
        own_wet.profile.write_text(changed)
        store.retag("wet", own_wet.profile)
        assert store.verify() == ()
        store.get("wet", own_wet.folder / "whole.xtc", force=True)
        assert (own_wet.folder / "whole.xtc").read_bytes() == own_wet.xtc.read_bytes()


def test_mounted_whole_and_tags_are_their_files(own_wet: Solvated, tmp_path: Path) -> None:
    """The whole is GROMACS' file, a tag is its file, with one file per segment."""
    store, whole = own_wet.store, own_wet.xtc.read_bytes()
    more = own_wet.folder / "more.xtc"
    more.write_bytes(whole)
    truth = tj.open(own_wet.gro, own_wet.xtc).select("protein").read().positions
    with mounted(store.folder, tmp_path / "shown") as shown:
        assert (shown / "wet.xtc").read_bytes() == whole
        path = file_of(own_wet, "protein")
        assert (shown / "wet@protein.h5md").read_bytes() == path.read_bytes()
        with H5MDReader(str(shown / "wet@protein.h5md")) as reader:
            assert np.array_equal(reader[7].positions, truth[7])
        view = tj.open(None, shown / "wet@protein.dcd", sidecar=False).read()
        assert np.array_equal(view.positions, truth)
        store.append("wet", tj.open(None, more))
        assert becomes_true((shown / "wet@protein-001.h5md").exists)
        names = {path.name for path in shown.folder.iterdir() if path.suffix == ".h5md"}
        assert names == {f"wet@{tag}-00{k}.h5md" for tag in STORES["H5MD"] for k in (0, 1)}
        assert becomes_true(lambda: (shown / "wet.xtc").stat().st_size == 2 * len(whole))
        assert (shown / "wet.xtc").read_bytes() == 2 * whole
        for k, kept in enumerate(read_manifest(own_wet)["segments"]):
            (file,) = [file for file in kept["files"] if "protein" in file["path"]]
            stored = (own_wet.folder / "fast" / file["path"]).read_bytes()
            assert (shown / f"wet@protein-00{k}.h5md").read_bytes() == stored
        assert shown.end()[0] == 0


@pytest.mark.parametrize("where", ["chunk", "tables", "layout"])
def test_changed_byte_is_found(own_wet: Solvated, where: str) -> None:
    """It is in frames or beside them; the data set can be neither divided nor moved."""
    path = file_of(own_wet, "protein")
    with h5py.File(path) as file:
        value = file["particles/trajectory/position/value"]
        frames, chunk = value.chunks[0], value.id.get_chunk_info(3)
    at = {"chunk": chunk.byte_offset + 17, "tables": 60, "layout": 40}[where]
    expected = {
        "chunk": f"frame {3 * frames} (bytes {chunk.byte_offset} to",
        "tables": "its tables (bytes 0 to",
        "layout": "is not what the store wrote",
    }[where]
    if where == "layout":
        (path,) = own_wet.path.glob("layout-protein-*")
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)
    (problem,) = own_wet.store.verify("wet")
    assert problem.startswith(f"{path}: ")
    assert expected in problem
    if where == "chunk":
        protein = tj.open(own_wet.path).select("protein")
        assert protein.read(frames=slice(0, 3 * frames)).positions.shape[0] == 3 * frames
        for look in (protein.read, lambda: tj.rmsd(protein)):
            with raises(tj.StoreError, path, f"frame {3 * frames}"):
                look()
    before = read_manifest(own_wet)
    with pytest.raises(tj.StoreError):
        own_wet.store.move("wet", "protein", "slow")
    with raises(tj.StoreError, path):
        own_wet.store.retag("wet", own_wet.profile)
    assert read_manifest(own_wet) == before


def test_changed_byte_anywhere_is_found_by_reading(own_wet: Solvated) -> None:
    """It is in vectors, times, steps, boxes, or the tables that lead there."""
    path = file_of(own_wet, "protein")
    with h5py.File(path) as file:
        group = file["particles/trajectory"]
        places = [
            value.id.get_offset() + 3
            for value in (group["box/edges/value"], group["position/time"], group["position/step"])
        ]
    size = path.stat().st_size
    store = _trajet.Store(own_wet.store.folder)

    def read() -> np.ndarray:
        out = np.empty((10, 3341, 3), np.float32)
        store.reader("wet", ["protein"], request_size=2**18).read(
            (0, 1, 10), None, out, "positions"
        )
        return out

    truth = read()
    assert size > 10 * 12 * 3341
    file = os.open(path, os.O_RDWR)
    for at in (*places, *range(0, size, 1117), *range(0, 3000, 97), size - 1):
        was = os.pread(file, 1, at)
        os.pwrite(file, bytes([was[0] ^ 0x20]), at)
        with raises(tj.StoreError, path):
            read()
        os.pwrite(file, was, at)
    assert np.array_equal(read(), truth)
    # Workers find it, too; each of them compares a part of the file.
    was = os.pread(file, 1, places[0])
    os.pwrite(file, bytes([was[0] ^ 0x20]), places[0])
    with raises(tj.StoreError, path):
        tj.rmsd(tj.open(own_wet.path).select(CALPHA), pool=tj.ProcessPool(workers=2))
    os.close(file)


def test_worker_spec_is_small(tmp_path: Path) -> None:
    """It has the tags that are read; times and boxes are sent with the frames of a task."""
    n_frames, n_atoms = 3000, 12
    topology, xtc = tmp_path / "few.gro", tmp_path / "few.xtc"
    write_names(topology, n_atoms)
    rng = np.random.default_rng(5)
    with XTCFile(str(xtc), "w") as file:
        for k in range(n_frames):
            box = np.eye(3, dtype=np.float32) * np.float32(3 + k * 1e-4)
            file.write(rng.uniform(0, 3, (n_atoms, 3)).astype(np.float32), box, k, k * 0.5, 1000.0)
    tags = ('one;index 0:9;format = "h5md"', 'other;rest;format = "h5md"')
    profile = write_profile(tmp_path, *tags)
    plain = tj.open(topology, xtc)
    store = tj.Store(tmp_path / "store", create=True)
    store.add("few", plain, profile=profile)
    reader = store.open("few").source.reader
    # Paths, positions of chunks and their checksums; 49 bytes per frame and tag would be boxes.
    sizes = [len(reader.worker_input(atoms)) for atoms in (None, np.arange(10), np.array([11]))]
    assert max(sizes) < n_frames
    assert sizes[1] < sizes[0]
    assert sizes[2] < sizes[0]
    frames = [len(reader.slice((first, 1, 100))) for first in (0, n_frames - 100)]
    # Position, time, step, box, and two checksums.
    assert max(frames) < 100 * (5 + 8 + 3 + 48 + 20)
    selection = store.open("few").select("index 3:11")
    pool = tj.ProcessPool(workers=2)
    again = tj.apply(selection, _cell_and_first, cells=True, pool=pool)
    truth = tj.apply(plain.select("index 3:11"), _cell_and_first, cells=True)
    assert len(np.unique(truth.values[:, 0])) == n_frames
    assert np.array_equal(again.values, truth.values)
    assert np.array_equal(again.times, truth.times)


def _cell_and_first(positions: np.ndarray, cell: np.ndarray) -> np.ndarray:
    return np.concatenate((cell, positions[0], positions[-1]))


def test_cut_file_is_an_error(own_wet: Solvated) -> None:
    """The error names the file."""
    path = file_of(own_wet, "protein")
    data = path.read_bytes()
    path.write_bytes(data[:-1000])
    (problem,) = own_wet.store.verify("wet")
    assert f"{path}: has {len(data) - 1000} bytes, expected {len(data)}" in problem
    path.write_bytes(data[: len(data) // 2])
    with raises(tj.StoreError):
        tj.open(own_wet.path).select("protein").read()


def nothing_is_left(wet: Solvated) -> bool:
    """Return whether a failed addition has left nothing."""
    tiers = [wet.folder / tier for tier in ("fast", "slow")]
    files = [path for tier in tiers if tier.exists() for path in tier.iterdir()]
    pending = [*(wet.folder / "store/.pending").iterdir()]
    return not files and not pending and not wet.path.exists()


def added(wet: Solvated, writer: Any) -> dict[str, Any]:
    """Divide with another writer of HDF5."""
    store = _trajet.Store(wet.folder / "store", create=True, hdf5=writer)
    tiers = {"fast": {"folder": str(wet.folder / "fast"), "limit": None}}
    tags = [
        {"name": "some", "short_name": "s", "select": "", "tier": "fast", "format": "h5md"}
        | {"atoms": [[0, 100]]},
        {"name": "rest", "short_name": "r", "select": "", "tier": "fast", "format": "exact"}
        | {"atoms": [[100, 47681]]},
    ]
    reader, asked = tj.open(None, wet.xtc).source.reader, json.dumps({"tiers": tiers, "tags": tags})
    done: dict[str, Any] = store.add("wet", reader, asked, wet.gro, [[], []], threads=2)
    return done


def test_errors_of_a_writer_are_found(tmp_path: Path) -> None:
    """A wrong number or time, or a missing frame, is found before it counts."""
    wet = make_sources(tmp_path)

    def changing(name: str, at: tuple[int, ...], by: float) -> Any:
        def write(reader: Any, path: Path, **asked: Any) -> dict[str, Any]:
            h5md.write_described(reader, path, **asked)
            with h5py.File(path, "a") as file:
                file["particles/trajectory/position"][name][at] += by
            return h5md.describe(path)

        return write

    def other_box(reader: Any, path: Path, **asked: Any) -> dict[str, Any]:
        h5md.write_described(reader, path, **asked)
        with h5py.File(path, "a") as file:
            file["particles/trajectory/box/edges/value"][4, 1, 1] *= 1.001
        return h5md.describe(path)

    def short(reader: Any, path: Path, **asked: Any) -> dict[str, Any]:
        outcome = h5md.write_described(reader, path, **asked)
        return {**outcome, **{key: outcome[key][:-1] for key in ("times", "steps", "boxes")}}

    def full(reader: Any, path: Path, **asked: Any) -> dict[str, Any]:
        raise tj.OutputError(f"{path}: no space left")

    writers = {
        "frame 6 differs from the one": changing("value", (6, 40, 1), 1e-3),
        "frame 2 differs from the one": changing("time", (2,), 0.5),
        "the box of frame 4 differs from the one that was divided": other_box,
        "has 9 frames of 100 atoms": short,
        "no space left": full,
        "through Python": None,
    }
    for words, writer in writers.items():
        with raises((tj.StoreError, tj.OutputError)):
            added(wet, writer)
        assert nothing_is_left(wet), words
    assert added(wet, h5md.write_described)["n_frames"] == 10
    assert _trajet.Store(wet.folder / "store").verify("wet", threads=2) == []


def test_progress_ascends_from_none_to_all(tmp_path: Path) -> None:
    """It spans dividing and writing, and the total is the number of frames."""
    wet = make_sources(tmp_path)
    wet.profile.write_text(wet.profile.read_text().replace('"rest"', '"rest"\nformat = "h5md"'))
    seen: list[tuple[int, int]] = []
    store = tj.Store(tmp_path / "store", create=True)
    store.add(
        "wet",
        tj.open(wet.gro, wet.xtc),
        profile=wet.profile,
        progress=lambda *counts: seen.append(counts),
    )
    assert {total for _, total in seen} == {10}
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert counts[-1] == 10


def test_interrupt_while_writing_leaves_nothing(tmp_path: Path) -> None:
    """The progress function raises an error, as Ctrl-C does."""
    wet = make_sources(tmp_path)

    def interrupted(reader: Any, path: Path, **asked: Any) -> dict[str, Any]:
        def show(_: int) -> None:
            raise KeyboardInterrupt

        return h5md.write_described(reader, path, **{**asked, "show": show})

    with pytest.raises(KeyboardInterrupt):
        added(wet, interrupted)
    assert nothing_is_left(wet)


def test_lossy_h5md_requires_opt_in(tmp_path: Path) -> None:
    """TRR has nm, which Å in single precision do not restore, and velocities."""
    folder = tmp_path
    profile = write_profile(folder, 'all;all;format = "h5md"')
    traj = tj.open(datafiles.GRO, datafiles.TRR)
    store = tj.Store(folder / "store", create=True)
    with raises(tj.OutputError):
        store.add("wet", traj, profile=profile)
    write_profile(folder, 'all;all;format = "h5md";lossy = true')
    store.add("wet", traj, profile=profile)
    assert store.verify() == ()
    ours = store.open("wet").read(velocities=True)
    truth = traj.read(velocities=True)
    assert ours.velocities is not None
    assert truth.velocities is not None
    for name in ("positions", "velocities", "times", "steps", "cells"):
        assert getattr(ours, name).tobytes() == getattr(truth, name).tobytes(), name


def test_limit_ends_the_writing(tmp_path: Path) -> None:
    """It does so before all is written; the original that is divided first does not count."""
    wet = make_sources(tmp_path)
    text = wet.profile.read_text().replace(
        'name = "protein"\n', 'name = "protein"\nformat = "h5md"\n'
    )
    vectors, opened = 12 * 3341 * 10, tj.open(wet.gro, wet.xtc)
    store, seen = tj.Store(tmp_path / "store", create=True), []

    def add(limit: int) -> None:
        tier = f'fast = {{folder = "fast", limit = {limit}}}\n'
        wet.profile.write_text(text.replace('fast = "fast"\n', tier))
        store.add("wet", opened, profile=wet.profile, progress=lambda *done: seen.append(done))

    with raises(tj.StoreError):
        add(vectors // 2)
    done, total = max(seen)
    # It is divided, written and compared.
    assert total // 3 <= done < 2 * total // 3
    assert store.list() == ()
    add(vectors + 600_000)
    assert store.verify() == ()


def test_changed_byte_is_not_retagged(own_wet: Solvated) -> None:
    """It is in a chunk or in the tables."""
    path, store = file_of(own_wet, "protein"), own_wet.store
    sound, before = path.read_bytes(), read_manifest(own_wet)
    for at in [*range(0, len(sound), len(sound) // 9), len(sound) - 1, 600]:
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :])
        with pytest.raises(tj.TrajetError):
            store.retag("wet", own_wet.profile)
        assert read_manifest(own_wet) == before
    path.write_bytes(sound)
    store.retag("wet", own_wet.profile)
    assert store.verify() == ()
