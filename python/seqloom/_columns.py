"""BAM, FASTQ and raw signal as columns: what `seqloom columns` writes, as it comes.

The program decodes on all cores, in a process of its own. Record batches are pyarrow's, or frames
of polars where only that is installed; neither is needed to import this package.
"""

from __future__ import annotations

import fcntl
import importlib
import io
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Union

from ._options import STANDARD, Input, Path, flat, text
from ._run import Child, Source
from ._stream import END, RECORD_BATCH, CutShort, Message, messages

if TYPE_CHECKING:
    import polars

#: Linux: how much a pipe holds (fcntl.h). A batch fits, so that neither side waits for the other.
SET_PIPE_SIZE = 1031
PIPE_BYTES = 1 << 20

Paths = Union[Path, Sequence[Path]]
#: One region or several, such as "chr20:1-2,000,000".
Regions = Union[str, Sequence[str]]


def read_bam(
    files: Paths | Input,
    *,
    columns: Sequence[str] | None = None,
    tags: Mapping[str, str] | None = None,
    regions: Regions | None = None,
    require_flags: int = 0,
    exclude_flags: int = 0,
    min_mapq: int = 0,
    binary: bool = False,
    mend_names: bool = False,
    batch_rows: int | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
) -> Batches:
    """Aligned reads, BAM or SAM, as record batches in the order of the file.

    Arguments:
        files: a path, several, or a binary file that Python has open.
        columns: names, in order; positions are 0-based. What is left out is not decoded.
            [default: name, flag, reference, start, end, mapq, cigar, mate_reference, mate_start,
            template_length, sequence, qualities; there are cigar_ops, read_group and tags as well]
        tags: tags as columns, with their types: {"NM": "i", "RG": "Z", "ML": "B:C"}.
        regions: only records that reach into one; found by an index where there is one.
        require_flags, exclude_flags: bits of FLAG that records must have, and must not have.
        min_mapq: least MAPQ.
        binary: text as bytes, which need not be UTF-8.
        mend_names: rename reads whose names SAM does not allow, which are refused otherwise.
        batch_rows: most rows of a batch [default: 65536].
        threads: busy threads [default: all cores].
        memory: memory of the program, such as "1G".

    Raises:
        SeqloomError: when the batches are read, by what went wrong.
    """
    return Batches("alignments", files, locals())


def read_fastq(
    files: Paths | Input,
    *,
    columns: Sequence[str] | None = None,
    binary: bool = False,
    mend_names: bool = False,
    assume_phred33: bool = False,
    batch_rows: int | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
) -> Batches:
    """Reads, FASTQ or FASTA, as record batches: name, comment, sequence, qualities (Phred)."""
    return Batches("reads", files, locals())


def read_signal(
    files: Paths,
    *,
    columns: Sequence[str] | None = None,
    samples: bool = True,
    batch_rows: int | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
) -> Batches:
    """Raw signal, SLOW5, BLOW5, FAST5 or POD5 (files or folders of them), as record batches.

    Arguments:
        columns: names, in order [default: read_id, read_group, digitisation, offset, range,
            sampling_rate, sample_count, samples, and all fields of the files].
        samples: whether there is a column of the samples where no columns are named; without it
            none is decoded.
    """
    arguments = dict(locals())
    if not arguments.pop("samples") and columns is None:
        arguments["columns"] = [it for it in Batches("signal", files, arguments).names
                                if it != "samples"]
    return Batches("signal", files, arguments)


def scan_bam(
    files: Paths,
    *,
    columns: Sequence[str] | None = None,
    tags: Mapping[str, str] | None = None,
    regions: Regions | None = None,
    require_flags: int = 0,
    exclude_flags: int = 0,
    min_mapq: int = 0,
    binary: bool = False,
    mend_names: bool = False,
    batch_rows: int | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
) -> polars.LazyFrame:
    """As `read_bam`, as a lazy frame of polars: what a query does not need is not decoded."""
    return scan("alignments", files, locals())


def scan_fastq(
    files: Paths,
    *,
    columns: Sequence[str] | None = None,
    binary: bool = False,
    mend_names: bool = False,
    assume_phred33: bool = False,
    batch_rows: int | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
) -> polars.LazyFrame:
    """As `read_fastq`, as a lazy frame of polars."""
    return scan("reads", files, locals())


def scan_signal(
    files: Paths,
    *,
    columns: Sequence[str] | None = None,
    samples: bool = True,
    batch_rows: int | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
) -> polars.LazyFrame:
    """As `read_signal`, as a lazy frame of polars. Samples are decoded where a query wants them."""
    arguments = dict(locals())
    if not arguments.pop("samples") and columns is None:
        arguments["columns"] = [it for it in Batches("signal", files, arguments).names
                                if it != "samples"]
    return scan("signal", files, arguments)


class Batches:
    """Record batches, once from front to back. The program runs while they are read.

    It is a stream of Arrow for whatever takes one (`__arrow_c_stream__`: pyarrow, polars, DuckDB).
    Leave it early by `close`, or with it as a context.
    """

    def __init__(self, kind: str, files: Any, arguments: Mapping[str, Any]) -> None:
        self._command = (kind, files, {**arguments})
        self._running: Running | None = None
        self._is_read = False
        self._batches: Iterator[Any] | None = None

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        if self._batches is None:
            self._batches = decoded(self._start())
        return next(self._batches)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return names_of(self._head())

    def to_pandas(self, **options: Any) -> Any:
        """All rows as a frame of pandas, which must fit memory; pyarrow makes it."""
        return self._reader().read_pandas(**options)

    def to_arrow(self) -> Any:
        """All rows as a table of pyarrow."""
        return self._reader().read_all()

    def to_polars(self) -> polars.DataFrame:
        """All rows as a frame of polars."""
        pl = needed("polars")
        with self._start() as running:
            frames = [frame(pl, running.head, it) for it in running.batches()]
            whole: polars.DataFrame = pl.concat(frames) if frames else frame(pl, running.head, None)
        return whole

    def __arrow_c_schema__(self) -> object:
        return schema_of(needed("pyarrow"), self._head()).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader().__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Stops the program."""
        if self._running:
            self._running.close()

    def __enter__(self) -> Batches:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _head(self) -> bytes:
        """Schema and dictionaries. The program that gives them waits for who reads the rows."""
        if not self._running:
            self._running = Running(*self._command)
        return self._running.head

    def _start(self) -> Running:
        if self._is_read:
            raise ValueError("these batches have been read already; ask for them again")
        self._is_read = True
        self._running = self._running or Running(*self._command)
        return self._running

    def _reader(self) -> Any:
        """A reader of pyarrow, which fails as the program does."""
        pa = needed("pyarrow")
        running = self._start()
        schema = schema_of(pa, running.head)
        return pa.RecordBatchReader.from_batches(schema, arrow_batches(pa, running))


class Running:
    """The program, while it writes a stream."""

    def __init__(self, kind: str, files: Any, arguments: Mapping[str, Any]) -> None:
        words = command_line(kind, files, arguments)
        stdin = files if hasattr(files, "fileno") else None
        reader, writer = os.pipe()
        self._pipe: BinaryIO = os.fdopen(reader, "rb", buffering=0)
        try:
            widen(writer)
            with Source(stdin, STANDARD in words[-1:]) as source:
                self._child = Child(words, source, writer)
        except BaseException:
            self._pipe.close()
            raise
        finally:
            os.close(writer)
        self._messages = messages(self._pipe)
        self._next: Message | None = None
        self._is_closed = False
        #: Schema and dictionaries, as they stand in the stream.
        self.head = self._read_head()

    def _read_head(self) -> bytes:
        parts = []
        while (message := self._take()) and message.kind != RECORD_BATCH:
            parts.append(message.raw)
        self._next = message
        return b"".join(parts)

    def _take(self) -> Message | None:
        """The next message; at the end of the stream the program must have ended well."""
        try:
            return next(self._messages)
        except StopIteration:
            failure = None
        except CutShort as cut:
            failure = cut
        except BaseException:
            self.close()
            raise
        try:
            self._child.finish()
        finally:
            self.close()
        if failure:
            raise failure
        return None

    def batches(self) -> Iterator[bytes]:
        """The messages of all batches."""
        try:
            while self._next:
                raw, self._next = self._next.raw, None
                yield raw
                self._next = self._take()
        finally:
            self.close()

    def close(self) -> None:
        """Stops the program if it runs."""
        if not self._is_closed:
            self._is_closed = True
            self._pipe.close()
            self._child.__exit__(None, None, None)

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def command_line(kind: str, files: Any, arguments: Mapping[str, Any]) -> list[str]:
    """The words of `seqloom columns`."""
    words = ["columns", f"--kind={kind}", "--quiet"]
    tags = arguments.get("tags") or {}
    given = {
        "columns": comma(arguments.get("columns")),
        "tags": comma([f"{tag}:{kind}" for tag, kind in tags.items()]) or None,
        "require-flags": arguments.get("require_flags") or None,
        "exclude-flags": arguments.get("exclude_flags") or None,
        "min-mapq": arguments.get("min_mapq") or None,
        "batch-rows": arguments.get("batch_rows"),
        "threads": arguments.get("threads"),
        "memory": arguments.get("memory"),
    }
    words += [f"--{name}={text(value)}" for name, value in given.items() if value is not None]
    words += [f"--regions={text(region)}" for region in flat(arguments.get("regions"))]
    words += [f"--{name.replace('_', '-')}" for name in ("binary", "mend_names", "assume_phred33")
              if arguments.get(name)]
    named = [STANDARD] if hasattr(files, "fileno") else [text(it) for it in flat(files)]
    return [*words, "--", *named]


def comma(values: Sequence[str] | None) -> str | None:
    """Several values as one."""
    return None if values is None else ",".join(values)


def widen(pipe: int) -> None:
    """Has a pipe hold more, where that is allowed."""
    try:
        fcntl.fcntl(pipe, SET_PIPE_SIZE, PIPE_BYTES)
    except OSError:
        pass


def needed(name: str) -> ModuleType:
    """A module that has to be installed for what is asked for."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install {name}") from error


def decoded(running: Running) -> Iterator[Any]:
    """Batches of pyarrow, or frames of polars."""
    with running:
        try:
            pa = importlib.import_module("pyarrow")
        except ImportError:
            pl = needed("polars")
            yield from (frame(pl, running.head, it) for it in running.batches())
        else:
            yield from arrow_batches(pa, running)


def arrow_batches(pa: ModuleType, running: Running) -> Iterator[Any]:
    """Batches of pyarrow."""
    for raw in running.batches():
        # What is read lies in these bytes, which are not copied again.
        stream = pa.py_buffer(b"".join((running.head, raw, END)))
        with pa.ipc.open_stream(stream) as reader:
            yield reader.read_next_batch()


def frame(pl: ModuleType, head: bytes, batch: bytes | None) -> Any:
    """A batch as a frame of polars; one without rows of none."""
    return pl.read_ipc_stream(io.BytesIO(b"".join((head, batch or b"", END))))


def names_of(head: bytes) -> list[str]:
    """Names of the columns of a stream."""
    try:
        pa = importlib.import_module("pyarrow")
    except ImportError:
        return list(frame(needed("polars"), head, None).columns)
    return list(schema_of(pa, head).names)


def schema_of(pa: ModuleType, head: bytes) -> Any:
    """The schema of a stream, of pyarrow."""
    return pa.ipc.open_stream(pa.py_buffer(head + END)).schema


def scan(kind: str, files: Paths, arguments: Mapping[str, Any]) -> polars.LazyFrame:
    """A lazy frame, which asks the program for the columns that a query needs."""
    pl, plugins = needed("polars"), needed("polars.io.plugins")
    with Running(kind, files, arguments) as running:
        schema = frame(pl, running.head, None).schema

    def source(
        with_columns: list[str] | None,
        predicate: Any,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[Any]:
        wanted = dict(arguments)
        if with_columns is not None:
            wanted.update(projected(list(schema), with_columns, arguments.get("tags")))
        if batch_size is not None and wanted.get("batch_rows") is None:
            wanted["batch_rows"] = batch_size
        left = n_rows
        with Running(kind, files, wanted) as running:
            for raw in running.batches():
                rows = frame(pl, running.head, raw)
                if with_columns is not None:
                    rows = rows.select(with_columns)
                if left is not None:
                    rows, left = rows.head(left), left - rows.height
                yield rows if predicate is None else rows.filter(predicate)
                if left is not None and left <= 0:
                    return

    lazy: polars.LazyFrame = plugins.register_io_source(source, schema=schema)
    return lazy


def projected(
    every: Sequence[str], names: Sequence[str], tags: Mapping[str, str] | None
) -> dict[str, Any]:
    """Columns and tags that a query needs; the first column where it needs none but the rows."""
    tags = tags or {}
    columns = [it for it in names if it not in tags]
    kept = {tag: kind for tag, kind in tags.items() if tag in names}
    if not columns and not kept:
        first = every[0]
        return {"tags": tags} if first in tags else {"columns": [first], "tags": {}}
    return {"columns": columns, "tags": kept}
