//! Settings of an experiment that the command line, or its `[smoke]`, changes.

use super::check::check_settings;
use super::definition::{Experiment, NUMBERS, OVERSUBSCRIBE};
use super::template::Words;

/// Sets one thing: the levels of a factor, a value, a file that is there already, a number or
/// `oversubscribe` of the protocol.
///
/// # Errors
/// There is nothing of that name, or the value is none for it.
pub(crate) fn set(experiment: &mut Experiment, name: &str, words: &Words) -> Result<(), String> {
    if let Some(factor) = experiment.factor.iter_mut().find(|factor| factor.name == name) {
        factor.levels = words.clone();
    } else if let Some(value) = experiment.values.get_mut(name) {
        *value = words.clone();
    } else if let Some(make) = experiment.make.iter_mut().find(|make| make.name == name) {
        let [path] = &words.0[..] else { return Err(format!("{name} is one file")) };
        make.given = Some(path.clone());
    } else if NUMBERS.contains(&name) {
        set_number(experiment, name, words)?;
    } else if name == OVERSUBSCRIBE {
        let value = match &words.0[..] {
            [word] => word.parse().ok(),
            _ => None,
        };
        let value = value.ok_or_else(|| format!("{name} is true or false"))?;
        experiment.protocol.oversubscribe = value;
    } else {
        return Err(format!("there is no {name}; there are {}", experiment.settings().join(", ")));
    }
    check_settings(experiment).map_err(|it| format!("{}: {}", it.key, it.what))
}

fn set_number(experiment: &mut Experiment, name: &str, words: &Words) -> Result<(), String> {
    let number: Option<u64> = match &words.0[..] {
        [word] => word.parse().ok(),
        _ => None,
    };
    let number = number.ok_or_else(|| format!("{name} is a whole number"))?;
    let protocol = &mut experiment.protocol;
    let unused = || Err(format!("this experiment has no {name}"));
    match name {
        "repeats" => protocol.repeats = u32::try_from(number).unwrap_or(u32::MAX),
        "seed" => protocol.seed = number,
        "minimal_reads" => protocol.minimal_reads = number,
        "timeout_s" => protocol.timeout_s = number,
        "reads_per_thread" if protocol.reads_per_thread.is_none() => return unused(),
        "reads_per_thread" => protocol.reads_per_thread = Some(number),
        _ if protocol.reads.is_none() => return unused(),
        _ => protocol.reads = Some(number),
    }
    Ok(())
}
