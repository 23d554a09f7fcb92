"""Divided and joined again, a trajectory has every value of the original, for any division."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.divided_stores import KINDS, division, made, spec, vectors
from helpers.extent import examples
from helpers.golden_files import FORMATS
from helpers.killed_store import opened
from helpers.messages import raises
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from trajet import _trajet
from trajet.conversion.files import OutputOptions

FILES = {
    name: path
    for format in FORMATS.values()
    for name, path in format.files().items()
    if name != "empty.dcd"
}
# Values of published files that H5MD has no place for.
NOT_BACK = "H5MD cannot hold positions of (XTC|TRR|NCDF) so that they come back"
LOSES = {
    # Nine atoms or fewer: floats in nm.
    "test.xtc": NOT_BACK,
    **dict.fromkeys(
        (
            *("adk_oplsaa.trr", "cobrotoxin.trr", "test.trr"),
            *("trr_test_only_10_frame_10_atoms.trr", "ace_mbondi3.nc", "ace_tip3p.nc"),
        ),
        "H5MD cannot hold a frame of .* lacks the velocities",
    ),
    "posfor.ncdf": "H5MD cannot hold a frame of NCDF .a part lacks the forces",
}


def copied(reader: _trajet.Reader, path: Path) -> bytes:
    """Return a copy in the same format, which keeps all values of a frame."""
    part = (path, (0, 1, reader.n_frames))
    _trajet.convert(reader, [part], None, OutputOptions(), force=True, threads=2, progress=None)
    return path.read_bytes()


def assert_same(
    one: _trajet.Reader,
    other: _trajet.Reader,
    folder: Path,
    ending: str,
    kinds: Sequence[str] = KINDS,
) -> None:
    """Compare all that two trajectories hold."""
    assert (one.n_frames, one.n_atoms, one.format) == (other.n_frames, other.n_atoms, other.format)
    np.testing.assert_array_equal(one.times(), other.times())
    np.testing.assert_array_equal(one.steps(), other.steps())
    draw = np.random.default_rng(0)
    few = draw.integers(0, one.n_frames, min(20, one.n_frames))
    for kind in kinds:
        for frames in (few, np.arange(min(20, one.n_frames))):
            ours, theirs = vectors(one, kind, frames), vectors(other, kind, frames)
            assert (ours is None) == (theirs is None)
            for key, values in (ours or {}).items():
                # Bits, so that NaN is NaN.
                assert values.tobytes() == theirs[key].tobytes(), (kind, key)
    assert copied(one, folder / f"one{ending}") == copied(other, folder / f"other{ending}")


@pytest.mark.parametrize("name", FILES)
def test_published_files_are_restored(name: str, tmp_path: Path) -> None:
    """All values that are read, and every byte that is written of them, are equal."""
    source, store = opened(FILES[name]), made(tmp_path / "store")
    tag_of = division(source.n_atoms, 3, seed=source.n_atoms)
    given = [[] for _ in np.unique(tag_of)]
    ending = FILES[name].suffix
    try:
        copied(source, tmp_path / f"copy{ending}")
    except _trajet.OutputError as error:
        with pytest.raises(type(error)):
            store.add("one", source, spec(tmp_path, tag_of), FILES[name], given, threads=2)
        assert store.names() == []
        return
    store.add("one", source, spec(tmp_path, tag_of), FILES[name], given, threads=2)
    assert store.verify("one", threads=2) == []
    assert_same(store.reader("one", request_size=1 << 18), source, tmp_path, ending)


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        # Both take turns in the gate.
        pytest.param(
            name, formats, id=f"{name}-{kind}", marks=() if number % 2 == turn else pytest.mark.long
        )
        for number, name in enumerate(FILES)
        for turn, (kind, formats) in enumerate(
            {"all": ("h5md",), "some": ("exact", "h5md")}.items()
        )
    ],
)
def test_published_files_are_restored_from_h5md(
    name: str, formats: tuple[str, ...], tmp_path: Path
) -> None:
    """A file that H5MD cannot hold without loss is not added."""
    source, store = opened(FILES[name]), made(tmp_path / "store")
    tag_of = division(source.n_atoms, 3, seed=source.n_atoms)
    given, asked = [[] for _ in np.unique(tag_of)], spec(tmp_path, tag_of, formats)
    if name in LOSES:
        with raises((tj.OutputError, tj.StoreError)):
            store.add("one", source, asked, FILES[name], given, threads=2)
        assert store.names() == []
        assert not (tmp_path / "fast").exists()
        assert not (tmp_path / "slow").exists()
        return
    store.add("one", source, asked, FILES[name], given, threads=2)
    assert store.verify("one", threads=2) == []
    union = store.reader("one", request_size=1 << 18)
    # Velocities that TRR lacks are NaN, those that H5MD lacks an error.
    assert_same(union, source, tmp_path, FILES[name].suffix, ["positions"])


@settings(max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    name=st.sampled_from(
        ["XTC", "TRR_sub_sol", "DCD_NAMD_TRICLINIC", "NCDFtruncoct", "XTC_sub_sol"]
    ),
    n_tags=st.integers(1, 7),
    seed=st.integers(0, 2**32),
    again=st.integers(0, 2**32),
    turns=st.lists(st.sampled_from(["exact", "h5md"]), min_size=2, max_size=3),
)
def test_any_division_is_restored(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    n_tags: int,
    seed: int,
    again: int,
    turns: list[str],
) -> None:
    """A division of a division is restored, too."""
    folder, path = tmp_path_factory.mktemp("any"), Path(getattr(datafiles, name))
    source, store = opened(path), made(folder / "store")
    formats = ["exact"] if path.name in LOSES else turns
    for number, tag_of in enumerate(division(source.n_atoms, n_tags, k) for k in (seed, again)):
        asked, given = spec(folder, tag_of, formats), [[] for _ in np.unique(tag_of)]
        formats = formats[::-1]
        if number == 0:
            store.add("one", source, asked, path, given, threads=2)
        else:
            store.retag("one", asked, given, threads=2)
        assert store.verify("one", threads=2) == []
        assert_same(store.reader("one", request_size=1 << 18), source, folder, path.suffix)
