"""Free energies are those of pymbar's `FES`: `make test-peers`; pytest does not collect this file.

Umbrella sampling of a double well in two dimensions, of one window and of nine, which pymbar's MBAR
joins; trajet gets the bias, or the weights of MBAR.
"""

import numpy as np
import pymbar
import pytest
import trajet as tj
from helpers.made_results import table
from numpy.typing import NDArray

KT = 8.31446261815324e-3 * 300
# pymbar takes as many edges along each axis.
EDGES = [np.linspace(-2, 2, 21), np.linspace(-1.5, 1.5, 21)]
CENTRES = np.linspace(-1.6, 1.6, 9)


def sampled(centre: float, n: int, seed: int) -> NDArray[np.float64]:
    """Return points of a Metropolis walk in the well with an umbrella, `(n, 2)`; energies in kT."""
    rng = np.random.default_rng(seed)

    def energy(at: NDArray[np.float64]) -> float:
        return float(4 * (at[0] ** 2 - 1) ** 2 + 2 * at[1] ** 2 + umbrella(at[0], centre))

    at, now = np.array([centre, 0.0]), energy(np.array([centre, 0.0]))
    found = np.empty((n, 2))
    for k in range(n):
        other = at + rng.normal(0, 0.3, 2)
        if rng.random() < np.exp(min(0.0, now - (then := energy(other)))):
            at, now = other, then
        found[k] = at
    return found


def umbrella(x: "float | NDArray[np.float64]", centre: float) -> "float | NDArray[np.float64]":
    """Return the bias, kT."""
    return 5 * (x - centre) ** 2


@pytest.mark.parametrize("centres", [CENTRES[4:5], CENTRES])
@pytest.mark.parametrize("n_axes", [1, 2])
def test_free_energies_are_those_of_fes(centres: NDArray[np.float64], n_axes: int) -> None:
    """Profiles and maps are equal, of one window by its bias and of several by weights."""
    n = 2000
    points = np.concatenate([sampled(c, n, k) for k, c in enumerate(centres)])
    bias = np.array([umbrella(points[:, 0], c) for c in centres])
    fes = pymbar.FES(bias, [n] * len(centres))
    given, edges = points[:, :n_axes], EDGES[:n_axes]
    fes.generate_fes(
        np.zeros(len(points)),
        given if n_axes > 1 else given[:, 0],
        histogram_parameters={"bin_edges": edges if n_axes > 1 else edges[0]},
    )
    middles = [(e[:-1] + e[1:]) / 2 for e in edges]
    places = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, n_axes)
    frames = np.arange(len(points))
    x, y = (table(points[:, k], frames, [], name=f"place {k}", units="") for k in (0, 1))
    weights = {"bias": KT * bias[0]} if len(centres) == 1 else {"weights": fes.w_n}
    found = tj.free_energy(
        *(x, y)[:n_axes],
        temperature=300,
        bins=tuple(edges) if n_axes > 1 else edges[0],
        units="kT",
        **weights,  # type: ignore[arg-type]
    )
    seen = np.isfinite(found.values).ravel()
    theirs = fes.get_fes(places[seen] if n_axes > 1 else places[seen, 0])["f_i"]
    np.testing.assert_allclose(found.values.ravel()[seen], theirs - np.min(theirs), atol=1e-9)
    assert seen.sum() >= 12
