"""Arguments of RMSD: AtomGroups, frames, masses and references, and errors."""

from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import kabsch, xtc_bytes
from helpers.commands import invoke, unwrapped
from helpers.golden_files import Adk, Truth
from helpers.messages import raises
from helpers.rmsd_values import ZERO, assert_matches, mdanalysis_rmsd, refuse
from MDAnalysis import transformations
from MDAnalysisTests import datafiles


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64])
def test_short_negative_integers_count_from_the_end(long_adk: Adk, kind: type) -> None:
    """There may be more frames than the integer type has numbers."""
    frames = np.array([-1, 5, -128], kind)
    block = tj.open(None, long_adk.xtc).read(frames=frames, atoms=[0])
    assert block.frames.tolist() == [979, 5, 852]


def test_inputs_are_not_modified(adk: Adk, adk_universe: mda.Universe) -> None:
    """Neither the Universe nor any array is changed, not even its current frame."""
    adk_universe.trajectory[13]
    atoms = adk_universe.select_atoms("name CA")
    before = adk_universe.atoms.positions.copy()
    reference = atoms.positions.copy()
    kept = reference.copy()
    frames = np.array([5, -1, 3])
    indices = np.array([9, 3, 5])
    tj.rmsd(atoms, reference=reference)
    tj.rmsd(atoms, groups=["all"], frames=frames, weights="mass")
    tj.rmsd(atoms, reference=adk_universe.select_atoms("name CA"))
    tj.rmsd(tj.open(None, adk.xtc).select(indices), frames=frames)
    assert adk_universe.trajectory.frame == 13
    assert np.array_equal(adk_universe.atoms.positions, before)
    assert np.array_equal(reference, kept)
    assert frames.tolist() == [5, -1, 3]
    assert indices.tolist() == [9, 3, 5]


def test_atom_group_reference_is_its_current_frame(adk: Adk, adk_universe: mda.Universe) -> None:
    """An AtomGroup as reference means its current coordinates."""
    atoms = adk_universe.select_atoms("name CA")
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    adk_universe.trajectory[31]
    result = tj.rmsd(selection, reference=atoms)
    assert np.array_equal(result.values, tj.rmsd(selection, reference=31).values)


def test_order_of_an_atom_group_is_kept(
    adk: Adk, adk_universe: mda.Universe, adk_truth: Truth
) -> None:
    """The order and the repeats of an AtomGroup are kept."""
    atoms = adk_universe.atoms[[2000, 5, 77, 5, 1999]]
    result = tj.rmsd(atoms)
    x = adk_truth.positions[:, [2000, 5, 77, 5, 1999]]
    assert np.abs(result.values - [kabsch.superposed(a, x[0]) for a in x]).max() < ZERO


def test_unusable_atom_groups_are_errors(own_adk: Adk) -> None:
    """In-memory, transformed and updating groups are refused with the reason."""
    psf, xtc = str(own_adk.psf), str(own_adk.xtc)
    in_memory = mda.Universe(psf, xtc, in_memory=True)
    refuse(in_memory.select_atoms("name CA"))
    transformed = mda.Universe(psf, xtc, refresh_offsets=True)
    transformed.trajectory.add_transformations(transformations.translate([1, 2, 3]))
    refuse(transformed.select_atoms("name CA"))
    updating = mda.Universe(psf, xtc, refresh_offsets=True)
    refuse(updating.select_atoms("around 5 resid 3", updating=True))
    selection = tj.open(psf, xtc).select("name CA")
    refuse(selection, groups=[updating.select_atoms("around 5 resid 3", updating=True)])


def test_atom_groups_of_part_of_a_file_are_errors(own_adk: Adk) -> None:
    """A reader that shows only some atoms of its file does not match the file."""
    part = mda.Universe.empty(5, trajectory=False)
    part.load_new(str(own_adk.xtc), sub=np.arange(100, 105), refresh_offsets=True)
    assert part.atoms.n_atoms == 5
    refuse(part.atoms)


def test_atom_groups_of_unreadable_trajectories_are_errors(own_adk: Adk) -> None:
    """Unsupported formats, and groups without a file, are errors, not guesses."""
    psf = str(own_adk.psf)
    with pytest.raises(tj.TrajetError):
        tj.rmsd(mda.Universe(psf, datafiles.CRD).select_atoms("name CA"))
    refuse(mda.Universe(psf).select_atoms("name CA"))


def test_empty_selections_are_named(adk: Adk, adk_universe: mda.Universe) -> None:
    """The error names main selection and groups alike, and an empty AtomGroup too."""
    traj = tj.open(adk.psf, adk.xtc)
    with raises(tj.SelectionError):
        traj.select("name NOTHING")
    refuse(traj.select("name CA"), groups=["all", "resname NONE"])
    refuse(adk_universe.atoms[[]])
    refuse(traj.select("name CA"), groups=[adk_universe.atoms[[]]])


def test_guessed_masses_give_a_message(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """GRO files have neither masses nor elements: MDAnalysis takes a bead W for tungsten."""
    adk_universe.trajectory[0]
    beads = adk_universe.select_atoms("name CA or name CB")
    text = tmp_path / "beads.gro"
    beads.write(text)
    text.write_text(text.read_text().replace("   CB", "    W"))
    beads.write(tmp_path / "beads.xtc")
    selection = tj.open(text, tmp_path / "beads.xtc").select("all")
    result = tj.rmsd(selection, weights="mass", groups=["name W"], group_weights="mass")
    message, of_group = result.messages
    assert "(W 183.850)" in of_group
    assert f"as {text} has neither" in message
    assert "(W 183.850, CA 12.011), as" in message
    message, alone = tj.rmsf(selection, align="name W", weights="mass").messages
    assert "(W 183.850)" in message
    assert "one frame has no fluctuations" in alone
    assert tj.rmsd(selection).messages == []
    # A PSF has masses, a PDB may have elements.
    assert tj.rmsd(tj.open(adk.psf, adk.xtc).select("all"), weights="mass").messages == []
    pdb = tmp_path / "elements.pdb"
    named = adk_universe.copy()
    named.add_TopologyAttr("elements", [name[0] for name in named.atoms.names])
    named.atoms.write(pdb, bonds=None)
    assert tj.rmsd(tj.open(pdb, adk.xtc).select("all"), weights="mass").messages == []


def test_invalid_arguments_are_errors(adk: Adk) -> None:
    """These are bad frames, unknown weights, weights without masses and pools without threads."""
    traj = tj.open(adk.psf, adk.xtc)
    selection = traj.select("name CA")
    for frames in ([98], [0, -99], [10**12]):
        with raises(tj.FrameError):
            tj.rmsd(selection, frames=frames)
    for option in ("weights", "group_weights"):
        with raises(ValueError):
            tj.rmsd(selection, groups=["all"], **{option: "charge"})
    with pytest.raises(ValueError):
        tj.rmsd(tj.open(None, adk.xtc).select([1, 2, 3]), weights="mass")
    for bad in ({"threads": 0}, {"threads": -1}, {"task_frames": 0}):
        with pytest.raises(ValueError):
            tj.LocalPool(**bad)
    with pytest.raises(TypeError):
        tj.rmsd("name CA")


@pytest.mark.parametrize("weights", [None, "mass"])
def test_references_of_another_file_are_equal(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path, weights: str | None
) -> None:
    """A structure file, an AtomGroup of it, a Selection and an array are one reference."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    other = mda.Universe(datafiles.PDB_small)
    expected = mdanalysis_rmsd(
        adk_universe.atoms, reference=other, select="name CA", weights=weights, tol_mass=1000
    )
    alpha = other.select_atoms("name CA")
    structure = xtc_bytes.write_xtc(tmp_path / "x.xtc", other.atoms.positions[None] / 10)
    stored = tj.open(adk.psf, structure).select("name CA")
    for reference in (datafiles.PDB_small, Path(datafiles.PDB_small), alpha, alpha.positions):
        result = tj.rmsd(selection, reference=reference, weights=weights or "equal")
        assert_matches(result.values, expected, None)
    assert np.array_equal(
        tj.rmsd(selection, reference=stored, weights=weights or "equal").values,
        tj.rmsd(selection, reference=stored.read().positions[0], weights=weights or "equal").values,
    )
    doubled = tj.rmsd(
        selection, reference=alpha.positions.astype(np.float64), weights=weights or "equal"
    )
    assert np.array_equal(
        doubled.values, tj.rmsd(selection, reference=alpha, weights=weights or "equal").values
    )


def test_references_that_do_not_match_are_errors(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """They have another number of atoms, another shape, no such frame, or no file."""
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    others = (adk_universe.select_atoms("name CB"), np.zeros((213, 3)), np.zeros((3, 214)))
    for other in (*others, datafiles.PDB_xsmall):
        with raises(tj.SelectionError):
            tj.rmsd(selection, reference=other)
    for frame in (98, -99, 10**12):
        with raises(tj.FrameError):
            tj.rmsd(selection, reference=frame)
    with pytest.raises(FileNotFoundError):
        tj.rmsd(selection, reference=tmp_path / "missing.pdb")
    with pytest.raises(ValueError):
        tj.rmsd(selection, reference=np.zeros((214, 3)), groups=["all"])


def test_references_in_another_order_are_errors(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """CHARMM has CB before C, the PDB behind it: of equal mass, and not the same atom."""
    text = "(name CA or name CB or name C) and not resname GLY"
    selection = tj.open(adk.psf, adk.xtc).select(text)
    reordered = tmp_path / "reordered.pdb"
    adk_universe.trajectory[0]
    there = adk_universe.select_atoms(text)
    threes = there.indices.reshape(-1, 3)
    assert set(adk_universe.atoms[threes[:, 2]].names) == {"C"}
    adk_universe.atoms[threes[:, [0, 2, 1]].ravel()].write(reordered)
    with raises(tj.SelectionError):
        tj.rmsd(selection, reference=reordered)
    turned = tmp_path / "turned.pdb"
    adk_universe.atoms[threes[::-1].ravel()].write(turned)
    with raises(tj.SelectionError):
        tj.rmsd(selection, reference=turned)
    same = tmp_path / "same.pdb"
    there.write(same)
    assert tj.rmsd(selection, reference=same).values[0] < 1e-3
    # A caller that gives atoms one by one decides which of them correspond.
    pairs = adk_universe.atoms[threes[:, [0, 2, 1]].ravel()]
    result = tj.rmsd(selection, reference=pairs)
    assert result.values[0] > 0.5
    (message,) = result.messages
    assert "the same names in another order" in message
    assert tj.rmsd(selection, reference=there).messages == []


def renamed(universe: mda.Universe, path: Path, order: np.ndarray | None = None) -> Path:
    """Write ADK's frame 0 with the PDB's names, and with one residue of another chain."""
    universe.trajectory[0]
    other = universe.copy()
    other.residues.resnames = ["HIS" if n == "HSD" else n for n in other.residues.resnames]
    # CHARMM calls hydrogens HB1 and HB2 that the PDB calls HB2 and HB3, and CD1 of ILE CD.
    usual = {"HB1": "HB2", "HB2": "HB3", "HN": "H", "HA1": "HA2", "HA2": "HA3"}
    names = other.atoms.names.copy()
    of_methyls = np.isin(other.atoms.resnames, ["ALA"])
    names[~of_methyls] = [usual.get(name, name) for name in names[~of_methyls]]
    names[(names == "CD") & (other.atoms.resnames == "ILE")] = "CD1"
    other.atoms.names = names
    # Names are compared: bonds take ten times as long to write.
    (other.atoms if order is None else other.atoms[order]).write(path, bonds=None)
    return path


def test_references_with_names_of_another_force_field_are_compared(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """Other names neither hide another order nor cause a refusal."""
    traj = tj.open(adk.psf, adk.xtc)
    usual = renamed(adk_universe, tmp_path / "usual.pdb")
    backbone = tj.rmsd(traj.select("backbone"), reference=usual)
    assert backbone.values[0] < 1e-3
    # States of protonation are not another residue name.
    assert backbone.messages == []
    all_atoms = tj.rmsd(traj.select("all"), reference=usual)
    assert all_atoms.values[0] < 1e-3
    (message,) = all_atoms.messages
    n = int((mda.Universe(usual).atoms.names != adk_universe.atoms.names).sum())
    assert f"{n} of 3341 atoms have other names, the first pair is atom " in message
    assert message.endswith("compared in their order")
    # The PDB's order of atoms: C before CB, of equal mass.
    order = np.arange(3341)
    residue = adk_universe.residues[10].atoms
    c, beta = (residue[residue.names == name].indices[0] for name in ("C", "CB"))
    order[[c, beta]] = [beta, c]
    other = renamed(adk_universe, tmp_path / "order.pdb", order)
    with raises(tj.SelectionError):
        tj.rmsd(traj.select("all"), reference=other)
    # Residues in another order: their CA are all called CA.
    half = adk_universe.residues[100].atoms.indices[0]
    other = renamed(adk_universe, tmp_path / "halves.pdb", np.roll(np.arange(3341), -half))
    with raises(tj.SelectionError):
        tj.rmsd(traj.select("name CA"), reference=other)


def test_mutant_of_two_residues_is_no_other_order(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """LYS and GLU were exchanged, and the numbers stay."""
    alphas = adk_universe.select_atoms("name CA")
    names = alphas.resnames.copy()
    lys, glu = (int(np.flatnonzero(names == name)[0]) for name in ("LYS", "GLU"))
    names[[lys, glu]] = names[[glu, lys]]
    mutant = mda.Merge(alphas)
    mutant.add_TopologyAttr("resnames", names)
    mutant.atoms.write(tmp_path / "mutant.pdb")
    chosen = tj.open(adk.psf, adk.xtc).select("name CA")
    (message,) = tj.rmsd(chosen, reference=tmp_path / "mutant.pdb").messages
    assert "2 of 214 atoms have other names" in message


def test_references_of_mutants_give_a_message(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path
) -> None:
    """Residues that differ on purpose are compared."""
    mutant = adk_universe.copy()
    mutant.residues[41].resname = "TRP"
    mutant.select_atoms("name CA").write(tmp_path / "mutant.pdb")
    selection = tj.open(adk.psf, adk.xtc).select("name CA")
    result = tj.rmsd(selection, reference=tmp_path / "mutant.pdb")
    (message,) = result.messages
    assert "1 of 214 atoms have other names, the first pair is atom " in message
    assert "CA GLY42 and atom 41 CA TRP42 of the reference" in message
    done = invoke(
        *("rmsd", adk.psf, adk.xtc, "--select", "name CA"),
        *("--reference", tmp_path / "mutant.pdb"),
    )
    assert f"warning: {message}" in unwrapped(done.output)


def alanines(path: Path, resids: list[int], residues: list[int], segids: str) -> Path:
    """Write residues of a made chain of alanines with the given numbers and segments."""
    n = len(residues)
    made = mda.Universe.empty(
        3 * n,
        n,
        len(set(segids)),
        atom_resindex=np.repeat(range(n), 3),
        residue_segindex=[sorted(set(segids)).index(s) for s in segids],
        trajectory=True,
    )
    for name, values in (
        ("names", ["N", "CA", "C"] * n),
        ("resnames", ["ALA"] * n),
        ("resids", resids),
        ("segids", sorted(set(segids))),
        ("chainIDs", [s for s in segids for _ in range(3)]),
    ):
        made.add_TopologyAttr(name, values)
    places = np.cumsum(np.random.default_rng(1).uniform(0.5, 1.0, (90, 3)), axis=0)
    made.atoms.positions = places.reshape(-1, 3, 3)[residues].reshape(-1, 3)
    made.atoms.write(path)
    return path


ONE_CHAIN = "A" * 20


@pytest.mark.parametrize(
    ("ours", "theirs", "segids", "shifts"),
    [
        # Residue 10 is missing in the reference, and 21 is not in the topology.
        (range(1, 21), [*range(1, 10), *range(11, 22)], ONE_CHAIN, (0, 1)),
        (range(1, 21), [*range(1, 10), *range(11, 22)], "A" * 10 + "B" * 10, (0, 1)),
        ([*range(101, 110), *range(111, 122)], range(1, 21), ONE_CHAIN, (-100, -101)),
        # The shift is the same throughout each chain: chains numbered through, or each from 1 on.
        (range(1, 21), range(301, 321), ONE_CHAIN, None),
        (range(1, 21), [*range(1, 11), *range(101, 111)], "A" * 10 + "B" * 10, None),
        (range(1, 21), [*range(1, 11), *range(1, 11)], ONE_CHAIN, None),
        ([*range(1, 11), *range(1, 11)], range(1, 21), ONE_CHAIN, None),
    ],
)
def test_numbering_whose_shift_changes_within_a_chain_is_a_message(
    ours: list[int], theirs: list[int], segids: str, shifts: tuple[int, int] | None, tmp_path: Path
) -> None:
    """Equally named residues may be compared with their neighbours, which RMSD does not show."""
    here = alanines(tmp_path / "here.pdb", list(ours), list(range(20)), ONE_CHAIN)
    residues = [k for k in range(21) if shifts is None or k != 9][:20]
    there = alanines(tmp_path / "there.pdb", list(theirs), residues, segids)
    mda.Universe(here).atoms.write(tmp_path / "here.xtc")
    selection = tj.open(here, tmp_path / "here.xtc").select("name CA")
    result = tj.rmsd(selection, reference=there)
    if shifts is None:
        assert result.messages == []
        return
    assert result.values[0] > 0.5
    (message,) = result.messages
    assert f"differ by {shifts[0]} and, from atom 28 CA ALA{list(ours)[9]}" in message
    assert f"CA ALA{list(theirs)[9]} of the reference on, by {shifts[1]} within a chain" in message
    assert message.endswith("missing in one of the two: atoms are compared in their order")


@pytest.mark.parametrize(("attribute", "values"), [("resids", [2, 1]), ("segids", ["B", "A"])])
def test_references_of_like_molecules_give_a_message(
    adk: Adk, adk_universe: mda.Universe, tmp_path: Path, attribute: str, values: list[object]
) -> None:
    """Two exchanged molecules of the same names are distinguished by numbers or chains."""
    adk_universe.trajectory[0]
    one = adk_universe.select_atoms("resid 5")
    files = {}
    for name, two in (("same", values[::-1]), ("exchanged", values)):
        both = mda.Merge(one, one)
        both.add_TopologyAttr("chainIDs", ["X"] * both.atoms.n_atoms)
        if attribute == "resids":
            both.residues.resids = two
        else:
            for molecule, chain in zip(both.residues, two, strict=True):
                molecule.segment = both.add_Segment(segid=str(chain))
                molecule.atoms.chainIDs = str(chain)
        files[name] = tmp_path / f"{name}.pdb"
        both.atoms.write(files[name])
        both.atoms.write(tmp_path / "both.xtc")
    selection = tj.open(files["same"], tmp_path / "both.xtc").select("all")
    assert tj.rmsd(selection, reference=files["same"]).messages == []
    with raises(tj.SelectionError):
        tj.rmsd(selection, reference=files["exchanged"])
