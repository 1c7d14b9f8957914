//! What `methylation`, `eventalign` and `train` say of what they called: on the console, and in the
//! report of `--json`.

use std::num::NonZeroUsize;

use seqloom_calling::flow::{CallAccount, CallTotals};
use seqloom_io::AtomicFile;
use seqloom_report::run::core_hours;
use seqloom_runtime::machine;
use seqloom_terminal::error::Bug;

use super::call_arguments::CallArguments;
use super::calling::Job;
use super::error::NothingCalled;
use super::pass::{Pass, Spent};

/// # Errors
/// [`NothingCalled`], which is no success with an empty file.
pub(super) fn refuse_nothing(account: &CallAccount) -> Result<(), NothingCalled> {
    let missed = account.skipped.values().filter(|it| !it.is_filter);
    match missed.max_by_key(|it| it.records) {
        Some(most) if account.called == 0 => Err(NothingCalled {
            records: account.missed(),
            missed: most.records,
            text: most.text.clone(),
            example: most.example.clone(),
        }),
        _ => Ok(()),
    }
}

/// Counts of the calls of one BAM.
#[derive(Clone, Copy)]
pub(super) struct Called<'a> {
    pub(super) arguments: &'a CallArguments,
    pub(super) job: &'a Job,
    pub(super) totals: &'a CallTotals,
}

/// Says what was called and what was not, here and in the report of `--json`, which is still to get
/// its name.
pub(super) fn tell(
    what: &str,
    pass: &Pass<'_>,
    called: &[Called<'_>],
) -> seqloom_terminal::Result<Option<AtomicFile>> {
    for Called { arguments, totals, .. } in called {
        let account = &totals.account;
        for (key, it) in &account.skipped {
            let (records, text, example) = (it.records, &it.text, &it.example);
            pass.info(&format!("{records} records skipped, {key}: {text} (first: {example})"));
        }
        let of = match called.len() {
            1 => String::new(),
            _ => format!(" of {}", arguments.bam.display()),
        };
        pass.info(&format!(
            "{what}: {} of {} records{of} called, {} bases, {} samples",
            account.called, totals.records, account.bases, account.samples
        ));
    }
    let Some(path) = called.first().and_then(|it| it.arguments.json.as_ref()) else {
        return Ok(None);
    };
    let report = serde_json::to_string_pretty(&report(pass, called)).map_err(Bug::new)? + "\n";
    crate::output::stage_text(path, &report).map(Some)
}

fn report(pass: &Pass<'_>, called: &[Called<'_>]) -> serde_json::Value {
    let mut account = CallAccount::default();
    called.iter().for_each(|it| account.merge(&it.totals.account));
    let skipped: serde_json::Map<_, _> = account
        .skipped
        .iter()
        .map(|(&key, it)| {
            let value = serde_json::json!({
                "records": it.records, "text": it.text, "example": it.example,
                "is_filter": it.is_filter,
            });
            (key.to_owned(), value)
        })
        .collect();
    let sum = |of: fn(&Called<'_>) -> u64| called.iter().map(of).sum::<u64>();
    let inputs: Vec<_> = called
        .iter()
        .flat_map(|it| [&it.arguments.bam, &it.arguments.reference])
        .map(|path| path.display().to_string())
        .collect();
    let seconds: serde_json::Map<_, _> = pass
        .component_seconds()
        .into_iter()
        .map(|(name, seconds)| (name.to_owned(), seconds.into()))
        .collect();
    let Spent { wall_s, cpu_s } = pass.spent();
    let threads: NonZeroUsize = pass.threads;
    serde_json::json!({
        "schema": seqloom_report::run::SCHEMA,
        "program": format!("seqloom {}", env!("CARGO_PKG_VERSION")),
        "command": crate::host::command_line(),
        "inputs": inputs,
        "output": called.first().map(|it| it.arguments.output.display().to_string()),
        "threads": threads,
        "memory_bytes": called.first().map(|it| it.job.limit.0),
        "counts": {
            "records": sum(|it| it.totals.records),
            "called": account.called, "missed": account.missed(),
            "bases": account.bases, "samples": account.samples,
            "signal_reads": sum(|it| it.job.signals.len() as u64),
        },
        "skipped": skipped,
        "component_seconds": seconds,
        "usage": {
            "wall_seconds": wall_s,
            "cpu_seconds": cpu_s,
            "cores_busy": cpu_s / wall_s.max(1e-9),
            "cpu_utilisation": cpu_s / (wall_s * threads.get() as f64).max(1e-9),
            "cpu_hours": cpu_s / 3600.0,
            "core_hours": core_hours(threads.get(), wall_s),
            "peak_rss_bytes": machine::usage().peak_rss_bytes,
            "peak_charged_bytes": called.iter().map(|it| it.totals.peak_bytes).max(),
        },
        "bytes": { "read": sum(|it| it.job.alignments.bytes_read()) },
    })
}
