"""Requests for results: which are under way at once."""

from random import Random

from helpers.extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from trajet.pools.dispatch import Copy
from trajet.pools.fetching import FetchQueue

MAX_WORKERS, MAX_BYTES = 64, 128 << 20


@given(seed=st.integers(0, 2**32), n_workers=st.sampled_from([3, 80, 300]))
@settings(deadline=None, max_examples=examples(20))
def test_requests_to_workers_that_are_not_slow_are_limited(seed: int, n_workers: int) -> None:
    """As a plain list of all requests says; each result is fetched once, at its worker."""
    numbers = Random(seed)
    workers = [f"w{k}" for k in range(n_workers)]
    queue = FetchQueue(lambda copy: copy.task % 7 != 0)
    slow, under_way, ready = set[str | None](), dict[str | None, int](), dict[Copy, str]()
    waiting, fetched = dict[Copy, str](), list[Copy]()
    largest = numbers.choice([1, 1 << 20, 40 << 20])
    sizes = dict[Copy, int]()
    for task in range(400):
        copy, worker = Copy(task, 0), numbers.choice(workers)
        ready[copy], sizes[copy] = worker, numbers.randint(0, largest)
        queue.add(worker, copy, sizes[copy])
        if task % 7:
            waiting[copy] = worker
        if numbers.random() < 0.1:
            slow.add(numbers.choice(workers))
        if under_way and numbers.random() < 0.2:
            ended = numbers.choice(list(under_way))
            del under_way[ended]
            queue.arrived(ended)
        while True:
            counted = [n for name, n in under_way.items() if name not in slow]
            is_enough = len(counted) >= MAX_WORKERS or sum(counted) >= MAX_BYTES
            request = queue.next(slow)
            if request is None:
                break
            assert not is_enough
            assert request.worker not in under_way
            assert {ready[one] for one in request.copies} == {request.worker}
            under_way[request.worker] = sum(sizes[one] for one in request.copies)
            fetched += request.copies
            for one in request.copies:
                del waiting[one]
        free = set(waiting.values())
        assert is_enough or free <= set(under_way)
    while under_way:
        ended, _ = under_way.popitem()
        queue.arrived(ended)
        while (request := queue.next(slow)) is not None:
            under_way[request.worker] = 0
            fetched += request.copies
    assert sorted(fetched) == [copy for copy in ready if copy.task % 7]
