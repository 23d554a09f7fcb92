"""Profiles are checked before anything is written; those of tags with a loss ask for it."""

import tomllib
from collections import Counter
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.made_files import write_names, write_trr, write_with_mdanalysis
from helpers.made_stores import PROFILE, Solvated, make_sources, write_profile
from helpers.messages import raises
from helpers.mounted_stores import mounted
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


N_ATOMS = 30
# Velocities and forces in some frames, as GROMACS writes them; TRR lists the parts of each frame.
SOME = ["bxuf", "bx", "bxu", "bx", "bxf", "bxuf"]
FIELDS = ("velocities", "forces")


def lossy(form: str) -> tuple[str, ...]:
    """Return two exact tags, and one that may lose values."""
    rest = f'water;rest;format = "{form}";lossy = true'
    return ("front;index 0:9", "few;index 13:16", rest)


FRONT, WATER = np.r_[0:10, 13:17], np.setdiff1d(np.arange(N_ATOMS), np.r_[0:10, 13:17])


def sourced(folder: Path, ending: str, held: list[str] = SOME) -> tj.Trajectory:
    """Return a trajectory with velocities and forces."""
    path = folder / f"run{ending}"
    if ending == ".trr":
        write_trr(path, held, N_ATOMS, "f4")
    else:
        amber = write_with_mdanalysis(path.with_suffix(".nc"), N_ATOMS, len(held), fields=True)
        if ending != ".nc":
            tj.convert(tj.open(None, amber), path, force=True)
    return tj.open(write_names(folder / "top.gro", N_ATOMS), path)


def added(folder: Path, form: str, ending: str = ".trr", held: list[str] = SOME) -> tj.Store:
    """Return a store with it as `run`, one tag in a lossy format."""
    store = tj.Store(folder / "store", create=True)
    store.add("run", sourced(folder, ending, held), profile=write_profile(folder, *lossy(form)))
    return store


def vectors(path: Path | str, kind: str, atoms: np.ndarray | None = None) -> np.ndarray | None:
    """Return velocities or forces of all frames, or None if no frame has them."""
    try:
        is_file = bool(Path(path).suffix)
        traj = tj.open(None, path, sidecar=False) if is_file else tj.open(path)
        block = traj.read(atoms=atoms, **{kind: True})
    except tj.FormatError:
        return None
    values = getattr(block, kind)
    assert isinstance(values, np.ndarray)
    return values


def same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Return whether both are equal in every bit; NaN equals NaN."""
    return one is not None and other is not None and np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("form", ["xtc", "dcd", "ncdf", "h5md"])
@pytest.mark.parametrize("ending", [".trr", ".nc", ".h5md"])
def test_whole_has_the_fields_that_all_tags_have(form: str, ending: str, tmp_path: Path) -> None:
    """A message names omitted fields and the tags that omit them."""
    held = ["bxuf"] * 4 if form == "ncdf" or ending != ".trr" else SOME
    store, source = added(tmp_path, form, ending, held), tmp_path / f"run{ending}"
    wanted = tj.open(None, source).read()
    keeps = form in ("ncdf", "h5md")
    assert store.show("run").tags[2].omitted_fields == (() if keeps else FIELDS)
    for to in (".trr", ".nc", ".h5md"):
        if to != ".trr" and len(set(held)) > 1 and keeps:
            # Frames differ in their parts, which these formats do not take.
            continue
        done = store.get("run", tmp_path / f"whole{to}", allow_loss=True)
        messages = [
            message for message in done.messages if message.endswith("lossy tags omit: water")
        ]
        assert len(messages) == (0 if keeps else 2), done.messages
        got = tj.open(None, done.path).read()
        assert np.abs(got.positions - wanted.positions).max() <= 0.0051
        # TRR has nm in single precision.
        assert np.allclose(got.positions[:, FRONT], wanted.positions[:, FRONT], rtol=2e-7, atol=0)
        assert np.array_equal(got.times, wanted.times)
        assert np.allclose(got.cells, wanted.cells, rtol=1e-5)
        for kind in FIELDS:
            found, there = vectors(done.path, kind), vectors(source, kind)
            assert there is not None
            if not keeps:
                assert found is None
                continue
            assert found is not None
            assert np.allclose(found, there, rtol=1e-6, equal_nan=True)
    for to in (".xtc", ".dcd"):
        done = store.get("run", tmp_path / f"whole{to}", allow_loss=True)
        assert done.n_frames == len(held)
    assert store.verify() == ()


@pytest.mark.parametrize("form", ["xtc", "dcd"])
def test_omitted_fields_are_errors_that_name_the_tag(form: str, tmp_path: Path) -> None:
    """Atoms of other tags have every bit of their values."""
    store = added(tmp_path, form)
    path, source = tmp_path / "store" / "run", tmp_path / "run.trr"
    for kind in FIELDS:
        for atoms in (None, WATER[:1], np.r_[0:30:7]):
            with raises(tj.FormatError):
                tj.open(path).read(atoms=atoms, **{kind: True})
        with raises(tj.FormatError):
            tj.open(f"{path}@few,water").read(**{kind: True})
        there = vectors(source, kind)
        assert there is not None
        assert same(vectors(path, kind, FRONT), there[:, FRONT])
        assert same(vectors(f"{path}@few", kind), there[:, 13:17])
        done = store.get("run", tmp_path / "front.trr", tags=["front", "few"], force=True)
        assert done.messages == ()
        assert same(vectors(done.path, kind), there[:, FRONT])
        done = store.get("run", tmp_path / "some.trr", tags=["few", "water"], force=True)
        assert len(done.messages) == 2
        assert vectors(done.path, kind) is None


@pytest.mark.parametrize("ending", [".trr", ".nc", ".h5md"])
@pytest.mark.parametrize("form", ["xtc", "h5md"])
def test_new_tags_keep_every_value_of_the_old(ending: str, form: str, tmp_path: Path) -> None:
    """Atoms may be in any tags; frames that are appended later are like the others."""
    held = SOME if ending == ".trr" else ["bxuf"] * 6
    store, source = added(tmp_path, form, ending, held), tmp_path / f"run{ending}"
    path = tmp_path / "store" / "run"
    keeps = form == "h5md"
    before = {kind: vectors(path, kind, FRONT) for kind in FIELDS}
    positions = tj.open(path).read().positions
    tags = ("all of both;index 0:9 13:16", "first;index 10:12", "rest;rest")
    new = write_profile(tmp_path, *(tag.replace("all of both", "both") for tag in tags))
    done = store.retag("run", new)
    assert len(done.messages) == 2
    assert store.verify() == ()
    assert tj.open(path).read().positions.tobytes() == positions.tobytes()
    for kind in FIELDS:
        there = vectors(source, kind)
        assert there is not None
        assert same(before[kind], there[:, FRONT])
        assert same(vectors(path, kind, FRONT), there[:, FRONT])
        assert (vectors(path, kind) is None) != keeps
    assert [kept.omitted_fields for kept in store.show("run").tags] == [
        (),
        *[() if keeps else FIELDS] * 2,
    ]
    # Once more, to other tags, and after frames were appended.
    more = sourced(tmp_path, ending, [*held, *held[:2]])
    assert store.append("run", more).n_frames == 2
    store.retag("run", write_profile(tmp_path, "a;index 0:5", "b;index 6:9 13:16", "c;rest"))
    assert store.verify() == ()
    for kind in FIELDS:
        there = vectors(source, kind)
        assert there is not None
        assert same(vectors(path, kind, FRONT), there[:, FRONT])
        assert (vectors(path, kind) is None) != keeps
    done = store.get("run", tmp_path / "whole.trr")
    assert done.n_frames == len(held) + 2
    assert len(
        [message for message in done.messages if message.endswith("lossy tags omit: c")]
    ) == (2 - 2 * keeps)


@pytest.mark.parametrize("ending", [".trr", ".nc", ".h5md"])
def test_new_tags_must_not_lose_values_of_some_atoms(ending: str, tmp_path: Path) -> None:
    """It is refused and the data set is unchanged, unless loss is requested."""
    held = SOME if ending == ".trr" else ["bxuf"] * 6
    store, path = added(tmp_path, "xtc", ending, held), tmp_path / "store" / "run"
    before = (path / "manifest.json").read_bytes()
    for form in ("", ';format = "h5md";lossy = true', ';format = "ncdf";lossy = true'):
        mixed = write_profile(tmp_path, f"mixed;index 0:11{form}", "others;rest")
        with raises(tj.StoreError):
            store.retag("run", mixed)
        assert (path / "manifest.json").read_bytes() == before
    asked = write_profile(
        tmp_path, 'mixed;index 0:11;format = "xtc";lossy = true', "few;index 13:16", "rest;rest"
    )
    store.retag("run", asked)
    there = vectors(tmp_path / f"run{ending}", "velocities")
    assert there is not None
    assert same(vectors(f"{path}@few", "velocities"), there[:, 13:17])
    assert vectors(f"{path}@mixed", "velocities") is None
    assert store.verify() == ()


def test_frames_with_values_that_a_tag_would_lose_are_not_appended(tmp_path: Path) -> None:
    """NetCDF fixes the parts of all frames: the first of the new ones has no velocities."""
    store = added(tmp_path, "ncdf", held=["bxuf"] * 3)
    more = sourced(tmp_path, ".trr", ["bxuf"] * 3 + ["bx", "bxuf"])
    with raises(tj.StoreError):
        store.append("run", more)
    assert store.show("run").n_frames == 3


def test_mounted_whole_equals_the_export(tmp_path: Path) -> None:
    """Its size is known beforehand; a text file beside it lists omitted fields."""
    store = added(tmp_path, "xtc")
    store.get("run", tmp_path / "whole.trr")
    with mounted(store.folder, tmp_path / "shown") as shown:
        whole = (tmp_path / "whole.trr").read_bytes()
        assert (shown / "run.trr").stat().st_size == len(whole)
        assert (shown / "run.trr").read_bytes() == whole
        readme = (shown / "run.README").read_text().splitlines()
        assert len(readme) == 2
        assert "have no velocities, which these lossy tags omit: water" in readme[0]
        few = tj.open(None, shown / "run@few.trr", sidecar=False).read(forces=True)
        there = vectors(tmp_path / "run.trr", "forces")
        assert there is not None
        assert same(few.forces, there[:, 13:17])
        store.retag("run", write_profile(tmp_path, "front;index 0:9 13:16", "water;rest"))
        assert (shown / "run.trr").read_bytes() == whole
        assert shown.end()[0] == 0


def test_format_that_would_omit_later_fields_is_refused_by_retag(tmp_path: Path) -> None:
    """All frames of NCDF have the parts of the first one: `add` has a message on the loss."""
    held = ["bx", "bxuf", "bxuf"]
    store, source = tj.Store(tmp_path / "store", create=True), sourced(tmp_path, ".trr", held)
    water = "water;rest"
    store.add("run", source, profile=write_profile(tmp_path, "front;index 0:9", water))
    before = [vectors(tmp_path / "store" / "run", kind) for kind in FIELDS]
    form = 'format = "ncdf";lossy = true'
    late = write_profile(tmp_path, "front;index 0:9", f"{water};{form}")
    with raises(tj.StoreError):
        store.retag("run", profile=late)
    for kind, vectors_before in zip(FIELDS, before, strict=True):
        assert same(vectors(tmp_path / "store" / "run", kind), vectors_before)
    done = store.add("other", source, profile=late)
    (message,) = [message for message in done.messages if message.startswith("water: left out")]
    for kind in FIELDS:
        words = f"{kind}, where its first frame has none (in 2 of 3 frames, first in frame 1)"
        assert words in message
