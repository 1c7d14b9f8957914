"""bedMethyl of a modBAM, from nothing but its tags and the reference: what pysam reads of MM and
ML, counted by site and strand.

    referee.py READS.bam REFERENCE.fa FROM BELOW MOTIF

A value of ML from FROM on is modified, one below BELOW is canonical, what is between has failed.
"""

import sys
from collections import defaultdict

import pysam

bam, fasta, least, below, motif = sys.argv[1:]
least, below = int(least), int(below)
reference = pysam.FastaFile(fasta)
# Sites, the base that can be methylated, its code, and where it is on either strand.
sites, base, code, places = {
    "cpg": (["CG"], "C", "m", [0, 1]),
    "gpc": (["GC"], "C", "m", [1, 0]),
    "dam": (["GATC"], "A", "a", [1, 2]),
    "dcm": (["CCAGG", "CCTGG"], "C", "m", [1, 3]),
}[motif]
length = len(sites[0])
MOD, CANONICAL, DELETED, FAILED, DIFFERENT, NO_CALL = range(6)
counts = defaultdict(lambda: [0] * 6)

for read in pysam.AlignmentFile(bam):
    values = {}
    for kind, found in (read.modified_bases or {}).items():
        assert kind == (base, int(read.is_reverse), code), kind
        values.update(found)
    bases = reference.fetch(
        read.reference_name, read.reference_start, read.reference_end + 1
    ).upper()
    aligned = {at: query for query, at in read.get_aligned_pairs() if at is not None}
    base_here = {"C": "G", "A": "T"}[base] if read.is_reverse else base
    for offset in range(len(bases) - length + 1):
        if bases[offset : offset + length] not in sites:
            continue
        place = read.reference_start + offset + places[read.is_reverse]
        if place >= read.reference_end:
            continue
        query = aligned[place]
        if query is None:
            kind = DELETED
        elif read.query_sequence[query] != base_here:
            kind = DIFFERENT
        elif query not in values:
            kind = NO_CALL
        elif values[query] >= least:
            kind = MOD
        elif values[query] < below:
            kind = CANONICAL
        else:
            kind = FAILED
        counts[read.reference_name, place, "-" if read.is_reverse else "+"][kind] += 1

for (name, place, strand), count in sorted(counts.items()):
    valid = count[MOD] + count[CANONICAL]
    if valid + count[FAILED] == 0:
        continue
    percent = 100 * count[MOD] / max(valid, 1)
    print(
        name, place, place + 1, code, valid, strand, place, place + 1, "255,0,0", valid,
        f"{percent:.2f}", count[MOD], count[CANONICAL], 0, count[DELETED], count[FAILED],
        count[DIFFERENT], count[NO_CALL], sep="\t",
    )
