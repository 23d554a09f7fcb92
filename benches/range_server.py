"""Start the range server of the benches: a cloud on this machine (`range-server/src/main.rs`)."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

PROGRAM = Path(__file__).resolve().parent / "range-server/target/release/trajet-range-server"


class RangeServer:
    """Serves files, each with its bytes repeated, under the names of `files`; a context manager."""

    def __init__(self, files: Mapping[str, tuple[Path, int]], **options: float) -> None:
        if not PROGRAM.exists():
            manifest = "benches/range-server/Cargo.toml"
            raise SystemExit(
                f"{PROGRAM} is missing: cargo build --release --manifest-path {manifest}"
            )
        words = [f"{name}={path}*{times}" for name, (path, times) in files.items()]
        self._process = subprocess.Popen(
            [PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.set(**options)

    def __enter__(self) -> Self:
        """Return the running server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the server."""
        self._process.communicate()

    def url(self, name: str) -> str:
        """Return the URL of a file."""
        return f"http://127.0.0.1:{self.port}/{name}"

    def set(self, **options: float) -> None:
        """Set options: `delay_ms`, `megabytes_per_s`, `connection_mb_per_s`, `fail_every`."""
        pairs = [f"{name.replace('_', '-')}={value}" for name, value in options.items()]
        self._get(f".set?{'&'.join(pairs)}" if pairs else ".stats")

    def reset(self) -> dict[str, int]:
        """Return the numbers since the last call: requests, bytes, connections, most_at_once."""
        return self._get(".reset")

    def _get(self, name: str) -> dict[str, int]:
        with urllib.request.urlopen(self.url(name)) as answer:
            found: dict[str, int] = json.load(answer)
        return found
