//! Several inputs to one header: what `merge` and `convert` have in common.

use std::path::PathBuf;
use std::sync::Arc;

use seqloom_format::signal::SignalHeader;
use seqloom_signal::flow::pass::{Components, Stage, Work};
use seqloom_signal::flow::{Fault, Input, Loss, Numbers};
use seqloom_signal::operations::{HeaderUnion, UnionError, UnionOptions};
use seqloom_signal::store::{self, OpenOptions, SignalStore, StoreError};

use super::error::{JoinError, PassError};
use super::pass::Pass;

/// Files that stay open between the look at their headers and their turn. More are opened again:
/// the system's usual limit is 1,024.
const MAX_OPEN: usize = 64;

/// Inputs and the header that their reads have in common.
pub(super) struct Joined {
    /// The header.
    pub(super) header: SignalHeader,
    /// Read groups of each input in it.
    pub(super) groups: Vec<Arc<[u32]>>,
    /// The inputs that can be read.
    pub(super) inputs: Vec<Input>,
}

/// Opens a file; all workers do.
struct OpenFiles<'a> {
    paths: &'a [PathBuf],
    components: &'a Components,
    options: &'a OpenOptions,
}

type Opened = Result<Arc<dyn SignalStore>, StoreError>;

impl Stage for OpenFiles<'_> {
    type Scratch = ();
    type Output = Option<Opened>;

    fn scratch(&self) {}

    fn process(&self, (): &mut (), work: &Work, output: &mut Option<Opened>) {
        *output = self
            .paths
            .get(work.input)
            .map(|path| self.components.open.time(|| store::open(path, self.options)));
    }
}

/// Treatment of a file that does not fit the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    /// Nothing is joined.
    Refuse,
    /// It is booked as lost.
    Lose,
}

/// Looks at the headers of all files, in order. Files that cannot be read are booked as lost.
pub(super) fn join(
    pass: &Pass<'_>,
    paths: &[PathBuf],
    options: UnionOptions,
    unfit: Unfit,
) -> Result<Joined, PassError> {
    let mut union = HeaderUnion::new(options);
    let (mut groups, mut inputs) = (Vec::new(), Vec::new());
    let mut only = None;
    let stage = OpenFiles { paths, components: &pass.components, options: &pass.options };
    let numbers = Numbers { count: paths.len(), next: 0 };
    pass.run("headers", numbers, &stage, |opened| {
        let store = match opened.take() {
            None => return Ok(()),
            Some(Err(error)) => return pass.lose_file(error),
            Some(Ok(store)) => store,
        };
        if paths.len() == 1 && options.keep_order {
            only = Some(store.header().clone());
        } else {
            let path = store.path().clone();
            match union.add(&path, store.header()) {
                Ok(of_file) => groups.push(of_file),
                Err(error) if unfit == Unfit::Lose => return pass.lose(&fault(&error)),
                Err(error) => return Err(JoinError::from(error).into()),
            }
        }
        pass.report_changed(store.as_ref());
        for warning in union.take_warnings() {
            pass.warn(&warning);
        }
        let keep = inputs.len() < MAX_OPEN;
        let path = store.path().to_path_buf();
        inputs.push(if keep { Input::Open(store) } else { Input::Path(path) });
        Ok(())
    })?;
    if inputs.is_empty() {
        return Err(JoinError::Nothing(paths.len()).into());
    }
    let header = match only {
        Some(header) => without_auxiliary_unless(options.keep_auxiliary, header),
        None => union.into_header(),
    };
    Ok(Joined { header, groups, inputs })
}

/// A file that does not fit, as a loss.
fn fault(error: &UnionError) -> Fault {
    Fault {
        path: Arc::from(error.path.as_path()),
        read_id: None,
        offset: None,
        reason: error.misfit.to_string(),
        loss: Loss::File,
    }
}

/// The header as it is, or without auxiliary fields.
pub(super) fn without_auxiliary_unless(keep: bool, mut header: SignalHeader) -> SignalHeader {
    if !keep {
        header.auxiliary.clear();
    }
    header
}
