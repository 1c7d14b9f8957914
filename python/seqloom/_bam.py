"""A BAM file read by regions: what `seqloom columns` writes of them."""

from __future__ import annotations

import functools
from typing import Any

from ._columns import Batches, Running, needed, read_bam, schema_of
from ._options import Path


class BamFile:
    """A BAM file that is read by regions.

    They are found by the index beside it (BAI or CSI); without one the whole file is read each
    time. The program runs while batches are read, and at no other time: there is nothing to close.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @functools.cached_property
    def header(self) -> str:
        """The header as SAM has it. pyarrow reads it."""
        pa = needed("pyarrow")
        with Running("alignments", self.path, {"columns": ["flag"]}) as running:
            schema = schema_of(pa, running.head)
        text: str = schema.metadata[b"sam_header"].decode()
        return text

    @functools.cached_property
    def references(self) -> dict[str, int]:
        """Names of the sequences with their lengths in bases, in order. pyarrow reads them."""
        lines = (line.split("\t") for line in self.header.splitlines())
        rows = (dict(it.split(":", 1) for it in line[1:]) for line in lines if line[0] == "@SQ")
        return {row["SN"]: int(row["LN"]) for row in rows}

    def fetch(
        self,
        reference: str,
        start: int | None = None,
        end: int | None = None,
        **options: Any,
    ) -> Batches:
        """Records that reach into a region, as record batches in the order of the file.

        Arguments:
            reference: name of the sequence.
            start: its first base in the region, 0-based as in the columns [default: 0].
            end: behind the region's last base [default: the end of the sequence].
            options: keywords of `read_bam`, such as columns and tags.

        Raises:
            ValueError: there is no base in the region.
            SeqloomError: when the batches are read, by what went wrong.
        """
        if "regions" in options:
            raise TypeError("fetch() has one region; read_bam() takes several")
        first = start or 0
        if first < 0 or (end is not None and end <= first):
            raise ValueError(f"no base of a sequence lies from {first} up to {end}")
        region = f"{reference}:{first + 1}" + ("" if end is None else f"-{end}")
        return read_bam(self.path, regions=[region], **options)
