//! Simulated RNA: reads off transcripts, where each is in truth, and how well it is placed.

use crate::by_score::{STREAM, complement};
use crate::common::{folder, run_into, seqloom, words};
use crate::data::{Reference, align, small};
use crate::ungapped::index_of;
use seqloom_testkit::random::Random;
use seqloom_testkit::sam::{SamRecord, flag};
use seqloom_testkit::transcripts::{Transcript, transcripts, write_sites};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Genes of RefSeq on human chromosome 20, each in up to four ways that leave out some of its inner
/// exons.
fn refseq(seed: u64) -> Option<Vec<Transcript>> {
    let file = seqloom_testkit::skip::data("annotation/hg19_RefSeq_exon.txt.gz")?;
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(fs::File::open(file).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let mut genes: BTreeMap<(&str, &str), Vec<[usize; 2]>> = BTreeMap::new();
    for line in text.lines() {
        if let [gene, "chr20", start, end, strand] = line.split('\t').collect::<Vec<_>>()[..] {
            let exon = [start.parse::<usize>().unwrap() - 1, end.parse().unwrap()];
            genes.entry((gene, strand)).or_default().push(exon);
        }
    }
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for ((_, strand), exons) in genes {
        for exons in parts(exons) {
            for number in 0..random.between(1, 5) {
                let last = exons.len() - 1;
                let mut is_kept =
                    |at: usize| number == 0 || at == 0 || at == last || random.chance(0.85);
                let kept: Vec<_> =
                    (0..=last).filter(|&at| is_kept(at)).map(|at| exons[at]).collect();
                let bases: usize = kept.iter().map(|it| it[1] - it[0]).sum();
                let weight =
                    random.normal(0.0, 1.2).exp() * bases.saturating_sub(300).max(1) as f64;
                if bases >= 2 * LENGTH {
                    let is_reverse = strand == "-";
                    all.push(Transcript { contig: 0, is_reverse, exons: kept, weight });
                }
            }
        }
    }
    Some(all)
}

/// Exons of a gene, overlapping ones as one, apart where they are further from each other than an
/// intron may be.
fn parts(mut exons: Vec<[usize; 2]>) -> Vec<Vec<[usize; 2]>> {
    exons.sort_unstable();
    let mut parts: Vec<Vec<[usize; 2]>> = Vec::new();
    for exon in exons {
        match parts.last_mut().and_then(|part| part.last_mut()) {
            Some(last) if exon[0] <= last[1] => last[1] = last[1].max(exon[1]),
            Some(last) if exon[0] - last[1] <= 500_000 => parts.last_mut().unwrap().push(exon),
            _ => parts.push(vec![exon]),
        }
    }
    parts
}

pub(crate) fn write_gtf(reference: &Reference, all: &[Transcript], path: &Path) {
    let mut text = "#!genome-build test\n".to_owned();
    for (number, it) in all.iter().enumerate() {
        let name = &reference.genome().contigs[it.contig].name;
        let strand = if it.is_reverse { '-' } else { '+' };
        for [start, end] in it.exons.iter().rev() {
            writeln!(
                text,
                "{name}\ttest\texon\t{}\t{end}\t.\t{strand}\t.\tgene_id \"{number}\"; \
                 transcript_id \"t{number}\";",
                start + 1
            )
            .unwrap();
        }
    }
    fs::write(path, text).unwrap();
}

/// Where a read is: its first base, from 1, and its introns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) contig: usize,
    position: usize,
    pub(crate) introns: Vec<[usize; 2]>,
}

/// The truth of bases `[from, end)` of a transcript as the forward strand has it.
fn truth(it: &Transcript, from: usize, end: usize) -> Truth {
    let (mut before, mut parts) = (0, Vec::new());
    for [start, stop] in &it.exons {
        let length = stop - start;
        let (first, last) = (from.max(before), end.min(before + length));
        if first < last {
            parts.push([start + first - before, start + last - before]);
        }
        before += length;
    }
    let introns = parts.windows(2).map(|two| [two[0][1], two[1][0]]).collect();
    Truth { contig: it.contig, position: parts[0][0] + 1, introns }
}

/// Bases of a read.
const LENGTH: usize = 100;

/// Bases as they are read: one in a thousand places of the genome is another base in all reads, one
/// base in 250 in this read alone, which its quality may show.
fn read_off(bases: &[u8], places: &[usize], random: &mut Random) -> Vec<[u8; 2]> {
    let bases = bases.iter().zip(places).map(|(&base, &place)| {
        let other = |by: usize| {
            let at = b"ACGT".iter().position(|&it| it == base);
            at.map_or(b'A', |at| b"ACGT"[(at + 1 + by % 3) % 4])
        };
        let is_variant = place.wrapping_mul(2_654_435_761) >> 7 & 1023 == 0;
        match () {
            () if random.chance(0.004) => [other(random.index(3)), b'0'],
            () if is_variant => [other(place >> 5), b'F'],
            () => [base, b'F'],
        }
    });
    bases.collect()
}

/// Writes pairs of 100 bases off transcripts; the truth of both mates of each.
fn write_pairs(
    reference: &Reference,
    all: &[Transcript],
    (seed, count): (u64, usize),
    files: &[PathBuf; 2],
) -> Vec<[Truth; 2]> {
    let mut random = Random::new(seed);
    let mut sum = 0.0;
    let add = |it: &Transcript| {
        sum += it.weight;
        sum
    };
    let sums: Vec<f64> = all.iter().map(add).collect();
    let (mut texts, mut truths) = ([String::new(), String::new()], Vec::new());
    for number in 0..count {
        let at = random.uniform(0.0, sum);
        let it = &all[sums.partition_point(|it| *it <= at).min(all.len() - 1)];
        let bases = &reference.genome().contigs[it.contig].bases;
        let places: Vec<usize> = it.exons.iter().flat_map(|exon| exon[0]..exon[1]).collect();
        let text: Vec<u8> = places.iter().map(|&at| bases[at].to_ascii_uppercase()).collect();
        let span = (random.between(180, 380) as usize).min(text.len());
        let from = random.index(text.len() - span + 1);
        let starts = [from, from + span - LENGTH];
        let mut reads = starts.map(|start| {
            let part = start..start + LENGTH;
            read_off(&text[part.clone()], &places[part], &mut random)
        });
        reads[1].reverse();
        reads[1].iter_mut().for_each(|it| it[0] = complement(&it[..1])[0]);
        let mut of_both = starts.map(|start| truth(it, start, start + LENGTH));
        if random.percent(50) {
            reads.reverse();
            of_both.reverse();
        }
        for (read, text) in reads.iter().zip(&mut texts) {
            let line = |at: usize| read.iter().map(|it| char::from(it[at])).collect::<String>();
            writeln!(text, "@{number}\n{}\n+\n{}", line(0), line(1)).unwrap();
        }
        truths.push(of_both);
    }
    for (file, text) in files.iter().zip(texts) {
        fs::write(file, text).unwrap();
    }
    truths
}

/// What a primary record says.
pub(crate) struct Placed {
    pair: usize,
    mate: usize,
    pub(crate) truth: Option<Truth>,
    pub(crate) mapq: u8,
}

pub(crate) fn placed(reference: &Reference, sam: &Path) -> Vec<Placed> {
    let contigs = &reference.genome().contigs;
    let text = fs::read(sam).unwrap();
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"@"));
    let records = lines.filter_map(SamRecord::parse);
    records
        .filter(|record| record.flag & 0x900 == 0)
        .map(|record| {
            let column = |at: usize| std::str::from_utf8(record.columns[at]).unwrap();
            let is_placed = record.flag & flag::UNMAPPED == 0;
            let contig = contigs.iter().position(|it| it.name == column(2));
            Placed {
                pair: column(0).parse().unwrap(),
                mate: usize::from(record.flag & flag::SECOND != 0),
                truth: contig.filter(|_| is_placed).map(|contig| {
                    let position: usize = column(3).parse().unwrap();
                    let (introns, clip) = introns_of(position, column(5));
                    Truth { contig, position: position - clip, introns }
                }),
                mapq: column(4).parse().unwrap(),
            }
        })
        .collect()
}

/// Introns of a record, from 0, and how much is clipped at the start.
fn introns_of(position: usize, cigar: &str) -> (Vec<[usize; 2]>, usize) {
    let (mut at, mut introns, mut clip) = (position - 1, Vec::new(), 0);
    for (number, part) in cigar.split_inclusive(|it: char| !it.is_ascii_digit()).enumerate() {
        let (count, kind) = part.split_at(part.len() - 1);
        let count: usize = count.parse().unwrap();
        match kind {
            "M" | "D" => at += count,
            "N" => {
                introns.push([at, at + count]);
                at += count;
            }
            "S" if number == 0 => clip = count,
            _ => (),
        }
    }
    (introns, clip)
}

/// How well reads are placed.
#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) exact: usize,
    /// Of reads over introns.
    pub(crate) exact_over_introns: usize,
    pub(crate) introns: usize,
    pub(crate) right_introns: usize,
    pub(crate) wrong_though_sure: usize,
}

impl Score {
    /// Of the introns that reads are said to go over, those that they do go over.
    pub(crate) fn share(&self) -> f64 {
        self.right_introns as f64 / self.introns as f64
    }
}

fn score(placed: &[Placed], truths: &[[Truth; 2]]) -> Score {
    let mut score = Score::default();
    for it in placed {
        let truth = &truths[it.pair][it.mate];
        let Some(found) = &it.truth else { continue };
        let is_exact = found == truth;
        score.exact += usize::from(is_exact);
        score.exact_over_introns += usize::from(is_exact && !truth.introns.is_empty());
        score.introns += found.introns.len();
        let right = found.introns.iter().filter(|it| truth.introns.contains(it));
        score.right_introns += right.count();
        let is_far = found.contig != truth.contig || found.position.abs_diff(truth.position) > 5000;
        score.wrong_though_sure += usize::from(is_far && it.mapq >= 20);
    }
    score
}

/// Reads off transcripts, and all that is known of them.
pub(crate) struct Case {
    reference: &'static Reference,
    pub(crate) here: tempfile::TempDir,
    pub(crate) files: [PathBuf; 2],
    pub(crate) sites: PathBuf,
    pub(crate) transcripts: Vec<Transcript>,
    truths: Vec<[Truth; 2]>,
}

impl Case {
    /// So many pairs of the small genome.
    pub(crate) fn small(seed: u64, count: usize) -> Self {
        Self::of(small(), transcripts(small().genome(), seed), (seed, count))
    }

    /// The same of human chromosome 20.
    pub(crate) fn human(seed: u64, count: usize) -> Option<Self> {
        Some(Self::of(crate::data::chr20()?, refseq(seed)?, (seed, count)))
    }

    fn of(reference: &'static Reference, transcripts: Vec<Transcript>, seed: (u64, usize)) -> Self {
        let here = folder();
        let files = ["1.fq", "2.fq"].map(|name| here.path().join(name));
        let sites = here.path().join("sites.txt");
        write_sites(reference.genome(), &transcripts, &sites).unwrap();
        let truths = write_pairs(reference, &transcripts, seed, &files);
        Self { reference, here, files, sites, transcripts, truths }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    pub(crate) fn inputs(&self, mates: usize) -> Vec<&Path> {
        self.files[..mates].iter().map(PathBuf::as_path).collect()
    }

    fn ours(&self, mates: usize, options: &[&str]) -> Score {
        let sam = self.path("ours.sam");
        let mut command = seqloom(align(self.reference, &self.inputs(mates)));
        command.args(["--mode", "spliced"]).args(options).args(STREAM).args(["-o", "-"]);
        run_into(&mut command, &sam).ok();
        score(&placed(self.reference, &sam), &self.truths)
    }

    fn hisat2_s(&self, mates: usize, options: &[&str]) -> Score {
        let sam = self.path("theirs.sam");
        let mut command = words("hisat2 -p 1 -x");
        command.arg(index_of("hisat2", "hisat2-build -q", self.reference)).args(options);
        match self.inputs(mates)[..] {
            [first, second] => command.arg("-1").arg(first).arg("-2").arg(second),
            _ => command.arg("-U").arg(&self.files[0]),
        };
        run_into(&mut command, &sam).ok();
        score(&placed(self.reference, &sam), &self.truths)
    }

    /// How well reads are placed here, and by HISAT2: with the introns that a first pass or run has
    /// found, and with all that are true.
    pub(crate) fn both(&self, mates: usize) -> [[Score; 2]; 2] {
        let (novel, sites) = (self.path("novel.txt"), self.sites.display().to_string());
        let novel = novel.display().to_string();
        // Its second run gets what the first has found.
        self.hisat2_s(mates, &["--novel-splicesite-outfile", &novel]);
        let found =
            [self.ours(mates, &[]), self.hisat2_s(mates, &["--novel-splicesite-infile", &novel])];
        let known = [
            self.ours(mates, &["--splice-sites", &sites, "--one-pass"]),
            self.hisat2_s(mates, &["--known-splicesite-infile", &sites]),
        ];
        [found, known]
    }
}
