//! SLOW5 and BLOW5 against slow5lib: its test data, and the library itself through pyslow5.

mod file;
mod pyslow5;
mod slow5tools;
mod speed;
