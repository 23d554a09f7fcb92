"""`ensemble`: several trajectories, and selections of atoms of all of them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Protocol, Self, TypeAlias, Unpack, runtime_checkable

from trajet import remote
from trajet.members.member import Member, MemberOptions, OpenMember
from trajet.members.rows import Key, expanded, rows_of_table
from trajet.selection_text import parsed
from trajet.trajectory import (
    MakeSteps,
    OpenOptions,
    Selection,
    SharedTopologies,
    Trajectory,
    Transformable,
    UpdatingSelection,
)

# Values of a key that messages list.
_SHOWN = 8


@runtime_checkable
class Table(Protocol):
    """A table of rows, such as a pandas DataFrame."""

    def to_dict(self, orient: str) -> Sequence[Mapping[str, object]]:
        """Return the rows as dictionaries, for "records"."""
        ...


MemberTable: TypeAlias = "str | os.PathLike[str] | Iterable[Mapping[str, object]] | Table"


class Ensemble(Transformable):
    """Several trajectories with the keys that tell them apart; made by `trajet.ensemble`.

    Analyses take it, or a selection of it, in place of one of a trajectory. Transforms, such as
    `ens.whole()`, apply to all members. Members are opened when they are needed.

    Attributes
    ----------
    members
        The members, in order.
    """

    def __init__(self, members: Sequence[Member], shared: SharedTopologies) -> None:
        self.members = tuple(members)
        self._shared = shared

    def __repr__(self) -> str:
        names = ", ".join(self.keys)
        return f"<Ensemble: {len(self)} members by {names or 'no keys'}>"

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def __getitem__(self, number: int) -> Member:
        return self.members[number]

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the keys."""
        return tuple(self.members[0].keys)

    @property
    def n_parsed_topologies(self) -> int:
        """Number of topology files that were parsed so far; equal ones are parsed once."""
        return self._shared.n_parsed

    def where(self, **keys: Key) -> Self:
        """Return the members with these values of keys.

        Raises
        ------
        ValueError
            If there is no such key, or no member.

        Examples
        --------
        >>> import trajet as tj
        >>> rows = [{"topology": "adk.psf", "trajectory": "adk.xtc", "replica": k} for k in (1, 2)]
        >>> tj.ensemble(rows).where(replica=2)
        <Ensemble: 1 members by replica>
        """
        for name in keys:
            if name not in self.keys:
                raise ValueError(f"members have no {name}: their keys are {', '.join(self.keys)}")
        chosen = [
            member
            for member in self.members
            if all(member.keys[name] == value for name, value in keys.items())
        ]
        if not chosen:
            asked = ", ".join(f"{name}={value!r}" for name, value in keys.items())
            known = "; ".join(f"values of {name} are {self._values_of(name)}" for name in keys)
            raise ValueError(f"no member has {asked}: {known}")
        made = copy(self)
        made.members = tuple(chosen)
        return made

    def _values_of(self, name: str) -> str:
        """Return the first values of a key, for messages: texts have quotes, numbers have none."""
        values = list(dict.fromkeys(member.keys[name] for member in self.members))
        more = ", …" if len(values) > _SHOWN else ""
        return ", ".join(map(repr, values[:_SHOWN])) + more

    def select(self, selection: str, *, updating: bool = False) -> "EnsembleSelection":
        """Select atoms of each member by a text, which is evaluated when the member is opened.

        Parameters
        ----------
        selection
            Text in MDAnalysis' language.
        updating
            Whether it is evaluated in each frame anew; see `Trajectory.select`.

        Raises
        ------
        SelectionError
            If the text is invalid. A text that matches no atom of a member is an error of that
            member, once it is opened.
        TypeError
            If atoms are given by their indices, which differ from topology to topology.
        """
        if not isinstance(selection, str):
            raise TypeError(
                "atoms of an ensemble are selected by a text, which is evaluated for each member,"
                f" not by {type(selection).__name__}"
            )
        parsed(selection)
        return EnsembleSelection(self, selection, updating=updating)

    @property
    def transforms(self) -> tuple[MakeSteps, ...]:
        """Functions that make the transforms of the members, in order."""
        return self.members[0].transforms

    def of(self, opened: OpenMember) -> Trajectory:
        """Return the trajectory of an open member, with the transforms of this ensemble."""
        return opened.trajectory(self.transforms)

    def _transformed(self, make: MakeSteps) -> Self:
        """Return the ensemble with a further transform of each member."""
        made = copy(self)
        made.members = tuple(
            replace(member, transforms=(*member.transforms, make)) for member in self.members
        )
        return made


class EnsembleSelection(Transformable):
    """Atoms of each member that a text selects; made by `Ensemble.select`.

    Attributes
    ----------
    ensemble
        The ensemble.
    text
        The selection in MDAnalysis' language.
    is_updating
        Whether it is evaluated in each frame.
    """

    def __init__(self, ensemble: Ensemble, text: str, *, updating: bool = False) -> None:
        self.ensemble = ensemble
        self.text = text
        self.is_updating = updating

    def __repr__(self) -> str:
        return f"<EnsembleSelection {self.text!r} of {len(self.ensemble)} members>"

    def of(self, opened: OpenMember) -> Selection | UpdatingSelection:
        """Return the selected atoms of an open member.

        Raises
        ------
        SelectionError
            If the text matches no atom.
        """
        trajectory = self.ensemble.of(opened)
        if self.is_updating:
            return trajectory.select(self.text, updating=True)
        return trajectory.select(self.text)

    def _transformed(self, make: MakeSteps) -> Self:
        """Return the same atoms of the transformed ensemble."""
        made = copy(self)
        made.ensemble = self.ensemble._transformed(make)
        return made


def ensemble(
    members: MemberTable,
    *,
    topology: str | os.PathLike[str] | None = None,
    chain: bool = False,
    **options: Unpack[MemberOptions],
) -> Ensemble:
    """Return several trajectories as an ensemble, which analyses take in place of one.

    No file is opened. Each member has keys, such as `system` and `replica`, by which results are
    averaged and compared.

    Parameters
    ----------
    members
        The path of a CSV table, a DataFrame, or a list of dictionaries, with a row for each member:
        `topology`, `trajectory`, and any further columns as keys. A trajectory may be several
        files that follow one another: a list, or a path with wildcards. A data set of a store
        needs no topology. Or a pattern of the trajectories whose placeholders are the keys:
        `"{system}/rep{replica}/traj.xtc"`, also in a bucket (`s3://…`), which is listed then.
        Paths in a table are relative to its folder. Paths in rows may have placeholders, too: of
        keys of the row, or of further keys. Members with the same keys are numbered by a key
        `replica`.
    topology
        The topology of members that name none; it may have placeholders: `"{system}/top.psf"`.
    chain
        Whether several files of a member are read one after the other also if they look like
        replicas: if their times overlap by more than half of the shorter file, or they state no
        times. Otherwise that is an error of the member.
    **options
        Options of `trajet.open` for all members, such as `continuous=True`.

    Returns
    -------
    Ensemble

    Raises
    ------
    FileNotFoundError
        If there is no such table, or no file matches a pattern.
    ValueError
        If the table has no columns of files, there are no members, or two have the same keys; or
        if an option is invalid.
    TypeError
        If `members` is of another type, or there is no such option.

    Examples
    --------
    >>> import trajet as tj
    >>> rows = [{"system": "wt", "replica": k, "trajectory": "adk.xtc"} for k in (1, 2)]
    >>> ens = tj.ensemble(rows, topology="adk.psf")
    >>> ens
    <Ensemble: 2 members by system, replica>
    >>> tj.rmsf(ens.select("name CA"), align="same")
    <EnsembleResult of rmsf: 2 members>
    """
    return ensemble_of(members, topology, OpenOptions(**options), is_chained=chain)


def ensemble_of(
    members: MemberTable,
    topology: str | os.PathLike[str] | None,
    options: OpenOptions,
    *,
    is_chained: bool = False,
) -> Ensemble:
    """Return several trajectories as an ensemble, as `ensemble` does."""
    shared = SharedTopologies()
    whole = None if topology is None else os.fspath(topology)

    def objects_of(pattern: str) -> list[str]:
        from trajet.remote.listing import matching

        return matching(pattern, options.storage_options, allow_http=options.allow_http)

    made = []
    for row in expanded(_rows(members), whole, objects_of):
        made.append(
            Member(
                row.keys,
                # The working folder may change.
                None if row.topology is None else remote.absolute(row.topology),
                tuple(map(remote.absolute, row.trajectories)),
                options,
                is_chained,
                shared,
            )
        )
    return Ensemble(made, shared)


def _rows(members: MemberTable) -> Iterable[Mapping[str, object]]:
    """Return the rows of a table, a pattern or a list."""
    if isinstance(members, (str, os.PathLike)):
        text = os.fspath(members)
        if text.lower().endswith(".csv"):
            return rows_of_table(Path(text))
        if "{" in text:
            return [{"trajectory": text}]
        raise ValueError(
            f"{text}: give the path of a CSV table, a pattern with placeholders, such as"
            ' "{system}/rep{replica}/traj.xtc", or a list of dictionaries'
        )
    if isinstance(members, Table):
        return members.to_dict("records")
    rows = list(members)
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(
                "a member is a dictionary with topology, trajectory and keys, not"
                f" {type(row).__name__}"
            )
    return rows
