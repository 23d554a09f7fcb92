"""Advice of errors and messages of analyses is executed: after it, the message is gone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from helpers.advised_calls import (
    BEADS,
    GAP,
    UNKNOWN,
    WET,
    Advice,
    advised_location,
    beads,
    check_followed,
    flat,
    gro,
    least_memory,
    located,
    one_location,
    pairs_of,
    pairs_of_beads,
    peptide,
    selected,
    some_cells,
    trr,
    two_of_one,
    wet_without_bonds,
)
from helpers.commands import invoke as command

NO_CELL = "give pbc=False if"
NAME_TOPOLOGY = "have other masses: use a topology with masses"


def without_cell(function: Callable[..., Any], *, is_one: bool = False, **more: Any) -> Advice:
    """Return the advice on frames without a cell of an analysis of pairs."""

    def run(folder: Path, **pbc: bool) -> object:
        first, second = pairs_of(folder)
        given = {} if is_one else {"other": second}
        return function(first, **given, **more, **pbc)

    return Advice(run, NO_CELL, lambda folder: run(folder, pbc=False))


def without_some_cells(function: Callable[..., Any], **more: Any) -> Advice:
    """Return the advice to leave frames without a cell out."""

    def run(folder: Path, **frames: object) -> object:
        first, second = some_cells(folder)
        return function(first, other=second, **more, **frames)

    return Advice(run, "or leave these frames out", lambda at: run(at, frames=[0, 1, 4, 5]))


def masses(
    run: Callable[..., object], is_known: bool, names: Sequence[str], **instead: object
) -> Advice:
    """Return the advice on unknown or guessed masses: weights or a quantity that need none."""
    ((parameter, word),) = instead.items()
    pattern = rf"\({parameter}=[\"']{word}[\"']\)"
    return Advice(
        lambda folder: run(beads(folder, names)),
        (NAME_TOPOLOGY + ".*" if is_known else "mass of .* is unknown in .*") + pattern,
        lambda folder: run(beads(folder, names), **instead),
    )


def of_all(function: Callable[..., Any], **fixed: Any) -> Callable[..., object]:
    """Return a function of a trajectory and keywords that analyses all its atoms."""
    return lambda traj, **more: function(traj.select("all"), **{**fixed, **more})


# Calls with masses, and the keyword by which the advice does without.
OF_MASSES: dict[str, tuple[Callable[..., object], dict[str, str]]] = {
    "gyration": (of_all(tj.gyration, weights="mass"), {"weights": "equal"}),
    "gyration_moments": (of_all(tj.gyration_moments, weights="mass"), {"weights": "equal"}),
    "centers": (of_all(tj.centers, by="residue", weights="mass"), {"weights": "equal"}),
    "center_distances": (
        of_all(tj.center_distances, by="residue", weights="mass"),
        {"weights": "equal"},
    ),
    "msd": (of_all(tj.msd, by="residue", weights="mass", unwrapped=True), {"weights": "equal"}),
    "rmsd": (of_all(tj.rmsd, weights="mass"), {"weights": "equal"}),
    "rmsd of groups": (
        lambda traj, **more: tj.rmsd(
            traj.select("all"), groups=[traj.select("all")], **{"group_weights": "mass", **more}
        ),
        {"group_weights": "equal"},
    ),
    "rmsf": (of_all(tj.rmsf, align="same", weights="mass"), {"weights": "equal"}),
    "pca": (of_all(tj.pca, align="same", weights="mass"), {"weights": "equal"}),
    "pairwise_rmsd": (of_all(tj.pairwise_rmsd, weights="mass"), {"weights": "equal"}),
    "cluster_rmsd": (of_all(tj.cluster_rmsd, cutoff=5.0, weights="mass"), {"weights": "equal"}),
    "density": (of_all(tj.density, quantity="mass"), {"quantity": "number"}),
    "linear_density": (of_all(tj.linear_density, quantity="mass"), {"quantity": "number"}),
}


def centers(traj: tj.Trajectory) -> tj.Table:
    """Analyse a transformed trajectory, whose transforms have their messages in the report."""
    return tj.centers(traj.select("all"), weights="equal")


def transform(
    run: Callable[..., tj.Trajectory], names: Sequence[str], pattern: str, is_known: bool
) -> Advice:
    """Return the advice on masses of a transform."""
    return Advice(
        lambda folder: centers(run(beads(folder, names), weights="mass")),
        (NAME_TOPOLOGY if is_known else "mass of .* is unknown in") + rf".*{pattern}",
        lambda folder: centers(run(beads(folder, names), weights="equal")),
    )


TRANSFORMS: dict[str, tuple[Callable[..., tj.Trajectory], str]] = {
    "fit": (lambda traj, **more: traj.fit("all", **more), r'\(fit\(weights="equal"\)\)'),
    "center": (lambda traj, **more: traj.center("all", **more), r'\(center\(weights="equal"\)\)'),
    "wrap": (lambda traj, **more: traj.wrap(by="residue", **more), r'\(wrap\(weights="equal"\)\)'),
}

ADVICE: dict[str, Advice] = {
    **{
        f"{name}: masses {'guessed' if is_known else 'unknown'}": masses(
            run, is_known, names, **instead
        )
        for name, (run, instead) in OF_MASSES.items()
        for is_known, names in ((True, BEADS), (False, UNKNOWN))
    },
    **{
        f"{name}: masses {'guessed' if is_known else 'unknown'}": transform(
            run, names, pattern, is_known
        )
        for name, (run, pattern) in TRANSFORMS.items()
        for is_known, names in ((True, BEADS), (False, UNKNOWN))
    },
    "min_distance without a cell": without_cell(tj.min_distance),
    "contacts without a cell": without_cell(tj.contacts, cutoff=5.0),
    "contact_map without a cell": without_cell(tj.contact_map, heavy_only=False, cutoff=5.0),
    "center_distances without a cell": without_cell(tj.center_distances, weights="equal"),
    "min_distance without some cells": without_some_cells(tj.min_distance),
    "contacts without some cells": without_some_cells(tj.contacts, cutoff=5.0),
    "distances without some cells": without_some_cells(tj.distances),
    "contacts in nm": Advice(
        lambda at: tj.contacts(flat(at), cutoff=0.35),
        r"give cutoff=3\.5 if 0\.35 nm",
        lambda at: tj.contacts(flat(at), cutoff=3.5),
    ),
    "contacts in nm, by the command": Advice(
        lambda at: command(
            "contacts", gro(at, BEADS), trr(at), "--select", "all", "--cutoff", 0.35
        ),
        r"--cutoff 3\.5 if 0\.35 nm",
        lambda at: command("contacts", gro(at, BEADS), trr(at), "--select", "all", "--cutoff", 3.5),
    ),
    "rdf in nm": Advice(
        lambda at: tj.rdf(flat(at), range=(0, 0.9), bins=9),
        r"give range=\(0, 9\) if nm",
        lambda at: tj.rdf(flat(at), range=(0, 9), bins=9),
    ),
    "rdf beyond the cell": Advice(
        lambda at: tj.rdf(flat(at), range=(0, 15), bins=9),
        "choose a smaller range",
        lambda at: tj.rdf(flat(at), range=(0, 9.9), bins=9),
    ),
    "rdf without some cells": Advice(
        lambda at: tj.rdf(some_cells(at)[0], range=(0, 9), bins=9),
        "choose frames that have one",
        lambda at: tj.rdf(some_cells(at)[0], range=(0, 9), bins=9, frames=[0, 1, 4, 5]),
    ),
    "position that is missing": Advice(
        lambda at: tj.contacts(flat(at, missing=2), cutoff=5.0),
        "leave this frame out",
        lambda at: tj.contacts(flat(at, missing=2), cutoff=5.0, frames=[0, 1, 3]),
    ),
    "msd over a gap, before it": Advice(
        lambda at: tj.msd(flat(at, times=GAP)),
        r"one side of the gap \(frames=slice\(3\) or",
        lambda at: tj.msd(flat(at, times=GAP), frames=slice(None, 3)),
    ),
    "msd over a gap, behind it": Advice(
        lambda at: tj.msd(flat(at, times=GAP)),
        r"or frames=slice\(3, None\)\)",
        lambda at: tj.msd(flat(at, times=GAP), frames=slice(3, None)),
    ),
    "msd over a gap that is none": Advice(
        lambda at: tj.msd(flat(at, times=GAP)),
        "give the time between frames with time_step=PS",
        lambda at: tj.msd(tj.open(None, trr(at, GAP), time_step=1.0).select(range(6))),
    ),
    "msd of a continued run": Advice(
        lambda at: tj.msd(flat(at, times=(0, 1, 2, 2, 3, 4))),
        "give continuous=True",
        lambda at: tj.msd(
            tj.open(None, trr(at, (0, 1, 2, 2, 3, 4)), continuous=True).select(range(6))
        ),
    ),
    "msd of frames backwards": Advice(
        lambda at: tj.msd(flat(at), frames=slice(None, None, -1)),
        "choose frames from the first to the last",
        lambda at: tj.msd(flat(at), frames=slice(None, None, 1)),
    ),
    "msd of wrapped atoms": Advice(
        lambda at: tj.msd(flat(at, step=1.1)),
        "give unwrapped=True if",
        lambda at: tj.msd(flat(at, step=1.1), unwrapped=True),
    ),
    "msd of wrapped atoms, with their jumps removed": Advice(
        lambda at: tj.msd(flat(at, step=1.1)),
        r"with selection\.nojump\(\), or",
        lambda at: tj.msd(flat(at, step=1.1).nojump()),
    ),
    "locations": Advice(
        lambda at: tj.gyration(selected(at, ""), weights="equal"),
        "take one location of each residue",
        lambda at: tj.gyration(selected(at, advised_location(at)), weights="equal"),
    ),
    "locations in dssp": Advice(
        lambda at: tj.dssp(selected(at, "")),
        "'… and not altloc B'",
        lambda at: tj.dssp(selected(at, " and not altloc B")),
    ),
    "locations in a fit": Advice(
        lambda at: centers(located(at).fit("all")),
        "take one location of each residue",
        lambda at: tj.centers(
            located(at).fit(f"all{advised_location(at)}").select("all and not altloc B"),
            weights="equal",
        ),
    ),
    "one group, by residue": Advice(
        lambda at: tj.center_distances(flat(at), weights="equal"),
        "by='residue'",
        lambda at: tj.center_distances(
            beads(at).select("all"), by="residue", weights="equal", pbc=False
        ),
    ),
    "clusters without a cutoff": Advice(
        lambda at: tj.cluster_rmsd(flat(at), n_clusters=2),
        r"give cutoff=1\.5",
        lambda at: tj.cluster_rmsd(flat(at), cutoff=1.5),
    ),
    "clusters by their number": Advice(
        lambda at: tj.cluster_rmsd(flat(at), n_clusters=2),
        "give method='kcenters'",
        lambda at: tj.cluster_rmsd(flat(at), n_clusters=2, method="kcenters"),
    ),
    "clusters in nm": Advice(
        lambda at: tj.cluster_rmsd(flat(at), cutoff=0.05),
        r"give cutoff=0\.5",
        lambda at: tj.cluster_rmsd(flat(at), cutoff=0.5),
    ),
    "lifetimes": Advice(
        lambda at: tj.hbonds(peptide(at).select("protein"), max_lag=50.0),
        "set lifetimes=True",
        lambda at: tj.hbonds(peptide(at).select("protein"), max_lag=50.0, lifetimes=True),
    ),
    "max_lag beyond the frames": Advice(
        lambda at: tj.msd(flat(at), max_lag=50.0),
        "choose a lag above 0 and up to that",
        lambda at: tj.msd(flat(at), max_lag=5.0),
    ),
    "hydrogen bonds without bonds": Advice(
        lambda at: tj.hbonds(wet_without_bonds(at).select("protein")),
        "with guess_bonds=True",
        lambda at: tj.hbonds(wet_without_bonds(at).select("protein"), guess_bonds=True),
    ),
    "molecules without bonds": Advice(
        lambda at: wet_without_bonds(at).whole(),
        "with guess_bonds=True",
        lambda at: wet_without_bonds(at).whole(guess_bonds=True),
    ),
    "clustering without bonds": Advice(
        lambda at: wet_without_bonds(at).cluster("protein"),
        r"whole\(guess_bonds=True\)",
        lambda at: wet_without_bonds(at).whole(guess_bonds=True).cluster("protein"),
    ),
    "native contacts of neighbours": Advice(
        lambda at: tj.native_contacts(one_location(at), cutoff=12.0),
        "give a lower exclude_neighbors=, or -1",
        lambda at: tj.native_contacts(one_location(at), cutoff=12.0, exclude_neighbors=-1),
    ),
    "contact map of neighbours": Advice(
        lambda at: tj.contact_map(one_location(at), exclude_neighbors=9, by="residue"),
        "a smaller exclude_neighbors",
        lambda at: tj.contact_map(one_location(at), exclude_neighbors=0, by="residue"),
    ),
    "density of a large grid": Advice(
        lambda at: tj.density(flat(at), spacing=1e-3),
        "choose a larger spacing",
        lambda at: tj.density(flat(at), spacing=1.0),
    ),
    "atoms that are selected in each frame": Advice(
        lambda at: tj.gyration(beads(at).select("around 5 index 0", updating=True)),
        r"select with updating=False",
        lambda at: tj.gyration(beads(at).select("around 5 index 0"), weights="equal"),
    ),
    "atoms that are selected in each frame, of one": Advice(
        lambda at: tj.gyration(beads(at).select("around 5 index 0", updating=True)),
        r"with \.at\(frame\)",
        lambda at: tj.gyration(
            beads(at).select("around 5 index 0", updating=True).at(1), weights="equal"
        ),
    ),
    "selections of two trajectories": Advice(
        lambda at: tj.distances(flat(at), other=flat(at)),
        "transform the trajectory first, then select from it",
        lambda at: tj.distances(two_of_one(at)[0]),
    ),
    "file as reference of a fit": Advice(
        lambda at: beads(at).fit("name CA", reference=str(gro(at, BEADS, "r.gro"))),  # type: ignore[arg-type]
        r"give tj\.open\('.*r\.gro'\)\.select\('name CA'\)\.read\(\[0\]\)\.positions\[0\]",
        lambda at: beads(at).fit(
            "name CA",
            reference=tj.open(str(gro(at, BEADS, "r.gro")))
            .select("name CA")
            .read([0])
            .positions[0],
        ),
    ),
    "workers of a pool": Advice(
        lambda at: command("gyration", gro(at, BEADS), trr(at), "--select", "all", "--workers", 2),
        "use --threads with --pool local",
        lambda at: command(
            "gyration",
            gro(at, BEADS),
            trr(at),
            "--select",
            "all",
            "--threads",
            2,
            "--weights",
            "equal",
        ),
    ),
    "two ways to choose frames": Advice(
        lambda at: command(
            "gyration", gro(at, BEADS), trr(at), "--select", "all", "--start", 1, "--end", 3
        ),
        r"\(--start, --stop\) or times",
        lambda at: command(
            "gyration",
            gro(at, BEADS),
            trr(at),
            "--select",
            "all",
            "--start",
            1,
            "--stop",
            3,
            "--weights",
            "equal",
        ),
    ),
    "repair and whole": Advice(
        lambda at: command(
            "gyration", *WET, "--select", "protein", "--repair", "protein", "--whole"
        ),
        "leave --whole, --cluster, --center and --wrap out",
        lambda at: command("gyration", *WET, "--select", "protein", "--repair", "protein"),
    ),
    "memory of an MSD": Advice(
        lambda at: tj.msd(flat(at), max_memory=10),
        r"give at least \d+",
        lambda at: tj.msd(flat(at), max_memory=least_memory(at)),
    ),
    "memory of an RMSD matrix": Advice(
        lambda at: tj.pairwise_rmsd(flat(at), max_memory=1000),
        "choose fewer frames",
        lambda at: tj.pairwise_rmsd(flat(at), max_memory=1000, frames=[0, 1]),
    ),
    "memory of an RMSD matrix, in a file": Advice(
        lambda at: tj.pairwise_rmsd(flat(at), max_memory=1400),
        r"write the matrix to a file \(matrix_path=",
        lambda at: tj.pairwise_rmsd(flat(at, times=range(9)), matrix_path=at / "matrix.npy"),
    ),
    "memory of components": Advice(
        lambda at: tj.pca(flat(at), max_memory=1500),
        "choose fewer frames",
        lambda at: tj.pca(flat(at), max_memory=1500, frames=[0, 1]),
    ),
    "memory of hydrogen bonds": Advice(
        lambda at: tj.hbonds(peptide(at).select("protein"), max_memory=10),
        "max_memory=10: raise it",
        lambda at: tj.hbonds(peptide(at).select("protein"), max_memory=10**9),
    ),
    "heavy atoms that are unknown": Advice(
        lambda at: tj.contact_map(
            beads(at, UNKNOWN).select("all"), exclude_neighbors=0, heavy_only=True
        ),
        "give heavy_only=False",
        lambda at: tj.contact_map(
            beads(at, UNKNOWN).select("all"), exclude_neighbors=0, heavy_only=False
        ),
    ),
    "native heavy atoms that are unknown": Advice(
        lambda at: tj.native_contacts(
            beads(at, UNKNOWN).select("all"), cutoff=3.5, heavy_only=True, exclude_neighbors=-1
        ),
        "give heavy_only=False",
        lambda at: tj.native_contacts(
            beads(at, UNKNOWN).select("all"), cutoff=3.5, heavy_only=False, exclude_neighbors=-1
        ),
    ),
    "radii that are unknown": Advice(
        lambda at: tj.sasa(beads(at, UNKNOWN).select("all")),
        "give radii= as numbers",
        lambda at: tj.sasa(beads(at, UNKNOWN).select("all"), radii=[1.7] * 6),
    ),
    "radii of the known": Advice(
        lambda at: tj.sasa(beads(at, UNKNOWN).select("all")),
        "leave these atoms out",
        lambda at: tj.sasa(beads(at, UNKNOWN).select("not name QX")),
    ),
    "radii of some": Advice(
        lambda at: tj.sasa(beads(at).select("name CA"), radii=[1.7] * 3),
        "give one for each of them, not for the selected ones",
        lambda at: tj.sasa(beads(at).select("name CA"), radii=[1.7] * 6),
    ),
    "dihedrals without residues": Advice(
        lambda at: tj.dihedrals(beads(at).select("all")),
        r"give four atoms of each angle \(quadruples=\)",
        lambda at: tj.dihedrals(beads(at), quadruples=[[0, 1, 2, 3]]),
    ),
    "no dihedrals": Advice(
        lambda at: command("dihedrals", gro(at, BEADS), trr(at)),
        r"--quadruples",
        lambda at: command("dihedrals", gro(at, BEADS), trr(at), "--quadruples", "0,1,2,3"),
    ),
    "reference without a fit": Advice(
        lambda at: tj.rmsf(flat(at), reference=1),
        "need align=",
        lambda at: tj.rmsf(flat(at), reference=1, align="same"),
    ),
    "fluctuations without a fit": Advice(
        lambda at: tj.rmsf(flat(at)),
        'give align="same"',
        lambda at: tj.rmsf(flat(at), align="same"),
    ),
    "fluctuations of one frame": Advice(
        lambda at: tj.rmsf(flat(at), align="same", frames=[0]),
        "choose more frames",
        lambda at: tj.rmsf(flat(at), align="same", frames=[0, 1]),
    ),
    "average of frames that are not fitted": Advice(
        lambda at: tj.rmsd(flat(at), reference="average", motion="none"),
        "leave motion='none' out",
        lambda at: tj.rmsd(flat(at), reference="average"),
    ),
    "radius of gyration of one atom": Advice(
        lambda at: tj.gyration(flat(at).trajectory.select([0]), weights="equal"),
        "choose more",
        lambda at: tj.gyration(flat(at).trajectory.select([0, 1]), weights="equal"),
    ),
    "density beside its grid": Advice(
        lambda at: tj.density(flat(at), grid_center=(0, 0, 0), grid_size=(4, 4, 4)),
        "choose another grid_center or a larger grid_size",
        lambda at: tj.density(flat(at), grid_center=(7, 0, 0), grid_size=(40, 40, 40)),
    ),
    "density of no atom at first": Advice(
        lambda at: tj.density(beads(at).select("prop x < 0.1", updating=True)),
        "give grid_center and grid_size",
        lambda at: tj.density(
            beads(at).select("prop x < 0.1", updating=True),
            grid_center=(7, 0, 0),
            grid_size=(40, 40, 40),
        ),
    ),
    "selection in nm": Advice(
        lambda at: tj.count(beads(at).select("name CB and around 0.35 index 0", updating=True)),
        r"write around 3\.5",
        lambda at: tj.count(beads(at).select("name CB and around 3.5 index 0", updating=True)),
    ),
    "end of one atom": Advice(
        lambda at: tj.end_to_end(beads(at).select("name CA"), by="residue"),
        "select more of its atoms",
        lambda at: tj.end_to_end(beads(at).select("all"), by="residue"),
    ),
    "molecules, which need bonds": Advice(
        lambda at: tj.centers(beads(at).select("all"), by="molecule", weights="equal"),
        "residues in place of molecules|use a topology that has",
        lambda at: tj.centers(beads(at).select("all"), by="residue", weights="equal"),
    ),
    "lag of a correlation": Advice(
        lambda at: tj.hbonds(peptide(at).select("protein"), lifetimes=True, max_lag=10**6),
        "choose a lag from 0 to that",
        lambda at: tj.hbonds(peptide(at).select("protein"), lifetimes=True, max_lag=99.0),
    ),
    "hydrogens in no selection": Advice(
        lambda at: tj.hbonds(peptide(at).select("protein and name CA")),
        "give other atoms, donors= ",
        lambda at: tj.hbonds(peptide(at).select("protein")),
    ),
    "times that are all equal, by the command": Advice(
        lambda at: command("rmsd", gro(at, BEADS), trr(at, [0] * 6), "--select", "all", "--end", 3),
        "--time-step PS",
        lambda at: command(
            *("rmsd", gro(at, BEADS), trr(at, [0] * 6), "--select", "all", "--end", 3),
            *("--time-step", 1),
        ),
    ),
    "clusters of a matrix with weights": Advice(
        lambda at: tj.cluster_rmsd(
            tj.pairwise_rmsd(beads(at).select("all")), cutoff=1.5, weights=[2, 1, 1, 1, 1, 1]
        ),
        "to pairwise_rmsd, or give a selection",
        lambda at: tj.cluster_rmsd(
            tj.pairwise_rmsd(beads(at).select("all"), weights=[2, 1, 1, 1, 1, 1]), cutoff=1.5
        ),
    ),
    "angles of features": Advice(
        lambda at: tj.features([tj.dihedrals.job(beads(at).select("all"))]),
        r"four atoms of each angle \(quadruples=",
        lambda at: tj.features([tj.dihedrals.job(beads(at), quadruples=[[0, 1, 2, 3]])]),
    ),
    "native contacts beyond the cell": Advice(
        lambda at: tj.native_contacts(peptide(at).select("protein"), cutoff=14.0),
        r"\(pbc=False\)",
        lambda at: tj.native_contacts(peptide(at).select("protein"), cutoff=14.0, pbc=False),
    ),
    "native contacts of a shorter cut-off": Advice(
        lambda at: tj.native_contacts(peptide(at).select("protein"), cutoff=14.0),
        "choose a shorter cut-off or a smaller factor",
        lambda at: tj.native_contacts(peptide(at).select("protein"), cutoff=4.5),
    ),
    "pairs of sites within larger ones": Advice(
        lambda at: pairs_of_beads(at, by="molecule", exclude="residue"),
        "exclude pairs of one molecule, or take smaller sites",
        lambda at: pairs_of_beads(at, by="residue", exclude="residue"),
    ),
    "blocks of pairs": Advice(
        lambda at: tj.rdf(beads(at).select("all"), exclude=(3, 3), range=(0, 9)),
        "choose atoms and sizes so that each block is one molecule",
        lambda at: tj.rdf(beads(at).select("all"), exclude=(2, 2), range=(0, 9)),
    ),
    "frames of one of several jobs": Advice(
        lambda at: tj.run([tj.rmsd.job(flat(at), frames=[0])]),
        r"give it to tj\.run",
        lambda at: tj.run([tj.rmsd.job(flat(at))], frames=[0]),
    ),
    "one trajectory resumed": Advice(
        lambda at: tj.run([tj.rmsd.job(flat(at))], resume=at / "kept"),  # type: ignore[arg-type]
        r"make one with tj\.ensemble",
        lambda at: tj.run(
            [tj.rmsd.job(tj.ensemble([{"trajectory": WET[1]}], topology=WET[0]).select("protein"))],
            resume=at / "kept",
        ),
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_message_is_gone_after_its_advice(name: str, tmp_path: Path) -> None:
    """The call with the advice returns, and its messages do not have the advice again."""
    check_followed(ADVICE[name], tmp_path)
