"""Compressed text files have the frames of the files inside, bit for bit."""

import gzip
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import lammps_dumps, xyz_files
from helpers.commands import succeed
from helpers.compressed_files import PACKS, bomb, gzip_of, in_streams, zstd_block, zstd_frame
from helpers.damage import outcomes_of_damage
from helpers.golden_files import MADE, READ, same_bits
from helpers.messages import raises
from trajet.messages import Code

TEXT = {
    name: path
    for format in READ.values()
    if format.is_text
    for name, path in format.files().items()
} | {name: None for format in READ.values() if format.is_text for name in format.made}
# Suffixes of compressed files, their content and names, of one dump.
each_pack = pytest.mark.parametrize("pack", PACKS)


def packed(path: Path, pack: str) -> Path:
    """Write a file beside another, with its content compressed."""
    ending, compress = PACKS[pack]
    target = path.with_name(path.name + ending)
    target.write_bytes(compress(path.read_bytes()))
    return target


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Write a dump of 41 frames."""
    return lammps_dumps.write_lammps(tmp_path / "run.lammpstrj", 12, 41)


@pytest.fixture
def long_dump(tmp_path: Path) -> Path:
    """Write a dump of some 5 MB, which takes several requests when it is compressed."""
    return lammps_dumps.write_lammps(tmp_path / "long.lammpstrj", 900, 40)


def codes(traj: tj.Trajectory) -> set[Code]:
    """Return the codes of the messages on the files."""
    return {message.code for message in traj.messages}


def read(path: Path, **options: object) -> Mapping[str, np.ndarray]:
    """Return what a file has: all frames, some frames backwards, and some atoms."""
    traj = tj.open(None, path, **options)  # type: ignore[arg-type]
    whole, n = traj.read(), traj.n_frames
    some = traj.select(np.arange(0, traj.n_atoms, 2)).read(frames=[*range(n - 1, 0, -3), 0])
    blocks = [block.positions for block in traj.blocks()]
    return {
        "positions": whole.positions,
        "cells": whole.cells,
        "times": whole.times,
        "steps": whole.steps,
        "some": some.positions,
        "blocks": np.concatenate(blocks),
    }


def assert_equal(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> None:
    """Compare all bits."""
    for name, values in one.items():
        assert same_bits(values, other[name]), name


@each_pack
@pytest.mark.parametrize("name", sorted(TEXT))
def test_content_is_that_of_the_file_inside(name: str, pack: str, tmp_path: Path) -> None:
    """Frames, any of them and any atoms, built and from the sidecar, with small requests."""
    source, path = TEXT[name], tmp_path / name
    path.write_bytes(source.read_bytes()) if source else MADE[name](path)
    expected, file = read(path), packed(path, pack)
    for _ in range(2):
        assert_equal(read(file), expected)
    assert_equal(read(file, sidecar=False, request_size=1000), expected)


@each_pack
def test_pools_give_the_same_bits(pack: str, dump: Path) -> None:
    """Threads and workers, which get the layout of the file."""
    values = [
        tj.rmsd(tj.open(None, path).select(range(12)), reference=3, pool=pool).values
        for path in (dump, packed(dump, pack))
        for pool in (
            tj.LocalPool(threads=1),
            tj.LocalPool(threads=3, task_frames=4),
            tj.ProcessPool(workers=2, task_frames=4),
        )
    ]
    assert np.ptp(values[0]) > 0
    assert all(same_bits(values[0], other) for other in values[1:])


@pytest.mark.parametrize("pack", ["gzip members", "zstd frames"])
def test_cut_anywhere(pack: str, tmp_path: Path) -> None:
    """A file that ends too early is an error, also between frames; whole frames can be read."""
    plain = xyz_files.write_cp2k(tmp_path / "run.xyz", 3, 5)
    file, expected = packed(plain, pack), tj.open(None, plain).read().positions
    data = file.read_bytes()
    n_whole = set()
    for n in range(len(data) - 1, 3, -1):
        file.write_bytes(data[:n])
        try:
            found = tj.open(None, file, sidecar=False).read().positions
        except tj.FormatError:
            pass
        else:
            # Cut between streams, at the end of a frame.
            assert 0 < len(found) < 5 and same_bits(found, expected[: len(found)])
            continue
        try:
            traj = tj.open(None, file, sidecar=False, allow_truncated_tail=True)
        except tj.FormatError:
            continue
        n_whole.add(traj.n_frames)
        assert same_bits(traj.read().positions, expected[: traj.n_frames])
    # A block of zstd has all of its bytes or none.
    assert len(n_whole) >= (4 if pack == "gzip members" else 2)
    file.write_bytes(data[:-1])
    with raises(tj.TruncatedError):
        tj.open(None, file)


@each_pack
def test_damaged_bytes_are_errors(pack: str, dump: Path) -> None:
    """No crash, no memory without bound; gzip's checksum notices every change of content."""
    file = packed(dump, pack)
    rng, data = np.random.default_rng(5), file.read_bytes()
    places = rng.integers(0, len(data), 60).tolist() + list(range(20))
    cases = [[(at, data[at] ^ 1 << int(rng.integers(8)))] for at in places]
    outcomes = outcomes_of_damage(file, cases)
    if pack == "gzip":
        # Name, time and system in the header of a member are not compared.
        assert all(outcome != "read" for outcome in outcomes[:60])
    file.write_bytes(data)
    file.write_bytes(data[:100] + bytes([data[100] ^ 255]) + data[101:])
    if pack == "gzip":
        with raises(tj.FormatError):
            tj.open(None, file)


@each_pack
def test_requests(pack: str, long_dump: Path) -> None:
    """One pass reads each byte once; streams are points from which reading starts."""
    file = packed(long_dump, pack)
    traj, size = tj.open(None, file), file.stat().st_size
    atoms = traj.select(range(900))
    report = tj.rmsd(atoms, reference=0, pool=tj.LocalPool(threads=1, task_frames=10**9)).report
    # The reference is read before.
    assert report["bytes_read"] <= size + 2**19
    assert traj.source.reader.opening()["index"] == "built"
    again, is_random = tj.open(None, file), " " in pack
    opening = again.source.reader.opening()
    assert opening["index"] == "loaded"
    assert opening["bytes_read"] < 4.1 * 2**18
    assert (Code.SEQUENTIAL_ACCESS in codes(again)) == (not is_random)
    out = np.empty((1, again.n_atoms, 3), np.float32)
    counts = again.source.reader.read((39, 1, 1), None, out, "positions")["counts"]
    assert counts["bytes_read"] <= (0.7 if is_random else 1) * size + 2**18


@each_pack
def test_a_compressed_file_is_its_own_topology(pack: str, dump: Path) -> None:
    """Of the file alone atoms have the names of the file inside; `trajet info` has its frames."""
    file = packed(dump, pack)
    plain, found = tj.open(dump), tj.open(file)
    assert found.topology.column("types") is not None
    assert np.array_equal(plain.topology.names, found.topology.names)
    assert same_bits(
        plain.select("index 3").read().positions, found.select("index 3").read().positions
    )
    assert "41" in "".join(succeed("info", str(file)))
    other = dump.with_name("dump.100" + file.suffix)
    other.write_bytes(file.read_bytes())
    assert tj.open(other).n_frames == 41
    assert tj.open(file, file, other).n_frames == 82


def test_a_pattern_of_compressed_snapshots(dump: Path) -> None:
    """A file for each snapshot, as LAMMPS' `dump custom/gz` writes them."""
    data = dump.read_bytes()
    begins = [
        0,
        *(k for k in range(1, len(data)) if data.startswith(b"ITEM: TIME\n", k)),
        len(data),
    ]
    pieces = [data[a:b] for a, b in pairwise(begins)]
    frames = [piece for piece in pieces if b"ITEM: ATOMS" in piece]
    assert len(frames) == 41
    paths = []
    for k, frame in enumerate(frames):
        paths.append(dump.with_name(f"dump.{250 * k}.gz"))
        paths[-1].write_bytes(gzip_of(frame))
    options: tj.FormatOptions = {"lammps": {"units": "metal"}}
    chain = tj.open(None, *paths, sidecar=False, format_options=options)
    assert same_bits(chain.read().positions, tj.open(None, dump).read().positions)


def test_other_compressed_files(dump: Path, tmp_path: Path) -> None:
    """Binary formats, content that is too large or empty, and bytes that follow."""
    xtc = tmp_path / "run.xtc"
    tj.convert(tj.open(None, xyz_files.write_cp2k(tmp_path / "run.xyz", 3, 5)), xtc)
    data, file = dump.read_bytes(), tmp_path / "other.xyz.gz"
    for content in (gzip_of(xtc.read_bytes()), gzip_of(b""), gzip_of(b"neither") + b"more"):
        file.write_bytes(content)
        with raises(tj.TrajetError):
            tj.open(None, file)
    dump.write_bytes(gzip_of(data) + b"more")
    with raises(tj.FormatError):
        tj.open(None, dump)
    # No suffix is needed, zeros are padding.
    file = tmp_path / "other"
    file.write_bytes(gzip_of(data) + bytes(1000))
    assert tj.open(None, file).n_frames == 41
    large = tmp_path / "large.xyz.zst"
    large.write_bytes(zstd_frame(zstd_block(b"1\n", is_last=True)) + b"".join(bomb(2**30 + 1)))
    with raises(tj.FormatError):
        tj.open(None, large)


def test_a_sidecar_of_other_content_is_not_used(dump: Path) -> None:
    """A file that has changed is indexed anew, also if it was not compressed before."""
    file = packed(dump, "gzip members")
    assert tj.open(None, file).n_frames == 41
    data = file.read_bytes()
    file.write_bytes(in_streams(dump.read_bytes() * 2, gzip_of, 9))
    assert tj.open(None, file).n_frames == 82
    file.write_bytes(gzip.decompress(data))
    assert tj.open(None, file).n_frames == 41
    file.write_bytes(data)
    assert tj.open(None, file).source.reader.opening()["index"] == "built"
