"""`features`: numbers of each frame for kinetic models, in blocks and in pairs at a lag."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.analysis.ensemble_runs import MemberFrames
from trajet.analysis.job import EnsembleJob, Job, ensemble_of
from trajet.checked_numbers import whole_number
from trajet.digits import in_digits
from trajet.kinetics.columns import FixedColumns
from trajet.kinetics.matching import CommonFeatures, FeatureColumns
from trajet.kinetics.positions import positions_job
from trajet.kinetics.streams import FeatureBlock, FeatureStream
from trajet.members import EnsembleSelection, Member, OpenMember
from trajet.memory import check_memory
from trajet.messages import Message, Messages
from trajet.pools.pool import Pool
from trajet.pools.rank_placeholder import RootPool
from trajet.result.table import Table
from trajet.trajectory import FrameChoice, Selection

# An analysis with its arguments, or atoms whose positions are features.
MemberItem: TypeAlias = Job[Table] | Selection
FeatureItem: TypeAlias = MemberItem | EnsembleJob[Table] | EnsembleSelection

# Times between frames that differ by less than this share are equal: times are rounded.
_EQUAL_STEPS = 1e-3


class MemberSource(Protocol):
    """A trajectory of which features are computed."""

    @property
    def label(self) -> str:
        """Name in messages."""
        ...

    @property
    def topology_key(self) -> Hashable:
        """Equal for trajectories with equal topologies."""
        ...

    def open_items(self) -> AbstractContextManager["OpenItems"]:
        """Open the trajectory while its items are used."""
        ...


@dataclass(frozen=True)
class OpenItems:
    """Items of an open trajectory, of which features are made, and the chosen frames."""

    items: Sequence[MemberItem]
    frames: FrameChoice


class Features(Messages):
    """Numbers of each frame of one trajectory or several; made by `features`.

    Nothing is computed before blocks or pairs are read, and each reading computes anew. The memory
    is that of some frames, whatever the length and number of the trajectories.

    Attributes
    ----------
    labels
        Name of each feature, as the columns of CSV files have them: "cos:phi_ALA2",
        `distance_A:LEU6:CA_-_ALA55:CA`. Those of the first trajectory.
    members
        Name of each trajectory.
    """

    def __init__(self, sources: Sequence[MemberSource], pool: Pool | None) -> None:
        self._sources, self._pool = sources, pool
        self._fixed = FixedColumns()
        self._messages: dict[Message, None] = {}
        self.members = tuple(source.label for source in sources)
        # Features of each topology: those of one are the same in all of its trajectories.
        found: dict[Hashable, tuple[str, FeatureColumns]] = {}
        for member, source in enumerate(sources):
            if source.topology_key in found:
                continue
            with source.open_items() as opened:
                stream = self._stream(member, opened)
                if len(stream.frames) or (member == len(sources) - 1 and not found):
                    found[source.topology_key] = source.label, stream.columns()
        self._common = CommonFeatures(list(found.values()))
        self._messages.update(dict.fromkeys(self._common.messages))
        self.labels: tuple[str, ...] = self._common.labels

    def __repr__(self) -> str:
        n = len(self.members)
        of = "1 trajectory" if n == 1 else f"{n} trajectories"
        left = self._common.n_left_out
        return f"<Features: {self.n_features} of {of}{f', {left} left out' if left else ''}>"

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.labels)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Messages on features that are left out, of all topologies and of what was read."""
        return tuple(self._messages)

    def blocks(self, size: int | None = None) -> Iterator[FeatureBlock]:
        """Iterate over blocks of frames; no block has frames of two trajectories.

        Parameters
        ----------
        size
            Frames of a block; the last one of a trajectory may be smaller. None for 32 MiB.

        Yields
        ------
        FeatureBlock
            `values` `(n_frames, n_features)`, float64, with `member`, `frames` and `times`.

        Raises
        ------
        ValueError
            If a trajectory has other features than the first.
        AnalysisError
            If a feature is not a finite number.

        Examples
        --------
        >>> import trajet as tj
        >>> found = tj.features(tj.dihedrals.job(traj.select("protein"), sin_cos=True))
        >>> [block.values.shape for block in found.blocks(50)]
        [(50, 848), (48, 848)]
        """
        if size is not None:
            whole_number(size, "size", least=1)
        for _, _, blocks in self._members(size):
            yield from blocks

    def pairs(
        self, lag: int, block: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Iterate over pairs of frames at a lag, both of the same trajectory.

        A trajectory of n frames has n - lag pairs, all of them whatever the size of blocks, and
        one that is not longer than the lag has none. In memory are the frames of a block and of a
        lag.

        Parameters
        ----------
        lag
            Frames between the first and the second frame of a pair.
        block
            Pairs that are returned at a time; the last ones of a trajectory may be fewer. None for
            32 MiB.

        Yields
        ------
        x, y
            `(n_pairs, n_features)` each, float64: the features of frames, and those of the frames
            `lag` later, as deeptime's `partial_fit((x, y))` takes them.

        Raises
        ------
        ValueError
            If no trajectory is longer than the lag, or a trajectory has other features.
        AnalysisError
            If frames are not at equal times, or those of a trajectory are further apart than those
            of another.

        Examples
        --------
        >>> import trajet as tj
        >>> found = tj.features(tj.dihedrals.job(traj.select("protein"), sin_cos=True))
        >>> sum(len(x) for x, y in found.pairs(lag=10))
        88
        """
        lag = whole_number(lag, "lag", least=1)
        if block is not None:
            whole_number(block, "block", least=1)
        n_pairs, longest, step = 0, 0, None
        for member, stream, blocks in self._members(block):
            longest = max(longest, len(stream.frames))
            if len(stream.frames) <= lag:
                continue
            n_pairs += len(stream.frames) - lag
            step = self._checked_step(member, stream, step)
            yield from pairs_of((each.values for each in blocks), lag, block)
        if not n_pairs:
            raise ValueError(
                f"lag={lag}: the longest trajectory has {longest} frames, so that there is no pair:"
                " give a shorter lag"
            )

    def collect(self) -> list[NDArray[np.float64]]:
        """Compute the features of all frames.

        Returns
        -------
        list of ndarray
            For each trajectory `(n_frames, n_features)`, float64.

        Raises
        ------
        MemoryError
            If they do not fit into memory.
        """
        collected: list[NDArray[np.float64]] = []
        size = 0
        for _, stream, blocks in self._members(None):
            size += 8 * len(stream.frames) * self.n_features
            check_memory([("features", size)], None, "read block by block (blocks(), pairs())")
            values = np.empty((len(stream.frames), self.n_features))
            begin = 0
            for block in blocks:
                values[begin : begin + len(block.values)] = block.values
                begin += len(block.values)
            collected.append(values)
        return collected

    def _stream(self, member: int, opened: OpenItems) -> FeatureStream:
        """Return the stream of a trajectory that is open."""
        jobs = [
            positions_job(item) if isinstance(item, Selection) else item for item in opened.items
        ]
        stream = FeatureStream(jobs, self._fixed, opened.frames, self._pool)
        before = f"{self.members[member]}: " if len(self.members) > 1 else ""
        self._messages.update(dict.fromkeys(one.prefixed(before) for one in stream.messages))
        return stream

    def _members(
        self, size: int | None
    ) -> Iterator[tuple[int, FeatureStream, Iterator[FeatureBlock]]]:
        """Iterate over trajectories, each of which is open until the next is requested."""
        for member, source in enumerate(self._sources):
            with source.open_items() as opened:
                stream = self._stream(member, opened)
                if not len(stream.frames):
                    continue
                kept = self._common.of(source.label, stream.columns())
                yield member, stream, stream.blocks(member, size, kept)

    def _checked_step(self, member: int, stream: FeatureStream, step: float | None) -> float:
        """Return the time between frames, ps, if it equals that of other trajectories.

        Raises
        ------
        AnalysisError
            If it does not, or is not the same between all frames.
        """
        here = stream.time_step()
        if step is not None and abs(here - step) > _EQUAL_STEPS * step:
            raise AnalysisError(
                f"{self.members[member]}: frames are {in_digits(here)} ps apart, and"
                f" {in_digits(step)} ps in trajectories before it: a lag in frames would be another"
                " time; choose frames at equal intervals with frames="
            )
        return here if step is None else step


def pairs_of(
    blocks: Iterator[NDArray[np.float64]], lag: int, size: int | None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Iterate over pairs of rows at a lag, `size` at a time, of blocks that follow one another.

    The arrays are the caller's own.
    """
    kept: NDArray[np.float64] | None = None
    for block in blocks:
        rows = block if kept is None else np.concatenate([kept, block])
        at_once = size or max(1, len(block))
        begin = 0
        while len(rows) - begin - lag >= at_once:
            yield _pair(rows, begin, at_once, lag)
            begin += at_once
        kept = rows[begin:].copy()
    if kept is not None and len(kept) > lag:
        yield _pair(kept, 0, len(kept) - lag, lag)


def _pair(
    rows: NDArray[np.float64], begin: int, count: int, lag: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return copies of `count` rows and of those at the lag."""
    end = begin + count
    return rows[begin:end].copy(), rows[begin + lag : end + lag].copy()


@dataclass(frozen=True)
class _OnlyTrajectory:
    """A trajectory that is open already, as the only member."""

    items: Sequence[MemberItem]
    frames: FrameChoice

    @property
    def label(self) -> str:
        """Name of the first item."""
        item = self.items[0]
        return item.trajectory.label if isinstance(item, Selection) else item.name

    @property
    def topology_key(self) -> Hashable:
        """The same for all: there is one trajectory."""
        return None

    def open_items(self) -> AbstractContextManager[OpenItems]:
        """Return the items."""
        return nullcontext(OpenItems(self.items, self.frames))


@dataclass(frozen=True)
class _EnsembleMember:
    """A member of an ensemble, which is opened for a while."""

    member: Member
    items: Sequence[EnsembleJob[Table] | EnsembleSelection]
    frames: MemberFrames

    @property
    def label(self) -> str:
        """The keys of the member."""
        return self.member.label

    @property
    def topology_key(self) -> Hashable:
        """See `Member.topology_key`."""
        return self.member.topology_key

    @contextmanager
    def open_items(self) -> Iterator[OpenItems]:
        """Open the member; its errors name it."""
        try:
            opened = OpenMember(self.member)
            try:
                frames = self.frames(opened.files) if callable(self.frames) else self.frames
                yield OpenItems([_of_member(item, opened) for item in self.items], frames)
            finally:
                opened.close()
        except Exception as error:
            error.add_note(f"in member {self.label}")
            raise


def _of_member(item: EnsembleJob[Table] | EnsembleSelection, opened: OpenMember) -> MemberItem:
    """Return an item of an ensemble for one of its members.

    Raises
    ------
    TypeError
        If its atoms are others in each frame.
    """
    found = item.of(opened)
    if isinstance(found, (Job, Selection)):
        return found
    raise TypeError(f"{item!r}: positions are features of the same atoms in all frames")


def features(
    items: Sequence[FeatureItem] | FeatureItem,
    *,
    frames: MemberFrames = None,
    pool: Pool | None = None,
) -> Features:
    """Describe frames by numbers, for kinetic models and machine learning.

    Parameters
    ----------
    items
        Analyses with one number or several of each frame: `tj.dihedrals.job(selection,
        sin_cos=True)`, `tj.distances.job(...)`, `tj.contacts.job(...)`, `tj.rmsd.job(...)` and so
        on; and selections, whose positions are features: `traj.fit("name CA").select("name CA")`.
        All of them are of one trajectory, with any transforms, or of one ensemble, whose members
        are opened one after the other.
    frames
        A slice, frame numbers, or a mask; None for all. Of an ensemble, of each member; or a
        function that returns these for an open trajectory: `lambda traj: traj.times >= 100`.
    pool
        Where to compute; None for `LocalPool()`: all cores of this process. Not MPI, whose ranks
        would all iterate over blocks.

    Returns
    -------
    Features
        `labels`, `blocks()`, `pairs(lag)` and `collect()`.

    Raises
    ------
    ValueError
        If there are no items, the numbers of an analysis depend on all frames together, items are
        of different ensembles, or members have no feature in common.
    TypeError
        If an item is neither a job nor a selection, or the pool is an `MpiPool`.
    SelectionError
        If no residue has backbone angles, or the topology does not tell which residues are bonded.

    Notes
    -----
    Columns depend on the topology alone. Backbone angles of `dihedrals` are those of residues that
    are bonded by the topology or, if it lists no bonds within residues, by the positions in its
    file; `dihedrals` itself takes those that are bonded in frame 0.

    Members of an ensemble have the features that are common to all of their topologies, such as
    those of a wild type and a mutant: atoms are matched by chain, residue number, insertion code
    and name. `messages` of the result say what is left out.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.open("adk.psf", "adk.xtc")
    >>> features = tj.features([tj.dihedrals.job(traj.select("protein"), sin_cos=True)])
    >>> features.labels[:2]
    ('cos:phi_ARG2', 'sin:phi_ARG2')
    """
    kinds = (Job, Selection, EnsembleJob, EnsembleSelection)
    # Neither the letters of a text nor the frames of a trajectory are items.
    given: list[FeatureItem] = (
        [items]
        if isinstance(items, (*kinds, str)) or not isinstance(items, Sequence)
        else list(items)
    )
    if not given:
        raise ValueError("there are no features: give jobs or selections")
    for item in given:
        if not isinstance(item, kinds):
            raise TypeError(
                f"{item!r} is neither a job nor a selection: write"
                " tj.features([tj.dihedrals.job(selection), traj.select('name CA')])"
            )
    if isinstance(pool, RootPool):
        raise TypeError("features are blocks that one process reads: take another pool than MPI")
    of_ensemble = [item for item in given if isinstance(item, (EnsembleJob, EnsembleSelection))]
    if not of_ensemble:
        if callable(frames):
            raise TypeError("frames= is a function, which only members of an ensemble take")
        alone = [item for item in given if isinstance(item, (Job, Selection))]
        return Features([_OnlyTrajectory(alone, frames)], pool)
    if len(of_ensemble) < len(given):
        raise ValueError("some features are of an ensemble, and others of a trajectory")
    ensemble = ensemble_of([item.ensemble for item in of_ensemble])
    assert ensemble is not None
    for item in of_ensemble:
        if isinstance(item, EnsembleJob) and len(ensemble) > 1:
            reference = item.arguments.get("reference")
            if isinstance(reference, (int, np.integer)):
                raise ValueError(
                    f"{item.name}: the reference is frame {reference} of each member, so that its"
                    " numbers mean another thing in each: give a structure (reference=...)"
                )
    return Features([_EnsembleMember(member, of_ensemble, frames) for member in ensemble], pool)
