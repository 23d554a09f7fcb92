"""Records of results of analyses: in tests, `python -m helpers.recorded_results` renews them.

The commands run on the sample of a peptide in water. `python -m helpers.recorded_results FOLDER`
also writes CSV files and figures of this environment into a folder, so that their bytes can be
compared with those of another version: PNG files depend on the versions of matplotlib and FreeType.
"""

import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import trajet as tj
from trajet.advise import first_advice
from trajet.result import Table, entries_of

from helpers import commands
from helpers.commands import unwrapped
from helpers.trr_bytes import frame_bytes

SNAPSHOT = Path(__file__).parents[1] / "laws" / "results.txt"

_HEAVY = '--select "protein and not name H*"'
_WATER = '--select "water and name O*"'
_PEPTIDE = "--select protein --whole"
# Commands without the files: each analysis, and each form of its table.
COMMANDS = (
    "apply",
    f"center-distances {_PEPTIDE} --by residue",
    f'center-distances {_PEPTIDE} --other "resname IPH"',
    f"centers {_PEPTIDE}",
    f"cluster-rmsd {_HEAVY} --whole --cutoff 1.5",
    f"cluster-rmsd {_HEAVY} --whole --method kcenters --n-clusters 4",
    'conductivity --select "resname NA CL" --nojump --temperature 300',
    f"contact-map {_PEPTIDE} --errors",
    f'contact-map {_PEPTIDE} --other "resname IPH"',
    f"contact-map {_PEPTIDE} --by atom --heavy-only --cutoff 3",
    'contacts --select protein --other "water and name O*"',
    'coordination --select "protein and name N O" --other "water and name O*" --cutoff 3.5',
    'coordination --select "resname IPH" --other water --cutoff 4 --errors',
    f"correlation-map {_HEAVY} --whole",
    'count --select "water and around 4 protein"',
    f"density {_WATER} --spacing 8",
    f"density {_WATER} --spacing 8 --errors",
    "dielectric-constant --select water --whole --temperature 300",
    f"dihedrals {_PEPTIDE}",
    f"dihedrals {_PEPTIDE} --sin-cos",
    "dihedrals --quadruples 0,4,6,8",
    'distances --select "protein and name CA"',
    'distances --select "protein and name CA" --other "resname IPH"',
    'distances --select "protein and name CA" --reference 0',
    f"dssp {_PEPTIDE}",
    f"dssp {_PEPTIDE} --simplified",
    f"end-to-end {_PEPTIDE}",
    f"gyration {_PEPTIDE}",
    f"gyration {_PEPTIDE} --per-axis",
    f"gyration-moments {_PEPTIDE}",
    f"hbonds {_PEPTIDE}",
    f"hbonds {_PEPTIDE} --lifetimes --list-bonds --errors",
    f"hbonds {_PEPTIDE} --by residue",
    "interactions --select protein",
    "interactions --select protein --other water --kinds hbond --by atom --bits --errors",
    "interactions --select protein --other water --kinds hbond --lifetimes --max-lag 20",
    f"linear-density {_WATER} --bins 12",
    f"linear-density {_WATER} --select protein --bins 12 --errors",
    'min-distance --select protein --other "resname IPH"',
    'min-distance --select protein --other "resname IPH" --cutoff 6',
    f"msd {_WATER} --nojump --max-lag 40",
    'msd --select "protein" --whole --nojump --by residue --max-lag 40',
    f"native-contacts {_PEPTIDE}",
    f"pairwise-rmsd {_HEAVY} --whole",
    f"pca {_HEAVY} --whole --n-components 3",
    f"rdf {_WATER} --range 0 8 --bins 16",
    'rdf --select protein --other "water and name O*" --range 0 8 --bins 16 --errors',
    'rdf-pairs --pairs "protein" "water and name O*" --range 0 8 --bins 16',
    f"rmsd {_HEAVY} --whole",
    f'rmsd {_HEAVY} --whole --groups "name CA" --groups "resname IPH"',
    f"rmsf {_HEAVY} --whole --align same",
    f"rmsf {_HEAVY} --whole --align same --errors",
    f"sasa {_PEPTIDE}",
    f"sasa {_PEPTIDE} --by residue",
    f"sasa {_PEPTIDE} --by atom",
    'survival --select "water and around 4 protein" --by residue',
    'velocity-autocorrelation --select "protein and name CA"',
    'velocity-autocorrelation --select "protein and name CA" --spectrum',
)
# Columns of a header that are shown.
_MOST = 12


def files_of(command: str, folder: Path) -> tuple[Path, Path]:
    """Copy the files of the sample into a folder; with velocities, where a command needs these."""
    topology, xtc = (Path(shutil.copy(one, folder)) for one in tj.samples.peptide_in_water().files)
    if not command.startswith("velocity"):
        return topology, xtc
    frames = tj.open(None, xtc, sidecar=False).read()
    # Sums of five numbers, four of which the next frame shares.
    drawn = np.random.default_rng(1).random((len(frames.times) + 4, *frames.positions.shape[1:]))
    velocities = sum(drawn[k : k + len(frames.times)] for k in range(5)) - 2.5
    path = folder / "velocities.trr"
    path.write_bytes(
        b"".join(
            frame_bytes(None, n_atoms=len(one), step=k, time=float(time), velocities=one / 10)
            for k, (time, one) in enumerate(zip(frames.times, velocities, strict=True))
        )
    )
    return topology, path


def run(command: str, folder: Path) -> tuple[list[str], Table]:
    """Run a command on a copy of the sample; return what it prints, and its result."""
    files = files_of(command, folder)
    name, *options = shlex.split(command)
    saved = folder / "result.npz"
    done = commands.run(name, *files, *options, "-o", saved)
    assert done.returncode == 0, done
    printed = [line.replace(f"{folder}/", "") for line in unwrapped(f"{done.stdout}{done.stderr}")]
    return printed, tj.load(saved)


def applied(traj: tj.Trajectory, **of_run: object) -> Table:
    """Return the result of `apply`, which has no command."""
    return tj.apply(traj.select("protein"), lambda x: x.max(axis=0) - x.min(axis=0), **of_run)


def record(command: str, folder: Path) -> tuple[str, Table]:
    """Return what a command prints without times, with repr and columns of its result."""
    printed, result = (
        ([], applied(tj.samples.peptide_in_water().open()))
        if command == "apply"
        else run(command, folder)
    )
    lines = [re.sub(r" in \d.*", " in …", line) for line in printed]
    # Advice follows from times.
    left_out = ("result.npz", *first_advice(entries_of(result.report)))
    # The mean of what was centred is the rounding of the processor.
    shown = re.sub(r"-?\d[.\d]*e-1[4-9]", "0", repr(result).replace(f"{folder}/", ""))
    summary, head = result.summary(), result.csv_header()
    more = ", …" * (len(head) > _MOST)
    return (
        "\n".join(
            [
                f"$ trajet {command}",
                *(line for line in lines if line not in left_out),
                f"repr: {shown}",
                f"summary: {summary.title}: {summary.count} rows, {len(summary.columns)} columns",
                f"csv: {len(head)} columns: {', '.join(head[:_MOST])}{more}",
                "",
            ]
        ),
        result,
    )


def main() -> None:
    """Write the record of all commands; write CSV files and figures into a folder."""
    parts = []
    with tempfile.TemporaryDirectory() as temporary:
        for number, command in enumerate(COMMANDS):
            text, result = record(command, Path(temporary))
            parts.append(text)
            for folder in sys.argv[1:]:
                result.save(Path(folder, f"{number}.csv"))
                result.plot().savefig(Path(folder, f"{number}.png"))
    SNAPSHOT.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
