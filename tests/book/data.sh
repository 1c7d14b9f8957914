#!/usr/bin/env bash
# Makes the files that a page of the manual works on, in the current folder. Wants `seqloom` and
# `seqloom-testkit` on the path, and SEQLOOM_DATA for raw signal.
#   tests/book/data.sh pairs|sites|umis|atac|aligned|elprep|lanes|signal|fast5|nothing
set -euo pipefail

group='@RG\tID:a\tSM:s\tLB:l\tPL:ILLUMINA'

genome() {
  seqloom-testkit genome ref.fa --length 200000 --contigs 2
}

# Pairs NAME_R1.fq.gz and NAME_R2.fq.gz, or without NAME_.
reads() { # SEED TEMPLATES [NAME]
  seqloom-testkit reads ref.fa --first "${3:+$3_}R1.fq.gz" --second "${3:+$3_}R2.fq.gz" \
    --templates "$2" --duplicates 0.15 --seed "$1"
}

pairs() {
  genome
  reads 1 4000
}

sites() { # known.vcf
  printf '##fileformat=VCFv4.2\n'
  for contig in chr1 chr2; do
    printf '##contig=<ID=%s,length=%s>\n' $contig "$(awk -v c=$contig '/^>/ { on = $0 ~ "^>" c } \
      on && !/^>/ { n += length } END { print n }' ref.fa)"
  done
  printf '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'
  printf '%s\t.\t.\t.\n' $'chr1\t5000\t.\tA\tC' $'chr1\t9000\t.\tAC\tA' $'chr2\t7000\t.\tG\tT'
}

# A UMI of eight letters behind each name, the same for all copies of a fragment; one in fifty has
# an error.
umis() {
  for file in R1.fq.gz R2.fq.gz; do
    gzip -dc $file | awk -F: '
      NR % 4 == 1 {
        split($2 "_" $3, place, /[^0-9]+/)
        n = (place[1] + place[2] * 7919 + place[4] * 104729) % 65536
        umi = ""
        for (i = 0; i < 8; i++) { umi = umi substr("ACGT", n % 4 + 1, 1); n = int(n / 4) }
        if (NR % 200 == 1) umi = "N" substr(umi, 2)
        $0 = $0 ":" umi
      }
      { print }' | gzip > with.gz
    mv with.gz $file
  done
}

align() { # OPTIONS: in.bam of the pairs
  seqloom index --quiet ref.fa
  seqloom align --quiet -R "$group" --no-mark-duplicates "$@" ref.fa R1.fq.gz R2.fq.gz -o in.bam
}

# Eight reads of R9.4.1, in FAST5; the names of the 112 that the folder has are in no order.
signal() {
  local set=$SEQLOOM_DATA/nanopore/f5c_ecoli_2kb/ecoli_2kb_region
  gzip -dc "$set/draft.reconstructed.fa.gz" > ref.fa
  ln -s "$set/fast5_files" fast5_pass
  samtools view -F 0x904 -q 20 "$set/reads.sorted.bam" | awk 'NR <= 8 { print $1 }' > names
  samtools view -b -N names -o reads.bam "$set/reads.sorted.bam"
  samtools index reads.bam
  awk 'NR == FNR { want[">" $1]; next } /^>/ { on = $1 in want } on' names "$set/reads.fasta" > reads.fasta
  awk '/^>/ { sub(/^>/, "@"); print; getline; print; print "+"; gsub(/./, "I"); print }' \
    reads.fasta > reads.fastq
}

case ${1:?kind of data} in
  nothing) ;;
  pairs) pairs ;;
  sites) pairs; sites > known.vcf ;;
  umis) pairs; umis; printf 'chr1\t1000\t21000\n' > panel.bed ;;
  atac) pairs; sed -i 's/^>chr2/>chrM/' ref.fa ;;
  aligned) pairs; sites > known.vcf; align ;;
  elprep) pairs; sites > known.vcf; align --no-sort ;;
  lanes)
    genome
    for lane in a_L001 a_L002 b_L001 b_L002; do reads "$(printf '%d' "0x${lane//[_L]/}")" 1000 $lane; done
    ;;
  signal) signal ;;
  fast5)
    mkdir fast5_pass
    cp "$SEQLOOM_DATA/nanopore/slow5tools_test/raw/f2s/multi-fast5/ssm1.fast5" fast5_pass
    ;;
  *) echo "no data of the kind $1" >&2; exit 2 ;;
esac
