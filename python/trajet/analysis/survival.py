"""`survival`: how long atoms or residues stay in a selection."""

from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import numpy as np

from trajet._trajet import Plan, SelectionError
from trajet.analysis.arguments import BYTES, PS, AtomsOption, Between, Unit
from trajet.analysis.job import Steps, analysis
from trajet.analysis.lifetimes import (
    DEFAULT_MEMORY,
    Lasting,
    check_intermittency,
    frames_of_keys,
    too_many,
    wanted,
)
from trajet.analysis.runner import RunOptions, RunRequest, main_selection
from trajet.analysis.unit_warnings import selections_in_nm
from trajet.quoting import quoted
from trajet.result import Survival
from trajet.trajectory import Selection, UpdatingSelection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup


@analysis(
    axes=("frames",),
    notes=(
        "The selection is evaluated in each frame. Distances are those of nearest images. Water"
        " stays as a whole with --by residue."
    ),
    examples=r"""
    trajet survival top.gro run.xtc --select "resname SOL and around 3.5 protein" --by residue
    trajet survival top.gro run.xtc --select "name NA and around 4 resname POPS" \
        --max-lag 500 --intermittency 2 --save lifetimes=decay.csv --plot decay.png
    """,
)
def survival(
    selection: Annotated[
        "Selection | UpdatingSelection | AtomGroup", AtomsOption(updating="always")
    ],
    *,
    by: Literal["atom", "residue"] = "atom",
    max_lag: Annotated[float, PS, Between(0)] | None = None,
    intermittency: Annotated[int, Unit("frames"), Between(0)] = 0,
    max_memory: Annotated[int, BYTES] = DEFAULT_MEMORY,
    **run: Unpack[RunOptions],
) -> Steps[Survival]:
    """Compute how long atoms or residues stay in a selection.

    The result has the number of members in each frame, the correlation functions of membership,
    and the rate at which members leave with the distribution of their dwell times.

    Parameters
    ----------
    selection
        Atoms that are chosen in each frame. An updating selection:
        `traj.select("resname SOL and around 3.5 protein", updating=True)`.
    by
        The members: "atom" for each selected atom, "residue" for residues, which stay while any of
        their atoms is selected.
    max_lag
        The largest lag of the correlation functions, ps. None for half of the time of the frames.
    intermittency
        Longest gap, in frames, that does not end a membership.
    max_memory
        Memory for the members of all frames.

    Returns
    -------
    Survival
        `values` `(n_frames,)`, float64 holding integers, the number of members; `lifetimes` and
        `dwell_times`.

    Raises
    ------
    SelectionError
        If the selection has the same atoms in all frames.
    MemoryError
        If the members of all frames take more than `max_memory`.
    AnalysisError
        If frames are not evenly spaced, an atom on which the selection depends has no position, or
        the cell of a frame has no volume.
    ValueError
        If the lag is longer than the trajectory.

    Notes
    -----
    Let h(t) be 1 in frames with a member, else 0, and H(t) the same after gaps of up to
    `intermittency` frames are filled. Over all members and all frames t with t + τ within the
    trajectory, `lifetimes` has ratios of sums: intermittent, Σ h(t) h(t + τ) / Σ h(t), and
    continuous, Σ H(t) … H(t + τ) / Σ H(t). The third column is the mean over the frames t with any
    member of the ratio of single frames, Σ H(t) … H(t + τ) / Σ H(t) over members alone, which
    MDAnalysis' `SurvivalProbability` computes: P. Liu, E. Harder and B. J. Berne, J. Phys. Chem. B
    108, 6595 (2004), doi:10.1021/jp0375057. Frames with few members count in it as much as others.

    A run of frames with a member is cut where the trajectory begins or ends, and counting cut runs
    as whole makes dwell times too short. In `dwell_times`, the rate is k = -log(1 - p) / Δt, where
    p is the number of exits per frame at risk and Δt the time between frames: cut runs are at risk,
    and their cut is no exit. Its 95 % interval is the exact one of p (C. J. Clopper and E. S.
    Pearson, Biometrika 26, 404 (1934)). Exits come together where members leave in the same frames,
    or some members leave more often than others: both numbers are divided by the design effect then
    (E. L. Korn and B. I. Graubard, Surv. Methodol. 24, 193 (1998)). The distribution is the
    estimator of E. L. Kaplan and P. Meier, J. Am. Stat. Assoc. 53, 457 (1958),
    doi:10.1080/01621459.1958.10501452, of the runs that begin inside: a single rate gives an
    exponential one. With an intermittency of n frames, runs are known to begin inside after n + 1
    frames without the member, and to end as long before the end.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> near = traj.select("name CA and around 8 resid 100", updating=True)
    >>> result = tj.survival(near)
    >>> result.dwell_times.n_exits, result.dwell_times.n_runs
    (21, 31)
    """
    check_intermittency(intermittency)
    if by not in ("atom", "residue"):
        raise ValueError(f"by is 'atom' or 'residue', not {by!r}")
    if not isinstance(selection, UpdatingSelection):
        raise SelectionError(
            f"{quoted(main_selection(selection).label)} are the same atoms in all frames: select"
            " those of each frame with traj.select(..., updating=True)"
        )
    native, columns = selection.prepared(has_selected=False)
    plan = Plan("count", atoms=columns, selection=native.to_bytes(), members=wanted(max_memory))
    outcome = yield RunRequest(plan, [selection], too_large=too_many("atoms", max_memory))
    lasting = Lasting(outcome, max_lag, intermittency)
    keys, counts = outcome.integers("keys"), outcome.integers("count")
    frames = frames_of_keys(counts)
    if by == "residue":
        residues = selection.trajectory.topology.atoms_residues
        both = frames * np.int64(residues.max(initial=0) + 1) + residues[keys]
        both.sort()
        frames, keys = np.divmod(both[np.diff(both, prepend=-1) > 0], residues.max(initial=0) + 1)
        frames, counts = frames.astype(np.uint32), np.bincount(frames, minlength=len(counts))
    lasting.add(keys, frames)
    messages = selections_in_nm([selection.label], found=bool(len(keys)))
    messages += [*outcome.cells.missing_for([selection]), *lasting.messages()]
    labels, report = (selection.label,), outcome.report(messages, uses_times="lags")
    return Survival(
        values=counts.astype(np.float64),
        axes=(outcome.frames_axis,),
        name="N",
        units=f"{by}s",
        selections=labels,
        report=report,
        parts=lasting.parts(labels, report),
    )
