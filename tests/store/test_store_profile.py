"""Profiles are checked before anything is written, and errors name the entry."""

import tomllib
from collections import Counter
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.made_stores import PROFILE, Solvated, make_sources
from helpers.messages import raises
from MDAnalysis.core.selection import NucleicSelection, ProteinSelection
from MDAnalysisTests import datafiles
from trajet.store import Profile
from trajet.store.profile import default_text
from trajet.store.tag_atoms import assign_atoms

ONE = '[tiers]\nfast = "f"\n[[tags]]\nname = "a"\nselect = "protein"\ntier = "fast"\n'
REST = '[[tags]]\nname = "rest"\nselect = "rest"\ntier = "fast"\n'


def tag(name: str, select: str, more: str = "") -> str:
    """Return a tag on the tier `fast`."""
    return f'[[tags]]\nname = "{name}"\nselect = "{select}"\ntier = "fast"\n{more}\n'


@pytest.fixture(scope="module")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Solvated:
    """Return topology and trajectory, without a store."""
    return make_sources(tmp_path_factory.mktemp("profiles"))


def test_profile_is_parsed(tmp_path: Path) -> None:
    """Folders are relative to the file, limits have any unit, and missing entries have defaults."""
    path = tmp_path / "p.toml"
    path.write_text(
        '[tiers]\nfast = "../nvme"\nslow = {folder = "/archive/md", limit = "1.5 TB"}\n'
        'tape = {folder = "t", limit = "2KiB"}\nfar = {folder = "u", limit = 77}\n'
        '[[tags]]\nname = "protein"\nshort = "p"\nselect = "protein"\n'
        'tier = "fast"\nformat = "xtc"\n'
        '[[tags]]\nname = "misc"\nselect = "rest"\ntier = "slow"\nlossy = true\nformat = "xtc"\n'
        "precision = 100\n"
    )
    profile = Profile.load(path)
    assert [tier.folder for tier in profile.tiers] == [
        *(tmp_path.parent / "nvme", Path("/archive/md"), tmp_path / "t", tmp_path / "u")
    ]
    assert [tier.limit for tier in profile.tiers] == [None, 1_500_000_000_000, 2048, 77]
    assert [tier.rank for tier in profile.tiers] == [0, 1, 2, 3]
    first, second = profile.tags
    assert (first.short, first.format, first.lossy, first.precision) == ("p", "xtc", False, None)
    assert (second.short, second.lossy, second.precision) == ("misc", True, 100)


REFUSED = {
    "not TOML": "[tiers",
    "names no tier": "",
    "names no tag": '[tiers]\nfast = "f"\n',
    "has 9 tiers": "[tiers]\n" + "".join(f't{k} = "{k}"\n' for k in range(9)),
    "unknown key 'speed' of a tier": '[tiers]\nfast = {folder = "f", speed = 3}\n',
    "unknown key 'tires' of a profile": '[tires]\nfast = "f"\n',
    "unknown key 'colour' of a tag": ONE + 'colour = "red"\n',
    "has no folder": "[tiers]\nfast = {limit = 3}\n",
    "'2 XB' is not a size": '[tiers]\nfast = {folder = "f", limit = "2 XB"}\n',
    "for 'fast' and 'slow'": '[tiers]\nfast = "f"\nslow = "f/../f"\n',
    "tag number 2: has no name": ONE + '[[tags]]\nselect = "rest"\ntier = "fast"\n',
    "tag 'b': has no select": ONE + '[[tags]]\nname = "b"\ntier = "fast"\n',
    "tag 'b': has no tier": ONE + '[[tags]]\nname = "b"\nselect = "rest"\n',
    "tag 'b': select is empty": ONE + tag("b", " "),
    "tag 'b': there is no tier 'slow': there are fast": ONE
    + '[[tags]]\nname = "b"\nselect = "rest"\ntier = "slow"\n',
    "name 'a' occurs twice": ONE + tag("a", "rest"),
    "short 'a' occurs for 'a' and 'b'": ONE + tag("b", "rest", 'short = "a"'),
    "short 'x' occurs for 'b' and 'x'": ONE + tag("b", "name C", 'short = "x"') + tag("x", "rest"),
    "invalid name 'a@b'": ONE + tag("a@b", "rest"),
    "both select the rest": ONE + tag("b", "rest") + tag("c", "rest"),
    "unknown format 'zip': choose exact, xtc, dcd, ncdf or h5md": ONE + 'format = "zip"\n',
    "lossy must be true or false": ONE + "lossy = 1\n",
    "optional must be true or false": ONE + "optional = 1\n",
    "precision needs format": ONE + "precision = 100\nlossy = true\n",
    "write lossy = true": ONE + 'format = "xtc"\nprecision = 100\n',
    "not above 0 and below": ONE + 'format = "xtc"\nprecision = -1\nlossy = true\n',
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_invalid_profiles_are_errors(tmp_path: Path, text: str) -> None:
    """The error is one line with the entry and the reason, never a traceback of the parser."""
    path = tmp_path / "p.toml"
    path.write_text(text)
    with raises(tj.StoreError):
        Profile.load(path)


UNFIT = {
    "190 atoms are in two tags, 'a' and 'b': atom 126 N ALA8, atom 127": ONE
    + tag("b", "resname ALA")
    + REST,
    "44340 of 47681 atoms are in no tag: atom 3341 OW SOL215": ONE,
    "tag 'b': it selects none of": ONE + tag("b", "resname XX") + REST,
    "tag 'rest': the other tags have all atoms": ONE + tag("b", "not protein") + REST,
    "tag 'b': selection 'resnam XX'": ONE + tag("b", "resnam XX") + REST,
}


@pytest.mark.parametrize("text", UNFIT.values(), ids=UNFIT)
def test_profile_that_does_not_fit_the_system_is_an_error(
    wet: Solvated, tmp_path: Path, text: str
) -> None:
    """It is found before anything is written: not even the store is made."""
    path, folder = tmp_path / "p.toml", tmp_path / "store"
    path.write_text(text)
    store = tj.Store(folder, create=True)
    with raises((tj.StoreError, tj.SelectionError)):
        store.add("wet", tj.open(wet.gro, wet.xtc), profile=path)
    assert [each.name for each in tmp_path.iterdir()] == ["p.toml"]


def test_unmounted_tier_is_an_error(wet: Solvated, tmp_path: Path) -> None:
    """No folder is made in the place of a file system that is not mounted."""
    path = tmp_path / "p.toml"
    path.write_text(PROFILE.replace('slow = "slow"', 'slow = "mnt/archive/md"'))
    store = tj.Store(tmp_path / "store", create=True)
    with raises(OSError):
        store.add("wet", tj.open(wet.gro, wet.xtc), profile=path)
    assert store.list() == ()
    assert not (tmp_path / "mnt").exists()


def test_full_tier_is_an_error(wet: Solvated, tmp_path: Path) -> None:
    """The data set is not added, and no file of it is left."""
    path = tmp_path / "p.toml"
    path.write_text(PROFILE.replace('slow = "slow"', 'slow = {folder = "slow", limit = "1 MB"}'))
    store, before = tj.Store(tmp_path / "store", create=True), wet.xtc.read_bytes()
    with raises(tj.StoreError):
        store.add("wet", tj.open(wet.gro, wet.xtc), profile=path)
    assert store.list() == ()
    assert not (tmp_path / "fast").exists()
    assert not (tmp_path / "slow").exists()
    assert wet.xtc.read_bytes() == before


def test_geometric_selections_use_frame_0(wet: Solvated) -> None:
    """They do not use the positions of the topology."""
    text = ONE + tag("near", "same residue as (not protein and around 4 protein)") + REST
    profile = Profile.parse(text, "p.toml", Path("/"))
    traj = tj.open(wet.gro, wet.xtc)
    _, near, _ = assign_atoms(profile, traj)
    universe = mda.Universe(str(wet.gro), str(wet.xtc))
    same = universe.select_atoms("same residue as (not protein and around 4 protein)")
    assert np.array_equal(near.atoms, same.indices)


def test_default_names_no_residue_twice() -> None:
    """Its tags do not overlap with residues that MDAnalysis takes for protein or nucleic acid."""
    names: Counter[str] = Counter()
    for entry in tomllib.loads(default_text())["tags"]:
        first, *words = entry["select"].split()
        if first == "resname":
            names.update(words)
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []
    assert set(names).isdisjoint(ProteinSelection.prot_res | NucleicSelection.nucl_res)


SYSTEMS = {
    "GRO": {"protein": 3341, "ion": 4, "water": 44336},
    "PSF": {"protein": 3341},
    "GRO_MEMPROT": {"protein": 8814, "lipid": 34610, "rest": 56},
    "Martini_membrane_gro": {"lipid": 5040},
    "PRMpbc": {"protein": 22, "water": 5049},
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_default_knows_common_residues(name: str, tmp_path: Path) -> None:
    """It has those of several force fields; tags without atoms are left out."""
    path = getattr(datafiles, name)
    universe = mda.Universe(path)
    n_atoms = len(universe.atoms)
    xtc = tmp_path / "one.xtc"
    with mda.Writer(str(xtc), n_atoms) as writer:
        universe.load_new(np.zeros((1, n_atoms, 3), np.float32), order="fac")
        writer.write(universe.atoms)
    parts = assign_atoms(Profile.default(tmp_path), tj.open(path, xtc))
    assert {part.tag.name: len(part.atoms) for part in parts} == SYSTEMS[name]


def test_default_uses_the_tiers_of_the_store(adk: Adk, tmp_path: Path) -> None:
    """It uses the known tiers and makes none beside those that a user has chosen."""
    path, store = tmp_path / "p.toml", tj.Store(tmp_path / "store", create=True)
    path.write_text(ONE.replace('fast = "f"', 'hot = "f"').replace('"fast"', '"hot"'))
    traj = tj.open(adk.psf, adk.xtc)
    store.add("one", traj, profile=path)
    with raises(tj.StoreError):
        store.add("two", traj)
    other = tj.Store(tmp_path / "other", create=True)
    path.write_text('[tiers]\nfast = "g"\nslow = "h"\n' + tag("all", "all"))
    other.add("one", traj, profile=path)
    other.add("two", traj)
    assert other.show("two").tags[0].paths[0].is_relative_to(tmp_path / "g")


def test_the_printed_profile_works_unedited_on_protein_and_water(
    wet: Solvated, tmp_path: Path
) -> None:
    """Optional tags without atoms are left out, and one message names them."""
    path = tmp_path / "my.toml"
    path.write_text(default_text())
    store = tj.Store(tmp_path / "store", create=True)
    added = store.add("wet", tj.open(wet.gro, wet.xtc), profile=path)
    message = (
        f"{path}: no atom of {wet.gro} is in the optional tags 'nucleic', 'lipid', 'ligand',"
        " 'rest': left out"
    )
    assert added.messages == (message,)
    assert [kept.tag.name for kept in store.show("wet").tags] == ["protein", "ion", "water"]
    one = ONE.replace('"f"', '"fast"')
    path.write_text(one + tag("dna", "nucleic", "optional = true") + REST)
    (message,) = store.retag("wet", path).messages
    assert "is in the optional tag 'dna': left out" in message
    path.write_text(one + tag("dna", "nucleic") + REST)
    with raises(tj.StoreError):
        store.retag("wet", path)


def test_trajectory_without_names_needs_a_topology(adk: Adk, tmp_path: Path) -> None:
    """Tags need a topology; a data set is divided again by retag, not by add."""
    store = tj.Store(tmp_path / "store", create=True)
    with raises(tj.StoreError):
        store.add("one", tj.open(None, adk.xtc))
    store.add("one", tj.open(adk.psf, adk.xtc))
    with raises(tj.StoreError):
        store.add("two", store.open("one"))
    with raises(tj.StoreError):
        store.add("a/b", tj.open(adk.psf, adk.xtc))
    assert store.list() == ("one",)
