"""How often intervals of exit rates cover the truth, and the kernel beside MDAnalysis.

survival.py            print both tables (docs/statistics.md has the first)
survival.py --quick    a tenth of the series

Members are in one of two states, and leave and come back with the same probability a frame. Each
case has 1,000 sets of members over 300 frames with a mean dwell time of 1/3, 1/10 and 1/30 of them.
`cover` is the share of 95 % intervals that hold the true rate. The ratios to the true rate are
those of all sets together: of exits over frames at risk, of runs where those that the ends cut
count as exits, and of whole runs alone. Copies are members that come and go together.

The second table has the time of `MDAnalysis.lib.correlations.autocorrelation` and of trajet, of the
same members with the same result: water near a protein, of which a few leave in each frame.
"""

import argparse
import time

import numpy as np
from host import as_lines
from MDAnalysis.lib.correlations import autocorrelation, correct_intermittency
from numpy.typing import NDArray
from trajet import _trajet
from trajet.analysis.lifetimes import add_members, exit_shares

N_FRAMES = 300
# Members, copies of each, and frames of the mean dwell time.
CASES = ((1, 1, 100), (1, 1, 30), (1, 1, 10), (20, 1, 100), (5, 10, 100), (5, 10, 10))
# Frames, members, frames of the mean dwell time, and largest lag in frames.
TIMED = ((1000, 300, 20, 100), (1000, 300, 20, 500), (5000, 300, 50, 100))

Members = tuple[NDArray[np.int64], NDArray[np.uint32]]


def two_states(
    rng: np.random.Generator, n_members: int, n_copies: int, n_frames: int, dwell: float
) -> NDArray[np.bool_]:
    """Return whether each member is present in each frame, `(n_members * n_copies, n_frames)`."""
    changes = rng.random((n_members, n_frames)) < 1 / dwell
    present = (rng.integers(2, size=(n_members, 1)) + changes.cumsum(axis=1)) % 2 == 1
    return np.repeat(present, n_copies, axis=0)


def correlated(present: NDArray[np.bool_], max_lag: int) -> _trajet.Correlation:
    """Return the counts of members, given as trajet collects them: frame by frame."""
    frames, keys = np.nonzero(present.T)
    correlation = _trajet.Correlation(present.shape[1], max_lag, 0)
    add_members(correlation, keys, frames.astype(np.uint32))
    return correlation


def coverage(n_members: int, n_copies: int, dwell: int, n_sets: int) -> list[str]:
    """Return the row of a case."""
    rng = np.random.default_rng(n_members + 100 * n_copies + dwell)
    p = 1 / dwell
    covers, none = [], 0
    # Exits and frames by each estimate.
    totals = np.zeros((3, 2))
    for _ in range(n_sets):
        present = two_states(rng, n_members, n_copies, N_FRAMES, dwell)
        dwells = correlated(present, N_FRAMES - 1).dwells()
        runs, at_risk, exits, (_, ends), _ = dwells
        share, low, high, _ = exit_shares(dwells)
        whole = ends @ np.arange(N_FRAMES)
        totals += [(exits, at_risk), (sum(runs), present.sum()), (runs[0], whole)]
        none += exits == 0
        if np.isfinite(share):
            covers.append(low <= p <= high)
    ratios = np.log1p(-totals[:, 0] / totals[:, 1]) / np.log1p(-p)
    what = f"{n_members}" + f" with {n_copies} copies each" * (n_copies > 1)
    numbers = [f"{np.mean(covers):.3f}", f"{none / n_sets:.0%}", *(f"{r:.2f}" for r in ratios)]
    return [what, f"1/{N_FRAMES // dwell}", *numbers]


def timed(n_frames: int, n_members: int, dwell: int, max_lag: int) -> list[str]:
    """Return the row of the times of both programs."""
    present = two_states(np.random.default_rng(1), n_members, 1, n_frames, dwell)
    sets = [set(np.flatnonzero(frame).tolist()) for frame in present.T]
    begin = time.perf_counter()
    _, expected, _ = autocorrelation(correct_intermittency(sets, 0), max_lag)
    theirs = time.perf_counter() - begin
    ours = []
    for _ in range(5):
        frames, keys = np.nonzero(present.T)
        begin = time.perf_counter()
        correlation = _trajet.Correlation(n_frames, max_lag, 0)
        add_members(correlation, keys, frames.astype(np.uint32))
        (*_, starts), shares = correlation.sums()
        correlation.dwells()
        ours.append(time.perf_counter() - begin)
    assert np.abs(shares / starts - expected).max() < 1e-12
    best = min(ours)
    times = [f"{theirs:.2f} s", f"{1e3 * best:.2f} ms", f"{theirs / best:,.0f}"]
    return [f"{n_frames:,}", f"{present.sum() / n_frames:.0f}", f"{max_lag}", *times]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the series")
    n_sets = 100 if parser.parse_args().quick else 1000
    head = ["members", "dwell / length", "cover", "no exit", "rate", "cut as exits", "whole runs"]
    print(*as_lines(head, [coverage(*case, n_sets) for case in CASES]), sep="\n", flush=True)
    head = ["frames", "members a frame", "lags", "MDAnalysis", "trajet", "ratio"]
    print(*as_lines(head, [timed(*case) for case in TIMED]), sep="\n")


if __name__ == "__main__":
    main()
