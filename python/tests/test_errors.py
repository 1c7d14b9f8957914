"""Each exit code is an exception, with the place."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import unittest

import seqloom
from support import Case, aligned, pairs, processes_of, reference


class Errors(Case):
    def test_usage(self) -> None:
        with self.assertRaisesRegex(seqloom.UsageError, "--level") as caught:
            seqloom.prep(aligned(), output=self.folder / "x.bam", level=99)
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertNotIn("error: ", caught.exception.message)
        with self.assertRaisesRegex(seqloom.UsageError, "at least") as caught:
            seqloom.align(reference(), *pairs(), output=self.folder / "x.bam", memory="1M")
        self.assertEqual(caught.exception.command[:2], ["seqloom", "align"])

    def test_malformed_reads(self) -> None:
        first, _ = pairs()
        lines = first.read_bytes().split(b"\n")
        lines[4 * 41 + 3] = b"II"
        bad = self.folder / "bad.fq"
        bad.write_bytes(b"\n".join(lines))
        with self.assertRaises(seqloom.InputError) as caught:
            seqloom.align(reference(), bad, output=self.folder / "x.bam")
        error = caught.exception
        self.assertEqual((error.exit_code, error.file, error.record), (3, str(bad), 42))
        self.assertEqual((error.line, error.name), (168, "r41"))
        self.assertEqual(error.byte, sum(len(line) + 1 for line in lines[: 4 * 41 + 3]))
        self.assertIn("record 42 (r41), line 168", error.message)
        self.assertEqual(os.listdir(self.folder), ["bad.fq"])
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), vars(again)), (type(error), vars(error)))

    def test_damaged_bam(self) -> None:
        whole = aligned().read_bytes()
        bad = self.folder / "bad.bam"
        for at, what in [(len(whole) // 2, "record"), (len(whole) - 40, "end")]:
            bad.write_bytes(whole[:at])
            with self.assertRaises(seqloom.InputError, msg=what) as caught:
                seqloom.prep(bad, output=self.folder / "x.bam")
            self.assertEqual(caught.exception.file, str(bad))
            self.assertIsNotNone(caught.exception.byte)
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 0xFF
        bad.write_bytes(flipped)
        with self.assertRaises(seqloom.InputError) as caught:
            seqloom.prep(bad, output=self.folder / "x.bam")
        self.assertEqual(caught.exception.file, str(bad))
        self.assertGreater(caught.exception.byte or 0, 0)
        self.assertEqual(os.listdir(self.folder), ["bad.bam"])

    def test_damaged_reference(self) -> None:
        bad = self.folder / "bad.fa"
        bad.write_text(">a\nACGT\nAC1T\n")
        with self.assertRaises(seqloom.InputError) as caught:
            seqloom.index(bad)
        error = caught.exception
        self.assertEqual((error.file, error.record, error.name), (str(bad), 1, "a"))
        self.assertEqual((error.line, error.byte), (3, 10))

    def test_missing_files(self) -> None:
        missing = self.folder / "none.fq"
        with self.assertRaises(seqloom.MissingInputError) as caught:
            seqloom.align(reference(), missing, output=self.folder / "x.bam")
        self.assertEqual((caught.exception.exit_code, caught.exception.file), (3, str(missing)))

    def test_output(self) -> None:
        out = self.folder / "no" / "x.bam"
        with self.assertRaises(seqloom.OutputError) as caught:
            seqloom.prep(aligned(), output=out)
        self.assertEqual(caught.exception.exit_code, 4)
        self.assertIn("no", caught.exception.file or "")
        with open("/dev/full", "wb") as full, self.assertRaises(seqloom.OutputError):
            seqloom.prep(aligned(), output=full, level=0)

    def test_a_crash_is_an_exception(self) -> None:
        """A run that reads a pipe nobody writes is killed as by the system for its memory."""
        out = self.folder / "crashed.bam"
        reader, writer = os.pipe()
        killed = threading.Event()

        def kill() -> None:
            while not killed.wait(0.05):
                for process in processes_of(out):
                    os.kill(process, signal.SIGKILL)
                    killed.set()

        killer = threading.Thread(target=kill)
        killer.start()
        with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb"):
            with self.assertRaises(seqloom.Crashed) as caught:
                seqloom.prep("-", stdin=source, output=out)
        killer.join()
        self.assertEqual(caught.exception.signal, signal.SIGKILL)
        self.assertEqual(caught.exception.exit_code, -9)
        self.assertIn("SIGKILL", caught.exception.message)
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
