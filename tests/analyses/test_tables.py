"""Tables: damaged files and those of strangers, columns of CSV files, decimals of times."""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.extent import examples
from helpers.golden_files import Adk
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from trajet.digits import ROUNDING, decimals_within
from trajet.result.times import shortest_times

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


# Quantity, unit, and the label that tells apart several of them.
NAME = re.compile(r"[a-z][a-z0-9_]*(_[A-Za-z0-9/]+)?(:\S+)?")
SINGLE = [{"format": "XTC"}]
DCD = [{"format": "DCD"}, {}]


def _columns(result: object) -> list[str]:
    return [name for name, _ in result._table()]  # type: ignore[attr-defined]


def test_options_add_columns_and_rename_none(adk: Adk) -> None:
    """All names follow the rule, and a script that reads some finds them with any option."""
    traj = tj.open(adk.psf, adk.xtc)
    few, alpha = traj.select("resid 1:4"), traj.select("resid 1:3 and name CA")
    some = {"frames": slice(0, 6)}
    pairs = [
        (tj.rmsd(alpha, **some), tj.rmsd(alpha, groups=["resid 1:9", "all"], **some)),
        (tj.gyration(few, **some), tj.gyration(few, per_axis=True, **some)),
        (
            tj.min_distance(few, "resid 9", **some),
            tj.min_distance(few, "resid 9", cutoff=9, **some),
        ),
        (tj.pca(alpha, n_components=1, **some), tj.pca(alpha, n_components=3, **some)),
        (tj.contacts(few, "resid 9", **some), tj.contacts(few, "resid 9", cutoff=9, **some)),
        (tj.distances(alpha, **some), tj.distances(alpha, pbc=False, **some)),
        (
            tj.center_distances([few, alpha], **some),
            tj.center_distances([few, alpha, few], weights="equal", **some),
        ),
        (tj.sasa(few, points=20, **some), tj.sasa(few, points=20, probe=2.0, **some)),
        (
            tj.sasa(alpha, points=20, by="residue", **some),
            tj.sasa(few, points=20, by="residue", **some),
        ),
        (tj.rmsf(few, **some), tj.rmsf(few, align=alpha, **some)),
        (tj.end_to_end(few, **some), tj.end_to_end(few, **some)),
        (
            tj.hbonds(few, **some).pairs,
            tj.hbonds(few, cutoff=4.0, lifetimes=True, list_bonds=True, **some).pairs,
        ),
        (tj.contact_map(few, **some), tj.contact_map(few, exclude_neighbors=1, **some)),
        (tj.dihedrals(few, **some), tj.dihedrals(traj.select("resid 1:5"), **some)),
        (tj.dssp(few, **some), tj.dssp(few, simplified=True, **some)),
        (tj.centers(few, **some), tj.centers(few, by="residue", weights="equal", **some)),
    ]
    for plain, further in pairs:
        assert set(_columns(plain)) <= set(_columns(further)), plain
        for name in (*_columns(plain), *_columns(further)):
            assert NAME.fullmatch(name), name
        assert len(set(_columns(further))) == len(_columns(further))


def test_tables_of_atoms_name_their_residues(adk: Adk) -> None:
    """With name and number in columns of their own, that a spreadsheet can sort by."""
    traj = tj.open(adk.psf, adk.xtc)
    protein = traj.select("resid 1:40")
    bonds = tj.hbonds(protein, list_bonds=True, frames=slice(0, 3))
    for table, of in ((bonds.pairs, "donor"), (bonds.bonds, "acceptor")):
        assert table is not None
        columns = dict(table._table())
        atoms = columns[of]
        assert columns[f"{of}_resid"].tolist() == traj.topology.resids[atoms].tolist()
        assert columns[f"{of}_resname"].tolist() == traj.topology.resnames[atoms].tolist()
    residues = tj.hbonds(protein, by="residue", frames=slice(0, 3)).pairs
    columns = dict(residues._table())
    of_residues = traj.topology.residues
    assert columns["donor_resid"].tolist() == of_residues.resids[columns["donor_residue"]].tolist()


def test_loaded_tables_keep_their_residues(adk: Adk, tmp_path: Path) -> None:
    """Files of a loaded result are those of the result, slices included."""
    traj = tj.open(adk.psf, adk.xtc)
    whole = tj.hbonds(traj.select("resid 1:40"), list_bonds=True, frames=slice(0, 4))
    for ending in ("npz", "json"):
        whole.save(tmp_path / f"a.{ending}")
        loaded = tj.load(tmp_path / f"a.{ending}")
        for one, other in ((whole, loaded), (whole[1:3], loaded[1:3])):
            for name in ("pairs", "bonds"):
                tables = [getattr(result, name)._table() for result in (one, other)]
                assert repr(tables[0]) == repr(tables[1])


@pytest.mark.parametrize("step", [0.1, 0.002, 1.0, 25.0, 1 / 3, 1e-3])
def test_times_in_single_precision_are_short(step: float) -> None:
    """And give the stored value back in its type."""
    stored = (np.arange(2000) * step).astype(np.float32)
    short = shortest_times(stored.astype(np.float64), SINGLE)
    assert np.array_equal(short.astype(np.float32), stored)
    for value, one in zip(short.tolist(), stored, strict=True):
        assert repr(value) in (str(one), repr(float(str(one))))


@given(
    st.floats(2.0**-10, 1024.0, width=32),
    st.integers(1, 4000),
    st.sampled_from([48.88821, 20.45482949774598, 1.0]),
)
@settings(max_examples=examples(60), deadline=None)
def test_times_of_dcd_files_are_within_the_rounding_of_the_step(
    step: float, count: int, unit: float
) -> None:
    """Different frames have different times, each as exact as the step that the file stores."""
    times = np.arange(count) * (float(np.float32(step / unit)) * unit)
    short = shortest_times(times, DCD)
    assert (np.abs(short - times) <= ROUNDING * np.abs(times)).all()
    assert (np.diff(short) > 0).all()


def test_a_step_of_a_picosecond_is_one() -> None:
    """CHARMM's unit makes 0.9999999119200186 of it."""
    times = np.arange(1, 99) * 0.9999999119200186
    assert shortest_times(times, DCD).tolist() == list(range(1, 99))


def test_times_in_double_precision_stay() -> None:
    """Every bit of them, unless single precision holds all of them."""
    times = np.arange(50) * 0.1
    assert shortest_times(times, SINGLE).tobytes() == times.tobytes()
    odd = np.array([0.1, np.nan, 2.0**60, 1e300, -0.3])
    assert shortest_times(odd, SINGLE).tobytes() == odd.tobytes()
    kept = decimals_within(odd, np.zeros(5))
    assert np.array_equal(kept, odd, equal_nan=True)
    assert Fraction(float(shortest_times(np.float32([0.1]).astype(float), SINGLE)[0])) == Fraction(
        0.1
    )
