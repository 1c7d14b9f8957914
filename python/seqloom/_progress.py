"""How far a run is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What a run says of itself, at most five times a second in each phase."""

    #: Name of the phase, such as "ingest" or "finish".
    phase: str
    #: Bytes of input that are read.
    done_bytes: int
    #: Bytes of input, or None where that cannot be told (a pipe).
    total_bytes: int | None
    #: Records that the phase has seen.
    records: int
    #: Time since the start.
    seconds: float
    #: Cores kept busy since the line before.
    cores_busy: float
    #: Share of all work that is done, 0 to 1, or None where that cannot be told; of the phase, in
    #: `index`.
    share: float | None
