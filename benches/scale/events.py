"""Discrete events: a clock, and servers that do one thing at a time."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field


class Events:
    """Events in the order of their times, then of their coming; `now` is the time, s."""

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, time: float, event: Callable[[], None]) -> None:
        """Call `event` at a time, which is not before now."""
        self._count += 1
        heapq.heappush(self._queue, (max(time, self.now), self._count, event))

    def run(self) -> None:
        """Call all events."""
        while self._queue:
            self.now, _, event = heapq.heappop(self._queue)
            event()

    def stop(self) -> None:
        """Drop all events."""
        self._queue.clear()


@dataclass
class Server:
    """Serves requests in the order in which they come, one at a time.

    `free` is when it has served all of them, `busy` the seconds of service.
    """

    free: float = 0.0
    busy: float = 0.0

    def serve(self, time: float, seconds: float) -> float:
        """Return when a request that comes at a time and takes some seconds has been served."""
        self.free = max(self.free, time) + seconds
        self.busy += seconds
        return self.free


class Booked:
    """A server whose requests become known before they come, so that they are in no order.

    Time is cut into slots of `SLOT` seconds; a request takes room in the first slots that have any
    from its time on.
    """

    SLOT = 1e-3

    def __init__(self) -> None:
        self.busy = 0.0
        self._load: dict[int, float] = {}
        # a full slot: a later one to look at
        self._after: dict[int, int] = {}

    def serve(self, time: float, seconds: float) -> float:
        """Return when a request that comes at a time and takes some seconds has been served."""
        self.busy += seconds
        slot, left = self._free(int(time / self.SLOT)), seconds
        while (room := self.SLOT - self._load.get(slot, 0.0)) < left:
            left -= room
            self._load.pop(slot, None)
            self._after[slot] = slot + 1
            slot = self._free(slot + 1)
        self._load[slot] = self._load.get(slot, 0.0) + left
        return max(time, slot * self.SLOT) + left

    def _free(self, slot: int) -> int:
        """Return the first slot from one on that is not full."""
        found = slot
        while found in self._after:
            found = self._after[found]
        while slot != found:
            further = self._after[slot]
            self._after[slot] = found
            slot = further
        return found


@dataclass
class Meter:
    """Real seconds of this process in the product's code, and calls of it, by method.

    `clock` returns seconds; a constant makes a simulation the same on each machine.
    """

    clock: Callable[[], float]
    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, since: float) -> float:
        """Add a call that began at `since`; return its seconds."""
        spent = self.clock() - since
        self.seconds[name] = self.seconds.get(name, 0.0) + spent
        self.calls[name] = self.calls.get(name, 0) + 1
        return spent
