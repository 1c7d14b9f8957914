#!/usr/bin/env python3
"""CPU and bytes of CRAM, written and read, against samtools (docs/internals/cram.md).

    tests/bench_cram.py SEQLOOM SAMTOOLS FASTA FOLDER [--bases N] [--real NAME=BAM=FASTA ...]

FASTA is one sequence: pairs 2x150 at 30 x are simulated on its first N bases (5 million; dwgsim, seed 1), with
names as of a NovaSeq and qualities of 4 and of 40 values from a chain that stays where it is nine
times of ten; and long reads, 5,000 to 15,000 bases at 10 x with 5 % of differences, names as of a
nanopore, placed where they are from. Each round runs all programs in turn; the medians of three rounds are printed:
`prep -o x.cram` against `prep -l 0 | samtools view -C`, and `prep x.cram -l 0` against
`samtools view -u x.cram | prep -l 0 -`.
"""

import argparse
import os
import statistics
import subprocess
from pathlib import Path

import numpy as np

ROUNDS = 3


def cpu_s(*commands):
    """Runs a pipeline; user and system time of all of it, in seconds."""
    text = " | ".join(" ".join(str(word) for word in command) for command in commands)
    pid = os.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "-o", "pipefail", "-c", f"{text} 2>/dev/null"])
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, text
    return usage.ru_utime + usage.ru_stime


def qualities(count, length, values, random):
    """Qualities that fall a little towards the end and mostly stay what they were."""
    high = len(values) - 1
    now = np.full(count, high)
    out = np.empty((count, length), dtype=np.uint8)
    for at in range(length):
        moves = random.random(count) < 0.1 + 0.1 * at / length
        drawn = high - np.minimum(random.geometric(0.35, count) - 1, high)
        now = np.where(moves, drawn, now)
        out[:, at] = values[now] + 33
    return out


def simulate(arguments, values):
    """A BAM of simulated pairs, stored, sorted; the FASTA that they are of."""
    seqloom, folder = arguments.seqloom, arguments.folder
    part = folder / "part.fa"
    if not part.exists():
        lines = Path(arguments.fasta).read_text().split("\n", 1)
        bases = lines[1].replace("\n", "").lstrip("Nn")[:arguments.bases].upper()
        part.write_text(f">c\n{bases}\n")
        pairs = 30 * arguments.bases // 300
        run = ["dwgsim", "-z", "1", "-N", str(pairs), "-1", "150", "-2", "150", "-c", "0", "-o", "1"]
        subprocess.run([*run, "-e", "0.002", "-E", "0.003", "-y", "0", str(part), str(folder / "sim")],
                       check=True, stderr=subprocess.DEVNULL)
        subprocess.run([seqloom, "index", part], check=True, stderr=subprocess.DEVNULL)
    random = np.random.default_rng(len(values))
    mates = []
    for mate in (1, 2):
        text = subprocess.run(["gzip", "-dc", folder / f"sim.bwa.read{mate}.fastq.gz"],
                              check=True, stdout=subprocess.PIPE).stdout
        reads = text.split(b"\n")[1::4]
        drawn = qualities(len(reads), 150, values, random)
        lane, tile = random.integers(1, 5, len(reads)), random.integers(1101, 1179, len(reads))
        x, y = random.integers(1000, 32500, len(reads)), random.integers(1000, 37060, len(reads))
        if mate == 1:
            names = [b"A00785:516:HMTN3DSX3:%d:%d:%d:%d" % it for it in zip(lane, tile, x, y)]
        path = folder / f"{len(values)}_{mate}.fq"
        with open(path, "wb") as out:
            for name, read, row in zip(names, reads, drawn):
                out.write(b"@%s\n%s\n+\n%s\n" % (name, read, row[:len(read)].tobytes()))
        mates.append(path)
    bam = folder / f"{len(values)}.bam"
    group = "@RG\\tID:a\\tSM:s\\tLB:l"
    subprocess.run([seqloom, "align", "-R", group, "-l", "0", part, *mates, "-o", bam],
                   check=True, stderr=subprocess.DEVNULL)
    return bam, part


def simulate_long(arguments, part):
    """A BAM of long reads on `part`, sorted."""
    random = np.random.default_rng(44)
    name, bases = part.read_text().split()
    lengths = random.integers(5000, 15000, arguments.bases // 1000)
    starts = np.sort(random.integers(0, len(bases) - 15000, len(lengths)))
    rows = qualities(len(lengths), 17000, np.arange(1, 51), random)
    sam = arguments.folder / "long.sam"
    with open(sam, "w") as out:
        out.write(f"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:{name[1:]}\tLN:{len(bases)}\n")
        for start, length, row in zip(starts.tolist(), lengths.tolist(), rows):
            at, read, cigar, matched = start, [], [], 0
            kinds = random.integers(0, 10, length // 10)
            gaps = 2 + random.geometric(1 / 18, length // 10)
            sizes = random.geometric(0.6, length // 10)
            drawn = random.choice(list("ACGT"), int(sizes.sum()) + length // 10)
            used = 0
            for kind, gap, size in zip(kinds.tolist(), gaps.tolist(), sizes.tolist()):
                if at + gap > start + length:
                    break
                read.append(bases[at:at + gap])
                at, matched = at + gap, matched + gap
                if kind < 4:
                    read.append(drawn[used])
                    at, matched, used = at + 1, matched + 1, used + 1
                    continue
                cigar.append(f"{matched}M{size}{'I' if kind < 7 else 'D'}")
                matched = 0
                if kind < 7:
                    read.extend(drawn[used:used + size])
                    used += size
                else:
                    at += size
            read.append(bases[at:at + 9])
            cigar.append(f"{matched + 9}M")
            read = "".join(read)
            quality = row[:len(read)].tobytes().decode()
            title = random.bytes(16).hex()
            title = "-".join([title[:8], title[8:12], title[12:16], title[16:20], title[20:]])
            out.write(f"{title}\t{16 * (at % 2)}\t{name[1:]}\t{start + 1}\t60\t{''.join(cigar)}\t*"
                      f"\t0\t0\t{read}\t{quality}\n")
    bam = arguments.folder / "long.bam"
    view = [arguments.samtools, "view", "--no-PG", "-b", "-o", bam, sam]
    subprocess.run(view, check=True)
    return bam


def measure(name, bam, fasta, arguments, folder):
    """Prints a row for each version."""
    seqloom, samtools = arguments.seqloom, arguments.samtools
    prep = [seqloom, "prep", bam, "--sort", "keep", "--no-pg", "--quiet", "-t", "1", "-o"]
    for version in ("3.0", "3.1"):
        ours, theirs = folder / f"{name}.ours.cram", folder / f"{name}.theirs.cram"
        write = [*prep, ours, "--reference", fasta, "--cram-version", version]
        view = [samtools, "view", "--no-PG", "--output-fmt", f"cram,version={version}", "-T", fasta]
        taken = {"write": [], "view -C": [], "stored": [], "read": [], "view -u": []}
        to_bam = ["--sort", "keep", "--no-pg", "--quiet", "-t", "1", "-l", "0", "-o", "/dev/null"]
        for _ in range(ROUNDS):
            taken["write"].append(cpu_s(write))
            taken["view -C"].append(cpu_s([*prep, "-", "-l", "0"], [*view, "-o", theirs, "-"]))
            taken["stored"].append(cpu_s([*prep, "/dev/null", "-l", "0"]))
            taken["read"].append(cpu_s([seqloom, "prep", ours, "--reference", fasta, *to_bam]))
            view_u = [samtools, "view", "-u", "-T", fasta, ours]
            taken["view -u"].append(cpu_s(view_u, [seqloom, "prep", "-", *to_bam]))
        cpu = {key: statistics.median(all_s) for key, all_s in taken.items()}
        sizes = [os.path.getsize(it) for it in (ours, theirs)]
        print(f"{name} {version}: write {cpu['write']:.2f} s of {cpu['view -C']:.2f} "
              f"({cpu['write'] / cpu['view -C']:.2f}), bytes {sizes[0]} of {sizes[1]} "
              f"({sizes[0] / sizes[1]:.4f}), read {cpu['read']:.2f} s of {cpu['view -u']:.2f} "
              f"({cpu['read'] / cpu['view -u']:.2f}), BAM stored {cpu['stored']:.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seqloom")
    parser.add_argument("samtools")
    parser.add_argument("fasta")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bases", type=int, default=5_000_000)
    parser.add_argument("--real", nargs="*", default=[])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for values in (np.array([2, 12, 23, 37]), np.arange(2, 42)):
        bam, part = simulate(arguments, values)
        measure(f"simulated-{len(values)}", bam, part, arguments, arguments.folder)
    measure("long", simulate_long(arguments, part), part, arguments, arguments.folder)
    for real in arguments.real:
        name, bam, fasta = real.split("=")
        measure(name, bam, fasta, arguments, arguments.folder)


if __name__ == "__main__":
    main()
