"""What the tests share: a small reference with reads, and how a test says that it cannot run."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import seqloom

READ_GROUP = {"ID": "a", "SM": "s", "LB": "l"}
COMPLEMENT = str.maketrans("ACGT", "TGCA")
#: No run of these tests takes as long.
LIMIT_S = 120.0
# A shell's background jobs ignore SIGINT, and so would what is started here.
signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def shared() -> Path:
    """A folder that goes away with the tests."""
    folder = tempfile.mkdtemp(prefix="seqloom-python-")
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)


@functools.cache
def reference() -> Path:
    """An indexed reference of two sequences."""
    rng = random.Random(1)
    path = shared() / "ref.fa"
    with path.open("w") as out:
        for name, length in [("one", 60_000), ("two", 20_000)]:
            bases = "".join(rng.choices("ACGT", k=length))
            out.write(f">{name}\n" + "\n".join(textwrap.wrap(bases, 70)) + "\n")
    seqloom.index(path, threads=2)
    return path


@functools.cache
def pairs(count: int = 2_000) -> tuple[Path, Path]:
    """Pairs of reads of the reference, a tenth of them twice."""
    rng = random.Random(2)
    text = reference().read_text().split(">")[1:]
    sequences = ["".join(part.split("\n")[1:]) for part in text]
    paths = shared() / f"r{count}_1.fq", shared() / f"r{count}_2.fq"
    with paths[0].open("w") as first, paths[1].open("w") as second:
        fragment = ""
        for at in range(count):
            if (at + 1) % 10:
                bases = rng.choice(sequences)
                start = rng.randrange(len(bases) - 400)
                fragment = bases[start : start + rng.randrange(250, 400)]
            mate = fragment[::-1].translate(COMPLEMENT)
            for out, read in [(first, fragment[:100]), (second, mate[:100])]:
                out.write(f"@r{at}\n{read}\n+\n{'I' * 100}\n")
    return paths


@functools.cache
def aligned() -> Path:
    """The reads, aligned and sorted."""
    path = shared() / "aligned.bam"
    seqloom.align(reference(), *pairs(), output=path, read_group=READ_GROUP, threads=2)
    return path


@contextlib.contextmanager
def endless(text: bytes) -> Iterator[BinaryIO]:
    """A pipe that gives the same text again and again: a run that reads it never ends by itself."""
    reader, writer = os.pipe()

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb", buffering=0) as sink:
            while True:
                sink.write(text)

    feeder = threading.Thread(target=feed)
    feeder.start()
    with os.fdopen(reader, "rb") as source:
        yield source
    feeder.join()


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def script(text: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    """Another interpreter that runs a text, in a process group of its own as from a terminal."""
    words = [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, **options,  # type: ignore[call-overload,no-any-return]
    )


def processes_of(word: object) -> list[int]:
    """Processes of the program whose command line holds a word."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().split(b"\0")
                state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            is_program = line and line[0].endswith(b"seqloom") and state != "Z"
            if is_program and any(os.fsencode(str(word)) in it for it in line):
                found.append(int(folder.name))
    return found


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=shared()))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def absent(self, reason: str) -> None:
        """Skips the test because something is missing, which continuous integration forbids."""
        if log := os.environ.get("SEQLOOM_SKIP_LOG"):
            with open(log, "a") as out:
                out.write(f"{self.id()}: {reason}\n")
        self.skipTest(reason)
