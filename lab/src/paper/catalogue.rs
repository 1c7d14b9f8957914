//! The figures and tables of the papers that a text at hand speaks of: the command for each, what
//! it needs, and whether it is measured here. `lab/papers.md` has them all, by a test.

use std::fmt::Write;

/// What there is of a figure or table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// On the page of `seqloom-lab paper`.
    Page,
    /// The same on machines that show it, which the one of the recorded runs does not.
    Elsewhere,
}

/// A figure or a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    /// As the paper counts: `Figure 3`, `Table II`.
    pub(crate) label: &'static str,
    /// What it shows.
    pub(crate) shows: &'static str,
    /// What makes it here.
    pub(crate) command: &'static str,
    /// What that needs.
    pub(crate) needs: &'static str,
    /// Whether it can be made here.
    pub(crate) state: State,
    /// Why it is not, or how far.
    pub(crate) why: &'static str,
}

/// How an item is made.
#[derive(Debug, Clone, Copy)]
struct How {
    state: State,
    command: &'static str,
    needs: &'static str,
}

/// A paper.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paper {
    /// On the command line.
    pub(crate) name: &'static str,
    /// Authors, year, title.
    pub(crate) citation: &'static str,
    /// Its published values that are at hand, and from where.
    pub(crate) at_hand: &'static str,
    /// Those that are not.
    pub(crate) missing: &'static str,
    /// Figures and tables.
    pub(crate) items: &'static [Item],
}

const fn item(label: &'static str, shows: &'static str, how: How, why: &'static str) -> Item {
    let How { state, command, needs } = how;
    Item { label, shows, command, needs, state, why }
}

use State::{Elsewhere, Page};

const LANGMEAD: How = How {
    state: Page,
    command: "seqloom-lab paper langmead2018 --published DIR",
    needs: "seqloom-testkit; bowtie, bowtie2, hisat2, bwa where they are installed; the published \
            files; for --reads FASTQ --reference PREFIX reads, and an index of their genome",
};
const CALLING: How = How {
    state: Page,
    command: "seqloom-lab paper gamaarachchi2020 --source DIR --bam FILE --reference FASTA",
    needs: "a C compiler; single-read FAST5 files with their alignments and reference; nanopolish \
            and samtools where they are installed",
};
const PREPARATION: How = How {
    state: Page,
    command: "seqloom-lab paper costanza2019 --bam FILE --reference DICT",
    needs: "aligned reads, grouped by name; samtools, samblaster, sambamba, Picard, elPrep where \
            they are installed; --plain PROGRAM for allocators; --gogc, --java",
};
const PLACEMENT: How = How {
    state: Page,
    command: "seqloom-lab paper lenis2017",
    needs: "seqloom-testkit, numactl; bowtie, bowtie2, hisat2, bwa, snap-aligner, gem-mapper where \
            they are installed",
};
const SCHEDULES: How = How {
    state: Page,
    command: "seqloom-lab paper misale2014 --reads FASTQ --reference PREFIX",
    needs: "reads, and an index of their genome",
};

const COUNTERS: How = How { state: Elsewhere, ..SCHEDULES };

const CALLING_WHY: &str = "modelled storages, and this machine's disk with evicted pages, not the \
                           paper's; the paper's structures with our kernels, and nanopolish itself \
                           where it is installed, whole and split";
const READING_WHY: &str = "modelled storages, and this machine's disk with evicted pages, not the \
                           paper's; io_uring where the kernel lets it; libhdf5 where the program \
                           is built with it";

const PREPARATION_WHY: &str = "five steps by program and allocator, elPrep where it is installed, \
                               with the levels of --gogc";
const SCHEDULES_SHOW: &str = "Bowtie 2 end to end, by threads and schedule";
const SCHEDULES_WHY: &str =
    "our end-to-end mode in the paper's farm and in other schedules, not Bowtie 2 itself";
const PLACEMENT_WHY: &str = "the recorded machine has one node: its policies are the same; \
                             gem3-mapper where it is installed, which it was not there";

/// All papers.
pub(crate) const PAPERS: [Paper; 5] = [
    Paper {
        name: "langmead2018",
        citation: "Langmead, Wilks, Antonescu, Charles 2018: Scaling read aligners to hundreds of \
                   threads",
        at_hand: "with --published DIR, the curves of github.com/BenLangmead/bowtie-scaling \
                  (Broadwell, runs before publication) and the peaks of Tables 2 to 4",
        missing: "curves of Skylake and KNL (only their peaks), of L and of BWA-MEM; peaks of \
                  memory; times of threads other than the slowest",
        items: &[
            item(
                "Figure 1",
                "threads at a lock, over time",
                LANGMEAD,
                "a trace of our end-to-end mode, with --reads and --reference, under the first of \
                 --locks: not of the paper's programs",
            ),
            item(
                "Figure 3",
                "weak scaling by lock",
                LANGMEAD,
                "the aligners as they are have the lock of their package; with --reads and \
                 --reference our end-to-end mode has those of the paper",
            ),
            item(
                "Figure 4",
                "weak scaling by way to parse",
                LANGMEAD,
                "as Figure 3: with --reads and --reference O, D, B, L and ours give reads to our \
                 end-to-end mode; with an engine that does nothing: seqloom-lab parsing",
            ),
            item(
                "Figure 5",
                "weak scaling of the last programs and BWA-MEM",
                LANGMEAD,
                "peaks alone were published in a form that is at hand",
            ),
            item("Table 2", "peaks by lock", LANGMEAD, ""),
            item("Table 3", "peaks by way to parse", LANGMEAD, ""),
            item("Table 4", "peaks of the last programs and BWA-MEM", LANGMEAD, ""),
            item("Memory", "the most resident memory, by threads", LANGMEAD, ""),
            item(
                "Output",
                "compressed output against stripes, by threads",
                LANGMEAD,
                "the question that the paper leaves open, with our end-to-end mode",
            ),
        ],
    },
    Paper {
        name: "gamaarachchi2020",
        citation: "Gamaarachchi 2020: thesis, chapter on nanopore I/O",
        at_hand: "none: the text with its numbers is not at hand",
        missing: "all values of all figures",
        items: &[
            item("Figure 1.1", "time and core-hours by threads", CALLING, CALLING_WHY),
            item("Figure 1.5", "one of time, CPU utilisation, core-hours", CALLING, CALLING_WHY),
            item("Figure 1.9", "one of time, CPU utilisation, core-hours", CALLING, CALLING_WHY),
            item("Figure 1.10", "reading at random by workers", CALLING, READING_WHY),
            item("Figure 1.11", "components", CALLING, CALLING_WHY),
            item("Figure 1.12", "reading at random by workers", CALLING, READING_WHY),
            item("Figure 1.13", "reading at random by workers", CALLING, READING_WHY),
            item("Figure 1.14", "reading at random by workers", CALLING, READING_WHY),
            item("Figure 1.15", "reading at random by workers", CALLING, READING_WHY),
        ],
    },
    Paper {
        name: "costanza2019",
        citation: "Costanza, Herzeel, Verachtert 2019: a comparison of three programming languages \
                   for elPrep",
        at_hand: "GBh of Go 29.3, Java 38.6, C++17 44.3",
        missing: "all others",
        items: &[
            item("Figure 1", "no text at hand says what it shows", PREPARATION, PREPARATION_WHY),
            item("Figure 2", "no text at hand says what it shows", PREPARATION, PREPARATION_WHY),
            item("Figure 3", "no text at hand says what it shows", PREPARATION, PREPARATION_WHY),
            item("Figure 4", "no text at hand says what it shows", PREPARATION, PREPARATION_WHY),
            item("Table 1", "no text at hand says what it shows", PREPARATION, PREPARATION_WHY),
            item(
                "Table 2",
                "options of Java",
                PREPARATION,
                "no text at hand has the paper's options: --java names those that Picard is run \
                 with",
            ),
        ],
    },
    Paper {
        name: "lenis2017",
        citation: "Lenis and Senar 2017: data and memory allocation strategies on NUMA machines",
        at_hand: "none",
        missing: "all values of all figures",
        items: &[
            item("Figure 3", "placements and instances", PLACEMENT, ""),
            item("Figure 8", "placements by instances and aligner", PLACEMENT, PLACEMENT_WHY),
            item("Figure 9", "placements by instances and aligner", PLACEMENT, PLACEMENT_WHY),
            item("Figure 10", "placements by instances and aligner", PLACEMENT, PLACEMENT_WHY),
            item("Figure 11", "placements by instances and aligner", PLACEMENT, PLACEMENT_WHY),
            item("Figure 12", "placements by instances and aligner", PLACEMENT, PLACEMENT_WHY),
        ],
    },
    Paper {
        name: "misale2014",
        citation: "Misale 2014: accelerating Bowtie 2 with a lock-less approach",
        at_hand: "none",
        missing: "all values of all figures and tables",
        items: &[
            item("Figure 3", "the farm", SCHEDULES, "in numbers: it is one of the schedules"),
            item("Figure 5", SCHEDULES_SHOW, SCHEDULES, SCHEDULES_WHY),
            item("Figure 6", SCHEDULES_SHOW, SCHEDULES, SCHEDULES_WHY),
            item(
                "Table II",
                "one of stalls, branch misses, L1d, LLC, IPC",
                COUNTERS,
                "where perf stat shows hardware counters; the recorded machine shows none",
            ),
            item(
                "Table III",
                "one of stalls, branch misses, L1d, LLC, IPC",
                COUNTERS,
                "where perf stat shows hardware counters; the recorded machine shows none",
            ),
        ],
    },
];

/// A paper by its name.
pub(crate) fn by_name(name: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.name == name)
}

impl Paper {
    /// A figure or table by its label.
    pub(crate) fn item(&self, label: &str) -> Option<&'static Item> {
        self.items.iter().find(|item| item.label == label)
    }
}

impl Item {
    fn measured(&self) -> &'static str {
        match self.state {
            Page => "on the page",
            Elsewhere => "no",
        }
    }

    /// The command that makes this item alone.
    pub(crate) fn line(&self) -> String {
        match self.label.split_once(' ') {
            Some((kind, number)) => format!("{} --{} {number}", self.command, kind.to_lowercase()),
            None => self.command.to_owned(),
        }
    }
}

/// A page ends by itself after so many minutes, unless another number is given.
pub(crate) const MINUTES: u64 = 150;

/// The list of `--list`.
pub(crate) fn list(papers: &[&Paper]) -> String {
    let mut out = String::new();
    for paper in papers {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}: {}", paper.name, paper.citation);
        let _ = writeln!(out, "  published values at hand: {}", paper.at_hand);
        let _ = writeln!(out, "  not at hand, and left out: {}", paper.missing);
        for item in paper.items {
            let _ = writeln!(out, "  {}: {} ({})", item.label, item.shows, item.measured());
            let _ = writeln!(out, "      {}", item.line());
            let _ = writeln!(out, "      needs: {}", item.needs);
            let _ = writeln!(out, "      time: up to {MINUTES} minutes (--budget-minutes)");
            if !item.why.is_empty() {
                let _ = writeln!(out, "      {}", item.why);
            }
        }
    }
    out
}

/// The same as Markdown, a table for each paper.
#[cfg(test)]
pub(crate) fn markdown() -> String {
    let mut out = String::new();
    for paper in &PAPERS {
        let _ = writeln!(out, "\n## {}\n", paper.citation);
        let _ = writeln!(
            out,
            "Published values at hand: {}. Not at hand: {}.\n",
            paper.at_hand, paper.missing
        );
        let _ = writeln!(
            out,
            "| | shows | measured here | command | why, or how far |\n|---|---|---|---|---|"
        );
        for item in paper.items {
            let (label, shows, why) = (item.label, item.shows, item.why);
            let (measured, line) = (item.measured(), item.line());
            let _ = writeln!(out, "| {label} | {shows} | {measured} | `{line}` | {why} |");
        }
    }
    out
}
