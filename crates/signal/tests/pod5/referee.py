"""Makes POD5 files with the pod5 package, and says what it, or blue-crab through pyslow5, reads.

referee.py make FOLDER          files of every kind
referee.py dump FILE OUT        one line per read to OUT, all samples to OUT.i16
referee.py slow5 FILE OUT       the same of a SLOW5 file, its header before the reads
referee.py seconds FILE         CPU seconds that decoding all signal takes
"""

import datetime
import struct
import sys
import time
import uuid
import warnings

import numpy as np

warnings.simplefilter("ignore")
FIRST_LINE = "read"


def bits(value):
    """A float by its bits; every NaN is one."""
    value = float("nan") if value is None else float(value)
    return "nan" if value != value else struct.pack(">d", value).hex()


def dump(path, out):
    import pod5

    with pod5.Reader(path) as reader, open(out, "w") as lines, open(out + ".i16", "wb") as raw:
        for r in reader.reads():
            run = r.run_info
            signal = r.signal
            raw.write(signal.astype("<i2").tobytes())
            tracked, predicted = r.tracked_scaling, r.predicted_scaling
            fields = [
                FIRST_LINE, r.read_id, run.acquisition_id, bits(r.calibration_digitisation),
                bits(r.calibration.offset), bits(r.calibration_range), bits(run.sample_rate),
                len(signal), r.pore.channel, bits(r.median_before), r.read_number, r.pore.well,
                r.start_sample, r.end_reason.name, bits(tracked.shift), bits(tracked.scale),
                bits(predicted.shift), bits(predicted.scale), r.num_reads_since_mux_change,
                bits(r.time_since_mux_change), r.num_minknow_events, bits(r.open_pore_level),
                bits(r.expected_open_pore_level), bits(r.selected_read_level),
            ]
            lines.write("\t".join(map(str, fields)) + "\n")


def slow5(path, out):
    import pyslow5

    s5 = pyslow5.Open(path, "r")
    names, types = s5.get_aux_names(), s5.get_aux_types()
    labels = s5.get_aux_enum_labels("end_reason")
    with open(out, "w") as lines, open(out + ".i16", "wb") as raw:
        for name, value in s5.get_all_headers().items():
            lines.write(f"@\t{name}\t{value or ''}\n")
        lines.write("\t".join(["fields"] + names) + "\n")
        lines.write("\t".join(["labels"] + labels) + "\n")
        for r in s5.seq_reads(aux="all"):
            raw.write(r["signal"].astype("<i2").tobytes())
            fields = [
                FIRST_LINE, r["read_id"], s5.get_header_value("acquisition_id"),
                bits(r["digitisation"]), bits(r["offset"]), bits(r["range"]),
                bits(r["sampling_rate"]), r["len_raw_signal"], r["channel_number"],
                bits(r["median_before"]), r["read_number"], r["start_mux"], r["start_time"],
                labels[r["end_reason"]], bits(r["tracked_scaling_shift"]),
                bits(r["tracked_scaling_scale"]), bits(r["predicted_scaling_shift"]),
                bits(r["predicted_scaling_scale"]), r["num_reads_since_mux_change"],
                bits(r["time_since_mux_change"]), r["num_minknow_events"],
                bits(r["open_pore_level"]), bits(r["expected_open_pore_level"]),
                bits(r["selected_read_level"]),
            ]
            lines.write("\t".join(map(str, fields)) + "\n")


def run_info(number, tags=()):
    import pod5

    start = datetime.datetime(2024, 2, 29, 23, 59, 58, 120_000, datetime.timezone.utc)
    return pod5.RunInfo(
        acquisition_id=f"acquisition-{number}",
        acquisition_start_time=start + datetime.timedelta(days=number, milliseconds=881),
        adc_max=2047 - number,
        adc_min=-2048,
        context_tags={"sample_frequency": "5000", "sequencing_kit": "overruled", **dict(tags)},
        experiment_name="",
        flow_cell_id=f"FC{number}",
        flow_cell_product_code="FLO-MIN114",
        protocol_name="sequencing/é",
        protocol_run_id=str(uuid.UUID(int=number)),
        protocol_start_time=start,
        sample_id="sample",
        sample_rate=5000,
        sequencing_kit="SQK-LSK114",
        sequencer_position="X1",
        sequencer_position_type="GridION",
        software="test",
        system_name="here",
        system_type="Linux",
        tracking_id={"device_id": "X1", "flow_cell_id": f"overrules{number}", "run_id": "other"},
    )


def signal(random, length):
    steps = random.integers(-60, 60, length)
    jumps = random.random(length) < 0.01
    steps[jumps] = random.integers(-40_000, 40_000, jumps.sum())
    return (np.cumsum(steps) & 0xFFFF).astype(np.uint16).view(np.int16)


def reads(random, count, runs, pore_types, lengths):
    import pod5

    reasons = list(pod5.EndReasonEnum)
    odd = [float("nan"), 0.0, -0.0, 1e-40, float("inf"), 201.5]
    for i in range(count):
        number = lambda: float(np.float32(random.choice(odd)))
        yield pod5.Read(
            read_id=uuid.UUID(bytes=random.bytes(16)),
            pore=pod5.Pore(int(random.integers(1, 3000)), int(random.integers(1, 5)),
                           pore_types[i % len(pore_types)]),
            calibration=pod5.Calibration(float(random.integers(-300, 50)), 0.1755 + i / 1000),
            read_number=i,
            start_sample=int(random.integers(0, 1 << 48)),
            median_before=number(),
            end_reason=pod5.EndReason(reasons[i % len(reasons)], bool(i & 1)),
            run_info=runs[i * len(runs) // count],
            num_minknow_events=int(random.integers(0, 1 << 40)),
            tracked_scaling=pod5.pod5_types.ShiftScalePair(number(), number()),
            predicted_scaling=pod5.pod5_types.ShiftScalePair(number(), number()),
            num_reads_since_mux_change=int(random.integers(0, 1 << 32)),
            time_since_mux_change=number(),
            open_pore_level=number(),
            expected_open_pore_level=number(),
            selected_read_level=number(),
            signal=signal(random, int(lengths[i % len(lengths)])),
        )


def make(folder):
    import lib_pod5
    import pod5

    random = np.random.default_rng(5)
    short = random.integers(1, 3_000, 97)
    short[:9] = [1, 7, 8, 9, 15, 16, 17, 64, 65]
    long = [102_400, 102_401, 307_203, 5, 204_800]
    odd_pores = ["not_set", "R10.4.1", "a pore of 2031", ""]
    runs = [run_info(i, {f"only_in_{i}": "x"}) for i in range(3)]

    def write(name, reads, **options):
        with pod5.Writer(f"{folder}/{name}.pod5", **options) as writer:
            writer.add_reads(reads)

    write("several_runs", list(reads(random, 2_500, runs, odd_pores, short)))
    write("long", list(reads(random, 25, runs[:1], ["not_set"], long)))
    write("one_run", list(reads(random, 1_200, runs[:1], ["not_set"], short)))
    write("plain", list(reads(random, 60, runs, odd_pores, [*long, *short[:20]])),
          signal_compression_type=pod5.writer.SignalType.UncompressedSignal)
    write("no_reads", [])

    class Small(pod5.Writer):
        """Batches of 7 reads and 3 rows, rows of 500 samples: every boundary is met."""

        def __init__(self, path):
            super().__init__(path)
            self._writer.close()
            __import__("os").remove(path)
            options = lib_pod5.FileWriterOptions()
            options.read_table_batch_size = 7
            options.signal_table_batch_size = 3
            options.max_signal_chunk_size = 500
            self._writer = lib_pod5.create_file(str(path), "test", options)

    with Small(f"{folder}/small.pod5") as writer:
        for read in reads(random, 200, runs, odd_pores, [499, 500, 501, 1, 1500, 2999]):
            writer.add_read(read)


def seconds(path):
    import pod5

    start = time.process_time()
    samples = 0
    with pod5.Reader(path) as reader:
        for batch in reader.read_batches(preload={"samples"}):
            for read in batch.reads():
                samples += len(read.signal)
    print(time.process_time() - start, samples)


if __name__ == "__main__":
    {"make": make, "dump": dump, "slow5": slow5, "seconds": seconds}[sys.argv[1]](*sys.argv[2:])
