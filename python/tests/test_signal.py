"""SignalFile: samples are those of the program, of pod5 and of pyslow5; bad reads cost nothing."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import resource
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any

import seqloom
from seqloom import _native
from support import Case

TOOLS = "nanopore/derived_official_tools/multi_fast5_zip."
FAST5 = "nanopore/ont_fast5_api_test"


def values_at(samples: _native.Samples) -> list[int]:
    """Samples by their address, as numpy takes them."""
    interface = samples.__array_interface__
    (length,) = interface["shape"]
    assert interface["typestr"] == "<i2" and interface["data"][1]
    return list((ctypes.c_int16 * length).from_address(interface["data"][0]))


class Signal(Case):
    def data(self, name: str) -> Path:
        root = os.environ.get("SEQLOOM_DATA")
        if not root:
            self.absent("SEQLOOM_DATA is not set")
        return Path(root or "", name)

    def with_numpy(self, *modules: str) -> None:
        for module in ("numpy", *modules):
            if importlib.util.find_spec(module) is None:
                if os.environ.get("SEQLOOM_BARE"):
                    self.skipTest(f"a bare environment has no {module}")
                self.absent(f"{module} is not installed")

    def bad(self) -> tuple[Path, list[str]]:
        """A file with one read whose record is damaged: the second; and its ids."""
        whole = self.data(TOOLS + "blow5")
        with seqloom.SignalFile(whole) as signal:
            ids = signal.read_ids
        path = self.folder / "bad.blow5"
        line = [seqloom.program(), "signal", "index", "--quiet", copied(whole, path)]
        found = subprocess.run(line, capture_output=True, text=True)
        self.assertEqual(found.returncode, 0, found.stderr)
        data = bytearray(path.read_bytes())
        start = place_of(Path(f"{path}.idx"), ids[1])
        for at in range(start + 400, start + 440):
            data[at] ^= 0xFF
        path.write_bytes(data)
        os.utime(f"{path}.idx")
        return path, ids


def copied(source: Path, target: Path) -> Path:
    target.write_bytes(source.read_bytes())
    return target


def place_of(index: Path, read_id: str) -> int:
    """Offset of a record, as the index of slow5lib has it behind the id."""
    data = index.read_bytes()
    at = data.index(read_id.encode()) + len(read_id)
    return int.from_bytes(data[at : at + 8], "little")


class Bare(Signal):
    """What needs nothing but the package."""

    def test_samples_are_those_of_the_program(self) -> None:
        for suffix in ("blow5", "pod5"):
            path = self.data(TOOLS + suffix)
            text = subprocess.run([seqloom.program(), "signal", "view", "--quiet", path, "--to",
                                   "slow5"], check=True, capture_output=True, text=True).stdout
            rows = [it.split("\t") for it in text.splitlines() if it[0] not in "#@"]
            store = _native.SignalStore(str(path))
            self.assertEqual((store.format, len(store)), (suffix, len(rows)))
            self.assertEqual(store.read_ids(), [row[0] for row in rows])
            for threads in (1, 3):
                found = store.get(store.read_ids(), threads)
                self.assertEqual(len(found), len(rows))
                for read, row in zip(found, rows):
                    assert isinstance(read, _native.Read)
                    self.assertEqual(read.read_id, row[0])
                    self.assertEqual(values_at(read.samples), [int(it) for it in row[7].split(",")])
                    self.assertEqual(len(read.samples), int(row[6]))

    def test_what_is_wrong_with_a_file(self) -> None:
        with self.assertRaises(seqloom.InputError) as missing:
            seqloom.SignalFile(self.folder / "none.pod5")
        self.assertIsInstance(missing.exception, FileNotFoundError)
        self.assertEqual(missing.exception.file, str(self.folder / "none.pod5"))
        other = self.folder / "other.pod5"
        other.write_bytes(b"not signal at all")
        with self.assertRaisesRegex(seqloom.InputError, "not a file of raw signal"):
            seqloom.SignalFile(other)
        with self.assertRaises(ValueError):
            seqloom.SignalFile(other, errors="ignore")  # type: ignore[arg-type]

    def test_ids_that_are_not_there(self) -> None:
        with seqloom.SignalFile(self.data(TOOLS + "pod5")) as signal:
            self.assertNotIn("none", signal)
            self.assertIn(signal.read_ids[0], signal)
            with self.assertRaises(KeyError):
                signal["none"]
            with self.assertRaises(KeyError):
                signal.batch([signal.read_ids[0], "none"])
        with self.assertRaisesRegex(seqloom.RunError, "closed"):
            len(seqloom.SignalFile.read_groups.fget(signal))  # type: ignore[attr-defined]

    def test_the_extension_brings_no_allocator_of_its_own(self) -> None:
        names = subprocess.run(["nm", "-D", "--defined-only", _native.__file__],
                               check=True, capture_output=True, text=True).stdout
        defined = [line.split()[-1] for line in names.splitlines()]
        self.assertEqual([it for it in defined if it in ("malloc", "free", "calloc")], [])
        self.assertIn("PyInit__native", defined)


class AgainstPeers(Signal):
    def test_pod5(self) -> None:
        self.with_numpy("pod5")
        import numpy as np
        import pod5

        path = self.data(TOOLS + "pod5")
        with pod5.Reader(path) as reader, seqloom.SignalFile(path) as signal:
            expected = {str(it.read_id): it for it in reader.reads()}
            self.assertEqual(list(expected), signal.read_ids)
            for read in signal:
                other = expected[read.read_id]
                self.assertEqual(read.samples.dtype, np.int16)
                self.assertTrue(np.array_equal(read.samples, other.signal))
                self.assertTrue(np.allclose(read.picoampere(), other.signal_pa, rtol=1e-5))
                self.assertEqual(int(read.channel), other.pore.channel)
                self.assertEqual(read.read_number, other.read_number)
                self.assertEqual(read.sampling_rate, other.run_info.sample_rate)

    def test_pyslow5(self) -> None:
        self.with_numpy("pyslow5")
        import numpy as np
        import pyslow5

        path = copied(self.data(TOOLS + "blow5"), self.folder / "a.blow5")
        peer = pyslow5.Open(str(path), "r")
        with seqloom.SignalFile(path) as signal:
            ids, count = peer.get_read_ids()
            self.assertEqual((sorted(ids), count), (sorted(signal.read_ids), len(signal)))
            for read in signal.batch(ids, threads=2):
                other = peer.get_read(read.read_id, aux="all")
                self.assertTrue(np.array_equal(read.samples, other["signal"]))
                in_pa = peer.get_read(read.read_id, pA=True)["signal"]
                self.assertTrue(np.allclose(read.picoampere(), in_pa, atol=0.01))
                for name in ("digitisation", "offset", "range", "sampling_rate"):
                    self.assertEqual(getattr(read, name), other[name])
                self.assertEqual(len(read), other["len_raw_signal"])
                channel = read.auxiliary["channel_number"]
                self.assertEqual(str(channel), str(other["channel_number"]))
                self.assertEqual(read.start_time, other["start_time"])

    def test_fast5_is_as_the_program_converts_it(self) -> None:
        self.with_numpy()
        found = sorted(self.data(FAST5).rglob("*.fast5"))
        checked = 0
        for path in found[:20]:
            try:
                with seqloom.SignalFile(path) as signal:
                    reads = {it.read_id: it.samples for it in signal}
            except seqloom.InputError:
                continue
            made = self.folder / "made.blow5"
            done = subprocess.run([seqloom.program(), "signal", "convert", "--quiet", path, "-o",
                                   made], capture_output=True)
            if done.returncode == 0:
                with seqloom.SignalFile(made) as signal:
                    for read in signal:
                        self.assertEqual(read.samples.tolist(), reads[read.read_id].tolist())
                        checked += 1
                made.unlink()
        self.assertGreater(checked, 3)

    def test_arrays_are_the_memory_of_the_extension(self) -> None:
        self.with_numpy()
        with seqloom.SignalFile(self.data(TOOLS + "pod5")) as signal:
            store = _native.SignalStore(signal.path)
            (read,) = store.get([signal.read_ids[0]], 1)
            assert isinstance(read, _native.Read)
            import numpy as np

            array = np.asarray(read.samples)
            address = read.samples.__array_interface__["data"][0]
            self.assertEqual(array.__array_interface__["data"][0], address)
            self.assertFalse(array.flags.writeable)
            expected = array.tolist()
            del read, store
            self.assertEqual(array.tolist(), expected)


class BadReads(Signal):
    def test_a_bad_read_raises_for_itself_alone(self) -> None:
        self.with_numpy()
        path, ids = self.bad()
        with seqloom.SignalFile(path) as signal:
            self.assertEqual(signal.read_ids, ids)
            self.assertEqual(signal[ids[0]].read_id, ids[0])
            with self.assertRaises(seqloom.InputError) as caught:
                signal[ids[1]]
            error = caught.exception
            self.assertEqual((error.file, error.name, error.exit_code), (str(path), ids[1], 3))
            self.assertEqual(error.byte, place_of(Path(f"{path}.idx"), ids[1]))
            self.assertEqual(signal[ids[2]].read_id, ids[2])
            with self.assertRaises(seqloom.InputError):
                signal.batch(ids, threads=2)
        with seqloom.SignalFile(path, errors="skip") as signal:
            good = [it.read_id for it in signal.batch(ids, threads=2)]
            self.assertEqual(good, [ids[0], *ids[2:]])
            self.assertEqual([it.name for it in signal.faults], [ids[1]])
            self.assertEqual([it.read_id for it in signal], good)
            self.assertEqual(len(signal.faults), 2)

    def test_a_thousand_bad_reads_leak_nothing(self) -> None:
        path, ids = self.bad()
        signal = seqloom.SignalFile(path)

        def fail(times: int) -> None:
            for _ in range(times):
                try:
                    signal[ids[1]]
                except seqloom.InputError:
                    continue
                self.fail("the read is bad")

        fail(200)
        before = resident()
        fail(1000)
        self.assertLess(resident() - before, 2 << 20)


def resident() -> int:
    """Memory of this process in bytes."""
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1]) * resource.getpagesize()


class Threads(Signal):
    def test_another_thread_runs_while_one_decodes(self) -> None:
        """Were the interpreter held by the call, nobody would get it before the call is over: it is
        not taken away from a thread in this test."""
        store = _native.SignalStore(str(self.data(TOOLS + "blow5")))
        ids = store.read_ids() * 20
        runs, done, turns = threading.Event(), threading.Event(), 0

        def decode() -> None:
            runs.set()
            store.get(ids, 1)
            done.set()

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e6)
        try:
            worker = threading.Thread(target=decode)
            worker.start()
            while not done.is_set():
                turns += runs.is_set()
                time.sleep(0)
            worker.join()
        finally:
            sys.setswitchinterval(interval)
        self.assertGreater(turns, 0)


if __name__ == "__main__":
    unittest.main()
