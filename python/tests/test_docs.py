"""The session of docs/python.md, run as it stands there."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import shlex
import subprocess
from pathlib import Path

import seqloom
from support import Case, pairs, reference

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


class Page(Case):
    def test_the_session(self) -> None:
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreater(len(blocks), 5)
        if os.environ.get("SEQLOOM_BARE"):
            # There is nothing that reads Arrow.
            blocks = [it for it in blocks if "scan_bam" not in it]
        (self.folder / "ref.fa").write_bytes(reference().read_bytes())
        for source, name in zip(pairs(), ("R1.fq.gz", "R2.fq.gz")):
            (self.folder / name).write_bytes(gzip.compress(source.read_bytes()))
        shown = io.StringIO()
        names: dict[str, object] = {"__name__": "session"}
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        with contextlib.redirect_stdout(shown):
            for at, block in enumerate(blocks):
                exec(compile(block, f"{PAGE.name}, block {at + 1}", "exec"), names)
        self.assertIn("did you mean 'cohort_bases'?", shown.getvalue())
        self.assertIn("cut.fq.gz", shown.getvalue())
        for name in ("out.bam", "out.bam.bai", "sorted.bam", "filtered.sam", "qc"):
            self.assertTrue((self.folder / name).exists(), name)
        self.assertFalse((self.folder / "x.bam").exists())
        self.signal(names)
        self.columns()

    def signal(self, names: dict[str, object]) -> None:
        """The session's function on a file of raw signal."""
        root = os.environ.get("SEQLOOM_DATA")
        if not root or os.environ.get("SEQLOOM_BARE"):
            return
        current = names["current"]
        assert callable(current)
        found = current(Path(root, "nanopore/derived_official_tools/multi_fast5_zip.pod5"))
        self.assertGreater(len(found), 3)
        self.assertTrue(all(20 < it < 200 for it in found), found)

    def columns(self) -> None:
        """The line of a shell, on this reference."""
        line = re.findall(r"^seqloom columns .*$", PAGE.read_text(), re.MULTILINE)[0]
        words = shlex.split(line.replace("chr20:1-2,000,000", "one:1-20,000"))
        subprocess.run([seqloom.program(), *words[1:]], check=True, stderr=subprocess.DEVNULL)
        self.assertTrue((self.folder / "out.arrows").read_bytes().startswith(b"\xff" * 4))
