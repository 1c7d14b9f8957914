//! `seqloom signal check`: whether files are whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::signal::SignalRead;
use seqloom_signal::flow::inputs::{self, ALL_SUFFIXES};
use seqloom_signal::flow::pass::{Components, Stage, StoredRead, Tally, Work};
use seqloom_signal::flow::{Fault, Loss, Sequential, file_fault};
use seqloom_signal::operations::SeenReads;
use seqloom_signal::store::{Cursor, DecodeScratch, FrameBatch, SignalStore, StoreError};
use seqloom_terminal::Console;

use super::arguments::RunArguments;
use super::error::PassError;
use super::pass::Pass;

/// Arguments of `seqloom signal check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Looks at the header, the first read and the end of each file, with --full at \
    every read, and\nwhether an id is there twice.\nExit code 0 if all files are whole, 3 if one \
    is not."
)]
pub(crate) struct CheckArguments {
    /// SLOW5, BLOW5, FAST5 and POD5 files, and folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,
    /// Decode every read, and find ids that are there more than once
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    run: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &CheckArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let found = inputs::find(&arguments.inputs, &ALL_SUFFIXES)?;
    arguments.run.refuse_same_file(found.paths.iter().map(PathBuf::as_path), [])?;
    let pass = Pass::new(&arguments.run, console);
    pass.tell_apple_double(found.apple_double);
    let mut whole = 0;
    for path in &found.paths {
        let faults_before = pass.faults();
        check(&pass, path, arguments.full)?;
        whole += u64::from(pass.faults() == faults_before);
    }
    let looked_at = match arguments.full {
        true => format!("{} reads decoded", pass.reads()),
        false => "by header, first read and end (--full decodes every read)".to_owned(),
    };
    let files = found.paths.len();
    pass.finish_saying(&format!("check: {whole} of {files} files whole, {looked_at}"))
}

/// Books what is wrong with a file.
fn check(pass: &Pass<'_>, path: &Path, full: bool) -> Result<(), PassError> {
    match pass.open(path) {
        Err(error) => pass.lose_file(error),
        Ok(store) if full => check_all(pass, store),
        Ok(store) => quick_check(&store)?.map_or(Ok(()), |fault| pass.lose(&fault)),
    }
}

/// Decodes every read of a file, and books those whose id was there before.
fn check_all(pass: &Pass<'_>, store: Arc<dyn SignalStore>) -> Result<(), PassError> {
    let path = store.path().clone();
    let has_records = store.format().has_records();
    let mut seen = SeenReads::default();
    let stage = DecodeAll { components: &pass.components };
    pass.run("check", Sequential::of(store), &stage, |decoded| {
        pass.book(&decoded.tally)?;
        for (read_id, offset) in decoded.reads() {
            let Some(first) = seen.add(read_id, offset) else { continue };
            let at = if has_records { format!(", at byte {first}") } else { String::new() };
            pass.lose(&Fault {
                path: path.clone(),
                read_id: Some(read_id.to_vec()),
                offset: has_records.then_some(offset),
                reason: format!(
                    "a read of this id was there before{at}; `seqloom signal convert \
                     --deduplicate` writes reads that are the same once"
                ),
                loss: Loss::Read,
            })?;
        }
        Ok(())
    })
}

/// Looks at the first read and the end of a file.
fn quick_check(store: &Arc<dyn SignalStore>) -> Result<Option<Fault>, StoreError> {
    match store.check_end() {
        Ok(()) => {}
        Err(error) if error.is_malformed() => return Ok(Some(file_fault(error))),
        Err(error) => return Err(error),
    }
    first_fault(store.as_ref())
}

/// Problem of the first read of a file.
pub(super) fn first_fault(store: &dyn SignalStore) -> Result<Option<Fault>, StoreError> {
    let mut batch = FrameBatch::default();
    let mut read = SignalRead::default();
    let has_reads = store.next(&mut Cursor::default(), &mut batch)?;
    let Some(frame) = batch.frames.first() else {
        return Ok(batch.faults.into_iter().next().filter(|_| has_reads));
    };
    let scratch = &mut DecodeScratch::default();
    let decoded = store.decode(scratch, &batch, frame, &mut read);
    let fault =
        |error| StoredRead { store, batch: &batch, frame }.fault(scratch, &mut read, &error);
    Ok(decoded.err().map(fault))
}

/// Decodes every read and keeps none.
pub(super) struct DecodeAll<'a> {
    pub(super) components: &'a Components,
}

/// Ids and places of the reads of a batch that could be decoded, in its order.
#[derive(Default)]
pub(super) struct DecodedReads {
    pub(super) tally: Tally,
    ids: Vec<u8>,
    /// End of each id, and place of the read in the file.
    places: Vec<(usize, u64)>,
}

impl DecodedReads {
    fn reads(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let starts = std::iter::once(0).chain(self.places.iter().map(|(end, _)| *end));
        starts.zip(&self.places).map(|(start, (end, place))| (&self.ids[start..*end], *place))
    }
}

impl Stage for DecodeAll<'_> {
    type Scratch = (DecodeScratch, SignalRead);
    type Output = DecodedReads;

    fn scratch(&self) -> Self::Scratch {
        Self::Scratch::default()
    }

    fn process(
        &self,
        (scratch, read): &mut Self::Scratch,
        work: &Work,
        DecodedReads { tally, ids, places }: &mut DecodedReads,
    ) {
        tally.clear();
        ids.clear();
        places.clear();
        tally.faults.extend_from_slice(&work.batch.faults);
        for stored in work.reads() {
            let StoredRead { store, batch, frame } = stored;
            read.clear();
            let decode = || store.decode(scratch, batch, frame, read);
            let decoded = self.components.decode.time(decode);
            self.components.inflate.add(scratch.take_inflate_time());
            match decoded {
                Ok(()) => {
                    tally.reads += 1;
                    ids.extend_from_slice(&read.read_id);
                    places.push((ids.len(), frame.offset));
                }
                Err(error) => tally.faults.push(stored.fault(scratch, read, &error)),
            }
        }
    }
}
