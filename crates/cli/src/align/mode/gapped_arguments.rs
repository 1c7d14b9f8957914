//! The options of `--mode end-to-end` and `--mode local`: Bowtie 2's scheme of scores, and how much
//! is done for a read.

use std::str::FromStr;

use seqloom_modes::gapped::{
    Effort, GapPenalty, GappedOptions, Growth, LengthFunction, MOST_BONUS, MOST_PENALTY, Preset,
    Scoring,
};
use seqloom_terminal::UsageError;

use super::common_arguments::{Common, ONE};
use super::mates_arguments::MateArguments;
use crate::options_given::first_given;

/// Lengths of reads for which a least score has to have a meaning.
const LENGTHS: [usize; 6] = [20, 50, 100, 200, 400, 1000];

/// `--effort`: Bowtie 2's presets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum EffortArgument {
    /// Few seeds
    VeryFast,
    /// Some more
    Fast,
    /// Bowtie 2's default
    Sensitive,
    /// Many seeds
    VerySensitive,
}

impl EffortArgument {
    fn preset(self) -> Preset {
        match self {
            Self::VeryFast => Preset::VeryFast,
            Self::Fast => Preset::Fast,
            Self::Sensitive => Preset::Sensitive,
            Self::VerySensitive => Preset::VerySensitive,
        }
    }
}

/// Two numbers with a comma.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TwoPenalties(pub(super) [i16; 2]);

impl FromStr for TwoPenalties {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| part.parse().ok().filter(|it| (0..=MOST_PENALTY).contains(it));
        let numbers = text.split_once(',').map(|(one, other)| (number(one), number(other)));
        match numbers {
            Some((Some(one), Some(other))) => Ok(Self([one, other])),
            _ => Err(format!("must be two numbers from 0 to {MOST_PENALTY} with a comma")),
        }
    }
}

/// A letter for how a function grows with the length of a read, and its numbers.
fn length_function(text: &str) -> Result<LengthFunction, String> {
    let refuse = || {
        "must be C, L, S or G (constant, with the length, its square root, its logarithm), a \
         number, and another one by which that is multiplied: L,-0.6,-0.6"
            .to_owned()
    };
    let mut parts = text.split(',');
    let growth = match parts.next() {
        Some("C") => Growth::Constant,
        Some("L") => Growth::Linear,
        Some("S") => Growth::SquareRoot,
        Some("G") => Growth::Logarithm,
        _ => return Err(refuse()),
    };
    let numbers: Option<Vec<f64>> =
        parts.map(|part| part.parse().ok().filter(|it: &f64| it.abs() <= 1e6)).collect();
    match (growth, numbers.as_deref()) {
        (Growth::Constant, Some(&[constant])) => {
            Ok(LengthFunction { growth, constant, factor: 0.0 })
        }
        (_, Some(&[constant, factor])) => Ok(LengthFunction { growth, constant, factor }),
        _ => Err(refuse()),
    }
}

/// Scores of matches, mismatches and gaps, and the effort of the search.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "By score (--mode end-to-end, local or spliced; docs/modes.md)")]
pub(super) struct GappedArguments {
    /// How much is done for a read [default: sensitive]
    #[arg(long, value_name = "EFFORT")]
    effort: Option<EffortArgument>,
    /// Minimum score of a placement, as a function of read length x: C is B, L is B + Ax, S is B +
    /// A√x, G is B + A ln x [default: L,-0.6,-0.6; --mode local: G,20,8]
    #[arg(long, value_name = "F,B,A", value_parser = length_function, allow_hyphen_values = true)]
    score_min: Option<LengthFunction>,
    /// Score of a base that matches, --mode local [default: 2]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(i16).range(1..=i64::from(MOST_BONUS)))]
    match_bonus: Option<i16>,
    /// Maximum and minimum mismatch penalty: at quality 40 and more, and at 0 [default: 6,2]
    #[arg(long, value_name = "MAX,MIN")]
    mismatch_penalties: Option<TwoPenalties>,
    /// Mismatches cost the same at any quality
    #[arg(long)]
    ignore_qualities: bool,
    /// Penalty of an ambiguous base (not A, C, G or T) in the read or the reference [default: 1]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(i16).range(0..=i64::from(MOST_PENALTY)))]
    unknown_penalty: Option<i16>,
    /// Gap open and gap extension penalty of the read [default: 5,3]
    #[arg(long, value_name = "OPEN,EXTEND")]
    read_gap: Option<TwoPenalties>,
    /// Gap open and gap extension penalty of the reference [default: 5,3]
    #[arg(long, value_name = "OPEN,EXTEND")]
    reference_gap: Option<TwoPenalties>,
    /// Allow no gaps within this many bases of the ends of a read [default: 4]
    #[arg(long, value_name = "BASES", value_parser = clap::value_parser!(u16).range(1..=1000))]
    gap_barrier: Option<u16>,
    /// Most ambiguous bases in a read or its placement, as a function of its length [default:
    /// L,0,0.15]
    #[arg(long, value_name = "F,B,A", value_parser = length_function, allow_hyphen_values = true)]
    max_unknown: Option<LengthFunction>,
    /// Drop unaligned reads, and pairs of which neither mate is aligned
    #[arg(long)]
    pub(super) drop_unaligned: bool,
}

impl GappedArguments {
    /// What alignments are worth in `--mode spliced`: as whole ones are, with HISAT2's least score.
    pub(super) fn spliced_scoring(&self) -> Scoring {
        let minimum = self.score_min.unwrap_or(LengthFunction::linear(0.0, -0.2));
        Scoring { minimum, ..self.scoring(false) }
    }

    /// Scores of alignments.
    fn scoring(&self, is_local: bool) -> Scoring {
        let usual = Scoring::new(is_local);
        let gap = |given: Option<TwoPenalties>, usual| {
            given.map_or(usual, |TwoPenalties([open, extend])| GapPenalty { open, extend })
        };
        Scoring {
            is_local,
            match_bonus: self.match_bonus.filter(|_| is_local).unwrap_or(usual.match_bonus),
            mismatch: self.mismatch_penalties.map_or(usual.mismatch, |it| it.0),
            ignores_qualities: self.ignore_qualities,
            unknown: self.unknown_penalty.unwrap_or(usual.unknown),
            read_gap: gap(self.read_gap, usual.read_gap),
            reference_gap: gap(self.reference_gap, usual.reference_gap),
            gap_barrier: self.gap_barrier.unwrap_or(usual.gap_barrier),
            minimum: self.score_min.unwrap_or(usual.minimum),
            most_unknown: self.max_unknown.unwrap_or(usual.most_unknown),
        }
    }

    /// The options of the engine.
    pub(super) fn options(
        &self,
        is_local: bool,
        common: Common,
        mates: &MateArguments,
    ) -> GappedOptions {
        let Common { reported, strands, trim } = common;
        let preset = self.effort.map_or(Preset::Sensitive, EffortArgument::preset);
        GappedOptions {
            scoring: self.scoring(is_local),
            effort: Effort::of(preset, is_local),
            reported: reported.unwrap_or(ONE),
            strands,
            trim,
            mates: mates.by_score(),
        }
    }

    /// `--effort`, if it is given.
    pub(super) fn given_effort(&self) -> Option<&'static str> {
        self.effort.is_some().then_some("--effort")
    }

    /// The first of these options that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        first_given([
            ("--effort", self.effort.is_some()),
            ("--score-min", self.score_min.is_some()),
            ("--match-bonus", self.match_bonus.is_some()),
            ("--mismatch-penalties", self.mismatch_penalties.is_some()),
            ("--ignore-qualities", self.ignore_qualities),
            ("--unknown-penalty", self.unknown_penalty.is_some()),
            ("--read-gap", self.read_gap.is_some()),
            ("--reference-gap", self.reference_gap.is_some()),
            ("--gap-barrier", self.gap_barrier.is_some()),
            ("--max-unknown", self.max_unknown.is_some()),
            ("--drop-unaligned", self.drop_unaligned),
        ])
    }

    /// Refuses scores without a meaning.
    ///
    /// # Errors
    /// [`UsageError`] that names the option.
    pub(super) fn check(&self, is_local: bool) -> Result<(), UsageError> {
        let refuse = |text: String| Err(UsageError(text));
        if self.match_bonus.is_some() && !is_local {
            return refuse("--match-bonus is an option of --mode local".to_owned());
        }
        let scoring = self.scoring(is_local);
        let [most, least] = scoring.mismatch;
        if least > most {
            return refuse(format!(
                "--mismatch-penalties: {least} at quality 0 is more than {most} at quality 40"
            ));
        }
        if self.ignore_qualities && self.mismatch_penalties.is_some() && least != most {
            return refuse(
                "--ignore-qualities has one penalty; give --mismatch-penalties it twice".to_owned(),
            );
        }
        let is_out_of_reach = |&length: &usize| {
            scoring.minimum.at(length).trunc() > f64::from(scoring.match_bonus) * length as f64
        };
        if LENGTHS.iter().all(is_out_of_reach) {
            return refuse("--score-min is above the score of a perfect alignment".to_owned());
        }
        if LENGTHS.iter().all(|&length| scoring.most_unknown.at(length) < 0.0) {
            return refuse("--max-unknown is below 0".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_bowtie_2_s() {
        let t = |text: &str, growth, constant, factor| {
            assert_eq!(length_function(text), Ok(LengthFunction { growth, constant, factor }));
        };
        t("C,-5", Growth::Constant, -5.0, 0.0);
        t("L,-0.6,-0.6", Growth::Linear, -0.6, -0.6);
        t("S,1,1.15", Growth::SquareRoot, 1.0, 1.15);
        t("G,20,8", Growth::Logarithm, 20.0, 8.0);
        for text in ["", "L", "L,1", "X,1,2", "L,a,1", "L,1,2,3", "L,nan,1", "L,1,inf", "C,1e9"] {
            assert!(length_function(text).is_err(), "{text}");
        }
    }

    #[test]
    fn two_penalties_have_a_comma_and_are_small() {
        assert_eq!("6,2".parse(), Ok(TwoPenalties([6, 2])));
        for text in ["", "6", "6,", "-1,2", "31,2", "6,2,1", "x,2"] {
            assert!(text.parse::<TwoPenalties>().is_err(), "{text}");
        }
    }
}
