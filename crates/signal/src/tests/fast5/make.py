"""Makes HDF5 files of every kind that the reader knows, with h5py. Argument: a folder."""
import os
import sys

import h5py
import numpy
import vbz_h5py_plugin  # noqa: F401, registers the filter

folder = sys.argv[1]
random = numpy.random.default_rng(1)
steps = numpy.cumsum(random.integers(-40, 41, 50000)).clip(-3000, 3000).astype("i2")
wild = random.integers(-32768, 32768, 5000).astype("i2")


def datasets(group):
    def add(name, data, **options):
        group.create_dataset(name, data=data, **options)

    add("contiguous", steps)
    add("empty", steps[:0])
    add("empty_chunked", steps[:0], chunks=(100,), maxshape=(None,))
    for kind in ("u1", "i1", "u2", "i4", "u4", "i8", "u8", ">i2", ">i4"):
        add("type_" + kind.replace(">", "be_"), numpy.arange(-100, 40000, 333).astype(kind))
    for maxshape in (None, (None,), (100000,)):
        tag = {None: "fixed", (None,): "free", (100000,): "limited"}[maxshape]
        for chunk in (50000, 60000, 7000, 100, 13):
            data = steps if chunk > 13 else steps[:20000]
            add(f"plain_{tag}_{chunk}", data, chunks=(min(chunk, len(data)) if tag == "fixed" else chunk,),
                maxshape=maxshape)
            add(f"deflate_{tag}_{chunk}", data, chunks=(min(chunk, len(data)) if tag == "fixed" else chunk,),
                maxshape=maxshape, compression="gzip", shuffle=chunk % 200 == 0, fletcher32=chunk > 200)
    for size, kind in ((1, "i1"), (1, "u1"), (2, "i2"), (2, "u2"), (4, "i4"), (4, "u4")):
        for version in (0, 1):
            for zigzag in (0, 1):
                for level in (0, 1, 5):
                    for tag, data in (("steps", steps), ("wild", wild), ("small", wild[:3] & 15)):
                        data = data.astype(kind)
                        add(f"vbz_{kind}_{size}_{version}_{zigzag}_{level}_{tag}", data,
                            chunks=(len(data) // 2 + 1,), compression=32020,
                            compression_opts=(version, size, zigzag, level))
    holes = group.create_dataset("holes", shape=(10000,), dtype="i2", chunks=(100,), maxshape=(None,),
                                 compression="gzip", fillvalue=-7)
    for start in (0, 300, 5000, 9900):
        holes[start:start + 100] = steps[start:start + 100]
    never = group.create_dataset("never", shape=(1000,), dtype="i2", chunks=(100,), fillvalue=5)
    assert never[0] == 5
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((50,))
    h5py.h5d.create(group.id, b"compact", h5py.h5t.STD_I16LE, space, compact).write(
        h5py.h5s.ALL, h5py.h5s.ALL, steps[:50].copy())
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((70,))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple((1000,))
    h5py.h5d.create(group.id, b"implicit", h5py.h5t.STD_I16LE, space, early).write(
        h5py.h5s.ALL, h5py.h5s.ALL, steps[:1000].copy())
    plain_edge = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plain_edge.set_chunk((300,))
    plain_edge.set_deflate(1)
    if hasattr(plain_edge, "set_chunk_opts"):
        plain_edge.set_chunk_opts(2)
    h5py.h5d.create(group.id, b"plain_edge", h5py.h5t.STD_I16LE, space, plain_edge).write(
        h5py.h5s.ALL, h5py.h5s.ALL, steps[:1000].copy())


def attributes(group, count):
    for index in range(count):
        group.attrs[f"text_{index:04}"] = "value %d" % index
    group.attrs["fixed"] = numpy.bytes_(b"fixed")
    group.attrs["vlen"] = "\u03bc" * 30
    group.attrs["empty"] = ""
    group.attrs["f4"] = numpy.float32(1.5)
    group.attrs["f8"] = numpy.float64(-1e300)
    group.attrs["be"] = numpy.array(-5, dtype=">i4")
    group.attrs["list"] = [1, 2, 3]
    group.attrs["null"] = h5py.Empty("f")
    group.attrs["bool"] = True
    for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        group.attrs[kind] = numpy.array(-1 if kind[0] == "i" else 200, dtype=kind)
    labels = {"unknown": 0, "mux_change": 2, "partial": 1}
    group.attrs.create("enum", 2, dtype=h5py.enum_dtype(labels, basetype="u1"))
    group.attrs.create("enum32", -3, dtype=h5py.enum_dtype({"a": -3, "bc": 7}, basetype=">i4"))


def links(group, count):
    target = group.create_group("target")
    for index in range(count):
        group["hard_%05d" % index] = target
    group["soft"] = h5py.SoftLink("target")
    group["soft_root"] = h5py.SoftLink("/links/target")
    group["soft_soft"] = h5py.SoftLink("./soft")
    group["soft_self"] = h5py.SoftLink("soft_self")
    group["nowhere"] = h5py.SoftLink("/none/of/this")
    group["external"] = h5py.ExternalLink("other.h5", "/")


for name, options in {
    "earliest": {"libver": "earliest"},
    "v108": {"libver": ("v108", "v108")},
    "v110": {"libver": ("v110", "v110")},
    "v112": {"libver": ("v112", "v112")},
    "ordered": {"libver": ("v110", "v110"), "track_order": True},
    "user_block": {"libver": "earliest", "userblock_size": 1024},
}.items():
    with h5py.File(os.path.join(folder, name + ".h5"), "w", **options) as file:
        datasets(file.create_group("datasets"))
        for count in (0, 5, 40, 900):
            attributes(file.create_group("attributes_%d" % count), count)
        links(file.create_group("links"), 5000)
        named = h5py.h5t.enum_create(h5py.h5t.STD_U8LE)
        named.enum_insert(b"first", 0)
        named.enum_insert(b"second", 1)
        named.commit(file.id, b"named_type")
        group = file.create_group("committed")
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        h5py.h5a.create(group.id, b"label", named, space).write(numpy.array(1, dtype="u1"), mtype=named)
        print(os.path.join(folder, name + ".h5"))
