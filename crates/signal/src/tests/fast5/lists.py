"""Puts lists where MinKNOW before 1.0 had them, and elsewhere, into copies of a single-read FAST5.

Arguments: the file, a folder. Output, tab-separated, a line for each copy: its path, and what
ont_fast5_api finds in it, a read id, the number of samples and their CRC32.
"""
import os
import shutil
import sys
import zlib

import h5py
import numpy
from ont_fast5_api.fast5_interface import get_fast5_file

source, folder = sys.argv[1:]


def letters(text):
    return numpy.array([letter.encode() for letter in text], dtype="S1")


def meta(file):
    group = file.create_group("Sequences/Meta")
    group.attrs["numerical_encoding"] = letters("-100log10(1-p)")
    group.attrs["precision"] = letters("uint_16bit")
    group.attrs["tool"] = letters("ONTFAST5TOOLS REVISION: windows/0")
    group.attrs["version"] = letters("FAST4:2")


def tracking(file):
    file["UniqueGlobalKey/tracking_id"].attrs["version"] = ["1", "1", "21"]


def root(file):
    file.attrs["version"] = letters("FAST4:2")


def raw(file):
    file["Raw"].attrs["version"] = [1, 1, 21]


def reads(file):
    group, = file["Raw/Reads"].values()
    group.attrs["version"] = h5py.Empty("f")


for change in (meta, tracking, root, raw, reads):
    path = os.path.join(folder, change.__name__ + ".fast5")
    shutil.copyfile(source, path)
    with h5py.File(path, "r+") as file:
        change(file)
    with get_fast5_file(path, mode="r") as file:
        read, = file.get_reads()
        signal = read.get_raw_data()
        print(path, read.read_id, len(signal), zlib.crc32(signal.tobytes()), sep="\t")
