"""How often 95 % intervals of `tj.msd` cover the truth, on Brownian particles of known D.

.venv/bin/python benches/coverage_msd.py            print the table (docs/statistics.md has ranges)
.venv/bin/python benches/coverage_msd.py --quick    a tenth of the trajectories

Each case has 1,000 trajectories of 1,000 frames. The MSD is taken at lags of 0.1 %, 1 %, 5 % and
25 % of the trajectory, and D from fits over 0.5 to 2.5 %, 1 to 10 % and 5 to 25 % of it. Of fewer
than five particles, errors are those of blocks of time origins, otherwise those of groups of
particles. Shares of intervals that are resolved stand beside those by time origins. Particles of a
last case share half of their motion: `together` is how often a message says so.
"""

import argparse

import numpy as np
from numpy.typing import NDArray
from trajet.analysis.displacements import Displacements, Shape
from trajet.analysis.origin_blocks import Origins
from trajet.result import diffusion, errors_of

N_FRAMES = 1000
N_LAGS = 251
LAGS = (1, 10, 50, 250)
FITS = ((5, 25), (10, 100), (50, 250))
PARTICLES = (1, 2, 4, 5, 10, 20, 100)
D = 0.5


def brownian(rng: np.random.Generator, n_particles: int, shared: float) -> NDArray[np.float64]:
    """Return `(n_particles, 3, N_FRAMES)` positions, Å, with D of 0.5 Å² a frame."""
    own = rng.normal(size=(n_particles, 3, N_FRAMES))
    common = rng.normal(size=(1, 3, N_FRAMES))
    return np.cumsum(np.sqrt(1 - shared) * own + np.sqrt(shared) * common, axis=2)


def outcome(series: NDArray[np.float64]) -> tuple[list[bool], list[bool], bool]:
    """Return which intervals cover the truth, which are resolved, and whether a message warns."""
    n_groups = min(20, len(series))
    borders = np.linspace(0, len(series), n_groups + 1).astype(np.int64)
    shape = Shape(N_FRAMES, N_LAGS, 3, borders, True, 2**29)
    sums, origins = Displacements(shape), Origins(shape)
    for group in range(n_groups):
        sums.add(series[borders[group] : borders[group + 1]].copy(), group)
    origins.add(series)
    groups, sizes, blocks = sums.means(), np.diff(borders), origins.blocks()
    lags = np.arange(float(N_LAGS))
    values = groups @ (sizes / sizes.sum())
    errors = errors_of(groups, sizes, blocks)
    covers = [bool(abs(values[lag] - 6 * D * lag) <= errors.half_widths[lag]) for lag in LAGS]
    resolved = [not errors.reasons[lag] for lag in LAGS]
    for fit in FITS:
        found = diffusion(lags, groups, sizes, 3, fit, blocks)
        covers.append(abs(found.coefficient - D) <= found.half_width)
        resolved.append(not found.reason)
    messages = origins.messages(groups, sizes, lags, errors)
    return covers, resolved, any("together" in one for one in messages)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    n = 100 if parser.parse_args().quick else 1000
    names = [f"lag {lag}" for lag in LAGS] + [f"D, {first} to {last}" for first, last in FITS]
    print(f"| particles | {' | '.join(names)} | together |")
    print("|---|" + "---|" * (len(names) + 1))
    for n_particles, shared in [*((count, 0.0) for count in PARTICLES), (100, 0.5)]:
        rng = np.random.default_rng([1, n_particles])
        found = [outcome(brownian(rng, n_particles, shared)) for _ in range(n)]
        covered, resolved = (np.mean([one[k] for one in found], axis=0) for k in (0, 1))
        cells = [
            f"{p:.3f} ± {np.sqrt(p * (1 - p) / n):.3f}" + (f" ({r:.0%})" if r < 1 else "")
            for p, r in zip(covered.tolist(), resolved.tolist(), strict=True)
        ]
        name = f"{n_particles}, half shared" if shared else f"{n_particles}"
        together = np.mean([one[2] for one in found])
        print(f"| {name} | {' | '.join(cells)} | {together:.1%} |", flush=True)


if __name__ == "__main__":
    main()
