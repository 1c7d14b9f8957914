//! Options that several verbs have.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use seqloom_terminal::UsageError;

use crate::output::arguments::RunArguments;

/// A verb without further options.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskArguments {
    /// The run directory
    #[arg(long = "run", value_name = "RUN")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) machine: RunArguments,
}

/// A verb on a range of the output.
#[derive(Debug, clap::Args)]
pub(crate) struct RangeArguments {
    #[command(flatten)]
    pub(crate) task: TaskArguments,
    /// Range F of the N of the plan, from 0
    #[arg(long, value_name = "F/N")]
    pub(crate) range: Share,
}

/// One of several shares of equal rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) index: usize,
    pub(crate) of: usize,
}

/// Refuses another number of shares, `requested`, than there are.
pub(crate) fn check_number(requested: usize, of: usize, what: &str) -> Result<(), UsageError> {
    if requested == of {
        return Ok(());
    }
    Err(UsageError(format!("{what}: the plan has {of}, not {requested}")))
}

impl Share {
    /// Refuses another number of shares than there are.
    pub(crate) fn check(self, of: usize, what: &str) -> Result<usize, UsageError> {
        check_number(self.of, of, what)?;
        Ok(self.index)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok();
        let shares = text.split_once('/').and_then(|(f, n)| Some((number(f)?, number(n)?)));
        match shares {
            Some((index, of)) if index < of => Ok(Self { index, of }),
            _ => Err("must be F/N, with F from 0 to N - 1".to_owned()),
        }
    }
}

/// One or several shares, side by side: `F/N` or `F-L/N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) indices: RangeInclusive<usize>,
    pub(crate) of: usize,
}

impl From<Share> for Shares {
    fn from(Share { index, of }: Share) -> Self {
        Self { indices: index..=index, of }
    }
}

impl FromStr for Shares {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shares = text.split_once('/').and_then(|(shares, of)| {
            let (first, last) = shares.split_once('-').unwrap_or((shares, shares));
            Some((first.parse().ok()?, last.parse().ok()?, of.parse().ok()?))
        });
        match shares {
            Some((first, last, of)) if first <= last && last < of => {
                Ok(Self { indices: first..=last, of })
            }
            _ => Err("must be F/N or F-L/N, with F and L from 0 to N - 1".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_below_their_number() {
        assert_eq!("0/1".parse(), Ok(Share { index: 0, of: 1 }));
        assert_eq!("15/16".parse(), Ok(Share { index: 15, of: 16 }));
        for text in ["", "1", "1/1", "0/0", "-1/2", "a/2", "1/2/3"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn several_shares_are_side_by_side() {
        assert_eq!("3/4".parse(), Ok(Shares { indices: 3..=3, of: 4 }));
        assert_eq!("0-15/16".parse(), Ok(Shares { indices: 0..=15, of: 16 }));
        for text in ["", "1", "2-1/4", "0-4/4", "-1/2", "1-/2", "0-1-2/4", "0/0"] {
            assert!(text.parse::<Shares>().is_err(), "{text}");
        }
    }
}
