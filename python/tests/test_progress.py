"""Progress, and that the interpreter is free meanwhile."""

from __future__ import annotations

import os
import threading

import seqloom
from support import Case, endless, pairs, processes_of, reference


class ProgressOfRuns(Case):
    def test_phases_and_bytes(self) -> None:
        seen: list[seqloom.Progress] = []
        seqloom.align(reference(), *pairs(), output=self.folder / "x.bam", threads=1,
                      progress=seen.append)
        self.assertEqual((seen[0].phase, seen[-1].phase), ("ingest", "finish"))
        self.assertLessEqual({it.phase for it in seen}, {"ingest", "resolve", "finish"})
        self.assertEqual(seen, sorted(seen, key=lambda it: it.seconds))
        total = sum(it.stat().st_size for it in pairs())
        self.assertTrue(all(it.total_bytes == total for it in seen if it.phase == "ingest"))
        self.assertTrue(all(0 <= (it.share or 0) <= 1 for it in seen))
        seen.clear()
        seqloom.index(reference(), prefix=self.folder / "y", progress=seen.append)
        self.assertLessEqual({it.phase for it in seen}, {"read", "sort", "write"})
        self.assertTrue(seen)

    def test_words_are_the_programs(self) -> None:
        run = seqloom.align(reference(), *pairs(), output=self.folder / "x.bam", threads=1,
                            progress="plain")
        self.assertIn("% of all work", run.log)

    def test_an_exception_stops_the_run(self) -> None:
        class Enough(Exception):
            pass

        def refuse(_: seqloom.Progress) -> None:
            raise Enough

        out = self.folder / "x.bam"
        with endless(pairs()[0].read_bytes()) as source, self.assertRaises(Enough):
            seqloom.align(reference(), "-", stdin=source, output=out, progress=refuse, threads=1)
        self.assertEqual(processes_of(out), [])
        self.assertEqual(os.listdir(self.folder), [])


class Interpreter(Case):
    def test_other_threads_run_while_a_run_waits(self) -> None:
        """The reads are written by a thread that counts first: were the interpreter held by the
        run, neither would end."""
        first, _ = pairs()
        reader, writer = os.pipe()
        counted = 0

        def feed() -> None:
            nonlocal counted
            with os.fdopen(writer, "wb") as out:
                while counted < 2_000_000:
                    counted += 1
                out.write(first.read_bytes())

        feeder = threading.Thread(target=feed)
        with os.fdopen(reader, "rb") as source:
            feeder.start()
            run = seqloom.align(reference(), "-", stdin=source, output=self.folder / "x.bam",
                                threads=1)
        feeder.join()
        self.assertEqual((run.counts["reads"], counted), (2_000, 2_000_000))
