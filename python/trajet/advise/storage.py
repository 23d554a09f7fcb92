"""Descriptions of a storage and a cluster, which predictions of scaling need; files in TOML."""

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from trajet.parsing import ParseError, parsed


@dataclass(frozen=True)
class Storage:
    """Rates and latencies of a storage; None, infinity or 0 if unknown or without limit.

    Attributes
    ----------
    latency
        Seconds until a read request is answered, without its transfer. None: reading takes as long
        as in the run of the report.
    client_bandwidth
        Bytes per second of one reader. None as for `latency`.
    total_bandwidth
        Bytes per second of all servers together.
    requests_per_s
        Read requests per second that all readers together get answered.
    open_seconds
        Seconds for opening a file. None: as in the run of the report.
    opens_per_s
        Files per second that all readers together can open.
    servers, stripes
        Number of servers, and of those on which one file lies. A file has the bandwidth of its own
        servers only.
    exclusive_seconds
        Seconds for which a request to a file that several processes read makes the others wait,
        such as for the locks of a parallel file system.
    """

    latency: float | None = None
    client_bandwidth: float | None = None
    total_bandwidth: float = math.inf
    requests_per_s: float = math.inf
    open_seconds: float | None = None
    opens_per_s: float = math.inf
    servers: float = 1
    stripes: float = 1
    exclusive_seconds: float = 0.0

    def bandwidth_of(self, files: int) -> float:
        """Return the bytes per second of the servers on which so many files lie."""
        return self.total_bandwidth * min(1.0, files * self.stripes / self.servers)


@dataclass(frozen=True)
class Cluster:
    """The machines of a run.

    Attributes
    ----------
    cores_per_node
        Cores of a node, which bound the threads of a process. None: those of the report.
    cores
        Cores of all nodes. Workers beyond that share them.
    crowding
        Factor by which decoding and computing take longer if all cores of a node are busy: they
        share its memory, and their clock is lower.
    network_bandwidth
        Bytes per second that one process can receive.
    """

    cores_per_node: float | None = None
    cores: float = math.inf
    crowding: float = 1.0
    network_bandwidth: float = 1e9


@dataclass(frozen=True)
class Environment:
    """Storage and cluster, as a file in TOML describes them.

    The tables are `[storage]` and `[cluster]`, with the attributes of these classes as keys. Every
    key may be absent.
    """

    storage: Storage = Storage()
    cluster: Cluster = Cluster()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Environment":
        """Read a description, which `trajet bench storage` writes.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is no TOML, or has an unknown key or a value that is no number above 0.
        """
        path = Path(path)
        try:
            tables: Mapping[str, object] = parsed(_toml, path)
        except ParseError as error:
            raise ValueError(f"{path}: not a storage description in TOML: {error}") from error
        known = {"storage": Storage, "cluster": Cluster}
        numbers: dict[str, dict[str, float]] = {}
        for name, table in tables.items():
            if name not in known or not isinstance(table, dict):
                raise ValueError(f"{path}: {name}: give the tables [storage] and [cluster]")
            keys = [field.name for field in fields(known[name])]
            numbers[name] = {}
            for key, value in table.items():
                if key not in keys:
                    raise ValueError(f"{path}: {name} has no {key}: its keys are {', '.join(keys)}")
                least = 0.0 if key in _MAY_BE_ZERO else math.ulp(0.0)
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                is_finite = is_number and math.isfinite(value)
                if not is_finite or not value >= least:
                    more = "of 0 or more" if key in _MAY_BE_ZERO else "above 0"
                    raise ValueError(f"{path}: {key} = {value!r}: give a number {more}")
                numbers[name][key] = float(value)
        return cls(Storage(**numbers.get("storage", {})), Cluster(**numbers.get("cluster", {})))

    def to_toml(self) -> str:
        """Return the description as TOML, without keys that are not known."""
        lines: list[str] = []
        for name, table in (("storage", self.storage), ("cluster", self.cluster)):
            known = {
                field.name: value
                for field in fields(table)
                if (value := getattr(table, field.name)) != field.default
            }
            if known:
                lines += ["", f"[{name}]"] if lines else [f"[{name}]"]
                lines += [f"{key} = {value:.4g}" for key, value in known.items()]
        return "\n".join([*lines, ""])


_MAY_BE_ZERO = ("latency", "open_seconds", "exclusive_seconds")


def _toml(path: Path) -> Mapping[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
