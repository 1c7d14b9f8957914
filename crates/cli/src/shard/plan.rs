//! `shard plan`: scans the input and cuts it into shards.

use std::cell::RefCell;
use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Parser;
use seqloom_align::index::{self, IndexPaths};
use seqloom_align::{CohortStart, CutRules, Scanned, scan};
use seqloom_io::reads::{InputBlock, RestartPoint};
use seqloom_io::{AtomicFile, Fingerprint};
use seqloom_prep::input::headers::MergeError;
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::pool::Interrupted;
use seqloom_terminal::error::UnusableFile;
use seqloom_terminal::{Console, UsageError};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::current_folder;
use super::error::ShardError;
use super::folder::{
    HEAD, HEADER, PLAN, check_program, make_folders, restart_file, restart_name, shard_name,
};
use super::plan_file::{
    PlanFile, PlannedFile, PlannedShard, SCHEMA, ShardEnd, Shares, shard, shards,
};
use super::sealed::{hex, sealed_json, unsealed_json};
use super::unsupported;
use crate::align::AlignArguments;
use crate::align::checks;
use crate::align::job::FinishInputs;
use crate::align::lanes::LaneSpecs;
use crate::align::opened::{OpenLane, OpenLanes, Start};
use crate::host;
use crate::identity::program;
use crate::output::arguments::bases;
use crate::output::files::OutputFiles;
use crate::output::run::Run;
use crate::output::{read_error, write_error};

/// Bases of reads whose ends are marked in one part, about.
pub(super) const PART_BASES: u64 = 5_000_000_000;
/// Most parts that read ends are marked in.
const MOST_PARTS: u64 = 16;
/// Bases of reads whose records are one range of the output, about.
pub(super) const RANGE_BASES: u64 = 1_500_000_000;
/// Most ranges that are made unless more are requested.
const MOST_RANGES: u64 = 512;

/// Text between two restart points in gzip: inflating that much takes a tenth of a second or two,
/// and a point has some 10 KiB.
pub(super) const RESTART_EVERY_BYTES: u64 = 64 << 20;
/// Text that the scan is after a place when all restart points before that are known: a point
/// is reported once the next 64 KiB of text have shown that it is one.
const SETTLED_BYTES: u64 = 1 << 20;
/// Bases of a shard unless requested otherwise.
pub(super) const SHARD_BASES: NonZeroU64 = NonZeroU64::new(2_000_000_000).unwrap();

/// Options of `shard plan`: those of `align`, but for what concerns the output.
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArguments {
    /// The run directory, which all processes can reach; made if it is missing
    #[arg(long = "run", value_name = "RUN", help_heading = "Shards")]
    folder: PathBuf,
    /// Number of shards; at most one for each cohort (-K)
    #[arg(long, value_name = "N", conflicts_with = "shard_bases", help_heading = "Shards")]
    shards: Option<NonZeroUsize>,
    /// Bases of a shard, such as 500M (K, M and G are powers of 1000); shards of so many can be
    /// aligned while the input is still scanned
    #[arg(long, value_name = "BASES", default_value = "2G", value_parser = bases,
          help_heading = "Shards")]
    shard_bases: NonZeroU64,
    /// Ranges that the output is finished in [default: one for 1.5 Gbp of reads]
    #[arg(long, value_name = "N", help_heading = "Shards")]
    ranges: Option<NonZeroUsize>,
    /// Parts that read ends are marked in, 1 to 16 [default: one for 5 Gbp of reads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_PARTS),
          help_heading = "Shards")]
    parts: Option<u64>,
    /// Text between two restart points in gzip
    #[arg(long, value_name = "SIZE", hide = true)]
    restart_step: Option<ByteSize>,
    #[command(flatten)]
    pub(super) align: AlignArguments,
}

/// How input and output are cut.
pub(super) struct Cuts {
    pub(super) shards: Option<NonZeroUsize>,
    pub(super) shard_bases: NonZeroU64,
    pub(super) ranges: Option<NonZeroUsize>,
    pub(super) parts: Option<u64>,
    /// Bases of a part, where their number is not given.
    pub(super) part_bases: u64,
    /// Bases of a range, where their number is not given.
    pub(super) range_bases: u64,
    pub(super) restart_every_bytes: u64,
}

impl Cuts {
    /// Size of a shard, in cohorts of so many bases.
    fn shares(&self, cohort_bases: u64) -> Shares {
        let each = self.shard_bases.get() / cohort_bases;
        match self.shards {
            Some(count) => Shares::Count(count.get()),
            None => Shares::Cohorts(usize::try_from(each).unwrap_or(usize::MAX).max(1)),
        }
    }
}

/// Inputs of a plan.
pub(super) struct Request<'a> {
    /// The run directory.
    pub(super) folder: &'a Path,
    /// Folder that `command` was given in.
    pub(super) here: &'a Path,
    pub(super) command: Vec<String>,
    /// Its options, with absolute paths of inputs.
    pub(super) align: &'a AlignArguments,
    pub(super) files: Vec<PlannedFile>,
    pub(super) cuts: Cuts,
    /// Name of the command, for messages.
    pub(super) who: &'static str,
}

/// Runs the command.
pub(super) fn run(arguments: &PlanArguments, console: &Console) -> seqloom_terminal::Result<()> {
    const WHO: &str = "a run of several processes";
    if arguments.align.run.quiet {
        console.be_quiet();
    }
    unsupported::refuse_options_of_gather(&arguments.align)?;
    unsupported::refuse_options(&arguments.align, WHO)?;
    let folder = std::path::absolute(&arguments.folder).map_err(write_error(&arguments.folder))?;
    let here = current_folder()?;
    let command = words_behind(2)?;
    let mut align = parsed(&command)?.align;
    align.rebase(&here);
    checks::check_options(&align, &LaneSpecs::of(&align)?)?;
    let files = files(&align)?;
    if let Some(plan) = existing(&folder)? {
        let is_same = plan.command == command && Path::new(&plan.folder) == here;
        if !is_same || plan.files != files {
            return Err(ShardError::OtherRun { path: folder.join(PLAN) }.into());
        }
        console.info("shard: the plan is made already");
        return Ok(());
    }
    let cuts = Cuts {
        shards: arguments.shards,
        shard_bases: arguments.shard_bases,
        parts: arguments.parts,
        part_bases: PART_BASES,
        ranges: arguments.ranges,
        range_bases: RANGE_BASES,
        restart_every_bytes: arguments.restart_step.map_or(RESTART_EVERY_BYTES, |step| step.0),
    };
    let (folder, here) = (folder.as_path(), here.as_path());
    let request = Request { folder, here, command, align: &align, files, cuts, who: WHO };
    make(request, console)
}

/// Scans the input and publishes the plan.
///
/// # Errors
/// Malformed input above all.
pub(super) fn make(request: Request<'_>, console: &Console) -> seqloom_terminal::Result<()> {
    let Request { folder, here, command, align, files, cuts, who } = request;
    make_folders(folder)?;
    let index = index::check(&align.reference)?;
    let run = Run::new(&align.run, console)?;
    let start = Start::Scan { restart_every_bytes: cuts.restart_every_bytes };
    let lanes = LaneSpecs::of(align)?.lanes;
    let mut opened = OpenLanes::open(align, lanes, &index, start)?;
    opened.warn(console);
    for lane in &opened.lanes {
        unsupported::refuse_records(&lane.source, who)?;
        unsupported::advise(&lane.source, console);
    }
    OutputFiles::of_others(&align.output, opened.header.references())?;
    drop(FinishInputs::prepare(align, &mut opened.header, console)?);
    let floor_bytes = opened.demand(align, &index, run.threads, 0).floor_bytes();
    let OpenLanes { lanes, first, header, .. } = opened;
    let header_bytes = header.encode().map_err(MergeError::Header)?;
    // What is known before the input is scanned.
    let head = PlanFile {
        schema: SCHEMA.to_owned(),
        program: program(),
        folder: here.display().to_string(),
        command,
        header_sha256: hex(&Sha256::digest(&header_bytes)),
        files,
        threads: run.threads.get(),
        align_floor_bytes: floor_bytes,
        ..PlanFile::default()
    };
    publish_bytes(&folder.join(HEADER), &header_bytes)?;
    publish_json(&folder.join(HEAD), &head)?;
    let publisher = Publisher::new(folder, &lanes, cuts.shares(align.input.cohort_bases));
    let scanned = scan_first(&lanes, first, align, (&run, &publisher))?;
    let bases = scanned.starts.len() as u64 * align.input.cohort_bases;
    let ranges = bases.div_ceil(cuts.range_bases).clamp(1, MOST_RANGES) as usize;
    let parts = bases.div_ceil(cuts.part_bases).clamp(1, MOST_PARTS);
    let plan = PlanFile {
        reads: scanned.reads,
        templates: scanned.templates,
        parts: cuts.parts.unwrap_or(parts) as usize,
        ranges: cuts.ranges.map_or(ranges, NonZeroUsize::get),
        shards: publisher.finish(&scanned)?,
        ..head
    };
    publish_json(&folder.join(PLAN), &plan)?;
    run.close(&format!(
        "shard: {} reads in {} shards, {} ranges",
        plan.reads,
        plan.shards.len(),
        plan.ranges
    ));
    Ok(())
}

/// Publishes shards as the scan finds them.
struct Publisher<'a> {
    folder: &'a Path,
    lanes: &'a [OpenLane],
    shares: Shares,
    found: RefCell<Found>,
}

/// Shards that the scan has found so far.
#[derive(Default)]
struct Found {
    starts: Vec<CohortStart>,
    /// Restart points of each file.
    points: Vec<Vec<RestartPoint>>,
    published: Vec<PlannedShard>,
    failure: Option<seqloom_terminal::Error>,
}

impl<'a> Publisher<'a> {
    fn new(folder: &'a Path, lanes: &'a [OpenLane], shares: Shares) -> Self {
        Self { folder, lanes, shares, found: RefCell::default() }
    }

    /// Takes note of cohorts; an end where what follows from them cannot be published.
    fn tell(&self, starts: &[CohortStart]) -> Result<(), Interrupted> {
        let mut found = self.found.borrow_mut();
        found.take(starts, self.lanes);
        let Shares::Cohorts(each) = self.shares else { return Ok(()) };
        while let Some(shard) = found.next_settled(each) {
            if let Err(error) = found.publish(shard, self.folder) {
                found.failure = Some(error);
                return Err(Interrupted);
            }
        }
        Ok(())
    }

    /// Publishes what is left, when all is known.
    fn finish(self, scanned: &Scanned) -> seqloom_terminal::Result<Vec<PlannedShard>> {
        let mut found = self.found.into_inner();
        found.take(&[], self.lanes);
        let &Scanned { reads, templates, .. } = scanned;
        let end = ShardEnd { cohort: None, reads, templates };
        let all = shards(&scanned.starts, end, self.shares);
        for shard in all.into_iter().skip(found.published.len()) {
            found.publish(shard, self.folder)?;
        }
        Ok(found.published)
    }
}

impl Found {
    fn take(&mut self, starts: &[CohortStart], lanes: &[OpenLane]) {
        self.starts.extend_from_slice(starts);
        let new = restart_points(lanes);
        self.points.resize_with(new.len(), Vec::new);
        self.points.iter_mut().zip(new).for_each(|(all, new)| all.extend(new));
    }

    /// The next shard of `each` cohorts, if it is known where it ends, and the restart points in
    /// front of it are.
    fn next_settled(&self, each: usize) -> Option<PlannedShard> {
        let index = self.published.len();
        let start = self.starts.get(index * each)?;
        let next = self.starts.get((index + 1) * each)?;
        let mut places = self.starts.last()?.places.iter().zip(&start.places);
        let is_settled = places.all(|(last, place)| last.text >= place.text + SETTLED_BYTES);
        is_settled.then(|| shard(start, next.into()))
    }

    /// Publishes the next shard and, for each file, the last restart point before its first
    /// read.
    fn publish(&mut self, mut shard: PlannedShard, folder: &Path) -> seqloom_terminal::Result<()> {
        let index = self.published.len();
        for (lane, (place, points)) in shard.places.iter_mut().zip(&self.points).enumerate() {
            let Some(point) = place.point_in_front(points) else { continue };
            let bytes = restart_file(point);
            publish_bytes(&folder.join(restart_name(index, lane)), &bytes)?;
            *place = place.reached_from(point, hex(&Sha256::digest(&bytes)));
        }
        publish_json(&folder.join(shard_name(index)), &shard)?;
        self.published.push(shard);
        Ok(())
    }
}

/// The restart points of each file.
fn restart_points(lanes: &[OpenLane]) -> Vec<Vec<RestartPoint>> {
    let of_lane = |lane: &OpenLane| {
        let source = &lane.source;
        (0..source.files()).map(|file| source.take_restart_points(file)).collect::<Vec<_>>()
    };
    lanes.iter().flat_map(of_lane).collect()
}

/// Scans the only lane.
fn scan_first(
    lanes: &[OpenLane],
    first: Vec<Vec<InputBlock>>,
    align: &AlignArguments,
    (run, publisher): (&Run<'_>, &Publisher<'_>),
) -> seqloom_terminal::Result<Scanned> {
    let (Some(OpenLane { source, pairing, tags, .. }), Some(first)) =
        (lanes.first(), first.into_iter().next())
    else {
        return Err(UsageError("there is no input".to_owned()).into());
    };
    let watch = |starts: &[CohortStart]| {
        let watched = run.watch("scan", (source.bytes_read(), source.total_bytes()), 0);
        publisher.tell(starts).and(watched)
    };
    let rules = CutRules {
        pairing: *pairing,
        cohort_bases: align.input.cohort_bases,
        umi: tags.umi.as_ref(),
    };
    let scanned = scan(source, first, rules, run.threads, &watch);
    match publisher.found.borrow_mut().failure.take() {
        Some(error) => Err(error),
        None => Ok(scanned?),
    }
}

/// The words of the command line after the program's name and `commands` more, without those of a
/// host.
///
/// # Errors
/// A word that is not valid UTF-8.
pub(super) fn words_behind(commands: usize) -> seqloom_terminal::Result<Vec<String>> {
    let text = |word: std::ffi::OsString| {
        word.into_string().map_err(|word| {
            let word = word.display();
            UsageError(format!("'{word}' is not valid UTF-8, which a plan requires"))
        })
    };
    let words = std::env::args_os().map(text).collect::<Result<Vec<_>, _>>()?.into_iter();
    Ok(words.filter(|word| !host::is_option(word)).skip(1 + commands).collect())
}

/// The command line that a plan keeps.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct PlannedCommand {
    #[command(flatten)]
    plan: PlanArguments,
}

/// The words that followed `seqloom shard plan`, as options.
///
/// # Errors
/// They are none.
pub(super) fn parse_plan(words: &[String]) -> Result<PlanArguments, clap::Error> {
    PlannedCommand::try_parse_from(words).map(|parsed| parsed.plan)
}

/// The options once more, to change paths in them.
///
/// # Errors
/// They are none.
pub(super) fn parsed(command: &[String]) -> seqloom_terminal::Result<PlanArguments> {
    parse_plan(command).map_err(|error| UsageError(error.to_string()).into())
}

/// Every file that the bytes of the output depend on.
///
/// # Errors
/// One that cannot be read twice.
pub(super) fn files(align: &AlignArguments) -> seqloom_terminal::Result<Vec<PlannedFile>> {
    let index = IndexPaths::new(&align.reference);
    let there = index.all().into_iter().filter(|path| path.exists());
    let uses = align.output.reference_use(&align.recalibration, align.fasta().is_file());
    let fasta = uses.is_any().then(|| align.fasta().to_owned());
    let inputs = align.inputs().chain(align.recalibration.files()).cloned();
    let planned = |path: PathBuf| {
        let name = path.display().to_string();
        let fingerprint = match path == Path::new("-") {
            true => None,
            false => Fingerprint::of(&path).map_err(|error| UnusableFile::read(&path, &error))?,
        };
        let Some(fingerprint) = fingerprint else {
            let text = format!("{name} is not a regular file; it is read more than once");
            return Err(UsageError(text).into());
        };
        Ok(PlannedFile { path: name, fingerprint: fingerprint.to_string() })
    };
    there.chain(fasta).chain(inputs).map(planned).collect()
}

/// The plan that is there already.
///
/// # Errors
/// It is none.
pub(super) fn existing(folder: &Path) -> seqloom_terminal::Result<Option<PlanFile>> {
    let path = folder.join(PLAN);
    match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(write_error(&path)(error).into()),
        Ok(bytes) => {
            check_program(&path, &bytes)?;
            let plan = unsealed_json(&bytes).map(Some);
            plan.map_err(|problem| ShardError::NoPlan { path, problem }.into())
        }
    }
}

/// Publishes a value as sealed JSON.
fn publish_json(path: &Path, value: &impl Serialize) -> seqloom_terminal::Result<()> {
    publish_bytes(path, sealed_json(value)?.as_bytes())
}

/// Publishes a file, which may be there with the same bytes.
fn publish_bytes(path: &Path, bytes: &[u8]) -> seqloom_terminal::Result<()> {
    let file = AtomicFile::create(path)?;
    file.file().write_all(bytes).map_err(write_error(path))?;
    if !file.commit_new()? && std::fs::read(path).map_err(read_error(path))? != bytes {
        return Err(ShardError::OtherRun { path: path.to_owned() }.into());
    }
    Ok(())
}
