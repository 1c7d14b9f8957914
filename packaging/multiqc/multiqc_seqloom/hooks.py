"""What MultiQC has to be told before it looks for files."""

from __future__ import annotations

from multiqc import config

SUFFIX = ".seqloom.json"


def config_loaded() -> None:
    """Which files are ours. A pattern that the user has set stays."""
    config.sp.setdefault("seqloom", {"fn": f"*{SUFFIX}"})
