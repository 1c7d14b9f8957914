//! The prose of the page on published curves, a heading with what follows it.

pub(super) const INTRODUCTION: &str = "\
# The model against published curves

Made by `seqloom-lab predict --validate DIR` from measurements of Langmead et al. 2018: curves \
of the repository BenLangmead/bowtie-scaling (runs of 2017, before publication; Broadwell, 56 \
cores, 112 hardware threads; seconds at a constant number of reads per thread), and the peaks of \
the paper's Tables 2 to 4 for three machines. Their files are not part of this project. Errors \
of each curve are in [errors.tsv](errors.tsv), parameters in [fits.tsv](fits.tsv), laws of locks \
in [laws.tsv](laws.tsv), peaks in [peaks.tsv](peaks.tsv). Why misses are missed, and what cannot \
be claimed: [misses.md](misses.md).

The model (`lab/src/predict`): threads, each alone with a read for a time that grows with \
their number as the multiprocess baseline does; a lock of the input and one of the output, first \
come, first served. It is fitted to O and D with the queueing lock, for each tool and kind of \
reads by itself, and then asked for the rest by simulation of events. Errors are shares of the \
published seconds. Nothing is pooled. What O and D cannot tell is the hand-over's part of what a \
lock costs: it is drawn to 250 ns, and the columns *hand-over 100 ns* and *400 ns* are fits with \
it given. *Without a model* is the error of taking D's curve for B, and the queueing lock's for \
other locks. Bold: above 25 %.

";
pub(super) const BATCHES: &str = "\n## B, from O and D

Neither curve was shown to the fit. *Input 32* is the build of O and D with batches of input; \
the builds with batches of both differ from those of O and D in more (threads' stacks and, but \
for Bowtie, memory pools), as their times with one thread show.

";
pub(super) const LOCKS: &str = "\n## Other locks

A lock's law is fitted to one curve, Bowtie's O with unpaired reads. Everything else of the \
tools comes from their curves with the queueing lock.

";
pub(super) const FITS: &str = "\n## What the fits were shown

How well the model can describe curves at all.

";
pub(super) const PEAKS: &str = "\n## Peaks

Thousands of reads per second. L is known by its peaks only. *Curves*: the fits above. *Peaks*: \
three numbers of Table 3 (baseline, O, D); the band is over what threads of one core do together \
and over hand-overs of 100 to 400 ns. On Broadwell both can be seen beside each other. The \
tables' runs are not those of the curves: peaks of O, D and B differ between them, D's up to \
nearly three times.

";
pub(super) const MISSES: &str = "\n## Misses

Curves with a median, a median with {cores} threads and more, or a peak that is off by more than \
25 %; peaks of tables off by more. Reasons: [misses.md](misses.md).

";
pub(super) const PLOTS: &str = "\n## Plots

";
