"""From the arguments of a call to a command line."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, Union

from typing import ParamSpec


class HasDescriptor(Protocol):
    """A binary file of the operating system."""

    def fileno(self) -> int: ...


Path = Union[str, "os.PathLike[str]"]
Input = Union[Path, HasDescriptor]
Output = Union[Path, HasDescriptor]
#: What has a form of its own, such as a size of memory ("8G"); numbers in a sequence get commas.
Value = Union[str, int, float, Sequence[int], Sequence[float], Sequence[str]]

P = ParamSpec("P")
R = TypeVar("R")

#: Where standard input or output of the program is meant.
STANDARD = "-"


@dataclass(frozen=True)
class Option:
    """An option of a command."""

    #: With its dashes.
    flag: str
    #: Its letter.
    short: str | None
    #: It may be given several times.
    repeated: bool


@dataclass(frozen=True)
class Command:
    """A command of the program."""

    #: Its name, a word or two.
    words: tuple[str, ...]
    #: Names of arguments without a flag, in order.
    positional: tuple[str, ...]
    #: By keyword.
    options: Mapping[str, Option]

    def line(self, arguments: Mapping[str, object]) -> list[str]:
        """The words of a command line; what is None or False is left out."""
        files = [text(it) for name in self.positional for it in flat(arguments[name])]
        words = [*self.words]
        for name, option in self.options.items():
            words += given(option, arguments[name])
        if any(it.startswith("-") and it != STANDARD for it in files):
            words.append("--")
        return words + files

    def suggestion(self, name: str, names: Sequence[str]) -> str:
        """What a wrong keyword may have meant, as the end of a message."""
        by_letter = [known for known, it in self.options.items() if it.short == name]
        near = by_letter or difflib.get_close_matches(name, names, 1, 0.5)
        return f"; did you mean '{near[0]}'?" if near else ""


def checked(command: Command) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Has a function refuse a wrong keyword with what was meant."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in names:
                    raise TypeError(
                        f"{function.__name__}() got an unexpected keyword argument '{name}'"
                        + command.suggestion(name, names)
                    )
            return function(*args, **kwargs)

        return called

    return decorate


def given(option: Option, value: object) -> list[str]:
    """The words of one option."""
    if value is None or value is False:
        return []
    if value is True:
        return [option.flag]
    if isinstance(value, Mapping):
        value = read_group(value)
    if option.repeated:
        return [f"{option.flag}={text(it)}" for it in flat(value)]
    return [f"{option.flag}={','.join(text(it) for it in flat(value))}"]


def flat(value: object) -> Iterable[object]:
    """The elements of a sequence, of sequences in it, or the value itself; nothing of None."""
    if value is None:
        return
    if isinstance(value, (list, tuple)):
        for it in value:
            yield from flat(it)
    else:
        yield value


def text(value: object) -> str:
    """A value as a word of a command line."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{value!r} is neither text, a path nor a number")


def read_group(fields: Mapping[object, object]) -> str:
    r"""The line of a read group, `{"ID": "a", "SM": "s"}` as `@RG\tID:a\tSM:s`."""
    if "ID" not in fields:
        raise ValueError("a read group needs an ID")
    ordered = {"ID": fields["ID"], **fields}
    for key, value in ordered.items():
        if any(c in str(value) for c in "\t\n\r\\"):
            raise ValueError(f"{key} of the read group holds a tab, a line end or a backslash")
    return r"\t".join(["@RG", *(f"{key}:{value}" for key, value in ordered.items())])
