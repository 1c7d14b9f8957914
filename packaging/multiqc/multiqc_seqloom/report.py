"""A report of a run, as `--json` writes it: what of it is shown, without anything of MultiQC."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

# The layouts of reports that this code knows; a later number may mean other things by the same names.
# In 2 core-hours are other than in 1, which are not shown.
SCHEMAS = (1, 2)

Series = dict[float, float]


class Unreadable(Exception):
    """Why a file is not shown."""


def rows(report: dict[str, Any], table: str) -> list[dict[str, Any]]:
    """The rows of a table of `qc`, by the names of its columns; none where the run had no `--html`."""
    found = report.get("qc", {}).get(table)
    return [dict(zip(found["columns"], row)) for row in found["rows"]] if found else []


def check(report: Any) -> dict[str, Any]:
    """The report itself, if it is one of `align` or `prep` that can be understood here."""
    if not isinstance(report, dict) or not str(report.get("program", "")).startswith("seqloom "):
        raise Unreadable("it is no report of seqloom")
    if report.get("schema") not in SCHEMAS:
        known = " and ".join(map(str, SCHEMAS))
        raise Unreadable(f"it has schema {report.get('schema')}, this plugin knows {known}")
    if "records_written" not in report.get("counts", {}):
        raise Unreadable("it is of another command than align and prep")
    return report


def summary(report: dict[str, Any]) -> dict[str, float]:
    """The numbers of the table; those that the run did not count are missing."""
    counts, usage = report["counts"], report["usage"]
    found = {
        "records": counts["records_written"],
        "wall_s": usage["wall_seconds"],
        "cores_busy": usage["cores_busy"],
        "peak_gb": usage["peak_rss_bytes"] / 1e9,
    }
    records = {row["what"]: row["count"] for row in rows(report, "records")}
    reads = records.get("reads (primary records)")
    if reads is None and report["command"][1:2] == ["align"]:
        # Of `prep` the counts have records only, secondary ones among them.
        reads = counts["reads"]
        records = {"mapped reads": counts["mapped_primaries"]}
    if reads:
        found["reads"] = reads
        found["mapped_pct"] = 100 * records["mapped reads"] / reads
        if "duplicate reads" in records:
            found["duplicates_pct"] = 100 * records["duplicate reads"] / reads
    for row in rows(report, "depth_summary"):
        if row["what"] == "mean depth":
            found["depth"] = row["value"]
    pairs = [row for row in rows(report, "insert_size_summary") if row["median, bp"] is not None]
    if pairs:
        found["insert_bp"] = max(pairs, key=lambda row: row["pairs"])["median, bp"]
    qualities = rows(report, "quality_distribution")
    if bases := sum(row["bases"] for row in qualities):
        good = sum(row["bases"] for row in qualities if int(row["quality"]) >= 30)
        found["q30_pct"] = 100 * good / bases
    return found


def fates(report: dict[str, Any]) -> dict[str, int]:
    """Where the reads went."""
    records = {row["what"]: row["count"] for row in rows(report, "records")}
    if not records:
        return {}
    reads, mapped = records["reads (primary records)"], records["mapped reads"]
    duplicates = records["duplicate reads"]
    return {"unique": mapped - duplicates, "duplicate": duplicates, "unmapped": reads - mapped}


def series(report: dict[str, Any], table: str, x: str, y: str, where: str = "") -> Series:
    """A curve of a table; `where` is `COLUMN=VALUE` of the rows that belong to it."""
    column, _, value = where.partition("=")
    kept = (row for row in rows(report, table) if not where or str(row[column]) == value)
    return {float(row[x]): float(row[y]) for row in kept if row[y] is not None}


def insert_sizes(report: dict[str, Any]) -> Series:
    """Pairs of the most frequent orientation, by insert size."""
    sizes: dict[str, Series] = defaultdict(dict)
    for row in rows(report, "insert_size"):
        sizes[row["orientation"]][float(row["from bp"])] = float(row["pairs"])
    return max(sizes.values(), key=lambda it: sum(it.values()), default={})


def saturation(report: dict[str, Any]) -> Series:
    """Unique pairs by pairs, counted at every twentieth of the templates."""
    return series(report, "saturation", "pairs", "unique pairs")


def phases(report: dict[str, Any]) -> dict[str, float]:
    """Wall seconds of each phase."""
    return dict(report["usage"].get("phase_seconds", []))
