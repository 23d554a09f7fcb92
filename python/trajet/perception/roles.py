"""Roles of atoms in interactions, by elements, bonds, charges and aromatic rings.

The definitions are those of ProLIF 2.2.3 (C. Bouysset, S. Fiorucci, J. Cheminform. 13, 72, 2021,
doi:10.1186/s13321-021-00548-6), with these departures:

1. Residues keep their bonds to others: amide nitrogen of a backbone is no ligand of metals, and no
   acceptor at the end of a chain.
2. A halogen-bond acceptor has a pair with each neighbour; there, pairs of two acceptors (S=O) are
   found in one direction only, which depends on the order of atoms.
3. All nitrogen with a positive charge, also by resonance, is no halogen-bond acceptor.
4. Pyridinium N-H is a donor.
5. Both N-H of imidazolium are cations, whichever Kekulé form was written.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.perception.graph import Graph

HYDROPHOBIC = 1
ACCEPTOR = 2
DONOR = 4
CATION = 8
ANION = 16
METAL = 32
METAL_LIGAND = 64
HALOGEN_DONOR = 128
HALOGEN_ACCEPTOR = 256


@dataclass(frozen=True)
class AtomRoles:
    """Roles of the atoms of a graph.

    Attributes
    ----------
    roles
        `(n,)`, uint16, sums of the bits above.
    hydrogens
        `(m, 2)`, int64, donors of hydrogen bonds and their hydrogens.
    neighbours
        `(k, 2)`, int64, halogens that are donors and the atoms that they are bonded to, and
        acceptors and their neighbours.
    """

    roles: NDArray[np.uint16]
    hydrogens: NDArray[np.int64]
    neighbours: NDArray[np.int64]


class _Neighbours:
    """Questions about the neighbours of all atoms at once."""

    def __init__(self, graph: Graph) -> None:
        self.n = len(graph.elements)
        self.first = np.concatenate([graph.bonds[:, 0], graph.bonds[:, 1]])
        self.second = np.concatenate([graph.bonds[:, 1], graph.bonds[:, 0]])
        order, is_aromatic = np.tile(graph.orders, 2), np.tile(graph.is_aromatic_bond, 2)
        self.single, self.double = (~is_aromatic & (order == k) for k in (1, 2))
        self.aromatic, self.any = is_aromatic, np.ones(len(order), np.bool_)
        self.not_triple = order != 3

    def count(self, bonds: NDArray[np.bool_], of: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the number of each atom's neighbours, by some bonds, for which `of` is true."""
        return np.bincount(self.first[bonds & of[self.second]], minlength=self.n)

    def any_of(self, bonds: NDArray[np.bool_], of: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which atoms have such a neighbour."""
        return self.count(bonds, of) > 0

    def pairs(
        self, bonds: NDArray[np.bool_], of: NDArray[np.bool_], to: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return atoms and their neighbours for which `of` and `to` are true, `(k, 2)`."""
        chosen = bonds & of[self.first] & to[self.second]
        return np.stack([self.first[chosen], self.second[chosen]], axis=1)


def roles_of(graph: Graph) -> AtomRoles:
    """Return the roles of all atoms of a graph."""
    near, is_h = _Neighbours(graph), graph.is_hydrogen
    everything = np.ones(near.n, np.bool_)
    cations, anions = _ions(graph, near)
    donors = _donors(graph, near)
    halogens = graph.are("Cl", "Br", "I", "At")
    beside = graph.are("C", "N", "F", "Cl", "Br", "I")
    beside |= graph.are("Si") & ~graph.is_aromatic
    takers = graph.are("N", "O") | (graph.are("P", "S", "Se", "Te") & ~graph.is_aromatic)
    takers = (takers | graph.is_aromatic) & (graph.charges <= 0) & ~cations
    of_residue = graph.residues[near.first] == graph.residues[near.second]
    halogen_pairs = near.pairs(near.single, halogens, beside)
    acceptor_pairs = near.pairs(near.not_triple & of_residue, takers, everything)
    hydrogens = near.pairs(near.single, donors, is_h)
    roles = np.zeros(near.n, np.uint16)
    roles[_hydrophobic(graph, near)] |= HYDROPHOBIC
    roles[_acceptors(graph, near)] |= ACCEPTOR
    roles[hydrogens[:, 0]] |= DONOR
    roles[cations] |= CATION
    roles[anions] |= ANION
    roles[graph.are("Ca", "Cd", "Co", "Cu", "Fe", "Mg", "Mn", "Ni", "Zn")] |= METAL
    roles[_metal_ligands(graph, near)] |= METAL_LIGAND
    roles[halogen_pairs[:, 0]] |= HALOGEN_DONOR
    roles[acceptor_pairs[:, 0]] |= HALOGEN_ACCEPTOR
    return AtomRoles(roles, hydrogens, np.concatenate([halogen_pairs, acceptor_pairs]))


def _hydrophobic(graph: Graph, near: _Neighbours) -> NDArray[np.bool_]:
    """Return aromatic, chain and branching carbon, thioethers, bromine and iodine, uncharged."""
    x, n_h = graph.degrees, near.count(near.any, graph.is_hydrogen)
    carbon, sulphur = graph.are("C"), graph.are("S")
    in_chain = ((x == 2) & (n_h == 0)) | ((x == 3) & (n_h == 1)) | ((x == 4) & (n_h == 2))
    branching = ((x == 3) & (n_h == 0)) | ((x == 4) & (n_h <= 1))
    found = carbon & (graph.is_aromatic | (in_chain & ~graph.is_in_ring) | branching)
    found |= sulphur & (graph.is_aromatic | ((graph.valences == 2) & (n_h == 0)))
    found |= graph.are("Br", "I")
    is_polar = carbon & near.any_of(near.any, graph.are("N", "O", "F"))
    return np.asarray(found & (graph.charges == 0) & ~is_polar)


def _is_conjugated(graph: Graph, near: _Neighbours, of: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return nitrogen with three neighbours at an aromatic atom, or one with a double bond."""
    beside = graph.is_aromatic | near.any_of(near.double, of)
    nitrogen = graph.are("N") & ~graph.is_aromatic & (graph.degrees == 3)
    return np.asarray(nitrogen & near.any_of(near.single, beside))


def _acceptors(graph: Graph, near: _Neighbours) -> NDArray[np.bool_]:
    """Return the acceptors of hydrogen bonds."""
    in_chain, x, charges = ~graph.is_aromatic, graph.degrees, graph.charges
    carbon, nitrogen, oxygen = (in_chain & graph.are(one) for one in ("C", "N", "O"))
    polar = in_chain & graph.are("N", "O", "P", "S")
    n_amines = near.count(near.single, nitrogen)
    amidine = carbon & (n_amines >= 1) & (n_amines + near.count(near.single, carbon) >= 2)
    found = nitrogen & ~_is_conjugated(graph, near, polar) & (charges != 1)
    found &= ~near.any_of(near.double, amidine)
    # Aromatic nitrogen with a lone pair in the plane, but not that of pyrazolium and the like.
    ring = graph.is_aromatic & graph.are("N")
    in_five = np.zeros(near.n, np.bool_)
    for five in (one for one in graph.rings if len(one) == 5):
        in_five[five] = True
    beside_cation = in_five & near.any_of(near.aromatic, ring & in_five & (charges > 0))
    found |= ring & (charges == 0) & (x != 3) & ~beside_cation
    acyl = carbon & near.any_of(near.double, oxygen)
    ester = (x == 2) & (near.count(near.single, carbon) >= 2) & near.any_of(near.single, acyl)
    diaryl = near.count(near.any, graph.is_aromatic) >= 2
    of_nitroso = near.any_of(near.double, nitrogen & near.any_of(near.single, np.ones_like(ring)))
    nitro = nitrogen & near.any_of(near.double, oxygen)
    of_nitro = (charges == -1) & near.any_of(near.single, nitro)
    found |= oxygen & ~ester & ~diaryl & ~of_nitroso & ~of_nitro
    found |= graph.is_aromatic & graph.are("O") & (charges == 0)
    halogens = graph.are("F", "Cl", "Br", "I")
    lone = graph.are("C") & (near.count(near.any, halogens) == 1)
    return np.asarray(found | (graph.are("F") & near.any_of(near.single, lone)))


def _donors(graph: Graph, near: _Neighbours) -> NDArray[np.bool_]:
    """Return the donors of hydrogen bonds, if they have hydrogens."""
    chalcogen = graph.are("O", "S") & ~graph.is_aromatic
    neutral = (chalcogen | graph.are("N")) & (graph.charges == 0)
    return np.asarray(neutral | (graph.are("N") & (graph.charges == 1)))


def _ions(graph: Graph, near: _Neighbours) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return cations and anions, also by resonance of amidinium, guanidinium and acids."""
    in_chain, x, charges = ~graph.is_aromatic, graph.degrees, graph.charges
    positive, negative = charges > 0, charges < 0
    oxygen, nitrogen = in_chain & graph.are("O"), graph.are("N") & (x == 3)
    iminium = nitrogen & in_chain & (charges == 1)
    amidinium = graph.are("C") & in_chain & near.any_of(near.double, iminium)
    cations = positive & ~near.any_of(near.any, negative)
    amine = nitrogen & in_chain & ~near.any_of(near.single, oxygen)
    cations |= amine & near.any_of(near.single, amidinium)
    # Imidazolium: the other nitrogen of N-C=N+.
    aromatic_cation = graph.is_aromatic & nitrogen & (charges == 1)
    between = graph.is_aromatic & graph.are("C") & near.any_of(near.aromatic, aromatic_cation)
    cations |= graph.is_aromatic & nitrogen & near.any_of(near.aromatic, between) & (charges == 0)
    acid = in_chain & graph.are("C", "S", "P")
    acid &= near.any_of(near.single, oxygen & (charges == -1))
    anions = negative & ~near.any_of(near.any, positive)
    return cations, np.asarray(anions | (oxygen & near.any_of(near.double, acid)))


def _metal_ligands(graph: Graph, near: _Neighbours) -> NDArray[np.bool_]:
    """Return oxygen, nitrogen with a lone pair, and anions, but nothing positive."""
    x, nitrogen = graph.degrees, graph.are("N")
    other = ~graph.are("C")
    found = nitrogen & ~(graph.is_aromatic & (x == 3)) & ~_is_conjugated(graph, near, other)
    found &= ~(~graph.is_aromatic & (x == 4))
    found |= graph.are("O") & ~graph.is_aromatic
    return np.asarray((found | (graph.charges < 0)) & (graph.charges <= 0))
