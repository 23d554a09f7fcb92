"""Compressed files of one stream or several; zstd by RFC 8878, with blocks of plain bytes."""

import gzip
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

# Bytes of the largest block of zstd.
BLOCK = 128 << 10


def zstd_block(data: bytes, *, is_last: bool, repeats: int = 0) -> bytes:
    """Return a block of bytes, or of one byte that is repeated."""
    size, kind = (repeats, 1) if repeats else (len(data), 0)
    return (size << 3 | kind << 1 | is_last).to_bytes(3, "little") + data


def zstd_frame(*blocks: bytes) -> bytes:
    """Return a frame with a window of 128 KiB and without a checksum."""
    return b"\x28\xb5\x2f\xfd\x00\x38" + b"".join(blocks)


def zstd(data: bytes) -> bytes:
    """Return the bytes as one frame."""
    begins = range(0, max(len(data), 1), BLOCK)
    return zstd_frame(*(zstd_block(data[k : k + BLOCK], is_last=k == begins[-1]) for k in begins))


def in_streams(data: bytes, compress: Callable[[bytes], bytes], n: int = 5) -> bytes:
    """Return bytes as streams, which begin anywhere."""
    cuts = np.sort(np.random.default_rng(len(data)).integers(0, len(data), n - 1))
    borders = [0, *cuts.tolist(), len(data)]
    return b"".join(compress(data[begin:end]) for begin, end in pairwise(borders))


def gzip_of(data: bytes) -> bytes:
    """Return the bytes as one member."""
    return gzip.compress(data, mtime=0)


# Suffixes, and what compresses.
PACKS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": (".gz", gzip_of),
    "gzip members": (".gz", lambda data: in_streams(data, gzip_of)),
    "zstd": (".zst", zstd),
    "zstd frames": (".zst", lambda data: in_streams(data, zstd)),
}


def bomb(n_bytes: int) -> Iterator[bytes]:
    """Yield the pieces of a zstd file of this many equal bytes."""
    yield b"\x28\xb5\x2f\xfd\x00\x38"
    n = -(-n_bytes // BLOCK)
    for k in range(n):
        yield zstd_block(b"x", is_last=k == n - 1, repeats=BLOCK)
