"""seqloom: sequencing reads to analysis-ready data, on every core of a machine.

    import seqloom

    seqloom.index("ref.fa")
    run = seqloom.align("ref.fa", "R1.fq.gz", "R2.fq.gz", output="out.bam",
                        read_group={"ID": "a", "SM": "s"}, threads=8, memory="8G")
    print(run.counts["records_written"], run.wall_s)

Each function starts the program that this package carries and waits for it. Every option of the
command is a keyword. Columns of BAM, FASTQ and raw signal:

    seqloom.scan_bam("out.bam", columns=["name", "start", "mapq"])        # a lazy frame of polars
    for batch in seqloom.read_bam("out.bam", tags={"NM": "i"}): ...       # record batches of Arrow
    seqloom.BamFile("out.bam").fetch("chr20", 0, 2_000_000)               # those of a region
    seqloom.SignalFile("reads.pod5")[read_id].samples                     # an array of numpy
"""

from . import shard

from ._commands import VERSION as __version__
from ._bam import BamFile
from ._columns import (
    Batches,
    read_bam,
    read_fastq,
    read_signal,
    scan_bam,
    scan_fastq,
    scan_signal,
)
from ._commands import align, index, prep
from ._errors import (
    Crashed,
    InputError,
    MissingInputError,
    OutputError,
    RunError,
    SeqloomError,
    UsageError,
)
from ._progress import Progress
from ._run import Report, program
from ._signal import Read, SignalFile

__all__ = [
    "BamFile",
    "Batches",
    "Crashed",
    "InputError",
    "MissingInputError",
    "OutputError",
    "Progress",
    "Read",
    "Report",
    "RunError",
    "SeqloomError",
    "SignalFile",
    "UsageError",
    "__version__",
    "align",
    "index",
    "prep",
    "program",
    "read_bam",
    "read_fastq",
    "read_signal",
    "scan_bam",
    "scan_fastq",
    "scan_signal",
    "shard",
]
