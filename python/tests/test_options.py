"""Keywords are the options of the program, all of them."""

from __future__ import annotations

import inspect
import re
import subprocess
from pathlib import Path

import seqloom
from seqloom._commands import ALIGN
from support import Case, aligned, pairs, reference


def long_options(command: str) -> set[str]:
    """Options that the help of a command shows."""
    words = [seqloom.program(), command, "--help"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^ +(?:-\S, )?--([a-z0-9-]+)", text, re.MULTILINE)) - {"help"}


class Keywords(Case):
    def test_every_option_of_the_help_is_a_keyword(self) -> None:
        for name in ("align", "prep", "index"):
            function = getattr(seqloom, name)
            keywords = {
                it.name
                for it in inspect.signature(function).parameters.values()
                if it.kind is it.KEYWORD_ONLY
            }
            options = {it.replace("-", "_") for it in long_options(name)}
            self.assertGreater(len(options), 5, name)
            ours = {"progress", "stdin"}
            self.assertEqual(options - ours, keywords - ours, name)
            for it in options:
                self.assertRegex(function.__doc__ or "", rf"\n {{4,}}{it}: \S", name)

    def test_all_letters_of_bwa_have_a_name(self) -> None:
        text = subprocess.run(
            [seqloom.program(), "align", "--help"], check=True, capture_output=True, text=True
        ).stdout
        letters = set(re.findall(r"^ +-(\S)(?: |,|$)", text, re.MULTILINE))
        self.assertTrue({"K", "k", "T", "R", "p", "t"} <= letters, letters)
        self.assertEqual(letters, {it.short for it in ALIGN.options.values() if it.short})

    def test_a_wrong_keyword_is_a_type_error_with_a_suggestion(self) -> None:
        for wrong, meant in [("thread", "threads"), ("K", "cohort_bases"), ("R", "read_group"),
                             ("mark_split", "mark_split_secondary")]:
            with self.assertRaisesRegex(TypeError, f"'{wrong}'; did you mean '{meant}'"):
                seqloom.align("r", "x", output="o", **{wrong: 1})  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "'zzzzzz'$"):
            seqloom.index("r", zzzzzz=1)  # type: ignore[call-arg]
        with self.assertRaisesRegex(TypeError, "output"):
            seqloom.prep("x.bam")  # type: ignore[call-arg]

    def test_values_become_words(self) -> None:
        line = ALIGN.line(
            dict.fromkeys([*ALIGN.positional, *ALIGN.options])
            | {"reference": Path("r.fa"), "first": "-a.fq", "output": "o.bam", "threads": 2,
               "gap_open": (6, 5), "interleaved": True, "no_pg": False, "tmp_dir": ["a", "b"],
               "read_group": {"SM": "s", "ID": "x"}}
        )
        words = {"--output=o.bam", "--threads=2", "--gap-open=6,5", "--interleaved", "--tmp-dir=a",
                 "--tmp-dir=b", r"--read-group=@RG\tID:x\tSM:s"}
        self.assertEqual(line[0], "align")
        self.assertEqual(set(line[1:-3]), words)
        self.assertEqual(line[-3:], ["--", "r.fa", "-a.fq"])
        for bad in ({"SM": "s"}, {"ID": "a\tb"}):
            with self.assertRaises(ValueError):
                seqloom.align("r", "x", output="o", read_group=bad)
        with self.assertRaisesRegex(TypeError, "neither text"):
            seqloom.align("r", "x", output="o", threads=object())  # type: ignore[arg-type]

    def test_options_are_obeyed(self) -> None:
        out = self.folder / "x.sam"
        run = seqloom.prep(aligned(), aligned(), output=out, keep_tags=["NM", "MD"], no_pg=True,
                           exclude_flags=0x10, sort="coordinate", threads=1)
        records = [it.split("\t") for it in out.read_text().splitlines() if it[0] != "@"]
        self.assertEqual(run.counts["records_written"], len(records))
        self.assertGreater(len(records), 100)
        self.assertTrue(all(int(it[1]) & 0x10 == 0 for it in records))
        tags = {tag[:2] for it in records for tag in it[11:]}
        self.assertEqual(tags, {"NM", "MD"})
        self.assertEqual(run.report["threads"], 1)
        first, _ = pairs()
        named = seqloom.align(reference(), first, output=self.folder / "y.bam", min_seed_length=25,
                              cohort_bases=50_000, insert_size="300,50", preset="intractg")
        self.assertIn("--min-seed-length=25", named.command)
        self.assertEqual(named.report["cohort_bases"], 50_000)
