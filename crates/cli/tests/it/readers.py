"""What readers in Python make of BAM and BGZF files: a line of reader, file and digest for each.

A file that a reader does not take has `refused` for a digest. pysam is htslib, oxbow is noodles,
isal is ISA-L, zlib_ng is zlib-ng, and gzip is zlib. Of a plain file the digest is that of its
bytes.
"""

import gzip
import hashlib
import sys

import oxbow
import pysam
from isal import igzip
from zlib_ng import gzip_ng


def of_file(file):
    digest = hashlib.sha256()
    while part := file.read(1 << 20):
        digest.update(part)
    return digest.hexdigest()


def of_rows(rows):
    digest = hashlib.sha256()
    for row in rows:
        digest.update(str(row).encode() + b"\n")
    return digest.hexdigest()


def by_pysam(path):
    with pysam.AlignmentFile(path, check_sq=False) as file:
        return of_rows(record.to_string() for record in file)


def by_oxbow(path):
    try:
        table = oxbow.from_bam(path).pl()
    except OSError:
        # noodles takes less of a header than others do.
        return "refused"
    collected = table.collect() if hasattr(table, "collect") else table
    return of_rows(collected.iter_rows())


def blocks_by_pysam(path):
    with pysam.BGZFile(path) as file:
        return of_file(file)


for path in sys.argv[1:]:
    if path.endswith(".plain"):
        with open(path, "rb") as file:
            print("plain", path, of_file(file))
        continue
    for module in (gzip, igzip, gzip_ng):
        with module.open(path) as file:
            print(module.__name__, path, of_file(file))
    if path.endswith(".bam"):
        print("pysam", path, by_pysam(path))
        print("oxbow", path, by_oxbow(path))
    else:
        print("pysam", path, blocks_by_pysam(path))
