"""Small trajectories that come with trajet, to try it: `tj.samples.NAME()`.

`packaging/samples` has the script that simulated them, with OpenMM. Units are those of trajet.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trajet.members.ensemble import Ensemble, ensemble
from trajet.trajectory import Trajectory, open

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """A trajectory that comes with trajet.

    Attributes
    ----------
    name
        Its name.
    summary
        What was simulated, in one line.
    topology, trajectory
        Paths of its files.
    """

    name: str
    summary: str
    topology: Path
    trajectory: Path

    @property
    def folder(self) -> Path:
        """Path of the folder that has the files."""
        return self.topology.parent

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of all files."""
        return self.topology, self.trajectory

    def open(self) -> Trajectory:
        """Open the trajectory; no index is kept beside it."""
        return open(self.topology, self.trajectory, sidecar=False)


@dataclass(frozen=True)
class SampleEnsemble:
    """Trajectories of several systems and replicas that come with trajet.

    Attributes
    ----------
    name
        Its name.
    summary
        What was simulated, in one line.
    folder
        Path of the folder that has a folder for each system, with `topology.psf` and `rep1.xtc`, ….
    """

    name: str
    summary: str
    folder: Path

    @property
    def rows(self) -> list[dict[str, str | int]]:
        """A row for each trajectory, with `system` and `replica`, for `trajet.ensemble`."""
        return [
            {
                "system": path.parent.name,
                "replica": int(path.stem.removeprefix("rep")),
                "topology": str(path.with_name("topology.psf")),
                "trajectory": str(path),
            }
            for path in sorted(self.folder.glob("*/rep*.xtc"))
        ]

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of all files."""
        return *sorted(self.folder.glob("*/*.psf")), *sorted(self.folder.glob("*/*.xtc"))

    def open(self) -> Ensemble:
        """Return the ensemble; no indexes are kept beside its files."""
        return ensemble(self.rows, sidecar=False)


def peptide_in_water() -> Sample:
    """Return the simulation of a peptide and a phenol in water with ions.

    The peptide is CLN025, `protein` (10 residues, 166 atoms), a hairpin that stays near its crystal
    structure (5AWL) while its ends part and meet. The phenol, `resname IPH`, moves about on it, and
    leaves it for a few frames. Ions are `resname NA CL`, water is `resname HOH`. 100 frames, 2 ps
    apart, at 300 K and 1 bar, with Amber ff14SB and TIP3P. As GROMACS writes them, molecules are
    broken across the box: `.open().whole()` mends them.

    Returns
    -------
    Sample
        The paths of its files; `Sample.open` opens it.

    Examples
    --------
    >>> import trajet as tj
    >>> traj = tj.samples.peptide_in_water().open().whole()
    >>> tj.rmsd(traj.select("backbone")).values.shape
    (100,)
    """
    return _sample("peptide_in_water", "a peptide (CLN025), phenol, ions and water, 200 ps")


def bilayer() -> Sample:
    """Return the simulation of a bilayer of coarse-grained lipids.

    200 lipids (`resname LIP`) of the model of Cooke and Deserno, with a head `name H` and tails
    `name T1 T2`. Lipids of `segid UP` and `segid LOW` began in the upper and the lower leaflet, and
    a few of them change sides; the normal is along z. The model has no water. 100 frames, 50 ps
    apart in the time of the model; the area of the box fluctuates at zero tension.

    Returns
    -------
    Sample
        The paths of its files; `Sample.open` opens it.

    Examples
    --------
    >>> import trajet as tj
    >>> tj.samples.bilayer().open().select("name H and segid UP").n_atoms
    100
    """
    return _sample(
        "bilayer", "200 lipids of three beads (Cooke and Deserno), without solvent, 5 ns"
    )


def peptide_variants() -> SampleEnsemble:
    """Return simulations of two peptides, several replicas of each.

    `wild_type` is five alanines between an acetyl and an N-methyl amide (`resname ACE`, `NME`),
    `mutant` has proline in the middle (`resid 3`). Replicas have other velocities. 100 frames,
    32 ps apart, in implicit solvent at 300 K, with Amber ff14SB.

    Returns
    -------
    SampleEnsemble
        The paths of its files; `SampleEnsemble.open` returns the ensemble, with keys `system` and
        `replica`.

    Examples
    --------
    >>> import trajet as tj
    >>> tj.samples.peptide_variants().open()
    <Ensemble: 8 members by system, replica>
    """
    return SampleEnsemble(
        "peptide_variants",
        "five alanines and a mutant with proline, in implicit solvent, 4 replicas of each",
        _FOLDER / "peptide_variants",
    )


def molten_salt() -> Sample:
    """Return the simulation of molten sodium chloride, in files of LAMMPS.

    108 ions of sodium (`element Na`, `type 1`) and 108 of chlorine, with the potential of Fumi and
    Tosi, at 1150 K and the density of the melt. 85 frames, 1 ps apart. The topology is a data
    file, the trajectory a dump that names its units, `metal`, and its times.

    Returns
    -------
    Sample
        The paths of its files; `Sample.open` opens it.

    Examples
    --------
    >>> import trajet as tj
    >>> melt = tj.samples.molten_salt().open()
    >>> melt.select("element Na").n_atoms
    108
    """
    summary = "216 ions of molten sodium chloride, data file and dump of LAMMPS, 84 ps"
    return _sample("molten_salt", summary, (".data", ".lammpstrj"))


ALL = (peptide_in_water, bilayer, peptide_variants, molten_salt)


def _sample(name: str, summary: str, suffixes: tuple[str, str] = (".psf", ".xtc")) -> Sample:
    """Return the sample whose folder and files have its name."""
    topology, trajectory = (_FOLDER / name / (name + suffix) for suffix in suffixes)
    return Sample(name, summary, topology, trajectory)
