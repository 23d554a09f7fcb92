"""Time two versions of trajet on the same files, in turns.

    .venv/bin/python benches/versions.py ../trajet-before/.venv/bin/python

The other version is named by a Python that has it installed. Run `trajectories.py` first. Each case
runs in one process per version; the two take turns, and which of them goes first alternates. A
sample is the mean of as many runs as take 0.3 s. A row shows the geometric mean of new / old and
its 95 % interval (Student's t of the logarithms): above 1 the new version is slower. Commands
(`command-*`) are timed as whole processes.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
import tempfile
from collections.abc import Callable
from math import ceil, exp, log, sqrt
from pathlib import Path
from statistics import mean, median, stdev
from time import perf_counter
from typing import IO, Any

from cases import RDF_BINS, RDF_RANGE, Case, all_cases, all_copies
from host import describe_load
from rounds import HERE, warm

# Two-sided 95 % points of Student's t for 4 to 29 degrees of freedom, from any table.
STUDENT = (
    *(2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120),
    *(2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045),
)
# The shortest sample, s: shorter runs are repeated.
SHORTEST = 0.3
FEWEST_PAIRS, MOST_PAIRS = 5, len(STUDENT) + 4


def job(case: Case, threads: int, folder: Path) -> Callable[[], Any]:
    """Return a call that does the work of the case once, with the installed trajet."""
    import trajet as tj

    traj = tj.open(str(case.topology), str(case.trajectory))
    chosen = traj if case.selection is None else traj.select(case.selection)
    if case.task == "read":
        return lambda: sum(len(block.positions) for block in chosen.blocks())
    if case.task == "copy":
        target = folder / f"copy{case.output}"
        return lambda: tj.convert(chosen, target, threads=threads, force=True)
    pool = tj.LocalPool(threads=threads)
    options: dict[str, Any] = {"frames": slice(case.n_frames), "pool": pool}
    if case.task == "dihedrals":
        # Older versions call the parameter `features`.
        parameters = inspect.signature(tj.dihedrals).parameters
        options["sin_cos" if "sin_cos" in parameters else "features"] = True
        return lambda: tj.dihedrals(chosen, **options)
    if case.task == "rdf":
        return lambda: tj.rdf(chosen, bins=RDF_BINS, range=RDF_RANGE, **options)
    return lambda: getattr(tj, case.task)(chosen, **options)


def command(case: Case) -> Callable[[], Any]:
    """Return a call that runs the analysis of the case as a whole command."""
    words = [sys.executable, "-m", "trajet", case.task, case.topology, case.trajectory, "--quiet"]
    words += ["--select", case.selection]
    return lambda: subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL)


def find(folder: Path, name: str, *, quick: bool) -> Case:
    """Return the case of that name."""
    cases = [*all_cases(folder, "", quick=quick), *all_copies(folder, quick=quick)]
    return next(case for case in cases if case.name == name)


def serve(arguments: argparse.Namespace) -> None:
    """For each number on standard input, run one case so often and print the mean seconds."""
    kind, _, name = arguments.serve.partition(":")
    case = find(arguments.data, name, quick=arguments.quick)
    # Output of the package must not mix with the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory(dir=arguments.data) as folder:
        work = command(case) if kind == "command" else job(case, int(kind), Path(folder))
        work()
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            start = perf_counter()
            for _ in range(int(line)):
                result = work()
                # Freed before the next run, as in a script that keeps one result.
                del result
            print((perf_counter() - start) / int(line), file=answers, flush=True)


class Version:
    """A process in which one version of trajet runs one case."""

    def __init__(self, python: str, kind: str, case: Case, data: Path, *, quick: bool) -> None:
        words = [python, __file__, python, "--serve", f"{kind}:{case.name}", "--data", str(data)]
        words += ["--quick"] if quick else []
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self.answer() != "ready":
            sys.exit(f"versions.py: {case.name} failed with {python}")

    def answer(self) -> str:
        """Return the next line of the process."""
        lines: IO[str] | None = self.process.stdout
        assert lines is not None
        return lines.readline().strip()

    def mean_of(self, runs: int) -> float:
        """Return the mean seconds of so many more runs."""
        requests: IO[str] | None = self.process.stdin
        assert requests is not None
        requests.write(f"{runs}\n")
        requests.flush()
        return float(self.answer())

    def end(self) -> None:
        """End the process."""
        self.process.communicate()


def compare(old: Version, new: Version, pairs: int) -> tuple[list[float], list[float]]:
    """Return the seconds of both versions, pair by pair."""
    runs = ceil(SHORTEST / min(old.mean_of(1), new.mean_of(1)))
    seconds: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        order = ((0, old), (1, new)) if pair % 2 == 0 else ((1, new), (0, old))
        for which, version in order:
            seconds[which].append(version.mean_of(runs))
    return seconds


def interval(logs: list[float]) -> tuple[float, float, float]:
    """Return the geometric mean of the ratios and the ends of its 95 % interval."""
    half = STUDENT[len(logs) - FEWEST_PAIRS] * stdev(logs) / sqrt(len(logs))
    return exp(mean(logs)), exp(mean(logs) - half), exp(mean(logs) + half)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", help="the Python of the environment with the other version")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of each case (default 10)")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the files")
    parser.add_argument("--quick", action="store_true", help="short files")
    parser.add_argument("--cases", nargs="+", help="names of cases (default: all)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not FEWEST_PAIRS <= arguments.pairs <= MOST_PAIRS:
        parser.error(f"--pairs takes {FEWEST_PAIRS} to {MOST_PAIRS}")
    return arguments


def main() -> None:
    """Compare the two versions in every case; print a row per case, then the mean of all."""
    arguments = parse()
    if arguments.serve:
        serve(arguments)
        return
    cases = all_cases(arguments.data, "", quick=arguments.quick)
    copies = all_copies(arguments.data, quick=arguments.quick)
    kinds = [(str(case.target_threads), case) for case in [*cases, *copies]]
    kinds += [("command", case) for case in cases if case.name == "adk-rmsd"]
    print(describe_load())
    print(f"{'case':<22}{'threads':>8}{'old, s':>10}{'new, s':>10}{'new/old':>9}  95 % interval")
    means = []
    for kind, case in kinds:
        if arguments.cases and case.name not in arguments.cases:
            continue
        warm(case.trajectory)
        old, new = (
            Version(python, kind, case, arguments.data, quick=arguments.quick)
            for python in (arguments.other, sys.executable)
        )
        before, after = compare(old, new, arguments.pairs)
        old.end()
        new.end()
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
