"""One run of `align` in many processes, on one machine or many: docs/many-machines.md.

    seqloom.shard.plan("ref.fa", "R1.fq.gz", "R2.fq.gz", run="RUN", shards=8)
    for task in seqloom.shard.tasks("RUN"): ...     # each is done by a scheduler of your own
    seqloom.shard.gather(run="RUN", output="out.bam")
"""

from __future__ import annotations

import json
import os
from typing import Any

from ._commands import shard_align as align
from ._commands import shard_count as count
from ._commands import shard_finish as finish
from ._commands import shard_gather as gather
from ._commands import shard_mark as mark
from ._commands import shard_place as place
from ._commands import shard_plan as plan
from ._commands import shard_table as table
from ._options import Path
from ._run import Child

__all__ = ["align", "count", "finish", "gather", "mark", "place", "plan", "table", "tasks"]


def tasks(run: Path) -> list[dict[str, Any]]:
    """All tasks of a run but `gather`: what each needs, and what it is known by when it is done.

    Raises:
        SeqloomError: by what went wrong.
    """
    words = ["shard", "tasks", f"--run={os.fspath(run)}"]
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as said:
        try:
            child = Child(words, None, writer)
        finally:
            os.close(writer)
        with child:
            text = said.read()
            child.finish()
    return [json.loads(line) for line in text.splitlines()]
