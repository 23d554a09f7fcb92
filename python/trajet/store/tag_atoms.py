"""Assignment of the atoms of a system to the tags of a profile."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError, StoreError
from trajet.messages import Message, left_out
from trajet.store.profile import REST, Profile, Tag
from trajet.trajectory import Trajectory

# Most atoms that an error names.
_NAMED = 3


@dataclass(frozen=True)
class TagAtoms:
    """A tag and its atoms, in ascending order."""

    tag: Tag
    atoms: NDArray[np.int64]

    def ranges(self) -> list[tuple[int, int]]:
        """Return the atoms as ranges `(first, last + 1)`."""
        ends = np.flatnonzero(np.diff(self.atoms) != 1) + 1
        borders = [0, *ends.tolist(), len(self.atoms)]
        return [
            (int(self.atoms[begin]), int(self.atoms[end - 1]) + 1)
            for begin, end in pairwise(borders)
        ]


def assign_atoms(profile: Profile, trajectory: Trajectory) -> list[TagAtoms]:
    """Return the tags of a profile that have atoms, with their atoms.

    Raises
    ------
    StoreError
        If an atom is in two tags or in none, or a tag that is not optional selects no atom.
    SelectionError
        If the selection of a tag is invalid.
    """
    owners = np.full(trajectory.n_atoms, -1, np.int16)
    for place, tag in enumerate(profile.tags):
        if tag.select == REST:
            continue
        chosen = _chosen(tag, profile, trajectory)
        taken = chosen[owners[chosen] >= 0]
        if len(taken):
            both = taken[owners[taken] == owners[taken[0]]]
            other = profile.tags[owners[taken[0]]]
            raise StoreError(
                f"{profile.where}: {len(both)} atoms are in two tags, {other.name!r} and"
                f" {tag.name!r}: {_listed(both, trajectory)}: add 'and not (…)' to one of them"
            )
        owners[chosen] = place
    left = np.flatnonzero(owners < 0)
    rest = [place for place, tag in enumerate(profile.tags) if tag.select == REST]
    if rest:
        owners[left] = rest[0]
    elif len(left):
        raise StoreError(
            f"{profile.where}: {len(left)} of {len(owners)} atoms are in no tag:"
            f' {_listed(left, trajectory)}: add a tag with select = "rest"'
        )
    parts = [
        TagAtoms(tag, np.flatnonzero(owners == place)) for place, tag in enumerate(profile.tags)
    ]
    empty = [part.tag for part in parts if not len(part.atoms) and not part.tag.optional]
    if empty:
        what = "the other tags have all atoms" if empty[0].select == REST else "it selects none"
        raise StoreError(
            f"{profile.where}: tag {empty[0].name!r}: {what} of {trajectory.topology_path}:"
            f" leave it out, write optional = true, or change select = {empty[0].select!r}"
        )
    return [part for part in parts if len(part.atoms)]


def omitted_tags(
    profile: Profile, parts: Sequence[TagAtoms], trajectory: Trajectory
) -> list[Message]:
    """Return a note on the optional tags that selected no atom; none for the built-in profile.

    Parameters
    ----------
    parts
        The result of `assign_atoms` for this profile and trajectory.
    """
    kept = {part.tag.name for part in parts}
    names = [repr(tag.name) for tag in profile.tags if tag.name not in kept]
    if not names or profile.built_in:
        return []
    return [
        left_out(
            f"{profile.where}: no atom of {trajectory.topology_path} is in the optional"
            f" tag{'s' if len(names) > 1 else ''} {', '.join(names)}: left out"
        )
    ]


def _chosen(tag: Tag, profile: Profile, trajectory: Trajectory) -> NDArray[np.int64]:
    """Return the atoms that a tag selects, possibly none."""
    try:
        where = str(trajectory.topology_path)
        indices = trajectory.source.select_indices(tag.select, where, empty=True)
        return trajectory.source.index.columns_of(indices)[0]
    except SelectionError as error:
        raise SelectionError(f"{profile.where}: tag {tag.name!r}: {error}") from error


def _listed(atoms: Sequence[int] | NDArray[np.int64], trajectory: Trajectory) -> str:
    """Return a text that names the first of some atoms."""
    named = trajectory.source.structure.atoms
    words = [named.describe(int(atom)) for atom in atoms[:_NAMED]]
    return ", ".join(words) + (", …" if len(atoms) > _NAMED else "")
