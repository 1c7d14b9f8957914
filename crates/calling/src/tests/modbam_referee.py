"""bedMethyl of a modBAM, from nothing but its tags and the reference: what pysam reads of MM and
ML, counted by site and strand.

    referee.py READS.bam REFERENCE.fa FROM BELOW

A value of ML from FROM on is modified, one below BELOW is canonical, what is between has failed.
"""

import sys
from collections import defaultdict

import pysam

bam, fasta, least, below = sys.argv[1:]
least, below = int(least), int(below)
reference = pysam.FastaFile(fasta)
MOD, CANONICAL, DELETED, FAILED, DIFFERENT, NO_CALL = range(6)
counts = defaultdict(lambda: [0] * 6)

for read in pysam.AlignmentFile(bam):
    values = {}
    for (base, strand, code), found in (read.modified_bases or {}).items():
        assert (base, strand, code) == ("C", int(read.is_reverse), "m")
        values.update(found)
    bases = reference.fetch(
        read.reference_name, read.reference_start, read.reference_end + 1
    ).upper()
    aligned = {at: query for query, at in read.get_aligned_pairs() if at is not None}
    base_here = "G" if read.is_reverse else "C"
    for offset in range(len(bases) - 1):
        if bases[offset : offset + 2] != "CG":
            continue
        place = read.reference_start + offset + int(read.is_reverse)
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
        name, place, place + 1, "m", valid, strand, place, place + 1, "255,0,0", valid,
        f"{percent:.2f}", count[MOD], count[CANONICAL], 0, count[DELETED], count[FAILED],
        count[DIFFERENT], count[NO_CALL], sep="\t",
    )
