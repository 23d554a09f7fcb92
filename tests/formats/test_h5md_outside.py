"""HDF5 files that name other files: these are never opened, and an error explains the remedy."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.made_files import random_vectors
from helpers.made_hdf5 import N_ATOMS, write_h5md, write_rich_h5md
from helpers.messages import raises
from helpers.opened_files import watch_opens

_N = 4
POSITIONS = np.stack([random_vectors(N_ATOMS, seed=k) for k in range(_N)]).astype("f4")
EDGES = np.tile(np.diag([3.0, 4, 5]), (_N, 1, 1))
# Numbers that no test file has: those of the file that must not be read.
SECRET = 98765.0
_GROUP = "particles/trajectory"
_DATASETS = [
    f"{_GROUP}/{name}"
    for name in (
        "position/value",
        "position/step",
        "position/time",
        "velocity/value",
        "velocity/step",
        "box/edges/value",
        "box/edges/step",
        "id",
    )
]
_GROUPS = ["particles", _GROUP, *(f"{_GROUP}/{name}" for name in ("position", "box", "box/edges"))]


def _write(path: Path) -> Path:
    """Write a file with every dataset that readers use."""
    write_h5md(path, POSITIONS, edges=EDGES)
    with h5py.File(path, "a") as file:
        group = file[_GROUP]
        group["velocity/value"] = POSITIONS
        group["velocity/value"].attrs["unit"] = "nm ps-1"
        group["velocity/step"] = group["position/step"][()]
        group["id"] = np.arange(N_ATOMS)
        # Otherwise the dataset is that of the positions.
        del group["box/edges/step"]
        group["box/edges/step"] = group["position/step"][()]
    return path


def _write_secret(folder: Path) -> tuple[Path, Path]:
    """Write the same as HDF5 and as bytes, with numbers of its own."""
    secret = _write(folder / "secret.h5")
    with h5py.File(secret, "a") as file:
        for name in _DATASETS:
            file[name][...] = SECRET
    raw = folder / "secret.raw"
    raw.write_bytes(np.full(_N * N_ATOMS * 3, SECRET).tobytes())
    return secret, raw


def _external_link(file: h5py.File, name: str, secret: Path, raw: Path) -> None:
    file[name] = h5py.ExternalLink(str(secret), name)


def _link_to_nothing(file: h5py.File, name: str, secret: Path, raw: Path) -> None:
    file[name] = h5py.ExternalLink(str(secret.with_name("none.h5")), name)


def _soft_link(file: h5py.File, name: str, secret: Path, raw: Path) -> None:
    file["away"] = h5py.ExternalLink(str(secret), "/")
    file[name] = h5py.SoftLink(f"/away/{name}")


def _external_storage(file: h5py.File, name: str, secret: Path, raw: Path) -> None:
    with h5py.File(secret) as source:
        like = source[name]
        file.create_dataset(
            name, like.shape, like.dtype, external=[(str(raw), 0, like.nbytes)]
        ).attrs.update(like.attrs)


def _virtual_dataset(file: h5py.File, name: str, secret: Path, raw: Path) -> None:
    with h5py.File(secret) as source:
        shape, dtype = source[name].shape, source[name].dtype
    # Of any length: then HDF5 opens the source as soon as the shape is read.
    layout = h5py.VirtualLayout(shape, dtype, maxshape=(None, *shape[1:]))
    there = h5py.VirtualSource(secret, name, shape, dtype, maxshape=(None, *shape[1:]))
    without_end = slice(0, h5py.h5s.UNLIMITED)
    layout[without_end] = there[without_end]
    file.create_virtual_dataset(name, layout)


_Outside = Callable[[h5py.File, str, Path, Path], None]
_MECHANISMS: dict[str, _Outside] = {
    "external link": _external_link,
    "external link to nothing": _link_to_nothing,
    "soft link": _soft_link,
    "external storage": _external_storage,
    "virtual dataset": _virtual_dataset,
}


@pytest.mark.parametrize("name", _MECHANISMS)
def test_objects_of_other_files_are_refused_and_never_opened(tmp_path: Path, name: str) -> None:
    """The error names the dataset or group of the trajectory."""
    make = _MECHANISMS[name]
    secret, raw = _write_secret(tmp_path)
    whole = _write(tmp_path / "whole.h5md").read_bytes()
    path = tmp_path / "made.h5md"
    for where in _DATASETS + (_GROUPS if "link" in name else []):
        path.write_bytes(whole)
        with h5py.File(path, "a", libver="latest") as file:
            del file[where]
            make(file, where, secret, raw)
        with watch_opens(secret, raw) as opened, raises(tj.FormatError):
            tj.open(None, path)
        assert opened == [], where


def test_boxes_and_ids_in_other_places_of_the_file_are_refused(tmp_path: Path) -> None:
    """A constant box and time-dependent identities are other datasets."""
    raw = tmp_path / "raw"
    raw.write_bytes(bytes(10_000))
    for name, shape in (("box/edges", (3,)), ("id/value", (_N, N_ATOMS))):
        path = write_h5md(tmp_path / "made.h5md", POSITIONS)
        with h5py.File(path, "a") as file:
            size = 8 * int(np.prod(shape))
            file.create_dataset(f"{_GROUP}/{name}", shape, "i8", external=[(str(raw), 0, size)])
        with watch_opens(raw) as opened, raises(tj.FormatError):
            tj.open(None, path)
        assert opened == []


def test_mdtraj_files_that_name_other_files_are_refused(tmp_path: Path) -> None:
    """Coordinates, times and cells are tested."""
    raw = tmp_path / "raw"
    raw.write_bytes(np.full(_N * N_ATOMS * 3, SECRET).tobytes())
    shapes = {"time": (_N,), "cell_lengths": (_N, 3), "cell_angles": (_N, 3)}
    shapes["coordinates"] = shapes["velocities"] = POSITIONS.shape
    for outside in shapes:
        path = tmp_path / "made.h5"
        with h5py.File(path, "w") as file:
            file.attrs["conventions"] = "Pande"
            for name, shape in shapes.items():
                there = [(str(raw), 0, 4 * int(np.prod(shape)))] if name == outside else None
                file.create_dataset(name, shape, "f4", external=there)
                if there is None:
                    file[name][...] = 1
        with watch_opens(raw) as opened, raises(tj.FormatError):
            tj.open(None, path)
        assert opened == []


def test_unread_groups_may_be_in_other_files(tmp_path: Path) -> None:
    """If a group is named, the others are not opened; without a name they are refused."""
    secret, _ = _write_secret(tmp_path)
    path = _write(tmp_path / "made.h5md")
    with h5py.File(path, "a") as file:
        file["particles/other"] = h5py.ExternalLink(str(secret), _GROUP)
    with watch_opens(secret) as opened:
        with raises(tj.FormatError):
            tj.open(None, path)
        got = (
            tj.open(None, path, format_options={"h5md": {"particles": "trajectory"}})
            .read()
            .positions
        )
    assert opened == []
    assert np.array_equal(got, POSITIONS * np.float32(10))


def test_copies_never_open_files_named_in_a_file(tmp_path: Path) -> None:
    """Elements beside the vectors are left out with a message, also virtual ones of any length."""
    secret, raw = _write_secret(tmp_path)
    path = write_rich_h5md(tmp_path / "rich.h5md")
    data = "particles/trajectory/position/step"
    with h5py.File(path, "a", libver="latest") as file:
        for k, make in enumerate(_MECHANISMS.values()):
            file.create_group(f"observables/o{k}")
            for kind in ("value", "step"):
                there = f"observables/o{k}/{kind}"
                make(file, data, secret, raw)
                file.move(data, there)
                if "away" in file:
                    file.move("away", f"away{kind}")
        file["h5md/away"] = h5py.ExternalLink(str(secret), "/")
        del file["particles"]["trajectory"]
    out = tmp_path / "out.h5md"
    with watch_opens(secret, raw) as opened:
        tj.convert(
            tj.open(None, path, format_options={"h5md": {"particles": "all"}}),
            out,
            frames=slice(0, 3),
        )
    assert opened == []
    assert np.float64(SECRET).tobytes() not in out.read_bytes()
    with h5py.File(out) as file:
        assert all(len(file[f"observables/o{k}"]) == (2 if k == 2 else 0) for k in range(5))
