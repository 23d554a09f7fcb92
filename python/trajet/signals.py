"""Handling of Ctrl-C, SIGTERM and SIGHUP on the command line.

The first signal raises KeyboardInterrupt in the main thread; a second one ends the process at once.
Only the command line installs handlers; a script that imports the package keeps its own.
"""

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds in which a second signal counts as the first: a terminal and mpiexec may both send one.
_SAME = 0.5
# Seconds after which a KeyboardInterrupt that was lost in a destructor is raised again.
_AGAIN = 0.01
# Set by MPI launchers in each rank: MPICH and its derivatives, PMIx, Open MPI.
_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
# Path prefix of MPICH's shared memory.
_MEMORY = "/dev/shm/mpich_"
# Module whose `_resource_tracker` has a process that removes leftovers of its parent.
_TRACKER = "multiprocessing.resource_tracker"

_received: signal.Signals | None = None
# The event of `deferred`, if it is active.
_deferral: threading.Event | None = None
# Aborts all ranks; set when MPI is initialized with several ranks.
abort_ranks: Callable[[], None] | None = None


def received() -> signal.Signals | None:
    """Return the first signal that a handler of this module has received, if any."""
    return _received


def exit_code() -> int:
    """Return the exit code of an interrupted process: 130 for Ctrl-C, 143, 129."""
    return 128 + (_received or signal.SIGINT)


def message() -> str:
    """Return the message of an interrupted command."""
    by = "" if _received in (None, signal.SIGINT) else f" by {_received.name}"
    return f"trajet: interrupted{by}"


def is_command() -> bool:
    """Return whether this process was started as `trajet` or `python -m trajet`.

    Called while the package is imported, when `sys.argv[0]` is still "-m".
    """
    program = sys.argv[0] if sys.argv else ""
    if program != "-m":
        return os.path.basename(program) == "trajet"
    with suppress(ValueError, IndexError):
        return sys.orig_argv[sys.orig_argv.index("-m") + 1] == "trajet"
    return False


def end_at_once_during_imports() -> None:
    """Make signals end the process at once, with a message, while nothing has been started."""

    def handle(number: int, _frame: FrameType | None) -> None:
        global _received  # noqa: PLW0603
        _received = signal.Signals(number)
        write_message()
        end()

    _install(handle)
    # Registered before the handlers of imported packages, and therefore called after them.
    atexit.register(_ignore)


def _ignore() -> None:
    """Ignore the signals that are handled here: they would kill the interpreter while it ends."""
    for number in ENDING:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_IGN)


def interrupt() -> None:
    """Make signals raise KeyboardInterrupt in the main thread, and a second one end at once."""
    _install(_raise)
    if threading.current_thread() is not threading.main_thread():
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    # The main thread may be inside of a library and not run handlers.
    threading.Thread(target=_watch, args=(reading,), name="trajet-signals", daemon=True).start()
    sys.unraisablehook = _unraisable
    threading.excepthook = _of_thread


def _install(handler: Callable[[int, FrameType | None], None]) -> None:
    """Install a handler for the signals that are not ignored; nohup ignores SIGHUP."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in ENDING:
        # None: handled outside of Python.
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, handler)


def _raise(number: int, _frame: FrameType | None) -> None:
    global _received  # noqa: PLW0603
    if _received is not None:
        # `_watch` ends the process if this is the second.
        return
    _received = signal.Signals(number)
    # Libraries would log connections that break now; who logs has imported the module.
    if "logging" in sys.modules:
        sys.modules["logging"].disable()
    if _deferral is not None:
        _deferral.set()
    else:
        raise KeyboardInterrupt


def finish() -> None:
    """Ignore signals from here on, as the command is done.

    With MPI, a signal aborts all ranks: the others would wait for a rank that has exited.
    """

    def ignore(number: int, _frame: FrameType | None) -> None:
        global _received  # noqa: PLW0603
        if _received is None:
            _received = signal.Signals(number)
            if abort_ranks is not None:
                abort_ranks()

    _install(ignore)


@contextmanager
def deferred() -> Iterator[threading.Event]:
    """Defer KeyboardInterrupt to the end of the block; a signal sets the yielded event.

    Handlers of other libraries are kept.
    """
    global _deferral  # noqa: PLW0603
    noted, since = threading.Event(), 0.0

    def note(*_: object) -> None:
        nonlocal since
        if not noted.is_set():
            noted.set()
            since = time.monotonic()
        elif time.monotonic() > since + _SAME:
            raise KeyboardInterrupt

    in_main = threading.current_thread() is threading.main_thread()
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if in_main and usual:
        signal.signal(signal.SIGINT, note)
    elif in_main:
        _deferral = noted
    try:
        yield noted
    finally:
        _deferral = None
        if in_main and usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if noted.is_set():
        raise KeyboardInterrupt


@contextmanager
def ended_by_the_system() -> Iterator[None]:
    """Let a second signal end the process while a library holds Python's lock, as MPI_Init does.

    No handler of Python runs there, nor does `_watch`, and a rank may wait for others without end.
    So the system ends the process, without a message. The first signal is handled after the block.
    Handlers that a script has installed are kept.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    own = {
        number: handler
        for number, handler in zip(ENDING, map(signal.getsignal, ENDING), strict=True)
        if handler is signal.default_int_handler
        or (callable(handler) and getattr(handler, "__module__", "") == __name__)
    }
    for number in own:
        _handle_once(number)
    try:
        yield
    finally:
        for number, handler in own.items():
            signal.signal(number, handler)


def _handle_once(number: int) -> None:
    """Let the next signal be handled as before, and those after it end the process."""
    import ctypes

    libc = ctypes.CDLL(None)
    try:
        # signal() of System V, of glibc: a handler is called once.
        of_once = libc.sysv_signal
    except AttributeError:
        signal.signal(number, signal.SIG_DFL)
        return
    libc.signal.restype = ctypes.c_void_p
    before = libc.signal(number, None)
    of_once.argtypes = [ctypes.c_int, ctypes.c_void_p]
    of_once(number, before)


@contextmanager
def kept_from_children(*, tracker: bool = False) -> Iterator[None]:
    """Block Ctrl-C, and SIGHUP if this process handles it, in this thread.

    Threads and processes that it starts inside of the block never receive them. A terminal sends
    both signals to all processes of a program; this process ends the others. Interrupts are
    deferred in the block: libraries that start processes would leave semaphores behind.

    Parameters
    ----------
    tracker
        Whether to start the resource tracker of multiprocessing first.
    """
    own = [n for n in (signal.SIGINT, signal.SIGHUP) if callable(signal.getsignal(n))]
    with deferred():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, own)
        try:
            if tracker:
                _start_tracker()
                signal.pthread_sigmask(signal.SIG_BLOCK, own)
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_tracker() -> None:
    """Start the resource tracker, which unblocks SIGINT; it does not warn of leaked semaphores."""
    from multiprocessing import resource_tracker

    sys.warnoptions.append("ignore:resource_tracker")
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()


def end() -> NoReturn:
    """Kill the child processes, remove incomplete outputs, and end the process.

    No other thread of Python runs meanwhile: it could start a process, or make a file, again. The
    resource tracker of multiprocessing is kept: it exits by itself.
    """
    number = _ending_signal() if threading.current_thread() is threading.main_thread() else None
    tracker = getattr(sys.modules.get(_TRACKER), "_resource_tracker", None)
    unfinished = getattr(sys.modules.get("trajet.output"), "unfinished_paths", list)
    # A process that has not imported this module has started nothing.
    end_process = getattr(sys.modules.get("trajet._trajet"), "end_process", None)
    if end_process is not None:
        end_process(unfinished(), getattr(tracker, "_pid", None), number, exit_code())
    if number is not None:
        os.kill(os.getpid(), number)
    os._exit(exit_code())


def end_within(seconds: float) -> None:
    """End the process after some seconds, if it has not ended by then."""
    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def remove_memory_of_ranks() -> None:
    """Remove MPICH's shared-memory files, which it leaves behind when ranks are killed."""
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8") as maps:
        for path in {line.split(maxsplit=5)[-1].strip() for line in maps if _MEMORY in line}:
            with suppress(OSError):
                os.unlink(path)


def _ending_signal() -> int | None:
    """Return the signal by which this process ends, which has no handler then, or None: by exit.

    The launcher and the other ranks wait forever for a rank that exits before MPI is initialized,
    unless a signal ends it.
    """
    if not any(name in os.environ for name in _RANKS):
        return None
    remove_memory_of_ranks()
    number = _received or signal.SIGINT
    signal.signal(number, signal.SIG_DFL)
    return number


def write_message() -> None:
    """Write the message of an interrupted command; with MPI only on rank 0."""
    ranks = [os.environ[name] for name in _RANKS if name in os.environ]
    if all(rank == "0" for rank in ranks):
        with suppress(OSError):
            os.write(2, f"{message()}\n".encode())


def _watch(reading: int) -> None:
    """End the process at a second signal, at least `_SAME` seconds after the first."""
    since: float | None = None
    while True:
        for number in os.read(reading, 64):
            if number not in ENDING:
                continue
            if since is None:
                since = time.monotonic()
            elif time.monotonic() > since + _SAME:
                if abort_ranks is not None:
                    abort_ranks()
                end()


def _unraisable(args: "sys.UnraisableHookArgs") -> None:
    """Raise a KeyboardInterrupt again that was lost in a destructor.

    Other errors are printed, unless a signal was received.
    """
    if args.exc_type is not None and issubclass(args.exc_type, KeyboardInterrupt):
        signal.signal(signal.SIGALRM, _raise_again)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    elif _received is None:
        sys.__unraisablehook__(args)


def _raise_again(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _of_thread(args: threading.ExceptHookArgs) -> None:
    if _received is None:
        threading.__excepthook__(args)
