"""Ctrl-C in the main thread, in another thread, in a notebook; a caller that dies. In each case no
process is left after six seconds, and no file with a final name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import LIMIT_S, Case, pairs, processes_of, reference, script

#: A run that never ends by itself: it reads a pipe that gives the same reads again and again.
RUN = """
    import os, sys, threading
    import seqloom
    reference, reads, out = sys.argv[1:]
    reader, writer = os.pipe()
    text = open(reads, "rb").read()

    def feed():
        try:
            while True:
                os.write(writer, text)
        except BrokenPipeError:
            pass

    threading.Thread(target=feed, daemon=True).start()

    def align():
        try:
            with os.fdopen(reader, "rb") as source:
                seqloom.align(reference, "-", stdin=source, output=out, threads=2)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            raise
"""
IN_MAIN = RUN + "    align()\n"
IN_THREAD = RUN + """
    thread = threading.Thread(target=align)
    thread.start()
    thread.join()
"""


def wait_for(what: Callable[[], object], limit_s: float = LIMIT_S) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + limit_s
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def answer(client: Any, asked: str) -> dict[str, Any]:
    """The reply to a request, behind those to others."""
    while True:
        reply: dict[str, Any] = client.get_shell_msg(timeout=LIMIT_S)
        if reply["parent_header"]["msg_id"] == asked:
            return dict(reply["content"])


class Interrupts(Case):
    def started(self, text: str) -> tuple[subprocess.Popen[str], Path]:
        """A script whose run works."""
        out = self.folder / "interrupted.bam"
        process = script(text, reference(), pairs()[0], out)
        self.addCleanup(process.kill)
        self.assertTrue(wait_for(lambda: processes_of(out)), "the program did not start")
        time.sleep(0.5)  # so that it is at work most of the times; it must stop at any time
        return process, out

    def ended(self, process: subprocess.Popen[str], out: Path) -> str:
        """What a script printed that has ended; requires that it left nothing."""
        shown, errors = process.communicate(timeout=LIMIT_S)
        self.assertTrue(wait_for(lambda: not processes_of(out), 6), "an orphan")
        self.assertEqual(os.listdir(self.folder), [])
        self.assertNotIn("Fatal", errors)
        return shown

    def test_in_the_main_thread(self) -> None:
        process, out = self.started(IN_MAIN)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(process, out), "interrupted\n")
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_in_another_thread_from_a_terminal(self) -> None:
        process, out = self.started(IN_THREAD)
        os.killpg(process.pid, signal.SIGINT)
        self.ended(process, out)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_in_another_thread_by_a_signal_to_the_interpreter_alone(self) -> None:
        process, out = self.started(IN_THREAD)
        process.send_signal(signal.SIGINT)
        self.ended(process, out)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_in_another_thread_of_a_program_that_handles_it(self) -> None:
        handled = "    import signal\n    signal.signal(signal.SIGINT, lambda *_: None)\n"
        process, out = self.started(handled + IN_THREAD)
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(self.ended(process, out), "interrupted\n")
        self.assertEqual(process.returncode, 0)

    def test_a_caller_that_is_killed(self) -> None:
        for text in (IN_MAIN, IN_THREAD):
            process, out = self.started(text)
            process.kill()
            self.ended(process, out)

    def test_a_thread_may_outlive_the_main_thread(self) -> None:
        text = """
    import os, sys, threading, time
    import seqloom
    reference, reads, out = sys.argv[1:]
    reader, writer = os.pipe()

    def align():
        with os.fdopen(reader, "rb") as source:
            seqloom.align(reference, "-", stdin=source, output=out, threads=2)

    def feed():
        while threading.main_thread().is_alive():
            time.sleep(0.05)
        time.sleep(0.5)
        with os.fdopen(writer, "wb") as sink:
            sink.write(open(reads, "rb").read())

    for work in (align, feed):
        threading.Thread(target=work).start()
"""
        out = self.folder / "whole.bam"
        process = script(text, reference(), pairs(200)[0], out)
        _, errors = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 0, errors)
        self.assertTrue(out.exists())

    def test_in_a_notebook(self) -> None:
        try:
            from jupyter_client import KernelManager  # noqa: F401
            import ipykernel  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            if os.environ.get("SEQLOOM_BARE"):
                self.skipTest("a bare environment has no notebook")
            self.absent("ipykernel is not installed")
        out = self.folder / "interrupted.bam"
        text = "\n".join(line[4:] for line in IN_MAIN.splitlines())
        files = [str(reference()), str(pairs()[0]), str(out)]
        text = text.replace("sys.argv[1:]", repr(files))
        manager = KernelManager()
        manager.kernel_spec.argv[0] = sys.executable
        manager.start_kernel()
        self.addCleanup(manager.shutdown_kernel, True)
        client = manager.blocking_client()
        client.start_channels()
        self.addCleanup(client.stop_channels)
        client.wait_for_ready(timeout=LIMIT_S)
        asked = client.execute(text)
        self.assertTrue(wait_for(lambda: processes_of(out)), "the program did not start")
        time.sleep(0.5)
        manager.interrupt_kernel()
        self.assertEqual(answer(client, asked).get("ename"), "KeyboardInterrupt")
        self.assertTrue(wait_for(lambda: not processes_of(out), 6), "an orphan")
        self.assertEqual(os.listdir(self.folder), [])
        # The kernel lives on. What comes right behind an error it may still abort.
        lives = lambda: answer(client, client.execute("1 + 1")).get("status") == "ok"  # noqa: E731
        self.assertTrue(wait_for(lives), "the kernel is gone")


if __name__ == "__main__":
    unittest.main()
