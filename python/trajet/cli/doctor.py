"""`trajet doctor`: what trajet finds on a machine."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from trajet import cache, machine, memory
from trajet._trajet import (
    INSTRUCTION_SET,
    INSTRUCTION_SETS,
    MissingPackageError,
    __version__,
    available_threads,
)
from trajet.cli.bench import measure
from trajet.cli.command import command
from trajet.cli.results import echo_json, json_option
from trajet.cli.tables import one_line
from trajet.cli.terminal import waiting
from trajet.h5md import library
from trajet.quoting import escaped

# Extras of developers, which say nothing about runs.
_NOT_ASKED = ("all", "bench", "test")
# Variables whose values are shown; others, such as the token of `trajet serve`, are secrets.
_SHOWN_VARIABLES = ("TRAJET_DEBUG", "TRAJET_INSTRUCTION_SET")
_STORAGE_READERS = 8
_STORAGE_BYTES = 2**26
# Asks without starting MPI.
_ASK_MPI = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version().rstrip("\\0"))
"""
_MPI_SECONDS = 30


@command()
@click.option(
    "--storage",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also measure the storage of this folder, in which files are made and removed.",
)
@json_option
def doctor(folder: Path | None, as_json: bool) -> None:
    """Say what trajet finds on this machine, for bug reports.

    Versions, the processor, the cores and the memory that this process may use, MPI, FUSE, and
    which packages are missing for what. In a job of SLURM, run it with srun: it tells what a task
    of the job gets.

    \b
    Examples:
      trajet doctor
      srun trajet doctor
      trajet doctor --storage /scratch/me --json
    """
    found = dict(_entries())
    if folder is not None:
        with waiting(f"measuring {folder}"):
            words = measure(folder, readers=_STORAGE_READERS, size=_STORAGE_BYTES).words
        found |= {f"storage: {name}": text for name, text in words}
    if as_json:
        echo_json(found)
        return
    width = max(map(len, found))
    for name, text in found.items():
        click.echo(f"{name.ljust(width)}  {escaped(text)}")


def _entries() -> Iterator[tuple[str, str]]:
    """Yield the name of each thing and what is known of it."""
    yield "trajet", __version__
    yield "Python", f"{sys.version.split()[0]} ({sys.implementation.name})"
    yield "system", machine.system()
    yield "processor", machine.processor()
    others = ", ".join(INSTRUCTION_SETS)
    yield "instruction set", f"{INSTRUCTION_SET}, chosen from: {others}"
    yield "cores", f"{available_threads()} that this process may use, {os.cpu_count()} in all"
    free = memory.available()
    yield "memory", "unknown" if free is None else f"{memory.in_bytes(free)} available"
    if job := os.environ.get("SLURM_JOB_ID"):
        yield "SLURM", f"job {job}, {_slurm()}"
    yield "MPI", _mpi()
    yield "HDF5", _hdf5()
    yield "FUSE", _fuse()
    yield "cache folder", _cache_folder()
    for name, value in sorted(os.environ.items()):
        if name.startswith("TRAJET_"):
            yield name, value if name in _SHOWN_VARIABLES else "is set"
    yield from _packages()


def _slurm() -> str:
    """Return what SLURM gives a task of this job."""
    named = {
        "SLURM_NNODES": "nodes",
        "SLURM_NTASKS": "tasks",
        "SLURM_CPUS_PER_TASK": "cores per task",
        "SLURM_MEM_PER_NODE": "MB per node",
        "SLURM_MEM_PER_CPU": "MB per core",
    }
    known = [f"{os.environ[key]} {what}" for key, what in named.items() if key in os.environ]
    return ", ".join(known) or "no numbers of tasks and cores"


def _mpi() -> str:
    """Return the MPI library that mpi4py finds, and the launcher.

    In another process, as some libraries end the process where they cannot be used.
    """
    try:
        asked = subprocess.run(
            [sys.executable, "-c", _ASK_MPI],
            check=False,
            capture_output=True,
            text=True,
            timeout=_MPI_SECONDS,
        )
        library = " ".join(asked.stdout.split())[:60]
        if asked.returncode:
            lines = asked.stderr.splitlines() or [f"exit code {asked.returncode}"]
            library = f"not usable: {lines[-1]}"
    except subprocess.TimeoutExpired:
        library = f"not usable: no answer in {_MPI_SECONDS} s"
    except OSError as error:
        library = f"not known: {sys.executable or 'Python'} cannot be started: {one_line(error)}"
    launcher = next((name for name in ("mpiexec", "srun") if shutil.which(name)), "no mpiexec")
    return f"{library}; {launcher}"


def _hdf5() -> str:
    """Return the version of the library that h5py has."""
    try:
        return library.version("doctor")
    except MissingPackageError as error:
        return f"not usable: {one_line(error).removeprefix('doctor: ')}"


def _fuse() -> str:
    """Return whether `trajet store mount` can work here."""
    if not os.path.exists("/dev/fuse"):
        return "no /dev/fuse: trajet store mount does not work"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        # Such as in containers.
        return f"{one_line(error)}: trajet store mount does not work"
    if os.geteuid() and not shutil.which("fusermount3"):
        return "/dev/fuse, no fusermount3 (package fuse3): trajet store mount needs it"
    return "usable"


def _cache_folder() -> str:
    """Return the folder for files beside trajectories that cannot be written there."""
    folder = cache.folder()
    if folder is None:
        return "none: there is no home folder"
    # `Path.exists` raises an error below a folder of somebody else.
    there = next(one for one in (folder, *folder.parents) if os.path.exists(one))
    state = "writable" if os.access(there, os.W_OK) else "not writable"
    return f"{folder} ({state})"


def _packages() -> Iterator[tuple[str, str]]:
    """Yield the version of each package that trajet uses, or what to install for which extra."""
    extras: dict[str, list[str]] = {}
    try:
        lines = importlib.metadata.requires("trajet") or []
    except importlib.metadata.PackageNotFoundError:
        yield "packages", "not known: trajet was not installed by pip, but found on the path"
        return
    for line in lines:
        requirement, _, marker = line.partition(";")
        extra = re.search(r"""extra == ['"](\w+)['"]""", marker)
        name = re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]
        kind = extra[1] if extra else ""
        if kind not in _NOT_ASKED:
            extras.setdefault(name, []).append(kind)
    for name, kinds in extras.items():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            wanted = " or ".join(
                f"'trajet[{kind}]'" if kind else "trajet" for kind in sorted(kinds)
            )
            version = f"not installed: pip install {wanted}"
        yield name, version


COMMANDS = (doctor,)
