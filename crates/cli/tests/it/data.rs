//! The data sets of the tests: simulated ones, made once a run, and real references.

use crate::common::{cache, picard, run, run_into, scratch, seqloom, words};
use seqloom_testkit::fastq::{Outputs, simulate_to_files};
use seqloom_testkit::genome::{Genome, GenomeOptions};
use seqloom_testkit::reads::{ReadGroup, ReadOptions};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A reference with an index of ours, and with one of bwa's.
#[derive(Debug)]
pub(crate) struct Reference {
    /// FASTA next to which `seqloom index` wrote.
    pub(crate) ours: PathBuf,
    /// The same FASTA next to which `bwa index` wrote; `None` before it is requested.
    bwa: OnceLock<PathBuf>,
    name: String,
    genome: OnceLock<Genome>,
}

impl Reference {
    pub(crate) fn new(name: &str, fasta: &Path) -> Reference {
        let folder = scratch().join(name);
        fs::create_dir_all(&folder).unwrap();
        let ours = folder.join("ref.fa");
        fs::copy(fasta, &ours).unwrap();
        run(&mut seqloom([Path::new("index"), &ours])).ok();
        Reference { ours, bwa: OnceLock::new(), name: name.into(), genome: OnceLock::new() }
    }

    /// The FASTA with bwa's index of it, retained between runs. Needs bwa.
    pub(crate) fn bwa(&self) -> &Path {
        self.bwa.get_or_init(|| self.indexed(&cache().join(&self.name), &mut words("bwa index")))
    }

    /// The FASTA with an index that `command`, to be followed by the FASTA, makes in `folder`; the
    /// folder outlives the run.
    pub(crate) fn indexed(&self, folder: &Path, command: &mut Command) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let lock = File::create(folder.join("lock")).unwrap();
        lock.lock().unwrap();
        let fasta = folder.join("ref.fa");
        let fresh = !fasta.exists() || fs::read(&fasta).unwrap() != fs::read(&self.ours).unwrap();
        if fresh || !folder.join("done").exists() {
            let _ = fs::remove_file(folder.join("done"));
            fs::copy(&self.ours, &fasta).unwrap();
            run(command.arg(&fasta)).ok();
            fs::write(folder.join("done"), "").unwrap();
        }
        fasta
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The bases.
    pub(crate) fn genome(&self) -> &Genome {
        self.genome.get_or_init(|| Genome::read_fasta(&self.ours).unwrap())
    }
}

/// The simulated genome that most tests use: 600 kbp in three contigs.
pub(crate) fn small() -> &'static Reference {
    static SMALL: OnceLock<Reference> = OnceLock::new();
    SMALL.get_or_init(|| {
        let fasta = scratch().join("small.fa");
        let options = GenomeOptions { seed: 11, length_bp: 600_000, contigs: 3 };
        Genome::simulate(&options).unwrap().write_fasta(&fasta).unwrap();
        Reference::new("small", &fasta)
    })
}

fn real(cell: &'static OnceLock<Reference>, name: &str, file: &str) -> Option<&'static Reference> {
    let compressed = seqloom_testkit::skip::data(file)?;
    Some(cell.get_or_init(|| {
        let fasta = scratch().join(format!("{name}.fa"));
        run_into(words("gzip -dc").arg(&compressed), &fasta).ok();
        Reference::new(name, &fasta)
    }))
}

/// E. coli K-12 MG1655.
pub(crate) fn ecoli() -> Option<&'static Reference> {
    static CELL: OnceLock<Reference> = OnceLock::new();
    real(&CELL, "ecoli", "refs/ecoli/MG1655-K12.fasta.gz")
}

/// S. cerevisiae R64.
pub(crate) fn yeast() -> Option<&'static Reference> {
    static CELL: OnceLock<Reference> = OnceLock::new();
    let file = "refs/yeast_R64/Saccharomyces_cerevisiae.R64-1-1.dna.toplevel.fa.gz";
    real(&CELL, "yeast", file)
}

/// P. falciparum, of whose bases 19 % are C or G.
pub(crate) fn plasmodium() -> Option<&'static Reference> {
    static CELL: OnceLock<Reference> = OnceLock::new();
    real(&CELL, "plasmodium", "refs/plasmodium/P_falciparum_14chr.fa.gz")
}

/// Human chromosome 20, b37.
pub(crate) fn chr20() -> Option<&'static Reference> {
    static CELL: OnceLock<Reference> = OnceLock::new();
    real(&CELL, "chr20", "refs/human_b37/chr20.b37.fa.gz")
}

/// The first quarter of it, which bwa indexes in a quarter of the time. All pairs of [`na12878`]
/// that come from chromosome 20 are there.
pub(crate) fn chr20_start() -> Option<&'static Reference> {
    static CELL: OnceLock<Reference> = OnceLock::new();
    let compressed = seqloom_testkit::skip::data("refs/human_b37/chr20.b37.fa.gz")?;
    Some(CELL.get_or_init(|| {
        let (whole, fasta) = (scratch().join("chr20-whole.fa"), scratch().join("chr20-start.fa"));
        run_into(words("gzip -dc").arg(compressed), &whole).ok();
        run_into(words("head -c 16000000").arg(whole), &fasta).ok();
        Reference::new("chr20-start", &fasta)
    }))
}

/// Real pairs, 2x101, of NA12878 from chromosomes 20 and 21, as unaligned BAM: sixteen read groups,
/// two libraries. The original is aligned and sorted, so Picard (needed) reverts it first.
pub(crate) fn na12878() -> Option<PathBuf> {
    static CELL: OnceLock<PathBuf> = OnceLock::new();
    let file = "bam/htsjdk_testdata/samtools/cram/NA12878.20.21.unmapped.orig.bam";
    let original = seqloom_testkit::skip::data(file)?;
    let revert = || {
        let bam = scratch().join("na12878.bam");
        let line = format!(
            "RevertSam I={} O={} SANITIZE=true MAX_DISCARD_FRACTION=1 SORT_ORDER=queryname \
             VALIDATION_STRINGENCY=SILENT",
            original.display(),
            bam.display()
        );
        run(&mut picard(&line)).ok();
        bam
    };
    Some(CELL.get_or_init(revert).clone())
}

/// Simulated reads in every form a test may want.
#[derive(Debug)]
pub(crate) struct Reads {
    pub(crate) first: PathBuf,
    pub(crate) second: PathBuf,
    pub(crate) interleaved: PathBuf,
    pub(crate) unaligned_sam: PathBuf,
}

/// Simulates reads of `reference` into `folder`.
pub(crate) fn simulate(reference: &Reference, options: &ReadOptions, folder: &Path) -> Reads {
    fs::create_dir_all(folder).unwrap();
    let reads = Reads {
        first: folder.join("r1.fq"),
        second: folder.join("r2.fq"),
        interleaved: folder.join("both.fq"),
        unaligned_sam: folder.join("unaligned.sam"),
    };
    let outputs = Outputs {
        first: Some(&reads.first),
        second: options.paired.then_some(&reads.second),
        interleaved: options.paired.then_some(&reads.interleaved),
        unaligned_sam: Some(&reads.unaligned_sam),
    };
    simulate_to_files(reference.genome(), options, outputs).unwrap();
    reads
}

/// Options of the pairs of [`small_pairs`]: duplicates (a third of them optical), chimeras, four
/// read groups of three libraries.
pub(crate) fn pairs_with_duplicates(templates: u64) -> ReadOptions {
    let group = |id: &str, library: &str| ReadGroup {
        id: id.into(),
        library: library.into(),
        sample: "s".into(),
    };
    ReadOptions {
        seed: 21,
        templates,
        length_min_bp: 80,
        length_max_bp: 150,
        duplicate_share: 0.25,
        optical_share: 0.35,
        chimera_share: 0.03,
        adapter_share: 0.02,
        unmappable_share: 0.03,
        read_groups: vec![
            group("rg1", "libA"),
            group("rg2", "libA"),
            group("rg3", "libB"),
            group("rg4", "libC"),
        ],
        ..ReadOptions::default()
    }
}

/// 20,000 pairs of [`small`], made once a run.
pub(crate) fn small_pairs() -> &'static Reads {
    static CELL: OnceLock<Reads> = OnceLock::new();
    CELL.get_or_init(|| {
        simulate(small(), &pairs_with_duplicates(20_000), &scratch().join("small-pairs"))
    })
}

/// `seqloom align` of [`small_pairs`] without output options: the beginning of most commands.
pub(crate) fn align_small() -> Vec<String> {
    align(small(), &[&small_pairs().first, &small_pairs().second])
}

/// `align REF READS` as arguments.
pub(crate) fn align(reference: &Reference, reads: &[&Path]) -> Vec<String> {
    let mut arguments = vec!["align".to_owned(), reference.ours.display().to_string()];
    arguments.extend(reads.iter().map(|r| r.display().to_string()));
    arguments
}

/// A BAM of SAM text. Needs samtools.
pub(crate) fn to_bam(sam: &Path, bam: &Path) {
    run(words("samtools view -b -o").arg(bam).arg(sam)).ok();
}
