//! Writes simulated reads: FASTQ (plain or gzip, by suffix) and unaligned SAM with read groups.

use crate::Error;
use crate::genome::Genome;
use crate::reads::{Read, ReadOptions, Simulator, Template};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Where simulated reads go; a template goes to every one that is given.
#[derive(Debug, Default, Clone, Copy)]
pub struct Outputs<'a> {
    /// Read 1 (or the single reads); `.gz` compresses.
    pub first: Option<&'a Path>,
    /// Read 2.
    pub second: Option<&'a Path>,
    /// Both reads in turn.
    pub interleaved: Option<&'a Path>,
    /// Unaligned SAM text, one `@RG` line per read group.
    pub unaligned_sam: Option<&'a Path>,
}

/// Counts of what was written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Templates.
    pub templates: u64,
    /// Bases of all reads.
    pub bases: u64,
}

/// Simulates `options.templates` templates into `outputs`.
///
/// # Errors
/// Contradicting options, or a file that cannot be written.
pub fn simulate_to_files(
    genome: &Genome,
    options: &ReadOptions,
    outputs: Outputs<'_>,
) -> Result<Written, Error> {
    let mut simulator = Simulator::new(genome, options)?;
    let open = |path: Option<&Path>| path.map(Target::create).transpose();
    let mut first = open(outputs.first)?;
    let mut second = open(outputs.second)?;
    let mut interleaved = open(outputs.interleaved)?;
    let mut sam = open(outputs.unaligned_sam)?;
    let mut text = Vec::new();
    if let Some(sam) = &mut sam {
        sam_header(options, &mut text);
        sam.write(&text)?;
    }
    let mut written = Written::default();
    while let Some(template) = simulator.next_template() {
        written.templates += 1;
        written.bases += template.reads.iter().map(|r| r.bases.len() as u64).sum::<u64>();
        let reads = if options.paired { &template.reads[..] } else { &template.reads[..1] };
        for (end, read) in reads.iter().enumerate() {
            text.clear();
            fastq_record(&template.name, read, &mut text);
            let own = if end == 0 { &mut first } else { &mut second };
            for target in [own, &mut interleaved].into_iter().flatten() {
                target.write(&text)?;
            }
            if let Some(sam) = &mut sam {
                text.clear();
                sam_record(options, template, end, &mut text);
                sam.write(&text)?;
            }
        }
    }
    for target in [first, second, interleaved, sam].into_iter().flatten() {
        target.finish()?;
    }
    Ok(written)
}

/// Appends one FASTQ record.
pub(crate) fn fastq_record(name: &[u8], read: &Read, out: &mut Vec<u8>) {
    out.push(b'@');
    out.extend_from_slice(name);
    out.push(b'\n');
    out.extend_from_slice(&read.bases);
    out.extend_from_slice(b"\n+\n");
    out.extend_from_slice(&read.qualities);
    out.push(b'\n');
}

fn sam_header(options: &ReadOptions, out: &mut Vec<u8>) {
    out.extend_from_slice(b"@HD\tVN:1.6\tSO:unsorted\tGO:query\n");
    for group in &options.read_groups {
        let (id, library, sample) = (&group.id, &group.library, &group.sample);
        let line = format!("@RG\tID:{id}\tLB:{library}\tSM:{sample}\tPL:ILLUMINA\n");
        out.extend_from_slice(line.as_bytes());
    }
}

fn sam_record(options: &ReadOptions, template: &Template, end: usize, out: &mut Vec<u8>) {
    let flag: &[u8] = match (options.paired, end) {
        (false, _) => b"4",
        (true, 0) => b"77",
        (true, _) => b"141",
    };
    let read = &template.reads[end];
    let fields: [&[u8]; 5] =
        [&template.name, flag, b"*\t0\t0\t*\t*\t0\t0", &read.bases, &read.qualities];
    out.extend_from_slice(&fields.join(&b'\t'));
    if let Some(group) = options.read_groups.get(template.read_group) {
        out.extend_from_slice(b"\tRG:Z:");
        out.extend_from_slice(group.id.as_bytes());
    }
    out.push(b'\n');
}

/// A file being written, compressed when its name ends in `.gz`.
struct Target {
    path: std::path::PathBuf,
    to: Encoder,
}

enum Encoder {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Target {
    fn create(path: &Path) -> Result<Target, Error> {
        let file =
            BufWriter::with_capacity(1 << 18, File::create(path).map_err(Error::file(path))?);
        let to = if path.extension().is_some_and(|e| e == "gz") {
            Encoder::Gzip(Box::new(GzEncoder::new(file, Compression::new(1))))
        } else {
            Encoder::Plain(file)
        };
        Ok(Target { path: path.to_owned(), to })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.to {
            Encoder::Plain(file) => file.write_all(bytes),
            Encoder::Gzip(file) => file.write_all(bytes),
        }
        .map_err(Error::file(&self.path))
    }

    fn finish(self) -> Result<(), Error> {
        match self.to {
            Encoder::Plain(mut file) => file.flush(),
            Encoder::Gzip(file) => file.finish().and_then(|mut file| file.flush()),
        }
        .map_err(Error::file(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genome::GenomeOptions;
    use crate::reads::ReadGroup;
    use std::io::Read as _;

    #[test]
    fn the_same_reads_go_to_every_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let genome =
            Genome::simulate(&GenomeOptions { seed: 1, length_bp: 50_000, contigs: 1 }).unwrap();
        let group = ReadGroup { id: "g".into(), library: "l".into(), sample: "s".into() };
        let options =
            ReadOptions { templates: 100, read_groups: vec![group], ..ReadOptions::default() };
        let outputs = Outputs {
            first: Some(&path("1.fq")),
            second: Some(&path("2.fq.gz")),
            interleaved: Some(&path("i.fq")),
            unaligned_sam: Some(&path("u.sam")),
        };
        let written = simulate_to_files(&genome, &options, outputs).unwrap();
        assert_eq!(written, Written { templates: 100, bases: 30_000 });
        let first = std::fs::read_to_string(path("1.fq")).unwrap();
        let mut second = String::new();
        let gz = File::open(path("2.fq.gz")).unwrap();
        flate2::read::MultiGzDecoder::new(gz).read_to_string(&mut second).unwrap();
        let interleaved = std::fs::read_to_string(path("i.fq")).unwrap();
        let lines: Vec<&str> = interleaved.lines().collect();
        let pick = |odd: usize| {
            let chunks = lines.chunks(4).skip(odd).step_by(2);
            chunks.flatten().map(|l| format!("{l}\n")).collect::<String>()
        };
        assert_eq!(first, pick(0));
        assert_eq!(second, pick(1));
        let sam = std::fs::read_to_string(path("u.sam")).unwrap();
        assert!(sam.contains("@RG\tID:g\tLB:l\tSM:s"));
        let records: Vec<Vec<&str>> =
            sam.lines().filter(|l| !l.starts_with('@')).map(|l| l.split('\t').collect()).collect();
        assert_eq!(records.len(), 200);
        assert_eq!((records[0][1], records[1][1]), ("77", "141"));
        assert_eq!((records[0][9], records[0][10]), (lines[1], lines[3]));
        assert_eq!(records[0][11], "RG:Z:g");
    }
}
