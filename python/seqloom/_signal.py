"""Raw signal at random: reads by id out of SLOW5, BLOW5, FAST5 and POD5."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from ._errors import InputError, MissingInputError, RunError, SeqloomError
from ._options import Path

#: An array of numpy, whose own types need a newer Python than the oldest that this is for.
Array = Any

#: What to do with a read that cannot be decoded.
Errors = Literal["raise", "skip"]


@dataclass(frozen=True, eq=False)
class Read:
    """A read. Current in picoampere is `(sample + offset) * range / digitisation`."""

    #: Its id, a UUID as a rule.
    read_id: str
    #: Samples as an array of int16, which lies in the memory that they were decoded to.
    samples: Array
    #: Number of its read group, from 0.
    read_group: int
    digitisation: float
    offset: float
    range: float
    #: Samples per second.
    sampling_rate: float
    #: What else its file keeps of it, by name, such as "channel_number"; None where it is missing.
    auxiliary: dict[str, Any]

    def picoampere(self) -> Array:
        """Samples as current in pA."""
        import numpy as np

        scale = np.float32(self.range / self.digitisation)
        current: Array = (self.samples + np.float32(self.offset)) * scale
        return current

    def __len__(self) -> int:
        return len(self.samples)

    def __getattr__(self, name: str) -> Any:
        # Fields of the file by their names: read.read_number, read.start_time.
        if name != "auxiliary" and name in self.auxiliary:
            return self.auxiliary[name]
        raise AttributeError(f"a read has no '{name}'")

    @property
    def signal(self) -> Array:
        """The samples, as pod5 calls them."""
        return self.samples

    @property
    def channel(self) -> Any:
        """Number of the channel, where the file has it."""
        return self.auxiliary.get("channel_number")


class SignalFile:
    """A file of raw signal, whatever its format; its first bytes decide.

        with seqloom.SignalFile("reads.pod5") as signal:
            read = signal["0a1b..."]
            for read in signal: ...
            some = signal.batch(signal.read_ids[:1000], threads=4)

    Reads are found by the index that lies beside a SLOW5 or BLOW5 file, or by looking through the
    file once. Any number of threads may read; the interpreter's lock is let go while they decode.

    Arguments:
        errors: a read that cannot be decoded raises InputError, for itself alone; with "skip" it
            is left out of iteration and batches, and stands in `faults`.

    Raises:
        MissingInputError: there is no such file.
        InputError: it cannot be read, is malformed, or none of the formats.
    """

    def __init__(self, path: Path, *, errors: Errors = "raise") -> None:
        if errors not in ("raise", "skip"):
            raise ValueError(f"errors is 'raise' or 'skip', not {errors!r}")
        self.path = os.fspath(path)
        self._skips = errors == "skip"
        #: What could not be read so far.
        self.faults: list[InputError] = []
        self._ids: list[str] | None = None
        with self._failing():
            self._store: _native.SignalStore | None = _native.SignalStore(self.path)

    @property
    def _open(self) -> _native.SignalStore:
        if self._store is None:
            raise RunError(f"{self.path} is closed", file=self.path)
        return self._store

    @property
    def format(self) -> str:
        """slow5, blow5, fast5 or pod5."""
        return self._open.format

    @property
    def fields(self) -> list[str]:
        """What its reads have beside what all reads have."""
        return self._open.fields

    @property
    def read_groups(self) -> int:
        """Number of read groups."""
        return self._open.read_groups

    def header(self, read_group: int = 0) -> dict[str, str]:
        """Attributes of a read group."""
        return self._open.header(read_group)

    @property
    def read_ids(self) -> list[str]:
        """Ids of all reads that can be found, in the order of the file.

        Raises:
            InputError: a part of the file cannot be read, unless errors are skipped.
        """
        if self._ids is None:
            with self._failing():
                ids, faults = self._open.read_ids(), self._open.faults()
            self._book(faults)
            self._ids = ids
        return self._ids

    def __len__(self) -> int:
        return len(self.read_ids)

    def __contains__(self, read_id: object) -> bool:
        with self._failing():
            return isinstance(read_id, str) and read_id in self._open

    def __getitem__(self, read_id: str) -> Read:
        with self._failing():
            (found,) = self._open.get([read_id], 1)
        if isinstance(found, _native.Fault):
            raise failure(found)
        return read_of(found)

    def batch(self, read_ids: Iterable[str], *, threads: int = 1) -> list[Read]:
        """Reads in the order of their ids, decoded by several threads at once.

        Raises:
            KeyError: a read is not there.
            InputError: a read cannot be decoded, unless errors are skipped.
        """
        if threads < 1:
            raise ValueError("threads must be 1 or more")
        with self._failing():
            found = self._open.get(list(read_ids), threads)
        return self._good(found)

    def __iter__(self) -> Iterator[Read]:
        reads = self._open.sequential()
        while True:
            with self._failing():
                found = reads.next_batch()
            if found is None:
                return
            for it in found:
                yield from self._good([it])

    def close(self) -> None:
        """Lets the file go; reads stay."""
        self._store = None

    def __enter__(self) -> SignalFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _good(self, found: Sequence[_native.Read | _native.Fault]) -> list[Read]:
        self._book([it for it in found if isinstance(it, _native.Fault)])
        return [read_of(it) for it in found if isinstance(it, _native.Read)]

    def _book(self, faults: Sequence[_native.Fault]) -> None:
        failures = [failure(it) for it in faults]
        if failures and not self._skips:
            raise failures[0]
        self.faults += failures

    def _failing(self) -> Failing:
        return Failing(self.path)


class Failing:
    """Turns what the extension raises into exceptions of this package."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SeqloomError):
            return
        if isinstance(error, FileNotFoundError):
            raise MissingInputError(str(error), 3, file=self._path) from None
        if isinstance(error, ValueError):
            raise InputError(str(error), 3, file=self._path) from None


def failure(fault: _native.Fault) -> InputError:
    """What cannot be read, as an exception."""
    return InputError(fault.message, 3, file=fault.file, name=fault.read_id, byte=fault.byte)


def read_of(native: _native.Read) -> Read:
    """A read whose samples are an array."""
    import numpy as np

    return Read(
        read_id=native.read_id,
        samples=np.asarray(native.samples),
        read_group=native.read_group,
        digitisation=native.digitisation,
        offset=native.offset,
        range=native.range,
        sampling_rate=native.sampling_rate,
        auxiliary=native.auxiliary,
    )
