"""Kills changes of a store in front of each change of its files, by `cut_here.c` before libc."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent


class Cutting:
    """A process that has all that changes need, and forks for each of them."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.to, self.back = process, process.stdin, process.stdout

    def cut(self, n: int, folder: Path, doing: str, *words: str | Path) -> bool:
        """Do something to a store, killed in front of the n-th change; return whether it was."""
        print(n, folder, doing, *words, sep="\t", file=self.to, flush=True)
        status = int(self.back.readline())
        assert status in (0, -signal.SIGKILL)
        return status != 0


@contextmanager
def cutting(folder: Path) -> Iterator[Cutting]:
    """Build what stands before libc in a folder, and start a process with it."""
    library = folder / "cut_here.so"
    source = HERE / "cut_here.c"
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, __file__, library],
        stdin=pipe,
        stdout=pipe,
        text=True,
        env=os.environ | {"LD_PRELOAD": str(library)},
    ) as process:
        yield Cutting(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


def serve(library: ctypes.CDLL, asked: IO[str]) -> None:
    """Do what lines say, each in a process of its own."""
    import killed_store

    for line in asked:
        n, folder, doing, name, *sources = line.rstrip("\n").split("\t")
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        code = 1
        try:
            library.cut(folder.encode(), ctypes.c_long(int(n)))
            killed_store.change(Path(folder), doing, name, *map(Path, sources))
            code = 0
        finally:
            os._exit(code)


if __name__ == "__main__":
    serve(ctypes.CDLL(sys.argv[1]), sys.stdin)
