"""How often 95 % intervals of `trajet.free_energy` hold differences of F that are known.

coverage_free_energy.py            print the table (docs/statistics.md has it)
coverage_free_energy.py --quick    a tenth of the series

Each case has 1,000 series and 20 bins. A profile is that of AR(1) with the deviation 1, of two
states with noise, and of AR(1) with a bias whose weights restore the true density: a linear one,
and one that flattens the well. Of each interval that is drawn, F - F(lowest bin) ± the half width
is compared with the truth, and so is the difference of the two states as basins.

Targets: of cases of which half of the bins are resolved, .93 of these hold the truth; at most 5 %
of all bins are resolved and do not.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import trajet as tj
from host import as_lines
from interval_coverage import Rng, ar1, two_states
from numpy.typing import NDArray
from scipy.stats import norm

RATIOS = (30, 100, 300, 1000)
EDGES = np.linspace(-3, 3, 21)

# Values of frames, their bias in kT, and the true shares of bins.
Made = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def well(rng: Rng, n: int, n_series: int, tau: float) -> Made:
    """Return AR(1)."""
    x = ar1(rng, n, n_series, tau)
    return x, np.zeros_like(x), np.diff(norm.cdf(EDGES))


def shifted(rng: Rng, n: int, n_series: int, tau: float) -> Made:
    """Return AR(1) with a linear bias, which has moved the well by 0.7."""
    x = ar1(rng, n, n_series, tau)
    return x, 0.7 * x, np.diff(norm.cdf(EDGES, 0.7))


def flattened(rng: Rng, n: int, n_series: int, tau: float) -> Made:
    """Return AR(1) of which weights make a wider well."""
    x = ar1(rng, n, n_series, tau)
    return x, 0.2 * x**2, np.diff(norm.cdf(EDGES, 0, 1 / np.sqrt(0.6)))


def states(share: float) -> Callable[[Rng, int, int, float], Made]:
    """Return a function that makes two states, of which the second has this share, and noise."""

    def made(rng: Rng, n: int, n_series: int, tau: float) -> Made:
        state = two_states(rng, n, n_series, tau, share)
        x = np.where(state, 1.2, -1.2) + 0.45 * ar1(rng, n, n_series, max(0.5, tau / 50))
        first, second = (np.diff(norm.cdf(EDGES, at, 0.45)) for at in (-1.2, 1.2))
        return x, np.zeros_like(x), share * second + (1 - share) * first

    return made


CASES: dict[str, Callable[[Rng, int, int, float], Made]] = {
    "AR(1)": well,
    "two states, 0.5": states(0.5),
    "two states, 0.2": states(0.2),
    "two states, 0.05": states(0.05),
    "AR(1), reweighted by a linear bias": shifted,
    "AR(1), reweighted to a wider well": flattened,
}


def counted(base: tj.Table, made: Made) -> tuple[int, int, int]:
    """Return how many bins were seen, are resolved, and are resolved and hold the truth."""
    values, bias, shares = made
    seen = resolved = held = 0
    for x, of_frames in zip(values.T, bias.T, strict=True):
        found = tj.free_energy(
            replace(base, values=x),
            temperature=300,
            bins=EDGES,
            units="kT",
            weights=np.exp(of_frames - of_frames.max()),
        )
        assert found.half_widths is not None and found.resolved is not None
        truth = -np.log(shares / shares[np.nanargmin(found.values)])
        is_seen = found.values > 0
        holds = np.abs(found.values - truth) <= found.half_widths
        seen += np.count_nonzero(is_seen)
        resolved += np.count_nonzero(is_seen & found.resolved)
        held += np.count_nonzero(is_seen & found.resolved & holds)
    return seen, resolved, held


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    n_series = 100 if parser.parse_args().quick else 1000
    print(*as_lines(["profile", *(f"N/τ = {ratio}" for ratio in RATIOS)], []), sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in CASES.items():
            cells = []
            for ratio in RATIOS:
                n = max(1000, 2 * ratio)
                path = Path(folder) / f"{n}.dcd"
                if not path.exists():
                    tj.write(path, np.zeros((n, 1, 3), np.float32))
                with tj.open(None, path, sidecar=False) as traj:
                    base = tj.apply(traj.all_atoms(), np.sum)
                made = make(np.random.default_rng([ratio, len(name)]), n, n_series, n / ratio)
                seen, resolved, held = counted(base, made)
                wrong = 100 * (resolved - held) / seen
                cells.append(f"{100 * resolved / seen:.0f} %: {held / resolved:.3f}, {wrong:.1f} %")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
