"""Transforms of positions after decoding: periodic boundaries and superposition."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import AnalysisError, SelectionError
from trajet.alternate_locations import location_messages
from trajet.checked_numbers import (
    checked_numbers,
    checked_positions,
    checked_weights,
    word_of_weights,
)
from trajet.hints import Hinted, with_hints
from trajet.messages import Code, Message
from trajet.particles import equal_weights, masses_as_weights
from trajet.quoting import quoted
from trajet.topology import Atoms, Topology
from trajet.trajectory.selected_atoms import SelectedAtoms, few_atoms_messages
from trajet.trajectory.source import FrameSource, Step

# Atoms of a transform: a selection text, evaluated after the transforms before it, or a Selection.
Chosen: TypeAlias = str | SelectedAtoms
TransformWeights: TypeAlias = (
    Literal["mass", "equal"] | Sequence[float] | NDArray[np.floating | np.integer]
)
WrapGroups: TypeAlias = Literal["molecule", "residue", "atom"]
WrapCell: TypeAlias = Literal["triclinic", "compact", "rectangular"]
JumpView: TypeAlias = Literal["lattice", "toroidal"]
FitMotion: TypeAlias = Literal["superposition", "translation", "plane"]

# Most molecules that are clustered: the time of a frame grows with their square.
_MAX_CLUSTERED = 5000

# Makes the steps of a transform for a trajectory, in the state before it.
MakeSteps: TypeAlias = Callable[[FrameSource], list[Step]]


class Transformable(Hinted, ABC):
    """Transforms of positions, which `Trajectory` and `Selection` share.

    Each method returns a new object whose frames are transformed after decoding, in the order of
    the calls, wherever they are read: by analyses, copies, `read` and `blocks`, on every pool.
    Nothing is computed before frames are read, and only atoms that are needed are decoded: to make
    a selection whole, those of its molecules.
    """

    @abstractmethod
    def _transformed(self, make: MakeSteps) -> Self:
        """Return the object with further steps."""

    def whole(self, *, guess_bonds: bool = False) -> Self:
        """Make molecules whole that are broken over the periodic box.

        Atoms are moved by lattice vectors along the bonds of the topology, from the first atom of
        each molecule, which stays where it is. As bonds are short, molecules that are longer than
        half of the box are right, too. Molecules that are bonded to their own periodic image are
        left as they are, and the report says so.

        Parameters
        ----------
        guess_bonds
            Whether bonds are guessed from distances in the structure file that is the topology,
            instead of taken from the topology.

        Raises
        ------
        SelectionError
            If the topology has no bonds, or atoms of a molecule are in tags that are not open.

        Notes
        -----
        The same as `gmx trjconv -pbc whole` and MDAnalysis' `unwrap`, up to a lattice vector for
        each molecule.

        Examples
        --------
        >>> protein = traj.select("protein").whole()
        """
        return self._transformed(lambda source: [_whole(source, guess_bonds)])

    def nojump(
        self,
        *,
        view: JumpView = "lattice",
        every_frame: bool = False,
    ) -> Self:
        """Remove jumps over the periodic box from frame to frame.

        From each requested frame to the next an atom is taken to have moved by less than half a
        cell. Jumps are counted from the first requested frame, or from the reference frame of an
        analysis if that is earlier; for a single frame (`traj[10]`) from frame 0. The report has a
        message where a step of more than 0.4 cells makes the direction doubtful.

        Parameters
        ----------
        view
            Treatment of a changing cell. "lattice" adds whole vectors of the cell of each frame to
            each atom: molecules keep their bonds and neighbours. "toroidal" makes molecules whole
            and moves each by the vectors of the cells at the time of its jumps: diffusion is right
            (von Bülow et al., J. Chem. Phys. 153, 021101 (2020)). In a constant cell both are the
            same.
        every_frame
            Whether frames that a stride skips are read to find the jumps.

        Notes
        -----
        The same shifts as MDAnalysis' `NoJump`, for any number of threads and any pool.

        Examples
        --------
        >>> protein = traj.select("protein").whole().nojump()
        """
        if view not in ("lattice", "toroidal"):
            raise ValueError(f"view is 'lattice' or 'toroidal', not {view!r}")
        return self._transformed(lambda source: _nojump(source, view, every_frame))

    def cluster(self, atoms: Chosen) -> Self:
        """Put the molecules of some atoms into one periodic image, next to each other.

        The first molecule stays where it is; then again and again the molecule whose centre is
        nearest to that of a molecule that has its place is moved next to that. Molecules must be
        whole.

        Parameters
        ----------
        atoms
            A selection: its molecules are moved as a whole.

        Examples
        --------
        >>> together = traj.whole().cluster("protein")
        """
        return self._transformed(lambda source: [_cluster(source, atoms)])

    def center(self, atoms: Chosen, *, weights: TransformWeights = "equal") -> Self:
        """Move all atoms so that the centre of some is the centre of the cell.

        Nothing is moved along directions in which the cell is not periodic.

        Parameters
        ----------
        atoms
            A selection.
        weights
            "equal" for the centre of geometry, "mass" for the centre of mass, or one number per
            atom.

        Examples
        --------
        >>> centred = traj.whole().center("protein")
        """
        return self._transformed(lambda source: [_center(source, atoms, weights)])

    @with_hints
    def wrap(
        self,
        *,
        by: WrapGroups = "molecule",
        cell: WrapCell = "triclinic",
        weights: Literal["mass", "equal"] = "equal",
        around: Chosen | None = None,
    ) -> Self:
        """Move groups of atoms into the cell, each as one, by their centres.

        Parameters
        ----------
        by
            The unit that is moved as one: "molecule", "residue" or "atom". Molecules must be whole.
        cell
            The shape that is filled: "triclinic", the parallelepiped of the box vectors; "compact",
            the points that are nearer to the centre of the box than to its images;
            "rectangular", the brick of the same volume.
        weights
            "equal" for centres of geometry, "mass" for centres of mass.
        around
            A selection whose groups are moved as one, such as the chains of a protein.

        Raises
        ------
        SelectionError
            If the topology has neither molecules nor bonds, for `by="molecule"`.

        Notes
        -----
        As `gmx trjconv -pbc mol -ur tric|compact|rect`, which takes centres of mass.

        Examples
        --------
        >>> wrapped = traj.whole().wrap(by="molecule", cell="compact")
        """
        return self._transformed(lambda source: [_wrap(source, by, cell, weights, around)])

    @with_hints
    def fit(
        self,
        atoms: Chosen,
        *,
        reference: int | NDArray[np.floating] = 0,
        motion: FitMotion = "superposition",
        weights: TransformWeights = "equal",
    ) -> Self:
        """Superpose frames on a reference by some of the atoms; all atoms are moved along.

        A rotation also turns the cell: later periodic steps and distances use the turned one.
        Copies of rotated frames have no velocities and forces, and no cell unless they are H5MD, as
        other formats cannot hold a turned one; messages say so.

        Parameters
        ----------
        atoms
            A selection.
        reference
            A frame number, read with the transforms before this one, or positions of the atoms,
            `(n_atoms, 3)`, Å. After `nojump` the only frame number allowed is 0, and jumps are
            counted from frame 0.
        motion
            "superposition" for rotation and translation, "translation", or "plane" for rotation
            about z and translation in the x-y plane.
        weights
            "equal", "mass", or one number per fitted atom.

        Examples
        --------
        >>> fitted = traj.fit("name CA", weights="mass")
        """
        return self._transformed(lambda source: [_fit(source, atoms, reference, motion, weights)])

    def translate(self, vector: Sequence[float] | NDArray[np.floating]) -> Self:
        """Move all atoms by a vector.

        Parameters
        ----------
        vector
            `(3,)`, Å.

        Examples
        --------
        >>> moved = traj.translate([0, 0, 10])
        """
        by = checked_positions(vector, (3,), "a translation").tolist()
        words = {"transform": "translate", "vector": by}
        return self._transformed(lambda _: [Step("translate", {"by": by}, words)])

    def repair(
        self, atoms: Chosen = "protein", *, cell: WrapCell = "compact", guess_bonds: bool = False
    ) -> Self:
        """Repair periodic boundaries around some atoms, such as the solute.

        In this order: all molecules are made whole, which the next steps need; the molecules of
        `atoms` are put into one image; their centre is moved to the centre of the cell; all other
        molecules are wrapped around them, which must come last, as moving the centre takes
        molecules out of the cell.

        Parameters
        ----------
        atoms
            A selection: its molecules stay together, in the centre.
        cell, guess_bonds
            As for `wrap` and `whole`.

        Examples
        --------
        >>> protein = traj.repair("protein").select("protein")
        """

        def steps(source: FrameSource) -> list[Step]:
            return [
                _whole(source, guess_bonds),
                _cluster(source, atoms, guess_bonds),
                _center(source, atoms, "equal"),
                _wrap(source, "molecule", cell, "equal", atoms, guess_bonds),
            ]

        return self._transformed(steps)


def chosen_atoms(source: FrameSource, atoms: Chosen) -> SelectedAtoms:
    """Return the selection of a transform, in the state of the trajectory before it."""
    if isinstance(atoms, str):
        atoms = SelectedAtoms(source, source.columns_of_text(atoms), atoms)
    if not isinstance(atoms, SelectedAtoms):
        raise TypeError(f"atoms are a selection text or a Selection, not {type(atoms).__name__}")
    if atoms.source.files is not source.files:
        raise SelectionError(f"{atoms!r} is of another trajectory")
    source.check_known(source.transforms, atoms.columns)
    return atoms


def _guesses_bonds(source: FrameSource, given: bool = False) -> bool:
    """Return whether bonds are guessed: as given, or else as for molecules made whole before."""
    return given or any("guess_bonds" in step.words for step in source.transforms)


def _pairs(found: Topology, guess_bonds: bool) -> NDArray[np.int64]:
    """Return the bonds of a topology, `(n, 2)`, with connections of virtual sites.

    An atom without mass and bonds is connected to the first atom of its residue that is no such.

    Raises
    ------
    SelectionError
        If there are none.
    """
    if guess_bonds:
        return found.guessed_bonds
    pairs = found.connections
    # An mmCIF file lists some connections, but no bonds within residues.
    if pairs is None or found.bonds is None:
        raise SelectionError(
            f"{found} has no bonds, along which molecules are made whole: use a topology that has,"
            " such as a TPR, PSF or PRMTOP, or guess them from distances with"
            " guess_bonds=True"
        )
    if (masses := found.column("masses")) is None or "masses" in found.native.guessed:
        return pairs
    sites = masses == 0
    sites[pairs.ravel()] = False
    if not sites.any():
        return pairs
    alone, others = np.flatnonzero(sites), np.flatnonzero(~sites)
    residues, first = np.unique(found.atoms_residues[others], return_index=True)
    at = np.searchsorted(residues, found.atoms_residues[alone])
    has_other = np.isin(found.atoms_residues[alone], residues)
    near = others[first[at[has_other]]]
    return np.concatenate([pairs, np.stack([near, alone[has_other]], axis=1)])


def _connected(found: Topology, guess_bonds: bool) -> NDArray[np.int64]:
    """Return the number of the set of bonded atoms of each atom of a topology."""
    return _trajet.connected(found.n_atoms, _pairs(found, guess_bonds))


def _bonds(source: FrameSource, guess_bonds: bool) -> NDArray[np.int64]:
    """Return bonds between atoms of a frame, by their columns, `(n, 2)`."""
    columns, there = source.index.columns_of(_pairs(source.structure.topology, guess_bonds))
    return np.ascontiguousarray(columns[there.all(axis=1)])


def _unknown(source: FrameSource, guess_bonds: bool) -> NDArray[np.int64] | None:
    """Return the columns of atoms of which no bonds can be guessed; None if there are none."""
    if not guess_bonds or not len(atoms := source.structure.topology.never_bonded):
        return None
    columns, there = source.index.columns_of(atoms)
    return np.ascontiguousarray(columns[there]) if there.any() else None


def _molecules(source: FrameSource, guess_bonds: bool = False) -> NDArray[np.int64]:
    """Return the number of the molecule of each atom of a frame."""
    found = source.structure.topology
    labels = _connected(found, guess_bonds) if guess_bonds else found.molecules
    _check_complete(source, labels)
    _, numbers = np.unique(source.index.of_open_atoms(labels), return_inverse=True)
    return numbers.astype(np.int64)


def _bonded_parts(source: FrameSource, guess_bonds: bool) -> NDArray[np.int64]:
    """Return the number of the set of bonded atoms of each atom of a frame."""
    labels = _connected(source.structure.topology, guess_bonds)
    _check_complete(source, labels)
    return source.index.of_open_atoms(labels)


def _whole(source: FrameSource, guess_bonds: bool) -> Step:
    pairs = _bonds(source, guess_bonds)
    parts = _trajet.connected(source.n_atoms, pairs)
    _check_connected(source, parts, guess_bonds)
    words: dict[str, object] = {"transform": "whole"}
    unknown = _unknown(source, guess_bonds)
    messages = _check_residues(source, parts, unknown, is_guessed=guess_bonds)
    if guess_bonds:
        words["guess_bonds"] = True
        messages = (
            *messages,
            Message(
                Code.GUESSED_BONDS,
                f"molecules are made whole along {len(pairs)} bonds that are guessed from"
                f" distances in {source.structure.topology}",
            ),
        )
    arguments: dict[str, object] = {"bonds": pairs, "molecules": parts}
    return Step("whole", arguments, words, messages, unknown=unknown)


def _check_residues(
    source: FrameSource,
    parts: NDArray[np.int64],
    unknown: NDArray[np.int64] | None,
    *,
    is_guessed: bool,
) -> tuple[Message, ...]:
    """Return a message on residues that bonds do not connect; they may stay broken.

    Residues with `unknown` atoms cannot be read, and do not count.

    Raises
    ------
    SelectionError
        If there are so many that the topology lists some bonds only, as most PDB files do.
    """
    atoms = source.structure.atoms
    residues = atoms.residues
    if (found := source.structure.topology.alternate_locations) is not None:
        # Parts at different locations are bonded through atoms without location only.
        locations = found[1][atoms.indices]
        all_located = np.ones(source.structure.topology.n_residues, np.bool_)
        all_located[residues[locations == 0]] = False
        located = np.where(all_located[residues], locations, 0)
        residues = np.unique(np.stack([residues, located], axis=1), axis=0, return_inverse=True)[1]
    _, first, which, counts = np.unique(
        residues, return_index=True, return_inverse=True, return_counts=True
    )
    apart = np.zeros(len(first), np.bool_)
    apart[which[parts != parts[first][which]]] = True
    if unknown is not None:
        apart[which[unknown]] = False
        counts[which[unknown]] = 0
    # A single residue of all atoms, as of files without molecules, is no unit of chemistry.
    if not apart.any() or source.structure.topology.n_residues == 1:
        return ()
    n, of = int(apart.sum()), int((counts > 1).sum())
    atom = atoms.describe(int(first[apart][0]))
    text = f"{n} of {of} residues are not connected by the bonds of {source.structure.topology}"
    if n > _trajet.MAX_UNCONNECTED * of:
        raise SelectionError(
            f"{text}, the first has {atom}: use a topology with all bonds, such as a TPR, PSF or"
            " PRMTOP"
            + ("" if is_guessed else ", or guess them from distances with guess_bonds=True")
        )
    text = f"{text}, and may stay broken; the first has {atom}"
    return (Message(Code.UNBONDED_RESIDUES, text),)


def _check_complete(source: FrameSource, labels: NDArray[np.int64]) -> None:
    """Raise an error if some, but not all atoms of a molecule are in open tags.

    Raises
    ------
    SelectionError
        If there are such molecules: their centres would be those of other atoms.
    """
    if source.n_atoms == source.index.n_topology_atoms:
        return
    here = source.index.of_open_atoms(labels)
    in_all, in_open = np.bincount(labels), np.bincount(here, minlength=int(labels.max()) + 1)
    incomplete = (in_open[here] != in_all[here]).nonzero()[0]
    if len(incomplete):
        atom = source.structure.atoms.describe(int(incomplete[0]))
        raise SelectionError(
            f"{source.label}: atoms of the molecule of {atom} are {source.index.absent_atoms},"
            f" so that its centre is unknown: {source.index.advice_on_absent_atoms}"
        )


def _check_connected(source: FrameSource, parts: NDArray[np.int64], guess_bonds: bool) -> None:
    """Raise an error if molecules would be made whole in parts, as some of their atoms lack.

    Raises
    ------
    SelectionError
        If there are such molecules.
    """
    if source.n_atoms == source.index.n_topology_atoms:
        return
    whole = source.index.of_open_atoms(_connected(source.structure.topology, guess_bonds))
    # Each molecule must have the atoms of one part.
    first = np.unique(whole, return_index=True, return_inverse=True)
    same = parts == parts[first[1]][first[2]]
    if not same.all():
        atom = source.structure.atoms.describe(int(np.flatnonzero(~same)[0]))
        raise SelectionError(
            f"{source.label}: the molecule of {atom} cannot be made whole, as atoms between"
            f" others are {source.index.absent_atoms}: {source.index.advice_on_absent_atoms}"
        )


def _nojump(source: FrameSource, view: JumpView, every_frame: bool) -> list[Step]:
    words = {"transform": "nojump", "view": view, "every_frame": every_frame}
    arguments: dict[str, object] = {"view": view, "molecules": None, "every_frame": every_frame}
    if view == "lattice":
        return [Step("no_jump", arguments, words)]
    guess_bonds = _guesses_bonds(source)
    _check_all_bonds(source, guess_bonds)
    arguments["molecules"] = _bonded_parts(source, guess_bonds)
    return [_whole(source, guess_bonds), Step("no_jump", arguments, words)]


def _check_all_bonds(source: FrameSource, guess_bonds: bool) -> None:
    """Raise an error if a transform that cannot guess bonds needs some that are not listed.

    Raises
    ------
    SelectionError
        If they are not guessed by a transform before it.
    """
    topology = source.structure.topology
    if not guess_bonds and not topology.has_all_bonds:
        raise SelectionError(
            f"{topology.missing_bonds_message}, so that its molecules are not known: use a topology"
            " with all bonds, such as a TPR, PSF or PRMTOP, or guess them from distances with"
            " whole(guess_bonds=True) before"
        )


def _cluster(source: FrameSource, atoms: Chosen, guess_bonds: bool = False) -> Step:
    selection = chosen_atoms(source, atoms)
    guess_bonds = _guesses_bonds(source, guess_bonds)
    _check_all_bonds(source, guess_bonds)
    # Chains that a topology lists as one molecule are several here.
    molecules = _bonded_parts(source, guess_bonds)
    n_molecules = len(np.unique(molecules[selection.columns]))
    if n_molecules > _MAX_CLUSTERED:
        raise SelectionError(
            f"{quoted(selection.label)} has {n_molecules} molecules, and at most {_MAX_CLUSTERED}"
            " are clustered: select the solute"
        )
    arguments: dict[str, object] = {"atoms": selection.columns, "molecules": molecules}
    unknown = _unknown(source, guess_bonds)
    words = {"transform": "cluster", "atoms": selection.label}
    step = Step("cluster", arguments, words, unknown=unknown)
    source.check_known([step], selection.columns)
    return step


def _weights(
    selection: SelectedAtoms, weights: TransformWeights, transform: str
) -> tuple[NDArray[np.float64] | None, tuple[Message, ...]]:
    """Return one weight per atom or None for equal ones, and messages on guessed masses."""
    word = word_of_weights(weights)
    if word is None:
        return checked_weights(weights, selection.n_atoms), ()
    messages: list[Message] = []
    if word == "equal":
        return None, ()
    instead = equal_weights(f'{transform}(weights="equal")')
    return masses_as_weights(selection.topology_atoms, messages, instead=instead), tuple(messages)


def _masses_of_groups(
    atoms: Atoms, groups: NDArray[np.int64]
) -> tuple[NDArray[np.float64], tuple[Message, ...]]:
    """Return the mass of each atom, given the numbers of groups, and messages on guessed masses."""
    messages: list[Message] = []
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1].tolist()
    numbers = np.empty(len(atoms))
    instead = equal_weights('wrap(weights="equal")')
    numbers[order] = masses_as_weights(atoms[order], messages, sizes, instead=instead)
    return numbers, tuple(messages)


def _location_messages(what: str, selection: SelectedAtoms) -> tuple[Message, ...]:
    """Return a message if atoms by which frames are moved are at several locations each."""
    source = selection.source
    if not source.structure.is_known:
        return ()
    found = location_messages(source.structure.topology, selection.indices)
    return tuple([one.prefixed(f"{what} by {quoted(selection.label)}: ") for one in found])


def _describe_weights(weights: TransformWeights) -> dict[str, object]:
    if isinstance(weights, str) and weights == "equal":
        return {}
    return {"weights": weights if isinstance(weights, str) else "given as numbers"}


def _center(source: FrameSource, atoms: Chosen, weights: TransformWeights) -> Step:
    selection = chosen_atoms(source, atoms)
    numbers, messages = _weights(selection, weights, "center")
    messages = (*messages, *_location_messages("centre", selection))
    words = {"transform": "center", "atoms": selection.label, **_describe_weights(weights)}
    return Step("center", {"atoms": selection.columns, "weights": numbers}, words, messages)


def _wrap(
    source: FrameSource,
    by: WrapGroups,
    cell: WrapCell,
    weights: str,
    around: Chosen | None,
    guess_bonds: bool = False,
) -> Step:
    if cell not in ("triclinic", "compact", "rectangular"):
        raise ValueError(f"cell is 'triclinic', 'compact' or 'rectangular', not {cell!r}")
    words: dict[str, object] = {"transform": "wrap", "by": by, "cell": cell}
    groups: NDArray[np.int64] | None
    if by == "molecule":
        groups = _molecules(source, _guesses_bonds(source, guess_bonds))
    elif by == "residue":
        groups = source.structure.atoms.residues.copy()
    elif by == "atom":
        groups = None
    else:
        raise ValueError(f"wrap by 'molecule', 'residue' or 'atom', not {by!r}")
    if around is not None:
        selection = chosen_atoms(source, around)
        if groups is None:
            groups = np.arange(source.n_atoms, dtype=np.int64)
        one = np.unique(groups[selection.columns])
        groups[np.isin(groups, one)] = one[0]
        words["around"] = selection.label
    numbers: NDArray[np.float64] | None = None
    messages: tuple[Message, ...] = ()
    word = word_of_weights(weights)
    if word is None:
        raise ValueError('weights of wrapped groups are "mass" or "equal", not numbers')
    if word == "mass":
        words["weights"] = word
        # Atoms are their own centres, virtual sites without mass, too.
        if groups is not None:
            numbers, messages = _masses_of_groups(source.structure.atoms, groups)
    unknown = _unknown(source, _guesses_bonds(source, guess_bonds)) if by == "molecule" else None
    arguments: dict[str, object] = {"groups": groups, "weights": numbers, "shape": cell}
    return Step("wrap", arguments, words, messages, unknown=unknown)


def from_origin(_: FrameSource) -> list[Step]:
    """Return the step after which positions are those from the corner of the cell, and it at 0."""
    return [Step("subtract_origin", {}, {"transform": "subtract_origin"})]


def _fit(
    source: FrameSource,
    atoms: Chosen,
    reference: int | NDArray[np.floating],
    motion: FitMotion,
    weights: TransformWeights,
) -> Step:
    if motion not in ("superposition", "translation", "plane"):
        raise ValueError(f"motion is 'superposition', 'translation' or 'plane', not {motion!r}")
    selection = chosen_atoms(source, atoms)
    frame: int | None = None
    if isinstance(reference, (int, np.integer)) and not isinstance(reference, bool):
        if reference != 0 and any(step.name == "no_jump" for step in source.transforms):
            raise ValueError(
                f"{source.label}: without jumps, positions depend on the frames that are chosen"
                f" later, so that frame {reference} is no reference: fit to frame 0, or give"
                " positions, such as those of an earlier read"
            )
        block = source.read([int(reference)], selection.columns, None, counted=False)
        positions = block.positions[0].astype(np.float64)
        frame = int(block.frames[0])
        where = f"frame {frame}"
    elif isinstance(reference, (str, os.PathLike)):
        text = "…" if selection.text is None else selection.text
        raise TypeError(
            "fit: the reference is a frame number or positions, not a file: give"
            f" tj.open({os.fspath(reference)!r}).select({text!r}).read([0]).positions[0]"
        )
    else:
        positions = checked_numbers(reference, "reference positions")
        where = "given as positions"
        if positions.shape != (selection.n_atoms, 3):
            raise SelectionError(
                f"reference positions of shape {positions.shape} do not fit {selection.n_atoms}"
                f" atoms: expected ({selection.n_atoms}, 3)"
            )
        positions = checked_positions(positions, positions.shape, "the reference")
    if not np.isfinite(positions).all():
        raise AnalysisError(f"{source.label}: {where}: a fitted atom has no position (NaN)")
    numbers, messages = _weights(selection, weights, "fit")
    messages = (*messages, *_location_messages("fit", selection))
    if motion == "superposition":
        messages = (*messages, *few_atoms_messages(selection))
    words = {
        "transform": "fit",
        "atoms": selection.label,
        "reference": where,
        "motion": motion,
        **_describe_weights(weights),
    }
    arguments: dict[str, object] = {
        "atoms": selection.columns,
        "reference": positions,
        "reference_frame": frame,
        "weights": numbers,
        "motion": motion,
    }
    return Step("fit", arguments, words, messages)
