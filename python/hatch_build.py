"""What the build of the wheel cannot know by itself: for which platform the program was built."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface[Any]):
    """Tags the wheel as `SEQLOOM_WHEEL_TAG` says, which wheel.sh sets."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["SEQLOOM_WHEEL_TAG"]
