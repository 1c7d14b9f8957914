"""MultiQC's section for the reports of seqloom (`--json SAMPLE.seqloom.json`)."""
