"""The types of the package hold, and are of use to who calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import seqloom
from support import Case

GOOD = """
import seqloom
run = seqloom.align("r.fa", "a.fq", output=open("x", "wb"), threads=2, memory="8G",
                    read_group={"ID": "a"}, gap_open=(6, 5), progress=print, write_index="csi")
seqloom.prep("a.bam", ["b.bam", "c.bam"], output="x.bam", filter_unmapped="strict", stdin=None)
records: int = run.counts["records"]
seqloom.shard.plan("r.fa", "a.fq", "b.fq", run="RUN", shards=4)
for batch in seqloom.read_bam(["a.bam", "b.bam"], tags={"NM": "i"}, regions="chr1:1-2"):
    print(batch)
seqloom.scan_bam("a.bam", columns=["name"], min_mapq=20).select("name").collect()
with seqloom.SignalFile("a.pod5", errors="skip") as signal:
    lengths: list[int] = [len(read) for read in signal.batch(signal.read_ids, threads=2)]
    total = float(signal["id"].picoampere().sum())
try:
    seqloom.index("r.fa", sa_stride=8)
except seqloom.InputError as error:
    line: int | None = error.line
"""
#: Each is refused.
BAD = [
    'seqloom.align("r.fa", "a.fq", output="x", thread=2)',
    'seqloom.align("r.fa", "a.fq", output="x", threads="two")',
    'seqloom.align("r.fa", "a.fq")',
    'seqloom.align("r.fa", "a.fq", output="x", write_index="cai")',
    'seqloom.prep("a.bam", output="x.bam", mark_duplicates=1)',
    'seqloom.index("r.fa", quiet="yes")',
    'seqloom.index("r.fa").counts.get(1)',
    'seqloom.read_bam("a.bam", tags=["NM:i"])',
    'seqloom.scan_signal("a.pod5", min_mapq=2)',
    'seqloom.SignalFile("a.pod5", errors="ignore")',
]


class Types(Case):
    def mypy(self, *words: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "mypy", "--strict", "--python-version=3.10", *map(str, words)]
        return subprocess.run(line, capture_output=True, text=True, cwd=self.folder)

    def setUp(self) -> None:
        super().setUp()
        if os.environ.get("SEQLOOM_BARE"):
            self.skipTest("a bare environment has no mypy")
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.absent("mypy is not installed")

    def test_the_package_is_typed(self) -> None:
        # The driver for Ray is a script of the repository's, which is older than this package.
        done = self.mypy("--exclude", r"/ray\.py$", Path(seqloom.__file__).parent)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_calls_are_checked(self) -> None:
        text = "import seqloom\n" + GOOD
        (self.folder / "good.py").write_text(text)
        done = self.mypy("good.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (self.folder / "bad.py").write_text("import seqloom\n" + "\n".join(BAD) + "\n")
        done = self.mypy("bad.py")
        for line, call in enumerate(BAD, 2):
            self.assertIn(f"bad.py:{line}: error", done.stdout, call)
