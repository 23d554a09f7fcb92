"""Rows of docs/coming-from have the numbers of MDAnalysis and mdtraj.

Both columns of a row are executed, on the sample of a peptide in water, whose molecules are broken
across the box. Names of atoms and residues of the page are replaced by those of the sample.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import trajet as tj
from docs.test_coming_from_docs import CODE, FOLDER, rows_of

Numbers = Callable[[Any, dict[str, Any]], Any]
SAMPLE = {
    "top.tpr": "top.psf",
    "name OW": "resname HOH and name O",
    "resname SOL": "resname HOH",
    "NA+": "NA CL",
    "=2.0)": "=3.0)",
    "resid 99": "resid 10",
    "resid 30-214": "resid 5-10",
    "resid 1-29": "resid 1-4",
}
# Below MDAnalysis.analysis.
MODULES = "align contacts density diffusionmap dihedrals distances lineardensity msd pca rdf rms"
CLASSES = {
    "base": "AnalysisFromFunction", "dssp": "DSSP", "hydrogenbonds": "HydrogenBondAnalysis"
}  # fmt: skip
# In three of them the peptide is broken.
FRAMES, N_FRAMES = slice(52, 60), 8


class Row(NamedTuple):
    """How the numbers of a row are taken from the values of its columns.

    `mistake` is a call of either program that looks right and is wrong: its numbers must differ.
    With `of_protein`, mdtraj has the protein alone.
    """

    theirs: Numbers
    ours: Numbers = lambda result, names: result.values
    rtol: float = 1e-5
    atol: float = 2e-3
    mistake: str = ""
    of_protein: bool = False


def of_file(name: str) -> Numbers:
    """Return the positions of a file that a call has written, which is removed."""

    def read(_: object, names: dict[str, Any]) -> np.ndarray:
        positions = tj.open(None, name, sidecar=False).read().positions
        for path in {Path(name), *Path().glob("dry.pdb")}:
            path.unlink()
        return positions

    return read


def for_each_frame(compute: Callable[[dict[str, Any]], Any]) -> Numbers:
    """Return the numbers of a call that looks at the current frame of `u`."""
    return lambda _, names: np.array([compute(names) for _ in names["u"].trajectory])


MDANALYSIS = {
    "load": Row(
        lambda u, _: [u.atoms.n_atoms, len(u.trajectory)],
        lambda traj, _: [traj.n_atoms, traj.n_frames],
    ),
    "several files": Row(
        lambda u, _: [ts.time for ts in u.trajectory], lambda traj, _: traj.times,
        mistake='tj.open("top.tpr", "part2.xtc", "run.xtc")',
    ),
    # MDAnalysis counts from 0, trajet from the integration step of the first frame.
    "another time step": Row(
        lambda u, _: [ts.time for ts in u.trajectory],
        lambda traj, _: traj.times - traj.times[0],
        mistake='tj.open("top.tpr", "run.xtc")',
    ),
    "names, masses": Row(lambda _, names: names["u"].atoms.masses, lambda masses, _: masses),
    "select": Row(
        lambda atoms, _: atoms.indices, lambda chosen, _: chosen.indices,
        mistake='traj.select("name CB")',
    ),
    "updating selection": Row(
        lambda atoms, names: [atoms.n_atoms for _ in names["u"].trajectory],
        lambda chosen, _: tj.count(chosen).values,
        mistake='traj.select("around 6 protein", updating=True)',
    ),
    "one frame": Row(lambda x, _: x, lambda x, _: x, mistake='traj.select("name CA")[6].positions'),
    "strip water": Row(of_file("dry.xtc"), of_file("dry.xtc")),
    "convert": Row(of_file("run.dcd"), of_file("run.dcd")),
    "RMSD with fit": Row(
        lambda result, _: result.results.rmsd[:, 2],
        mistake='tj.rmsd(traj.select("name CA"), reference=1)',
    ),
    "RMSD of other atoms after the fit": Row(
        lambda result, _: result.results.rmsd[:, 2:],
        mistake='tj.rmsd(traj.select("name CB"), groups=["name CB"])',
    ),
    "RMSD of all pairs": Row(
        lambda result, _: result.results.dist_matrix,
        mistake='diffusionmap.DistanceMatrix(u, select="name CA").run()',
    ),
    "RMSF": Row(lambda result, _: result.results.rmsf, mistake='tj.rmsf(traj.select("name CA"))'),
    "radius of gyration": Row(
        for_each_frame(lambda names: names["protein"].radius_of_gyration()),
        mistake='tj.gyration(traj.select("protein"), weights="equal")',
    ),
    "distances": Row(
        for_each_frame(
            lambda names: names["distances"].distance_array(
                names["a"].positions, names["b"].positions, box=names["u"].dimensions
            )
        ),
        lambda result, _: result.values.reshape(-1, 1, 1),
        mistake='tj.distances(traj.select("resid 8 and name CA"), "resid 99 and name CA")',
    ),
    "contacts": Row(
        lambda result, _: result.results.timeseries[:, 1],
        mistake='tj.native_contacts(traj.select("resid 1-29"), "resid 30-214")',
    ),
    "hydrogen bonds": Row(
        lambda result, _: result.count_by_time(),
        mistake='HydrogenBondAnalysis(u, between=["protein", "protein"]).run()',
    ),
    "φ and ψ": Row(
        lambda result, _: result.results.angles.reshape(N_FRAMES, -1),
        mistake='tj.dihedrals(traj.select("resid 1-29"))',
    ),
    "DSSP": Row(
        lambda result, _: result.results.dssp == "E", lambda result, _: result.values == "E",
        mistake='tj.dssp(traj.select("protein"))',
    ),
    "PCA": Row(
        lambda result, _: result.results.variance[: N_FRAMES - 1],
        lambda result, _: result.variances,
        atol=5e-6, rtol=0,
        mistake='tj.pca(traj.select("name CA"))',
    ),
    "RDF": Row(
        lambda result, _: result.results.rdf, lambda result, _: result.g, rtol=5e-3,
        mistake="rdf.InterRDF(ow, ow).run()",
    ),
    "MSD": Row(
        lambda result, _: result.results.timeseries,
        mistake='tj.msd(traj.nojump().select("resname SOL"))',
    ),
    "density on a grid": Row(
        lambda result, _: result.results.density.grid.sum() * 8,
        lambda result, _: result.values.sum() * 8,
        rtol=1e-3, mistake='tj.density(traj.select("name OW"), spacing=1.0)',
    ),
    "superposed trajectory": Row(
        lambda _, names: of_file("fit.xtc")(_, names)[:, names["protein"].indices],
        of_file("fit.xtc"), atol=0.011,
    ),
    "your own function": Row(
        lambda result, _: result.results.timeseries,
        mistake='tj.apply(traj.select("name CA"), lambda positions: positions[0])',
    ),
}  # fmt: skip
# Statements, figures, and rows for which one program has no numbers. `LinearDensity` takes the cell
# of one frame for all, and `repair` takes other images; `tests/analyses` compares these.
MDANALYSIS_ELSEWHERE = {
    *("loop", "contact map", "SASA", "clusters", "density along an axis", "repair of the box"),
    *("survival of waters", "numbers", "figure", "processes", "several analyses"),
}
MDTRAJ = {
    "load": Row(
        lambda t, _: [t.n_atoms, t.n_frames], lambda traj, _: [traj.n_atoms, traj.n_frames]
    ),
    "several files": Row(lambda t, _: t.time, lambda traj, _: traj.times),
    "select": Row(lambda found, _: found, lambda chosen, _: chosen.indices),
    "positions": Row(lambda xyz, _: 10 * xyz, lambda positions, _: positions),
    "one frame": Row(lambda t, _: 10 * t.xyz[0], lambda frame, _: frame.positions),
    "cell": Row(lambda lengths, _: 10 * lengths[:1], lambda cells, _: cells),
    "strip water": Row(
        of_file("dry.xtc"), of_file("dry.xtc"),
        mistake='tj.convert(traj.select("not resname SOL"), "dry.xtc", topology="dry.pdb")',
    ),
    "some atoms": Row(lambda t, _: 10 * t.xyz, lambda chosen, _: chosen.read().positions),
    "RMSD with fit": Row(
        lambda rmsd, _: 10 * rmsd, mistake='tj.rmsd(traj.select("name CB"), reference=0)'
    ),
    "RMSD of all pairs": Row(
        lambda rmsd, names: [
            10 * rmsd(names["t"], names["t"], frame=k, atom_indices=names["ca"])
            for k in range(N_FRAMES)
        ],
        atol=5e-3, mistake='tj.pairwise_rmsd(traj.select("name CB"))',
    ),
    "RMSF": Row(lambda rmsf, _: 10 * rmsf, mistake='tj.rmsf(traj.select("name CA"))'),
    "radius of gyration": Row(
        lambda rg, _: 10 * rg, mistake='tj.gyration(traj.select("protein"))', of_protein=True
    ),
    "distances": Row(
        lambda found, _: 10 * found[:, :, None], mistake='tj.distances(traj.select([0]), "index 8")'
    ),
    "contacts of residues": Row(
        lambda found, _: (found[0] < 0.45).mean(axis=0),
        lambda result, _: result.values[np.triu_indices(10, 3)],
        mistake='tj.contact_map(traj.select("protein"), exclude_neighbors=2)', of_protein=True,
    ),
    "φ and ψ": Row(
        lambda _, names: np.degrees(
            np.stack(
                [
                    names["md"].compute_phi(names["t"])[1][:, :-1],
                    names["md"].compute_psi(names["t"])[1][:, 1:],
                ],
                axis=2,
            ).reshape(N_FRAMES, -1)
        ),
    ),
    "any dihedral angle": Row(
        lambda angles, _: np.degrees(angles), mistake="tj.dihedrals(traj, [[0, 4, 6, 7]])"
    ),
    "hydrogen bonds": Row(
        lambda _, names: [
            len(names["md"].baker_hubbard(frame, freq=0)) for frame in names["t"]
        ],
        mistake='tj.hbonds(traj.select("protein"), guess_bonds=True)', of_protein=True,
    ),
    "DSSP": Row(
        lambda found, _: found == "T", lambda result, _: result.values == "T", of_protein=True
    ),
    "SASA": Row(
        lambda areas, _: 100 * areas, atol=0.5, rtol=0, of_protein=True,
        mistake='tj.sasa(traj.select("protein"), by="residue", probe=1.2)',
    ),
    "RDF": Row(
        lambda found, _: found[1], lambda result, _: result.g, rtol=5e-3,
        mistake='tj.rdf(traj.select("name OW"), range=(0, 15), bins=75)',
    ),
    "whole molecules": Row(
        lambda t, _: 10 * np.diff(t.xyz[:, :166], axis=1),
        lambda traj, _: np.diff(traj.read().positions[:, :166].astype(float), axis=1),
        mistake="traj",
    ),
    "repair of the box": Row(
        lambda t, _: 10 * np.diff(t.xyz[:, :166], axis=1),
        lambda traj, _: np.diff(traj.read().positions[:, :166].astype(float), axis=1),
        mistake="traj",
    ),
    "superposed positions": Row(
        lambda t, names: 10 * t.xyz[:, names["ca"]], lambda positions, _: positions,
        mistake='traj.select("name CA").read().positions',
    ),
    "your own function": Row(
        lambda _, names: 10 * names["t"].xyz[:, names["ca"]].mean(axis=1),
        mistake='tj.apply(traj.select("name CA"), lambda positions: positions[0])',
    ),
}  # fmt: skip
MDTRAJ_ELSEWHERE = {
    *("in pieces", "convert", "PCA", "clusters", "MSD", "density on a grid", "figure", "processes")
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the pages name."""
    made = tmp_path_factory.mktemp("rows")
    sample = tj.samples.peptide_in_water()
    (made / "top.psf").write_bytes(sample.topology.read_bytes())
    traj = sample.open()
    tj.convert(traj, made / "run.xtc", frames=FRAMES)
    tj.convert(traj, made / "part2.xtc", frames=slice(60, 64))
    traj[FRAMES.start].save(made / "top.gro")
    return made


def names_of_mdanalysis(task: str) -> dict[str, Any]:
    """Return what the column of MDAnalysis names, with a new Universe."""
    import MDAnalysis as mda
    from MDAnalysis import analysis
    from MDAnalysis.transformations.nojump import NoJump

    names: dict[str, Any] = {"mda": mda}
    names |= {name: import_module(f"{analysis.__name__}.{name}") for name in MODULES.split()}
    for module, name in CLASSES.items():
        names[name] = getattr(import_module(f"{analysis.__name__}.{module}"), name)
    u = mda.Universe("top.psf", "run.xtc")
    groups = {
        "ca": "name CA",
        "ow": "resname HOH and name O",
        "protein": "protein",
        "a": "resid 1-4" if task == "contacts" else "resid 9 and name CA",
        "b": "resid 5-10" if task == "contacts" else "resid 10 and name CA",
    }
    names |= {name: u.select_atoms(text) for name, text in groups.items()}
    if task == "MSD":
        u.trajectory.add_transformations(NoJump())
        # The faster way needs a further package.
        names["msd"] = SimpleNamespace(EinsteinMSD=partial(names["msd"].EinsteinMSD, fft=False))
    traj = tj.open("top.psf", "run.xtc")
    own = {"f": lambda atoms: atoms.positions.mean(axis=0), "partial": partial}
    return names | own | {"u": u, "traj": traj, "tj": tj}


def names_of_mdtraj(task: str) -> dict[str, Any]:
    """Return what the column of mdtraj names."""
    import mdtraj as md

    t = md.load("run.xtc", top="top.gro")
    water = "name O and resname HOH"
    names = {"pairs": t.topology.select_pairs(water, water), "indices": [0, 1, 2]}
    if MDTRAJ[task].of_protein:
        t = t.atom_slice(t.topology.select("protein"))
    names["ca"] = t.topology.select("name CA")
    return names | {"md": md, "t": t, "traj": tj.open("top.gro", "run.xtc"), "tj": tj}


def numbers_of(codes: list[str], take: Numbers, names: dict[str, Any]) -> np.ndarray:
    """Execute calls of a column, and return the numbers of the last one."""
    result: Any = None
    text = "\n".join(codes)
    for name, own in SAMPLE.items():
        text = text.replace(name, own)
    for code in text.splitlines():
        result = eval(code, names)
    return np.asarray(take(result, names), dtype=float)


@pytest.mark.parametrize(
    ("page", "task"),
    [("mdanalysis", task) for task in MDANALYSIS] + [("mdtraj", task) for task in MDTRAJ],
)
@pytest.mark.filterwarnings("ignore")
def test_both_columns_have_the_same_numbers(
    page: str, task: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the system would show a mistake: a call that looks right has other numbers."""
    monkeypatch.chdir(folder)
    row, names_of = {
        "mdanalysis": (MDANALYSIS.get(task), names_of_mdanalysis),
        "mdtraj": (MDTRAJ.get(task), names_of_mdtraj),
    }[page]
    assert row is not None
    cells = {name: texts for name, *texts in rows_of(FOLDER / f"{page}.md")}[task]
    theirs, ours = (
        numbers_of(CODE.findall(cell), take, names_of(task))
        for cell, take in zip(cells, (row.theirs, row.ours), strict=True)
    )
    assert theirs.shape == ours.shape
    np.testing.assert_allclose(ours, theirs, rtol=row.rtol, atol=row.atol)
    if row.mistake:
        take = row.ours if row.mistake.startswith(("tj.", "traj")) else row.theirs
        wrong = numbers_of([row.mistake], take, names_of(task))
        tolerances = {"rtol": row.rtol, "atol": row.atol}
        assert wrong.shape != theirs.shape or not np.allclose(wrong, theirs, **tolerances)


@pytest.mark.parametrize(
    ("page", "known"),
    [
        ("mdanalysis", {*MDANALYSIS, *MDANALYSIS_ELSEWHERE}),
        ("mdtraj", {*MDTRAJ, *MDTRAJ_ELSEWHERE}),
    ],
)
def test_every_row_is_known(page: str, known: set[str]) -> None:
    """A new row is compared, or stands among those that have no numbers."""
    assert {task for task, *_ in rows_of(FOLDER / f"{page}.md")} == known
