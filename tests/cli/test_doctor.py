"""`trajet doctor` says what trajet finds on a machine."""

import errno
import importlib.metadata
import json
import os
import sys
from pathlib import Path

import pytest
import trajet as tj
from helpers.commands import invoke, succeed
from trajet import machine, memory


def of_command(*arguments: object) -> dict[str, str]:
    """Return the entries that `trajet doctor --json` prints, computed in this process."""
    done = invoke("doctor", "--json", *arguments)
    assert done.exit_code == 0, done.output
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_the_table_has_a_line_for_each_entry() -> None:
    """Each with its value after the name."""
    lines = succeed("doctor")
    for line, (name, value) in zip(lines, of_command().items(), strict=True):
        assert line.startswith(name)
        # Other programs take memory meanwhile.
        assert name == "memory" or line.removeprefix(name).strip() == value


def test_every_package_of_the_manifest_has_a_line() -> None:
    """Those of extras too, but not those of developers."""
    found = of_command()
    assert found["trajet"] == tj.__version__
    for name in ("numpy", "h5py", "distributed", "mpi4py"):
        assert found[name] == importlib.metadata.version(name)
    assert not {"pytest", "ruff", "trajet-all"} & set(found)


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an extra of trajet, since that has the version that is needed."""

    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = of_command()
    assert found["h5py"] == "not installed: pip install 'trajet[h5md]'"
    assert found["cloudpickle"] == "not installed: pip install 'trajet[mpi]' or 'trajet[processes]'"
    assert found["numpy"] == "not installed: pip install trajet"


def test_job_of_slurm_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the numbers that decide how many workers there are."""
    for name, value in {"JOB_ID": "7", "NTASKS": "4", "CPUS_PER_TASK": "2"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert of_command()["SLURM"] == "job 7, 4 tasks, 2 cores per task"


def test_secrets_in_the_environment_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is meant for public reports of faults."""
    monkeypatch.setenv("TRAJET_TOKEN", "a-secret-of-the-server")
    monkeypatch.setenv("TRAJET_INSTRUCTION_SET", "scalar")
    found = of_command()
    assert found["TRAJET_TOKEN"] == "is set"
    assert found["TRAJET_INSTRUCTION_SET"] == "scalar"
    assert "a-secret-of-the-server" not in str(found)


def test_machines_that_lack_what_others_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No /proc, another C library, no interpreter, no metadata, and a home of somebody else."""

    def metadata(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    def confstr(name: str) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    def stat(path: Path, *, follow_symlinks: bool = True) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    for name in ("_MEMORY", "_GROUPS"):
        monkeypatch.setattr(memory, name, tmp_path / "no-proc")
    monkeypatch.setattr(importlib.metadata, "requires", metadata)
    monkeypatch.setattr(os, "confstr", confstr)
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "stat", stat)
    machine.system.cache_clear()
    try:
        found = of_command()
    finally:
        machine.system.cache_clear()
    here = os.uname()
    assert found["system"] == f"{here.sysname}-{here.release}-{here.machine}"
    assert found["memory"] == "unknown"
    assert found["MPI"].startswith("not known: Python cannot be started")
    assert found["cache folder"] == f"{tmp_path / 'cache' / 'trajet'} (writable)"
    assert "pip" in found["packages"]


def test_storage_is_measured_and_left_empty(tmp_path: Path) -> None:
    """The files that were read are removed."""
    found = of_command("--storage", tmp_path)
    assert len([name for name in found if name.startswith("storage: ")]) == 6
    assert not list(tmp_path.iterdir())
