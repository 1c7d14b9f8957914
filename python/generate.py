"""Writes the module with the functions of the package, from what `seqloom --dump-options` prints.

    seqloom --dump-options | python generate.py > seqloom/_commands.py

Each command becomes a function, each option that has a long name a keyword of it.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from typing import Any

#: Commands that become functions; the others are for people at a shell.
FUNCTIONS = [["align"], ["prep"], ["index"]]
#: Those of one run in many processes: seqloom.shard has them.
VERBS = ["plan", "align", "mark", "count", "table", "finish", "place", "gather"]

#: Options of `plan` that it refuses: they are those of `gather`, which writes the output.
OF_GATHER = {"output", "json", "metrics_dir", "md5"}

#: What options take whose values have no type of their own.
TYPE_OF = {
    "flag": "bool",
    "integer": "int",
    "number": "float",
    "path": "Path",
    "text": "str",
    "other": "Value",
}

#: Options that mean more here than at a shell: name, type, whether it must be given.
SPECIAL = {
    "output": ("Output", True),
    "progress": ("Callable[[Progress], object] | str", False),
    "read_group": ("str | Mapping[str, str]", False),
}

HEAD = '''\
"""The commands of seqloom {version}. Generated from its options; do not edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from ._options import Command, Input, Option, Output, Path, Value, checked
from ._progress import Progress
from ._run import Report, run as _run

VERSION = "{version}"
'''


def name_of(argument: dict[str, Any]) -> str:
    """The keyword of an option, the name of a positional argument."""
    name = argument["name"] if argument["positional"] else argument["long"].replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else str(name)


def type_of(argument: dict[str, Any]) -> str:
    """What an option takes, without None."""
    one = TYPE_OF[argument["type"]]
    if argument["choices"]:
        one = "Literal[" + ", ".join(f'"{choice}"' for choice in argument["choices"]) + "]"
    if argument["value_optional"]:
        one = f"bool | {one}"
    if argument["repeated"] and argument["takes_value"]:
        return f"{one} | Sequence[{one}]"
    return one


def parameter(argument: dict[str, Any]) -> str:
    """A line of the signature."""
    name = name_of(argument)
    if argument["positional"]:
        if argument["repeated"]:
            return f"*{name}: Path | Sequence[Path],"
        return f"{name}: Path," if argument["required"] else f"{name}: Path | None = None,"
    kind, needed = SPECIAL.get(name, (type_of(argument), False))
    if needed:
        return f"{name}: {kind},"
    if argument["type"] == "flag":
        return f"{name}: bool = False,"
    return f"{name}: {kind} | None = None,"


def documented(argument: dict[str, Any]) -> str:
    """The help of an argument, with what is taken where it is left out."""
    text = " ".join((argument["help"] or "").split()).rstrip(".")
    if argument["default"] and not argument["positional"] and "[default:" not in text:
        text += f" [default: {argument['default']}]"
    if argument["short"]:
        text += f" (-{argument['short']})"
    item = f"{name_of(argument)}: {text}"
    return textwrap.fill(item, 92, initial_indent="    ", subsequent_indent="        ")


def docstring(command: dict[str, Any], arguments: list[dict[str, Any]]) -> str:
    """The documentation of a function: arguments by the sections of the help."""
    lines = [f'r"""{command["about"]}.']
    section: object = ""
    for argument in arguments:
        if argument["section"] != section:
            section = argument["section"]
            lines += ["", f"{section or 'Arguments'}:"]
        lines.append(documented(argument))
    lines += ["", "Raises:", "    SeqloomError: by what went wrong, see its subclasses.", '"""']
    return "\n".join(lines)


def table(command: dict[str, Any], arguments: list[dict[str, Any]]) -> str:
    """What a call is turned into a command line by."""
    lines = ["Command(", f"    words={tuple(command['command'])!r},"]
    positional = tuple(name_of(it) for it in arguments if it["positional"])
    lines += [f"    positional={positional!r},", "    options={"]
    for argument in arguments:
        if not argument["positional"]:
            option = (f"--{argument['long']}", argument["short"], argument["repeated"])
            lines.append(f"        {name_of(argument)!r}: Option{option!r},")
    return "\n".join([*lines, "    },", ")"])


def function(command: dict[str, Any]) -> str:
    """A function and its table."""
    every = [it for it in command["arguments"] if it["positional"] or it["long"]]
    positional = [it for it in every if it["positional"]]
    if command["command"] == ["shard", "plan"]:
        every = [it for it in every if name_of(it) not in OF_GATHER]
    options = [it for it in every if not it["positional"]]
    needed = [it for it in options if SPECIAL.get(name_of(it), ("", False))[1]]
    given = needed + [it for it in options if it not in needed]
    name = "_".join(command["command"])
    reads = any(name_of(it) == "output" for it in options)
    lines = [parameter(it) for it in positional]
    if not any(it["repeated"] for it in positional):
        lines.append("*,")
    lines += [parameter(it) for it in given]
    if reads:
        lines.append("stdin: Input | None = None,")
    if not any(name_of(it) == "progress" for it in options):
        lines.append("progress: Callable[[Progress], object] | None = None,")
    signature = textwrap.indent("\n".join(lines), "    ")
    body = textwrap.indent(docstring(command, positional + options), "    ")
    constant = name.upper()
    return (
        f"\n{constant} = {table(command, every)}\n\n\n"
        f"@checked({constant})\n"
        f"def {name}(\n{signature}\n) -> Report:\n{body}\n"
        f"    return _run({constant}, locals())\n"
    )


def main() -> None:
    dumped = json.load(sys.stdin)
    print(HEAD.format(version=dumped["version"]), end="")
    by_words = {tuple(it["command"]): it for it in dumped["commands"]}
    for words in [*FUNCTIONS, *(["shard", verb] for verb in VERBS)]:
        print(function(by_words[tuple(words)]), end="")


if __name__ == "__main__":
    main()
