"""A cluster as numbers: network, storage, workers that are slow or die."""

import random
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

from scale.events import Booked


@dataclass(frozen=True)
class Network:
    """Messages between two processes: bytes and seconds."""

    latency: float = 5e-6  # of an empty message
    # bytes a second of the process with which all others exchange messages
    bandwidth: float = 10e9
    # for which a message keeps rank 0 busy: a one-sided operation of MPI
    message_seconds: float = 2e-6
    # between two polls of rank 0 while it computes; 0 if hardware does one-sided operations
    poll_seconds: float = 1e-3
    # for which a message of Dask keeps the calling process busy, beside our own code
    client_seconds: float = 40e-6
    # for which a state change of a task keeps Dask's scheduler busy
    scheduler_seconds: float = 0.0


@dataclass(frozen=True)
class Storage:
    """A file system that all workers read; rates are those of a server."""

    servers: int = 64
    stripes: int = 64  # servers on which the trajectory lies
    bandwidth: float = 5e9
    requests: float = 50_000.0
    latency: float = 5e-4  # of a request
    open_seconds: float = 1e-4  # for which opening a file keeps the metadata server busy


@dataclass(frozen=True)
class Faults:
    """Fractions of the workers that are slow, and by which factor, and that die during the run."""

    slow: float = 0.01
    factor: float = 10.0
    dying: float = 0.0


@dataclass(frozen=True)
class Cluster:
    """Workers or ranks of one thread each, network, storage and faults."""

    n_workers: int
    network: Network = field(default_factory=Network)
    storage: Storage = field(default_factory=Storage)
    faults: Faults = field(default_factory=Faults)
    seed: int = 1

    @classmethod
    def read(cls, path: Path | None, n_workers: int, **changes: object) -> "Cluster":
        """Return a cluster of a TOML file with the tables `network`, `storage` and `faults`."""
        tables = tomllib.loads(path.read_text()) if path is not None else {}
        kinds = {"network": Network, "storage": Storage, "faults": Faults}
        parts = {}
        for name, kind in kinds.items():
            given = tables.pop(name, {})
            known = {entry.name for entry in fields(kind)}
            own = {key: value for key, value in changes.items() if key in known}
            if unknown := set(given) - known:
                raise ValueError(f"{path}: [{name}] has no {', '.join(sorted(unknown))}")
            parts[name] = kind(**{**given, **own})
        if tables:
            raise ValueError(f"{path}: no such table: {', '.join(sorted(tables))}")
        return cls(n_workers, **parts)


class Disks:
    """The storage while it is used."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.metadata = Booked()
        self.servers = [Booked() for _ in range(min(storage.stripes, storage.servers))]

    def open(self, time: float) -> float:
        """Return when a file is open."""
        return self.metadata.serve(time, self._storage.open_seconds) + self._storage.latency

    def read(self, time: float, task: int, n_bytes: float, n_requests: int) -> float:
        """Return when the frames of a task are read, which lie on one server."""
        server, storage = self.servers[task % len(self.servers)], self._storage
        busy = max(n_bytes / storage.bandwidth, n_requests / storage.requests)
        return server.serve(time, busy) + storage.latency * n_requests


class Fates:
    """Which workers are slow, and when which of them die."""

    def __init__(self, cluster: Cluster, expected: float) -> None:
        """Draw them for a run that is expected to take some seconds."""
        numbers, faults = random.Random(cluster.seed), cluster.faults
        everyone = range(cluster.n_workers)
        slow = set(numbers.sample(everyone, round(faults.slow * cluster.n_workers)))
        self.factors = [faults.factor if worker in slow else 1.0 for worker in everyone]
        dying = numbers.sample(everyone, round(faults.dying * cluster.n_workers))
        self.deaths = {worker: numbers.uniform(0.05, 0.95) * expected for worker in dying}
