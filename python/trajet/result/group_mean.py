"""Mean over the replicas of one group, with the error between them and that within them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import cast

import numpy as np
from numpy.typing import NDArray

from trajet.messages import Code, Message, Messages, by_code, messages_in
from trajet.result.member_outcome import Key, MemberOutcome
from trajet.result.profiles import Aligned, Profile, aligned, circular
from trajet.result.report import analysis_of
from trajet.result.rows import Rows
from trajet.result.table import Table
from trajet.uncertainty.replicas import mean_and_variance
from trajet.uncertainty.student_t import quantile

# Replicas whose first frames differ by less, Å, started from one place.
_SAME_START = 0.01
# Ratio of the errors between and within replicas above which they disagree.
_DISAGREE = 2.0
# Most values of a key that a message names.
_MAX_NAMED = 5


@dataclass(frozen=True)
class GroupMean(Messages):
    """Mean over the replicas of one group, such as a system.

    Attributes
    ----------
    keys
        The keys that the replicas have in common.
    rows
        What tells rows apart.
    members
        `(n_replicas, n_rows)`, the numbers of each replica.
    within
        `(n_rows,)`, standard error of the mean by the fluctuations within the runs; NaN if it is
        not known.
    period
        Period of values on a circle, such as 360 of angles; None for other values.
    messages
        What makes the numbers doubtful.
    lengths, labels
        Number of frames and label of each replica.
    is_rmsf
        Whether the numbers are fluctuations, which come out smaller in shorter runs.
    codes_of_members
        Codes of those messages that members have.
    """

    keys: Mapping[str, Key]
    rows: Rows
    members: NDArray[np.float64]
    within: NDArray[np.float64]
    period: float | None = None
    messages: tuple[Message, ...] = field(repr=False, default=())
    lengths: tuple[int, ...] = field(repr=False, default=())
    labels: tuple[str, ...] = field(repr=False, default=())
    is_rmsf: bool = False
    codes_of_members: tuple[Code, ...] = field(repr=False, default=())

    @property
    def axes(self) -> Mapping[str, NDArray[np.generic]]:
        """Columns that tell rows apart in tables, `(n_rows,)` each."""
        return self.rows.shown

    @property
    def label(self) -> str:
        """The keys as text."""
        return ", ".join(f"{name}={value}" for name, value in self.keys.items()) or "all members"

    @property
    def short_label(self) -> str:
        """The values of the keys as text, for figures."""
        return ", ".join(map(str, self.keys.values())) or self.label

    @property
    def n_replicas(self) -> int:
        """Number of replicas."""
        return len(self.members)

    @property
    def mean(self) -> NDArray[np.float64]:
        """`(n_rows,)`: mean over the replicas."""
        mean = self.members[0] if self.n_replicas < 2 else mean_and_variance(self.members)[0]
        return mean if self.period is None else circular(mean, self.period)

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """`(n_rows,)`: error of the mean by the spread of the replicas.

        NaN for one replica, and for equal ones: constants do not say how far another would be.
        """
        if self.n_replicas < 2:
            return np.full(self.members.shape[1], np.nan)
        error = np.sqrt(mean_and_variance(self.members)[1] / self.n_replicas)
        return np.where(error > 0, error, np.nan)

    @property
    def half_width(self) -> NDArray[np.float64]:
        """`(n_rows,)`: half of the 95 % interval, by Student's t of the replicas."""
        if self.n_replicas < 2:
            return self.standard_error
        return self.standard_error * quantile(self.n_replicas - 1)

    @property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of the 95 % interval, `(n_rows,)` each."""
        return self.mean - self.half_width, self.mean + self.half_width

    @property
    def ratio(self) -> NDArray[np.float64]:
        """`(n_rows,)`: error between replicas divided by that within them.

        About 1 if the fluctuations within the runs explain the spread of the replicas. Larger if
        runs are too short for motions in which they differ.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: NDArray[np.float64] = self.standard_error / self.within
        return np.where(self.within > 0, ratio, np.nan)


def group_mean(
    keys: Mapping[str, Key],
    members: Sequence[MemberOutcome[Table]],
    profiles: Sequence[Profile],
    *,
    is_rmsf: bool,
) -> GroupMean:
    """Return the mean over the members of a group.

    Parameters
    ----------
    keys
        The keys that the members have in common.
    members
        Members with results.
    profiles
        Their numbers; see `common_profiles`.
    is_rmsf
        Whether the numbers are fluctuations, which come out smaller in shorter runs.

    Raises
    ------
    AnalysisError
        If the numbers of the members cannot be matched.
    """
    results = [one.result for one in members if one.result is not None]
    found = aligned(profiles, [one.label for one in members])
    within = np.sqrt((found.errors**2).sum(axis=0)) / len(members)
    made = GroupMean(
        keys,
        found.rows,
        found.values,
        within,
        found.period,
        lengths=tuple(map(_n_frames, results)),
        labels=tuple(one.label for one in members),
        is_rmsf=is_rmsf,
    )
    renamed = {at: names for one in profiles for at, names in one.rows.renamed.items()}
    of_members = messages_of_members(members)
    messages = [
        *_messages(made, found, members, renamed, of_members),
        *_unresolved(profiles, members),
    ]
    codes = tuple(map(attrgetter("code"), of_members))
    return replace(made, messages=tuple(messages), codes_of_members=codes)


def _messages(
    mean: GroupMean,
    found: Aligned,
    members: Sequence[MemberOutcome[Table]],
    renamed: Mapping[tuple[str, ...], tuple[str, str]],
    of_members: Sequence[Message],
) -> Iterator[Message]:
    """Yield what makes a mean doubtful."""
    yield from found.messages
    if renamed:
        own, name = next(iter(renamed.values()))
        yield (
            Message(
                Code.RENAMED_RESIDUES,
                "labels of residues that differ between members, as after a mutation, are those of"
                f" the first member: {len(renamed)}, the first is {name} for {own}",
            )
        )
    for one in members:
        if one.chains_of:
            pairs = ", ".join(f"{own} with {name}" for own, name in one.chains_of.items())
            yield (
                Message(
                    Code.RENAMED_CHAINS,
                    f"{one.label}: no chain has the name of a chain of the first member: chains are"
                    f" matched in their order, {pairs}",
                )
            )
    yield from of_members
    yield from _mixed(mean.keys, members)
    n = mean.n_replicas
    if n == 1:
        yield (
            Message(
                Code.ONE_REPLICA,
                "one replica: there is no error between replicas, and that within it does not see"
                " states that it has never visited",
            )
        )
        return
    lengths = mean.lengths
    if mean.is_rmsf and max(lengths) > min(lengths):
        yield (
            Message(
                Code.UNEQUAL_LENGTHS,
                f"replicas have {min(lengths)} to {max(lengths)} frames: fluctuations of shorter"
                " runs come out smaller",
                "compare runs of equal length",
            )
        )
    labels = [one.label for one in members]
    if (mean.members == mean.members[0]).all() and _tell_members_apart(mean.members[0]):
        yield Message(
            Code.EQUAL_REPLICAS,
            "all replicas have the same numbers",
            "are they copies of one file?",
        )
    elif (copies := first_copies(mean.members, mean.members, labels, labels)) is not None:
        yield copies
    elif _started_together(members):
        yield Message(
            Code.SAME_START,
            f"all {n} replicas started from one place: that they agree does not mean that they are"
            " equilibrated",
        )
    ratios = mean.ratio[np.isfinite(mean.ratio)]
    if len(ratios) and np.median(ratios) > _DISAGREE:
        yield (
            Message(
                Code.REPLICAS_DIFFER,
                f"replicas differ {np.median(ratios):.1f} times as much as their own fluctuations"
                " explain: runs are shorter than their slowest motions",
                "take the error between replicas",
            )
        )


def _unresolved(
    profiles: Sequence[Profile], members: Sequence[MemberOutcome[Table]]
) -> Iterator[Message]:
    """Yield a note on members whose means over time are not resolved."""
    wrong = [
        (one.label, profile.unresolved)
        for one, profile in zip(members, profiles, strict=True)
        if profile.unresolved
    ]
    if wrong:
        label, reason = wrong[0]
        yield Message(
            Code.NOT_RESOLVED,
            f"means over time are not resolved in {len(wrong)} of {len(members)} members, the first"
            f" is {label}: {reason}: their errors within the runs are not reliable",
        )


def messages_of_members(members: Sequence[MemberOutcome[Table]]) -> list[Message]:
    """Return the messages of the results of members, one for each code."""
    results = []
    for one in members:
        if one.result is not None:
            entries = analysis_of(one.result.report)
            has_any = entries["warnings"] or entries["notes"]
            results.append((one.label, messages_in(entries) if has_any else []))
    return by_code(results, "members")


def first_copies(
    values: NDArray[np.float64],
    others: NDArray[np.float64],
    labels: Sequence[str],
    other_labels: Sequence[str],
) -> Message | None:
    """Return a message on two members with the same numbers, `(n_members, n_rows)`; or None."""
    for label, own in zip(labels, values, strict=True):
        for other_label, other in zip(other_labels, others, strict=True):
            if label != other_label and np.array_equal(own, other) and _tell_members_apart(own):
                return Message(
                    Code.EQUAL_REPLICAS,
                    f"{label} and {other_label} have the same numbers",
                    "are they copies of one file?",
                )
    return None


def _tell_members_apart(values: NDArray[np.float64]) -> bool:
    """Return whether equal numbers say that members are equal: 0 hydrogen bonds do not."""
    return bool((values != np.rint(values)).any())


def _mixed(keys: Mapping[str, Key], members: Sequence[MemberOutcome[Table]]) -> Iterator[Message]:
    """Yield a message on a key, other than the replica, that differs within a group."""
    for name in members[0].keys:
        values = list(dict.fromkeys([one.keys[name] for one in members]))
        if name not in keys and name != "replica" and len(values) > 1:
            few = ", ".join(map(str, values[:_MAX_NAMED]))
            yield (
                Message(
                    Code.MIXED_MEMBERS,
                    f"members with different {name} ({few}) count as replicas",
                    f"choose one with where({name}=...), or group by it, too",
                )
            )


def _n_frames(result: Table) -> int:
    """Return the number of frames of a result."""
    return cast(int, analysis_of(result.report)["parameters"]["n_frames"])


def _started_together(members: Sequence[MemberOutcome[Table]]) -> bool:
    """Return whether the first frames of all members are the same."""
    first = members[0].start
    if first is None:
        return False
    return all(
        one.start is not None
        and one.start.shape == first.shape
        and bool((np.abs(one.start - first) <= _SAME_START).all())
        for one in members[1:]
    )
