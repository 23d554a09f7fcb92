"""How often replicas of one system differ significantly, and how often real differences are found.

.venv/bin/python benches/differences.py            print the tables (docs/ensembles.md has rows)
.venv/bin/python benches/differences.py --quick    a tenth of the experiments

An experiment compares two groups of replicas by `trajet`'s p-values, corrected by Benjamini and
Hochberg for its rows; it fails if any row of one system differs. Replicas are normal numbers, of
which means and variances are drawn. Power is the share of found rows that differ by three standard
deviations of a replica, one of the rows of each experiment. Both stand beside those of Welch's t.

Targets: no 99 % interval of the share of failed experiments lies wholly above 6 %; power is not
below that of Welch's t where the latter holds this.
"""

import argparse

import numpy as np
from numpy.typing import NDArray
from trajet.result.replica_differences import adjusted
from trajet.uncertainty.student_t import two_sided_p
from trajet.uncertainty.welch import freedom_of, probability

SIZES = (2, 3, 5, 10, 20)
ROWS = (10, 100, 1000)
# Variances of the first and of the second group.
VARIANCES = {"equal": (1.0, 1.0), "first threefold": (3.0, 1.0), "second threefold": (1.0, 3.0)}
SHIFT, LEVEL = 3.0, 0.05


def experiments(
    rng: np.random.Generator,
    sizes: tuple[int, int],
    variances: tuple[float, float],
    shape: tuple[int, int],
) -> tuple[NDArray[np.float64], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return differences of means, `shape`, and the squared standard errors of the means."""
    change = np.zeros(shape)
    errors = []
    for n, variance in zip(sizes, variances, strict=True):
        change += rng.normal(size=shape) * np.sqrt(variance / n)
        errors.append(variance / n * rng.chisquare(n - 1, shape) / (n - 1))
    return change, (errors[0], errors[1])


def significant(p: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows of each experiment, `(n_experiments, n_rows)`, are significant."""
    found = np.zeros(p.shape, bool)
    for k in np.flatnonzero((p < LEVEL).any(axis=1)):
        found[k] = adjusted(p[k]) < LEVEL
    return found


def cell(sizes: tuple[int, int], variances: tuple[float, float], n_rows: int, n: int) -> str:
    """Return false discoveries and power, each with ours and Welch's."""
    rng = np.random.default_rng([*sizes, *map(int, variances), n_rows])
    change, errors = experiments(rng, sizes, variances, (n, n_rows))
    words = []
    shifted = change.copy()
    shifted[:, 0] += SHIFT * np.sqrt(max(variances))
    for of in (change, shifted):
        t = np.abs(of) / np.sqrt(errors[0] + errors[1])
        # Smaller ones are never significant.
        large = t > 1.95
        freedom = freedom_of(errors[0][large], errors[1][large], sizes)
        for few in (probability(t[large], freedom, sizes), two_sided_p(t[large], freedom)):
            p = np.ones(t.shape)
            p[large] = few
            found = significant(p)
            words.append(float((found[:, 0] if of is shifted else found.any(axis=1)).mean()))
    false, of_welch, power, power_of_welch = words
    slack = 2.576 * np.sqrt(false * (1 - false) / n)
    mark = " ABOVE" if false - slack > 0.06 else ""
    slack = 2.576 * np.sqrt(max(of_welch * (1 - of_welch), 1e-9) / n)
    if of_welch - slack <= 0.06 and power < power_of_welch - 0.002:
        mark += " LOSES"
    return (
        f"{100 * false:.1f} % ({100 * of_welch:.1f}), {100 * power:.0f} %"
        f" ({100 * power_of_welch:.0f}){mark}"
    )


def main() -> None:
    """Print false discoveries, and power, of all sizes of groups."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    n = 400 if parser.parse_args().quick else 4000
    for name, variances in VARIANCES.items():
        print(f"\n| {name} variance | {' | '.join(f'{rows} rows' for rows in ROWS)} |")
        print("|---|" + "---|" * len(ROWS), flush=True)
        for k, first in enumerate(SIZES):
            for second in SIZES[k:]:
                cells = (cell((first, second), variances, rows, n) for rows in ROWS)
                print(f"| {first} and {second} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
