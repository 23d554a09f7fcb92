"""What to write instead of options of other programs."""

import re
from collections.abc import Collection, Mapping, Sequence

_FILES = "files without options: {files}"
_SELECT = "--select 'name CA'"
# What to write instead of options of the command line; of several, what the command has. {files}
# are its arguments.
OPTIONS: Mapping[str, Sequence[str]] = {
    "-s": (f"--topology FILE, and other {_FILES}", _FILES),
    "-f": (_FILES,),
    "-o": (_FILES,),
    "-p": (f"--topology FILE, and other {_FILES}", _FILES),
    "-x": (_FILES,),
    "-y": (_FILES,),
    "-c": (_FILES,),
    "--top": (f"--topology FILE, and other {_FILES}", _FILES),
    "--traj": (_FILES,),
    "-b": ("--begin PS",),
    "-e": ("--end PS",),
    "-dt": ("--step N, every N-th frame",),
    "--dt": ("--step N, every N-th frame; --time-step PS for files without times",),
    "-skip": ("--step N",),
    "--stride": ("--step N",),
    "-tu": ("units behind numbers: --begin 0.2ns",),
    "-n": (f"{_SELECT}, in place of an index file",),
    "-sel": (_SELECT,),
    "-select": (_SELECT,),
    "--sel": (_SELECT,),
    "--selection": (_SELECT,),
    "-ref": ("--other SELECTION for the second group", "--reference FRAME|FILE"),
    "--ref": ("--reference FRAME|FILE",),
    "-fit": ("--motion superposition, translation or none", "--fit SELECTION"),
    "-pbc": ("--whole, --nojump, --wrap or --repair SELECTION",),
    "-ur": ("--wrap-cell compact, triclinic or rectangular, with --wrap",),
    "-center": ("--center SELECTION",),
    "-cutoff": ("--cutoff ANGSTROM, such as 0.45nm",),
    "-rmax": ("--range FROM TO, such as 0nm 1.5nm",),
    "-bin": ("--bins N",),
    "-nt": ("--threads N",),
    "-j": ("--threads N",),
    "--n-jobs": ("--threads N",),
    "--nproc": ("--threads N",),
    "-num": ("--output FILE.csv",),
    "-xvg": ("--output FILE.csv",),
    "--out": ("--output FILE",),
    "--colour": ("result.plot(color=…) in Python",),
    "--color": ("result.plot(color=…) in Python",),
    "--figsize": ("--size 8x6cm",),
    "--periodic": ("--pbc",),
}


def hint_on_option(word: str, known: Collection[str], files: str) -> str:
    """Return what to write instead of an option that a command lacks, as a text, or nothing.

    Parameters
    ----------
    word
        The option, with its dashes.
    known
        The options of the command.
    files
        The arguments of the command, for files.
    """
    for hint in OPTIONS.get(word, ()):
        option = re.split(r"[^\w-]", hint)[0]
        if option in known or not option.startswith("-"):
            return f"write {hint.format(files=files)}"
    return ""
