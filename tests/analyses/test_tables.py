"""Tables: files of them that are damaged or of strangers, and summaries without frames."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.generic]]


@pytest.fixture(scope="module")
def results(adk: Adk) -> dict[str, tj.Table]:
    """Return tables of all kinds, and those with parts and further arrays."""
    traj = tj.open(adk.psf, adk.xtc)
    few, some = traj.select("resid 1:4 and name CA"), {"frames": slice(0, 6)}
    return {
        "rmsd": tj.rmsd(few, groups=["resid 1:9"], **some),
        "moments": tj.gyration_moments(few, **some),
        "native": tj.native_contacts(traj.select("resid 1:30"), **some),
        "rmsf": tj.rmsf(few, **some),
        "areas": tj.sasa(few, by="residue", points=20, **some),
    }


WRONG: dict[str, Callable[[Arrays], Arrays]] = {
    "frames as texts": lambda arrays: {"axis0.frame": np.array(["a"] * 6)},
    "no times": lambda arrays: {"axis0.time": None},
    "one text as selections": lambda arrays: {"selections": np.array("abc")},
    "truth values": lambda arrays: {"values": arrays["values"].astype(bool)},
    "another axis": lambda arrays: {
        "axis0.kind": np.array("distance"),
        "axis0.centre": np.arange(6.0),
    },
    "parts of parts": lambda arrays: (
        {f"part.a.{name}": array for name, array in arrays.items()}
        | {f"part.a.part.a.{name}": array for name, array in arrays.items()}
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ["moments", "native", "areas"])
def test_wrong_files_are_errors(
    results: dict[str, tj.Table], tmp_path: Path, name: str, wrong: str
) -> None:
    """Whatever is wrong, the message names the file."""
    path = tmp_path / "one.npz"
    results[name].save(path)
    with np.load(path) as saved:
        arrays = dict(saved)
    made = {**arrays, **WRONG[wrong](arrays)}
    np.savez(path, **{key: array for key, array in made.items() if array is not None})
    with raises(tj.FormatError):
        tj.load(path)


def test_missing_parts_are_errors(results: dict[str, tj.Table], tmp_path: Path) -> None:
    """A class needs its parts; an unknown one is a plain table, whose summary has its extremes."""
    path = tmp_path / "one.npz"
    results["native"].save(path)
    with np.load(path) as saved:
        arrays = dict(saved)
    kept = {name: array for name, array in arrays.items() if not name.startswith("part.")}
    np.savez(path, **kept)
    with raises(tj.FormatError):
        tj.load(path)
    np.savez(path, **(kept | {"kind": np.array("Later")}))
    later = tj.load(path)
    assert type(later) is tj.Table
    assert np.array_equal(later.values, results["native"].values)
    part = results["native"].parts["native"]
    (row,) = part.summary().rows()
    assert row[1] == len(part.values)
    assert row[3] == part.values.min()
    assert part.summary().columns[-1].name == "pair of max"


def test_columns_that_a_table_lacks_are_no_attributes(results: dict[str, tj.Table]) -> None:
    """So that `hasattr` works; the message names the axes that there are."""
    assert not hasattr(results["rmsf"], "times")
    assert not hasattr(results["rmsd"], "atoms")
    with raises(AttributeError):
        _ = results["rmsf"].frames
    with raises(KeyError):
        results["rmsd"].axis("atoms")
