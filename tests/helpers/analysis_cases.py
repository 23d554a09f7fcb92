"""The table of analyses for which `tests/laws/test_analyses.py` tests all laws.

A case is a command on the sample of a peptide in water, and the same call in Python. Within
`tests`, `python -m helpers.analysis_cases` prints how many cases of each analysis a law holds for.
"""

import functools
import shlex
import tempfile
from ast import literal_eval
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trajet as tj

from helpers import xtc_bytes
from helpers.recorded_results import COMMANDS, applied, files_of

_PEPTIDE = "--select protein --whole"
_HEAVY = '--select "protein and not name H*" --whole'
_WATER = '--select "water and name O*"'
_IONS = '"resname IPH"'
_PAIRS = " ".join(f'--pairs protein "water and name {name}"' for name in ("O*", "H1", "H2", "H*"))
# Options that the recorded commands leave at their defaults.
FURTHER = (
    f"center-distances {_PEPTIDE} --by residue --weights equal --no-pbc",
    f"centers {_PEPTIDE} --by molecule --weights equal",
    f"cluster-rmsd {_HEAVY} --method average --n-clusters 4 --weights mass",
    f"cluster-rmsd {_HEAVY} --method regular --cutoff 1.2 --weights mass",
    f"contact-map {_PEPTIDE} --exclude-neighbors 2 --no-pbc",
    f"contact-map {_PEPTIDE} --lifetimes --max-lag 20 --intermittency 1",
    f"contacts --select protein --other {_IONS} --cutoff 9 --no-pbc",
    'contacts --select "water and around 4 protein" --other "prop z > 12" --updating',
    f"contacts --select protein --other {_IONS} --lifetimes --max-lag 20 --intermittency 1",
    'coordination --select "protein and name N" --other water --cutoff 4 --by residue --no-pbc',
    'coordination --select "water and name O*" --cutoff 3.3 --outer-cutoff 5.5 --speciation',
    f"correlation-map {_HEAVY} --method lmi --align none",
    f"correlation-map {_PEPTIDE} --by residue --reference 0 --weights mass",
    'density --select "water and around 4 protein" --updating --spacing 6 --quantity mass',
    f"density {_WATER} --spacing 5 --grid-center 9 9 9 --grid-size 20 20 20",
    f"density {_PEPTIDE} --padding 5",
    "conductivity --select all --nojump --temperature 310 --unwrapped --max-lag 40 --fit-range 4 9",
    "dihedrals --quadruples 0,4,6,8 --quadruples 5,6,7,8 --sin-cos --no-pbc",
    'distances --select "protein and name N" --other "resname IPH and name O*" --no-pbc',
    f"end-to-end {_PEPTIDE} --by residue",
    f"gyration {_PEPTIDE} --weights equal",
    f"gyration-moments {_PEPTIDE} --weights equal",
    f"hbonds {_PEPTIDE} --by pair --list-bonds --cutoff 3.5 --angle 130 --no-pbc",
    f"hbonds {_PEPTIDE} --lifetimes --max-lag 20 --intermittency 1",
    'hbonds --select protein --other "water" --distance hydrogen-acceptor --donor-angle 40',
    "interactions --select protein --kinds vdw --bits --list-all --exclude-neighbors 1 --no-pbc",
    "interactions --select protein --kinds water-bridge,ionic --max-waters 2",
    'interactions --select protein --kinds water-bridge --water "resname HOH and resid 1:200"',
    "interactions --select protein --kinds hbond,ionic --lifetimes --max-lag 20 --intermittency 1",
    f"linear-density {_WATER} --select protein --axis x --quantity number --bins 7",
    f"min-distance {_PEPTIDE} --no-pbc",
    'msd --select "resname IPH" --nojump --axes xy --fit-range 5 20 --no-fft',
    f"msd {_PEPTIDE} --nojump --by molecule --weights equal --unwrapped --max-lag 60",
    f"native-contacts {_PEPTIDE} --method hard --factor 1.1 --cutoff 8 --no-pbc",
    f"native-contacts {_HEAVY} --reference 3 --beta 4 --exclude-neighbors 2",
    'native-contacts --select "resid 1:5" --other "resid 6:10" --whole --heavy-only --cutoff 6',
    f"pairwise-rmsd {_HEAVY} --weights mass",
    f"pca {_HEAVY} --align none",
    f"pca {_HEAVY} --reference 0 --weights mass --n-components 4",
    'rdf --select "byres (water and around 3 protein)" --exclude 3 3 --range 1 6 --bins 20',
    f"rdf-pairs {_PAIRS} --by residue --weights equal --exclude residue --range 0 6 --bins 20",
    f'rmsd {_HEAVY} --reference 7 --weights mass --groups "name CA" --group-weights mass',
    f"rmsd {_HEAVY} --reference average",
    f"rmsd {_HEAVY} --motion translation",
    'rmsd --select "protein and name CA" --whole --groups "resid 2 and not name H*" --symmetric',
    f"rmsf {_HEAVY}",
    f'rmsf {_HEAVY} --align "name CA" --reference average --weights mass',
    f"sasa {_PEPTIDE} --points 20",
    f"sasa {_PEPTIDE} --by atom --points 20",
    f'sasa {_PEPTIDE} --by residue --context "resname IPH" --probe 1.2 --points 20',
    'survival --select "water and around 4 protein" --max-lag 20 --intermittency 1',
    "velocity-autocorrelation --select protein --by residue --normalized --max-lag 40",
    "velocity-autocorrelation --select protein --mass-weighted --spectrum --window none",
)

CASES = (*COMMANDS, *FURTHER)
# Of files that samples lack, until the tests end.
_FOLDER = tempfile.TemporaryDirectory()

_SLOW = {
    f"sasa {_PEPTIDE}{by}": "takes long with 960 points; a case with fewer has this form"
    for by in ("", " --by residue", " --by atom")
}
_WITH_VELOCITIES = {"velocity-autocorrelation": "needs velocities, see its own tests"}
# Laws, each with the cases that it leaves out by the beginning of the command, and the reason.
LAWS: dict[str, dict[str, str]] = {
    "threads and tasks": {**_WITH_VELOCITIES, **_SLOW},
    "processes and files": {
        "apply": "a pool test sends functions to processes",
        **_WITH_VELOCITIES,
        **_SLOW,
    },
    "command": {"apply": "has no command"},
    "record": {text: "adds an option to a recorded form" for text in FURTHER},
    "rows": _SLOW,
    "report": {},
    "files": {text: "adds an option to a recorded form" for text in FURTHER if "pairs" not in text}
    | {'rdf-pairs --pairs "protein"': "has one row; the case with four pairs has this form"},
    "figure": {
        **{
            f"dihedrals {_PEPTIDE}{more}": "is a histogram, see test_dihedrals.py"
            for more in ("", " --sin-cos")
        },
        "dssp": "is an image of classes, see test_dssp.py",
        "survival": "has the correlation functions, see test_survival.py",
        "interactions": "has pairs by kind, see test_interactions.py",
    },
}

# Options that may be repeated, whose arguments are lists.
_LISTS = ("groups", "pairs", "quadruples")
# Options that take words with commas.
_WORDS = ("kinds",)


@dataclass(frozen=True)
class Call:
    """The call of an analysis in Python that a command stands for."""

    analysis: str
    options: dict[str, object]
    selections: tuple[str, ...]
    transforms: tuple[str, ...]
    updating: bool

    def transformed(self, traj: tj.Trajectory) -> tj.Trajectory:
        """Return the trajectory with the transforms of the command."""
        for name in self.transforms:
            traj = getattr(traj, name)()
        return traj

    def arguments(self, traj: tj.Trajectory) -> tuple[object, dict[str, object]]:
        """Return the first argument and the others for a transformed trajectory."""
        options = dict(self.options)
        if self.updating and "other" in options:
            options["other"] = traj.select(options["other"], updating=True)
        if (pairs := options.pop("pairs", None)) is not None:
            return [(traj.select(first), second) for first, second in pairs], options
        chosen = [traj.select(text, updating=self.updating) for text in self.selections]
        if not chosen:
            return traj, options
        is_one = len(chosen) == 1 and self.analysis != "linear_density"
        return chosen[0] if is_one else chosen, options


def call_of(command: str) -> Call:
    """Return the call of a command: an option `--a-b VALUE` is the argument `a_b=VALUE`."""
    analysis, *words = shlex.split(command)
    given: dict[str, list[list[object]]] = {}
    for word in words:
        if word.startswith("--"):
            values: list[object] = []
            given.setdefault(word[2:].replace("-", "_"), []).append(values)
        else:
            values.append(_value(word))
    transforms = tuple(name for name in ("whole", "nojump") if given.pop(name, None))
    updating = bool(given.pop("updating", None)) or analysis in ("count", "survival")
    selections = tuple(str(text) for (text,) in given.pop("select", []))
    options: dict[str, object] = {}
    for name, calls in given.items():
        arguments = [one[0] if len(one) == 1 else tuple(one) for one in calls]
        if calls == [[]]:
            options[name.removeprefix("no_")] = not name.startswith("no_")
        else:
            one = arguments[0]
            options[name] = arguments if name in _LISTS else one
            if name in _WORDS:
                options[name] = one.split(",")
    return Call(analysis.replace("-", "_"), options, selections, transforms, updating)


def _value(word: str) -> object:
    """Return a number, numbers with commas, None or the word."""
    try:
        return literal_eval("None" if word == "none" else word)
    except (SyntaxError, ValueError):
        return word


def sample_of(command: str = "") -> tj.Trajectory:
    """Return the sample of a peptide in water; with velocities, where a command needs these."""
    return _sample(command.split("-", maxsplit=1)[0])


@functools.cache
def _sample(kind: str) -> tj.Trajectory:
    if kind != "velocity":
        return tj.samples.peptide_in_water().open()
    return tj.open(*files_of(kind, Path(_FOLDER.name)), sidecar=False)


def run(command: str, traj: tj.Trajectory, **of_run: object) -> tj.Table:
    """Return the result of the function that a command stands for."""
    if command == "apply":
        return applied(traj, **of_run)
    call = call_of(command)
    first, options = call.arguments(call.transformed(traj))
    return getattr(tj, call.analysis)(first, **options, **of_run)


def numbers(result: tj.Table) -> dict[str, np.ndarray]:
    """Return all arrays of a result and its parts by name."""
    return {name: np.asarray(array) for name, array in result._arrays().items()}


def unequal(one: tj.Table, other: tj.Table) -> list[str]:
    """Return the names of arrays whose type, shape or bits differ."""
    here, there = numbers(one), numbers(other)
    assert list(here) == list(there)
    return [
        name
        for name, array in here.items()
        if (array.dtype, array.shape) != (there[name].dtype, there[name].shape)
        or array.tobytes() != there[name].tobytes()
    ]


def write_tripled(folder: Path) -> tuple[Path, Path]:
    """Write the sample three times into one file: leaves of two frames, and times that go on."""
    topology, xtc = tj.samples.peptide_in_water().files
    times = tj.open(None, xtc).times
    path = folder / "tripled.xtc"
    path.write_bytes(xtc_bytes.repeated(xtc.read_bytes(), 3 * len(times), times[1] - times[0]))
    return topology, path


def cases_of(law: str) -> list[str]:
    """Return the cases that a law holds for."""
    return [case for case in CASES if case not in left_out(law)]


def left_out(law: str) -> dict[str, str]:
    """Return the cases that a law leaves out, with the reasons."""
    return {
        case: reason
        for start, reason in LAWS[law].items()
        for case in CASES
        if case == start or (start not in CASES and case.startswith(start))
    }


def print_table(
    laws: Iterable[str], cases: dict[str, list[str]], left: dict[str, dict[str, str]]
) -> None:
    """Print how many of the cases of each thing a law holds for, and why it leaves out others."""
    print(f"{'':<20}" + "".join(f"{law:>21}" for law in laws))
    for name, found in cases.items():
        counts = [f"{sum(case not in left[law] for case in found)} of {len(found)}" for law in laws]
        print(f"{name:<20}" + "".join(f"{count:>21}" for count in counts))
    for law in laws:
        print(f"\n{law} leaves out:")
        for case, reason in left[law].items():
            print(f"  {case}\n    {reason}")


if __name__ == "__main__":
    by_analysis = {
        name: [case for case in CASES if call_of(case).analysis == name] for name in tj.ANALYSES
    }
    print_table(LAWS, by_analysis, {law: left_out(law) for law in LAWS})
