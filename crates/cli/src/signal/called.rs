//! What `methylation` and `eventalign` say of what they called: on the console, and in the report
//! of `--json`.

use std::num::NonZeroUsize;

use seqloom_calling::flow::{CallAccount, CallTotals};
use seqloom_io::AtomicFile;
use seqloom_report::run::core_hours;
use seqloom_runtime::machine;
use seqloom_terminal::error::Bug;

use super::calling::{CallArguments, Job};
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

/// Says what was called and what was not, here and in the report of `--json`, which is still to get
/// its name.
pub(super) fn tell(
    what: &str,
    arguments: &CallArguments,
    pass: &Pass<'_>,
    job: &Job,
    totals: &CallTotals,
) -> seqloom_terminal::Result<Option<AtomicFile>> {
    let account = &totals.account;
    for (key, it) in &account.skipped {
        let (records, text, example) = (it.records, &it.text, &it.example);
        pass.info(&format!("{records} records skipped, {key}: {text} (first: {example})"));
    }
    pass.info(&format!(
        "{what}: {} of {} records called, {} bases, {} samples",
        account.called, totals.records, account.bases, account.samples
    ));
    let Some(path) = &arguments.json else { return Ok(None) };
    let report = report(pass, job, arguments, totals);
    let report = serde_json::to_string_pretty(&report).map_err(Bug::new)? + "\n";
    crate::output::stage_text(path, &report).map(Some)
}

fn report(
    pass: &Pass<'_>,
    job: &Job,
    arguments: &CallArguments,
    totals: &CallTotals,
) -> serde_json::Value {
    let account = &totals.account;
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
        "inputs": [arguments.bam.display().to_string(), arguments.reference.display().to_string()],
        "output": arguments.output.display().to_string(),
        "threads": threads,
        "memory_bytes": job.limit.0,
        "counts": {
            "records": totals.records, "called": account.called, "missed": account.missed(),
            "bases": account.bases, "samples": account.samples, "signal_reads": job.signals.len(),
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
            "peak_charged_bytes": totals.peak_bytes,
        },
        "bytes": { "read": job.alignments.bytes_read() },
    })
}
