"""Makes POD5 files with the pod5 package, and says what it, or blue-crab through pyslow5, reads.

referee.py make FOLDER          files of every kind
referee.py old FILE FOLDER      its reads in tables of versions 0 to 3
referee.py dump FILE OUT        one line per read to OUT, all samples to OUT.i16
referee.py slow5 FILE OUT       the same of a SLOW5 file, its header before the reads
"""

import datetime
import struct
import sys
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
    short[:10] = [1, 7, 8, 9, 15, 16, 17, 64, 65, 0]
    long = [102_400, 102_401, 307_203, 5, 204_800]
    odd_pores = ["not_set", "R10.4.1", "a pore of 2031", ""]
    runs = [run_info(i, {f"only_in_{i}": "x"}) for i in range(3)]

    def write(name, reads, **options):
        with pod5.Writer(f"{folder}/{name}.pod5", **options) as writer:
            writer.add_reads(reads)

    write("several_runs", list(reads(random, 2_500, runs, odd_pores, short)))
    write("long", list(reads(random, 25, runs[:1], ["not_set"], long)))
    # blue-crab divides by the number of samples.
    write("one_run", list(reads(random, 1_200, runs[:1], ["not_set"], short[short > 0])))
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


def flat_footer(identifier, version, tables):
    """The footer of a container: a FlatBuffer with one 8-byte slot per field."""
    out = bytearray(4)

    def align(multiple, remainder=0):
        while len(out) % multiple != remainder:
            out.append(0)

    def patch(at):
        out[at:at + 4] = struct.pack("<I", len(out) - at)

    def begin(count):
        align(8)
        vtable = len(out)
        slots = [8 + 8 * i for i in range(count)]
        out.extend(struct.pack(f"<HH{count}H", 4 + 2 * count, 8 + 8 * count, *slots))
        align(8)
        at = len(out)
        out.extend(struct.pack("<i", at - vtable) + bytes(4 + 8 * count))
        return at

    align(8)
    out.extend(bytes(8))
    root_slot = 0
    root = begin(4)
    out[root_slot:4] = struct.pack("<I", root)
    for i, text in enumerate([identifier, "referee", version]):
        align(4)
        patch(root + 8 + 8 * i)
        out.extend(struct.pack("<I", len(text)) + text.encode() + b"\0")
    align(4)
    patch(root + 8 + 24)
    slots = len(out) + 4
    out.extend(struct.pack("<I", len(tables)) + bytes(4 * len(tables)))
    for i, (offset, length, kind) in enumerate(tables):
        at = begin(4)
        out[slots + 4 * i:slots + 4 * i + 4] = struct.pack("<I", at - (slots + 4 * i))
        out[at + 8:at + 40] = struct.pack("<qqhxxxxxxhxxxxxx", offset, length, 0, kind)
    align(8)
    return bytes(out)


def container(path, identifier, version, tables):
    """A POD5 file of tables (bytes, kind of content)."""
    signature, marker = b"\x8bPOD\r\n\x1a\n", uuid.uuid4().bytes
    out, places = bytearray(signature + marker), []
    for table, kind in tables:
        places.append((len(out), len(table), kind))
        out.extend(table + bytes(-len(table) % 8) + marker)
    footer = flat_footer(identifier, version, places)
    out.extend(b"FOOTER\0\0" + footer + struct.pack("<q", len(footer)) + marker + signature)
    with open(path, "wb") as file:
        file.write(out)


def old(source, folder):
    """The reads of a file as versions 0 to 3 of the Reads table keep them."""
    import lib_pod5
    import pod5
    import pyarrow as pa

    with pod5.Reader(source) as reader:
        reads, runs = reader.read_table.read_all(), reader.run_info_table.read_all()
        identifier = reads.schema.metadata[b"MINKNOW:file_identifier"].decode()
        place = reader.inner_file_reader.get_file_signal_table_location()
        with open(source, "rb") as file:
            file.seek(place.offset)
            signal_table = file.read(place.length)

    def write(columns, version, batch_rows=1000):
        names = list(columns)
        fields = [
            pa.field(name, columns[name].type,
                     metadata={"ARROW:extension:name": "minknow.uuid",
                               "ARROW:extension:metadata": ""} if name == "read_id" else None)
            for name in names
        ]
        schema = pa.schema(fields, metadata={
            "MINKNOW:pod5_version": version, "MINKNOW:software": "referee",
            "MINKNOW:file_identifier": identifier,
        })
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        with pa.ipc.new_file(sink, schema, options=options) as writer:
            table = pa.table([columns[name] for name in names], schema=schema)
            writer.write_table(table, max_chunksize=batch_rows)
        return sink.getvalue().to_pybytes()

    def structures(parts):
        """A dictionary of the different rows of some columns."""
        rows = list(zip(*(column.to_pylist() for column in parts.values())))
        different = {repr(row): row for row in rows}
        index = {key: i for i, key in enumerate(different)}
        names, types = list(parts), [c.type for c in parts.values()]
        types = [t.value_type if pa.types.is_dictionary(t) else t for t in types]
        arrays = [pa.array([row[i] for row in different.values()], t) for i, t in enumerate(types)]
        values = pa.StructArray.from_arrays(arrays, names=names)
        indices = pa.array([index[repr(row)] for row in rows], pa.int16())
        return pa.DictionaryArray.from_arrays(indices, values)

    column = lambda name: reads.column(name)
    run_of = reads.column("run_info").to_pylist()
    run_rows = {run["acquisition_id"]: run for run in runs.to_pylist()}
    types = {field.name: field.type for field in runs.schema}
    run_parts = {name: pa.array([run_rows[run][name] for run in run_of], types[name])
                 for name in types}
    v0 = {name: column(name) for name in
          ["read_id", "signal", "read_number", "start", "median_before"]}
    v0["pore"] = structures({n: column(n) for n in ["channel", "well", "pore_type"]})
    v0["calibration"] = structures(
        {"offset": column("calibration_offset"), "scale": column("calibration_scale")})
    v0["end_reason"] = structures(
        {"name": column("end_reason"), "forced": column("end_reason_forced")})
    v0["run_info"] = structures(run_parts)
    added = ["num_minknow_events", "tracked_scaling_scale", "tracked_scaling_shift",
             "predicted_scaling_scale", "predicted_scaling_shift",
             "num_reads_since_mux_change", "time_since_mux_change"]
    v1 = {**v0, **{name: column(name) for name in added}}
    v2 = {**v1, "num_samples": column("num_samples")}
    later = ["open_pore_level", "expected_open_pore_level", "selected_read_level", "channel_32bit"]
    v3 = {name: column(name) for name in reads.column_names if name not in later}
    versions = [("v0", v0, "0.0.20"), ("v1", v1, "0.0.30"), ("v2", v2, "0.0.33")]
    for name, columns, version in versions:
        container(f"{folder}/{name}.pod5", identifier, version,
                  [(signal_table, 1), (write(columns, version), 0)])
    run_columns = {name: runs.column(name) for name in runs.column_names}
    container(f"{folder}/v3.pod5", identifier, "0.1.0",
              [(signal_table, 1), (write(run_columns, "0.1.0"), 4), (write(v3, "0.1.0"), 0)])


if __name__ == "__main__":
    commands = {"make": make, "old": old, "dump": dump, "slow5": slow5}
    commands[sys.argv[1]](*sys.argv[2:])
