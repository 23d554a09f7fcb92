"""`cluster_rmsd`: clusters of similar frames."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, Unpack

import numpy as np

from trajet import output
from trajet.analysis.arguments import (
    ANGSTROM,
    BYTES,
    AtomsOption,
    Between,
    FolderOption,
    OtherAtoms,
)
from trajet.analysis.block_errors import block_errors, fractions_of_blocks, with_errors
from trajet.analysis.frame_divisions import around_centers, check_matrix, of_pairs, pairs_of
from trajet.analysis.job import Steps, analysis
from trajet.analysis.reference import Weights
from trajet.analysis.runner import RunOptions, describe, further_selection, main_selection
from trajet.analysis.unit_warnings import looks_like_nm
from trajet.memory import check_limit
from trajet.result import Clusters, PairwiseRmsd, Table
from trajet.result.axes import Axis
from trajet.trajectory import Selection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup

Method: TypeAlias = Literal["gromos", "average", "complete", "single", "kcenters", "regular"]

# Methods without a matrix.
_AROUND_CENTERS = ("kcenters", "regular")
# Methods that take a cutoff alone.
_BY_CUTOFF = ("gromos", "regular")


def _check(
    method: str,
    cutoff: float | None,
    n_clusters: int | None,
    medoids: object,
    medoid_atoms: object,
) -> None:
    """Raise a ValueError for a method that lacks its parameter."""
    known = ("gromos", "average", "complete", "single", *_AROUND_CENTERS)
    if method not in known:
        raise ValueError(f"method is {', '.join(map(repr, known))}, not {method!r}")
    if cutoff is not None and not cutoff >= 0:
        raise ValueError(f"cutoff is a distance in Å, not {cutoff!r}")
    if n_clusters is not None and n_clusters < 1:
        raise ValueError(f"n_clusters is a number above 0, not {n_clusters!r}")
    if method in _BY_CUTOFF and (cutoff is None or n_clusters is not None):
        raise ValueError(
            f"method {method!r} finds the clusters from a cutoff: give cutoff=1.5 (Å), without"
            " n_clusters=; for a number of clusters, give method='kcenters', or 'average',"
            " 'complete' or 'single'"
        )
    if method == "regular" and cutoff == 0:
        raise ValueError("method 'regular' needs a cutoff above 0 Å: all frames would be centres")
    if method == "kcenters" and (n_clusters is None or cutoff is not None):
        raise ValueError(
            "method 'kcenters' needs a number of clusters: give n_clusters=100, without cutoff=;"
            " for a distance of the centres, give method='regular'"
        )
    if (cutoff is None) == (n_clusters is None):
        raise ValueError(f"method {method!r} needs cutoff= (Å) or n_clusters=, one of both")
    if medoid_atoms is not None and medoids is None:
        raise ValueError("medoid_atoms= are the atoms of the files in medoids=: give a folder, too")


@analysis(
    check=_check,
    examples=r"""
    trajet cluster-rmsd adk.psf adk.xtc --select "name CA" --cutoff 1.5 --plot clusters.png
    trajet cluster-rmsd adk.psf adk.xtc --select "name CA" --method average --n-clusters 4
    trajet cluster-rmsd top.gro run.xtc --select "name CA" --method kcenters --n-clusters 100 \
        --medoids medoids --medoid-atoms protein
    """,
)
def cluster_rmsd(
    selection: Annotated["Selection | AtomGroup | PairwiseRmsd", AtomsOption()],
    *,
    cutoff: Annotated[float, ANGSTROM, Between(0)] | None = None,
    method: Method = "gromos",
    n_clusters: Annotated[int, Between(1)] | None = None,
    weights: Weights = "equal",
    medoids: Annotated[str | os.PathLike[str], FolderOption()] | None = None,
    medoid_atoms: OtherAtoms | None = None,
    max_memory: Annotated[int, BYTES] | None = None,
    **run: Unpack[RunOptions],
) -> Steps[Clusters]:
    """Divide frames into clusters by RMSD after superposition.

    Methods `"kcenters"` and `"regular"` need no matrix of all pairs: they are for many frames.

    Parameters
    ----------
    selection
        A Selection, or an MDAnalysis AtomGroup whose coordinates are those of a file; or the result
        of `pairwise_rmsd` within one trajectory, to try several methods and cut-offs on it.
    cutoff
        Largest RMSD, Å, of neighbouring frames (`"gromos"`), or of clusters that are joined; least
        RMSD of two centres (`"regular"`).
    method
        How frames are divided. `"gromos"`: the frame with the most neighbours and these neighbours
        are a cluster; it is taken out, and the next one is found among the other frames (Daura et
        al.). `"average"`, `"complete"`, `"single"`: hierarchical clusters with this linkage, by
        SciPy (`pip install 'trajet[cluster]'`). `"kcenters"`: the next centre is the frame that is
        farthest from all centres (Gonzalez). `"regular"`: a frame becomes a centre if it is at
        least the cut-off from all centres (Prinz et al.). Of both the first frame is the first
        centre, and frames belong to the nearest one.
    n_clusters
        Instead of `cutoff`, for hierarchical methods and `"kcenters"`: the largest number of
        clusters.
    weights
        Weights, as for `pairwise_rmsd`. "equal", "mass", or one number per atom.
    medoids
        A folder for a PDB file of the medoid of each cluster, `cluster0.pdb` and so on. It is made
        if need be, and files of these names are replaced; others stay.
    medoid_atoms
        Atoms in these files. None for all.
    max_memory
        Memory that positions and matrices may take together. None for all that is available.

    Returns
    -------
    Clusters
        `labels` `(n_frames,)`, the number of the cluster of each frame, from 0, the largest first;
        `sizes` and `medoids` `(n_clusters,)`: the frame with the least mean RMSD from the others of
        its cluster, of `"kcenters"` and `"regular"` the frame nearest to the mean structure of its
        cluster; `populations` with errors. These two also have `centers` and `radii`.

    Raises
    ------
    ValueError
        If a method has not the one of `cutoff` and `n_clusters` that it needs; or a method without
        a matrix is given a matrix.
    AnalysisError
        If a frame has no positions.
    MemoryError
        If more memory is needed than `max_memory`, or than is available.
    MissingPackageError
        If SciPy is needed and missing.
    OutputError
        If the medoids cannot be written.

    Notes
    -----
    RMSDs are computed by threads of this process, on any pool.

    `"kcenters"` and `"regular"` have the positions in memory, 12 bytes per atom: 100,000 frames of
    300 atoms take 0.36 GB. Each centre takes at most as long as `rmsd` of all frames. Of equally
    far or near frames the first is taken. A mean structure is of the frames superposed on the
    centre.

    Errors of populations are from 64 to 127 blocks of frames.

    X. Daura et al., Angew. Chem. Int. Ed. 38, 236 (1999). Of frames with equally many neighbours
    the first is taken; `gmx cluster -method gromos` may take another. T. F. Gonzalez, Theor.
    Comput. Sci. 38, 293 (1985), doi:10.1016/0304-3975(85)90224-5. J.-H. Prinz et al., J. Chem.
    Phys. 134, 174105 (2011), doi:10.1063/1.3565032.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> clusters = tj.cluster_rmsd(traj.select("name CA"), cutoff=1.5)
    >>> clusters.sizes.sum()
    np.int64(98)
    """
    atoms = None if isinstance(selection, PairwiseRmsd) else main_selection(selection)
    folder = None if medoids is None else Path(medoids)
    written = None
    if folder is not None:
        output.check_folder(folder)
        written = _atoms_of_medoids(medoid_atoms, atoms)
    check_limit(max_memory)
    if method in _AROUND_CENTERS:
        if atoms is None:
            raise ValueError(
                f"method {method!r} compares positions, not a matrix: give it a selection"
            )
        division = yield from around_centers(atoms, cutoff, n_clusters, weights, max_memory, run)
    else:
        if isinstance(selection, PairwiseRmsd):
            pairs = selection
            check_matrix(pairs, weights, run)
        else:
            assert atoms is not None
            pairs = yield from pairs_of(atoms, method, weights, max_memory, run)
        parameters = {"cutoff": cutoff, "n_clusters": n_clusters, "medoids": describe(medoids)}
        division = of_pairs(pairs, method, cutoff, n_clusters, max_memory, parameters)
    labels, columns = division.labels, division.columns
    sizes = np.bincount(labels)
    found = len(labels) < 2 or len(sizes) < len(labels)
    messages = looks_like_nm("cutoff", cutoff, found=found, what="no two frames are")
    errors = block_errors(
        fractions_of_blocks(labels, len(sizes)), "populations", "cluster {}".format
    )
    report = division.report([*messages, *errors.messages])
    of_clusters = Table(
        values=sizes / max(1, len(labels)),
        axes=(Axis("clusters", {"number": np.arange(len(sizes))}),),
        name="population",
        units="",
        selections=division.selections,
        report=report,
        also={"frames": sizes, **columns},
    )
    clusters = Clusters(
        values=labels,
        axes=(division.frames,),
        name="cluster",
        units="",
        selections=division.selections,
        report=report,
        parts={"clusters": with_errors(of_clusters, errors)},
        method=method,
        pairs=division.pairs,
        selection=atoms,
    )
    if folder is not None:
        folder.mkdir(exist_ok=True)
        clusters.save_medoids(folder, selection=written, force=True)
    return clusters


def _atoms_of_medoids(chosen: OtherAtoms | None, atoms: Selection | None) -> Selection:
    """Return the atoms of the files of medoids."""
    if atoms is not None:
        whole = atoms.trajectory
        return whole.all_atoms() if chosen is None else further_selection(chosen, whole)
    if isinstance(chosen, Selection):
        return chosen
    raise ValueError(
        "a matrix has no atoms: give medoid_atoms=traj.select('all'), or a selection instead of the"
        " matrix"
    )
