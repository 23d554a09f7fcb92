"""Names of the processor and the operating system of this machine."""

import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def system() -> str:
    """Return the operating system, its version, the kind of processor, and the C library.

    `platform.platform` starts a process for that.
    """
    found = os.uname()
    library = None
    # Other C libraries know no such name, or no value of it.
    with suppress(OSError, ValueError):
        library = os.confstr("CS_GNU_LIBC_VERSION")
    words = [found.sysname, found.release, found.machine, library and f"with-{library}"]
    return "-".join(word.replace(" ", "") for word in words if word)


@cache
def processor() -> str:
    """Return the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
