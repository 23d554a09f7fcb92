"""Trajectories in remote storage have the numbers of local files, or end in one precise error."""

import pickle
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import pool_laws
from helpers import range_server as faults
from helpers.commands import wait_until
from helpers.golden_files import READ, Adk, same_bits
from helpers.messages import names, raises
from helpers.range_server import RangeServer
from helpers.systems import FILES
from MDAnalysisTests import datafiles
from trajet import memory
from trajet.remote import is_secret, shown, without_secrets
from trajet.remote.failures import failure_of
from trajet.remote.names import address_of

SECRET = "hunter2"


def opened(
    server: RangeServer, name: str, topology: object = None, **options: Any
) -> tj.Trajectory:
    """Open a file of the server."""
    options = {"connections": 4, **options}
    return tj.open(topology, server.url(name), allow_http=True, **options)  # type: ignore[arg-type]


FEW = {name: path for format in READ.values() for name, path in list(format.files().items())[:2]}


@pytest.mark.parametrize("gap", [0, None])
@pytest.mark.parametrize("name", sorted(FEW))
def test_frames_have_the_bits_of_the_local_file(
    server: RangeServer, name: str, gap: int | None
) -> None:
    """Each format is read whole and in part, by the narrowest ranges and by measured ones."""
    shutil.copyfile(FEW[name], server.folder / name)
    try:
        here = tj.open(None, FEW[name], sidecar=False, allow_truncated_tail=True)
    except tj.TrajetError as error:
        with raises(type(error)):
            opened(server, name, allow_truncated_tail=True)
        assert names(error, FEW[name])
        return
    remote = opened(server, name, allow_truncated_tail=True, merge_gap=gap)
    assert np.array_equal(remote.times, here.times, equal_nan=True)
    assert np.array_equal(remote.steps, here.steps)
    some = [0, 1, here.n_atoms // 3, here.n_atoms - 1]
    for atoms in (None, some):
        ours, theirs = remote.read(atoms=atoms), here.read(atoms=atoms)
        assert same_bits(ours.positions, theirs.positions)
        assert same_bits(ours.cells, theirs.cells)


@pytest.mark.parametrize("name", ["solvated.xtc", "solvated.trr"])
def test_rmsd_of_a_solvated_protein_reads_a_part(server: RangeServer, name: str) -> None:
    """The bytes of the protein, and one or two requests a frame."""
    topology, source = FILES[name]
    shutil.copyfile(source, server.folder / name)
    here = tj.rmsd(tj.open(topology, source, sidecar=False).select("protein"))
    traj = opened(server, name, topology, merge_gap=0)
    assert traj.paths == (traj.path,)
    assert str(traj.path) == server.url(name)
    server.clear()
    there = tj.rmsd(traj.select("protein"))
    assert same_bits(there.values, here.values)
    size = Path(source).stat().st_size
    assert server.sent < size / 3
    assert server.count() <= 2 * traj.n_frames + 3
    # Frames, and the reference beside.
    report = there.report
    assert 0 < report["bytes_read"] <= server.sent
    assert report["inputs"][0]["size"] == size
    assert report["inputs"][0]["path"] == server.url(name)


def test_analyses_have_the_bits_of_the_local_file(server: RangeServer, adk: Adk) -> None:
    """One analysis of each shape."""
    here = pool_laws.analyses(tj.open(adk.psf, adk.xtc), pool_laws.HALVES[0])
    there = pool_laws.analyses(opened(server, "adk.xtc", adk.psf), pool_laws.HALVES[0])
    for name, compute in here.items():
        pool = tj.LocalPool(threads=2)
        assert there[name](pool).tobytes() == compute(pool).tobytes(), name


def test_chains_and_transforms_have_the_bits_of_local_files(
    server: RangeServer, adk: Adk, tmp_path: Path
) -> None:
    """Objects alone, and with a local file."""
    second = tmp_path / "served" / "second.dcd"
    shutil.copyfile(datafiles.DCD, second)
    url = server.url
    here = tj.open(adk.psf, adk.xtc, second).fit("name CA")
    there = tj.open(adk.psf, url("adk.xtc"), url("second.dcd"), allow_http=True).fit("name CA")
    mixed = tj.open(adk.psf, url("adk.xtc"), second, allow_http=True).fit("name CA")
    expected = tj.rmsf(here.select("backbone")).values
    assert same_bits(tj.rmsf(there.select("backbone")).values, expected)
    assert same_bits(tj.rmsf(mixed.select("backbone")).values, expected)


def test_members_of_ensembles_may_be_objects(server: RangeServer, adk: Adk) -> None:
    """A table in a folder names URLs beside files."""
    table = adk.psf.parent / "members.csv"
    table.write_text(f"replica,topology,trajectory\n1,adk.psf,{server.url('adk.xtc')}\n")
    members = tj.ensemble(table, allow_http=True)
    found = tj.rmsd(members.select("name CA"))
    expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    assert same_bits(found[0].values, expected.values)
    with raises(ValueError):
        tj.ensemble([{"topology": adk.psf, "trajectory": "https://host/run.xtc?sig=1"}])


def test_kept_results_are_those_of_the_same_objects(adk: Adk, tmp_path: Path) -> None:
    """Of trajectory and topology; without an ETag nothing tells whether they have changed."""
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    shutil.copyfile(adk.xtc, bucket / "run.xtc")
    shutil.copyfile(adk.psf, bucket / "top.psf")
    with RangeServer(bucket) as server:
        row = {"topology": server.url("top.psf"), "trajectory": server.url("run.xtc")}

        def n_reused(verify: bool = False) -> int:
            members = tj.ensemble([{**row, "replica": 1}], allow_http=True)
            job = tj.rmsd.job(members.select("name CA"))
            (found,) = tj.run([job], resume=tmp_path / "kept", verify=verify)
            return sum(outcome.is_reused for outcome in found.outcomes)

        assert [n_reused(), n_reused(), n_reused(verify=True)] == [0, 1, 1]
        tj.convert(tj.open(None, adk.xtc).translate([1, 0, 0]), bucket / "run.xtc", force=True)
        assert [n_reused(), n_reused()] == [0, 1]
        (bucket / "top.psf").write_text(adk.psf.read_text() + "\n")
        assert [n_reused(), n_reused()] == [0, 1]
        server.always(faults.header("ETag", 'W/"1"'))
        with raises(ValueError):
            n_reused()


def test_worker_processes_open_objects_by_themselves(server: RangeServer, adk: Adk) -> None:
    """Processes that are started do; forked ones are refused."""
    traj = opened(server, "adk.xtc", adk.psf, sidecar=False)
    atoms = traj.select("name CA")
    expected = tj.rmsd(atoms).values
    server.clear()
    there = tj.rmsd(atoms, pool=tj.ProcessPool(workers=2))
    assert same_bits(there.values, expected)
    assert server.count() > 1
    with raises(ValueError):
        tj.rmsd(atoms, pool=tj.ProcessPool(workers=2, fork=True))


@pytest.mark.parametrize("pool", [tj.LocalPool(threads=2), tj.ProcessPool(workers=2)], ids=repr)
def test_members_send_their_credentials_from_all_workers_here(
    server: RangeServer, adk: Adk, pool: tj.Pool
) -> None:
    """Objects, whose sizes are not known beforehand, are cut into tasks as large files are."""
    secret = {"client_options": {"default_headers": {"Authorization": f"Bearer {SECRET}"}}}
    shutil.copyfile(adk.xtc, server.folder / "second.xtc")
    rows = [
        {"topology": adk.psf, "trajectory": server.url(name)} for name in ("adk.xtc", "second.xtc")
    ]
    ensemble = tj.ensemble(rows, allow_http=True, storage_options=secret, sidecar=False)
    expected = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"))
    server.clear()
    found: Any = tj.rmsd(ensemble.select("name CA"), pool=pool)
    sent = [one.headers.get("authorization") for one in server.requests]
    assert len(sent) > 4
    assert set(sent) == {f"Bearer {SECRET}"}
    for outcome in found.outcomes:
        assert same_bits(outcome.result.values, expected.values)
        assert len(outcome.result.report["tasks"]) > 1


def test_pickled_trajectories_open_the_object_again(server: RangeServer, adk: Adk) -> None:
    """The object must be the same."""
    traj = opened(server, "adk.xtc", adk.psf)
    again = pickle.loads(pickle.dumps(traj))
    assert same_bits(again.read(frames=[3]).positions, traj.read(frames=[3]).positions)
    server.replace("adk.xtc", (server.folder / "adk.xtc").read_bytes()[:-1])
    with pytest.raises(tj.TrajetError):
        pickle.loads(pickle.dumps(traj))


def test_indexes_are_kept_in_the_cache_by_etag(server: RangeServer, adk: Adk) -> None:
    """Another object of the same bytes is indexed anew."""
    first = opened(server, "adk.xtc")
    assert first.index_state == "built"
    server.clear()
    assert opened(server, "adk.xtc").index_state == "loaded"
    assert server.count() <= 4
    server.replace("adk.xtc", adk.xtc.read_bytes())
    assert opened(server, "adk.xtc").index_state == "built"


def test_transient_failures_are_tried_again_and_counted(server: RangeServer, adk: Adk) -> None:
    """Throttling, cuts, closed connections and short bodies."""
    traj = opened(server, "adk.xtc", adk.psf, merge_gap=0, connections=1)
    atoms = traj.select("name CA")
    expected = tj.rmsd(atoms).values
    server.clear()
    kinds: list[faults.Fault] = [
        faults.throttled(503),
        faults.throttled(429),
        faults.cut(100),
        faults.closed(),
        faults.shortened(),
    ]
    for number, fault in enumerate(kinds):
        server.on_request(3 + 3 * number, fault)
    again = tj.rmsd(atoms)
    assert same_bits(again.values, expected)
    retries = sum(worker.get("retries", 0) for worker in again.report["workers"])
    assert 1 <= retries <= len(kinds)


@pytest.mark.parametrize("name", ["local", "processes"])
def test_fewer_connections_where_memory_has_no_room(
    server: RangeServer, adk: Adk, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread that waits holds states; a message says how many connections there are."""
    traj = opened(server, "adk.xtc", adk.psf, merge_gap=0, connections=32)
    atoms = traj.select("name CA")
    expected = tj.rmsf(atoms)
    assert not any("connections" in message for message in expected.messages)
    pool = tj.LocalPool(threads=1) if name == "local" else tj.ProcessPool(workers=2)
    asked: list[int] = []

    def fitting(connections: int, least: int, bytes_each: int) -> int:
        asked.append(bytes_each)
        return connections_that_fit(connections, least, bytes_each)

    connections_that_fit = memory.connections_that_fit
    monkeypatch.setattr("trajet.analysis.runner.connections_that_fit", fitting)
    tj.rmsf(atoms, pool=pool)
    # States of 214 atoms, of 8 numbers or more each.
    assert asked[0] > 214 * 8 * 8
    monkeypatch.setattr(memory, "_MUCH", 0)
    monkeypatch.setattr(memory, "available", lambda: 3 * asked[0] + 1)
    server.clear()
    server.delay = 0.02
    found = tj.rmsf(atoms, pool=pool)
    assert same_bits(found.values, expected.values)
    [message] = [message for message in found.messages if "connections" in message]
    assert message.startswith("3 connections to remote storage instead of 32: memory has room")
    processes = 1 if name == "local" else 2
    assert server.most_at_once <= 3 * processes


def test_connections_are_never_fewer_than_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small runs are not compared with the memory, nor those of systems that do not say."""
    monkeypatch.setattr(memory, "available", lambda: 2**30)
    fitting = memory.connections_that_fit
    assert fitting(64, 2, 2**20) == 64
    assert fitting(64, 2, 2**26) == 16
    assert fitting(64, 2, 2**40) == 2
    assert fitting(1, 2, 2**40) == 1
    monkeypatch.setattr(memory, "available", lambda: None)
    assert fitting(64, 2, 2**40) == 64


FAULTS: dict[str, tuple[faults.Fault, type[Exception]]] = {
    "gzip": (faults.gzipped(), tj.RemoteError),
    "no ranges": (faults.without_ranges(), tj.RemoteError),
    "expired": (faults.expired_token(400), PermissionError),
    "expired 403": (faults.expired_token(403), PermissionError),
    "denied": (lambda _: faults.error(403, ""), PermissionError),
    "unknown key": (
        lambda _: faults.error(403, f"<Code>InvalidAccessKeyId</Code><Key>{SECRET}</Key>"),
        PermissionError,
    ),
    "missing": (lambda _: faults.error(404, ""), FileNotFoundError),
    "another ETag": (faults.header("ETag", '"other"'), tj.StaleIndexError),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("during", ["opening", "reading"])
def test_failures_are_one_precise_error(
    server: RangeServer, name: str, during: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line with the URL, and no word of the secrets in it, its causes or the output."""
    fault, kind = FAULTS[name]
    if during == "opening" and kind is tj.StaleIndexError:
        return
    url = server.url("adk.xtc").replace("://", f"://user:{SECRET}@") + f"?sig={SECRET}"
    options: dict[str, Any] = {"allow_http": True, "sidecar": False, "connections": 2}
    if during == "reading":
        traj = tj.open(None, url, **options)
    server.always(fault)
    with raises(kind) as raised:
        if during == "opening":
            tj.open(None, url, **options)
        else:
            traj.read()
    error: BaseException | None = raised.value
    while error is not None:
        assert SECRET not in repr(error) + str(error)
        error = error.__cause__
    assert SECRET not in "".join(capfd.readouterr())


def test_no_secret_is_shown_or_sent(server: RangeServer, adk: Adk) -> None:
    """Secrets of the URL go to the server, and to processes of this machine."""
    url = server.url("adk.xtc").replace("://", f"://user:{SECRET}@") + f"?sig={SECRET}"
    traj = tj.open(adk.psf, url, allow_http=True, connections=2)
    assert {request.headers["authorization"] for request in server.requests}
    result = tj.rmsd(traj.select("name CA"))
    shown = [repr(traj), str(traj.paths), repr(result), str(result.report), str(traj.messages)]
    assert SECRET not in "".join(shown)
    for secrets in (True, False):
        assert (
            SECRET.encode() in traj.source.reader.worker_input(None, secrets=secrets)
        ) == secrets
    with raises(TypeError) as raised:
        pickle.dumps(traj)
    assert SECRET not in str(raised.value)


def test_a_replaced_object_is_never_mixed(server: RangeServer, adk: Adk) -> None:
    """Replaced before any request, it ends the run."""
    traj = opened(server, "adk.xtc", adk.psf, merge_gap=0, connections=2)
    other = bytearray(adk.xtc.read_bytes())
    other[200] ^= 1
    for number in (0, 1, 5, 20):
        server.replace("adk.xtc", adk.xtc.read_bytes())
        traj = opened(server, "adk.xtc", adk.psf, merge_gap=0, connections=2)
        server.on_request(number, faults.replaced("adk.xtc", bytes(other)))
        with raises(tj.StaleIndexError) as raised:
            tj.rmsd(traj.select("name CA"))
        assert str(raised.value.path) == server.url("adk.xtc")


def test_objects_without_a_strong_etag_have_a_message(server: RangeServer, adk: Adk) -> None:
    """Its index is not kept."""
    server.always(faults.header("ETag", 'W/"1"'))
    traj = opened(server, "adk.xtc", adk.psf)
    assert any("no strong ETag" in message for message in traj.messages)
    assert same_bits(traj.read().positions, tj.open(None, adk.xtc).read().positions)
    assert traj.index_path is None


def test_waiting_requests_are_interrupted(server: RangeServer) -> None:
    """Ctrl-C ends a run and a read while the server is silent."""
    import _thread

    traj = opened(server, "adk.xtc", merge_gap=0)
    server.clear()
    server.always(faults.stalled(0))

    def interrupt() -> None:
        wait_until(lambda: server.most_at_once > 0)
        _thread.interrupt_main()

    for read in (lambda: tj.rmsd(traj.select([0, 1, 2])), traj.read):
        other = threading.Thread(target=interrupt)
        other.start()
        with pytest.raises(KeyboardInterrupt):
            read()
        other.join()
        server.clear()
        server.always(faults.stalled(0))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("PUT http://169.254.169.254/latest/api/token in 9ms - Server returned 403", "denied"),
        ("PUT http://169.254.169.254/latest/api/token in 10s - error sending request", "denied"),
        ("PUT http://169.254.169.254/latest/api/token - status code: 503", "busy"),
        ("GET http://metadata.google.internal/computeMetadata/v1 - no route", "denied"),
        ("GET http://host/169.254.169.254/run.xtc - error sending request", "transient"),
    ],
)
def test_machines_without_credentials_are_told(text: str, kind: str) -> None:
    """A store without credentials asks the servers that machines in a cloud have."""
    found = failure_of(Exception(f"Generic S3 error: Error performing {text}"))
    assert found[0] == kind
    assert ("there are no credentials" in found[1]) == (kind == "denied")


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("http://127.0.0.1:1/run.xtc", {}),
    ("ftp://host/run.xtc", {}),
    ("s3://bucket", {}),
    ("s3://key:hunter2@bucket/run.xtc", {}),
    ("https://host/run.xtc", {"storage_options": {"region": "x"}}),
    ("run.xtc", {"storage_options": {"region": "x"}}),
    ("https://host/run.xtc#2", {}),
    ("s3://bucket/run.xtc#2?sig=hunter2", {}),
]


@pytest.mark.parametrize(("url", "options"), WRONG)
def test_wrong_names_are_errors_without_a_request(url: str, options: dict[str, Any]) -> None:
    """The URL is checked first."""
    with raises(ValueError) as raised:
        tj.open(None, url, **options)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("key", ["run.xtc#2", "md/#run.xtc.1#", "a b%20.xtc", "md@1/run#.xtc"])
def test_all_that_follows_a_bucket_is_the_key(key: str) -> None:
    """GROMACS' backups have # in their names."""
    address = address_of(f"S3://bucket/{key}")
    assert (address.store, address.path) == ("s3://bucket", key)
    assert address.shown == shown(address.shown) == f"s3://bucket/{key}"


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("aws_sse_customer_key_base64", "x", True),
        ("AWS_SECRET_ACCESS_KEY", "x", True),
        ("some_new_option", "x", True),
        ("default_headers", {"authorization": "x"}, True),
        ("proxy_url", "http://me:x@proxy:3128", True),
        ("endpoint", "https://me:x@host", True),
        ("proxy_url", "http://proxy:3128", False),
        ("aws_endpoint", "https://host", False),
        ("AWS_REGION", "eu-west-1", False),
        ("timeout", "20s", False),
    ],
)
def test_options_are_secrets_unless_they_are_known_to_be_none(
    option: str, value: object, expected: bool
) -> None:
    """So that new options of obstore are sent to no other machine by mistake."""
    assert is_secret(option, value) == expected
    for options in ({option: value}, {"client_options": {option: value}}):
        assert (without_secrets(options) == options) != expected


def test_stores_and_filesystems_are_read(server: RangeServer, adk: Adk) -> None:
    """A store of obstore, and whatever has the methods of fsspec."""
    from obstore.store import LocalStore

    expected = tj.open(None, adk.xtc).read().positions
    traj = tj.open(adk.psf, (LocalStore(adk.xtc.parent), adk.xtc.name))
    assert same_bits(traj.read().positions, expected)

    class FileSystem:
        protocol = ("made", "other")

        def info(self, path: str) -> dict[str, object]:
            return {"size": adk.xtc.stat().st_size}

        def cat_file(self, path: str, start: int, end: int) -> bytes:
            return adk.xtc.read_bytes()[start:end]

    traj = tj.open(adk.psf, (FileSystem(), "md/adk.xtc"), merge_gap=0)
    assert str(traj.path) == "made://md/adk.xtc"
    assert same_bits(traj.read().positions, expected)
    assert any("no strong ETag" in message for message in traj.messages)
    with raises(TypeError):
        tj.open(None, (object(), "run.xtc"))
