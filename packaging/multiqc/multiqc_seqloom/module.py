"""The section: a table, and plots of what `--html` has counted."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound
from multiqc.plots import bargraph, linegraph, table

from . import report as reports
from .hooks import SUFFIX

log = logging.getLogger(__name__)

# Columns: title, description, scale, what MultiQC is told besides. Those of the first lines are in
# the general table, too.
GENERAL = ("mapped_pct", "duplicates_pct", "depth", "insert_bp")
COLUMNS: dict[str, dict[str, Any]] = {
    "reads": {"title": "Reads", "description": "Reads of the input", "format": "{:,.0f}", "scale": "Blues"},
    "mapped_pct": {"title": "% Mapped", "description": "Mapped reads", "max": 100, "min": 0,
                   "suffix": "%", "scale": "RdYlGn"},
    "duplicates_pct": {"title": "% Dups", "description": "Reads marked as duplicates", "max": 100,
                       "min": 0, "suffix": "%", "scale": "RdYlGn-rev"},
    "depth": {"title": "Depth", "description": "Mean depth, overlaps of mates counted once",
              "suffix": "X", "format": "{:,.1f}", "scale": "BuPu"},
    "insert_bp": {"title": "Insert size", "description": "Median of the most frequent orientation",
                  "suffix": " bp", "format": "{:,.0f}", "scale": "GnBu"},
    "q30_pct": {"title": "% Q30", "description": "Bases of quality 30 and more", "max": 100, "min": 0,
                "suffix": "%", "scale": "Greens"},
    "records": {"title": "Records", "description": "Records written", "format": "{:,.0f}",
                "scale": "Blues", "hidden": True},
    "wall_s": {"title": "Wall", "description": "Wall time of the run", "suffix": " s", "scale": "Oranges"},
    "cores_busy": {"title": "Cores busy", "description": "Processor time by wall time", "scale": "Purples"},
    "peak_gb": {"title": "Memory", "description": "Largest resident set", "suffix": " GB",
                "scale": "Oranges"},
}  # fmt: skip

FATES = {
    "unique": {"name": "Mapped, no duplicate"},
    "duplicate": {"name": "Duplicate"},
    "unmapped": {"name": "Unmapped"},
}

# Curves: anchor, title, x, y, what of a report they show.
Curve = Callable[[dict[str, Any]], reports.Series]
CURVES: list[tuple[str, str, str, str, Curve]] = [
    ("insert_size", "Insert size", "Insert size (bp)", "Pairs", reports.insert_sizes),
    ("depth", "Depth", "Depth (X)", "% of positions at least as deep",
     lambda it: reports.series(it, "depth", "depth", "% at least as deep")),
    ("saturation", "Saturation", "Pairs", "Unique pairs", reports.saturation),
    ("gc_bias", "GC bias", "% GC of 100 bp", "Normalized coverage",
     lambda it: reports.series(it, "gc_bias", "% GC", "normalized coverage")),
    ("quality_1", "Quality of read 1", "Cycle", "Mean quality",
     lambda it: reports.series(it, "quality_by_cycle", "cycle", "mean quality", "read=1")),
    ("quality_2", "Quality of read 2", "Cycle", "Mean quality",
     lambda it: reports.series(it, "quality_by_cycle", "cycle", "mean quality", "read=2")),
]  # fmt: skip


class MultiqcModule(BaseMultiqcModule):  # type: ignore[misc]
    """Reports of `seqloom align` and `seqloom prep`, files named `SAMPLE.seqloom.json`."""

    def __init__(self) -> None:
        super().__init__(
            name="seqloom",
            anchor="seqloom",
            info="aligns reads and prepares alignments: sorted, duplicate-marked, indexed.",
        )
        self.reports: dict[str, dict[str, Any]] = self.ignore_samples(self.read())
        if not self.reports:
            raise ModuleNoSamplesFound
        log.info(f"Found {len(self.reports)} reports")
        self.add_table()
        self.add_fates()
        for anchor, title, x, y, curve in CURVES:
            self.add_curve(anchor, title, x, y, curve)
        self.add_phases()

    def read(self) -> dict[str, dict[str, Any]]:
        """Reports by sample."""
        found = {}
        for file in self.find_log_files("seqloom"):
            sample = self.clean_s_name(file["fn"].removesuffix(SUFFIX), file)
            try:
                report = reports.check(json.loads(file["f"]))
            except (json.JSONDecodeError, reports.Unreadable) as error:
                log.warning(f"{file['fn']} is left out: {error}")
                continue
            if sample in found:
                log.debug(f"Duplicate sample name found, overwriting: {sample}")
            self.add_data_source(file, sample)
            self.add_software_version(report["program"].removeprefix("seqloom "), sample)
            found[sample] = report
        return found

    def of_all(self, what: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Something of every report that has it."""
        shown = {sample: what(report) for sample, report in self.reports.items()}
        return {sample: it for sample, it in shown.items() if it}

    def add_table(self) -> None:
        data = self.of_all(reports.summary)
        self.general_stats_addcols(data, {key: COLUMNS[key] for key in GENERAL})
        config = {"id": "seqloom_table", "title": "seqloom: Summary"}
        self.add_section(
            name="Summary", anchor="seqloom-summary", plot=table.plot(data, COLUMNS, config)
        )
        self.write_data_file(data, "multiqc_seqloom")

    def add_fates(self) -> None:
        if data := self.of_all(reports.fates):
            config = {"id": "seqloom_reads_plot", "title": "seqloom: Reads", "ylab": "Reads"}
            plot = bargraph.plot(data, FATES, config)
            self.add_section(name="Reads", anchor="seqloom-reads", plot=plot)

    def add_curve(self, anchor: str, title: str, x: str, y: str, curve: Curve) -> None:
        if data := self.of_all(curve):
            config = {
                "id": f"seqloom_{anchor}_plot", "title": f"seqloom: {title}", "xlab": x, "ylab": y,
            }  # fmt: skip
            plot = linegraph.plot(data, config)
            self.add_section(name=title, anchor=f"seqloom-{anchor}", plot=plot)

    def add_phases(self) -> None:
        if data := self.of_all(reports.phases):
            config = {"id": "seqloom_phases_plot", "title": "seqloom: Phases", "ylab": "Wall seconds"}
            plot = bargraph.plot(data, None, config)
            self.add_section(name="Time", anchor="seqloom-phases", plot=plot)
