"""Chemistry of a selection: roles, charges, hydrogens and aromatic rings of its atoms."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import SelectionError
from trajet.box import Box
from trajet.labels import residue_labels
from trajet.messages import Code, Message, emit
from trajet.perception import connections, ligands
from trajet.perception import residues as by_table
from trajet.perception.graph import HYDROGENS, NON_METALS, Graph
from trajet.perception.ligands import Form, Solution, Template, Templates
from trajet.perception.residues import Names, Placed
from trajet.perception.roles import DONOR, HALOGEN_ACCEPTOR, HALOGEN_DONOR, AtomRoles, roles_of
from trajet.perception.tables import WATERS, ResidueTable
from trajet.result.chemistry import Chemistry
from trajet.topology import listed
from trajet.trajectory import Selection

# Largest difference of a sum of partial charges from a whole number, e.
_WHOLE = 0.1
# Names of the atoms that decide a protonation state, and states by their charge.
_STATES = {
    "ARG": ("NE NH1 NH2", {1: "ARG+", 0: "ARN"}),
    "ASP": ("OD1 OD2", {-1: "ASP-", 0: "ASH"}),
    "CYS": ("SG", {-1: "CYM", 0: "CYS"}),
    "GLU": ("OE1 OE2", {-1: "GLU-", 0: "GLH"}),
    "HIS": ("ND1 NE2", {1: "HSP", 0: "HSE", -1: "HIS-"}),
    "LYS": ("NZ", {1: "LYS+", 0: "LYN"}),
    "TYR": ("OH", {-1: "TYM", 0: "TYR"}),
}
# States with a hydrogen, or without, at the first of these atoms.
_BY_HYDROGEN = {("HSE", True): "HSD", ("CYS", False): "CYX"}


def chemistry(
    selection: Selection, *, template: Templates = None, guess_bonds: bool = False
) -> Chemistry:
    """Find what the atoms of a selection can do in interactions.

    Amino acids, nucleotides, caps, ions and water are known by the names of their atoms; the
    hydrogens that are present decide protonation states. Other residues, such as ligands, get the
    orders of their bonds from a template. Without one, they are worked out from partial charges of
    the topology, with a warning that has the SMILES. Both need RDKit.

    Parameters
    ----------
    selection
        The atoms, with hydrogens. Bonds are those of the whole topology.
    template
        The structure of the one residue that no table has: SMILES, the path of an SDF, MOL2 or CIF
        file, or a Mol of RDKit; or a mapping of names of residues to these. Its protonation state
        may differ.
    guess_bonds
        Whether bonds within residues of no table are guessed from the distances in the topology
        file. Residues of the tables need no bonds: their atoms are known by name, hydrogens and
        links by the distances in frame 0.

    Returns
    -------
    Chemistry

    Raises
    ------
    SelectionError
        If a residue is in no table and has neither template nor partial charges, hydrogens or bonds
        are missing, or a template does not fit.
    TypeError
        If the selection is an updating one.
    ValueError
        If a template is no SMILES, or for a residue that is not there.
    MissingPackageError
        If RDKit is needed and not installed.
    FileNotFoundError, FormatError
        If a template is a file that is not there or cannot be read.

    Notes
    -----
    Roles are those of ProLIF 2.2.3: CH₃, chlorine and CH₂ of rings are not hydrophobic, so that
    alanine has no hydrophobic atom. Pyridinium N-H is a donor here, both N-H of imidazolium are
    cations, and residues keep their bonds to others.

    Examples
    --------
    >>> import trajet as tj
    >>> tj.chemistry(traj.select("protein"))
    <Chemistry: 3341 atoms of 214 residues, charge -4, 15 aromatic rings>
    HSD126: HSD, HSD134: HSD, HSD172: HSD
    """
    if not isinstance(selection, Selection):
        raise TypeError(
            f"chemistry takes a selection of fixed atoms, not {type(selection).__name__}: give"
            " traj.select('protein'), or of an updating selection that of a frame (.at(0))"
        )
    found = perceived(selection, template=template, guess_bonds=guess_bonds)
    emit(found.messages)
    return found


def perceived(
    selection: Selection,
    *,
    template: "Templates | Sequence[str]" = None,
    guess_bonds: bool | None = None,
) -> Chemistry:
    """Return the chemistry of a selection without showing its messages; see `chemistry`.

    Several templates may be texts, see `templates_of`. `guess_bonds` is None for analyses, which do
    not have it.
    """
    if isinstance(template, (list, tuple)):
        names = selection.trajectory.topology.column("resnames")
        template = ligands.templates_of(template, {*([] if names is None else names.tolist())})
    return _Perception(selection, guess_bonds).result(cast("Templates", template))


class _Perception:
    """The steps of perception, on the residues of a selection and those within two bonds."""

    def __init__(self, selection: Selection, guess_bonds: bool | None) -> None:
        self.selection, self.guess_bonds = selection, guess_bonds
        self.topology = selection.trajectory.topology
        self.has_bonds = self.topology.has_all_bonds and not guess_bonds
        self.messages: list[Message] = []
        self.smiles: dict[str, str] = {}
        topology, of_atoms = self.topology, self.topology.atoms_residues
        codes, symbols = topology.native.known_elements()
        # Metals form no bonds here, and TIP3P of CHARMM has bonds between hydrogens.
        is_metal = np.array([bool(one) and one not in NON_METALS for one in symbols])[codes]
        is_hydrogen = np.array([one in HYDROGENS for one in symbols])[codes]
        found = np.zeros((0, 2), np.int64) if topology.bonds is None else topology.bonds
        self.listed = found[~is_metal[found].any(axis=1) & ~is_hydrogen[found].all(axis=1)]
        is_selected, is_needed, is_used = self._residues()
        # Those of the graph, by their indices in the topology.
        self.residues = np.flatnonzero(is_used)
        self.is_selected, self.is_needed = is_selected[self.residues], is_needed[self.residues]
        self.atoms = np.flatnonzero(is_used[of_atoms] & ~topology.sites & ~topology.named_sites)
        self.names = self._names()
        rows = np.cumsum(is_used)[of_atoms[self.atoms]] - 1
        self.graph = Graph(codes[self.atoms].astype(np.int64), tuple(symbols), rows)

    def result(self, template: Templates) -> Chemistry:
        """Return the chemistry; see `chemistry`."""
        graph, kinds = self.graph, self.names.residues
        is_water = np.isin(kinds, sorted(WATERS))
        is_known = is_water.copy()
        is_known[graph.residues[by_table.ions_of(graph, self.names, ~is_water)]] = True
        given = [*template] if isinstance(template, Mapping) else []
        is_given = np.isin(kinds, given) & ~is_water
        placed = []
        for table, residues in by_table.tables_of(self.names, ~is_known & ~is_given).values():
            placed.append(self._place(table, residues))
            is_known[residues] = True
        unknown = np.flatnonzero((is_given | ~is_known) & self.is_needed)
        is_typed = is_known & ~is_given
        graph.connect(self._bonds(placed, is_typed, unknown))
        degrees = graph.degrees
        for one in placed:
            by_table.type_residues(graph, one, degrees)
        self._close_gaps(placed)
        self._solve(unknown, _by_name(template, self._names_of(unknown)))
        has_row = graph.residues >= 0
        atoms = np.flatnonzero(has_row & is_typed[graph.residues] & (graph.charges == 0))
        by_table.charge_by_valences(graph, atoms)
        self._check_valences(atoms)
        return self._selected(roles_of(graph), self._states(placed))

    def _residues(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which residues are selected, those bonded to them, and those within two bonds."""
        topology, of_atoms = self.topology, self.topology.atoms_residues
        is_selected = np.zeros(topology.n_residues, np.bool_)
        is_selected[of_atoms[self.selection.indices]] = True
        if self.has_bonds:
            pairs = of_atoms[self.listed]
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
            is_needed = _with_neighbours(is_selected, pairs)
            return is_selected, is_needed, _with_neighbours(is_needed, pairs)
        # Neighbours in chains, and all cysteines, which may form disulfides.
        is_used, names = is_selected.copy(), topology.column("resnames")
        is_used[1:] |= is_selected[:-1]
        is_used[:-1] |= is_selected[1:]
        is_used |= False if names is None else np.char.find(names, "CY") >= 0
        return is_selected, is_selected, is_used

    def _names(self) -> Names:
        """Return the names of atoms and residues."""
        found, of_residues = self.topology.native.column("names"), self.topology.column("resnames")
        if not isinstance(found, tuple) or of_residues is None:
            raise SelectionError(
                f"{self.topology} has no names of atoms and residues, by which chemistry is known:"
                " use a topology that has, such as a TPR, PSF, PRMTOP or PDB"
            )
        codes, texts = found
        return Names(codes[self.atoms].astype(np.int64), tuple(texts), of_residues[self.residues])

    def _labels(self, residues: NDArray[np.int64]) -> list[str]:
        """Return the labels of residues of the graph."""
        found: list[str] = residue_labels(self.topology)[self.residues[residues]].tolist()
        return found

    def _names_of(self, residues: NDArray[np.int64]) -> list[str]:
        """Return the names of residues of the graph, each once."""
        return list(dict.fromkeys(self.names.residues[residues].tolist()))

    def _describe(self, atom: int) -> str:
        """Return name and residue of an atom of the graph."""
        name = self.names.texts[self.names.atoms[atom]]
        return f"atom {name} of residue {self._labels(self.graph.residues[[atom]])[0]}"

    def _place(self, table: ResidueTable, residues: NDArray[np.int64]) -> Placed:
        """Return residues in the places of a table."""
        placed, others = by_table.place(self.graph, self.names, residues, table)
        others = others[self.is_needed[self.graph.residues[others]]]
        if len(others):
            raise SelectionError(
                f"{self._describe(int(others[0]))}: the table of {table.name} lacks it, or there"
                " are two (alternate locations?): select one of them, or give a template= of it"
            )
        return placed

    def _bonds(
        self, placed: list[Placed], is_typed: NDArray[np.bool_], unknown: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the bonds of the topology, or those by names and distances, `(m, 2)`."""
        graph, topology = self.graph, self.topology
        is_guessed = bool(self.guess_bonds) and len(unknown) > 0
        row_of = np.full(topology.n_atoms, -1)
        row_of[self.atoms] = np.arange(len(self.atoms))
        found = row_of[topology.guessed_bonds if is_guessed else self.listed]
        found = found[(found >= 0).all(axis=1)]
        if self.has_bonds:
            return found
        ends = graph.residues[found]
        is_within = ends[:, 0] == ends[:, 1]
        links = found[~is_within] if not self.guess_bonds else found[:0]
        found = found[is_within & np.isin(ends[:, 0], unknown)]
        self._check_bonds(found, unknown)
        if is_guessed:
            text = f"bonds of {', '.join(self._names_of(unknown))} are guessed from distances"
            self.messages.append(Message(Code.GUESSED_BONDS, f"{text} in {topology}"))
        of_hydrogens = connections.hydrogen_bonds(graph, is_typed[graph.residues], self._distances)
        between = connections.bonds_between_residues(graph, placed, self._distances)
        within = connections.heavy_bonds(placed)
        return np.concatenate([found, links, within, of_hydrogens, between])

    def _check_bonds(self, bonds: NDArray[np.int64], unknown: NDArray[np.int64]) -> None:
        """Raise an error if residues of several atoms have atoms without bonds."""
        graph = self.graph
        is_free = np.bincount(bonds.ravel(), minlength=len(graph.elements)) == 0
        sizes = np.bincount(graph.residues, minlength=len(self.residues))
        lacking = np.isin(graph.residues, unknown[sizes[unknown] > 1]) & is_free
        lacking &= graph.are("", *NON_METALS)
        if lacking.any():
            names = ", ".join(self._names_of(graph.residues[np.flatnonzero(lacking)]))
            how = "with guess_bonds=True"
            if self.guess_bonds is None:
                how = "by tj.chemistry with guess_bonds=True, and give its result as chemistry="
            raise SelectionError(
                f"{self.topology} lacks bonds of residue {names}, which is in no table: use a"
                " topology with all bonds, such as a TPR, PSF or PRMTOP, or guess them from"
                f" distances {how}"
            )

    def _distances(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances of pairs of atoms in frame 0, Å; NaN if they are not known."""
        if not len(pairs):
            return np.zeros(0)
        source, used = self.selection.source, np.zeros(len(self.atoms), np.bool_)
        used[pairs] = True
        columns, is_open = source.index.columns_of(self.atoms)
        used &= is_open
        block = source.read([0], columns[used], None, counted=False)
        positions = np.full((len(self.atoms), 3), np.nan, np.float32)
        positions[used] = block.positions[0]
        return Box.of(block).distances(positions[pairs[:, 0]], positions[pairs[:, 1]])

    def _close_gaps(self, placed: list[Placed]) -> None:
        """Assume amides and phosphates where chains have gaps, with a note."""
        residues = self.graph.residues[by_table.close_gaps(self.graph, placed, self.is_needed)]
        if len(residues := residues[self.is_selected[residues]]):
            labels = listed(list(dict.fromkeys(self._labels(residues))))
            text = f"residues at gaps of a chain, where an amide or phosphate is assumed: {labels}"
            self.messages.append(Message(Code.CHAIN_BREAKS, text))

    def _check_valences(self, atoms: NDArray[np.int64]) -> None:
        """Raise an error if selected atoms of tables or water have too few or too many bonds."""
        atoms = atoms[self.is_selected[self.graph.residues[atoms]]]
        if (found := by_table.wrong_valence(self.graph, atoms)) is not None:
            raise SelectionError(
                f"{self._describe(found[0])} {found[1]}: hydrogens or bonds are missing, or bonds"
                " are wrong: use an all-atom topology"
            )

    def _solve(self, unknown: NDArray[np.int64], templates: Mapping[str, Template]) -> None:
        """Set the chemistry of residues of no table; each form of a residue is solved once."""
        if not len(unknown):
            return
        graph, names, labels = self.graph, self.names.residues[unknown], self._labels(unknown)
        totals = self._total_charges(unknown)
        self._check_known(names.tolist(), labels, totals, templates)
        solutions: dict[tuple[object, ...], Solution] = {}
        for k, (atoms, rows, bonds, attached) in enumerate(graph.parts(unknown)):
            symbols = tuple(graph.symbols[one] for one in graph.elements[atoms].tolist())
            form = Form(str(names[k]), labels[k], symbols, bonds, attached)
            charge = None if form.name in templates else round(totals[k])
            key = form.name, symbols, bonds, attached, charge
            if key not in solutions:
                solutions[key] = self._solution(form, charge, templates)
            one = solutions[key]
            graph.orders[rows], graph.is_aromatic_bond[rows] = one.orders, one.is_aromatic
            graph.charges[atoms] = one.charges
            graph.is_aromatic[atoms[list(one.aromatic)]] = True
            graph.is_in_ring[atoms[list(one.in_ring)]] = True
            graph.rings += [atoms[list(ring)] for ring in one.rings]

    def _solution(
        self, form: Form, charge: int | None, templates: Mapping[str, Template]
    ) -> Solution:
        """Return the chemistry of a form by its template or total charge, with a message."""
        if charge is None:
            found = ligands.from_template(form, templates[form.name])
            if found.is_changed:
                text = f"the template of {form.name} is in another protonation state than residue"
                text = f"{text} {form.label}: {found.smiles}"
                self.messages.append(Message(Code.OTHER_PROTONATION, text))
        else:
            found = ligands.from_charge(form, charge)
            text = f"orders of bonds of residue {form.label} are worked out from its total charge"
            fix = f"give template={{'{form.name}': 'SMILES or file'}} if this is not the molecule"
            text = f"{text} {charge:+}: {found.smiles}"
            self.messages.append(Message(Code.ORDERS_FROM_CHARGES, text, fix))
        self.smiles.setdefault(form.name, found.smiles)
        return found

    def _total_charges(self, residues: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sums of the partial charges of residues; NaN where all are 0 or unknown."""
        charges, sums = self.topology.column("charges"), np.zeros((2, self.topology.n_residues))
        if charges is not None:
            for total, values in zip(sums, (charges, np.abs(charges)), strict=True):
                np.add.at(total, self.topology.atoms_residues, values)
        return np.where(sums[1] > 0, sums[0], np.nan)[self.residues[residues]]

    def _check_known(
        self,
        names: list[str],
        labels: list[str],
        totals: NDArray[np.float64],
        templates: Mapping[str, Template],
    ) -> None:
        """Raise an error if residues have neither a template nor a total charge that is whole."""
        found = zip(names, labels, totals.tolist(), strict=True)
        open_ones = [one for one in found if one[0] not in templates]
        if without := dict.fromkeys(name for name, _, total in open_ones if np.isnan(total)):
            example = ", ".join(f"'{name}': 'SMILES or file'" for name in without)
            verb = "residue {} is" if len(without) == 1 else "residues {} are"
            raise SelectionError(
                f"{verb.format(', '.join(without))} in no table, and {self.topology} has no partial"
                f" charges: give template={{{example}}}, or choose other atoms"
            )
        for name, label, total in open_ones:
            if abs(total - round(total)) > _WHOLE:
                raise SelectionError(
                    f"residue {label} is in no table, and its partial charges add up to"
                    f" {total:.2f}, no whole number: give template={{'{name}': 'SMILES or file'}}"
                )

    def _states(self, placed: list[Placed]) -> dict[str, str]:
        """Return the protonation states of selected residues, by label."""
        graph, found = self.graph, dict[int, str]()
        # Atoms whose neighbour is a hydrogen.
        has_hydrogen = np.zeros(len(graph.elements), np.bool_)
        has_hydrogen[graph.bonds[graph.is_hydrogen[graph.bonds[:, ::-1]]]] = True
        for one in placed:
            if one.table.name not in _STATES:
                continue
            names, states = _STATES[one.table.name]
            atoms = one.atoms[:, [one.table.names.index(name) for name in names.split()]]
            for row in atoms[(atoms >= 0).all(axis=1)].tolist():
                state = states.get(int(graph.charges[row].sum()), "?")
                state = _BY_HYDROGEN.get((state, bool(has_hydrogen[row[0]])), state)
                found[int(graph.residues[row[0]])] = state
        residues = np.array(sorted(found), np.int64)
        residues = residues[self.is_selected[residues]]
        labels = self._labels(residues)
        return {label: found[k] for label, k in zip(labels, residues.tolist(), strict=True)}

    def _selected(self, roles: AtomRoles, states: dict[str, str]) -> Chemistry:
        """Return the chemistry of the selected atoms, of which sites have none."""
        graph, topology = self.graph, self.topology
        mask = np.zeros(topology.n_atoms, np.bool_)
        mask[self.selection.indices] = True
        atoms = np.flatnonzero(mask)
        own = np.flatnonzero(mask[self.atoms])
        places = np.searchsorted(atoms, self.atoms[own])
        place_of = np.full(len(graph.elements), -1)
        place_of[own] = places
        bits, charges = np.zeros(len(atoms), np.uint16), np.zeros(len(atoms), np.int8)
        bits[places], charges[places] = roles.roles[own], graph.charges[own]
        radii, known = np.full(len(atoms), np.nan, np.float32), map(_radius, graph.symbols)
        radii[places] = np.array([*known], np.float32)[graph.elements[own]]
        rings = [place_of[ring] for ring in graph.rings]
        whole = sorted((ring for ring in rings if (ring >= 0).all()), key=min)
        n_cut = sum(bool((ring >= 0).any()) for ring in rings) - len(whole)
        pairs = [place_of[one] for one in (roles.hydrogens, roles.neighbours)]
        n_lost = sum(int(((one[:, 0] >= 0) & (one[:, 1] < 0)).sum()) for one in pairs)
        if n_lost or n_cut:
            text = f"{n_lost} hydrogens or neighbours that selected atoms need, and parts of"
            text = f"{text} {n_cut} aromatic rings, are not selected"
            fix = "select whole residues (selection.by_residue())"
            self.messages.append(Message(Code.HYDROGENS_LEFT_OUT, text, fix))
        pairs = [one[(one >= 0).all(axis=1)] for one in pairs]
        # Atoms without a partner have no such role.
        for bit, one in ((DONOR, pairs[0]), (HALOGEN_DONOR | HALOGEN_ACCEPTOR, pairs[1])):
            alone = np.ones(len(atoms), np.bool_)
            alone[one[:, 0]] = False
            bits[alone] &= ~np.uint16(bit)
        selected = self.residues[self.is_selected].tolist()
        names = topology.atoms[atoms].column("names")
        assert names is not None
        return Chemistry(
            atoms=atoms,
            roles=bits,
            formal_charges=charges,
            radii=radii,
            residues=topology.atoms_residues[atoms].astype(np.uint32),
            hydrogens=pairs[0].astype(np.uint32),
            neighbours=pairs[1].astype(np.uint32),
            ring_starts=np.cumsum([0, *map(len, whole)]).astype(np.uint32),
            ring_atoms=np.concatenate([np.zeros(0, np.int64), *whole]).astype(np.uint32),
            names=tuple(names.tolist()),
            labels=dict(zip(selected, self._labels(np.flatnonzero(self.is_selected)), strict=True)),
            states=states,
            smiles=self.smiles,
            messages=tuple(self.messages),
        )


def _radius(symbol: str) -> float:
    found = _trajet.van_der_waals_radius(symbol)
    return np.nan if found is None else found


def _with_neighbours(chosen: NDArray[np.bool_], pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return residues and those that are bonded to them."""
    found = chosen.copy()
    for one, other in (pairs.T, pairs.T[::-1]):
        found[other[chosen[one]]] = True
    return found


def _by_name(template: Templates, unknown: Sequence[str]) -> Mapping[str, Template]:
    """Return templates by the names of the residues that need one."""
    if template is None:
        return {}
    if not isinstance(template, Mapping):
        if len(unknown) == 1:
            return {unknown[0]: template}
        example = ", ".join(f"'{name}': 'SMILES or file'" for name in unknown or ["NAME"])
        raise ValueError(
            f"template= is for one residue, but {len(unknown)} kinds are in no table: give"
            f" template={{{example}}}"
        )
    if missing := [name for name in template if name not in unknown]:
        raise ValueError(f"template= names residues that are not selected: {', '.join(missing)}")
    return template
