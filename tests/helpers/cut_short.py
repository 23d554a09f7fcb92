"""Kills processes before file operations, or fails these, with `cut_here.c` loaded before libc."""

import ctypes
import enum
import errno
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent
# Timeout of an operation, s.
PATIENCE = 60


class Outcome(enum.IntEnum):
    """How an operation with a failing file operation ended; the number is an exit status."""

    UNTOUCHED = 0
    """There are fewer file operations."""
    FAILED = 10
    """It raised an error."""
    DONE = 11
    """A file operation failed, and it did its work all the same."""


class CuttingProcess:
    """A process that has imported all that changes need, and forks for each of them."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.to, self.back = process, process.stdin, process.stdout

    def cut(self, n: int, folder: Path, doing: str, *words: str | Path) -> bool:
        """Change a store, killed before the n-th file change; return whether it was killed."""
        status = self._ask("cut", n, folder, 0, 0, "", doing, *words)
        assert status in (0, -signal.SIGKILL)
        return status != 0

    def fail(
        self,
        n: int,
        folder: Path,
        number: int,
        lasts: bool,
        doing: str,
        *words: str | Path,
        below: str = "",
    ) -> Outcome:
        """Run an operation in a folder while a file operation below it fails with an error number.

        It is the n-th one below the folder, or below one of its folders.

        With `lasts` only changes are counted, and later ones fail, too. Afterwards, in the same
        process, a store in the folder is repaired: its lock must be free.
        """
        status = self._ask("fail", n, folder, number, int(lasts), below, doing, *words)
        where = f"{doing}: operation {n}: {errno.errorcode[number]}"
        assert status != -signal.SIGALRM, f"{where}: hangs"
        assert status in set(Outcome), f"{where}: exit status {status}"
        return Outcome(status)

    def _ask(self, *words: object) -> int:
        print(*words, sep="\t", file=self.to, flush=True)
        return int(self.back.readline())


@contextmanager
def cutting(folder: Path) -> Iterator[CuttingProcess]:
    """Build the library that is loaded before libc in a folder, and start a process with it."""
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
        yield CuttingProcess(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


def serve(library: ctypes.CDLL, asked: IO[str]) -> None:
    """Run the operation of each line in a process of its own."""
    from helpers import killed_store

    for line in asked:
        how, n, folder, number, lasts, below, doing, name, *sources = line.rstrip("\n").split("\t")
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        code = 1
        try:
            where, count = os.fsencode(Path(folder, below)), ctypes.c_long(int(n))
            given = (Path(folder), doing, name, *map(Path, sources))
            if how == "cut":
                library.cut(where, count)
                killed_store.change(*given)
                code = 0
                continue
            signal.alarm(PATIENCE)
            code = Outcome.DONE
            library.fail(where, count, int(number), int(lasts))
            try:
                killed_store.change(*given)
            except Exception:
                code = Outcome.FAILED
            if not library.stop():
                assert code == Outcome.DONE
                code = Outcome.UNTOUCHED
            killed_store.repair(Path(folder))
        except BaseException:
            traceback.print_exc()
            code = 1
        finally:
            os._exit(code)


if __name__ == "__main__":
    serve(ctypes.CDLL(sys.argv[1]), sys.stdin)
