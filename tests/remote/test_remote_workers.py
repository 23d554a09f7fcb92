"""Dask workers and MPI ranks read remote storage with their own connections and credentials."""

import json
import logging
import shutil
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from distributed import Client, LocalCluster
from distributed.comm import tcp
from helpers import messages, started_ranks
from helpers import range_server as faults
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer

SECRET = "hunter2"
N_WORKERS = 2


@pytest.fixture
def server(tmp_path: Path, adk: Adk) -> Iterator[RangeServer]:
    """Return a server of a bucket with adk.xtc and adk.h5md."""
    bucket = tmp_path / "served/bucket"
    bucket.mkdir(parents=True)
    shutil.copyfile(adk.xtc, bucket / "adk.xtc")
    tj.convert(tj.open(None, adk.xtc), bucket / "adk.h5md")
    with RangeServer(bucket.parent) as running:
        yield running


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Return a client of workers with credentials in their environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "key-of-worker")
        patch.setenv("AWS_SECRET_ACCESS_KEY", f"{SECRET}-of-worker")
        patch.setenv("AWS_REGION", "eu-west-1")
        workers = LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=False
        )
    with workers, Client(workers) as running:
        yield running


def options(server: RangeServer, *, credentials: bool = True) -> dict[str, Any]:
    """Return options of the bucket with credentials of the client."""
    config: dict[str, object] = {
        "endpoint": f"http://127.0.0.1:{server.port}",
        "virtual_hosted_style_request": "false",
    }
    if credentials:
        config["access_key_id"] = "key-of-client"
        config["secret_access_key"] = f"{SECRET}-of-client"
        config["region"] = "eu-west-1"
        config["client_options"] = {"default_headers": {"x-token": f"{SECRET}-token"}}
    return {"allow_http": True, "storage_options": config, "sidecar": False, "connections": 6}


def keys(server: RangeServer) -> set[str]:
    """Return the access keys with which requests were signed."""
    signed = [request.headers["authorization"] for request in server.requests]
    return {one.partition("Credential=")[2].partition("/")[0] for one in signed}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the frames of all messages that this process sends to Dask."""
    found: list[bytes] = []
    make = tcp.to_frames  # type: ignore[attr-defined]

    async def recorded(*arguments: Any, **named: Any) -> Any:
        frames = await make(*arguments, **named)
        found.extend(bytes(frame) for frame in frames)
        return frames

    monkeypatch.setattr(tcp, "to_frames", recorded)
    return found


def shown_by_dask(client: Client) -> str:
    """Return what scheduler and workers know and have logged, as the dashboard shows it."""

    def of_scheduler(dask_scheduler: Any) -> str:
        tasks = [
            (str(key), repr(task), task.run_spec) for key, task in dask_scheduler.tasks.items()
        ]
        return repr((tasks, dask_scheduler.get_events(), dask_scheduler.identity()))

    return repr(
        (
            client.run_on_scheduler(of_scheduler),
            client.get_scheduler_logs(),
            client.get_worker_logs(),
            client.get_events(),
        )
    )


def everything_of(error: BaseException) -> str:
    """Return the traceback of an error with its causes and notes."""
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize("name", ["adk.xtc", "adk.h5md"])
def test_dask_workers_read_with_their_own_credentials(
    server: RangeServer, adk: Adk, client: Client, sent: list[bytes], name: str
) -> None:
    """Frames are the same bits; messages, tasks and reports have no secret of the client."""
    expected = tj.rmsd(tj.open(adk.psf, server.folder / f"bucket/{name}").select("name CA"))
    traj = tj.open(adk.psf, f"s3://bucket/{name}", merge_gap=0, **options(server))
    atoms = traj.select("name CA")
    assert keys(server) == {"key-of-client"}
    server.clear()
    server.delay = 0.05
    pool = tj.DaskPool(client)
    found = tj.rmsd(atoms, pool=pool)
    assert same_bits(found.values, expected.values)
    assert "key-of-worker" in keys(server)
    # One task at a time runs on each worker.
    assert server.most_at_once > N_WORKERS
    message = b"".join(sent)
    assert name.encode() in message
    assert SECRET.encode() not in message
    shown = shown_by_dask(client) + json.dumps(found.report, default=str) + repr(found) + repr(pool)
    assert SECRET not in shown


FAILURES: dict[str, faults.Fault] = {
    "expired": faults.expired_token(403),
    "denied": lambda _: faults.error(403, f"<Key>{SECRET}</Key>"),
    "missing": lambda _: faults.error(404, SECRET),
    "replaced": faults.header("ETag", f'"{SECRET}"'),
    "gzip": faults.gzipped(),
}


@pytest.mark.parametrize("failure", [*FAILURES, "secret in the URL"])
def test_failures_of_dask_workers_show_no_secret(
    server: RangeServer,
    adk: Adk,
    client: Client,
    sent: list[bytes],
    failure: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nor do tracebacks, logs and events."""
    caplog.set_level(logging.DEBUG)
    if failure in FAILURES:
        traj = tj.open(adk.psf, "s3://bucket/adk.xtc", merge_gap=0, **options(server))
    else:
        url = server.url("bucket/adk.xtc").replace("://", f"://user:{SECRET}@") + f"?sig={SECRET}"
        traj = tj.open(adk.psf, url, allow_http=True, sidecar=False)
    atoms = traj.select("name CA")
    reference = traj.read(frames=[0], atoms=atoms.indices).positions[0]
    if failure in FAILURES:
        server.always(FAILURES[failure])
    with raises((tj.TrajetError, OSError)) as raised:
        tj.rmsd(atoms, reference=reference, pool=tj.DaskPool(client))
    assert SECRET not in everything_of(raised.value)
    assert SECRET.encode() not in b"".join(sent)
    assert SECRET not in shown_by_dask(client)
    assert SECRET not in caplog.text + "".join(capfd.readouterr())


def test_exact_copies_of_objects_are_written_by_this_process(
    server: RangeServer, adk: Adk, client: Client, tmp_path: Path
) -> None:
    """Workers would need h5py and the tables; frames alone they copy."""
    traj = tj.open(adk.psf, "s3://bucket/adk.h5md", **options(server))
    with raises(ValueError):
        tj.convert(traj, tmp_path / "copy.h5md", pool=tj.DaskPool(client))
    traj = tj.open(adk.psf, "s3://bucket/adk.xtc", **options(server))
    tj.convert(traj, tmp_path / "copy.xtc", pool=tj.DaskPool(client))
    assert (tmp_path / "copy.xtc").read_bytes() == adk.xtc.read_bytes()


# A shell that gives each rank a key of its own.
RANK = 'AWS_ACCESS_KEY_ID="key-of-${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" exec "$@"'


@pytest.mark.parametrize("failure", [None, "expired", "denied"])
def test_mpi_ranks_read_with_their_own_credentials(
    server: RangeServer,
    adk: Adk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: str | None,
) -> None:
    """Frames are the same bits; an error of a rank is that of the command, without a secret."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    config = options(server, credentials=False)["storage_options"]
    given = [f"--storage-option={name}={value}" for name, value in config.items()]
    given += ["--allow-http", "--pool", "mpi", "--connections", "2"]
    if failure is not None:
        # Opening, indexing and the reference take fewer requests than reading.
        tj.open(None, "s3://bucket/adk.xtc", **{**options(server), "sidecar": True})
        server.on_request(6, FAILURES[failure], times=10_000)
    server.delay = 0.05 if failure is None else 0.0
    out = tmp_path / "rmsd.npz"
    report = tmp_path / "report.json"
    command = ["-m", "trajet", "rmsd", adk.psf, "s3://bucket/adk.xtc"]
    command += ["--select", "name CA", *given, "-o", out, "--report", report]
    done = started_ranks.run_on_ranks(2, *command, shell=RANK, fails=failure is not None)
    assert SECRET not in done.stdout + done.stderr
    if failure is None:
        assert server.most_at_once > 2
        expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
        assert same_bits(tj.load(out).values, expected.values)
        assert keys(server) == {"key-of-0", "key-of-1"}
        assert SECRET not in report.read_text()
    else:
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("trajet: ")]
        messages.compare(line)
        assert not out.exists()
