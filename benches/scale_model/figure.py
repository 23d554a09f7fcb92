"""Curves of the model for docs/scaling.md: the papers' trajectory, and a petabyte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from trajet.advise import Cluster, Environment, Setup, Storage, Workload, in_seconds, predict
from trajet.advise.scaling import LAYOUTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scaling.png"
# C-alpha RMSD of one thread on two cores of an AMD EPYC (docs/performance.md has the machine).
ADK = Workload(
    n_frames=2_512_200,
    decoding=44e-6,
    computing=14e-6,
    reading=0.0,
    frame_bytes=12_685,
    request_bytes=2.0**18,
    opening=1e-3,
    importing=0.25,
    preparing=0.5,
    result_bytes=8 * 2_512_200,
    atoms=214,
    part=214 / 3341,
)
LUSTRE = Storage(
    latency=5e-4,
    client_bandwidth=5e8,
    total_bandwidth=2e10,
    requests_per_s=1e5,
    open_seconds=2e-3,
    opens_per_s=5000,
    servers=32,
    stripes=1,
    exclusive_seconds=5.2e-6,
)
NODES = Cluster(cores_per_node=24)
COUNTS = (1, 2, 4, 8, 16, 24, 48, 96, 192, 384, 768, 1536, 3072, 6144, 10_000)
# A trajectory a hundred times as long as that of the papers.
LONG = replace(ADK, n_frames=100 * ADK.n_frames, result_bytes=100 * ADK.result_bytes)


def draw() -> Path:
    """Draw speed-ups over the number of ranks, for each layout of the files."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    names = {
        "shared": "one file on one server",
        "segments": "a file for each rank",
        "store": "a store of the atoms alone",
    }
    for axis, work, title in (
        (axes[0], ADK, "2,512,200 frames, 32 GB"),
        (axes[1], LONG, "251,220,000 frames, 3.2 TB"),
    ):
        environment = Environment(LUSTRE, NODES)
        alone = predict(work, Setup("threads", "shared", 1), environment).seconds
        axis.plot(COUNTS, COUNTS, color="0.7", linestyle="--", label="ideal")
        for layout in LAYOUTS:
            found = [predict(work, Setup("mpi", layout, n), environment) for n in COUNTS]
            gains = [alone / one.seconds for one in found]
            (line,) = axis.plot(COUNTS, gains, marker="o", markersize=3, label=names[layout])
            low = [alone / one.slowest for one in found]
            high = [alone / one.fastest for one in found]
            axis.fill_between(COUNTS, low, high, color=line.get_color(), alpha=0.2)
        axis.set(xscale="log", yscale="log", xlabel="ranks of MPI", title=title)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("speed-up over one thread")
    axes[1].legend(fontsize=8, loc="upper left")
    figure.savefig(PAGE, dpi=110)
    return PAGE


def petabyte() -> Iterator[str]:
    """Yield a table for a petabyte: the papers' system, and one of a million atoms."""
    yield "| a petabyte of | total bandwidth | ranks | as one file | segments | store | limit |"
    yield "|---|---|---|---|---|---|---|"
    # A frame of a million atoms: 3.8 MB of XTC; 20,000 C-alpha atoms.
    scale = 1_000_000 / 3341
    large = replace(
        ADK,
        frame_bytes=scale * ADK.frame_bytes,
        decoding=scale * ADK.decoding,
        computing=20_000 / 214 * ADK.computing,
        atoms=20_000,
        part=0.02,
    )
    for name, work in (("3,341 atoms", ADK), ("1,000,000 atoms", large)):
        n_frames = int(1e15 / work.frame_bytes)
        work = replace(work, n_frames=n_frames, result_bytes=8 * n_frames)  # noqa: PLW2901
        for rate in (2e10, 1e12):
            for ranks in (1000, 10_000):
                storage = replace(LUSTRE, total_bandwidth=rate, stripes=32)
                found = [
                    predict(work, Setup("mpi", layout, ranks), Environment(storage, NODES))
                    for layout in LAYOUTS
                ]
                cells = " | ".join(_long(one.seconds) for one in found)
                yield (
                    f"| {name} | {rate / 1e9:.0f} GB/s | {ranks} | {cells} |"
                    f" {'; '.join(one.limit for one in found)} |"
                )


def _long(seconds: float) -> str:
    """Return a time in hours, if it is long."""
    return f"{seconds / 3600:.1f} h" if seconds > 3600 else in_seconds(seconds)
