"""Runs the program: to its end, or to that of the caller's patience.

The program is a process of its own. It keeps its memory and its threads to itself, a crash of it is
an exception, and the interpreter goes on with other threads meanwhile.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from types import TracebackType
from typing import Any, BinaryIO

from ._errors import BY_CLASS, BY_CODE, Crashed, RunError, SeqloomError
from ._options import STANDARD, Command
from ._progress import Progress

#: The program gives its workers as long to stop after a signal.
GRACE_S = 5.0
#: How often a thread that gets no signals looks whether the main thread was interrupted.
LOOK_S = 0.2
#: What is kept of the log, from its end.
LOG_BYTES = 1 << 18
READ_BYTES = 1 << 16
#: What the program ends with after SIGINT.
INTERRUPTED = 128 + signal.SIGINT


def program() -> str:
    """The program that this package carries."""
    return str(FilePath(__file__).parent / "_bin" / "seqloom")


@dataclass(frozen=True)
class Report:
    """What a run did."""

    #: What `--json` writes.
    report: dict[str, Any]
    #: The end of the log.
    log: str
    #: The command line.
    command: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of reads, templates, records and more."""
        return dict(self.report.get("counts", {}))

    @property
    def wall_s(self) -> float:
        """Time from start to end."""
        return float(self._usage["wall_seconds"])

    @property
    def cpu_s(self) -> float:
        """User and system time of all threads."""
        return float(self._usage["cpu_seconds"])

    @property
    def peak_memory(self) -> int:
        """Largest resident set in bytes."""
        return int(self._usage["peak_rss_bytes"])

    @property
    def _usage(self) -> dict[str, Any]:
        return dict(self.report["usage"])


def run(command: Command, arguments: Mapping[str, object]) -> Report:
    """Runs a command with the arguments of a call and waits for its end."""
    arguments = dict(arguments)
    progress = arguments.get("progress")
    callback = progress if callable(progress) else None
    if callback:
        arguments["progress"] = None
    stdout, arguments["output"] = target(arguments.get("output"))
    words = command.line(arguments)
    with Source(arguments.get("stdin"), STANDARD in words) as stdin:
        with Child(words, stdin, stdout, callback) as child:
            return child.finish()


def target(output: object) -> tuple[Any, object]:
    """Standard output of the program, and what it is told of it."""
    if hasattr(output, "fileno"):
        flush = getattr(output, "flush", None)
        if callable(flush):
            flush()
        return output, STANDARD
    return (None if output == STANDARD else subprocess.DEVNULL), output


class Source:
    """Standard input of the program: a file, an open one, or nothing."""

    def __init__(self, given: object, is_read: bool) -> None:
        self._owned: BinaryIO | None = None
        self._given = given
        self._is_read = is_read

    def __enter__(self) -> Any:
        if isinstance(self._given, (str, os.PathLike)):
            self._owned = open(self._given, "rb")  # noqa: SIM115 - closed in __exit__
            return self._owned
        if self._given is not None:
            return self._given
        return None if self._is_read else subprocess.DEVNULL

    def __exit__(self, *_: object) -> None:
        if self._owned:
            self._owned.close()


class Child:
    """A running program. Left in any way but by its end, it is stopped."""

    def __init__(
        self,
        words: Sequence[str],
        stdin: Any,
        stdout: Any,
        progress: Callable[[Progress], object] | None = None,
    ) -> None:
        self.words = ["seqloom", *words]
        self.progress = progress
        self._log = bytearray()
        self._partial = b""
        self._report: dict[str, Any] = {}
        self._failure: dict[str, Any] = {}
        self._in_main = threading.current_thread() is threading.main_thread()
        self._events, told = os.pipe()
        try:
            self.process = subprocess.Popen(
                with_options(self.words, host_options(told, progress is not None)),
                executable=program(),
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.PIPE,
                pass_fds=(told,),
                # The main thread passes SIGINT on, once. In another thread the program hears itself
                # what a terminal sends to all processes of its group.
                start_new_session=self._in_main,
            )
        except BaseException:
            os.close(self._events)
            raise
        finally:
            os.close(told)

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            os.close(self._events)
            if self.process.stderr:
                self.process.stderr.close()

    def finish(self) -> Report:
        """Waits for the end of the program.

        Raises:
            SeqloomError: by its exit code.
            KeyboardInterrupt: somebody else interrupted it.
        """
        self._listen(None)
        code = self.process.wait()
        if code == 0:
            return Report(self._report, self.log, self.words)
        raise self.error(code)

    @property
    def log(self) -> str:
        """The end of what the program wrote to standard error."""
        return self._log.decode(errors="replace")

    def error(self, code: int) -> BaseException:
        """The exception of an exit code."""
        if code in (INTERRUPTED, -signal.SIGINT):
            return KeyboardInterrupt()
        message = str(self._failure.get("message") or complaint(self.log))
        places = ("file", "record", "name", "line", "byte")
        place = {key: self._failure.get(key) for key in places}
        if code < 0:
            crash = f"seqloom was ended by {signal.Signals(-code).name}"
            return Crashed(f"{crash}: {message}" if message else crash, code, self.words)
        kind = BY_CLASS.get(self._failure.get("class")) or BY_CODE.get(code, RunError)
        return kind(message or f"seqloom ended with {code}", code, self.words, **place)

    def stop(self) -> None:
        """Interrupts the program, and kills it if it does not end in time."""
        try:
            self.process.send_signal(signal.SIGINT)
            self._listen(time.monotonic() + GRACE_S + 1)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()

    def _listen(self, until: float | None) -> None:
        """Reads what the program says until it ends; after a stop, only until then."""
        stopped = until is not None
        assert self.process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stderr, selectors.EVENT_READ, self._hear_log)
            selector.register(self._events, selectors.EVENT_READ, self._hear_event)
            while selector.get_map():
                # Signals wake the main thread.
                wait = None if self._in_main and not stopped else LOOK_S
                for key, _ in selector.select(wait):
                    data = os.read(key.fd, READ_BYTES)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif not stopped or key.data == self._hear_log:
                        key.data(data)
                if until is not None and time.monotonic() > until:
                    return
                if not stopped and not self._in_main and main_thread_was_interrupted():
                    raise KeyboardInterrupt

    def _hear_log(self, data: bytes) -> None:
        self._log += data
        del self._log[:-LOG_BYTES]

    def _hear_event(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            event: dict[str, Any] = json.loads(line)
            self._report = event.get("report", self._report)
            self._failure = event.get("error", self._failure)
            if self.progress and "progress" in event:
                self.progress(Progress(**event["progress"]))


def host_options(told: int, progress: bool) -> list[str]:
    """What the program is asked to tell, and that it ends with this process."""
    names = ["--error-fd", "--report-fd", *(["--progress-fd"] if progress else [])]
    return [*(f"{name}={told}" for name in names), f"--end-with={os.getpid()}"]


def with_options(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """A command line with further options, in front of files that are set off by `--`."""
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], *options, *words[end:]]


def main_thread_was_interrupted() -> bool:
    """Whether the main thread has ended with a KeyboardInterrupt, and waits for this one."""
    if threading.main_thread().is_alive():
        return False
    kind = getattr(sys, "last_type", None)
    return isinstance(kind, type) and issubclass(kind, KeyboardInterrupt)


def complaint(log: str) -> str:
    """What a log says besides how the run went."""
    lines = [line for line in log.splitlines() if line and not line.startswith("[I ")]
    text = "\n".join(lines)
    for prefix in ("error: ", "seqloom: "):
        text = text.removeprefix(prefix)
    return text
