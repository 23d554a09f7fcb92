"""Copies of H5MD hold all that their source holds; compared with the source through h5py."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.commands import run
from helpers.made_files import write_names
from helpers.made_hdf5 import content_of, write_as_gromacs, write_h5md, write_rich_h5md
from helpers.made_stores import write_profile
from helpers.messages import raises
from helpers.pool_laws import PoolOfThisProcess
from helpers.round_trips import own_messages

SIGNED = "/h5md/creator@"
ALL = "/particles/all"
# Options of every file here.
ALL_ATOMS: "tj.FormatOptions" = {"h5md": {"particles": "all"}}
N_ATOMS, N_FRAMES = 5, 6


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    """Return a file with every kind of element."""
    return write_rich_h5md(tmp_path / "rich.h5md", n_atoms=N_ATOMS, n_frames=N_FRAMES)


def expected_of(path: Path) -> dict[str, Any]:
    """Return the content of a file, except for the name of the program that made it."""
    found = content_of(path)
    found.pop(SIGNED, None)
    return found


def converted(source: Path, **options: Any) -> tuple[Path, tuple[str, ...]]:
    """Copy a file; return the copy and messages."""
    traj = tj.open(None, source, format_options=ALL_ATOMS)
    atoms = options.pop("atoms", None)
    path = source.with_name("copy.h5md")
    done = tj.convert(traj if atoms is None else traj.select(atoms), path, force=True, **options)
    return path, own_messages(done, traj)


def values(path: Path, *names: str) -> list[np.ndarray]:
    """Read datasets."""
    with h5py.File(path) as file:
        return [file[name][()] for name in names]


def differing_paths(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """Return the paths that differ between two files, except for lists of shared objects."""
    names = {*one, *other} - {"same", SIGNED}
    return {name for name in names if one.get(name) != other.get(name)}


def test_whole_copy_equals_the_source(rich: Path) -> None:
    """Every dataset, attribute, link and reference is that of the source."""
    copy, messages = converted(rich)
    assert messages == ()
    assert expected_of(copy) == expected_of(rich)
    with h5py.File(copy) as file:
        creator = dict(file["h5md/creator"].attrs)
    assert creator["name"] == "trajet"
    assert (creator["source_name"], creator["source_version"]) == ("espresso", b"4.2")
    # A copy of a copy has them, too.
    again = tj.convert(tj.open(None, copy, format_options=ALL_ATOMS), copy.with_name("again.h5md"))
    assert content_of(again.path) == content_of(copy)


@pytest.mark.parametrize("frames", [slice(1, 4), slice(None, None, 2), [2], slice(3, None)])
def test_subset_of_frames_cuts_time_dependent_elements(rich: Path, frames: Any) -> None:
    """Rows at the steps of chosen frames are kept, and so are rows at steps between them."""
    copy, messages = converted(rich, frames=frames)
    assert messages == ()
    chosen = np.arange(N_FRAMES)[frames]
    was, now = content_of(rich), content_of(copy)
    at_frames = ("position", "box/edges", "charge", "image")
    for name in (*(f"particles/all/{one}/value" for one in at_frames), "observables/lambda/value"):
        (ours,), (theirs,) = values(copy, name), values(rich, name)
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs[chosen].tobytes(), name
    steps = chosen * 100
    for name in at_frames:
        (found,) = values(copy, f"particles/all/{name}/step")
        assert np.array_equal(found if found.shape else np.arange(len(chosen)) * found, steps)
    velocity, at, every = values(
        copy, *(f"particles/all/velocity/{k}" for k in ("value", "step"))
    ) + values(rich, "particles/all/velocity/value")
    assert np.array_equal(at, steps[chosen % 2 == 0])
    assert velocity.tobytes() == every[chosen[chosen % 2 == 0] // 2].tobytes()
    energy, at, when = values(copy, *(f"observables/energy/{k}" for k in ("value", "step", "time")))
    end = 100 * (chosen[-1] + 1)
    assert np.array_equal(at, np.arange(100 * chosen[0], end, 25))
    assert np.array_equal(when, at / 10)
    (every,) = values(rich, "observables/energy/value")
    assert np.array_equal(energy, every[at // 25])
    # Everything else is unchanged.
    cut = ("position", "velocity", "box/edges", "charge", "image", "energy", "lambda")
    assert {
        name for name in differing_paths(was, now) if not any(f"/{one}/" in name for one in cut)
    } == set()
    ours = tj.open(None, copy, format_options=ALL_ATOMS).read()
    theirs = tj.open(None, rich, format_options=ALL_ATOMS).read(frames=chosen)
    assert ours.positions.tobytes() == theirs.positions.tobytes()
    assert ours.times.tobytes() == theirs.times.tobytes()
    assert ours.cells.tobytes() == theirs.cells.tobytes()


def test_segments_of_split_hold_each_row_once(rich: Path, tmp_path: Path) -> None:
    """All segments together have every row of every element, in order."""
    traj = tj.open(None, rich, format_options=ALL_ATOMS)
    done = tj.split(traj, tmp_path / "parts", segments=3)
    assert [own_messages(one, traj) for one in done] == [()] * 3
    for name in (
        "particles/all/position",
        "particles/all/velocity",
        "particles/all/charge",
        "particles/all/box/edges",
        "observables/energy",
        "observables/lambda",
    ):
        for kind in ("value", "step"):
            parts = [values(one.path, f"{name}/{kind}")[0] for one in done]
            (whole,) = values(rich, f"{name}/{kind}")
            assert {part.dtype for part in parts} == {whole.dtype}
            assert np.array_equal(np.concatenate(parts), whole), name
    # Joined again, nothing is missing.
    paths = [one.path for one in done]
    parts = tj.open(None, *paths, format_options=ALL_ATOMS)
    joined = tj.convert(parts, tmp_path / "joined.h5md")
    assert own_messages(joined, parts) == ()
    now, was = content_of(joined.path), content_of(rich)
    # Steps at equal distances are listed, also of a soft link to such steps.
    assert differing_paths(was, now) == {
        f"{ALL}/image/step",
        f"{ALL}/charge/step",
        f"{ALL}/charge/step@",
    }


def test_subset_of_atoms_cuts_elements_of_atoms(rich: Path) -> None:
    """Elements of atoms are cut; connectivity is left out with a message; the rest is unchanged."""
    atoms = np.array([0, 3, 4])
    copy, messages = converted(rich, atoms=atoms)
    assert messages == (
        "connectivity/bonds: left out: it names atoms by their numbers, which the copy changes",
    )
    was, now = content_of(rich), content_of(copy)
    cut = {"species", "mass", "id", "names"}
    timed = {f"{one}/value" for one in ("position", "velocity", "force", "charge", "image")}
    assert differing_paths(was, now) == {f"{ALL}/{name}" for name in cut | timed} | {
        "/connectivity/bonds",
        "/connectivity/bonds@",
    }
    for name in cut:
        (ours,), (theirs,) = (values(path, f"particles/all/{name}") for path in (copy, rich))
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs[atoms].tolist()
    for name in timed:
        (ours,), (theirs,) = (values(path, f"particles/all/{name}") for path in (copy, rich))
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs[:, atoms].tobytes()
    with h5py.File(copy) as file:
        assert h5py.check_enum_dtype(file["particles/all/species"].dtype) == {"C": 6, "O": 8}


@pytest.mark.parametrize("atoms", [None, [0, 3, 4], [4, 3, 2, 1, 0]])
def test_topology_of_gromacs_is_not_that_of_other_atoms(
    rich: Path, atoms: list[int] | None
) -> None:
    """It names atoms by their order: only copies of all atoms, in this order, keep it."""
    where = "h5md/modules/gromacs_topology"
    with h5py.File(rich, "a") as file:
        group = file.create_group(where)
        group.attrs["molecule_block_counts"] = [1]
        group["Protein/charge"] = np.arange(5.0)
    copy, messages = converted(rich, atoms=atoms)
    left_out = "it names atoms by their numbers, which the copy changes"
    assert [one for one in messages if where in one] == (
        [] if atoms is None else [f"connectivity/bonds, {where}: left out: {left_out}"]
    )
    with h5py.File(copy) as file:
        assert (where in file) == (atoms is None)


@pytest.mark.parametrize("frames", [None, slice(1, 5)])
@pytest.mark.parametrize("atoms", [None, [1, 2]])
def test_pools_write_what_one_process_writes(
    rich: Path, tmp_path: Path, frames: Any, atoms: Any
) -> None:
    """The pool writes one file in pieces, and files of segments."""
    here, messages = converted(rich, frames=frames, atoms=atoms)
    here = here.rename(tmp_path / "here.h5md")
    there, others = converted(rich, frames=frames, atoms=atoms, pool=PoolOfThisProcess())
    assert content_of(there) == content_of(here)
    assert others == messages
    if frames is None:
        traj = tj.open(None, rich, format_options=ALL_ATOMS)
        chosen = traj if atoms is None else traj.select(atoms)
        ours, theirs = (
            tj.split(chosen, tmp_path / name, segments=2, pool=pool)
            for name, pool in (("ours", PoolOfThisProcess()), ("theirs", None))
        )
        for one, other in zip(ours, theirs, strict=True):
            assert content_of(one.path) == content_of(other.path)
            assert one.messages == other.messages


def test_dropped_velocities_are_the_only_loss(rich: Path) -> None:
    """A vector that the user drops is left out, and nothing else."""
    copy, _ = converted(rich, velocities=False)
    lost = differing_paths(content_of(rich), content_of(copy))
    assert lost == {name for name in content_of(rich) if name.startswith(f"{ALL}/velocity")}


def test_objects_outside_of_the_file_are_not_opened(rich: Path, tmp_path: Path) -> None:
    """External links, external storage and virtual datasets are left out with messages."""
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["data"] = np.arange(9.0)
    (tmp_path / "secret.raw").write_bytes(np.arange(4.0).tobytes())
    was = expected_of(rich)
    with h5py.File(rich, "a") as file:
        file["linked"] = h5py.ExternalLink(str(secret), "/data")
        file["particles/all/linked"] = h5py.ExternalLink(str(secret), "/")
        # A soft link that leads out of the file stays a link.
        file["around"] = h5py.SoftLink("/linked")
        file.create_dataset(
            "external", (4,), "f8", external=[(str(tmp_path / "secret.raw"), 0, 32)]
        )
        layout = h5py.VirtualLayout((9,), "f8")
        layout[:] = h5py.VirtualSource(str(secret), "data", (9,))
        file.create_virtual_dataset("observables/virtual", layout)
        file["observables/timed/step"] = np.arange(9)
        file.create_virtual_dataset("observables/timed/value", layout)
    copy, messages = converted(rich)
    reason = "left out: its data are stored in another file, which copies never follow"
    names = "external, linked, observables/timed/value, observables/virtual, particles/all/linked"
    assert messages == (f"{names}: {reason}",)
    now = expected_of(copy)
    assert now.pop("/around") == ("SoftLink", "/linked")
    assert differing_paths(was, now) == {
        "/observables/timed@",
        "/observables/timed/step",
        "/observables/timed/step@",
    }
    assert b"secret" not in copy.read_bytes()


def test_continuing_files_are_joined_and_differences_named(tmp_path: Path) -> None:
    """Rows of all files follow one another; elements that differ are those of the first file."""
    first, second = (
        write_rich_h5md(tmp_path / f"{k}.h5md", seed=k, n_atoms=N_ATOMS, n_frames=N_FRAMES)
        for k in (1, 2)
    )
    with h5py.File(second, "a") as file:
        for name in ("position", "velocity"):
            file[f"particles/all/{name}/step"][...] += 100 * N_FRAMES
        file["observables/energy/step"][...] += 100 * N_FRAMES
        file["only/here"] = 1
    copy = tj.convert(
        tj.open(None, first, second, format_options=ALL_ATOMS), tmp_path / "copy.h5md"
    )
    for name in ("position", "velocity", "box/edges", "charge"):
        for kind in ("value", "step"):
            parts = [values(path, f"particles/all/{name}/{kind}")[0] for path in (first, second)]
            (both,) = values(copy.path, f"particles/all/{name}/{kind}")
            assert {part.dtype for part in parts} == {both.dtype}
            assert np.array_equal(both, np.concatenate(parts)), name
    ((energy,), *parts) = (
        values(p, "observables/energy/value") for p in (copy.path, first, second)
    )
    assert np.array_equal(energy, np.concatenate([part[0] for part in parts]))
    messages_text = "\n".join(copy.messages)
    assert f"only: left out: only {second} holds it" in messages_text
    assert "particles/all/mass" in messages_text
    assert f"kept as it is in {first}: the files differ" in messages_text


def test_store_returns_the_source(rich: Path, tmp_path: Path) -> None:
    """All tags together are the source, some tags are their atoms of it, and damage is detected."""
    top = write_names(tmp_path / "top.gro", N_ATOMS)
    store = tj.Store(tmp_path / "store", create=True)
    traj = tj.open(top, rich, format_options=ALL_ATOMS)
    done = store.add("one", traj, profile=write_profile(tmp_path, "front;index 0:1", "back;rest"))
    (message,) = own_messages(done, traj)
    assert message.startswith("the data set has no bonds: those that the H5MD file lists")
    whole = store.get("one", tmp_path / "whole.h5md")
    assert own_messages(whole, store.open("one")) == ()
    assert expected_of(whole.path) == expected_of(rich)
    part = store.get("one", tmp_path / "part.h5md", tags=["back"], frames=slice(1, 5, 2))
    copy, messages = converted(rich, atoms=np.arange(2, N_ATOMS), frames=slice(1, 5, 2))
    assert own_messages(part, store.open("one")) == messages
    assert expected_of(part.path) == expected_of(copy)
    store.retag("one", write_profile(tmp_path, "front;index 0", "back;rest"))
    assert expected_of(store.get("one", whole.path, force=True).path) == expected_of(rich)
    # This element holds no vectors, and is compared with its checksum.
    (kept,) = (store.folder / "one").glob("other-*.h5")
    with h5py.File(kept) as file:
        assert file["particles/all/position/value"].id.get_storage_size() == 0
    assert store.verify() == ()
    kept.write_bytes(kept.read_bytes()[:-1] + b"!")
    assert "is not what the store wrote" in store.verify()[0]
    with raises(tj.StoreError):
        store.get("one", tmp_path / "bad.h5md")
    store.remove("one")
    assert not (store.folder / "one").exists()


def test_growing_store_returns_the_source(rich: Path, tmp_path: Path) -> None:
    """Frames of a grown file, and of another file, come with the elements of their files."""
    top = write_names(tmp_path / "top.gro", N_ATOMS)
    store = tj.Store(tmp_path / "store", create=True)
    growing, _ = converted(rich, frames=slice(0, 4))
    store.add(
        "one",
        tj.open(top, growing, format_options=ALL_ATOMS),
        profile=write_profile(tmp_path, "front;index 0:1", "back;rest"),
    )
    rich.replace(growing)
    assert store.append("one", tj.open(None, growing, format_options=ALL_ATOMS)).n_frames == 2
    assert len([*(store.folder / "one").glob("other-*.h5")]) == 1
    whole = store.get("one", tmp_path / "whole.h5md")
    assert expected_of(whole.path) == expected_of(growing)


def test_other_formats_name_the_elements_they_drop(rich: Path, tmp_path: Path) -> None:
    """A copy to DCD has messages on what is lost, in Python and on the terminal."""
    lost = (
        "left out, as DCD has no place for it: connectivity, observables, parameters,"
        " particles/all/charge, particles/all/id, particles/all/image, particles/all/mass,"
        " particles/all/names, particles/all/species, particles/wall, shortcut, somewhere"
    )
    traj = tj.open(None, rich, format_options=ALL_ATOMS)
    options = {"velocities": False, "allow_loss": True}
    assert lost in tj.convert(traj, tmp_path / "copy.dcd", **options).messages
    words = ["--format-option", "h5md.particles=all", "--no-velocities", "--allow-loss"]
    done = run("convert", rich, tmp_path / "again.dcd", *words)
    assert done.returncode == 0
    assert lost in " ".join((done.stdout + done.stderr).split())


def test_empty_series_is_absent(tmp_path: Path) -> None:
    """GROMACS makes an empty series of forces: positions are read, and copies have it, too."""
    positions = np.random.default_rng(3).random((11, 53, 3), "f4")
    source = write_as_gromacs(tmp_path / "gmx.h5md", positions)
    with h5py.File(source, "a") as file:
        group = file.create_group("particles/system/force")
        group.create_dataset("value", (0, 53, 3), "f4", maxshape=(None, 53, 3), chunks=(1, 53, 3))
        group.create_dataset("step", (0,), "i8", maxshape=(None,), chunks=(1,))
        group.create_dataset("time", (0,), "f8", maxshape=(None,), chunks=(1,))
    traj = tj.open(None, source)
    assert traj.n_frames == 11
    assert traj.read().positions.tobytes() == (positions * np.float32(10)).tobytes()
    copy = tj.convert(traj, tmp_path / "copy.h5md")
    assert expected_of(copy.path) == expected_of(source)
    # The units that GROMACS does not name are known of its copy, too.
    assert tj.open(None, copy.path).read().times.tobytes() == traj.read().times.tobytes()


def test_file_with_empty_series_only_is_an_error(tmp_path: Path) -> None:
    """The error states that the file has no frame."""
    path = write_h5md(tmp_path / "none.h5md", np.zeros((0, 3, 3), "f4"))
    with raises(tj.FormatError):
        tj.open(None, path)


def test_units_given_by_the_user_are_written(tmp_path: Path) -> None:
    """The copy can be opened without naming them again."""
    positions = np.random.default_rng(4).random((3, 4, 3), "f4")
    source = write_h5md(tmp_path / "bare.h5md", positions, unit=None, time_unit=None)
    traj = tj.open(
        None, source, format_options={"h5md": {"units": {"position": "pm", "time": "fs"}}}
    )
    copy = tj.convert(traj, tmp_path / "copy.h5md").path
    ours, theirs = tj.open(None, copy).read(), traj.read()
    assert ours.positions.tobytes() == theirs.positions.tobytes()
    assert ours.times.tobytes() == theirs.times.tobytes()


def test_rows_without_steps_are_kept_whole_with_a_message(rich: Path) -> None:
    """Without steps it is unknown which rows belong to which frames."""
    with h5py.File(rich, "a") as file:
        del file["observables/energy/step"], file["observables/energy/time"]
        file["observables/energy/time"] = np.zeros(4 * N_FRAMES)
    copy, messages = converted(rich, frames=slice(2, 4))
    assert messages == (
        "observables/energy: kept whole: nothing says which rows belong to which frames",
    )
    (ours,), (theirs,) = (values(path, "observables/energy/value") for path in (copy, rich))
    assert ours.tobytes() == theirs.tobytes()


def test_malicious_structures_terminate_with_messages(rich: Path) -> None:
    """Cycles of groups are kept; deep nesting and references to parts are left out."""
    with h5py.File(rich, "a") as file:
        group = file.create_group("circle/inner")
        group["back"] = file["circle"]
        group["soft"] = h5py.SoftLink("/circle/inner/soft")
        file["deep/" + "/".join("g" * 100)] = 1
        part = file["particles/all/mass"].regionref[1:3]
        group.attrs["part"] = part
        group.create_dataset("parts", data=np.array([part], h5py.regionref_dtype))
        group.attrs["gone"] = h5py.Reference()
        # Elements whose parts form cycles, or are not numbers.
        file["observables/odd/value"] = h5py.SoftLink("/observables/odd/value")
        file["observables/odd/step"] = np.arange(3)
        file["observables/words/value"] = np.array([b"a", b"b"])
        file["observables/words/step"] = np.array([b"a", b"b"])
    for frames in (None, slice(1, 3)):
        copy, messages = converted(rich, frames=frames)
        messages_text = "\n".join(messages)
        assert "nested deeper than 64 groups" in messages_text
        assert (
            "circle/inner@part: left out: it holds references to parts of objects" in messages_text
        )
        assert "circle/inner/parts: left out: it holds references" in messages_text
        with h5py.File(copy) as file:
            assert not file["circle/inner"].attrs["gone"]
            assert file["circle/inner/back"] == file["circle"]
            assert file["observables/words/value"][()].tolist() == [b"a", b"b"]
        assert ("observables/words: kept whole" in messages_text) is (frames is not None)


def test_damaged_element_is_an_error_that_names_it(rich: Path) -> None:
    """A damaged chunk of an observable leaves no output."""
    with h5py.File(rich) as file:
        chunk = file["observables/energy/value"].id.get_chunk_info(1)
    damaged = bytearray(rich.read_bytes())
    damaged[chunk.byte_offset + chunk.size // 2] ^= 0xFF
    rich.write_bytes(damaged)
    with raises(tj.FormatError):
        converted(rich, frames=slice(1, 4))
    assert not rich.with_name("copy.h5md").exists()


@pytest.mark.parametrize("velocities", [False, True])
@pytest.mark.parametrize("options", [{}, {"compression": 1}, {"pool": PoolOfThisProcess()}])
def test_single_precision_keeps_its_bits_and_units(
    rich: Path, velocities: bool, options: dict[str, Any]
) -> None:
    """Vectors that are read on all threads are those of the source, too."""
    draw = np.random.default_rng(5)
    with h5py.File(rich, "a") as file:
        for name in ("position", "velocity"):
            del file[f"particles/all/{name}"]
            if name == "position" or velocities:
                element = file.create_group(f"particles/all/{name}")
                element["value"] = draw.normal(size=(N_FRAMES, N_ATOMS, 3)).astype("f4")
                element["value"].attrs["unit"] = {"position": "nm"}.get(name, "nm ps-1")
                element["step"] = np.arange(N_FRAMES) * 100
                element["time"] = np.arange(N_FRAMES) * 0.1
                element["time"].attrs["unit"] = "ns"
    copy, messages = converted(rich, **options)
    assert messages == ()
    assert expected_of(copy) == expected_of(rich)
    atoms = [1, 3]
    copy, _ = converted(rich, frames=slice(0, 5, 2), atoms=atoms, **options)
    for name in ("position", *["velocity"] * velocities):
        (ours,), (theirs,) = (values(path, f"particles/all/{name}/value") for path in (copy, rich))
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs[:5:2][:, atoms].tobytes()
