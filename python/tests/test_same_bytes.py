"""What Python writes is what a shell writes."""

from __future__ import annotations

import os
import subprocess

import seqloom
from support import Case, aligned, digest, pairs, reference


class SameBytes(Case):
    def shell(self, *words: object, stdout: object = subprocess.DEVNULL) -> None:
        line = ["seqloom", *map(str, words)]
        subprocess.run(line, executable=seqloom.program(), check=True, cwd=self.folder,
                       stdout=stdout, stderr=subprocess.DEVNULL)  # type: ignore[call-overload]

    def test_align(self) -> None:
        run = seqloom.align(reference(), *pairs(), output=self.folder / "a.bam", threads=2,
                            read_group={"ID": "a", "SM": "s"}, metrics_dir=self.folder / "qc")
        ours = digest(self.folder / "a.bam"), digest(self.folder / "a.bam.bai")
        # As it was typed, so that @PG has the same line.
        self.shell(*run.command[1:])
        self.assertEqual(ours, (digest(self.folder / "a.bam"), digest(self.folder / "a.bam.bai")))
        header = subprocess.run(
            [seqloom.program(), "prep", self.folder / "a.bam", "--output-format=sam"],
            check=True, capture_output=True,
        ).stdout
        self.assertNotIn(b"-fd=", header)
        self.assertNotIn(b"--end-with", header)
        self.assertIn(b"PN:seqloom", header)
        self.assertTrue((self.folder / "qc" / "a.markdup.txt").exists())
        self.assertEqual(run.counts["templates"], 2_000)
        self.assertGreater(run.counts["duplicate_records"], 200)
        self.assertGreater(run.wall_s, 0)
        self.assertGreater(run.peak_memory, 1 << 20)
        self.assertEqual(run.report["usage"]["peak_rss_bytes"], run.peak_memory)
        self.assertIn("align: ", run.log)

    def test_prep_and_files_of_python(self) -> None:
        options = {"mark_duplicates": True, "sort": "coordinate", "no_pg": True}
        words = ["prep", aligned(), "--mark-duplicates", "--sort=coordinate", "--no-pg"]
        self.shell(*words, "-o", "shell.bam")
        expected = digest(self.folder / "shell.bam")
        with open(aligned(), "rb") as source, open(self.folder / "b.bam", "wb") as out:
            seqloom.prep("-", stdin=source, output=out, **options)
        self.assertEqual(digest(self.folder / "b.bam"), expected)
        seqloom.prep("-", stdin=aligned(), output=self.folder / "c.bam", **options)
        self.assertEqual(digest(self.folder / "c.bam"), expected)
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb") as source, open(writer, "wb") as sink:
            seqloom.prep(aligned(), output=sink, output_format="sam", no_pg=True,
                         exclude_flags=0xFFFF ^ 0x10, min_mapq=61)
            sink.close()
            self.assertTrue(source.read().startswith(b"@HD"))

    def test_places_past_sixteen_bits(self) -> None:
        sam = ["@HD\tVN:1.6\tGO:query", "@SQ\tSN:c\tLN:9000", "@RG\tID:g\tSM:s\tLB:l"]
        for at in range(200):
            name = f"p{at}:1:f:1:66637:{32_748 + at % 2 * 40}:{65_500 + at // 2 * 300}"
            for flag, start, mate in [(99, 1000, 1200), (147, 1200, 1000)]:
                sam.append(f"{name}\t{flag}\tc\t{start}\t60\t10M\t=\t{mate}\t{mate - start}\t"
                           f"ACGTACGTAC\tFFFFFFFFFF\tRG:Z:g")
        (self.folder / "in.sam").write_text("\n".join(sam) + "\n")
        optical = []
        for version in ("3.5.0", "2.27.5"):
            seqloom.prep(self.folder / "in.sam", output=self.folder / "a.bam", no_pg=True,
                         mark_duplicates=True, tag_duplicates="all", picard_version=version)
            self.shell("prep", "in.sam", "-o", "b.bam", "--no-pg", "--mark-duplicates",
                       "--tag-duplicates=all", "--picard-version", version)
            self.assertEqual(digest(self.folder / "a.bam"), digest(self.folder / "b.bam"))
            self.shell("prep", "a.bam", "-o", "a.sam")
            optical.append((self.folder / "a.sam").read_text().count("DT:Z:SQ"))
        # Two clusters are 40 pixels apart; in 16 bits 65,496.
        self.assertEqual(optical, [200, 0])

    def test_index(self) -> None:
        run = seqloom.index(reference(), prefix=self.folder / "x", quiet=True)
        self.shell("index", reference(), "-p", "y", "--quiet")
        for name in ("pac", "ann", "amb", "bwt.2bit.64", "fast", "tsa"):
            self.assertEqual(digest(self.folder / f"x.{name}"), digest(self.folder / f"y.{name}"))
        self.assertEqual(run.counts, {"sequences": 2, "bases": 80_000})
        self.assertIn(str(self.folder / "x.pac"), run.report["files"])
        self.assertGreater(run.peak_memory, 0)
