"""Simulate runs on large clusters: `.venv/bin/python benches/scale --pool mpi --workers 10000`.

The dispatch core, the plan and the tree of merges are those of the package. Workers, network and
storage are simulated; times of the core are processor seconds of this machine. Costs of tasks are
those of a report (`trajet … --report`), by default of one of adenylate kinase, scaled to
`--seconds`. The merged state must have the bits of a merge in order.
"""

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Simulate, print a table, and return 1 if a state has other bits than a merge in order."""
    sys.path[0] = str(HERE.parent)
    from host import record

    from scale.cluster import Cluster
    from scale.dask_run import DaskRun
    from scale.events import Meter
    from scale.mpi_run import MpiRun
    from scale.workload import Costs, Workload, as_table

    parser = argparse.ArgumentParser(
        prog="benches/scale", description=(__doc__ or "").split(":", maxsplit=1)[0]
    )
    parser.add_argument("--pool", choices=("dask", "mpi"), default="mpi")
    parser.add_argument("--workers", type=int, nargs="+", default=[1000])
    parser.add_argument("--per-worker", type=int, default=100, help="tasks (default 100)")
    parser.add_argument("--seconds", type=float, default=1.0, help="mean of a task (default 1)")
    parser.add_argument("--report", type=Path, default=HERE / "report.json")
    parser.add_argument("--cluster", type=Path, help="TOML: [network], [storage], [faults]")
    parser.add_argument("--slow", type=float, default=0.01, help="fraction of slow workers")
    parser.add_argument("--factor", type=float, default=10.0, help="how much slower they are")
    parser.add_argument("--dying", type=float, default=0.0, help="fraction that dies (Dask)")
    parser.add_argument("--scheduler", type=float, help="seconds of Dask's scheduler a task change")
    parser.add_argument("--row-bytes", type=int, default=2048, help="numbers of a task, bytes")
    parser.add_argument("--record", action="store_true", help="append to the table of all runs")
    given = parser.parse_args()
    costs = Costs.of_report(given.report, given.row_bytes, given.seconds)
    changes = {"slow": given.slow, "factor": given.factor, "dying": given.dying}
    if given.scheduler is not None:
        changes["scheduler_seconds"] = given.scheduler
    rows = []
    for n in given.workers:
        cluster = Cluster.read(given.cluster, n, **changes)
        begin = time.process_time()
        workload = Workload(n * given.per_worker, n, costs)
        kind = DaskRun if given.pool == "dask" else MpiRun
        run = kind(cluster, workload, Meter(time.process_time))
        outcome = run.run()
        seconds = time.process_time() - begin
        if sorted(run.taken) != list(range(len(workload.tasks))):
            print("a task was not taken once")
            return 1
        if outcome.state != workload.whole():
            print("the merged state has other bits than a merge in order")
            return 1
        rows.append((given.pool, outcome, seconds))
        print("\n".join(as_table(rows[-1:])), flush=True)
        if given.record:
            entries = {"case": "simulated", "tool": given.pool, "task_seconds": given.seconds}
            record("scale", [{**entries, **outcome.record(), "real_seconds": seconds}])
    print("\n".join(as_table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
