"""Time two versions of trajet on the same files, in turns.

    .venv/bin/python benches/versions.py ../trajet-before/.venv/bin/python

The other version is named by a Python that has it installed. Run `trajectories.py` first. Each case
runs in one process per version; the two take turns, and which of them goes first alternates. A
sample is the mean of as many runs as take 0.3 s. A row shows the geometric mean of new / old and
its 95 % interval (Student's t of the logarithms): above 1 the new version is slower. Cases are
those of `compare.py` with the threads of their targets, and a whole command (`command`).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from math import ceil, exp, log, sqrt
from pathlib import Path
from statistics import mean, median, stdev
from time import perf_counter
from typing import Any

from cases import ANALYSES, N_ON_PAGE, Case, all_cases, all_copies
from host import DATA, describe_load, warm
from peers import Trajet, does

# Two-sided 95 % points of Student's t for 4 to 29 degrees of freedom, from any table.
STUDENT = (
    *(2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120),
    *(2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045),
)
# The shortest sample, s: shorter runs are repeated.
MIN_SAMPLE = 0.3
MIN_PAIRS, MAX_PAIRS = 5, len(STUDENT) + 4


def job(case: Case, threads: int, folder: Path) -> Callable[[], Any]:
    """Return a call that does the work of the case once, with the installed trajet."""
    opened = Trajet(case, None, threads)
    if case.task == "read":
        return opened.read
    if case.task == "copy":
        return lambda: opened.write(folder / f"copy{case.output}")
    return ANALYSES[case.task].ways["trajet"].prepare(opened)


def command(case: Case) -> Callable[[], Any]:
    """Return a call that runs the analysis of the case as a whole command."""
    words = [sys.executable, "-m", "trajet", case.task, case.topology, case.trajectory, "--quiet"]
    words += ["--select", case.selection]
    return lambda: subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL)


def cases_of(folder: Path, *, quick: bool) -> list[Case]:
    """Return the cases: those of docs/performance.md, then the others."""
    cases = all_cases(folder, "", quick=quick)
    return [*cases[:N_ON_PAGE], *all_copies(folder, quick=quick), *cases[N_ON_PAGE:]]


def serve(given: argparse.Namespace) -> None:
    """For each number on standard input, run one case so often and print the mean seconds."""
    kind, _, name = given.serve.partition(":")
    (case,) = (case for case in cases_of(given.data, quick=given.quick) if case.name == name)
    # Output of the package must not mix with the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory(dir=given.data) as folder:
        work = command(case) if kind == "command" else job(case, int(kind), Path(folder))
        work()
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            begin = perf_counter()
            for _ in range(int(line)):
                result = work()
                del result  # freed before the next run, as in a script that keeps one result
            print((perf_counter() - begin) / int(line), file=answers, flush=True)


class Version:
    """A process in which one version of trajet runs one case."""

    def __init__(self, python: str, kind: str, case: Case, data: Path, *, quick: bool) -> None:
        words = [python, __file__, python, "--serve", f"{kind}:{case.name}", "--data", str(data)]
        words += ["--quick"] if quick else []
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(words, text=True, **pipes)
        if self._answer() != "ready":
            sys.exit(f"versions.py: {case.name} failed with {python}")

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def mean_of(self, runs: int) -> float:
        """Return the mean seconds of so many more runs."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return float(self._answer())


def compare(old: Version, new: Version, pairs: int) -> tuple[list[float], list[float]]:
    """Return the seconds of both versions, pair by pair."""
    runs = ceil(MIN_SAMPLE / min(old.mean_of(1), new.mean_of(1)))
    seconds: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        order = ((0, old), (1, new)) if pair % 2 == 0 else ((1, new), (0, old))
        for which, version in order:
            seconds[which].append(version.mean_of(runs))
    return seconds


def interval(logs: list[float]) -> tuple[float, float, float]:
    """Return the geometric mean of the ratios and the ends of its 95 % interval."""
    half = STUDENT[len(logs) - MIN_PAIRS] * stdev(logs) / sqrt(len(logs))
    return exp(mean(logs)), exp(mean(logs) - half), exp(mean(logs) + half)


def main() -> None:
    """Compare the two versions in every case; print a row per case, then the mean of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", help="the Python of the environment with the other version")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of each case (default 10)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the files")
    parser.add_argument("--quick", action="store_true", help="short files")
    parser.add_argument("--cases", nargs="+", help="names of cases (default: all of the page)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not MIN_PAIRS <= given.pairs <= MAX_PAIRS:
        parser.error(f"--pairs takes {MIN_PAIRS} to {MAX_PAIRS}")
    if given.serve:
        serve(given)
        return
    cases = [case for case in cases_of(given.data, quick=given.quick) if does("trajet", case)]
    n_default = N_ON_PAGE + len(all_copies(given.data, quick=given.quick))
    names = given.cases or [case.name for case in cases[:n_default]]
    kinds = [(str(case.target_threads), case) for case in cases if case.name in names]
    kinds += [("command", case) for _, case in kinds if case.name == "adk-rmsd"]
    print(describe_load())
    print(f"{'case':<22}{'threads':>8}{'old, s':>10}{'new, s':>10}{'new/old':>9}  95 % interval")
    means = []
    for kind, case in kinds:
        warm(case.trajectory)
        pythons = (given.other, sys.executable)
        old, new = (Version(one, kind, case, given.data, quick=given.quick) for one in pythons)
        before, after = compare(old, new, given.pairs)
        for version in (old, new):
            version.process.communicate()
        ratio, low, high = interval([log(b / a) for a, b in zip(before, after, strict=True)])
        means.append(log(ratio))
        print(
            f"{case.name:<22}{kind:>8}{median(before):>10.4f}{median(after):>10.4f}{ratio:>9.3f}"
            f"  {low:.3f} to {high:.3f}",
            flush=True,
        )
    print(f"geometric mean of {len(means)} cases: {exp(mean(means)):.3f}; {describe_load()}")


if __name__ == "__main__":
    main()
