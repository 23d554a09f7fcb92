"""Mount a folder through a file system that answers late on purpose (`slow-store/src/main.rs`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from host import HERE

PROGRAM = HERE / "slow-store" / "target" / "release" / "trajet-slow-store"
MOUNT_SECONDS = 10.0


@contextmanager
def mounted(source: Path, mount: Path, rules: Path) -> Iterator[None]:
    """Show the folder `source` at `mount`, by the rules in a file, which may change."""
    if not PROGRAM.exists():
        manifest = "benches/slow-store/Cargo.toml"
        raise SystemExit(f"{PROGRAM} is missing: cargo build --release --manifest-path {manifest}")
    mount.mkdir()
    with subprocess.Popen([PROGRAM, source, mount, rules]) as store:
        try:
            end = time.monotonic() + MOUNT_SECONDS
            while not os.path.ismount(mount):
                if store.poll() is not None or time.monotonic() > end:
                    raise SystemExit("the slow store does not start: see above")
                time.sleep(0.05)
            yield
        finally:
            # Lazily: this process may have files open.
            undo = ["fusermount3", "-uz"] if shutil.which("fusermount3") else ["umount", "-l"]
            subprocess.run([*undo, mount], check=False)
            store.terminate()
