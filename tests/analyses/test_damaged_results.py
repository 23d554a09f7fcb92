"""Saved results that are damaged, or that no version of trajet wrote."""

import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import names, raises
from trajet.result import loading


@pytest.fixture(scope="module")
def saved(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, np.ndarray]]:
    """Return the arrays of results of several classes."""
    traj, folder = tj.open(adk.psf, adk.xtc), tmp_path_factory.mktemp("saved")
    few = traj.select("name CA and resid 1:9")
    results = {
        "series": tj.rmsd(few),
        "atoms": tj.rmsf(few),
        "pairs": tj.pairwise_rmsd(few, frames=slice(0, 6)),
        "clusters": tj.cluster_rmsd(few, cutoff=1.0, frames=slice(0, 6)),
        "distances": tj.distances(few),
        "between": tj.distances(few, traj.select("name CB and resid 1:3")),
        "grid": tj.density(few, spacing=8.0),
        "molecules": tj.centers(few, by="molecule"),
        "angles": tj.dihedrals(traj.select("resid 1:5")),
        "contacts": tj.contact_map(traj.select("resid 1:9"), cutoff=4.5),
        "classes": tj.dssp(traj.select("resid 1:20"), frames=slice(0, 6), simplified=True),
        "components": tj.pca(few, frames=slice(0, 6), n_components=3),
        "displacements": tj.msd(few, unwrapped=True, frames=slice(0, 6)),
        "arrays": tj.apply(few, lambda x: {"a": x[0, :2], "b": x[0, 2]}, frames=slice(0, 6)),
        "bonds": tj.hbonds(
            traj.select("resid 1:19"), cutoff=4.0, list_bonds=True, lifetimes=True, errors=True
        ),
    }
    arrays = {}
    for name, result in results.items():
        result.save(folder / f"{name}.npz")
        with np.load(folder / f"{name}.npz") as file:
            arrays[name] = dict(file)
    return arrays


def write(path: Path, arrays: Mapping[str, np.ndarray], **others: Any) -> Path:
    """Write arrays, some of them replaced."""
    np.savez(path, **{**arrays, **others})  # type: ignore[arg-type]
    return path


KINDS = [
    *("series", "atoms", "pairs", "clusters", "distances", "between", "grid", "molecules"),
    *("angles", "contacts", "classes", "components", "displacements", "arrays", "bonds"),
]
WRONG = {
    "dates": lambda array: np.zeros(array.shape, "M8[s]"),
    "complex": lambda array: np.zeros(array.shape, complex),
    "further axes": lambda array: np.zeros((*array.shape, 3, 4), array.dtype),
    "records": lambda array: np.zeros(array.shape, [("a", "f8")]),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_types_and_shapes_are_errors(
    saved: dict[str, dict[str, np.ndarray]], tmp_path: Path, kind: str, wrong: str
) -> None:
    """Every field is damaged in turn; the message names the file."""
    for name, array in saved[kind].items():
        path = write(tmp_path / "one.npz", saved[kind], **{name: WRONG[wrong](array)})
        if wrong == "further axes" and name not in ("values", "times", "frames"):
            continue
        with raises(tj.FormatError, path):
            tj.load(path)
            pytest.fail(name)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_arrays_are_errors(
    saved: dict[str, dict[str, np.ndarray]], tmp_path: Path, kind: str
) -> None:
    """Every array is left out in turn; what a file may lack leaves a result with a table."""
    for name in saved[kind]:
        path = write(tmp_path / "one.npz", {k: a for k, a in saved[kind].items() if k != name})
        try:
            found = tj.load(path)
        except tj.FormatError as error:
            assert names(error, path)
        else:
            for one in (found, *getattr(found, "parts", {}).values()):
                assert repr(one)
                assert one.csv_header()
                assert one.summary(3)


def test_wrong_members_are_errors(saved: dict[str, dict[str, np.ndarray]], tmp_path: Path) -> None:
    """Places that the axis of the atoms does not have, and axes within axes."""
    pairs = saved["distances"]
    name = "axis1.members"
    for wrong in (pairs[name] + 1, -1 - pairs[name], pairs[name][:, :0], pairs[name][:-1]):
        path = write(tmp_path / "one.npz", pairs, **{name: wrong})
        with raises(tj.FormatError):
            tj.load(path)
    own = {key: array for key, array in pairs.items() if key.startswith("axis1.")}
    nested = dict(pairs)
    for depth in range(1, 4):
        begin = "axis1." + "of." * depth
        nested.update({key.replace("axis1.", begin, 1): array for key, array in own.items()})
    with raises(tj.FormatError):
        tj.load(write(tmp_path / "one.npz", nested))


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        ("classes", "values", lambda a: np.where(np.arange(len(a))[:, None] == 5, "G", a)),
        ("classes", "values", lambda a: np.char.add(a, "E")),
        ("components", "part.variances.values", lambda a: a[:2]),
        ("displacements", "part.groups.axis0.time", lambda a: a + 3),
        ("displacements", "directions", lambda _: np.array("xx")),
        ("displacements", "also.n_windows", lambda a: a * 1.0),
        ("clusters", "part.clusters.values", lambda a: a + 1),
        ("arrays", "shapes", lambda _: np.array(["2", "2"])),
        ("arrays", "shapes", lambda _: np.array(["5", "-2"])),
        ("arrays", "shapes", lambda _: np.array([f"{2**63}x2", "3"])),
        ("bonds", "part.pairs.n_frames", lambda a: a + 1),
        ("bonds", "part.pairs.axis0.of.atom", lambda a: a[::-1]),
    ],
)
def test_arrays_that_contradict_each_other_are_errors(
    saved: dict[str, dict[str, np.ndarray]],
    tmp_path: Path,
    kind: str,
    name: str,
    change: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Those of a table, of its parts and of its fields."""
    path = write(tmp_path / "one.npz", saved[kind], **{name: change(saved[kind][name])})
    with raises(tj.FormatError):
        tj.load(path)


@pytest.mark.parametrize("report", [b"\xff", "text", 10**12, np.zeros(3), b"[" * 100_000])
def test_report_of_another_type_is_an_error(
    saved: dict[str, dict[str, np.ndarray]], tmp_path: Path, report: Any
) -> None:
    """A number is not taken for a count of bytes, and nested lists end no process."""
    path = write(tmp_path / "one.npz", saved["series"], report=np.array(report))
    with raises(tj.FormatError):
        tj.load(path)


# What a byte of a header of NPY becomes: parentheses, quotes, operators, digits, no UTF-8.
CHANGES = b" ({[)]}'\"\\,:<>|-*#9L\0\n\xff"


def test_changed_headers_are_errors(
    saved: dict[str, dict[str, np.ndarray]], tmp_path: Path
) -> None:
    """NumPy parses them as Python, before the checksum of the array is compared."""
    content = write(tmp_path / "whole.npz", saved["series"]).read_bytes()
    path, choose = tmp_path / "one.npz", random.Random(2)
    at = content.index(b"\x93NUMPY")
    header = range(at, content.index(b"\n", at))
    for k in header:
        changed = bytearray(content)
        changed[k] = choose.choice([byte for byte in CHANGES if byte != content[k]])
        path.write_bytes(changed)
        with raises(tj.FormatError, path):
            tj.load(path)
    for text in (b"(" * 100, b"{" * 100, b"-" * 100, b"'" * 3, b"9" * 100):
        path.write_bytes(content[: header[12]] + text + content[header[12] + len(text) :])
        with raises(tj.FormatError, path):
            tj.load(path)


def test_cut_and_changed_files_are_errors(
    saved: dict[str, dict[str, np.ndarray]], tmp_path: Path
) -> None:
    """Or have the same numbers, where a byte of no meaning is changed."""
    content = write(tmp_path / "whole.npz", saved["series"]).read_bytes()
    path, choose = tmp_path / "one.npz", random.Random(1)
    for _ in range(150):
        first = choose.randrange(len(content))
        last = choose.randrange(first, min(len(content), first + 100))
        damaged = [
            content[:first],
            content[:first] + content[last:],
            content[:first] + choose.randbytes(last - first) + content[last:],
        ]
        path.write_bytes(choose.choice(damaged))
        try:
            found = tj.load(path)
        except tj.FormatError as error:
            assert names(error, path)
        else:
            assert found.values.tobytes() == saved["series"]["values"].tobytes()


def test_small_file_with_large_arrays_is_an_error(
    saved: dict[str, dict[str, np.ndarray]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before memory is taken for them; a size that the header claims is compared with the file."""
    monkeypatch.setattr(loading, "_LEAST", 0)
    path = tmp_path / "one.npz"
    np.savez_compressed(path, **{**saved["series"], "values": np.zeros((98, 20_000))})  # type: ignore[arg-type]
    with raises(tj.FormatError):
        tj.load(path)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000000,), }"
    claimed = b"\x93NUMPY\x01\x00\x76\x00" + header.ljust(117) + b"\n" + bytes(80)
    write(path, {key: array for key, array in saved["series"].items() if key != "values"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("values.npy", claimed)
    with raises(tj.FormatError):
        tj.load(path)
