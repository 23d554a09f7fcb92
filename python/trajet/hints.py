"""Hints for users of MDAnalysis, mdtraj and GROMACS: our names for what theirs do.

A hint only ends the message of an error: names of other programs are not understood.
"""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

_OPEN = "tj.open('top.psf', 'traj.xtc')"
_DISTANCE = "tj.distances(selection, other)"
_CELLS = "traj.read().cells, or traj[0].cell"
_POSITIONS = "traj.read().positions, or traj[0].positions"
_PLOT_FILE = "result.plot().savefig('figure.png')"

# Expressions to write instead of attributes of the package, and of the classes of these names;
# words stand behind a colon.
ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "trajet": {
        "Universe": _OPEN,
        "AtomGroup": "traj.select('protein')",
        "Writer": "tj.convert(selection, 'out.xtc'), or tj.write('out.xtc', positions)",
        "load_topology": f"{_OPEN}.topology",
        "load_frame": "traj[5]",
        "iterload": "traj.blocks()",
        "join": "tj.open('top.psf', 'part1.xtc', 'part2.xtc')",
        "AlignTraj": "traj.fit('name CA')",
        "RMSD": "tj.rmsd(selection)",
        "rms": "tj.rmsd(selection)",
        "RMSF": "tj.rmsf(selection, align='same')",
        "rg": "tj.gyration(selection)",
        "compute_rg": "tj.gyration(selection)",
        "radius_of_gyration": "tj.gyration(selection)",
        "compute_distances": _DISTANCE,
        "distance_array": _DISTANCE,
        "compute_contacts": "tj.contact_map(selection), or tj.min_distance(selection, other)",
        "HydrogenBondAnalysis": "tj.hbonds(selection)",
        "baker_hubbard": "tj.hbonds(selection)",
        "wernet_nilsson": "tj.hbonds(selection)",
        "Ramachandran": "tj.dihedrals(selection)",
        "compute_phi": "tj.dihedrals(selection)",
        "compute_psi": "tj.dihedrals(selection)",
        "compute_dihedrals": "tj.dihedrals(traj, [[0, 4, 6, 8]])",
        "DSSP": "tj.dssp(selection)",
        "compute_dssp": "tj.dssp(selection)",
        "shrake_rupley": "tj.sasa(selection)",
        "PCA": "tj.pca(selection)",
        "InterRDF": "tj.rdf(selection, other)",
        "compute_rdf": "tj.rdf(selection, other)",
        "EinsteinMSD": "tj.msd(selection)",
        "DensityAnalysis": "tj.density(selection)",
        "AnalysisFromFunction": "tj.apply(selection, function)",
    },
    "Trajectory": {
        "select_atoms": "traj.select('name CA')",
        "atom_slice": "traj.select([0, 1, 2])",
        "atoms": "traj.all_atoms(), or traj.topology: for names and masses",
        "trajectory": "traj[5], or traj.blocks(): the trajectory itself has the frames",
        "positions": _POSITIONS,
        "xyz": f"{_POSITIONS}: in Å",
        "velocities": "traj.read(velocities=True).velocities",
        "time": "traj.times",
        "dt": "numpy.diff(traj.times)",
        "timestep": "numpy.diff(traj.times)",
        "box": _CELLS,
        "dimensions": _CELLS,
        "unitcell_lengths": _CELLS,
        "unitcell_vectors": "traj[0].box.vectors",
        "top": "traj.topology",
        "residues": "traj.topology.residues",
        "n_residues": "traj.topology.n_residues",
        "bonds": "traj.topology.bonds",
        "names": "traj.topology.names",
        "masses": "traj.topology.masses",
        "save": "tj.convert(traj, 'out.xtc')",
        "rmsd": "tj.rmsd(traj.select('name CA'))",
        "rg": "tj.gyration(traj.select('protein'))",
    },
    "Transformable": {
        "select_atoms": "select('name CA')",
        "superpose": "fit('name CA')",
        "center_coordinates": "center('protein')",
        "image_molecules": "repair('protein')",
        "make_molecules_whole": "whole()",
        "unwrap": "whole(), or nojump(): against jumps",
        "add_transformations": "repair('protein'), or whole(), or fit('name CA')",
    },
    "UpdatingSelection": {
        "positions": "[frame.positions for frame in selection.read()]",
    },
    "Selection": {
        "select_atoms": "selection & traj.select('name CA')",
        "select": "selection & traj.select('name CA')",
        "positions": "selection.read().positions, or selection[0].positions",
        "xyz": "selection.read().positions, or selection[0].positions: in Å",
        "velocities": "selection[0].read_velocities()",
        "names": "traj.topology.names[selection.indices]",
        "resnames": "traj.topology.resnames[selection.indices]",
        "resids": "traj.topology.resids[selection.indices]",
        "masses": "traj.topology.masses[selection.indices]",
        "ix": "selection.indices",
        "residues": "selection.split('residue')",
        "n_frames": "selection.trajectory.n_frames",
        "times": "selection.trajectory.times",
        "universe": "selection.trajectory.universe",
        "center_of_mass": "tj.centers(selection, by='selection')",
        "center_of_geometry": "tj.centers(selection, by='selection', weights='equal')",
        "radius_of_gyration": "tj.gyration(selection)",
        "rg": "tj.gyration(selection)",
        "write": "tj.convert(selection, 'out.xtc'), or selection[0].save('out.pdb')",
        "save": "tj.convert(selection, 'out.xtc'), or selection[0].save('out.pdb')",
    },
    "Topology": {
        "select_atoms": "traj.select('name CA')",
        "chains": "topology.segids: or topology.chainIDs",
        "n_bonds": "len(topology.bonds)",
        "atom": "topology.names[5]",
        "residue": "topology.residues.resnames[5]",
    },
    "Block": {
        "xyz": "block.positions: in Å",
        "time": "block.times",
        "n_frames": "len(block.frames)",
        "box": "block.cells",
        "dimensions": "block.cells",
        "unitcell_lengths": "block.cells[:, :3]",
    },
    "Frame": {
        "xyz": "frame.positions: in Å",
        "dimensions": "frame.cell",
        "velocities": "frame.read_velocities()",
    },
    "Table": {
        "results": "result.values: the result itself has the numbers",
        "timeseries": "result.values",
        "data": "result.values",
        "rmsd": "result.values",
        "rmsf": "result.values",
        "rg": "result.values",
        "run": "result.values: the analysis has run",
        "time": "result.times",
        "mean": "result.values.mean(axis=0), or result.statistics(): with its error",
        "std": "result.values.std(axis=0), or result.statistics()",
        "max": "result.values.max(axis=0)",
        "min": "result.values.min(axis=0)",
        "df": "result.to_dataframe()",
        "to_pandas": "result.to_dataframe()",
        "to_numpy": "result.values",
        "to_csv": "result.save('result.csv')",
        "savefig": _PLOT_FILE,
        "show": "result.plot()",
    },
    "RadialDistribution": {
        "bins": "result.r, or result.edges: centres, and edges",
        "rdf": "result.g",
    },
    "MeanSquaredDisplacement": {
        "msd": "result.values",
    },
}

_FRAMES = "frames=slice(START, STOP, STEP)"
_POOL = "pool=tj.LocalPool(threads=4)"
_PASS_FRAMES = "frames=traj.times >= 100"
# What to write instead of keywords; of several, those parameters that the called function has.
KEYWORDS: Mapping[str, Sequence[str]] = {
    "start": (_FRAMES,),
    "stop": (_FRAMES,),
    "step": (_FRAMES,),
    "stride": (_FRAMES,),
    "begin": (_PASS_FRAMES,),
    "end": (_PASS_FRAMES,),
    "dt": ("time_step", _FRAMES),
    "timestep": ("time_step",),
    "top": (
        f"topology first: {_OPEN}",
        f"path of a saved result; {_OPEN} opens trajectories",
    ),
    "select": ("selection=traj.select('name CA')",),
    "atomgroup": ("selection",),
    "atom_indices": ("selection=traj.select([0, 1, 2])",),
    "ref": ("reference",),
    "ref_frame": ("reference",),
    "frame": ("reference", "frames=[5]"),
    "groupselections": ("groups",),
    "superposition": ('motion="superposition" or "none"',),
    "center": ('motion="translation"', "grid_center"),
    "mass_weighted": ('weights="mass"',),
    "n_jobs": (_POOL,),
    "n_workers": (_POOL,),
    "n_cores": (_POOL,),
    "backend": (_POOL,),
    "verbose": ("progress=True",),
    "box": ("pbc=True, which takes the cell of each frame",),
    "periodic": ("pbc",),
    "use_pbc": ("pbc",),
    "nbins": ("bins",),
    "n_bins": ("bins",),
    "r_range": ("range",),
    "exclusion_block": ("exclude",),
    "radius": ("cutoff",),
    "distance_cutoff": ("cutoff",),
    "d_a_cutoff": ("cutoff",),
    "d_h_a_angle_cutoff": ("angle",),
    "angle_cutoff": ("angle",),
    "donors_sel": ("donors",),
    "hydrogens_sel": ("hydrogens",),
    "acceptors_sel": ("acceptors",),
    "compound": ("by",),
    "mode": ("by",),
    "probe_radius": ("probe",),
    "n_sphere_points": ("points",),
    "delta": ("spacing",),
    "binsize": ("bins=100, the number of bins",),
    "msd_type": ("axes",),
    "colour": ("color",),
    "colors": ("color",),
    "c": ("color",),
    "labels": ("label",),
    "legend": ("label",),
    "figsize": ("size",),
}

# What to write instead of several arguments without names.
ARGUMENTS: Mapping[str, str] = {
    "run": "a list of jobs: tj.run([tj.rmsd.job(selection), tj.rmsf.job(selection)])",
    "load": f"{_OPEN}, as tj.load reads a saved result",
}
# The names of numbers with which pools are made.
COUNTS: Mapping[str, str] = {"LocalPool": "threads", "ProcessPool": "workers"}

# Commands of GROMACS and functions of mdtraj, with ours.
COMMANDS: Mapping[str, str] = {
    "anaeig": "pca",
    "check": "info",
    "cluster": "cluster-rmsd",
    "covar": "pca",
    "distance": "distances",
    "do-dssp": "dssp",
    "dump": "info",
    "gyrate": "gyration",
    "hbond": "hbonds",
    "mdmat": "contact-map",
    "mindist": "min-distance",
    "rama": "dihedrals",
    "rg": "gyration",
    "rms": "rmsd",
    "sham": "free-energy",
    "spatial": "density",
    "trjcat": "convert",
    "trjconv": "convert",
}

_GROMACS = "gmx trjconv -f {file} -o out.xtc"
_CPPTRAJ = "cpptraj -p top.prmtop -y {file} -x out.nc"
_UNIVERSE = "mda.Universe('top', '{file}').atoms.write('out.xtc', frames='all') of MDAnalysis"
# What converts trajectories that are not read, by their suffixes.
SUFFIXES: Mapping[str, str] = {
    ".mdcrd": _CPPTRAJ,
    ".crdbox": _CPPTRAJ,
    ".binpos": _CPPTRAJ,
    ".trj": _CPPTRAJ,
    ".crd": _CPPTRAJ,
    ".tng": _GROMACS,
    ".g96": _GROMACS,
    ".cpt": _GROMACS,
    ".gsd": _UNIVERSE,
    ".arc": _UNIVERSE,
    ".pdbqt": _UNIVERSE,
}


class Hinted:
    """Base of classes whose errors on attributes that they do not have end with a hint."""

    # Type checkers know the attributes.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if hint := hint_on_attribute((cls.__name__ for cls in type(self).__mro__), name):
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}{hint}",
                    name=name,
                    obj=self,
                )
            # The error of Python, or of a property.
            return object.__getattribute__(self, name)


def hint_on_attribute(owners: Iterable[str], name: str) -> str:
    """Return what to write instead of an attribute, as the end of a message, or nothing.

    Parameters
    ----------
    owners
        Name of the package, or names of a class and its bases.
    name
        The attribute.
    """
    hints = (ATTRIBUTES[owner][name] for owner in owners if name in ATTRIBUTES.get(owner, ()))
    hint = next(hints, "")
    return hint and f": write {hint}"


def hint_on_keywords(given: Iterable[str], known: Collection[str]) -> str:
    """Return what to write instead of unknown keywords, as the end of a message, or nothing."""
    text = ""
    for name in given:
        others = [] if name in known else KEYWORDS.get(name, ())
        fitting = [hint for hint in others if re.split(r"\W", hint)[0] in known]
        if fitting:
            shown = (hint + "=" * hint.isidentifier() for hint in fitting)
            text += f"; instead of {name}= write {' or '.join(shown)}"
    return text


def add_hint(
    error: TypeError,
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> None:
    """Add what to write to the error of a call whose arguments the function does not have."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        hint = hint_on_keywords(kwargs, signature.parameters)
        if len(args) > 1 and function.__qualname__ in ARGUMENTS:
            hint += f"; write {ARGUMENTS[function.__qualname__]}"
        error.args = (f"{error}{hint}",)


def with_hints(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function whose errors on arguments that it does not have end with hints."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            add_hint(error, function, args, kwargs)
            raise

    return call


def hint_on_format(path: str) -> str:
    """Return what converts a trajectory that is not read, as the end of a message, or nothing."""
    hint = SUFFIXES.get(PurePath(path).suffix.lower(), "")
    return hint and f"; or convert it: {hint.format(file=path)}"
