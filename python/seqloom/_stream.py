"""An Arrow stream cut into its messages, which is all of Arrow that is read here: what they hold is
left to pyarrow or polars."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

#: In front of every message (Arrow columnar format, "Encapsulated message format").
CONTINUATION = b"\xff\xff\xff\xff"
#: What ends a stream.
END = CONTINUATION + b"\0\0\0\0"
#: Kinds of messages (Arrow, Message.fbs).
RECORD_BATCH = 3


class Readable(Protocol):
    """A binary file."""

    def read(self, size: int = -1, /) -> bytes: ...


class CutShort(Exception):
    """The stream has no end: whoever wrote it has failed."""


@dataclass(frozen=True)
class Message:
    """A message with its body."""

    #: 1 is a schema, 2 a dictionary.
    kind: int
    #: As it stands in the stream.
    raw: bytes


def messages(source: Readable) -> Iterator[Message]:
    """All messages of a stream.

    Raises:
        CutShort: the end is missing.
    """
    while True:
        start = exactly(source, 8)
        if start == END:
            return
        (size,) = struct.unpack("<i", start[4:])
        if start[:4] != CONTINUATION or size < 0:
            raise CutShort("these are no messages of Arrow")
        metadata = exactly(source, size)
        kind, body_bytes = described(metadata)
        yield Message(kind, b"".join((start, metadata, exactly(source, body_bytes))))


def described(metadata: bytes) -> tuple[int, int]:
    """Kind and size of the body of a message, from its table in FlatBuffers' layout."""
    (table,) = struct.unpack_from("<I", metadata, 0)
    (distance,) = struct.unpack_from("<i", metadata, table)
    fields = table - distance

    def place(field: int) -> int:
        (size,) = struct.unpack_from("<H", metadata, fields)
        at = 4 + 2 * field
        if at >= size:
            return 0
        (offset,) = struct.unpack_from("<H", metadata, fields + at)
        return table + int(offset) if offset else 0

    kind, body = place(1), place(3)
    return (
        metadata[kind] if kind else 0,
        int(struct.unpack_from("<q", metadata, body)[0]) if body else 0,
    )


def exactly(source: Readable, size: int) -> bytes:
    """So many bytes."""
    data = source.read(size)
    if len(data) == size:
        return data
    parts = [data]
    missing = size - len(data)
    while missing:
        data = source.read(missing)
        if not data:
            raise CutShort("the stream ends within a message")
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)
