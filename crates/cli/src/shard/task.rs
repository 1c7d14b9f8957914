//! The tasks of a run: their names, their files, what follows their verbs.

use super::plan_file::PlanFile;

/// One task of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardTask {
    Align(usize),
    Mark(usize),
    Count(usize),
    Table,
    Finish(usize),
    Place(usize),
}

impl ShardTask {
    /// Path in the run directory, which the names of its files start with.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Align(shard) => format!("align/{shard:04}"),
            Self::Mark(part) => format!("mark/{part:02}"),
            Self::Count(range) => format!("count/{range:04}"),
            Self::Table => "table".to_owned(),
            Self::Finish(range) => format!("finish/{range:04}"),
            Self::Place(range) => format!("place/{range:04}"),
        }
    }

    /// Suffixes of its files.
    pub(crate) fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Finish(_) => &[".bgzf", ".parts"],
            _ => &[""],
        }
    }

    /// The verb that does it.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Align(_) => "align",
            Self::Mark(_) => "mark",
            Self::Count(_) => "count",
            Self::Table => "table",
            Self::Finish(_) => "finish",
            Self::Place(_) => "place",
        }
    }

    /// The option that distinguishes it from others of its verb, and its value.
    pub(crate) fn option(self, plan: &PlanFile) -> Vec<String> {
        let (option, value) = match self {
            Self::Align(shard) => ("--shard", shard.to_string()),
            Self::Mark(part) => ("--part", format!("{part}/{}", plan.parts)),
            Self::Count(range) | Self::Finish(range) | Self::Place(range) => {
                ("--range", format!("{range}/{}", plan.ranges))
            }
            Self::Table => return Vec::new(),
        };
        vec![option.to_owned(), value]
    }
}
