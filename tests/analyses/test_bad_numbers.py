"""Numbers that make no sense are an ordinary error, never a panic or a wrong result."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.messages import names
from helpers.systems import Systems

Run = Callable[..., Any]
REFUSED = (ValueError, TypeError, tj.TrajetError, MemoryError)
NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.0, -1, 0, 1e300, -1e300, 1e-300, 10**30, "x", 1j, [[1]]]
# Of eight atoms.
WEIGHTS = [
    *(np.full(8, value) for value in (np.nan, np.inf, -1.0, 0.0, 1e300, 1e308, 1e-310, 1j)),
    *(np.r_[value, np.ones(7)] for value in (np.nan, np.inf, -1.0, 1e300)),
    *(np.ones(7), np.ones((8, 1)), np.array(["1"] * 8), [None] * 8, "masses", 3.0, []),
]
POSITIONS = [
    *(np.full((8, 3), value) for value in (np.nan, np.inf, 1e39, 1e300, 1j)),
    *(np.ones((7, 3)), np.ones(24), np.array([["1"] * 3] * 8), [], -1, 10**6, 10**30),
]
VECTORS = [
    *([value, 0, 0] for value in (np.nan, np.inf, 1e39, 1e300, -1e300, 1j, "x", None)),
    *([1, 2], [[1, 2, 3]], 1.0, "xyz", []),
]
PAIRS = [*((0, value) for value in NUMBERS), *((value, 9.0) for value in NUMBERS), (9, 1), (1,), 3]
CASES: dict[str, tuple[Run, dict[str, list[Any]]]] = {
    "center_distances": (
        lambda a, **o: tj.center_distances(a, **{"by": "residue", **o}),
        {"weights": WEIGHTS},
    ),
    "centers": (tj.centers, {"weights": WEIGHTS}),
    "cluster_rmsd": (
        lambda a, **o: tj.cluster_rmsd(a, **{"cutoff": 1.0, **o}),
        {"cutoff": NUMBERS, "n_clusters": NUMBERS, "weights": WEIGHTS, "max_memory": NUMBERS},
    ),
    "contact_map": (tj.contact_map, {"cutoff": NUMBERS, "exclude_neighbors": NUMBERS}),
    "contacts": (tj.contacts, {"cutoff": NUMBERS}),
    "density": (
        tj.density,
        {
            "spacing": NUMBERS,
            "grid_center": VECTORS,
            "grid_size": [*NUMBERS, *VECTORS],
            "padding": NUMBERS,
        },
    ),
    "dihedrals": (
        lambda a, **o: tj.dihedrals(a, **{"quadruples": [[0, 1, 2, 3]], **o}),
        {"quadruples": [*NUMBERS, *VECTORS, [[0, 1, 2, 10**9]], [[-1, 0, 1, 2]], [[0.5, 1, 2, 3]]]},
    ),
    "distances": (tj.distances, {"reference": POSITIONS}),
    "gyration": (tj.gyration, {"weights": WEIGHTS}),
    "gyration_moments": (tj.gyration_moments, {"weights": WEIGHTS}),
    "hbonds": (
        lambda a, **o: tj.hbonds(a.trajectory.select("resid 1:3"), lifetimes=True, **o),
        {
            **dict.fromkeys(("cutoff", "angle", "max_lag", "intermittency"), NUMBERS),
            "max_memory": NUMBERS,
        },
    ),
    "linear_density": (tj.linear_density, {"bins": NUMBERS}),
    "min_distance": (tj.min_distance, {"cutoff": NUMBERS}),
    "msd": (
        lambda a, **o: tj.msd(a, unwrapped=True, **o),
        {"weights": WEIGHTS, "max_lag": NUMBERS, "fit_range": PAIRS, "max_memory": NUMBERS},
    ),
    "native_contacts": (
        lambda a, **o: tj.native_contacts(a, **{"cutoff": 9.0, **o}),
        {
            **dict.fromkeys(("cutoff", "factor", "beta", "exclude_neighbors"), NUMBERS),
            "reference": POSITIONS,
        },
    ),
    "pairwise_rmsd": (tj.pairwise_rmsd, {"weights": WEIGHTS, "max_memory": NUMBERS}),
    "pca": (
        tj.pca,
        {
            "weights": WEIGHTS,
            "n_components": NUMBERS,
            "max_memory": NUMBERS,
            "reference": POSITIONS,
        },
    ),
    "rdf": (tj.rdf, {"bins": NUMBERS, "range": PAIRS, "exclude": PAIRS}),
    "rdf_pairs": (
        lambda a, **o: tj.rdf_pairs([(a, a)], **o),
        {"bins": NUMBERS, "range": PAIRS, "weights": WEIGHTS},
    ),
    "rmsd": (tj.rmsd, {"weights": WEIGHTS, "reference": POSITIONS}),
    "rmsf": (lambda a, **o: tj.rmsf(a, align=a, **o), {"weights": WEIGHTS, "reference": POSITIONS}),
    "sasa": (
        lambda a, **o: tj.sasa(a, **{"points": 20, **o}),
        {"probe": NUMBERS, "points": NUMBERS, "radii": [*WEIGHTS, {"C": np.nan}, {"C": 1e300}]},
    ),
    "translate": (lambda a, vector: a.translate(vector).read([0, 1]), {"vector": VECTORS}),
    "center": (lambda a, **o: a.center(a, **o).read([0, 1]), {"weights": WEIGHTS}),
    "fit": (
        lambda a, **o: a.fit(a, **o).read([0, 1]),
        {"weights": WEIGHTS, "reference": POSITIONS},
    ),
    "read": (lambda a, frames: a.read(frames), {"frames": [[one] for one in NUMBERS]}),
    "frames": (tj.count, {"frames": [*NUMBERS, *([one] for one in NUMBERS)]}),
    "select": (lambda a, atoms: a.trajectory.select(atoms), {"atoms": [[x] for x in NUMBERS]}),
}


def _floats(result: Any) -> list[np.ndarray]:
    arrays = [value for value in vars(result).values() if isinstance(value, np.ndarray)]
    return [array for array in arrays if array.dtype.kind == "f"]


@pytest.mark.filterwarnings("error", "ignore::trajet.messages.TrajetWarning")
@pytest.mark.parametrize(("name", "argument"), [(n, a) for n in CASES for a in CASES[n][1]])
def test_bad_numbers_are_refused_or_make_sense(name: str, argument: str, systems: Systems) -> None:
    """Every number of every argument: an ordinary error, or a result without new NaN."""
    function, arguments = CASES[name]
    atoms = systems["solvated.xtc"].trajectory.select(np.arange(8))
    for value in arguments[argument]:
        try:
            result = function(atoms, **{argument: value})
        except REFUSED as error:
            assert type(error).__name__ not in ("PanicException", "TaskError"), (value, error)
            assert str(error) and names(error)
            continue
        except Exception as error:
            raise AssertionError(f"{argument}={value!r}") from error
        for array in _floats(result):
            assert array.size == 0 or not np.isnan(array).all(), f"{argument}={value!r}: NaN"


def test_a_panic_is_an_ordinary_exception() -> None:
    """Every native function may raise it; scripts and pools treat it as a defect."""
    panic = tj._trajet.PanicException
    assert issubclass(panic, tj.TaskError) and issubclass(panic, Exception)
    assert "internal error: a text: please report" in str(panic("a text"))
