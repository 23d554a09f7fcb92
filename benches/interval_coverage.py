"""How often 95 % intervals of `trajet.statistics` cover the mean, on series whose mean is known.

interval_coverage.py            print the tables (docs/statistics.md has ranges)
interval_coverage.py --skewed   print those of rare states and skewed series
interval_coverage.py --liquids  print those of conductivities and dielectric constants
interval_coverage.py --text     print only the numbers in the text
interval_coverage.py --quick    a tenth of the series

Each case has 1,000 series of each of three lengths; of a mean that no estimator knows, an interval
of 95 % covers 95 %. The binomial error of the share stands beside it. `N/τ` is the number of frames
per (longest) exponential correlation time.

There are 10,000 series each of rare states and skewed ones. A state with the share p is visited
N/τ p (1 - p) times on average.

Targets: .93 on AR(1) for N/τ of 20 and more, .91 on two time scales and the switch at 50. Of 10,000
AR(1), at most 6 % are not resolved at N/τ = 100, and at least 90 % at 10. Of rare states and skewed
series, at most 5 % of all are resolved and do not hold the mean, where the state was seen at all;
where half are resolved, .93 of these hold it; with 20 visits or more, 90 % are resolved.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import trajet as tj
from host import as_lines
from numpy.typing import NDArray
from scipy.signal import lfilter
from trajet.analysis.conductivity import SHARE
from trajet.analysis.dielectric_constant import dielectric
from trajet.analysis.displacements import Displacements, Shape
from trajet.analysis.origin_blocks import Origins
from trajet.result import diffusion
from trajet.uncertainty.estimates import Estimates, estimates_of_blocks
from trajet.uncertainty.statistics import Statistics, statistics
from trajet.uncertainty.student_t import quantile

LENGTHS = (100, 1000, 10_000)
RATIOS = (100, 50, 20, 10)
LIQUID_FRAMES = (200, 1000, 3000)
LEVEL = 0.95

Rng = np.random.Generator


class Intervals(NamedTuple):
    """Intervals of means, and whether each is resolved; `(n_series,)`."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    is_resolved: NDArray[np.bool_]


Known = tuple[Estimates | Intervals, float]  # and the true mean
Made = Callable[[Rng, int, int, float], NDArray[np.float64]]


def ar1(rng: Rng, n: int, n_series: int, tau: float) -> NDArray[np.float64]:
    """Return stationary AR(1) series of mean 0 and variance 1, `(n, n_series)`."""
    phi = np.exp(-1 / tau)
    noise = rng.normal(size=(n, n_series)) * np.sqrt(1 - phi**2)
    before = phi * rng.normal(size=(1, n_series))
    made: NDArray[np.float64] = lfilter([1.0], [1.0, -phi], noise, axis=0, zi=before)[0]
    return made


def two_scales(rng: Rng, n: int, n_series: int, tau: float) -> NDArray[np.float64]:
    """Return sums of a slow and a fast AR(1)."""
    return ar1(rng, n, n_series, tau) + ar1(rng, n, n_series, tau / 20)


def switch(rng: Rng, n: int, n_series: int, tau: float) -> NDArray[np.float64]:
    """Return series that switch between -1/2 and 1/2 with correlation time tau, and noise."""
    flips = rng.random((n, n_series)) < (1 - np.exp(-1 / tau)) / 2
    begin = rng.integers(0, 2, n_series)
    states = (begin + np.cumsum(flips, axis=0)) % 2 - 0.5
    return states + 0.1 * rng.normal(size=(n, n_series))


CASES: dict[str, Made] = {
    "AR(1)": ar1,
    "two time scales": two_scales,
    "switch": switch,
    # Degrees about 0, which the caller turns.
    "angles": lambda *of: 30 * ar1(*of),
}


def statistics_of(
    name: str, n: int, n_series: int, ratio: float, seed: int, discard: str | None = None
) -> tuple[Statistics, float]:
    """Return the statistics of series of one case and their true mean."""
    rng = np.random.default_rng([seed, n, ratio, len(name)])
    values = CASES[name](rng, n, n_series, n / ratio)
    if name == "angles":
        return statistics(values + 170, period=360, discard=discard), 170.0
    return statistics(values, discard=discard), 0.0


def coverage(of: tuple[Statistics, float]) -> float:
    """Return the share of intervals that cover the mean."""
    stats, mean = of
    low, high = stats.interval
    if mean:
        # Intervals on a circle may lie one turn away.
        return float(np.mean((mean - low) % 360 <= high - low))
    return float(np.mean((low <= mean) & (mean <= high)))


def two_states(rng: Rng, n: int, n_series: int, tau: float, share: float) -> NDArray[np.bool_]:
    """Return whether series are in a state that takes this share of the time, `(n, n_series)`."""
    leaves = -np.expm1(-1 / tau)
    state, made = rng.random(n_series) < share, np.empty((n, n_series), bool)
    for row in made:
        row[:] = state
        chance = rng.random(n_series)
        state = np.where(state, chance >= leaves * (1 - share), chance < leaves * share)
    return made


def occupancies(rng: Rng, n_series: int, share: float, visits: float) -> Known:
    """Return the statistics of series of 0 and 1."""
    states = two_states(rng, *_lengths(n_series, share, visits), share)
    return statistics(states.astype(float)).estimates, share


def of_blocks(rng: Rng, n_series: int, share: float, visits: float) -> Known:
    """Return the statistics of occupancies of 127 blocks, as contact maps have them."""
    n, _, tau = _lengths(n_series, share, visits)
    size = max(4, n // 127)
    states = two_states(rng, 127 * size, n_series, tau * 127 * size / n, share)
    return estimates_of_blocks(states.reshape(127, size, n_series).mean(axis=1)), share


def of_interactions(rng: Rng, n_series: int, share: float, visits: float) -> Known:
    """Return occupancies of `tj.interactions`, of cations and anions that meet and part.

    Pairs that never meet are not among them.
    """
    states = two_states(rng, *_lengths(n_series, share, visits), share)
    sites = 20.0 * np.stack(np.unravel_index(np.arange(n_series), (16, 16, 16)), axis=1)
    positions = np.tile(sites, (len(states), 2, 1))
    positions[:, n_series:, 0] += np.where(states, 3, 9)
    with tempfile.TemporaryDirectory() as folder:
        topology, trajectory = Path(folder) / "ions.pdb", Path(folder) / "ions.dcd"
        names = ["NA"] * n_series + ["CL"] * n_series
        topology.write_text("".join(map(_of_ion, range(2 * n_series), names)) + "END\n")
        tj.write(trajectory, positions.astype(np.float32))
        with tj.open(topology, trajectory, sidecar=False) as traj:
            pairs = tj.interactions(
                traj.select("resname NA"), "resname CL", kinds="ionic", pbc=False, errors=True
            ).pairs
    np.testing.assert_array_equal(pairs.values, states.mean(axis=0)[pairs.members[:, 0]])
    ends = pairs.values - pairs.half_widths, pairs.values + pairs.half_widths
    return Intervals(*ends, pairs.resolved), share


def of_running_numbers(rng: Rng, n_series: int, share: float, visits: float) -> Known:
    """Return n(r) of `tj.rdf` of single pairs of atoms that meet and part, a fifth as many."""
    count = n_series // 5
    states = two_states(rng, *_lengths(count, share, visits), share)
    positions = np.zeros((len(states), 2 * count, 3), np.float32)
    positions[:, count:, 0] = np.where(states, 3, 9)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.dcd"
        tj.write(path, positions, cells=[40.0, 40, 40, 90, 90, 90])
        with tj.open(None, path, sidecar=False) as traj:
            pairs = [traj.select([k, count + k]) for k in range(count)]
            found = [tj.rdf(one, range=(0, 6), bins=2, errors=True).coordination for one in pairs]
    n, widths, resolved = (
        np.array([getattr(one, name)[-1] for one in found])
        for name in ("values", "half_widths", "resolved")
    )
    return Intervals(n - widths, n + widths, resolved), share


def _of_ion(k: int, name: str) -> str:
    """Return the line of an ion in a PDB file."""
    place = "   0.000   0.000   0.000  1.00  0.00"
    return f"HETATM{k + 1:5} {name:>2}    {name} A{k + 1:4}    {place}          {name}\n"


def rotamers(rng: Rng, n_series: int, share: float, visits: float) -> Known:
    """Return the statistics of angles with two rotamers, 120 degrees apart, and noise of 8."""
    states = two_states(rng, *_lengths(n_series, share, visits), share)
    angles = np.where(states, 120.0, 0.0) + rng.normal(0, 8, states.shape)
    mean = np.degrees(np.angle(1 - share + share * np.exp(2j * np.pi / 3)))
    return statistics((angles + 180) % 360 - 180, period=360).estimates, float(mean)


def with_noise(rng: Rng, n_series: int, share: float, visits: float) -> Known:
    """Return the statistics of two states at 0 and 1 with noise of a tenth."""
    states = two_states(rng, *_lengths(n_series, share, visits), share)
    return statistics(states + 0.1 * rng.normal(size=states.shape)).estimates, share


def log_normal(rng: Rng, n_series: int, width: float, ratio: float) -> Known:
    """Return the statistics of exponentials of AR(1), whose logarithm has this deviation."""
    n = max(500, int(1.5 * ratio))
    values = np.exp(width * ar1(rng, n, n_series, n / ratio))
    return statistics(values).estimates, float(np.exp(width**2 / 2))


def _lengths(n_series: int, share: float, visits: float) -> tuple[int, int, float]:
    """Return numbers of frames and series and the correlation time for so many visits."""
    ratio = visits / (share * (1 - share))
    n = max(500, int(1.5 * ratio))
    return n, n_series, n / ratio


VISITS, SHARES, WIDTHS = (5, 10, 20, 40), (0.5, 0.2, 0.1, 0.05, 0.02, 0.01), (0.5, 1.0)
SKEWED = {
    "series of 0 and 1": (occupancies, SHARES, VISITS),
    "127 blocks of 0 and 1": (of_blocks, SHARES, VISITS),
    "interactions": (of_interactions, SHARES, VISITS),
    "running coordination numbers": (of_running_numbers, SHARES, VISITS),
    "rotamers": (rotamers, SHARES, VISITS),
    "two states and noise": (with_noise, SHARES, VISITS),
    "log-normal": (log_normal, WIDTHS, (50, 100, 200, 400)),
}


def print_skewed(n_series: int) -> None:
    """Print how many means are resolved, their coverage, and how many of all are wrong."""
    for name, (made, shapes, lengths) in SKEWED.items():
        of = "N/τ = {}" if made is log_normal else "{} visits"
        print(f"\n| {name} | {' | '.join(of.format(one) for one in lengths)} |")
        print("|---|" + "---|" * len(lengths), flush=True)
        for shape in shapes:
            cells = []
            for length in lengths:
                # As many at once as fit into memory.
                parts = [
                    made(np.random.default_rng([k, length, int(1000 * shape)]), 1000, shape, length)
                    for k in range(max(1, n_series // 1000))
                ]
                resolved = np.concatenate([part.is_resolved for part, _ in parts])
                holds = np.concatenate([(p.low <= mean) & (mean <= p.high) for p, mean in parts])
                p = holds[resolved].mean() if resolved.any() else np.nan
                error = np.sqrt(p * (1 - p) / max(1, resolved.sum()))
                wrong = 100 * (resolved & ~holds).mean()
                cells.append(f"{100 * resolved.mean():.1f} %: {p:.3f} ± {error:.3f}, {wrong:.1f} %")
            print(f"| {shape} | {' | '.join(cells)} |", flush=True)


def charges(rng: Rng, n_frames: int, caged: float) -> tuple[bool, bool]:
    """Return whether the interval of a conductivity is resolved, and holds the truth.

    All charges together diffuse with 1/2 per frame; ions in cages add the deviation `caged`, with a
    correlation time of half a frame.
    """
    walk = np.cumsum(rng.normal(size=(n_frames, 3)), axis=0)
    series = (walk + caged * ar1(rng, n_frames, 3, 0.5)).T[np.newaxis].copy()
    shape = Shape(n_frames, int(SHARE * n_frames) + 1, 3, np.array([0, 1]), True, 2**29)
    sums, origins = Displacements(shape), Origins(shape)
    sums.add(series, 0)
    origins.add(series)
    lags = np.arange(float(shape.n_lags))
    fit = diffusion(lags, sums.means(), np.array([1]), 3, None, origins.blocks())
    return not fit.reason, abs(fit.coefficient - 0.5) <= fit.half_width


def dipoles(rng: Rng, n_frames: int, tau: float) -> tuple[bool, bool]:
    """Return whether the interval of a dielectric constant is resolved, and holds the truth.

    Dipole moments are AR(1) with this correlation time; the truth is 1 + 3.
    """
    running, _, half, reason = dielectric(ar1(rng, n_frames, 3, tau), np.ones(n_frames), 1.0)
    return not reason, bool(abs(running[-1] - 4) <= half)


LIQUIDS: dict[str, tuple[Callable[[Rng, int, float], tuple[bool, bool]], float]] = {
    "conductivity": (charges, 0.0),
    "conductivity, ions in cages": (charges, 1.0),
    "dielectric constant, τ = 2 frames": (dipoles, 2.0),
    "dielectric constant, τ = 10 frames": (dipoles, 10.0),
}


def print_liquids(n_series: int) -> None:
    """Print how many numbers are resolved, their coverage, and how many of all are wrong."""
    print(f"\n| | {' | '.join(f'{n:,} frames' for n in LIQUID_FRAMES)} |")
    print("|---|" + "---|" * len(LIQUID_FRAMES), flush=True)
    for name, (of, shape) in LIQUIDS.items():
        cells = []
        for n in LIQUID_FRAMES:
            rng = np.random.default_rng([n, len(name)])
            resolved, holds = np.array([of(rng, n, shape) for _ in range(n_series)]).T
            p = holds[resolved].mean() if resolved.any() else np.nan
            error = np.sqrt(p * (1 - p) / max(1, resolved.sum()))
            wrong = 100 * (resolved & ~holds).mean()
            cells.append(f"{100 * resolved.mean():.1f} %: {p:.3f} ± {error:.3f}, {wrong:.1f} %")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_text(n_series: int) -> None:
    """Print the numbers in the text of docs/statistics.md."""
    stats, mean = statistics_of("AR(1)", 1000, n_series, 10, 1)
    reach = 1.96 * stats.estimates.standard_error
    held = np.mean(np.abs(stats.estimates.mean - mean) <= reach)
    print(f"\nAR(1), N/τ = 10: mean ± 1.96 standard errors hold the mean in {100 * held:.1f} %")
    found, mean = occupancies(np.random.default_rng(1), n_series, 0.05, 10)
    reach = quantile(found.freedom) * found.standard_error
    # Without a visit, nothing changes, and there is no interval.
    known = np.isfinite(reach)
    by_t = np.mean(np.abs(found.mean - mean)[known] <= reach[known])
    held = np.mean((found.low <= mean)[known] & (mean <= found.high)[known])
    print(f"0.05, 10 visits: Student's t {100 * by_t:.1f} %, our interval {100 * held:.1f} %")
    for share in (0.5, 0.2, 0.1):
        visits = 100 * share * (1 - share)
        pairs, _ = of_interactions(np.random.default_rng(4), min(n_series, 1000), share, visits)
        resolved = 100 * pairs.is_resolved.mean()
        print(f"interactions, N/τ = 100, {share} of the time: {resolved:.1f} % resolved")
    for ratio in (2, 5):
        stats, _ = statistics_of("switch", 1000, n_series, ratio, 3)
        print(f"switch, N/τ = {ratio}: {100 * np.mean(stats.resolved):.1f} % look resolved")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--skewed", action="store_true")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--liquids", action="store_true")
    given = parser.parse_args()
    n_series, many = (100, 1000) if given.quick else (1000, 10_000)
    if given.liquids:
        print_liquids(n_series)
        return
    if not given.text:
        print_skewed(many)
    if not given.skewed:
        print_text(many)
    if given.skewed or given.text:
        return
    heads = [f"N/τ = {ratio}" for ratio in RATIOS]
    print(*as_lines(["series", "frames", *heads], []), sep="\n")
    for name in CASES:
        for n in LENGTHS:
            shares = [coverage(statistics_of(name, n, n_series, ratio, 1)) for ratio in RATIOS]
            errors = [np.sqrt(p * (1 - p) / n_series) for p in shares]
            cells = (f"{p:.3f} ± {e:.3f}" for p, e in zip(shares, errors, strict=True))
            print(f"| {name} | {n:,} | {' | '.join(cells)} |", flush=True)
    for n in LENGTHS:
        shares = [coverage(statistics_of("AR(1)", n, n_series, r, 1, "auto")) for r in RATIOS]
        print(f'| AR(1), `discard="auto"` | {n:,} | {" | ".join(f"{p:.3f}" for p in shares)} |')
    print("", *as_lines(["not resolved", "frames", *heads], []), sep="\n")
    for name in ("AR(1)", "switch"):
        for n in LENGTHS[:2]:
            flags = [statistics_of(name, n, many, ratio, 2)[0].resolved for ratio in RATIOS]
            cells = (f"{100 * (1 - np.mean(one)):.1f} %" for one in flags)
            print(f"| {name} | {n:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
