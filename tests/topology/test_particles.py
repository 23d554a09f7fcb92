"""Virtual sites, extra points, lone pairs and Drude particles are no atoms in any analysis."""

from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import commands
from helpers import water_models as models
from helpers.messages import raises

# Name, type, mass and atomic number of a particle that is no atom; the formats that state it.
SITES = {
    "extra-point": (("EPW", "EP", 0.0, 0), (models.write_prmtop, models.write_psf)),
    "unknown-number": (("EPW", "EP", 0.0, -1), (models.write_prmtop,)),
    "lone-pair": (("LP1", "LPH", 0.0, 0), (models.write_psf,)),
    "phosphorus-by-name": (("P", "XX", 0.0, 0), (models.write_prmtop, models.write_psf)),
    "oxygen-by-name": (("OM", "XX", 0.0, 0), (models.write_prmtop, models.write_psf)),
    "drude-by-mass": (("DOW", "DX", 0.4, 0), (models.write_prmtop, models.write_psf)),
    "drude-by-type": (("OD", "DRUD", 0.8, 0), (models.write_psf,)),
}
CASES = [
    pytest.param(site, write, id=f"{name}-{write.__name__}")
    for name, (site, writers) in SITES.items()
    for write in writers
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return one frame of the waters."""
    tj.write(tmp_path / "run.nc", models.POSITIONS[None], cells=[models.CELL])
    return tmp_path / "run.nc"


def mass_weighted(masses: np.ndarray) -> np.ndarray:
    """Return the centres of the two waters."""
    x, m = models.POSITIONS.reshape(2, 4, 3).astype(float), masses.reshape(2, 4, 1)
    centers: np.ndarray = (x * m).sum(axis=1) / m.sum(axis=1)
    return centers


@pytest.mark.parametrize(("site", "write"), CASES)
def test_sites_are_no_atoms(site: Any, write: Any, run: Path) -> None:
    """No surface, heavy atom, donor or acceptor; their stated mass counts, 0 and 0.4 too."""
    particles = models.water(*site)
    top = write(run.with_name("top"), particles)
    suffix = ".prmtop" if write is models.write_prmtop else ".psf"
    traj = tj.open(top.rename(top.with_suffix(suffix)), run, sidecar=False)
    every, atoms = traj.select("all"), traj.select(f"not name {site[0]}")
    areas = tj.sasa(every, by="atom").values
    assert np.array_equal(areas[:, [0, 1, 2, 4, 5, 6]], tj.sasa(atoms, by="atom").values)
    assert not areas[:, [3, 7]].any()
    contacts = tj.contact_map(every, heavy_only=True, by="atom")
    assert contacts.axes[0]["atom"].tolist() == [0, 4]
    bonds = tj.hbonds(every, cutoff=4.0, angle=60.0, list_bonds=True)
    assert bonds.values[0] > 0
    assert bonds.bonds is not None
    assert not {3, 7} & {*bonds.bonds.donors.tolist(), *bonds.bonds.acceptors.tolist()}
    # Nobody chooses them either.
    chosen = tj.hbonds(every, acceptors="all", cutoff=4.0, angle=60.0, list_bonds=True)
    assert chosen.bonds is not None
    assert not {3, 7} & {*chosen.bonds.acceptors.tolist()}

    masses = np.array([one.mass for one in particles])
    expected = mass_weighted(masses)
    for by in ("residue", "molecule"):
        found = tj.centers(every, by=by).values[0]  # type: ignore[arg-type]
        assert np.abs(found - expected).max() < 1e-5
    if masses[3] == 0:
        assert tj.gyration(every).values == pytest.approx(tj.gyration(atoms).values)
    assert tj.rmsd(every, weights="mass").values == pytest.approx(0, abs=1e-6)
    density = tj.linear_density(every, bins=1).values[0]
    assert density == pytest.approx(masses.sum() / 30**3 * 1.66053906660)
    assert np.isfinite(traj.fit("all", weights="mass").read().positions).all()
    assert traj.wrap(by="residue", weights="mass").n_frames == 1


@pytest.mark.parametrize(
    ("name", "mass", "radius"), [("C1", 72.0, None), ("SC1", 36.0, None), ("C1", 12.011, 1.7)]
)
def test_beads_have_no_element(name: str, mass: float, radius: float | None, run: Path) -> None:
    """A mass that is not that of the element by name; an atom of this name has one."""
    particles = models.water(name, "X", mass, 6)
    psf = models.write_psf(run.with_suffix(".psf"), particles)
    traj = tj.open(psf, run, sidecar=False)
    assert tj.contact_map(traj.select("all"), heavy_only=True, by="atom").axes[0][
        "atom"
    ].tolist() == [0, 3, 4, 7]
    bead = traj.select(f"name {name} and resid 1")
    if radius is None:
        with raises(tj.SelectionError):
            tj.sasa(bead)
    else:
        area = tj.sasa(bead).values[0]
        assert area == pytest.approx(4 * np.pi * (radius + 1.4) ** 2)


@pytest.mark.parametrize("write", [models.write_gro, models.write_pdb])
@pytest.mark.parametrize("name", ["MW", "EPW", "LP1"])
def test_unknown_masses_are_refused_with_advice_that_works(
    name: str, write: Any, run: Path
) -> None:
    """Files of names alone; the options of the error run, with the numbers of the atoms."""
    top = write(
        run.with_suffix(".gro" if write is models.write_gro else ".pdb"),
        models.water(name, "X", 0, 0),
    )
    traj = tj.open(top, run, sidecar=False)
    every = traj.select("all")
    with raises(tj.SelectionError):
        tj.centers(every)
    for job in (tj.gyration, lambda one: tj.rmsd(one, weights="mass"), tj.linear_density):
        with raises(tj.SelectionError):
            job(every)
    with raises(tj.SelectionError):
        tj.sasa(every)
    assert tj.contact_map(every, heavy_only=True, by="atom").axes[0]["atom"].tolist() == [0, 4]
    found = tj.centers(traj.select(f"all and not name {name}")).values[0]
    assert np.abs(found - mass_weighted(np.tile([15.999, 1.008, 1.008, 0], 2))).max() < 1e-4


def test_advice_on_unknown_masses_is_that_of_the_command_line(run: Path) -> None:
    """The options that errors name run."""
    name = "MW"
    top = models.write_gro(run.with_suffix(".gro"), models.water(name, "X", 0, 0))
    files = ["centers", str(top), str(run), "--select"]
    commands.fail(*files, "all")
    commands.succeed(*files, "all", "--weights", "equal")
    commands.succeed(*files, f"all and not name {name}")
    rmsd = ["rmsd", *files[1:], "all", "--weights"]
    commands.fail(*rmsd, "mass")
    commands.succeed(*rmsd, "equal")
    density = ["linear-density", *files[1:], "all"]
    commands.fail(*density)
    commands.succeed(*density, "--quantity", "number")


def test_a_group_without_mass_has_no_centre(run: Path) -> None:
    """A single site's centre is its position; that of two is an error."""
    psf = models.write_psf(run.with_suffix(".psf"), models.water("LP1", "LPH", 0.0, 0))
    traj = tj.open(psf, run, sidecar=False)
    alone = traj.select("name LP1")
    assert np.array_equal(tj.centers(alone, by="residue").values[0], models.POSITIONS[[3, 7]])
    for job in (
        lambda: tj.centers(alone, by="selection"),
        lambda: tj.gyration(alone),
        lambda: tj.rmsd(alone, weights="mass"),
        lambda: traj.center("name LP1", weights="mass"),
    ):
        with raises(tj.SelectionError):
            job()
    assert tj.centers(alone, by="selection", weights="equal").values.shape == (1, 1, 3)


def test_universes_tell_stated_zeros_from_unknown_ones(run: Path) -> None:
    """Masses that MDAnalysis guessed are 0 where they are unknown."""
    sites = models.water("MW", "X", 0.0, 0)
    psf, gro = (
        models.write_psf(run.with_suffix(".psf"), sites),
        models.write_gro(run.with_suffix(".gro"), sites),
    )
    stated, guessed = (mda.Universe(str(path), str(run)) for path in (psf, gro))
    assert guessed.atoms.masses[3] == stated.atoms.masses[3] == 0
    found = tj.centers(stated.atoms).values[0]
    assert np.abs(found - mass_weighted(np.tile([15.9994, 1.008, 1.008, 0], 2))).max() < 1e-4
    with raises(tj.SelectionError):
        tj.centers(guessed.atoms)
    guessed.add_TopologyAttr("masses", [16.0, 1.0, 1.0, 0.0] * 2)
    assert np.isfinite(tj.centers(guessed.atoms).values).all()


def test_masses_that_are_all_zero_are_unknown(run: Path) -> None:
    """They are guessed as if the file had none, with a message."""
    particles = [
        models.Particle(one.name, one.kind, 0.0, 0) for one in models.water("X", "X", 0, 0)
    ]
    traj = tj.open(models.write_psf(run.with_suffix(".psf"), particles), run, sidecar=False)
    report = tj.gyration(traj.select("name OW HW1 HW2")).report
    assert any("masses are guessed from the names" in message for message in report.messages)
    with raises(tj.SelectionError):
        tj.gyration(traj.select("all"))
