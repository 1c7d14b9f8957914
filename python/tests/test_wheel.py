"""What was installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import seqloom
from support import Case

MOST_BYTES = 40_000_000


class Wheel(Case):
    def test_the_program_is_the_one_of_this_version(self) -> None:
        expected = f"seqloom {seqloom.__version__}\n"
        for words in (
            [seqloom.program(), "--version"],
            [sys.executable, "-m", "seqloom", "--version"],
        ):
            shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            self.assertEqual(shown, expected)
        self.assertEqual(metadata.version("seqloom"), seqloom.__version__)

    def test_the_command_is_the_program(self) -> None:
        command = Path(sys.executable).parent / "seqloom"
        if not os.environ.get("SEQLOOM_BARE"):
            self.skipTest("installed beside the environment")
        done = subprocess.run([command, "align"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("seqloom align", done.stderr)

    def test_types_and_licences_go_with_it(self) -> None:
        names = {str(it) for it in metadata.files("seqloom") or []}
        self.assertIn("seqloom/py.typed", names)
        self.assertTrue(any(it.endswith("LICENSE-MIT") for it in names), names)
        self.assertFalse([it for it in metadata.requires("seqloom") or [] if "extra" not in it])

    def test_the_driver_for_ray_is_that_of_the_repository(self) -> None:
        ours = Path(seqloom.__file__).with_name("ray.py").read_bytes()
        source = Path(__file__).parents[2] / "workflow" / "seqloom_ray.py"
        self.assertEqual(ours, source.read_bytes())
        extras = metadata.metadata("seqloom").get_all("Provides-Extra") or []
        self.assertLessEqual({"ray", "arrow", "polars", "signal"}, set(extras))

    def test_the_wheel_is_small_and_of_one_platform(self) -> None:
        wheel = Path(os.environ["SEQLOOM_WHEEL"])
        self.assertLess(wheel.stat().st_size, MOST_BYTES)
        self.assertRegex(wheel.name, r"^seqloom-[0-9.]+-cp310-abi3-manylinux_2_[0-9]+_\w+\.whl$")
        with zipfile.ZipFile(wheel) as archive:
            program = archive.getinfo("seqloom/_bin/seqloom")
            self.assertTrue((program.external_attr >> 16) & 0o100, "not executable")
            self.assertIn("seqloom/_native.abi3.so", archive.namelist())
            tag = next(it for it in archive.namelist() if it.endswith(".dist-info/WHEEL"))
            self.assertIn(b"Root-Is-Purelib: false", archive.read(tag))
