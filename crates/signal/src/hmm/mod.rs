//! Profile hidden Markov model of events over the k-mers of a sequence.
