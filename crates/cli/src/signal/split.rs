//! `seqloom signal split`: one file to several, by read groups, by numbers of reads, into a number
//! of files, or by categories. All files get their names at the end, or none does.

use std::fs;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::signal::SignalHeader;
use seqloom_format::slow5::SignalCompression;
use seqloom_io::{AtomicFile, OutputError, StagedFolder, remove_leftovers, remove_stale};
use seqloom_signal::flow::Sequential;
use seqloom_signal::flow::inputs::{self, ALL_SUFFIXES};
use seqloom_signal::operations::{
    DemuxError, DemuxOptions, DemuxTable, Encoded, Encoding, Route, Transcode,
};
use seqloom_signal::store::{Cursor, FrameBatch, SignalStore, StoreError};
use seqloom_terminal::error::UnusableFile;
use seqloom_terminal::{Console, UsageError};

use super::arguments::{Format, FormatArguments, LosslessArguments, RunArguments};
use super::error::PassError;
use super::join::without_auxiliary_unless;
use super::pass::{Pass, RecordSink};
use crate::output::{read_error, write_error};

/// Ways to split that want no table, so that options of the table would have no effect.
const NO_TABLE: [&str; 3] = ["groups", "reads", "files"];

/// Arguments of `seqloom signal split`.
#[derive(Debug, clap::Args)]
#[command(
    group(clap::ArgGroup::new("how").required(true).args(["groups", "reads", "files", "demux"])),
    after_help = "Examples:\n  seqloom signal split -g all.blow5 -d by_run\n  \
        seqloom signal split -r 4000 run.blow5 -d pieces\n  \
        seqloom signal split -x barcode_summary.txt run.blow5 -d by_barcode"
)]
pub(crate) struct SplitArguments {
    /// SLOW5, BLOW5, FAST5 and POD5 files, and folders of them, each split by itself
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,
    /// Folder for the files; must be new or empty. They appear when all are complete
    #[arg(short = 'd', long, value_name = "DIR")]
    out_dir: PathBuf,
    /// One file per read group
    #[arg(short, long)]
    groups: bool,
    /// Reads per file
    #[arg(short, long, value_name = "N")]
    reads: Option<NonZeroU64>,
    /// Number of files, of equally many reads
    #[arg(short, long, value_name = "N")]
    files: Option<NonZeroU64>,
    /// One file per category; a table with tabs says which reads are in which
    #[arg(short = 'x', long, value_name = "TSV")]
    demux: Option<PathBuf>,
    /// Column of the categories
    #[arg(
        long,
        visible_alias = "demux-code-hdr",
        value_name = "NAME",
        default_value = "barcode_arrangement",
        conflicts_with_all = NO_TABLE
    )]
    demux_code: String,
    /// Column of the read ids
    #[arg(
        long,
        visible_alias = "demux-rid-hdr",
        value_name = "NAME",
        default_value = "parent_read_id",
        conflicts_with_all = NO_TABLE
    )]
    demux_rid: String,
    /// Category for reads that the table does not name [default: they are lost]
    #[arg(short = 'm', long, value_name = "NAME", conflicts_with_all = NO_TABLE)]
    demux_missing: Option<String>,
    /// Category for reads of several categories [default: they go to each]
    #[arg(short = 'u', long, value_name = "NAME", conflicts_with_all = NO_TABLE)]
    demux_uniq: Option<String>,
    #[command(flatten)]
    lossless: LosslessArguments,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    run: RunArguments,
}

/// How a file is split.
enum How {
    Groups,
    Reads(u64),
    Files(u64),
    Categories(DemuxTable),
}

/// Runs the command.
pub(super) fn run(arguments: &SplitArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let format = arguments.format.to.unwrap_or(Format::Blow5);
    let encoding = arguments.format.encoding(format, SignalCompression::SvbZd)?;
    let how = how(arguments)?;
    let found = inputs::find(&arguments.inputs, &ALL_SUFFIXES)?;
    let inputs = found.paths.iter().chain(&arguments.demux).map(PathBuf::as_path);
    arguments.run.refuse_same_file(inputs, [])?;
    make_folder(&arguments.out_dir)?;
    let pass = Pass::new(&arguments.run, console);
    let staged = StagedFolder::create(&arguments.out_dir).map_err(OutputError::from)?;
    pass.tell_apple_double(found.apple_double);
    for path in &found.paths {
        let store = match pass.open(path) {
            Ok(store) => store,
            Err(error) if found.paths.len() > 1 => {
                pass.lose_file(error)?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        check_groups(store.as_ref(), &how)?;
        let keep = arguments.lossless.lossless;
        let header = SignalHeader {
            version: SignalHeader::default().version,
            ..without_auxiliary_unless(keep, store.header().clone())
        };
        let parts = Parts::new(staged.path(), path, encoding);
        split(&pass, store, &header, &how, &parts)?;
    }
    let lost = pass.stage_lost()?;
    let old = lost.as_ref().filter(|it| !it.is_direct()).map(|it| it.final_path().to_owned());
    remove_stale(old.as_slice()).map_err(OutputError::from)?;
    staged.publish().map_err(OutputError::from)?;
    lost.map_or(Ok(()), AtomicFile::commit).map_err(OutputError::from)?;
    pass.finish("split")
}

fn how(arguments: &SplitArguments) -> seqloom_terminal::Result<How> {
    if let Some(path) = &arguments.demux {
        let text = fs::read(path).map_err(|error| UnusableFile::read(path, &error))?;
        let options = DemuxOptions {
            read_id_column: arguments.demux_rid.clone(),
            category_column: arguments.demux_code.clone(),
            several: arguments.demux_uniq.clone(),
            missing: arguments.demux_missing.clone(),
        };
        let bad = |error| bad_table(path, &error);
        return Ok(How::Categories(DemuxTable::parse(&text, &options).map_err(bad)?));
    }
    Ok(match (arguments.reads, arguments.files) {
        (Some(reads), _) => How::Reads(reads.get()),
        (_, Some(files)) => How::Files(files.get()),
        _ => How::Groups,
    })
}

/// Line 0 is the command line, see [`DemuxError::BadCategory`].
fn bad_table(path: &Path, error: &DemuxError) -> seqloom_terminal::Error {
    match error {
        DemuxError::BadCategory { line: 0, category } => {
            UsageError(format!("category {category:?} cannot be part of a file name")).into()
        }
        _ => StoreError::Malformed { path: path.to_owned(), reason: error.to_string() }.into(),
    }
}

/// Makes the folder; what is in one that is there must not be mixed with what we write. What runs
/// that were killed have left is removed.
fn make_folder(path: &Path) -> seqloom_terminal::Result<()> {
    fs::create_dir_all(path).map_err(write_error(path))?;
    let folder = path.display();
    if let Some(busy) = remove_leftovers(path).map_err(OutputError::from)? {
        let text = format!("{folder} is in use: another split writes to {}", busy.display());
        return Err(UsageError(text).into());
    }
    if let Some(entry) = fs::read_dir(path).map_err(read_error(path))?.next() {
        let name = entry.map_err(read_error(path))?.file_name();
        let text = format!("{folder} is not empty: {} is in it", Path::new(&name).display());
        return Err(UsageError(text).into());
    }
    Ok(())
}

fn check_groups(store: &dyn SignalStore, how: &How) -> Result<(), UsageError> {
    let (path, groups) = (store.path().display(), store.header().read_groups);
    match how {
        How::Groups if groups == 1 => {
            Err(UsageError(format!("{path} has a single read group; there is nothing to split")))
        }
        How::Reads(_) | How::Files(_) if groups > 1 => {
            Err(UsageError(format!("{path} has {groups} read groups; split these first, with -g")))
        }
        _ => Ok(()),
    }
}

/// The files that one input is split into.
struct Parts {
    folder: PathBuf,
    stem: String,
    suffix: &'static str,
    encoding: Encoding,
}

impl Parts {
    fn new(folder: &Path, input: &Path, encoding: Encoding) -> Self {
        let stem = input.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let suffix = if encoding == Encoding::Slow5 { "slow5" } else { "blow5" };
        Self { folder: folder.to_owned(), stem, suffix, encoding }
    }

    /// Makes the file of one part, without its name yet.
    ///
    /// # Errors
    /// Those of [`Parts::path`]; a file that cannot be made.
    fn create(
        &self,
        part: &dyn std::fmt::Display,
        header: &SignalHeader,
    ) -> Result<RecordSink, PassError> {
        RecordSink::create(&self.path(part)?, self.encoding, header)
    }

    /// # Errors
    /// When an earlier input had a file of that name: of two inputs of one name in two folders the
    /// second would replace the first.
    fn path(&self, part: &dyn std::fmt::Display) -> Result<PathBuf, PassError> {
        let Self { folder, stem, suffix, .. } = self;
        let name = format!("{stem}_{part}.{suffix}");
        let path = folder.join(&name);
        if path.exists() {
            let text = format!("two inputs would be split into {name}; split them apart");
            return Err(PassError::Usage(text));
        }
        Ok(path)
    }
}

fn split(
    pass: &Pass<'_>,
    store: Arc<dyn SignalStore>,
    header: &SignalHeader,
    how: &How,
    parts: &Parts,
) -> Result<(), PassError> {
    let route = match how {
        How::Groups => Route::ByGroup,
        How::Categories(table) => Route::ByCategory(table),
        How::Reads(_) | How::Files(_) => Route::Together(&[]),
    };
    let create = |part: &dyn std::fmt::Display, header: &SignalHeader| parts.create(part, header);
    let mut sinks = match how {
        How::Groups => {
            let groups = 0..header.read_groups;
            Sinks::Fixed(
                groups
                    .map(|group| create(&group, &group_header(header, group)))
                    .collect::<Result<_, _>>()?,
            )
        }
        How::Categories(table) => {
            let categories = table.categories.iter();
            Sinks::Fixed(
                categories.map(|category| create(category, header)).collect::<Result<_, _>>()?,
            )
        }
        How::Reads(reads) => Sinks::in_turn(*reads, 0, None),
        How::Files(files) => {
            let reads = count_reads(store.as_ref())?;
            Sinks::in_turn(reads / files, reads % files, Some(*files))
        }
    };
    let components = &pass.components;
    let encoding = parts.encoding;
    let stage = Transcode { route, ..Transcode::new(header, encoding, components) };
    pass.run("split", Sequential::of(store), &stage, |encoded| {
        pass.book(&encoded.tally)?;
        sinks.write(pass, encoded, how, &|part| create(&part, header))
    })?;
    sinks.publish(pass, &|part| create(&part, header))
}

/// The header of one read group alone.
fn group_header(header: &SignalHeader, group: u32) -> SignalHeader {
    let value = |values: &Vec<Vec<u8>>| values.get(group as usize).cloned().unwrap_or_default();
    let attributes =
        header.attributes.iter().map(|(name, values)| (name.clone(), vec![value(values)]));
    SignalHeader { read_groups: 1, attributes: attributes.collect(), ..header.clone() }
}

/// Reads of a file, as its records show without being decoded.
fn count_reads(store: &dyn SignalStore) -> Result<u64, StoreError> {
    let (mut cursor, mut batch, mut reads) = (Cursor::default(), FrameBatch::default(), 0);
    while store.next(&mut cursor, &mut batch)? {
        reads += batch.frames.len() as u64;
    }
    Ok(reads)
}

/// Makes the output with a number.
type Create<'a> = &'a dyn Fn(u64) -> Result<RecordSink, PassError>;

/// Where the reads go.
enum Sinks {
    /// All are open, and each read says which it goes to.
    Fixed(Vec<RecordSink>),
    /// One is open at a time; the next follows when it has all its reads.
    InTurn(Box<InTurn>),
}

struct InTurn {
    open: Option<RecordSink>,
    /// Reads of each output, and how many of the first ones have one more.
    reads: u64,
    longer: u64,
    /// How many there must be at the end.
    files: Option<u64>,
    /// Outputs made so far.
    made: u64,
    /// Reads that the open one still takes.
    room: u64,
}

impl Sinks {
    fn in_turn(reads: u64, longer: u64, files: Option<u64>) -> Self {
        Self::InTurn(Box::new(InTurn { open: None, reads, longer, files, made: 0, room: 0 }))
    }

    fn write(
        &mut self,
        pass: &Pass<'_>,
        encoded: &Encoded,
        how: &How,
        create: Create<'_>,
    ) -> Result<(), PassError> {
        let mut start = 0;
        for read in &encoded.reads {
            let record = &encoded.bytes[start..read.end];
            start = read.end;
            match self {
                Self::InTurn(sink) => sink.write(pass, record, create)?,
                Self::Fixed(sinks) if matches!(how, How::Groups) => {
                    sinks[read.group as usize].write(record)?;
                }
                Self::Fixed(sinks) => {
                    let Range { start, end } = read.categories;
                    for &category in &encoded.categories[start as usize..end as usize] {
                        sinks[usize::from(category)].write(record)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives all outputs their names.
    fn publish(self, pass: &Pass<'_>, create: Create<'_>) -> Result<(), PassError> {
        match self {
            Self::Fixed(sinks) => sinks.into_iter().try_for_each(|sink| sink.publish_part(pass)),
            Self::InTurn(mut sink) => {
                while sink.files.is_some_and(|files| sink.made < files) {
                    sink.turn(pass, create)?;
                }
                sink.open.map_or(Ok(()), |open| open.publish_part(pass))
            }
        }
    }
}

impl InTurn {
    fn write(
        &mut self,
        pass: &Pass<'_>,
        record: &[u8],
        create: Create<'_>,
    ) -> Result<(), PassError> {
        // A file that grows while it is split has its last reads in the last output.
        while self.room == 0 && self.files.is_none_or(|files| self.made < files) {
            self.turn(pass, create)?;
        }
        self.room = self.room.saturating_sub(1);
        self.open.as_mut().map_or(Ok(()), |open| open.write(record))
    }

    /// Ends the open output and opens the next.
    fn turn(&mut self, pass: &Pass<'_>, create: Create<'_>) -> Result<(), PassError> {
        if let Some(full) = self.open.take() {
            full.publish_part(pass)?;
        }
        self.open = Some(create(self.made)?);
        self.room = self.reads + u64::from(self.made < self.longer);
        self.made += 1;
        Ok(())
    }
}
