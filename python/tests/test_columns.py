"""Columns: what pysam reads, in every field; the same for any number of threads, in bounded memory.
"""

from __future__ import annotations

import array
import contextlib
import hashlib
import importlib.util
import os
import random
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import seqloom
from support import LIMIT_S, Case, aligned, pairs, processes_of, reference

#: Three tags of each type as SAM has them, every integer type at its ends.
TAGS = [
    "aa:A:x", "ab:A:!", "ac:A:~",
    "ia:i:-128", "ib:i:65535", "ic:i:4294967295",
    "fa:f:0.5", "fb:f:-1e+30", "fc:f:0",
    "za:Z:text with blanks", "zb:Z:", "zc:Z:x:y",
    "ha:H:1AE301", "hb:H:00", "hc:H:FF",
    "ca:B:c,-128,0,127", "cb:B:C,0,255", "cc:B:s,-32768,32767", "cd:B:S,65535",
    "ce:B:i,-2147483648,2147483647", "cf:B:I,4294967295", "cg:B:f,0.5,-2", "ch:B:c,1",
    "ci:B:C,7,8,9", "cj:B:s,5", "ck:B:S,1,2", "cl:B:i,3", "cm:B:I,0,1", "cn:B:f,1e+10",
]
#: Files of SAM with the base U, which this pysam reads as T, Debian's samtools and we as N.
LETTER_U = {"seq.warn.sam", "xx#u.sam"}
FIELDS = [
    "name", "flag", "reference", "start", "end", "mapq", "cigar", "mate_reference", "mate_start",
    "template_length", "sequence", "qualities", "cigar_ops",
]


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def stream(*words: object, stdin: Any = subprocess.DEVNULL) -> bytes:
    """What `seqloom columns` writes."""
    line = [seqloom.program(), "columns", "--quiet", *map(str, words)]
    return subprocess.run(line, check=True, stdout=subprocess.PIPE, stdin=stdin).stdout


def digest_of(*words: object, **options: Any) -> str:
    return hashlib.sha256(stream(*words, **options)).hexdigest()


def peak_bytes_of(*words: object) -> int:
    """The largest resident set of the program.

    What the kernel tells of a child begins with the size of the process that started it, and these
    tests are a large one: a small process stands between.
    """
    text = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\n"
    )
    line = [sys.executable, "-c", text, seqloom.program(), *map(str, words)]
    return int(subprocess.run(line, check=True, capture_output=True, text=True).stdout)


def row_of(record: Any) -> list[Any]:
    """The fields of a record of pysam as columns have them."""
    ops = record.cigartuples
    qualities = record.query_qualities
    return [
        record.query_name if record.query_name != "*" else None,
        record.flag,
        record.reference_name,
        record.reference_start if record.reference_start >= 0 else None,
        # pysam ends a record without a place all the same.
        record.reference_end if record.reference_start >= 0 else None,
        record.mapping_quality if record.mapping_quality != 255 else None,
        record.cigarstring,
        record.next_reference_name,
        record.next_reference_start if record.next_reference_start >= 0 else None,
        record.template_length,
        record.query_sequence,
        list(qualities) if qualities is not None else None,
        [length << 4 | op for op, length in ops] if ops else None,
    ]


def kind_of(value: Any, kind: str) -> str:
    """The type of a tag of pysam, as `tags` takes it."""
    if kind == "B":
        letters = {"b": "c", "B": "C", "h": "s", "H": "S", "i": "i", "I": "I", "f": "f"}
        return "B:" + letters[value.typecode]
    return "i" if kind in "cCsSiI" else kind


def plain(value: Any, kind: str) -> Any:
    """A value of a tag as columns have it."""
    if isinstance(value, array.array):
        return value.tolist()
    # pysam takes numbers from 2^31 on for negative ones.
    return value + 2**32 if kind == "I" and value < 0 else value


class AgainstPysam(Case):
    def setUp(self) -> None:
        super().setUp()
        if os.environ.get("SEQLOOM_BARE"):
            self.skipTest("a bare environment has no pysam")
        if not (has("pysam") and has("pyarrow")):
            self.absent("pysam or pyarrow is not installed")

    def compare(self, path: Path) -> int:
        """Compares every record, field and tag of a file; gives the number of records."""
        import pysam

        with quiet(), pysam.AlignmentFile(str(path), check_sq=False) as source:
            records = list(source)
        rows = [row_of(it) for it in records]
        tags = [{tag: (value, kind) for tag, value, kind in it.get_tags(with_value_type=True)}
                for it in records]
        kinds: dict[str, set[str]] = {}
        for row in tags:
            for tag, (value, kind) in row.items():
                kinds.setdefault(tag, set()).add(kind_of(value, kind))
        uniform = {tag: next(iter(found)) for tag, found in kinds.items()
                   if len(found) == 1 and "d" not in found}
        table = seqloom.read_bam(path, columns=FIELDS, tags=uniform, threads=2).to_arrow()
        self.assertEqual(table.num_rows, len(rows), path)
        for at, name in enumerate(FIELDS):
            self.assertEqual(table[name].to_pylist(), [row[at] for row in rows], (path, name))
        for tag in uniform:
            expected = [plain(*row[tag]) if tag in row else None for row in tags]
            self.assertEqual(table[tag].to_pylist(), expected, (path, tag))
        return len(rows)

    def test_three_tags_of_each_type(self) -> None:
        import pysam

        sam, bam = self.folder / "tags.sam", self.folder / "tags.bam"
        rng = random.Random(3)
        with sam.open("w") as out:
            out.write("@HD\tVN:1.6\n@SQ\tSN:c\tLN:1000\n@RG\tID:one\tSM:s\n@RG\tID:two\tSM:s\n")
            for at in range(300):
                cigar = rng.choice(["5M", "1S2M1I1M", "2M3N3M", "*"])
                flag = "0" if cigar != "*" else "4"
                place = [flag, "c", str(at + 1)] if at % 5 else ["4", "*", "0"]
                bases = "".join(rng.choices("ACGTN", k=5)) if at % 3 else "*"
                qualities = "!~I5#" if at % 3 and at % 2 else "*"
                tags = rng.sample(TAGS, rng.randrange(len(TAGS) + 1))
                row = [f"r{at}", *place, rng.choice(["0", "60", "255"]), cigar if at % 5 else "*",
                       rng.choice(["=", "*", "c"]) if at % 5 else "*", str(rng.randrange(1, 3)),
                       str(rng.randrange(-9, 9)), bases, qualities, *tags,
                       "RG:Z:" + rng.choice(["one", "two"])]
                out.write("\t".join(row) + "\n")
        with pysam.AlignmentFile(str(sam)) as source:
            records = list(source)
            with pysam.AlignmentFile(str(bam), "wb", template=source) as made:
                for record in records:
                    made.write(record)
        for path in (sam, bam):
            self.assertEqual(self.compare(path), 300)
            batches = seqloom.read_bam(path, columns=["read_group", "tags"], tags={"ia": "i"})
            table = batches.to_arrow()
            self.assertEqual(table["read_group"].to_pylist(), [it.get_tag("RG") for it in records])
            for row, record in zip(table["tags"].to_pylist(), records):
                text = {it[:2]: it[5:] for it in record.to_string().split("\t")[11:]}
                text.pop("ia", None)
                self.assertEqual(dict(row), text)
            self.assertEqual(table.schema.metadata[b"sam_header"], str(records[0].header).encode())

    def test_all_real_files(self) -> None:
        """BAM and SAM of the real data that pysam reads and we do not refuse: all, if there is time.

        What we refuse is malformed, and is named.
        """
        root = os.environ.get("SEQLOOM_DATA")
        if not root:
            self.absent("SEQLOOM_DATA is not set")
        found = sorted(Path(root or "", "bam").rglob("*.[bs]am"))
        sizes = [it for it in found if it.stat().st_size < 3_000_000]
        small = [it for it in sizes if it.stat().st_size < 400_000]
        chosen = [it for it in small if it.suffix == ".bam"] + small[::25] + sizes[::40]
        if os.environ.get("SEQLOOM_SLOW"):
            chosen = found
        records = refused = foreign = 0
        for path in chosen:
            if path.name in LETTER_U:
                continue
            try:
                with quiet():
                    records += self.compare(path)
            except (seqloom.InputError, seqloom.RunError) as error:
                self.assertIn(str(path), str(error))
                refused += 1
            except (OSError, ValueError, OverflowError, NotImplementedError):
                foreign += 1  # pysam does not read it
        self.assertGreater(records, 10_000)
        self.assertLess(refused, len(chosen) // 10, f"{refused} of {len(chosen)}")
        self.assertLess(foreign, len(chosen) // 2, f"{foreign} of {len(chosen)}")

    def test_regions_are_those_of_pysam(self) -> None:
        import pysam

        many = [f"one:{at * 500 + 1}-{at * 500 + 90}" for at in range(40)]
        apart = ["one:1-500", "one:40,000-40,400", "two:9-99"]
        for regions in (["one:1000-2000"], ["two"], apart, ["one:59,000-60,000"], many):
            with pysam.AlignmentFile(str(aligned())) as source:
                found = [it for region in regions
                         for it in source.fetch(region=region.replace(",", ""))]
            names = [(it.query_name, it.flag) for it in dict.fromkeys(found)]
            for threads in (1, 3):
                table = seqloom.read_bam(aligned(), columns=["name", "flag"], regions=regions,
                                         threads=threads).to_arrow()
                rows = list(zip(table["name"].to_pylist(), table["flag"].to_pylist()))
                self.assertEqual(sorted(rows), sorted(set(names)), regions)
                self.assertEqual(len(rows), len(set(rows)))

    def test_fetch_is_that_of_pysam(self) -> None:
        import pysam

        ours = seqloom.BamFile(aligned())
        with pysam.AlignmentFile(str(aligned())) as source:
            lengths = dict(zip(source.references, source.lengths))
            self.assertEqual((ours.references, ours.header), (lengths, str(source.header)))
            for region in (("one", 999, 2000), ("two",), ("one", 59_000), ("one", None, 300)):
                rows = [(it.query_name, it.flag) for it in source.fetch(*region)]
                table = ours.fetch(*region, columns=["name", "flag"], threads=2).to_arrow()
                found = list(zip(table["name"].to_pylist(), table["flag"].to_pylist()))
                self.assertEqual(found, rows, region)
        for start, end in ((-1, 5), (7, 7), (9, 3)):
            with self.assertRaisesRegex(ValueError, f"from {start} up to {end}"):
                ours.fetch("one", start, end)
        with self.assertRaisesRegex(seqloom.UsageError, "three.*no such sequence"):
            ours.fetch("three", 1, 2).to_arrow()

    def test_filters_are_those_of_pysam(self) -> None:
        import pysam

        with pysam.AlignmentFile(str(aligned())) as source:
            expected = [it.query_name for it in source
                        if it.flag & 0x10 and not it.flag & 0x400 and it.mapping_quality >= 30]
        table = seqloom.read_bam(aligned(), columns=["name"], require_flags=0x10,
                                 exclude_flags=0x400, min_mapq=30).to_arrow()
        self.assertEqual(table["name"].to_pylist(), expected)
        self.assertGreater(len(expected), 100)

    def test_reads(self) -> None:
        import pysam

        path = pairs()[0]
        with pysam.FastxFile(str(path)) as source:
            expected = [(it.name, it.sequence, list(it.get_quality_array())) for it in source]
        table = seqloom.read_fastq(path, columns=["name", "sequence", "qualities"]).to_arrow()
        rows = list(zip(*(table[name].to_pylist() for name in table.column_names)))
        self.assertEqual(rows, expected)
        odd = self.folder / "odd.fq"
        odd.write_bytes(b"@a/1 gr\xfcn\nAC\n+\nIJ\n@b\n\n+\n\n")
        with self.assertRaisesRegex(seqloom.InputError, "record 1 .*not UTF-8"):
            seqloom.read_fastq(odd).to_arrow()
        bytes_of = seqloom.read_fastq(odd, binary=True).to_arrow()
        self.assertEqual(bytes_of.to_pylist(), [
            {"name": b"a", "comment": b"gr\xfcn", "sequence": "AC", "qualities": [40, 41]},
            {"name": b"b", "comment": None, "sequence": "", "qualities": []},
        ])


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """htslib prints on descriptor 2."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


class Streams(Case):
    def large(self, copies: int) -> Path:
        """The reads many times."""
        path = self.folder / f"x{copies}.bam"
        seqloom.prep([aligned()] * copies, output=path, threads=2, level=1, sort="coordinate")
        return path

    def test_same_stream(self) -> None:
        path = self.large(10)
        for words in (
            ["--columns", "name,start,cigar,qualities", "--tags", "NM:i,MD:Z", "--batch-rows=777"],
            ["--columns=reference,sequence,tags", "--exclude-flags=0x400", "--min-mapq=20"],
        ):
            expected = digest_of(*words, "-t1", path)
            for threads in (2, 7):
                self.assertEqual(digest_of(*words, f"-t{threads}", path), expected)
            self.assertEqual(digest_of(*words, "-t2", "-m", "400M", path), expected)
            with open(path, "rb") as pipe:
                cat = subprocess.Popen(["cat"], stdin=pipe, stdout=subprocess.PIPE)
                self.assertEqual(digest_of(*words, "-t3", "-", stdin=cat.stdout), expected)
                cat.wait()
                assert cat.stdout
                cat.stdout.close()
        sam = self.folder / "same.sam"
        seqloom.prep(path, output=sam, output_format="sam")
        self.assertEqual(digest_of("-t1", sam), digest_of("-t3", sam))
        region = ["--regions=one:1000-9000", "--columns=name,flag", aligned()]
        self.assertEqual(digest_of("-t1", *region), digest_of("-t5", *region))
        first = pairs()[0]
        self.assertEqual(digest_of("-t1", first), digest_of("-t4", "--batch-rows=65536", first))

    def test_memory(self) -> None:
        """What is held is below `-m`, though the input is many times as much."""
        copies, most = (60, 100), 300 << 20
        self.assertGreater(copies[0] * copies[1] * aligned().stat().st_size, 2 * most)
        files = [self.large(copies[0])] * copies[1]
        # How much of it a run comes to hold differs with the order in which workers get their
        # turns, so that two runs cannot be compared.
        self.assertLess(peak_bytes_of("columns", "--quiet", "-t2", "-m300M", *files), most)

    def test_memory_of_the_reader(self) -> None:
        if os.environ.get("SEQLOOM_BARE"):
            self.skipTest("a bare environment has no pyarrow")
        if not has("pyarrow"):
            self.absent("pyarrow is not installed")
        path = self.large(60)
        text = (
            "import sys, seqloom\n"
            "from pathlib import Path\n"
            "files = [sys.argv[1]] * int(sys.argv[2])\n"
            "rows = sum(it.num_rows for it in seqloom.read_bam(files, threads=2, memory='300M'))\n"
            "status = Path('/proc/self/status').read_text()\n"
            "print(rows, int(status.split('VmHWM:')[1].split()[0]) * 1024)\n"
        )
        told = [subprocess.run([sys.executable, "-c", text, path, str(copies)], check=True,
                               capture_output=True, text=True, timeout=LIMIT_S).stdout.split()
                for copies in (1, 10)]
        (rows, small), (more, large) = [tuple(map(int, it)) for it in told]
        self.assertEqual(more, 10 * rows)
        self.assertLess(large, small * 1.25 + (32 << 20))

    def test_a_batch_has_no_more_rows_than_are_asked_for(self) -> None:
        refused = subprocess.run([seqloom.program(), "columns", "-m1M", aligned()],
                                 capture_output=True, text=True)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("at least", refused.stderr)
        if has("pyarrow"):
            rows = [it.num_rows for it in seqloom.read_bam(aligned(), batch_rows=1000)]
            self.assertEqual((set(rows[:-1]), sum(rows)), ({1000}, 4000))


class Errors(Case):
    def rows(self, *files: object, **options: Any) -> Any:
        """All batches, whatever reads them; the bytes of the program where nothing does."""
        return list(seqloom.read_bam(*files, **options))  # type: ignore[arg-type]

    def test_what_the_program_says(self) -> None:
        with self.assertRaisesRegex(seqloom.UsageError, "no column 'names'.*template_length"):
            self.rows(aligned(), columns=["names"])
        with self.assertRaisesRegex(seqloom.UsageError, "not a tag with its type"):
            self.rows(aligned(), tags={"NM": "q"})
        with self.assertRaisesRegex(seqloom.UsageError, "requested twice"):
            self.rows(aligned(), columns=["name", "name"])
        with self.assertRaisesRegex(seqloom.UsageError, "no such sequence"):
            self.rows(aligned(), regions="three:1-2")
        with self.assertRaises(seqloom.MissingInputError) as caught:
            self.rows(self.folder / "none.bam")
        self.assertIsInstance(caught.exception, FileNotFoundError)
        self.assertEqual(caught.exception.exit_code, 3)
        self.assertEqual(caught.exception.file, str(self.folder / "none.bam"))

    def test_a_tag_of_another_type(self) -> None:
        with self.assertRaisesRegex(seqloom.InputError, "tag MD is of another type.*: Z") as caught:
            self.rows(aligned(), tags={"MD": "i"})
        error = caught.exception
        self.assertEqual((error.exit_code, error.file), (3, str(aligned())))
        self.assertGreater(error.record or 0, 0)
        self.assertTrue((error.name or "").startswith("r"))

    def test_damage(self) -> None:
        whole = aligned().read_bytes()
        bad = self.folder / "bad.bam"
        for damaged in (whole[: len(whole) // 2], whole[:-28], flipped(whole, len(whole) // 2)):
            bad.write_bytes(damaged)
            with self.assertRaises(seqloom.InputError) as caught:
                self.rows(bad)
            self.assertEqual(caught.exception.file, str(bad))
            self.assertIsNotNone(caught.exception.byte)
        other = self.folder / "other.sam"
        other.write_text("@SQ\tSN:other\tLN:5\n")
        with self.assertRaisesRegex(seqloom.InputError, "other sequences"):
            self.rows([aligned(), other])

    def test_who_leaves_early_leaves_nothing_behind(self) -> None:
        if not (has("pyarrow") or has("polars")):
            self.skipTest("nothing here reads Arrow")
        big = self.folder / "big.bam"
        seqloom.prep([aligned()] * 20, output=big, threads=2, level=1, sort="coordinate")
        for batch in seqloom.read_bam(big, batch_rows=100):
            break
        self.assertEqual(processes_of(big), [])
        batches = seqloom.read_bam(big, batch_rows=100)
        next(batches)
        self.assertEqual(len(processes_of(big)), 1)
        batches.close()
        self.assertEqual(processes_of(big), [])
        with self.assertRaisesRegex(ValueError, "read already"):
            batches.to_arrow()

    def test_what_is_missing_is_named(self) -> None:
        if has("pyarrow") or has("polars"):
            self.skipTest("there is something that reads Arrow")
        with self.assertRaisesRegex(ImportError, "pip install polars"):
            self.rows(aligned())
        with self.assertRaisesRegex(ImportError, "pip install polars"):
            seqloom.scan_bam(aligned())
        self.assertEqual(processes_of(aligned()), [])


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


class Polars(Case):
    def setUp(self) -> None:
        super().setUp()
        if os.environ.get("SEQLOOM_BARE"):
            self.skipTest("a bare environment has no polars")
        if not has("polars"):
            self.absent("polars is not installed")

    def test_a_query_decodes_what_it_needs(self) -> None:
        import polars as pl

        lazy = seqloom.scan_bam(aligned(), tags={"NM": "i", "MD": "Z"}, threads=2)
        whole = seqloom.read_bam(aligned(), tags={"NM": "i", "MD": "Z"}).to_polars()
        self.assertEqual(lazy.collect().rows(), whole.rows())
        counted = lazy.group_by("reference").agg(pl.len(), pl.col("NM").sum()).collect()
        self.assertEqual(sum(counted["len"]), 4000)
        high = lazy.filter(pl.col("mapq") >= 30).select("name", "start").collect()
        self.assertEqual(high.rows(), whole.filter(pl.col("mapq") >= 30)["name", "start"].rows())
        self.assertEqual(lazy.head(7).collect().rows(), whole.head(7).rows())
        self.assertEqual(lazy.select(pl.len()).collect().item(), 4000)
        self.assertEqual(lazy.select("MD").collect().columns, ["MD"])
        # Without pyarrow, batches are frames of polars.
        text = (
            "import sys; sys.modules['pyarrow'] = None\n"
            "import seqloom\n"
            "print(sum(it.height for it in seqloom.read_bam(sys.argv[1], batch_rows=999)))\n"
        )
        done = subprocess.run([sys.executable, "-c", text, aligned()], check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout, "4000\n")

    def test_arrow_streams_are_taken(self) -> None:
        import polars as pl

        if not has("pyarrow"):
            self.absent("pyarrow is not installed")
        import pyarrow as pa

        columns = ["name", "reference", "start"]
        taken = pl.DataFrame(seqloom.read_bam(aligned(), columns=columns))
        table = pa.table(seqloom.read_bam(aligned(), columns=columns))
        self.assertEqual((taken.height, table.num_rows), (4000, 4000))
        with open(aligned(), "rb") as file:
            rows = sum(it.num_rows for it in seqloom.read_bam(file, columns=columns))
        self.assertEqual(rows, 4000)

    def test_a_database_takes_batches(self) -> None:
        if not has("duckdb"):
            self.absent("duckdb is not installed")
        import duckdb

        batches = seqloom.read_bam(aligned(), columns=["reference", "mapq"], threads=2)
        self.assertIsNotNone(batches)  # duckdb finds it by its name
        rows = duckdb.sql("select reference, count(*), max(mapq) from batches group by 1").fetchall()
        table = seqloom.read_bam(aligned(), columns=["reference", "mapq"]).to_polars()
        import polars as pl

        grouped = table.with_columns(pl.col("reference").cast(pl.String)).group_by("reference")
        expected = grouped.agg(pl.len(), pl.col("mapq").max()).rows()
        self.assertEqual(sorted(rows, key=str), sorted(expected, key=str))

    def test_frames_of_pandas(self) -> None:
        if not has("pandas"):
            self.absent("pandas is not installed")
        columns = ["name", "start", "mapq"]
        frame = seqloom.read_bam(aligned(), columns=columns).to_pandas()
        whole = seqloom.read_bam(aligned(), columns=columns).to_polars()
        self.assertEqual(list(frame["name"]), whole["name"].to_list())
        placed = frame.dropna(subset=["start"])
        self.assertEqual([int(it) for it in placed["start"]],
                         whole["start"].drop_nulls().to_list())

    def test_reads_and_signal(self) -> None:
        lazy = seqloom.scan_fastq(pairs())
        self.assertEqual(lazy.select("name").collect().height, 4000)
        root = os.environ.get("SEQLOOM_DATA")
        if not root:
            self.absent("SEQLOOM_DATA is not set")
        for suffix in ("pod5", "blow5"):
            path = Path(root or "", "nanopore/derived_official_tools/multi_fast5_zip." + suffix)
            bare = seqloom.scan_signal(path, samples=False).collect()
            self.assertNotIn("samples", bare.columns)
            whole = seqloom.scan_signal(path).collect()
            self.assertEqual(whole["samples"].list.len().to_list(), whole["sample_count"].to_list())
            self.assertEqual(whole["read_id"].to_list(), bare["read_id"].to_list())
            with seqloom.SignalFile(path) as signal:
                for row in whole.iter_rows(named=True):
                    read = signal[row["read_id"]]
                    self.assertEqual(row["samples"], read.samples.tolist())
                    fields = {name: row[name] for name in signal.fields}
                    self.assertEqual(fields, read.auxiliary)


if __name__ == "__main__":
    unittest.main()
