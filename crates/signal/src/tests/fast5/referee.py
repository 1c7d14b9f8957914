"""What h5py (HDF Group's library, with Oxford Nanopore's VBZ plugin) finds in HDF5 files.

Arguments: files. Output, tab-separated, for each: "file NAME", or "bad NAME"; then of each object
in byte order of names, depth first: "object PATH KIND"; of each attribute "attribute NAME VALUE" in
the order of the file; of each one-dimensional dataset of integers "samples COUNT CRC32".
"""
import struct
import sys
import zlib

import h5py
import numpy
import vbz_h5py_plugin  # noqa: F401, registers the filter


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return "text:" + value.split(b"\0")[0].hex()


def attribute(item, identifier):
    kind = identifier.get_type()
    code = kind.get_class()
    if identifier.get_space().get_simple_extent_npoints() != 1:
        return "other"
    if code == h5py.h5t.STRING:
        if kind.is_variable_str():
            value = item.attrs[identifier.name]
            return text(value if isinstance(value, (str, bytes)) else value.reshape(-1)[0])
        out = numpy.zeros(identifier.shape, dtype="S%d" % kind.get_size())
        identifier.read(out, mtype=kind)
        return text(out.tobytes())
    if code == h5py.h5t.INTEGER:
        out = numpy.zeros(identifier.shape, dtype=kind.dtype)
        identifier.read(out)
        return "int:%d:%d" % (int(out.reshape(-1)[0]), kind.get_size())
    if code == h5py.h5t.FLOAT:
        out = numpy.zeros(identifier.shape, dtype=kind.dtype)
        identifier.read(out)
        return "f%d:%s" % (kind.get_size() * 8, struct.pack(">d", float(out.reshape(-1)[0])).hex())
    if code == h5py.h5t.ENUM:
        out = numpy.zeros(identifier.shape, dtype=kind.get_super().dtype)
        identifier.read(out, mtype=kind)
        bits = (1 << 8 * kind.get_size()) - 1  # our reader does not know a sign in enums
        names = range(kind.get_nmembers())
        names = ["%s=%d" % (kind.get_member_name(i).decode(), kind.get_member_value(i) & bits) for i in names]
        return "enum:%d:%s" % (int(out.reshape(-1)[0]) & bits, ",".join(names))
    return "other"


def walk(item, path):
    is_group = isinstance(item, h5py.Group)
    kind = "group" if is_group else "dataset" if isinstance(item, h5py.Dataset) else "other"
    print("object", path, kind, sep="\t")
    for index in range(h5py.h5a.get_num_attrs(item.id)):
        identifier = h5py.h5a.open(
            item.id, index=index, index_type=h5py.h5.INDEX_NAME, order=h5py.h5.ITER_NATIVE)
        print("attribute", identifier.name.hex(), attribute(item, identifier), sep="\t")
    if kind == "dataset" and item.ndim == 1 and item.dtype.kind in "iu":
        values = numpy.clip(item[()], -32768, 32767).astype("<i2")
        print("samples", len(values), zlib.crc32(values.tobytes()), sep="\t")
    if is_group:
        for name in sorted(item, key=lambda name: name.encode()):
            try:
                member = item[name]
            except (KeyError, OSError, RuntimeError):
                print("nowhere", path + "/" + name, sep="\t")
            else:
                walk(member, path + "/" + name)


for name in sys.argv[1:]:
    try:
        file = h5py.File(name, "r")
    except OSError:
        print("bad", name, sep="\t")
        continue
    print("file", name, sep="\t")
    walk(file, "")
