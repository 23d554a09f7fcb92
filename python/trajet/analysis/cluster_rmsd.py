"""`cluster_rmsd`: clusters of similar frames."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import numpy as np

from trajet._trajet import AnalysisError
from trajet.analysis.arguments import ANGSTROM, BYTES, AtomsOption, Between
from trajet.analysis.clusters import gromos, hierarchical, medoids
from trajet.analysis.job import Finished, Steps, advanced, analysis
from trajet.analysis.pairwise_rmsd import check_size, matrix_size, pairwise_rmsd
from trajet.analysis.reference import Weights, is_equal
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.analysis.unit_warnings import looks_like_nm
from trajet.memory import check_limit, check_memory
from trajet.pools.pool import n_frames_of
from trajet.quoting import quoted
from trajet.result import Clusters, PairwiseRmsd, Table
from trajet.result.axes import Axis
from trajet.trajectory import Selection, resolve_frames

if TYPE_CHECKING:
    from trajet.universes import AtomGroup

# Bytes for each pair of frames while SciPy works: half the matrix in float64, and a copy.
_LINKAGE = 8
_FEWER = ", or the method 'gromos'"


def _check(method: str, cutoff: float | None, n_clusters: int | None) -> None:
    """Raise a ValueError for a method that lacks its parameter."""
    if method not in ("gromos", "average", "complete", "single"):
        raise ValueError(f"method is 'gromos', 'average', 'complete' or 'single', not {method!r}")
    if cutoff is not None and not cutoff >= 0:
        raise ValueError(f"cutoff is a distance in Å, not {cutoff!r}")
    if n_clusters is not None and n_clusters < 1:
        raise ValueError(f"n_clusters is a number above 0, not {n_clusters!r}")
    if method == "gromos" and (cutoff is None or n_clusters is not None):
        raise ValueError(
            "method 'gromos' finds the clusters from a cutoff: give cutoff=1.5 (Å), without"
            " n_clusters=; for a number of clusters, give method='average', 'complete' or 'single'"
        )
    if (cutoff is None) == (n_clusters is None):
        raise ValueError(f"method {method!r} needs cutoff= (Å) or n_clusters=, one of both")


@analysis(
    check=_check,
    examples=r"""
    trajet cluster-rmsd adk.psf adk.xtc --select "name CA" --cutoff 1.5 --plot clusters.png
    trajet cluster-rmsd adk.psf adk.xtc --select "name CA" --method average --n-clusters 4
    """,
)
def cluster_rmsd(
    selection: Annotated["Selection | AtomGroup | PairwiseRmsd", AtomsOption()],
    *,
    cutoff: Annotated[float, ANGSTROM, Between(0)] | None = None,
    method: Literal["gromos", "average", "complete", "single"] = "gromos",
    n_clusters: Annotated[int, Between(1)] | None = None,
    weights: Weights = "equal",
    max_memory: Annotated[int, BYTES] | None = None,
    **run: Unpack[RunOptions],
) -> Steps[Clusters]:
    """Divide frames into clusters by the RMSDs of all pairs.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file; or the result
        of `pairwise_rmsd` within one trajectory, to try several methods and cut-offs on it.
    cutoff
        Largest RMSD, Å, of neighbouring frames (`"gromos"`), or of clusters that are joined.
    method
        How frames are divided. `"gromos"`: the frame with the most neighbours and these neighbours
        are a cluster; it is taken out, and the next one is found among the other frames (Daura et
        al.). `"average"`, `"complete"`, `"single"`: hierarchical clusters with this linkage, by
        SciPy (`pip install 'trajet[cluster]'`).
    n_clusters
        Instead of `cutoff`, for hierarchical methods: the largest number of clusters.
    weights
        Weights, as for `pairwise_rmsd`. "equal", "mass", or one number per atom.
    max_memory
        Memory that positions and matrices may take together. None for all that is available.

    Returns
    -------
    Clusters
        `labels` `(n_frames,)`, the number of the cluster of each frame, from 0, the largest first;
        `sizes` and `medoids` `(n_clusters,)`: the frame with the least mean RMSD from the others of
        its cluster.

    Raises
    ------
    ValueError
        If neither or both of `cutoff` and `n_clusters` are given, or `n_clusters` for `"gromos"`.
    AnalysisError
        If a frame has no positions.
    MemoryError
        If more memory is needed than `max_memory`, or than is available.
    MissingPackageError
        If SciPy is needed and missing.

    Notes
    -----
    Pairs are computed by threads of this process, on any pool.

    X. Daura et al., Angew. Chem. Int. Ed. 38, 236 (1999). Of frames with equally many neighbours
    the first is taken; `gmx cluster -method gromos` may take another.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> clusters = tj.cluster_rmsd(traj.select("name CA"), cutoff=1.5)
    >>> clusters.sizes.sum()
    np.int64(98)
    """
    atoms = None
    if isinstance(selection, PairwiseRmsd):
        pairs = selection
        given = {"frames": run.get("frames") is not None, "weights": not is_equal(weights)}
        if ignored := [name for name, is_given in given.items() if is_given]:
            raise ValueError(
                f"the matrix was computed with its own {ignored[0]}: give {ignored[0]} to"
                " pairwise_rmsd, or give a selection instead of the matrix"
            )
        if not pairs.is_within:
            raise ValueError("clusters need RMSDs within one trajectory: this matrix is of two")
    else:
        atoms = main_selection(selection)
        check_limit(max_memory)
        trajectory = atoms.trajectory
        n_frames = n_frames_of(resolve_frames(run.get("frames"), trajectory))
        further, advice = list[tuple[str, int]](), ""
        if method != "gromos":
            further, advice = [("linkage", _LINKAGE * n_frames * n_frames)], _FEWER
        check_size([n_frames], atoms.n_atoms, max_memory, further=further, advice=advice)
        steps = pairwise_rmsd.job(atoms, weights=weights, max_memory=max_memory).start(**run)
        request = advanced(steps, None)
        assert isinstance(request, RunRequest)
        # The matrix is needed in memory.
        matrix = None if max_memory is not None else matrix_size([n_frames], advice)
        done = advanced(steps, (yield replace(request, further_result=matrix)))
        assert isinstance(done, Finished)
        pairs = done.result
    values = pairs.values
    # A frame without positions is NaN in every row.
    missing = np.flatnonzero(np.isnan(values[0])) if len(values) else np.empty(0, np.int64)
    if missing.size:
        first = 0 if missing.size == len(values) else missing[0]
        raise AnalysisError(
            f"selection {quoted(pairs.selections[0])}: frame {pairs.frames[first]}: an atom has no"
            " position (NaN): leave this frame out"
        )
    if method == "gromos":
        assert cutoff is not None
        # RMSDs are float32.
        labels = gromos(values, min(cutoff, float(np.finfo(np.float32).max)))
    else:
        # A matrix that was given takes memory already.
        known = values.nbytes if max_memory is not None else 0
        parts = [("the matrix", known), ("linkage", _LINKAGE * values.size)]
        check_memory(parts, max_memory, f"choose fewer frames{_FEWER}")
        labels = hierarchical(values, method, cutoff=cutoff, n_clusters=n_clusters)
    found = len(values) < 2 or int(labels.max()) + 1 < len(labels)
    messages = looks_like_nm("cutoff", cutoff, found=found, what="no two frames are")
    report = pairs.report.changed(
        messages=[*messages, *pairs.messages],
        parameters={"method": method, "cutoff": cutoff, "n_clusters": n_clusters},
        analysis="cluster_rmsd",
    )
    sizes = np.bincount(labels)
    of_clusters = Table(
        values=sizes.astype(np.float64),
        axes=(Axis("clusters", {"number": np.arange(len(sizes))}),),
        name="frames",
        units="",
        selections=pairs.selections,
        report=report,
        also={"medoid": pairs.frames[medoids(values, labels)]},
    )
    return Clusters(
        values=labels,
        axes=pairs.axes[:1],
        name="cluster",
        units="",
        selections=pairs.selections,
        report=report,
        parts={"clusters": of_clusters},
        method=method,
        pairs=pairs,
        selection=atoms,
    )
