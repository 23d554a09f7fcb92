"""MP4 files of one video track, from pictures that a browser has encoded.

ISO/IEC 14496-12 (boxes) and 14496-15 (H.264); all numbers are big-endian. Samples are written as
they come, the index at the end.
"""

import struct
from dataclasses import dataclass, field
from typing import IO

_MATRIX = struct.pack(">9i", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_HEADER_OF_DATA = 16


@dataclass
class Movie:
    """A movie that is being written.

    Attributes
    ----------
    file
        The file, empty.
    width, height
        Size of the pictures, pixels.
    rate
        Pictures per second.
    """

    file: IO[bytes]
    width: int
    height: int
    rate: int
    _sizes: list[int] = field(default_factory=list)
    _keys: list[int] = field(default_factory=list)
    _start: int = 0

    def __post_init__(self) -> None:
        self.file.write(_box("ftyp", b"isom", struct.pack(">I", 0x200), b"isomiso2avc1mp41"))
        self._start = self.file.tell()
        self.file.write(bytes(_HEADER_OF_DATA))

    def add(self, picture: bytes, *, is_key: bool) -> None:
        """Write the next picture; key pictures are decoded without others."""
        self._sizes.append(len(picture))
        if is_key:
            self._keys.append(len(self._sizes))
        self.file.write(picture)

    def finish(self, configuration: bytes) -> None:
        """Write the index.

        Parameters
        ----------
        configuration
            The configuration of the decoder, as in a box `avcC`.
        """
        end = self.file.tell()
        self.file.write(self._index(configuration))
        self.file.seek(self._start)
        self.file.write(struct.pack(">I4sQ", 1, b"mdat", end - self._start))
        self.file.seek(0, 2)

    def _index(self, configuration: bytes) -> bytes:
        n, size = len(self._sizes), struct.pack(">HH", self.width, self.height)
        times = struct.pack(">IIII", 0, 0, self.rate, n)
        speed = struct.pack(">IHHQ", 0x10000, 0x100, 0, 0)
        header = _full("mvhd", times, speed, _MATRIX, bytes(24), struct.pack(">I", 2))
        track = _full(
            "tkhd",
            struct.pack(">IIIII", 0, 0, 1, 0, n),
            bytes(16),
            _MATRIX,
            struct.pack(">II", self.width << 16, self.height << 16),
            flags=3,
        )
        media = _full("mdhd", times, struct.pack(">HH", 0x55C4, 0))
        handler = _full("hdlr", bytes(4), b"vide", bytes(12), b"trajet\0")
        entry = _box(
            "avc1",
            struct.pack(">IHH", 0, 0, 1),
            bytes(16),
            size,
            struct.pack(">IIIH", 0x480000, 0x480000, 0, 1),
            bytes(32),
            struct.pack(">Hh", 24, -1),
            _box("avcC", configuration),
        )
        table = _box(
            "stbl",
            _full("stsd", struct.pack(">I", 1), entry),
            _full("stts", struct.pack(">III", 1, n, 1)),
            _full("stss", struct.pack(f">{len(self._keys) + 1}I", len(self._keys), *self._keys)),
            _full("stsc", struct.pack(">IIII", 1, 1, n, 1)),
            _full("stsz", struct.pack(f">{n + 2}I", 0, n, *self._sizes)),
            _full("co64", struct.pack(">IQ", 1, self._start + _HEADER_OF_DATA)),
        )
        reference = _box("dinf", _full("dref", struct.pack(">I", 1), _full("url ", flags=1)))
        information = _box("minf", _full("vmhd", bytes(8), flags=1), reference, table)
        of_media = _box("mdia", media, handler, information)
        return _box("moov", header, _box("trak", track, of_media))


def _box(name: str, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I4s", 8 + len(content), name.encode()) + content


def _full(name: str, *parts: bytes, flags: int = 0) -> bytes:
    """Return a box with a version, 0, and flags."""
    return _box(name, struct.pack(">I", flags), *parts)
