"""Small trajectories that come with trajet, to try it: `tj.samples.NAME()`.

`packaging/samples` has the script that simulated them, with OpenMM. Units are those of trajet.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trajet.members.ensemble import Ensemble, ensemble

_FOLDER = Path(__file__).parent


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


def peptide_variants() -> SampleEnsemble:
    """Return simulations of two peptides, several replicas of each.

    `wild_type` is five alanines between an acetyl and an N-methyl amide (`resname ACE`, `NME`),
    `mutant` has proline in the middle (`resid 3`). Replicas have other velocities. Implicit solvent
    at 300 K, with Amber ff14SB.

    Returns
    -------
    SampleEnsemble
        The paths of its files; `.open()` returns the ensemble, with keys `system` and `replica`.

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


ALL = (peptide_variants,)
