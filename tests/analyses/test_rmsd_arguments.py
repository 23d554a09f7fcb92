"""Arguments of RMSD: AtomGroups, frames and masses, and errors."""

from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import kabsch
from helpers.golden_files import Adk, Truth
from helpers.messages import raises
from helpers.rmsd_values import ZERO, refuse
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
