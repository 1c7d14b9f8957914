"""What a run can fail with."""

from __future__ import annotations

import signal as _signal
from collections.abc import Sequence
from typing import Any


class SeqloomError(Exception):
    """A run failed. The message is the program's.

    Attributes:
        message: what went wrong, where, and often what to do.
        exit_code: what the program ended with; negative for a signal.
        command: the command line that it was given.
        file, record, name, line, byte: where in the input, as far as it is known. Records and lines
            count from 1, bytes from 0.
    """

    def __init__(
        self,
        message: str,
        exit_code: int = 1,
        command: Sequence[str] = (),
        *,
        file: str | None = None,
        record: int | None = None,
        name: str | None = None,
        line: int | None = None,
        byte: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.command = list(command)
        self.file = file
        self.record = record
        self.name = name
        self.line = line
        self.byte = byte

    def __reduce__(self) -> tuple[Any, ...]:
        # Pools of processes send exceptions home.
        return type(self), (self.message, self.exit_code, self.command), self.__dict__


class RunError(SeqloomError):
    """The run failed (exit code 1)."""


class UsageError(SeqloomError):
    """The arguments make no sense (exit code 2)."""


class InputError(SeqloomError):
    """An input is missing or malformed (exit code 3)."""


class MissingInputError(InputError, FileNotFoundError):
    """An input, or the index of a reference, is not there (exit code 3)."""


class OutputError(SeqloomError):
    """The output, or a temporary file, could not be written (exit code 4)."""


class Crashed(SeqloomError):
    """The program was ended by a signal, such as SIGKILL where memory ran out."""

    @property
    def signal(self) -> _signal.Signals:
        """Which one."""
        return _signal.Signals(-self.exit_code)


BY_CLASS: dict[str | None, type[SeqloomError]] = {
    "usage": UsageError,
    "input": InputError,
    "missing-input": MissingInputError,
    "output": OutputError,
    "damaged": OutputError,
}

# Of a program that ended before it could report why.
BY_CODE: dict[int, type[SeqloomError]] = {2: UsageError, 3: InputError, 4: OutputError}
